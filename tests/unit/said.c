#include "said.h"

#include <check.h>
#include <string.h>

void said_by(capture_t *said, uint32_t ranks, job_body_t body)
{
    capture_start(said);
    int failed = job_simulate(ranks, 1, body);
    capture_stop(said);
    ck_assert_msg(failed == 0, "%d ranks: %s", failed, said->text);
}

void said_has(const capture_t *said, const char *text)
{
    ck_assert_msg(strstr(said->text, text) != NULL, "'%s': %s", text,
                  said->text);
}
