/* Types with absolute addresses, from CATENA_BOTTOM. */

#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/rank_test.h"
#include "ranks/helpers/refuse.h"

/** Two variables of this rank, as one element at the address 0. */
static catena_type_t type_of(rank_test_t *test, double *wide, int32_t *narrow)
{
    const catena_type_t types[] = {CATENA_DOUBLE, CATENA_INT32};
    const size_t ones[] = {1, 1};
    ptrdiff_t at[2];
    catena_type_t type = NULL;
    RANK_CHECK(test, catena_get_address(wide, &at[0]) == CATENA_OK);
    RANK_CHECK(test, catena_get_address(narrow, &at[1]) == CATENA_OK);
    RANK_CHECK(test,
               catena_type_struct(2, ones, at, types, &type) == CATENA_OK);
    return type;
}

/** One variable each, and the same data packed on the other side. */
static void from_bottom(rank_test_t *test)
{
    int rank = test->place.rank;
    int last = test->place.ranks - 1;
    double wide = rank + 0.5;
    int32_t narrow = -rank;
    catena_type_t type = type_of(test, &wide, &narrow);
    size_t p = (size_t)test->place.ranks;
    unsigned char *all = calloc(p, 12);
    RANK_CHECK(test, catena_bcast(CATENA_BOTTOM, 1, type, last, test->world) ==
                         CATENA_OK);
    RANK_CHECK(test, wide == last + 0.5 && narrow == -last);
    wide = rank;
    RANK_CHECK(test, catena_allgather(CATENA_BOTTOM, 1, type, all, 12,
                                      CATENA_BYTE, test->world) == CATENA_OK);
    for (int i = 0; i <= last; i++) {
        memcpy(&wide, all + 12 * i, sizeof(wide));
        memcpy(&narrow, all + 12 * i + 8, sizeof(narrow));
        RANK_CHECK(test, wide == i && narrow == -last);
    }
    RANK_CHECK(test, catena_type_free(&type) == CATENA_OK);
    free(all);
}

/** A block for each rank, at addresses that are displacements. */
static void blocks_from_bottom(rank_test_t *test)
{
    int rank = test->place.rank;
    size_t p = (size_t)test->place.ranks;
    int64_t *send = calloc(p, sizeof(*send)), *recv = calloc(p, sizeof(*recv));
    size_t *ones = calloc(p, sizeof(*ones));
    ptrdiff_t *from = calloc(p, sizeof(*from)), *to = calloc(p, sizeof(*to));
    catena_type_t *types = calloc(p, sizeof(*types));
    catena_request_t *request = NULL;
    for (size_t i = 0; i < p; i++) {
        send[i] = 1000 * rank + (int64_t)i;
        ones[i] = 1;
        types[i] = CATENA_INT64;
        RANK_CHECK(test, catena_get_address(&send[i], &from[i]) == CATENA_OK);
        RANK_CHECK(test,
                   catena_get_address(&recv[p - 1 - i], &to[i]) == CATENA_OK);
    }
    RANK_CHECK(test, catena_ialltoallw(CATENA_BOTTOM, ones, from, types,
                                       CATENA_BOTTOM, ones, to, types,
                                       test->world, &request) == CATENA_OK);
    RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
    for (size_t i = 0; i < p; i++) {
        RANK_CHECK(test, recv[p - 1 - i] == 1000 * (int64_t)i + rank);
    }
    /* The last displacement is in the first page. */
    to[p - 1] = 8;
    REFUSED(test, "",
            catena_alltoallw(CATENA_BOTTOM, ones, from, types, CATENA_BOTTOM,
                             ones, to, types, test->world));
    free(send);
    free(recv);
    free(ones);
    free(from);
    free(to);
    free(types);
}

static const rank_case_t cases[] = {
    {"from CATENA_BOTTOM", from_bottom},
    {"blocks from CATENA_BOTTOM", blocks_from_bottom},
    {NULL, NULL}};
const rank_suite_t rank_suite_addresses = {.name = "addresses", .cases = cases};
