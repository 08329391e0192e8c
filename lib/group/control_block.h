#ifndef CTN_GROUP_CONTROL_BLOCK_H
#define CTN_GROUP_CONTROL_BLOCK_H

#include "core/tiny.h"
#include "group/chain.h"
#include "transports/transport.h"

/** A fragment of an eager buffer of a control block. */
#define CTN_EAGER_FRAGMENT_BYTES CTN_PICK(8192u, 256u)
/** An eager buffer of the user sequence of a hidden duplicate: less memory, and
 * longer blocks wait for a CTS. Also the longest block of an alltoall that is
 * never read by the receiver instead. */
#define CTN_SMALL_EAGER_BYTES CTN_PICK(2048u, 256u)

/** Uses of sparse blocks, numbers below CTN_SPARSE_USES: control blocks, and
 * memory that is zero. */
enum { CTN_CONTROL_BLOCKS, CTN_ZERO_BLOCKS };

/* The control block of a group member: memory in the member's arena. Its
 * address is the address of the member. Its size and its layout do not depend
 * on the group. It is a sparse block of the heap, except that of the world: a
 * part takes no memory before the first operation that uses it. It holds the
 * slots of
 *
 * - the group's chain,
 * - subchains: chains of some of the members, which a higher layer forms,
 * - the user sequence, which also has eager buffers,
 * - group teardown, which does not depend on the state of the other sequences,
 * - the checks of calls (group/check.h), which do not either,
 *
 * and memory that members share and a higher layer lays out. */

#define CTN_SLOTS 64u          /* of the user sequence */
#define CTN_SUBCHAINS 2u       /* that a member can belong to */
#define CTN_TEARDOWN_SLOTS 64u /* 2 per round of a scan: 2^32 ranks */
#define CTN_TEARDOWN_GENERATIONS 2u
#define CTN_CHECK_SLOTS 64u /* likewise */
#define CTN_EAGER_SLOTS 32u /* slots that also have an eager buffer */
/** Less the cache lines of `flags` and `attach`, and of `given_up`. */
#define CTN_SHARED_BYTES (96u * 1024 - 64 - 128)

typedef struct ctn_control_block {
    ctn_slots_t chain[CTN_CHAIN_SLOTS];
    ctn_slots_t subchain[CTN_SUBCHAINS][CTN_CHAIN_SLOTS];
    ctn_slots_t user[CTN_SLOTS];
    /* Not 0: a neighbor in the chain has not got the new group; the status,
     * negated (group/recovery.h). On the first page of the teardown, which a
     * group takes when it is created. */
    uint64_t given_up;
    unsigned char unused[120];
    ctn_slot_t teardown[CTN_TEARDOWN_SLOTS][CTN_TEARDOWN_GENERATIONS];
    ctn_slots_t check[CTN_CHECK_SLOTS];
    /* Zero in a new group. */
    unsigned char shared[CTN_SHARED_BYTES];
    /* Used in the control blocks of the world group only, which lie at the same
     * offset on all ranks; see exec/exec.h and transports/shm/shm.h. */
    ctn_exec_flags_t flags;
    ctn_attach_t attach;
    /* Need not be zero: nothing is read here before a word announces it. */
    unsigned char eager[CTN_GENERATIONS * CTN_EAGER_SLOTS *
                        CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES];
} ctn_control_block_t;

_Static_assert(sizeof(ctn_exec_flags_t) + sizeof(ctn_attach_t) == 64,
               "they fill a cache line");
_Static_assert(offsetof(ctn_control_block_t, eager) % 4096 == 0,
               "eager buffers start on a page");

/** Get a control block: addresses whose pages are taken (ctn_heap_take) when
 * they are first used. All but its eager buffers is zero. NULL: no memory. */
ctn_control_block_t *ctn_control_block_get(ctn_exec_t *exec);
/** Free a control block, of which all but its eager buffers is zero
 * (ctn_sequence_clear). No rank may put into it any more. */
void ctn_control_block_put(ctn_exec_t *exec, ctn_control_block_t *block);

/* The list of all groups of a context, the newest first. */

void ctn_groups_add(catena_group_t *group);
/** Remove a group, if it is still in the list. */
void ctn_groups_remove(catena_group_t *group);
/** Return the newest group; NULL: there is none. */
catena_group_t *ctn_groups_newest(const ctn_exec_t *exec);

#endif
