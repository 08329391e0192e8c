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
#include "graph.h"

/* Declarations shared by the files of catena-bench. */

enum { BENCH_OK = 0, BENCH_FAILED = 1, BENCH_USAGE = 2 }; /* exit codes */
enum { BENCH_MAX_VARIANTS = 16, BENCH_MAX_CORES = 256 };

#define BENCH_AUTO ((size_t)-1) /* catena-bench chooses the number */

enum bench_format { BENCH_TABLE, BENCH_CSV, BENCH_JSON };
enum bench_buffers { BENCH_HEAP, BENCH_MALLOC, BENCH_MIXED };
/* How the benchmark calls a collective. */
enum bench_mode {
    BENCH_BLOCKING,
    BENCH_NONBLOCKING,
    BENCH_PERSISTENT,
    BENCH_MODES
};

/* The option values as given; NULL: not given. */
struct bench_split_options {
    const char *groups;
    const char *color;
    const char *key;
    bool no_split;
    bool no_reorder;
};

/* The neighborhood options; NULL: not given. */
struct bench_neighbor_options {
    const char *neighborhood;
    const char *weights;
    struct bench_graph graph; /* parsed from these two */
    bool reorder;
    bool shuffle;
    uint64_t shuffle_seed;
};

struct bench_options {
    const char *name; /* of the collective */
    size_t min;       /* bytes per block; BENCH_AUTO: the collective's own */
    size_t max;
    size_t iterations; /* BENCH_AUTO: by size and time */
    size_t warmup;     /* BENCH_AUTO: a tenth of the iterations */
    bool check;
    bool full;
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
    const struct bench_op *op;
    int root;
    bool overlap; /* measure overlap */
    size_t tests; /* calls of catena_request_test while computing */
    struct bench_heap_options heap;
    struct bench_split_options split;
    struct bench_neighbor_options neighbors;
    const char *model;          /* print the formulas for this machine */
    const char *calibrate;      /* write this machine's parameters there */
    const char *tune;           /* write the fastest algorithms there */
    bool simulated;             /* from sim */
    int cores[BENCH_MAX_CORES]; /* target of sim.cores */
    catena_sim_params_t sim;    /* nodes and ppn also serve the formulas */
};

struct bench_node_area;
struct bench_report;

/* One process of the benchmark. */
struct bench {
    const struct bench_options *options;
    catena_context_t *context;
    catena_group_t *world;   /* the measured group */
    catena_group_t *control; /* exchanges results; separate from `world`, whose
                              * settings and reports stay unchanged */
    catena_place_t place;
    struct bench_node_area *node_area; /* simulated; NULL: real ranks */
    double work_rate; /* work steps per second of a core; see overlap.h */
};

/* The first wrong byte, or other value, that a check found. */
struct bench_mismatch {
    const char *where; /* buffer and type of block; a rank follows */
    int source;        /* the block's rank: source, or target when sending */
    size_t offset;     /* in the block */
    unsigned expected;
    unsigned found;
};

/* One measured operation: collective, algorithm and buffers. */
struct bench_call {
    struct bench *bench;
    catena_group_t *group;
    int rank;
    int size;
    const char *algorithm;      /* requested; NULL: the library selects */
    size_t bytes;               /* per block */
    const void *send;           /* may be CATENA_IN_PLACE */
    unsigned char *recv;        /* BENCH_GUARD_BYTES of guard follow */
    struct bench_layout layout; /* set by lay_out */
    void *state;                /* of the collective, set by prepare */
};

enum { BENCH_GUARD_BYTES = 64 };
enum { BENCH_MAX_FACTS = 8 };

/* A number that a collective reports. */
struct bench_fact {
    const char *name;  /* key in machine-readable output */
    const char *title; /* of its column in the table; NULL: has none */
};

/* A collective: one row of the table in table.c and one file. A function may be
 * NULL where its comment says so. */
struct bench_collective {
    const char *name;
    const char *help;
    size_t min; /* default sizes, bytes per block; 0, 0: has no sizes */
    size_t max;
    bool synced;  /* a barrier precedes each timed call */
    bool quick;   /* may be timed in batches of many calls */
    bool full;    /* print all columns by default */
    bool reduces; /* sizes are multiples of the element size */
    bool rooted;
    const char *algorithm;       /* catena_group_set name; NULL: the call
                                  * selects in another way */
    const char *algorithm_names; /* for messages; NULL: no choice */
    const char *leaders;
    const char *hierarchy; /* likewise; NULL: not hierarchical */
    const char *blocks;    /* description of blocks; NULL: of Size bytes each */
    unsigned neighbors;    /* CATENA_NEIGHBOR_...; 0: not a neighborhood
                            * collective */
    const struct bench_fact *facts; /* up to BENCH_MAX_FACTS, ended by a NULL
                                     * name; NULL: none */
    /* The error in the options, and the wrong value; NULL: no error. May be
     * NULL. */
    const char *(*check)(const struct bench_options *options,
                         const char **found);
    /* Why the collective cannot run here, from facts that all ranks share;
     * NULL: it can. May be NULL. */
    const char *(*refuse)(const struct bench *bench);
    /* Set `layout` for blocks of call->bytes on this rank. All variants use it
     * until drop_layout; no smaller size needs larger buffers. NULL: no
     * buffers. drop_layout may be NULL. */
    void (*lay_out)(struct bench_call *call);
    void (*drop_layout)(struct bench_call *call);
    /* Prepare `state`, collectively; may be NULL. */
    catena_status_t (*prepare)(struct bench_call *call);
    void (*release)(struct bench_call *call);
    /* Lines for the head; may be NULL. */
    void (*describe)(const struct bench_call *call,
                     struct bench_report *report);
    /* How the library executed the call; NULL: catena_group_explain. */
    catena_status_t (*explain)(const struct bench_call *call, char *text,
                               size_t bytes);
    /* The three forms of the call; start and init may be NULL. */
    catena_status_t (*blocking)(struct bench_call *call);
    catena_status_t (*start)(struct bench_call *call,
                             catena_request_t **request);
    catena_status_t (*init)(struct bench_call *call,
                            catena_request_t **request);
    /* Instead of `blocking` in a loop; may be NULL. */
    catena_status_t (*batch)(struct bench_call *call, size_t calls);
    /* Undo the effect of one call and fill the facts, outside the timed part;
     * may be NULL. Not with `quick`. */
    catena_status_t (*finish)(struct bench_call *call, uint64_t *facts);
    /* fill: contents that depend on `stamp`. verify: the number of wrong bytes
     * after the call. NULL: not checkable. */
    void (*fill)(struct bench_call *call, uint64_t stamp);
    uint64_t (*verify)(struct bench_call *call, uint64_t stamp,
                       struct bench_mismatch *first);
};

extern const struct bench_collective bench_alltoall;
extern const struct bench_collective bench_alltoallv;
extern const struct bench_collective bench_alltoallw;
extern const struct bench_collective bench_barrier;
extern const struct bench_collective bench_bcast;
extern const struct bench_collective bench_reduce;
extern const struct bench_collective bench_allreduce;
extern const struct bench_collective bench_gather;
extern const struct bench_collective bench_gatherv;
extern const struct bench_collective bench_scatter;
extern const struct bench_collective bench_scatterv;
extern const struct bench_collective bench_allgather;
extern const struct bench_collective bench_allgatherv;
extern const struct bench_collective bench_reduce_scatter;
extern const struct bench_collective bench_reduce_scatter_block;
extern const struct bench_collective bench_scan;
extern const struct bench_collective bench_exscan;
extern const struct bench_collective bench_neighbor_allgather;
extern const struct bench_collective bench_neighbor_allgatherv;
extern const struct bench_collective bench_neighbor_alltoall;
extern const struct bench_collective bench_neighbor_alltoallv;
extern const struct bench_collective bench_neighbor_alltoallw;
extern const struct bench_collective bench_neighbor_reduce;
extern const struct bench_collective bench_neighbor_reducev;
extern const struct bench_collective bench_flag;
extern const struct bench_collective bench_split;

/* table.c */

/** All names, for --help (one per line) or for messages. */
void bench_list_names(char *text, size_t bytes, bool help);
const struct bench_collective *bench_find(const char *name);
const struct bench_collective *bench_list(size_t index); /* NULL: the end */

/* options.c: fills `options`, or prints one line and returns an exit code. */
int bench_parse(int argc, char **argv, struct bench_options *options);
/** Parse a size such as "64k".
 * @return false if `text` is no size */
bool bench_parse_size(const char *text, size_t *bytes);

/* collective.c: measure and report; returns an exit code. */
int bench_collective(struct bench *bench, const struct bench_collective *row);

/* exchange.c: all functions are collective and end the job on failure. */

/** Combine `from` into `into`: associative and commutative. */
typedef void (*bench_fold_t)(void *into, const void *from, size_t bytes);
/** Fold the records of all ranks; all ranks get the result. */
void bench_fold(struct bench *bench, void *record, size_t bytes,
                bench_fold_t fold);
/** Exchange records in a group: recv[i] is the record of rank i. */
void bench_exchange(struct bench *bench, catena_group_t *group,
                    const void *send, void *recv, size_t bytes);
uint64_t bench_max(struct bench *bench, uint64_t value);
/** Replace each of times[n] by its maximum over the ranks; valid on rank 0. */
void bench_max_times(struct bench *bench, double *times, size_t n);
/** For qsort of doubles. */
int bench_compare_times(const void *a, const void *b);
void *bench_alloc(struct bench *bench, size_t count, size_t bytes);
_Noreturn void bench_die(struct bench *bench, const char *what,
                         catena_status_t status);

/* sim.c: a job on a simulated machine; returns an exit code. */
int bench_simulate(const struct bench_options *options);
/** Parse "0-3,8" into options->cores; false if `text` is no such list or too
 * long. The simulator checks whether the machine has these cores. */
bool bench_parse_cores(const char *text, struct bench_options *options);
/** bench_fold among simulated ranks. They share this process, so no messages of
 * the benchmark disturb the measurement. */
void bench_node_area_fold(struct bench *bench, void *record, size_t bytes,
                          bench_fold_t fold);

/* tune.c: find the fastest algorithms for this layout; returns an exit code */
int bench_tune(struct bench *bench);

/* main.c: the work of a rank with its context; returns an exit code. */
int bench_run_rank(const catena_config_t *config,
                   const struct bench_options *options,
                   struct bench_node_area *node_area);

/* model.c: print the formulas' times; returns an exit code. */
int bench_print_model(const struct bench_options *options);

/* permute.c */

/** The position of a value in a permutation of 0 to n - 1 that depends on the
 * seed. */
uint64_t bench_permute(uint64_t value, uint64_t n, uint64_t seed);
/** The inverse of bench_permute. */
uint64_t bench_unpermute(uint64_t value, uint64_t n, uint64_t seed);

/* check.c */
uint64_t bench_seed(uint64_t stamp, int source, int target);
void bench_fill(void *block, size_t bytes, uint64_t seed);
/** Number of bytes that differ from bench_fill's. `first` gets the first one
 * (offset, expected, found). */
uint64_t bench_compare(const void *block, size_t bytes, uint64_t seed,
                       struct bench_mismatch *first);

#endif
