#ifndef PRUN_BIND_H
#define PRUN_BIND_H

#include "prun.h"

#include <sched.h>

/** Find the cores that this process may use and the binding of each rank. Ends
 * prun with exit code 2 if the requested binding is impossible. */
void prun_bindings_make(struct prun_job *job);
void prun_bindings_free(struct prun_job *job);

/** @return the set for sched_setaffinity, of *bytes; NULL: do not bind */
const cpu_set_t *prun_binding_of(const struct prun_job *job, uint32_t rank,
                                 size_t *bytes);

/** The hwloc topology, for the PMIx server; NULL if there is none. */
void *prun_bindings_topology(const struct prun_job *job);

#endif
