/* catena_finalize returns although the rank that ends the last agreement dies
 * when it has told one of two others, and although that one's process goes on:
 * it waits for FILE, which the third one makes.
 * usage: leave FILE, as 3 ranks of a node
 *        leave agree | shrink: rank 0 calls catena_finalize while the others
 *        call that, and then catena_finalize. All return. */

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

/** @return whether the call has the right status */
static bool call(catena_group_t *world, bool shrinks)
{
    catena_group_t *made = NULL;
    uint64_t flag = 1;
    return shrinks ? catena_group_shrink(world, &made) == CATENA_ERR_ARG
                   : catena_group_agree(world, &flag) == CATENA_OK;
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
        bool right = rank == 0 || call(catena_world(context), shrinks);
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
