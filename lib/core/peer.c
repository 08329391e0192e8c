#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/peer.h"

/** Fill an end of a connection. @return its family */
static int set_end(const struct sockaddr_storage *end, __be32 address[4],
                   __be16 *port)
{
    const struct sockaddr_in6 *long_one = (const void *)end;
    const struct sockaddr_in *short_one = (const void *)end;
    if (end->ss_family == AF_INET6) {
        memcpy(address, &long_one->sin6_addr, sizeof(long_one->sin6_addr));
        *port = long_one->sin6_port;
    } else {
        memcpy(address, &short_one->sin_addr, sizeof(short_one->sin_addr));
        *port = short_one->sin_port;
    }
    return end->ss_family;
}

/** Ask the kernel for a TCP socket of this host (sock_diag(7)).
 * @return 0; EMFILE, ENFILE; else there is no answer */
static int ask(const struct inet_diag_sockid *id, int family,
               struct inet_diag_msg *found)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {
        .head = {.nlmsg_len = sizeof(request),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = (uint8_t)family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = UINT32_MAX,
                 .id = *id},
    };
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg body;
        unsigned char attributes[1024];
    } answer;
    const struct timeval limit = {.tv_sec = 1};
    int kernel =
        socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (kernel < 0) {
        return errno == EMFILE || errno == ENFILE ? errno : ENOENT;
    }
    (void)setsockopt(kernel, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    bool answered =
        send(kernel, &request, sizeof(request), 0) == sizeof(request) &&
        recv(kernel, &answer, sizeof(answer), 0) >=
            (ssize_t)(sizeof(answer.head) + sizeof(answer.body)) &&
        answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY;
    if (answered) {
        *found = answer.body;
    }
    close(kernel);
    return answered ? 0 : ENOENT;
}

/** Whether an address is one of this host. @return false also if it cannot be
 * found out, with errno */
static bool is_here(const struct sockaddr_storage *end)
{
    __be32 address[4] = {0}, other[4] = {0};
    __be16 port;
    struct ifaddrs *all;
    int family = set_end(end, address, &port);
    size_t bytes = sizeof(address);
    const __be32 *last = address;
    if (family == AF_INET6 &&
        IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)address)) {
        family = AF_INET;
        last = &address[3];
    }
    if (family == AF_INET) {
        bytes = sizeof(*last);
        if (ntohl(*last) >> 24 == IN_LOOPBACKNET) {
            return true;
        }
    }
    if (getifaddrs(&all) != 0) {
        return false;
    }
    bool here = false;
    for (const struct ifaddrs *one = all; one != NULL && !here;
         one = one->ifa_next) {
        if (one->ifa_addr != NULL && one->ifa_addr->sa_family == family) {
            (void)set_end((const void *)one->ifa_addr, other, &port);
            here = memcmp(last, other, bytes) == 0;
        }
    }
    freeifaddrs(all);
    return here;
}

bool ctn_peer_is_foreign(int connection)
{
    struct sockaddr_storage own, other;
    socklen_t own_bytes = sizeof(own), other_bytes = sizeof(other);
    struct inet_diag_sockid id = {
        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
    struct inet_diag_msg found;
    const struct sockaddr_in6 *link = (const void *)&other;
    if (getsockname(connection, (struct sockaddr *)&own, &own_bytes) != 0 ||
        getpeername(connection, (struct sockaddr *)&other, &other_bytes) != 0) {
        errno = EACCES; /* it is over; what it has sent could still be read */
        return true;
    }
    /* The peer's socket: its source is the other end. */
    (void)set_end(&other, id.idiag_src, &id.idiag_sport);
    int family = set_end(&own, id.idiag_dst, &id.idiag_dport);
    if (family != AF_INET && family != AF_INET6) {
        return false;
    }
    /* A socket with an address of one link is bound to that. */
    id.idiag_if = family == AF_INET6 ? link->sin6_scope_id : 0;
    int wrong = ask(&id, family, &found);
    if (wrong == 0) {
        /* Of a socket that is closed the kernel does not know the user. */
        errno = EACCES;
        return found.idiag_state != TCP_ESTABLISHED || found.idiag_inode == 0 ||
               (found.idiag_uid != geteuid() && found.idiag_uid != 0);
    }
    if (wrong != EMFILE && wrong != ENFILE && is_here(&other)) {
        /* It is gone, unless the kernel does not say anything. */
        (void)set_end(&own, id.idiag_src, &id.idiag_sport);
        (void)set_end(&other, id.idiag_dst, &id.idiag_dport);
        wrong = ask(&id, family, &found);
        if (wrong == 0 && found.idiag_state != TCP_LISTEN) {
            wrong = EACCES;
        }
    }
    errno = wrong;
    return wrong == EACCES || wrong == EMFILE || wrong == ENFILE;
}
