#ifndef CTN_COLL_CALL_ARGUMENTS_H
#define CTN_COLL_CALL_ARGUMENTS_H

#include "coll/blocks.h"
#include "coll/call/description.h"
#include "group/group.h"
#include "type/op.h"

/* The arguments of all collectives, of groups and of neighborhoods, and their
 * only check. */

/** ctn_call_<name> describes catena_<name>. */
#define CTN_CALL(NAME, name, send, recv, traits)                               \
    extern const ctn_description_t ctn_call_##name;
#define CTN_VARIANT(NAME, name, OF, send, recv, traits)                        \
    extern const ctn_description_t ctn_call_##name;
#define CTN_ALLTOALL(NAME, name, send, recv, traits)                           \
    extern const ctn_description_t ctn_call_##name;
#define CTN_NEIGHBOR(NAME, name, PATTERN, send, recv, traits)                  \
    extern const ctn_description_t ctn_call_##name;
#include "coll/call/calls.def"

/** The kind of call. */
typedef enum ctn_mode {
    CTN_BLOCKING,
    CTN_NONBLOCKING,
    CTN_PERSISTENT
} ctn_mode_t;

/** The arguments as the caller gave them. Those that it does not have are 0. */
typedef struct ctn_arguments {
    const ctn_description_t *collective;
    ctn_coll_side_t send;
    ctn_coll_side_t recv;
    const ctn_reduce_op_t *op;
    int root;
} ctn_arguments_t;

/** The ranks that blocks go to and come from. */
typedef struct ctn_peers {
    const ctn_exec_t *exec;
    uint32_t targets;
    uint32_t sources;
    uint32_t rank; /* this rank, in a group */
    /** Whether peer i of `of` is none (CATENA_PROC_NULL): arguments for its
     * block are not significant. NULL: all are ranks. */
    bool (*is_null)(const void *of, bool target, uint32_t i);
    const void *of;
} ctn_peers_t;

static inline ctn_peers_t ctn_peers_of(const catena_group_t *group)
{
    uint32_t size = group->chain.place.size;
    return (ctn_peers_t){.exec = group->exec,
                         .targets = size,
                         .sources = size,
                         .rank = group->chain.place.rank};
}

/** The checked arguments; lengths are in bytes. A side that is not significant
 * on this rank is all 0. In place a side describes the other side's buffer,
 * unless one side has a block of each rank and the other this rank's (gather,
 * allgather, scatter): then the latter is all 0. */
typedef struct ctn_operands {
    ctn_blocks_t send; /* one block: block 0 */
    ctn_blocks_t recv;
    size_t send_bytes; /* of all blocks of ranks */
    size_t recv_bytes;
    ctn_reducer_t by;
    uint32_t root;
    bool in_place;
} ctn_operands_t;

/** Check the arguments. Those that are significant on some ranks only are
 * checked there.
 * @return CATENA_OK, ERR_ARG (logged) */
catena_status_t ctn_arguments_check(const ctn_arguments_t *args,
                                    const ctn_peers_t *peers,
                                    ctn_operands_t *operands);

/** Whether a buffer that has data is neither missing nor CATENA_IN_PLACE, for a
 * type whose data begin at its base. */
static inline bool ctn_is_buffer(const void *buffer)
{
    return (uintptr_t)buffer >= CTN_FIRST_POINTER &&
           (uintptr_t)buffer != UINTPTR_MAX;
}

/** Whether no data move on any rank, as far as each rank alone can tell; so
 * none waits for another. */
static inline bool ctn_operands_empty(const ctn_description_t *collective,
                                      const ctn_operands_t *operands)
{
    if (collective->recv == CTN_SIDE_NONE || /* a barrier */
        (ctn_has_lengths(collective) &&
         (ctn_has_trait(collective, CTN_ROOT_ARGUMENT) ||
          ctn_has_blocks(collective->send)) &&
         !ctn_has_trait(collective, CTN_REDUCES))) {
        return false; /* ranks do not know the lengths of the others */
    }
    if (ctn_has_blocks(collective->recv) && operands->recv.type != NULL) {
        return operands->recv_bytes == 0;
    }
    return operands->send_bytes == 0 &&
           (operands->recv_bytes == 0 ||
            (ctn_has_blocks(collective->send) && operands->send.type != NULL));
}

/** End such a call. A persistent request is created in any case. */
catena_status_t ctn_call_empty(ctn_exec_t *exec, ctn_mode_t mode,
                               catena_request_t **request);

/** Log that a nonblocking or persistent call has no place for its request.
 * @return ERR_ARG */
catena_status_t ctn_refuse_request(const ctn_exec_t *exec,
                                   const ctn_description_t *collective);

#endif
