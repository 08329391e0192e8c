#ifndef CTN_COLL_CALL_EXCHANGE_H
#define CTN_COLL_CALL_EXCHANGE_H

#include "coll/call/call.h"

/* Shared by the two forms of a reduction by an exchange. */

/** Number of operands of a rank's result: these are the data of the ranks below
 * that number. 0: the rank has no result. */
uint32_t ctn_exchange_operands(const ctn_call_t *call, uint32_t rank);

/** If the elements of by.type are not contiguous in the send buffer, copy this
 * rank's data to scratch memory of call->in.bytes; else *packed is NULL.
 * @return false: no memory */
bool ctn_exchange_pack(ctn_exec_t *exec, const ctn_call_t *call,
                       unsigned char **packed);

/** Replace each operand, of `each` bytes, by its reduction with all operands
 * before it. */
void ctn_exchange_fold(ctn_exec_t *exec, const ctn_call_t *call,
                       unsigned char *data, uint32_t operands, size_t each);

/** Reduce the gathered vectors of all ranks, one after the other in `data`, as
 * a reproducible call requires, and write this rank's result. */
void ctn_exchange_reduce(const ctn_call_t *call, unsigned char *data);

/** Where a reproducible scan starts: request the hierarchy that ranks
 * without this setting use, so that all ranks start the same operations, and
 * those that build it compare the settings.
 * @param[out] after for ctn_alltoallv_create; NULL: another reduction
 * @return NEXT, FAIL */
ctn_step_t ctn_exchange_request(ctn_op_t *op, const ctn_hierarchy_t **after);

/** The phase after that, on a hidden duplicate: wait for the comparison. In
 * other groups the alltoallv takes its number first, before later operations.
 * @return NEXT, WAIT, FAIL: it has failed */
ctn_step_t ctn_exchange_await(ctn_op_t *op, const ctn_hierarchy_t *after);

/** Whether a blocking reproducible call that its hierarchy does not serve
 * gathers all vectors, by facts that all ranks share.
 * @param nodes of the hierarchy */
bool ctn_exchange_gathers(const ctn_call_t *call, uint32_t nodes);

/** Whether a call runs by the transposed form, by facts that all ranks share.
 */
bool ctn_exchange_transposes(const ctn_call_t *call);

/** The transposed form; its state begins with the call. */
extern const ctn_algorithm_t ctn_exchange_transposed;

#endif
