#ifndef CTN_COLL_BCOL_P2P_H
#define CTN_COLL_BCOL_P2P_H

#include "coll/bcol/bcol.h"
#include "exec/message.h"

/* Basic collectives over messages, by stores or the network, whatever leads to
 * a member; of the component "ucx" by the network always.
 *
 * A member's memory is a channel of its own: slots, and behind them a wide
 * payload for each of the first of them, so any vector is one message. It is as
 * long as its subgroup's logarithm, and mostly only addresses: a payload takes
 * memory when a message first lies in it. What has arrived in a payload is the
 * receiver's until the operation ends: reductions leave their results there and
 * send them on from there, so they need no memory of their own. */

#define CTN_P2P_GENERATIONS 16u
#define CTN_P2P_FLIGHT 4u

typedef struct ctn_p2p {
    ctn_module_t module; /* first */
    ctn_sequence_t sequence;
    void *memory; /* slots and wide payloads */
    uint32_t size;
    uint32_t me;
    unsigned rounds; /* ceil(log2 size) */
    bool remote;     /* some members are reached by the network */
    ctn_watch_t watch;
    uint16_t
        signature[CTN_P2P_GENERATIONS]; /* of the last operation in each ring */
} ctn_p2p_t;

/** Slots of a module: 4 * rounds + 8. The first 2 * rounds + 4 have a wide
 * payload. The last one receives messages without data. */
static inline unsigned ctn_p2p_slots(unsigned rounds)
{
    return 4 * rounds + 8;
}

static inline unsigned ctn_p2p_eager_slots(unsigned rounds)
{
    return 2 * rounds + 4;
}

/** First in the state of an operation. */
typedef struct ctn_p2p_call {
    ctn_p2p_t *p2p;
    const ctn_basic_coll_t *basic;
    uint16_t signature;     /* as below; messages carry it as their turn */
    size_t found;           /* bytes of the last that had another length */
    catena_status_t status; /* to end with */
    uint32_t peer_checks;   /* exec's, when it began or looked */
    uint32_t queried;       /* 1 + the last member that got the form; 0: none */
} ctn_p2p_call_t;

/** Ways of vectors and parts, for `form`. Smaller values are shapes of trees,
 * ctn_p2p_shape_t. */
typedef enum ctn_p2p_vector_algorithm {
    CTN_P2P_NOTHING = 3,
    CTN_P2P_DOUBLING,
    CTN_P2P_HALVING,
    CTN_P2P_SCAN,
    CTN_P2P_BRUCK,
    CTN_P2P_REDUCE_SCATTER,
    CTN_P2P_RING
} ctn_p2p_vector_algorithm_t;

/* Bits of a form, from the lowest: one that changes every two passes, the way,
 * and facts about the lengths. For vectors these are the number of segments;
 * for parts a digest of all lengths, and above it the number of passes. */
enum {
    CTN_P2P_PASS = 1,
    CTN_P2P_ALGORITHM_SHIFT = 1,
    CTN_P2P_LENGTHS_SHIFT = 5, /* of facts about the lengths */
    CTN_P2P_LENGTHS_BITS = 11
};
/** The form of an operation without vectors or parts. */
#define CTN_P2P_NO_SIGNATURE UINT16_MAX

/** An operation of a module, whose state begins with ctn_p2p_call_t; NULL: no
 * memory. */
ctn_op_t *ctn_p2p_create(ctn_module_t *module, const ctn_algorithm_t *algorithm,
                         const ctn_basic_coll_t *basic);

/** Whether the caller asked for the algorithm of this name. */
bool ctn_p2p_requested(const ctn_basic_coll_t *basic, const char *name);

/** To be called first by the first phase. */
void ctn_p2p_begin(ctn_op_t *op);
/** Likewise where vectors are exchanged. */
void ctn_p2p_begin_vector(ctn_op_t *op, unsigned algorithm);
/** Likewise where parts are exchanged whose lengths all members know.
 * @param passes in which they are sent */
void ctn_p2p_begin_blocks(ctn_op_t *op, unsigned algorithm, uint32_t passes);
/** Likewise for a ring algorithm, which sends parts in flows. */
void ctn_p2p_begin_ring(ctn_op_t *op);
/** To be called before the first message of each pass. */
void ctn_p2p_begin_pass(ctn_op_t *op, uint32_t pass);

/** Send `bytes` of users' data, which stay as they are until op->pending is 0.
 * Those that do not fit the slot (ctn_slot_capacity) lie in the own heap; they
 * stay until ctn_message_zcopy_done. */
catena_status_t ctn_p2p_send(ctn_op_t *op, uint32_t member, unsigned slot,
                             uint32_t turn, const void *data, size_t bytes);

/** See ctn_message_receive. */
ctn_step_t ctn_p2p_receive(ctn_op_t *op, uint32_t member, unsigned slot,
                           uint32_t turn, ctn_receive_handle_t *handle);

/* Vectors, or parts of them: a message that fits its slot, whose length the
 * receiver knows. Where it has another one the operation goes on without its
 * data, so that nobody waits, and ends with ERR_ARG; members that get something
 * made of them hear of it. Members whose vectors go another way, since they
 * have other lengths, wait for what will not come: when a message tells of it,
 * all ends. */

/** Send `bytes` of a vector; of one that did not come nothing but that. */
catena_status_t ctn_p2p_send_vector(ctn_op_t *op, uint32_t member,
                                    unsigned slot, const void *data,
                                    size_t bytes);

/** @param[out] data of the message, to be written as well */
ctn_step_t ctn_p2p_receive_vector(ctn_op_t *op, uint32_t member, unsigned slot,
                                  size_t bytes, unsigned char **data);

/** The same for messages of any length. `letter` must be released. */
ctn_step_t ctn_p2p_receive_blocks(ctn_op_t *op, uint32_t member, unsigned slot,
                                  size_t bytes, ctn_receive_handle_t *handle);

/** Whether the block of a member is as long as expected. Else this is said,
 * once, and is what the operation is to end with. */
bool ctn_p2p_check_length(ctn_op_t *op, catena_status_t *status,
                          uint32_t member, size_t bytes, size_t expected);
/** The last step of one that has a finish, and to whom and from whom nothing is
 * on its way: end with this status. */
ctn_step_t ctn_p2p_end(ctn_op_t *op, catena_status_t status);
/** The last phase of one that exchanges vectors. */
ctn_step_t ctn_p2p_end_vector(ctn_op_t *op);

/** out = left by right; see ctn_reduce. */
catena_status_t ctn_p2p_reduce(ctn_op_t *op, const void *left,
                               const void *right, void *out, size_t bytes);

/** Whether the result may be written: it is not where a vector lies that is
 * still being sent. */
bool ctn_p2p_may_write(ctn_op_t *op);

/** Copy users' data to where they may be already. */
void ctn_p2p_copy(ctn_op_t *op, void *target, const void *source, size_t bytes);

/* ---- trees ---- */

/* A tree of members, for any root. Subtrees are stretches of members, and
 * children are listed so that folding them in one after the other keeps the
 * order: on either side the nearest comes first. */

#define CTN_P2P_CHILDREN 64u

typedef enum ctn_p2p_shape {
    CTN_P2P_BINOMIAL, /* two binomial trees that meet in the root */
    CTN_P2P_CHAIN,    /* two chains that do */
    CTN_P2P_LINEAR    /* all are children of the root */
} ctn_p2p_shape_t;

typedef struct ctn_p2p_tree {
    uint32_t parent; /* size: this is the root */
    unsigned slot;   /* of this member at its parent */
    unsigned children;
    struct ctn_p2p_child {
        uint32_t member;
        unsigned slot; /* of it at this member */
    } child[CTN_P2P_CHILDREN];
} ctn_p2p_tree_t;

void ctn_p2p_tree_set(const ctn_p2p_t *p2p, ctn_p2p_shape_t shape,
                      uint32_t root, ctn_p2p_tree_t *tree);
/* ---- algorithms ---- */

/* One way each; those below choose. */
ctn_op_t *ctn_p2p_dissemination(ctn_module_t *module,
                                const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_doubling(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_halving(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_up_and_down(ctn_module_t *module,
                              const ctn_basic_coll_t *basic);
/** The same of nothing. */
ctn_op_t *ctn_p2p_tree_barrier(ctn_module_t *module,
                               const ctn_basic_coll_t *basic);

/** The shape of the tree that the caller asked for, or the best one.
 * @param up whether data go to the root */
ctn_p2p_shape_t ctn_p2p_choose_shape(const ctn_p2p_t *p2p,
                                     const ctn_basic_coll_t *basic, bool up,
                                     size_t bytes);

/* Names, NULL-terminated. */
extern const char *const ctn_p2p_shapes[];
extern const char *const ctn_p2p_barriers[];
extern const char *const ctn_p2p_allreduces[];

/* What the components make. */
ctn_op_t *ctn_p2p_barrier(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_fanin(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_fanout(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_bcast(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_reduction(ctn_module_t *module,
                            const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_allreduce(ctn_module_t *module,
                            const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_scan(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_exscan(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_gather(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_scatter(ctn_module_t *module, const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_allgather(ctn_module_t *module,
                            const ctn_basic_coll_t *basic);
ctn_op_t *ctn_p2p_reduce_scatter(ctn_module_t *module,
                                 const ctn_basic_coll_t *basic);

#endif
