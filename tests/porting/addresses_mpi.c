/* Types of absolute addresses. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { VALUES = 4 };

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
    const int lengths[] = {1, 2, 1};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT32_T, MPI_CHAR};
    MPI_Aint at[3], first;
    MPI_Datatype own, members, type;
    MPI_Get_address(&wide, &at[0]);
    MPI_Get_address(narrow, &at[1]);
    MPI_Get_address(&letter, &at[2]);
    MPI_Type_create_struct(3, lengths, at, types, &own);
    MPI_Type_commit(&own);
    MPI_Get_address(all, &first);
    MPI_Get_address(&all->wide, &at[0]);
    MPI_Get_address(all->narrow, &at[1]);
    MPI_Get_address(&all->letter, &at[2]);
    for (int i = 0; i < 3; i++) {
        at[i] = MPI_Aint_diff(at[i], first);
    }
    MPI_Type_create_struct(3, lengths, at, types, &members);
    MPI_Type_create_resized(members, 0, sizeof(*all), &type);
    MPI_Type_commit(&type);
    MPI_Allgather(MPI_BOTTOM, 1, own, all, 1, type, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        printf("%d: of %d: %g %d %d %c\n", rank, i, all[i].wide,
               (int)all[i].narrow[0], (int)all[i].narrow[1], all[i].letter);
    }
    MPI_Bcast(MPI_BOTTOM, 1, own, size - 1, MPI_COMM_WORLD);
    printf("%d: of the last: %g %d %d %c\n", rank, wide, (int)narrow[0],
           (int)narrow[1], letter);
    MPI_Type_free(&own);
    MPI_Type_free(&members);
    MPI_Type_free(&type);
    free(all);
}

/** Blocks of memory that were allocated one by one, to and from each rank. */
static void blocks(void)
{
    int *ones = calloc((size_t)size, sizeof(*ones));
    int *zeros = calloc((size_t)size, sizeof(*zeros));
    int32_t **from = calloc((size_t)size, sizeof(*from));
    int32_t **to = calloc((size_t)size, sizeof(*to));
    MPI_Datatype *send = calloc((size_t)size, sizeof(MPI_Datatype));
    MPI_Datatype *receive = calloc((size_t)size, sizeof(MPI_Datatype));
    for (int i = 0; i < size; i++) {
        const int lengths[] = {1, VALUES - 1};
        MPI_Aint at[2];
        ones[i] = 1;
        from[i] = calloc(VALUES, sizeof(**from));
        to[i] = calloc(VALUES, sizeof(**to));
        for (int j = 0; j < VALUES; j++) {
            from[i][j] = 1000 * rank + 10 * i + j;
        }
        MPI_Get_address(&from[i][VALUES - 1], &at[0]);
        MPI_Get_address(from[i], &at[1]);
        MPI_Type_create_hindexed(2, lengths, at, MPI_INT32_T, &send[i]);
        MPI_Type_commit(&send[i]);
        MPI_Get_address(to[i], &at[0]);
        MPI_Type_create_hindexed_block(1, VALUES, at, MPI_INT32_T, &receive[i]);
        MPI_Type_commit(&receive[i]);
    }
    MPI_Alltoallw(MPI_BOTTOM, ones, zeros, send, MPI_BOTTOM, ones, zeros,
                  receive, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        printf("%d: from %d: %d %d %d %d\n", rank, i, (int)to[i][0],
               (int)to[i][1], (int)to[i][2], (int)to[i][3]);
        MPI_Type_free(&send[i]);
        MPI_Type_free(&receive[i]);
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

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    variables();
    blocks();
    MPI_Finalize();
    return 0;
}
