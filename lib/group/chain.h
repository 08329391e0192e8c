#ifndef CTN_GROUP_CHAIN_H
#define CTN_GROUP_CHAIN_H

#include "group/chain_place.h"

#define CTN_CHAIN_SLOTS 128u /* 4 per round of an operation: 2^32 ranks */

/** A chain with the sequence its operations run on. A group has one; higher
 * layers form others, over other parts of the same control blocks. */
typedef struct ctn_chain {
    ctn_chain_place_t place;
    ctn_sequence_t sequence;
    struct ctn_log_chain *log; /* NULL: not built; the same on all members */
} ctn_chain_t;

/** The members 2^d away on both sides, for each round d ([Moody], section 2:
 * the addresses found by forwarding). Built when an algorithm needs it, and
 * kept until it is dropped. O(log N) memory. */
typedef struct ctn_log_chain {
    ctn_exec_t *exec; /* owns the memory */
    unsigned rounds;  /* ceil(log2 of the chain's size) */
    struct {
        ctn_address_t side[2]; /* left, right; CTN_NO_ADDRESS beyond the ends */
    } round[];
} ctn_log_chain_t;

/** Create an operation that builds chain->log in ceil(log2 N) rounds;
 * synchronizing, collective. If the chain has one already, the operation is
 * empty and has no sequence. NULL: no memory. */
ctn_op_t *ctn_log_chain_create(ctn_exec_t *exec, ctn_chain_t *chain);
/** Drop the log-chain; all members must do so at the same point. */
void ctn_log_chain_drop(ctn_chain_t *chain);

/** Initialize a chain over slots in a block of memory; a split sets its place.
 * @param block begins at the address of this member
 * @param base offset of the slots in the block */
void ctn_chain_init(ctn_chain_t *chain, void *block, ctn_address_t address,
                    uint32_t base);

/** Release its log-chain; its slots are zeroed. */
void ctn_chain_release(const ctn_exec_t *exec, ctn_chain_t *chain);

/** Set another place; the log-chain of the old one is dropped. */
void ctn_chain_set_place(ctn_chain_t *chain, ctn_chain_place_t place);

/** Create a double scan of `own` over `chain`; results as in ctn_scan_t, zeroed
 * first. NULL: no memory. */
ctn_op_t *ctn_scan_create(ctn_exec_t *exec, ctn_chain_t *chain, ctn_fold_t fold,
                          void *own, void *left, void *right, size_t bytes);

#endif
