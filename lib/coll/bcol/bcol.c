#include "coll/bcol/bcol.h"

const ctn_bcol_t *const ctn_bcols[] = {&ctn_bcol_shm, &ctn_bcol_p2p,
                                       &ctn_bcol_ucx, NULL};
