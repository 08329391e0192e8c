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

/** The alltoall whose time is estimated; M, ln and sz are the names that the
 * paper has for these numbers. */
typedef struct catena_model_point {
    size_t size;           /**< sizeof this struct, set by the caller */
    const char *algorithm; /**< direct, l-a2a, mpml, nmpml or onmpml */
    int nodes;             /**< M: number of nodes */
    int ppn;               /**< ranks per node */
    int leaders;           /**< ln: leaders per node, each with a network port;
                                direct and l-a2a ignore it */
    size_t bytes;          /**< sz: bytes of a block */
} catena_model_point_t;

/** Estimate the time of an alltoall by the formulas of Peng, Liu, Xie:
 * GLEX-Alltoall, equations 6 (direct), 7 (l-a2a), 8 (mpml), 9 (nmpml) and
 * 10 (onmpml). `machine` gives the parameters o, g, G, L and b'.
 * @param[out] seconds set only on CATENA_OK
 * @return CATENA_OK, ERR_ARG (NULL, unknown algorithm, or a number below 1),
 *         ERR_UNSUPPORTED (`point` sets a member that the library does not
 *         have) */
CATENA_API catena_status_t
catena_model_alltoall(const catena_machine_t *machine,
                      const catena_model_point_t *point, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
