/* Ranks find their neighbors in the tree: rank 0 as host, the others as guests.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "boot/tcp/tcp.h"
#include "core/peer.h"

enum {
    MOST_GUESTS = 256, /* connections that have not said who they are */
    SILENT_MS = 100    /* then one of so many is closed: ranks say at once who
                          they are */
};

static const char magic[8] = "catena1";

/** The first message of a connection. */
typedef struct hello {
    char magic[8];
    uint32_t rank;
    uint32_t size;
    uint32_t port; /* where this rank listens */
    uint32_t unused;
    char secret[SECRET_BYTES]; /* of the user; to the parent: of the job */
} hello_t;

/** What rank 0 answers. */
typedef struct answer {
    char magic[8];
    char refused[168]; /* the reason; "": not refused */
    char address[64];  /* where the parent listens */
    uint32_t port;
    uint32_t unused;
    char secret[SECRET_BYTES]; /* of the job */
} answer_t;

/** The port of a bound socket. */
static uint32_t port_of(int socket)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof(bound);
    if (getsockname(socket, (struct sockaddr *)&bound, &length) != 0) {
        return 0;
    }
    return ntohs(bound.ss_family == AF_INET6
                     ? ((struct sockaddr_in6 *)&bound)->sin6_port
                     : ((struct sockaddr_in *)&bound)->sin_port);
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6
               ? IN6_IS_ADDR_LOOPBACK(
                     &((const struct sockaddr_in6 *)address)->sin6_addr)
               : ntohl(
                     ((const struct sockaddr_in *)address)->sin_addr.s_addr) >>
                         24 ==
                     127;
}

/** The address of one end of a connection as text. */
static void address_text(const struct sockaddr_storage *address,
                         socklen_t length, char text[64])
{
    if (getnameinfo((const struct sockaddr *)address, length, text, 64, NULL, 0,
                    NI_NUMERICHOST) != 0) {
        text[0] = '\0';
    }
}

/* ---- the tree ---- */

/** Set the ranks of the links: the subtree of rank r that ends at `end` has the
 * children r + 1 and the one in the middle of the rest. */
static void plan_tree(tcp_t *tcp)
{
    uint32_t at = 0;
    uint32_t end = tcp->size;
    tcp_link_t *parent = &tcp->link[0];
    tcp_link_t *left = &tcp->link[1];
    tcp_link_t *right = &tcp->link[2];
    for (unsigned i = 0; i < LINKS; i++) {
        tcp->link[i] = (tcp_link_t){.socket = -1};
    }
    for (;;) {
        uint32_t middle = at + 1 + (end - at) / 2;
        if (at == tcp->rank) {
            middle = middle < end ? middle : end;
            *left = (tcp_link_t){-1, at + 1, middle};
            *right = (tcp_link_t){-1, middle, end};
            return;
        }
        parent->rank = at;
        if (tcp->rank < middle) {
            at++;
            end = middle < end ? middle : end;
        } else {
            at = middle;
        }
    }
}

/** The parent of a rank. */
static uint32_t parent_of(const tcp_t *tcp, uint32_t rank)
{
    tcp_t other = {.rank = rank, .size = tcp->size};
    plan_tree(&other);
    return other.link[0].rank;
}

/* ---- guests ---- */

/** Who waits for others to connect. */
typedef struct waiting {
    const tcp_t *tcp;
    const char *secret; /* that they know */
    bool root;          /* all others; else the children */
    uint32_t missing;
    int *socket;    /* of those that have arrived, -1: not yet; by slot_of */
    uint32_t *port; /* where they listen */
    bool warned;    /* of a wrong secret */
} waiting_t;

/** A connection that has not said who it is. */
typedef struct guest {
    int socket;
    size_t got; /* bytes of hello */
    int64_t since_ms;
    hello_t hello;
} guest_t;

/** The index of a rank that is waited for, or -1. */
static int64_t slot_of(const waiting_t *waiting, uint32_t rank)
{
    const tcp_t *tcp = waiting->tcp;
    if (waiting->root) {
        return rank > 0 && rank < tcp->size ? (int64_t)rank : -1;
    }
    for (unsigned i = 1; i < LINKS; i++) {
        if (tcp_has_child(tcp, i) && tcp->link[i].rank == rank) {
            return i;
        }
    }
    return -1;
}

static void refuse(int socket, const char *reason)
{
    answer_t answer = {.port = 0};
    memcpy(answer.magic, magic, sizeof(magic));
    snprintf(answer.refused, sizeof(answer.refused), "%s", reason);
    (void)tcp_send(socket, &answer, sizeof(answer), tcp_now_ms() + 100);
}

/** Whether two secrets are the same, in a time that says nothing of them. */
static bool equal(const char *a, const char *b)
{
    unsigned char differ = 0;
    for (size_t i = 0; i < SECRET_BYTES; i++) {
        differ |= (unsigned char)(a[i] ^ b[i]);
    }
    return differ == 0;
}

/** A guest has said who it is. Strangers are left alone; a mistake in the job's
 * own ranks ends the job.
 * @return whether the connection is kept */
static bool take_guest(waiting_t *waiting, const guest_t *guest,
                       catena_status_t *status)
{
    const tcp_t *tcp = waiting->tcp;
    const hello_t *hello = &guest->hello;
    char reason[160] = "";
    if (memcmp(hello->magic, magic, sizeof(magic)) != 0) {
        return false;
    }
    if (!equal(hello->secret, waiting->secret)) {
        if (waiting->root && !waiting->warned) {
            waiting->warned = true;
            ctn_warn(tcp->log, "a process with another CATENA_BOOT_SECRET has "
                               "tried to join the job");
        }
        if (waiting->root) {
            refuse(guest->socket, "CATENA_BOOT_SECRET differs");
        }
        return false;
    }
    int64_t slot = slot_of(waiting, hello->rank);
    if (hello->size != tcp->size) {
        snprintf(reason, sizeof(reason),
                 "rank %u expects %u ranks, rank %u expects %u", hello->rank,
                 hello->size, tcp->rank, tcp->size);
    } else if (slot < 0 || waiting->socket[slot] >= 0) {
        snprintf(reason, sizeof(reason),
                 "there are two processes of rank %u; give each a number of "
                 "its own",
                 hello->rank);
    }
    if (reason[0] != '\0') {
        refuse(guest->socket, reason);
        ctn_error(tcp->log, "catena_init: %s", reason);
        *status = CATENA_ERR_LAUNCHER;
        return false;
    }
    waiting->socket[slot] = guest->socket;
    waiting->port[slot] = hello->port;
    waiting->missing--;
    return true;
}

/** Name some of those that are missing. */
static catena_status_t report_missing(const waiting_t *waiting)
{
    char list[128] = "";
    size_t used = 0;
    uint32_t named = 0;
    for (uint32_t i = 1; waiting->root && i < waiting->tcp->size && named < 8;
         i++) {
        if (waiting->socket[i] < 0) {
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u",
                                     named++ > 0 ? ", " : "", i);
        }
    }
    ctn_error(waiting->tcp->log,
              "catena_init: %u of the other ranks have not connected to rank "
              "%u within %lld s%s%s%s; start them, or raise "
              "CATENA_BOOT_TIMEOUT",
              waiting->missing, waiting->tcp->rank,
              (long long)waiting->tcp->timeout_ms / 1000, used > 0 ? ": " : "",
              list, named < waiting->missing && used > 0 ? " ..." : "");
    return CATENA_ERR_LAUNCHER;
}

/** Read what a guest has sent. @return whether it stays among the guests */
static bool hear_guest(waiting_t *waiting, guest_t *guest,
                       catena_status_t *status)
{
    ssize_t got = recv(guest->socket, (char *)&guest->hello + guest->got,
                       sizeof(guest->hello) - guest->got, MSG_DONTWAIT);
    if (got < 0 && tcp_would_block()) {
        return true;
    }
    guest->got += got > 0 ? (size_t)got : 0;
    if (got > 0 && guest->got < sizeof(guest->hello)) {
        return true;
    }
    if (got <= 0 || !take_guest(waiting, guest, status)) {
        close(guest->socket);
    }
    return false;
}

/** Close the oldest guest. */
static void drop_oldest(guest_t *guests, uint32_t *count)
{
    close(guests[0].socket);
    memmove(guests, guests + 1, --*count * sizeof(*guests));
}

/** Whether errno is a lack of descriptors or of memory. */
static bool lacks(void)
{
    return errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
           errno == ENOMEM;
}

/** Take the next connection. If that lacks a descriptor, the oldest guest goes,
 * so that strangers do not end the job. */
static catena_status_t accept_guest(const tcp_t *tcp, guest_t *guests,
                                    uint32_t *count)
{
    int made = accept4(tcp->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    bool refused = made < 0 || ctn_peer_is_foreign(made);
    while (refused && lacks() && *count > 0) {
        drop_oldest(guests, count);
        if (made < 0) {
            return CATENA_OK; /* the next time */
        }
        refused = ctn_peer_is_foreign(made);
    }
    if (!refused) {
        tcp_prepare(made);
        guests[(*count)++] =
            (guest_t){.socket = made, .since_ms = tcp_now_ms()};
        return CATENA_OK;
    }
    int wrong = errno;
    bool ends = lacks();
    tcp_close(&made);
    if (!ends) {
        return CATENA_OK; /* a stranger, or the connection has ended already */
    }
    ctn_error(tcp->log,
              "catena_init: rank %u cannot accept connections: %s; expected a "
              "limit of open files above the number of ranks, %u",
              tcp->rank, strerror(wrong), tcp->size);
    return CATENA_ERR_SYSTEM;
}

/** If there are as many guests as can be, close the oldest one that says
 * nothing. @return whether there is room for another one */
static bool make_room(guest_t *guests, uint32_t *count)
{
    if (*count == MOST_GUESTS &&
        tcp_now_ms() - guests[0].since_ms > SILENT_MS) {
        drop_oldest(guests, count);
    }
    return *count < MOST_GUESTS;
}

/** Wait until all have connected. */
static catena_status_t receive_guests(waiting_t *waiting, int64_t deadline)
{
    const tcp_t *tcp = waiting->tcp;
    guest_t guests[MOST_GUESTS];
    struct pollfd polled[MOST_GUESTS + 1];
    uint32_t count = 0;
    catena_status_t status = CATENA_OK;
    while (waiting->missing > 0 && status == CATENA_OK) {
        int64_t left = deadline - tcp_now_ms();
        if (left <= 0) {
            status = report_missing(waiting);
            break;
        }
        bool room = make_room(guests, &count);
        polled[0] =
            (struct pollfd){.fd = room ? tcp->listener : -1, .events = POLLIN};
        left = room || left < SILENT_MS / 10 ? left : SILENT_MS / 10;
        for (uint32_t i = 0; i < count; i++) {
            polled[i + 1] =
                (struct pollfd){.fd = guests[i].socket, .events = POLLIN};
        }
        if (poll(polled, count + 1, (int)left) <= 0) {
            continue;
        }
        uint32_t kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (polled[i + 1].revents == 0 ||
                hear_guest(waiting, &guests[i], &status)) {
                guests[kept++] = guests[i];
            }
        }
        count = kept;
        if (status == CATENA_OK && polled[0].revents != 0) {
            status = accept_guest(tcp, guests, &count);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        close(guests[i].socket);
    }
    return status;
}

/* ---- rank 0 ---- */

/** Open the address of the rendezvous. */
static catena_status_t open_rendezvous(tcp_t *tcp)
{
    struct addrinfo *found = tcp_look_up(tcp, tcp->host, tcp->port);
    int wrong = 0;
    for (const struct addrinfo *at = found; at != NULL && tcp->listener < 0;
         at = at->ai_next) {
        wrong = tcp_listen(&tcp->listener, at->ai_addr, at->ai_addrlen);
    }
    if (found == NULL) {
        return CATENA_ERR_LAUNCHER;
    }
    freeaddrinfo(found);
    if (tcp->listener < 0) {
        ctn_error(tcp->log,
                  "catena_init: rank 0 cannot listen at tcp://%s: %s; expected "
                  "an address of this host, and a free port",
                  tcp->address, strerror(wrong));
        return CATENA_ERR_LAUNCHER;
    }
    return CATENA_OK;
}

/** Each rank has a connection to rank 0 until all have arrived. */
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/** Whether a rank has come through the loopback of rank 0's host. */
static bool from_loopback(int socket)
{
    struct sockaddr_storage where;
    socklen_t length = sizeof(where);
    return getpeername(socket, (struct sockaddr *)&where, &length) == 0 &&
           is_loopback(&where);
}

/** Tell a rank where its parent listens. A parent on the host of rank 0 may
 * have come through the loopback; ranks of other hosts are told the address
 * where they reach rank 0, so all ranks must be given the same address. */
static int answer(const tcp_t *tcp, const waiting_t *waiting, uint32_t rank,
                  int64_t deadline)
{
    struct sockaddr_storage where;
    socklen_t length = sizeof(where);
    answer_t answer = {.port = 0};
    uint32_t parent = parent_of(tcp, rank);
    memcpy(answer.magic, magic, sizeof(magic));
    memcpy(answer.secret, tcp->job_secret, SECRET_BYTES);
    if (parent > 0) {
        answer.port = waiting->port[parent];
        if (getpeername(waiting->socket[parent], (struct sockaddr *)&where,
                        &length) != 0) {
            return errno;
        }
        if (is_loopback(&where) && !from_loopback(waiting->socket[rank])) {
            length = sizeof(where);
            (void)getsockname(waiting->socket[rank], (struct sockaddr *)&where,
                              &length);
        }
        address_text(&where, length, answer.address);
    }
    return tcp_send(waiting->socket[rank], &answer, sizeof(answer), deadline);
}

/** Answer all, and keep the connections to the children. */
static catena_status_t answer_all(tcp_t *tcp, waiting_t *waiting)
{
    int64_t deadline = tcp_deadline(tcp);
    for (uint32_t i = 1; i < tcp->size; i++) {
        int wrong = answer(tcp, waiting, i, deadline);
        if (wrong != 0) {
            ctn_error(tcp->log, "catena_init: lost rank %u: %s", i,
                      strerror(wrong));
            return CATENA_ERR_LAUNCHER;
        }
    }
    for (unsigned i = 1; i < LINKS; i++) {
        if (tcp_has_child(tcp, i)) {
            uint32_t rank = tcp->link[i].rank;
            tcp->link[i].socket = waiting->socket[rank];
            waiting->socket[rank] = -1;
        }
    }
    return CATENA_OK;
}

static catena_status_t serve(tcp_t *tcp)
{
    int *socket = malloc(tcp->size * sizeof(*socket));
    uint32_t *port = calloc(tcp->size, sizeof(*port));
    waiting_t waiting = {tcp,    tcp->secret, true, tcp->size - 1,
                         socket, port,        false};
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    for (uint32_t i = 0; socket != NULL && i < tcp->size; i++) {
        socket[i] = -1;
    }
    if (socket != NULL && port != NULL) {
        raise_limit();
        status = open_rendezvous(tcp);
    }
    if (status == CATENA_OK &&
        getrandom(tcp->job_secret, SECRET_BYTES, 0) != SECRET_BYTES) {
        status = CATENA_ERR_SYSTEM;
    }
    if (status == CATENA_OK) {
        status = receive_guests(&waiting, tcp_deadline(tcp));
    }
    tcp_close(&tcp->listener);
    if (status == CATENA_OK) {
        status = answer_all(tcp, &waiting);
    }
    for (uint32_t i = 0; socket != NULL && i < tcp->size; i++) {
        tcp_close(&socket[i]);
    }
    free(socket);
    free(port);
    return status;
}

/* ---- the other ranks ---- */

/** Listen where a connection ends on this host: no other address is opened. */
static catena_status_t listen_beside(tcp_t *tcp, int connection)
{
    struct sockaddr_storage here = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(here);
    int wrong = getsockname(connection, (struct sockaddr *)&here, &length) != 0
                    ? errno
                    : 0;
    if (here.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)&here)->sin6_port = 0;
    } else {
        ((struct sockaddr_in *)&here)->sin_port = 0;
    }
    if (wrong == 0) {
        wrong = tcp_listen(&tcp->listener, (struct sockaddr *)&here, length);
    }
    if (wrong != 0) {
        ctn_error(tcp->log, "catena_init: cannot listen: %s", strerror(wrong));
        return CATENA_ERR_SYSTEM;
    }
    return CATENA_OK;
}

static hello_t hello_of(const tcp_t *tcp, const char *secret)
{
    hello_t hello = {.rank = tcp->rank, .size = tcp->size};
    memcpy(hello.magic, magic, sizeof(magic));
    memcpy(hello.secret, secret, SECRET_BYTES);
    if (tcp->listener >= 0) {
        hello.port = port_of(tcp->listener);
    }
    return hello;
}

/** Say who this is, and receive the answer, which comes when all have arrived.
 */
static catena_status_t ask(tcp_t *tcp, int connection, answer_t *answer)
{
    int64_t deadline = tcp_deadline(tcp);
    hello_t hello = hello_of(tcp, tcp->secret);
    int wrong = tcp_send(connection, &hello, sizeof(hello), deadline);
    if (wrong == 0) {
        wrong = tcp_receive(connection, answer, sizeof(*answer), deadline);
    }
    if (wrong != 0 || memcmp(answer->magic, magic, sizeof(magic)) != 0) {
        ctn_error(tcp->log,
                  "catena_init: no answer from rank 0 at tcp://%s: %s; is rank "
                  "0 there, and are all ranks started?",
                  tcp->address,
                  wrong == 0            ? "another service"
                  : wrong == ECONNRESET ? "it has closed the connection"
                                        : strerror(wrong));
        return CATENA_ERR_LAUNCHER;
    }
    answer->refused[sizeof(answer->refused) - 1] = '\0';
    answer->address[sizeof(answer->address) - 1] = '\0';
    if (answer->refused[0] != '\0') {
        ctn_error(tcp->log, "catena_init: rank 0 at tcp://%s refuses: %s",
                  tcp->address, answer->refused);
        return CATENA_ERR_LAUNCHER;
    }
    return CATENA_OK;
}

/** Connect to the parent, and wait for the children. */
static catena_status_t connect_tree(tcp_t *tcp, const answer_t *answer)
{
    int64_t deadline = tcp_deadline(tcp);
    memcpy(tcp->job_secret, answer->secret, SECRET_BYTES);
    if (tcp->link[0].socket < 0) {
        char port[16];
        snprintf(port, sizeof(port), "%u", answer->port);
        tcp->link[0].socket = tcp_connect(tcp, answer->address, port,
                                          tcp->link[0].rank, deadline);
        if (tcp->link[0].socket < 0) {
            return CATENA_ERR_LAUNCHER;
        }
        hello_t hello = hello_of(tcp, tcp->job_secret);
        int wrong =
            tcp_send(tcp->link[0].socket, &hello, sizeof(hello), deadline);
        if (wrong != 0) {
            ctn_error(tcp->log, "catena_init: lost rank %u: %s",
                      tcp->link[0].rank, strerror(wrong));
            return CATENA_ERR_LAUNCHER;
        }
    }
    int socket[LINKS] = {-1, -1, -1};
    uint32_t port[LINKS];
    waiting_t waiting = {
        tcp,    tcp->job_secret,
        false,  (uint32_t)tcp_has_child(tcp, 1) + tcp_has_child(tcp, 2),
        socket, port,
        false};
    catena_status_t status = receive_guests(&waiting, deadline);
    tcp_close(&tcp->listener);
    tcp->link[1].socket = socket[1];
    tcp->link[2].socket = socket[2];
    return status;
}

static catena_status_t visit(tcp_t *tcp)
{
    int connection =
        tcp_connect(tcp, tcp->host, tcp->port, 0, tcp_deadline(tcp));
    answer_t answer;
    if (connection < 0) {
        return CATENA_ERR_LAUNCHER;
    }
    catena_status_t status = listen_beside(tcp, connection);
    if (status == CATENA_OK) {
        status = ask(tcp, connection, &answer);
    }
    if (status == CATENA_OK && tcp->link[0].rank == 0) {
        tcp->link[0].socket = connection;
        connection = -1;
    }
    if (status == CATENA_OK) {
        status = connect_tree(tcp, &answer);
    }
    tcp_close(&connection);
    return status;
}

catena_status_t tcp_meet(tcp_t *tcp)
{
    plan_tree(tcp);
    return tcp->size == 1   ? CATENA_OK
           : tcp->rank == 0 ? serve(tcp)
                            : visit(tcp);
}
