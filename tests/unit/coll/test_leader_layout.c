/* Facts that all ranks rely on: leaders, lengths of fragments, operation
 * numbers. */

#include <string.h>

#include "coll/alltoall/leaders/fragment.h"
#include "coll/alltoall/leaders/layout.h"

#include "unit/unit.h"

/* ---- placement ---- */

START_TEST(first_members_lead)
{
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(
            ctn_leader_layout_member(NULL, 9, 5, CTN_PLACEMENT_FIRST, i), i);
    }
}
END_TEST

/** Algorithm 4 as printed: member r is a leader when r mod dist is 0 and r /
 * dist is below the number of leaders. */
START_TEST(spread_is_algorithm_4)
{
    for (uint32_t n = 1; n < 40; n++) {
        for (uint32_t count = 1; count <= n; count++) {
            uint32_t dist = n / count > 1 ? n / count : 1;
            uint32_t found = 0;
            for (uint32_t r = 0; r < n; r++) {
                if (r % dist == 0 && r / dist < count) {
                    ck_assert_uint_eq(
                        ctn_leader_layout_member(NULL, n, count,
                                                 CTN_PLACEMENT_SPREAD, found),
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
        ck_assert_uint_eq(
            ctn_leader_layout_member(domains, 8, 8, CTN_PLACEMENT_SPREAD, i),
            expected[i]);
    }
}
END_TEST

/** Messages that end near the end of a fragment. */
START_TEST(fragments_make_up_a_message)
{
    static const size_t sizes[] = {1, 4369, 4370, 8738, 70001};
    static const uint32_t first[] = {0, 3, 8}; /* of each node */
    static const ctn_member_t member[8];
    const ctn_member_table_t member_table = {
        .nodes = 2,
        .size = 8,
        .first = (uint32_t *)(uintptr_t)first,
        .member = (ctn_member_t *)(uintptr_t)member};
    size_t bytes = sizes[_i];
    const ctn_geometry_t g = {
        .member_table = &member_table, .leaders = 1, .bytes = bytes};
    size_t fragment = 0;
    size_t all = 0;
    for (uint32_t i = 0; i == 0 || fragment > 0; i++, all += fragment) {
        fragment = ctn_leader_fragment_at(&g, 1, i, true).bytes;
        ck_assert_uint_le(fragment, CTN_LEADER_STAGING_BYTES);
    }
    ck_assert_uint_eq(all, 3 * 5 * bytes);
}
END_TEST

/* ---- operation numbers ---- */

START_TEST(flags_distinguish_operations)
{
    ck_assert(ctn_flag_matches(ctn_flag(7, 3), 7));
    ck_assert(!ctn_flag_matches(ctn_flag(7, 3), 8));
    ck_assert(!ctn_flag_matches(0, 0)); /* fresh memory */
    ck_assert_uint_eq(ctn_flag_count(ctn_flag(7, 3)), 3);
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
            ck_assert(!ctn_flag_matches(0, seq));
            ck_assert(ctn_flag_matches(ctn_flag(seq, UINT32_MAX), seq));
            ck_assert(!ctn_flag_matches(ctn_flag(seq, 0), seq + 1));
            ck_assert(!ctn_flag_matches(ctn_flag(seq, 0), seq + wrap - 16));
            /* Operations with the same number use the same generation, for any
             * number of generations. */
            ck_assert_uint_eq(ctn_number(seq), ctn_number(seq + wrap));
            ck_assert_uint_eq((ctn_number(seq) - 1) % 16, seq % 16);
            ck_assert_uint_ne(ctn_flag64(seq), ctn_flag64(seq + wrap));
        }
    }
    ck_assert_uint_eq(ctn_number(wrap - 1), wrap);
    ck_assert_uint_eq(ctn_number(wrap), 1);
}
END_TEST

static const ctn_sequence_hooks_t no_hooks;

/** Words that the epoch barriers clear: first all except those of the
 * generation of that barrier, then these. */
START_TEST(epochs_zero_words)
{
    enum { GENERATIONS = 4, SLOTS = 3 };
    static ctn_slot_t slot[SLOTS * GENERATIONS];
    ctn_sequence_t sequence;
    ctn_sequence_set(&sequence, slot, GENERATIONS, 2);
    sequence.hooks = &no_hooks;
    sequence.used_slots = SLOTS;
    uint64_t last = (CTN_FIRST_SEQUENCE / CTN_EPOCH + 3) * CTN_EPOCH - 1;
    for (uint64_t seq = last - 3; seq <= last + 1; seq++) {
        memset(slot, 0xff, sizeof(slot));
        ctn_sequence_zero_old(NULL, &sequence, seq);
        for (unsigned i = 0; i < SLOTS * GENERATIONS; i++) {
            bool own = i % GENERATIONS == (last - 1) % GENERATIONS;
            bool zero = seq == last ? own : seq == last - 1 && !own;
            ck_assert_uint_eq(slot[i].word[0], zero ? 0 : UINT64_MAX);
            ck_assert_uint_eq(slot[i].word[1], zero ? 0 : UINT64_MAX);
        }
    }
    sequence.complete = last - 4; /* no other operation is in progress */
    for (uint64_t seq = last - 4; seq <= last + 2; seq++) {
        bool beside = seq == last - 4 || seq == last - 3;
        ck_assert_uint_eq(ctn_epoch_place(seq) <= CTN_EPOCH_BARRIERS,
                          seq >= last - 2 && seq <= last + 1);
        sequence.synchronized = seq;
        ck_assert_uint_eq(ctn_sequence_may_run(&sequence, seq), beside);
    }
}
END_TEST

/** Before the first operation completes, all generations are free, whatever the
 * first number. */
START_TEST(generations_are_free_from_any_number_on)
{
    ctn_sequence_t sequence;
    ctn_sequence_set(&sequence, NULL, 16, 4);
    uint64_t first = sequence.started;
    for (uint64_t at = first; at < first + 4; at++) {
        ck_assert(ctn_sequence_may_run(&sequence, at));
    }
    ck_assert(!ctn_sequence_may_run(&sequence, first + 4));
    sequence.hooks = &no_hooks;
    sequence.complete += 15;
    ck_assert(ctn_sequence_may_run(&sequence, first + 15));
    ck_assert(!ctn_sequence_may_run(&sequence, first + 16));
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, first_members_lead);
    tcase_add_test(tcase, spread_is_algorithm_4);
    tcase_add_test(tcase, spread_uses_every_domain);
    tcase_add_loop_test(tcase, fragments_make_up_a_message, 0, 5);
    tcase_add_test(tcase, flags_distinguish_operations);
    tcase_add_test(tcase, numbers_wrap_past_zero);
    tcase_add_test(tcase, epochs_zero_words);
    tcase_add_test(tcase, generations_are_free_from_any_number_on);
}

UNIT_TEST(leader_layout)
{
    return unit_main("leader_layout", 60, add_cases);
}
