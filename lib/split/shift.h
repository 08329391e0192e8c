#ifndef CTN_SPLIT_SHIFT_H
#define CTN_SPLIT_SHIFT_H

#include "group/chain.h"
#include "split/record.h"

/* Each member of a chain sends a record to its right neighbor. Rounds: 1.
 * Messages: one per member. Memory: that of a record. */

/** Receives the left neighbor's record; NULL: there is none. */
typedef void (*ctn_shift_receive_t)(void *context, const ctn_record_t *left);

/** Send `own`; `receive` is called once. NULL: no memory. */
ctn_op_t *ctn_shift_create(ctn_exec_t *exec, ctn_chain_t *chain,
                           const ctn_record_t *own, ctn_shift_receive_t receive,
                           void *context);

#endif
