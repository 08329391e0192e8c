#ifndef CTN_COLL_BCOL_P2P_H
#define CTN_COLL_BCOL_P2P_H

#include "coll/bcol/bcol.h"
#include "exec/message.h"
#include "exec/transfer.h"

/* Basic collectives over messages. A message to a member on the same node is
 * stored there, any other one goes through the network. The component "ucx" is
 * this code, too, but sends all messages through the network.
 *
 * Each member of a module has slots, followed by an eager buffer for each of
 * the first slots. An eager buffer holds the longest vector, so any vector is
 * one message. This memory grows with the logarithm of the subgroup's size. It
 * is mostly reserved addresses: an eager buffer takes memory when a message
 * first arrives in it. What has arrived in an eager buffer belongs to the
 * receiver until the operation ends. Most reductions leave their partial
 * results there and send them from there, without other memory; reduce_scatter
 * needs scratch memory or staging buffers. */

/* Of a module's sequence: generations, and operations that run at once. */
#define CTN_P2P_GENERATIONS 16u
#define CTN_P2P_FLIGHT 4u

/** A module of the component p2p or ucx. */
typedef struct ctn_p2p {
    ctn_module_t module; /* first */
    ctn_sequence_t sequence;
    void *memory;      /* slots and eager buffers */
    uint32_t size;     /* number of members */
    uint32_t me;       /* number of this member */
    unsigned rounds;   /* ceil(log2 size) */
    bool remote;       /* some members are reached through the network */
    ctn_watch_t watch; /* calls check_completed of module.c */
    uint16_t signature[CTN_P2P_GENERATIONS]; /* of the last operation of each
                                                generation; see below */
} ctn_p2p_t;

/** Slots of a module: 4 * rounds + 8. The first 2 * rounds + 4 have an eager
 * buffer. The last slot receives the signatures that members send in long waits
 * (see query in module.c). */
static inline unsigned ctn_p2p_slots(unsigned rounds)
{
    return 4 * rounds + 8;
}

static inline unsigned ctn_p2p_eager_slots(unsigned rounds)
{
    return 2 * rounds + 4;
}

/** First member of the state of all operations. */
typedef struct ctn_p2p_call {
    ctn_p2p_t *p2p; /* the module */
    ctn_basic_kind_t kind;
    const ctn_basic_coll_t *basic; /* arguments; NULL: generation barrier */
    uint16_t signature;            /* see below; messages carry it as turn */
    size_t found; /* length of the last message of a vector or of blocks */
    catena_status_t status; /* that the operation will end with */
    uint32_t peer_checks;   /* exec->peer_checks when it was last compared */
    uint32_t queried; /* 1 + member that got the signature last; 0: none */
} ctn_p2p_call_t;

/** Algorithms that exchange vectors or blocks, for the signature. Smaller
 * values are shapes of trees, ctn_p2p_shape_t. */
typedef enum ctn_p2p_vector_algorithm {
    CTN_P2P_NOTHING = 3,    /* dissemination barrier: no data */
    CTN_P2P_DOUBLING,       /* allreduce, recursive doubling */
    CTN_P2P_HALVING,        /* allreduce, Rabenseifner */
    CTN_P2P_SCAN,           /* scan and exscan */
    CTN_P2P_BRUCK,          /* allgather, Bruck */
    CTN_P2P_REDUCE_SCATTER, /* reduce_scatter, recursive halving */
    CTN_P2P_RING,           /* allgather or reduce_scatter, ring */
    CTN_P2P_ALLTOALL,
    CTN_P2P_NOTHING_PAIRWISE, /* barrier, recursive doubling: no data */
    CTN_P2P_BALANCED,         /* reduce by the balanced tree */
    CTN_P2P_BALANCED_LINEAR,  /* the same, all send to the root */
    CTN_P2P_CHAIN_SCAN        /* scan and exscan, from member to member */
} ctn_p2p_vector_algorithm_t;

/* A signature tells whether a message's sender runs the same algorithm on the
 * same lengths. Messages of vectors and blocks carry it in place of a turn.
 *
 * A *pass*: recursive halving (reduce_scatter.c) cuts long blocks into slices,
 * and runs all of its rounds once for each slice. One such run is a pass.
 * Passes alternate between two sets of slots, so pass / 2 modulo 2
 * distinguishes two consecutive uses of a slot. Other algorithms have a single
 * pass.
 *
 * Bits from the lowest: pass / 2 modulo 2, the algorithm, and facts about the
 * lengths. For vectors these facts are the number of chunks; for blocks a
 * digest of all lengths, and above it the number of passes. */
enum {
    CTN_P2P_PASS = 1, /* the lowest bit */
    CTN_P2P_ALGORITHM_SHIFT = 1,
    CTN_P2P_LENGTHS_SHIFT = 5, /* facts about the lengths */
    CTN_P2P_LENGTHS_BITS = 11
};
/** The signature of an operation without vectors or blocks. */
#define CTN_P2P_NO_SIGNATURE UINT16_MAX

/* One of these is called first in the first phase. */

/** Set the call of an operation that has no signature. */
void ctn_p2p_begin(ctn_op_t *op);
/** The same for operations that exchange vectors. */
void ctn_p2p_begin_vector(ctn_op_t *op, unsigned algorithm);
/** The same for operations that exchange blocks whose lengths all members know.
 * @param passes number of passes (see above) */
void ctn_p2p_begin_blocks(ctn_op_t *op, unsigned algorithm, uint32_t passes);
/** The same for an alltoall.
 * @param radix decides which messages there are */
void ctn_p2p_begin_alltoall(ctn_op_t *op, uint32_t radix);
/** The same for a ring algorithm, which sends blocks as fragments. */
void ctn_p2p_begin_ring(ctn_op_t *op);
/** To be called before the first message of pass number `pass`. */
void ctn_p2p_begin_pass(ctn_op_t *op, uint32_t pass);

/* Messages of vectors or fragments of them: each fits its slot, and the
 * receiver knows its length. If a message has another length, the operation
 * goes on without its data, so that no member waits in vain. It ends with
 * ERR_ARG on all members that receive anything derived from these data. If
 * lengths differ so much that members run different algorithms, these members
 * wait for messages that never come; when a message with another signature
 * arrives, the job aborts. */

/** Receive `bytes` of a vector, or of blocks that need not fit the slot. The
 * caller releases `handle`. */
ctn_step_t ctn_p2p_receive_blocks(ctn_op_t *op, uint32_t member, unsigned slot,
                                  size_t bytes, ctn_receive_handle_t *handle);

/** Whether the block of a member has the expected length. If not, and *status
 * is still OK, log it and set *status. */
bool ctn_p2p_check_length(ctn_op_t *op, catena_status_t *status,
                          uint32_t member, size_t bytes, size_t expected);
/** Nothing has arrived in a slot from a member. If its signature differs, the
 * message never will: abort. In long waits also query the member. */
void ctn_p2p_look_for_mismatch(ctn_op_t *op, uint32_t member, unsigned slot);
/** The counts that a member gave in the call differ from those of this one: log
 * it once, and end with ERR_ARG. */
void ctn_p2p_refuse_blocks(ctn_op_t *op, uint32_t member);
/** The last step of an operation that neither sends nor receives any more: end
 * with `status`. After an error the finish function of the algorithm, if it has
 * one, runs first. */
ctn_step_t ctn_p2p_end(ctn_op_t *op, catena_status_t status);
/** The last phase of an operation that exchanges vectors. */
ctn_step_t ctn_p2p_end_vector(ctn_op_t *op);

/** out = left op right; see ctn_reduce. */
void ctn_p2p_reduce(ctn_op_t *op, const void *left, const void *right,
                    void *out, size_t bytes);

/** Copy user data, unless they are in place. */
void ctn_p2p_copy(ctn_op_t *op, void *target, const void *source, size_t bytes);

/* ---- long blocks ---- */

/** A slot of this member that receives the CTS of a transfer. */
static inline ctn_cts_t *ctn_p2p_cts(const ctn_op_t *op, unsigned slot)
{
    _Static_assert(sizeof(ctn_cts_t) <= sizeof(ctn_slot_t), "a slot holds it");
    return (ctn_cts_t *)(void *)ctn_op_slot(op, slot);
}
/** The offset of such a slot in the arena of `member`. */
static inline uint64_t ctn_p2p_cts_at(const ctn_op_t *op, ctn_address_t member,
                                      unsigned slot)
{
    return ctn_slot_word_offset(op->sequence, member, op->seq, slot, 0);
}

/* ---- selection ---- */

/** Shapes of the trees of tree.h. */
typedef enum ctn_p2p_shape {
    CTN_P2P_BINOMIAL, /* two binomial trees, joined at the root */
    CTN_P2P_CHAIN,    /* two chains, joined at the root */
    CTN_P2P_LINEAR    /* all are children of the root */
} ctn_p2p_shape_t;

/* Algorithms among which callers and rules select. */
#define CTN_P2P_SHAPES                                                         \
    (CTN_ALGORITHM_BIT(BINOMIAL) | CTN_ALGORITHM_BIT(CHAIN) |                  \
     CTN_ALGORITHM_BIT(LINEAR))
#define CTN_P2P_AGGREGATIONS                                                   \
    (CTN_ALGORITHM_BIT(BINOMIAL) | CTN_ALGORITHM_BIT(TREE) |                   \
     CTN_ALGORITHM_BIT(LINEAR))
#define CTN_P2P_BARRIERS                                                       \
    (CTN_ALGORITHM_BIT(DISSEMINATION) |                                        \
     CTN_ALGORITHM_BIT(RECURSIVE_DOUBLING) | CTN_ALGORITHM_BIT(TREE))
#define CTN_P2P_ALLREDUCES                                                     \
    (CTN_ALGORITHM_BIT(RECURSIVE_DOUBLING) | CTN_ALGORITHM_BIT(RABENSEIFNER) | \
     CTN_ALGORITHM_BIT(TREE))
#define CTN_P2P_SCANS                                                          \
    (CTN_ALGORITHM_BIT(RECURSIVE_DOUBLING) | CTN_ALGORITHM_BIT(CHAIN))
#define CTN_P2P_ALLGATHERS (CTN_ALGORITHM_BIT(BRUCK) | CTN_ALGORITHM_BIT(RING))
#define CTN_P2P_REDUCE_SCATTERS                                                \
    (CTN_ALGORITHM_BIT(RECURSIVE_HALVING) | CTN_ALGORITHM_BIT(RING))
#define CTN_P2P_ALLTOALLS (CTN_ALGORITHM_BIT(DIRECT) | CTN_ALGORITHM_BIT(BRUCK))

/** The shape of a tree.
 * @param up data go to the root */
ctn_p2p_shape_t ctn_p2p_choose_shape(ctn_p2p_t *p2p,
                                     const ctn_basic_coll_t *basic, bool up,
                                     size_t bytes);

/** The algorithm of a basic collective. */
const ctn_algorithm_t *ctn_p2p_choose(ctn_p2p_t *p2p, ctn_basic_kind_t kind,
                                      const ctn_basic_coll_t *basic);

/* Of gather, scatter and alltoall. */
extern const ctn_algorithm_t ctn_p2p_gather;
extern const ctn_algorithm_t ctn_p2p_scatter;
extern const ctn_algorithm_t ctn_p2p_alltoall;

#endif
