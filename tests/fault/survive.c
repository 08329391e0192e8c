/* Survivors: ranks of a job in which failures are returned make all kinds of
 * calls while some of them die. The others go on with a group of the living
 * ones, whose alltoall is right, and the buffers of a call that has failed stay
 * as the caller has left them.
 *
 *   survive --sim FIRST COUNT RANKS      simulated jobs, a seed each
 *   survive --every RANKS [KIND]         a simulated job for each event of each
 *                                        kind of calls, or of those that begin
 *                                        with KIND
 *   survive SEED DEATHS [MILLISECONDS]   one rank of a real job
 *   survive --large SEED                 one of a few, one of which dies while
 *                                        much data are under way
 *   survive --leave CODE                 one of a job whose rank 1 dies at once
 *   survive --cut                        one of a job whose rank 1 loses a
 *                                        connection
 *
 * SURVIVE_TIMES names a file that the ranks of a real job share: a rank stores
 * there when it dies, so that the others know how long after it their call
 * fails.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <catena/catena.h>
#include <catena/sim.h>

#include "oracle/random.h"
#include "survive.h"

enum {
    CALLS = 12 /* of a simulated job */
};

/* ---- deaths ---- */

/** Of a real job: when each rank has died, seconds; 0: not. */
static volatile double *died_at;
static int own_rank;

static double monotonic(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double now(const rank_t *r)
{
    return catena_time(r->context);
}

static void share_times(int rank)
{
    size_t bytes = MOST_RANKS * sizeof(*died_at);
    const char *path = getenv("SURVIVE_TIMES");
    int fd = path != NULL ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    own_rank = rank;
    if (fd < 0) {
        return;
    }
    void *at =
        ftruncate(fd, (off_t)bytes) == 0
            ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
            : MAP_FAILED;
    died_at = at != MAP_FAILED ? at : NULL;
    (void)close(fd);
}

static void die(int signal)
{
    (void)signal;
    if (died_at != NULL) {
        died_at[own_rank] = monotonic();
    }
    (void)kill(getpid(), SIGKILL);
}

void pause_amid(rank_t *r, const unsigned char *data, size_t bytes)
{
    if (!is_large(r)) {
        return;
    }
    double until = now(r) + 2;
    uint64_t word = 0;
    data += ctn_random(&r->random) % (bytes / 64);
    while (word == 0 && now(r) < until) {
        if (catena_progress(r->context) != CATENA_OK) {
            return;
        }
        memcpy(&word, data, sizeof(word));
    }
    if (r->call != r->dies_at) {
        (void)usleep(150000);
        return;
    }
    (void)usleep(30000);
    die(0);
}

/** A call of a group has failed: how long after the deaths. */
static void time_deaths(rank_t *r, catena_group_t *group)
{
    double at = monotonic();
    size_t dead = 0;
    int ranks[MOST_RANKS];
    const int *world;
    if (died_at == NULL ||
        catena_group_world_ranks(group, &world) != CATENA_OK ||
        catena_group_failed(group, &dead, ranks) != CATENA_OK) {
        return;
    }
    for (size_t i = 0; i < dead; i++) {
        double died = died_at[world[ranks[i]]];
        double took = died > 0 ? at - died : 0;
        r->latest = took > r->latest ? took : r->latest;
        if (took > 10) {
            wrong(r, "milliseconds from a death to the error",
                  (long)(took * 1000), 10000);
        }
    }
}

/* ---- recovery ---- */

/** Go on with a group of the living ranks, whose alltoall is right.
 * @return false: this rank is the one that has died, of a simulated job */
static bool recover(rank_t *r)
{
    for (;;) {
        catena_group_t *next = NULL;
        catena_status_t status = catena_group_shrink(r->group, &next);
        if (status == CATENA_ERR_PEER) {
            return false;
        }
        if (status != CATENA_OK) {
            wrong(r, "shrink", status, CATENA_OK);
            return false;
        }
        if (r->group != catena_world(r->context)) {
            status = catena_group_free(&r->group);
            if (status != CATENA_OK && status != CATENA_ERR_PEER) {
                wrong(r, "free of a failed group", status, CATENA_OK);
            }
        }
        r->group = next;
        /* Ranks may have failed at different calls: begin with one number. */
        r->call = 1000 * (uint64_t)(1 + r->shrinks++);
        r->random = oracle_hash(r->draw->seed, r->call, 1);
        status = alltoall(r, next);
        r->call++;
        uint64_t good = status == CATENA_OK;
        if (status == CATENA_ERR_PEER) {
            return false;
        }
        if (status != CATENA_OK && !has_failed(status)) {
            wrong(r, "alltoall of survivors", status, CATENA_OK);
        }
        if (has_failed(status)) {
            time_deaths(r, next);
        }
        /* Some may have completed it when another one died. */
        status = catena_group_agree(next, &good);
        if (status != CATENA_OK) {
            return false;
        }
        if (good) {
            return true;
        }
    }
}

static void body(rank_t *r)
{
    double end = now(r) + r->draw->seconds;
    for (int i = 0; r->draw->calls == 0 || i < r->draw->calls; i++) {
        /* Members may have left the last call at different points. */
        r->random = oracle_hash(r->draw->seed, r->call, 0);
        uint64_t drawn = ctn_random(&r->random);
        const kind_t *kind = &kinds[r->draw->kind >= 0 ? (uint64_t)r->draw->kind
                                                       : drawn % KINDS];
        catena_status_t status = kind->call(r, r->group);
        r->call++;
        if (has_failed(status)) {
            time_deaths(r, r->group);
        }
        bool early = now(r) < end || (r->draw->large && r->shrinks == 0);
        /* All have done it, or none: else some would be a call behind. */
        uint64_t good = (status == CATENA_OK) | (uint64_t)early << 1;
        if (status != CATENA_OK && !has_failed(status)) {
            if (status != CATENA_ERR_PEER) {
                wrong(r, "a call", status, CATENA_ERR_PROC_FAILED);
            }
            return;
        }
        if (r->draw->calls > 0) {
            good |= 2;
        }
        catena_status_t agreed = catena_group_agree(r->group, &good);
        if (agreed != CATENA_OK) {
            if (agreed != CATENA_ERR_PEER) {
                wrong(r, "agree", agreed, CATENA_OK);
            }
            return;
        }
        if ((good & 1) == 0) {
            double begun = now(r);
            r->draw->failures++;
            if (!recover(r)) {
                return;
            }
            double took = now(r) - begun;
            r->longest = took > r->longest ? took : r->longest;
            if (r->draw->calls == 0 && took > 2) {
                wrong(r, "milliseconds to recover", (long)(took * 1000), 2000);
            }
        }
        if ((good & 2) == 0) {
            return;
        }
    }
}

/** Kill this rank after a random time, if it is one of `deaths`. */
static void draw_death(rank_t *r, unsigned deaths, double seconds)
{
    catena_group_t *world = catena_world(r->context);
    unsigned n = (unsigned)catena_group_size(world);
    uint64_t random = r->draw->seed;
    uint64_t doomed = 0;
    for (unsigned i = 0; i < deaths && i + 1 < n; i++) {
        doomed |= UINT64_C(1) << ctn_random(&random) % n;
    }
    if ((doomed >> catena_group_rank(world) & 1) == 0) {
        return;
    }
    random += (unsigned)catena_group_rank(world);
    if (r->draw->large) {
        r->dies_at = 1 + 2 * (ctn_random(&random) % 3);
    } else {
        double at = seconds * 0.7 * ctn_random_real(&random) + 0.01;
        struct itimerval timer = {
            .it_value = {(time_t)at, (suseconds_t)((at - (long)at) * 1e6)}};
        signal(SIGALRM, die);
        (void)setitimer(ITIMER_REAL, &timer, NULL);
    }
}

static int run(const catena_config_t *config, void *argument)
{
    draw_t *draw = argument;
    rank_t r = {.draw = draw, .random = draw->seed};
    catena_status_t status = catena_init(config, &r.context);
    if (status != CATENA_OK) {
        draw->joining = true;
        return 3; /* a rank died while they joined, which ends the job */
    }
    r.group = catena_world(r.context);
    r.rank = catena_group_rank(r.group);
    if (draw->calls == 0) {
        share_times(r.rank);
        draw_death(&r, draw->deaths, draw->seconds);
    }
    body(&r);
    if (draw->calls == 0) { /* real ranks: time for what comes late */
        double end = now(&r) + (r.kept_count > 0 ? 2 : 0);
        while (now(&r) < end) { /* others may ask for the last result */
            (void)catena_progress(r.context);
            (void)usleep(1000);
        }
    }
    look_again(&r);
    int left = catena_group_size(r.group);
    int all = catena_group_size(catena_world(r.context));
    if (r.group != catena_world(r.context)) {
        (void)catena_group_free(&r.group);
    }
    status = catena_finalize(&r.context);
    if (status != CATENA_OK && status != CATENA_ERR_PEER) {
        wrong(&r, "finalize", status, CATENA_OK);
    }
    draw->errors_of[r.rank] += (unsigned)r.errors;
    if (draw->calls == 0) { /* any of them may die on the way here */
        printf("%sok - seed %" PRIu64 ": %d of %d ranks are left, %" PRIu64
               " recoveries in at most %.0f ms, errors at most %.0f ms after "
               "a death, %" PRIu64 " calls in the last group\n",
               r.errors > 0 ? "not " : "", draw->seed, left, all,
               draw->failures, r.longest * 1000, r.latest * 1000,
               r.call % 1000);
    }
    return r.errors > 0 ? 1 : status != CATENA_OK ? 2 : 0;
}

/* ---- simulated jobs ---- */

static uint64_t running_seed;

static void give_up(int signal)
{
    (void)signal;
    fprintf(stderr, "survive: seed %" PRIu64 " does not end\n", running_seed);
    _exit(1);
}

static const char *const settings[] = {"FAILURES=return", "HEAP_SIZE=1g",
                                       "LOG_LEVEL=fatal", NULL};

/** @return whether it was right */
static bool simulate(catena_sim_params_t *params, draw_t *draw, size_t deaths,
                     catena_sim_report_t *report)
{
    static const struct itimerval limit = {.it_value.tv_sec = 60};
    running_seed = draw->seed;
    (void)setitimer(ITIMER_PROF, &limit, NULL); /* time of this process */
    params->size = sizeof(*params);
    params->settings = settings;
    params->machine = "hpc-a";
#if defined(__SANITIZE_ADDRESS__)
    params->stack_bytes = (size_t)512 << 10;
#endif
    *report = (catena_sim_report_t){.size = sizeof(*report)};
    for (size_t k = 0; k < params->kill_count; k++) {
        draw->killed[params->kills[k].rank] = true;
    }
    catena_status_t status = catena_sim_run(params, run, draw, report);
    uint64_t errors = 0;
    for (int i = 0; i < params->ranks; i++) {
        errors += draw->errors_of[i];
    }
    bool good =
        (status == CATENA_OK || (deaths > 0 && status == CATENA_ERR_PEER)) &&
        errors == 0;
    /* A death while ranks join ends the job. */
    good = good && (draw->joining || report->failed_ranks <= (int)deaths);
    if (!good) {
        printf("not ok - seed %" PRIu64
               " kind %d: %s, %d ranks failed, %" PRIu64 " errors\n",
               draw->seed, draw->kind, catena_status_string(status),
               report->failed_ranks, errors);
    }
    return good;
}

static bool simulate_seed(uint64_t seed, int most, uint64_t *recoveries)
{
    uint64_t random = seed;
    int node_of[MOST_RANKS];
    catena_sim_kill_t kills[3];
    /* Large jobs take long, so most are smaller. */
    most = most > 16 ? most >> ctn_random(&random) % 5 : most;
    int ranks = 2 + (int)(ctn_random(&random) % (unsigned)(most - 1));
    int nodes = 1 + (int)(ctn_random(&random) % (unsigned)ranks);
    bool dealt = ctn_random(&random) % 2 == 0;
    for (int i = 0; i < ranks; i++) {
        node_of[i] = dealt ? i % nodes : (int)((long)i * nodes / ranks);
    }
    draw_t draw = {.seed = seed,
                   .kind = ctn_random(&random) % 3 == 0
                               ? (int)(ctn_random(&random) % KINDS)
                               : -1,
                   .calls = CALLS};
    catena_sim_params_t params = {.nodes = nodes,
                                  .ranks = ranks,
                                  .node_of = node_of,
                                  .seed = seed,
                                  .jitter = 0.7,
                                  .reorder = ctn_random(&random) % 4 != 0,
                                  .kills = kills,
                                  .kill_count = 1 + ctn_random(&random) % 3};
    for (size_t i = 0; i < params.kill_count; i++) {
        kills[i] = (catena_sim_kill_t){
            (int)(ctn_random(&random) % (unsigned)ranks),
            1 + ctn_random(&random) % ((uint64_t)ranks * 1500)};
    }
    catena_sim_report_t report;
    bool good = simulate(&params, &draw, params.kill_count, &report);
    *recoveries += draw.failures;
    return good;
}

/** A job for each event, one after the other killing each rank.
 * @return how many were wrong */
static uint64_t every_event(int ranks, int nodes, int kind, uint64_t *runs)
{
    uint64_t events = UINT64_MAX, bad = 0;
    int node_of[MOST_RANKS];
    for (int i = 0; i < ranks; i++) {
        node_of[i] = i % nodes;
    }
    for (uint64_t event = 1; event <= events; event++) {
        catena_sim_kill_t kill = {(int)(event % (unsigned)ranks), event};
        draw_t draw = {.seed = event, .kind = kind, .calls = 2};
        catena_sim_params_t params = {.nodes = nodes,
                                      .ranks = ranks,
                                      .node_of = node_of,
                                      .seed = event,
                                      .reorder = 1,
                                      .memory_bytes = (size_t)ranks << 30,
                                      .kills = &kill,
                                      .kill_count = 1};
        catena_sim_report_t report;
        bad += !simulate(&params, &draw, 1, &report);
        events = report.events;
        ++*runs;
    }
    return bad;
}

static int every(int most, const char *name)
{
    uint64_t all = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        uint64_t runs = 0, bad = 0;
        if (strncmp(kinds[kind].name, name, strlen(name)) != 0) {
            continue;
        }
        for (int ranks = 2; ranks <= most; ranks++) {
            for (int nodes = 1; nodes <= ranks; nodes += ranks > 4 ? 2 : 1) {
                bad += every_event(ranks, nodes, kind, &runs);
            }
        }
        printf("%sok - %s, 2 to %d ranks: a death at each of %" PRIu64
               " events\n",
               bad > 0 ? "not " : "", kinds[kind].name, most, runs);
        fflush(stdout);
        all += bad;
    }
    return all > 0;
}

/* ---- a real rank ---- */

static const char *const real_settings[] = {"FAILURES=return", NULL};
static const catena_config_t real_config = {.size = sizeof(real_config),
                                            .settings = real_settings};

/** See the beginning of the file. */
static int real_rank(uint64_t seed, unsigned deaths, double seconds)
{
    draw_t draw = {
        .seed = seed, .kind = -1, .seconds = seconds, .deaths = deaths};
    return run(&real_config, &draw);
}

/** See the beginning of the file. */
static int large(uint64_t seed)
{
    draw_t draw = {
        .seed = seed, .kind = 0, .seconds = 0.3, .deaths = 1, .large = true};
    return run(&real_config, &draw);
}

/** Rank 1 dies; the others go on, and end with a code. */
static int leave(int code)
{
    catena_context_t *context;
    catena_group_t *living = NULL;
    if (catena_init(&real_config, &context) != CATENA_OK) {
        return 1;
    }
    /* After it all have joined. */
    (void)catena_barrier(catena_world(context));
    if (catena_group_rank(catena_world(context)) == 1) {
        die(0);
    }
    while (catena_barrier(catena_world(context)) == CATENA_OK) {
    }
    size_t dead = 0;
    int ranks[MOST_RANKS];
    bool good =
        catena_group_shrink(catena_world(context), &living) == CATENA_OK &&
        catena_barrier(living) == CATENA_OK &&
        catena_group_failed(catena_world(context), &dead, ranks) == CATENA_OK &&
        dead == 1 && ranks[0] == 1 && catena_group_free(&living) == CATENA_OK;
    return catena_finalize(&context) == CATENA_OK && good ? code : 1;
}

/** Break a connection of this process: shut down one TCP socket that has a
 * peer. */
static void cut(void)
{
    for (int fd = 255; fd > 2; fd--) { /* not that of the launcher */
        struct sockaddr_storage peer;
        socklen_t bytes = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)(void *)&peer, &bytes) == 0 &&
            peer.ss_family == AF_INET && shutdown(fd, SHUT_RDWR) == 0) {
            return;
        }
    }
}

/** A connection of rank 1 breaks: it, or its peer, or both end, and the others
 * go on. */
static int lose_connection(void)
{
    catena_context_t *context;
    catena_group_t *living = NULL;
    if (catena_init(&real_config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int64_t one = 1, sum = 0;
    bool good = catena_barrier(world) == CATENA_OK;
    if (catena_group_rank(world) == 1) {
        (void)usleep(100000); /* the others have left the barrier */
        cut();
    }
    catena_status_t status;
    while ((status = catena_barrier(world)) == CATENA_OK) {
    }
    if (status != CATENA_ERR_PEER) {
        status = catena_group_shrink(world, &living);
    }
    if (status == CATENA_OK) { /* not one of the two */
        status =
            catena_allreduce(&one, &sum, 1, CATENA_INT64, CATENA_SUM, living);
        good = good && status == CATENA_OK &&
               sum == catena_group_size(living) &&
               sum >= catena_group_size(world) - 2;
        good = catena_group_free(&living) == CATENA_OK && good;
        printf("%s - %d ranks are left\n", good ? "ok" : "not ok", (int)sum);
    } else {
        good = good && status == CATENA_ERR_PEER;
    }
    status = catena_finalize(&context);
    return good && (status == CATENA_OK || status == CATENA_ERR_PEER) ? 0 : 1;
}

int main(int argc, char **argv)
{
    signal(SIGPROF, give_up);
    if (argc > 3 && strcmp(argv[1], "--sim") == 0) {
        uint64_t first = strtoull(argv[2], NULL, 0);
        uint64_t count = strtoull(argv[3], NULL, 0);
        int most = argc > 4 ? atoi(argv[4]) : 8;
        uint64_t bad = 0, recoveries = 0;
        for (uint64_t seed = first; seed < first + count; seed++) {
            bad += !simulate_seed(seed, most, &recoveries);
        }
        printf("%sok - %" PRIu64 " seeds from %" PRIu64 ", %" PRIu64
               " wrong; %" PRIu64 " recoveries of a rank\n",
               bad > 0 ? "not " : "", count, first, bad, recoveries);
        return bad > 0;
    }
    if (argc > 2 && strcmp(argv[1], "--every") == 0) {
        return every(atoi(argv[2]), argc > 3 ? argv[3] : "");
    }
    if (argc > 2 && strcmp(argv[1], "--large") == 0) {
        return large(strtoull(argv[2], NULL, 0));
    }
    if (argc > 1 && strcmp(argv[1], "--cut") == 0) {
        return lose_connection();
    }
    if (argc > 2 && strcmp(argv[1], "--leave") == 0) {
        return leave(atoi(argv[2]));
    }
    if (argc > 2 && argv[1][0] != '-') {
        return real_rank(strtoull(argv[1], NULL, 0),
                         (unsigned)strtoul(argv[2], NULL, 0),
                         argc > 3 ? atof(argv[3]) * 1e-3 : 1);
    }
    return 2;
}
