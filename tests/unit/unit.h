#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <check.h>

/* What the main of a unit test does. */

/** Run cases, each in a process of its own, for so many seconds at most.
 * @return what main returns */
int unit_main(const char *name, double seconds, void (*add)(TCase *tcase));

/** The same of cases of several kinds; the suite is freed. */
int unit_run(Suite *suite);

/** How far a loop goes on each time over seeds, or over numbers of ranks:
 * `some`, so that it takes only some of them; 1 where UNIT_LONG is set. */
int unit_step(int some);

#endif
