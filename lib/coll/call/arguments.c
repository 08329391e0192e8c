/* The check of the arguments of all collectives, which also converts lengths
 * from elements to bytes. */

#include "coll/call/arguments.h"

#include <catena/coll.h>
#include <stdint.h>

#include "core/hash.h"
#include "core/refuse.h"

/* ---- descriptions ---- */

#define CTN_ANY(NAME, name, ...)                                               \
    const ctn_description_t ctn_call_##name =                                  \
        CTN_DESCRIPTION(NAME, name, __VA_ARGS__);
#include "core/calls.def"

/* ---- one side ---- */

/** The check of a side that is significant on this rank. */
typedef struct side_check {
    const ctn_arguments_t *args;
    const ctn_peers_t *peers;
    const char *what; /* name of the parameter, for messages */
    const ctn_coll_side_t *side;
    ctn_side_shape_t shape;
    bool target;    /* the peers of this side are targets, not sources */
    uint32_t count; /* peers of this side */
} side_check_t;

/** Log a message that begins with the name of the collective. Value: ERR_ARG.
 * `check` is a side_check_t or a call_check_t. */
#define REFUSE(check, format, ...)                                             \
    ctn_refuse((check)->peers->exec->log, CATENA_ERR_ARG,                      \
               (check)->args->collective->name, format, __VA_ARGS__)

/** Text for a side without a type. */
#define NO_TYPE "the type of %s " CTN_NO_TYPE

/** Whether peer i is a rank, not CATENA_PROC_NULL. */
static bool is_peer(const side_check_t *check, uint32_t i)
{
    const ctn_peers_t *peers = check->peers;
    return peers->is_null == NULL ||
           !peers->is_null(peers->of, check->target, i);
}

/** Whether any peer is a rank. */
static bool has_peers(const side_check_t *check)
{
    uint32_t i = 0;
    while (i < check->count && !is_peer(check, i)) {
        i++;
    }
    return i < check->count;
}

CTN_COLD static catena_status_t refuse_buffer(const side_check_t *check,
                                              size_t bytes)
{
    if (check->side->buffer == CATENA_IN_PLACE) {
        return REFUSE(check, "%s is CATENA_IN_PLACE, which is not allowed here",
                      check->what);
    }
    return REFUSE(check, "%s is NULL; expected %zu bytes of data", check->what,
                  bytes);
}

/** Check that the buffer is there.
 * @param missing it is not, though the side has data: `bytes` in all */
static inline catena_status_t check_buffer(const side_check_t *check,
                                           size_t bytes, bool missing)
{
    return missing || check->side->buffer == CATENA_IN_PLACE
               ? refuse_buffer(check, bytes)
               : CATENA_OK;
}

/** Read a side with one block, or with blocks of one length. Before the call,
 * *blocks and *all are 0.
 * @param[out] all bytes of all blocks */
static inline catena_status_t read_uniform(const side_check_t *check,
                                           ctn_blocks_t *blocks, size_t *all)
{
    const ctn_coll_side_t *side = check->side;
    uint32_t n = check->shape == CTN_SIDE_UNIFORM ? check->count : 1;
    blocks->type = side->type;
    if (ctn_type_is_unusable(side->type)) {
        return check->count > 0 ? REFUSE(check, NO_TYPE, check->what)
                                : CATENA_OK;
    }
    if (!ctn_blocks_read_uniform(side, n, blocks, all)) {
        return REFUSE(check,
                      "%u blocks of %s, of %zu elements each, do not fit the "
                      "address space",
                      n, check->what, side->count);
    }
    if (check->peers->is_null != NULL && !has_peers(check)) {
        *all = 0;
    }
    return check_buffer(check, *all,
                        *all > 0 &&
                            ctn_type_is_missing(side->type, side->buffer, 1));
}

/** Check that the arrays of a side with individual lengths are there. */
static catena_status_t check_arrays(const side_check_t *check)
{
    const ctn_coll_side_t *side = check->side;
    bool packed = check->shape == CTN_SIDE_PACKED;
    const char *missing =
        side->counts == NULL                     ? "counts"
        : side->displacements == NULL && !packed ? "displacements"
        : side->types == NULL && check->shape == CTN_SIDE_TYPED ? "types"
                                                                : NULL;
    return missing == NULL || check->count == 0
               ? CATENA_OK
               : REFUSE(check, "%s_%s is NULL; expected [%u] elements",
                        packed ? "recv" : check->what, missing, check->count);
}

/** Check block i of a side with individual lengths, and add its bytes to *all.
 * Without displacements the blocks are contiguous.
 * @param[out] missing set to true if the block's data would lie in the first
 *   page, see ctn_type_is_missing
 * @return false: the block does not fit the address space, or *all overflows */
static inline bool block_fits(const ctn_coll_side_t *side,
                              const ctn_type_t *type, uint32_t i, size_t *all,
                              bool *missing)
{
    size_t count = side->counts[i];
    size_t bytes;
    if (__builtin_mul_overflow(count, type->bytes, &bytes) ||
        __builtin_add_overflow(*all, bytes, all)) {
        return false;
    }
    if (bytes == 0) {
        return true;
    }
    /* Neither the first nor the last element may begin below address 0. The
     * buffer may be CATENA_BOTTOM (0). -1 passes here: CATENA_IN_PLACE is -1,
     * and is refused elsewhere. */
    intptr_t at = (intptr_t)side->buffer; /* of an element's data */
    ptrdiff_t reach;                      /* distance in bytes */
    if (side->displacements != NULL &&
        (__builtin_mul_overflow(side->displacements[i],
                                side->types != NULL ? 1 : type->extent,
                                &reach) ||
         __builtin_add_overflow(at, reach, &at))) {
        return false;
    }
    if (__builtin_add_overflow(at, type->true_low, &at) || at < -1) {
        return false;
    }
    *missing |= (uintptr_t)at < CTN_FIRST_POINTER;
    return !(__builtin_mul_overflow(count - 1, type->extent, &reach) ||
             __builtin_add_overflow(at, reach, &at) || at < -1);
}

/** Read a side whose blocks have individual lengths. */
static catena_status_t read_vector(const side_check_t *check,
                                   ctn_blocks_t *blocks, size_t *all)
{
    const ctn_coll_side_t *side = check->side;
    catena_status_t status = check_arrays(check);
    size_t bytes = 0;
    bool missing = false;
    for (uint32_t i = 0; i < check->count && status == CATENA_OK; i++) {
        if (!is_peer(check, i)) {
            continue;
        }
        const ctn_type_t *type = ctn_side_type(side, i);
        if (ctn_type_is_unusable(type)) {
            status = REFUSE(check, NO_TYPE, check->what);
        } else if (!block_fits(side, type, i, &bytes, &missing)) {
            status = REFUSE(
                check,
                "block %u of %s, %zu elements at displacement %td, does not "
                "fit the address space",
                i, check->what, side->counts[i],
                side->displacements != NULL ? side->displacements[i] : 0);
        }
    }
    *all = bytes;
    *blocks = (ctn_blocks_t){.type = side->type,
                             .types = side->types,
                             .counts = side->counts,
                             .displacements = side->displacements};
    return status == CATENA_OK ? check_buffer(check, bytes, missing) : status;
}

/** Read a side of any shape. */
static inline catena_status_t read_side(const side_check_t *check,
                                        ctn_blocks_t *blocks, size_t *all)
{
    bool vector =
        check->shape >= CTN_SIDE_VECTOR && check->shape <= CTN_SIDE_PACKED;
    catena_status_t status = vector ? read_vector(check, blocks, all)
                                    : read_uniform(check, blocks, all);
    /* Losing `const` is safe: catena writes only to receive buffers. */
    blocks->base = (unsigned char *)(uintptr_t)check->side->buffer;
    return status;
}

/* ---- the call ---- */

/** The check of a call. */
typedef struct call_check {
    const ctn_arguments_t *args;
    const ctn_peers_t *peers;
    ctn_operands_t *operands;
    bool sends;    /* the send side is still to be read on this rank */
    bool receives; /* the same for recv */
    bool send_in_place;
} call_check_t;

CTN_COLD static catena_status_t refuse_root(const call_check_t *check)
{
    return REFUSE(check, "root is %d; expected 0 to %u", check->args->root,
                  check->peers->targets - 1);
}

/** Check the root, and find which sides are significant on this rank. */
static inline catena_status_t check_root(call_check_t *check)
{
    const ctn_arguments_t *args = check->args;
    unsigned traits = args->collective->traits;
    uint32_t root = (uint32_t)args->root; /* 0 if there is none */
    check->operands->root = root;
    if (root >= check->peers->targets && (traits & CTN_ROOT_ARGUMENT) != 0) {
        return refuse_root(check);
    }
    bool is_root = root == check->peers->rank;
    check->sends = args->collective->send != CTN_SIDE_NONE &&
                   (is_root || (traits & CTN_SEND_ROOT_ONLY) == 0);
    check->receives = args->collective->recv != CTN_SIDE_NONE &&
                      (is_root || (traits & CTN_RECV_ROOT_ONLY) == 0);
    return CATENA_OK;
}

CTN_COLD static catena_status_t refuse_reducer(const call_check_t *check)
{
    const ctn_type_t *type = check->args->recv.type;
    const ctn_reduce_op_t *op = check->args->op;
    char reason[256];
    if (ctn_type_is_unusable(type)) {
        return REFUSE(check, NO_TYPE, "the data");
    }
    if (op == NULL) {
        return REFUSE(check, "%s", CTN_NO_REDUCE_OP);
    }
    return REFUSE(check, "%s",
                  ctn_reduce_op_mismatch(op, type, reason, sizeof(reason)));
}

/** Read the operation and the type of a reduction. */
static inline catena_status_t read_reducer(const call_check_t *check)
{
    const ctn_type_t *type = check->args->recv.type;
    const ctn_reduce_op_t *op = check->args->op;
    if (ctn_type_is_unusable(type) || op == NULL ||
        !ctn_reduce_op_valid(op, type)) {
        return refuse_reducer(check);
    }
    check->operands->by =
        (ctn_reducer_t){.op = op, .type = ctn_reduce_op_unit(op, type)};
    return CATENA_OK;
}

/** Whether side `own` has this rank's block only and side `all` a block for
 * each rank. In place, the former block is one of the latter, so `own` is not
 * read. */
static bool is_among_all(ctn_side_shape_t own, ctn_side_shape_t all)
{
    return own == CTN_SIDE_ONE && ctn_has_blocks(all);
}

/** Read the recv side. */
static catena_status_t read_recv(const call_check_t *check)
{
    const ctn_arguments_t *args = check->args;
    const ctn_description_t *collective = args->collective;
    const ctn_peers_t *peers = check->peers;
    ctn_coll_side_t own;
    side_check_t recv = {.args = args,
                         .peers = peers,
                         .what = collective->send == CTN_SIDE_NONE ? "buffer"
                                                                   : "recv",
                         .side = &args->recv,
                         .shape = collective->recv,
                         .count = peers->sources};
    if (recv.shape == CTN_SIDE_OWN) { /* read_send has checked the counts */
        own = args->recv;
        own.count = own.counts[peers->rank];
        recv.side = &own;
    }
    return read_side(&recv, &check->operands->recv,
                     &check->operands->recv_bytes);
}

/** Read the send side, from recv's buffer if it is in place. */
static catena_status_t read_send(const call_check_t *check)
{
    const ctn_arguments_t *args = check->args;
    ctn_operands_t *operands = check->operands;
    bool in_place = check->send_in_place; /* the data are in recv */
    side_check_t send = {.args = args,
                         .peers = check->peers,
                         .what = in_place ? "recv" : "send",
                         .side = in_place ? &args->recv : &args->send,
                         .shape = args->collective->send,
                         .target = true,
                         .count = check->peers->targets};
    if (in_place && ctn_has_blocks(args->collective->recv) &&
        check->peers->targets != check->peers->sources) {
        return REFUSE(check,
                      "in place requires as many sources as targets; there are "
                      "%u and %u",
                      check->peers->sources, check->peers->targets);
    }
    return read_side(&send, &operands->send, &operands->send_bytes);
}

/** Check that this rank's own block is empty if all blocks of the other side
 * are. The call then ends at once (ctn_operands_empty), so no other check would
 * find it. In an allgather the other ranks would wait for this block; at the
 * root of a gather or scatter it would be lost. */
static catena_status_t check_own_block(const call_check_t *check)
{
    const ctn_description_t *collective = check->args->collective;
    const ctn_operands_t *operands = check->operands;
    unsigned in_place = CTN_SEND_IN_PLACE | CTN_RECV_IN_PLACE;
    if ((collective->traits & in_place) == 0 || /* neighborhoods */
        (ctn_has_trait(collective, CTN_ROOT_ARGUMENT) &&
         ctn_has_lengths(collective))) {
        return CATENA_OK;
    }
    /* A side that is not significant here has no type. */
    if (is_among_all(collective->send, collective->recv) &&
        operands->recv.type != NULL && operands->recv_bytes == 0) {
        return REFUSE(check, "send has %zu bytes; expected 0, like recv",
                      operands->send_bytes);
    }
    if (is_among_all(collective->recv, collective->send) &&
        operands->send.type != NULL && operands->send_bytes == 0) {
        return REFUSE(check, "recv has %zu bytes; expected 0, like send",
                      operands->recv_bytes);
    }
    return CATENA_OK;
}

/** Check the lengths of both sides against each other. */
static inline catena_status_t check_lengths(const call_check_t *check)
{
    const ctn_description_t *collective = check->args->collective;
    const ctn_operands_t *operands = check->operands;
    if (ctn_has_trait(collective, CTN_ONE_LENGTH) &&
        operands->send.bytes != operands->recv.bytes) {
        return REFUSE(check,
                      "a block of send has %zu bytes; expected %zu, as a block "
                      "of recv",
                      operands->send.bytes, operands->recv.bytes);
    }
    return (operands->send_bytes == 0) != (operands->recv_bytes == 0)
               ? check_own_block(check)
               : CATENA_OK;
}

/** Find which sides are read, and whether one is in place. */
static inline void find_sides(call_check_t *check)
{
    const ctn_arguments_t *args = check->args;
    const ctn_description_t *collective = args->collective;
    bool send_in_place = check->receives &&
                         args->send.buffer == CATENA_IN_PLACE &&
                         ctn_has_trait(collective, CTN_SEND_IN_PLACE);
    bool recv_in_place = check->sends && args->recv.buffer == CATENA_IN_PLACE &&
                         ctn_has_trait(collective, CTN_RECV_IN_PLACE);
    check->operands->in_place = send_in_place || recv_in_place;
    check->send_in_place = send_in_place;
    check->sends &=
        !(send_in_place && is_among_all(collective->send, collective->recv));
    check->receives &= !recv_in_place;
}

/** Read the sides, of any shape. */
static catena_status_t read_sides(call_check_t *check)
{
    ctn_operands_t *operands = check->operands;
    catena_status_t status = CATENA_OK;
    operands->send = operands->recv = (ctn_blocks_t){0};
    operands->send_bytes = operands->recv_bytes = 0;
    if (check->sends && check->args->collective->send == CTN_SIDE_PACKED) {
        status = read_send(check); /* first: recv uses the same counts */
        check->sends = false;
    }
    if (status == CATENA_OK && check->receives) {
        status = read_recv(check);
    }
    if (status == CATENA_OK && check->sends) {
        status = read_send(check);
    }
    return status == CATENA_OK ? check_lengths(check) : status;
}

/* Below these bounds no address overflows. */
/** Bounds each displacement, each count and the sum of the counts. */
#define PLAIN_ELEMENTS (UINT64_C(1) << 31)
/** Bounds the bytes, the extent and the lower end of the type. */
#define PLAIN_TYPE_BYTES (UINT64_C(1) << 24)
/** Bounds the address of the buffer. */
#define PLAIN_BUFFER (UINT64_C(1) << 62)

/** Read blocks of individual lengths. It refuses (false) whatever might
 * overflow or lie below the buffer. @return as read_plain_sides */
static inline bool read_plain_lengths(const ctn_coll_side_t *side, uint32_t n,
                                      size_t *all)
{
    const ctn_type_t *type = side->type;
    const size_t *counts = side->counts;
    const ptrdiff_t *displacements = side->displacements;
    size_t count = 0;
    size_t sizes = 0; /* the highest bit is that of the largest */
    if (counts == NULL || displacements == NULL ||
        (uintptr_t)side->buffer - CTN_FIRST_POINTER >= PLAIN_BUFFER) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        count += counts[i];
        sizes |= counts[i] | (size_t)displacements[i];
    }
    *all = count * type->bytes;
    return (sizes | count) < PLAIN_ELEMENTS &&
           (type->bytes | (size_t)type->extent | (size_t)type->true_low) <
               PLAIN_TYPE_BYTES;
}

/** Read one side with blocks of one type. @return as read_plain_sides */
static inline bool read_plain_side(const ctn_coll_side_t *side,
                                   ctn_side_shape_t shape, uint32_t peers,
                                   ctn_blocks_t *blocks, size_t *all)
{
    *blocks = (ctn_blocks_t){.base = (unsigned char *)(uintptr_t)side->buffer,
                             .type = side->type};
    if (ctn_type_is_unusable(side->type) || side->buffer == CATENA_IN_PLACE) {
        return false;
    }
    if (shape == CTN_SIDE_VECTOR) {
        blocks->counts = side->counts;
        blocks->displacements = side->displacements;
        return read_plain_lengths(side, peers, all);
    }
    return ctn_blocks_read_uniform(side, shape == CTN_SIDE_UNIFORM ? peers : 1,
                                   blocks, all) &&
           (*all == 0 || !ctn_type_is_missing(side->type, side->buffer, 1));
}

/** Read the sides in the usual case, blocks of one type and nothing in place:
 * half the instructions of read_sides.
 * @return false: another case, or an error; read_sides must read them */
static inline bool read_plain_sides(const call_check_t *check)
{
    const ctn_arguments_t *args = check->args;
    const ctn_side_shape_t send = args->collective->send;
    const ctn_side_shape_t recv = args->collective->recv;
    const ctn_peers_t *peers = check->peers;
    ctn_operands_t *to = check->operands;
    if (send > CTN_SIDE_VECTOR || recv > CTN_SIDE_VECTOR ||
        peers->is_null != NULL || to->in_place) {
        return false;
    }
    if (!check->receives) {
        to->recv = (ctn_blocks_t){0};
        to->recv_bytes = 0;
    } else if (!read_plain_side(&args->recv, recv, peers->sources, &to->recv,
                                &to->recv_bytes)) {
        return false;
    }
    if (!check->sends) {
        to->send = (ctn_blocks_t){0};
        to->send_bytes = 0;
        return true;
    }
    return read_plain_side(&args->send, send, peers->targets, &to->send,
                           &to->send_bytes);
}

catena_status_t ctn_arguments_check(const ctn_arguments_t *args,
                                    const ctn_peers_t *peers,
                                    ctn_operands_t *operands)
{
    call_check_t check = {.args = args, .peers = peers, .operands = operands};
    catena_status_t status = check_root(&check);
    operands->by = (ctn_reducer_t){0};
    if (status == CATENA_OK && ctn_has_trait(args->collective, CTN_REDUCES)) {
        status = read_reducer(&check);
    }
    if (status != CATENA_OK) {
        return status;
    }
    find_sides(&check);
    return read_plain_sides(&check) ? check_lengths(&check)
                                    : read_sides(&check);
}

catena_status_t ctn_call_empty(catena_group_t *group, ctn_mode_t mode,
                               const ctn_signature_t *signature,
                               catena_request_t **request)
{
    bool starts = mode == CTN_NONBLOCKING && signature != NULL;
    ctn_op_t *op = NULL;
    if (starts || mode == CTN_PERSISTENT) {
        op = ctn_op_create_empty(group->exec);
        if (op == NULL) {
            return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
        }
        op->persistent = mode == CTN_PERSISTENT;
    }
    if (starts) {
        ctn_call_start(group, signature, op, NULL);
    } else if (op != NULL && signature != NULL) {
        ctn_check_start(group, signature, NULL, NULL);
    }
    if (mode != CTN_BLOCKING) {
        *request = op; /* NULL counts as complete */
    }
    return CATENA_OK;
}

/* ---- signatures ---- */

void ctn_arguments_refused(const ctn_arguments_t *args, catena_group_t *group,
                           ctn_recorded_call_t *call)
{
    ctn_call_refused(group, call);
    if (ctn_group_checks(group)) {
        const ctn_signature_t signature = {.root = -1,
                                           .code =
                                               (uint8_t)args->collective->code,
                                           .form = CTN_SIGNED_REFUSED};
        ctn_check_start(group, &signature, NULL, NULL);
    }
}

/** Hash the lengths of blocks. */
static uint64_t hash_of(const ctn_blocks_t *blocks, uint32_t count)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < count; i++) {
        hash = ctn_hash_add(hash, ctn_blocks_bytes(blocks, i));
    }
    return hash;
}

/** Sign the lengths that must be the same on all ranks. The others are compared
 * where data move. */
static void sign_lengths(const ctn_description_t *collective,
                         const ctn_blocks_t *send, const ctn_blocks_t *recv,
                         uint32_t size, ctn_signature_t *signature)
{
    bool in_blocks = ctn_has_blocks(collective->recv) && recv->type != NULL;
    if (ctn_has_trait(collective, CTN_REDUCES) &&
        collective->send == CTN_SIDE_PACKED) {
        signature->bytes = hash_of(send, size);
        signature->form |= CTN_SIGNED_HASH;
    } else if (ctn_has_lengths(collective)) {
        if (collective->send == CTN_SIDE_ONE &&
            !ctn_has_trait(collective, CTN_ROOT_ARGUMENT)) { /* allgatherv */
            signature->bytes = hash_of(recv, size);
            signature->form |= CTN_SIGNED_HASH;
        }
    } else {
        signature->bytes =
            !in_blocks && send->type != NULL ? send->bytes : recv->bytes;
    }
}

catena_status_t ctn_arguments_sign(const ctn_arguments_t *args,
                                   catena_group_t *group, ctn_mode_t mode,
                                   const ctn_operands_t *operands,
                                   ctn_signature_t *signature)
{
    const ctn_description_t *collective = args->collective;
    const ctn_reducer_t *by = &operands->by;
    *signature = (ctn_signature_t){
        .root = ctn_has_trait(collective, CTN_ROOT_ARGUMENT) ? args->root : -1,
        .code = (uint8_t)collective->code,
        .form = mode == CTN_PERSISTENT ? CTN_SIGNED_PERSISTENT : 0};
    sign_lengths(collective, &operands->send, &operands->recv,
                 group->chain.place.size, signature);
    if (by->op != NULL) {
        signature->op = ctn_reducer_op_code(by);
        signature->type = ctn_reducer_type_code(by);
    }
    return mode == CTN_BLOCKING ? ctn_check_call(group, signature) : CATENA_OK;
}
