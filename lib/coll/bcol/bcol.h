#ifndef CTN_COLL_BCOL_BCOL_H
#define CTN_COLL_BCOL_BCOL_H

#include "coll/sbgp/sbgp.h"
#include "core/tiny.h"
#include "model/tuning.h"
#include "type/balanced.h"
#include "type/op.h"

/* Basic collectives ([Graham], section 3: BCOL): what a component does among
 * the members of one subgroup. coll/ml composes the collectives of groups from
 * them. To add a component, add a folder in coll/bcol and a line in
 * coll/bcol/bcol.c.
 *
 * Every basic collective is an operation on the module's own sequence: all
 * members make and start the same ones in the same order. Buffers are plain
 * memory, in the shared heap or not. Until the operation ends on this member,
 * the caller does not modify buffers that it reads and does not access buffers
 * that it writes. Members are numbered 0 to size - 1 in the order of the
 * subgroup. */

/** The basic collectives, with what the arguments `in`, `out`, `bytes` and `at`
 * of ctn_basic_coll_t mean for each. */
typedef enum ctn_basic_kind {
    CTN_BARRIER,   /* no member ends before all have begun; synchronizing */
    CTN_FANIN,     /* `root` does not end before all have begun */
    CTN_FANOUT,    /* no member ends before `root` has begun */
    CTN_BCAST,     /* out: root's vector, on all members; root: `in` is `out` */
    CTN_REDUCE,    /* in: vector of each member; out: result, at root */
    CTN_ALLREDUCE, /* in: vector; out: result, the same bits on all members */
    CTN_SCAN,      /* in: vector; out: result of members 0 to this one */
    CTN_EXSCAN,    /* in: vector; out: result of members 0 to the one before
                      this one; not written on member 0 */
    CTN_GATHER,    /* in: block of `bytes`; out: at root, blocks as in `at` */
    CTN_SCATTER,   /* in: at root, blocks as in `at`; out: block of `bytes` */
    CTN_ALLGATHER, /* in: block of `bytes`; out: blocks as in `at` */
    CTN_REDUCE_SCATTER, /* in: vector of at[size] bytes; out: this member's
                           block of the result */
    CTN_ALLTOALL, /* in: a block for each member, in their order; out: a block
                     from each. Between members i and j it has
                     (at[i + 1] - at[i]) (at[j + 1] - at[j]) `bytes` */
    CTN_BASICS    /* number of them */
} ctn_basic_kind_t;

/** Longest vector of a basic bcast, reduce, allreduce, scan or exscan, unless
 * the component says more. The caller cuts longer ones into chunks. The other
 * collectives take any length. */
#define CTN_CHUNK_BYTES CTN_EAGER_BYTES

/** Arguments. The caller owns them and keeps them until the operation ends.
 * What is the same on all members (algorithm, lengths of vectors, `at` of
 * allgather and reduce_scatter) is set before the operation is made. All else
 * may be set until the operation is released (ctn_op_start_held). Buffers do
 * not overlap, except in place: `in` may be `out`, which the result then
 * overwrites (in a reduce: on all members or on none; gather, allgather: `in`
 * may be this member's block in `out`; scatter: `out` may be this member's
 * block in `in`; reduce_scatter, alltoall: never). Lengths of 0 are allowed. */
typedef struct ctn_basic_coll {
    const char *call; /* name of the collective that it is a part of */
    uint32_t root;    /* a member */
    const void *in;
    void *out;
    size_t bytes; /* of the vector, or of this member's block; alltoall: see
                     CTN_ALLTOALL, the same on all members */
    /** [size + 1]: member i's block lies from at[i] to at[i + 1] of the buffer
     * that has all blocks. The same on all members. In gather and scatter it is
     * significant at the root only; the other members know their `bytes`, and
     * may set NULL. alltoall: numbers of blocks, from 0; NULL: one each. */
    const size_t *at;
    ctn_reducer_t by; /* of reductions; lower members are left operands */
    /** Of vectors: number of chunks that the caller's vector is cut into, the
     * same on all members. */
    uint32_t chunks;
    /** The data of this member are invalid, because they derive from data of an
     * unexpected length. A member that receives any of them fails. */
    bool mismatch;
    bool blocking; /* the collective that it is a part of; the same on all
                      members */
    /** A reduce, allreduce or reduce_scatter by a predefined operation combines
     * the members' data by the balanced tree (type/balanced.h). The same on all
     * members. */
    bool balanced;
    /** A scan or exscan adds the data of one member after the other. The same
     * on all members. */
    bool serial;
    /** The algorithm. If the component does not have it, or it cannot run, a
     * rule selects one, by facts that all members share. */
    ctn_algorithm_name_t algorithm;
} ctn_basic_coll_t;

/** Of an alltoall: the number of blocks, or ranks, of a member. */
static inline size_t ctn_basic_weight(const ctn_basic_coll_t *basic,
                                      uint32_t member)
{
    return basic->at != NULL ? basic->at[member + 1] - basic->at[member] : 1;
}

/** Of all members before one. */
static inline size_t ctn_basic_weight_before(const ctn_basic_coll_t *basic,
                                             uint32_t member)
{
    return basic->at != NULL ? basic->at[member] : member;
}

typedef struct ctn_bcol ctn_bcol_t;

/** A module: a component's instance for one subgroup. It is the first member of
 * the struct that the component has for it. */
typedef struct ctn_module {
    const ctn_bcol_t *bcol; /* the component */
    ctn_exec_t *exec;
    const ctn_sbgp_t *sbgp;   /* the subgroup; set by link */
    ctn_sequence_t *sequence; /* its own */
    /** [kind]: what was selected last. */
    struct {
        ctn_choice_t kept;      /* by rules */
        const ctn_rule_t *rule; /* NULL: the algorithm was asked for, or no
                                   other is as fast for the balanced tree */
        ctn_algorithm_name_t algorithm;
    } choice[CTN_BASICS];
} ctn_module_t;

/** A component. */
struct ctn_bcol {
    const char *name; /* as in CATENA_HIERARCHY */
    const char *help;

    /** Make a module and the memory by which other members access it. No other
     * member knows of it yet.
     * @param bcol this component
     * @param size members of the subgroup
     * @param me number of this member
     * @param oversubscribed some host of it is; the same on all members
     * @param[out] offset of that memory in this rank's arena
     * @return ERR_NO_MEMORY, ERR_ARG (it cannot work here; logged) */
    catena_status_t (*create)(const ctn_bcol_t *bcol, ctn_exec_t *exec,
                              uint32_t size, uint32_t me, bool oversubscribed,
                              ctn_module_t **module, uint64_t *offset);
    /** Connect the members, after all have made their modules. `sbgp` is the
     * subgroup; it outlives the module.
     * @return ERR_NO_MEMORY, ERR_PEER, ERR_ARG (a member is not reachable;
     * logged, with a component that would reach it) */
    catena_status_t (*link)(ctn_module_t *module, const ctn_sbgp_t *sbgp);
    /** Destroy a module. No other member may access its memory any more. */
    void (*destroy)(ctn_module_t *module);

    /** Choose the algorithm that runs a basic collective.
     * @return NULL: no memory */
    const ctn_algorithm_t *(*choose)(ctn_module_t *module,
                                     ctn_basic_kind_t kind,
                                     const ctn_basic_coll_t *basic);
    /** Set the arguments of an operation that runs the algorithm chosen. */
    void (*set)(ctn_op_t *op, ctn_module_t *module, ctn_basic_kind_t kind,
                const ctn_basic_coll_t *basic);

    /** Start an operation whose arguments are set, under the conditions of
     * run_inline, without waiting. NULL: never.
     * @return false: nothing happened; ctn_op_start starts it */
    bool (*begin)(ctn_op_t *op);

    /** Run a blocking call inline, without an operation, if the rank has
     * nothing else under way (see ctn_inline_begin). Each member may decide for
     * itself: the messages are the same. NULL: never.
     * @return false: it did not run, and nothing happened */
    bool (*run_inline)(ctn_module_t *module, ctn_basic_kind_t kind,
                       const ctn_basic_coll_t *basic, catena_status_t *status);

    /** [kind]: those among which callers and rules select. None: there is one
     * algorithm only. */
    ctn_algorithm_set_t algorithms[CTN_BASICS];
    /** [kind]: the longest vector; 0: CTN_CHUNK_BYTES. */
    size_t longest[CTN_BASICS];
};

/** Make the operation of a basic collective, inactive.
 * @return NULL: no memory */
ctn_op_t *ctn_basic_make(ctn_module_t *module, ctn_basic_kind_t kind,
                         const ctn_basic_coll_t *basic);

/** Keep a new choice of a module, by rules. */
void ctn_basic_find_rule(ctn_module_t *module, ctn_basic_kind_t kind,
                         ctn_algorithm_set_t possible, bool blocking,
                         size_t bytes);

/** Log that another member has other counts.
 * @param member whose data have shown that */
void ctn_basic_report_counts(const ctn_module_t *module,
                             const ctn_basic_coll_t *basic, uint32_t member);

/** ctn_balanced_reduce of the data of all members of a module, and what it
 * costs. @param basic the call, which is `balanced` */
void ctn_basic_reduce(const ctn_module_t *module, const ctn_basic_coll_t *basic,
                      ctn_operand_t operand, void *from, size_t bytes,
                      void *out);

/** Select the algorithm of a basic collective: the one that the caller names,
 * or else by rules.
 * @param possible algorithms that can run, of those of the component
 * @param bytes that rules match; the same on all members if the algorithms of
 * all must be the same */
static inline ctn_algorithm_name_t
ctn_basic_choose(ctn_module_t *module, ctn_basic_kind_t kind,
                 ctn_algorithm_set_t possible, const ctn_basic_coll_t *basic,
                 size_t bytes)
{
    if (basic->algorithm != CTN_ALGORITHM_AUTO &&
        ctn_algorithm_in(possible, basic->algorithm)) {
        module->choice[kind].rule = NULL;
        return module->choice[kind].algorithm = basic->algorithm;
    }
    if (!ctn_choice_holds(&module->choice[kind].kept, possible, basic->blocking,
                          bytes)) {
        ctn_basic_find_rule(module, kind, possible, basic->blocking, bytes);
    }
    const ctn_rule_t *rule = module->choice[kind].kept.rule;
    module->choice[kind].rule = rule;
    return module->choice[kind].algorithm = rule->algorithm;
}

extern const ctn_bcol_t ctn_bcol_shm; /* flags and the shared heap */
extern const ctn_bcol_t ctn_bcol_p2p; /* messages */
extern const ctn_bcol_t ctn_bcol_ucx; /* messages, network only */

/** NULL-terminated. */
extern const ctn_bcol_t *const ctn_bcols[];

#endif
