#ifndef CTN_BOOT_TCP_TCP_H
#define CTN_BOOT_TCP_TCP_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "boot/ops.h"

/* A rendezvous over TCP, for launchers without PMIx.
 *
 * Rank 0 listens at an address that all ranks know. Each other rank connects
 * there, says which one it is and where it listens itself, and learns where its
 * parent in a binary tree listens, and a secret of the job. Ranks connect to
 * their parents and leave rank 0, whose connections to its children stay. An
 * allgather goes up the tree and down: at most six messages for a rank, in
 * 2 log2 N steps. The subtree of a rank has consecutive ranks from it on.
 *
 * The connections stay as long as the job. A thread waits for their end: a rank
 * that is lost ends the job, as a launcher's daemon would. */

enum {
    SECRET_BYTES = 64,
    LINKS = 3 /* to the parent and two children */
};

/** A neighbor in the tree. */
typedef struct link {
    int socket; /* -1: none */
    uint32_t rank;
    uint32_t end; /* of a child: 1 + the last rank of its subtree */
} tcp_link_t;

typedef struct tcp {
    const ctn_log_t *log;
    uint32_t rank;
    uint32_t size;
    int64_t timeout_ms;
    const char *address;
    char host[256]; /* of the address */
    char port[16];
    char secret[SECRET_BYTES];     /* of the user */
    char job_secret[SECRET_BYTES]; /* drawn by rank 0 */
    tcp_link_t link[LINKS];        /* parent, children */
    int listener;                  /* -1: none */
    int wake;                      /* an eventfd that ends the watcher */
    atomic_bool goes_on;           /* this rank goes on when a neighbor dies */
    bool watching;
    pthread_t watcher;
} tcp_t;

/** Whether a link to a child has one. */
static inline bool tcp_has_child(const tcp_t *tcp, unsigned link)
{
    return tcp->link[link].rank < tcp->link[link].end;
}

/** Find the neighbors in the tree, and connect to them. */
catena_status_t tcp_meet(tcp_t *tcp);

/* ---- sockets.c ---- */

int64_t tcp_now_ms(void);
/** The end of a wait that begins now. */
int64_t tcp_deadline(const tcp_t *tcp);
/** Whether errno says that a socket is not ready. */
bool tcp_would_block(void);
/** @return 0 or an errno */
int tcp_send(int socket, const void *data, size_t bytes, int64_t deadline);
/** @return 0 or an errno; ECONNRESET: the other side has closed it */
int tcp_receive(int socket, void *data, size_t bytes, int64_t deadline);
void tcp_close(int *socket);
/** Set the options of a connection. */
void tcp_prepare(int socket);
/** Listen at an address. @return 0 or an errno */
int tcp_listen(int *listener, const struct sockaddr *address, socklen_t length);
/** Find the addresses of a host. @return NULL: there are none (logged) */
struct addrinfo *tcp_look_up(const tcp_t *tcp, const char *host,
                             const char *port);
/** Connect to a host where the other side may listen only later.
 * @return a socket, or -1 (logged) */
int tcp_connect(const tcp_t *tcp, const char *host, const char *port,
                uint32_t rank, int64_t deadline);

#endif
