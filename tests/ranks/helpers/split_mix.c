#include "ranks/helpers/split_mix.h"

enum { GROUPS = 3, EACH = 4 };

typedef struct on_group {
    catena_group_t *group;
    oracle_members_t members;
    oracle_flight_t flight[2];
    oracle_call_t exchange;
} on_group_t;

static void open_group(rank_test_t *test, on_group_t *on, oracle_color_t color,
                       uint64_t seed)
{
    oracle_split_t split = {.algorithm = "auto", .color = color, .seed = seed};
    oracle_members_t world = oracle_members_world(test->place.ranks);
    oracle_split_open(&split, test->place.ranks);
    on->group = oracle_split_run(&test->oracle, &split, test->world, &world,
                                 &on->members);
    oracle_split_close(&split);
    oracle_members_free(&world);
}

static void start(rank_test_t *test, on_group_t *on, size_t bytes,
                  catena_request_t **request)
{
    const oracle_t *oracle = &test->oracle;
    on->exchange = rank_alltoall(test, on->group, bytes);
    on->exchange.c.value[ORACLE_MEMORY] = (uint8_t)(bytes % 4);
    oracle_call_open(oracle, &on->exchange);
    oracle_call_fill(&on->exchange, bytes);
    oracle_split_start(oracle, on->group, &on->members, &on->flight[0]);
    RANK_CHECK(test, oracle_call_run(oracle, &on->exchange) == CATENA_OK);
    oracle_split_start(oracle, on->group, &on->members, &on->flight[1]);
    RANK_CHECK(test, catena_ibarrier(on->group, &request[0]) == CATENA_OK);
    request[1] = on->exchange.request;
    request[2] = on->flight[0].request;
    request[3] = on->flight[1].request;
}

static void end(rank_test_t *test, on_group_t *on)
{
    const oracle_t *oracle = &test->oracle;
    oracle_call_check(oracle, &on->exchange, "beside splits: ");
    oracle_call_close(oracle, &on->exchange);
    oracle_split_end(oracle, &on->flight[0]);
    oracle_split_end(oracle, &on->flight[1]);
    oracle_group_free(oracle, on->group);
    oracle_members_free(&on->members);
}

void split_mix(rank_test_t *test, const char *algorithm, uint64_t random,
               size_t most_bytes)
{
    static const oracle_color_t colors[GROUPS] = {
        ORACLE_COLOR_SAME, ORACLE_COLOR_FEW, ORACLE_COLOR_MANY};
    static const size_t bytes[GROUPS] = {8, 3001, 242};
    on_group_t on[GROUPS] = {0};
    catena_request_t *requests[GROUPS * EACH];
    for (int g = 0; g < GROUPS; g++) {
        open_group(test, &on[g], colors[g], ctn_random(&random));
        for (int i = 0; i < 2; i++) {
            on[g].flight[i].split.algorithm = algorithm;
            oracle_split_draw(&on[g].flight[i].split, &random, most_bytes);
        }
    }
    uint64_t own = random + (uint64_t)test->place.rank;
    size_t first = ctn_random_below(&own, GROUPS);
    for (size_t i = 0; i < GROUPS; i++) {
        size_t g = (first + i) % GROUPS;
        if (ctn_random_below(&own, 3) == 0) {
            rank_pause(test, (double)ctn_random_below(&own, 50));
        }
        start(test, &on[g], bytes[g], &requests[EACH * g]);
    }
    /* Many processes on few cores do not complete requests by repeated tests:
     * each would use its whole time slice. */
    int way = (int)ctn_random_below(&random, RANK_WAYS);
    bool many = !test->simulated && test->place.ranks > 9;
    rank_complete(test, requests, GROUPS * EACH, many ? 2 * (way % 2) : way);
    for (int i = 0; i < GROUPS * EACH; i++) {
        RANK_CHECK(test, requests[i] == NULL);
    }
    for (int g = 0; g < GROUPS; g++) {
        end(test, &on[g]);
    }
}
