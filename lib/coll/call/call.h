#ifndef CTN_COLL_CALL_CALL_H
#define CTN_COLL_CALL_CALL_H

#include "coll/call/arguments.h"
#include "coll/ml/ml.h"

/** Create the operation of a reduction that runs by an alltoallv (HIER-12). Its
 * state begins with a copy of the call.
 * @return NULL: no memory */
ctn_op_t *ctn_exchange_create(const ctn_call_t *call);

/** Body of the public functions of a hierarchical collective: check the
 * arguments, and run the call or create a request. */
catena_status_t ctn_ml_run(const ctn_composition_t *composition,
                           const ctn_arguments_t *args, catena_group_t *group,
                           ctn_mode_t mode, catena_request_t **request);

/** Run a call whose arguments are checked, or create a request.
 * @param signature for ctn_call_start; or NULL */
catena_status_t ctn_ml_run_operands(const ctn_composition_t *composition,
                                    catena_group_t *group,
                                    const ctn_operands_t *operands,
                                    ctn_mode_t mode,
                                    const ctn_signature_t *signature,
                                    catena_request_t **request);

#endif
