#ifndef CTN_COLL_ML_ML_H
#define CTN_COLL_ML_ML_H

#include "coll/blocks.h"
#include "coll/hierarchy/hierarchy.h"

/* Collectives of a group ([Graham], section 3: ML), put together from the basic
 * collectives of this rank's modules, level by level. One file says how one
 * collective is put together (a composition); engine.c runs them all.
 *
 * The data are cut into segments. A segment goes through stages, one after the
 * other: basic collectives, and local steps before and after them. Of several
 * segments that are under way each is in another stage. All members of a module
 * have to start the same operations in the same order. So the stages of a
 * segment are started (numbered) long before their time, held, and let go when
 * the one before is over; and operations of a group take turns in doing so (see
 * ctn_hierarchy_t). The order is that of
 *     up(0) up(1) ... up(LAG) down(0) up(LAG + 1) down(1) ...
 * where up(s) and down(s) are the two parts of segment s: with all of a segment
 * before the next one little would overlap, since a channel runs few operations
 * at once. Every rank has stages in this order, upwards level by level and then
 * downwards, each with members to which it is the same one: whatever the first
 * stage is that has not ended everywhere, nothing that it waits for comes
 * later. So nobody waits in a circle. */

typedef struct ctn_composition ctn_composition_t;
typedef struct ctn_ml ctn_ml_t;
typedef struct ctn_chunk ctn_chunk_t;
typedef struct ctn_ml_config ctn_ml_config_t;

/** One collective as the entry point understood it; read-only from then on.
 * Lengths are in bytes of streams (see ctn_span_t). */
typedef struct ctn_call {
    const ctn_composition_t *composition;
    catena_group_t *group;
    uint32_t root; /* of a rooted one */
    /** Of reductions. The type is the smallest that the operation takes of
     * which the user's consists. */
    ctn_reducer_t by;
    /** What this rank alone gives and gets. bcast: the same on both sides;
     * reductions: vectors, plain memory, `in` is `out` when in place (reduce:
     * `out` at the root only); reduce_scatter: `in` is all blocks, one after
     * the other; gather, allgather: `in` is this rank's block, in place the one
     * in `all`; scatter: likewise `out`. What does not matter on this rank is
     * all 0. */
    ctn_span_t in;
    ctn_span_t out;
    /** A block for each rank: gather (at the root) and allgather: received;
     * scatter (at the root): sent; reduce_scatter: lengths alone count. */
    ctn_blocks_t all;
    bool in_place;
    bool in_order; /* has to go in the order of ranks */
    bool blocking; /* a blocking call: nothing else is started meanwhile */
    bool holds;    /* types and operation are kept from being freed */
} ctn_call_t;

/** Does what is local to this rank: packs, copies, combines. */
typedef void (*ctn_local_step_t)(ctn_ml_t *ml, ctn_chunk_t *chunk);

/** A basic collective of one module. What its members have to agree on (see
 * ctn_basic_coll_t) is there when the segment has been composed; the rest may
 * be filled in up to `before`. */
typedef struct ctn_task {
    ctn_module_t *module; /* NULL: nothing but the local steps */
    ctn_basic_kind_t kind;
    ctn_basic_coll_t basic;
    ctn_local_step_t before; /* it is let go; NULL: nothing to do */
    ctn_local_step_t after;  /* it is over */
    ctn_op_t *op;            /* the engine's */
} ctn_task_t;

/** Stages of one segment at most: three for each level. */
#define CTN_TASKS (3 * CTN_MOST_LEVELS)

struct ctn_chunk {
    /* for compositions */
    uint64_t index;
    /** Of this segment alone: ml->scratch_bytes in the shared heap; NULL if
     * that is 0. */
    unsigned char *scratch;
    unsigned tasks;
    unsigned down; /* the first stage of the second part; see ctn_ml_down */
    /** Nothing of it, or of those behind it, begins before those in front of it
     * are over; all ranks know. They are started completely before it, then. */
    bool exclusive;
    /* the engine's */
    bool running;     /* the stage at `at` runs */
    unsigned at;      /* the stage that runs, or is the next to */
    unsigned started; /* stages that have their number */
    size_t scratch_bytes;
    ctn_chunk_t *next;  /* of those that nobody uses */
    ctn_chunk_t *older; /* of all of the group */
    ctn_task_t task[CTN_TASKS];
};

/** Segments under way at once, and how many ups come before the first down. 8
 * simulated nodes of 8 ranks of machine hpc-a, allreduce of 2 MiB: 7.6 ms with
 * no lag, 6.9 with 1 (of 4 segments), 5.8 with 3 of 6, 5.7 with 4 of 8. */
#define CTN_CHUNKS 6u
#define CTN_LAG 3u

_Static_assert(CTN_LAG < CTN_CHUNKS,
               "a segment's second part starts while it is under way");

/** The state of an operation. */
struct ctn_ml {
    ctn_call_t call;
    /* for compositions */
    ctn_exec_t *exec;
    ctn_hierarchy_t *hierarchy; /* built */
    uint64_t chunks;            /* these three are set by `plan` */
    size_t chunk_bytes;         /* of a vector; the last may have fewer */
    size_t scratch_bytes;       /* for each segment under way */
    void *table;                /* what the composition keeps: ctn_ml_keep */
    /* the engine's */
    struct ctn_kept *kept;
    ctn_ml_config_t *config;
    const char *algorithm;  /* as it was when this was started */
    ctn_hierarchy_t *main;  /* as the settings have it */
    ctn_hierarchy_t *flat;  /* of in_order: maybe it is needed; or NULL */
    uint64_t number[2];     /* of this operation in these two */
    uint64_t composed;      /* segments */
    uint64_t down_started;  /* whose second part was started */
    uint64_t completed;     /* segments 0 to over - 1 are over */
    uint64_t begun;         /* and so many have begun */
    bool numbered;          /* it has its numbers */
    bool turn_passed;       /* others may take their turn */
    catena_status_t status; /* the first error of a stage */
    bool mismatch;          /* what this rank sends from now on is invalid */
    ctn_chunk_t *chunk[CTN_CHUNKS]; /* s is in s % SEGMENTS */
};

/** How a collective is put together. */
struct ctn_composition {
    ctn_algorithm_t algorithm; /* CTN_ML_ALGORITHM("its name") */
    ctn_coll_t of;             /* whose settings it follows */
    uint32_t kinds; /* 1 << kind of the basic collectives that it uses */
    /** On a single level it is one operation of this kind. */
    ctn_basic_kind_t single_level_kind;
    /** And then its basic follows from the call: `in`, `out`, their length,
     * root and reducer. */
    bool vector;
    bool lengths; /* of collectives of blocks: each has a length of its own */
    /** Of those: set in, out, bytes and at of that basic, when nothing has to
     * be packed for it; else false. NULL: never. */
    bool (*single_level_basic)(const ctn_call_t *call, ctn_ml_config_t *config,
                               ctn_basic_coll_t *basic);
    /** Once for each start, when the hierarchy is there: set segments,
     * chunk_bytes, scratch_bytes; take memory with ctn_ml_keep. What members
     * have to agree on must follow from what all of them know.
     * @return ERR_UNSUPPORTED (on all ranks; logged), ERR_NO_MEMORY; numbers do
     *         not agree any more then, which ends everything */
    catena_status_t (*plan)(ctn_ml_t *ml);
    /** Add the stages of a segment, in order; none: nothing is to be done. */
    void (*compose)(ctn_ml_t *ml, ctn_chunk_t *chunk);
};

extern const ctn_phase_t ctn_ml_phases[];
void ctn_ml_finish(ctn_op_t *op);
void ctn_ml_release(ctn_op_t *op);
#define CTN_ML_ALGORITHM(its_name)                                             \
    {                                                                          \
        .name = its_name, .state_bytes = sizeof(ctn_ml_t),                     \
        .phases = ctn_ml_phases, .finish = ctn_ml_finish,                      \
        .release = ctn_ml_release                                              \
    }

extern const ctn_composition_t ctn_ml_barrier;
extern const ctn_composition_t ctn_ml_bcast;
extern const ctn_composition_t ctn_ml_reduce;
extern const ctn_composition_t ctn_ml_allreduce;
extern const ctn_composition_t ctn_ml_gather;
extern const ctn_composition_t ctn_ml_gatherv;
extern const ctn_composition_t ctn_ml_scatter;
extern const ctn_composition_t ctn_ml_scatterv;
extern const ctn_composition_t ctn_ml_allgather;
extern const ctn_composition_t ctn_ml_allgatherv;
extern const ctn_composition_t ctn_ml_reduce_scatter;
extern const ctn_composition_t ctn_ml_reduce_scatter_block;
extern const ctn_composition_t ctn_ml_scan;
extern const ctn_composition_t ctn_ml_exscan;

/* ---- for compositions ---- */

/** Plan a vector of `bytes`: segments of whole elements of `unit` bytes,
 * CTN_CHUNK_BYTES at most. */
void ctn_ml_cut(ctn_ml_t *ml, size_t bytes, size_t unit);

/** Where a segment of such a vector begins, and how long it is. */
static inline size_t ctn_ml_from(const ctn_ml_t *ml, const ctn_chunk_t *chunk)
{
    return chunk->index * ml->chunk_bytes;
}
static inline size_t ctn_ml_bytes(const ctn_ml_t *ml, const ctn_chunk_t *chunk,
                                  size_t bytes)
{
    size_t left = bytes - ctn_ml_from(ml, chunk);
    return left < ml->chunk_bytes ? left : ml->chunk_bytes;
}

/** A new last stage, of this rank's module on `level`; its basic is zero but
 * for reducer and algorithm. */
ctn_task_t *ctn_ml_add(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level,
                       ctn_basic_kind_t kind);
/** A new last stage that consists of one local step. */
void ctn_ml_add_local(ctn_chunk_t *chunk, ctn_local_step_t step);
/** The second part of the segment begins with the next stage that is added. If
 * never called, all is the first. All members of a module put each of its
 * stages in the same part; levels ascend in the first and descend in the
 * second. */
static inline void ctn_ml_down(ctn_chunk_t *chunk)
{
    chunk->down = chunk->tasks;
}

/** Memory until this run of the operation is over; not zeroed. NULL: none. Not
 * the shared heap. */
void *ctn_ml_keep(ctn_ml_t *ml, size_t bytes);
/** The same in the shared heap, for data that others read. */
void *ctn_ml_scratch(ctn_ml_t *ml, size_t bytes);

/** This rank cannot do what its members count on: there is no memory. Nothing
 * that it waits for will come, so all ends. */
void ctn_ml_abort(ctn_ml_t *ml);

static inline const ctn_sbgp_t *ctn_ml_sbgp(const ctn_ml_t *ml, unsigned level)
{
    return ml->hierarchy->level[level]->sbgp;
}
/** This rank's levels; the last is the top if hierarchy->top. 0: it is alone in
 * the group. */
static inline unsigned ctn_ml_levels(const ctn_ml_t *ml)
{
    return ml->hierarchy->levels;
}
/** Whether a level is the one that joins all. */
static inline bool ctn_ml_is_top(const ctn_ml_t *ml, unsigned level)
{
    return ml->hierarchy->top && level + 1 == ml->hierarchy->levels;
}
static inline uint32_t ctn_ml_rank(const ctn_ml_t *ml)
{
    return ml->call.group->chain.place.rank;
}
static inline uint32_t ctn_ml_size(const ctn_ml_t *ml)
{
    return ml->call.group->chain.place.size;
}

/** Which member stands for the root on a level; false: none of them. */
static inline bool ctn_ml_find_root(const ctn_ml_t *ml, unsigned level,
                                    uint32_t *member)
{
    const ctn_sbgp_t *sbgp = ctn_ml_sbgp(ml, level);
    *member = ctn_sbgp_find(sbgp, ml->call.root);
    return *member < sbgp->size;
}

/** Combine: out = left op right, as ctn_reduce. Should memory lack, the
 * operation ends with that. */
void ctn_ml_fold(ctn_ml_t *ml, const void *left, const void *right, void *out,
                 size_t bytes);

/* ---- what ML keeps with a group: group.c ---- */

/** How a group's collectives of one setting go; looked at in every call. */
struct ctn_ml_config {
    ctn_hierarchy_t *hierarchy; /* NULL: not asked for yet */
    ctn_hierarchy_t *flat;      /* likewise */
    const char *algorithm;      /* the component's own name; NULL: auto */
    /* the last one that ran, for those who ask */
    struct {
        const ctn_composition_t *composition;
        const ctn_hierarchy_t *through;
        const char *algorithm;
        bool fell_back; /* on the flat hierarchy */
        uint64_t chunks;
        size_t chunk_bytes;
        const catena_group_t *on; /* a hidden duplicate, */
        char *explanation;        /* and what it said when it went; or NULL */
    } last_run;
    /* [ranks + 1]: where blocks begin that are all alike, or of the call that
     * is being made; see ctn_route_cached_offsets */
    size_t *block_offsets;
    size_t offsets_bytes;
};

/** A start of a persistent request: the settings of its group hold that do
 * now. Those that are set later, while it is under way, hold for later starts.
 * @param group the request's own, a hidden duplicate */
void ctn_ml_follow_settings(catena_group_t *group);

/** Ask for the hierarchy of these collectives and, if `in_order`, for the flat
 * one as well; sets both in *use.
 * @return as ctn_hierarchy_of; ERR_ARG also: no component has the algorithm
 *         that was asked for (logged) */
catena_status_t ctn_ml_config_find(catena_group_t *group, ctn_coll_t of,
                                   bool in_order, ctn_ml_config_t **config);

/** Take note of what runs, for ctn_ml_explain. */
void ctn_ml_record_run(const ctn_ml_t *ml);
/** The hidden duplicate goes: keep in words what ran on it. */
void ctn_ml_keep_explanation(const catena_group_t *hidden);

/** A segment that nobody uses; NULL: no memory. */
ctn_chunk_t *ctn_chunk_take(catena_group_t *group);
void ctn_chunk_give(catena_group_t *group, ctn_chunk_t *chunk);

/** The group's settings have changed. */
void ctn_ml_forget(catena_group_t *group);

/** The setting "<collective>_algorithm" of a group. False: it is none. *status:
 * as catena_group_set. */
bool ctn_ml_set(catena_group_t *group, const char *name, const char *value,
                catena_status_t *status);

/** Whether hierarchy or algorithm of these collectives have been asked for. */
bool ctn_ml_is_configured(catena_group_t *group, ctn_coll_t of);

/** How a collective last ran, for catena_group_explain. False: it is none of
 * these. */
bool ctn_ml_explain(catena_group_t *group, const char *collective, char *text,
                    size_t bytes);

/* ---- for entry points: enter.c ---- */

/** Let go of the types and the operation that it holds, if it does. */
void ctn_call_drop(const ctn_call_t *call);

/** How the caller will wait. */
typedef enum ctn_mode {
    CTN_BLOCKING,
    CTN_NONBLOCKING,
    CTN_PERSISTENT
} ctn_mode_t;

/** Run a call, or make a request of it, started or not.
 * @param[in,out] call    `waits` and `holds` are set
 * @param[in]     nothing no data are moved: no rank waits for another
 * @param[out]    request if not CTN_BLOCKING */
catena_status_t ctn_ml_enter(ctn_call_t *call, bool nothing, ctn_mode_t mode,
                             catena_request_t **request);

#endif
