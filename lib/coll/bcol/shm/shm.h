#ifndef CTN_COLL_BCOL_SHM_SHM_H
#define CTN_COLL_BCOL_SHM_SHM_H

#include "coll/bcol/bcol.h"
#include "core/tiny.h"
#include "topo/node.h"

/** An eager row of the component shm. */
#define SHM_EAGER_ROW_BYTES CTN_PICK(2048u, 512u)

/* The component of flags and the shared heap, for members of one node. A flag
 * is a word by which a member publishes that it has reached some point.
 *
 *   in the memory of member 0: a node area (topo/node.h), and
 *     last         for each generation: the member that reduced for all, and
 *                  how many arrived
 *   in each member's own memory, for each generation: a staging buffer
 *
 * In the node area, `arrived` tells that a member has entered a barrier, or
 * that its fragment of the result is reduced; `departed` that it has read all
 * zcopy data; a descriptor has some data or their location; an eager row takes
 * up to SHM_EAGER_ROW_BYTES.
 *
 * Data are *staged*, that is copied to the descriptor, eager row or staging
 * buffer of a member, or *zcopy* (zero-copy): they stay in the shared heap, the
 * descriptor has their offset, and their owner does not end before all readers
 * have set `departed`. Longer blocks may also go through a copy area
 * (block.h). The descriptor tells the length in all cases. A reader that
 * expects another length does not use the data, does what other members wait
 * for, and fails. If the number of chunks differs, later operations would not
 * match any more, so the job aborts.
 */

/* Of a module's sequence: generations, and operations that run at once. */
#define SHM_GENERATIONS 16u
#define SHM_FLIGHT 4u
/* The same of a module that serves one collective at a time. */
#define SHM_FEW_GENERATIONS 8u
#define SHM_FEW_FLIGHT 2u

/** What a member publishes: its length, and the data or where they are. */
typedef struct shm_descriptor {
    uint64_t word;
    /** Zcopy, or in a copy area: offset of the data in the owner's arena;
     * `data` then has a mark (of a vector) or a location (of a block, block.c).
     * Staged: a mark. */
    uint64_t offset;
    unsigned char data[]; /* [descriptor_data], aligned for users' functions */
} shm_descriptor_t;

/* A *mark* tells the length of a vector or block. It lies in an `offset`, where
 * it says that the data are staged, or in front of a zcopy vector's data. Marks
 * are SHM_STAGED less some 32 bits. */
#define SHM_STAGED UINT64_MAX

/** The mark of a vector: number of chunks (lower 16 bits), and length of this
 * chunk. */
static inline uint64_t shm_vector_mark(const ctn_basic_coll_t *basic)
{
    return SHM_STAGED - (basic->chunks << 16 | basic->bytes);
}

/** The mark of a vector whose owner has no valid data. */
static inline uint64_t shm_mismatch_mark(const ctn_basic_coll_t *basic)
{
    return SHM_STAGED - (basic->chunks << 16 | UINT16_MAX);
}

/** Offsets of this value and above are marks. */
#define SHM_MARKS (SHM_STAGED - UINT32_MAX)

_Static_assert(CTN_CHUNK_BYTES < UINT16_MAX, "a length fits its bits");

/** The mark of a staged block, at most CTN_CHUNK_BYTES long. */
static inline uint64_t shm_staged_block(size_t bytes)
{
    return SHM_STAGED - bytes;
}

/** Of allreduce "last" (allreduce.c); shared by all members, for each
 * generation. */
typedef struct shm_last {
    uint64_t word;    /* all vectors are reduced */
    uint64_t arrived; /* counter, never reset: each operation adds `size` */
    uint64_t folder;  /* the member that reduced; plus size: with a mismatch */
    uint64_t unused[5]; /* fills a cache line */
} shm_last_t;

/** Memory for copies that other members may still read when the operation has
 * ended. The module keeps it for later operations. */
typedef struct shm_kept {
    void *memory;
    size_t bytes;
    uint64_t seq; /* of the last operation that used it */
} shm_kept_t;

/** How this member accesses another one. */
typedef struct shm_peer {
    ctn_endpoint_t *endpoint;
    unsigned char *staging; /* [generations][CTN_CHUNK_BYTES] */
} shm_peer_t;

/** A module of this component. */
typedef struct shm {
    ctn_module_t module; /* first */
    ctn_sequence_t sequence;
    uint32_t size; /* number of members */
    uint32_t me;   /* number of this member */
    /** 1 + number of the last generation barrier that this member entered
     * inline, without waiting for the other members; 0: none. */
    uint64_t generation_barrier;
    unsigned char *memory;  /* of this member */
    size_t bytes;           /* of it */
    size_t words;           /* bytes of `memory` that are used from the start */
    bool has_buffers;       /* the pages of its buffers are taken */
    size_t descriptor_data; /* bytes of data that fit a descriptor */
    ctn_node_area_t area;   /* in the memory of member 0 */
    shm_last_t *last;       /* [generations], also there */
    shm_peer_t *peer;       /* [size] */
    shm_kept_t kept[SHM_GENERATIONS];
} shm_t;

typedef struct shm_call shm_call_t;

/** An algorithm of one basic collective: a list of steps, run one after the
 * other. */
typedef struct shm_algorithm {
    ctn_algorithm_t base; /* SHM_ALGORITHM */
    /** NULL-terminated. A step does what can be done now; true: it has ended. A
     * step that waits for members counts in call->next, which is 0 when it
     * begins: the first member that it still waits for. */
    bool (*step[8])(shm_call_t *call);
    bool runs_inline; /* shm_run_inline has a version of it for short data */
    bool stages;      /* it uses staging buffers for data of any length */
} shm_algorithm_t;

/** Memory for copies of blocks that do not fit a staging buffer. */
typedef struct shm_copy_area {
    unsigned char *memory;
    size_t bytes; /* of `memory` */
    size_t used;  /* bytes of it */
    bool kept;    /* it is in shm->kept, and stays when the call ends */
} shm_copy_area_t;

/** State of a basic collective. */
struct shm_call {
    /* arguments */
    shm_t *shm;
    const ctn_basic_coll_t *basic;
    const shm_algorithm_t *algorithm;
    /* working */
    uint64_t seq;     /* number of the operation */
    unsigned step;    /* index in algorithm->step */
    uint32_t next;    /* the first member that the step still waits for */
    uint32_t end;     /* 1 + the last member that the step waits for */
    uint32_t loads;   /* of a word that is polled, before the step returns */
    bool zcopy;       /* other members read this rank's buffer */
    bool acknowledge; /* some data that this member read are zcopy */
    const void *own;  /* where this member's vector is and `out` is not */
    const void *left; /* the reduction so far */
    uint64_t arrival; /* allreduce "last": the counter `arrived` when this
                         member was counted; 0: not yet */
    catena_status_t status; /* what it ends with */
    bool mismatch;          /* a vector had another length, or no valid data */
    uint32_t peer_checks;   /* exec->peer_checks when it was last compared */
    size_t longest; /* bytes of the longest block that eager rows must take */
    shm_copy_area_t copy_area;
};

extern const ctn_phase_t shm_phases[];

/** The part of an algorithm that exec uses. */
#define SHM_ALGORITHM(algorithm_name, synchronizes)                            \
    {                                                                          \
        .name = (algorithm_name), .state_bytes = sizeof(shm_call_t),           \
        .phases = shm_phases, .synchronizing = (synchronizes),                 \
    }

/** Select the algorithm of each basic collective, by what all members know. */
const shm_algorithm_t *shm_barrier_algorithm(const shm_t *shm,
                                             const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_fanin_algorithm(const shm_t *shm,
                                           const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_fanout_algorithm(const shm_t *shm,
                                            const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_bcast_algorithm(const shm_t *shm,
                                           const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_reduce_algorithm(const shm_t *shm,
                                            const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_allreduce_algorithm(const shm_t *shm,
                                               const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_scan_algorithm(const shm_t *shm,
                                          const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_exscan_algorithm(const shm_t *shm,
                                            const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_gather_algorithm(const shm_t *shm,
                                            const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_scatter_algorithm(const shm_t *shm,
                                             const ctn_basic_coll_t *basic);
const shm_algorithm_t *shm_allgather_algorithm(const shm_t *shm,
                                               const ctn_basic_coll_t *basic);
const shm_algorithm_t *
shm_reduce_scatter_algorithm(const shm_t *shm, const ctn_basic_coll_t *basic);

/** Names of algorithms, NULL-terminated, where there are several. */
extern const char *const shm_barrier_names[];
extern const char *const shm_bcast_names[];
extern const char *const shm_reduce_names[];
extern const char *const shm_allreduce_names[];
extern const char *const shm_scan_names[];
extern const char *const shm_block_names[]; /* of gather and so on */

/** Run "flat" allreduce, "flat" reduce, staged bcast, or allgather inline, as
 * operation `seq`, with up to shm->descriptor_data bytes of each member. */
catena_status_t shm_run_inline(shm_t *shm, ctn_basic_kind_t kind,
                               const ctn_basic_coll_t *basic, uint64_t seq);

/** The generation barrier (ctn_sequence_barrier_due). The first algorithm
 * enters it and waits for all members, the second one only waits. */
extern const shm_algorithm_t shm_generation_barrier_algorithm;
extern const shm_algorithm_t shm_generation_barrier_end_algorithm;

/** The value for exec->spin_polls while this member waits for the members from
 * `first` to `end` - 1: 0 unless oversubscribed and all of them last ran on
 * other cores. */
uint16_t shm_spins_for(const shm_t *shm, uint32_t first, uint32_t end);

/** The algorithm of a NULL-terminated list that the caller requested; or
 * NULL. */
const shm_algorithm_t *
shm_named_algorithm(const shm_algorithm_t *const *algorithms,
                    const ctn_basic_coll_t *basic);

/* ---- flags ---- */

/** The generation of an operation. Their number is a power of two. */
static inline size_t shm_generation(const shm_t *shm, uint64_t seq)
{
    return seq & (shm->sequence.generations - 1u);
}

static inline shm_descriptor_t *shm_descriptor_of(const shm_call_t *call,
                                                  uint32_t i)
{
    const ctn_node_area_t *area = &call->shm->area;
    return ctn_node_entry(area, &area->descriptor, call->seq, i);
}

static inline shm_last_t *shm_last_of(const shm_call_t *call)
{
    return &call->shm->last[shm_generation(call->shm, call->seq)];
}

/** Count this member among those that have arrived, in allreduce "last".
 * @return the counter */
static inline uint64_t shm_count(const shm_t *shm, uint64_t seq)
{
    return __atomic_add_fetch(&shm->last[shm_generation(shm, seq)].arrived, 1,
                              __ATOMIC_ACQ_REL);
}

/** Set a word of this member. */
static inline void shm_set(const shm_call_t *call, uint64_t *word)
{
    ctn_node_set(call->shm->module.exec, word, call->seq);
}

/** Tell the others that this member has read all zcopy data. */
static inline void shm_depart(const shm_call_t *call)
{
    shm_set(call,
            ctn_node_departed(&call->shm->area, call->seq, call->shm->me));
}

/** Whether a word of another member is set. */
static inline bool shm_is_set(const shm_call_t *call, const uint64_t *word)
{
    return ctn_node_is_set(word, call->seq, call->loads);
}

/** The same, in a step that waits for member i only. */
static inline bool shm_is_set_by(shm_call_t *call, uint32_t i,
                                 const uint64_t *word)
{
    call->next = i;
    call->end = i + 1;
    return shm_is_set(call, word);
}

/** Steps: wait until all members have arrived, have departed, or have published
 * their descriptors. */
bool shm_all_arrived(shm_call_t *call);
bool shm_all_departed(shm_call_t *call);
bool shm_all_descriptors(shm_call_t *call);

/* ---- data ---- */

/** A member's staging buffer of this generation: one chunk. */
static inline unsigned char *shm_staging_of(const shm_call_t *call, uint32_t i)
{
    return call->shm->peer[i].staging +
           shm_generation(call->shm, call->seq) * CTN_CHUNK_BYTES;
}

/** Member i's eager row, if all rows have up to `longest` bytes: the rows of a
 * generation then lie side by side. */
void *shm_eager_row_of(const shm_call_t *call, uint32_t i, size_t longest);
/** Where member i puts staged data of `bytes`, up to a chunk. */
void *shm_place_of(const shm_call_t *call, uint32_t i, size_t bytes);
/** Publish a vector to all members: zcopy if `may_zcopy` and it lies in the
 * shared heap, else staged. */
void shm_publish(shm_call_t *call, const void *data, size_t bytes,
                 bool may_zcopy);
/** The vector that member i has published; its word has been seen. @return
 * NULL: it has another length, and the call fails */
const void *shm_published(shm_call_t *call, uint32_t i);
/** Whether the published data of member i are zcopy. */
static inline bool shm_is_zcopy(const shm_call_t *call, uint32_t i)
{
    return shm_descriptor_of(call, i)->offset < SHM_MARKS;
}
/** The vector of member i has the length in `mark`, or no valid data: log it,
 * and let the call fail. */
void shm_report_mismatch(shm_call_t *call, uint32_t i, uint64_t mark);
/** Whether the call fails with a mismatch. It then does not wait for what other
 * members may never do. */
static inline bool shm_gives_up(const shm_call_t *call)
{
    return call->mismatch;
}

static inline void shm_copy(const shm_call_t *call, void *to, const void *from,
                            size_t bytes)
{
    if (bytes > 0) { /* the address of no bytes may be invalid */
        ctn_exec_copy(call->shm->module.exec, to, from, bytes);
    }
}

/** out = left op right, of call->basic->by. */
void shm_reduce(shm_call_t *call, const void *left, const void *right,
                void *out, size_t bytes);

#endif
