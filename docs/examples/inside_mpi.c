/* catena inside an MPI program, under any launcher: MPI says who the ranks are,
 * and exchanges what catena needs to start. Build with mpicc. */
#include <catena/catena.h>
#include <mpi.h>
#include <stdio.h>

static int allgather(void *argument, const void *send, void *receive,
                     size_t bytes)
{
    const MPI_Comm *comm = argument;
    return MPI_Allgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes,
                         MPI_BYTE, *comm);
}

static void end_job(void *argument, int code, const char *message)
{
    const MPI_Comm *comm = argument;
    fprintf(stderr, "%s\n", message);
    MPI_Abort(*comm, code);
}

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);

    catena_oob_t oob = {.size = sizeof(oob),
                        .allgather = allgather,
                        .abort = end_job,
                        .argument = &comm};
    MPI_Comm_rank(comm, &oob.rank);
    MPI_Comm_size(comm, &oob.ranks);
    catena_config_t config = {.size = sizeof(config), .oob = &oob};
    catena_context_t *context;
    if (catena_init(&config, &context) != CATENA_OK) {
        MPI_Abort(comm, 1);
    }

    long own = oob.rank + 1;
    long sum = 0;
    catena_status_t status = catena_allreduce(
        &own, &sum, 1, CATENA_INT64, CATENA_SUM, catena_world(context));
    if (status != CATENA_OK) {
        catena_abort(context, 1);
    }
    if (oob.rank == 0) {
        printf("1 + ... + %d = %ld\n", oob.ranks, sum);
    }
    catena_finalize(&context);
    MPI_Finalize();
    return 0;
}
