#ifndef UNIT_CAPTURE_H
#define UNIT_CAPTURE_H

#include <stdio.h>

/* What is written to stderr between start and stop. */

typedef struct capture {
    FILE *file;
    int saved;
    char text[16384]; /* once it is stopped; cut off */
} capture_t;

void capture_start(capture_t *capture);
void capture_stop(capture_t *capture);

#endif
