#ifndef CTN_SPLIT_CALL_CALL_H
#define CTN_SPLIT_CALL_CALL_H

#include "split/algorithms.h"
#include "topo/topo.h"

/** allgather-fast: an operation that splits `parent` into `made`, and builds
 * its topology if possible; otherwise as those of split/algorithms.h. Fails
 * with CATENA_ERR_ARG on all members if they do not use the same comparators,
 * as far as members can compare these, or if one had invalid arguments.
 * @param slot_owner the split itself, whose slots on the user sequence it uses
 * @param wrong this member had invalid arguments: its record is empty */
ctn_op_t *ctn_split_fast(ctn_op_t *slot_owner, catena_group_t *parent,
                         catena_group_t *made, const ctn_split_args_t *args,
                         bool wrong);

/** Create a hidden duplicate of a group for a persistent operation. It is
 * linked by a detached operation of the group, so requests match in the order
 * in which they are initialized. Without memory the context is aborted.
 * @param eager it runs alltoalls */
catena_status_t ctn_hidden_make(catena_group_t *group, bool eager,
                                ctn_hidden_t **hidden);
/** Have a request own it: it is freed with the request. */
void ctn_hidden_own(ctn_op_t *op, ctn_hidden_t *hidden);

/** Bytes in the shared heap. */
typedef struct ctn_bytes {
    unsigned char *memory;
    size_t bytes;
} ctn_bytes_t;

unsigned char *ctn_bytes_open(ctn_exec_t *exec, ctn_bytes_t *table,
                              size_t bytes);
void ctn_bytes_close(ctn_exec_t *exec, ctn_bytes_t *table);

/** Create an allgather among the node leaders: each gets the tables of all
 * nodes, in any order.
 * @param slot_owner as above
 * @param all  allocated by it */
ctn_op_t *ctn_allgather_roots_create(ctn_op_t *slot_owner,
                                     const ctn_topo_t *topo,
                                     const ctn_bytes_t *own, ctn_bytes_t *all);

/** Messages up to here are sent to eager buffers. */
#define CTN_ALLGATHER_ROOTS_EAGER_BYTES                                        \
    (CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES)

/** The same messages without content, `bytes` at each node: for simulations of
 * costs only. */
ctn_op_t *ctn_allgather_sizes_create(ctn_op_t *slot_owner,
                                     const ctn_topo_t *topo, size_t bytes);

/** The selected algorithm, and the reason. */
typedef struct ctn_split_choice {
    const char *name;
    /** NULL: allgather-fast */
    ctn_op_t *(*make)(const ctn_split_args_t *args);
    uint32_t most;  /* of cheng */
    bool every_bit; /* of radix */
    const char *reason;
} ctn_split_choice_t;

/** Look up an algorithm by name; "auto" or NULL: selected later. Logs errors.
 * @return ERR_ARG: unknown, or not applicable to such colors and keys */
catena_status_t ctn_split_named(const ctn_log_t *log,
                                const catena_split_t *split,
                                ctn_split_choice_t *choice);

/** Return whether a member with invalid arguments can report this to the
 * others: whatever it was to run, they run allgather-fast.
 * @param split its arguments, or NULL */
bool ctn_split_can_report(const catena_group_t *group,
                          const catena_split_t *split);

/** Select by facts that all members share. */
void ctn_split_choose(const catena_group_t *group, const catena_split_t *split,
                      ctn_split_choice_t *choice);

/** Describe the last split of this group, for catena_group_explain. */
void ctn_split_explain(const catena_group_t *group, char *text, size_t bytes);

#endif
