/* Deaths of processes of the node. A pidfd becomes readable when its process
 * ends, also if nobody has reaped it yet. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transports/shm/endpoints.h"

enum { FD_NONE = -1, FD_FAILED = -2, FD_DEAD = -3 };

void shm_watch(ctn_transport_t *transport, ctn_death_handler_t handler,
               void *argument)
{
    shm_transport_t *shm = (shm_transport_t *)transport;
    shm->pidfds = malloc(shm->count * sizeof(*shm->pidfds));
    for (size_t i = 0; shm->pidfds != NULL && i < shm->count; i++) {
        shm->pidfds[i] = FD_NONE;
    }
    shm->died = handler;
    shm->died_argument = argument;
}

void shm_unwatch(shm_transport_t *shm)
{
    for (size_t i = 0; shm->pidfds != NULL && i < shm->count; i++) {
        if (shm->pidfds[i] >= 0) {
            (void)close(shm->pidfds[i]);
        }
    }
    free(shm->pidfds);
}

/** Whether process i of the node has died. */
static bool has_died(shm_transport_t *shm, size_t i)
{
    const ctn_attach_t *peer = shm_entry_of(&shm->endpoint[i]);
    pid_t pid = (pid_t)ctn_word_load(&peer->pid);
    int *fd = &shm->pidfds[i];
    if (pid == 0 || peer == shm->own || peer->space != shm->own->space) {
        return false; /* not published, or its number means nothing here */
    }
    if (*fd == FD_NONE) {
        *fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (*fd < 0) {
            *fd = errno == ESRCH ? FD_DEAD : FD_FAILED;
        }
    }
    struct pollfd event = {.fd = *fd, .events = POLLIN};
    return *fd == FD_DEAD ||
           (*fd == FD_FAILED ? kill(pid, 0) != 0 && errno == ESRCH
                             : poll(&event, 1, 0) > 0);
}

void shm_check(ctn_transport_t *transport)
{
    shm_transport_t *shm = (shm_transport_t *)transport;
    for (size_t i = 0;
         shm->own != NULL && shm->pidfds != NULL && i < shm->count; i++) {
        if (has_died(shm, i)) {
            shm->died(shm->died_argument, shm->endpoint[i].process, false);
        }
    }
}
