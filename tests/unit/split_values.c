#include "split_values.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONG_BYTES = 100000,
    RUN_BYTES = 1200, /* of one byte again and again */
    RUN_LEAST = 90,
    SHORT_COLORS = 30000
};

value_t value_of_number(int64_t *place, int64_t value)
{
    *place = value;
    return (value_t){place, sizeof(*place)};
}

value_t value_of_text(const char *bytes)
{
    return (value_t){bytes, (uint32_t)strlen(bytes)};
}

value_t value_that_is_long(unsigned which)
{
    static unsigned char bytes[3][LONG_BYTES];
    for (unsigned i = 0; i < 3; i++) {
        memset(bytes[i], 'x', LONG_BYTES);
        bytes[i][LONG_BYTES - 1] = (unsigned char)i;
    }
    return (value_t){bytes[which % 3], LONG_BYTES};
}

/** Jenkins's one-at-a-time hash, from byte `start` on around. */
static uint32_t hash(value_t value, size_t start)
{
    const unsigned char *bytes = value.bytes;
    uint32_t sum = 0;
    for (size_t i = 0; i < value.count; i++) {
        sum += bytes[(start + i) % value.count];
        sum += sum << 10;
        sum ^= sum >> 6;
    }
    sum += sum << 3;
    sum ^= sum >> 11;
    return sum + (sum << 15);
}

typedef struct hashed {
    uint64_t hash;
    unsigned index;
} hashed_t;

static int compare_hashed(const void *a, const void *b)
{
    const hashed_t *x = a;
    const hashed_t *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/** Two indices of the same hash, the `skip`th such pair. */
static void find_pair(hashed_t *all, size_t count, unsigned skip,
                      unsigned pair[2])
{
    qsort(all, count, sizeof(*all), compare_hashed);
    for (size_t i = 1; i < count; i++) {
        if (all[i].hash == all[i - 1].hash && skip-- == 0) {
            pair[0] = all[i - 1].index;
            pair[1] = all[i].index;
            return;
        }
    }
    ck_abort_msg("no collision among %zu", count);
}

value_t value_of_same_hash(unsigned which)
{
    static unsigned char bytes[2][RUN_BYTES];
    static value_t made[2];
    if (made[0].bytes == NULL) {
        size_t count = 0;
        hashed_t *all = malloc(sizeof(*all) * 255 * RUN_BYTES);
        for (unsigned byte = 1; byte < 256; byte++) {
            unsigned char line[RUN_BYTES];
            memset(line, (int)byte, sizeof(line));
            for (uint32_t n = RUN_LEAST; n < RUN_BYTES; n++) {
                value_t value = {line, n};
                all[count++] = (hashed_t){hash(value, 0), byte << 16 | n};
            }
        }
        unsigned pair[2] = {0, 0};
        find_pair(all, count, 0, pair);
        free(all);
        for (int i = 0; i < 2; i++) {
            memset(bytes[i], (int)(pair[i] >> 16), RUN_BYTES);
            made[i] = (value_t){bytes[i], pair[i] & 0xffff};
        }
    }
    return made[which % 2];
}

value_t value_in_same_bins(unsigned which)
{
    static char bytes[4][16];
    if (bytes[0][0] == '\0') {
        hashed_t *all = malloc(sizeof(*all) * SHORT_COLORS);
        for (unsigned i = 0; i < SHORT_COLORS; i++) {
            char color[16];
            snprintf(color, sizeof(color), "color%u", i);
            uint64_t bins = 0;
            for (unsigned pass = 0; pass < 8; pass++) {
                uint64_t bin = hash(value_of_text(color), pass % strlen(color));
                bins = bins << 3 | (bin >> 3 * pass & 7);
            }
            all[i] = (hashed_t){bins, i};
        }
        for (unsigned skip = 0; skip < 2; skip++) {
            unsigned pair[2] = {0, 0};
            find_pair(all, SHORT_COLORS, skip, pair);
            snprintf(bytes[2 * skip], 16, "color%u", pair[0]);
            snprintf(bytes[2 * skip + 1], 16, "color%u", pair[1]);
        }
        free(all);
    }
    return value_of_text(bytes[which % 4]);
}
