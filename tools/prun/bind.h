#ifndef PRUN_BIND_H
#define PRUN_BIND_H

#include "prun.h"

#include <sched.h>

/** Find the cores that prun may use, and choose the binding of each rank. Sets
 * job->bindings. Ends prun with exit code 2 if the requested binding is
 * impossible. */
void prun_bindings_make(struct prun_job *job);
void prun_bindings_free(struct prun_job *job);

/** @param[out] bytes size of the set
 * @return the CPUs of a rank, for sched_setaffinity; NULL: do not bind it */
const cpu_set_t *prun_binding_of(const struct prun_job *job, uint32_t rank,
                                 size_t *bytes);

/** The hwloc_topology_t of this machine, for the PMIx server; NULL if hwloc
 * could not load it. */
void *prun_bindings_topology(const struct prun_job *job);

#endif
