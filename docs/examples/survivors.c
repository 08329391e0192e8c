/* Ranks sum a number again and again. Rank 1 dies; the others repeat the step
 * with a group of the living ranks.
 *
 *     prun --continuous -n 4 ./survivors */
#include <catena/catena.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/** Replace the group, which has failed, by one of its living ranks. */
static int replace(catena_context_t *context, catena_group_t **group)
{
    catena_group_t *living = NULL;
    catena_status_t status = catena_group_shrink(*group, &living);
    if (status != CATENA_OK) {
        fprintf(stderr, "shrink: %s\n", catena_status_string(status));
        return 0;
    }
    if (*group != catena_world(context)) {
        catena_group_free(group);
    }
    *group = living;
    return 1;
}

int main(void)
{
    static const char *const settings[] = {"FAILURES=return", NULL};
    catena_config_t config = {.size = sizeof(config), .settings = settings};
    catena_context_t *context;
    if (catena_init(&config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *group = catena_world(context);
    int rank = catena_group_rank(group);

    for (int step = 0; step < 6; step++) {
        if (rank == 1 && step == 3) {
            raise(SIGKILL); /* an accident */
        }
        int one = 1, sum = 0;
        catena_status_t status =
            catena_allreduce(&one, &sum, 1, CATENA_INT32, CATENA_SUM, group);
        /* It may have failed on some ranks only: all take the step again. */
        uint64_t good = status == CATENA_OK;
        if (catena_group_agree(group, &good) != CATENA_OK) {
            return 1;
        }
        if (!good) {
            if (!replace(context, &group)) {
                return 1;
            }
            step--;
        } else if (catena_group_rank(group) == 0) {
            printf("step %d: %d ranks\n", step, sum);
        }
    }
    if (group != catena_world(context)) {
        catena_group_free(&group);
    }
    return catena_finalize(&context) == CATENA_OK ? 0 : 1;
}
