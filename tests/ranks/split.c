/* Splits by any data: every algorithm, colors and keys of all sorts, checked by
 * comparing all with all; in flight, nested, and by inconsistent comparators.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle/layout.h"
#include "ranks/helpers/split_mix.h"

enum { MOST_BYTES = 100000 };

static uint32_t one_at_a_time(const unsigned char *data, size_t bytes)
{
    return ctn_hash_jenkins_end(ctn_hash_jenkins(0, data, bytes));
}

/** The colors designed for equal hashes have equal hashes. */
static void colliding_colors(rank_test_t *test)
{
    static const oracle_color_t colors[] = {
        ORACLE_COLOR_ZEROS, ORACLE_COLOR_REPEATED, ORACLE_COLOR_BLOCKS};
    for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++) {
        oracle_split_t split = {.color = colors[i]};
        int pairs = 0;
        oracle_split_open(&split, 64);
        for (int r = 1; r < 64; r++) {
            const oracle_item_t *a = &split.item[r - 1];
            const oracle_item_t *b = &split.item[r];
            pairs += !oracle_split_together(&split, r - 1, r) &&
                     one_at_a_time(a->color, a->color_bytes) ==
                         one_at_a_time(b->color, b->color_bytes);
        }
        oracle_split_close(&split);
        RANK_CHECK(test, pairs > 2);
    }
}

/* ---- the covering set ---- */

static const oracle_plan_t *plan_of_cases(void)
{
    static oracle_plan_t plan;
    if (plan.set == NULL) {
        oracle_plan_make(&plan, oracle_split_space(), NULL);
    }
    return &plan;
}

static void values_meet(rank_test_t *test)
{
    rank_check_plan(test, plan_of_cases());
}

static void cover(rank_test_t *test)
{
    const oracle_plan_t *plan = plan_of_cases();
    int layout = test->options->layout;
    for (size_t i = 0; i < plan->count; i++) {
        char text[320], name[352];
        oracle_split_case_describe(&plan->set[i], text, sizeof(text));
        snprintf(name, sizeof(name), "#%zu %s", i + 1, text);
        if ((layout < 0 || (plan->layouts[i] >> layout & 1) != 0) &&
            rank_wanted(test, name)) {
            oracle_split_case_run(&test->oracle, &plan->set[i], i, MOST_BYTES);
            rank_conclude(test, name);
        }
    }
}

/* ---- the simple calls ---- */

typedef catena_status_t (*split_call_t)(catena_group_t *group,
                                        const oracle_item_t *item,
                                        catena_group_t **out);

static int64_t int_of(const unsigned char *data)
{
    int64_t value;
    memcpy(&value, data, sizeof(value));
    return value;
}

/** Map the numbers to the full range of int, in the same order. */
static catena_status_t call_split(catena_group_t *group,
                                  const oracle_item_t *item,
                                  catena_group_t **out)
{
    enum { SPREAD = INT_MAX / 128 };
    int color = (int)(int_of(item->color) * SPREAD);
    return catena_group_split(group, item->left_out ? CATENA_UNDEFINED : color,
                              (int)(int_of(item->key) * SPREAD), out);
}

static catena_status_t call_string(catena_group_t *group,
                                   const oracle_item_t *item,
                                   catena_group_t **out)
{
    return catena_group_split_string(
        group, item->left_out ? NULL : (const char *)item->color,
        (int)int_of(item->key), out);
}

static catena_status_t call_int64(catena_group_t *group,
                                  const oracle_item_t *item,
                                  catena_group_t **out)
{
    return catena_group_split_int64(group, int_of(item->color),
                                    int_of(item->key), out);
}

static catena_status_t call_dup(catena_group_t *group,
                                const oracle_item_t *item, catena_group_t **out)
{
    (void)item;
    return catena_group_dup(group, out);
}

/** Make the call on a group in another order than the world's, and free that
 * group first. */
static void split_by_call(rank_test_t *test, split_call_t call,
                          oracle_color_t color, oracle_key_t key,
                          oracle_left_out_t left_out)
{
    oracle_split_t turn = {.algorithm = "auto",
                           .key = ORACLE_KEY_FALLING,
                           .key_order = ORACLE_ORDER_INT64};
    oracle_split_t split = {.algorithm = "auto",
                            .color = color,
                            .key = key,
                            .left_out = left_out,
                            .key_order = ORACLE_ORDER_INT64,
                            .most_bytes = 1000};
    oracle_members_t world = oracle_members_world(test->place.ranks);
    oracle_members_t turned;
    oracle_split_open(&turn, test->place.ranks);
    oracle_split_open(&split, test->place.ranks);
    catena_group_t *parent =
        oracle_split_run(&test->oracle, &turn, test->world, &world, &turned);
    oracle_members_t expected =
        oracle_split_expect(&split, &turned, test->place.rank);
    catena_group_t *group = NULL;
    RANK_CHECK(test, call(parent, &split.item[test->place.rank], &group) ==
                         CATENA_OK);
    RANK_CHECK(test, (group == NULL) == (expected.size == 0));
    oracle_group_free(&test->oracle, parent);
    if (group != NULL) {
        oracle_group_check(&test->oracle, group, &expected, test->name);
    }
    oracle_group_free(&test->oracle, group);
    oracle_members_free(&expected);
    oracle_members_free(&turned);
    oracle_members_free(&world);
    oracle_split_close(&split);
    oracle_split_close(&turn);
}

static void short_calls(rank_test_t *test)
{
    static const oracle_key_t keys[] = {ORACLE_KEY_EQUAL, ORACLE_KEY_RISING,
                                        ORACLE_KEY_FALLING, ORACLE_KEY_RANDOM};
    for (int i = 0; i < 4; i++) {
        for (int out = 0; out < ORACLE_OUTS; out += i % 2 + 1) {
            split_by_call(test, call_split,
                          i % 2 == 0 ? ORACLE_COLOR_MANY : ORACLE_COLOR_SAME,
                          keys[i], (oracle_left_out_t)out);
            split_by_call(test, call_string,
                          i % 2 == 0 ? ORACLE_COLOR_WORDS
                                     : ORACLE_COLOR_REPEATED,
                          keys[i], (oracle_left_out_t)out);
        }
        split_by_call(test, call_int64, ORACLE_COLOR_EXTREME, keys[i],
                      ORACLE_OUT_NONE);
    }
    split_by_call(test, call_int64, ORACLE_COLOR_FEW, ORACLE_KEY_EXTREME,
                  ORACLE_OUT_NONE);
    split_by_call(test, call_string, ORACLE_COLOR_LONG, ORACLE_KEY_EQUAL,
                  ORACLE_OUT_HALF);
    split_by_call(test, call_dup, ORACLE_COLOR_SAME, ORACLE_KEY_EQUAL,
                  ORACLE_OUT_NONE);
}

/* ---- in flight ---- */

static void between_operations(rank_test_t *test)
{
    catena_group_t *group = NULL;
    for (uint64_t a = 0; a < ORACLE_SPLIT_ALGORITHMS; a++) {
        split_mix(test, oracle_split_algorithms[a], 17 + a, 2000);
    }
    /* A blocking split completes the group's pending work. */
    catena_request_t *request = NULL;
    catena_group_t *made = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test, catena_ibarrier(group, &request) == CATENA_OK);
    RANK_CHECK(test, catena_group_split(group, 0, 0, &made) == CATENA_OK);
    RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
    oracle_group_free(&test->oracle, group);
    oracle_group_free(&test->oracle, made);
}

/* ---- splits of splits ---- */

static void splits_of_splits(rank_test_t *test)
{
    uint64_t random = 3;
    for (int a = 0; a < ORACLE_SPLIT_ALGORITHMS; a++) {
        oracle_split_deep(&test->oracle, oracle_split_algorithms[a], &random,
                          500, a);
    }
}

/* ---- inconsistent comparators ---- */

/** By number; with an argument, reversed from 2 on. */
static int compare_but_others(const void *a, size_t a_bytes, const void *b,
                              size_t b_bytes, void *argument)
{
    int order = catena_compare_int64(a, a_bytes, b, b_bytes, NULL);
    return argument != NULL && int_of(a) >= 2 && int_of(b) >= 2 ? -order
                                                                : order;
}

/** The first rank errs about the order of others: all links match, but that
 * rank's view of the group does not. */
static void errs_about_others(rank_test_t *test)
{
    int64_t key = test->place.rank;
    for (int a = 0; a < ORACLE_SPLIT_ALGORITHMS; a++) {
        catena_group_t *group = NULL;
        catena_split_t split = {.size = sizeof(split),
                                .key = &key,
                                .key_bytes = sizeof(key),
                                .key_compare = compare_but_others,
                                .argument = key == 0 ? test : NULL,
                                .algorithm = oracle_split_algorithms[a]};
        if (strncmp(split.algorithm, "radix", 5) == 0) {
            continue;
        }
        catena_status_t status =
            catena_group_split_by(test->world, &split, &group);
        RANK_CHECK(test, status == CATENA_OK || status == CATENA_ERR_ARG);
        if (status == CATENA_OK) {
            RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
            int32_t *reported =
                oracle_gather_value(&test->oracle, group, test->place.rank);
            RANK_CHECK(test,
                       reported[catena_group_rank(group)] == test->place.rank);
            free(reported);
            RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
        }
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
}

/* ---- statistics and explain texts of a split ---- */

static void stats(rank_test_t *test)
{
    for (int a = 0; a < ORACLE_SPLIT_ALGORITHMS; a++) {
        const char *name = oracle_split_algorithms[a];
        catena_group_stats_t stats = {.size = sizeof(stats)};
        catena_group_t *group = NULL;
        char text[400] = "";
        oracle_split_t split = {.algorithm = name,
                                .key = ORACLE_KEY_FALLING,
                                .color = ORACLE_COLOR_FEW,
                                .color_order = ORACLE_ORDER_INT64,
                                .key_order = ORACLE_ORDER_INT64};
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        oracle_members_t world = oracle_members_world(test->place.ranks);
        oracle_split_open(&split, test->place.ranks);
        oracle_group_free(&test->oracle, oracle_split_run(&test->oracle, &split,
                                                          group, &world, NULL));
        RANK_CHECK(test, catena_group_get_stats(group, &stats) == CATENA_OK);
        RANK_CHECK(test, catena_group_explain(group, "split", text,
                                              sizeof(text)) == CATENA_OK);
        if (stats.split_algorithm == NULL) {
            stats.split_algorithm = "none";
        }
        bool reported = strstr(text, stats.split_algorithm) != NULL &&
                        (strcmp(name, "auto") == 0 ||
                         strncmp(stats.split_algorithm, name, 5) == 0);
        /* Within a node allgather-fast may need no messages. */
        bool counted = test->place.ranks == 1 ||
                       (stats.split_rounds > 0 &&
                        (strcmp(stats.split_algorithm, "allgather-fast") == 0 ||
                         (stats.split_messages > 0 && stats.split_bytes > 0)));
        if (!reported || !counted || stats.handle_bytes == 0 ||
            stats.block_bytes == 0) {
            rank_fail(test, "%s: stats of '%s', explained as '%s'", name,
                      stats.split_algorithm, text);
        }
        oracle_split_close(&split);
        oracle_members_free(&world);
        oracle_group_free(&test->oracle, group);
    }
}

/* ---- repeated splits ---- */

static size_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%*u %lu", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 }; /* freed memory is kept for a while */
#else
enum { SANITIZED = 0 };
#endif

/** The i-th of many splits: the algorithms in turn, together and apart. */
static void split_again(rank_test_t *test, int i)
{
    int64_t color = i / ORACLE_SPLIT_ALGORITHMS % 2 * test->place.rank;
    int64_t key = -test->place.rank;
    catena_split_t call = {
        .size = sizeof(call),
        .color = &color,
        .color_bytes = sizeof(color),
        .color_compare = catena_compare_int64,
        .key = &key,
        .key_bytes = sizeof(key),
        .key_compare = catena_compare_int64,
        .algorithm = oracle_split_algorithms[i % ORACLE_SPLIT_ALGORITHMS]};
    catena_group_t *group = NULL;
    RANK_CHECK(test,
               catena_group_split_by(test->world, &call, &group) == CATENA_OK);
    oracle_group_free(&test->oracle, group);
}

/** 100,000 splits if that is fast, else fewer. The heap's cache and free memory
 * do not grow. */
static void again_and_again(rank_test_t *test)
{
    /* Groups are released a little later, and some of their blocks are cached:
     * the number depends on timing. */
    enum { SLACK = 4 << 20, KEPT = 24 << 20 };
    bool few =
        test->place.ranks == 1 || (test->place.ranks == 2 && test->simulated);
    int many = few && !SANITIZED ? 100000 : test->place.ranks <= 2 ? 5000 : 200;
    size_t resident = 0;
    size_t most_taken = 0;
    catena_heap_stats_t before = {.size = sizeof(before)};
    catena_heap_stats_t after = {.size = sizeof(after)};
    for (int i = 0; i < many; i++) {
        split_again(test, i);
        catena_heap_get_stats(test->context, &after);
        if (i == many / 4) {
            before = after;
            resident = resident_bytes();
        }
        if (i <= many / 4 && after.taken > most_taken) {
            most_taken = after.taken;
        }
    }
    size_t grown = resident_bytes();
    if (after.in_use > before.in_use + KEPT ||
        after.taken > most_taken + KEPT + SLACK ||
        (!SANITIZED && grown > resident + SLACK)) {
        rank_fail(test,
                  "%d splits: in use %zu, then %zu; taken %zu, then %zu; "
                  "resident %zu, then %zu",
                  many, before.in_use, after.in_use, most_taken, after.taken,
                  resident, grown);
    }
}

static const rank_case_t cases[] = {
    {"every two values of splits meet", values_meet},
    {"colors of one hash", colliding_colors},
    {"shorter calls of splits", short_calls},
    {"splits between operations", between_operations},
    {"splits of splits", splits_of_splits},
    {"errs about others", errs_about_others},
    {"what a split says of itself", stats},
    {"splits again and again", again_and_again},
    {NULL, NULL}};
static const rank_case_t many[] = {{"cover", cover}, {NULL, NULL}};
const rank_suite_t rank_suite_split = {
    .name = "split", .cases = cases, .many = many};
