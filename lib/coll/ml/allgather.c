/* HIER-9: allgather and allgatherv. Every level gathers at its leaders, the top
 * is an allgather, and on the way down every level receives all blocks from its
 * leader (bcast). For the bcasts all blocks together are one vector. If it is
 * longer than a chunk it is cut: chunk 0 then only gathers, and the chunks
 * after it carry the vector down. A single level is one basic allgather.
 *
 * Blocks are stored and sent down contiguously in the order of ranks: in the
 * receive buffer if they are contiguous there, else in scratch memory; a rank
 * that leads no subgroup stores only one chunk of them, in the chunk's
 * scratch. */

#include "coll/ml/route.h"

/** State of the composition, in ml->table. */
typedef struct ml_allgather {
    ctn_route_t route; /* first */
    ctn_cover_t all;   /* all blocks, in the order of ranks */
    size_t bytes;      /* of all blocks */
    /* The receive buffer, if blocks are contiguous there; else NULL. */
    unsigned char *user_buffer;
    bool down; /* there are bcasts: more than a single level */
    bool cut;  /* the bcasts have chunks of their own, from chunk 1 on */
} ml_allgather_t;

/** This rank's block. If it has an unexpected length, the operation runs to its
 * end with the bytes that lie at the block's place in the receive buffer. It
 * then fails on this rank and on all ranks that receive these bytes. */
static ctn_span_t own_block(ctn_ml_t *ml)
{
    uint32_t rank = ctn_ml_rank(ml);
    size_t expected = ctn_blocks_bytes(&ml->call.all, rank);
    if (ml->call.in.bytes == expected) {
        return ml->call.in;
    }
    ctn_error(ml->exec->log,
              "%s: the block of rank %u has %zu bytes; expected %zu by its "
              "receive count and type",
              ml->call.composition->collective->name, rank, ml->call.in.bytes,
              expected);
    ml->status = CATENA_ERR_ARG;
    ml->mismatch = true;
    return ctn_blocks_at(&ml->call.all, rank);
}

/** Set lengths and memory of the route's cover (cover.h). */
static catena_status_t set_lengths(ctn_ml_t *ml, ml_allgather_t *all,
                                   const ctn_span_t *own)
{
    ctn_cover_t *cover = &all->route.cover;
    all->all = (ctn_cover_t){
        .range = &all->route.all, .ranges = 1, .bytes = ml->call.all.bytes};
    if (ctn_has_lengths(ml->call.composition->collective)) {
        all->all.at = ctn_route_offsets(ml, &all->all);
        if (all->all.at == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    all->bytes = ctn_cover_at(&all->all, ctn_ml_size(ml));
    all->user_buffer = ctn_route_user_buffer(&ml->call, all->all.at);
    cover->at = all->route.keeps ? all->all.at : NULL;
    cover->bytes = own->bytes;
    catena_status_t status =
        ctn_route_set_memory(ml, &all->route, own, all->user_buffer);
    return status == CATENA_OK ? ctn_route_layout(ml, &all->route) : status;
}

static catena_status_t plan(ctn_ml_t *ml)
{
    ml_allgather_t *all = ctn_ml_keep(ml, sizeof(*all));
    if (all == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ml->table = all;
    ctn_span_t own = own_block(ml);
    catena_status_t status = ctn_route_find(ml, &all->route, CTN_ROUTE_ALL);
    if (status == CATENA_OK) {
        status = set_lengths(ml, all, &own);
    }
    if (status != CATENA_OK) {
        return status;
    }
    all->down = !ctn_route_is_single_level(ml);
    ctn_ml_cut(ml, all->bytes, 1);
    all->cut = all->down && ml->chunks > 1;
    if (!all->down) {
        ml->chunks = 1;
        ml->chunk_bytes = all->bytes;
    }
    ml->chunks += all->cut ? 1 : 0;
    ml->scratch_bytes =
        !all->route.keeps && all->user_buffer == NULL ? ml->chunk_bytes : 0;
    ctn_route_copy_own(ml, &all->route, &own, true);
    return CATENA_OK;
}

/** The range of the vector of all blocks that goes down in a chunk. */
static void find_chunk(const ctn_ml_t *ml, const ctn_chunk_t *chunk,
                       size_t *from, size_t *bytes)
{
    const ml_allgather_t *all = ml->table;
    *from = (chunk->index - (all->cut ? 1 : 0)) * ml->chunk_bytes;
    *bytes = all->bytes - *from < ml->chunk_bytes ? all->bytes - *from
                                                  : ml->chunk_bytes;
}

/** Where that range lies. */
static unsigned char *memory_of(const ctn_ml_t *ml, const ctn_chunk_t *chunk,
                                size_t from)
{
    const ml_allgather_t *all = ml->table;
    if (all->user_buffer != NULL) {
        return all->user_buffer + from;
    }
    return all->route.keeps ? all->route.cover.memory + from : chunk->scratch;
}

/** The rank whose block contains byte `from` of the vector of all blocks. */
static uint32_t find_block(const ctn_ml_t *ml, const ml_allgather_t *all,
                           size_t from)
{
    uint32_t low = 0;
    uint32_t high = ctn_ml_size(ml); /* first block that begins after `from` */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (ctn_cover_at(&all->all, middle) <= from) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/** Copy the range of a chunk to the receive buffer. */
static void copy_out(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_allgather_t *all = ml->table;
    size_t from;
    size_t bytes;
    find_chunk(ml, chunk, &from, &bytes);
    const unsigned char *memory = memory_of(ml, chunk, from);
    for (uint32_t i = find_block(ml, all, from); bytes > 0; i++) {
        ctn_span_t block = ctn_blocks_at(&ml->call.all, i);
        size_t skip = from - ctn_cover_at(&all->all, i);
        size_t length = block.bytes - skip < bytes ? block.bytes - skip : bytes;
        if (length > 0) {
            ctn_span_write(ml->exec, &block, skip, length, memory);
        }
        from += length;
        memory += length;
        bytes -= length;
    }
}

/** Add the bcasts of a chunk. */
static void add_down(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    size_t from;
    size_t bytes;
    find_chunk(ml, chunk, &from, &bytes);
    ctn_ml_add_down(ml, chunk, CTN_BCAST, memory_of(ml, chunk, from), bytes);
}

static void compose(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_allgather_t *all = ml->table;
    unsigned levels = ctn_ml_levels(ml);
    chunk->exclusive = chunk->index == 1;
    if (chunk->index == 0) {
        ctn_route_gather(ml, chunk, CTN_ROUTE_ALL);
        if (levels > 0 && ml->hierarchy->top) {
            ctn_route_allgather(ml, chunk, levels - 1);
        }
        if (all->cut) {
            return;
        }
    }
    if (all->down) {
        add_down(ml, chunk);
    }
    if (all->user_buffer == NULL) {
        ctn_ml_add_local(chunk, copy_out);
    }
}

#define ALLGATHER(its_name)                                                    \
    {                                                                          \
        CTN_ML_COLLECTIVE(its_name),                                           \
            .kinds = 1u << CTN_GATHER | 1u << CTN_ALLGATHER | 1u << CTN_BCAST, \
            .single_level_kind = CTN_ALLGATHER,                                \
            .single_level_basic = ctn_route_gather_single_level, .plan = plan, \
            .compose = compose                                                 \
    }

const ctn_composition_t ctn_ml_allgather = ALLGATHER(allgather);
const ctn_composition_t ctn_ml_allgatherv = ALLGATHER(allgatherv);
