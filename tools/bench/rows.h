#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Results in rows: as a table for people, as comma-separated values, or as an
 * array of a JSON document. All benchmarks print through these functions. */

struct json_t;

/* The format of the output. */
enum bench_format { BENCH_TABLE, BENCH_CSV, BENCH_JSON };

enum { BENCH_TIME_DIGITS = -1 }; /* as in OSU's tables: 2, below 10 us 3 */

/* A column. */
struct bench_column {
    const char *key;   /* in CSV and JSON; NULL: not there */
    const char *title; /* in the table; NULL: not there */
    int width;         /* in the table; negative: aligned on the left */
    int digits;        /* of real numbers in the table, after the point */
};

/* A value in a column. */
struct bench_value {
    enum { BENCH_NONE, BENCH_TEXT, BENCH_COUNT, BENCH_REAL } kind;
    const char *text;
    uint64_t count;
    double real;
};

static inline struct bench_value bench_text(const char *text)
{
    return (struct bench_value){.kind = BENCH_TEXT, .text = text};
}

static inline struct bench_value bench_count(uint64_t count)
{
    return (struct bench_value){.kind = BENCH_COUNT, .count = count};
}

static inline struct bench_value bench_real(double real)
{
    return (struct bench_value){.kind = BENCH_REAL, .real = real};
}

/** `value` if it is known, else no value: in CSV an empty field, in JSON null.
 */
static inline struct bench_value bench_value_if(bool known,
                                                struct bench_value value)
{
    return known ? value : (struct bench_value){.kind = BENCH_NONE};
}

/** Print the names of the columns; nothing in JSON. */
void bench_rows_begin(enum bench_format format,
                      const struct bench_column *columns, size_t count);
/** Print a row; in JSON append an object to `rows`.
 * @param[in] values [count] */
void bench_rows_add(enum bench_format format,
                    const struct bench_column *columns, size_t count,
                    const struct bench_value *values, struct json_t *rows);

#endif
