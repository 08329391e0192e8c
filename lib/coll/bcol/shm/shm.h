#ifndef CTN_COLL_BCOL_SHM_SHM_H
#define CTN_COLL_BCOL_SHM_SHM_H

#include "coll/bcol/bcol.h"

/* The component of flags and the shared heap, for members of one node.
 *
 *   in the memory of member 0, for each generation:
 *     flag[i]        a word of each member: it has arrived, or it has read
 *     descriptor[i]  of each member: a word, and some data or their location
 *     fold_flag[i]   another word of each member
 *     eager_row[i]   up to 2 KiB of data of each member; no words
 *     last           the member that reduced for all, and how many arrived
 *   in each member's own memory, for each generation: a staging buffer
 *
 * Words hold ctn_flag64(seq) and are written after the data that they publish.
 * Only flags and descriptors contain words, so a word is never read from data,
 * whatever the lengths of the operation that used the generation before. No one
 * checks whether a generation is free (exec/generations.h). A vector in the
 * shared heap may be zcopy: its descriptor has its offset, and the owner does
 * not end before all readers have set their flags. A descriptor tells the
 * length. A reader that expects another length does not use the data, does what
 * other members wait for, and fails. If the number of chunks differs, later
 * operations would not match any more, so the job aborts.
 *
 * If oversubscribed, the members' words lie close together, since a switch of
 * processes precedes each look at them. Otherwise every writer has cache lines
 * of its own. */

#define SHM_GENERATIONS 16u
#define SHM_FLIGHT 4u
/* Of a module that serves one collective at a time. */
#define SHM_FEW_GENERATIONS 8u
#define SHM_FEW_FLIGHT 2u
#define SHM_EAGER_ROW_BYTES CTN_SHM_EAGER_ROW_BYTES

typedef struct shm_descriptor {
    uint64_t word;
    uint64_t offset; /* of zcopy data, in the owner's arena; then `data` has
                        their mark or location. Of staged data: a mark with
                        their length (shm_vector_mark, shm_staged_block) */
    unsigned char data[]; /* [descriptor_data], aligned for users' functions */
} shm_descriptor_t;

#define SHM_STAGED UINT64_MAX

/** The mark that tells the length of a chunk of a vector. */
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

/** The mark of a staged block, up to a chunk long. A member that expects
 * another length detects it. */
static inline uint64_t shm_staged_block(size_t bytes)
{
    return SHM_STAGED - bytes;
}

/** Shared by all members, for each generation. */
typedef struct shm_last {
    uint64_t word;    /* all vectors are reduced */
    uint64_t arrived; /* counter: all members add 1 */
    uint64_t folder;  /* the member that reduced; + size: after a mismatch */
    uint64_t unused[5];
} shm_last_t;

/** Memory that stays when an operation ends, for copies that others read. */
typedef struct shm_kept {
    void *memory;
    size_t bytes;
    uint64_t seq; /* of the last operation that used it */
} shm_kept_t;

/** A member, as this one accesses it. */
typedef struct shm_peer {
    ctn_endpoint_t *endpoint;
    unsigned char *staging; /* [generation] of CTN_CHUNK_BYTES */
} shm_peer_t;

typedef struct shm {
    ctn_module_t module;
    ctn_sequence_t sequence;
    uint32_t size;
    uint32_t me;
    bool oversubscribed;
    uint32_t cpu; /* 1 + the core that this member last reported */
    uint64_t generation_barrier; /* 1 + the last one entered without waiting for
                                    others */
    unsigned char *memory;       /* of this member */
    /* In the memory of member 0, see above: [generation][size], and their
     * strides. */
    size_t flag_stride;
    size_t descriptor_stride;
    size_t fold_flag_stride;
    size_t descriptor_data; /* most data in a descriptor */
    unsigned char *flags;
    unsigned char *descriptors;
    unsigned char *fold_flags;
    unsigned char *eager_rows;
    shm_last_t *last; /* [generation] */
    uint32_t *cpus;   /* [size] */
    shm_peer_t *peer; /* [size] */
    shm_kept_t kept[SHM_GENERATIONS];
} shm_t;

typedef struct shm_call shm_call_t;

/** An algorithm of one basic collective: steps, one after the other. */
typedef struct shm_algorithm {
    ctn_algorithm_t base; /* SHM_ALGORITHM */
    /** Do what can be done now. @return true: the step has ended. call->next is
     * 0 when a step begins, and is the member to wait for; call->end is the end
     * of the members waited for. */
    bool (*step[8])(shm_call_t *call);
    bool runs_inline; /* short vectors only run in shm_run_inline */
} shm_algorithm_t;

/** Memory for copies of what does not fit a staging buffer. */
typedef struct shm_copy_area {
    unsigned char *memory;
    size_t bytes;
    size_t used;
    bool kept; /* it stays when the call ends */
} shm_copy_area_t;

/** State of a basic collective. */
struct shm_call {
    /* arguments */
    shm_t *shm;
    const ctn_basic_coll_t *basic;
    const shm_algorithm_t *algorithm;
    /* working */
    uint64_t seq;
    unsigned step;
    uint32_t next;
    uint32_t end;
    uint32_t loads;   /* at a word, before anything else is polled */
    bool zcopy;       /* others read this rank's buffer */
    bool acknowledge; /* a block that was read is zcopy */
    const void *own;  /* this member's vector, not where `out` is written */
    const void *left; /* the reduction so far */
    uint64_t at;      /* for each algorithm to use; 0 at first */
    catena_status_t status; /* what it ends with */
    bool mismatch;          /* a vector had another length */
    uint32_t peer_checks;   /* of exec, at the begin or at the last check */
    size_t longest;         /* of the blocks that may lie in eager rows */
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

/** Run "flat" allreduce and reduce, staged bcast, or allgather of up to
 * shm->descriptor_data bytes inline, as operation `seq`. */
catena_status_t shm_run_inline(shm_t *shm, ctn_basic_kind_t kind,
                               const ctn_basic_coll_t *basic, uint64_t seq);

/** The generation barrier (ctn_sequence_barrier_due): entering it and waiting
 * for all, and only waiting for all. */
extern const shm_algorithm_t shm_generation_barrier_algorithm;
extern const shm_algorithm_t shm_generation_barrier_end_algorithm;

/** For exec->spin_polls, if oversubscribed: while waiting for the members from
 * `first` to `end` - 1. */
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

static inline size_t shm_index(const shm_call_t *call, uint32_t i)
{
    return shm_generation(call->shm, call->seq) * call->shm->size + i;
}

static inline uint64_t *shm_flag_of(const shm_call_t *call, uint32_t i)
{
    const shm_t *shm = call->shm;
    return (void *)(shm->flags + shm_index(call, i) * shm->flag_stride);
}

static inline shm_descriptor_t *shm_descriptor_of(const shm_call_t *call,
                                                  uint32_t i)
{
    const shm_t *shm = call->shm;
    return (void *)(shm->descriptors +
                    shm_index(call, i) * shm->descriptor_stride);
}

static inline uint64_t *shm_fold_flag_of(const shm_call_t *call, uint32_t i)
{
    const shm_t *shm = call->shm;
    return (void *)(shm->fold_flags +
                    shm_index(call, i) * shm->fold_flag_stride);
}

static inline shm_last_t *shm_last_of(const shm_call_t *call)
{
    return &call->shm->last[shm_generation(call->shm, call->seq)];
}

/** Count this member among those that have arrived, in allreduce "last". */
static inline uint64_t shm_count(const shm_t *shm, uint64_t seq)
{
    return __atomic_add_fetch(&shm->last[shm_generation(shm, seq)].arrived, 1,
                              __ATOMIC_ACQ_REL);
}

/** Set a word of this member. */
static inline void shm_set_flag(const shm_call_t *call, uint64_t *word)
{
    ctn_exec_post(call->shm->module.exec, word, ctn_flag64(call->seq));
}

/** Whether a word of another member is set. */
static inline bool shm_is_set(const shm_call_t *call, const uint64_t *word)
{
    return ctn_word_becomes(word, ctn_flag64(call->seq), call->loads);
}

/** The same, in a step that waits for this member only. */
static inline bool shm_is_set_by(shm_call_t *call, uint32_t i,
                                 const uint64_t *word)
{
    call->next = i;
    call->end = i + 1;
    return shm_is_set(call, word);
}

/** Whether all members' flags, or descriptors, are set. Counts in
 * call->next. */
bool shm_all_flags(shm_call_t *call);
bool shm_all_descriptors(shm_call_t *call);

/* ---- data ---- */

/** A member's staging buffer of this generation: one chunk. */
static inline unsigned char *shm_staging_of(const shm_call_t *call, uint32_t i)
{
    return call->shm->peer[i].staging +
           shm_generation(call->shm, call->seq) * CTN_CHUNK_BYTES;
}

/** Member i's eager row, when rows have up to `longest` bytes and lie close
 * together. */
void *shm_eager_row_of(const shm_call_t *call, uint32_t i, size_t longest);
/** Where member i puts staged data of `bytes`, up to a chunk. */
void *shm_place_of(const shm_call_t *call, uint32_t i, size_t bytes);
/** Publish data to all members: copied, or zcopy if allowed and possible. */
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
/** Whether a failing call does not wait for what other members may never do. */
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
