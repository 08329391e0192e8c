#ifndef UNIT_REFUSAL_H
#define UNIT_REFUSAL_H

#include <stdbool.h>

/* Memory that is refused once: of all that is asked for while it is armed, the
 * one that comes as number `which`. For programs that are linked with
 * --wrap=malloc, calloc, realloc, aligned_alloc and free. */

typedef struct refusal {
    bool armed;
    unsigned long which; /* from 1; 0: none */
    unsigned long taken; /* while it was armed */
    long live;           /* blocks taken and not given back, armed or not */
} refusal_t;

extern refusal_t refusal;

/** Count one that is asked for. @return whether it is refused */
bool refusal_asks(void);

/** The program's: whether it is to count what is asked for just now. */
bool refusal_applies(void);

#endif
