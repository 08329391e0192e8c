/* Explores a simulated job: the same program again and again, each time with
 * other choices of the next step.
 *
 *   orders  all orders of the steps of a call that can differ
 *           (tests/sim/explore_orders.c; explore_accesses knows better which
 *           can)
 *   deaths  the same, and one rank may die at any point; the others then
 *           agree, shrink the group and call again
 *   delays  up to three steps of two calls are delayed until no other step is
 *           possible: all sets of one, two and three steps, while they fit in
 *           the limit; else random sets
 *   late    one rank dies, and up to two steps are delayed
 *
 *   explore [-l RUNS] [-m MODE] [-r RANKS] [-p PART/PARTS] [NAME]
 *
 *   -l  maximum number of runs of a case; for long blocks RUNS/20, at least 20
 *   -m  only this mode
 *   -r  only jobs of RANKS ranks
 *   -p  only part PART, from 0, of PARTS parts of the cases, dealt in turn
 *   NAME  only calls whose name begins with NAME
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <catena/sim.h>

#include "explore.h"
#include "explore_orders.h"
#include "oracle/random.h"

enum { MOST_DELAYS = 3 };

/* ---- a run ---- */

/** What is explored. */
typedef enum mode { ORDERS, DEATHS, DELAYS, LATE, MODES } mode_t_;

static const char *const mode_name[MODES] = {"orders", "deaths", "delays",
                                             "late"};

/** Where a run leaves the order of the times: at the so many-th decision. */
typedef struct plan {
    uint32_t delay[MOST_DELAYS]; /* in increasing order */
    uint32_t delays;
    uint32_t death; /* where `dies` dies */
    int dies;       /* or -1 */
} plan_t;

typedef struct exploration {
    const explored_t *of;
    int ranks;
    mode_t_ mode;
    bool drawn;       /* orders, deaths: at random */
    int first_turn;   /* of those that are explored */
    orders_t *orders; /* orders, deaths */
    plan_t plan;      /* delays, late */
    uint64_t limit;
    uint64_t runs, blocked;
    size_t longest; /* decisions */
    uint64_t random;
    /* of a run */
    size_t at;        /* the next decision */
    int ready;        /* ranks that are about to begin the call */
    int entered;      /* ranks that have begun the call */
    int left;         /* ranks that have ended it */
    int dead;         /* a rank that has died, or -1 */
    bool blocked_now; /* all steps were asleep: what follows was run */
    bool differs;     /* the run did not repeat the last one: a bug */
    int errors;
    catena_sim_step_t held[MOST_DELAYS]; /* steps that are delayed */
    uint32_t held_count;
} exploration_t;

static bool is_held(const exploration_t *x, const catena_sim_step_t *step)
{
    for (uint32_t i = 0; i < x->held_count; i++) {
        if (is_same_step(&x->held[i], step)) {
            return true;
        }
    }
    return false;
}

/** The step that follows the plan: the first one that is not delayed, by the
 * times; else the first one that is. */
static int choose_planned(exploration_t *x, size_t count,
                          const catena_sim_step_t steps[])
{
    const plan_t *plan = &x->plan;
    for (size_t i = 0; i < count && steps[i].kind != CATENA_SIM_DIES; i++) {
        if (is_held(x, &steps[i])) {
            continue;
        }
        uint32_t decision = (uint32_t)x->at++;
        for (size_t k = i; decision == plan->death && k < count; k++) {
            if (steps[k].kind == CATENA_SIM_DIES &&
                steps[k].rank == plan->dies) {
                return (int)k;
            }
        }
        if (x->held_count == plan->delays ||
            plan->delay[x->held_count] != decision) {
            return (int)i;
        }
        x->held[x->held_count++] = steps[i];
    }
    for (uint32_t k = 0; k < x->held_count; k++) {
        for (size_t i = 0; i < count; i++) {
            if (is_same_step(&x->held[k], &steps[i])) {
                return (int)i;
            }
        }
    }
    return 0;
}

/** A step at random; a death is rare. */
static int draw_step(exploration_t *x, size_t count,
                     const catena_sim_step_t steps[])
{
    enum { DEATH_ONE_IN = 16 };
    size_t living = 0;
    while (living < count && steps[living].kind != CATENA_SIM_DIES) {
        living++;
    }
    x->at++;
    if (living < count &&
        (living == 0 || ctn_random(&x->random) % DEATH_ONE_IN == 0)) {
        return (int)(living + ctn_random(&x->random) % (count - living));
    }
    return (int)(ctn_random(&x->random) % living);
}

/** The next step of the order that is explored. */
static int choose_order(exploration_t *x, size_t count,
                        const catena_sim_step_t steps[])
{
    int chosen = orders_choose(x->orders, count, steps);
    x->blocked_now = chosen == -1;
    x->differs = chosen < -1;
    x->at += chosen >= 0;
    return x->blocked_now ? 0 : chosen;
}

static int choose(void *argument, size_t count, const catena_sim_step_t steps[])
{
    exploration_t *x = argument;
    orders_stepped(x->orders);
    bool planned = x->mode == DELAYS || x->mode == LATE;
    if ((planned ? x->entered == 0 : x->ready < x->ranks) ||
        x->left == x->ranks - (x->dead >= 0) || x->blocked_now) {
        return 0;
    }
    int chosen = planned    ? choose_planned(x, count, steps)
                 : x->drawn ? draw_step(x, count, steps)
                            : choose_order(x, count, steps);
    if (chosen >= 0 && steps[chosen].kind == CATENA_SIM_DIES) {
        x->dead = steps[chosen].rank;
    }
    return chosen;
}

/** Make the call of a turn. The buffers are filled before and after it. */
static result_t call(const exploration_t *x, catena_group_t *group,
                     int32_t memory[], int turn)
{
    size_t bytes = EXPLORED_BLOCKS * (size_t)x->of->count * sizeof(*memory);
    memset(memory, 0xA5, bytes);
    result_t result = x->of->call(x->of, group, memory, turn);
    memset(memory, 0x5A, bytes);
    return result;
}

/** The living go on: they call again, in smaller groups, until a call is right
 * on all of them. */
static result_t recover(exploration_t *x, catena_group_t *world,
                        int32_t memory[], result_t last)
{
    catena_group_t *group = world;
    for (int turn = TURNS; turn < TURNS + AGAIN; turn++) {
        uint64_t good = last == RIGHT;
        catena_status_t status = catena_group_agree(group, &good);
        if (last == WRONG ||
            (status != CATENA_OK && status != CATENA_ERR_PROC_FAILED)) {
            return WRONG;
        }
        if (status == CATENA_OK && good != 0) {
            return group == world || catena_group_free(&group) == CATENA_OK
                       ? RIGHT
                       : WRONG;
        }
        catena_group_t *smaller = NULL;
        if (catena_group_shrink(group, &smaller) != CATENA_OK ||
            (group != world && catena_group_free(&group) != CATENA_OK)) {
            return WRONG;
        }
        group = smaller;
        last = call(x, group, memory, turn);
    }
    return WRONG;
}

static int program(const catena_config_t *config, void *argument)
{
    exploration_t *x = argument;
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        x->errors++;
        return 1;
    }
    int32_t *memory = catena_malloc(
        context, EXPLORED_BLOCKS * (size_t)x->of->count * sizeof(*memory));
    if (memory == NULL) {
        catena_abort(context, 1);
    }
    catena_group_t *world = catena_world(context);
    int me = catena_group_rank(world);
    bool deaths = x->mode == DEATHS || x->mode == LATE;
    result_t last = RIGHT;
    for (int turn = 0; turn < TURNS && last == RIGHT; turn++) {
        if (turn == x->first_turn && (x->mode == ORDERS || x->mode == DEATHS)) {
            /* So that also the first rank to begin is chosen. */
            x->ready++;
            (void)catena_compute(context, 1e-3);
        }
        x->entered += turn == x->first_turn;
        last = call(x, world, memory, turn);
        x->left += x->mode != LATE && me != x->dead && turn == TURNS - 1;
    }
    if (deaths && me != x->dead) {
        last = recover(x, world, memory, last);
    }
    x->left += x->mode == LATE && me != x->dead;
    catena_free(context, memory);
    bool good = catena_finalize(&context) == CATENA_OK && last == RIGHT;
    x->errors += !good && me != x->dead;
    return !good;
}

/** @return whether the run was right */
static bool run(exploration_t *x, const catena_sim_params_t *params)
{
    x->at = 0;
    x->ready = x->entered = x->left = x->errors = 0;
    x->held_count = 0;
    x->dead = -1;
    x->blocked_now = false;
    explored_begin();
    orders_start(x->orders);
    catena_status_t status = catena_sim_run(params, program, x, NULL);
    x->runs++;
    x->blocked += x->blocked_now;
    x->longest = x->at > x->longest ? x->at : x->longest;
    return !x->differs && x->errors == 0 &&
           status == (x->dead >= 0 ? CATENA_ERR_PEER : CATENA_OK);
}

/* ---- all runs ---- */

/** All orders; if there are more than half of the limit, then random ones:
 * those before differ in their last steps only.
 * @param[out] all whether there is no further order
 * @return whether all runs were right */
static bool run_orders(exploration_t *x, const catena_sim_params_t *params,
                       bool *all)
{
    uint64_t systematic = x->limit / 2;
    while (!*all && x->runs < x->limit) {
        x->drawn = x->runs >= systematic;
        if (!run(x, params)) {
            return false;
        }
        *all = !x->drawn && !orders_next(x->orders);
    }
    return true;
}

/** How many plans with so many delays there are, about. */
static double plans(const exploration_t *x, uint32_t delays)
{
    double steps = (double)x->longest;
    double all = x->mode == LATE ? steps * x->ranks : 1;
    for (uint32_t k = 0; k < delays; k++) {
        all *= (steps - k) / (k + 1);
    }
    return all;
}

/** Run all plans that begin with the delays that are set. */
static bool run_delays(exploration_t *x, const catena_sim_params_t *params,
                       uint32_t delays)
{
    uint32_t next = x->plan.delays;
    if (next == delays) {
        return x->runs >= x->limit || run(x, params);
    }
    bool good = true;
    uint32_t i = next > 0 ? x->plan.delay[next - 1] + 1 : 0;
    for (; good && i < x->longest; i++) {
        x->plan.delay[next] = i;
        x->plan.delays = next + 1;
        good = run_delays(x, params, delays);
    }
    if (good) {
        x->plan.delays = next;
    }
    return good;
}

static bool run_all_plans(exploration_t *x, const catena_sim_params_t *params,
                          uint32_t delays)
{
    bool good = true;
    x->plan.delays = 0;
    if (x->mode != LATE) {
        return run_delays(x, params, delays);
    }
    for (int r = 0; good && r < x->ranks; r++) {
        x->plan.dies = r;
        for (uint32_t i = 0; good && i < x->longest; i++) {
            x->plan.death = i;
            good = run_delays(x, params, delays);
        }
    }
    return good;
}

static int compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static bool run_any_plans(exploration_t *x, const catena_sim_params_t *params,
                          uint32_t delays)
{
    bool good = true;
    while (good && x->runs < x->limit) {
        x->plan.delays = delays;
        for (uint32_t k = 0; k < delays; k++) {
            x->plan.delay[k] = (uint32_t)(ctn_random(&x->random) % x->longest);
        }
        qsort(x->plan.delay, delays, sizeof(x->plan.delay[0]), compare);
        if (x->mode == LATE) {
            x->plan.dies = (int)(ctn_random(&x->random) % (unsigned)x->ranks);
            x->plan.death = (uint32_t)(ctn_random(&x->random) % x->longest);
        }
        good = run(x, params);
    }
    return good;
}

static bool run_plans(exploration_t *x, const catena_sim_params_t *params,
                      bool *all)
{
    uint32_t most = x->mode == LATE ? MOST_DELAYS - 1 : MOST_DELAYS;
    bool good = run(x, params);
    *all = true;
    for (uint32_t delays = x->mode != LATE; good && *all && delays <= most;
         delays++) {
        *all = plans(x, delays) <= (double)(x->limit - x->runs);
        good = *all ? run_all_plans(x, params, delays)
                    : run_any_plans(x, params, delays);
    }
    return good;
}

static void print_run(const exploration_t *x)
{
    printf("# %s", x->differs ? "the run differs" : "wrong");
    if (x->drawn) {
        printf(" in run %" PRIu64 ", at random", x->runs);
    } else if (x->mode == ORDERS || x->mode == DEATHS) {
        printf(" after the choices:");
        orders_print(x->orders);
    } else {
        printf(" with the delays:");
        for (uint32_t i = 0; i < x->plan.delays; i++) {
            printf(" %" PRIu32, x->plan.delay[i]);
        }
        if (x->mode == LATE) {
            printf(", rank %d dies at %" PRIu32, x->plan.dies, x->plan.death);
        }
    }
    printf("\n");
}

/** @return whether all runs were right */
static bool explore(const explored_t *of, mode_t_ mode, int ranks, int nodes,
                    uint64_t limit)
{
    bool planned = mode == DELAYS || mode == LATE;
    bool deaths = mode == DEATHS || mode == LATE;
    const char *settings[] = {"HEAP_SIZE=256m",
                              "LOG_LEVEL=fatal",
                              deaths ? "FAILURES=return" : "FAILURES=abort",
                              NULL,
                              NULL,
                              NULL};
    for (int i = 0, next = 3; i < 2; i++) {
        if (of->setting[i][0] != '\0') {
            settings[next++] = of->setting[i];
        }
    }
    int node_of[MOST_RANKS];
    for (int i = 0; i < ranks; i++) {
        node_of[i] = i * nodes / ranks;
    }
    exploration_t x = {.of = of,
                       .ranks = ranks,
                       .mode = mode,
                       .first_turn = planned ? TURNS - 2 : TURNS - 1,
                       .orders = orders_create(node_of),
                       .plan = {.dies = -1, .death = UINT32_MAX},
                       .random = 1,
                       .limit = of->count < EXPLORED_LONG ? limit
                                : limit / 20 < 20         ? 20
                                                          : limit / 20};
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-a",
                                  .nodes = nodes,
                                  .ranks = ranks,
                                  .node_of = node_of,
                                  .settings = settings,
                                  .memory_bytes = (size_t)1 << 29,
                                  .choose = choose,
                                  .choose_argument = &x,
                                  .deaths = deaths};
    if (x.orders == NULL) {
        perror("explore");
        exit(2);
    }
    bool all = false;
    bool good =
        planned ? run_plans(&x, &params, &all) : run_orders(&x, &params, &all);
    printf("%sok - %s, %d ranks on %d node%s, %s: %" PRIu64 " runs%s, %" PRIu64
           " redundant, %zu steps\n",
           good ? "" : "not ", of->name, ranks, nodes, nodes > 1 ? "s" : "",
           mode_name[mode], x.runs - x.blocked, all ? "" : " of more",
           x.blocked, x.longest);
    if (!good) {
        print_run(&x);
    }
    orders_free(x.orders);
    fflush(stdout);
    return good;
}

/** Whether a case is worth its time: all orders of more than 3 ranks, or with a
 * death of more than 2, do not end. Of a neighborhood, its creation is
 * explored, too. */
static bool is_case(mode_t_ mode, int ranks)
{
    return mode == ORDERS   ? ranks < 4
           : mode == DEATHS ? ranks < 3
           : mode == DELAYS ? ranks > 3
                            : ranks == 3;
}

/** What is to be explored. */
typedef struct options {
    uint64_t limit;
    const char *name, *mode;
    int ranks;
    unsigned part, parts;
} options_t;

static bool read_options(int argc, char **argv, options_t *options)
{
    int option;
    while ((option = getopt(argc, argv, "l:m:p:r:")) != -1) {
        switch (option) {
        case 'l':
            options->limit = strtoull(optarg, NULL, 0);
            break;
        case 'm':
            options->mode = optarg;
            break;
        case 'p':
            if (sscanf(optarg, "%u/%u", &options->part, &options->parts) != 2) {
                return false;
            }
            break;
        case 'r':
            options->ranks = atoi(optarg);
            break;
        default:
            return false;
        }
    }
    options->name = optind < argc ? argv[optind] : "";
    return options->parts > 0 && options->part < options->parts;
}

int main(int argc, char **argv)
{
    static const int layouts[][2] = {{2, 1}, {2, 2}, {3, 1}, {3, 2},
                                     {3, 3}, {4, 1}, {4, 2}};
    options_t options = {.limit = 100000, .parts = 1};
    const explored_t *all;
    int failed = 0;
    unsigned at = 0; /* cases so far */
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr, "usage: explore [-l RUNS] [-m MODE] [-r RANKS] "
                        "[-p PART/PARTS] [NAME]\n");
        return 2;
    }
    for (int which = 0, count = explored_all(&all); which < count; which++) {
        if (strncmp(all[which].name, options.name, strlen(options.name)) != 0) {
            continue;
        }
        for (size_t l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++) {
            int ranks = layouts[l][0], nodes = layouts[l][1];
            for (mode_t_ mode = ORDERS; mode < MODES; mode++) {
                if ((options.mode == NULL ||
                     strcmp(options.mode, mode_name[mode]) == 0) &&
                    (options.ranks == 0 || options.ranks == ranks) &&
                    is_case(mode, ranks) &&
                    at++ % options.parts == options.part) {
                    failed += !explore(&all[which], mode, ranks, nodes,
                                       options.limit);
                }
            }
        }
    }
    return failed > 0;
}
