/* Collectives of levels, as kinds of runs drawn from seeds. */

#include "ranks/coll_case.h"
#include "ranks/coll_mix.h"
#include "sim/random.h"

void mixed_collectives(rank_test_t *test, draw_t *draw, uint64_t random)
{
    coll_mix(test, random, draw->ranks > 64 ? 16 : 60);
}

/** Of one kind by one way, with data, so that somebody waits for the dead. */
void dying_collectives(rank_test_t *test, draw_t *draw, uint64_t random)
{
    coll_table_t table;
    uint8_t kind = (uint8_t)(rank_random(&random) % COLL_KINDS);
    catena_status_t status = CATENA_OK;
    coll_table_open(test, &table);
    RANK_CHECK(test,
               catena_group_set(test->world, "subgroup",
                                test->place.rank % 3 == 0 ? "red" : "blue") ==
                   CATENA_OK);
    for (unsigned i = 0; status == CATENA_OK; i++) {
        coll_call_t call = {.group = test->world, .table = &table, .seed = i};
        coll_draw(&call.c, kind, true, &random);
        call.c.value[COLL_MODE] = COLL_BLOCKING;
        /* A rank alone makes no events by itself, and would never die. */
        rank_pause(test, 1);
        call.c.value[COLL_SIZE] =
            kind == COLL_BARRIER ? 0 : 1 + i % (draw->ranks > 64 ? 4 : 8);
        if (i == 0) {
            coll_choose_hierarchy(test, &call.c, test->world);
        }
        coll_choose_algorithm(test, &call.c, test->world);
        coll_open(test, &call);
        coll_fill(&call, i);
        status = coll_run(&call);
        if (status == CATENA_OK) {
            coll_check(test, &call, draw->kind->name);
        }
        coll_close(test, &call);
    }
    RANK_CHECK(test, status == CATENA_ERR_PEER);
    coll_table_close(test, &table);
}
