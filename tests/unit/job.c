#include "job.h"

#include <catena/catena.h>
#include <stdlib.h>

typedef struct run {
    job_body_t body;
    uint64_t seed;
    bool first; /* what ran here was rank 0 */
} run_t;

static void note(void *owner, const char *text)
{
    job_t *job = owner;
    if (job->errors++ < 3) {
        fprintf(stderr, "rank %u of %u, seed %llu: %s\n", job->rank, job->size,
                (unsigned long long)job->seed, text);
    }
}

oracle_t job_oracle(job_t *job)
{
    return (oracle_t){job->context, note, job};
}

void job_take_heap(job_t *job, job_hoard_t *hoard)
{
    enum { CRUMB = 16384, MOST = sizeof(hoard->block) / sizeof(void *) };
    ctn_log_t *log = &job->context->log;
    catena_log_level_t level = log->level;
    hoard->count = 0;
    log->level = CATENA_LOG_ERROR; /* that the heap is full is meant to be so */
    for (size_t bytes = (size_t)1 << 40; bytes >= CRUMB; bytes /= 2) {
        void *block = NULL;
        while (hoard->count < MOST &&
               (block = ctn_heap_alloc(job->exec->heap, 64, bytes)) != NULL) {
            hoard->block[hoard->count++] = block;
        }
    }
    log->level = level;
}

void job_give_heap(job_t *job, job_hoard_t *hoard)
{
    while (hoard->count > 0) {
        ctn_heap_free(job->exec->heap, hoard->block[--hoard->count]);
    }
}

static int run_rank(const catena_config_t *config, void *argument)
{
    run_t *run = argument;
    job_t job = {.seed = run->seed};
    if (catena_init(config, &job.context) != CATENA_OK) {
        return 1;
    }
    job.exec = job.context->exec;
    job.chain = &job.context->world->chain;
    job.rank = job.chain->place.rank;
    job.size = job.chain->place.size;
    run->first = job.rank == 0;
    run->body(&job);
    if (catena_finalize(&job.context) != CATENA_OK) {
        return 1;
    }
    return job.errors > 0;
}

/** So many nodes, or any number (0), of any sizes, their ranks side by side,
 * dealt or mixed. */
static void draw_layout(uint64_t *random, catena_sim_params_t *params,
                        int nodes, int *node_of)
{
    static const char *const machines[] = {"hpc-a",  "hpc-b",  "dawn",
                                           "sierra", "jaguar", "smoky"};
    uint64_t sort = ctn_random(random) % 3;
    int ranks = params->ranks;
    int any = (int)(ctn_random(random) % (unsigned)ranks) + 1;
    nodes = nodes > 0 ? nodes : any;
    for (int r = 0; r < ranks; r++) {
        node_of[r] = sort == 0   ? (int)((long long)r * nodes / ranks)
                     : sort == 1 ? r % nodes
                     : r < nodes ? r
                                 : (int)(ctn_random(random) % (unsigned)nodes);
    }
    params->machine = machines[ctn_random(random) % 6];
    params->nodes = nodes;
    params->node_of = node_of;
}

static catena_status_t simulate(uint32_t ranks, int nodes, uint64_t seed,
                                uint64_t event, job_body_t body,
                                catena_sim_report_t *report)
{
    run_t run = {.body = body, .seed = seed};
    uint64_t random = seed * 1000 + ranks;
    int *node_of = malloc(ranks * sizeof(*node_of));
    if (node_of == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    /* Tests that take all of the heap need not go through terabytes. */
    static const char *const settings[] = {"HEAP_SIZE=1g", NULL};
    bool reorder = ctn_random(&random) % 4 != 0;
    catena_sim_kill_t kill = {.rank = (int)(ctn_random(&random) % ranks),
                              .event = event};
    catena_sim_params_t params = {
        .size = sizeof(params),
        .settings = settings,
        .ranks = (int)ranks,
        .seed = seed,
        .jitter = 0.5,
        .reorder = reorder,
        .kills = &kill,
        .kill_count = event > 0,
        .stack_bytes = JOB_STACK_BYTES,
    };
    draw_layout(&random, &params, nodes, node_of);
    catena_status_t status = catena_sim_run(&params, run_rank, &run, report);
    free(node_of);
    return status;
}

int job_simulate_nodes(uint32_t ranks, int nodes, uint64_t seed,
                       job_body_t body)
{
    catena_sim_report_t report = {.size = sizeof(report)};
    catena_status_t status = simulate(ranks, nodes, seed, 0, body, &report);
    return status == CATENA_OK ? report.failed_ranks : -1;
}

int job_simulate_on(const catena_sim_params_t *params, job_body_t body)
{
    run_t run = {.body = body, .seed = params->seed};
    catena_sim_report_t report = {.size = sizeof(report)};
    catena_status_t status = catena_sim_run(params, run_rank, &run, &report);
    return status == CATENA_OK ? report.failed_ranks : -1;
}

int job_simulate(uint32_t ranks, uint64_t seed, job_body_t body)
{
    return job_simulate_nodes(ranks, 0, seed, body);
}

int job_simulate_node(uint32_t ranks, uint64_t seed, job_body_t body)
{
    return job_simulate_nodes(ranks, 1, seed, body);
}

void job_simulate_death(uint32_t ranks, uint64_t seed, uint64_t event,
                        job_body_t body)
{
    (void)simulate(ranks, 0, seed, event, body, NULL);
}

int job_rank(const char *name, job_body_t body)
{
    run_t run = {.body = body, .seed = 1};
    int bad = run_rank(NULL, &run);
    if (run.first) {
        printf("%sok - %s\n", bad == 0 ? "" : "not ", name);
    }
    return bad;
}
