/* Splits that are refused, and say so on all ranks. */

#include <stdlib.h>
#include <string.h>

#include "rank_split.h"
#include "split.h"

/** Refused on all ranks: nothing happens, nothing is set. */
static void refuse(rank_test_t *test, const catena_split_t *call,
                   const char *what)
{
    catena_group_t *untouched = test->world;
    catena_request_t *request = (void *)test;
    if (catena_group_split_by(test->world, call, &untouched) !=
        CATENA_ERR_ARG) {
        rank_fail(test, "%s: not refused", what);
    }
    if (catena_group_isplit_by(test->world, call, &untouched, &request) !=
        CATENA_ERR_ARG) {
        rank_fail(test, "%s: not refused without blocking", what);
    }
    RANK_CHECK(test, untouched == test->world);
    RANK_CHECK(test, request == (void *)test);
    RANK_CHECK(test, catena_group_split_by(test->world, call, NULL) ==
                         CATENA_ERR_ARG);
}

static void refuse_algorithms(rank_test_t *test)
{
    static const char *const unknown[] = {
        "",           "nonsense", "Hash",        "hash65",      "bitonic ",
        "cheng:",     "cheng:5",  "cheng:127",   "cheng:8193",  "cheng:1024x",
        "cheng:-128", "radix:2",  "cheng:0x400", "cheng: 1024", "allgather-"};
    rank_split_t split = {.algorithm = "auto"};
    rank_split_open(&split, test->place.size);
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        catena_split_t call = rank_split_call(&split, test->place.rank);
        call.algorithm = unknown[i];
        refuse(test, &call, unknown[i]);
    }
    rank_split_close(&split);
}

/** Algorithms that are not made for such data. */
static void refuse_misfits(rank_test_t *test)
{
    int refused = 0;
    for (int a = 0; a < RANK_SPLIT_ALGORITHMS; a++) {
        for (int orders = 0; orders < RANK_ORDERS * RANK_ORDERS; orders++) {
            rank_split_t split = {
                .algorithm = rank_split_algorithms[a],
                .color_order = (rank_order_t)(orders % RANK_ORDERS),
                .key_order = (rank_order_t)(orders / RANK_ORDERS)};
            if (!rank_split_fits(&split)) {
                rank_split_open(&split, test->place.size);
                catena_split_t call = rank_split_call(&split, test->place.rank);
                refuse(test, &call, split.algorithm);
                rank_split_close(&split);
                refused++;
            }
        }
    }
    RANK_CHECK(test, refused > RANK_ORDERS);
}

static void refuse_nothing(rank_test_t *test)
{
    rank_split_t split = {.algorithm = "auto", .color = RANK_COLOR_WORDS};
    rank_split_open(&split, test->place.size);
    catena_split_t call = rank_split_call(&split, test->place.rank);
    catena_group_t *untouched = test->world;
    catena_request_t *request = NULL;
    refuse(test, NULL, "no split");
    call.color = NULL;
    refuse(test, &call, "no color");
    call = rank_split_call(&split, test->place.rank);
    call.key = NULL;
    refuse(test, &call, "no key");
    call = rank_split_call(&split, test->place.rank);
    RANK_CHECK(test, catena_group_split_by(NULL, &call, &untouched) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_isplit_by(test->world, &call, NULL,
                                            &request) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_isplit_by(test->world, &call, &untouched,
                                            NULL) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_split_string(test->world, "a", 0, NULL) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_split_string(NULL, "a", 0, &untouched) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_split_int64(test->world, 1, 0, NULL) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_split_int64(NULL, 1, 0, &untouched) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_dup(NULL, &untouched) == CATENA_ERR_ARG);
    for (int level = 0; level <= LEVELS; level += LEVELS) {
        RANK_CHECK(test,
                   catena_group_split_level(test->world, (catena_level_t)level,
                                            0, &untouched) == CATENA_ERR_ARG);
    }
    RANK_CHECK(test, untouched == test->world && request == NULL);
    rank_split_close(&split);
}

/* ---- on one rank alone ---- */

/** A split; `wrong`: as one rank calls it. */
typedef catena_status_t (*alone_t)(catena_group_t *group, bool wrong,
                                   catena_group_t **out);

static const int64_t number = 7;

static int own_order(const void *a, size_t a_bytes, const void *b,
                     size_t b_bytes, void *argument)
{
    (void)argument;
    return rank_compare_bytes(a, a_bytes, b, b_bytes);
}

static catena_split_t by_numbers(void)
{
    return (catena_split_t){.color = &number,
                            .color_bytes = sizeof(number),
                            .color_compare = catena_compare_int64,
                            .key = &number,
                            .key_bytes = sizeof(number),
                            .key_compare = catena_compare_int64};
}

static catena_status_t bad_color(catena_group_t *group, bool wrong,
                                 catena_group_t **out)
{
    return catena_group_split(group, wrong ? -5 : 0, 0, out);
}

static catena_status_t no_place(catena_group_t *group, bool wrong,
                                catena_group_t **out)
{
    return catena_group_split(group, 0, 0, wrong ? NULL : out);
}

static catena_status_t no_place_for_all(catena_group_t *group, bool wrong,
                                        catena_group_t **out)
{
    return catena_group_dup(group, wrong ? NULL : out);
}

static catena_status_t no_level(catena_group_t *group, bool wrong,
                                catena_group_t **out)
{
    return catena_group_split_level(
        group, wrong ? (catena_level_t)LEVELS : CATENA_LEVEL_NODE, 0, out);
}

static catena_status_t no_split(catena_group_t *group, bool wrong,
                                catena_group_t **out)
{
    catena_split_t call = by_numbers();
    return catena_group_split_by(group, wrong ? NULL : &call, out);
}

static catena_status_t bad_flags(catena_group_t *group, bool wrong,
                                 catena_group_t **out)
{
    catena_split_t call = by_numbers();
    call.flags = wrong ? 1u << 20 : 0;
    call.algorithm = "allgather-fast";
    return catena_group_split_by(group, &call, out);
}

static catena_status_t no_long_color(catena_group_t *group, bool wrong,
                                     catena_group_t **out)
{
    static const char color[1000];
    catena_split_t call = {.color = wrong ? NULL : color,
                           .color_bytes = sizeof(color)};
    return catena_group_split_by(group, &call, out);
}

static catena_status_t no_comparator(catena_group_t *group, bool wrong,
                                     catena_group_t **out)
{
    catena_split_t call = by_numbers();
    call.key_compare = wrong ? NULL : call.key_compare;
    return catena_group_split_by(group, &call, out);
}

static catena_status_t own_comparator(catena_group_t *group, bool wrong,
                                      catena_group_t **out)
{
    catena_split_t call = by_numbers();
    call.color_compare = wrong ? own_order : call.color_compare;
    return catena_group_split_by(group, &call, out);
}

static catena_status_t none_for_left_out(catena_group_t *group, bool wrong,
                                         catena_group_t **out)
{
    catena_split_t call = {.flags = CATENA_SPLIT_UNDEFINED};
    if (!wrong) {
        call = by_numbers();
        call.key_compare = own_order;
    }
    return catena_group_split_by(group, &call, out);
}

static const struct alone {
    const char *name;
    alone_t call;
    bool differs; /* it is wrong only where others are called otherwise */
} alone[] = {
    {"color", bad_color, false},
    {"place", no_place, false},
    {"place for all", no_place_for_all, false},
    {"level", no_level, false},
    {"split", no_split, false},
    {"flags", bad_flags, false},
    {"long color", no_long_color, false},
    {"no comparator", no_comparator, true},
    {"own comparator", own_comparator, true},
    {"comparator of who is left out", none_for_left_out, true},
};

/** All end, and can go on. */
static void refuse_alone(rank_test_t *test, const struct alone *a, int one)
{
    catena_group_t *untouched = test->world;
    catena_status_t status =
        a->call(test->world, test->place.rank == one, &untouched);
    if (status != CATENA_ERR_ARG || untouched != test->world) {
        rank_fail(test, "%s of rank %d: %s", a->name, one,
                  catena_status_string(status));
    }
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
}

static void refuse_one_request(rank_test_t *test, int one)
{
    catena_group_t *untouched = test->world;
    catena_request_t *request = NULL;
    catena_split_t call = by_numbers();
    bool wrong = test->place.rank == one;
    catena_status_t status = catena_group_isplit_by(
        test->world, &call, &untouched, wrong ? NULL : &request);
    if (!wrong) {
        RANK_CHECK(test, status == CATENA_OK);
        status = catena_wait(&request);
    }
    RANK_CHECK(test, status == CATENA_ERR_ARG && untouched == test->world);
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
}

/** Who is in no group needs no comparators but those that others might have to
 * be asked about. */
static void accept_left_out(rank_test_t *test)
{
    catena_group_t *made = NULL;
    catena_split_t call = {.flags = CATENA_SPLIT_UNDEFINED};
    if (test->place.rank % 2 == 0) {
        call = by_numbers();
    }
    RANK_CHECK(test,
               catena_group_split_by(test->world, &call, &made) == CATENA_OK);
    RANK_CHECK(test, (made != NULL) == (test->place.rank % 2 == 0));
    rank_group_free(test, made);
}

static void refuse_on_one(rank_test_t *test)
{
    int size = test->place.size;
    const int ones[] = {0, size / 2, size - 1};
    for (int i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof(alone) / sizeof(alone[0]); k++) {
            if (!alone[k].differs || size > 1) {
                refuse_alone(test, &alone[k], ones[i]);
            }
        }
        refuse_one_request(test, ones[i]);
        accept_left_out(test);
    }
}

void split_refused(rank_test_t *test)
{
    refuse_algorithms(test);
    refuse_misfits(test);
    refuse_nothing(test);
    refuse_on_one(test);
    rank_split_t split = {.algorithm = "auto", .color = RANK_COLOR_WORDS};
    rank_split_world(test, &split);
}
