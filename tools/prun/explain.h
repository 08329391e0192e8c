#ifndef PRUN_EXPLAIN_H
#define PRUN_EXPLAIN_H

#include "prun.h"

/** Let catena-info, which is installed beside prun, say on stderr what the
 * ranks do, once for each node.
 * @return whether any node could be asked */
bool prun_explain(struct prun_job *job);

#endif
