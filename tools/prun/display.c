/* The map of the job, and the ranks' bindings. */
#include "display.h"
#include "bind.h"

#include <stdlib.h>
#include <string.h>

static void prun_display_bindings(const struct prun_job *job)
{
    const struct prun_layout *layout = job->layout;
    for (uint32_t rank = 0; rank < layout->np; rank++) {
        const char *node = layout->nodes[layout->node_of[rank]].name;
        char *binding = prun_binding_text(job, rank);
        if (binding)
            prun_error("rank %u on %s is bound to %s", rank, node, binding);
        else
            prun_error("rank %u on %s is not bound", rank, node);
        free(binding);
    }
}

/* The command of a program, on one line. */
static char *prun_command_text(const struct prun_app *app)
{
    struct prun_buffer text = {0};
    for (char **next = app->argv; *next; next++) {
        prun_buffer_append(&text, " ", next == app->argv ? 0 : 1);
        prun_buffer_append(&text, *next, strlen(*next));
    }
    prun_buffer_append(&text, "", 1);
    return text.data;
}

static void prun_display_summary(const struct prun_job *job)
{
    const struct prun_options *options = job->options;
    char *cpus = prun_usable_text(job);
    prun_error("%u rank%s of %u program%s on %u node%s, on CPUs %s; "
               "CATENA_HOST_RANKS=%u",
               options->np, options->np == 1 ? "" : "s", options->app_count,
               options->app_count == 1 ? "" : "s", job->layout->node_count,
               job->layout->node_count == 1 ? "" : "s", cpus,
               prun_bindings_host_ranks(job));
    free(cpus);
    for (uint32_t i = 0; i < options->app_count; i++) {
        const struct prun_app *app = &options->apps[i];
        char *command = prun_command_text(app);
        prun_error("program %u, %u rank%s: %s", i, app->np,
                   app->np == 1 ? "" : "s", command);
        free(command);
    }
}

static void prun_display_map(const struct prun_job *job)
{
    for (uint32_t n = 0; n < job->layout->node_count; n++) {
        const struct prun_node *node = &job->layout->nodes[n];
        prun_error("node %s, %u rank%s:", node->name, node->size,
                   node->size == 1 ? "" : "s");
        for (uint32_t i = 0; i < node->size; i++) {
            uint32_t rank = node->ranks[i];
            const struct prun_app *app = prun_app_of(job->options, rank);
            char *binding = prun_binding_text(job, rank);
            prun_error("  rank %u, program %u, %s", rank,
                       (uint32_t)(app - job->options->apps),
                       binding ? binding : "not bound");
            free(binding);
        }
    }
}

void prun_display(const struct prun_job *job)
{
    if (job->options->display_map || job->options->verbose)
        prun_display_summary(job);
    if (job->options->display_map)
        prun_display_map(job);
    if (job->options->report_bindings)
        prun_display_bindings(job);
}
