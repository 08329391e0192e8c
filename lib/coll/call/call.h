#ifndef CTN_COLL_CALL_CALL_H
#define CTN_COLL_CALL_CALL_H

#include "coll/ml/ml.h"

/** The arguments of a collective. Those that it does not have are 0. */
typedef struct ctn_coll_args {
    const ctn_composition_t *composition;
    ctn_coll_side_t send;
    ctn_coll_side_t recv;
    const ctn_reduce_op_t *op;
    int root;
    catena_group_t *group;
} ctn_coll_args_t;

/** Validate the arguments (the group is not NULL). Arguments that are
 * significant on this rank only are checked on this rank only.
 * @param[out] call    the validated call; its `waits` and `holds` are false
 * @param[out] nothing no data are moved, on all ranks
 * @return ERR_ARG, ERR_UNSUPPORTED (logged) */
catena_status_t ctn_ml_validate(const ctn_coll_args_t *args, ctn_call_t *call,
                                bool *nothing);

/** A reduction that cannot run on the caller's buffers, as an operation, whose
 * state begins with the call. @return NULL: no memory */
ctn_op_t *ctn_indirect_create(const ctn_call_t *call);

/** Body of all public functions: validate, and run the call or create a
 * request.
 */
catena_status_t ctn_ml_run(const ctn_coll_args_t *args, ctn_mode_t mode,
                           catena_request_t **request);

#endif
