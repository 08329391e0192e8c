#ifndef CTN_NEIGHBOR_CALL_CALL_H
#define CTN_NEIGHBOR_CALL_CALL_H

#include "neighbor/call/executor.h"

/** Checks the arguments of a call and describes them as blocks.
 * @param[in,out] x all zeros, then its arguments are set
 * @return CATENA_OK or ERR_ARG, which is logged */
catena_status_t
ctn_neighbor_validate(const ctn_neighbor_collective_t *collective,
                      const ctn_arguments_t *args,
                      catena_neighborhood_t *neighborhood, ctn_exchange_t *x);

/** Holds the datatypes and the reduction operation of a call until its request
 * is released. */
catena_status_t ctn_neighbor_hold(ctn_exchange_t *x);

#endif
