#ifndef UNIT_AFFINE_H
#define UNIT_AFFINE_H

#include <catena/coll.h>
#include <stdint.h>

/* Maps x -> a x + b modulo 2^32, a in the upper half of a word and b in the
 * lower one: putting them together is associative and does not commute, so a
 * result tells in which order it came about. */

/** The map that applies `left` after `right`. */
uint64_t affine_after(uint64_t left, uint64_t right);

/** The same element by element, as an operation's function. */
void affine_apply(const void *in, void *inout, size_t count,
                  catena_datatype_t type, void *argument);

#endif
