#ifndef CTN_COLL_BCOL_BCOL_H
#define CTN_COLL_BCOL_BCOL_H

#include "coll/sbgp/sbgp.h"
#include "type/op.h"

/* Basic collectives ([Graham], section 3: BCOL): what a component does among
 * the members of one subgroup. coll/ml composes the collectives of groups from
 * them. A new component takes one folder in coll/bcol and one line in
 * coll/bcol/bcol.c.
 *
 * Every basic collective is an operation on the module's own sequence: all
 * members make and start the same ones in the same order. Buffers are plain
 * memory, in the shared heap or not. Until the operation ends on this member,
 * the caller does not modify what is read and does not access what is written.
 * Members are numbered 0 to size - 1 in the order of the subgroup. */

typedef enum ctn_basic_kind {
    CTN_BARRIER,   /* no member ends before all have begun; synchronizing */
    CTN_FANIN,     /* `root` does not end before all have begun */
    CTN_FANOUT,    /* no member ends before `root` has begun */
    CTN_BCAST,     /* out: root's `in`, on all; not written at root */
    CTN_REDUCE,    /* in: of all; out: at root */
    CTN_ALLREDUCE, /* in; out: the same bits on all */
    CTN_SCAN,      /* in; out: of members 0 to this one */
    CTN_EXSCAN,    /* in; out: of members 0 to the one before; not written on
                      member 0 */
    CTN_GATHER,    /* in: `bytes`; out at root: see `at` */
    CTN_SCATTER,   /* in at root: see `at`; out: `bytes` */
    CTN_ALLGATHER, /* in: `bytes`; out: see `at` */
    CTN_REDUCE_SCATTER, /* in: at[size] bytes; out: this member's block */
    CTN_BASICS
} ctn_basic_kind_t;

/** Longest vector of bcast, reduce, allreduce, scan and exscan. The caller cuts
 * longer ones into chunks. The others take any length. */
#define CTN_CHUNK_BYTES CTN_EAGER_BYTES

/** Arguments. The caller owns them and keeps them until the operation ends.
 * What members agree on (kind, algorithm, lengths of vectors, `at` of allgather
 * and reduce_scatter) is set when the operation is made. All else may be set
 * until the operation is released (ctn_op_start_held). `in` may be `out`, which
 * is then replaced (reduce: on all members; gather, allgather: `in` may be this
 * member's place in `out`; scatter: `out` may be this member's place in `in`;
 * reduce_scatter: never). Otherwise they do not overlap. Sizes of 0 are
 * allowed. */
typedef struct ctn_basic_coll {
    uint32_t root; /* a member */
    const void *in;
    void *out;
    size_t bytes; /* of a vector; of this member's block */
    /** [size + 1]: member i's block lies from at[i] to at[i + 1]. The same on
     * all members. Of gather and scatter it is significant at the root only;
     * the other members know their `bytes`, and may give NULL. */
    const size_t *at;
    ctn_reducer_t by; /* of reductions; lower members are left operands */
    /** Of vectors: chunks of the caller's vector, the same on all members. */
    uint32_t chunks;
    /** The data of this member are invalid, because they derive from data of an
     * unexpected length. A member that receives any of them fails. May be set
     * until the operation is released. */
    bool mismatch;
    const char *algorithm; /* NULL or unknown: the component selects, by facts
                              that all members share */
} ctn_basic_coll_t;

typedef struct ctn_bcol ctn_bcol_t;

/** A component's instance for one subgroup; the first member of the component's
 * structure. */
typedef struct ctn_module {
    const ctn_bcol_t *bcol;
    ctn_exec_t *exec;
    const ctn_sbgp_t *sbgp;   /* set by link */
    ctn_sequence_t *sequence; /* its own */
} ctn_module_t;

struct ctn_bcol {
    const char *name; /* as in CATENA_HIERARCHY */
    const char *help;

    /** Make a module and the memory by which other members access it. No other
     * member knows of it yet.
     * @param size, me of the subgroup
     * @param oversubscribed the same on all members
     * @param few one collective at a time, so less memory will do; the same on
     * all members
     * @param[out] offset of that memory in this rank's arena
     * @return ERR_NO_MEMORY, ERR_ARG (it cannot work here; logged) */
    catena_status_t (*create)(ctn_exec_t *exec, uint32_t size, uint32_t me,
                              bool oversubscribed, bool few,
                              ctn_module_t **module, uint64_t *offset);
    /** Connect the members, after all have made their modules. `sbgp` outlives
     * the module.
     * @return ERR_NO_MEMORY, ERR_PEER, ERR_ARG (a member is not reachable;
     * logged, with a component that would reach it) */
    catena_status_t (*link)(ctn_module_t *module, const ctn_sbgp_t *sbgp);
    /** Destroy a module. No other member may access its memory any more. */
    void (*destroy)(ctn_module_t *module);

    /** Make an operation, inactive. @return NULL: no memory */
    ctn_op_t *(*make[CTN_BASICS])(ctn_module_t *module,
                                  const ctn_basic_coll_t *basic);

    /** Run a blocking call inline, without an operation, if the rank has
     * nothing else under way (see ctn_inline_begin). Each member may decide for
     * itself: the messages are the same. NULL: never.
     * @return false: it did not run, and nothing happened */
    bool (*run_inline)(ctn_module_t *module, ctn_basic_kind_t kind,
                       const ctn_basic_coll_t *basic, catena_status_t *status);

    /** [kind]: names of algorithms that callers may request, NULL-terminated.
     * NULL: there is one algorithm only. */
    const char *const *algorithms[CTN_BASICS];
};

/** Log that the block of member `sender` has another length than this member
 * expects. The caller copies nothing and ends with the status that this
 * returns, after it has done what other members wait for.
 * @return ERR_ARG */
catena_status_t ctn_block_mismatch(const ctn_module_t *module, const char *what,
                                   uint32_t sender, uint64_t found,
                                   uint64_t expected);

extern const ctn_bcol_t ctn_bcol_shm; /* flags and the shared heap */
extern const ctn_bcol_t ctn_bcol_p2p; /* messages */
extern const ctn_bcol_t ctn_bcol_ucx; /* messages, network only */

/** NULL-terminated. */
extern const ctn_bcol_t *const ctn_bcols[];

#endif
