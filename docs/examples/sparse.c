/* Each rank sends work to ranks that do not expect it. Afterwards these ranks
 * answer, again and again, through a neighborhood of both lists. */
#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>

enum { TARGETS = 2 };

int main(void)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    int size = catena_group_size(world);

    int targets[TARGETS] = {(int)((long)rank * rank % size),
                            (int)((7L * rank + 3) % size)};
    double work[TARGETS] = {rank, rank + 0.5};
    size_t bytes[TARGETS] = {sizeof(double), sizeof(double)};
    catena_received_t *received;
    catena_neighborhood_t *back;
    catena_status_t status = catena_sparse_exchange(
        world, TARGETS, targets, work, bytes, NULL, &received);
    if (status == CATENA_OK) { /* answers go the other way */
        status = catena_neighborhood_create(
            world, TARGETS, targets, CATENA_UNWEIGHTED, received->count,
            received->sources, CATENA_UNWEIGHTED, NULL, &back);
    }
    if (status != CATENA_OK) {
        fprintf(stderr, "sparse: %s\n", catena_status_string(status));
        catena_abort(context, 1);
    }

    double *values = received->data;
    double answers[TARGETS];
    for (int i = 0; i < received->count; i++) {
        values[i] *= 2;
    }
    status = catena_neighbor_alltoall(values, 1, CATENA_DOUBLE, answers, 1,
                                      CATENA_DOUBLE, back);
    if (status != CATENA_OK || answers[0] != 2 * work[0] ||
        answers[1] != 2 * work[1]) {
        fprintf(stderr, "sparse: wrong answers\n");
        catena_abort(context, 1);
    }
    printf("rank %d: work from %d ranks, answers %g and %g\n", rank,
           received->count, answers[0], answers[1]);
    catena_received_free(&received);
    catena_neighborhood_free(&back);
    return catena_finalize(&context) == CATENA_OK ? 0 : 1;
}
