/* Explores a simulated job: the same program again and again, each time with
 * other choices of the next step.
 *
 *   orders  all orders of the steps of a call that can differ
 *           (tests/sim/explore_orders.c; explore_accesses knows better which
 *           can)
 *   deaths  the same, and one rank may die at any point; the others then
 *           agree, shrink the group and call again
 *
 * If there are more orders than half of the limit, the others are drawn.
 *
 *   explore [-a] [-l|-L RUNS] [-m MODE] [-r RANKS] [-p PART/PARTS] [NAME]
 *
 *   -a  orders, deaths: also those that cannot differ
 *   -l  maximum number of runs of a case
 *   -L  the same, of a case with long blocks
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
#include <sys/personality.h>
#include <unistd.h>

#include <catena/sim.h>

#include "explore.h"
#include "explore_orders.h"
#include "oracle/random.h"
#include "states.h"

/* ---- a run ---- */

/** What is explored. */
typedef enum mode { ORDERS, DEATHS, MODES } mode_t_;

static const char *const mode_name[MODES] = {"orders", "deaths"};

typedef struct exploration {
    const explored_t *of;
    int ranks;
    mode_t_ mode;
    orders_t *orders;
    uint64_t limit;
    uint64_t runs, blocked;
    size_t longest; /* decisions */
    uint64_t random;
    bool all;      /* there is no further order */
    bool checked;  /* after all orders: each state must have been found */
    int to_check;  /* runs */
    bool keeps;    /* after a run the job goes back to its first choice */
    bool finished; /* the job ends, its runs are counted */
    unsigned ends; /* runs that have left the call */
    /* of a run */
    bool drawn; /* at random */
    size_t at;  /* the next decision */
    /* Of each rank, since a sum would tell a rank what others have done, and
     * be part of its state. */
    bool ready[MOST_RANKS]; /* it is about to begin the call */
    bool left[MOST_RANKS];  /* it has ended it, and recovered */
    bool failed;            /* a rank did, or has a wrong result */
    int dead;               /* a rank that has died, or -1 */
    bool over;              /* what remains of the run needs no choice */
    bool blocked_now;       /* all steps were asleep: the rest was run before */
    bool differs;           /* the run did not repeat the last one: a bug */
    bool unknown;           /* it has a state not found before: a bug */
} exploration_t;

/** Whether all ranks are in a set, but the one that has died. */
static bool has_all(const exploration_t *x, const bool set[])
{
    int r = 0;
    while (r < x->ranks && (set[r] || r == x->dead)) {
        r++;
    }
    return r == x->ranks;
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

/** A random step. The present state must have been found before. */
static int check_step(exploration_t *x, size_t count,
                      const catena_sim_step_t steps[])
{
    x->unknown = !states_known();
    if (x->unknown) {
        return -1;
    }
    int chosen = draw_step(x, count, steps);
    state_t state = states_last();
    states_step(&state, &steps[chosen]);
    return chosen;
}

/** The next step of the order that is explored. */
static int choose_order(exploration_t *x, size_t count,
                        const catena_sim_step_t steps[])
{
    int chosen = orders_choose(x->orders, count, steps);
    x->blocked_now = chosen == -1;
    x->differs = chosen < -1;
    x->at += chosen >= 0;
    return chosen;
}

static bool is_right(const exploration_t *x)
{
    return !x->differs && !x->unknown && !x->failed && !states_contradict();
}

static void begin_run(exploration_t *x)
{
    x->drawn = x->checked || x->runs >= x->limit / 2;
    x->at = 0;
    x->dead = -1;
    x->over = x->blocked_now = false;
    memset(x->left, 0, sizeof(x->left));
    orders_start(x->orders);
}

/** Count the run.
 * @return whether another one follows */
static bool end_run(exploration_t *x)
{
    if (x->checked) {
        return --x->to_check > 0;
    }
    x->runs++;
    x->blocked += x->blocked_now;
    x->longest = x->at > x->longest ? x->at : x->longest;
    x->all = !x->drawn && !orders_next(x->orders);
    return !x->all && x->runs < x->limit;
}

/** The rest of this run was run before: begin the next run. If this run itself
 * was in the present state before, it goes on instead, to show that it ends.
 * @return the step to take */
static int cut(exploration_t *x)
{
    x->over = true;
    if (!x->keeps || !is_right(x) ||
        (x->blocked_now && orders_repeat(x->orders))) {
        return 0;
    }
    x->finished = !end_run(x);
    if (x->finished) {
        return 0;
    }
    begin_run(x);
    states_return();
    return -1;
}

/** All ranks have left the call. Some runs go on to the end of the job. */
static int leave(exploration_t *x)
{
    enum { ENDS_ONE_IN = 16 };
    if (x->ends++ % ENDS_ONE_IN != 0) {
        return cut(x);
    }
    x->over = true;
    return 0;
}

static int choose(void *argument, size_t count, const catena_sim_step_t steps[])
{
    exploration_t *x = argument;
    orders_stepped(x->orders);
    if (!has_all(x, x->ready) || x->over) {
        return 0;
    }
    if (!x->keeps && states_keep()) {
        x->keeps = true;
        return -1;
    }
    if (has_all(x, x->left)) {
        return leave(x);
    }
    int chosen = x->checked ? check_step(x, count, steps)
                 : x->drawn ? draw_step(x, count, steps)
                            : choose_order(x, count, steps);
    if (x->blocked_now) {
        return cut(x);
    }
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
        x->failed = true;
        return 1;
    }
    int32_t *memory = catena_malloc(
        context, EXPLORED_BLOCKS * (size_t)x->of->count * sizeof(*memory));
    if (memory == NULL) {
        catena_abort(context, 1);
    }
    catena_group_t *world = catena_world(context);
    int me = catena_group_rank(world);
    result_t last = RIGHT;
    for (int turn = 0; turn < TURNS && last == RIGHT; turn++) {
        if (turn == TURNS - 1) {
            /* So that also the first rank to begin is chosen. */
            x->ready[me] = true;
            (void)catena_compute(context, 1e-3);
        }
        last = call(x, world, memory, turn);
    }
    if (x->mode == DEATHS && me != x->dead) {
        last = recover(x, world, memory, last);
    }
    if (me != x->dead) {
        x->failed = x->failed || last != RIGHT;
        x->left[me] = true;
        if (has_all(x, x->left)) {
            (void)catena_compute(context, 1e-9); /* a run may end here */
        }
    }
    catena_free(context, memory);
    bool good = catena_finalize(&context) == CATENA_OK && last == RIGHT;
    if (!good && me != x->dead) {
        x->failed = true;
    }
    return !good;
}

/** Run a job: once, or from its first choice again and again.
 * @return whether the last run was right, and so all before */
static bool run(exploration_t *x, const catena_sim_params_t *params)
{
    x->failed = x->keeps = x->finished = false;
    memset(x->ready, 0, sizeof(x->ready));
    begin_run(x);
    explored_begin();
    catena_status_t status = catena_sim_run(params, program, x, NULL);
    return is_right(x) &&
           status == (x->dead >= 0 ? CATENA_ERR_PEER : CATENA_OK);
}

/* ---- all runs ---- */

/** All orders; if there are more than half of the limit, then random ones:
 * those before differ in their last steps only.
 * @return whether all runs were right */
static bool run_all(exploration_t *x, const catena_sim_params_t *params)
{
    bool more = true;
    while (more) {
        if (!run(x, params)) {
            x->runs += !x->finished && !x->checked;
            return false;
        }
        more = !x->finished && end_run(x);
    }
    return true;
}

/** Some random runs after all orders. Each state that they reach must have been
 * found; otherwise an order that leads there was left out. A step must lead
 * from one state to only one other; otherwise the recorded state is incomplete.
 * @return whether this holds */
static bool check_all(exploration_t *x, const catena_sim_params_t *params)
{
    enum { CHECKED = 20 };
    x->checked = true;
    x->to_check = CHECKED;
    return run_all(x, params);
}

static void print_run(const exploration_t *x)
{
    printf("# %s", x->differs            ? "the run differs"
                   : states_contradict() ? "one step leads to two states"
                   : x->unknown          ? "a state that was not found before"
                                         : "wrong");
    if (x->finished) {
        printf(" at the end of the job, after the last run");
    } else if (x->checked) {
        printf(" in a random run after all orders");
    } else if (x->drawn) {
        printf(" in run %" PRIu64 ", at random", x->runs);
    } else {
        printf(" after the choices:");
        orders_print(x->orders);
    }
    printf("\n");
}

/** @return whether all runs were right */
static bool explore(const explored_t *of, mode_t_ mode, int ranks, int nodes,
                    uint64_t limit, bool whole)
{
    bool deaths = mode == DEATHS;
    const char *settings[] = {"HEAP_SIZE=128m",
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
                       .orders = orders_create(whole ? NULL : node_of),
                       .random = 1,
                       .limit = limit};
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-a",
                                  .nodes = nodes,
                                  .ranks = ranks,
                                  .node_of = node_of,
                                  .settings = settings,
                                  .memory_bytes = (size_t)1 << 28,
                                  .stack_bytes = (size_t)64 << 10,
                                  .choose = choose,
                                  .choose_argument = &x,
                                  .deaths = deaths};
    if (x.orders == NULL) {
        perror("explore");
        exit(2);
    }
    bool good = run_all(&x, &params);
    if (good && x.all && states_count() > 0) {
        good = check_all(&x, &params);
    }
    printf("%sok - %s, %d ranks on %d node%s, %s: %" PRIu64 " runs%s, %" PRIu64
           " redundant, %zu steps, %zu states\n",
           good ? "" : "not ", of->name, ranks, nodes, nodes > 1 ? "s" : "",
           mode_name[mode], x.runs - x.blocked, x.all ? "" : " of more",
           x.blocked, x.longest, states_count());
    if (!good) {
        print_run(&x);
    }
    orders_free(x.orders);
    fflush(stdout);
    return good;
}

/** What is to be explored. */
typedef struct options {
    uint64_t limit, long_limit; /* long_limit 0: the same */
    const char *name, *mode;
    int ranks;
    bool whole;
    unsigned part, parts;
} options_t;

static bool read_options(int argc, char **argv, options_t *options)
{
    int option;
    while ((option = getopt(argc, argv, "al:L:m:p:r:")) != -1) {
        switch (option) {
        case 'a':
            options->whole = true;
            break;
        case 'l':
            options->limit = strtoull(optarg, NULL, 0);
            break;
        case 'L':
            options->long_limit = strtoull(optarg, NULL, 0);
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

/** Restart the program without address randomization, since addresses are part
 * of states. */
static void fix_addresses(char **argv)
{
    int now = personality(UINT32_MAX);
    if (now != -1 && (now & ADDR_NO_RANDOMIZE) == 0 &&
        personality((unsigned long)now | ADDR_NO_RANDOMIZE) != -1) {
        (void)execv("/proc/self/exe", argv);
    }
}

int main(int argc, char **argv)
{
    static const int layouts[][2] = {{2, 1}, {2, 2}, {3, 1}, {3, 2},
                                     {3, 3}, {4, 1}, {4, 2}};
    options_t options = {.limit = 100000, .parts = 1};
    const explored_t *all;
    int failed = 0;
    unsigned at = 0; /* cases so far */
    fix_addresses(argv);
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr, "usage: explore [-a] [-l|-L RUNS] [-m MODE] [-r RANKS] "
                        "[-p PART/PARTS] [NAME]\n");
        return 2;
    }
    for (int which = 0, count = explored_all(&all); which < count; which++) {
        if (strncmp(all[which].name, options.name, strlen(options.name)) != 0) {
            continue;
        }
        bool is_long = all[which].count == EXPLORED_LONG;
        uint64_t limit = is_long && options.long_limit > 0 ? options.long_limit
                                                           : options.limit;
        for (size_t l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++) {
            int ranks = layouts[l][0], nodes = layouts[l][1];
            for (mode_t_ mode = ORDERS; mode < MODES; mode++) {
                if ((options.mode == NULL ||
                     strcmp(options.mode, mode_name[mode]) == 0) &&
                    (options.ranks == 0 || options.ranks == ranks) &&
                    at++ % options.parts == options.part) {
                    failed += !explore(&all[which], mode, ranks, nodes, limit,
                                       options.whole);
                }
            }
        }
    }
    return failed > 0;
}
