#ifndef UNIT_WORDS_H
#define UNIT_WORDS_H

#include <catena/coll.h>

#include "job.h"

/* What calls are tried with that are drawn and checked word by word: contents,
 * lengths, a type, an operation. An element is 8 bytes; where it is spread, 8
 * bytes of gap follow. */

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT } form_t;

#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

bool words_draw_bool(uint64_t *random);

/** A number of a call; `salt` tells calls apart. */
uint64_t words_mix(uint64_t salt, uint64_t a, uint64_t b);

/** A length that a random number stands for: 0 in one case of four, else up to
 * `most`. */
size_t words_length(uint64_t random, size_t most);

/** Memory of so many words, in the shared heap or elsewhere. */
uint64_t *words_take(job_t *job, bool shared, size_t count);
void words_give(job_t *job, bool shared, uint64_t *words);
void words_untouch(uint64_t *words, size_t count);

/** How many are as expected, from the first on. */
size_t words_alike(const uint64_t *words, const uint64_t *expected,
                   size_t count);

/** Two words to an element where it is spread. */
catena_datatype_t words_type(job_t *job, bool spread);

/** The sum, or an operation that does not commute; and dropped. */
catena_op_t words_op(job_t *job, bool sum);
void words_op_drop(job_t *job, bool sum, catena_op_t op);
/** What it makes of two. */
uint64_t words_combine(bool sum, uint64_t left, uint64_t right);

#endif
