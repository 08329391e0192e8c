#ifndef INFO_OVERVIEW_H
#define INFO_OVERVIEW_H

#include <stdbool.h>

/* Parts of the overview. */
enum {
    PART_BUILD = 1 << 0,
    PART_LIBRARIES = 1 << 1,
    PART_TRANSPORTS = 1 << 2,
    PART_TOPOLOGY = 1 << 3,
    PART_MEMORY = 1 << 4,
    PART_LIMITS = 1 << 5,
    PART_ALGORITHMS = 1 << 6,
    PART_ALL = (1 << 7) - 1,
};

/** Print parts of the overview. @return false: standard output has an error */
bool overview_print(int parts, bool json);

#endif
