#ifndef CTN_CORE_CONSTANTS_H
#define CTN_CORE_CONSTANTS_H

#include "build_constants.h"

/* Sizes and thresholds. A build with -Dtiny has small ones: then few ranks and
 * short messages reach code paths that otherwise take thousands of operations,
 * blocks of many KiB or more ranks than a machine has cores. The code that uses
 * a constant explains it. */

#if CTN_TINY
#define CTN_PICK(usual, tiny) (tiny)
#else
#define CTN_PICK(usual, tiny) (usual)
#endif

/* ---- sequences ---- */

/** Numbers of operations in flags: 2^32 - 16. Divisible by every number of
 * generations, so operations of one number use the same generation. */
#define CTN_NUMBERS CTN_PICK(UINT32_MAX - 15u, 240u)
/** Operations between two times at which old flags are zeroed. */
#define CTN_EPOCH CTN_PICK(UINT64_C(1) << 30, UINT64_C(64))
/** Turns in the flags of messages. */
#define CTN_TURNS CTN_PICK(65536u, 8u)

/* ---- messages ---- */

/** A fragment of an eager buffer. */
#define CTN_EAGER_FRAGMENT_BYTES CTN_PICK(8192u, 256u)
/** An eager buffer of a small control block, of a component's sequence. */
#define CTN_SMALL_EAGER_BYTES CTN_PICK(2048u, 512u)
#define CTN_EAGER_BYTES CTN_PICK(32768u, 4096u)
/** A fragment of a vector that needs flow control. */
#define CTN_FLOW_FRAGMENT_BYTES CTN_PICK(65536u, 4096u)

/* ---- alltoall ---- */

/** Concurrent rounds: for blocks that fit a slot, and for larger ones. */
#define CTN_PAIRWISE_SLOTS CTN_PICK(64u, 8u)
#define CTN_PAIRWISE_EAGER_SLOTS CTN_PICK(32u, 4u)
/** Turns of a slot that its flags distinguish. */
#define CTN_PAIRWISE_TURNS CTN_PICK(2048u, 2u)
/** Largest blocks sent without an RTS on a node; the same with more ranks than
 * cores. */
#define CTN_LOCAL_EAGER_BYTES CTN_PICK(512u, 256u)
#define CTN_OVERSUBSCRIBED_EAGER_BYTES CTN_PICK(1024u, 512u)
#define CTN_LARGE_FRAGMENT_BYTES CTN_PICK(65536u, 4096u)
#define CTN_AGGREGATE_BYTES CTN_PICK(65536u, 2048u)
/** Staging of a leader. */
#define CTN_LEADER_STAGING_SLOTS CTN_PICK(8u, 4u)
#define CTN_LEADER_STAGING_BYTES CTN_PICK(65536u, 4096u)

/* ---- node area ---- */

/** Most members: with eager rows, in the node area of a block, of a flat
 * barrier. */
#define CTN_EAGER_ROWS_MEMBERS CTN_PICK(64u, 8u)
#define CTN_NODE_AREA_MEMBERS CTN_PICK(64u, 8u)
#define CTN_FLAT_MEMBERS CTN_PICK(8u, 4u)
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
