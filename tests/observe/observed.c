/* A program whose calls are known: 3 barriers, 4 allreduces of 8 bytes, one of
 * them in halves of the world, 2 alltoalls of 64 bytes that do not block, an
 * alltoallv of r + 1 bytes to each rank r, one millisecond of computing. For
 * run.sh.
 * usage: observed [kill]  kill: allreduce without end, until rank 1 is killed
 */

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include <catena/catena.h>

enum { BLOCK = 64, MOST = 16 };

static catena_status_t reduce(catena_group_t *group)
{
    int64_t one = 1, sum = 0;
    catena_status_t status =
        catena_allreduce(&one, &sum, 1, CATENA_INT64, CATENA_SUM, group);
    return status != CATENA_OK || sum == catena_group_size(group)
               ? status
               : CATENA_ERR_SYSTEM;
}

static catena_status_t exchange(catena_group_t *world)
{
    static char send[MOST * BLOCK], receive[MOST * BLOCK];
    catena_request_t *request;
    catena_status_t status = catena_ialltoall(
        send, BLOCK, CATENA_BYTE, receive, BLOCK, CATENA_BYTE, world, &request);
    return status == CATENA_OK ? catena_request_wait(&request) : status;
}

/** Block r has r + 1 bytes. */
static catena_status_t exchange_lengths(catena_group_t *world)
{
    static char send[MOST * MOST], receive[MOST * MOST];
    size_t to[MOST], from[MOST];
    ptrdiff_t at[MOST];
    for (int r = 0; r < catena_group_size(world); r++) {
        to[r] = (size_t)r + 1;
        from[r] = (size_t)catena_group_rank(world) + 1;
        at[r] = r * MOST;
    }
    return catena_alltoallv(send, to, at, CATENA_BYTE, receive, from, at,
                            CATENA_BYTE, world);
}

static catena_status_t run(catena_context_t *context, catena_group_t *world)
{
    catena_group_t *half = NULL;
    catena_status_t status =
        catena_group_split(world, catena_group_rank(world) % 2, 0, &half);
    for (int i = 0; i < 3 && status == CATENA_OK; i++) {
        status = catena_barrier(world);
        status = status == CATENA_OK ? reduce(world) : status;
    }
    status = status == CATENA_OK ? reduce(world) : status;
    status = status == CATENA_OK ? reduce(half) : status;
    for (int i = 0; i < 2 && status == CATENA_OK; i++) {
        status = exchange(world);
    }
    status = status == CATENA_OK ? exchange_lengths(world) : status;
    status = status == CATENA_OK ? catena_compute(context, 1e-3) : status;
    return status == CATENA_OK ? catena_group_free(&half) : status;
}

int main(int argc, char **argv)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    bool killed = argc > 1 && strcmp(argv[1], "kill") == 0;
    catena_status_t status = CATENA_OK;
    for (int i = 0; killed && status == CATENA_OK; i++) {
        if (i == 20000 && catena_group_rank(world) == 1) {
            raise(SIGKILL);
        }
        status = reduce(world);
    }
    if (argc > 1 && strcmp(argv[1], "abort") == 0) {
        status = reduce(world);
        if (catena_group_rank(world) == 1) {
            catena_abort(context, 3);
        }
        status = reduce(world);
    } else if (!killed) {
        status = run(context, world);
    }
    return catena_finalize(&context) != CATENA_OK || status != CATENA_OK;
}
