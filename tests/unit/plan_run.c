#include "plan_run.h"

#include <stdlib.h>

#include <catena/catena.h>

typedef struct run {
    job_t *job;
    catena_neighborhood_t *neighborhood;
    size_t words;
    uint64_t *send;
    uint64_t *recv;
} run_t;

/** What block `index` of a rank has as word i. */
static uint64_t word_of(uint32_t rank, uint32_t index, size_t i)
{
    return ((uint64_t)rank << 32 | index) * 1000003u + i;
}

/** Of an edge, so that both ends know it. */
static size_t length_of(const run_t *run, uint32_t source, uint32_t index)
{
    return word_of(source, index, 7) % (run->words + 1);
}

static void fill(const run_t *run)
{
    uint32_t blocks = run->neighborhood->targets + 1;
    for (uint32_t block = 0; block < blocks; block++) {
        for (size_t i = 0; i < run->words; i++) {
            run->send[block * run->words + i] =
                word_of(run->job->rank, block, i);
        }
    }
    for (size_t i = 0; i < (run->neighborhood->sources + 1) * run->words; i++) {
        run->recv[i] = UINT64_MAX;
    }
}

/** @param same all targets have got block 0 */
static void check_blocks(const run_t *run, bool same, bool varied)
{
    for (uint32_t s = 0; s < run->neighborhood->sources; s++) {
        const ctn_edge_t *edge = &run->neighborhood->source[s];
        uint32_t from = (uint32_t)edge->rank;
        uint32_t index = same ? 0 : edge->peer_index;
        size_t length = varied ? length_of(run, from, index) : run->words;
        length = edge->rank == CATENA_PROC_NULL ? 0 : length;
        for (size_t i = 0; i < run->words; i++) {
            uint64_t word = i < length ? word_of(from, index, i) : UINT64_MAX;
            JOB_CHECK(run->job, run->recv[s * run->words + i] == word);
        }
    }
}

static void run_alltoall(const run_t *run)
{
    fill(run);
    JOB_CHECK(run->job,
              catena_neighbor_alltoall(run->send, run->words, CATENA_UINT64,
                                       run->recv, run->words, CATENA_UINT64,
                                       run->neighborhood) == CATENA_OK);
    check_blocks(run, false, false);
}

static void run_gather(const run_t *run)
{
    fill(run);
    JOB_CHECK(run->job,
              catena_neighbor_gather(run->send, run->words, CATENA_UINT64,
                                     run->recv, run->words, CATENA_UINT64,
                                     run->neighborhood) == CATENA_OK);
    check_blocks(run, true, false);
}

static void run_alltoallv(const run_t *run)
{
    const catena_neighborhood_t *n = run->neighborhood;
    size_t *send_counts = calloc(n->targets + 1u, sizeof(size_t));
    size_t *recv_counts = calloc(n->sources + 1u, sizeof(size_t));
    ptrdiff_t *at = calloc(n->targets + n->sources + 1u, sizeof(ptrdiff_t));
    for (uint32_t i = 0; i < n->targets + n->sources; i++) {
        at[i] = (ptrdiff_t)(i * run->words);
    }
    for (uint32_t i = 0; i < n->targets; i++) {
        send_counts[i] = length_of(run, run->job->rank, i);
    }
    for (uint32_t i = 0; i < n->sources; i++) {
        recv_counts[i] = length_of(run, (uint32_t)n->source[i].rank,
                                   n->source[i].peer_index);
    }
    fill(run);
    JOB_CHECK(run->job, catena_neighbor_alltoallv(
                            run->send, send_counts, at, CATENA_UINT64,
                            run->recv, recv_counts, at, CATENA_UINT64,
                            run->neighborhood) == CATENA_OK);
    check_blocks(run, false, true);
    free(send_counts);
    free(recv_counts);
    free(at);
}

static void run_reduce(const run_t *run)
{
    const catena_neighborhood_t *n = run->neighborhood;
    uint32_t sources = 0;
    fill(run);
    JOB_CHECK(run->job, catena_neighbor_reduce(run->send, run->recv, run->words,
                                               CATENA_UINT64, CATENA_SUM,
                                               run->neighborhood) == CATENA_OK);
    for (uint32_t s = 0; s < n->sources; s++) {
        sources += n->source[s].rank != CATENA_PROC_NULL;
    }
    for (size_t i = 0; i < run->words && sources > 0; i++) {
        uint64_t sum = 0;
        for (uint32_t s = 0; s < n->sources; s++) {
            int from = n->source[s].rank;
            sum += from != CATENA_PROC_NULL ? word_of((uint32_t)from, 0, i) : 0;
        }
        JOB_CHECK(run->job, run->recv[i] == sum);
    }
}

void plan_run(job_t *job, catena_neighborhood_t *neighborhood, size_t words)
{
    run_t run = {.job = job, .neighborhood = neighborhood, .words = words};
    run.send = calloc((neighborhood->targets + 1u) * words + 1, 8);
    run.recv = calloc((neighborhood->sources + 1u) * words + 1, 8);
    for (int time = 0; time < 3; time++) {
        run_alltoall(&run);
        run_gather(&run);
        run_alltoallv(&run);
        run_reduce(&run);
    }
    free(run.send);
    free(run.recv);
}
