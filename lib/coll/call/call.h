#ifndef CTN_COLL_CALL_CALL_H
#define CTN_COLL_CALL_CALL_H

#include "coll/ml/ml.h"

/** A collective as it was given. What it does not have is 0. */
typedef struct ctn_coll_args {
    const ctn_composition_t *composition;
    ctn_coll_side_t send;
    ctn_coll_side_t recv;
    catena_op_t op;
    int root;
    catena_group_t *group;
} ctn_coll_args_t;

/** Check it (its group is not NULL) and say it in other words. What is looked
 * at on this rank alone is checked there alone.
 * @param[out] call    its `waits` and `holds` are false
 * @param[out] nothing no data are moved, as all ranks see
 * @return ERR_ARG, ERR_UNSUPPORTED (logged) */
catena_status_t ctn_ml_validate(const ctn_coll_args_t *args, ctn_call_t *call,
                                bool *nothing);

/** What all public functions do: check, and run or make a request. */
catena_status_t ctn_ml_run(const ctn_coll_args_t *args, ctn_mode_t mode,
                           catena_request_t **request);

#endif
