#ifndef MATRIX_H
#define MATRIX_H

#include <stddef.h>
#include <stdint.h>

/* Sparse square matrices whose rows are dealt to ranks in blocks, for spmv.c.
 * No part of it communicates. */

/** Which matrix: of a file, or the Laplacian of a grid with random entries. */
typedef struct matrix_kind {
    const char *file; /* Matrix Market, coordinate; NULL: the Laplacian */
    int dims, side;   /* the grid has side^dims points */
    int extra;        /* random entries of each row */
    uint64_t seed;
    int quiet; /* errors of the file are not said: another rank says them */
} matrix_kind_t;

/** Rows first to first + rows - 1 of a matrix. */
typedef struct matrix {
    int64_t size; /* rows, and columns, of the whole matrix */
    int64_t first;
    size_t rows;
    size_t *begin;   /* [rows + 1] the entries of a row */
    int64_t *column; /* of an entry; after matrix_localize an index of x: its
                        own rows come first, then the halo */
    double *value;
    size_t *order; /* [rows] rows without halo columns first */
    size_t inner;  /* their number */
} matrix_t;

/** What a block needs of other blocks. */
typedef struct halo {
    size_t count;
    int64_t *column; /* [count] ascending */
    int sources;     /* blocks */
    int *source;     /* [sources] ascending */
    size_t *counts;  /* [sources] numbers from each */
} halo_t;

/** The size of a matrix. -1: an error, which is said on stderr. */
int64_t matrix_size(const matrix_kind_t *kind);

/** Where a block begins; block `blocks` is the end. */
int64_t matrix_first(int64_t size, int blocks, int block);

/** Makes or reads a block. @return 0; -1: an error, which is said on stderr */
int matrix_load(const matrix_kind_t *kind, int64_t size, int blocks, int block,
                matrix_t *matrix);

/** Replaces the columns by indices of x. @return as matrix_load */
int matrix_localize(matrix_t *matrix, int blocks, halo_t *halo);

/** y = A x, of the rows order[from] to order[to - 1]. */
void matrix_multiply(const matrix_t *matrix, size_t from, size_t to,
                     const double *x, double *y);

void matrix_free(matrix_t *matrix);
void halo_free(halo_t *halo);

#endif
