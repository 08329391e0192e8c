/* catena_finalize returns although the rank that ends the last agreement dies
 * when it has told one of two others, and although that one's process goes on:
 * it waits for FILE, which the third one makes.
 * usage: leave FILE, as 3 ranks of a node
 *        leave agree | shrink: rank 0 calls catena_finalize while the others
 *        call that, and then catena_finalize: all return, with right results.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <catena/catena.h>

#include "exec/deaths.h"

enum { DECIDED = 1 /* in a vote, group/agree.c */, WAIT_S = 20 };

static bool dies;

void __real_ctn_deaths_notify(ctn_exec_t *exec, uint64_t process, bool connect,
                              uint64_t offset, uint64_t value);
void __wrap_ctn_deaths_notify(ctn_exec_t *exec, uint64_t process, bool connect,
                              uint64_t offset, uint64_t value);

void __wrap_ctn_deaths_notify(ctn_exec_t *exec, uint64_t process, bool connect,
                              uint64_t offset, uint64_t value)
{
    static int told;
    if (dies && (value & 3) == DECIDED && told++ == 1) {
        raise(SIGKILL);
    }
    __real_ctn_deaths_notify(exec, process, connect, offset, value);
}

/** All ranks agree or shrink twice, then all but rank 0, which counts as a
 * member or as dead; its results must not be those of an earlier call.
 * @return whether the calls have the right results */
static bool call(catena_group_t *world, bool shrinks, int rank)
{
    int size = catena_group_size(world);
    for (int i = 0; i < (rank == 0 ? 2 : 4); i++) {
        catena_group_t *made = NULL;
        uint64_t flag = i < 2 ? 6 : 5;
        catena_status_t status = shrinks ? catena_group_shrink(world, &made)
                                         : catena_group_agree(world, &flag);
        int left = made != NULL ? catena_group_size(made) : 0;
        bool all = shrinks ? left == size : flag == 6;
        bool fewer = shrinks ? left == (status == CATENA_OK ? size - 1 : 0)
                             : flag == 5 || flag == 0;
        if ((status != CATENA_OK && (!shrinks || i < 2)) ||
            !(i < 2 ? all : fewer) || catena_group_free(&made) != CATENA_OK) {
            printf("not ok - rank %d, call %d: %s, flag %llu, %d ranks\n", rank,
                   i, catena_status_string(status), (unsigned long long)flag,
                   left);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    static const char *const settings[] = {"FAILURES=return", NULL};
    const catena_config_t config = {.size = sizeof(config),
                                    .settings = settings};
    catena_context_t *context;
    if (argc != 2 || catena_init(&config, &context) != CATENA_OK) {
        return 2;
    }
    int rank = catena_group_rank(catena_world(context));
    bool shrinks = strcmp(argv[1], "shrink") == 0;
    if (shrinks || strcmp(argv[1], "agree") == 0) {
        bool right = call(catena_world(context), shrinks, rank);
        right = catena_finalize(&context) == CATENA_OK && right;
        printf("%sok - rank %d returns\n", right ? "" : "not ", rank);
        return !right;
    }
    dies = rank == 0;
    catena_status_t status = catena_finalize(&context);
    if (rank == 2) {
        int file = open(argv[1], O_WRONLY | O_CREAT, 0600);
        printf("ok - finalized: %s\n", catena_status_string(status));
        return file < 0;
    }
    int tries = WAIT_S * 100;
    while (rank == 1 && access(argv[1], F_OK) != 0 && --tries > 0) {
        usleep(10000);
    }
    if (tries == 0) {
        printf("not ok - rank 2 does not return from catena_finalize\n");
    }
    return tries == 0;
}
