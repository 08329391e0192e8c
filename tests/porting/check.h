#ifndef PORTING_CHECK_H
#define PORTING_CHECK_H

#include <stdio.h>

#include <catena/catena.h>

/** End the job after an error, as MPI's usual error handler does. */
static inline void check(catena_context_t *context, catena_status_t status)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "%s\n", catena_status_string(status));
        catena_abort(context, 1);
    }
}

#endif
