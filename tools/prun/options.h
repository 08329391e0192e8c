#ifndef PRUN_OPTIONS_H
#define PRUN_OPTIONS_H

#include "prun.h"

/** Read the command line. Ends prun (one line on stderr, exit code 2, or --help
 * and --version) if there is nothing to start.
 * @param[out] options strings point into argv or live as long as prun */
void prun_options_parse(struct prun_options *options, int argc, char **argv);

#endif
