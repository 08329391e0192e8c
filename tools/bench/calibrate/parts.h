#ifndef BENCH_CALIBRATE_PARTS_H
#define BENCH_CALIBRATE_PARTS_H

#include <sched.h>
#include <stdatomic.h>

#include "bench.h"
#include "calibrate/calibrate.h"

/* Declarations shared by the files of the calibration. Times are in ns and
 * rates in MB/s unless stated otherwise. */

enum {
    LINE_PAIR = 128, /* processors fetch cache lines in pairs */
    MAX_CPUS = 4096,
    MAX_LOCAL = 256, /* ranks that copy at the same time */
    MAX_DOMAINS = 256,
    PASSES = 9, /* of all measurements, because other load may disturb some */
    GROUPS = 8, /* duplicates of a group, for as many operations at once */
    ID_BYTES = 64,      /* of a host */
    COPY_MOST = 1 << 20 /* bytes of a measured copy */
};

/* Distances of two cores as in lib/model/machine.h: 0: they share an L3 cache,
 * 1: a socket, 2: only the node. */
enum { DISTANCES = 3 };

/* The parameters, in the order of the machine file; names in file.c. */
enum parameter {
    CORES,
    SOCKETS,
    NUMA_DOMAINS,
    L3_CACHES,
    SHARED_CORES,
    SWITCH,
    COLD,
    PORTS,
    LATENCY,
    SEND_OVERHEAD,
    RECEIVE_OVERHEAD,
    IDLE_POLL,
    GAP,
    PORT_RATE,
    NODE_RATE,
    COPY_START,
    COPY_RATE,
    COLD_RATE,
    DOMAIN_RATE,
    SIGNAL_L3,
    SIGNAL_SOCKET,
    SIGNAL_NODE,
    POLL,
    TRANSPOSE_RATE,
    REDUCE_RATE,
    HASH_RATE,
    CALL,
    COMPARE,
    PARAMETERS
};

/* A processor (hardware thread), from /sys. A core, an L3 cache or a socket is
 * identified by the lowest number of a processor that belongs to it. */
struct cpu {
    int number;
    int core;
    int l3;
    int socket;
    int domain; /* number of the NUMA domain */
};

/* Memory that the ranks of rank 0's node share. */
struct shared_area {
    struct {
        _Alignas(LINE_PAIR) _Atomic uint64_t word;
    } flag[2];            /* by which local ranks 0 and 1 notify each other */
    _Atomic int bound[2]; /* whether local ranks 0 and 1 got their processors */
    _Alignas(LINE_PAIR) double rate[MAX_LOCAL]; /* of copies, of each rank */
};

/* The value of a parameter and where it comes from. */
struct measurement {
    double value;
    double lowest;    /* of all passes; only in the result */
    double highest;   /* likewise */
    char source[480]; /* text for the machine file */
};

/* The state of the calibration on this rank. */
struct calibration {
    struct bench bench;
    catena_group_t *node; /* the ranks of this node */
    catena_group_t *pair; /* local ranks 0 and 1, 2 and 3, ... */
    catena_group_t *world_groups[GROUPS]; /* duplicates of the world */
    catena_group_t *level_groups[GROUPS]; /* of ranks with the same local rank:
                                           * node leaders */
    catena_group_t *node_groups[GROUPS];  /* duplicates of `node` */
    bool home;     /* this rank is on the node of rank 0 */
    bool paired;   /* ranks 0 and 1 of the node can have a core each */
    bool emulated; /* other nodes of the job are on the same host */
    struct shared_area *shared; /* NULL: on another node than rank 0 */
    uint64_t count;             /* last number in the flags */
    struct cpu *cpu;            /* [cpus], of this host */
    int cpus;
    cpu_set_t affinity;  /* of this rank before the calibration */
    unsigned char *send; /* buffers in the shared heap */
    unsigned char *recv;
    int pass; /* 0 to PASSES - 1 */
    /* Of each pass: time of a message, which is L and both overheads, and how
     * it was measured. */
    double message_ns[PASSES];
    char message_source[PASSES][240];
    struct measurement measured[PASSES][PARAMETERS];
    struct measurement result[PARAMETERS]; /* each from the median pass */
};

/* calibrate.c */

double calibrate_now_ns(clockid_t clock);
double calibrate_wall_ns(void);
void calibrate_sleep(double seconds);
/** The median; sorts `times`. */
double calibrate_median(double *times, size_t n);
/** The slope of the line that fits n points best. */
double calibrate_fit_slope(const double *x, const double *y, size_t n);
/** End the job unless `status` is OK; `what` has failed. */
void calibrate_must(struct calibration *c, const char *what,
                    catena_status_t status);
/** Store the value of a parameter in this pass, and where it comes from. */
void calibrate_record(struct calibration *c, enum parameter parameter,
                      double value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/** The value stored in this pass. */
double calibrate_value_of(const struct calibration *c,
                          enum parameter parameter);
/** Whether this rank is the first of its node, the node leader. */
bool calibrate_is_leader(const struct calibration *c);

/* shape.c */

/** Set c->cpu and c->cpus. */
void calibrate_read_cpus(struct calibration *c);
/** Record the numbers of cores, sockets, domains and caches. */
void calibrate_record_shape(struct calibration *c);
/** Bind this rank to a processor; false: it may not use it. */
bool calibrate_bind_to(const struct cpu *cpu);
/** Restore the affinity of this rank. */
void calibrate_unbind(const struct calibration *c);
/** A processor at this distance from the first one; NULL: there is none. */
const struct cpu *calibrate_find_far(const struct calibration *c, int distance);

/* node.c: called by some ranks of rank 0's node (with_ranks in calibrate.c). */

void calibrate_measure_signals(struct calibration *c);
void calibrate_measure_switch(struct calibration *c);
void calibrate_measure_copies(struct calibration *c);
void calibrate_measure_poll(struct calibration *c);
void calibrate_measure_call(struct calibration *c);
void calibrate_measure_cold(struct calibration *c);
void calibrate_measure_work(struct calibration *c);

/* network.c: called by all ranks of all nodes. */

void calibrate_measure_overheads(struct calibration *c);
void calibrate_measure_latency(struct calibration *c);
void calibrate_measure_rate(struct calibration *c);
void calibrate_measure_gap(struct calibration *c);
/** The size of the largest measured block. */
size_t calibrate_most_bytes(const struct calibration *c);

/* file.c */

/** Test whether the file can be written; returns an exit code. */
int calibrate_try_path(const char *path);
/** Write the machine file and print a table; returns an exit code. */
int calibrate_report(const struct calibration *c, const char *path);

#endif
