#ifndef PRUN_PARSE_H
#define PRUN_PARSE_H

#include "prun.h"

/* As many processes as the kernel's usual default of pid_max allows. */
#define PRUN_MAX_RANKS 32768

/* Values of options. Each function ends prun with exit code 2 and one line on
 * stderr if the value, `text`, is wrong. */

/** @return a number from 1 to PRUN_MAX_RANKS */
uint32_t prun_parse_count(const char *option, const char *text);
/** Set options->ppn from "4" or "3+1+5"; refuses a second, other value. */
void prun_set_ppn(struct prun_options *options, const char *option,
                  const char *text);
void prun_parse_map_by(struct prun_options *options, const char *text);
void prun_parse_rank_by(struct prun_options *options, const char *text);
void prun_parse_bind_to(struct prun_options *options, const char *text);
void prun_parse_timeout(struct prun_options *options, const char *text);
void prun_parse_stdin(struct prun_options *options, const char *text);
/** A list of tag, timestamp and dir=DIR; or a directory. */
void prun_parse_output(struct prun_options *options, const char *text);
void prun_parse_display(struct prun_options *options, const char *text);
void prun_parse_export(struct prun_app *app, const char *text);
void prun_parse_wdir(struct prun_app *app, const char *text);

#endif
