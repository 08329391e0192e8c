/* A job that exchanges data, and checks them, until a file exists. It prints a
 * line when it runs. In each turn one rank comes late, so the others sleep:
 * what disturbs the job needs the cores, too.
 * usage: turns FILE */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <catena/catena.h>

enum { MOST = 64 };

/** Run an alltoall. @return 1 if its result is right, else 0 */
static int exchange(catena_group_t *world, int64_t turn)
{
    int rank = catena_group_rank(world);
    int ranks = catena_group_size(world);
    int64_t send[MOST] = {0}, receive[MOST] = {0};
    for (int i = 0; i < ranks; i++) {
        send[i] = turn + 100 * rank + i;
    }
    if (ranks > MOST || catena_alltoall(send, 1, CATENA_INT64, receive, 1,
                                        CATENA_INT64, world) != CATENA_OK) {
        return 0;
    }
    for (int i = 0; i < ranks; i++) {
        if (receive[i] != turn + 100 * i + rank) {
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    catena_context_t *context;
    if (argc != 2 || catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int right = 1;
    for (int64_t turn = 0; right > 0; turn++) {
        int over = access(argv[1], F_OK) == 0;
        if (turn % catena_group_size(world) == catena_group_rank(world)) {
            usleep(2000);
        }
        right = exchange(world, turn) ? 1 : -1;
        if (turn == 0 && catena_group_rank(world) == 0) {
            puts("running");
            fflush(stdout);
        }
        if (right < 0 || catena_bcast(&over, 1, CATENA_INT32, 0, world) != 0) {
            fprintf(stderr, "turns: turn %lld failed\n", (long long)turn);
            return 1;
        }
        right -= over;
    }
    return catena_finalize(&context) != CATENA_OK;
}
