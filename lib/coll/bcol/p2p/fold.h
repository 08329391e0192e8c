#ifndef CTN_COLL_BCOL_P2P_FOLD_H
#define CTN_COLL_BCOL_P2P_FOLD_H

#include "coll/bcol/p2p/p2p.h"

/* An allreduce runs among 2^k of its members, the workers. Of m = 2^k + r
 * members, r < 2^k, the first 2r form pairs. The even member of a pair is idle:
 * it first sends its vector to the odd one (fold in), and gets the result in
 * the end (fold out). The odd members and those without a partner are the
 * workers, numbered anew in the same order. Each represents one or two
 * consecutive members, so operations need not commute. Thakur, Rabenseifner,
 * Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA
 * 19, 2005, section 4.5. */

/** First member of the state of such an allreduce. */
typedef struct ctn_p2p_fold {
    ctn_p2p_call_t call; /* first */
    uint32_t workers;    /* 2^k, the number of workers */
    uint32_t pairs;      /* r, the number of pairs */
    uint32_t worker;     /* this member's number among workers, unless idle */
    unsigned rounds;     /* k, the rounds among workers */
    bool idle;           /* this member is the even one of a pair */
    const void *value;   /* the partial result; at first this member's input */
} ctn_p2p_fold_t;

/** To be called at the start of the first phase. */
ctn_step_t ctn_p2p_fold_begin(ctn_op_t *op,
                              ctn_p2p_vector_algorithm_t algorithm);
/** The second phase: idle members send their vectors. */
ctn_step_t ctn_p2p_fold_in(ctn_op_t *op);
/** The last phase but one: idle members receive the result. */
ctn_step_t ctn_p2p_fold_out(ctn_op_t *op);

/** The member that is worker i. */
static inline uint32_t ctn_p2p_worker(const ctn_p2p_fold_t *fold, uint32_t i)
{
    return i < fold->pairs ? 2 * i + 1 : i + fold->pairs;
}

#endif
