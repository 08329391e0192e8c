#ifndef SIM_AREAS_H
#define SIM_AREAS_H

#include <stddef.h>
#include <stdint.h>

struct ctn_sim;

/* Memory that a simulated job allocates. Each rank has its own area, and memory
 * is never reused. So addresses, which are part of the state, do not depend on
 * the order of steps. */

enum {
    AREAS_RANKS = 8,        /* at most */
    AREAS = AREAS_RANKS + 1 /* the last one is the simulator's */
};

typedef struct area {
    unsigned char *begin;
    size_t used; /* what follows is zero */
} area_t;

extern area_t area[AREAS];

/** A job is about to begin: what is allocated comes from the areas. */
void areas_begin(void);

/** The ranks of this job exist from now on. NULL: they are about to be
 * destroyed. */
void areas_serve(const struct ctn_sim *sim);

/** The job is over: the areas are empty. */
void areas_end(void);

/** The first address in the areas of the ranks, and the one after the last. */
uintptr_t areas_of_ranks(uintptr_t *end);

/** @return sparse memory, zero; it ends the program if there is none */
void *areas_map(size_t bytes);

/** @return `memory`, or end the program if there is none */
void *areas_need(void *memory);

/** End the program: a table is full. */
void areas_end_at_limit(const char *what, size_t most);

/** Memory that is not of a job. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);

#endif
