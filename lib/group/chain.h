#ifndef CTN_GROUP_CHAIN_H
#define CTN_GROUP_CHAIN_H

#include "group/scan.h"

#define CTN_CHAIN_ROUND_SLOTS 4u /* for each round of an operation */
#define CTN_CHAIN_SLOTS (32 * CTN_CHAIN_ROUND_SLOTS) /* 2^32 ranks */

/** A chain: this member's place, and the sequence that operations on the chain
 * use. A group has one. Higher layers form others, with slots in other parts of
 * the same control blocks. */
typedef struct ctn_chain {
    ctn_chain_place_t place;
    ctn_sequence_t sequence;
    struct ctn_log_chain *log; /* NULL: not built, then on all members */
} ctn_chain_t;

/** A member as a log-chain has it. */
typedef struct ctn_partner {
    ctn_address_t address;
    uint64_t rank; /* in the chain; in a ring: the rank that the member gave */
} ctn_partner_t;

/** A log-chain: the members 2^d away on both sides, for each round d ([Moody],
 * section 2: the addresses found by forwarding). Built when an algorithm needs
 * it, and kept until it is dropped. O(log N) memory for N members. In a ring,
 * the first member is the right neighbor of the last one. */
typedef struct ctn_log_chain {
    ctn_exec_t *exec; /* has the heap of this memory */
    unsigned rounds;  /* ceil(log2 of the chain's size) */
    struct {
        ctn_partner_t side[2]; /* left, right; beyond the ends their address is
                                  CTN_NO_ADDRESS */
    } round[];
} ctn_log_chain_t;

/** Create an operation that builds chain->log in ceil(log2 N) rounds. It is
 * collective and synchronizing. If the log-chain exists, the operation does
 * nothing and has no number. NULL: no memory. */
ctn_op_t *ctn_log_chain_create(ctn_exec_t *exec, ctn_chain_t *chain);
/** The same for a ring of at least two members.
 * @param first, last addresses of the ends of the chain; `last` is significant
 *                    at the first member, `first` at the last one
 * @param rank        of this member, which the others get */
ctn_op_t *ctn_log_ring_create(ctn_exec_t *exec, ctn_chain_t *chain,
                              ctn_address_t first, ctn_address_t last,
                              uint32_t rank);
/** Allocate a log-chain of so many members, without any partner. NULL: no
 * memory. */
ctn_log_chain_t *ctn_log_chain_alloc(ctn_exec_t *exec, uint32_t members);
/** Free the log-chain of a chain. All members must do so between the same
 * operations. */
void ctn_log_chain_drop(ctn_chain_t *chain);

/** Return the bytes of the slots that a chain of so many members uses, with
 * `slots` for each round of an operation. */
static inline size_t ctn_chain_slots_bytes(uint32_t members, unsigned slots)
{
    unsigned rounds =
        members > 1 ? 32 - (unsigned)__builtin_clz(members - 1) : 1;
    return slots * rounds * sizeof(ctn_slots_t);
}

/** A chain whose slots lie in memory of their own. */
typedef struct ctn_own_chain {
    ctn_chain_t chain;
    void *head;    /* memory of the caller before the slots, on a page: the
                      address of the member */
    void *scratch; /* all of the memory; NULL: not opened */
    size_t bytes;
} ctn_own_chain_t;

/** Make such a chain; it has no place yet. The memory that a chain of so many
 * members uses is zero.
 * @param head  bytes for the caller
 * @param slots of each round
 * @return ERR_NO_MEMORY */
catena_status_t ctn_own_chain_open(ctn_exec_t *exec, ctn_own_chain_t *own,
                                   size_t head, unsigned slots,
                                   uint32_t members);
/** Free the memory of the chain, if it was opened. */
void ctn_own_chain_close(ctn_exec_t *exec, ctn_own_chain_t *own);

/** Initialize a chain that has no place yet; a split sets its place.
 * @param block the control block that has the slots of the chain
 * @param address of this member: that of `block`
 * @param base offset of the slots in the block
 * @param members that it may have at most: of a sparse block of the heap, the
 * slots that they use are taken */
void ctn_chain_init(ctn_chain_t *chain, void *block, ctn_address_t address,
                    uint32_t base, uint32_t members);

/** Free the log-chain of a chain, and zero its slots for the next group. */
void ctn_chain_release(const ctn_exec_t *exec, ctn_chain_t *chain);

/** Give a chain another place, and free the log-chain of the old one. */
void ctn_chain_set_place(ctn_chain_t *chain, ctn_chain_place_t place);

/** Create a double scan over `chain` (ctn_scan_t). NULL: no memory.
 * @param own   this member's value, of `bytes`
 * @param left  the result of the members to the left; set to zero here, which
 *              has to be the identity of `fold`
 * @param right the result of the members to the right; likewise */
ctn_op_t *ctn_scan_create(ctn_exec_t *exec, ctn_chain_t *chain, ctn_fold_t fold,
                          void *own, void *left, void *right, size_t bytes);

#endif
