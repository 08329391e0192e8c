/* Distances between names, for suggestions. */

#include "core/suggest.h"

#include <ctype.h>
#include <string.h>

/** Levenshtein distance, ignoring case. `line` is a row of the usual table:
 * line[i] is the distance of the first i characters of `name` from the first
 * characters of `known`. */
static size_t edit_distance(const char *name, size_t length, const char *known)
{
    size_t line[CTN_NAME_BYTES + 1];

    for (size_t i = 0; i <= length; i++)
        line[i] = i;
    for (size_t k = 0; known[k] != '\0'; k++) {
        size_t diagonal = line[0];

        line[0] = k + 1;
        for (size_t i = 1; i <= length; i++) {
            size_t above = line[i];
            size_t best = diagonal + (toupper((unsigned char)name[i - 1]) !=
                                      toupper((unsigned char)known[k]));

            if (above + 1 < best)
                best = above + 1;
            if (line[i - 1] + 1 < best)
                best = line[i - 1] + 1;
            line[i] = best;
            diagonal = above;
        }
    }
    return line[length];
}

static size_t name_distance(const char *typed, size_t length, const char *known)
{
    char name[CTN_NAME_BYTES + 1];

    if (length > CTN_NAME_BYTES)
        length = CTN_NAME_BYTES;
    memcpy(name, typed, length);
    name[length] = '\0';
    if (length >= 4 && strcasestr(known, name) != NULL)
        return strcasecmp(known, name) != 0;
    return edit_distance(name, length, known);
}

void ctn_nearest_try(ctn_nearest_t *nearest, const char *known)
{
    size_t distance = name_distance(nearest->typed, nearest->length, known);

    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->name = known;
    }
}
