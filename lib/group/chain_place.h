#ifndef CTN_GROUP_CHAIN_PLACE_H
#define CTN_GROUP_CHAIN_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "exec/exec.h"

/* A member's place in a chain ([Moody], section 2): size, rank, own address and
 * the addresses of both neighbors, which is 56 bytes for any length of the
 * chain. Collectives find further members by forwarding addresses: the messages
 * of round d contain the addresses of the members 2^(d + 1) away. */

/** The sides of a member, as indices. */
enum { CTN_LEFT, CTN_RIGHT };

typedef struct ctn_chain_place {
    uint32_t size;
    uint32_t rank;
    ctn_address_t self;
    ctn_address_t left;  /* CTN_NO_ADDRESS at rank 0 */
    ctn_address_t right; /* CTN_NO_ADDRESS at rank size - 1 */
} ctn_chain_place_t;

#endif
