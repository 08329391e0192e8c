/* Each rank sends one number to every rank, and receives one from each. */
#include <catena/catena.h>
#include <stdio.h>

int main(void)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    int size = catena_group_size(world);

    int *send = catena_malloc(context, (size_t)size * sizeof(*send));
    int *receive = catena_malloc(context, (size_t)size * sizeof(*receive));
    if (send == NULL || receive == NULL) {
        catena_abort(context, 1);
    }
    for (int i = 0; i < size; i++) {
        send[i] = 100 * rank + i; /* for rank i */
    }
    catena_status_t status =
        catena_alltoall(send, 1, CATENA_INT32, receive, 1, CATENA_INT32, world);
    if (status != CATENA_OK) {
        fprintf(stderr, "alltoall: %s\n", catena_status_string(status));
        catena_abort(context, 1);
    }
    printf("rank %d of %d received %d from rank 0 and %d from rank %d\n", rank,
           size, receive[0], receive[size - 1], size - 1);

    catena_free(context, receive);
    catena_free(context, send);
    return catena_finalize(&context) == CATENA_OK ? 0 : 1;
}
