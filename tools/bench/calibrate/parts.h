#ifndef BENCH_CALIBRATE_PARTS_H
#define BENCH_CALIBRATE_PARTS_H

#include <sched.h>
#include <stdatomic.h>

#include "bench.h"
#include "calibrate/calibrate.h"

/* Declarations shared by the files of the calibration. */

enum {
    LINE_PAIR = 128, /* processors fetch cache lines in pairs */
    MAX_CPUS = 4096,
    MAX_LOCAL = 256, /* ranks that copy together */
    MAX_DOMAINS = 256,
    PASSES = 5, /* of all measurements, as the machine may be busy at times */
    GROUPS = 8, /* groups with concurrent operations */
    ID_BYTES = 64,
    COPY_MOST = 1 << 20 /* bytes of a measured copy */
};

enum { DISTANCES = 3 }; /* as in lib/model/machine.h: L3, socket, node */

/* The parameters, in the order of the file. */
enum parameter {
    CORES,
    SOCKETS,
    NUMA_DOMAINS,
    L3_CACHES,
    SHARED_CORES,
    SWITCH,
    PORTS,
    LATENCY,
    SEND_OVERHEAD,
    RECEIVE_OVERHEAD,
    GAP,
    PORT_RATE,
    NODE_RATE,
    COPY_START,
    COPY_RATE,
    DOMAIN_RATE,
    SIGNAL_L3,
    SIGNAL_SOCKET,
    SIGNAL_NODE,
    POLL,
    TRANSPOSE_RATE,
    REDUCE_RATE,
    HASH_RATE,
    COMPARE,
    PARAMETERS
};

/* A processor in /sys. A shared resource is identified by the lowest processor
 * that shares it. */
struct cpu {
    int number;
    int core;
    int l3;
    int socket;
    int domain;
};

/* Shared by the ranks of rank 0's node. */
struct shared_area {
    struct {
        _Alignas(LINE_PAIR) _Atomic uint64_t word;
    } flag[2];
    _Atomic int bound[2]; /* whether each of the two ranks got its processor */
    _Alignas(LINE_PAIR) double rate[MAX_LOCAL];
};

struct measurement {
    double value;
    double lowest; /* of all passes; in the result only */
    double highest;
    char source[480];
};

struct calibration {
    struct bench bench;
    catena_group_t *node;
    catena_group_t *world_groups[GROUPS];
    catena_group_t *node_groups[GROUPS];
    bool home;     /* on the node of rank 0 */
    bool paired;   /* two ranks can have a core each */
    bool emulated; /* other nodes share this host */
    struct shared_area *shared;
    uint64_t count; /* of flags exchanged */
    struct cpu *cpu;
    int cpus;
    cpu_set_t affinity; /* at the beginning */
    unsigned char *send;
    unsigned char *recv;
    int pass;
    double message_ns[PASSES]; /* L and both overheads */
    char message_source[PASSES][240];
    struct measurement measured[PASSES][PARAMETERS];
    struct measurement result[PARAMETERS]; /* of the median pass */
};

double calibrate_now_ns(clockid_t clock);
double calibrate_wall_ns(void);
void calibrate_sleep(double seconds);
double calibrate_median(double *times, size_t n);
double calibrate_fit_slope(const double *x, const double *y, size_t n);
void calibrate_must(struct calibration *c, const char *what,
                    catena_status_t status);
void calibrate_record(struct calibration *c, enum parameter parameter,
                      double value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
double calibrate_value_of(const struct calibration *c,
                          enum parameter parameter);
bool calibrate_is_leader(const struct calibration *c);
void calibrate_read_cpus(struct calibration *c);
void calibrate_record_shape(struct calibration *c);
bool calibrate_bind_to(const struct cpu *cpu);
void calibrate_unbind(const struct calibration *c);
const struct cpu *calibrate_find_far(const struct calibration *c, int far);
void calibrate_measure_signals(struct calibration *c);
void calibrate_measure_switch(struct calibration *c);
void calibrate_measure_copies(struct calibration *c);
void calibrate_measure_poll(struct calibration *c);
void calibrate_measure_work(struct calibration *c);
void calibrate_measure_overheads(struct calibration *c);
void calibrate_measure_latency(struct calibration *c);
size_t calibrate_most_bytes(const struct calibration *c);
void calibrate_measure_rate(struct calibration *c);
void calibrate_measure_gap(struct calibration *c);
int calibrate_try_path(const char *path);
int calibrate_report(const struct calibration *c, const char *path);

#endif
