#ifndef CTN_CORE_ADDRESS_H
#define CTN_CORE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/** Where a member of a group is reached: the process (its world rank) and an
 * offset in that process's arena, where the member's control block starts.
 * 16 bytes, the same on all processes, sent along in messages. */
typedef struct ctn_address {
    uint64_t process;
    uint64_t offset;
} ctn_address_t;

_Static_assert(sizeof(ctn_address_t) == 16, "an address is 16 bytes");

#define CTN_NO_PROCESS UINT64_MAX
#define CTN_NO_ADDRESS ((ctn_address_t){CTN_NO_PROCESS, 0})

static inline bool ctn_address_exists(ctn_address_t address)
{
    return address.process != CTN_NO_PROCESS;
}

#endif
