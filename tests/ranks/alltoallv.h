#ifndef ALLTOALLV_H
#define ALLTOALLV_H

#include "rank_test.h"

/* Parts of the program alltoallv. */

/** Exchange a matrix of rows for one of columns, by alltoallw.
 * @param fortran    what is sent is described in Fortran's order
 * @param transposed columns are received as rows */
void alltoallv_matrix(rank_test_t *test, bool fortran, bool transposed);

/** A case: wrong arguments, and those that are not. */
void alltoallv_arguments(rank_test_t *test);

#endif
