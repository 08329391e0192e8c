#ifndef CTN_GROUP_GROUP_H
#define CTN_GROUP_GROUP_H

#include <catena/group.h>

#include "core/handle.h"
#include "exec/observe.h"
#include "group/chain.h"
#include "group/control_block.h"
#include "type/op.h"

/** State that a higher layer attaches to a group. This struct is a member of
 * that state. */
typedef struct ctn_attachment {
    const void *key; /* address of a constant of the layer */
    /** Return whether no operation on sequences of the attachment is under way,
     * generation barriers included; NULL: it has no sequences. */
    bool (*quiet)(const struct ctn_attachment *attachment);
    void (*release)(ctn_exec_t *exec, struct ctn_attachment *attachment);
    /** Called at epoch barrier B of the user sequence (exec/generations.h):
     * zero the attachment's words that hold sequence flags; may be NULL. */
    void (*clear)(ctn_exec_t *exec, struct ctn_attachment *attachment);
    struct ctn_attachment *next;
} ctn_attachment_t;

/** The mark of a group: core/handle.h. */
#define CTN_GROUP 0xc2

/** A group: a chain, and two numbered sequences of operations on it. The size
 * of the struct does not depend on the number of ranks. What higher layers know
 * about the group (nodes, leaders) is in attachments, which they create when
 * they need them. */
struct catena_group {
    ctn_exec_t *exec;
    ctn_chain_t chain; /* the chain, with the sequence of chain operations; its
                          slots are the start of the control block */
    ctn_sequence_t sequence; /* the user sequence: the application's */
    ctn_attachment_t *attachments;
    ctn_attachment_t *frequent; /* the one of these that most calls need, or
                                   NULL */
    uint32_t composed;          /* the application's operations under way that
                                   have no number in `sequence` */
    uint8_t barrier; /* how barriers of the group run; set and read by a higher
                        layer, 0 at first */
    uint8_t eager_slots; /* slots whose eager buffers are taken */
    bool permanent : 1;  /* a group of the context, freed with it */
    bool hidden : 1;     /* this is the first member of a ctn_hidden_t */
    bool stays : 1;      /* its control block is freed with the heap, since
                            other members may still put into it */
    bool listed : 1;     /* it is in the list of groups */
#ifndef NDEBUG
    uint8_t mark;
#endif
    struct ctn_recovery *recovery;  /* see recovery.h; NULL: failures end the
                                       job, or it is a hidden duplicate */
    ctn_recorded_scope_t *recorded; /* its entry in the recorder, or NULL */
    catena_group_t *next;           /* the next older one in this list */
    catena_group_t *previous;
};

_Static_assert(sizeof(struct catena_group) <= 288, "a handle is small");

/** The log of a group; NULL, the default log, if there is none. */
static inline const ctn_log_t *ctn_group_log(const catena_group_t *group)
{
    return CTN_UNUSABLE(group, CTN_GROUP) ? NULL : group->exec->log;
}

/** The log of an error that all ranks of a group detect: rank 0 writes it, the
 * others only keep its text. */
static inline const ctn_log_t *ctn_group_log_once(const catena_group_t *group)
{
    return group->chain.place.rank == 0 ? group->exec->log : ctn_log_kept();
}

/** What all hidden duplicates of a group share; attached to the group. */
typedef struct ctn_duplicates {
    ctn_refcount_t users; /* first: counts the hidden duplicates */
    ctn_attachment_t attachment;
    uint32_t changes; /* counts changes of the group's settings that hierarchies
                         depend on */
} ctn_duplicates_t;

/** The hidden duplicate of a group that a persistent operation runs on. It has
 * the ranks and the settings of the group. Its operations wait until its chain
 * is linked. The group's memory is kept as long as a duplicate exists. */
typedef struct ctn_hidden {
    catena_group_t group;       /* first: the duplicate as a group */
    catena_group_t *of;         /* the group that it duplicates */
    ctn_duplicates_t *requests; /* attached to `of` */
} ctn_hidden_t;

/** Return the group whose settings apply: that which a hidden duplicate
 * duplicates, else the group itself. */
static inline catena_group_t *ctn_group_original(const catena_group_t *group)
{
    return group->hidden ? ((const ctn_hidden_t *)group)->of
                         : (catena_group_t *)(uintptr_t)group;
}

/** The id of a new group: by its parent, the call of the parent that makes it,
 * and what distinguishes it from others that this call makes. */
uint64_t ctn_group_next_id(const catena_group_t *parent, const void *data,
                           size_t bytes);
/** Let the recorder know a new group; its place may follow later. */
void ctn_group_record(catena_group_t *group, uint64_t id);

/** Note that this rank enters a call of a group.
 * @param root -1: none
 * @return for ctn_call_returns; may be NULL */
static inline ctn_recorded_call_t *
ctn_call_enters(catena_group_t *group, ctn_call_code_t code, int root)
{
    ctn_recorded_scope_t *entry = group->recorded;
    if (entry == NULL) {
        return NULL;
    }
    if (entry->size != group->chain.place.size) { /* saves a store */
        entry->size = group->chain.place.size;
    }
    ctn_recorded_call_t *call =
        ctn_recorder_begin(group->exec->recorder, entry, code, root);
    if (group->exec->observer != NULL) {
        ctn_observe_enter(group->exec, call);
    }
    return call;
}

/** Note the length, see ctn_recorded_call_t. */
static inline void ctn_call_moves(ctn_recorded_call_t *call, uint64_t bytes)
{
    if (call != NULL) {
        call->bytes = bytes;
    }
}

/** Note the reduction. @param by its operation is NULL: there is none */
static inline void ctn_call_reduces(ctn_recorded_call_t *call,
                                    const ctn_reducer_t *by)
{
    if (call != NULL && by->op != NULL) {
        call->op = ctn_reducer_op_code(by);
        call->type = ctn_reducer_type_code(by);
    }
}

/** Note that a call returns.
 * @param state STARTED: it is OVER when its operation has ended. INSIDE: the
 *              call goes on to make others, and ctn_call_ends follows
 * @param op the request that it has made, persistent if the state is OVER;
 *           NULL: none */
static inline void ctn_call_returns(ctn_exec_t *exec, ctn_recorded_call_t *call,
                                    ctn_recorded_state_t state, ctn_op_t *op)
{
    if (call != NULL && call->state == CTN_RECORD_INSIDE) {
        if (state == CTN_RECORD_STARTED) {
            if (op == NULL || op->state == CTN_OP_DONE) {
                state = CTN_RECORD_OVER;
            } else {
                op->recorded = ctn_recorder_name(exec->recorder, call);
            }
        } else if (op != NULL) {
            op->initialized = *call;
            op->initialized.state = CTN_RECORD_STARTED;
        }
        call->state = (uint8_t)state;
    }
    if (exec->observer != NULL && call != NULL) {
        ctn_observe_return(exec, call, op);
    }
}

/** Note that this rank is no longer in a call that has made others, which may
 * have overwritten its record. */
void ctn_call_ends(const catena_group_t *group, ctn_call_code_t code);

/** Note that this rank refuses the call, for its arguments or for the state
 * that it finds. It has told no other rank, so the call has no number. */
static inline void ctn_call_refused(catena_group_t *group,
                                    ctn_recorded_call_t *call)
{
    if (call != NULL) {
        group->recorded->calls--;
        call->number = 0;
        call->state = CTN_RECORD_REFUSED;
    }
}

/** Return this rank's control block. */
static inline ctn_control_block_t *ctn_group_block(const catena_group_t *group)
{
    _Static_assert(offsetof(ctn_control_block_t, chain) == 0,
                   "the slots of the chain are first");
    return (void *)group->chain.sequence.slots;
}

/** Return the length of an eager buffer of the user sequence; the same on all
 * members. */
static inline uint32_t ctn_group_eager_bytes(const catena_group_t *group)
{
    return (uint32_t)ctn_sequence_eager_bytes(&group->sequence);
}

/** Return the offset of an eager buffer in the control block. */
static inline uint64_t ctn_group_eager(const catena_group_t *group,
                                       uint64_t seq, unsigned slot)
{
    return offsetof(ctn_control_block_t, user) +
           ctn_slot_eager_at(&group->sequence, seq, slot);
}

/** Return the group of a user sequence. */
static inline catena_group_t *ctn_group_of(ctn_sequence_t *sequence)
{
    return (catena_group_t *)(void *)((unsigned char *)sequence -
                                      offsetof(catena_group_t, sequence));
}

/** Take the eager buffers of the first `slots` slots (ctn_heap_take), before
 * other members use them or soon afterwards.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_group_take_more_eager(catena_group_t *group,
                                          unsigned slots);
static inline catena_status_t ctn_group_take_eager(catena_group_t *group,
                                                   unsigned slots)
{
    slots = slots < CTN_EAGER_SLOTS ? slots : CTN_EAGER_SLOTS;
    return slots <= group->eager_slots
               ? CATENA_OK
               : ctn_group_take_more_eager(group, slots);
}

/** This rank cannot do its part in a call of the group for which other members
 * wait, if there are any: see ctn_exec_give_up. */
static inline catena_status_t ctn_group_give_up(const catena_group_t *group,
                                                catena_status_t status)
{
    return group->chain.place.size == 1
               ? ctn_exec_result(group->exec, status)
               : ctn_exec_give_up(group->exec, group->sequence.failure, status);
}
/** The status that a call of the group returns after its arguments have been
 * accepted: other members wait for this one if it has no memory. */
static inline catena_status_t ctn_group_result(const catena_group_t *group,
                                               catena_status_t status)
{
    return status == CATENA_ERR_NO_MEMORY
               ? ctn_group_give_up(group, status)
               : ctn_exec_result(group->exec, status);
}
/** A blocking call of the group: start, wait, release.
 * @param op NULL: there was no memory for it */
static inline catena_status_t ctn_group_run(const catena_group_t *group,
                                            ctn_op_t *op)
{
    return op != NULL ? ctn_op_run(group->exec, op)
                      : ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
}

/** Create a group with a new control block; its chain has no place yet.
 * @param members that it may have at most */
catena_status_t ctn_group_create(ctn_exec_t *exec, uint32_t members,
                                 catena_group_t **group);
/** The same for the world, before any other allocation. Its control block must
 * lie at the same offset on all ranks, so it is not a sparse block: their
 * offsets depend on the limit of the node. What else must lie at the same
 * offset is part of the same allocation: where this rank is refused memory for
 * the tables of the heap, an allocation may succeed at another offset than on
 * other ranks.
 * @param more bytes behind the control block, zero */
catena_status_t ctn_group_create_world(ctn_exec_t *exec, size_t more,
                                       catena_group_t **group);
/** Create a hidden duplicate of a group, with a new control block. Its chain is
 * not linked yet: operations wait until ctn_sequence_open. */
catena_status_t ctn_hidden_create(catena_group_t *of, ctn_hidden_t **hidden);
/** Return what the hidden duplicates of a group share, made by the first call;
 * NULL: no memory. */
ctn_duplicates_t *ctn_duplicates_of(catena_group_t *group);
/** Free a group as catena_group_free does.
 * @param function    the public function, for messages
 * @param flush_words operations of the group's attachments have sent words that
 *                    no operation waits for: flush them first */
catena_status_t ctn_group_free(catena_group_t *group, const char *function,
                               bool flush_words);
/** Refuse a call since so many operations of a group, or of its neighborhood,
 * are under way.
 * @param kind "group" or "neighborhood"
 * @return ERR_STATE */
catena_status_t ctn_group_refuse_busy(const catena_group_t *group,
                                      uint64_t operations, const char *kind,
                                      const char *function);
/** Whether the application has operations under way on the group, which is
 * logged. */
bool ctn_group_is_busy(const catena_group_t *group, const char *function);
/** The same for all groups. */
bool ctn_groups_are_busy(const ctn_exec_t *exec, const char *function);
/** Run the teardown scan of the world, or of a group that the caller releases
 * right after it: blocks until all members have called it, and sums `*sum` over
 * them.
 * @param scan 0 for the first such scan of the group, 1 for a second one
 * @return OK, or the error that has ended the context */
catena_status_t ctn_group_teardown_sum(catena_group_t *group, unsigned scan,
                                       uint64_t *sum);
/** Free the memory of a group on this rank, without a message. No member may
 * put into its control block any more. */
void ctn_group_release(catena_group_t *group);
/** Return whether there are groups besides the permanent ones. */
bool ctn_groups_left(const ctn_exec_t *exec);
/** Release all groups and their attachments, including groups in teardown.
 * @return the number of groups that had not been freed */
size_t ctn_groups_release(ctn_exec_t *exec);

/** Return the attachment with a key; NULL: there is none. */
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
