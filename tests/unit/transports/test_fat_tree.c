/* Simulated nodes below the leaf switches of a fat tree: data/tree.json. */

#include <catena/catena.h>
#include <catena/sim.h>

#include "unit/unit.h"

enum { BYTES = 1000000, RANKS = 9 };

/** Two ranks send a long message each. */
typedef struct pairs {
    const int *from, *to;
    double time; /* until both have arrived, in times of one message */
} pairs_t;

static int time_pairs(const catena_config_t *config, void *argument)
{
    pairs_t *pairs = argument;
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int me = catena_group_rank(world);
    size_t sent[RANKS] = {0}, received[RANKS] = {0};
    ptrdiff_t none[RANKS] = {0},
              at[RANKS] = {0, BYTES}; /* of what comes from both */
    for (int i = 0; i < 2; i++) {
        int from = pairs->from[i], to = pairs->to[i];
        sent[to] += me == from ? BYTES : 0;
        received[from] += me == to ? BYTES : 0;
    }
    char *memory = catena_calloc(context, 3, BYTES);
    double begin = 0;
    catena_status_t status = CATENA_OK;
    for (int i = 0; i < 2 && status == CATENA_OK;
         i++) { /* the first connects */
        (void)catena_barrier(world);
        begin = catena_time(context);
        status =
            catena_alltoallv(memory, sent, none, CATENA_BYTE, memory + BYTES,
                             received, at, CATENA_BYTE, world);
    }
    double time = (catena_time(context) - begin) * 1e9 / BYTES;
    pairs->time = time > pairs->time ? time : pairs->time;
    catena_free(context, memory);
    return catena_finalize(&context) != CATENA_OK || status != CATENA_OK;
}

/** A leaf has three nodes, and two links up and down: for targets with even and
 * with odd numbers. */
START_TEST(messages_meet_on_links_of_a_fat_tree)
{
    static const struct {
        int from[2], to[2];
        double time, without; /* with and without the tree */
    } cases[] = {
        {{0, 1}, {3, 4}, 1, 1}, {{0, 1}, {4, 7}, 1, 1},
        {{0, 1}, {4, 6}, 2, 1},                         /* on the way up */
        {{0, 6}, {3, 5}, 2, 1}, {{0, 6}, {3, 4}, 1, 1}, /* on the way down */
        {{0, 1}, {2, 4}, 1, 1},                         /* one stays below */
        {{0, 1}, {3, 3}, 2, 2},                         /* at the port */
    };
    for (int tree = 0; tree < 2; tree++) {
        pairs_t pairs = {cases[_i].from, cases[_i].to, 0};
        catena_sim_params_t params = {.size = sizeof(params),
                                      .machine = tree ? TEST_DATA "/tree.json"
                                                      : TEST_DATA "/round.json",
                                      .nodes = RANKS,
                                      .ppn = 1,
                                      .seed = 1};
        ck_assert_int_eq(catena_sim_run(&params, time_pairs, &pairs, NULL),
                         CATENA_OK);
        double expected = tree ? cases[_i].time : cases[_i].without;
        ck_assert_msg(pairs.time >= expected && pairs.time < expected + 0.3,
                      "to %d and %d: %g, expected %g", pairs.to[0], pairs.to[1],
                      pairs.time, expected);
    }
}
END_TEST

UNIT_TEST(fat_tree)
{
    Suite *suite = suite_create("fat_tree");
    TCase *links = tcase_create("links");
    tcase_add_loop_test(links, messages_meet_on_links_of_a_fat_tree, 0, 7);
    suite_add_tcase(suite, links);
    return unit_run(suite);
}
