#ifndef CTN_SPLIT_SHARED_TABLE_H
#define CTN_SPLIT_SHARED_TABLE_H

#include "split/algorithms.h"

/* For simulations of costs only (--cost-only, exec->drop_tables). Every member
 * would gather the same table of all records; in place of that all simulated
 * ranks share one, and messages have a size but no content: 65,536 tables of
 * 65,536 records do not fit any memory. The chain that is split must contain
 * all ranks. */

typedef struct ctn_shared_table ctn_shared_table_t;

/** Add this member's record to the table, which the first member makes. NULL:
 * no memory, or the chain does not contain all ranks, which is logged. */
ctn_shared_table_t *ctn_shared_table_open(const ctn_split_args_t *args);
/** Called once for each successful open: the last one frees the table. NULL: no
 * effect. */
void ctn_shared_table_close(ctn_shared_table_t *shared);

/** Create the operation that takes the rounds and the time of gathering the
 * records of all members on the parent, and moves no data. NULL: no memory. */
ctn_op_t *ctn_shared_table_allgather(ctn_shared_table_t *shared,
                                     const ctn_split_args_t *args);

/** Return the place of this member in its new chain, after all have opened the
 * table. The member is charged the simulated time of finding and sorting the
 * members of its color by itself. */
ctn_chain_place_t ctn_shared_table_place(ctn_shared_table_t *shared,
                                         const ctn_split_args_t *args);

#endif
