/* The simulator breaks the order rules of transport.h on purpose, and each
 * algorithm must fail then. So random runs would detect an algorithm that
 * relies on more than these rules, or a transport that keeps less. */

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catena/catena.h>

#include "unit/job.h"
#include "unit/unit.h"

enum { RANKS = 7, NODES = 3, CALLS = 4, SEEDS = 20, LIMIT_S = 30 };

/** What all ranks run, by which algorithm, with how many bytes for each. */
typedef struct ordered {
    const char *setting; /* of the group, or of the neighborhood */
    const char *value;
    catena_status_t (*call)(job_t *job, void *send, void *recv, size_t bytes,
                            catena_neighborhood_t *ring);
    size_t bytes;
    bool to_each;    /* blocks differ between receivers */
    unsigned breaks; /* the broken rules that must make it fail */
} ordered_t;

static const ordered_t *the_one; /* of this process, which is forked for it */

static catena_status_t alltoall(job_t *job, void *send, void *recv,
                                size_t bytes, catena_neighborhood_t *ring)
{
    (void)ring;
    return catena_alltoall(send, bytes, CATENA_BYTE, recv, bytes, CATENA_BYTE,
                           job->context->world);
}

static catena_status_t allgather(job_t *job, void *send, void *recv,
                                 size_t bytes, catena_neighborhood_t *ring)
{
    (void)ring;
    return catena_allgather(send, bytes, CATENA_BYTE, recv, bytes, CATENA_BYTE,
                            job->context->world);
}

/** A complete graph. */
static catena_status_t neighbors(job_t *job, void *send, void *recv,
                                 size_t bytes, catena_neighborhood_t *complete)
{
    (void)job;
    return catena_neighbor_alltoall(send, bytes, CATENA_BYTE, recv, bytes,
                                    CATENA_BYTE, complete);
}

/** A bcast from each root in turn. */
static catena_status_t bcasts(job_t *job, void *send, void *recv, size_t bytes,
                              catena_neighborhood_t *ring)
{
    (void)ring;
    catena_status_t status = CATENA_OK;
    memcpy((char *)recv + job->rank * bytes, send, bytes);
    for (int root = 0; root < RANKS && status == CATENA_OK; root++) {
        status = catena_bcast((char *)recv + (size_t)root * bytes, bytes,
                              CATENA_BYTE, root, job->context->world);
    }
    return status;
}

static unsigned char content(size_t from, size_t to, size_t i, size_t call)
{
    return (unsigned char)(from * 31 + to * 7 + call * 101 + i + (i >> 8));
}

static void body(job_t *job)
{
    const ordered_t *c = the_one;
    unsigned char *send = malloc(RANKS * c->bytes);
    unsigned char *recv = malloc(RANKS * c->bytes);
    catena_group_t *world = job->context->world;
    catena_neighborhood_t *complete = NULL;
    int all[RANKS];
    for (int r = 0; r < RANKS; r++) {
        all[r] = r;
    }
    JOB_CHECK(job,
              catena_neighborhood_create(world, RANKS, all, NULL, RANKS, all,
                                         NULL, NULL, &complete) == CATENA_OK);
    JOB_CHECK(job,
              (c->call == neighbors
                   ? catena_neighborhood_set(complete, c->setting, c->value)
                   : catena_group_set(world, c->setting, c->value)) ==
                  CATENA_OK);
    for (size_t call = 0; call < CALLS && job->errors == 0; call++) {
        memset(recv, 0, RANKS * c->bytes);
        for (size_t r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < c->bytes; i++) {
                send[r * c->bytes + i] =
                    content(job->rank, c->to_each ? r : 0, i, call);
            }
        }
        JOB_CHECK(job,
                  c->call(job, send, recv, c->bytes, complete) == CATENA_OK);
        for (size_t r = 0; r < RANKS && job->errors == 0; r++) {
            for (size_t i = 0; i < c->bytes; i++) {
                JOB_CHECK(job,
                          recv[r * c->bytes + i] ==
                              content(r, c->to_each ? job->rank : 0, i, call));
            }
        }
    }
    (void)catena_neighborhood_free(&complete);
    free(send);
    free(recv);
}

/** Whether one of the seeds shows an error, wrong data, or a run that does not
 * end. In a process of its own, which may crash. */
static bool seen(const ordered_t *c, unsigned breaks)
{
    static const int node_of[RANKS] = {0, 0, 1, 2, 2, 2, 1};
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        the_one = c;
        if (breaks != 0) {
            alarm(LIMIT_S);
            (void)!freopen("/dev/null", "w", stderr);
        }
        for (uint64_t seed = 1; seed <= SEEDS;
             seed += breaks == 0 ? unit_step(4) : 1) {
            catena_sim_params_t params = {.size = sizeof(params),
                                          .machine = "hpc-b",
                                          .nodes = NODES,
                                          .ranks = RANKS,
                                          .node_of = node_of,
                                          .seed = seed,
                                          .jitter = 0.5,
                                          .reorder = 1,
                                          .breaks = breaks,
                                          .stack_bytes = JOB_STACK_BYTES};
            if (job_simulate_on(&params, body) != 0) {
                _exit(1);
            }
        }
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status != 0;
}

enum { WORDS = CATENA_SIM_BREAK_WORDS, DATA = CATENA_SIM_BREAK_DATA };

static const ordered_t cases[] = {
    {"alltoall_algorithm", "direct", alltoall, 8, true, DATA},
    {"alltoall_algorithm", "bruck", alltoall, 40, true, DATA},
    {"alltoall_algorithm", "onmpml", alltoall, 40, true, WORDS | DATA},
    {"hierarchy", "network:p2p", allgather, 20000, false, WORDS | DATA},
    {"hierarchy", "network:p2p", bcasts, 20000, false, DATA},
    {"algorithm", "direct", neighbors, 40, true, DATA},
    {"algorithm", "aggregated", neighbors, 20000, true, WORDS | DATA},
};

START_TEST(a_broken_order_is_seen)
{
    const ordered_t *c = &cases[_i];
    ck_assert(!seen(c, 0));
    ck_assert((c->breaks & DATA) == 0 || seen(c, DATA));
    ck_assert((c->breaks & WORDS) == 0 || seen(c, WORDS));
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, a_broken_order_is_seen, 0,
                        sizeof(cases) / sizeof(cases[0]));
}

UNIT_TEST(sim_order)
{
    return unit_main("sim_order", 100, add_cases);
}
