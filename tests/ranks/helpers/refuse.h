#ifndef RANK_REFUSE_H
#define RANK_REFUSE_H

#include "ranks/helpers/rank_test.h"
#include "unit/capture.h"

/** Capture this rank's log messages, and stop: no capture in a simulated job,
 * where all ranks share stderr. */
void rank_capture_start(const rank_test_t *test, capture_t *captured);
void rank_capture_stop(const rank_test_t *test, capture_t *captured);

/** Compare the result of a call and its messages with the expectation: a
 * status, and words in the messages. */
void rank_hold_against(rank_test_t *test, const char *call,
                       catena_status_t expected, catena_status_t found,
                       const char *words, const char *captured);

/* The call fails with such a message. */
#define FAILS(test, expected, words, call)                                     \
    do {                                                                       \
        static capture_t captured_; /* simulated ranks capture nothing */      \
        rank_capture_start(test, &captured_);                                  \
        catena_status_t found_ = (call);                                       \
        rank_capture_stop(test, &captured_);                                   \
        rank_hold_against(test, #call, expected, found_, words,                \
                          captured_.text);                                     \
    } while (0)
#define REFUSED(test, words, call) FAILS(test, CATENA_ERR_ARG, words, call)

#endif
