#ifndef CTN_NEIGHBOR_CALL_CALL_H
#define CTN_NEIGHBOR_CALL_CALL_H

#include "neighbor/call/executor.h"

/** An operation as it was given. What it does not have is 0. */
typedef struct ctn_neighbor_call {
    const ctn_neighbor_collective_t *collective;
    ctn_coll_side_t send;
    ctn_coll_side_t recv;
    catena_op_t op;
    catena_neighborhood_t *neighborhood; /* not NULL */
} ctn_neighbor_call_t;

/** Check it, and say it in blocks.
 * @param[out] x zeroed; its arguments are set
 * @return ERR_ARG (logged) */
catena_status_t ctn_neighbor_validate(const ctn_neighbor_call_t *call,
                                      ctn_exchange_t *x);

/** Keep types and operation until the request is given back. */
catena_status_t ctn_neighbor_hold(ctn_exchange_t *x);

#endif
