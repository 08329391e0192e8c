/* Explores the orders of a simulated job: the same program again and again,
 * each time with other choices of the next step, until all orders that can
 * differ have been run (sleep sets: P. Godefroid, Partial-Order Methods for the
 * Verification of Concurrent Systems, 1996). Only the steps of one call are
 * explored, which two calls before have warmed up. Steps of different ranks
 * commute: a rank sees what others do by messages and flags only.
 *
 *   explore [-l RUNS] [-v] [NAME]   of all calls whose name contains NAME
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <catena/catena.h>
#include <catena/sim.h>

enum {
    MOST_RANKS = 4,
    MOST_STEPS = 32,  /* that may come next */
    MOST_DEPTH = 4096 /* steps of the call */
};

/* ---- calls ---- */

/** The call that is explored, by its number. @return whether it was right */
typedef bool call_t(catena_group_t *group, int turn);

static int32_t value_of(int turn, int from, int to, int i)
{
    return turn * 1000003 + from * 1009 + to * 31 + i;
}

enum { COUNT = 3 };

static bool alltoall(catena_group_t *group, int turn)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    int32_t send[MOST_RANKS * COUNT], recv[MOST_RANKS * COUNT] = {0};
    bool good = true;
    for (int i = 0; i < n * COUNT; i++) {
        send[i] = value_of(turn, me, i / COUNT, i % COUNT);
    }
    good = catena_alltoall(send, COUNT, CATENA_INT32, recv, COUNT, CATENA_INT32,
                           group) == CATENA_OK;
    for (int i = 0; i < n * COUNT; i++) {
        good = good && recv[i] == value_of(turn, i / COUNT, me, i % COUNT);
    }
    return good;
}

static bool two_at_once(catena_group_t *group, int turn)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    int32_t sum = 0, own = value_of(turn, me, 0, 0), got[2] = {-1, -1};
    catena_request_t *request[2] = {NULL};
    int32_t expected = 0;
    got[0] = me == n - 1 ? own : -1;
    bool good = catena_ibcast(&got[0], 1, CATENA_INT32, n - 1, group,
                              &request[0]) == CATENA_OK &&
                catena_iallreduce(&own, &sum, 1, CATENA_INT32, CATENA_SUM,
                                  group, &request[1]) == CATENA_OK &&
                catena_request_waitall(2, request) == CATENA_OK;
    for (int i = 0; i < n; i++) {
        expected += value_of(turn, i, 0, 0);
    }
    return good && sum == expected && got[0] == value_of(turn, n - 1, 0, 0);
}

enum { TURNS = 3 };

/** Ranks that have entered the barrier of each turn, in this run. */
static int entered[TURNS];

static bool barrier(catena_group_t *group, int turn)
{
    entered[turn]++;
    return catena_barrier(group) == CATENA_OK &&
           entered[turn] == catena_group_size(group);
}

static bool bcast(catena_group_t *group, int turn)
{
    int me = catena_group_rank(group);
    int root = turn % catena_group_size(group);
    int32_t value = me == root ? value_of(turn, root, 0, 0) : -1;
    return catena_bcast(&value, 1, CATENA_INT32, root, group) == CATENA_OK &&
           value == value_of(turn, root, 0, 0);
}

static bool reduce(catena_group_t *group, int turn)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    int root = turn % n;
    int32_t own = value_of(turn, me, 0, 0), sum = -1, expected = 0;
    for (int i = 0; i < n; i++) {
        expected += value_of(turn, i, 0, 0);
    }
    return catena_reduce(&own, &sum, 1, CATENA_INT32, CATENA_SUM, root,
                         group) == CATENA_OK &&
           (me != root || sum == expected);
}

static bool allreduce(catena_group_t *group, int turn)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    int32_t own = value_of(turn, me, 0, 0), sum = -1, expected = 0;
    for (int i = 0; i < n; i++) {
        expected += value_of(turn, i, 0, 0);
    }
    return catena_allreduce(&own, &sum, 1, CATENA_INT32, CATENA_SUM, group) ==
               CATENA_OK &&
           sum == expected;
}

static bool gather(catena_group_t *group, int turn)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    int root = turn % n;
    int32_t own = value_of(turn, me, 0, 0), all[MOST_RANKS] = {0};
    bool good = catena_gather(&own, 1, CATENA_INT32, all, 1, CATENA_INT32, root,
                              group) == CATENA_OK;
    for (int i = 0; me == root && i < n; i++) {
        good = good && all[i] == value_of(turn, i, 0, 0);
    }
    return good;
}

static bool scatter(catena_group_t *group, int turn)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    int root = turn % n;
    int32_t own = -1, all[MOST_RANKS];
    for (int i = 0; i < n; i++) {
        all[i] = value_of(turn, root, i, 0);
    }
    return catena_scatter(all, 1, CATENA_INT32, &own, 1, CATENA_INT32, root,
                          group) == CATENA_OK &&
           own == value_of(turn, root, me, 0);
}

static bool allgather(catena_group_t *group, int turn)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    int32_t own = value_of(turn, me, 0, 0), all[MOST_RANKS] = {0};
    bool good = catena_allgather(&own, 1, CATENA_INT32, all, 1, CATENA_INT32,
                                 group) == CATENA_OK;
    for (int i = 0; i < n; i++) {
        good = good && all[i] == value_of(turn, i, 0, 0);
    }
    return good;
}

static bool reduce_scatter(catena_group_t *group, int turn)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    int32_t own[MOST_RANKS], sum = -1, expected = 0;
    for (int i = 0; i < n; i++) {
        own[i] = value_of(turn, me, i, 0);
        expected += value_of(turn, i, me, 0);
    }
    return catena_reduce_scatter_block(own, &sum, 1, CATENA_INT32, CATENA_SUM,
                                       group) == CATENA_OK &&
           sum == expected;
}

static bool scan(catena_group_t *group, int turn)
{
    int me = catena_group_rank(group);
    int32_t own = value_of(turn, me, 0, 0), sum = -1, expected = 0;
    for (int i = 0; i <= me; i++) {
        expected += value_of(turn, i, 0, 0);
    }
    return catena_scan(&own, &sum, 1, CATENA_INT32, CATENA_SUM, group) ==
               CATENA_OK &&
           sum == expected;
}

static bool split(catena_group_t *group, int turn)
{
    int me = catena_group_rank(group), n = catena_group_size(group);
    catena_group_t *made = NULL;
    (void)turn;
    return catena_group_split(group, me % 2, -me, &made) == CATENA_OK &&
           catena_group_size(made) == (n + 1 - me % 2) / 2 &&
           catena_group_free(&made) == CATENA_OK;
}

static const struct {
    const char *name;
    call_t *call;
    const char *setting; /* or NULL */
} calls[] = {
    {"barrier", barrier, NULL},
    {"bcast", bcast, NULL},
    {"bcast, p2p", bcast, "HIERARCHY=node:p2p,network:p2p"},
    {"reduce", reduce, NULL},
    {"reduce, p2p", reduce, "HIERARCHY=node:p2p,network:p2p"},
    {"allreduce", allreduce, NULL},
    {"allreduce, p2p", allreduce, "HIERARCHY=node:p2p,network:p2p"},
    {"gather", gather, NULL},
    {"gather, p2p", gather, "HIERARCHY=node:p2p,network:p2p"},
    {"scatter", scatter, NULL},
    {"scatter, p2p", scatter, "HIERARCHY=node:p2p,network:p2p"},
    {"allgather", allgather, NULL},
    {"allgather, p2p", allgather, "HIERARCHY=node:p2p,network:p2p"},
    {"reduce_scatter", reduce_scatter, NULL},
    {"scan", scan, NULL},
    {"alltoall, auto", alltoall, NULL},
    {"alltoall, direct", alltoall, "ALLTOALL_ALGORITHM=direct"},
    {"alltoall, shift", alltoall, "ALLTOALL_ALGORITHM=shift"},
    {"alltoall, bruck", alltoall, "ALLTOALL_ALGORITHM=bruck"},
    {"alltoall, l-a2a", alltoall, "ALLTOALL_ALGORITHM=l-a2a"},
    {"alltoall, mpml", alltoall, "ALLTOALL_ALGORITHM=mpml"},
    {"alltoall, onmpml", alltoall, "ALLTOALL_ALGORITHM=onmpml"},
    {"two calls at once", two_at_once, NULL},
    {"split", split, NULL},
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* ---- exploration ---- */

/** A point at which a step was chosen. */
typedef struct point {
    catena_sim_step_t step[MOST_STEPS];
    bool asleep[MOST_STEPS]; /* what begins with it was run already */
    size_t count;
    size_t chosen;
} point_t;

typedef struct exploration {
    call_t *call;
    int ranks;
    point_t *point; /* [MOST_DEPTH] */
    size_t depth;   /* points whose choice is fixed */
    /* of a run */
    size_t at;    /* the next point */
    int entered;  /* ranks that have begun the call */
    int left;     /* ranks that have ended it */
    bool blocked; /* all steps were asleep: the run was ended */
    bool differs; /* the run did not repeat the last one: a bug */
    int errors;
} exploration_t;

static bool same(const catena_sim_step_t *a, const catena_sim_step_t *b)
{
    return a->kind == b->kind && a->source == b->source && a->rank == b->rank &&
           a->number == b->number;
}

/** Whether two steps may be exchanged. */
static bool commute(const catena_sim_step_t *a, const catena_sim_step_t *b)
{
    return a->rank != b->rank && !a->wide && !b->wide;
}

static bool is_asleep(const point_t *before, const catena_sim_step_t *step)
{
    for (size_t i = 0; before != NULL && i < before->count; i++) {
        if (before->asleep[i] && same(&before->step[i], step)) {
            return commute(&before->step[before->chosen], step);
        }
    }
    return false;
}

/** Choose the first step that is not asleep, from `first` on. */
static bool advance(point_t *point, size_t first)
{
    point->chosen = first;
    while (point->chosen < point->count && point->asleep[point->chosen]) {
        point->chosen++;
    }
    return point->chosen < point->count;
}

static int choose(void *argument, size_t count, const catena_sim_step_t steps[])
{
    exploration_t *x = argument;
    if (x->entered == 0 || x->left == x->ranks) {
        return 0;
    }
    if (x->at == MOST_DEPTH || count > MOST_STEPS) {
        x->differs = true;
        return -1;
    }
    point_t *point = &x->point[x->at++];
    if (x->at > x->depth) { /* a new one */
        const point_t *before = x->at > 1 ? point - 1 : NULL;
        point->count = count;
        memcpy(point->step, steps, count * sizeof(*steps));
        for (size_t i = 0; i < count; i++) {
            point->asleep[i] = is_asleep(before, &steps[i]);
        }
        if (!advance(point, 0)) {
            x->at--;
            x->blocked = true;
            return -1;
        }
        x->depth = x->at;
    }
    if (point->count != count ||
        !same(&point->step[point->chosen], &steps[point->chosen])) {
        x->differs = true;
        return -1;
    }
    return (int)point->chosen;
}

static int program(const catena_config_t *config, void *argument)
{
    exploration_t *x = argument;
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        x->errors++;
        return 1;
    }
    catena_group_t *world = catena_world(context);
    bool good = true;
    for (int turn = 0; turn < TURNS; turn++) {
        x->entered += turn == TURNS - 1;
        good = x->call(world, turn) && good;
        x->left += turn == TURNS - 1;
    }
    good = catena_finalize(&context) == CATENA_OK && good;
    x->errors += !good;
    return !good;
}

/** Go to the next order. @return false: there is none */
static bool next_order(exploration_t *x)
{
    while (x->depth > 0) {
        point_t *point = &x->point[x->depth - 1];
        point->asleep[point->chosen] = true;
        if (advance(point, 0)) {
            return true;
        }
        x->depth--;
    }
    return false;
}

/** @return whether all runs were right */
static bool explore(int which, int ranks, int nodes, uint64_t limit)
{
    static point_t points[MOST_DEPTH];
    const char *settings[] = {"HEAP_SIZE=64m", "LOG_LEVEL=fatal",
                              calls[which].setting, NULL};
    int node_of[MOST_RANKS];
    for (int i = 0; i < ranks; i++) {
        node_of[i] = i * nodes / ranks;
    }
    exploration_t x = {
        .call = calls[which].call, .ranks = ranks, .point = points};
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-a",
                                  .nodes = nodes,
                                  .ranks = ranks,
                                  .node_of = node_of,
                                  .settings = settings,
                                  .memory_bytes = (size_t)1 << 34,
                                  .choose = choose,
                                  .choose_argument = &x};
    uint64_t orders = 0, blocked = 0;
    bool good = true, all = false;
    size_t longest = 0;
    while (good && !all && orders + blocked < limit) {
        x.at = 0;
        x.entered = x.left = x.errors = 0;
        x.blocked = false;
        memset(entered, 0, sizeof(entered));
        catena_status_t status = catena_sim_run(&params, program, &x, NULL);
        good =
            !x.differs && (x.blocked || (status == CATENA_OK && x.errors == 0));
        orders += !x.blocked;
        blocked += x.blocked;
        longest = x.at > longest ? x.at : longest;
        if (good) {
            all = !next_order(&x);
        }
    }
    printf("%sok - %s, %d ranks on %d node%s: %" PRIu64 " orders%s, %" PRIu64
           " runs, %zu steps\n",
           good ? "" : "not ", calls[which].name, ranks, nodes,
           nodes > 1 ? "s" : "", orders, all ? "" : " of more",
           orders + blocked, longest);
    if (!good) {
        printf("# %s after the choices:",
               x.differs ? "the run differs" : "wrong");
        for (size_t i = 0; i < x.at; i++) {
            printf(" %zu", points[i].chosen);
        }
        printf("\n");
    }
    fflush(stdout);
    return good;
}

int main(int argc, char **argv)
{
    static const int layouts[][2] = {{2, 1}, {2, 2}, {3, 1}, {3, 2},
                                     {3, 3}, {4, 1}, {4, 2}, {4, 4}};
    uint64_t limit = 100000;
    const char *only = "";
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-l") == 0 && i + 1 < argc) {
            limit = strtoull(argv[++i], NULL, 0);
        } else {
            only = argv[i];
        }
    }
    for (int which = 0; which < CALLS; which++) {
        for (size_t l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++) {
            if (strstr(calls[which].name, only) != NULL) {
                failed += !explore(which, layouts[l][0], layouts[l][1], limit);
            }
        }
    }
    return failed > 0;
}
