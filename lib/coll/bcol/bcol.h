#ifndef CTN_COLL_BCOL_BCOL_H
#define CTN_COLL_BCOL_BCOL_H

#include "coll/sbgp/sbgp.h"
#include "type/op.h"

/* Basic collectives ([Graham], section 3: BCOL): what a component does among
 * the members of one subgroup. Collectives of groups are put together from them
 * in coll/ml. A new component is one folder in coll/bcol and a line in
 * coll/bcol/bcol.c.
 *
 * Every basic collective is an operation on the module's own channel: all
 * members make and start the same ones in the same order. Buffers are plain
 * memory, of the shared heap or not; they stay as they are (what is read) and
 * untouched (what is written) by the caller until the operation ends on this
 * member. Members are numbered 0 to size - 1 in the order of the subgroup. */

typedef enum ctn_basic_kind {
    CTN_BARRIER,        /* nobody ends before all have begun; synchronizing */
    CTN_FANIN,          /* `root` does not end before all have begun */
    CTN_FANOUT,         /* nobody ends before `root` has begun */
    CTN_BCAST,          /* out: of root, to all; out of root is not written */
    CTN_REDUCE,         /* in: of all; out: at root */
    CTN_ALLREDUCE,      /* in; out: the same bits on all */
    CTN_SCAN,           /* in; out: of members 0 to this one */
    CTN_EXSCAN,         /* in; out: of members 0 to the one before; that of
                           member 0 is not written */
    CTN_GATHER,         /* in: `bytes`; out at root: see `at` */
    CTN_SCATTER,        /* in at root: see `at`; out: `bytes` */
    CTN_ALLGATHER,      /* in: `bytes`; out: see `at` */
    CTN_REDUCE_SCATTER, /* in: at[size] bytes; out: the part of this member */
    CTN_BASICS
} ctn_basic_kind_t;

/** Longest vector of bcast, reduce, allreduce, scan and exscan: longer ones are
 * cut by who calls. The others take any length. */
#define CTN_CHUNK_BYTES CTN_EAGER_BYTES

/** Arguments: the caller's, who keeps them until the operation ends. What
 * members have to agree on (kind, algorithm, lengths of vectors, `at` of
 * allgather and reduce_scatter) is there when the operation is made; all else
 * may be filled in until it is let go (ctn_op_start_held). `in` may be `out`:
 * then what is there is replaced (reduce: everywhere; gather, allgather: `in`
 * may be this member's place in `out`; scatter: `out` may be this member's
 * place in `in`; reduce_scatter: they do not overlap). Otherwise they do not
 * overlap. Sizes of 0 are allowed. */
typedef struct ctn_basic_coll {
    uint32_t root; /* a member */
    const void *in;
    void *out;
    size_t bytes; /* of a vector; of this member's part */
    /** [size + 1]: member i's part lies from at[i] to at[i + 1] in the whole.
     * The same on all members; for gather and scatter it counts at the root
     * only, the others know just their `bytes`, and may give NULL. */
    const size_t *at;
    ctn_reducer_t by; /* of reductions; lower members are to the left */
    /** Of vectors: segments that the caller's has, the same on all members. */
    uint32_t chunks;
    /** The data of this member are invalid: they are made of data that came in
     * another length than expected. A member that receives any of them fails.
     * May be set until the operation is let go. */
    bool mismatch;
    const char
        *algorithm; /* NULL: the component chooses, by facts that all
                       members share. One that it does not have: as NULL */
} ctn_basic_coll_t;

typedef struct ctn_bcol ctn_bcol_t;

/** A component at work for one subgroup: embedded first. */
typedef struct ctn_module {
    const ctn_bcol_t *bcol;
    ctn_exec_t *exec;
    const ctn_sbgp_t *sbgp;   /* once linked */
    ctn_sequence_t *sequence; /* its own */
} ctn_module_t;

struct ctn_bcol {
    const char *name; /* as in CATENA_HIERARCHY */
    const char *help;

    /** A module of which nobody knows yet, with the memory that others will
     * reach it by.
     * @param size, me of the subgroup
     * @param crowded  the same on all members
     * @param few      one collective at a time: it may do with less memory;
     *                 likewise
     * @param[out] offset of that memory in this rank's arena
     * @return ERR_NO_MEMORY, ERR_ARG (it cannot work here; logged) */
    catena_status_t (*create)(ctn_exec_t *exec, uint32_t size, uint32_t me,
                              bool oversubscribed, bool few,
                              ctn_module_t **module, uint64_t *offset);
    /** All members are known, and all have their memory. `sbgp` outlives the
     * module. @return ERR_NO_MEMORY, ERR_PEER, ERR_ARG (it does not reach them;
     * logged, with what would) */
    catena_status_t (*link)(ctn_module_t *module, const ctn_sbgp_t *sbgp);
    /** Nobody may reach its memory any more. */
    void (*destroy)(ctn_module_t *module);

    /** An operation, inactive; NULL: no memory. */
    ctn_op_t *(*make[CTN_BASICS])(ctn_module_t *module,
                                  const ctn_basic_coll_t *basic);

    /** A blocking call that is alone (see ctn_inline_begin) may be run at once,
     * without an operation. False: it was not; nothing happened. All members
     * may decide for themselves: on the wire it is the same. NULL: never. */
    bool (*run_inline)(ctn_module_t *module, ctn_basic_kind_t kind,
                       const ctn_basic_coll_t *basic, catena_status_t *status);

    /** Names of algorithms beside the choice of its own: [kind], each
     * NULL-terminated, or NULL: there is one way only. */
    const char *const *algorithms[CTN_BASICS];
};

/** The block that the member `sender` has for this one is not as long as this
 * one expects: say so. Who has it copies nothing, and ends with what this
 * returns, but not before it has done what the others wait for.
 * @return ERR_ARG */
catena_status_t ctn_block_mismatch(const ctn_module_t *module, const char *what,
                                   uint32_t sender, uint64_t found,
                                   uint64_t expected);

extern const ctn_bcol_t ctn_bcol_shm; /* flags and the shared heap */
extern const ctn_bcol_t ctn_bcol_p2p; /* messages: heap or network */
extern const ctn_bcol_t ctn_bcol_ucx; /* messages: the network always */

/** NULL-terminated. */
extern const ctn_bcol_t *const ctn_bcols[];

#endif
