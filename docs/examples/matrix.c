/* Matrices for spmv.c: a generator, a reader of Matrix Market files
 * (coordinate; real, integer or pattern; general or symmetric), and blocks of
 * rows. */
#include "matrix.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** An entry that is read or made, in any order. */
typedef struct entry {
    int64_t row, column;
    double value;
} entry_t;

typedef struct list {
    entry_t *entry;
    size_t count, capacity;
} list_t;

static int no_memory(void)
{
    fprintf(stderr, "matrix: no memory\n");
    return -1;
}

static int add(list_t *list, int64_t row, int64_t column, double value)
{
    if (list->count == list->capacity) {
        size_t capacity = 2 * list->capacity + 1024;
        entry_t *more = realloc(list->entry, capacity * sizeof(*more));
        if (more == NULL) {
            return no_memory();
        }
        list->entry = more;
        list->capacity = capacity;
    }
    list->entry[list->count++] = (entry_t){row, column, value};
    return 0;
}

/* ---- Matrix Market files ---- */

typedef struct reader {
    const char *path;
    FILE *file;
    int quiet;
    long line;
    char text[1024]; /* of the line */
    int symmetric, pattern;
    int64_t size, entries;
} reader_t;

static int refuse(const reader_t *reader, const char *expected)
{
    if (!reader->quiet) {
        fprintf(stderr, "%s:%ld: expected %s, found \"%.60s\"\n", reader->path,
                reader->line, expected, reader->text);
    }
    return -1;
}

/** Reads the next line that is not empty. @return 0; -1: there is none */
static int next_line(reader_t *reader)
{
    do {
        if (fgets(reader->text, sizeof(reader->text), reader->file) == NULL) {
            strcpy(reader->text, "the end of the file");
            return -1;
        }
        reader->line++;
        reader->text[strcspn(reader->text, "\r\n")] = '\0';
    } while (reader->text[strspn(reader->text, " \t")] == '\0');
    return 0;
}

/** The first line: "%%MatrixMarket matrix coordinate real general". */
static int read_banner(reader_t *reader)
{
    char word[4][32] = {{0}};
    int end = next_line(reader);
    for (char *at = reader->text; end == 0 && *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    if (end != 0 ||
        sscanf(reader->text, "%%%%matrixmarket %31s %31s %31s %31s", word[0],
               word[1], word[2], word[3]) != 4 ||
        strcmp(word[0], "matrix") != 0 || strcmp(word[1], "coordinate") != 0) {
        return refuse(reader, "%%MatrixMarket matrix coordinate");
    }
    reader->pattern = strcmp(word[2], "pattern") == 0;
    reader->symmetric = strcmp(word[3], "symmetric") == 0;
    if (!reader->pattern && strcmp(word[2], "real") != 0 &&
        strcmp(word[2], "integer") != 0) {
        return refuse(reader, "real, integer or pattern");
    }
    if (!reader->symmetric && strcmp(word[3], "general") != 0) {
        return refuse(reader, "general or symmetric");
    }
    return 0;
}

/** Opens a file, and reads up to the line of sizes. */
static int open_file(const matrix_kind_t *kind, reader_t *reader)
{
    long long rows, columns, entries;
    char rest;
    *reader = (reader_t){.path = kind->file,
                         .file = fopen(kind->file, "r"),
                         .quiet = kind->quiet};
    if (reader->file == NULL) {
        if (!kind->quiet) {
            perror(kind->file);
        }
        return -1;
    }
    if (read_banner(reader) != 0) {
        return -1;
    }
    int end;
    do {
        end = next_line(reader);
    } while (end == 0 && reader->text[0] == '%');
    if (end != 0 ||
        sscanf(reader->text, "%lld %lld %lld %c", &rows, &columns, &entries,
               &rest) != 3 ||
        rows < 1 || rows != columns || entries < 0) {
        return refuse(reader, "rows, as many columns, and entries");
    }
    reader->size = rows;
    reader->entries = entries;
    return 0;
}

static void close_file(reader_t *reader)
{
    if (reader->file != NULL) {
        fclose(reader->file);
    }
}

/** Reads a line "ROW COLUMN VALUE"; of a pattern all values are 1. */
static int read_entry(reader_t *reader, entry_t *entry)
{
    long long row, column;
    char rest;
    int end = next_line(reader);
    entry->value = 1;
    int found = end != 0 ? 0
                : reader->pattern
                    ? sscanf(reader->text, "%lld %lld %c", &row, &column, &rest)
                    : sscanf(reader->text, "%lld %lld %lf %c", &row, &column,
                             &entry->value, &rest);
    if (found != (reader->pattern ? 2 : 3) || row < 1 || column < 1 ||
        row > reader->size || column > reader->size) {
        char expected[128];
        snprintf(expected, sizeof(expected),
                 "an entry (row and column from 1 to %lld%s)",
                 (long long)reader->size, reader->pattern ? "" : ", a number");
        return refuse(reader, expected);
    }
    if (reader->symmetric && row < column) {
        return refuse(reader, "an entry of the lower triangle");
    }
    entry->row = row - 1;
    entry->column = column - 1;
    return 0;
}

/** Reads the entries of some rows. */
static int read_rows(reader_t *reader, int64_t first, int64_t end, list_t *list)
{
    int status = 0;
    for (int64_t i = 0; i < reader->entries && status == 0; i++) {
        entry_t entry;
        status = read_entry(reader, &entry);
        if (status == 0 && entry.row >= first && entry.row < end) {
            status = add(list, entry.row, entry.column, entry.value);
        }
        if (status == 0 && reader->symmetric && entry.row != entry.column &&
            entry.column >= first && entry.column < end) {
            status = add(list, entry.column, entry.row, entry.value);
        }
    }
    return status != 0 || next_line(reader) != 0
               ? status
               : refuse(reader, "no more entries than the line of sizes says");
}

/* ---- Laplacians ---- */

static uint64_t mix(uint64_t random) /* splitmix64 */
{
    random += 0x9e3779b97f4a7c15u;
    random = (random ^ random >> 30) * 0xbf58476d1ce4e5b9u;
    random = (random ^ random >> 27) * 0x94d049bb133111ebu;
    return random ^ random >> 31;
}

/** A row: the point, its neighbors along each dimension, random others. */
static int make_row(const matrix_kind_t *kind, int64_t size, int64_t row,
                    list_t *list)
{
    int status = add(list, row, row, 2.0 * kind->dims);
    int64_t stride = 1;
    for (int d = 0; d < kind->dims; d++, stride *= kind->side) {
        int64_t at = row / stride % kind->side;
        if (status == 0 && at > 0) {
            status = add(list, row, row - stride, -1);
        }
        if (status == 0 && at + 1 < kind->side) {
            status = add(list, row, row + stride, -1);
        }
    }
    for (int i = 0; i < kind->extra && status == 0; i++) {
        uint64_t random = mix(mix(kind->seed + (uint64_t)row) + (uint64_t)i);
        status =
            add(list, row, (int64_t)(random % (uint64_t)size), 0.5 / (i + 1));
    }
    return status;
}

/* ---- blocks ---- */

int64_t matrix_size(const matrix_kind_t *kind)
{
    int64_t size = 1;
    if (kind->file != NULL) {
        reader_t reader;
        size = open_file(kind, &reader) == 0 ? reader.size : -1;
        close_file(&reader);
        return size;
    }
    for (int d = 0; d < kind->dims; d++) {
        size *= kind->side;
    }
    return size;
}

int64_t matrix_first(int64_t size, int blocks, int block)
{
    return size / blocks * block + size % blocks * block / blocks;
}

/** Sorts entries by rows; within a row they keep their order. */
static int sort_entries(const list_t *list, matrix_t *matrix)
{
    matrix->begin = calloc(matrix->rows + 2, sizeof(*matrix->begin));
    matrix->column = malloc((list->count + 1) * sizeof(*matrix->column));
    matrix->value = malloc((list->count + 1) * sizeof(*matrix->value));
    matrix->order = malloc((matrix->rows + 1) * sizeof(*matrix->order));
    if (matrix->begin == NULL || matrix->column == NULL ||
        matrix->value == NULL || matrix->order == NULL) {
        return no_memory();
    }
    size_t *next = matrix->begin + 1; /* becomes begin */
    for (size_t i = 0; i < list->count; i++) {
        next[list->entry[i].row - matrix->first + 1]++;
    }
    for (size_t i = 0; i < matrix->rows; i++) {
        next[i + 1] += next[i];
        matrix->order[i] = i;
    }
    for (size_t i = 0; i < list->count; i++) {
        size_t at = next[list->entry[i].row - matrix->first]++;
        matrix->column[at] = list->entry[i].column;
        matrix->value[at] = list->entry[i].value;
    }
    matrix->inner = matrix->rows;
    return 0;
}

int matrix_load(const matrix_kind_t *kind, int64_t size, int blocks, int block,
                matrix_t *matrix)
{
    int64_t first = matrix_first(size, blocks, block);
    int64_t end = matrix_first(size, blocks, block + 1);
    list_t list = {0};
    int status = 0;
    *matrix =
        (matrix_t){.size = size, .first = first, .rows = (size_t)(end - first)};
    if (kind->file != NULL) {
        reader_t reader;
        status = open_file(kind, &reader);
        status = status == 0 ? read_rows(&reader, first, end, &list) : status;
        close_file(&reader);
    }
    for (int64_t row = first; kind->file == NULL && row < end && status == 0;
         row++) {
        status = make_row(kind, size, row, &list);
    }
    if (status == 0) {
        status = sort_entries(&list, matrix);
    }
    free(list.entry);
    return status;
}

/* ---- halos ---- */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int is_own(const matrix_t *matrix, int64_t column)
{
    return column >= matrix->first &&
           column < matrix->first + (int64_t)matrix->rows;
}

/** Lists the columns of other blocks, each once. */
static int find_halo(const matrix_t *matrix, halo_t *halo)
{
    size_t entries = matrix->begin[matrix->rows], count = 0;
    halo->column = malloc((entries + 1) * sizeof(*halo->column));
    if (halo->column == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < entries; i++) {
        if (!is_own(matrix, matrix->column[i])) {
            halo->column[count++] = matrix->column[i];
        }
    }
    qsort(halo->column, count, sizeof(*halo->column), ascending);
    for (size_t i = 0; i < count; i++) {
        if (halo->count == 0 ||
            halo->column[i] != halo->column[halo->count - 1]) {
            halo->column[halo->count++] = halo->column[i];
        }
    }
    return 0;
}

/** Finds which blocks the halo comes from, and how much. */
static int find_sources(const matrix_t *matrix, int blocks, halo_t *halo)
{
    halo->source = malloc(((size_t)blocks + 1) * sizeof(*halo->source));
    halo->counts = calloc((size_t)blocks + 1, sizeof(*halo->counts));
    if (halo->source == NULL || halo->counts == NULL) {
        return no_memory();
    }
    int block = 0;
    for (size_t i = 0; i < halo->count; i++) {
        while (halo->column[i] >=
               matrix_first(matrix->size, blocks, block + 1)) {
            block++;
        }
        if (halo->sources == 0 || halo->source[halo->sources - 1] != block) {
            halo->source[halo->sources++] = block;
        }
        halo->counts[halo->sources - 1]++;
    }
    return 0;
}

int matrix_localize(matrix_t *matrix, int blocks, halo_t *halo)
{
    *halo = (halo_t){0};
    if (find_halo(matrix, halo) != 0 ||
        find_sources(matrix, blocks, halo) != 0) {
        return -1;
    }
    size_t outer = matrix->rows;
    matrix->inner = 0;
    for (size_t row = 0; row < matrix->rows; row++) {
        int any = 0;
        for (size_t i = matrix->begin[row]; i < matrix->begin[row + 1]; i++) {
            int64_t *column = &matrix->column[i];
            if (is_own(matrix, *column)) {
                *column -= matrix->first;
            } else {
                const int64_t *found =
                    bsearch(column, halo->column, halo->count, sizeof(*column),
                            ascending);
                *column = (int64_t)matrix->rows + (found - halo->column);
                any = 1;
            }
        }
        matrix->order[any ? --outer : matrix->inner++] = row;
    }
    return 0;
}

void matrix_multiply(const matrix_t *matrix, size_t from, size_t to,
                     const double *x, double *y)
{
    for (size_t k = from; k < to; k++) {
        size_t row = matrix->order[k];
        double sum = 0;
        for (size_t i = matrix->begin[row]; i < matrix->begin[row + 1]; i++) {
            sum += matrix->value[i] * x[matrix->column[i]];
        }
        y[row] = sum;
    }
}

void matrix_free(matrix_t *matrix)
{
    free(matrix->begin);
    free(matrix->column);
    free(matrix->value);
    free(matrix->order);
    *matrix = (matrix_t){0};
}

void halo_free(halo_t *halo)
{
    free(halo->column);
    free(halo->source);
    free(halo->counts);
    *halo = (halo_t){0};
}
