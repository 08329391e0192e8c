#ifndef CTN_CORE_CONSTANTS_H
#define CTN_CORE_CONSTANTS_H

#include "build_constants.h"

/* Sizes and thresholds of all layers. A build with -Dtiny has small ones: then
 * few ranks and short messages reach code paths that otherwise take thousands
 * of operations, blocks of many KiB or more ranks than a machine has cores.
 * Sizes are in bytes. The comments are short: the code that uses a constant
 * explains it. */

#if CTN_TINY
#define CTN_PICK(usual, tiny) (tiny)
#else
#define CTN_PICK(usual, tiny) (usual)
#endif

/* ---- sequences ---- */

/** How many numbers operations have in sequence flags: 2^32 - 16. Divisible by
 * every number of generations, so operations of one number use the same
 * generation. */
#define CTN_NUMBERS CTN_PICK(UINT32_MAX - 15u, 240u)
/** Operations of an epoch; its last three are the epoch barriers. */
#define CTN_EPOCH CTN_PICK(UINT64_C(1) << 30, UINT64_C(64))
/** The sequence flags of messages hold the turn modulo this. */
#define CTN_TURNS CTN_PICK(65536u, 8u)

/* ---- messages ---- */

/** A fragment of an eager buffer of a control block. */
#define CTN_EAGER_FRAGMENT_BYTES CTN_PICK(8192u, 256u)
/** An eager buffer of the user sequence of a hidden duplicate. */
#define CTN_SMALL_EAGER_BYTES CTN_PICK(2048u, 512u)
/** An eager buffer of a sequence of p2p or ucx. */
#define CTN_EAGER_BYTES CTN_PICK(32768u, 4096u)
/** A fragment of a vector that p2p sends in fragments, with flow control. */
#define CTN_FLOW_FRAGMENT_BYTES CTN_PICK(65536u, 4096u)

/* ---- alltoall ---- */

/** Concurrent rounds of a direct alltoall: for blocks that fit a slot, and for
 * larger ones. */
#define CTN_PAIRWISE_SLOTS CTN_PICK(64u, 8u)
#define CTN_PAIRWISE_EAGER_SLOTS CTN_PICK(32u, 4u)
/** The sequence flags of these rounds hold the turn modulo this. */
#define CTN_PAIRWISE_TURNS CTN_PICK(2048u, 2u)
/** Largest blocks that are sent eagerly on a node; and on an oversubscribed
 * host. */
#define CTN_LOCAL_EAGER_BYTES CTN_PICK(512u, 256u)
#define CTN_OVERSUBSCRIBED_EAGER_BYTES CTN_PICK(1024u, 512u)
/** A fragment of a large block that passes through staging buffers. */
#define CTN_LARGE_FRAGMENT_BYTES CTN_PICK(65536u, 4096u)
/** Largest aggregate. */
#define CTN_AGGREGATE_BYTES CTN_PICK(65536u, 2048u)
/** Staging slots of a leader port for each direction, and their length. */
#define CTN_LEADER_STAGING_SLOTS CTN_PICK(8u, 4u)
#define CTN_LEADER_STAGING_BYTES CTN_PICK(65536u, 4096u)

/* ---- node area ---- */

/** Most members of a node that use eager rows. */
#define CTN_EAGER_ROWS_MEMBERS CTN_PICK(64u, 8u)
/** Most members of a node whose node area fits a control block. */
#define CTN_NODE_AREA_MEMBERS CTN_PICK(64u, 8u)
/** Most members of a flat barrier where each rank has a core. */
#define CTN_FLAT_MEMBERS CTN_PICK(8u, 4u)
/** An eager row of the component shm. */
#define CTN_SHM_EAGER_ROW_BYTES CTN_PICK(2048u, 512u)

/* ---- links ---- */

/** Largest and smallest eager buffer of a link between nodes. */
#define CTN_LINK_EAGER_MAX CTN_PICK((size_t)64 << 10, (size_t)1 << 10)
#define CTN_LINK_EAGER_MIN CTN_PICK((size_t)1 << 10, (size_t)128)
/** Largest eager buffer of a link on a node; and on an oversubscribed host. */
#define CTN_LINK_EAGER_LOCAL CTN_PICK((size_t)1 << 10, (size_t)256)
#define CTN_LINK_EAGER_OVERSUBSCRIBED CTN_PICK((size_t)8 << 10, (size_t)512)
/** Shortest message for which a receiver posts its buffer. */
#define CTN_LINK_POSTED_MIN CTN_PICK(2048u, 256u)
/** Largest blocks of the faster of the two paths for inline calls. */
#define CTN_NEIGHBOR_INLINE_BYTES CTN_PICK(1024u, 128u)
/** Most messages of an inline call in each direction. */
#define CTN_NEIGHBOR_INLINE_MESSAGES CTN_PICK(64u, 4u)

#endif
