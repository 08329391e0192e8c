/* Sockets with deadlines. */

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "boot/tcp/tcp.h"

enum { ONE_ADDRESS_MS = 2000 }; /* before the next address of a host is tried */

int64_t tcp_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t tcp_deadline(const tcp_t *tcp)
{
    return tcp_now_ms() + tcp->timeout_ms;
}

/** Wait until a socket is ready. @return 0 or an errno */
static int await(int socket, short events, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline - tcp_now_ms();
        struct pollfd one = {.fd = socket, .events = events};
        int ready = poll(&one, 1, left > 0 ? (int)left : 0);
        if (ready > 0) {
            return 0;
        }
        if (ready == 0 && left <= 0) {
            return ETIMEDOUT;
        }
        if (ready < 0 && errno != EINTR) {
            return errno;
        }
    }
}

bool tcp_would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int tcp_send(int socket, const void *data, size_t bytes, int64_t deadline)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            at += sent;
            bytes -= (size_t)sent;
            continue;
        }
        int wrong =
            tcp_would_block() ? await(socket, POLLOUT, deadline) : errno;
        if (wrong != 0) {
            return wrong;
        }
    }
    return 0;
}

int tcp_receive(int socket, void *data, size_t bytes, int64_t deadline)
{
    char *at = data;
    while (bytes > 0) {
        ssize_t got = recv(socket, at, bytes, MSG_DONTWAIT);
        if (got > 0) {
            at += got;
            bytes -= (size_t)got;
            continue;
        }
        int wrong = got == 0            ? ECONNRESET
                    : tcp_would_block() ? await(socket, POLLIN, deadline)
                                        : errno;
        if (wrong != 0) {
            return wrong;
        }
    }
    return 0;
}

void tcp_close(int *socket)
{
    if (*socket >= 0) {
        close(*socket);
        *socket = -1;
    }
}

void tcp_prepare(int socket)
{
    /* A host that is gone is noticed after 10 + 3 * 5 seconds. */
    static const struct {
        int level, name, value;
    } options[] = {{IPPROTO_TCP, TCP_NODELAY, 1},
                   {SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 10},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 5},
                   {IPPROTO_TCP, TCP_KEEPCNT, 3}};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        (void)setsockopt(socket, options[i].level, options[i].name,
                         &options[i].value, sizeof(options[i].value));
    }
}

int tcp_listen(int *listener, const struct sockaddr *address, socklen_t length)
{
    int on = 1;
    *listener = socket(address->sa_family,
                       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*listener < 0) {
        return errno;
    }
    (void)setsockopt(*listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(*listener, address, length) == 0 &&
        listen(*listener, SOMAXCONN) == 0) {
        return 0;
    }
    int wrong = errno;
    tcp_close(listener);
    return wrong;
}

struct addrinfo *tcp_look_up(const tcp_t *tcp, const char *host,
                             const char *port)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int wrong = getaddrinfo(host, port, &hints, &found);
    if (wrong != 0) {
        ctn_error(tcp->log,
                  "catena_init: no address of %s, port %s: %s; expected the "
                  "host of rank 0 in CATENA_BOOT",
                  host, port, gai_strerror(wrong));
        return NULL;
    }
    return found;
}

/** Whether a connection ends where it begins. Connecting to a port of this host
 * where nobody listens may do that, if the kernel picks the same port. */
static bool is_to_itself(int socket)
{
    struct sockaddr_storage ends[2];
    socklen_t length[2] = {sizeof(ends[0]), sizeof(ends[1])};
    memset(ends, 0, sizeof(ends));
    return getsockname(socket, (struct sockaddr *)&ends[0], &length[0]) == 0 &&
           getpeername(socket, (struct sockaddr *)&ends[1], &length[1]) == 0 &&
           memcmp(&ends[0], &ends[1], sizeof(ends[0])) == 0;
}

/** Connect once. @return a socket, or -1 and errno */
static int connect_once(const struct addrinfo *to, int64_t deadline)
{
    int made =
        socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
        return -1;
    }
    int wrong = 0;
    socklen_t length = sizeof(wrong);
    if (connect(made, to->ai_addr, to->ai_addrlen) != 0) {
        wrong = errno == EINPROGRESS ? await(made, POLLOUT, deadline) : errno;
        if (wrong == 0) {
            (void)getsockopt(made, SOL_SOCKET, SO_ERROR, &wrong, &length);
        }
    }
    if (wrong == 0 && is_to_itself(made)) {
        wrong = ECONNREFUSED;
    }
    if (wrong == 0) {
        tcp_prepare(made);
        return made;
    }
    close(made);
    errno = wrong;
    return -1;
}

int tcp_connect(const tcp_t *tcp, const char *host, const char *port,
                uint32_t rank, int64_t deadline)
{
    struct timespec pause = {0, 5 * 1000 * 1000};
    struct addrinfo *found = tcp_look_up(tcp, host, port);
    int made = -1;
    int wrong = 0;
    while (found != NULL && made < 0) {
        for (const struct addrinfo *to = found; to != NULL && made < 0;
             to = to->ai_next) {
            int64_t soon = tcp_now_ms() + ONE_ADDRESS_MS;
            made = connect_once(to, soon < deadline ? soon : deadline);
            wrong = errno;
        }
        if (made >= 0 || tcp_now_ms() >= deadline) {
            break;
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec += pause.tv_nsec < 100 * 1000 * 1000 ? pause.tv_nsec : 0;
    }
    if (found != NULL && made < 0) {
        ctn_error(tcp->log,
                  "catena_init: no connection to rank %u at %s, port %s, "
                  "within %lld s: %s; is that rank started, on that host?",
                  rank, host, port, (long long)tcp->timeout_ms / 1000,
                  strerror(wrong));
    }
    if (found != NULL) {
        freeaddrinfo(found);
    }
    return made;
}
