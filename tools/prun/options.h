#ifndef PRUN_OPTIONS_H
#define PRUN_OPTIONS_H

#include "prun.h"

/** Read the command line. Ends prun on a mistake (one line on stderr, exit code
 * 2), and after --help and --version.
 * @param[out] options strings point into argv or live as long as prun */
void prun_options_parse(struct prun_options *options, int argc, char **argv);

/** Check what depends on options->np, once this is final. */
void prun_options_check_ranks(const struct prun_options *options);

#endif
