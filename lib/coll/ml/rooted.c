/* HIER-7: gather and gatherv; HIER-8: scatter and scatterv. One reverses the
 * other; route.h says how blocks go through the levels. In gatherv and scatterv
 * only the root knows the lengths of all blocks. If the blocks go through
 * leaders, which need the lengths, these are sent first on the same route, as
 * blocks of 8 bytes: lengths are chunk 0, blocks are chunk 1.
 *
 * Blocks are gathered in the root's receive buffer, or sent from its send
 * buffer, if they are contiguous there; else they are copied from or to scratch
 * memory. */

#include "coll/ml/route.h"

#include <string.h>

#include "exec/message.h"

/** The state of gather(v) and scatter(v), in ml->table. */
typedef struct ml_rooted {
    ctn_route_t route; /* first */
    bool ahead;        /* lengths are sent first */
    bool differ;       /* a received length is not the expected one */
    bool user_buffer;  /* the cover lies in the root's buffer of all blocks */
    uint64_t own;      /* memory for `lengths` if this rank stores one block */
    uint64_t *lengths; /* [ranks of the cover]: lengths of their blocks */
} ml_rooted_t;

/** Whether the blocks go to the root. */
static bool gathers(const ctn_ml_t *ml)
{
    return ml->call.composition->single_level_kind == CTN_GATHER;
}

/** The block that this rank sends (gather) or receives (scatter). */
static const ctn_span_t *own_of(const ctn_ml_t *ml)
{
    return gathers(ml) ? &ml->call.in : &ml->call.out;
}

static bool is_root(const ctn_ml_t *ml)
{
    return ctn_ml_rank(ml) == ml->call.root;
}

/** Copy this rank's data to the cover, once it has memory: its block; at the
 * root of a scatter all blocks. */
static void copy_data(ctn_ml_t *ml)
{
    const ml_rooted_t *rooted = ml->table;
    if (gathers(ml)) {
        ctn_route_copy_own(ml, &rooted->route, &ml->call.in, true);
    } else if (is_root(ml) && !rooted->user_buffer) {
        ctn_route_copy_blocks(ml, &ml->call.all, &rooted->route.cover, true);
    }
}

/* ---- lengths ---- */

/** Plan the chunk that sends lengths. Set those that this rank knows. */
static catena_status_t plan_lengths(ctn_ml_t *ml)
{
    ml_rooted_t *rooted = ml->table;
    ctn_cover_t *cover = &rooted->route.cover;
    size_t bytes = rooted->route.ranks * sizeof(uint64_t);
    rooted->lengths = &rooted->own;
    if (rooted->route.keeps) {
        rooted->lengths = ctn_ml_scratch(ml, bytes);
        if (rooted->lengths == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        memset(rooted->lengths, 0, bytes);
    }
    rooted->lengths[rooted->route.own] = own_of(ml)->bytes;
    if (!gathers(ml) && is_root(ml)) {
        for (uint32_t i = 0; i < rooted->route.ranks; i++) {
            rooted->lengths[i] = ctn_blocks_bytes(&ml->call.all, i);
        }
    }
    cover->bytes = sizeof(uint64_t);
    cover->memory = (unsigned char *)rooted->lengths;
    return ctn_route_layout(ml, &rooted->route);
}

/** A block has another length than expected: log the first one, and let the
 * operation fail. */
static void refuse(ctn_ml_t *ml, uint32_t rank, uint64_t received,
                   size_t expected)
{
    ml_rooted_t *rooted = ml->table;
    if (!rooted->differ) {
        (void)ctn_message_report_length(
            ml->exec, ml->call.composition->collective->name,
            gathers(ml) ? rank : ml->call.root,
            gathers(ml) ? ml->call.root : rank, received, expected);
    }
    rooted->differ = true;
    ml->status = CATENA_ERR_ARG;
}

/** The root of a gather has expected lengths for all ranks, another rank of a
 * scatter for itself. */
static void check_lengths(ctn_ml_t *ml)
{
    const ml_rooted_t *rooted = ml->table;
    if (gathers(ml) && is_root(ml)) {
        for (uint32_t i = 0; i < rooted->route.ranks; i++) {
            size_t expected = ctn_blocks_bytes(&ml->call.all, i);
            if (rooted->lengths[i] != expected) {
                refuse(ml, i, rooted->lengths[i], expected);
            }
        }
    } else if (!gathers(ml) &&
               rooted->lengths[rooted->route.own] != ml->call.out.bytes) {
        refuse(ml, ctn_ml_rank(ml), rooted->lengths[rooted->route.own],
               ml->call.out.bytes);
    }
}

/* ---- blocks ---- */

/** Set where the blocks of the received lengths begin in the cover. */
static catena_status_t measure(ctn_ml_t *ml)
{
    ml_rooted_t *rooted = ml->table;
    uint32_t ranks = rooted->route.ranks;
    size_t *at = ctn_ml_keep(ml, (ranks + (size_t)1) * sizeof(*at));
    if (at == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    at[0] = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        if (__builtin_add_overflow(at[i], (size_t)rooted->lengths[i],
                                   &at[i + 1])) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    rooted->route.cover.at = at;
    return CATENA_OK;
}

/** The cover's lengths are set: take memory, and compute where blocks lie. */
static catena_status_t plan_blocks(ctn_ml_t *ml)
{
    ml_rooted_t *rooted = ml->table;
    ctn_cover_t *cover = &rooted->route.cover;
    unsigned char *user_buffer = NULL;
    if (is_root(ml) && !rooted->differ) {
        user_buffer = ctn_route_user_buffer(&ml->call, cover->at);
    }
    rooted->user_buffer = user_buffer != NULL;
    catena_status_t status =
        ctn_route_set_memory(ml, &rooted->route, own_of(ml), user_buffer);
    return status == CATENA_OK ? ctn_route_layout(ml, &rooted->route) : status;
}

/** At the root, which sends its own block to itself: both of its lengths. */
static void check_own(ctn_ml_t *ml)
{
    size_t block = ctn_blocks_bytes(&ml->call.all, ctn_ml_rank(ml));
    size_t own = own_of(ml)->bytes;
    if (block != own) {
        refuse(ml, ctn_ml_rank(ml), gathers(ml) ? own : block,
               gathers(ml) ? block : own);
    }
}

/** Plan the blocks with the lengths that this rank knows without messages. */
static catena_status_t plan_known(ctn_ml_t *ml)
{
    ml_rooted_t *rooted = ml->table;
    ctn_cover_t *cover = &rooted->route.cover;
    cover->bytes = own_of(ml)->bytes;
    if (is_root(ml)) {
        check_own(ml);
        cover->bytes = ml->call.all.bytes;
        if (ctn_has_lengths(ml->call.composition->collective)) {
            cover->at = ctn_route_offsets(ml, cover);
            if (cover->at == NULL) {
                return CATENA_ERR_NO_MEMORY;
            }
        }
    }
    return plan_blocks(ml);
}

/** The lengths have arrived: plan the blocks. */
static void lengths_arrived(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    (void)chunk;
    check_lengths(ml);
    catena_status_t status = measure(ml);
    if (status == CATENA_OK) {
        status = plan_blocks(ml);
    }
    if (status == CATENA_OK) {
        copy_data(ml);
    } else {
        ml->status = status;
        ctn_ml_give_up(ml); /* so no further task runs */
    }
}

/** Begin a chunk. If it is the chunk of the blocks and lengths were sent first,
 * add a local step that makes the route of blocks. After a length mismatch the
 * operation runs to its end and fails.
 * @return whether it is the chunk of the blocks */
static bool open_chunk(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_rooted_t *rooted = ml->table;
    bool blocks = chunk->index + 1 == ml->chunks;
    chunk->exclusive = chunk->index > 0;
    if (blocks && rooted->ahead) {
        ctn_ml_add_local(chunk, lengths_arrived);
    }
    return blocks;
}

/** Set the number of chunks and make the route. If lengths are sent first, it
 * is the route of lengths, and those that this rank knows are set. Else it is
 * the route of blocks, and the data are copied.
 * @return ERR_NO_MEMORY, ERR_UNSUPPORTED (lengths would be sent first, but the
 * simulator moves no user data; logged) */
static catena_status_t plan(ctn_ml_t *ml)
{
    ml_rooted_t *rooted = ctn_ml_keep(ml, sizeof(*rooted));
    if (rooted == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ml->table = rooted;
    rooted->ahead = ctn_has_lengths(ml->call.composition->collective) &&
                    !ctn_route_is_single_level(ml) && ctn_ml_levels(ml) > 0;
    rooted->differ = false;
    if (rooted->ahead && ml->exec->drop_data) {
        ctn_error(ml->exec->log,
                  "%s: lengths are sent as data through %u levels, but this "
                  "simulation moves no data; expected another payload, or "
                  "hierarchy network:p2p",
                  ml->call.composition->collective->name, ctn_ml_levels(ml));
        return CATENA_ERR_UNSUPPORTED;
    }
    ml->chunks = rooted->ahead ? 2 : 1;
    catena_status_t status =
        ctn_route_find(ml, &rooted->route, CTN_ROUTE_ROOTED);
    if (status == CATENA_OK) {
        status = rooted->ahead ? plan_lengths(ml) : plan_known(ml);
    }
    if (status == CATENA_OK && !rooted->ahead) {
        copy_data(ml);
    }
    return status;
}

/* ---- gather ---- */

/** At the root: copy all blocks to the receive buffer. */
static void copy_out(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_rooted_t *rooted = ml->table;
    (void)chunk;
    if (!rooted->user_buffer) {
        ctn_route_copy_blocks(ml, &ml->call.all, &rooted->route.cover, false);
    }
}

static void compose_gather(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    bool blocks = open_chunk(ml, chunk);
    ctn_route_gather(ml, chunk, CTN_ROUTE_ROOTED);
    if (blocks && is_root(ml)) {
        ctn_ml_add_local(chunk, copy_out);
    }
}

/* ---- scatter ---- */

/** Copy this rank's block to the receive buffer. */
static void take_own(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_rooted_t *rooted = ml->table;
    (void)chunk;
    if (!ml->call.in_place) {
        ctn_route_copy_own(ml, &rooted->route, &ml->call.out, false);
    }
}

static void compose_scatter(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    bool blocks = open_chunk(ml, chunk);
    ctn_route_scatter(ml, chunk, CTN_ROUTE_ROOTED);
    if (blocks) {
        ctn_ml_add_local(chunk, take_own);
    }
}

static bool scatter_single_level(const ctn_call_t *call,
                                 ctn_ml_config_t *config,
                                 ctn_basic_coll_t *basic)
{
    unsigned char *all;
    if (!ctn_route_single_level(call, config, &call->out, &all, basic)) {
        return false;
    }
    basic->in = all;
    basic->out = call->out.base;
    return true;
}

#define ROOTED(its_name, kind, single, composes)                               \
    {                                                                          \
        CTN_ML_COLLECTIVE(its_name),                                           \
            .kinds = 1u << (kind), .single_level_kind = (kind),                \
            .single_level_basic = (single), .plan = plan,                      \
            .compose = (composes)                                              \
    }

const ctn_composition_t ctn_ml_gather =
    ROOTED(gather, CTN_GATHER, ctn_route_gather_single_level, compose_gather);
const ctn_composition_t ctn_ml_gatherv =
    ROOTED(gatherv, CTN_GATHER, ctn_route_gather_single_level, compose_gather);
const ctn_composition_t ctn_ml_scatter =
    ROOTED(scatter, CTN_SCATTER, scatter_single_level, compose_scatter);
const ctn_composition_t ctn_ml_scatterv =
    ROOTED(scatterv, CTN_SCATTER, scatter_single_level, compose_scatter);
