#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

#include "collectives/blocks.h"
#include "collectives/elements.h"
#include "collectives/heap.h"
#include "graph.h"

/* What the files of catena-bench share. */

enum { BENCH_OK = 0, BENCH_FAILED = 1, BENCH_USAGE = 2 }; /* exit codes */
enum { BENCH_MAX_VARIANTS = 16, BENCH_MAX_CORES = 256 };

#define BENCH_AUTO ((size_t)-1) /* a number left to catena-bench */

enum bench_format { BENCH_TABLE, BENCH_CSV, BENCH_JSON };
enum bench_buffers { BENCH_HEAP, BENCH_MALLOC, BENCH_MIXED };
/* How a collective is called. */
enum bench_mode {
    BENCH_BLOCKING,
    BENCH_NONBLOCKING,
    BENCH_PERSISTENT,
    BENCH_MODES
};

/* As given; NULL: not. */
struct bench_split_options {
    const char *groups;
    const char *color;
    const char *key;
    bool no_split;
    bool no_reorder;
};

/* On which neighborhood; NULL: not given. */
struct bench_neighbor_options {
    const char *neighborhood;
    const char *weights;
    struct bench_graph graph; /* what these two say */
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
    bool flag; /* barrier: measure the raw flag exchange beside it */
    enum bench_format format;
    enum bench_buffers buffers;
    enum bench_mode modes[BENCH_MODES]; /* to compare, in this order */
    size_t mode_count;                  /* 0: blocking */
    const char *algorithms[BENCH_MAX_VARIANTS];
    size_t algorithm_count; /* 0: leave the choice to the library */
    const char *hierarchies[BENCH_MAX_VARIANTS];
    size_t hierarchy_count;        /* 0: leave it */
    const char *leaders;           /* NULL: leave it */
    const struct bench_type *type; /* of reductions */
    const struct bench_op *op;
    int root;
    bool overlap; /* how far computing hides the calls */
    size_t tests; /* catena_test while computing */
    struct bench_heap_options heap;
    struct bench_split_options split;
    struct bench_neighbor_options neighbors;
    const char *model;     /* print the formulas for this machine */
    const char *calibrate; /* write this machine's parameters there */
    const char *tune;      /* write the algorithms that were quickest there */
    bool simulated;        /* as sim says */
    int cores[BENCH_MAX_CORES]; /* what sim.cores points to */
    catena_sim_params_t sim;    /* nodes and ppn serve the formulas, too */
};

struct bench_board;
struct bench_report;

/* One process of the benchmark. */
struct bench {
    const struct bench_options *options;
    catena_context_t *context;
    catena_group_t *world;   /* what is measured */
    catena_group_t *control; /* for exchanging results: apart from `world`,
                                whose settings and reports stay untouched */
    catena_place_t place;
    struct bench_board *board; /* of a simulated job; NULL: real ranks */
    double work_rate; /* steps of work in a second of a core; see overlap.h */
};

/* The first wrong byte, or other number, that a check found. */
struct bench_mismatch {
    const char *where; /* buffer and kind of block, ends before a rank */
    int source;        /* the block's rank: source, or target when sending */
    size_t offset;     /* in the block */
    unsigned expected;
    unsigned found;
};

/* One operation that is measured: who calls what with which buffers. */
struct bench_call {
    struct bench *bench;
    catena_group_t *group;
    int rank;
    int size;
    const char *algorithm;      /* asked for; NULL: the library's choice */
    size_t bytes;               /* per block */
    const void *send;           /* may be CATENA_IN_PLACE */
    unsigned char *recv;        /* followed by BENCH_GUARD_BYTES of guard */
    struct bench_layout layout; /* set by lay_out */
    void *state;                /* of the collective, set by prepare */
};

enum { BENCH_GUARD_BYTES = 64 };
enum { BENCH_MAX_FACTS = 8 };

/* A number that a collective tells of itself. */
struct bench_fact {
    const char *name;  /* for programs */
    const char *title; /* of its column in the table; NULL: has none */
};

/* A collective: one row of the table in table.c and one file. Functions may
 * be NULL where the comment says so. */
struct bench_collective {
    const char *name;
    const char *help;
    size_t min; /* default sizes, bytes per block; 0, 0: has no sizes */
    size_t max;
    bool synced;  /* a barrier stands before each timed call */
    bool quick;   /* may be timed in batches of many calls */
    bool full;    /* print all columns by default */
    bool reduces; /* sizes are of whole elements */
    bool rooted;
    const char *algorithm;       /* catena_group_set name; NULL: the call has
                                    its own way to say it */
    const char *algorithm_names; /* for messages; NULL: no choice */
    const char *leaders;
    const char *hierarchy; /* likewise; NULL: goes by none */
    const char *blocks;    /* what they are like; NULL: of Size bytes each */
    unsigned neighbors;    /* CATENA_NEIGHBOR_...; 0: is among all ranks */
    const struct bench_fact *facts; /* up to BENCH_MAX_FACTS, the name after
                                       them is NULL; NULL: has none */
    /* What is wrong with the options, and the value that is; NULL: nothing.
     * May be NULL. */
    const char *(*check)(const struct bench_options *options,
                         const char **found);
    /* Why it cannot run here, from facts all ranks share; NULL: it can.
     * May be NULL. */
    const char *(*refuse)(const struct bench *bench);
    /* Set `layout` for blocks of call->bytes, on this rank. It serves all
     * variants until it is dropped, and no smaller size needs larger buffers.
     * NULL: has no buffers. drop_layout may be NULL. */
    void (*lay_out)(struct bench_call *call);
    void (*drop_layout)(struct bench_call *call);
    /* Prepare `state`, collectively; may be NULL. */
    catena_status_t (*prepare)(struct bench_call *call);
    void (*release)(struct bench_call *call);
    /* Lines for the head; may be NULL. */
    void (*describe)(const struct bench_call *call,
                     struct bench_report *report);
    /* How the library ran it; NULL: as catena_group_explain says. */
    catena_status_t (*explain)(const struct bench_call *call, char *text,
                               size_t bytes);
    /* The call itself, in three ways; start and init may be NULL. */
    catena_status_t (*blocking)(struct bench_call *call);
    catena_status_t (*start)(struct bench_call *call,
                             catena_request_t **request);
    catena_status_t (*init)(struct bench_call *call,
                            catena_request_t **request);
    /* Instead of `blocking` in a loop; may be NULL. */
    catena_status_t (*batch)(struct bench_call *call, size_t calls);
    /* Undo what one call has made, and fill the facts, outside of the timed
     * part; may be NULL. Not with `quick`. */
    catena_status_t (*finish)(struct bench_call *call, uint64_t *facts);
    /* Contents that differ with `stamp`, and the number of wrong bytes
     * after the call; NULL: cannot be checked. */
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
extern const struct bench_collective bench_neighbor_gather;
extern const struct bench_collective bench_neighbor_gatherv;
extern const struct bench_collective bench_neighbor_alltoall;
extern const struct bench_collective bench_neighbor_alltoallv;
extern const struct bench_collective bench_neighbor_alltoallw;
extern const struct bench_collective bench_neighbor_reduce;
extern const struct bench_collective bench_neighbor_reducev;
extern const struct bench_collective bench_flag;
extern const struct bench_collective bench_split;

/* table.c */

/** All names, for --help (a line for each) or for messages. */
void bench_list_names(char *text, size_t bytes, bool help);
const struct bench_collective *bench_find(const char *name);
const struct bench_collective *bench_list(size_t index); /* NULL: the end */

/* options.c: fills `options`, or prints one line and returns an exit code. */
int bench_parse(int argc, char **argv, struct bench_options *options);
/** "64k" and the like; returns false when `text` is no size. */
bool bench_parse_size(const char *text, size_t *bytes);

/* collective.c: measure and report; returns an exit code. */
int bench_collective(struct bench *bench, const struct bench_collective *row);

/* exchange.c: all are collective and end the job when they fail. */

/** Add what `from` holds to `into`: associative and commutative. */
typedef void (*bench_fold_t)(void *into, const void *from, size_t bytes);
/** Fold the records of all ranks; all get the result. */
void bench_fold(struct bench *bench, void *record, size_t bytes,
                bench_fold_t fold);
/** Hand records to all ranks of a group: recv[i] is what rank i sent. */
void bench_exchange(struct bench *bench, catena_group_t *group,
                    const void *send, void *recv, size_t bytes);
uint64_t bench_max(struct bench *bench, uint64_t value);
/** Replace times[n] by the maximum over ranks of each; valid on rank 0. */
void bench_max_times(struct bench *bench, double *times, size_t n);
/** For qsort of doubles. */
int bench_compare_times(const void *a, const void *b);
void *bench_alloc(struct bench *bench, size_t count, size_t bytes);
_Noreturn void bench_die(struct bench *bench, const char *what,
                         catena_status_t status);

/* sim.c: a job on a simulated machine; returns an exit code. */
int bench_simulate(const struct bench_options *options);
/** "0-3,8" into options->cores; false when `text` is no such list, or a long
 * one. Whether the machine has these cores is for the simulator to say. */
bool bench_parse_cores(const char *text, struct bench_options *options);
/** bench_fold among simulated ranks. They share this process, so what is
 * measured is not disturbed by messages of the measurement. */
void bench_board_fold(struct bench *bench, void *record, size_t bytes,
                      bench_fold_t fold);

/* tune.c: find the quickest algorithms for this layout; returns an exit code */
int bench_tune(struct bench *bench);

/* main.c: what every rank does with its context; returns an exit code. */
int bench_run_rank(const catena_config_t *config,
                   const struct bench_options *options,
                   struct bench_board *board);

/* model.c: print the formulas' times; returns an exit code. */
int bench_print_model(const struct bench_options *options);

/* permute.c */

/** Where a permutation of 0 to n - 1 takes a value; each seed has its own. */
uint64_t bench_permute(uint64_t value, uint64_t n, uint64_t seed);
/** What it takes there. */
uint64_t bench_unpermute(uint64_t value, uint64_t n, uint64_t seed);

/* check.c */
uint64_t bench_seed(uint64_t stamp, int source, int target);
void bench_fill(void *block, size_t bytes, uint64_t seed);
/** Number of bytes that differ from bench_fill's; the first one goes to
 * `first` (offset, expected, found). */
uint64_t bench_compare(const void *block, size_t bytes, uint64_t seed,
                       struct bench_mismatch *first);

#endif
