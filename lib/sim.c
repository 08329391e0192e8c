/* catena_sim_run: checks the arguments, reads the machine, and runs the program
 * of each rank in the simulator. */

#include <stdlib.h>

#include "boot/boot.h"
#include "context.h"
#include "core/clock.h"
#include "core/refuse.h"
#include "core/sized.h"
#include "model/machine.h"
#include "transports/sim/sim.h"

enum { RANKS_MAX = 1 << 22 };
static const size_t STACK_MAX = (size_t)1 << 30;  /* bytes */
static const size_t MEMORY_MAX = (size_t)1 << 46; /* bytes */

/** What all ranks of a run share. */
typedef struct sim_run {
    const catena_sim_params_t *params;
    catena_sim_program_t program;
    void *argument; /* of the program */
    int failed;     /* ranks whose program returned another code than 0 */
    int code;       /* of the first of them */
} sim_run_t;

/** Run the program as one rank. */
static void run_rank(ctn_sim_rank_t *rank, void *argument)
{
    sim_run_t *run = argument;
    catena_config_t config = {
        .size = sizeof(config), .settings = run->params->settings, .sim = rank};
    int code = run->program(&config, run->argument);
    if (code != 0 && run->failed++ == 0) {
        run->code = code;
    }
}

/* ---- arguments ---- */

/** Refuse a parameter. */
#define REFUSE(...)                                                            \
    ctn_refuse(NULL, CATENA_ERR_ARG, "catena_sim_run", __VA_ARGS__)

/** Check the numbers that do not depend on the layout. */
static catena_status_t check_values(const catena_sim_params_t *params)
{
    const struct {
        const char *name;
        double value;
        double most;
    } numbers[] = {
        {"jitter", params->jitter, 1000},
        {"node_overhead_s", params->node_overhead_s, 1},
        {"ports", params->ports, 1024},
        {"stack_bytes", (double)params->stack_bytes, (double)STACK_MAX},
        {"memory_bytes", (double)params->memory_bytes, (double)MEMORY_MAX},
        {"payload", params->payload, CATENA_SIM_COST},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (!(numbers[i].value >= 0 && numbers[i].value <= numbers[i].most)) {
            return REFUSE("%s is %.12g; expected 0 to %.12g", numbers[i].name,
                          numbers[i].value, numbers[i].most);
        }
    }
    if ((params->breaks & ~(CATENA_SIM_BREAK_WORDS | CATENA_SIM_BREAK_DATA)) !=
            0 ||
        (params->breaks != 0 && !params->reorder)) {
        return REFUSE("breaks is %#x; expected a mask of "
                      "CATENA_SIM_BREAK_..., and reorder",
                      params->breaks);
    }
    return CATENA_OK;
}

/** Check where the ranks are, and set the numbers of ranks and nodes. Each node
 * has ppn consecutive ranks, or those that node_of lists for it; no node is
 * empty. */
static catena_status_t check_layout(const catena_sim_params_t *params,
                                    ctn_sim_setup_t *setup)
{
    long long ranks = params->node_of != NULL
                          ? params->ranks
                          : (long long)params->nodes * params->ppn;
    if (params->nodes < 1 || ranks < 1 || ranks > RANKS_MAX ||
        params->nodes > ranks || (params->node_of == NULL && params->ppn < 1)) {
        return REFUSE("%d nodes and %lld ranks; expected at least one rank "
                      "on each node, and 1 to %d ranks",
                      params->nodes, ranks, RANKS_MAX);
    }
    setup->ranks = (uint32_t)ranks;
    setup->nodes = (uint32_t)params->nodes;
    if (params->deaths < 0 || (params->deaths > 0 && params->choose == NULL)) {
        return REFUSE("deaths is %d; expected 0, or more with `choose`",
                      params->deaths);
    }
    if (params->kills == NULL && params->kill_count > 0) {
        return REFUSE("kills is NULL and kill_count %zu", params->kill_count);
    }
    for (size_t i = 0; i < params->kill_count; i++) {
        if (params->kills[i].rank < 0 || params->kills[i].rank >= ranks) {
            return REFUSE("kills[%zu].rank is %d; expected 0 to %lld", i,
                          params->kills[i].rank, ranks - 1);
        }
    }
    if (params->node_of == NULL) {
        return CATENA_OK;
    }
    unsigned char *used = calloc((size_t)params->nodes, 1); /* by node */
    if (used == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    long long empty = params->nodes;
    for (long long r = 0; r < ranks; r++) {
        int node = params->node_of[r];
        if (node < 0 || node >= params->nodes) {
            free(used);
            return REFUSE("rank %lld is on node %d; expected 0 to %d", r, node,
                          params->nodes - 1);
        }
        empty -= used[node] == 0;
        used[node] = 1;
    }
    free(used);
    return empty > 0
               ? REFUSE("%lld of %d nodes have no rank", empty, params->nodes)
               : CATENA_OK;
}

/** Check the list of cores on which to place ranks: cores of the machine, each
 * at most once. */
static catena_status_t check_cores(const catena_sim_params_t *params,
                                   const catena_machine_t *machine)
{
    if (params->cores == NULL) {
        return CATENA_OK;
    }
    if (machine->shared_cores > 0 || params->core_count < 1) {
        return REFUSE("%d cores for %s's ranks; expected at least one, and "
                      "nodes with cores of their own",
                      params->core_count, machine->name);
    }
    for (int i = 0; i < params->core_count; i++) {
        int core = params->cores[i];
        bool again = false;
        for (int j = 0; j < i; j++) {
            again = again || params->cores[j] == core;
        }
        if (again || core < 0 || (uint32_t)core >= machine->cores) {
            return REFUSE("core %d%s; expected cores of %s, 0 to %u, each once",
                          core, again ? " again" : "", machine->name,
                          machine->cores - 1);
        }
    }
    return CATENA_OK;
}

/* ---- running ---- */

/** Run a checked job. */
static catena_status_t go(const ctn_sim_setup_t *setup, sim_run_t *run,
                          catena_sim_report_t *report, bool *began)
{
    ctn_sim_t *sim;
    uint64_t begin = ctn_clock_now_ns();
    catena_status_t status = ctn_sim_create(setup, &sim);
    if (status != CATENA_OK) {
        return status;
    }
    bool simulates = ctn_boot_set_simulates(true);
    status = ctn_sim_go(sim, run_rank, run);
    (void)ctn_boot_set_simulates(simulates);
    *report = (catena_sim_report_t){.failed_ranks = run->failed,
                                    .exit_code = run->code};
    ctn_sim_report(sim, report);
    report->wall_s = (double)(ctn_clock_now_ns() - begin) * 1e-9;
    *began = true;
    ctn_sim_destroy(sim);
    return status;
}

/** Check the arguments and run.
 * @param[out] began the run began, so `report` is filled in */
static catena_status_t run_job(const catena_sim_params_t *params,
                               catena_sim_program_t program, void *argument,
                               catena_sim_report_t *report, bool *began)
{
    ctn_sim_setup_t setup = {.params = params};
    catena_status_t status = check_values(params);
    if (status == CATENA_OK) {
        status = check_layout(params, &setup);
    }
    catena_machine_t *machine = NULL;
    if (status == CATENA_OK) {
        status = ctn_machine_read(NULL, params->machine, &machine);
    }
    if (status == CATENA_OK) {
        status = check_cores(params, machine);
    }
    if (status == CATENA_OK) {
        setup.machine = machine;
        sim_run_t run = {
            .params = params, .program = program, .argument = argument};
        status = go(&setup, &run, report, began);
    }
    ctn_machine_free(machine);
    return status;
}

static const ctn_sized_t params_struct =
    CTN_SIZED(catena_sim_params_t, settings);
static const ctn_sized_t report_struct =
    CTN_SIZED(catena_sim_report_t, exit_code);

catena_status_t catena_sim_run(const catena_sim_params_t *params,
                               catena_sim_program_t program, void *argument,
                               catena_sim_report_t *report)
{
    if (params == NULL || program == NULL) {
        return ctn_refuse_null(NULL, __func__,
                               params == NULL ? "params" : "program");
    }
    catena_sim_params_t own_params;
    catena_sim_report_t own_report;
    catena_status_t status =
        ctn_sized_read(__func__, NULL, &params_struct, params, &own_params);
    if (status == CATENA_OK && own_params.machine == NULL) {
        status = ctn_refuse_null(NULL, __func__, "params.machine");
    }
    if (status == CATENA_OK && report != NULL) {
        status = ctn_sized_check(__func__, NULL, &report_struct, report);
    }
    if (status != CATENA_OK) {
        return status;
    }
    bool began = false;
    status = run_job(&own_params, program, argument, &own_report, &began);
    if (began && report != NULL) {
        (void)ctn_sized_write(__func__, NULL, &report_struct, &own_report,
                              report);
    }
    return status;
}

static const ctn_sized_t sim_stats_struct =
    CTN_SIZED(catena_sim_stats_t, node_messages);

catena_status_t catena_sim_get_stats(const catena_context_t *context,
                                     catena_sim_stats_t *stats)
{
    if (CTN_UNUSABLE(context, CTN_CONTEXT) || stats == NULL) {
        return CTN_REFUSE_NULL(ctn_log_of(context), context, stats);
    }
    if (context->sim == NULL) {
        return ctn_refuse(&context->log, CATENA_ERR_ARG, __func__,
                          "the context is not simulated; expected one of a "
                          "program that catena_sim_run runs");
    }
    catena_sim_stats_t own;
    ctn_sim_rank_stats(context->sim, &own);
    return ctn_sized_write(__func__, &context->log, &sim_stats_struct, &own,
                           stats);
}
