#ifndef CTN_GROUP_CHECK_H
#define CTN_GROUP_CHECK_H

#include "group/group.h"

/* CATENA_CHECK=on: before each call the members of a group compare what they
 * call. Where they differ, the call does nothing, and fails on all members with
 * ERR_ARG; rank 0 logs what two of them called. A rank that has already told
 * its caller that the call has succeeded, since it frees a group or initializes
 * a persistent request, ends the context. The comparison is a double scan
 * of the chain on a sequence of its own, so it changes neither the numbers nor
 * the algorithms of the calls. */

/** Parts of a signature: a mask. */
enum {
    CTN_SIGNED_PERSISTENT = 1u << 0, /* it initializes a persistent request */
    CTN_SIGNED_HASH = 1u << 1,   /* `bytes` is a hash: of several lengths, or of
                                       the algorithm of a split */
    CTN_SIGNED_REFUSED = 1u << 2 /* the caller's arguments are invalid */
};

/** What all members have to call alike. */
typedef struct ctn_signature {
    uint64_t bytes;    /* of a block or vector, or a hash; 0: not compared */
    uint32_t member;   /* 1 + its rank, set by the check; 0: none */
    uint32_t settings; /* of the group, set by the check: a hash of those that
                          catena_group_set has set; 0: none, or not compared */
    int32_t root;      /* -1: there is none */
    uint32_t flags;    /* of a split */
    uint8_t code;      /* ctn_call_code_t */
    uint8_t form;      /* mask of CTN_SIGNED_... */
    uint8_t op;   /* of a reduction: ctn_reducer_op_code; 0: there is none */
    uint8_t type; /* of a reduction: ctn_reducer_type_code */
} ctn_signature_t;

/** Whether calls of a group are checked. */
static inline bool ctn_group_checks(const catena_group_t *group)
{
    return group->exec->check && group->chain.place.size > 1;
}

/** Compare a call with those of the other members; blocks until that is done.
 * @return CATENA_OK, ERR_ARG: they differ; ERR_ENDED, ERR_PEER */
catena_status_t ctn_check_call(catena_group_t *group,
                               const ctn_signature_t *signature);
/** The same without waiting, for an operation of the group that has not been
 * started: it is started when all members have been seen to call the same, or
 * ends with ERR_ARG. Operations are started in the order of these calls.
 * @param op    NULL: nothing is started
 * @param begin starts the operation and returns true; if it returns false or is
 *              NULL, ctn_op_start does. Without memory: ctn_group_give_up */
void ctn_check_start(catena_group_t *group, const ctn_signature_t *signature,
                     ctn_op_t *op, bool (*begin)(ctn_op_t *op));

/** ctn_check_call for a call that also serves a group that has failed: then
 * members may have died, so nothing is compared.
 * @param refused this member has refused its arguments: it does not wait
 * @return CATENA_OK, also if the group fails meanwhile; ERR_ARG, ERR_ENDED,
 *         ERR_PEER */
catena_status_t ctn_check_recovery_call(catena_group_t *group,
                                        ctn_call_code_t code, bool refused);

/** Wait until all operations of ctn_check_start are started: a new setting of
 * the group applies to later ones only. */
void ctn_check_wait(catena_group_t *group);
/** A setting of the group has been set: collectives compare it from now on.
 * @param value NULL: as if it had never been set
 * @return CATENA_OK, ERR_NO_MEMORY */
catena_status_t ctn_check_set(catena_group_t *group, const char *name,
                              const char *value);

/** Start the operation of a call that does not block.
 * @param signature NULL: the call is not checked; else see ctn_check_start */
static inline void ctn_call_start(catena_group_t *group,
                                  const ctn_signature_t *signature,
                                  ctn_op_t *op, bool (*begin)(ctn_op_t *op))
{
    if (signature != NULL) {
        ctn_check_start(group, signature, op, begin);
    } else if (begin == NULL || !begin(op)) {
        ctn_op_start_request(op);
    }
}

/** The same for an operation that no caller waits for. */
static inline void ctn_call_start_detached(catena_group_t *group,
                                           const ctn_signature_t *signature,
                                           ctn_op_t *op)
{
    if (signature != NULL) {
        op->detached = true;
        ctn_check_start(group, signature, op, NULL);
    } else {
        ctn_op_start_detached(op);
    }
}

#endif
