#ifndef CTN_CORE_CONSTANTS_H
#define CTN_CORE_CONSTANTS_H

#include "build_constants.h"

/* Sizes and limits from which on something else is done. A build with -Dtiny
 * has tiny ones: few ranks and short messages reach what otherwise takes
 * thousands of operations, blocks of many KiB or more ranks than a machine has
 * cores. What they are for is said where they are used. */

#if CTN_TINY
#define CTN_PICK(usual, tiny) (tiny)
#else
#define CTN_PICK(usual, tiny) (usual)
#endif

/* ---- sequences ---- */

/** Numbers of operations in words: 2^32 - 16. Divisible by all numbers of
 * rings, so operations of one number use the same ring. */
#define CTN_NUMBERS CTN_PICK(UINT32_MAX - 15u, 240u)
/** Operations from one time that old words are zeroed to the next. */
#define CTN_EPOCH CTN_PICK(UINT64_C(1) << 30, UINT64_C(64))
/** Turns in the words of messages. */
#define CTN_TURNS CTN_PICK(65536u, 8u)

/* ---- messages ---- */

#define CTN_EAGER_FRAGMENT_BYTES                                               \
    CTN_PICK(8192u, 256u) /* of a wide payload's parts */
#define CTN_SMALL_EAGER_BYTES CTN_PICK(2048u, 512u) /* of a small block */
#define CTN_EAGER_BYTES CTN_PICK(32768u, 4096u) /* of a component's channel */
#define CTN_FLOW_FRAGMENT_BYTES                                                \
    CTN_PICK(65536u, 4096u) /* of a flow's pieces                              \
                             */

/* ---- exchanges of members ---- */

/** Rounds at once: of blocks that fit a slot, and of larger ones. */
#define CTN_PAIRWISE_SLOTS CTN_PICK(64u, 8u)
#define CTN_PAIRWISE_EAGER_SLOTS CTN_PICK(32u, 4u)
/** Turns of a slot that its words tell apart. */
#define CTN_PAIRWISE_TURNS CTN_PICK(2048u, 2u)
/** Blocks up to so many bytes go unasked; with more ranks than cores. */
#define CTN_LOCAL_EAGER_BYTES CTN_PICK(512u, 256u)
#define CTN_OVERSUBSCRIBED_EAGER_BYTES CTN_PICK(1024u, 512u)
#define CTN_LARGE_FRAGMENT_BYTES CTN_PICK(65536u, 4096u)
#define CTN_AGGREGATE_BYTES CTN_PICK(65536u, 2048u)
#define CTN_LEADER_STAGING_SLOTS CTN_PICK(8u, 4u) /* of a leader */
#define CTN_LEADER_STAGING_BYTES CTN_PICK(65536u, 4096u)

/* ---- members of a node ---- */

#define CTN_EAGER_ROWS_MEMBERS CTN_PICK(64u, 8u) /* that have rows, at most */
#define CTN_NODE_AREA_MEMBERS CTN_PICK(64u, 8u)  /* that fit a block's board */
#define CTN_FLAT_MEMBERS CTN_PICK(8u, 4u)        /* of a flat barrier */
#define CTN_SHM_EAGER_ROW_BYTES CTN_PICK(2048u, 512u)

/* ---- links ---- */

#define CTN_LINK_EAGER_MAX CTN_PICK((size_t)64 << 10, (size_t)1 << 10)
#define CTN_LINK_EAGER_MIN CTN_PICK((size_t)1 << 10, (size_t)128)
#define CTN_LINK_EAGER_LOCAL CTN_PICK((size_t)1 << 10, (size_t)256)
#define CTN_LINK_EAGER_OVERSUBSCRIBED CTN_PICK((size_t)8 << 10, (size_t)512)
#define CTN_LINK_POSTED_MIN CTN_PICK(2048u, 256u)
#define CTN_NEIGHBOR_INLINE_BYTES CTN_PICK(1024u, 128u)
#define CTN_NEIGHBOR_INLINE_MESSAGES CTN_PICK(64u, 4u)

#endif
