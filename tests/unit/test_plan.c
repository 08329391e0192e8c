/* Leaders and pieces without ranks: against naive transcriptions. */

#include <stdlib.h>
#include <string.h>

#include "coll/piece.h"
#include "coll/plan.h"

#include "unit.h"

/* ---- placement ---- */

START_TEST(first_members_lead)
{
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(ctn_plan_leader(NULL, 9, 5, CTN_PLACE_FIRST, i), i);
    }
}
END_TEST

/** Algorithm 4 as printed: member r leads when r mod dist is 0 and r / dist
 * is below the number of leaders. */
START_TEST(spread_is_algorithm_4)
{
    for (uint32_t n = 1; n < 40; n++) {
        for (uint32_t count = 1; count <= n; count++) {
            uint32_t dist = n / count > 1 ? n / count : 1;
            uint32_t found = 0;
            for (uint32_t r = 0; r < n; r++) {
                if (r % dist == 0 && r / dist < count) {
                    ck_assert_uint_eq(ctn_plan_leader(NULL, n, count,
                                                      CTN_PLACE_SPREAD, found),
                                      r);
                    found++;
                }
            }
            ck_assert_uint_eq(found, count);
        }
    }
}
END_TEST

START_TEST(spread_uses_every_domain)
{
    const int32_t domains[] = {3, 3, 3, 3, 3, 1, 1, 0};
    const uint32_t expected[] = {0, 5, 7, 1, 6, 2, 3, 4};
    for (uint32_t i = 0; i < 8; i++) {
        ck_assert_uint_eq(ctn_plan_leader(domains, 8, 8, CTN_PLACE_SPREAD, i),
                          expected[i]);
    }
}
END_TEST

/* ---- pieces: two nodes see the same message ---- */

enum { NODES = 3, RANKS = 9 };

typedef struct world {
    ctn_member_t member[RANKS];
    uint32_t first[NODES + 1];
    ctn_topo_t topo;
} world_t;

/** Nodes of 3, 1 and 5 members; ranks in blocks or dealt round-robin. */
static void make_world(world_t *w, bool dealt)
{
    static const uint32_t counts[NODES] = {3, 1, 5};
    uint32_t next = 0;
    uint32_t at[NODES];
    memset(w, 0, sizeof(*w));
    for (uint32_t b = 0; b < NODES; b++) {
        w->first[b + 1] = w->first[b] + counts[b];
        at[b] = 0;
    }
    for (uint32_t b = 0; next < RANKS; b = (b + 1) % NODES) {
        uint32_t run = dealt ? 1 : counts[b];
        for (; run > 0 && at[b] < counts[b]; run--) {
            w->member[w->first[b] + at[b]++].rank = next++;
        }
    }
    w->topo.roster = (ctn_roster_t){
        .nodes = NODES, .size = RANKS, .first = w->first, .member = w->member};
}

static ctn_geometry_t geometry_of(const world_t *w, uint32_t node,
                                  uint32_t leaders, size_t bytes, bool in_place)
{
    return (ctn_geometry_t){.roster = &w->topo.roster,
                            .node = node,
                            .leaders = leaders,
                            .bytes = bytes,
                            .in_place = in_place};
}

static unsigned char content(size_t from, size_t to, size_t at)
{
    return (unsigned char)(from * 37 + to * 101 + at * 7 + (at >> 8));
}

typedef struct buffers {
    unsigned char *send[RANKS];
    unsigned char *receive[RANKS];
} buffers_t;

static void make_buffers(buffers_t *b, size_t bytes, bool in_place)
{
    for (size_t r = 0; r < RANKS; r++) {
        b->send[r] = malloc(RANKS * bytes);
        b->receive[r] = in_place ? b->send[r] : calloc(RANKS, bytes);
        for (size_t i = 0; i < RANKS * bytes; i++) {
            b->send[r][i] = content(r, i / bytes, i % bytes);
        }
    }
}

static void local_buffers(const world_t *w, uint32_t node,
                          unsigned char *const *all, unsigned char **local)
{
    for (uint32_t i = w->first[node]; i < w->first[node + 1]; i++) {
        local[i - w->first[node]] = all[w->member[i].rank];
    }
}

/** A piece from one node's buffers to staging, or from staging to them. */
static void copy_piece(const ctn_geometry_t *g, const ctn_leader_piece_t *piece,
                       bool outgoing, unsigned char *const *base,
                       unsigned char *staging)
{
    ctn_exec_t exec = {0};
    ctn_side_t side = {base, NULL};
    ck_assert_uint_eq(
        ctn_leader_piece_copy(&exec, g, piece, outgoing, &side, staging),
        piece->bytes);
}

/** Carry all pieces between nodes by hand, both ways of a pair at once. */
static void carry(world_t *w, buffers_t *b, uint32_t leaders, size_t bytes,
                  bool in_place)
{
    unsigned char *out = malloc(CTN_STAGE_BYTES);
    unsigned char *in = malloc(CTN_STAGE_BYTES);
    for (uint32_t node = 0; node < NODES; node++) {
        ctn_geometry_t here = geometry_of(w, node, leaders, bytes, in_place);
        unsigned char *mine[RANKS];
        unsigned char *mine_in[RANKS];
        local_buffers(w, node, b->send, mine);
        local_buffers(w, node, b->receive, mine_in);
        for (uint32_t l = 0; l < leaders; l++) {
            ctn_cursor_t c = ctn_cursor_first(&here, l, true);
            uint64_t pieces = 0;
            for (; !ctn_cursor_ended(&c);
                 ctn_cursor_next(&here, l, true, &c), pieces++) {
                ctn_geometry_t there =
                    geometry_of(w, c.at.node, leaders, bytes, in_place);
                ctn_leader_piece_t back =
                    ctn_leader_piece_at(&there, node, c.at.number, true);
                ck_assert_uint_eq(back.bytes, c.at.bytes);
                if (c.at.node < node) {
                    continue; /* done when the other was `here` */
                }
                unsigned char *theirs[RANKS];
                unsigned char *theirs_in[RANKS];
                local_buffers(w, c.at.node, b->send, theirs);
                local_buffers(w, c.at.node, b->receive, theirs_in);
                copy_piece(&here, &c.at, true, mine, out);
                copy_piece(&there, &back, true, theirs, in);
                copy_piece(&here, &c.at, false, mine_in, in);
                copy_piece(&there, &back, false, theirs_in, out);
            }
            ck_assert_uint_eq(pieces, ctn_leader_piece_count(&here, l, true));
        }
    }
    free(out);
    free(in);
}

static uint32_t node_of(const world_t *w, uint32_t index)
{
    return index < w->first[1] ? 0 : index < w->first[2] ? 1 : 2;
}

static void check_received(const world_t *w, const buffers_t *b, size_t bytes)
{
    size_t wrong = 0;
    for (uint32_t x = 0; x < RANKS; x++) {
        for (uint32_t y = 0; y < RANKS; y++) {
            size_t to = w->member[x].rank;
            size_t from = w->member[y].rank;
            /* What stays on a node is not the leaders' business. */
            for (size_t i = 0; node_of(w, x) != node_of(w, y) && i < bytes;
                 i++) {
                wrong +=
                    b->receive[to][from * bytes + i] != content(from, to, i);
            }
        }
    }
    ck_assert_uint_eq(wrong, 0);
}

START_TEST(pieces_carry_everything)
{
    static const size_t sizes[] = {1, 8, 100, 4369, 20000, 70001};
    size_t bytes = sizes[_i / 4];
    bool dealt = _i % 2;
    bool in_place = _i / 2 % 2;
    for (uint32_t leaders = 1; leaders <= 5; leaders += 2) {
        world_t w;
        buffers_t b;
        make_world(&w, dealt);
        make_buffers(&b, bytes, in_place);
        carry(&w, &b, leaders, bytes, in_place);
        check_received(&w, &b, bytes);
        for (size_t r = 0; r < RANKS; r++) {
            free(b.send[r]);
            if (!in_place) {
                free(b.receive[r]);
            }
        }
    }
}
END_TEST

/* Lengths that differ from pair to pair: what one node sends to another in
 * pieces is, piece by piece, what the other expects. */

static size_t length_between(size_t from, size_t to)
{
    static const size_t lengths[] = {0, 0, 5, 112, 3000, 8192, 66000, 0};
    return lengths[(from * 5 + to * 3 + from * to) % 8];
}

static void make_rows(ctn_row_t rows[RANKS][RANKS])
{
    for (size_t me = 0; me < RANKS; me++) {
        uint64_t at[2] = {0, 0};
        for (size_t peer = 0; peer < RANKS; peer++) {
            ctn_row_t *row = &rows[me][peer];
            row->send_bytes = length_between(me, peer);
            row->receive_bytes = length_between(peer, me);
            row->send_at = at[0];
            row->receive_at = at[1];
            at[0] += row->send_bytes;
            at[1] += row->receive_bytes;
        }
    }
}

static void local_rows(const world_t *w, uint32_t node,
                       ctn_row_t rows[RANKS][RANKS], const ctn_row_t **local)
{
    for (uint32_t i = w->first[node]; i < w->first[node + 1]; i++) {
        local[i - w->first[node]] = rows[w->member[i].rank];
    }
}

/** The order in which a receiver gives places holds the same pieces as what all
 * senders together send it. */
static void carry_rows(const world_t *w, buffers_t *b,
                       ctn_row_t rows[RANKS][RANKS], uint32_t leaders)
{
    unsigned char *staging = malloc(CTN_STAGE_BYTES);
    uint64_t sent = 0;
    uint64_t expected = 0;
    for (uint32_t node = 0; node < NODES; node++) {
        const ctn_row_t *here_rows[RANKS];
        unsigned char *mine[RANKS];
        ctn_geometry_t here = geometry_of(w, node, leaders, 0, false);
        local_rows(w, node, rows, here_rows);
        local_buffers(w, node, b->send, mine);
        here.rows = here_rows;
        for (uint32_t l = 0; l < leaders; l++) {
            expected += ctn_leader_piece_count(&here, l, false);
            ctn_cursor_t c = ctn_cursor_first(&here, l, true);
            for (; !ctn_cursor_ended(&c); ctn_cursor_next(&here, l, true, &c)) {
                const ctn_row_t *there_rows[RANKS];
                unsigned char *theirs[RANKS];
                ctn_geometry_t there =
                    geometry_of(w, c.at.node, leaders, 0, false);
                local_rows(w, c.at.node, rows, there_rows);
                local_buffers(w, c.at.node, b->receive, theirs);
                there.rows = there_rows;
                ctn_leader_piece_t in =
                    ctn_leader_piece_at(&there, node, c.at.number, false);
                ck_assert_uint_eq(in.bytes, c.at.bytes);
                copy_piece(&here, &c.at, true, mine, staging);
                copy_piece(&there, &in, false, theirs, staging);
                sent++;
            }
        }
    }
    ck_assert_uint_eq(sent, expected);
    free(staging);
}

START_TEST(pieces_of_rows_agree)
{
    static ctn_row_t rows[RANKS][RANKS];
    world_t w;
    buffers_t b;
    make_world(&w, _i % 2);
    make_rows(rows);
    make_buffers(&b, 66000, false);
    carry_rows(&w, &b, rows, 1 + (uint32_t)_i / 2);
    for (uint32_t x = 0; x < RANKS; x++) {
        for (uint32_t y = 0; y < RANKS; y++) {
            size_t to = w.member[x].rank;
            size_t from = w.member[y].rank;
            if (node_of(&w, x) != node_of(&w, y)) {
                ck_assert_int_eq(
                    memcmp(b.receive[to] + rows[to][from].receive_at,
                           b.send[from] + rows[from][to].send_at,
                           length_between(from, to)),
                    0);
            }
        }
    }
    for (size_t r = 0; r < RANKS; r++) {
        free(b.send[r]);
        free(b.receive[r]);
    }
}
END_TEST

START_TEST(tags_tell_operations_apart)
{
    ck_assert(ctn_tag_matches(ctn_tag(7, 3), 7));
    ck_assert(!ctn_tag_matches(ctn_tag(7, 3), 8));
    ck_assert(!ctn_tag_matches(0, 0)); /* fresh memory */
    ck_assert_uint_eq(ctn_tag_count(ctn_tag(7, 3)), 3);
}
END_TEST

START_TEST(numbers_wrap_past_zero)
{
    const uint64_t wrap = CTN_NUMBERS;
    const uint64_t from[] = {0, wrap - 40, UINT32_MAX - 40u, 5 * wrap - 40,
                             (UINT64_C(1) << 40) - 40};
    for (size_t f = 0; f < sizeof(from) / sizeof(*from); f++) {
        for (uint64_t seq = from[f]; seq < from[f] + 80; seq++) {
            ck_assert_uint_ne(ctn_number(seq), 0);
            ck_assert(!ctn_tag_matches(0, seq));
            ck_assert(ctn_tag_matches(ctn_tag(seq, UINT32_MAX), seq));
            ck_assert(!ctn_tag_matches(ctn_tag(seq, 0), seq + 1));
            ck_assert(!ctn_tag_matches(ctn_tag(seq, 0), seq + wrap - 16));
            /* Those of one number use one ring, of any number of rings. */
            ck_assert_uint_eq(ctn_number(seq), ctn_number(seq + wrap));
            ck_assert_uint_eq((ctn_number(seq) - 1) % 16, seq % 16);
            ck_assert_uint_ne(ctn_flag(seq), ctn_flag(seq + wrap));
        }
    }
    ck_assert_uint_eq(ctn_number(wrap - 1), wrap);
    ck_assert_uint_eq(ctn_number(wrap), 1);
}
END_TEST

static const ctn_fences_t no_fences;

/** What an epoch's barriers leave of words: before the second one those of its
 * own ring, before the third nothing. */
START_TEST(epochs_zero_words)
{
    enum { RINGS = 4, SLOTS = 3 };
    static ctn_slot_t slot[SLOTS * RINGS];
    ctn_channel_t channel;
    ctn_channel_set(&channel, slot, RINGS, 2);
    channel.fences = &no_fences;
    channel.touched = SLOTS;
    uint64_t last = (CTN_FIRST_SEQUENCE / CTN_EPOCH + 3) * CTN_EPOCH - 1;
    for (uint64_t seq = last - 3; seq <= last + 1; seq++) {
        memset(slot, 0xff, sizeof(slot));
        ctn_channel_zero_old(NULL, &channel, seq);
        for (unsigned i = 0; i < SLOTS * RINGS; i++) {
            bool own = i % RINGS == (last - 1) % RINGS;
            bool zero = seq == last ? own : seq == last - 1 && !own;
            ck_assert_uint_eq(slot[i].word[0], zero ? 0 : UINT64_MAX);
            ck_assert_uint_eq(slot[i].word[1], zero ? 0 : UINT64_MAX);
        }
    }
    channel.complete = last - 4; /* nothing runs beside them */
    for (uint64_t seq = last - 4; seq <= last + 2; seq++) {
        bool beside = seq == last - 4 || seq == last - 3;
        ck_assert_uint_eq(ctn_epoch_place(seq) <= CTN_EPOCH_BARRIERS,
                          seq >= last - 2 && seq <= last + 1);
        channel.synchronized = seq;
        ck_assert_uint_eq(ctn_channel_may_run(&channel, seq), beside);
    }
}
END_TEST

/** Before any operation is complete, rings are free from any number on. */
START_TEST(rings_are_free_from_any_number_on)
{
    ctn_channel_t channel;
    ctn_channel_set(&channel, NULL, 16, 4);
    uint64_t first = channel.started;
    for (uint64_t at = first; at < first + 4; at++) {
        ck_assert(ctn_channel_may_run(&channel, at));
    }
    ck_assert(!ctn_channel_may_run(&channel, first + 4));
    channel.fences = &no_fences;
    channel.complete += 15;
    ck_assert(ctn_channel_may_run(&channel, first + 15));
    ck_assert(!ctn_channel_may_run(&channel, first + 16));
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, first_members_lead);
    tcase_add_test(tcase, spread_is_algorithm_4);
    tcase_add_test(tcase, spread_uses_every_domain);
    tcase_add_loop_test(tcase, pieces_carry_everything, 0, 24);
    tcase_add_loop_test(tcase, pieces_of_rows_agree, 0, 6);
    tcase_add_test(tcase, tags_tell_operations_apart);
    tcase_add_test(tcase, numbers_wrap_past_zero);
    tcase_add_test(tcase, epochs_zero_words);
    tcase_add_test(tcase, rings_are_free_from_any_number_on);
}

int main(void)
{
    return unit_main("plan", 60, add_cases);
}
