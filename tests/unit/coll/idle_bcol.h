#ifndef UNIT_IDLE_BCOL_H
#define UNIT_IDLE_BCOL_H

#include "coll/bcol/bcol.h"

/* Components shm, p2p and ucx that do nothing but check who is told what, in
 * place of the library's. */

typedef struct idle {
    int modules;       /* there are */
    int refuse_create; /* world rank that cannot; -1: none */
    int refuse_link;
} idle_t;

extern idle_t idle;

#endif
