#ifndef CTN_SPLIT_CALL_CALL_H
#define CTN_SPLIT_CALL_CALL_H

#include "split/algorithms.h"
#include "topo/topo.h"

/** allgather-fast: an operation that splits `parent` into `made`, whose
 * topology it knows as well where it can be; as those of split/algorithms.h.
 * Fails with CATENA_ERR_ARG on all members where they do not have comparators
 * alike, as far as members can compare these, or one was called wrongly.
 * @param host  the split itself, whose slots on the user channel it uses
 * @param wrong this member was: its record says nothing */
ctn_op_t *ctn_split_fast(ctn_op_t *slot_owner, catena_group_t *parent,
                         catena_group_t *made, const ctn_split_args_t *args,
                         bool wrong);

/** A hidden duplicate of a group, for a persistent operation: linked by a
 * detached operation of the group, so requests match in the order in which they
 * are initialized. Without memory for it all ends.
 * @param wide it runs alltoalls */
catena_status_t ctn_hidden_make(catena_group_t *group, bool eager,
                                ctn_hidden_t **hidden);
/** Have a request own it: it is freed with it. */
void ctn_hidden_own(ctn_op_t *op, ctn_hidden_t *hidden);

/** Bytes in the shared heap. */
typedef struct ctn_bytes {
    unsigned char *memory;
    size_t bytes;
} ctn_bytes_t;

unsigned char *ctn_bytes_open(ctn_exec_t *exec, ctn_bytes_t *table,
                              size_t bytes);
void ctn_bytes_close(ctn_exec_t *exec, ctn_bytes_t *table);

/** An operation of the nodes' roots: each gets what all have, in any order.
 * @param host as above
 * @param all  opened by it */
ctn_op_t *ctn_allgather_roots_create(ctn_op_t *slot_owner,
                                     const ctn_topo_t *topo,
                                     const ctn_bytes_t *own, ctn_bytes_t *all);

/** Messages up to here go into wide slots. */
#define CTN_ALLGATHER_ROOTS_EAGER_BYTES                                        \
    (CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES)

/** Its messages without content, `bytes` at each node: for simulations of costs
 * only. */
ctn_op_t *ctn_allgather_sizes_create(ctn_op_t *slot_owner,
                                     const ctn_topo_t *topo, size_t bytes);

/** Which algorithm splits, and why. */
typedef struct ctn_split_choice {
    const char *name;
    /** NULL: allgather-fast */
    ctn_op_t *(*make)(const ctn_split_args_t *args);
    uint32_t most; /* of cheng */
    bool plain;    /* of radix */
    const char *reason;
} ctn_split_choice_t;

/** Find the algorithm of a name; chosen later when it is "auto" or NULL.
 * Logs what is wrong.
 * @return ERR_ARG: unknown, or not made for such colors and keys */
catena_status_t ctn_split_named(const ctn_log_t *log,
                                const catena_split_t *split,
                                ctn_split_choice_t *choice);

/** Whether a member that was called wrongly can tell the others so: whatever it
 * was to say, they run allgather-fast.
 * @param split what it was called with, or NULL */
bool ctn_split_can_report(const catena_group_t *group,
                          const catena_split_t *split);

/** Choose by what all members know. */
void ctn_split_choose(const catena_group_t *group, const catena_split_t *split,
                      ctn_split_choice_t *choice);

/** How the last split of this group went, for catena_group_explain. */
void ctn_split_explain(const catena_group_t *group, char *text, size_t bytes);

#endif
