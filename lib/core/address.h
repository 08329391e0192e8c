#ifndef CTN_CORE_ADDRESS_H
#define CTN_CORE_ADDRESS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/** The address of a group member: its process (world rank), and the offset of
 * its control block in that process's arena. It has 16 bytes and means the same
 * on all processes, so it may be sent in messages. */
typedef struct ctn_address {
    uint64_t process;
    uint64_t offset;
} ctn_address_t;

_Static_assert(sizeof(ctn_address_t) == 16, "an address is 16 bytes");

/** For a neighbor that does not exist, at the ends of a chain. */
#define CTN_NO_PROCESS UINT64_MAX
#define CTN_NO_ADDRESS ((ctn_address_t){CTN_NO_PROCESS, 0})

static inline bool ctn_address_exists(ctn_address_t address)
{
    return address.process != CTN_NO_PROCESS;
}

/* A packed address has 8 bytes, for messages with many addresses: 30 bits of
 * process and 34 bits of page. That suffices, since control blocks begin on a
 * page and the arenas of a node take at most 2^46 bytes together (see
 * heap/segment.c). */

#define CTN_MEMBER_ALIGNMENT 4096u
#define CTN_PACKED_NONE UINT64_MAX

static inline uint64_t ctn_address_pack(ctn_address_t address)
{
    if (!ctn_address_exists(address)) {
        return CTN_PACKED_NONE;
    }
    assert(address.offset % CTN_MEMBER_ALIGNMENT == 0);
    assert(address.offset >> 46 == 0 && address.process >> 30 == 0);
    return address.process << 34 | address.offset / CTN_MEMBER_ALIGNMENT;
}

static inline ctn_address_t ctn_address_unpack(uint64_t packed)
{
    return packed == CTN_PACKED_NONE
               ? CTN_NO_ADDRESS
               : (ctn_address_t){packed >> 34,
                                 (packed & ((UINT64_C(1) << 34) - 1)) *
                                     CTN_MEMBER_ALIGNMENT};
}

#endif
