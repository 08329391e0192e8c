/* The nodes of the members that a split knows. */

#include <stdlib.h>

#include "unit/unit.h"

#include "topo/topo.h"

/** Members on nodes that follow a rule. @return allocated */
static ctn_known_member_t *members_on(uint32_t n, uint32_t (*node_of)(uint32_t))
{
    ctn_known_member_t *member = calloc(n, sizeof(*member));
    ck_assert_ptr_nonnull(member);
    for (uint32_t i = 0; i < n; i++) {
        member[i].node = node_of(i);
    }
    return member;
}

static uint32_t by_threes(uint32_t i)
{
    return i / 3 * 1024;
}

static uint32_t round_robin(uint32_t i)
{
    return 4 - i % 5;
}

static uint32_t alone(uint32_t i)
{
    return i;
}

START_TEST(nodes_are_found)
{
    static uint32_t memory[2 * (11 * 1024)];
    ctn_known_member_t *member = members_on(32, by_threes);
    ctn_known_nodes_t nodes =
        ctn_known_nodes_find(member, 32, 11 * 1024, memory);
    ck_assert_uint_eq(nodes.count, 11);
    ck_assert_uint_eq(nodes.most, 3);
    for (uint32_t i = 0; i < nodes.count; i++) {
        ck_assert_uint_eq(nodes.first[i], 3 * i);
    }
    free(member);
    member = members_on(32, round_robin);
    nodes = ctn_known_nodes_find(member, 32, 5, memory);
    ck_assert_uint_eq(nodes.count, 5);
    ck_assert_uint_eq(nodes.most, 7);
    for (uint32_t i = 0; i < nodes.count; i++) {
        ck_assert_uint_eq(nodes.first[i], i);
    }
    nodes = ctn_known_nodes_find(member, 1, 5, memory);
    ck_assert_uint_eq(nodes.count, 1);
    ck_assert_uint_eq(nodes.most, 1);
    free(member);
}
END_TEST

/** It takes milliseconds. With a time that grows with the square of the nodes
 * the test would not end in time. */
START_TEST(many_nodes)
{
    enum { MANY = 1 << 19 };
    uint32_t *memory = malloc(2 * MANY * sizeof(*memory));
    ck_assert_ptr_nonnull(memory);
    ctn_known_member_t *member = members_on(MANY, alone);
    ctn_known_nodes_t nodes = ctn_known_nodes_find(member, MANY, MANY, memory);
    ck_assert_uint_eq(nodes.count, MANY);
    ck_assert_uint_eq(nodes.most, 1);
    ck_assert_uint_eq(nodes.first[MANY - 1], MANY - 1);
    free(member);
    free(memory);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, nodes_are_found);
    tcase_add_test(tcase, many_nodes);
}

UNIT_TEST(known)
{
    return unit_main("known", 20, add_cases);
}
