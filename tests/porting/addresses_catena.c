/* Types of absolute addresses. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { VALUES = 4 };

static catena_context_t *context;
static catena_group_t *world;
static int rank, size;

/** Variables that are not in one struct, from the last rank to all, and from
 * all ranks to all in an array of structs. */
static void variables(void)
{
    double wide = rank + 0.25;
    int32_t narrow[2] = {-rank, 100 + rank};
    char letter = (char)('a' + rank);
    typedef struct variables {
        char letter;
        int32_t narrow[2];
        double wide;
    } variables_t;
    variables_t *all = calloc((size_t)size, sizeof(*all));
    const size_t lengths[] = {1, 2, 1};
    const catena_type_t types[] = {CATENA_DOUBLE, CATENA_INT32, CATENA_BYTE};
    ptrdiff_t at[3], first;
    catena_type_t own, members, type;
    check(context, catena_get_address(&wide, &at[0]));
    check(context, catena_get_address(narrow, &at[1]));
    check(context, catena_get_address(&letter, &at[2]));
    check(context, catena_type_struct(3, lengths, at, types, &own));
    check(context, catena_get_address(all, &first));
    check(context, catena_get_address(&all->wide, &at[0]));
    check(context, catena_get_address(all->narrow, &at[1]));
    check(context, catena_get_address(&all->letter, &at[2]));
    for (int i = 0; i < 3; i++) {
        at[i] = at[i] - first;
    }
    check(context, catena_type_struct(3, lengths, at, types, &members));
    check(context, catena_type_resized(members, 0, sizeof(*all), &type));
    check(context,
          catena_allgather(CATENA_BOTTOM, 1, own, all, 1, type, world));
    for (int i = 0; i < size; i++) {
        printf("%d: of %d: %g %d %d %c\n", rank, i, all[i].wide,
               (int)all[i].narrow[0], (int)all[i].narrow[1], all[i].letter);
    }
    check(context, catena_bcast(CATENA_BOTTOM, 1, own, size - 1, world));
    printf("%d: of the last: %g %d %d %c\n", rank, wide, (int)narrow[0],
           (int)narrow[1], letter);
    check(context, catena_type_free(&own));
    check(context, catena_type_free(&members));
    check(context, catena_type_free(&type));
    free(all);
}

/** Blocks of memory that were allocated one by one, to and from each rank. */
static void blocks(void)
{
    size_t *ones = calloc((size_t)size, sizeof(*ones));
    ptrdiff_t *zeros = calloc((size_t)size, sizeof(*zeros));
    int32_t **from = calloc((size_t)size, sizeof(*from));
    int32_t **to = calloc((size_t)size, sizeof(*to));
    catena_type_t *send = calloc((size_t)size, sizeof(catena_type_t));
    catena_type_t *receive = calloc((size_t)size, sizeof(catena_type_t));
    for (int i = 0; i < size; i++) {
        const size_t lengths[] = {1, VALUES - 1};
        ptrdiff_t at[2];
        ones[i] = 1;
        from[i] = calloc(VALUES, sizeof(**from));
        to[i] = calloc(VALUES, sizeof(**to));
        for (int j = 0; j < VALUES; j++) {
            from[i][j] = 1000 * rank + 10 * i + j;
        }
        check(context, catena_get_address(&from[i][VALUES - 1], &at[0]));
        check(context, catena_get_address(from[i], &at[1]));
        check(context,
              catena_type_hindexed(2, lengths, at, CATENA_INT32, &send[i]));
        check(context, catena_get_address(to[i], &at[0]));
        check(context, catena_type_hindexed_block(1, VALUES, at, CATENA_INT32,
                                                  &receive[i]));
    }
    check(context,
          catena_alltoallw(CATENA_BOTTOM, ones, zeros, send, CATENA_BOTTOM,
                           ones, zeros, receive, world));
    for (int i = 0; i < size; i++) {
        printf("%d: from %d: %d %d %d %d\n", rank, i, (int)to[i][0],
               (int)to[i][1], (int)to[i][2], (int)to[i][3]);
        check(context, catena_type_free(&send[i]));
        check(context, catena_type_free(&receive[i]));
        free(from[i]);
        free(to[i]);
    }
    free(ones);
    free(zeros);
    free(from);
    free(to);
    free(send);
    free(receive);
}

int main(void)
{
    check(NULL, catena_init(NULL, &context));
    world = catena_world(context);
    rank = catena_group_rank(world);
    size = catena_group_size(world);
    variables();
    blocks();
    check(NULL, catena_finalize(&context));
    return 0;
}
