#ifndef CTN_COLL_BCOL_P2P_FOLD_H
#define CTN_COLL_BCOL_P2P_FOLD_H

#include "coll/bcol/p2p/p2p.h"

/* Allreduces run among a power of two of members, the workers. Of m = 2^k + r
 * members the first 2r are pairs: the even member first sends its vector to the
 * odd one, and gets the result in the end. Workers are renumbered. Each
 * represents consecutive members, in their order, so operations need not
 * commute. Thakur, Rabenseifner, Gropp: Optimization of Collective
 * Communication Operations in MPICH, IJHPCA 19, 2005, section 4.5. */

/** First member of the state of such an allreduce. */
typedef struct ctn_p2p_fold {
    ctn_p2p_call_t call; /* first */
    uint32_t workers;    /* the power of two */
    uint32_t pairs;      /* r */
    uint32_t worker;     /* this member's number among workers, unless idle */
    unsigned rounds;     /* among workers */
    bool idle;           /* of a pair: sends at first, receives at the end */
    const void *value;   /* the partial result; at first this member's input */
} ctn_p2p_fold_t;

/** To call at the start of the first phase; the second phase; the last phase
 * but one. */
ctn_step_t ctn_p2p_fold_begin(ctn_op_t *op,
                              ctn_p2p_vector_algorithm_t algorithm);
ctn_step_t ctn_p2p_fold_in(ctn_op_t *op);
ctn_step_t ctn_p2p_fold_out(ctn_op_t *op);

/** The member that is worker i. */
static inline uint32_t ctn_p2p_worker(const ctn_p2p_fold_t *fold, uint32_t i)
{
    return i < fold->pairs ? 2 * i + 1 : i + fold->pairs;
}

#endif
