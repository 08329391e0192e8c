#include "coll/bcol.h"

const ctn_bcol_t *const ctn_bcols[] = {NULL};
