/* The variants compared in one run. */

#include "variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of measured parts of each variant. */
static int parts(const struct bench_options *options)
{
    return options->overlap ? BENCH_PARTS : 1;
}

/* The number of values of an option that are compared. Without the option there
 * is one, NULL: the library selects. */
static size_t choices(size_t given)
{
    return given > 0 ? given : 1;
}

/* The name ALGORITHM@HIERARCHY/MODE, without those that are NULL. */
static char *join(struct bench *bench, const char *algorithm,
                  const char *hierarchy, const char *mode)
{
    const char *fields[] = {algorithm, hierarchy, mode};
    static const char marks[] = "@@/";
    size_t bytes = 1, used = 0;
    char *name;

    for (int i = 0; i < 3; i++)
        bytes += fields[i] != NULL ? strlen(fields[i]) + 1 : 0;
    name = bench_alloc(bench, 1, bytes);
    for (int i = 0; i < 3; i++) {
        if (fields[i] != NULL && used > 0)
            name[used++] = marks[i];
        if (fields[i] != NULL)
            used +=
                (size_t)snprintf(name + used, bytes - used, "%s", fields[i]);
    }
    return name;
}

/* Name a variant after what the options choose for it; without a choice
 * "default", or the collective's name if it has no algorithms. */
static void name_variant(struct bench *bench, struct bench_variant *variant)
{
    static const char *const modes[] = {"blocking", "nonblocking",
                                        "persistent"};
    bool named =
        bench->options->mode_count > 1 && variant->collective->batch == NULL;

    if (variant->algorithm != NULL || variant->hierarchy != NULL || named)
        variant->name = variant->joined =
            join(bench, variant->algorithm, variant->hierarchy,
                 named ? modes[variant->mode] : NULL);
    else
        variant->name = variant->collective->algorithm_names != NULL
                            ? "default"
                            : variant->collective->name;
}

/* Add a part of the variant `which` to the run, and prepare it. */
static void add_part(struct bench_run *run, const struct bench_variant *which,
                     enum bench_part part)
{
    struct bench *bench = run->bench;
    struct bench_variant *variant = &run->variants[run->count++];
    catena_status_t status;

    *variant = *which;
    variant->part = part;
    variant->whole = variant - part;
    variant->call = (struct bench_call){.bench = bench,
                                        .group = bench->world,
                                        .rank = catena_group_rank(bench->world),
                                        .size = catena_group_size(bench->world),
                                        .algorithm = which->algorithm};
    name_variant(bench, variant);
    if (variant->collective->prepare == NULL)
        return;
    status = variant->collective->prepare(&variant->call);
    if (status != CATENA_OK)
        bench_die(bench, variant->collective->name, status);
}

static void add(struct bench_run *run, const struct bench_variant *which)
{
    for (int part = 0; part < parts(run->bench->options); part++)
        add_part(run, which, (enum bench_part)part);
}

void bench_variants_open(struct bench_run *run,
                         const struct bench_collective *collective)
{
    const struct bench_options *options = run->bench->options;
    size_t algorithms = choices(options->algorithm_count);
    size_t hierarchies = choices(options->hierarchy_count);
    size_t modes = choices(options->mode_count);
    size_t combinations = algorithms * hierarchies * modes;
    size_t count = combinations + (options->flag ? 1 : 0);

    /* No more memory than needed: every simulated rank has this array. */
    run->variants = bench_alloc(run->bench, count * (size_t)parts(options),
                                sizeof(*run->variants));
    for (size_t w = 0; w < combinations; w++)
        add(run, &(struct bench_variant){
                     .algorithm = options->algorithms[w / modes / hierarchies],
                     .hierarchy = options->hierarchies[w / modes % hierarchies],
                     .mode = options->modes[w % modes],
                     .collective = collective});
    if (options->flag)
        add(run, &(struct bench_variant){.collective = &bench_flag});
}

void bench_variants_close(struct bench_run *run)
{
    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];

        if (variant->collective->release != NULL)
            variant->collective->release(&variant->call);
        free(variant->joined);
    }
    free(run->variants);
}

/* Whether the library accepts the value of a setting; else rank 0 prints why
 * not. */
static bool known(struct bench *bench, const char *option, const char *name,
                  const char *value, const char *expected)
{
    catena_status_t status = catena_group_set(bench->world, name, value);

    if (status == CATENA_OK)
        return true;
    if (bench->place.rank == 0)
        fprintf(stderr, "catena-bench: %s: expected %s, found \"%s\": %s\n",
                option, expected, value, catena_status_string(status));
    return false;
}

bool bench_settings_known(struct bench *bench,
                          const struct bench_collective *collective)
{
    const struct bench_options *options = bench->options;

    for (size_t i = 0;
         collective->algorithm != NULL && i < options->algorithm_count; i++)
        if (!known(bench, "-a", collective->algorithm, options->algorithms[i],
                   collective->algorithm_names))
            return false;
    for (size_t i = 0; i < options->hierarchy_count; i++)
        if (!known(bench, "--hierarchy", collective->hierarchy,
                   options->hierarchies[i], "RULE:COMPONENT[,...], or auto"))
            return false;
    return options->leaders == NULL ||
           known(bench, "--leaders", collective->leaders, options->leaders,
                 "a number per node, or auto");
}
