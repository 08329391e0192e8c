#ifndef CTN_GROUP_RECOVERY_H
#define CTN_GROUP_RECOVERY_H

#include "exec/deaths.h"
#include "group/group.h"

/* What a group has where failures are returned (CATENA_FAILURES=return): a
 * table of its members, since a chain knows neighbors only, and in the arena of
 * each member an area with
 *
 * - a word for each member: not 0 when all operations of the group have ended
 *   there, and hence access no memory of other members any more; the status,
 *   negated. So the words spread a failure, and acknowledge it;
 * - the votes of agreements (group/agree.c).
 *
 * A group fails when one of its members dies, a member revokes it, or one has
 * no memory for its part of an operation. An operation that fails ends when all
 * living members that this rank has an endpoint to have stopped: other members
 * know no memory of this rank. A member that makes no call of
 * catena cannot say that it has stopped, and is waited for only
 * CTN_STOP_NS: it finds the word before it accesses anything.
 *
 * A member that fails while a group is made may know no areas of the new group,
 * and others may have got it already. So it gives the group up: it notifies its
 * neighbors in the new chain, by a word in their control blocks. A neighbor
 * that has the group fails it, and all members learn so by its table. A
 * neighbor that has not got it fails, too, with the group that it is made from,
 * and notifies its other neighbor. */

#define CTN_STOP_NS UINT64_C(500000000)

/** A vote: what a member tells a coordinator, or in its turn the coordinator
 * the others, about an agreement. In the arena of whom it is told to. */
typedef struct ctn_vote {
    uint64_t flag;
    uint64_t block; /* of a shrink: offset of the new control block; else 0 */
    uint64_t area;  /* likewise of the new area */
    uint64_t word;  /* last: the number of the agreement, and what it says */
} ctn_vote_t;

typedef struct ctn_recovery {
    ctn_failure_t failure; /* first */
    ctn_exec_t *exec;
    struct ctn_recovery *next;
    uint32_t most; /* members that the area has room for */
    uint32_t size; /* members; 0: not known yet */
    uint32_t me;   /* this rank in the group */
    bool linked;   /* neighbors in the chain may have got the group */
    const uint64_t *given_up; /* see ctn_control_block_t */
    uint32_t *member;         /* [size] world ranks */
    uint64_t *offset;         /* [size] of the members' areas */
    uint64_t id;              /* of these offsets: the same on all members */
    uint8_t *told;            /* [size] 1: this rank's word was stored there */
    /* The area. */
    unsigned char *area;
    bool area_is_given;  /* part of another allocation */
    uint64_t *word;      /* [most] */
    ctn_vote_t *vote;    /* [most][2], by the parity of the agreement */
    uint64_t *result[2]; /* by the parity; see agree.c */
    uint64_t since_ns;   /* when the group failed */
    uint32_t checks;     /* exec->peer_checks then */
    bool stopped;        /* all members have */
    bool freed;          /* its teardown has begun: no operation is left, and
                            no persistent request of a group that is not
                            permanent */
    /* Agreements. */
    uint64_t asked;   /* number of the last one that this rank has begun */
    uint64_t decided; /* number of the last one of which it has the result */
    uint32_t first;   /* the coordinator: the first living member */
    bool answered;    /* this rank's vote in `asked` was sent to it */
    uint8_t *replied; /* [size] 1: `decided` was told to that member */
    bool over;        /* all living members have left by `decided` */
    bool fetching;    /* the result, into `result` */
    ctn_vote_t own;   /* this rank's vote in `asked` */
    uint64_t pending; /* of the fetch */
} ctn_recovery_t;

/** Create it for a group that may have up to `most` members, which are not
 * known yet. No effect where failures end the job.
 * @param area of the world: zero, at the same offset in all arenas, and not
 *             released here; NULL: allocate it
 * @return ERR_NO_MEMORY */
catena_status_t ctn_recovery_open(catena_group_t *group, uint32_t most,
                                  void *area);
/** Length of an area. */
size_t ctn_recovery_area_bytes(uint32_t most);
/** Set the members: of the world without messages. @return ERR_NO_MEMORY */
catena_status_t ctn_recovery_of_world(catena_group_t *world);
/** Set the members.
 * @param member, offset [size]; malloc'd, owned by it from now on */
catena_status_t ctn_recovery_set(ctn_recovery_t *recovery, uint32_t size,
                                 uint32_t me, uint32_t *member,
                                 uint64_t *offset);
/** A phase's call (ctn_op_call): gather the members of a new, linked group. */
ctn_step_t ctn_recovery_gather(ctn_op_t *op, catena_group_t *made);
/** This rank does not get a new group, since the call that makes it has failed:
 * it fails on members that have got it. */
void ctn_recovery_give_up(const catena_group_t *made);
/** The group is released. After a failure the area stays, since
 * members may still fetch the result of an agreement from it. */
void ctn_recovery_close(catena_group_t *group);
/** Release those that have stayed. */
void ctn_recovery_release_all(ctn_exec_t *exec);

/** What operations of the group share; NULL: failures end the job. */
static inline ctn_failure_t *ctn_group_failure(const catena_group_t *group)
{
    ctn_recovery_t *recovery = ctn_group_original(group)->recovery;
    return recovery != NULL ? &recovery->failure : NULL;
}
/** Why the group has failed; OK: it has not. */
static inline catena_status_t ctn_group_status(const catena_group_t *group)
{
    const ctn_failure_t *failure = ctn_group_failure(group);
    return failure != NULL ? failure->status : CATENA_OK;
}
/** The same for a call that does not begin, with a message. */
static inline catena_status_t
ctn_group_explain_status(const catena_group_t *group)
{
    const ctn_failure_t *failure = ctn_group_failure(group);
    if (failure == NULL || failure->status == CATENA_OK) {
        return CATENA_OK;
    }
    failure->explain(failure);
    return failure->status;
}

static inline bool ctn_member_is_dead(const ctn_recovery_t *recovery,
                                      uint32_t i)
{
    return ctn_is_dead(recovery->exec, recovery->member[i]);
}

/** Bytes of the result of an agreement of up to so many members. */
size_t ctn_result_bytes(uint32_t most);
/** A member has died: find the coordinator again. */
void ctn_agree_died(ctn_recovery_t *recovery);
/** Answer members that ask for a result. */
void ctn_agree_news(ctn_recovery_t *recovery);
/** Agree with all living members. Blocks.
 * @param own     this rank's vote
 * @param[out] result see agree.c; valid until the next agreement
 * @return OK, or the error that has ended the context */
catena_status_t ctn_agree(ctn_recovery_t *recovery, ctn_vote_t own,
                          uint64_t **result);
/** The flags of all votes, combined by AND. */
uint64_t ctn_result_flag(const uint64_t *result);
/** Make a group of the living members; see catena_group_shrink.
 * @param made new, with room for all; NULL: this rank has no memory for it */
catena_status_t ctn_shrink(catena_group_t *group, catena_group_t *made);
/** Check that failures of the group are returned; else it is logged.
 * @return ERR_UNSUPPORTED, or the error that has ended the context */
catena_status_t ctn_recovery_check(const catena_group_t *group,
                                   const char *function);
/** Before this rank leaves the job: wait until all living ones do. */
catena_status_t ctn_recovery_leave(catena_group_t *world);

#endif
