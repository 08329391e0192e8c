#ifndef CTN_TOPO_SITE_H
#define CTN_TOPO_SITE_H

#include <catena/status.h>

#include "core/log.h"
#include "core/site.h"

/** Find out where this process is bound. Fills site->numa; local_rank must be
 * set.
 * @param synthetic hwloc description that stands for the real machine: the
 *                  process counts as bound to its local rank's processing
 *                  unit (modulo their number); NULL or "": the real one */
catena_status_t ctn_site_find(const ctn_log_t *log, const char *synthetic,
                              ctn_site_t *site);

/** Processing units that this job's ranks on this host can use together: those
 * online, less what the control group's quota withholds. */
unsigned ctn_site_cores(void);

#endif
