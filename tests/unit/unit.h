#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <check.h>
#include <stdbool.h>

/** What main does for the unit test of this name; returns what main returns. */
#define UNIT_TEST(name)                                                        \
    int unit_test_##name(void);                                                \
    int unit_test_##name(void)

/** Started as one rank under a launcher, with --rank. */
extern bool unit_as_rank;

/** Run cases, each in a process of its own, for so many seconds at most.
 * @return what main returns */
int unit_main(const char *name, double seconds, void (*add)(TCase *tcase));

/** The same of cases of several kinds; the suite is freed. */
int unit_run(Suite *suite);

/** How far a loop goes on each time over seeds, or over numbers of ranks:
 * `some`, so that it takes only some of them; 1 where UNIT_LONG is set. */
int unit_step(int some);

#endif
