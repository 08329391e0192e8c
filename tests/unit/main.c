/* Unit tests, in one program: unit NAME [--rank]. Without a name it prints the
 * names. UNIT_TESTS(X) is an X(NAME) for each test. */

#include <stdio.h>
#include <string.h>

#include "unit/unit.h"

bool unit_as_rank;

#define X(name) int unit_test_##name(void);
UNIT_TESTS(X)
#undef X
#define X(name) {#name, unit_test_##name},
static const struct {
    const char *name;
    int (*run)(void);
} tests[] = {UNIT_TESTS(X)};
#undef X

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    unit_as_rank = argc == 3 && strcmp(argv[2], "--rank") == 0;
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (strcmp(tests[i].name, name) == 0) {
            return tests[i].run();
        }
        if (argc == 1) {
            printf("%s\n", tests[i].name);
        }
    }
    if (argc > 1) {
        fprintf(stderr, "%s: not the name of a test\n", name);
    }
    return argc > 1 ? 2 : 0;
}
