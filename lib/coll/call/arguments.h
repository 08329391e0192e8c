#ifndef CTN_COLL_CALL_ARGUMENTS_H
#define CTN_COLL_CALL_ARGUMENTS_H

#include <catena/coll.h>

#include "coll/blocks.h"
#include "core/description.h"
#include "core/refuse.h"
#include "group/check.h"
#include "type/op.h"

/* The arguments of all collectives, of groups and of neighborhoods, and the
 * check that all of them share. */

/** ctn_call_<name> describes catena_<name>. */
#define CTN_ANY(NAME, name, ...) extern const ctn_description_t ctn_call_##name;
#include "core/calls.def"

/** The form of a call. */
typedef enum ctn_mode {
    CTN_BLOCKING,
    CTN_NONBLOCKING,
    CTN_PERSISTENT
} ctn_mode_t;

/** The arguments as the caller gave them. Those that the collective does not
 * have are 0. */
typedef struct ctn_arguments {
    const ctn_description_t *collective;
    ctn_coll_side_t send;
    ctn_coll_side_t recv;
    const ctn_reduce_op_t *op;
    int root;
} ctn_arguments_t;

/** Begin a call: refuse it without a group or without a request, else note it.
 * @param record for ctn_arguments_returns; may be NULL
 * @return CATENA_OK, ERR_ARG (logged) */
static inline catena_status_t ctn_arguments_begin(const ctn_arguments_t *args,
                                                  catena_group_t *group,
                                                  ctn_mode_t mode,
                                                  catena_request_t **request,
                                                  ctn_recorded_call_t **record)
{
    *record = NULL;
    const char *name = args->collective->name;
    if (CTN_UNUSABLE(group, CTN_GROUP)) {
        (void)ctn_refuse_handle(name, "group", group);
        ctn_log_returns_error(name, CATENA_ERR_ARG);
        return CATENA_ERR_ARG;
    }
    if (mode != CTN_BLOCKING && request == NULL) {
        (void)ctn_refuse_null(group->exec->log, name, "request");
        ctn_log_returns_error(name, CATENA_ERR_ARG);
        return CATENA_ERR_ARG;
    }
    *record = ctn_call_enters(
        group, args->collective->code,
        (args->collective->traits & CTN_ROOT_ARGUMENT) != 0 ? args->root : -1);
    return CATENA_OK;
}

/** Note that it returns with this status. */
static inline void
ctn_arguments_returns(const ctn_arguments_t *args, const catena_group_t *group,
                      ctn_recorded_call_t *call, ctn_mode_t mode,
                      catena_status_t status, catena_request_t *const *request)
{
    ctn_call_returns(
        group->exec, call,
        mode == CTN_NONBLOCKING ? CTN_RECORD_STARTED : CTN_RECORD_OVER,
        mode != CTN_BLOCKING && status == CATENA_OK ? *request : NULL);
    if (__builtin_expect(status != CATENA_OK, 0)) {
        ctn_log_returns_error(args->collective->name, status);
    }
}

/** Record that this rank refuses the call because of its arguments. With
 * CATENA_CHECK=on, notify the other ranks. */
void ctn_arguments_refused(const ctn_arguments_t *args, catena_group_t *group,
                           ctn_recorded_call_t *call);

/** The ranks that blocks go to and come from. */
typedef struct ctn_peers {
    const ctn_exec_t *exec;
    uint32_t targets; /* number of ranks that blocks go to */
    uint32_t sources; /* number of ranks that blocks come from */
    uint32_t rank;    /* this rank, in a group */
    /** Whether target or source i is CATENA_PROC_NULL: the arguments for its
     * block are then not significant. NULL: all of them are ranks. */
    bool (*is_null)(const void *of, bool target, uint32_t i);
    const void *of; /* passed to is_null: the neighborhood */
} ctn_peers_t;

/** The peers of a collective on a group: all its ranks. */
static inline ctn_peers_t ctn_peers_of(const catena_group_t *group)
{
    uint32_t size = group->chain.place.size;
    return (ctn_peers_t){.exec = group->exec,
                         .targets = size,
                         .sources = size,
                         .rank = group->chain.place.rank};
}

/** The checked arguments; lengths are in bytes. A side that is not significant
 * on this rank is all 0. A side that is CATENA_IN_PLACE describes the buffer of
 * the other side. Exception: if the other side has a block for each rank and
 * the side in place has only this rank's (gather, allgather, scatter), the side
 * in place is all 0. */
typedef struct ctn_operands {
    ctn_blocks_t send; /* if there is only one block, it is block 0 */
    ctn_blocks_t recv;
    size_t send_bytes; /* of all blocks, except those of CATENA_PROC_NULL */
    size_t recv_bytes; /* likewise */
    ctn_reducer_t by;  /* of a reduction: operation and type */
    uint32_t root;     /* 0 if there is none */
    bool in_place;
} ctn_operands_t;

/** Note the reduction, and the length of this rank's block or vector, or of all
 * that it sends (ctn_recorded_call_t), from checked arguments. */
static inline void ctn_arguments_note(ctn_recorded_call_t *call,
                                      const ctn_peers_t *peers,
                                      const ctn_operands_t *operands)
{
    const ctn_blocks_t *send = &operands->send;
    const ctn_blocks_t *recv = &operands->recv;
    bool one_length = send->type != NULL && send->counts == NULL;
    ctn_call_reduces(call, &operands->by);
    if (send->counts != NULL && recv->counts != NULL) {
        ctn_call_moves(call, operands->send_bytes);
    } else {
        ctn_call_moves(call, ctn_blocks_bytes(
                                 one_length || recv->type == NULL ? send : recv,
                                 peers->rank));
    }
}

/** Check the arguments. Those that are significant on some ranks only are
 * checked there.
 * @return CATENA_OK, ERR_ARG (logged) */
catena_status_t ctn_arguments_check(const ctn_arguments_t *args,
                                    const ctn_peers_t *peers,
                                    ctn_operands_t *operands);

/** See ctn_arguments_compare. */
catena_status_t ctn_arguments_sign(const ctn_arguments_t *args,
                                   catena_group_t *group, ctn_mode_t mode,
                                   const ctn_operands_t *operands,
                                   ctn_signature_t *signature);

/** With CATENA_CHECK=on: sign a call of a group with valid arguments, and
 * compare it with those of the other ranks. A call that does not block is only
 * signed: ctn_call_start compares it before its operation starts.
 * @param[out] checked `signature`; NULL: calls are not compared
 * @return CATENA_OK, or why the call fails */
static inline catena_status_t
ctn_arguments_compare(const ctn_arguments_t *args, catena_group_t *group,
                      ctn_mode_t mode, const ctn_operands_t *operands,
                      ctn_signature_t *signature,
                      const ctn_signature_t **checked)
{
    *checked = ctn_group_checks(group) ? signature : NULL;
    return *checked != NULL
               ? ctn_arguments_sign(args, group, mode, operands, signature)
               : CATENA_OK;
}

/** Whether a buffer with data is neither missing nor CATENA_IN_PLACE. Its type
 * is one whose data begin at the base. */
static inline bool ctn_is_buffer(const void *buffer)
{
    return (uintptr_t)buffer >= CTN_FIRST_POINTER &&
           (uintptr_t)buffer != UINTPTR_MAX;
}

/** Whether this call moves no data on any rank. Each rank must come to the same
 * result from its own arguments, since none may wait for another one then. So
 * it returns false if a rank does not know the lengths of the other ranks. */
static inline bool ctn_operands_empty(const ctn_description_t *collective,
                                      const ctn_operands_t *operands)
{
    if (collective->recv == CTN_SIDE_NONE || /* a barrier */
        (ctn_has_lengths(collective) &&
         (ctn_has_trait(collective, CTN_ROOT_ARGUMENT) ||
          ctn_has_blocks(collective->send)) &&
         !ctn_has_trait(collective, CTN_REDUCES))) {
        return false;
    }
    if (ctn_has_blocks(collective->recv) && operands->recv.type != NULL) {
        return operands->recv_bytes == 0;
    }
    return operands->send_bytes == 0 &&
           (operands->recv_bytes == 0 ||
            (ctn_has_blocks(collective->send) && operands->send.type != NULL));
}

/** End a call that moves no data. A persistent request is created in any case.
 * @param signature for ctn_call_start; or NULL */
catena_status_t ctn_call_empty(catena_group_t *group, ctn_mode_t mode,
                               const ctn_signature_t *signature,
                               catena_request_t **request);

#endif
