/* A thousand operations of all kinds at once on groups that overlap.
 * RANK_TEST_SEED: which. */

#include <stdlib.h>

#include "coll_mix.h"

enum { OPERATIONS = 1000 };

static uint64_t seed(void)
{
    const char *text = getenv("RANK_TEST_SEED");
    return text != NULL ? strtoull(text, NULL, 0) : 1;
}

static void thousand(rank_test_t *test)
{
    coll_mix(test, seed(), OPERATIONS);
}

static void few_often(rank_test_t *test)
{
    for (uint64_t i = 0; i < 10; i++) {
        coll_mix(test, 1000 * seed() + i, OPERATIONS / 25);
    }
}

int main(int argc, char **argv)
{
    static const rank_case_t cases[] = {{"a thousand operations", thousand},
                                        {"a few, often", few_often},
                                        {NULL, NULL}};
    return rank_main(argc, argv, cases);
}
