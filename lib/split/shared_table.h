#ifndef CTN_SPLIT_SHARED_TABLE_H
#define CTN_SPLIT_SHARED_TABLE_H

#include "split/algorithms.h"

/* Simulations of costs only (exec->drop_tables): where every member would
 * gather the same table of all records, there is one for all of them, and
 * messages have sizes only. 65,536 tables of 65,536 records do not fit any
 * memory. The chain that is split must be of all ranks. */

typedef struct ctn_shared_table ctn_shared_table_t;

/** This member's record goes into the table. NULL: no memory, or not all ranks
 * are members; logged. */
ctn_shared_table_t *ctn_shared_table_open(const ctn_split_args_t *args);
void ctn_shared_table_close(ctn_shared_table_t *shared);

/** As ctn_chain_allgather, of `bytes` at each member, which have no content. */
ctn_op_t *ctn_shared_table_allgather(ctn_exec_t *exec, ctn_chain_t *chain,
                                     size_t bytes);

/** The chain of this member, once all have opened it. Charged as if it had
 * found and sorted the members of its color by itself. */
ctn_chain_place_t ctn_shared_table_place(ctn_shared_table_t *shared,
                                         const ctn_split_args_t *args);

#endif
