/* HIER-14: alltoall. A rank's send buffer, a block for each rank, is its row.
 * Every level below the top gathers rows at its leaders. The top is one basic
 * alltoall: between two members go the blocks of the ranks that the one
 * represents for those that the other represents. Then every level scatters
 * from its leaders what ranks receive, as rows again. It runs if settings name
 * a hierarchy for alltoalls; if not, coll/alltoall chooses an algorithm.
 *
 * If rows are long, blocks are cut: a chunk has some bytes of each block.
 * Chunks run one after the other, and use the same memory. If a rank's block
 * has another length than that of the others, then a part of it has in some
 * chunk, too: see find_slice. Where there are several chunks the job aborts
 * then, as the ranks may have different numbers of them.
 *
 * Rows lie in the caller's buffers where these serve, else in scratch memory:
 * at leaders those of all ranks that they represent, and twice more, in the
 * order of the blocks at the top. */

#include "coll/ml/route.h"

#include <string.h>

/** Longest row that is not cut, and the shortest part of a block in a chunk if
 * blocks are cut. */
#define ROW_BYTES CTN_PICK((size_t)256 << 10, (size_t)1024)
#define SLICE_BYTES CTN_PICK((size_t)1024, (size_t)64)

/** State of the composition, in ml->table. */
typedef struct ml_alltoall {
    ctn_route_t route; /* first; its blocks are rows */
    size_t slice;      /* bytes of a block in a chunk; fewer in the last one */
    /** The rows of the cover, in the first part of a chunk and in the second.
     * One may be the caller's buffer. */
    unsigned char *up;
    unsigned char *down;
    bool sends_there;    /* `up` is the caller's send buffer */
    bool receives_there; /* `down` is the receive buffer */
    /* of the top */
    size_t *at; /* [its members + 1]: ranks that the members before represent */
    bool packs; /* what it sends and receives lies in other memory than rows */
    unsigned char *packed;   /* [ranks of the cover][all ranks] */
    unsigned char *received; /* the same */
} ml_alltoall_t;

/* ---- lengths ---- */

/** The longest block that is not cut. */
static size_t most_uncut(uint32_t ranks)
{
    size_t most = ROW_BYTES / ranks / 64 * 64;
    return most > SLICE_BYTES ? most : SLICE_BYTES;
}

/** Choose the bytes of a block in a chunk, and the number of chunks, by the
 * length of a block. If it is cut, the part in the last chunk is shorter than
 * the others, and may be empty. Let two ranks have different lengths: then some
 * part of one differs from that of the other in the same chunk. If one block is
 * not cut, it is shorter than the other's first part. If both are cut, and
 * their first parts are equal, then so are all but the last ones. If one has
 * fewer chunks, its last part is shorter than the other's in that chunk; else
 * the last parts differ. */
static void find_slice(ctn_ml_t *ml, ml_alltoall_t *it)
{
    size_t bytes = ml->call.all.bytes;
    size_t most = most_uncut(ctn_ml_size(ml));
    it->slice = bytes;
    ml->chunks = bytes > 0;
    if (bytes > most) {
        size_t slice = most + 16 * ((bytes - 1) / most + 1);
        it->slice = slice < bytes ? slice : bytes;
        ml->chunks = bytes / it->slice + 1;
    }
    ml->chunk_bytes = it->slice;
}

/** Bytes of each block in a chunk. */
static size_t slice_of(const ctn_ml_t *ml, const ctn_chunk_t *chunk)
{
    const ml_alltoall_t *it = ml->table;
    size_t left = ml->call.all.bytes - chunk->index * it->slice;
    return left < it->slice ? left : it->slice;
}

/* ---- memory ---- */

/** Whether the blocks of a buffer lie end to end, and one chunk has all. */
static bool serves(const ctn_ml_t *ml, bool dense, ptrdiff_t step)
{
    const ml_alltoall_t *it = ml->table;
    return dense && step == (ptrdiff_t)ml->call.all.bytes && ml->chunks == 1 &&
           !it->route.keeps;
}

/** Plan the top: the weights of its members, and memory. */
static catena_status_t plan_top(ctn_ml_t *ml, ml_alltoall_t *it, size_t rows)
{
    const ctn_sbgp_t *top = ctn_ml_sbgp(ml, ctn_ml_levels(ml) - 1);
    it->at = ctn_ml_keep(ml, (top->size + (size_t)1) * sizeof(*it->at));
    if (it->at == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    it->at[0] = 0;
    for (uint32_t i = 0; i < top->size; i++) {
        it->at[i + 1] = it->at[i] + ctn_cover_count(top->member[i].range,
                                                    top->member[i].ranges);
    }
    it->packs = it->route.ranks > 1 || !top->in_order;
    if (it->packs) {
        it->packed = ctn_ml_scratch(ml, rows);
        it->received = ctn_ml_scratch(ml, rows);
        return it->packed != NULL && it->received != NULL
                   ? CATENA_OK
                   : CATENA_ERR_NO_MEMORY;
    }
    /* Then what it receives is a row, in other memory than what it sends. */
    if (it->receives_there && ml->call.in_place) {
        it->receives_there = false;
    }
    if (!it->receives_there) {
        it->down = ctn_ml_scratch(ml, rows);
    }
    return it->down != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

static catena_status_t plan_memory(ctn_ml_t *ml, ml_alltoall_t *it)
{
    const ctn_call_t *call = &ml->call;
    size_t rows = (size_t)it->route.ranks * ctn_ml_size(ml) * it->slice;
    it->sends_there = serves(ml, call->in.type == NULL, call->in_step);
    it->receives_there = serves(ml, call->all.type->dense, call->all.step);
    it->up = it->sends_there ? call->in.base : NULL;
    it->down = it->receives_there ? call->all.base : NULL;
    if (!it->sends_there || !it->receives_there) {
        unsigned char *scratch = ctn_ml_scratch(ml, rows);
        if (scratch == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        it->up = it->sends_there ? it->up : scratch;
        it->down = it->receives_there ? it->down : scratch;
    }
    it->route.cover.bytes = ctn_ml_size(ml) * it->slice;
    it->route.cover.memory = it->up;
    it->packs = false;
    catena_status_t status = ctn_route_layout(ml, &it->route);
    return status == CATENA_OK && ml->hierarchy->top ? plan_top(ml, it, rows)
                                                     : status;
}

static catena_status_t plan(ctn_ml_t *ml)
{
    ml_alltoall_t *it = ctn_ml_keep(ml, sizeof(*it));
    if (it == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ml->table = it;
    find_slice(ml, it);
    catena_status_t status = ctn_route_find(ml, &it->route, CTN_ROUTE_LEADERS);
    return status == CATENA_OK ? plan_memory(ml, it) : status;
}

/* ---- steps ---- */

/** Copy this rank's part of all blocks from the send buffer to its row (`in`),
 * or from its row to the receive buffer. */
static void copy_row(ctn_ml_t *ml, const ctn_chunk_t *chunk, unsigned char *row,
                     bool in)
{
    const ml_alltoall_t *it = ml->table;
    const ctn_call_t *call = &ml->call;
    size_t bytes = slice_of(ml, chunk);
    size_t from = chunk->index * it->slice;
    for (uint32_t i = 0; i < ctn_ml_size(ml); i++, row += bytes) {
        if (in) {
            ctn_span_t block = call->in;
            block.base += (ptrdiff_t)i * call->in_step;
            ctn_span_read(ml->exec, &block, from, bytes, row);
        } else {
            ctn_span_t block = ctn_blocks_at(&call->all, i);
            ctn_span_write(ml->exec, &block, from, bytes, row);
        }
    }
}

/** This rank's row. */
static unsigned char *own_row(const ml_alltoall_t *it)
{
    return it->route.cover.memory + it->route.own * it->route.cover.bytes;
}

/** Let the hops move rows of the chunk in other memory. */
static void lay_out(ctn_ml_t *ml, const ctn_chunk_t *chunk,
                    unsigned char *memory)
{
    ml_alltoall_t *it = ml->table;
    ctn_cover_t *cover = &it->route.cover;
    size_t bytes = ctn_ml_size(ml) * slice_of(ml, chunk);
    if (cover->bytes == bytes && cover->memory == memory) {
        return;
    }
    cover->bytes = bytes;
    cover->memory = memory;
    if (ctn_route_layout(ml, &it->route) != CATENA_OK) {
        ctn_ml_give_up(ml);
    }
}

static void begin(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_alltoall_t *it = ml->table;
    lay_out(ml, chunk, it->up);
    if (!it->sends_there) {
        copy_row(ml, chunk, own_row(it), true);
    }
}

static void turn(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    lay_out(ml, chunk, ((const ml_alltoall_t *)ml->table)->down);
}

static void end(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_alltoall_t *it = ml->table;
    if (!it->receives_there && !ml->mismatch) {
        copy_row(ml, chunk, own_row(it), false);
    }
    if (ml->mismatch && ml->chunks > 1) {
        (void)ctn_group_give_up(ml->call.group, ml->status);
    }
}

/** Lay the blocks of all rows in the order of the top's members: for each of
 * them row after row the blocks for the ranks that it represents. */
static void pack(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_alltoall_t *it = ml->table;
    const ctn_sbgp_t *top = ctn_ml_sbgp(ml, ctn_ml_levels(ml) - 1);
    size_t bytes = slice_of(ml, chunk);
    unsigned char *to = it->packed;
    for (uint32_t i = 0; i < top->size && !ml->exec->drop_data; i++) {
        for (uint32_t r = 0; r < it->route.ranks; r++) {
            const unsigned char *row = it->up + r * it->route.cover.bytes;
            for (uint32_t k = 0; k < top->member[i].ranges; k++) {
                const ctn_range_t *range = &top->member[i].range[k];
                memcpy(to, row + range->first * bytes, range->count * bytes);
                to += range->count * bytes;
            }
        }
    }
    ctn_exec_charge(ml->exec, CTN_WORK_COPY,
                    it->route.ranks * it->route.cover.bytes);
}

/** Copy the blocks from one rank, of which the first one is at `from`, to the
 * rows of the ranks that receive them. */
static void unpack_rank(const ml_alltoall_t *it, uint32_t rank, size_t bytes,
                        const unsigned char *from)
{
    unsigned char *to = it->down + rank * bytes;
    for (uint32_t r = 0; r < it->route.ranks; r++) {
        memcpy(to, from, bytes);
        to += it->route.cover.bytes;
        from += bytes;
    }
}

/** Copy what the top has received to rows. */
static void unpack(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_alltoall_t *it = ml->table;
    const ctn_sbgp_t *top = ctn_ml_sbgp(ml, ctn_ml_levels(ml) - 1);
    size_t bytes = slice_of(ml, chunk);
    const unsigned char *from = it->received;
    for (uint32_t i = 0; i < top->size && !ml->exec->drop_data; i++) {
        for (uint32_t k = 0; k < top->member[i].ranges; k++) {
            const ctn_range_t *range = &top->member[i].range[k];
            for (uint32_t r = 0; r < range->count; r++) {
                unpack_rank(it, range->first + r, bytes, from);
                from += it->route.ranks * bytes;
            }
        }
    }
    ctn_exec_charge(ml->exec, CTN_WORK_COPY,
                    it->route.ranks * it->route.cover.bytes);
}

/* ---- tasks ---- */

static void add_top(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ml_alltoall_t *it = ml->table;
    ctn_task_t *task =
        ctn_ml_add(ml, chunk, ctn_ml_levels(ml) - 1, CTN_ALLTOALL);
    task->basic.in = it->packs ? it->packed : it->up;
    task->basic.out = it->packs ? it->received : it->down;
    task->basic.bytes = slice_of(ml, chunk);
    task->basic.at = it->at;
    if (it->packs) {
        task->before = pack;
        task->after = unpack;
    }
}

static void compose(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    chunk->exclusive = chunk->index > 0;
    ctn_ml_add_local(chunk, begin);
    ctn_route_gather(ml, chunk, CTN_ROUTE_LEADERS);
    if (ml->hierarchy->top) {
        add_top(ml, chunk);
    }
    ctn_ml_add_local(chunk, turn);
    ctn_route_scatter(ml, chunk, CTN_ROUTE_LEADERS);
    ctn_ml_add_local(chunk, end);
}

static bool single_level_basic(const ctn_call_t *call, ctn_ml_config_t *config,
                               ctn_basic_coll_t *basic)
{
    (void)config;
    size_t bytes = call->all.bytes;
    basic->in = call->in.base;
    basic->out = call->all.base;
    basic->bytes = bytes;
    return !call->in_place && call->all.type->dense &&
           call->in_step == (ptrdiff_t)bytes &&
           call->all.step == (ptrdiff_t)bytes &&
           bytes <= most_uncut(call->group->chain.place.size);
}

const ctn_composition_t ctn_ml_alltoall = {
    CTN_ML_COLLECTIVE(alltoall),
    .kinds = 1u << CTN_GATHER | 1u << CTN_ALLTOALL | 1u << CTN_SCATTER,
    .single_level_kind = CTN_ALLTOALL,
    .single_level_basic = single_level_basic,
    .plan = plan,
    .compose = compose,
};
