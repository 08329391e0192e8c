/* Many concurrent operations of all kinds on overlapping groups. */

#include "ranks/helpers/mix.h"

#include <stdlib.h>

enum { GROUPS = 4, MEMBERS_OF_LONG = 9, SETTINGS_LAST = 40 };

typedef struct item {
    bool splits;
    bool persistent;
    bool chooses; /* a hierarchy, before it is built */
    catena_group_t *group;
    uint64_t seed;
    oracle_call_t call;
    int64_t color;
    int64_t key;
    catena_split_t by;
    catena_group_t *made;
} item_t;

typedef struct mix {
    rank_test_t *test;
    catena_group_t *group[GROUPS]; /* NULL: not a member */
    size_t each;                   /* operations of one group */
    item_t *item;                  /* [GROUPS][each] */
    uint64_t own;                  /* for values that differ by rank */
    /* In the order in which this rank starts them: */
    size_t count;
    item_t **order;
    catena_request_t **request;
} mix_t;

static void open_groups(mix_t *mix, uint64_t seed)
{
    rank_test_t *test = mix->test;
    int rank = test->place.rank;
    uint64_t some = seed + (uint64_t)rank;
    const int color[GROUPS] = {
        0, 2 * rank<test->place.ranks, rank % 2, ctn_random(&some) % 3> 0
               ? 0
               : CATENA_UNDEFINED};
    for (int g = 0; g < GROUPS; g++) {
        RANK_CHECK(test, catena_group_split(test->world, color[g],
                                            g == 2 ? -rank : rank,
                                            &mix->group[g]) == CATENA_OK);
        RANK_CHECK(test, mix->group[g] == NULL ||
                             catena_group_set(mix->group[g], "subgroup",
                                              rank % 3 == 0 ? "red" : "blue") ==
                                 CATENA_OK);
    }
}

/* ---- drawing, the same on all members ---- */

static void draw_call(const mix_t *mix, item_t *item, uint64_t *random)
{
    oracle_case_t *c = &item->call.c;
    bool network = mix->test->simulated || mix->test->place.nodes > 1;
    bool few = catena_group_size(item->group) <= MEMBERS_OF_LONG;
    unsigned kind = (unsigned)ctn_random_below(random, ORACLE_KINDS);
    oracle_draw(c, kind, network, random);
    bool any = few && ctn_random(random) % 32 == 0;
    c->value[ORACLE_SIZE] %= any ? ORACLE_SIZES : few ? 7 : 5;
    c->value[ORACLE_MODE] =
        item->persistent ? ORACLE_PERSISTENT : ORACLE_NONBLOCKING;
    item->call.group = item->group;
    item->call.table = rank_table(mix->test);
    item->call.shape = item->seed;
    oracle_call_open(&mix->test->oracle, &item->call);
    oracle_call_fill(&item->call, item->seed);
}

/** Three colors, the last first. */
static void draw_split(item_t *item)
{
    int rank = catena_group_rank(item->group);
    item->color = rank % 3;
    item->key = -rank;
    item->by = (catena_split_t){
        .size = sizeof(catena_split_t),
        .color = &item->color,
        .color_bytes = sizeof(item->color),
        .color_compare = catena_compare_int64,
        .key = &item->key,
        .key_bytes = sizeof(item->key),
        .key_compare = catena_compare_int64,
    };
}

static void draw(mix_t *mix, item_t *item, size_t index, uint64_t *random)
{
    item->splits = ctn_random(random) % 16 == 0;
    item->seed = ctn_random(random);
    item->persistent = !item->splits && ctn_random(random) % 8 == 0;
    item->chooses = !item->splits && index % SETTINGS_LAST == 0;
    if (item->splits) {
        draw_split(item);
    } else {
        draw_call(mix, item, random);
    }
}

static void draw_all(mix_t *mix, uint64_t seed)
{
    for (uint64_t g = 0; g < GROUPS; g++) {
        uint64_t random = seed * 31 + g;
        for (size_t i = 0; i < mix->each && mix->group[g] != NULL; i++) {
            item_t *item = &mix->item[g * mix->each + i];
            item->group = mix->group[g];
            draw(mix, item, i, &random);
        }
    }
}

/* ---- starting ---- */

/** Start it, after creating it if it is persistent. */
static void start(mix_t *mix, item_t *item, catena_request_t **request)
{
    const oracle_t *oracle = &mix->test->oracle;
    if (item->splits) {
        RANK_CHECK(mix->test,
                   catena_group_isplit_by(item->group, &item->by, &item->made,
                                          request) == CATENA_OK);
        return;
    }
    oracle_call_t *call = &item->call;
    if (item->chooses && !rank_checks()) {
        oracle_choose_hierarchy(oracle, &call->c, item->group);
    }
    if (!rank_checks()) { /* else this waits for the other ranks */
        oracle_choose_algorithm(oracle, &call->c, item->group);
    }
    RANK_CHECK(mix->test, oracle_call_run(oracle, call) == CATENA_OK);
    *request = call->request;
    if (item->persistent) {
        RANK_CHECK(mix->test, catena_request_start(*request) == CATENA_OK);
    }
}

/** The group of the next operation: any that has some left. */
static int next_group(mix_t *mix, const size_t *started)
{
    int g;
    do {
        g = (int)(ctn_random(&mix->own) % GROUPS);
    } while (mix->group[g] == NULL || started[g] == mix->each);
    return g;
}

static void start_all(mix_t *mix)
{
    size_t started[GROUPS] = {0};
    size_t all = 0;
    for (int g = 0; g < GROUPS; g++) {
        all += mix->group[g] != NULL ? mix->each : 0;
    }
    while (mix->count < all) {
        int g = next_group(mix, started);
        if (ctn_random(&mix->own) % 16 == 0) {
            rank_pause(mix->test, (double)(ctn_random(&mix->own) % 4));
        }
        item_t *item = &mix->item[(size_t)g * mix->each + started[g]++];
        mix->order[mix->count] = item;
        start(mix, item, &mix->request[mix->count++]);
    }
}

/* ---- completing and checking ---- */

/** In any order, by any call. */
static void complete(mix_t *mix)
{
    rank_test_t *test = mix->test;
    for (size_t i = 0; i < mix->count; i++) {
        int done;
        size_t index;
        size_t from = (size_t)(ctn_random(&mix->own) % mix->count);
        size_t some = (size_t)(ctn_random(&mix->own) % (mix->count - from)) + 1;
        catena_request_t **request = mix->request + from;
        catena_status_t status = CATENA_OK;
        switch (ctn_random(&mix->own) % 5) {
        case 0:
            RANK_CHECK(test, catena_request_test(request, &done) == CATENA_OK);
            break;
        case 1:
            RANK_CHECK(test, catena_request_testall(some, request, &done) ==
                                 CATENA_OK);
            break;
        case 2:
            RANK_CHECK(test, catena_request_waitany(some, request, &index) ==
                                 CATENA_OK);
            break;
        case 3:
            RANK_CHECK(test,
                       catena_request_testsome(1, request, &some, &index,
                                               &status, &done) == CATENA_OK);
            RANK_CHECK(test, status == CATENA_OK);
            break;
        default:
            RANK_CHECK(test, catena_request_wait(request) == CATENA_OK);
        }
    }
    RANK_CHECK(test,
               catena_request_waitall(mix->count, mix->request) == CATENA_OK);
}

static void check_split(rank_test_t *test, const item_t *item)
{
    int size = catena_group_size(item->group);
    int rank = catena_group_rank(item->group);
    RANK_CHECK(test,
               item->made != NULL &&
                   catena_group_size(item->made) ==
                       (size - rank % 3 - 1) / 3 + 1 &&
                   catena_group_rank(item->made) == (size - 1 - rank) / 3);
}

/** Only persistent requests are left: restart all of them together. */
static void start_again(mix_t *mix)
{
    size_t left = 0;
    for (size_t i = 0; i < mix->count; i++) {
        if (mix->order[i]->persistent) {
            mix->order[left] = mix->order[i];
            mix->request[left] = mix->request[i];
            item_t *item = mix->order[left++];
            oracle_call_fill(&item->call, item->seed + 1);
        }
    }
    mix->count = left;
    RANK_CHECK(mix->test,
               catena_request_startall(left, mix->request) == CATENA_OK);
}

static void check_all(mix_t *mix, const char *what)
{
    for (size_t i = 0; i < mix->count; i++) {
        item_t *item = mix->order[i];
        if (item->splits) {
            check_split(mix->test, item);
        } else {
            oracle_call_check(&mix->test->oracle, &item->call, what);
        }
    }
}

/* ---- the whole mix ---- */

static void close_item(rank_test_t *test, item_t *item)
{
    if (item->splits) {
        RANK_CHECK(test, catena_group_free(&item->made) == CATENA_OK);
    } else {
        oracle_call_close(&test->oracle, &item->call);
    }
}

/** In an order that all members share. */
static void close_all(mix_t *mix)
{
    for (size_t i = 0; i < mix->count; i++) {
        RANK_CHECK(mix->test,
                   catena_request_free(&mix->request[i]) == CATENA_OK);
    }
    for (size_t i = 0; i < GROUPS * mix->each; i++) {
        if (mix->item[i].group != NULL) {
            close_item(mix->test, &mix->item[i]);
        }
    }
    for (int g = 0; g < GROUPS; g++) {
        RANK_CHECK(mix->test,
                   mix->group[g] == NULL ||
                       catena_group_free(&mix->group[g]) == CATENA_OK);
    }
}

void rank_mix(rank_test_t *test, uint64_t seed, size_t operations)
{
    mix_t mix = {.test = test,
                 .each = operations / GROUPS,
                 .own = seed * 77 + (uint64_t)test->place.rank};
    mix.item = calloc(GROUPS * mix.each, sizeof(*mix.item));
    mix.order = calloc(GROUPS * mix.each, sizeof(item_t *));
    mix.request = calloc(GROUPS * mix.each, sizeof(catena_request_t *));
    open_groups(&mix, seed);
    draw_all(&mix, seed);
    start_all(&mix);
    complete(&mix);
    check_all(&mix, "");
    start_again(&mix);
    complete(&mix);
    check_all(&mix, "started again: ");
    close_all(&mix);
    free(mix.item);
    free(mix.order);
    free(mix.request);
}
