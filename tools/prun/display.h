#ifndef PRUN_DISPLAY_H
#define PRUN_DISPLAY_H

#include "prun.h"

/** Print on stderr what --report-bindings, --display and --verbose ask for
 * before the start. */
void prun_display(const struct prun_job *job);

#endif
