#ifndef CTN_COLL_CALL_EXCHANGE_H
#define CTN_COLL_CALL_EXCHANGE_H

#include "coll/call/call.h"

/** Reduce the gathered vectors of all ranks, one after the other in `data`, as
 * a reproducible call requires, and write this rank's result. */
void ctn_exchange_reduce(const ctn_call_t *call, unsigned char *data);

/** If the elements of by.type are not contiguous in the send buffer, copy this
 * rank's data to scratch memory of call->in.bytes; else *packed is NULL.
 * @return false: no memory */
bool ctn_exchange_pack(ctn_exec_t *exec, const ctn_call_t *call,
                       unsigned char **packed);

/** Replace each operand, of `each` bytes, by its reduction with all operands
 * before it. */
void ctn_exchange_fold(ctn_exec_t *exec, const ctn_call_t *call,
                       unsigned char *data, uint32_t operands, size_t each);

#endif
