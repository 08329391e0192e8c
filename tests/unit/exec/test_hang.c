/* A simulated run that cannot go on says which ranks are in which call. */

#include <string.h>

#include <catena/catena.h>
#include <catena/sim.h>

#include "unit/capture.h"
#include "unit/unit.h"

/** A rank of a job that hangs. */
typedef struct hang {
    catena_context_t *context;
    catena_group_t *world;
    int rank, size;
    double send[64], receive[64];
} hang_t;

static void barrier_allreduce(hang_t *h)
{
    if (h->rank == 1) {
        catena_barrier(h->world);
    } else {
        catena_allreduce(h->send, h->receive, 1, CATENA_DOUBLE, CATENA_SUM,
                         h->world);
    }
}

static void split_barrier(hang_t *h)
{
    catena_group_t *group = NULL;
    if (h->rank == 1) {
        catena_barrier(h->world);
    } else {
        catena_group_split(h->world, 0, 0, &group);
    }
}

/** Rank 1 waits in a request. */
static void request(hang_t *h)
{
    catena_request_t *request = NULL;
    if (h->rank == 1) {
        catena_iallreduce(h->send, h->receive, 2, CATENA_DOUBLE, CATENA_SUM,
                          h->world, &request);
        catena_request_wait(&request);
    } else {
        catena_barrier(h->world);
    }
}

/** Rank 1 does not start a persistent request. */
static void start(hang_t *h)
{
    catena_request_t *request = NULL;
    catena_barrier_init(h->world, &request);
    if (h->rank == 1) {
        catena_barrier(h->world);
    } else {
        catena_request_start(request);
        catena_request_wait(&request);
    }
}

static void finalize(hang_t *h)
{
    if (h->rank != 1) {
        catena_barrier(h->world);
    }
}

/** Ranks 0 and 1 enter the barriers of two groups in opposite orders. */
static void two_groups(hang_t *h)
{
    catena_group_t *pair = NULL, *all = NULL;
    catena_group_dup(h->world, &all);
    catena_group_split(h->world, h->rank / 2, 0, &pair);
    catena_barrier(h->rank == 1 ? all : pair);
    catena_barrier(h->rank == 1 ? pair : all);
}

/** Rank 1 does not take part in a nonblocking call. After it, all ranks
 * complete a call of another group. */
static void other_group(hang_t *h)
{
    catena_group_t *all = NULL;
    catena_request_t *request = NULL;
    catena_group_dup(h->world, &all);
    if (h->rank != 1) {
        catena_iallreduce(h->send, h->receive, 2, CATENA_DOUBLE, CATENA_SUM,
                          h->world, &request);
    }
    catena_barrier(all);
    catena_request_wait(&request);
}

/** Rank 1 takes part only in what cart_create does first. */
static void creation(hang_t *h)
{
    catena_group_t *all = NULL;
    catena_neighborhood_t *ring = NULL;
    if (h->rank == 1) {
        catena_group_dup(h->world, &all);
    } else {
        catena_cart_create(h->world, 1, &h->size, &(const int){1}, 0, NULL,
                           &ring);
    }
}

/** What hangs, and what is said: %d is the last rank. */
static const struct {
    void (*run)(hang_t *h);
    const char *says;
} kinds[] = {
    {barrier_allreduce, "call 1 of the world: allreduce, 8 B, sum of double: 0 "
                        "2-%d; barrier: 1\n"},
    {split_barrier, "call 1 of the world: group_split: 0 2-%d; barrier: 1\n"},
    {request, "call 1 of the world: barrier: 0 2-%d; allreduce, 16 B, sum of "
              "double: 1\n"},
    {start, "start 1 of call 1 of the world: barrier: 0 2-%d; not started, in "
            "another call: 1\n"},
    {finalize, "call 1 of the world: barrier: 0 2-%d; finalize: 1\n"},
    {two_groups, "(2 ranks): barrier: 0; not there yet, in another call: 1\n"},
    {other_group,
     "call 2 of the world: allreduce, 16 B, sum of double: 0 2-%d; "
     "finalize: 1\n"},
    {creation, "call 1 of the world: cart_create: 0 2-%d; group_split "
               "(returned): 1\n"}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static int program(const catena_config_t *config, void *argument)
{
    const int *kind = argument;
    hang_t h = {.context = NULL};
    if (catena_init(config, &h.context) != CATENA_OK) {
        return 1;
    }
    h.world = catena_world(h.context);
    h.rank = catena_group_rank(h.world);
    h.size = catena_group_size(h.world);
    kinds[*kind].run(&h);
    return catena_finalize(&h.context) != CATENA_OK;
}

static const int nodes_of_one[] = {0, 0, 0, 0};
static const int nodes_of_two[] = {0, 1, 0, 1, 0};
static const int nodes_of_three[] = {0, 0, 0, 1, 2, 2, 2, 2, 2};
static const struct {
    const int *node_of;
    int nodes, ranks;
} layouts[] = {
    {nodes_of_one, 1, 4}, {nodes_of_two, 2, 5}, {nodes_of_three, 3, 9}};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

START_TEST(hang_is_explained)
{
    int kind = _i % KINDS;
    int ranks = layouts[_i / KINDS].ranks;
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-b",
                                  .nodes = layouts[_i / KINDS].nodes,
                                  .ranks = ranks,
                                  .node_of = layouts[_i / KINDS].node_of};
    capture_t said;
    char expected[256], line[64], waits[64];
    capture_start(&said);
    catena_status_t status = catena_sim_run(&params, program, &kind, NULL);
    capture_stop(&said);
    ck_assert_int_eq(status, CATENA_ERR_STATE);
    snprintf(expected, sizeof(expected), kinds[kind].says, ranks - 1);
    if (strstr(said.text, expected) == NULL) {
        ck_abort_msg("no '%s' in:\n%s", expected, said.text);
    }
    for (int rank = 0; rank < ranks; rank++) {
        snprintf(line, sizeof(line), "rank %d: in ", rank);
        snprintf(waits, sizeof(waits), "rank %d: started ", rank);
        if (strstr(said.text, line) == NULL &&
            strstr(said.text, waits) == NULL) {
            ck_abort_msg("no '%s' in:\n%s", line, said.text);
        }
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, hang_is_explained, 0, KINDS * LAYOUTS);
}

UNIT_TEST(hang)
{
    return unit_main("hang", 60, add_cases);
}
