#ifndef CTN_COLL_CALL_REPRODUCIBLE_H
#define CTN_COLL_CALL_REPRODUCIBLE_H

#include "coll/call/call.h"

/** Whether a reproducible scan that does not block is exchanged. Whether its
 * hierarchy serves it is not known then on all ranks. */
bool ctn_reproducible_exchanges(const ctn_call_t *call);

/** Run a blocking reproducible call (HIER-13) whose hierarchy is built and does
 * not serve calls of all lengths, unless subgroups are the best for it.
 * @param[in]     call
 * @param[in]     config of the collective
 * @param[out]    status that of the call
 * @return false: it has not run */
bool ctn_reproducible_run(const ctn_call_t *call, const ctn_ml_config_t *config,
                          catena_status_t *status);

/** Run a scan: every rank reduces one block of the vector for all ranks. */
catena_status_t ctn_reproducible_transpose(const ctn_call_t *call);
/** Free scratch memory of a blocking call. If the group has failed it stays:
 * members that have not noticed it may still access it. */
void ctn_reproducible_free(const ctn_call_t *call, void *memory, size_t bytes);

#endif
