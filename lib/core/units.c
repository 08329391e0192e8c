/* Parsing of numbers. */

#include "core/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Read the whole number that a text begins with. @return the text behind it;
 * NULL: there is no number */
static const char *read_whole(const char *text, unsigned long long *number)
{
    char *end;
    if (!isdigit((unsigned char)text[0])) { /* strtoull takes "-1" and " 1" */
        return NULL;
    }
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 ? end : NULL;
}

bool ctn_units_count(const char *text, uint64_t most, uint64_t *count)
{
    unsigned long long number;
    const char *end = read_whole(text, &number);
    if (end == NULL || *end != '\0' || number > most) {
        return false;
    }
    *count = number;
    return true;
}

/** @return the binary logarithm of a unit: "", k, m, g, t, each with an
 * optional b; -1: it is none */
static int unit_shift(const char *unit)
{
    static const char letters[] = "kmgt";
    int shift = 0;
    if (*unit != '\0') {
        const char *at = strchr(letters, tolower((unsigned char)*unit));
        if (at != NULL) {
            shift = 10 * (int)(at - letters + 1);
            unit++;
        }
        if (tolower((unsigned char)*unit) == 'b') {
            unit++;
        }
    }
    return *unit == '\0' ? shift : -1;
}

bool ctn_units_bytes(const char *text, size_t *bytes)
{
    unsigned long long number;
    const char *end = read_whole(text, &number);
    int shift = end != NULL ? unit_shift(end) : -1;
    if (shift < 0 || number > SIZE_MAX >> shift) {
        return false;
    }
    *bytes = (size_t)number << shift;
    return true;
}

bool ctn_units_real(const char *text, double most, double *value)
{
    char *end;
    /* strtod takes spaces, signs, "inf", "nan" and hexadecimal numbers. */
    if (text[strspn(text, "0123456789.eE+-")] != '\0' ||
        !(isdigit((unsigned char)text[0]) || text[0] == '.')) {
        return false;
    }
    double read = strtod(text, &end);
    if (end == text || *end != '\0' || !(read <= most)) {
        return false;
    }
    *value = read;
    return true;
}
