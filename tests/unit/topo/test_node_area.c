/* The layout of a node area, its flags, and the barrier on them. */

#include <stdlib.h>
#include <string.h>

#include "topo/node.h"

#include "unit/unit.h"

enum { GENERATIONS = 4, ROW = 192 };

static ctn_node_area_t area_of(uint32_t members, bool oversubscribed)
{
    return (ctn_node_area_t){.members = members,
                             .generations = GENERATIONS,
                             .oversubscribed = oversubscribed,
                             .descriptor_bytes = 64,
                             .row_bytes = ROW};
}

/** Add 1 to each byte of all entries. */
static void mark(const ctn_node_area_t *area, const ctn_node_entries_t *entries,
                 size_t bytes)
{
    for (uint64_t seq = 0; seq < GENERATIONS; seq++) {
        for (uint32_t i = 0; i < area->members; i++) {
            unsigned char *entry = ctn_node_entry(area, entries, seq, i);
            for (size_t b = 0; b < bytes; b++) {
                entry[b]++;
            }
        }
    }
}

/** No two entries overlap, and all lie within the area, rows at the end. */
static void check_layout(uint32_t members, bool oversubscribed)
{
    ctn_node_area_t area = area_of(members, oversubscribed);
    size_t words;
    size_t bytes = ctn_node_area_map(&area, NULL, &words);
    unsigned char *memory = aligned_alloc(128, ctn_line_up(bytes));
    size_t used = 0;
    ck_assert_ptr_nonnull(memory);
    memset(memory, 0, bytes);
    ck_assert_uint_eq(ctn_node_area_map(&area, memory, &words), bytes);
    mark(&area, &area.arrived, sizeof(uint64_t));
    mark(&area, &area.departed, sizeof(uint64_t));
    mark(&area, &area.descriptor, 64);
    mark(&area, &area.row, ROW);
    for (uint32_t i = 0; i < members; i++) {
        area.cpus[i] += 0x01010101;
    }
    for (size_t b = 0; b < bytes; b++) {
        ck_assert_uint_le(memory[b], 1);
        used += memory[b];
    }
    ck_assert_uint_eq(used, members * (GENERATIONS * (8 + 8 + 64 + ROW) + 4));
    ck_assert_ptr_eq(area.row.first, memory + words);
    ck_assert_uint_eq(area.descriptor.stride % 64, 0);
    ck_assert_uint_eq((uintptr_t)area.descriptor.first % 64, 0);
    free(memory);
}

START_TEST(entries_do_not_overlap)
{
    for (uint32_t members = 1; members <= 20; members++) {
        check_layout(members, false);
        check_layout(members, true);
    }
}
END_TEST

/** A flag counts for its operation and for older ones that used the same
 * generation, and for no other. */
START_TEST(flags_of_operations)
{
    ctn_node_area_t area = area_of(3, false);
    size_t bytes = ctn_node_area_map(&area, NULL, NULL);
    unsigned char *memory = aligned_alloc(128, ctn_line_up(bytes));
    ck_assert_ptr_nonnull(memory);
    memset(memory, 0, bytes);
    ctn_node_area_map(&area, memory, NULL);
    for (uint64_t seq = 0; seq < 3 * GENERATIONS; seq++) {
        uint32_t next = 0;
        for (uint32_t i = 0; i < 3; i++) {
            ck_assert(!ctn_node_all_arrived(&area, seq, &next, 2));
            ck_assert_uint_eq(next, i);
            ctn_word_store(ctn_node_arrived(&area, seq, i), ctn_flag64(seq));
        }
        ck_assert(ctn_node_all_arrived(&area, seq, &next, 1));
        ck_assert(
            !ctn_node_is_set(ctn_node_arrived(&area, seq + GENERATIONS, 0),
                             seq + GENERATIONS, 1));
        ck_assert(!ctn_node_is_set(ctn_node_departed(&area, seq, 0), seq, 1));
    }
    free(memory);
}
END_TEST

/** Flags outside the generations serve all operations; the last one counts. */
START_TEST(flags_that_count)
{
    ctn_node_area_t area = area_of(2, true);
    uint64_t memory[64] = {0};
    size_t at = 0;
    ctn_node_entries_t flags =
        ctn_node_flags((unsigned char *)memory, &at, 2, 1, true);
    ck_assert_uint_le(at, sizeof(memory));
    for (uint64_t seq = 0; seq < 9; seq++) {
        uint32_t next = 0;
        ck_assert(!ctn_node_all_set(&area, &flags, seq, &next, 1));
        ctn_word_store(ctn_node_entry(&area, &flags, seq, 1), ctn_flag64(seq));
        ck_assert(!ctn_node_all_set(&area, &flags, seq, &next, 1));
        ctn_word_store(ctn_node_entry(&area, &flags, seq, 0), ctn_flag64(seq));
        ck_assert(ctn_node_all_set(&area, &flags, seq, &next, 1));
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, entries_do_not_overlap);
    tcase_add_test(tcase, flags_of_operations);
    tcase_add_test(tcase, flags_that_count);
}

UNIT_TEST(node_area)
{
    return unit_main("node area", 60, add_cases);
}
