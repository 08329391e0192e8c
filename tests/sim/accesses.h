#ifndef SIM_ACCESSES_H
#define SIM_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>

/* What a step of a simulated job reads and writes of the heaps, which ranks of
 * a node share and into which others send, and of the numbers of messages in
 * flight. Two steps that write nothing that the other one accesses commute.
 *
 * gcc and clang put calls of a runtime into code that is compiled with
 * -fsanitize=thread, one before each access; they link ThreadSanitizer for it.
 * tests/sim/explore_accesses is compiled in this way, but accesses.c is the
 * runtime. Non-temporal stores are not seen (core/copy.c: from 1 MiB on).
 * Without ACCESSES nothing is recorded. */

typedef struct accesses accesses_t;

/** The intervals that a step accesses. */
struct accesses {
    struct {
        struct interval {
            size_t from, to; /* offsets in the heaps; `to` is not accessed */
        } * part;            /* in order, without overlap */
        size_t count;
    } of[3];        /* read; written; counted, that is, added to */
    bool elsewhere; /* it may access other memory that others write */
    accesses_t *next;
};

#if ACCESSES

/** Whether a rank lets others write into memory outside of the heaps. */
extern bool accesses_elsewhere;

/** The accesses from now on are those of the next step. */
void accesses_begin(void);

/** @return those since accesses_begin, until accesses_release; NULL: it was not
 * called */
accesses_t *accesses_end(void);

/** @return whether one writes what the other one reads or writes */
bool accesses_meet(const accesses_t *a, const accesses_t *b);

/** Free what accesses_end returned. */
void accesses_release(void);

#else

static inline void accesses_begin(void)
{
}

static inline accesses_t *accesses_end(void)
{
    return NULL;
}

static inline bool accesses_meet(const accesses_t *a, const accesses_t *b)
{
    (void)a, (void)b;
    return true;
}

static inline void accesses_release(void)
{
}

#endif
#endif
