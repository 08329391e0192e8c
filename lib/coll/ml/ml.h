#ifndef CTN_COLL_ML_ML_H
#define CTN_COLL_ML_ML_H

#include "coll/blocks.h"
#include "coll/call/arguments.h"
#include "coll/hierarchy/hierarchy.h"

/* Collectives of a group ([Graham], section 3: ML), composed from the basic
 * collectives of this rank's modules, level by level. One file describes one
 * collective (a composition); engine.c runs all of them.
 *
 * Data are cut into chunks. A chunk is processed by a list of tasks, one after
 * the other: basic collectives, with local steps before and after them. The
 * tasks of its first part, up(s) for chunk s, go up the levels, those of its
 * second part, down(s), go down. Several chunks are under way at once, each at
 * another task (a pipeline).
 *
 * All members of a module must start the same operations in the same order. So
 * the tasks of a chunk are started early, which gives them their numbers, but
 * are held, and are released one by one, each when the task before it has
 * ended. Operations of a group start their tasks one operation after the other,
 * in the order of their tickets (see ctn_tickets_t). One operation starts its
 * tasks in this order, where LAG is CTN_LAG:
 *
 *     up(0) up(1) ... up(LAG) down(0) up(LAG + 1) down(1) ...
 *
 * If all tasks of a chunk were started before those of the next chunk, little
 * would overlap, since a sequence runs few operations at once.
 *
 * Freedom from deadlock: every rank has its tasks in this order, levels
 * ascending and then descending, and shares each task with other members. Take
 * the first task in this order that has not ended on all ranks: nothing that it
 * waits for comes later. So there is no cycle of waiting ranks. */

typedef struct ctn_composition ctn_composition_t;
typedef struct ctn_ml ctn_ml_t;
typedef struct ctn_chunk ctn_chunk_t;
typedef struct ctn_ml_config ctn_ml_config_t;

/** One collective as the entry point validated it; read-only from then on.
 * Lengths are in bytes of packed data (see ctn_span_t). What is not significant
 * on this rank is 0. */
typedef struct ctn_call {
    const ctn_composition_t *composition;
    catena_group_t *group;
    uint32_t root; /* of a rooted collective */
    /** Of reductions. The type is the smallest one that the operation accepts
     * and that the user's type consists of. */
    ctn_reducer_t by;
    bool exchanged;    /* a reduction by an alltoallv (coll/call/exchange.c): an
                          element does not fit a chunk, or it is a short
                          reproducible scan that does not block, or if that
                          is chosen */
    bool reproducible; /* see ctn_ml_config_t */
    /** This rank's own data. bcast: `in` and `out` are the same buffer.
     * Reductions: `in` equals `out` in place (reduce: `out` at the root only).
     * reduce_scatter: `in` is the vector, which has
     * all blocks, `out` is this rank's block. gather, allgather: `in` is this
     * rank's block, in place the one in `all`. scatter: `out` is this rank's
     * block, in place the one in `all`. */
    ctn_span_t in;
    ctn_span_t out;
    ptrdiff_t in_step; /* alltoall: `in` is the block for rank 0; bytes from it
                          to the next one */
    /** A block for each rank. gather (at the root), allgather, alltoall:
     * received. scatter (at the root): sent. reduce_scatter: only the lengths
     * are significant. */
    ctn_blocks_t all;
    bool in_place;
    bool in_order; /* the result depends on the order of ranks: a scan, or an
                      operation that does not commute; or `balanced` */
    bool balanced; /* reproducible and no scan: by the balanced tree of ranks
                      (type/balanced.h) */
    bool serial;   /* a scan that adds the data of one rank after the other: it
                      is reproducible, or long; set when the configuration is
                      known */
    bool blocking; /* the rank starts nothing else meanwhile */
    bool holds;    /* references to types and to the reduction operation, which
                      ctn_call_drop releases */
} ctn_call_t;

/** A step that is local to this rank: packs, copies, reduces. */
typedef void (*ctn_local_step_t)(ctn_ml_t *ml, ctn_chunk_t *chunk);

/** A basic collective of one module. Those arguments that its members must
 * agree on (see ctn_basic_coll_t) are set when the chunk is composed, the
 * others may be set by `before`. */
typedef struct ctn_task {
    ctn_module_t *module;    /* NULL: only local steps */
    ctn_basic_kind_t kind;   /* which basic collective */
    ctn_basic_coll_t basic;  /* its arguments */
    ctn_local_step_t before; /* runs when it is released; or NULL */
    ctn_local_step_t after;  /* runs when it has ended; or NULL */
    ctn_op_t *op;            /* set by the engine while it is started */
} ctn_task_t;

/** Tasks of one chunk at most: three for each level, and two that pack and
 * unpack. */
#define CTN_TASKS (3 * CTN_MOST_LEVELS + 2)

/** A chunk and its tasks. */
struct ctn_chunk {
    /* for compositions */
    uint64_t index; /* number of the chunk */
    /** ml->scratch_bytes in the shared heap for this chunk; NULL: 0 bytes. */
    unsigned char *scratch;
    unsigned tasks; /* number of entries of `task` */
    unsigned down;  /* first task of the second part; see ctn_ml_down */
    /** This chunk and later ones begin only when all earlier ones have ended.
     * The same on all ranks. All tasks of earlier chunks are then started
     * before those of this one. */
    bool exclusive;
    /* for the engine */
    bool running;     /* task[at] has been released and has not ended */
    unsigned at;      /* index of the running task, or of the next one */
    unsigned started; /* tasks 0 to started - 1 are started: have numbers */
    size_t scratch_bytes;
    ctn_task_t task[CTN_TASKS];
};

/** Chunks under way at once, and by how many chunks the second parts lag behind
 * the first parts. Allreduce of 2 MiB on 8 simulated nodes of 8 ranks (machine
 * hpc-a): 7.6 ms without lag, 6.9 with lag 1 and 4 chunks under way, 5.8 with 3
 * and 6, 5.7 with 4 and 8. */
#define CTN_CHUNKS 6u
#define CTN_LAG 3u

_Static_assert(CTN_LAG < CTN_CHUNKS,
               "a chunk's second part starts while it is under way");

/** Most members for which a single basic collective of blocks is run without
 * tasks. */
#define CTN_SINGLE_MEMBERS 64u

/** The state of an operation. */
struct ctn_ml {
    ctn_call_t call;
    /* for compositions */
    ctn_exec_t *exec;
    ctn_hierarchy_t *hierarchy; /* that it runs on: `main` or `flat` */
    /* The function `plan` of the composition sets the next three. */
    uint64_t chunks;      /* number of chunks */
    size_t chunk_bytes;   /* of a vector; the last chunk may have fewer */
    size_t scratch_bytes; /* of each chunk; the engine adds its packed data */
    size_t packed_at;     /* where these lie in its scratch memory */
    void *table;          /* state of the composition, from ctn_ml_keep */
    /* for the engine */
    struct ctn_kept *kept; /* list: memory of ctn_ml_keep, ctn_ml_scratch */
    ctn_ml_config_t *config;
    struct ctn_ml_run *record; /* of this run; NULL: none yet */
    uint32_t run;              /* its number */
    uint64_t messages;         /* that this rank had sent when the run began */
    ctn_algorithm_name_t algorithm; /* that settings named at the start */
    ctn_hierarchy_t *main;          /* the hierarchy that settings name */
    ctn_hierarchy_t *flat;  /* a single level of all ranks, for a call that is
                               in_order; NULL: not needed */
    uint64_t ticket[2];     /* of this operation: for `main`, for `flat` */
    uint64_t composed;      /* chunks 0 to composed - 1 have tasks */
    uint64_t down_started;  /* number of chunks whose second part is started */
    uint64_t completed;     /* chunks 0 to completed - 1 have ended */
    uint64_t begun;         /* chunks 0 to begun - 1 may run tasks */
    bool has_tickets;       /* the operation has drawn its tickets */
    bool ticket_passed;     /* it has started all tasks; the next ticket is
                               served */
    catena_status_t status; /* first error of a task */
    bool mismatch;          /* this rank's data are invalid from now on */
    bool given_up;          /* by ctn_ml_give_up: no further task runs */
    ctn_chunk_t *chunk[CTN_CHUNKS]; /* chunk s is chunk[s % CTN_CHUNKS] */
    const ctn_algorithm_t *single_algorithm; /* that runs `single`; NULL: not
                                                set up */
    /* Of a collective that one basic collective does; see single.c. */
    ctn_basic_coll_t single;
    size_t single_at[CTN_SINGLE_MEMBERS + 1]; /* single.at */
};

/** Where the state lies in the memory of the operation. Before it is room for
 * the state of a basic collective. */
#define CTN_ML_AT ((CTN_OP_STATE_BYTES - sizeof(ctn_ml_t)) / 64 * 64)

static inline ctn_ml_t *ctn_ml_of(ctn_op_t *op)
{
    return (ctn_ml_t *)(void *)((unsigned char *)ctn_op_state(op) + CTN_ML_AT);
}

/** How one collective is composed. */
struct ctn_composition {
    /* CTN_ML_COLLECTIVE(its name) sets these three. */
    ctn_algorithm_t algorithm;
    const ctn_description_t *collective;
    ctn_coll_t of;  /* the collective whose settings apply */
    uint32_t kinds; /* set of 1 << kind: the basic collectives that it uses */
    /** The basic collective that does all of it on a single level. */
    ctn_basic_kind_t single_level_kind;
    /** A collective of vectors: the arguments of that basic collective (`in`,
     * `out`, `bytes`, `root`, `by`) follow from the call. If the type is not
     * dense, the engine packs the data of each chunk before its tasks, and
     * unpacks its result. */
    bool vector;
    /** A collective of blocks: sets `in`, `out`, `bytes` and `at` of that basic
     * collective, see ctn_ml_single. @return false: data must be packed for it.
     * NULL: never possible */
    bool (*single_level_basic)(const ctn_call_t *call, ctn_ml_config_t *config,
                               ctn_basic_coll_t *basic);
    /** Called once for each start, when the hierarchy is built. Sets chunks,
     * chunk_bytes and scratch_bytes; takes memory with ctn_ml_keep. The number
     * of chunks and the kinds of their tasks follow from facts that all ranks
     * know.
     * @return ERR_UNSUPPORTED (on all ranks; logged); ERR_NO_MEMORY: the job
     * aborts, since this rank does not start the tasks that other ranks do */
    catena_status_t (*plan)(ctn_ml_t *ml);
    /** Add the tasks of a chunk, in order. It may add none. */
    void (*compose)(ctn_ml_t *ml, ctn_chunk_t *chunk);
};

/* The parts of `algorithm` that all compositions share: engine.c. */
extern const ctn_phase_t ctn_ml_phases[];
void ctn_ml_finish(ctn_op_t *op);
void ctn_ml_release(ctn_op_t *op);
#define CTN_ML_COLLECTIVE(its_name)                                            \
    .algorithm = {.name = #its_name,                                           \
                  .state_bytes = CTN_ML_AT + sizeof(ctn_ml_t),                 \
                  .phases = ctn_ml_phases,                                     \
                  .finish = ctn_ml_finish,                                     \
                  .release = ctn_ml_release},                                  \
    .collective = &ctn_call_##its_name,                                        \
    .of = (ctn_coll_t)CTN_ML_SETTINGS_##its_name

/* All compositions, and whose settings they use. */
#define CTN_CALL(NAME, name, send, recv, traits)                               \
    extern const ctn_composition_t ctn_ml_##name;                              \
    enum { CTN_ML_SETTINGS_##name = CTN_COLL_##NAME };
#define CTN_VARIANT(NAME, name, OF, send, recv, traits)                        \
    extern const ctn_composition_t ctn_ml_##name;                              \
    enum { CTN_ML_SETTINGS_##name = CTN_COLL_##OF };
#include "core/calls.def"
extern const ctn_composition_t ctn_ml_alltoall;
enum { CTN_ML_SETTINGS_alltoall = CTN_COLL_ALLTOALL };

/* ---- for compositions ---- */

/** The longest vector of a basic collective: more than CTN_CHUNK_BYTES only on
 * a hierarchy of one level, of all ranks. */
static inline size_t ctn_ml_longest(const ctn_hierarchy_t *hierarchy,
                                    ctn_basic_kind_t kind, uint32_t ranks)
{
    bool single = hierarchy->state == CTN_BUILT &&
                  hierarchy->status == CATENA_OK && hierarchy->levels == 1 &&
                  hierarchy->level[0]->sbgp->size == ranks;
    size_t longest = single ? hierarchy->level[0]->bcol->longest[kind] : 0;
    return longest > 0 ? longest : CTN_CHUNK_BYTES;
}

/** Cut a vector of `bytes` into chunks of at most that each, whole elements of
 * `unit` bytes: set ml->chunks and ml->chunk_bytes. */
void ctn_ml_cut(ctn_ml_t *ml, size_t bytes, size_t unit);

/** Offset and length of a chunk of the vector call.in. */
static inline size_t ctn_ml_from(const ctn_ml_t *ml, const ctn_chunk_t *chunk)
{
    return chunk->index * ml->chunk_bytes;
}
static inline size_t ctn_ml_bytes(const ctn_ml_t *ml, const ctn_chunk_t *chunk)
{
    size_t left = ml->call.in.bytes - ctn_ml_from(ml, chunk);
    return left < ml->chunk_bytes ? left : ml->chunk_bytes;
}

/** Whether the vectors are packed for the tasks. The result then replaces this
 * rank's data, as in place. */
static inline bool ctn_ml_packs(const ctn_ml_t *ml)
{
    return ml->call.composition->vector && ml->call.in.type != NULL;
}
/** Where this rank's data of a chunk lie. */
static inline unsigned char *ctn_ml_in(const ctn_ml_t *ml,
                                       const ctn_chunk_t *chunk)
{
    return ctn_ml_packs(ml) ? chunk->scratch + ml->packed_at
                            : ml->call.in.base + ctn_ml_from(ml, chunk);
}
/** Where this rank's result of a chunk goes; NULL: it gets none. */
static inline unsigned char *ctn_ml_out(const ctn_ml_t *ml,
                                        const ctn_chunk_t *chunk)
{
    const ctn_span_t *out = &ml->call.out;
    if (ctn_ml_packs(ml)) { /* a derived type may begin at address 0 */
        return out->type != NULL ? ctn_ml_in(ml, chunk) : NULL;
    }
    return out->base != NULL ? out->base + ctn_ml_from(ml, chunk) : NULL;
}

/** Add a task of this rank's module on `level`. The arguments of its basic
 * collective are 0, except for reducer, algorithm and chunks. */
ctn_task_t *ctn_ml_add(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level,
                       ctn_basic_kind_t kind);
/** The same for a basic collective of vectors, of a chunk's length. */
ctn_task_t *ctn_ml_add_vector(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level,
                              ctn_basic_kind_t kind, const void *in, void *out);
/** Add a reduction to the leader of `level`. On the lowest level its input is
 * `in`, on the others the result of the level below. The leader's result goes
 * to `results`. */
void ctn_ml_add_up(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level,
                   const unsigned char *in, unsigned char *results);
/** Begin the second part, in which the leaders of all levels below the top send
 * `bytes` of `memory` to the members: bcast or fan-out. */
void ctn_ml_add_down(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_basic_kind_t kind,
                     void *memory, size_t bytes);
/** Add a task of one local step. */
void ctn_ml_add_local(ctn_chunk_t *chunk, ctn_local_step_t step);
/** The second part of the chunk begins with the next task that is added. If
 * this is not called, all tasks are in the first part. All members of a module
 * put a task in the same part; levels ascend in the first part and descend in
 * the second. */
static inline void ctn_ml_down(ctn_chunk_t *chunk)
{
    chunk->down = chunk->tasks;
}

/** Memory outside of the shared heap, freed when this run of the operation
 * ends; not zeroed. @return NULL: no memory */
void *ctn_ml_keep(ctn_ml_t *ml, size_t bytes);
/** The same in the shared heap, for data that other ranks may read. */
void *ctn_ml_scratch(ctn_ml_t *ml, size_t bytes);

/** This rank has no memory and cannot do its part, so other ranks would wait
 * for ever: see ctn_group_give_up. */
void ctn_ml_give_up(ctn_ml_t *ml);

/** This rank's subgroup on a level. */
static inline const ctn_sbgp_t *ctn_ml_sbgp(const ctn_ml_t *ml, unsigned level)
{
    return ml->hierarchy->level[level]->sbgp;
}
/** Number of levels in which this rank takes part. The last one is the top if
 * hierarchy->top. 0: the rank is alone in the group. */
static inline unsigned ctn_ml_levels(const ctn_ml_t *ml)
{
    return ml->hierarchy->levels;
}
/** Whether a level is the top, which joins all ranks. */
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

/** The member of this rank's subgroup on a level that represents the root.
 * @return false: none */
static inline bool ctn_ml_find_root(const ctn_ml_t *ml, unsigned level,
                                    uint32_t *member)
{
    const ctn_sbgp_t *sbgp = ctn_ml_sbgp(ml, level);
    *member = ctn_sbgp_find(sbgp, ml->call.root);
    return *member < sbgp->size;
}

/** out = left op right; see ctn_reduce. */
void ctn_ml_fold(ctn_ml_t *ml, const void *left, const void *right, void *out,
                 size_t bytes);

/* ---- state of a group: group.c ---- */

/** The algorithm that a basic collective of it ran. */
typedef struct ctn_ml_basic_run {
    const ctn_module_t *module; /* which ran it */
    const ctn_rule_t *rule;     /* NULL: it was asked for */
    uint8_t kind;
    uint8_t algorithm; /* CTN_ALGORITHM_AUTO: there is only one */
} ctn_ml_basic_run_t;

/** Those of the first chunk, at most. */
#define CTN_ML_BASIC_RUNS 6u

/** How a collective last ran, for catena_group_explain. */
typedef struct ctn_ml_run {
    const ctn_composition_t *composition; /* NULL: it has not run */
    const ctn_hierarchy_t *through;       /* the hierarchy that it ran on;
                                             NULL: none, see `exchange` */
    ctn_algorithm_name_t algorithm;
    uint32_t number; /* version of the record */
    size_t chunk_bytes;
    uint32_t selected; /* number of entries of `basic` */
    bool fell_back;    /* to the flat hierarchy */
    bool serial;       /* see ctn_call_t */
    bool
        reproducible; /* by other collectives, since the group's settings ask */
    const char *exchange; /* "alltoallv", "gather", "allgather" or
                             "transposed"; NULL: none */
    bool ran_inline; /* basic[1] and those that follow, and the members below,
                        are of an earlier run */
    ctn_ml_basic_run_t basic[CTN_ML_BASIC_RUNS];
    uint64_t chunks;
    uint64_t messages;        /* that this rank sent while it ran */
    const catena_group_t *on; /* hidden duplicate that it ran on, or NULL */
    char *explanation;        /* text that this duplicate left when it was
                                 freed; or NULL */
} ctn_ml_run_t;

/** What the settings of a group say about the collectives of one ctn_coll_t:
 * resolved once, read by every call. */
struct ctn_ml_config {
    ctn_hierarchy_t *hierarchy;     /* NULL: not requested yet */
    ctn_hierarchy_t *flat;          /* single level; NULL: not requested yet */
    ctn_algorithm_name_t algorithm; /* that settings name */
    bool reproducible;              /* sums and products that round: HIER-13 */
    ctn_ml_run_t last_run;
    /* See ctn_route_cached_offsets. */
    size_t *block_offsets; /* [ranks + 1]: where blocks begin; NULL: not made */
    size_t offsets_bytes; /* uniform length that they are for; SIZE_MAX: none */
};

/** Called at each start of a persistent request: apply the current settings of
 * its group. Settings that change while it is under way apply to later starts.
 * @param group the request's own, a hidden duplicate */
void ctn_ml_follow_settings(catena_group_t *group);

/** Find the configuration of the collectives of `of`. Requests the hierarchy
 * that it names unless that was requested.
 * @return as ctn_hierarchy_of; also ERR_ARG: no component has the algorithm
 * that the settings name (logged) */
catena_status_t ctn_ml_config_find(catena_group_t *group, ctn_coll_t of,
                                   ctn_ml_config_t **config);

/** Set call->serial. @param config of its group */
void ctn_ml_set_serial(ctn_call_t *call, const ctn_ml_config_t *config);

/** Set the arguments of the basic collective that does all of a call on a
 * single level. @return false: its data must be packed, or are too long */
bool ctn_ml_single(const ctn_call_t *call, ctn_ml_config_t *config,
                   ctn_basic_coll_t *basic);

/** Where n blocks of `bytes` each begin: [n + 1]. @return NULL: not known (see
 * ctn_route_cached_offsets) */
static inline const size_t *ctn_ml_offsets(const ctn_ml_config_t *config,
                                           size_t bytes)
{
    return config->offsets_bytes == bytes ? config->block_offsets : NULL;
}

/** Whether a `serial` scan on this hierarchy adds the data of one rank after
 * the other: all ranks are in one subgroup. */
static inline bool ctn_ml_adds_serially(const ctn_hierarchy_t *hierarchy,
                                        uint32_t ranks)
{
    return hierarchy->state == CTN_BUILT && hierarchy->status == CATENA_OK &&
           hierarchy->levels == 1 && hierarchy->in_order &&
           hierarchy->level[0]->sbgp->size == ranks;
}

/** Whether a hierarchy combines operands in the order, or by the tree, that a
 * call requires. */
static inline bool ctn_ml_serves(const ctn_hierarchy_t *hierarchy,
                                 const ctn_call_t *call)
{
    return call->balanced ? hierarchy->balanced
           : call->serial
               ? ctn_ml_adds_serially(hierarchy, call->group->chain.place.size)
           : call->in_order ? hierarchy->in_order
                            : true;
}

/** Whether the flat hierarchy may be needed. If so, all ranks must request it
 * now. It is needed if the call depends on the order of ranks and the
 * configured hierarchy does not serve it. A blocking call, and a persistent
 * request, which has a hidden duplicate of its own, know that if the hierarchy
 * is built. The first of the other calls requests it on all ranks. Later calls
 * on ranks that know that they do not need it draw no ticket for it; other
 * ranks may draw one that they do not use. */
static inline bool ctn_ml_may_need_flat(const ctn_call_t *call,
                                        const ctn_ml_config_t *config)
{
    const ctn_hierarchy_t *hierarchy = config->hierarchy;
    bool known =
        (call->blocking || call->group->hidden || config->flat != NULL) &&
        hierarchy->state == CTN_BUILT;
    return call->in_order && !(known && (ctn_ml_serves(hierarchy, call) ||
                                         hierarchy->status != CATENA_OK));
}

/** Record a basic collective that a module has run. */
static inline void ctn_ml_record_basic(ctn_ml_run_t *run,
                                       const ctn_module_t *module,
                                       ctn_basic_kind_t kind)
{
    if (run->selected < CTN_ML_BASIC_RUNS) {
        run->basic[run->selected++] = (ctn_ml_basic_run_t){
            .module = module,
            .rule = module->choice[kind].rule,
            .kind = (uint8_t)kind,
            .algorithm = (uint8_t)module->choice[kind].algorithm};
    }
}

/** The record of an operation's run; NULL: there is none, or a later run has
 * replaced it. */
static inline ctn_ml_run_t *ctn_ml_record_of(const ctn_ml_t *ml)
{
    return ml->record != NULL && ml->record->number == ml->run ? ml->record
                                                               : NULL;
}

/** Record what runs, for ctn_ml_explain. */
void ctn_ml_record_run(ctn_ml_t *ml);
/** The same of a reduction that has run by other collectives.
 * @param exchange these, for ctn_ml_explain; static */
void ctn_ml_record_exchange(const ctn_call_t *call, const char *exchange,
                            uint64_t messages);
/** The same of a call that ran inline. If nothing has changed since the last
 * record, nothing is stored: stores that follow those for other ranks wait in
 * the core's store queue until the others' lines are here, and with 10 more in
 * the queue a bcast of 128 B took the root twice as long (0.30 us instead of
 * 0.14, cores far from each other). */
static inline void ctn_ml_record_inline(ctn_ml_config_t *config,
                                        const ctn_composition_t *composition,
                                        const ctn_hierarchy_t *through,
                                        size_t bytes)
{
    ctn_basic_kind_t kind = composition->single_level_kind;
    const ctn_module_t *module = through->level[0];
    ctn_ml_run_t *run = &config->last_run;
    if (run->ran_inline && run->chunk_bytes == bytes &&
        run->composition == composition && run->through == through &&
        run->algorithm == config->algorithm &&
        run->basic[0].rule == module->choice[kind].rule &&
        run->basic[0].algorithm == module->choice[kind].algorithm) {
        return;
    }
    run->composition = composition;
    run->through = through;
    run->algorithm = config->algorithm;
    run->chunk_bytes = bytes;
    run->fell_back = through != config->hierarchy;
    run->ran_inline = true;
    run->number++;
    run->selected = 0;
    ctn_ml_record_basic(run, module, kind);
}
/** A hidden duplicate is about to be freed: keep the text that explains what
 * ran on it. */
void ctn_ml_keep_explanation(const catena_group_t *hidden);

/** Take a chunk from the group's pool. @return NULL: no memory */
ctn_chunk_t *ctn_chunk_take(catena_group_t *group);
/** Give it back. */
void ctn_chunk_give(catena_group_t *group, ctn_chunk_t *chunk);

/** The group's settings have changed: the next calls resolve the configurations
 * again. */
void ctn_ml_forget(catena_group_t *group);

/** Check the algorithms that the settings name. @return OK, or ERR_ARG */
catena_status_t ctn_ml_check(const ctn_log_t *log, const ctn_config_t *config);

/** Set "<collective>_algorithm" of a group.
 * @return false: `name` is no such setting. *status: as catena_group_set. */
bool ctn_ml_set(catena_group_t *group, const char *name, const char *value,
                catena_status_t *status);

/** Explain how a collective last ran, for catena_group_explain.
 * @return false: the name is not that of a composition */
bool ctn_ml_explain(const catena_group_t *group, const char *collective,
                    char *text, size_t bytes);

/* ---- for entry points: call/enter.c ---- */

/** Create the operation of a hierarchical collective. @return NULL: no memory
 */
ctn_op_t *ctn_ml_create(const ctn_call_t *call);

/** Called before each start: if one basic collective does all of a call, and no
 * other operation uses its module, turn the operation into that of the basic
 * collective, without tickets, chunks and tasks. Each rank decides for itself,
 * since the messages are the same. */
void ctn_ml_simplify(ctn_op_t *op);
/** The same, and start the operation inline if possible. False: the caller
 * starts it. */
bool ctn_ml_begin(ctn_op_t *op);
/** The same for an operation of which only ml->single and ml->config are set,
 * and of ml->call what its end needs. False: nothing happened. */
bool ctn_ml_begin_plain(ctn_op_t *op, ctn_module_t *module);

/** Release the types and the reduction operation that a call holds, if any. */
void ctn_call_drop(const ctn_call_t *call);

#endif
