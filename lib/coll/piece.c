#include "coll/piece.h"

#include <string.h>

ctn_geometry_t ctn_geometry(const ctn_plan_t *plan, size_t bytes, bool in_place)
{
    size_t most = (size_t)plan->most * plan->most * bytes;
    return (ctn_geometry_t){
        .roster = &plan->topo->roster,
        .node = plan->topo->node_index,
        .leaders = plan->leaders,
        .cells_per_round = (most + CTN_STAGE_BYTES - 1) / CTN_STAGE_BYTES,
        .bytes = bytes,
        .in_place = in_place,
    };
}

/** Bytes between this node and another, one way. */
static size_t message_bytes(const ctn_geometry_t *g, uint32_t node)
{
    return (size_t)ctn_roster_count(g->roster, g->node) *
           ctn_roster_count(g->roster, node) * g->bytes;
}

size_t ctn_piece_bytes(const ctn_geometry_t *g, uint32_t node, uint32_t piece)
{
    size_t all = message_bytes(g, node);
    size_t start = (size_t)piece * CTN_STAGE_BYTES;
    if (start >= all) {
        return 0;
    }
    return all - start < CTN_STAGE_BYTES ? all - start : CTN_STAGE_BYTES;
}

uint64_t ctn_cell_count(const ctn_geometry_t *g, uint32_t leader)
{
    uint64_t nodes = g->roster->nodes;
    uint64_t rounds =
        leader < nodes ? (nodes - leader + g->leaders - 1) / g->leaders : 0;
    return rounds * g->cells_per_round;
}

uint64_t ctn_piece_count(const ctn_geometry_t *g, uint32_t leader)
{
    uint64_t nodes = g->roster->nodes;
    uint64_t count = 0;
    for (uint64_t round = leader; round < nodes; round += g->leaders) {
        uint32_t node = (uint32_t)((round + nodes - g->node) % nodes);
        if (node != g->node) {
            count += (message_bytes(g, node) + CTN_STAGE_BYTES - 1) /
                     CTN_STAGE_BYTES;
        }
    }
    return count;
}

ctn_cursor_t ctn_cell_piece(const ctn_geometry_t *g, uint32_t leader,
                            uint64_t cell)
{
    uint64_t nodes = g->roster->nodes;
    uint64_t round = leader + cell / g->cells_per_round * g->leaders;
    uint32_t node = (uint32_t)((round + nodes - g->node) % nodes);
    uint32_t piece = (uint32_t)(cell % g->cells_per_round);
    bool there =
        round < nodes && node != g->node && ctn_piece_bytes(g, node, piece) > 0;
    return (ctn_cursor_t){cell, there ? node : UINT32_MAX, piece};
}

ctn_cursor_t ctn_cursor_at(const ctn_geometry_t *g, uint32_t leader,
                           uint64_t from)
{
    uint64_t end = ctn_cell_count(g, leader);
    ctn_cursor_t cursor = {end, UINT32_MAX, 0};
    for (uint64_t cell = from; cell < end; cell++) {
        cursor = ctn_cell_piece(g, leader, cell);
        if (!ctn_cursor_ended(&cursor)) {
            return cursor;
        }
    }
    cursor.cell = end;
    return cursor;
}

/* ---- copying ---- */

/** A piece as a walk over the pairs of members of two nodes. */
typedef struct walk {
    size_t position; /* in the message, bytes */
    size_t end;
    uint32_t inner;  /* members in the inner loop */
    bool here_outer; /* this node's members are the outer loop */
    const ctn_member_t *there;
} walk_t;

/** @param outgoing from this node to the other */
static walk_t walk_of(const ctn_geometry_t *g, const ctn_cursor_t *piece,
                      bool outgoing)
{
    walk_t walk;
    walk.position = (size_t)piece->piece * CTN_STAGE_BYTES;
    walk.end = walk.position + ctn_piece_bytes(g, piece->node, piece->piece);
    /* [receiver][sender]; in place [lower node][higher node]. */
    walk.here_outer = g->in_place ? g->node < piece->node : !outgoing;
    walk.inner =
        ctn_roster_count(g->roster, walk.here_outer ? piece->node : g->node);
    walk.there = &g->roster->member[g->roster->first[piece->node]];
    return walk;
}

/** One stretch of the walk: which member here, where in its buffer. */
typedef struct stretch {
    uint32_t here;
    size_t offset; /* in the member's buffer */
    size_t bytes;
} stretch_t;

/** With this node outside, consecutive members there are consecutive blocks
 * of one buffer: as many as follow each other are one stretch. */
static stretch_t next_stretch(const ctn_geometry_t *g, walk_t *walk)
{
    size_t block = walk->position / g->bytes;
    size_t within = walk->position % g->bytes;
    uint32_t outer = (uint32_t)(block / walk->inner);
    uint32_t inner = (uint32_t)(block % walk->inner);
    uint32_t there = walk->here_outer ? inner : outer;
    stretch_t stretch = {walk->here_outer ? outer : inner,
                         walk->there[there].rank * g->bytes + within,
                         g->bytes - within};
    if (walk->here_outer) {
        while (++inner < walk->inner &&
               walk->there[inner].rank == walk->there[inner - 1].rank + 1) {
            stretch.bytes += g->bytes;
        }
    }
    if (stretch.bytes > walk->end - walk->position) {
        stretch.bytes = walk->end - walk->position;
    }
    walk->position += stretch.bytes;
    return stretch;
}

/** Most blocks are small and of few sizes. */
static inline void copy(unsigned char *target, const unsigned char *source,
                        size_t bytes)
{
    switch (bytes) {
    case 4:
        memcpy(target, source, 4);
        break;
    case 8:
        memcpy(target, source, 8);
        break;
    case 16:
        memcpy(target, source, 16);
        break;
    default:
        memcpy(target, source, bytes);
    }
}

/** Without data nothing is walked over, when all members take part. */
static bool all_there(const ctn_geometry_t *g, const void *const *buffer)
{
    uint32_t n = ctn_roster_count(g->roster, g->node);
    for (uint32_t i = 0; i < n; i++) {
        if (buffer[i] == NULL) {
            return false;
        }
    }
    return true;
}

size_t ctn_piece_gather(const ctn_geometry_t *g, const ctn_cursor_t *piece,
                        const unsigned char *const *source,
                        unsigned char *staging)
{
    walk_t walk = walk_of(g, piece, true);
    size_t start = walk.position;
    size_t copied = 0;
    if (g->drop_data && all_there(g, (const void *const *)source)) {
        return walk.end - walk.position;
    }
    while (walk.position < walk.end) {
        size_t at = walk.position - start;
        stretch_t stretch = next_stretch(g, &walk);
        if (source[stretch.here] != NULL) {
            if (!g->drop_data) {
                copy(staging + at, source[stretch.here] + stretch.offset,
                     stretch.bytes);
            }
            copied += stretch.bytes;
        }
    }
    return copied;
}

size_t ctn_piece_scatter(const ctn_geometry_t *g, const ctn_cursor_t *piece,
                         unsigned char *const *target,
                         const unsigned char *staging)
{
    walk_t walk = walk_of(g, piece, false);
    size_t start = walk.position;
    size_t copied = 0;
    if (g->drop_data && all_there(g, (const void *const *)target)) {
        return walk.end - walk.position;
    }
    while (walk.position < walk.end) {
        size_t at = walk.position - start;
        stretch_t stretch = next_stretch(g, &walk);
        if (target[stretch.here] != NULL) {
            if (!g->drop_data) {
                copy(target[stretch.here] + stretch.offset, staging + at,
                     stretch.bytes);
            }
            copied += stretch.bytes;
        }
    }
    return copied;
}
