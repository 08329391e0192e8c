#include "ranks/helpers/refuse.h"

#include <string.h>

void rank_capture_start(const rank_test_t *test, capture_t *captured)
{
    captured->text[0] = '\0';
    if (!test->simulated) {
        capture_start(captured);
    }
}

void rank_capture_stop(const rank_test_t *test, capture_t *captured)
{
    if (!test->simulated) {
        capture_stop(captured);
    }
}

void rank_hold_against(rank_test_t *test, const char *call,
                       catena_status_t expected, catena_status_t found,
                       const char *words, const char *captured)
{
    if (found != expected ||
        (!test->simulated && strstr(captured, words) == NULL)) {
        rank_fail(test, "%s: expected %s and '%s', found %s and '%s'", call,
                  catena_status_string(expected), words,
                  catena_status_string(found), captured);
    }
}
