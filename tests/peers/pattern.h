#ifndef PATTERN_H
#define PATTERN_H

#include <stdint.h>

#include "peer.h"

/* What the buffers of a collective hold: other contents in every call, known to
 * all ranks, so that each can check what it received. */

/** The kind of a collective by its name; PEER_KINDS: there is none. */
enum peer_kind pattern_kind(const char *collective);

/** Whether it has a size. */
bool pattern_has_sizes(enum peer_kind kind);

/** How many have blocks on each side: all ranks, or the neighbors. */
int pattern_partners(enum peer_kind kind, int size);

/** Set what goes where; `blocks` are [2 * partners]. */
void pattern_lay_out(struct peer_call *call, struct peer_block *blocks);

/** Bytes of a buffer of those blocks. */
size_t pattern_extent(const struct peer_block *blocks, int count);

/** Fill what this rank sends in call `number`. */
void pattern_fill(struct peer_call *call, unsigned number);

/** What is wrong with what it received: words, or groups. */
uint64_t pattern_errors(const struct peer_call *call, unsigned number);

#endif
