#ifndef CTN_GROUP_GROUP_H
#define CTN_GROUP_GROUP_H

#include <catena/group.h>

#include "group/lane.h"

/** Something that a higher layer keeps with a group: embedded first. */
typedef struct ctn_attachment {
    const void *key; /* address of a constant of the layer */
    /** Whether no operation of its own is under way, fences included; may be
     * NULL: it has none. */
    bool (*quiet)(const struct ctn_attachment *attachment);
    void (*release)(ctn_exec_t *exec, struct ctn_attachment *attachment);
    /** At an epoch barrier of the user channel (exec/control_block.h): zero
     * words that hold numbers; may be NULL. */
    void (*clear)(ctn_exec_t *exec, struct ctn_attachment *attachment);
    struct ctn_attachment *next;
} ctn_attachment_t;

/** See coll/barrier.c. */
typedef enum ctn_barrier_algorithm {
    CTN_BARRIER_UNKNOWN, /* nobody has looked at the settings yet */
    CTN_BARRIER_NODES,
    CTN_BARRIER_LEVELS
} ctn_barrier_algorithm_t;

/** A group: a chain, and two numbered sequences of operations on it. Its own
 * size does not depend on the number of ranks; what higher layers learn
 * about it (nodes, leaders) hangs in the attachments, made when needed. */
struct catena_group {
    ctn_exec_t *exec;
    ctn_control_block_t *block;
    ctn_chain_t chain;       /* the chain; channel for chain operations */
    ctn_sequence_t sequence; /* for the application's operations */
    ctn_attachment_t *attachments;
    ctn_attachment_t *topo; /* of them the topology, or NULL */
    uint32_t composed;      /* operations under way that have no channel */
    bool permanent;         /* the world: goes with its context */
    uint8_t barrier;        /* ctn_barrier_algorithm_t: how its barriers go */
    bool hidden;            /* it is a ctn_hidden_t */
    bool small;             /* its block is a ctn_small_control_block_t */
    catena_group_t *older;  /* in exec's list */
};

_Static_assert(sizeof(struct catena_group) <= 256, "a handle is small");

/** What a group keeps of its hidden duplicates. */
typedef struct ctn_duplicates {
    ctn_refcount_t users; /* first: those */
    ctn_attachment_t attachment;
    uint32_t changes; /* of the settings by which hierarchies are built */
} ctn_duplicates_t;

/** The duplicate of a group that a persistent operation runs on. Its ranks are
 * those of the group, whose settings hold; operations wait until it is linked.
 * The group's memory stays as long. */
typedef struct ctn_hidden {
    catena_group_t group; /* first */
    catena_group_t *of;
    ctn_duplicates_t *requests; /* of that */
    size_t eager;               /* where its wide payloads are */
    uint32_t eager_bytes;       /* of a slot; 0: it has none */
} ctn_hidden_t;

/** The group whose settings hold for this one. */
static inline catena_group_t *ctn_group_original(const catena_group_t *group)
{
    return group->hidden ? ((const ctn_hidden_t *)group)->of
                         : (catena_group_t *)(uintptr_t)group;
}

static inline const ctn_control_block_layout_t *
ctn_group_layout(const catena_group_t *group)
{
    static const ctn_control_block_layout_t layouts[] = {
        CTN_CONTROL_BLOCK_LAYOUT(ctn_control_block_t),
        CTN_CONTROL_BLOCK_LAYOUT(ctn_small_control_block_t)};
    return &layouts[group->small];
}

/** The part of its own block at an offset of the layout. */
static inline unsigned char *ctn_group_block_at(const catena_group_t *group,
                                                uint32_t at)
{
    return (unsigned char *)group->block + at;
}

/** Bytes of the wide payload of a slot of the user channel; all members have
 * the same. */
static inline uint32_t ctn_group_eager_bytes(const catena_group_t *group)
{
    return group->hidden ? ((const ctn_hidden_t *)group)->eager_bytes
                         : CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES;
}

/** Where it is in a block. */
static inline uint64_t ctn_group_eager(const catena_group_t *group,
                                       uint64_t seq, unsigned slot)
{
    uint64_t start = group->hidden ? ((const ctn_hidden_t *)group)->eager
                                   : offsetof(ctn_control_block_t, eager);
    return start + ((seq % CTN_GENERATIONS) * CTN_EAGER_SLOTS + slot) *
                       (uint64_t)ctn_group_eager_bytes(group);
}

/** The group whose user channel it is. */
static inline catena_group_t *ctn_group_of(ctn_sequence_t *sequence)
{
    return (catena_group_t *)(void *)((unsigned char *)sequence -
                                      offsetof(catena_group_t, sequence));
}

/** A group over a fresh block of its own whose chain is not set yet. */
catena_status_t ctn_group_create(ctn_exec_t *exec, catena_group_t **group);
/** A hidden duplicate of a group, over a fresh block of its own. Its chain is
 * not linked yet: operations that are started wait for ctn_sequence_open.
 * @param board bytes of the board, in small groups
 * @param wide  it is to have wide payloads */
catena_status_t ctn_hidden_create(catena_group_t *of, size_t node_area,
                                  bool eager, ctn_hidden_t **hidden);
/** What a group keeps of these; NULL: no memory. */
ctn_duplicates_t *ctn_duplicates_of(catena_group_t *group);
/** As catena_group_free.
 * @param flush operations of what belongs to the group have sent words that no
 *              operation waits for: these are to arrive first */
catena_status_t ctn_group_free(catena_group_t *group, bool flush);
/** The last operation of the world, or of a group that is freed right after it:
 * blocks until all members have come to it, and adds up `*sum` over them.
 * @param turn 0, or 1 for a second one
 * @return ERR_STATE: this rank has operations under way; then it does nothing
 */
catena_status_t ctn_group_teardown_sum(catena_group_t *group, unsigned turn,
                                       uint64_t *sum);
/** Release it locally; nobody may put into its block any more. */
void ctn_group_release(catena_group_t *group);
/** The same of all groups that there are, with what belongs to them, also of
 * those whose members are parting.
 * @return how many there were that had not been freed */
size_t ctn_groups_release(ctn_exec_t *exec);

static inline ctn_attachment_t *ctn_group_find(const catena_group_t *group,
                                               const void *key)
{
    ctn_attachment_t *found = group->attachments;
    while (found != NULL && found->key != key) {
        found = found->next;
    }
    return found;
}
void ctn_group_attach(catena_group_t *group, ctn_attachment_t *attachment);

#endif
