#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>
#include <catena/model.h>
#include <catena/sim.h>

#include "collectives/blocks.h"
#include "collectives/elements.h"
#include "collectives/heap.h"
#include "core/description.h"
#include "graph.h"
#include "rows.h"

/* Declarations shared by the files of catena-bench.
 *
 * A variant is one of the configurations that a run compares: a collective with
 * an algorithm, a hierarchy and a mode. A value is the result of one timed
 * measurement. In each round every variant measures a few values, one variant
 * after the other. The stamp is the number of a checked call: the contents of a
 * message depend on stamp, source and target. */

enum { BENCH_OK = 0, BENCH_FAILED = 1, BENCH_USAGE = 2 }; /* exit codes */
enum { BENCH_MAX_VARIANTS = 32, BENCH_MAX_CORES = 256 };

#define BENCH_AUTO ((size_t)-1) /* catena-bench chooses the number */

/* Where the measured buffers lie. */
enum bench_buffers {
    BENCH_HEAP, /* in the shared heap */
    BENCH_MALLOC,
    BENCH_MIXED /* shared heap on even ranks, malloc on odd ranks */
};
/* How the benchmark calls a collective. */
enum bench_mode {
    BENCH_BLOCKING,
    BENCH_NONBLOCKING,
    BENCH_PERSISTENT,
    BENCH_MODES
};

/* The options of split, as on the command line; NULL: not given. */
struct bench_split_options {
    const char *groups;
    const char *color;
    const char *key;
    bool no_split;
    bool no_reorder;
};

/* The options of neighborhood collectives. */
struct bench_neighbor_options {
    const char *neighborhood; /* NULL: not given */
    const char *weights;      /* NULL: not given */
    struct bench_graph graph; /* parsed from neighborhood and weights */
    bool reorder;             /* catena may reorder the ranks */
    bool shuffle; /* permute the ranks at random before the creation */
    uint64_t shuffle_seed;
};

/* The command line, parsed. */
struct bench_options {
    const char *name; /* of the collective or other benchmark */
    size_t min;       /* bytes per block; BENCH_AUTO: the collective's own */
    size_t max;
    size_t iterations; /* BENCH_AUTO: by size and time */
    size_t warmup;     /* BENCH_AUTO: a tenth of the iterations */
    size_t step;       /* from one size to the next, a factor */
    size_t memory;     /* of a rank's buffers, bytes, at most; 0: no limit */
    bool keep;         /* --no-refill: calls find the contents of the last */
    bool check;        /* verify the contents after every call */
    bool full;         /* print all columns */
    bool in_place;
    bool flag; /* barrier: also measure the raw flag exchange */
    enum bench_format format;
    enum bench_buffers buffers;
    enum bench_mode modes[BENCH_MODES]; /* compared, in this order */
    size_t mode_count;                  /* 0: blocking */
    const char *algorithms[BENCH_MAX_VARIANTS];
    size_t algorithm_count; /* 0: the library selects */
    const char *hierarchies[BENCH_MAX_VARIANTS];
    size_t hierarchy_count;        /* 0: the default */
    const char *leaders;           /* NULL: the default */
    const struct bench_type *type; /* of reductions */
    const struct bench_op *op;     /* of reductions */
    int root;
    bool overlap; /* measure overlap of computing and communication */
    size_t tests; /* calls of catena_request_test while computing */
    struct bench_split_options split;
    struct bench_neighbor_options neighbors;
    const char *model;          /* machine for the formulas; NULL: no --model */
    const char *calibrate;      /* file to write; NULL: no --calibrate */
    const char *tune;           /* file to write; NULL: no --tune */
    bool simulated;             /* --sim: ranks of a simulated machine */
    int cores[BENCH_MAX_CORES]; /* --cores; sim.cores points here */
    catena_sim_params_t sim;    /* --model also uses its nodes and ppn */
    const char *overhead; /* --node-overhead: a parameter of the machine; NULL:
                             the number in sim */
};

struct bench_simulation;
struct bench_report;

/* One rank of the benchmark. */
struct bench {
    const struct bench_options *options;
    catena_context_t *context;
    catena_group_t *world;   /* the measured group */
    catena_group_t *control; /* for results of real ranks: a duplicate of
                              * `world`, whose settings and statistics then
                              * stay unchanged */
    catena_place_t place;
    struct bench_simulation *simulation; /* shared by all simulated ranks;
                                          * NULL: real ranks */
    double work_rate; /* work steps per second of a core; see overlap.h */
};

/* The first wrong byte, or other value, that a check found. A message prints
 * `where` and `source` one after the other, as in "block from rank 3". */
struct bench_mismatch {
    const char *where; /* buffer and kind of block */
    int source;        /* mostly the rank at the other end of the block */
    size_t offset;     /* bytes from the begin of the block */
    unsigned expected;
    unsigned found;
};

/* What one variant calls: the group and the arguments. */
struct bench_call {
    struct bench *bench;
    catena_group_t *group;
    int rank;
    int size;
    const char *algorithm;      /* requested; NULL: the library selects */
    size_t bytes;               /* per block */
    const void *send;           /* may be CATENA_IN_PLACE */
    unsigned char *recv;        /* BENCH_GUARD_BYTES of guard follow */
    struct bench_layout layout; /* set by the collective's lay_out */
    void *state;                /* of the collective; set by its prepare */
};

enum { BENCH_GUARD_BYTES = 64 };
enum { BENCH_MAX_METRICS = 9 };

/* A number that a collective reports beside times. */
struct bench_metric {
    const char *name;  /* key in CSV and JSON output */
    const char *title; /* of its column in the table; NULL: has none */
};

/* How to measure a collective; table.c lists all. A function may be NULL where
 * its comment says so. */
struct bench_collective {
    const char *name;
    const char *help;
    size_t min; /* default sizes, bytes per block; 0, 0: has no sizes */
    size_t max;
    bool synced;     /* a barrier precedes each timed call */
    bool quick;      /* short calls are timed in batches of many calls */
    bool full;       /* print all columns by default */
    unsigned traits; /* mask of ctn_trait_t: a reduction's sizes are multiples
                      * of the element size, a rooted collective takes --root */
    /* Names of settings for catena_group_set. */
    const char *algorithm; /* NULL: no choice, or the algorithm is an argument
                            * of the call or of catena_neighborhood_create */
    const char *leaders;   /* number of leaders; NULL: has no leaders */
    const char *hierarchy; /* NULL: not hierarchical */
    const char *algorithm_names; /* for messages; NULL: no choice */
    const char *blocks; /* describes lengths for the output; NULL: each block
                         * has the number of bytes in the column Size */
    unsigned neighbors; /* CATENA_NEIGHBOR_...; 0: not a neighborhood
                         * collective */
    const struct bench_metric *metrics; /* up to BENCH_MAX_METRICS, ended by a
                                         * NULL name; NULL: none */
    /* Return the error in the options and set `found` to the wrong value, or
     * return NULL. May be NULL. */
    const char *(*check)(const struct bench_options *options,
                         const char **found);
    /* Return why the collective cannot run on these ranks, or NULL; the same on
     * all ranks. May be NULL. */
    const char *(*refuse)(const struct bench *bench);
    /* Set call->layout for blocks of call->bytes on this rank. A layout serves
     * all variants of one size. A smaller size must not need larger buffers.
     * NULL: the collective has no buffers. */
    void (*lay_out)(struct bench_call *call);
    /* Free what lay_out has allocated; NULL: nothing. */
    void (*drop_layout)(struct bench_call *call);
    /* Set call->state and free it. Collective; may be NULL. */
    catena_status_t (*prepare)(struct bench_call *call);
    void (*release)(struct bench_call *call);
    /* Print notes before the results; may be NULL. */
    void (*describe)(const struct bench_call *call,
                     struct bench_report *report);
    /* Write how the library executed the call; NULL: catena_group_explain. */
    catena_status_t (*explain)(const struct bench_call *call, char *text,
                               size_t bytes);
    /* The blocking, nonblocking and persistent form of the call; start and init
     * may be NULL. */
    catena_status_t (*blocking)(struct bench_call *call);
    catena_status_t (*start)(struct bench_call *call,
                             catena_request_t **request);
    catena_status_t (*init)(struct bench_call *call,
                            catena_request_t **request);
    /* Execute `calls` calls, in place of all three forms; may be NULL. */
    catena_status_t (*batch)(struct bench_call *call, size_t calls);
    /* Undo the effect of one call and fill the metrics, outside the timed part;
     * may be NULL, and must be with `quick`. */
    catena_status_t (*finish)(struct bench_call *call, uint64_t *metrics);
    /* fill writes contents that depend on `stamp` before a call; verify returns
     * the number of wrong bytes after it. NULL: not checkable. */
    void (*fill)(struct bench_call *call, uint64_t stamp);
    uint64_t (*verify)(struct bench_call *call, uint64_t stamp,
                       struct bench_mismatch *first);
};

#define CTN_ANY(NAME, name, ...)                                               \
    extern const struct bench_collective bench_##name;
#include "core/calls.def"
extern const struct bench_collective bench_flag;
extern const struct bench_collective bench_split;

static inline bool bench_has_trait(const struct bench_collective *collective,
                                   ctn_trait_t trait)
{
    return (collective->traits & (unsigned)trait) != 0;
}

/* table.c */

/** Write the names of all benchmarks.
 * @param[in] help one name per line with its description, for --help; false:
 *   separated by commas, for messages */
void bench_list_names(char *text, size_t bytes, bool help);
/** The name that is most like a mistyped one; NULL: none is. */
const char *bench_nearest(const char *name);
/** The collective of this name; NULL: none. */
const struct bench_collective *bench_find(const char *name);
/** The collective at this place of the table; NULL: behind the last one. */
const struct bench_collective *bench_list(size_t index);

/* options/options.c */

/** Fill `options`, or print an error in one line. Returns an exit code. */
int bench_parse(int argc, char **argv, struct bench_options *options);
/** Parse a size such as "64k".
 * @return false if `text` is no size */
bool bench_parse_size(const char *text, size_t *bytes);

/* collectives/collective.c: measure and report; returns an exit code. */
int bench_collective(struct bench *bench,
                     const struct bench_collective *collective);

/* collectives/exchange.c. The first four functions are collective. All end the
 * job on failure. */

/** Combine the data at `from` into those at `into`. The function must be
 * associative and commutative. */
typedef void (*bench_fold_t)(void *into, const void *from, size_t bytes);
/** Combine the `data` of all ranks; all ranks get the result in `data`. */
void bench_fold(struct bench *bench, void *data, size_t bytes,
                bench_fold_t fold);
/** Alltoall of blocks of `bytes` in a group. */
void bench_exchange(struct bench *bench, catena_group_t *group,
                    const void *send, void *recv, size_t bytes);
/** The maximum of `value` over the ranks. */
uint64_t bench_max(struct bench *bench, uint64_t value);
/** Replace each of times[n] by its maximum over the ranks; valid on rank 0. */
void bench_max_times(struct bench *bench, double *times, size_t n);
/** Compare two doubles, for qsort. */
int bench_compare_times(const void *a, const void *b);
/** Memory of the process, zeroed, to be released by free. */
void *bench_alloc(struct bench *bench, size_t count, size_t bytes);
/** Print what failed and abort the job. */
_Noreturn void bench_die(struct bench *bench, const char *what,
                         catena_status_t status);

/* sim.c */

/** Run a job on a simulated machine. Returns an exit code. */
int bench_simulate(const struct bench_options *options);
/** Parse "0-3,8" into options->cores; false if `text` is no such list or too
 * long. The simulator checks whether the machine has these cores. */
bool bench_parse_cores(const char *text, struct bench_options *options);
/** bench_fold for simulated ranks: through memory, as all are in this process.
 * Only a barrier sends messages. */
void bench_simulation_fold(struct bench *bench, void *data, size_t bytes,
                           bench_fold_t fold);

/* tune/tune.c */

/** Find the fastest algorithms of all collectives that have rules, or of the
 * one that the options name, for this layout of ranks and nodes. Returns an
 * exit code. */
int bench_tune(struct bench *bench);
/** Whether the collective of this name has rules. */
bool bench_tunes(const char *name);

/* main.c: everything that one rank does, from catena_init to catena_finalize;
 * returns an exit code. */
int bench_run_rank(const catena_config_t *config,
                   const struct bench_options *options,
                   struct bench_simulation *simulation);

/* model.c: print the formulas' times; returns an exit code. */
int bench_print_model(const struct bench_options *options);
/** Whether --model accepts this collective or benchmark. */
bool bench_has_formula(const char *name);

/* collectives/permute.c */

/** The position of `value` in a permutation of 0 to n - 1 that depends on
 * `seed`. */
uint64_t bench_permute(uint64_t value, uint64_t n, uint64_t seed);
/** The inverse of bench_permute. */
uint64_t bench_unpermute(uint64_t value, uint64_t n, uint64_t seed);

/* check.c */

/** The seed of the block from `source` to `target` in the call `stamp`. Also a
 * random number that depends on any three numbers. */
uint64_t bench_seed(uint64_t stamp, int source, int target);
/** Fill a block with bytes that depend on `seed`. */
void bench_fill(void *block, size_t bytes, uint64_t seed);
/** Number of bytes that differ from those that bench_fill writes. Sets offset,
 * expected and found of `first` to the first of them. */
uint64_t bench_compare(const void *block, size_t bytes, uint64_t seed,
                       struct bench_mismatch *first);

#endif
