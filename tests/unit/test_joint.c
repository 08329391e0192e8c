/* Direct alltoall between nodes: how many messages it takes, and what comes of
 * them when they are put off. */

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

#include <catena/catena.h>

#include "unit.h"

enum { MOST_RANKS = 80, CALLS = 6 /* over the rings once */ };

typedef struct sample {
    int counts[41]; /* of ranks on each node; ends with 0 */
    bool dealt;     /* to the nodes in turn */
    size_t bytes;
    const char *window;
    bool in_place;
    bool joint; /* as is expected */
} sample_t;

typedef struct shared {
    const sample_t *sample;
    uint64_t sent[MOST_RANKS]; /* messages of each rank */
} shared_t;

static unsigned char byte_of(int from, int to, int call, size_t at)
{
    return (unsigned char)(from * 31 + to * 7 + call * 3 + (int)(at % 251));
}

/** Write the block of one rank for another, or look whether it is there. */
static bool fill_or_check(unsigned char *block, const sample_t *s, int from,
                          int to, int call, bool check)
{
    for (size_t i = 0; i < s->bytes; i++) {
        unsigned char value = byte_of(from, to, call, i);
        if (check && block[i] != value) {
            return false;
        }
        block[i] = value;
    }
    return true;
}

static bool exchange(catena_group_t *world, const sample_t *s,
                     unsigned char *send, unsigned char *receive, int call)
{
    int p = catena_group_size(world);
    int me = catena_group_rank(world);
    unsigned char *out = s->in_place ? receive : send;
    bool right = true;
    for (int i = 0; i < p; i++) {
        (void)fill_or_check(out + (size_t)i * s->bytes, s, me, i, call, false);
    }
    right &= catena_alltoall(s->in_place ? CATENA_IN_PLACE : send, receive,
                             s->bytes, CATENA_BYTE, world) == CATENA_OK;
    for (int i = 0; i < p; i++) {
        right &=
            fill_or_check(receive + (size_t)i * s->bytes, s, i, me, call, true);
    }
    return right;
}

static int run_rank(const catena_config_t *config, void *argument)
{
    shared_t *shared = argument;
    const sample_t *s = shared->sample;
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    size_t p = (size_t)catena_group_size(world);
    unsigned char *send = malloc(p * s->bytes);
    unsigned char *receive = catena_malloc(context, p * s->bytes);
    bool right = send != NULL && receive != NULL;
    catena_group_set(world, "alltoall_algorithm", "direct");
    catena_group_set(world, "alltoall_window", s->window);
    /* The first builds what all others need. */
    right = right && exchange(world, s, send, receive, CALLS);
    catena_sim_stats_t before = {0};
    catena_sim_stats_t after = {0};
    catena_sim_stats(context, &before);
    for (int call = 0; call < CALLS; call++) {
        right = right && exchange(world, s, send, receive, call);
    }
    catena_sim_stats(context, &after);
    shared->sent[catena_group_rank(world)] = after.messages - before.messages;
    catena_free(context, receive);
    free(send);
    return catena_finalize(context) != CATENA_OK || !right;
}

/** Deal the ranks; how many there are. */
static int place(const sample_t *s, int *node_of)
{
    int ranks = 0;
    if (!s->dealt) {
        for (int node = 0; s->counts[node] > 0; node++) {
            for (int i = 0; i < s->counts[node]; i++) {
                node_of[ranks++] = node;
            }
        }
        return ranks;
    }
    bool any = true;
    for (int turn = 0; any; turn++) {
        any = false;
        for (int node = 0; s->counts[node] > 0; node++) {
            if (turn < s->counts[node]) {
                node_of[ranks++] = node;
                any = true;
            }
        }
    }
    return ranks;
}

#define FORTY_PAIRS                                                            \
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, \
        2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2

static const sample_t samples[] = {
    {{8, 8, 8, 8}, false, 8, "auto", false, true},
    {{8, 8, 8, 8}, false, 256, "auto", false, true},
    {{8, 8, 8, 8}, false, 257, "auto", true, true},
    {{8, 8, 8, 8}, true, 2048, "auto", false, true},
    {{8, 8, 8, 8}, false, 8192, "auto", false, true},
    {{8, 8, 8, 8}, false, 8193, "auto", false, false},
    {{8, 8, 8, 8}, false, 8, "4", false, false},
    {{3, 1, 5}, false, 8, "auto", true, true},
    {{3, 1, 5}, false, 3000, "auto", false, true},
    {{3, 1, 5}, true, 100, "auto", false, true},
    {{3, 1, 5}, true, 6553, "auto", true, true},
    {{3, 1, 5}, true, 6554, "auto", true, false}, /* three slots a message */
    {{1, 1, 1}, false, 8, "auto", false, false},
    {{1, 33, 2}, false, 8, "auto", false, false}, /* too many at one rank */
    {{FORTY_PAIRS}, false, 56, "auto", false, true},
    {{FORTY_PAIRS}, false, 57, "auto", false, false}, /* fewer wide slots */
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

/** Whatever may come late comes late, in many orders. */
START_TEST(messages_are_as_many_as_other_nodes)
{
    const sample_t *s = &samples[_i];
    int node_of[MOST_RANKS];
    int ranks = place(s, node_of);
    int nodes = 0;
    while (s->counts[nodes] > 0) {
        nodes++;
    }
    for (uint64_t seed = 1; seed <= 2; seed++) {
        shared_t shared = {.sample = s};
        catena_sim_params_t params = {.machine = "hpc-b",
                                      .nodes = nodes,
                                      .ranks = ranks,
                                      .node_of = node_of,
                                      .seed = seed,
                                      .jitter = 0.5,
                                      .reorder = 1};
        ck_assert_int_eq(catena_sim_run(&params, run_rank, &shared, NULL),
                         CATENA_OK);
        for (int i = 0; i < ranks; i++) {
            uint64_t own = (uint64_t)s->counts[node_of[i]];
            uint64_t each =
                s->joint ? (uint64_t)nodes - 1 : (uint64_t)ranks - own;
            if (s->joint) {
                ck_assert_uint_eq(shared.sent[i], each * CALLS);
            } else { /* and grants */
                ck_assert_uint_ge(shared.sent[i], each * CALLS);
            }
        }
    }
}
END_TEST

static void add(TCase *tcase)
{
    tcase_add_loop_test(tcase, messages_are_as_many_as_other_nodes, 0, SAMPLES);
}

int main(void)
{
    return unit_main("joint", 60, add);
}
