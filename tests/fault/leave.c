/* catena_finalize returns although the rank that ends the last agreement dies
 * when it has told one of two others, and although that one's process goes on:
 * it waits for FILE, which the third one makes.
 * usage: leave FILE, as 3 ranks of a node
 *        leave FILE agree | shrink RANK [dies], as 3 ranks: this rank calls
 *        catena_finalize while the others call that, and goes along until they
 *        call catena_finalize, too. With `dies` rank 0 dies when it has told
 *        one of the others of the first result that they get so, and the
 *        others cannot join the job again.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <catena/catena.h>

#include "exec/deaths.h"

enum { DECIDED = 1, OVER = 3 /* in a vote, group/agree.c */, WAIT_S = 20 };

static bool dies;

catena_status_t __real_ctn_deaths_notify(ctn_exec_t *exec, uint64_t process,
                                         bool connect, uint64_t offset,
                                         uint64_t value);
catena_status_t __wrap_ctn_deaths_notify(ctn_exec_t *exec, uint64_t process,
                                         bool connect, uint64_t offset,
                                         uint64_t value);

catena_status_t __wrap_ctn_deaths_notify(ctn_exec_t *exec, uint64_t process,
                                         bool connect, uint64_t offset,
                                         uint64_t value)
{
    static int told;
    bool tells = value > 3 && ((value & 3) == DECIDED || (value & 3) == OVER);
    if (dies && tells && told++ == 1) {
        raise(SIGKILL);
    }
    return __real_ctn_deaths_notify(exec, process, connect, offset, value);
}

/** All ranks agree or shrink twice, then all but the leaver; their results must
 * not be those of an earlier call.
 * @return whether the calls have the right results */
static bool call(catena_group_t *world, bool shrinks, bool leaves, bool kills)
{
    int size = catena_group_size(world), rank = catena_group_rank(world);
    for (int i = 0; i < (leaves ? 2 : 4); i++) {
        catena_group_t *made = NULL;
        uint64_t flag = i < 2 ? 6 : 5;
        dies = kills && i == 2 && rank == 0;
        catena_status_t status = shrinks ? catena_group_shrink(world, &made)
                                         : catena_group_agree(world, &flag);
        catena_status_t expected =
            shrinks && i >= 2 ? CATENA_ERR_ARG : CATENA_OK;
        int left = made != NULL ? catena_group_size(made) : 0;
        if (status != expected || left != (shrinks && i < 2 ? size : 0) ||
            flag != (i < 2 ? 6 : 5) || catena_group_free(&made) != CATENA_OK) {
            printf("not ok - rank %d, call %d: %s, flag %llu, %d ranks\n", rank,
                   i, catena_status_string(status), (unsigned long long)flag,
                   left);
            return false;
        }
    }
    return true;
}

/** Wait for a file. @return false: it does not come */
static bool await(const char *file)
{
    int tries = WAIT_S * 100;
    while (access(file, F_OK) != 0 && --tries > 0) {
        usleep(10000);
    }
    return tries > 0;
}

static bool make(const char *file)
{
    int made = open(file, O_WRONLY | O_CREAT, 0600);
    return made >= 0 && close(made) == 0;
}

int main(int argc, char **argv)
{
    static const char *const settings[] = {"FAILURES=return", NULL};
    const catena_config_t config = {.size = sizeof(config),
                                    .settings = settings};
    catena_context_t *context;
    if ((argc != 2 && argc != 4 && argc != 5) ||
        catena_init(&config, &context) != CATENA_OK) {
        return 2;
    }
    int rank = catena_group_rank(catena_world(context));
    if (argc >= 4) {
        int leaver = atoi(argv[3]);
        bool right = call(catena_world(context), strcmp(argv[2], "shrink") == 0,
                          rank == leaver, argc == 5);
        right = catena_finalize(&context) == CATENA_OK && right;
        if (argc == 5 &&
            catena_init(&config, &context) != CATENA_ERR_LAUNCHER) {
            printf("not ok - rank %d may join again\n", rank);
            right = false;
        }
        right = (rank == leaver ? await(argv[1]) : make(argv[1])) && right;
        printf("%sok - rank %d returns\n", right ? "" : "not ", rank);
        return !right;
    }
    dies = rank == 0;
    catena_status_t status = catena_finalize(&context);
    if (rank == 2) {
        printf("ok - finalized: %s\n", catena_status_string(status));
        return !make(argv[1]);
    }
    if (rank == 1 && !await(argv[1])) {
        printf("not ok - rank 2 does not return from catena_finalize\n");
        return 1;
    }
    return 0;
}
