#ifndef PRUN_BIND_H
#define PRUN_BIND_H

#include "prun.h"

#include <sched.h>

/** Read this machine's topology and the CPUs that prun may use. Sets
 * job->bindings and, with --map-by ppr:N:OBJECT and without -n, options->np.
 * Ends prun with exit code 2 if the machine has no object of --map-by. */
void prun_machine_open(struct prun_job *job, struct prun_options *options);

/** Map the ranks to objects of the machine, and choose the binding of each.
 * Ends prun with exit code 2 if the ranks do not fit. */
void prun_bindings_make(struct prun_job *job);
void prun_bindings_free(struct prun_job *job);

/** @param[out] bytes size of the set
 * @return the CPUs of a rank, for sched_setaffinity; NULL: do not bind it */
const cpu_set_t *prun_binding_of(const struct prun_job *job, uint32_t rank,
                                 size_t *bytes);

/** @return what a rank is bound to, as "core 3 (CPU 3)"; NULL: nothing. The
 * caller frees it. */
char *prun_binding_text(const struct prun_job *job, uint32_t rank);
/** @return a list of the CPUs that prun may use, as "0-3"; the caller frees it
 */
char *prun_usable_text(const struct prun_job *job);

/** The value of CATENA_HOST_RANKS. It is the number of ranks, unless these have
 * fewer CPUs than ranks, by the affinity mask of prun or by their binding,
 * although the host has enough: the library compares the value with the CPUs of
 * the host, so it is scaled by them. */
uint32_t prun_bindings_host_ranks(const struct prun_job *job);

/** The hwloc_topology_t of this machine, for the PMIx server; NULL if hwloc
 * could not load it. */
void *prun_bindings_topology(const struct prun_job *job);

#endif
