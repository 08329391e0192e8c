#ifndef UNIT_SAID_H
#define UNIT_SAID_H

#include "capture.h"
#include "job.h"

/** Run `body` on so many simulated ranks, none of which is to see an error, and
 * take what they say. */
void said_by(capture_t *said, uint32_t ranks, job_body_t body);

/** Facts are to be in it, each as a word of its own: names and numbers, up to
 * NULL. How they are put is not looked at. */
void said_facts(const capture_t *said, ...) __attribute__((sentinel));

#endif
