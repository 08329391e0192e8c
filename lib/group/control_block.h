#ifndef CTN_GROUP_CONTROL_BLOCK_H
#define CTN_GROUP_CONTROL_BLOCK_H

#include "group/chain.h"

/* The control block of a group member: memory that other members reach at the
 * address by which they know the member. Its size and its layout do not depend
 * on the group. It holds the slots of
 *
 * - the group's chain,
 * - chains of some of the members, which a higher layer forms,
 * - the user sequence, which also has eager buffers,
 * - group teardown, which does not depend on the state of the other sequences,
 *
 * and memory that a higher layer lays out for members that share it. */

#define CTN_SLOTS 64u /* of the user sequence */
#define CTN_SUBCHAINS 2u
#define CTN_TEARDOWN_SLOTS 64u /* 2 per round of a scan */
#define CTN_TEARDOWN_GENERATIONS 2u
#define CTN_EAGER_SLOTS 32u /* slots that also have an eager buffer */
#define CTN_SHARED_BYTES (96u * 1024 - 64)

typedef struct ctn_control_block {
    ctn_slots_t chain[CTN_CHAIN_SLOTS];
    ctn_slots_t subchain[CTN_SUBCHAINS][CTN_CHAIN_SLOTS];
    ctn_slots_t user[CTN_SLOTS];
    ctn_slot_t teardown[CTN_TEARDOWN_SLOTS][CTN_TEARDOWN_GENERATIONS];
    /* Zero in a new group. */
    unsigned char shared[CTN_SHARED_BYTES];
    /* Used in the blocks of the world group only, which have the same offset on
     * all ranks; see ctn_exec_abort. */
    uint64_t abort_flag;
    unsigned char unused[64 - sizeof(uint64_t)];
    /* The rest need not be zero. */
    unsigned char eager[CTN_GENERATIONS][CTN_EAGER_SLOTS][CTN_EAGER_FRAGMENTS]
                       [CTN_EAGER_FRAGMENT_BYTES];
} ctn_control_block_t;

/** The control block of a group of up to CTN_SMALL_MEMBERS members that runs
 * operations of one kind, one at a time: the same parts with fewer slots, as
 * much shared memory as the members need, and possibly shorter eager buffers.
 */
#define CTN_SMALL_MEMBERS 64u

typedef struct ctn_small_control_block {
    ctn_slots_t chain[CTN_CHAIN_SLOTS / 2];
    ctn_slots_t subchain[CTN_SUBCHAINS][CTN_CHAIN_SLOTS / 4];
    ctn_slots_t user[CTN_SLOTS];
    ctn_slot_t teardown[CTN_TEARDOWN_SLOTS][CTN_TEARDOWN_GENERATIONS];
    unsigned char shared[];
} ctn_small_control_block_t;

/** Offsets of the parts of a block. */
typedef struct ctn_control_block_layout {
    uint32_t chain, subchain[CTN_SUBCHAINS], user, teardown, shared;
} ctn_control_block_layout_t;

#define CTN_CONTROL_BLOCK_LAYOUT(type)                                         \
    {                                                                          \
        offsetof(type, chain),                                                 \
            {offsetof(type, subchain[0]), offsetof(type, subchain[1])},        \
            offsetof(type, user), offsetof(type, teardown),                    \
            offsetof(type, shared)                                             \
    }

_Static_assert(offsetof(ctn_control_block_t, eager) % 4096 == 0,
               "wide slots start on a page");

static inline uint64_t ctn_eager_offset(ctn_address_t member, uint64_t seq,
                                        unsigned slot, unsigned fragment)
{
    return member.offset + offsetof(ctn_control_block_t, eager) +
           (((seq % CTN_GENERATIONS) * CTN_EAGER_SLOTS + slot) *
                CTN_EAGER_FRAGMENTS +
            fragment) *
               CTN_EAGER_FRAGMENT_BYTES;
}

/** Start to keep the groups of exec: their list, and spare control blocks.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_groups_open(ctn_exec_t *exec);

/** A control block with zeroed slots, from the spare ones or the heap; NULL: no
 * memory. */
ctn_control_block_t *ctn_control_block_get(ctn_exec_t *exec);
/** Free it. No rank may put into it any more, and the slots of its sequences
 * are zero (ctn_sequence_clear). */
void ctn_control_block_put(ctn_exec_t *exec, ctn_control_block_t *block);

/* The list of all groups. */

void ctn_groups_add(catena_group_t *group);
/** Remove a group from the list, if it is still in it. Linear: there are few
 * groups, since each has a control block in the heap. */
void ctn_groups_remove(const catena_group_t *group);
/** Return the newest group; NULL: there is none. */
catena_group_t *ctn_groups_newest(const ctn_exec_t *exec);

#endif
