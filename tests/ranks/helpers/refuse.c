#include "ranks/helpers/refuse.h"

#include <string.h>

void rank_listen(const rank_test_t *test, capture_t *said)
{
    said->text[0] = '\0';
    if (!test->simulated) {
        capture_start(said);
    }
}

void rank_heard(const rank_test_t *test, capture_t *said)
{
    if (!test->simulated) {
        capture_stop(said);
    }
}

void rank_hold_against(rank_test_t *test, const char *call,
                       catena_status_t expected, catena_status_t found,
                       const char *words, const char *said)
{
    if (found != expected ||
        (!test->simulated && strstr(said, words) == NULL)) {
        rank_fail(test, "%s: expected %s and '%s', found %s and '%s'", call,
                  catena_status_string(expected), words,
                  catena_status_string(found), said);
    }
}
