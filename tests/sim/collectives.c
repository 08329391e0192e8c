/* Hierarchical collectives, as kinds of runs drawn from seeds. */

#include "ranks/helpers/mix.h"
#include "sim/random.h"

void mixed_collectives(rank_test_t *test, draw_t *draw, uint64_t random)
{
    rank_mix(test, random, draw->ranks > 64 ? 16 : 60);
}

/** Long blocks from heap and malloc, staged or not: several ways to copy
 * them between ranks of a node. */
void long_blocks(rank_test_t *test, draw_t *draw, uint64_t random)
{
    static const unsigned kinds[] = {ORACLE_GATHER,    ORACLE_GATHERV,
                                     ORACLE_SCATTER,   ORACLE_SCATTERV,
                                     ORACLE_ALLGATHER, ORACLE_ALLGATHERV};
    const oracle_t *oracle = &test->oracle;
    (void)draw;
    for (uint64_t i = 0; i < 24; i++) {
        oracle_call_t call = {
            .group = test->world, .table = rank_table(test), .shape = i};
        uint8_t *value = call.c.value;
        oracle_draw(&call.c, kinds[ctn_random_below(&random, 6)], true,
                    &random);
        value[ORACLE_MODE] = ORACLE_BLOCKING;
        value[ORACLE_HIERARCHY] = 0;
        value[ORACLE_ALGORITHM] %= 3; /* auto, staged, zero-copy */
        value[ORACLE_TYPE] = ORACLE_BYTE;
        value[ORACLE_SIZE] =
            (uint8_t)(ORACLE_LONG - 1 - ctn_random_below(&random, 8));
        oracle_choose_hierarchy(oracle, &call.c, test->world);
        oracle_choose_algorithm(oracle, &call.c, test->world);
        oracle_call_open(oracle, &call);
        oracle_call_fill(&call, i);
        pause_somewhere(test, random);
        RANK_CHECK(test, oracle_call_run(oracle, &call) == CATENA_OK);
        oracle_call_check(oracle, &call, "");
        oracle_call_close(oracle, &call);
    }
}

/** One collective by one algorithm, with data, so that a rank waits for the
 * dead one. */
void dying_collectives(rank_test_t *test, draw_t *draw, uint64_t random)
{
    const oracle_t *oracle = &test->oracle;
    unsigned kind = (unsigned)ctn_random_below(&random, ORACLE_ALLTOALL);
    catena_status_t status = CATENA_OK;
    RANK_CHECK(test,
               catena_group_set(test->world, "subgroup",
                                test->place.rank % 3 == 0 ? "red" : "blue") ==
                   CATENA_OK);
    for (unsigned i = 0; status == CATENA_OK; i++) {
        oracle_call_t call = {
            .group = test->world, .table = rank_table(test), .shape = i};
        oracle_draw(&call.c, kind, true, &random);
        call.c.value[ORACLE_MODE] = ORACLE_BLOCKING;
        /* A single rank generates no events, and would never die. */
        rank_pause(test, 1);
        call.c.value[ORACLE_SIZE] =
            (uint8_t)(kind == ORACLE_BARRIER
                          ? 0
                          : 1 + i % (draw->ranks > 64 ? 4 : 8));
        if (i == 0) {
            oracle_choose_hierarchy(oracle, &call.c, test->world);
        }
        oracle_choose_algorithm(oracle, &call.c, test->world);
        oracle_call_open(oracle, &call);
        oracle_call_fill(&call, i);
        status = oracle_call_run(oracle, &call);
        if (status == CATENA_OK) {
            oracle_call_check(oracle, &call, "");
        }
        oracle_call_close(oracle, &call);
    }
    RANK_CHECK(test, status == CATENA_ERR_PEER);
}
