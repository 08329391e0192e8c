#ifndef CTN_SPLIT_SHARED_TABLE_H
#define CTN_SPLIT_SHARED_TABLE_H

#include "split/algorithms.h"

/* For simulations of costs only (exec->drop_tables). Where every member would
 * gather the same table of all records, all members share one, and messages
 * have sizes only: 65,536 tables of 65,536 records do not fit any memory. The
 * chain that is split must contain all ranks. */

typedef struct ctn_shared_table ctn_shared_table_t;

/** Add this member's record to the table. NULL: no memory, or the chain does
 * not contain all ranks; logged. */
ctn_shared_table_t *ctn_shared_table_open(const ctn_split_args_t *args);
void ctn_shared_table_close(ctn_shared_table_t *shared);

/** As ctn_chain_allgather, of `bytes` without content at each member. */
ctn_op_t *ctn_shared_table_allgather(ctn_exec_t *exec, ctn_chain_t *chain,
                                     size_t bytes);

/** Return the place of this member, after all have opened the table. The member
 * is charged as if it had found and sorted the members of its color by
 * itself. */
ctn_chain_place_t ctn_shared_table_place(ctn_shared_table_t *shared,
                                         const ctn_split_args_t *args);

#endif
