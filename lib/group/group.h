#ifndef CTN_GROUP_GROUP_H
#define CTN_GROUP_GROUP_H

#include <catena/group.h>

#include "group/chain.h"
#include "group/control_block.h"

/** State that a higher layer attaches to a group; the first member of that
 * state. */
typedef struct ctn_attachment {
    const void *key; /* address of a constant of the layer */
    /** Return whether none of its operations is under way, generation barriers
     * included; NULL: it has no operations. */
    bool (*quiet)(const struct ctn_attachment *attachment);
    void (*release)(ctn_exec_t *exec, struct ctn_attachment *attachment);
    /** Called at an epoch barrier of the user sequence (exec/generations.h):
     * zero words that hold sequence numbers; may be NULL. */
    void (*clear)(ctn_exec_t *exec, struct ctn_attachment *attachment);
    struct ctn_attachment *next;
} ctn_attachment_t;

/** A group: a chain, and two numbered sequences of operations on it. Its size
 * does not depend on the number of ranks. What higher layers know about it
 * (nodes, leaders) is in the attachments, which are created on demand. */
struct catena_group {
    ctn_exec_t *exec;
    ctn_control_block_t *block;
    ctn_chain_t chain; /* the chain, with the sequence of chain operations */
    ctn_sequence_t sequence; /* the application's operations */
    ctn_attachment_t *attachments;
    ctn_attachment_t *frequent; /* the attachment that most calls need, which is
                                   also in attachments; or NULL */
    uint32_t composed;          /* operations under way that have no sequence */
    bool permanent;             /* of the context, and freed with it */
    uint8_t barrier; /* how its barriers run, for the layer that has them; 0
                        at first */
    bool hidden;     /* it is a ctn_hidden_t */
    bool small;      /* its block is a ctn_small_control_block_t */
    catena_group_t *older; /* in the list of groups */
};

_Static_assert(sizeof(struct catena_group) <= 256, "a handle is small");

/** The hidden duplicates of a group. */
typedef struct ctn_duplicates {
    ctn_refcount_t users; /* first: counts them */
    ctn_attachment_t attachment;
    uint32_t changes; /* of the settings that hierarchies depend on */
} ctn_duplicates_t;

/** The hidden duplicate of a group that a persistent operation runs on. It has
 * the ranks and the settings of the group. Operations wait until it is linked.
 * The group's memory is kept as long as it exists. */
typedef struct ctn_hidden {
    catena_group_t group; /* first */
    catena_group_t *of;
    ctn_duplicates_t *requests; /* of that group */
    size_t eager;               /* offset of its eager buffers */
    uint32_t eager_bytes;       /* of a slot; 0: it has none */
} ctn_hidden_t;

/** Return the group whose settings apply to this one. */
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

/** Return the part of the own control block at an offset of the layout. */
static inline unsigned char *ctn_group_block_at(const catena_group_t *group,
                                                uint32_t at)
{
    return (unsigned char *)group->block + at;
}

/** Return the bytes of the eager buffer of a slot of the user sequence; the
 * same on all members. */
static inline uint32_t ctn_group_eager_bytes(const catena_group_t *group)
{
    return group->hidden ? ((const ctn_hidden_t *)group)->eager_bytes
                         : CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES;
}

/** Return its offset in the control block. */
static inline uint64_t ctn_group_eager(const catena_group_t *group,
                                       uint64_t seq, unsigned slot)
{
    uint64_t start = group->hidden ? ((const ctn_hidden_t *)group)->eager
                                   : offsetof(ctn_control_block_t, eager);
    return start + ((seq % CTN_GENERATIONS) * CTN_EAGER_SLOTS + slot) *
                       (uint64_t)ctn_group_eager_bytes(group);
}

/** Return the group of a user sequence. */
static inline catena_group_t *ctn_group_of(ctn_sequence_t *sequence)
{
    return (catena_group_t *)(void *)((unsigned char *)sequence -
                                      offsetof(catena_group_t, sequence));
}

/** Create a group over a new control block; its chain is not set yet. */
catena_status_t ctn_group_create(ctn_exec_t *exec, catena_group_t **group);
/** Create a hidden duplicate of a group, over a new control block. Its chain is
 * not linked yet: operations wait until ctn_sequence_open.
 * @param shared bytes of shared memory, in small groups
 * @param eager  it has eager buffers */
catena_status_t ctn_hidden_create(catena_group_t *of, size_t shared, bool eager,
                                  ctn_hidden_t **hidden);
/** Return the duplicates of a group; NULL: no memory. */
ctn_duplicates_t *ctn_duplicates_of(catena_group_t *group);
/** As catena_group_free.
 * @param flush operations of the group's attachments have sent words that no
 *              operation waits for: flush them first */
catena_status_t ctn_group_free(catena_group_t *group, bool flush);
/** The last operation of the world, or of a group that is freed right after it:
 * blocks until all members have called it, and sums `*sum` over them.
 * @param scan 0, or 1 for a second one
 * @return ERR_STATE: this rank has operations under way; then it does
 * nothing */
catena_status_t ctn_group_teardown_sum(catena_group_t *group, unsigned scan,
                                       uint64_t *sum);
/** Release it locally; no member may put into its control block any more. */
void ctn_group_release(catena_group_t *group);
/** Return whether there are groups besides those of the context. */
bool ctn_groups_left(const ctn_exec_t *exec);
/** Release all groups and their attachments, including groups in teardown.
 * @return the number of groups that had not been freed */
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
