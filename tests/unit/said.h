#ifndef UNIT_SAID_H
#define UNIT_SAID_H

#include "capture.h"
#include "job.h"

/** Facts are to be in it, each as a word of its own: names and numbers, up to
 * NULL. How they are put is not looked at. */
void said_facts(const capture_t *said, ...) __attribute__((sentinel));

#endif
