#ifndef PRUN_LAYOUT_H
#define PRUN_LAYOUT_H

#include "prun.h"

/** Assign the ranks to nodes: one node with the machine's name, or virtual
 * nodes HOST-vn0, HOST-vn1 ... with room for as many as options->ppn says. */
void prun_layout_make(struct prun_layout *layout,
                      const struct prun_options *options, const char *host);
void prun_layout_free(struct prun_layout *layout);

/* The texts are allocated; the caller frees them. */

/** "0,1,2": the ranks of one node. */
char *prun_layout_peers(const struct prun_node *node);
/** "a,b,c": the names of all nodes. */
char *prun_layout_names(const struct prun_layout *layout);
/** "0,1;2,3": the ranks of all nodes. */
char *prun_layout_ranks(const struct prun_layout *layout);

#endif
