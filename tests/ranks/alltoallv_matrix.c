/* Matrices of which ranks have rows, and get columns: alltoallw as users see
 * it. */

#include <stdlib.h>
#include <string.h>

#include "alltoallv.h"
#include "rank_vector.h"

typedef struct matrix {
    size_t n;      /* rows and columns of the whole */
    size_t p;      /* ranks: each has rows, or columns, of its own */
    size_t *first; /* [p + 1] uneven widths, 0 among them */
    size_t mine;
    size_t from;   /* my first */
    int32_t *rows; /* [mine][n] */
    int32_t *out;  /* [n][mine] or [mine][n] */
    catena_datatype_t *send_types;
    catena_datatype_t *receive_types;
    size_t *send_counts;
    size_t *receive_counts;
    ptrdiff_t *zeros;
} matrix_t;

static int32_t entry(size_t row, size_t column)
{
    return (int32_t)(row * 10007 + column);
}

static void matrix_open(rank_test_t *test, matrix_t *m)
{
    size_t rank = (size_t)test->place.rank;
    m->p = (size_t)test->place.size;
    m->first = calloc(m->p + 1, sizeof(*m->first));
    for (size_t i = 0; i < m->p; i++) {
        m->first[i + 1] = m->first[i] + rank_hash(17, i, 0) % 6;
    }
    m->n = m->first[m->p];
    m->from = m->first[rank];
    m->mine = m->first[rank + 1] - m->from;
    size_t bytes = (m->n * m->mine + 1) * sizeof(int32_t);
    m->rows = malloc(bytes);
    m->out = catena_malloc(test->context, bytes);
    m->send_types = calloc(m->p, sizeof(*m->send_types));
    m->receive_types = calloc(m->p, sizeof(*m->receive_types));
    m->send_counts = calloc(m->p, sizeof(*m->send_counts));
    m->receive_counts = calloc(m->p, sizeof(*m->receive_counts));
    m->zeros = calloc(m->p, sizeof(*m->zeros));
    for (size_t i = 0; i < m->mine * m->n; i++) {
        m->rows[i] = entry(m->from + i / m->n, i % m->n);
    }
    for (size_t i = 0; i < m->p; i++) {
        size_t width = m->first[i + 1] - m->first[i];
        m->send_counts[i] = m->mine > 0 && width > 0;
        m->receive_counts[i] = m->send_counts[i];
        m->send_types[i] = CATENA_DOUBLE; /* where the count is 0 */
        m->receive_types[i] = CATENA_INT8;
    }
}

static void matrix_close(rank_test_t *test, matrix_t *m)
{
    free(m->first);
    free(m->rows);
    catena_free(test->context, m->out);
    free(m->send_types);
    free(m->receive_types);
    free(m->send_counts);
    free(m->receive_counts);
    free(m->zeros);
}

/** Cut columns out of the rows; Fortran's order names the indices the other way
 * round. */
static void cut_columns(rank_test_t *test, matrix_t *m, bool fortran)
{
    for (size_t i = 0; i < m->p; i++) {
        size_t c[3][2] = {{m->mine, m->n},
                          {m->mine, m->first[i + 1] - m->first[i]},
                          {0, m->first[i]}};
        size_t f[3][2] = {
            {c[0][1], c[0][0]}, {c[1][1], c[1][0]}, {c[2][1], c[2][0]}};
        if (m->send_counts[i] == 0) {
            continue;
        }
        catena_status_t status =
            fortran ? catena_type_subarray(2, f[0], f[1], f[2],
                                           CATENA_ORDER_FORTRAN, CATENA_INT32,
                                           &m->send_types[i])
                    : catena_type_subarray(2, c[0], c[1], c[2], CATENA_ORDER_C,
                                           CATENA_INT32, &m->send_types[i]);
        RANK_CHECK(test, status == CATENA_OK);
    }
}

/** Rows of my columns, one block after the other. */
static void take_rows(rank_test_t *test, matrix_t *m)
{
    for (size_t i = 0; i < m->p; i++) {
        size_t sizes[] = {m->n, m->mine};
        size_t box[] = {m->first[i + 1] - m->first[i], m->mine};
        size_t start[] = {m->first[i], 0};
        if (m->receive_counts[i] > 0) {
            RANK_CHECK(test,
                       catena_type_subarray(2, sizes, box, start,
                                            CATENA_ORDER_C, CATENA_INT32,
                                            &m->receive_types[i]) == CATENA_OK);
        }
    }
}

/** Columns of my part of the transpose, [mine][n]: a row that arrives becomes
 * a column. The first column's place is part of the type. */
static void take_columns(rank_test_t *test, matrix_t *m)
{
    ptrdiff_t row_bytes = (ptrdiff_t)(m->n * sizeof(int32_t));
    for (size_t i = 0; i < m->p; i++) {
        catena_datatype_t column = NULL;
        catena_datatype_t narrow = NULL;
        size_t width = m->first[i + 1] - m->first[i];
        ptrdiff_t place = (ptrdiff_t)m->first[i];
        if (m->receive_counts[i] == 0) {
            continue;
        }
        RANK_CHECK(test,
                   catena_type_hvector(m->mine, 1, row_bytes, CATENA_INT32,
                                       &column) == CATENA_OK);
        RANK_CHECK(test, catena_type_resized(column, 0, sizeof(int32_t),
                                             &narrow) == CATENA_OK);
        RANK_CHECK(test,
                   catena_type_indexed(1, &width, &place, narrow,
                                       &m->receive_types[i]) == CATENA_OK);
        RANK_CHECK(test, catena_type_free(&column) == CATENA_OK);
        RANK_CHECK(test, catena_type_free(&narrow) == CATENA_OK);
    }
}

static void free_matrix_types(rank_test_t *test, matrix_t *m)
{
    for (size_t i = 0; i < m->p; i++) {
        if (m->send_counts[i] > 0) {
            RANK_CHECK(test, catena_type_free(&m->send_types[i]) == CATENA_OK);
            RANK_CHECK(test,
                       catena_type_free(&m->receive_types[i]) == CATENA_OK);
        }
    }
}

static void check_matrix(rank_test_t *test, const matrix_t *m, bool transposed)
{
    for (size_t i = 0; i < m->mine * m->n; i++) {
        size_t row = transposed ? i % m->n : i / m->mine;
        size_t column = m->from + (transposed ? i / m->n : i % m->mine);
        if (m->out[i] != entry(row, column)) {
            rank_fail(test, "entry %zu: expected %d, found %d", i,
                      entry(row, column), m->out[i]);
            return;
        }
    }
    RANK_CHECK(test, m->out[m->mine * m->n] == -1);
}

void alltoallv_matrix(rank_test_t *test, bool fortran, bool transposed)
{
    matrix_t m;
    matrix_open(test, &m);
    memset(m.out, 0xff, (m.n * m.mine + 1) * sizeof(int32_t));
    cut_columns(test, &m, fortran);
    if (transposed) {
        take_columns(test, &m);
    } else {
        take_rows(test, &m);
    }
    RANK_CHECK(test,
               catena_alltoallw(m.rows, m.send_counts, m.zeros, m.send_types,
                                m.out, m.receive_counts, m.zeros,
                                m.receive_types, test->world) == CATENA_OK);
    check_matrix(test, &m, transposed);
    free_matrix_types(test, &m);
    matrix_close(test, &m);
}
