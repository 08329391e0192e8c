/* Doorbells are datagram sockets with names in Linux's abstract namespace. Such
 * a socket vanishes with its process, so a killed rank leaves nothing behind,
 * and unlike a futex it can be polled together with the network's event
 * descriptor. */

#include "exec/doorbell.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/** The name of the socket of a rank of the node. The heap's id is random, so no
 * other job has this name. @return its length */
static socklen_t name_of(const ctn_doorbell_t *doorbell, uint32_t rank,
                         struct sockaddr_un *name)
{
    memset(name, 0, sizeof(*name));
    name->sun_family = AF_UNIX;
    int n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
                     "catena-%016" PRIx64 "-%" PRIu32, doorbell->id, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/** Give this rank's socket its name. */
static bool bind_name(const ctn_doorbell_t *doorbell)
{
    struct sockaddr_un name;
    socklen_t bytes = name_of(doorbell, doorbell->rank, &name);
    return bind(doorbell->fd, (struct sockaddr *)&name, bytes) == 0;
}

void ctn_doorbell_open(ctn_doorbell_t *doorbell, const ctn_log_t *log,
                       ctn_heap_t *heap, uint32_t rank, uint32_t ranks)
{
    *doorbell = (ctn_doorbell_t){.rank = rank, .ranks = ranks, .fd = -1};
    if (ranks == 1) {
        return;
    }
    doorbell->node = ctn_heap_doorbells(heap, &doorbell->id);
    doorbell->fd =
        socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    doorbell->named =
        rank < CTN_HEAP_DOORBELLS && doorbell->fd >= 0 && bind_name(doorbell);
    if (!doorbell->named) {
        ctn_debug(log, "no doorbell (%s): long waits use short sleeps",
                  rank < CTN_HEAP_DOORBELLS ? strerror(errno)
                                            : "too many ranks");
    }
}

void ctn_doorbell_close(ctn_doorbell_t *doorbell)
{
    if (doorbell->named) {
        __atomic_store_n(&doorbell->node->asleep[doorbell->rank], 0,
                         __ATOMIC_RELAXED);
    }
    if (doorbell->fd >= 0) {
        close(doorbell->fd);
    }
    *doorbell = (ctn_doorbell_t){.fd = -1};
}

void ctn_doorbell_arm(ctn_doorbell_t *doorbell)
{
    enum { MOST_RINGS = 64 };
    char datagram;
    /* In this order: a rank that finds `anyone` set finds this rank, too. */
    __atomic_store_n(&doorbell->node->asleep[doorbell->rank], 1,
                     __ATOMIC_SEQ_CST);
    __atomic_store_n(&doorbell->node->anyone, 1, __ATOMIC_SEQ_CST);
    /* Discard earlier rings. What they announced is visible by now, so the poll
     * that follows finds it. Not without end: any process of the host can send
     * here. What is left wakes the rank once for nothing. */
    for (unsigned i = 0; i < MOST_RINGS; i++) {
        if (recv(doorbell->fd, &datagram, sizeof(datagram), 0) < 0) {
            break;
        }
    }
}

static void send_datagram(const ctn_doorbell_t *doorbell, uint32_t rank)
{
    static const char datagram = 1;
    struct sockaddr_un name;
    socklen_t bytes = name_of(doorbell, rank, &name);
    /* Errors are ignored: the rank may be gone, or have a datagram already. */
    (void)sendto(doorbell->fd, &datagram, sizeof(datagram),
                 MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&name, bytes);
}

void ctn_doorbell_ring(ctn_doorbell_t *doorbell)
{
    uint8_t *asleep = doorbell->node->asleep;
    if (doorbell->fd < 0 || __atomic_exchange_n(&doorbell->node->anyone, 0,
                                                __ATOMIC_SEQ_CST) == 0) {
        return;
    }
    for (uint32_t i = 0; i < doorbell->ranks && i < CTN_HEAP_DOORBELLS; i++) {
        /* Seq_cst: if two ranks have set `anyone`, the exchange above has read
         * the store of one only. This load must see `asleep` of both. */
        if (__atomic_load_n(&asleep[i], __ATOMIC_SEQ_CST) != 0 &&
            __atomic_exchange_n(&asleep[i], 0, __ATOMIC_SEQ_CST) != 0 &&
            i != doorbell->rank) {
            send_datagram(doorbell, i);
        }
    }
}
