#include "coll/alltoall/leaders/fragment.h"

#include <string.h>

/* ---- the fragments ---- */

/** Bytes of the block between a member here and a rank of another node. */
static inline size_t pair_bytes(const ctn_geometry_t *g, uint32_t here,
                                uint32_t there_rank, bool outgoing)
{
    if (!g->vector) {
        return g->bytes;
    }
    const ctn_leader_block_t *row = &g->member[here].row[there_rank];
    return outgoing ? row->send_bytes : row->receive_bytes;
}

static const ctn_member_t *members_of(const ctn_geometry_t *g, uint32_t node)
{
    return &g->member_table->member[g->member_table->first[node]];
}

/** Digest of the length of one block; the sum over all blocks of a message is
 * the same on both nodes. It is cheaper than ctn_hash_mix, since it is computed
 * for each block, and an empty block adds 0. */
static inline uint64_t digest_of(uint32_t sender, uint32_t receiver,
                                 size_t bytes)
{
    uint64_t pair = (uint64_t)sender << 32 | receiver;
    return (pair * UINT64_C(0xff51afd7ed558ccd) | 1) * bytes;
}

/** The message between this node and another, in one direction. */
static ctn_fragment_header_t message_of(const ctn_geometry_t *g, uint32_t node,
                                        bool outgoing)
{
    uint32_t here = ctn_member_table_count(g->member_table, g->node);
    uint32_t there = ctn_member_table_count(g->member_table, node);
    if (!g->vector) {
        return (ctn_fragment_header_t){(size_t)here * there * g->bytes,
                                       g->bytes};
    }
    const ctn_member_t *member = members_of(g, node);
    const ctn_member_t *own = members_of(g, g->node);
    ctn_fragment_header_t message = {0, 0};
    for (uint32_t i = 0; i < here; i++) {
        for (uint32_t k = 0; k < there; k++) {
            size_t bytes = pair_bytes(g, i, member[k].rank, outgoing);
            message.bytes += bytes;
            message.digest +=
                outgoing ? digest_of(own[i].rank, member[k].rank, bytes)
                         : digest_of(member[k].rank, own[i].rank, bytes);
        }
    }
    return message;
}

/** Bytes of fragment `number` of a message of `all` bytes. */
static size_t fragment_bytes(size_t all, uint32_t number)
{
    size_t start = (size_t)number * CTN_LEADER_STAGING_BYTES;
    if (start >= all) {
        return 0;
    }
    return all - start < CTN_LEADER_STAGING_BYTES ? all - start
                                                  : CTN_LEADER_STAGING_BYTES;
}

ctn_leader_fragment_t ctn_leader_fragment_at(const ctn_geometry_t *g,
                                             uint32_t node, uint32_t number,
                                             bool outgoing)
{
    return (ctn_leader_fragment_t){
        node, number,
        fragment_bytes(message_of(g, node, outgoing).bytes, number)};
}

uint32_t ctn_own_rounds(const ctn_geometry_t *g, uint32_t leader)
{
    uint32_t nodes = g->member_table->nodes;
    return leader < nodes ? (nodes - leader + g->leaders - 1) / g->leaders : 0;
}

uint32_t ctn_opening(const ctn_geometry_t *g, uint32_t leader)
{
    uint32_t rounds = ctn_own_rounds(g, leader);
    return rounds > 0 && rounds < CTN_LEADER_STAGING_SLOTS
               ? CTN_LEADER_STAGING_SLOTS / rounds
               : 1;
}

/** The node with which this one exchanges in a round. */
static uint32_t node_of_round(const ctn_geometry_t *g, uint32_t round)
{
    uint64_t nodes = g->member_table->nodes;
    return (uint32_t)((round + nodes - g->node) % nodes);
}

/** The message of a round; empty if the node would exchange with itself. */
static ctn_fragment_header_t message_of_round(const ctn_geometry_t *g,
                                              uint32_t round, bool outgoing)
{
    uint32_t node = node_of_round(g, round);
    return node == g->node ? (ctn_fragment_header_t){0, 0}
                           : message_of(g, node, outgoing);
}

/** Number of the first fragment of a round that belongs to a leader. */
static uint32_t first_number(const ctn_geometry_t *g, uint32_t leader,
                             uint32_t round)
{
    return (leader + g->leaders - round % g->leaders) % g->leaders;
}

/** Move the cursor to the round's first fragment in the current part of the
 * order. */
static void enter_round(const ctn_geometry_t *g, uint32_t leader, bool outgoing,
                        ctn_cursor_t *c)
{
    uint32_t number = first_number(g, leader, c->round);
    if (!c->opening && number == 0 &&
        c->round / g->leaders < CTN_LEADER_STAGING_SLOTS) {
        number = ctn_opening(g, leader) *
                 g->leaders; /* the others were in the opening */
    }
    c->of = message_of_round(g, c->round, outgoing);
    c->at = (ctn_leader_fragment_t){node_of_round(g, c->round), number,
                                    fragment_bytes(c->of.bytes, number)};
}

/** Advance to the next round while the current one has no fragments left. */
static void skip_empty(const ctn_geometry_t *g, uint32_t leader, bool outgoing,
                       ctn_cursor_t *c)
{
    uint32_t nodes = g->member_table->nodes;
    while (c->at.bytes == 0) {
        c->round += c->opening ? g->leaders : 1;
        if (c->opening && (c->round >= nodes ||
                           c->round / g->leaders >= CTN_LEADER_STAGING_SLOTS)) {
            c->opening = false;
            c->round = 0;
        }
        if (c->round >= nodes) {
            return;
        }
        enter_round(g, leader, outgoing, c);
    }
}

ctn_cursor_t ctn_cursor_first(const ctn_geometry_t *g, uint32_t leader,
                              bool outgoing)
{
    bool opens = leader < g->member_table->nodes;
    ctn_cursor_t c = {.opening = opens, .round = opens ? leader : 0};
    enter_round(g, leader, outgoing, &c);
    skip_empty(g, leader, outgoing, &c);
    return c;
}

void ctn_cursor_next(const ctn_geometry_t *g, uint32_t leader, bool outgoing,
                     ctn_cursor_t *c)
{
    c->at.number += g->leaders;
    c->at.bytes = fragment_bytes(c->of.bytes, c->at.number);
    if (c->opening && c->at.number / g->leaders >= ctn_opening(g, leader)) {
        c->at.bytes = 0;
    }
    skip_empty(g, leader, outgoing, c);
}

/* ---- copying ---- */

/** Traversal of a fragment, over pairs of a member of this node and one of the
 * other node. A message has the pairs in the order of two nested loops. */
typedef struct walk {
    const ctn_member_t *there; /* members of the other node */
    uint32_t outer, inner;     /* the current pair, by local ranks */
    uint32_t inner_count;      /* members in the inner loop */
    bool here_outer;           /* this node's members are the outer loop */
    bool outgoing;
    size_t within; /* position in the pair's block */
    size_t left;   /* bytes of the fragment from here on */
} walk_t;

/** Local rank of the pair's member of this node. */
static uint32_t here_of(const walk_t *walk)
{
    return walk->here_outer ? walk->outer : walk->inner;
}

/** Group rank of the pair's member of the other node. */
static uint32_t rank_there(const walk_t *walk)
{
    return walk->there[walk->here_outer ? walk->inner : walk->outer].rank;
}

static void next_pair(walk_t *walk)
{
    walk->within = 0;
    if (++walk->inner == walk->inner_count) {
        walk->inner = 0;
        walk->outer++;
    }
}

/** Move to a position in the message. */
static void seek(const ctn_geometry_t *g, walk_t *walk, size_t position)
{
    if (!g->vector) {
        size_t pair = position / g->bytes;
        walk->outer = (uint32_t)(pair / walk->inner_count);
        walk->inner = (uint32_t)(pair % walk->inner_count);
        walk->within = position % g->bytes;
        return;
    }
    for (;;) {
        size_t bytes =
            pair_bytes(g, here_of(walk), rank_there(walk), walk->outgoing);
        if (position < bytes) {
            walk->within = position;
            return;
        }
        position -= bytes;
        next_pair(walk);
    }
}

/** Begin the traversal of a fragment. */
static walk_t walk_of(const ctn_geometry_t *g,
                      const ctn_leader_fragment_t *fragment, bool outgoing)
{
    walk_t walk = {.there = members_of(g, fragment->node),
                   .outgoing = outgoing,
                   .left = fragment->bytes};
    /* The outer loop: receivers; in place, members of the lower node. */
    walk.here_outer = g->in_place ? g->node < fragment->node : !outgoing;
    walk.inner_count = ctn_member_table_count(
        g->member_table, walk.here_outer ? fragment->node : g->node);
    seek(g, &walk, (size_t)fragment->number * CTN_LEADER_STAGING_BYTES);
    return walk;
}

/** The next contiguous bytes of a traversal, and the pair that they belong to.
 */
typedef struct alltoall_stretch {
    uint32_t here;  /* local rank on this node */
    uint32_t there; /* group rank of the member of the other node */
    size_t from;    /* position in the pair's block */
    size_t bytes;
} alltoall_stretch_t;

/** Return the next stretch. If this node's members are the outer loop, the
 * blocks of consecutive ranks of the other node are contiguous in one buffer,
 * so they are one stretch. */
static alltoall_stretch_t next_stretch(const ctn_geometry_t *g, walk_t *walk)
{
    alltoall_stretch_t s = {here_of(walk), rank_there(walk), walk->within, 0};
    size_t block = pair_bytes(g, s.here, s.there, walk->outgoing);
    s.bytes = block - walk->within;
    if (s.bytes > walk->left) {
        s.bytes = walk->left;
        walk->within += s.bytes;
        walk->left = 0;
        return s;
    }
    next_pair(walk);
    while (!g->vector && walk->here_outer && walk->inner > 0 &&
           s.bytes + block <= walk->left &&
           rank_there(walk) == walk->there[walk->inner - 1].rank + 1) {
        s.bytes += block;
        next_pair(walk);
    }
    walk->left -= s.bytes;
    return s;
}

/** Address of a stretch in the buffer of a member, if that is within reach. */
static unsigned char *reach(const ctn_geometry_t *g,
                            const alltoall_stretch_t *s, bool outgoing)
{
    unsigned char *base = g->member[s->here].base[outgoing];
    if (base == NULL) {
        return NULL;
    }
    if (!g->vector) {
        return base + s->there * g->bytes + s->from;
    }
    const ctn_leader_block_t *row = &g->member[s->here].row[s->there];
    return base + (outgoing ? row->send_at : row->receive_at) + s->from;
}

/** Copy a stretch of this member's own blocks, which may have any type. */
static void copy_own(ctn_exec_t *exec, const ctn_blocks_t *own,
                     const alltoall_stretch_t *s, bool outgoing,
                     unsigned char *staging)
{
    ctn_span_t block = ctn_blocks_at(own, s->there);
    if (outgoing) {
        ctn_span_read(exec, &block, s->from, s->bytes, staging);
    } else {
        ctn_span_write(exec, &block, s->from, s->bytes, staging);
    }
}

size_t ctn_leader_fragment_copy(ctn_exec_t *exec, const ctn_geometry_t *g,
                                const ctn_leader_fragment_t *fragment,
                                bool outgoing, bool leads,
                                unsigned char *staging)
{
    if (exec->drop_data && leads && !g->staged[outgoing]) {
        return fragment->bytes; /* a simulation without data: no traversal */
    }
    walk_t walk = walk_of(g, fragment, outgoing);
    size_t copied = 0;
    while (walk.left > 0) {
        alltoall_stretch_t s = next_stretch(g, &walk);
        unsigned char *buffer =
            leads && s.bytes > 0 ? reach(g, &s, outgoing) : NULL;
        if (buffer != NULL) {
            copied += s.bytes;
            if (!exec->drop_data) {
                memcpy(outgoing ? staging : buffer, outgoing ? buffer : staging,
                       s.bytes);
            }
        } else if (s.bytes > 0 && s.here == g->me) {
            copy_own(exec, g->own[outgoing], &s, outgoing, staging);
        }
        staging += s.bytes;
    }
    return copied;
}
