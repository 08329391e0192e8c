/* The allgather over the tree, and the end of the job. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "boot/tcp/tcp.h"

/* ---- allgather ---- */

/** Receive from a neighbor, or send to it. @return whether that worked; else it
 * is logged */
static bool moved(const tcp_t *tcp, const tcp_link_t *link, bool to, void *data,
                  size_t bytes)
{
    int64_t deadline = tcp_deadline(tcp);
    int wrong = to ? tcp_send(link->socket, data, bytes, deadline)
                   : tcp_receive(link->socket, data, bytes, deadline);
    if (wrong != 0) {
        ctn_error(tcp->log, "catena_init: lost rank %u: %s", link->rank,
                  wrong == ECONNRESET ? "it has ended" : strerror(wrong));
    }
    return wrong == 0;
}

/** The allgather of catena_oob_t. */
static int allgather(void *argument, const void *send, void *receive,
                     size_t bytes)
{
    const tcp_t *tcp = argument;
    unsigned char *all = receive;
    uint32_t end = tcp->rank + 1; /* of the subtree */
    bool fine = true;
    memcpy(all + tcp->rank * bytes, send, bytes);
    for (unsigned i = 1; fine && i < LINKS; i++) {
        const tcp_link_t *child = &tcp->link[i];
        if (tcp_has_child(tcp, i)) {
            end = child->end;
            fine = moved(tcp, child, false, all + child->rank * bytes,
                         (end - child->rank) * bytes);
        }
    }
    if (fine && tcp->rank > 0) {
        fine = moved(tcp, &tcp->link[0], true, all + tcp->rank * bytes,
                     (end - tcp->rank) * bytes) &&
               moved(tcp, &tcp->link[0], false, all, tcp->size * bytes);
    }
    for (unsigned i = 1; fine && i < LINKS; i++) {
        fine = !tcp_has_child(tcp, i) ||
               moved(tcp, &tcp->link[i], true, all, tcp->size * bytes);
    }
    return fine ? 0 : 1;
}

/* ---- the end of others ---- */

/** What a rank tells its neighbors at its end. */
typedef struct farewell {
    uint8_t aborts; /* all are to end, with this code */
    uint8_t code;
} farewell_t;

static void tell_all(const tcp_t *tcp, farewell_t farewell)
{
    for (unsigned i = 0; i < LINKS; i++) {
        if (tcp->link[i].socket >= 0) {
            (void)tcp_send(tcp->link[i].socket, &farewell, sizeof(farewell),
                           tcp_now_ms() + 100);
        }
    }
}

/** Something has come from a neighbor: it leaves, or it is lost.
 * @return whether it leaves */
static bool hear(const tcp_t *tcp, const tcp_link_t *link)
{
    farewell_t farewell;
    if (tcp_receive(link->socket, &farewell, sizeof(farewell),
                    tcp_now_ms() + 1000) != 0) {
        if (atomic_load(&tcp->goes_on)) {
            return true;
        }
        /* On a thread of its own: not to a function of the application. */
        ctn_error(NULL, "lost rank %u: the job ends", link->rank);
        tell_all(tcp, (farewell_t){1, 1}); /* they say nothing */
        _exit(1);
    }
    if (farewell.aborts) {
        tell_all(tcp, farewell);
        _exit(farewell.code);
    }
    return true;
}

/** The thread that waits for the end of others. */
static void *watch(void *argument)
{
    const tcp_t *tcp = argument;
    struct pollfd polled[LINKS + 1];
    for (unsigned i = 0; i < LINKS; i++) {
        polled[i] =
            (struct pollfd){.fd = tcp->link[i].socket, .events = POLLIN};
    }
    polled[LINKS] = (struct pollfd){.fd = tcp->wake, .events = POLLIN};
    for (;;) {
        if (poll(polled, LINKS + 1, -1) < 0) {
            continue;
        }
        if (polled[LINKS].revents != 0) {
            return NULL;
        }
        for (unsigned i = 0; i < LINKS; i++) {
            if (polled[i].revents != 0 && hear(tcp, &tcp->link[i])) {
                polled[i].fd = -1;
            }
        }
    }
}

static catena_status_t start_watcher(tcp_t *tcp)
{
    sigset_t all;
    sigset_t before;
    tcp->wake = eventfd(0, EFD_CLOEXEC);
    if (tcp->wake < 0) {
        return CATENA_ERR_SYSTEM;
    }
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    tcp->watching = pthread_create(&tcp->watcher, NULL, watch, tcp) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return tcp->watching ? CATENA_OK : CATENA_ERR_SYSTEM;
}

/* ---- the boot ---- */

/** Split HOST:PORT or [HOST]:PORT. @return false: it is neither */
static bool split_address(tcp_t *tcp, const char *address)
{
    const char *colon = strrchr(address, ':');
    bool brackets = address[0] == '[';
    size_t length = colon != NULL ? (size_t)(colon - address) : 0;
    if (brackets && (length < 3 || colon[-1] != ']')) {
        return false;
    }
    address += brackets;
    length -= brackets ? 2 : 0;
    if (length == 0 || length >= sizeof(tcp->host) ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strtoul(colon + 1, NULL, 10) - 1 >= 65535) {
        return false;
    }
    memcpy(tcp->host, address, length);
    snprintf(tcp->port, sizeof(tcp->port), "%s", colon + 1);
    return true;
}

static catena_status_t publish(ctn_boot_t *boot)
{
    catena_status_t status = ctn_boot_exchange_all(boot);
    return status == CATENA_OK && boot->size > 1 ? start_watcher(boot->link)
                                                 : status;
}

static void end_job(ctn_boot_t *boot, int code, const char *message)
{
    (void)message;
    if (boot->link != NULL) {
        tell_all(boot->link, (farewell_t){1, (uint8_t)code});
    }
}

/** A rank that leaves before the job is complete says nothing: then its
 * neighbors, which would wait for it, end, too. */
static void leave(ctn_boot_t *boot)
{
    tcp_t *tcp = boot->link;
    if (tcp != NULL) {
        if (boot->established) {
            tell_all(tcp, (farewell_t){0, 0});
        }
        if (tcp->watching) {
            (void)eventfd_write(tcp->wake, 1);
            (void)pthread_join(tcp->watcher, NULL);
        }
        tcp_close(&tcp->wake);
        tcp_close(&tcp->listener);
        for (unsigned i = 0; i < LINKS; i++) {
            tcp_close(&tcp->link[i].socket);
        }
    }
    free(tcp);
    ctn_boot_exchange_close(boot);
}

/** From now on this rank goes on when a neighbor dies. */
static catena_status_t joined(ctn_boot_t *boot)
{
    tcp_t *tcp = boot->link;
    atomic_store(&tcp->goes_on, true);
    return CATENA_OK;
}

static const ctn_boot_ops_t tcp_ops = {.name = "tcp",
                                       .put = ctn_boot_exchange_put,
                                       .share = ctn_boot_exchange_all,
                                       .publish = publish,
                                       .lookup = ctn_boot_exchange_lookup,
                                       .joined = joined,
                                       .end_job = end_job,
                                       .leave = leave};

catena_status_t ctn_boot_join_tcp(ctn_boot_t *boot, const char *address,
                                  const ctn_boot_config_t *config)
{
    tcp_t *tcp = calloc(1, sizeof(*tcp));
    if (tcp == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    boot->ops = &tcp_ops;
    boot->link = tcp;
    tcp->log = boot->log;
    tcp->rank = boot->rank;
    tcp->size = boot->size;
    tcp->listener = tcp->wake = -1;
    tcp->address = address;
    tcp->timeout_ms = config->timeout > INT32_MAX / 1000
                          ? INT32_MAX
                          : (int64_t)config->timeout * 1000;
    for (unsigned i = 0; i < LINKS; i++) {
        tcp->link[i].socket = -1;
    }
    size_t length = strlen(config->secret);
    if (length > SECRET_BYTES) {
        ctn_error(boot->log,
                  "CATENA_BOOT_SECRET has %zu characters; expected up to %d",
                  length, SECRET_BYTES);
        return CATENA_ERR_ARG;
    }
    memcpy(tcp->secret, config->secret, length);
    if (!split_address(tcp, address)) {
        ctn_error(boot->log,
                  "CATENA_BOOT=tcp://%s; expected tcp://HOST:PORT, with the "
                  "host of rank 0 and a port from 1 to 65535",
                  address);
        return CATENA_ERR_ARG;
    }
    catena_status_t status = tcp_meet(tcp);
    const catena_oob_t oob = {.size = sizeof(oob),
                              .rank = (int)boot->rank,
                              .ranks = (int)boot->size,
                              .allgather = allgather,
                              .argument = tcp};
    return status == CATENA_OK
               ? ctn_boot_exchange_open(boot, config->node, &oob)
               : status;
}
