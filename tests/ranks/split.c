/* Splits by any data: every algorithm, colors and keys of all sorts, held
 * against a comparison of all with all; in flight, nested, refused, and with
 * comparators that lie. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank_liar.h"
#include "split.h"

enum { MOST_BYTES = 100000, IN_FLIGHT = 3 };

/** Comparators that know int64_t where color and key are that. */
static void order_ints(rank_split_t *split)
{
    if (split->color <= RANK_COLOR_INTS) {
        split->color_order = RANK_ORDER_INT64;
    }
    if (split->key <= RANK_KEY_INTS) {
        split->key_order = RANK_ORDER_INT64;
    }
}

/** As bytes or, where that fits or the algorithm takes nothing else, as
 * integers: one after the other, by the seed. */
static void split_if_fits(rank_test_t *test, rank_split_t split)
{
    if (split.seed % 2 == 0 || !rank_split_fits(&split)) {
        order_ints(&split);
    }
    if (rank_split_fits(&split)) {
        rank_split_world(test, &split);
    }
}

/** The case is named after the algorithm: all colors, all keys, all flags, all
 * ways to leave out ranks, and some mixtures. */
static void every_pattern(rank_test_t *test)
{
    rank_split_t base = {.algorithm = test->name,
                         .color = RANK_COLOR_FEW,
                         .key = RANK_KEY_RANDOM,
                         .most_bytes = MOST_BYTES};
    for (int i = 0; i < 2 * RANK_COLORS; i++) {
        rank_split_t split = base;
        split.color = (rank_color_t)(i / 2);
        split.flags = i % 2 == 0 ? CATENA_SPLIT_NO_REORDER : 0;
        split.seed = (uint64_t)(i / 2 + i % 2);
        split_if_fits(test, split);
    }
    for (int key = 0; key < RANK_KEYS; key++) {
        rank_split_t split = base;
        split.key = (rank_key_t)key;
        split.flags = key % 2 == 0 ? CATENA_SPLIT_NO_SPLIT : 0;
        split.seed = (uint64_t)key;
        split_if_fits(test, split);
    }
    for (int out = 0; out < RANK_OUTS; out++) {
        rank_split_t split = base;
        split.left_out = (rank_left_out_t)out;
        split.seed = (uint64_t)out;
        split_if_fits(test, split);
        split.flags = CATENA_SPLIT_NO_SPLIT | CATENA_SPLIT_NO_REORDER;
        split.seed++;
        split_if_fits(test, split);
    }
    uint64_t random = 99;
    for (int i = 0; i < 8; i++) {
        rank_split_t split = {.algorithm = test->name};
        rank_split_draw(&split, &random, MOST_BYTES);
        rank_split_world(test, &split);
    }
}

/** Comparators of the user's, for colors, keys, and both. */
static void user_orders(rank_test_t *test)
{
    for (int a = 0; a < RANK_SPLIT_ALGORITHMS; a++) {
        for (int order = 0; order < RANK_ORDERS; order++) {
            rank_split_t split = {
                .algorithm = rank_split_algorithms[a],
                .color = a % 2 == 0 ? RANK_COLOR_WORDS : RANK_COLOR_LONG,
                .key = a % 3 == 0 ? RANK_KEY_LONG : RANK_KEY_WORDS,
                .color_order = (rank_order_t)order,
                .key_order = (rank_order_t)((order + a) % RANK_ORDERS),
                .seed = (uint64_t)(a + order),
                .most_bytes = 3000,
            };
            if (rank_split_fits(&split)) {
                rank_split_world(test, &split);
            }
        }
    }
}

/** The colors that are to have one hash do. */
static void colliding_colors(rank_test_t *test)
{
    const rank_color_t colors[] = {RANK_COLOR_ZEROS, RANK_COLOR_REPEATED,
                                   RANK_COLOR_BLOCKS};
    for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++) {
        rank_split_t split = {.color = colors[i]};
        int pairs = 0;
        rank_split_open(&split, 64);
        for (int r = 1; r < 64; r++) {
            const rank_item_t *a = &split.item[r - 1];
            const rank_item_t *b = &split.item[r];
            pairs += rank_compare_bytes(a->color, a->color_bytes, b->color,
                                        b->color_bytes) != 0 &&
                     rank_one_at_a_time(a->color, a->color_bytes) ==
                         rank_one_at_a_time(b->color, b->color_bytes);
        }
        rank_split_close(&split);
        RANK_CHECK(test, pairs > 2);
    }
}

/* ---- the shorter calls ---- */

typedef catena_status_t (*split_call_t)(catena_group_t *group,
                                        const rank_item_t *item,
                                        catena_group_t **out);

static int64_t int_of(const unsigned char *data)
{
    int64_t value;
    memcpy(&value, data, sizeof(value));
    return value;
}

static catena_status_t call_split(catena_group_t *group,
                                  const rank_item_t *item, catena_group_t **out)
{
    int color = item->left_out ? CATENA_UNDEFINED : (int)int_of(item->color);
    return catena_group_split(group, color, (int)int_of(item->key), out);
}

static catena_status_t call_string(catena_group_t *group,
                                   const rank_item_t *item,
                                   catena_group_t **out)
{
    return catena_group_split_string(
        group, item->left_out ? NULL : (const char *)item->color,
        (int)int_of(item->key), out);
}

static catena_status_t call_int64(catena_group_t *group,
                                  const rank_item_t *item, catena_group_t **out)
{
    return catena_group_split_int64(group, int_of(item->color),
                                    int_of(item->key), out);
}

/** Make the call on a group that is not in the world's order. */
static void split_by_call(rank_test_t *test, split_call_t call,
                          rank_color_t color, rank_key_t key,
                          rank_left_out_t left_out)
{
    rank_split_t turn = {.algorithm = "auto",
                         .key = RANK_KEY_FALLING,
                         .key_order = RANK_ORDER_INT64};
    rank_split_t split = {.algorithm = "auto",
                          .color = color,
                          .key = key,
                          .left_out = left_out,
                          .key_order = RANK_ORDER_INT64,
                          .most_bytes = 1000};
    rank_members_t world = rank_members_world(test->place.size);
    rank_members_t turned;
    rank_split_open(&turn, test->place.size);
    rank_split_open(&split, test->place.size);
    catena_group_t *parent =
        rank_split_run(test, &turn, test->world, &world, &turned);
    rank_members_t expected =
        rank_split_expect(&split, &turned, test->place.rank);
    catena_group_t *group = NULL;
    RANK_CHECK(test, call(parent, &split.item[test->place.rank], &group) ==
                         CATENA_OK);
    RANK_CHECK(test, (group == NULL) == (expected.size == 0));
    if (group != NULL) {
        rank_split_check(test, group, &expected, test->name);
    }
    rank_group_free(test, parent);
    rank_group_free(test, group);
    rank_members_free(&expected);
    rank_members_free(&turned);
    rank_members_free(&world);
    rank_split_close(&split);
    rank_split_close(&turn);
}

static void short_calls(rank_test_t *test)
{
    const rank_key_t keys[] = {RANK_KEY_EQUAL, RANK_KEY_RISING,
                               RANK_KEY_FALLING, RANK_KEY_RANDOM};
    for (int i = 0; i < 4; i++) {
        for (int out = 0; out < RANK_OUTS; out += i % 2 + 1) {
            split_by_call(test, call_split,
                          i % 2 == 0 ? RANK_COLOR_MANY : RANK_COLOR_SAME,
                          keys[i], (rank_left_out_t)out);
            split_by_call(test, call_string,
                          i % 2 == 0 ? RANK_COLOR_WORDS : RANK_COLOR_REPEATED,
                          keys[i], (rank_left_out_t)out);
        }
        split_by_call(test, call_int64, RANK_COLOR_EXTREME, keys[i],
                      RANK_OUT_NONE);
    }
    split_by_call(test, call_int64, RANK_COLOR_FEW, RANK_KEY_EXTREME,
                  RANK_OUT_NONE);
    split_by_call(test, call_string, RANK_COLOR_LONG, RANK_KEY_EQUAL,
                  RANK_OUT_HALF);
}

static void dup_of_split(rank_test_t *test)
{
    rank_split_t split = {.algorithm = "auto",
                          .color = RANK_COLOR_FEW,
                          .key = RANK_KEY_FALLING,
                          .key_order = RANK_ORDER_INT64};
    rank_members_t world = rank_members_world(test->place.size);
    rank_members_t members;
    catena_group_t *dup = NULL;
    rank_split_open(&split, test->place.size);
    catena_group_t *group =
        rank_split_run(test, &split, test->world, &world, &members);
    RANK_CHECK(test, catena_group_dup(group, &dup) == CATENA_OK);
    rank_group_free(test, group);
    rank_split_check(test, dup, &members, "dup of a split group");
    rank_group_free(test, dup);
    rank_members_free(&members);
    rank_members_free(&world);
    rank_split_close(&split);
}

/* ---- in flight ---- */

static void start_exchange(rank_test_t *test, catena_group_t *group,
                           rank_exchange_t *x, int i,
                           catena_request_t **request)
{
    static const size_t counts[] = {8, 3000, 200};
    *x = (rank_exchange_t){.group = group,
                           .count = counts[i % 3],
                           .type = CATENA_BYTE,
                           .send_memory = (rank_memory_t)(i % 2),
                           .receive_memory = (rank_memory_t)(i / 2 % 2)};
    rank_exchange_open(test, x);
    rank_exchange_fill(test, x, (uint64_t)i);
    RANK_CHECK(test, catena_ialltoall(x->send, x->receive, x->count, x->type,
                                      group, request) == CATENA_OK);
}

/** On one group: exchange, split, exchange, split, barrier, exchange. */
static void split_between(rank_test_t *test, catena_group_t *group, int way,
                          uint64_t *random, const char *algorithm)
{
    rank_members_t world = rank_members_world(test->place.size);
    catena_request_t *requests[6];
    rank_exchange_t x[3];
    rank_flight_t flight[2] = {0};
    for (int i = 0; i < 2; i++) {
        flight[i].split.algorithm = algorithm;
        rank_split_draw(&flight[i].split, random, 2000);
    }
    start_exchange(test, group, &x[0], way, &requests[0]);
    rank_split_start(test, group, &world, &flight[0]);
    start_exchange(test, group, &x[1], way + 1, &requests[2]);
    rank_split_start(test, group, &world, &flight[1]);
    RANK_CHECK(test, catena_ibarrier(group, &requests[4]) == CATENA_OK);
    start_exchange(test, group, &x[2], way + 2, &requests[5]);
    requests[1] = flight[0].request;
    requests[3] = flight[1].request;
    rank_complete(test, requests, 6, way);
    for (int i = 0; i < 6; i++) {
        RANK_CHECK(test, requests[i] == NULL);
    }
    for (int i = 0; i < 3; i++) {
        rank_exchange_check(test, &x[i], "beside a split");
        rank_exchange_close(test, &x[i]);
    }
    for (int i = 0; i < 2; i++) {
        rank_group_free(test, rank_split_end(test, &flight[i]));
    }
    rank_members_free(&world);
}

/** Ways to complete, in turn; but for those that test again and again where
 * many processes share few cores: each takes its core's whole time slice. */
static int way_of(const rank_test_t *test, int i)
{
    bool many = !test->simulated && test->place.size > 9;
    return many ? 2 * (i % 2) : i % RANK_WAYS;
}

static void between_operations(rank_test_t *test)
{
    uint64_t random = 5;
    catena_group_t *group = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    for (int a = 0; a < RANK_SPLIT_ALGORITHMS; a++) {
        int ways = test->simulated ? RANK_WAYS : 1;
        for (int i = 0; i < ways; i++) {
            split_between(test, group, way_of(test, a + i), &random,
                          rank_split_algorithms[a]);
        }
    }
    /* A blocking split settles what the group still has to do. */
    catena_request_t *request = NULL;
    catena_group_t *made = NULL;
    RANK_CHECK(test, catena_ibarrier(group, &request) == CATENA_OK);
    RANK_CHECK(test, catena_group_split(group, 0, 0, &made) == CATENA_OK);
    RANK_CHECK(test, catena_wait(&request) == CATENA_OK);
    rank_group_free(test, group);
    rank_group_free(test, made);
}

/** Split groups of which each rank is in several at once, started in one order
 * on even and in the other on odd ranks; those of a color are disjoint. */
static void on_several_groups(rank_test_t *test)
{
    const rank_color_t colors[IN_FLIGHT] = {RANK_COLOR_SAME, RANK_COLOR_FEW,
                                            RANK_COLOR_MANY};
    uint64_t random = 17;
    rank_members_t world = rank_members_world(test->place.size);
    rank_members_t members[IN_FLIGHT];
    catena_group_t *groups[IN_FLIGHT];
    for (int i = 0; i < IN_FLIGHT; i++) {
        rank_split_t split = {.algorithm = "auto", .color = colors[i]};
        rank_split_open(&split, test->place.size);
        groups[i] =
            rank_split_run(test, &split, test->world, &world, &members[i]);
        rank_split_close(&split);
    }
    for (int round = 0; round < 2 * RANK_WAYS; round++) {
        rank_flight_t flight[IN_FLIGHT] = {0};
        catena_request_t *requests[IN_FLIGHT];
        for (int i = 0; i < IN_FLIGHT; i++) {
            rank_split_draw(&flight[i].split, &random, 2000);
        }
        for (int i = 0; i < IN_FLIGHT; i++) {
            int g = test->place.rank % 2 == 0 ? i : IN_FLIGHT - 1 - i;
            rank_split_start(test, groups[g], &members[g], &flight[g]);
            requests[i] = flight[g].request;
        }
        rank_complete(test, requests, IN_FLIGHT, way_of(test, round));
        for (int i = 0; i < IN_FLIGHT; i++) {
            rank_group_free(test, rank_split_end(test, &flight[i]));
        }
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        rank_group_free(test, groups[i]);
        rank_members_free(&members[i]);
    }
    rank_members_free(&world);
}

/* ---- splits of splits ---- */

static void splits_of_splits(rank_test_t *test)
{
    uint64_t random = 3;
    for (int a = 0; a < RANK_SPLIT_ALGORITHMS; a++) {
        rank_split_deep(test, rank_split_algorithms[a], &random, 500, a);
    }
}

/* ---- what is told of a split ---- */

static void stats(rank_test_t *test)
{
    for (int a = 0; a < RANK_SPLIT_ALGORITHMS; a++) {
        const char *name = rank_split_algorithms[a];
        catena_group_stats_t stats;
        catena_group_t *group = NULL;
        char text[400] = "";
        rank_split_t split = {.algorithm = name,
                              .key = RANK_KEY_FALLING,
                              .color = RANK_COLOR_FEW};
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        rank_members_t world = rank_members_world(test->place.size);
        order_ints(&split);
        rank_split_open(&split, test->place.size);
        rank_group_free(test,
                        rank_split_run(test, &split, group, &world, NULL));
        RANK_CHECK(test, catena_group_get_stats(group, &stats) == CATENA_OK);
        RANK_CHECK(test, catena_group_explain(group, "split", text,
                                              sizeof(text)) == CATENA_OK);
        if (stats.split_algorithm == NULL) {
            stats.split_algorithm = "none";
        }
        bool told = strstr(text, stats.split_algorithm) != NULL &&
                    (strcmp(name, "auto") == 0 ||
                     strncmp(stats.split_algorithm, name, 5) == 0);
        /* Within a node allgather-fast may do without messages. */
        bool counted = test->place.size == 1 ||
                       (stats.split_rounds > 0 &&
                        (strcmp(stats.split_algorithm, "allgather-fast") == 0 ||
                         (stats.split_messages > 0 && stats.split_bytes > 0)));
        if (!told || !counted || stats.handle_bytes == 0 ||
            stats.block_bytes == 0) {
            rank_fail(test, "%s: stats of '%s', explained as '%s'", name,
                      stats.split_algorithm, text);
        }
        rank_split_close(&split);
        rank_members_free(&world);
        rank_group_free(test, group);
    }
}

/* ---- again and again ---- */

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
    int64_t color = i / RANK_SPLIT_ALGORITHMS % 2 * test->place.rank;
    int64_t key = -test->place.rank;
    catena_split_t call = {
        .color = &color,
        .color_bytes = sizeof(color),
        .color_compare = catena_compare_int64,
        .key = &key,
        .key_bytes = sizeof(key),
        .key_compare = catena_compare_int64,
        .algorithm = rank_split_algorithms[i % RANK_SPLIT_ALGORITHMS]};
    catena_group_t *group = NULL;
    RANK_CHECK(test,
               catena_group_split_by(test->world, &call, &group) == CATENA_OK);
    rank_group_free(test, group);
}

/** 100,000 splits where that is quick, else fewer. What the heap keeps
 * for the next ones, and gives back, is no more in the end than before. */
static void again_and_again(rank_test_t *test)
{
    enum { SLACK = 4 << 20 };
    bool few =
        test->place.size == 1 || (test->place.size == 2 && test->simulated);
    int many = few && !SANITIZED ? 100000 : test->place.size <= 2 ? 5000 : 200;
    size_t resident = 0;
    size_t most_taken = 0;
    catena_heap_stats_t before = {0};
    catena_heap_stats_t after = {0};
    for (int i = 0; i < many; i++) {
        split_again(test, i);
        catena_heap_stats(test->context, &after);
        if (i == many / 4) {
            before = after;
            resident = resident_bytes();
        }
        if (i <= many / 4 && after.taken > most_taken) {
            most_taken = after.taken;
        }
    }
    size_t grown = resident_bytes();
    if (after.in_use > before.in_use || after.taken > most_taken + SLACK ||
        (!SANITIZED && grown > resident + SLACK)) {
        rank_fail(test,
                  "%d splits: in use %zu, then %zu; taken %zu, then %zu; "
                  "resident %zu, then %zu",
                  many, before.in_use, after.in_use, most_taken, after.taken,
                  resident, grown);
    }
}

static const rank_case_t cases[] = {
    {"allgather", every_pattern},
    {"allgather-fast", every_pattern},
    {"gather-scatter", every_pattern},
    {"cheng:128", every_pattern},
    {"cheng", every_pattern},
    {"bitonic", every_pattern},
    {"radix", every_pattern},
    {"radix-plain", every_pattern},
    {"hash", every_pattern},
    {"hash64", every_pattern},
    {"auto", every_pattern},
    {"user_orders", user_orders},
    {"colliding_colors", colliding_colors},
    {"short_calls", short_calls},
    {"dup_of_split", dup_of_split},
    {"levels", split_levels},
    {"between_operations", between_operations},
    {"on_several_groups", on_several_groups},
    {"splits_of_splits", splits_of_splits},
    {"refused", split_refused},
    {"lies", split_lies},
    {"errs_about_others", split_errs_about_others},
    {"mixed_lengths", split_mixed_lengths},
    {"stats", stats},
    {"again_and_again", again_and_again},
    {NULL, NULL}};

int main(int argc, char **argv)
{
    return rank_main(argc, argv, cases);
}
