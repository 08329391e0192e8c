#ifndef CTN_SPLIT_SHIFT_H
#define CTN_SPLIT_SHIFT_H

#include "group/chain.h"
#include "split/record.h"

/* Each member sends data to one member, and receives from one. Rounds: 1.
 * Messages: one per member. Memory: that of data that do not fit a slot. */

/** Called with the data that have arrived, which are valid during the call;
 * NULL: none come. */
typedef void (*ctn_shift_receive_t)(void *context, const void *data);

typedef struct ctn_shift {
    ctn_address_t to; /* CTN_NO_ADDRESS: nothing is sent */
    const void *data; /* must stay valid, and lie in this rank's heap if they do
                         not fit a slot */
    size_t bytes;
    bool receives;      /* data come */
    ctn_address_t from; /* their sender; significant if they may exceed a
                           slot */
    ctn_shift_receive_t receive; /* called once */
    void *context;
} ctn_shift_t;

/** Create the operation, with a number on `sequence`. `shift` is copied. NULL:
 * no memory. */
ctn_op_t *ctn_shift_create(ctn_exec_t *exec, ctn_sequence_t *sequence,
                           const ctn_shift_t *shift);

/** Create the operation in which each member of a chain sends a record to its
 * right neighbor. */
ctn_op_t *ctn_shift_right_create(ctn_exec_t *exec, ctn_chain_t *chain,
                                 const ctn_record_t *own,
                                 ctn_shift_receive_t receive, void *context);

#endif
