#ifndef CATENA_MODEL_H
#define CATENA_MODEL_H

#include <stddef.h>
#include <stdio.h>

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Experimental: may change in any release. In the library of the simulator:
 * compile and link with `pkg-config --cflags --libs catena-sim`. */

/** A machine's cost parameters; see docs/man/catena-machine.5.scd. */
typedef struct catena_machine catena_machine_t;

/** Read a machine: the name of a predefined one ("hpc-a", "dawn", ...), or the
 * path of a JSON file (if it contains '/' or ends in ".json"). Errors in it are
 * written to stderr.
 * @param[out] machine set only on CATENA_OK; release with catena_machine_close
 * @return ERR_ARG (no such machine, bad parameter), ERR_SYSTEM,
 * ERR_NO_MEMORY */
CATENA_API catena_status_t catena_machine_open(const char *name,
                                               catena_machine_t **machine);

/** Release a machine.
 * @param[in,out] machine NULL afterwards
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t catena_machine_close(catena_machine_t **machine);

/** Print the names and descriptions of the predefined machines, one a line. */
CATENA_API catena_status_t catena_machine_list(FILE *stream);

/** Print a machine: each parameter with its value and source. */
CATENA_API catena_status_t catena_machine_print(const catena_machine_t *machine,
                                                FILE *stream);

/** The arguments of a formula. */
typedef struct catena_model_point {
    size_t size;           /**< sizeof this struct, set by the caller */
    const char *algorithm; /**< direct, l-a2a, mpml, nmpml or onmpml */
    int nodes;             /**< M */
    int ppn;               /**< ranks per node */
    int leaders;           /**< ln, leaders and ports in use per node */
    size_t bytes;          /**< sz, of a block */
} catena_model_point_t;

/** Time of an alltoall by the paper's formulas. Peng, Liu, Xie:
 * GLEX-Alltoall, equations 6 (direct), 7 (l-a2a), 8 (mpml), 9 (nmpml) and
 * 10 (onmpml); o, g, G, L and b' are the machine's.
 * @param[out] seconds set only on CATENA_OK
 * @return ERR_ARG: unknown algorithm, or a number below 1 */
CATENA_API catena_status_t
catena_model_alltoall(const catena_machine_t *machine,
                      const catena_model_point_t *point, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
