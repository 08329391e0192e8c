/* Doorbells. Datagram sockets with names in the abstract namespace of Linux:
 * they vanish with their process, so a killed rank leaves nothing behind, and
 * they can be waited for together with the network's event descriptor, which a
 * futex cannot. */

#include "exec/doorbell.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/** The name of a local rank's socket. The heap's id is random, so it is no
 * other job's. @return its length */
static socklen_t name_of(const ctn_bell_t *bell, uint32_t rank,
                         struct sockaddr_un *name)
{
    memset(name, 0, sizeof(*name));
    name->sun_family = AF_UNIX;
    int n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
                     "catena-%016" PRIx64 "-%" PRIu32, bell->id, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool take_name(const ctn_bell_t *bell)
{
    struct sockaddr_un name;
    socklen_t bytes = name_of(bell, bell->rank, &name);
    return bind(bell->fd, (struct sockaddr *)&name, bytes) == 0;
}

void ctn_bell_open(ctn_bell_t *bell, const ctn_log_t *log, ctn_heap_t *heap,
                   uint32_t rank, uint32_t ranks)
{
    *bell = (ctn_bell_t){.rank = rank, .ranks = ranks, .fd = -1};
    if (ranks == 1) {
        return;
    }
    bell->node = ctn_heap_bells(heap, &bell->id);
    bell->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bell->named = rank < CTN_HEAP_BELLS && bell->fd >= 0 && take_name(bell);
    if (!bell->named) {
        ctn_debug(log, "no doorbell (%s): long waits are in short naps",
                  rank < CTN_HEAP_BELLS ? strerror(errno) : "too many ranks");
    }
}

void ctn_bell_close(ctn_bell_t *bell)
{
    if (bell->named) {
        __atomic_store_n(&bell->node->asleep[bell->rank], 0, __ATOMIC_RELAXED);
    }
    if (bell->fd >= 0) {
        close(bell->fd);
    }
    *bell = (ctn_bell_t){.fd = -1};
}

void ctn_bell_listen(ctn_bell_t *bell)
{
    char note;
    /* In this order: who finds `anyone` set finds this rank, too. */
    __atomic_store_n(&bell->node->asleep[bell->rank], 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&bell->node->anyone, 1, __ATOMIC_SEQ_CST);
    /* Now: a ring for something that is seen in the look that follows may be
     * forgotten as well. */
    while (recv(bell->fd, &note, sizeof(note), 0) >= 0) {
    }
}

static void send_note(const ctn_bell_t *bell, uint32_t rank)
{
    static const char note = 1;
    struct sockaddr_un name;
    socklen_t bytes = name_of(bell, rank, &name);
    /* It may be gone, or have a note already. */
    (void)sendto(bell->fd, &note, sizeof(note), MSG_DONTWAIT | MSG_NOSIGNAL,
                 (struct sockaddr *)&name, bytes);
}

void ctn_bell_ring(ctn_bell_t *bell)
{
    uint8_t *asleep = bell->node->asleep;
    if (bell->fd < 0 ||
        __atomic_exchange_n(&bell->node->anyone, 0, __ATOMIC_SEQ_CST) == 0) {
        return;
    }
    for (uint32_t i = 0; i < bell->ranks && i < CTN_HEAP_BELLS; i++) {
        if (__atomic_load_n(&asleep[i], __ATOMIC_RELAXED) != 0 &&
            __atomic_exchange_n(&asleep[i], 0, __ATOMIC_SEQ_CST) != 0 &&
            i != bell->rank) {
            send_note(bell, i);
        }
    }
}
