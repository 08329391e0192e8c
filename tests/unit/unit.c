#include "unit.h"

#include <stdlib.h>

int unit_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int unit_step(int some)
{
    return getenv("UNIT_LONG") != NULL ? 1 : some;
}

int unit_main(const char *name, double seconds, void (*add)(TCase *tcase))
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, seconds);
    add(tcase);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
