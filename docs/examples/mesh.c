/* Ranks form a periodic mesh. Each gets a number from each of its four
 * neighbors, and their sum, and waits for no other rank. */
#include <catena/catena.h>
#include <stdio.h>

int main(void)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int dims[] = {0, 0};
    const int joined[] = {1, 1};
    catena_neighborhood_t *mesh;
    catena_status_t status =
        catena_dims_create(catena_group_size(world), 2, dims);
    if (status == CATENA_OK) {
        status = catena_cart_create(world, 2, dims, joined, 1, NULL, &mesh);
    }
    if (status != CATENA_OK) {
        fprintf(stderr, "mesh: %s\n", catena_status_string(status));
        catena_abort(context, 1);
    }
    /* The ranks may be reordered. */
    int rank = catena_group_rank(catena_neighborhood_group(mesh));

    double own = rank;
    double from[4]; /* above, below, left, right */
    double sum;
    status = catena_neighbor_allgather(&own, 1, CATENA_DOUBLE, from, 1,
                                       CATENA_DOUBLE, mesh);
    if (status == CATENA_OK) {
        status = catena_neighbor_reduce(&own, &sum, 1, CATENA_DOUBLE,
                                        CATENA_SUM, mesh);
    }
    if (status != CATENA_OK) {
        fprintf(stderr, "neighbors: %s\n", catena_status_string(status));
        catena_abort(context, 1);
    }
    printf("rank %d of %d x %d has %g and %g above and below, %g and %g "
           "beside, %g together\n",
           rank, dims[0], dims[1], from[0], from[1], from[2], from[3], sum);

    catena_neighborhood_free(&mesh);
    return catena_finalize(&context) == CATENA_OK ? 0 : 1;
}
