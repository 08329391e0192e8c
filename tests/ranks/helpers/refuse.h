#ifndef RANK_REFUSE_H
#define RANK_REFUSE_H

#include "ranks/helpers/rank_test.h"
#include "unit/capture.h"

/** What this rank says from now on, and what it was: nothing in a simulated
 * job, where stderr is everybody's. */
void rank_listen(const rank_test_t *test, capture_t *said);
void rank_heard(const rank_test_t *test, capture_t *said);

/** Hold how a call ended, and what it said meanwhile, against what was
 * expected: a status, and words among what was said. */
void rank_hold_against(rank_test_t *test, const char *call,
                       catena_status_t expected, catena_status_t found,
                       const char *words, const char *said);

/* The call fails with such a message. */
#define FAILS(test, expected, words, call)                                     \
    do {                                                                       \
        static capture_t said_; /* simulated ranks listen to none */           \
        rank_listen(test, &said_);                                             \
        catena_status_t found_ = (call);                                       \
        rank_heard(test, &said_);                                              \
        rank_hold_against(test, #call, expected, found_, words, said_.text);   \
    } while (0)
#define REFUSED(test, words, call) FAILS(test, CATENA_ERR_ARG, words, call)

#endif
