#ifndef PATTERN_H
#define PATTERN_H

#include <stdint.h>

#include "peer.h"

/* Buffer contents of a collective: new in every call and known to all ranks, so
 * that each can check the received data. */

/** The kind of a collective by its name; PEER_KINDS: unknown. */
enum peer_kind pattern_kind(const char *collective);

/** Whether it has a size. */
bool pattern_has_sizes(enum peer_kind kind);

/** The number of blocks on each side: all ranks, or the neighbors. */
int pattern_partners(enum peer_kind kind, int size);

/** Set the position of blocks; `blocks` are [2 * partners]. */
void pattern_lay_out(struct peer_call *call, struct peer_block *blocks);

/** Bytes of a buffer of those blocks. */
size_t pattern_extent(const struct peer_block *blocks, int count);

/** Fill the send data of this rank for call `number`. */
void pattern_fill(struct peer_call *call, unsigned number);

/** The number of errors in the received data: words, or groups. */
uint64_t pattern_errors(const struct peer_call *call, unsigned number);

#endif
