/* Rows of results in three formats; see rows.h. */

#include "rows.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_rows_begin(enum bench_format format,
                      const struct bench_column *columns, size_t count)
{
    const char *separator = "";

    for (size_t i = 0; i < count; i++) {
        const struct bench_column *column = &columns[i];

        if (format == BENCH_TABLE && column->title != NULL)
            printf("%*s", column->width, column->title);
        if (format == BENCH_CSV && column->key != NULL) {
            printf("%s%s", separator, column->key);
            separator = ",";
        }
    }
    if (format != BENCH_JSON)
        putchar('\n');
}

static void print_cell(const struct bench_column *column,
                       const struct bench_value *value)
{
    int digits = column->digits;

    if (digits == BENCH_TIME_DIGITS)
        digits = value->real < 10 ? 3 : 2;
    if (value->kind == BENCH_COUNT)
        printf("%*llu", column->width, (unsigned long long)value->count);
    else if (value->kind == BENCH_REAL)
        printf("%*.*f", column->width, digits, value->real);
    else
        printf("%*s", column->width,
               value->kind == BENCH_TEXT ? value->text : "-");
}

/* Text with commas or quotation marks is quoted. */
static void print_csv_text(const char *text)
{
    if (text[strcspn(text, ",\"\n")] == '\0') {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_field(const struct bench_value *value)
{
    if (value->kind == BENCH_TEXT)
        print_csv_text(value->text);
    else if (value->kind == BENCH_COUNT)
        printf("%llu", (unsigned long long)value->count);
    else if (value->kind == BENCH_REAL)
        printf("%.4f", value->real);
}

static json_t *json_of(const struct bench_value *value)
{
    switch (value->kind) {
    case BENCH_TEXT:
        return json_string(value->text);
    case BENCH_COUNT:
        return json_integer((json_int_t)value->count);
    case BENCH_REAL:
        return json_real(value->real);
    default:
        return json_null();
    }
}

void bench_rows_add(enum bench_format format,
                    const struct bench_column *columns, size_t count,
                    const struct bench_value *values, json_t *rows)
{
    json_t *row = format == BENCH_JSON ? json_object() : NULL;
    const char *separator = "";

    for (size_t i = 0; i < count; i++) {
        if (format == BENCH_TABLE && columns[i].title != NULL)
            print_cell(&columns[i], &values[i]);
        if (format == BENCH_JSON && columns[i].key != NULL)
            json_object_set_new(row, columns[i].key, json_of(&values[i]));
        if (format == BENCH_CSV && columns[i].key != NULL) {
            fputs(separator, stdout);
            print_field(&values[i]);
            separator = ",";
        }
    }
    if (row != NULL)
        json_array_append_new(rows, row);
    else
        putchar('\n');
    fflush(stdout);
}
