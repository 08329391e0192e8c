/* Checks combinations of options. */

#include <errno.h>
#include <string.h>

#include "motivation/motivation.h"
#include "options/options.h"

static bool has_mode(const struct bench_options *options, enum bench_mode mode)
{
    for (size_t m = 0; m < options->mode_count; m++)
        if (options->modes[m] == mode)
            return true;
    return false;
}

/* `heap` measures no collective. It takes only -i, --csv and --json. */
static error_t check_heap(struct parse *parse)
{
    struct bench_options *options = parse->options;

    if (parse->sized || options->check || options->algorithm_count > 0 ||
        options->leaders != NULL || options->in_place || options->flag ||
        options->mode_count > 0 || options->warmup != BENCH_AUTO ||
        options->full || options->buffers != BENCH_HEAP || options->simulated)
        return bench_refuse(
            parse, "heap: expected no options but -i, --csv and --json");
    return 0;
}

/* The benchmarks of motivation/ measure no collective. They run on real ranks
 * only. */
static error_t check_figure(struct parse *parse,
                            const struct bench_figure *figure)
{
    const struct bench_options *options = parse->options;
    const char *wrong;

    if (options->algorithm_count > 0 || options->in_place || options->flag ||
        options->mode_count > 0 || options->full ||
        options->buffers != BENCH_HEAP || options->simulated ||
        (options->leaders != NULL && !figure->leaders))
        return bench_refuse(parse,
                            "%s: expected no options but -m, -i, -x, -c%s, "
                            "--csv and --json",
                            figure->name, figure->leaders ? ", --leaders" : "");
    if (options->min == 0 || options->max == 0 ||
        (options->max != BENCH_AUTO && options->max > FIGURE_BYTES_MOST) ||
        (options->min != BENCH_AUTO && options->min > FIGURE_BYTES_MOST))
        return bench_refuse(parse, "%s: -m: expected 1 byte to 64m",
                            figure->name);
    wrong = figure->check != NULL ? figure->check(options) : NULL;
    return wrong == NULL ? 0
                         : bench_refuse(parse, "%s: %s, found \"%s\"",
                                        figure->name, wrong, options->leaders);
}

/* --sim and --model, and the options that need them. */
static error_t check_simulated(struct parse *parse)
{
    const struct bench_options *options = parse->options;

    if (options->model != NULL &&
        (options->simulated || options->calibrate != NULL))
        return bench_refuse(parse,
                            "--model: expected neither --sim nor --calibrate "
                            "with it");
    if (!options->simulated && options->model == NULL) {
        if (parse->sim_only)
            return bench_refuse(parse,
                                "--nodes, --ppn, --cores, --node-overhead, "
                                "--ports, --seed, --jitter, "
                                "--any-order, --sizes-only and --cost-only "
                                "expect --sim MACHINE");
        return 0;
    }
    if (options->sim.nodes == 0 || options->sim.ppn == 0)
        return bench_refuse(parse, "%s: expected --nodes M and --ppn P with it",
                            options->simulated ? "--sim" : "--model");
    if ((long long)options->sim.nodes * options->sim.ppn > 4194304)
        return bench_refuse(parse, "expected at most 4194304 ranks, found %lld",
                            (long long)options->sim.nodes * options->sim.ppn);
    if (options->simulated && (options->flag || options->calibrate != NULL))
        return bench_refuse(parse,
                            "--sim: expected neither --flag nor --calibrate "
                            "with it");
    if (options->check && options->sim.payload != CATENA_SIM_CARRY)
        return bench_refuse(parse, "-c: expected neither --sizes-only nor "
                                   "--cost-only with it: nothing arrives");
    return 0;
}

/* --calibrate accepts no collective; --model accepts those that have formulas,
 * by default alltoall. */
static error_t check_without_collective(struct parse *parse)
{
    const struct bench_options *options = parse->options;

    if (options->calibrate != NULL && options->name != NULL)
        return bench_refuse(parse,
                            "--calibrate: expected no collective, found "
                            "\"%s\"",
                            options->name);
    if (options->model != NULL && options->name != NULL &&
        !bench_has_formula(options->name))
        return bench_refuse(parse,
                            "--model: expected alltoall, scatter or "
                            "gather_scatter, found \"%s\"",
                            options->name);
    return 0;
}

/* --tune takes only -m, -i, -x and --neighborhood, and a collective that has
 * rules. */
static error_t check_tune(struct parse *parse)
{
    const struct bench_options *options = parse->options;
    const char *path = options->tune;
    size_t length = strlen(path);

    if (options->name != NULL && !bench_tunes(options->name))
        return bench_refuse(parse,
                            "--tune: expected a collective with rules of its "
                            "own, such as bcast, or none, found \"%s\"",
                            options->name);
    if (options->check || options->in_place || options->hierarchy_count > 0 ||
        options->algorithm_count > 0 || options->leaders != NULL ||
        options->flag || options->mode_count > 0 ||
        options->format != BENCH_TABLE || options->full ||
        options->buffers != BENCH_HEAP || options->simulated ||
        options->model != NULL || options->calibrate != NULL)
        return bench_refuse(parse,
                            "--tune: expected no options but -m, -i, -x and "
                            "--neighborhood");
    if (options->min == 0 || options->max == 0)
        return bench_refuse(parse, "--tune: -m: expected 1 byte or more");
    /* CATENA_TUNING takes other texts for the name of a tuning that ships. */
    if (strchr(path, '/') == NULL &&
        (length <= 5 || strcmp(path + length - 5, ".json") != 0))
        return bench_refuse(
            parse,
            "--tune: expected a path with a '/' or one that ends in "
            ".json, found \"%s\"",
            path);
    return 0;
}

/* Options that only split takes. */
static error_t check_split(struct parse *parse)
{
    const struct bench_options *options = parse->options;
    const struct bench_split_options *split = &options->split;
    const char *name = options->name != NULL ? options->name : "";

    if (strcmp(name, bench_split.name) == 0 ||
        (split->groups == NULL && split->color == NULL && split->key == NULL &&
         !split->no_split && !split->no_reorder))
        return 0;
    return bench_refuse(
        parse,
        "--groups, --color, --key, --no-split and --no-reorder: "
        "expected split, found \"%s\"",
        name);
}

/* A reduction's operation must take its type, and sizes must be multiples of
 * the element size. */
static error_t check_elements(struct parse *parse)
{
    const struct bench_options *options = parse->options;
    size_t element = options->type->bytes;
    char names[256];

    bench_list_types(names, sizeof(names), options->op);
    if (!bench_takes(options->op, options->type))
        return bench_refuse(parse,
                            "--type: expected one that %s takes (%s), found "
                            "\"%s\"",
                            options->op->name, names, options->type->name);
    if ((options->min != BENCH_AUTO && options->min % element != 0) ||
        (options->min == BENCH_AUTO && options->max < element))
        return bench_refuse(parse,
                            "-m: expected whole elements of %zu bytes (%s)",
                            element, options->type->name);
    return 0;
}

static error_t check_overlap(struct parse *parse,
                             const struct bench_collective *collective)
{
    struct bench_options *options = parse->options;

    if (parse->tested && !options->overlap)
        return bench_refuse(parse, "--test: expected --overlap with it");
    if (!options->overlap)
        return 0;
    if (collective == NULL || collective->start == NULL)
        return bench_refuse(parse, "--overlap: expected a collective with a "
                                   "nonblocking call");
    if (options->flag || options->full)
        return bench_refuse(parse,
                            "--overlap: expected neither --flag nor -f with "
                            "it");
    if (has_mode(options, BENCH_BLOCKING))
        return bench_refuse(parse, "--overlap: expected calls that do not "
                                   "block, found --blocking");
    if (options->mode_count == 0)
        options->modes[options->mode_count++] = BENCH_NONBLOCKING;
    return 0;
}

/* Options that only some collectives take. `collective`: the measured one;
 * NULL: another benchmark. */
static error_t check_traits(struct parse *parse,
                            const struct bench_collective *collective)
{
    const struct bench_options *options = parse->options;
    size_t algorithms = options->algorithm_count;
    size_t hierarchies = options->hierarchy_count;
    size_t count = (algorithms > 0 ? algorithms : 1) *
                   (hierarchies > 0 ? hierarchies : 1) *
                   (options->mode_count > 0 ? options->mode_count : 1);

    if (hierarchies > 0 &&
        (collective == NULL || collective->hierarchy == NULL))
        return bench_refuse(parse,
                            "--hierarchy: expected a hierarchical collective");
    if (parse->typed &&
        (collective == NULL || !bench_has_trait(collective, CTN_REDUCES)))
        return bench_refuse(parse, "--type and --op: expected a reduction");
    if (parse->rooted &&
        (collective == NULL || !bench_has_trait(collective, CTN_ROOT_ARGUMENT)))
        return bench_refuse(parse, "--root: expected bcast, reduce, gather or "
                                   "scatter");
    if (count > BENCH_MAX_VARIANTS)
        return bench_refuse(parse,
                            "expected at most %d algorithms with hierarchies "
                            "and modes, found %zu",
                            (int)BENCH_MAX_VARIANTS, count);
    if (collective != NULL && bench_has_trait(collective, CTN_REDUCES) &&
        check_elements(parse) != 0)
        return EINVAL;
    return check_overlap(parse, collective);
}

/* Refuse options that mean nothing for this collective. */
static error_t check_collective(struct parse *parse,
                                const struct bench_collective *collective)
{
    const struct bench_options *options = parse->options;
    const char *wrong, *found = NULL;

    if (parse->sized && collective->lay_out == NULL)
        return bench_refuse(parse, "%s has no message sizes (-m)",
                            collective->name);
    if (options->in_place && collective->lay_out == NULL)
        return bench_refuse(parse, "%s has no buffers (--in-place)",
                            collective->name);
    if (options->buffers != BENCH_HEAP && collective->lay_out == NULL)
        return bench_refuse(parse, "%s has no buffers (--buffers)",
                            collective->name);
    if (options->algorithm_count > 0 && collective->algorithm_names == NULL)
        return bench_refuse(parse, "%s has no choice of algorithms (-a)",
                            collective->name);
    if (options->leaders != NULL && collective->leaders == NULL)
        return bench_refuse(parse, "%s has no leaders (--leaders)",
                            collective->name);
    if (options->check && collective->verify == NULL)
        return bench_refuse(parse, "%s has nothing to check (-c)",
                            collective->name);
    if ((has_mode(options, BENCH_NONBLOCKING) && collective->start == NULL) ||
        (has_mode(options, BENCH_PERSISTENT) && collective->init == NULL))
        return bench_refuse(parse, "%s has the blocking call only",
                            collective->name);
    if (options->simulated && collective == &bench_flag)
        return bench_refuse(parse, "flag: expected real ranks, found --sim");
    if (options->flag && collective != &bench_barrier)
        return bench_refuse(parse, "--flag: expected barrier, found \"%s\"",
                            collective->name);
    wrong =
        collective->check != NULL ? collective->check(options, &found) : NULL;
    return wrong == NULL ? 0
                         : bench_refuse(parse, "%s: %s, found \"%s\"",
                                        collective->name, wrong, found);
}

error_t bench_check_options(struct parse *parse)
{
    const struct bench_options *options = parse->options;
    const struct bench_collective *collective =
        options->name != NULL ? bench_find(options->name) : NULL;
    char names[512];

    if (check_simulated(parse) != 0 || check_split(parse) != 0 ||
        check_traits(parse, collective) != 0 ||
        bench_check_neighbors(parse, collective) != 0)
        return EINVAL;
    if (options->tune != NULL)
        return check_tune(parse);
    if (options->model != NULL || options->calibrate != NULL)
        return check_without_collective(parse);
    bench_list_names(names, sizeof(names), false);
    if (options->name == NULL)
        return bench_refuse(parse, "expected a collective: %s", names);
    if (strcmp(options->name, "heap") == 0)
        return check_heap(parse);
    if (bench_find_figure(options->name) != NULL)
        return check_figure(parse, bench_find_figure(options->name));
    if (collective == NULL && bench_nearest(options->name) != NULL)
        return bench_refuse(parse, "no collective \"%s\"; did you mean \"%s\"?",
                            options->name, bench_nearest(options->name));
    if (collective == NULL)
        return bench_refuse(parse, "expected a collective (%s), found \"%s\"",
                            names, options->name);
    return check_collective(parse, collective);
}
