/* HIER-6: the route of blocks through levels; see route.h. */

#include "coll/ml/route.h"

#include <stdlib.h>

/* ---- construction ---- */

/** Set the hop of a level, but for what depends on lengths. */
static void find_hop(ctn_ml_t *ml, ctn_route_t *route, unsigned level,
                     ctn_route_kind_t kind)
{
    ctn_hop_t *hop = &route->hop[level];
    const ctn_sbgp_t *sbgp = ctn_ml_sbgp(ml, level);
    bool top = ctn_ml_is_top(ml, level);
    uint32_t root = 0;
    bool rooted =
        kind == CTN_ROUTE_ROOTED && ctn_ml_find_root(ml, level, &root);
    *hop = (ctn_hop_t){.packing = {.sbgp = sbgp}, .root = rooted ? root : 0};
    hop->crosses = hop->root != 0 && !top;
    hop->holds = sbgp->me == hop->root;
    if (top && kind != CTN_ROUTE_ROOTED) {
        hop->holds = kind == CTN_ROUTE_ALL;
    }
    route->keeps |= hop->holds;
}

/** Set the ranks whose blocks this rank stores: those that it represents at its
 * last level, or all ranks if blocks of others may go through it. */
static void choose_cover(ctn_ml_t *ml, ctn_route_t *route,
                         ctn_route_kind_t kind)
{
    unsigned levels = ctn_ml_levels(ml);
    uint32_t root;
    bool full = levels == 0 || (kind == CTN_ROUTE_ALL && route->keeps);
    if (kind == CTN_ROUTE_ROOTED && levels > 0) {
        full = ctn_ml_rank(ml) == ml->call.root;
        for (unsigned level = 0; level + 1 < levels; level++) {
            full |= ctn_ml_find_root(ml, level, &root);
        }
    }
    route->all = (ctn_range_t){0, ctn_ml_size(ml)};
    route->cover = (ctn_cover_t){.range = &route->all, .ranges = 1};
    if (!full) {
        const ctn_sbgp_t *sbgp =
            ctn_ml_sbgp(ml, kind == CTN_ROUTE_ALL ? 0 : levels - 1);
        route->cover.range = sbgp->member[sbgp->me].range;
        route->cover.ranges = sbgp->member[sbgp->me].ranges;
    }
    route->ranks = ctn_cover_count(route->cover.range, route->cover.ranges);
    route->own = ctn_cover_find(&route->cover, ctn_ml_rank(ml));
}

/** In a hop that `crosses`: find the ranks that no member represents. Their
 * blocks are among the leader's. */
static catena_status_t find_rest(ctn_ml_t *ml, ctn_hop_t *hop)
{
    const ctn_sbgp_t *sbgp = hop->packing.sbgp;
    if (!hop->crosses || (!hop->holds && sbgp->me != 0)) {
        return CATENA_OK;
    }
    ctn_range_t *rest = ctn_ml_keep(
        ml, (ctn_sbgp_ranges(sbgp, NULL) + (size_t)1) * sizeof(*rest));
    if (rest == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_packing_find_rest(&hop->packing, ctn_ml_size(ml), rest);
    return CATENA_OK;
}

catena_status_t ctn_route_find(ctn_ml_t *ml, ctn_route_t *route,
                               ctn_route_kind_t kind)
{
    catena_status_t status = CATENA_OK;
    size_t entries = 0;
    route->keeps = ctn_ml_levels(ml) == 0;
    for (unsigned level = 0; level < ctn_ml_levels(ml); level++) {
        find_hop(ml, route, level, kind);
        entries +=
            route->hop[level].holds ? ctn_ml_sbgp(ml, level)->size + 1u : 0;
    }
    choose_cover(ml, route, kind);
    size_t *at = entries > 0 ? ctn_ml_keep(ml, entries * sizeof(*at)) : NULL;
    if (entries > 0 && at == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (unsigned level = 0; level < ctn_ml_levels(ml); level++) {
        ctn_hop_t *hop = &route->hop[level];
        if (hop->holds) {
            hop->at = at;
            at += hop->packing.sbgp->size + 1;
        }
        if (status == CATENA_OK) {
            status = find_rest(ml, hop);
        }
    }
    return status;
}

/* ---- memory ---- */

catena_status_t ctn_route_set_memory(ctn_ml_t *ml, ctn_route_t *route,
                                     const ctn_span_t *own,
                                     unsigned char *user_buffer)
{
    size_t bytes = ctn_route_bytes(route);
    unsigned char *memory = user_buffer;
    if (!route->keeps) {
        bool serves = own != NULL && own->type == NULL && own->bytes == bytes;
        memory = serves ? own->base : NULL;
    }
    if (memory == NULL && bytes > 0) {
        memory = ctn_ml_scratch(ml, bytes);
        if (memory == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    route->cover.memory = memory;
    return CATENA_OK;
}

/** Set the lengths of a hop's blocks, and where they lie. */
static catena_status_t layout_hop(ctn_ml_t *ml, const ctn_cover_t *cover,
                                  ctn_hop_t *hop)
{
    uint32_t me = hop->packing.sbgp->me;
    size_t from;
    size_t bytes;
    if (hop->holds) {
        hop->packed = !ctn_packing_layout(cover, &hop->packing, hop->at, &from);
        hop->bytes = hop->at[me + 1] - hop->at[me];
        bytes = hop->at[hop->packing.sbgp->size];
    } else {
        hop->packed = !ctn_packing_layout_member(cover, &hop->packing, me,
                                                 &hop->bytes, &from);
        bytes = hop->bytes;
    }
    hop->place = bytes > 0 ? cover->memory + from : NULL;
    if (!hop->packed) {
        return CATENA_OK;
    }
    if (hop->other == NULL || hop->room < bytes) {
        hop->other = ctn_ml_scratch(ml, bytes);
        hop->room = bytes;
    }
    hop->place = hop->other;
    return hop->place != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

catena_status_t ctn_route_layout(ctn_ml_t *ml, ctn_route_t *route)
{
    catena_status_t status = CATENA_OK;
    unsigned levels = ctn_ml_levels(ml);
    for (unsigned level = 0; level < levels && status == CATENA_OK; level++) {
        status = layout_hop(ml, &route->cover, &route->hop[level]);
    }
    return status;
}

/* ---- tasks ---- */

/** The hop that a task does. */
static ctn_hop_t *hop_of(const ctn_ml_t *ml, const ctn_task_t *task)
{
    ctn_route_t *route = ml->table;
    unsigned level = 0;
    while (ml->hierarchy->level[level] != task->module) {
        level++;
    }
    return &route->hop[level];
}

/** Where this rank's own blocks lie. */
static unsigned char *own_blocks(const ctn_hop_t *hop)
{
    return hop->holds && hop->place != NULL
               ? hop->place + hop->at[hop->packing.sbgp->me]
               : hop->place;
}

/** If the hop is packed: copy blocks from the cover to hop->place (`out`), or
 * back: this rank's (`own`), or those of the other members. */
static void move_blocks(ctn_ml_t *ml, const ctn_hop_t *hop, bool own, bool out)
{
    const ctn_route_t *route = ml->table;
    uint32_t me = hop->packing.sbgp->me;
    if (!hop->packed) {
        return;
    }
    if (own) {
        ctn_packing_copy_member(ml->exec, &route->cover, &hop->packing, me,
                                own_blocks(hop), out);
        return;
    }
    for (uint32_t i = 0; i < hop->packing.sbgp->size; i++) {
        if (i != me) {
            ctn_packing_copy_member(ml->exec, &route->cover, &hop->packing, i,
                                    hop->place + hop->at[i], out);
        }
    }
}

static void begin_gather(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    ctn_task_t *task = &chunk->task[chunk->at];
    const ctn_hop_t *hop = hop_of(ml, task);
    /* A rank that gets all blocks leaves its own in the cover. */
    if (!hop->holds) {
        move_blocks(ml, hop, true, true);
    }
    task->basic.in = own_blocks(hop);
    task->basic.out = hop->holds ? hop->place : NULL;
    task->basic.bytes = hop->bytes;
    task->basic.at = hop->at;
}

static void end_gather(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ctn_hop_t *hop = hop_of(ml, &chunk->task[chunk->at]);
    if (hop->holds) {
        move_blocks(ml, hop, false, false);
    }
}

static void begin_scatter(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    ctn_task_t *task = &chunk->task[chunk->at];
    const ctn_hop_t *hop = hop_of(ml, task);
    if (hop->holds) {
        move_blocks(ml, hop, false, true);
    }
    task->basic.in = hop->holds ? hop->place : NULL;
    task->basic.out = own_blocks(hop);
    task->basic.bytes = hop->bytes;
    task->basic.at = hop->at;
}

static void end_scatter(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ctn_hop_t *hop = hop_of(ml, &chunk->task[chunk->at]);
    if (!hop->holds) {
        move_blocks(ml, hop, true, false);
    }
}

static void begin_allgather(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    move_blocks(ml, hop_of(ml, &chunk->task[chunk->at]), true, true);
}

static void add(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level,
                ctn_basic_kind_t kind)
{
    const ctn_route_t *route = ml->table;
    ctn_task_t *task = ctn_ml_add(ml, chunk, level, kind);
    task->basic.root = route->hop[level].root;
    task->before = kind == CTN_GATHER ? begin_gather : begin_scatter;
    task->after = kind == CTN_GATHER ? end_gather : end_scatter;
}

/** The levels that a gather or scatter uses. */
static unsigned levels_of(const ctn_ml_t *ml, ctn_route_kind_t kind)
{
    unsigned levels = ctn_ml_levels(ml);
    return kind != CTN_ROUTE_ROOTED && ml->hierarchy->top ? levels - 1 : levels;
}

void ctn_route_gather(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_route_kind_t kind)
{
    const ctn_route_t *route = ml->table;
    unsigned levels = levels_of(ml, kind);
    for (unsigned level = 0; level < levels; level++) {
        if (!route->hop[level].crosses) {
            add(ml, chunk, level, CTN_GATHER);
        }
    }
    if (kind != CTN_ROUTE_ROOTED) {
        return;
    }
    ctn_ml_down(chunk);
    for (unsigned level = levels; level-- > 0;) {
        if (route->hop[level].crosses) {
            add(ml, chunk, level, CTN_GATHER);
        }
    }
}

void ctn_route_scatter(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_route_kind_t kind)
{
    const ctn_route_t *route = ml->table;
    unsigned levels = levels_of(ml, kind);
    for (unsigned level = 0; level < levels; level++) {
        if (route->hop[level].crosses || ctn_ml_is_top(ml, level)) {
            add(ml, chunk, level, CTN_SCATTER);
        }
    }
    ctn_ml_down(chunk);
    for (unsigned level = levels; level-- > 0;) {
        if (!route->hop[level].crosses && !ctn_ml_is_top(ml, level)) {
            add(ml, chunk, level, CTN_SCATTER);
        }
    }
}

void ctn_route_allgather(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level)
{
    const ctn_route_t *route = ml->table;
    const ctn_hop_t *hop = &route->hop[level];
    ctn_task_t *task = ctn_ml_add(ml, chunk, level, CTN_ALLGATHER);
    task->basic.in = own_blocks(hop);
    task->basic.out = hop->place;
    task->basic.bytes = hop->bytes;
    task->basic.at = hop->at;
    task->before = begin_allgather;
    task->after = end_gather;
}

/* ---- users' blocks ---- */

static uint32_t size_of(const ctn_call_t *call)
{
    return call->group->chain.place.size;
}

/** Set where the blocks of the ranks in some ranges begin, contiguously. */
static void fill_offsets(const ctn_call_t *call, const ctn_range_t *range,
                         uint32_t ranges, size_t *at)
{
    *at = 0;
    for (uint32_t k = 0; k < ranges; k++) {
        for (uint32_t i = 0; i < range[k].count; i++, at++) {
            at[1] = at[0] + ctn_blocks_bytes(&call->all, range[k].first + i);
        }
    }
}

size_t *ctn_route_offsets(ctn_ml_t *ml, const ctn_cover_t *cover)
{
    size_t ranks = ctn_cover_count(cover->range, cover->ranges);
    size_t *at = ctn_ml_keep(ml, (ranks + 1) * sizeof(*at));
    if (at != NULL) {
        fill_offsets(&ml->call, cover->range, cover->ranges, at);
    }
    return at;
}

const size_t *ctn_route_cached_offsets(const ctn_call_t *call,
                                       ctn_ml_config_t *config)
{
    bool uniform = call->all.counts == NULL;
    if (config->block_offsets == NULL) {
        config->block_offsets = malloc((size_of(call) + (size_t)1) *
                                       sizeof(*config->block_offsets));
        config->offsets_bytes = SIZE_MAX; /* of no blocks */
    }
    if (config->block_offsets == NULL ||
        (uniform && config->offsets_bytes == call->all.bytes)) {
        return config->block_offsets;
    }
    fill_offsets(call, &(ctn_range_t){0, size_of(call)}, 1,
                 config->block_offsets);
    config->offsets_bytes = uniform ? call->all.bytes : SIZE_MAX;
    return config->block_offsets;
}

unsigned char *ctn_route_user_buffer(const ctn_call_t *call, const size_t *at)
{
    const ctn_blocks_t *blocks = &call->all;
    unsigned char *user_buffer = NULL;
    if (!blocks->type->dense) {
        return NULL;
    }
    if (blocks->counts == NULL) {
        return blocks->base;
    }
    for (uint32_t i = 0; i < size_of(call); i++) {
        ctn_span_t block = ctn_blocks_at(blocks, i);
        if (block.bytes == 0) {
            continue;
        }
        user_buffer = user_buffer != NULL ? user_buffer : block.base;
        if (block.base != user_buffer + at[i]) {
            return NULL;
        }
    }
    return user_buffer;
}

bool ctn_route_single_level(const ctn_call_t *call, ctn_ml_config_t *config,
                            const ctn_span_t *own, unsigned char **all,
                            ctn_basic_coll_t *basic)
{
    uint32_t rank = call->group->chain.place.rank;
    *all = NULL;
    basic->bytes = own->bytes;
    if (own->type != NULL) {
        return false;
    }
    if (call->all.type == NULL) {
        return true;
    }
    const size_t *at = ctn_route_cached_offsets(call, config);
    if (at == NULL || at[rank + 1] - at[rank] != own->bytes) {
        return false;
    }
    basic->at = at;
    *all = ctn_route_user_buffer(call, at);
    return *all != NULL;
}

bool ctn_route_gather_single_level(const ctn_call_t *call,
                                   ctn_ml_config_t *config,
                                   ctn_basic_coll_t *basic)
{
    unsigned char *all;
    if (!ctn_route_single_level(call, config, &call->in, &all, basic)) {
        return false;
    }
    basic->in = call->in.base;
    basic->out = all;
    return true;
}

static void copy_block(ctn_ml_t *ml, const ctn_span_t *block,
                       unsigned char *memory, size_t bytes, bool into)
{
    bytes = block->bytes < bytes ? block->bytes : bytes;
    if (bytes == 0 || (block->base == memory && block->type == NULL)) {
        return;
    }
    if (into) {
        ctn_span_read(ml->exec, block, 0, bytes, memory);
    } else {
        ctn_span_write(ml->exec, block, 0, bytes, memory);
    }
}

void ctn_route_copy_blocks(ctn_ml_t *ml, const ctn_blocks_t *blocks,
                           const ctn_cover_t *cover, bool into)
{
    for (uint32_t i = 0; i < ctn_ml_size(ml); i++) {
        ctn_span_t block = ctn_blocks_at(blocks, i);
        size_t from = ctn_cover_at(cover, i);
        copy_block(ml, &block, cover->memory + from,
                   ctn_cover_at(cover, i + 1) - from, into);
    }
}

void ctn_route_copy_own(ctn_ml_t *ml, const ctn_route_t *route,
                        const ctn_span_t *own, bool into)
{
    size_t from = ctn_cover_at(&route->cover, route->own);
    copy_block(ml, own, route->cover.memory + from,
               ctn_cover_at(&route->cover, route->own + 1) - from, into);
}
