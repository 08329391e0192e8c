#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <argp.h>

#include "bench.h"

enum { /* keys of options that have no letter */
       KEY_LEADERS = 256,
       KEY_CSV,
       KEY_JSON,
       KEY_BLOCKING,
       KEY_PERSISTENT,
       KEY_NONBLOCKING,
       KEY_BUFFERS,
       KEY_IN_PLACE,
       KEY_FLAG, /* --flag: raw exchange of words, to compare barriers with */
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
       KEY_STEP,
       KEY_NO_REFILL,
       KEY_SIM_MEMORY,
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
    bool refused;  /* bench_refuse was called */
    bool sized;    /* -m was given */
    bool typed;    /* --type or --op was given */
    bool rooted;   /* --root was given */
    bool tested;   /* --test was given */
    bool sim_only; /* an option was given that needs --sim or --model */
    int next;      /* index in argv behind the last parsed argument */
};

/** Print an error in one line: only the first error, and only on rank 0.
 * Returns EINVAL. */
error_t bench_refuse(struct parse *parse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Read a number from `least` to 10^9. */
error_t bench_parse_count(struct parse *parse, const char *option,
                          const char *text, size_t least, size_t *count);

/** Parse an option of neighborhoods or simulated jobs (neighbors.c); returns
 * ARGP_ERR_UNKNOWN if it is none. */
error_t bench_parse_neighbors(struct parse *parse, int key, char *text);
/** Check the options of neighborhoods and read the graph.
 * @param[in] collective the measured one; NULL: another benchmark */
error_t bench_check_neighbors(struct parse *parse,
                              const struct bench_collective *collective);

/** Parse an option of simulated jobs (sim.c); returns ARGP_ERR_UNKNOWN if it is
 * none. */
error_t bench_parse_simulated(struct parse *parse, int key, char *text);
/** Read any number of 64 bits. */
error_t bench_parse_seed(struct parse *parse, const char *option,
                         const char *text, uint64_t *seed);

/** Check the combination of all options (check.c). */
error_t bench_check_options(struct parse *parse);

#endif
