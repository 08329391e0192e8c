#ifndef CTN_MODEL_MACHINE_H
#define CTN_MODEL_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include <catena/model.h>

#include "core/log.h"

/* A machine as the models see it: what messages, copies and local work cost. It
 * is read from a JSON file in which every parameter has a value, and a source:
 * where the value comes from.
 *
 *   { "name": "hpc-a", "description": "...",
 *     "node":    { "cores": { "value": 32, "source": "..." }, ... },
 *     "network": { "latency_ns": { "value": 1570, "source": "..." }, ... },
 *     "memory":  { "copy_MBps": { "value": 3240, "source": "..." }, ... },
 *     "work":    { "reduce_MBps": ..., "hash_MBps": ..., "compare_ns": ... } }
 *
 * Members of struct catena_machine have the names of the file. Exceptions are
 * rates (MBps: 10^6 bytes per second), which are kept as nanoseconds per byte;
 * a comment gives their name in the file. */

/** The distance of two cores of a node. */
typedef enum ctn_distance {
    CTN_DISTANCE_L3,     /* they share an L3 cache (or are the same core) */
    CTN_DISTANCE_SOCKET, /* the same socket, another L3 */
    CTN_DISTANCE_NODE,   /* another socket */
    CTN_DISTANCES
} ctn_distance_t;

/** Number of parameters in a file. */
#define CTN_MACHINE_PARAMETERS 33

struct catena_machine {
    char name[64];
    char description[256];

    /* node: the number of each in a node; consecutive cores share a socket, a
     * NUMA domain and an L3 cache */
    uint32_t cores;
    uint32_t sockets;
    uint32_t numa_domains; /* divides cores; may be fewer than sockets */
    uint32_t l3_caches;
    uint32_t shared_cores; /* cores that all nodes share, if nodes are emulated
                              on one host; 0: each node has its own */
    double switch_ns;      /* until a core that is yielded runs another rank */
    double cold_ns; /* more of a call if other ranks had the core before */

    /* network: LogGP (Alexandrov et al. 1995); each port has a queue for
     * sending and one for receiving. */
    uint32_t ports;
    double latency_ns;          /* L */
    double send_overhead_ns;    /* o of the sender's core */
    double receive_overhead_ns; /* o of the receiver's core; 0 with RDMA */
    double idle_poll_ns;        /* a poll of the network that finds nothing */
    double gap_ns;              /* g: between two messages at a port */
    double gap_per_byte_ns;  /* G: 1 / bandwidth of a port (file: port_MBps) */
    double node_per_byte_ns; /* 1 / bandwidth of all ports of a node together
                                (file: node_MBps); at least G / ports */
    uint32_t buffer_bytes;   /* what the network takes of a message whose
                                receiving port is busy; the rest, and later
                                messages of the sending port, wait. 0, and not
                                in the file: everything */
    uint32_t leaf_nodes;     /* a fat tree: nodes of a leaf switch; 0, and not
                                in the file: no link is shared */
    uint32_t leaf_uplinks;   /* links from it up, each like a port */

    /* memory: tau-Lop. A copy of m bytes, one of n concurrent ones in a NUMA
     * domain, takes copy_start + m * max(copy, n * domain). */
    double copy_start_ns;
    double copy_per_byte_ns;   /* a single copy (file: copy_MBps) */
    double cold_per_byte_ns;   /* a copy of data that are not in the core's
                                  caches (file: cold_MBps) */
    double domain_per_byte_ns; /* all copies of a domain (file: domain_MBps) */
    double signal_ns[CTN_DISTANCES]; /* from a store until a core that polls
                                        has seen it, by the distance of the
                                        cores (file: signal_l3_ns,
                                        signal_socket_ns, signal_node_ns) */
    double poll_ns; /* a rank's poll of its flags after one has arrived */

    /* work: the time of a core for local work */
    double transpose_per_byte_ns; /* copying small blocks to other places; as
                                     for copies, domain_per_byte_ns limits it
                                     (file: transpose_MBps) */
    double reduce_per_byte_ns;    /* reducing (file: reduce_MBps) */
    double hash_per_byte_ns;      /* hashing colors (file: hash_MBps) */
    double call_ns;               /* a call of a collective with data, besides
                                     its copies and flags */
    double compare_ns;            /* one comparison of a sort */
    double flag_overhead_ns;      /* of software, at each end of a flag within
                                     a node; 0: not in the file. A value for
                                     node_overhead_s of catena_sim_params_t */
    double message_overhead_ns;   /* likewise, of a message */

    char *source[CTN_MACHINE_PARAMETERS]; /* where the values come from, in the
                                             order of machine.c's table; NULL:
                                             not in the file */
};

/** Read a machine: the name of a built-in one, or the path of a file (if it
 * contains '/' or ends in ".json"). Errors are logged with file, parameter,
 * what was expected and what was found.
 * @return ERR_ARG (no such machine, invalid parameter), ERR_SYSTEM
 *   (unreadable), ERR_NO_MEMORY; release with ctn_machine_free */
catena_status_t ctn_machine_read(const ctn_log_t *log, const char *name,
                                 catena_machine_t **machine);
void ctn_machine_free(catena_machine_t *machine);

/** A parameter with section, name, unit and value as in the file. */
typedef struct ctn_machine_value {
    const char *section;
    const char *name;
    double value;
    const char *source;
} ctn_machine_value_t;

/** @param index below CTN_MACHINE_PARAMETERS
 * @return source NULL: not in the file */
ctn_machine_value_t ctn_machine_value(const catena_machine_t *machine,
                                      size_t index);

/** The core of local rank i on a node with n ranks: ranks are distributed
 * evenly over the cores, in order; if there are more ranks than cores, rank i
 * runs on core i mod cores. */
uint32_t ctn_machine_core(const catena_machine_t *machine, uint32_t i,
                          uint32_t n);
/** The NUMA domain of a core. */
uint32_t ctn_machine_domain(const catena_machine_t *machine, uint32_t core);
ctn_distance_t ctn_machine_distance(const catena_machine_t *machine,
                                    uint32_t core, uint32_t other);

/** Bytes of a fragment of a message in an alltoall through leaders, and of
 * staged data in a basic collective. */
#define CTN_MODEL_FRAGMENT_BYTES 65536

/* As the functions of catena/model.h of these names, where no argument is NULL,
 * and `point` is a struct of this library's release. */
catena_status_t ctn_model_path(const catena_model_point_t *point, int *moves,
                               size_t *k);
catena_status_t ctn_model_alltoall(const catena_machine_t *machine,
                                   const catena_model_point_t *point,
                                   double *seconds);
catena_status_t ctn_model_node(const catena_machine_t *machine,
                               const catena_model_point_t *point,
                               double *seconds);

#endif
