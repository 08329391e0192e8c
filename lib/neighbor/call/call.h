#ifndef CTN_NEIGHBOR_CALL_CALL_H
#define CTN_NEIGHBOR_CALL_CALL_H

#include "neighbor/call/executor.h"

/** The arguments of a call. Members that do not apply are 0. */
typedef struct ctn_neighbor_call {
    const ctn_neighbor_collective_t *collective;
    ctn_coll_side_t send;
    ctn_coll_side_t recv;
    const ctn_reduce_op_t *op;
    catena_neighborhood_t *neighborhood; /* not NULL */
} ctn_neighbor_call_t;

/** Checks the arguments and describes them as blocks.
 * @param[out] x zeroed; its arguments are set
 * @return ERR_ARG (logged) */
catena_status_t ctn_neighbor_validate(const ctn_neighbor_call_t *call,
                                      ctn_exchange_t *x);

/** Holds the datatypes and the operation until the request is released. */
catena_status_t ctn_neighbor_hold(ctn_exchange_t *x);

#endif
