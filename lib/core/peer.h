#ifndef CTN_CORE_PEER_H
#define CTN_CORE_PEER_H

#include <stdbool.h>

/** Whether the other end of a TCP connection may be a socket of another user of
 * this host, and not of root: it is one, or it is closed already. False also if
 * it is not on this host, or if the kernel does not say. True also if this
 * process cannot ask, because it lacks a descriptor: errno is EMFILE or ENFILE
 * then, and else EACCES. */
bool ctn_peer_is_foreign(int connection);

#endif
