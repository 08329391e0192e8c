/* Options of neighborhood collectives. */

#include <errno.h>

#include "options/options.h"

error_t bench_parse_neighbors(struct parse *parse, int key, char *text)
{
    struct bench_neighbor_options *neighbors = &parse->options->neighbors;

    switch (key) {
    case KEY_NEIGHBORHOOD:
        neighbors->neighborhood = text;
        return 0;
    case KEY_WEIGHTS:
        neighbors->weights = text;
        return 0;
    case KEY_REORDER:
        neighbors->reorder = true;
        return 0;
    case KEY_SHUFFLE:
        neighbors->shuffle = true;
        return bench_parse_seed(parse, "--shuffle", text,
                                &neighbors->shuffle_seed);
    default:
        return bench_parse_simulated(parse, key, text);
    }
}

/* With weights a block has up to BENCH_MOST_WEIGHT times as many bytes as -m
 * says. The limit keeps this product far below SIZE_MAX. */
static const size_t MOST_BYTES = (size_t)1 << 30;

error_t bench_check_neighbors(struct parse *parse,
                              const struct bench_collective *collective)
{
    struct bench_options *options = parse->options;
    struct bench_neighbor_options *neighbors = &options->neighbors;
    char wrong[1024];

    if ((collective == NULL || collective->neighbors == 0) &&
        options->tune == NULL)
        return neighbors->neighborhood == NULL && neighbors->weights == NULL &&
                       !neighbors->reorder && !neighbors->shuffle
                   ? 0
                   : bench_refuse(parse, "--neighborhood, --weights, "
                                         "--reorder and --shuffle: "
                                         "expected a neighbor_... collective");
    if ((options->min != BENCH_AUTO && options->min > MOST_BYTES) ||
        (options->max != BENCH_AUTO && options->max > MOST_BYTES))
        return bench_refuse(parse, "-m: expected up to 1g");
    if (!bench_graph_read(neighbors->neighborhood, neighbors->weights,
                          &neighbors->graph, wrong, sizeof(wrong)))
        return bench_refuse(parse, "%s", wrong);
    return 0;
}
