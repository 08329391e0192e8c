#ifndef UNIT_IDLE_BCOL_H
#define UNIT_IDLE_BCOL_H

#include "coll/bcol/bcol.h"

/* Components shm, p2p and ucx without function: they check which rank gets
 * which information. They replace the library's. */

typedef struct idle {
    int modules;       /* that exist */
    int refuse_create; /* world rank that fails; -1: none */
    int refuse_link;
} idle_t;

extern idle_t idle;

#endif
