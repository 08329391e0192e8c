#ifndef CATENA_MODEL_H
#define CATENA_MODEL_H

#include <stddef.h>
#include <stdio.h>

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * Cost parameters of machines, and the formulas that estimate the time of an
 * alltoall from them. Experimental: may change in any release. Part of
 * libcatena-sim, the library of the simulator: compile and link with
 * `pkg-config --cflags --libs catena-sim`. */

/** A machine's cost parameters: man catena-machine lists them. */
typedef struct catena_machine catena_machine_t;

/** Read a machine: the name of a predefined one ("hpc-a", "dawn", ...), or the
 * path of a JSON file (if it contains '/' or ends in ".json"). Errors in the
 * file are written to stderr.
 * @param[out] machine set only on CATENA_OK; release with catena_machine_close
 * @return CATENA_OK, ERR_ARG (NULL, no such machine, bad parameter), ERR_SYSTEM
 *         (the file cannot be read), ERR_NO_MEMORY */
CATENA_API catena_status_t catena_machine_open(const char *name,
                                               catena_machine_t **machine);

/** Release a machine.
 * @param[in,out] machine NULL afterwards
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t catena_machine_close(catena_machine_t **machine);

/** Print the names and descriptions of the predefined machines, one a line.
 * @param stream where the lines go
 * @return CATENA_OK, ERR_ARG (NULL), ERR_NO_MEMORY */
CATENA_API catena_status_t catena_machine_list(FILE *stream);

/** Print a machine: each parameter with its value, and with its source: where
 * the value comes from.
 * @param machine to print
 * @param stream  where the lines go
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t catena_machine_print(const catena_machine_t *machine,
                                                FILE *stream);

/** Read a parameter of a machine.
 * @param section of the file: "node", "network", "memory" or "work"
 * @param name    in this section
 * @param[out] value in the unit of the file; 0 if the file leaves an optional
 *                   parameter out; set only on CATENA_OK
 * @return CATENA_OK, ERR_ARG (NULL, or no such parameter) */
CATENA_API catena_status_t catena_machine_get(const catena_machine_t *machine,
                                              const char *section,
                                              const char *name, double *value);

/** The call whose time is estimated. M, ln, sz, n and k are the names of these
 * numbers in the paper. */
typedef struct catena_model_point {
    size_t size;           /**< sizeof this struct, set by the caller */
    const char *algorithm; /**< see catena_model_alltoall, catena_model_node */
    int nodes;             /**< M: number of nodes */
    int ppn;               /**< ranks per node */
    int leaders;           /**< ln: leaders per node, each with a network port;
                                direct and l-a2a ignore it */
    size_t bytes;          /**< sz: bytes of a block */
    int moves;             /**< n: copies of a message from the send buffer of a
                                rank to the receive buffer of another one of its
                                node: 1 in a shared heap, 2 through staging
                                buffers; 1 to 16. 0: what catena_model_path
                                returns */
    size_t segments; /**< k: the number of parts of such a message; 0: what
                          catena_model_path returns */
} catena_model_point_t;

/** Return how messages move within a node in an algorithm of catena. Leaders
 * copy buffers that are in the shared heap; owners copy all other buffers. In
 * both cases a message is copied once.
 * @param[in]  point    a valid one for catena_model_alltoall or
 *                      catena_model_node; the result does not depend on
 *                      moves and segments
 * @param[out] moves    n: 2 for staged, else 1
 * @param[out] segments k: the number of fragments of 64 KiB in what a node
 *                      sends to another one (l-a2a, mpml, nmpml, onmpml) or in
 *                      a block (staged); else 1
 * @return CATENA_OK, ERR_ARG (NULL, unknown algorithm, or a number below 1),
 *         ERR_UNSUPPORTED (`point` sets a member that the library does not
 *         have) */
CATENA_API catena_status_t catena_model_path(const catena_model_point_t *point,
                                             int *moves, size_t *segments);

/** Estimate the time of an alltoall by the formulas of Peng, Liu, Xie:
 * GLEX-Alltoall, equations 6 (direct), 7 (l-a2a, l-a2a-plain), 8 (mpml,
 * mpml-plain), 9 (nmpml, nmpml-plain) and 10 (onmpml). `machine` gives the
 * parameters o, g, G, L and b'.
 * @param[out] seconds set only on CATENA_OK
 * @return CATENA_OK, ERR_ARG (NULL, unknown algorithm, or a number out of
 *         range), ERR_UNSUPPORTED (`point` sets a member that the library does
 *         not have) */
CATENA_API catena_status_t
catena_model_alltoall(const catena_machine_t *machine,
                      const catena_model_point_t *point, double *seconds);

/** Estimate the time of messages within a NUMA domain by equations 2 to 4 of
 * the same paper, which are those of tau-Lop. The algorithm is one of
 *
 * - zero-copy, staged: a scatter from one rank to `ppn` - 1 others, to all of
 *   them at once;
 * - gather: `leaders` ranks copy a block each, at once.
 *
 * `nodes`, `leaders` of a scatter and `ppn` of a gather have no effect, but
 * must be 1 or more.
 * @param[out] seconds set only on CATENA_OK
 * @return as catena_model_alltoall; `ppn` of a scatter is 2 or more */
CATENA_API catena_status_t catena_model_node(const catena_machine_t *machine,
                                             const catena_model_point_t *point,
                                             double *seconds);

#ifdef __cplusplus
}
#endif
#endif
