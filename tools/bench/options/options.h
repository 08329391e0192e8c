#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <argp.h>

#include "bench.h"

enum { /* options without a letter */
       KEY_LEADERS = 256,
       KEY_CSV,
       KEY_JSON,
       KEY_BLOCKING,
       KEY_PERSISTENT,
       KEY_NONBLOCKING,
       KEY_BUFFERS,
       KEY_IN_PLACE,
       KEY_FLAG,
       KEY_HIERARCHY,
       KEY_TYPE,
       KEY_OP,
       KEY_ROOT,
       KEY_OVERLAP,
       KEY_TEST,
       KEY_GROUPS,
       KEY_COLOR,
       KEY_KEY,
       KEY_NO_SPLIT,
       KEY_NO_REORDER,
       KEY_NEIGHBORHOOD,
       KEY_WEIGHTS,
       KEY_REORDER,
       KEY_SHUFFLE,
       KEY_VERSION,
       KEY_SIM,
       KEY_NODES,
       KEY_PPN,
       KEY_CORES,
       KEY_NODE_OVERHEAD,
       KEY_PORTS,
       KEY_SEED,
       KEY_JITTER,
       KEY_ANY_ORDER,
       KEY_SIZES_ONLY,
       KEY_COST_ONLY,
       KEY_MODEL,
       KEY_CALIBRATE,
       KEY_TUNE,
       KEY_MACHINES
};

/* State of the command line parser. */
struct parse {
    struct bench_options *options;
    bool refused; /* a line has been printed */
    bool sized;   /* -m was given */
    bool typed;   /* --type or --op */
    bool rooted;  /* --root */
    bool tested;  /* --test */
    bool placed;  /* an option for simulated jobs only */
    int next;     /* index of the argument after the last one taken */
};

/** Print the error, once, on one rank; returns EINVAL. */
error_t bench_refuse(struct parse *parse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Read a number from `least` to 10^9. */
error_t bench_parse_count(struct parse *parse, const char *option,
                          const char *text, size_t least, size_t *count);

/** neighbors.c: ARGP_ERR_UNKNOWN: no option of neighborhoods or
 * simulated jobs. */
error_t bench_parse_neighbors(struct parse *parse, int key, char *text);
/** Read the neighborhood, for neighborhood collectives; NULL: another
 * collective. */
error_t bench_check_neighbors(struct parse *parse,
                              const struct bench_collective *collective);

/** sim.c: ARGP_ERR_UNKNOWN: no option of simulated jobs. */
error_t bench_parse_simulated(struct parse *parse, int key, char *text);
/** Any number of 64 bits. */
error_t bench_parse_seed(struct parse *parse, const char *option,
                         const char *text, uint64_t *seed);

/** check.c: check the combination of all options. */
error_t bench_check_options(struct parse *parse);

#endif
