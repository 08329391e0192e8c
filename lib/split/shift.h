#ifndef CTN_SPLIT_SHIFT_H
#define CTN_SPLIT_SHIFT_H

#include "group/chain.h"
#include "split/record.h"

/* Each member of a chain sends a record to its right neighbor. Rounds: 1.
 * Messages: one per member. Memory: that of a record that does not fit a slot.
 */

/** Called with the left neighbor's record, which is valid during the call;
 * NULL: the member is the first of the chain. */
typedef void (*ctn_shift_receive_t)(void *context, const ctn_record_t *left);

/** Create the operation that sends `own`, which must stay valid and lie in this
 * rank's heap if it does not fit a slot, to the right neighbor and calls
 * `receive` once with what comes from the left. NULL: no memory. */
ctn_op_t *ctn_shift_create(ctn_exec_t *exec, ctn_chain_t *chain,
                           const ctn_record_t *own, ctn_shift_receive_t receive,
                           void *context);

#endif
