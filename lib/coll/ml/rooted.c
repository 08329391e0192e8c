/* HIER-7, HIER-8: what gather(v) and scatter(v) share; see rooted.h. */

#include "coll/ml/rooted.h"

#include <string.h>

#include "exec/message.h"

/* ---- lengths ---- */

/** Plan the chunk that sends lengths. Set those that this rank knows. */
static catena_status_t plan_lengths(ctn_ml_t *ml)
{
    ctn_ml_rooted_t *rooted = ml->table;
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
    rooted->lengths[rooted->route.own] = ctn_ml_rooted_own(ml)->bytes;
    if (ml->call.composition->single_level_kind == CTN_SCATTER &&
        ctn_ml_rooted_is_root(ml)) {
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
    ctn_ml_rooted_t *rooted = ml->table;
    if (!rooted->differ) {
        bool gathers = ml->call.composition->single_level_kind == CTN_GATHER;
        (void)ctn_message_report_length(
            ml->exec, ml->call.composition->collective->name,
            gathers ? rank : ml->call.root, gathers ? ml->call.root : rank,
            received, expected);
    }
    rooted->differ = true;
    ml->status = CATENA_ERR_ARG;
}

/** The root of a gather has expected lengths for all ranks, another rank of a
 * scatter for itself. */
static void check_lengths(ctn_ml_t *ml)
{
    const ctn_ml_rooted_t *rooted = ml->table;
    bool gathers = ml->call.composition->single_level_kind == CTN_GATHER;
    if (gathers && ctn_ml_rooted_is_root(ml)) {
        for (uint32_t i = 0; i < rooted->route.ranks; i++) {
            size_t expected = ctn_blocks_bytes(&ml->call.all, i);
            if (rooted->lengths[i] != expected) {
                refuse(ml, i, rooted->lengths[i], expected);
            }
        }
    } else if (!gathers &&
               rooted->lengths[rooted->route.own] != ml->call.out.bytes) {
        refuse(ml, ctn_ml_rank(ml), rooted->lengths[rooted->route.own],
               ml->call.out.bytes);
    }
}

/* ---- blocks ---- */

/** Set where the blocks of the received lengths begin in the cover. */
static catena_status_t measure(ctn_ml_t *ml)
{
    ctn_ml_rooted_t *rooted = ml->table;
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
    ctn_ml_rooted_t *rooted = ml->table;
    ctn_cover_t *cover = &rooted->route.cover;
    unsigned char *user_buffer = NULL;
    if (ctn_ml_rooted_is_root(ml) && !rooted->differ) {
        user_buffer = ctn_route_user_buffer(&ml->call, cover->at);
    }
    rooted->user_buffer = user_buffer != NULL;
    catena_status_t status = ctn_route_set_memory(
        ml, &rooted->route, ctn_ml_rooted_own(ml), user_buffer);
    return status == CATENA_OK ? ctn_route_layout(ml, &rooted->route) : status;
}

/** At the root, which sends its own block to itself: both of its lengths. */
static void check_own(ctn_ml_t *ml)
{
    bool gathers = ml->call.composition->single_level_kind == CTN_GATHER;
    size_t block = ctn_blocks_bytes(&ml->call.all, ctn_ml_rank(ml));
    size_t own = ctn_ml_rooted_own(ml)->bytes;
    if (block != own) {
        refuse(ml, ctn_ml_rank(ml), gathers ? own : block,
               gathers ? block : own);
    }
}

/** Plan the blocks with the lengths that this rank knows without messages. */
static catena_status_t plan_known(ctn_ml_t *ml)
{
    ctn_ml_rooted_t *rooted = ml->table;
    ctn_cover_t *cover = &rooted->route.cover;
    cover->bytes = ctn_ml_rooted_own(ml)->bytes;
    if (ctn_ml_rooted_is_root(ml)) {
        check_own(ml);
        cover->bytes = ml->call.all.bytes;
        if (ctn_has_lengths(ml->call.composition->collective)) {
            cover->at = ctn_route_offsets(ml);
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
    ctn_ml_rooted_t *rooted = ml->table;
    (void)chunk;
    check_lengths(ml);
    catena_status_t status = measure(ml);
    if (status == CATENA_OK) {
        status = plan_blocks(ml);
    }
    if (status != CATENA_OK) {
        ctn_route_layout_nothing(ml, &rooted->route);
        ml->status = status;
        ctn_ml_abort(ml);
    }
    rooted->copy_data(ml);
}

bool ctn_ml_rooted_open(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ctn_ml_rooted_t *rooted = ml->table;
    bool blocks = chunk->index + 1 == ml->chunks;
    chunk->exclusive = chunk->index > 0;
    if (blocks && rooted->ahead) {
        ctn_ml_add_local(chunk, lengths_arrived);
    }
    return blocks;
}

catena_status_t ctn_ml_rooted_plan(ctn_ml_t *ml,
                                   void (*copy_data)(ctn_ml_t *ml))
{
    ctn_ml_rooted_t *rooted = ctn_ml_keep(ml, sizeof(*rooted));
    if (rooted == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ml->table = rooted;
    rooted->ahead = ctn_has_lengths(ml->call.composition->collective) &&
                    !ctn_route_is_single_level(ml) && ctn_ml_levels(ml) > 0;
    rooted->differ = false;
    rooted->copy_data = copy_data;
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
