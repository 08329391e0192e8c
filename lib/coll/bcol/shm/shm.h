#ifndef CTN_COLL_BCOL_SHM_SHM_H
#define CTN_COLL_BCOL_SHM_SHM_H

#include "coll/bcol/bcol.h"

/* The component of flags and the shared heap, for members of one node.
 *
 *   in the memory of member 0, for each ring:
 *     flag[i]   a word of each member: it has come, or it has read
 *     post[i]   a line of each member: word, and a few bytes of data, or where
 *               its data are
 *     share[i]  another line of each member, of a word only
 *     row[i]    up to 2 KiB of data of each member; no words
 *     last      who folded for all, and a count of those who have come
 *   in each member's own memory, for each ring: a segment, its stage
 *
 * Words hold ctn_flag64(seq) and are written after the data they announce,
 * and only lines and flags have words, so what is read as a word is a word,
 * whatever the lengths of the operation that used the ring before. Nobody asks
 * whether a ring is free (exec/control_block.h). A vector that lies in the
 * shared heap may be lent instead of copied: its post says where it lies, and
 * the lender does not end before all readers have set their flags. What is
 * shown tells its length: a reader that expects another one does not use it,
 * does what others wait for, and fails. If it has more or fewer segments than
 * the vector of that reader nothing that follows meets any more: then all ends.
 *
 * With more ranks than cores what each member has lies close together, since
 * each look at it follows a switch of process; else every writer has
 * lines of its own. */

#define SHM_GENERATIONS 16u
#define SHM_FLIGHT 4u
/* Of a module that serves one collective at a time. */
#define SHM_FEW_GENERATIONS 8u
#define SHM_FEW_FLIGHT 2u
#define SHM_EAGER_ROW_BYTES CTN_SHM_EAGER_ROW_BYTES

typedef struct shm_descriptor {
    uint64_t word;
    uint64_t offset; /* of data that is lent, in its owner's arena; what it is
                        is in `data`. Of what is where data of its length is
                        put: shm_vector_mark, shm_staged_block */
    unsigned char data[]; /* shm->descriptor_data; aligned as users' functions
                             expect */
} shm_descriptor_t;

#define SHM_STAGED UINT64_MAX

/** What says of a vector's segment how long it is. */
static inline uint64_t shm_vector_mark(const ctn_basic_coll_t *basic)
{
    return SHM_STAGED - (basic->chunks << 16 | basic->bytes);
}

/** The same for a vector whose owner has no valid data. */
static inline uint64_t shm_mismatch_mark(const ctn_basic_coll_t *basic)
{
    return SHM_STAGED - (basic->chunks << 16 | UINT16_MAX);
}

/** Offsets of this value and above are marks. */
#define SHM_MARKS (SHM_STAGED - UINT32_MAX)

_Static_assert(CTN_CHUNK_BYTES < UINT16_MAX, "a length fits its bits");

/** The offset that says of a block, of up to a segment, that it is where data
 * of this length is put. So who expects another length finds out. */
static inline uint64_t shm_staged_block(size_t bytes)
{
    return SHM_STAGED - bytes;
}

/** Common to all members, for each ring. */
typedef struct shm_last {
    uint64_t word;    /* ctn_flag64(seq): all are folded */
    uint64_t arrived; /* all of them add 1 */
    uint64_t folder;  /* the member that folded */
    uint64_t unused[5];
} shm_last_t;

/** Memory that stays when an operation ends, for copies that others read. */
typedef struct shm_kept {
    void *memory;
    size_t bytes;
    uint64_t seq; /* of the last operation that used it */
} shm_kept_t;

/** A member, as this one reaches it. */
typedef struct shm_peer {
    ctn_endpoint_t *endpoint;
    unsigned char *staging; /* [ring] of CTN_CHUNK_BYTES */
} shm_peer_t;

typedef struct shm {
    ctn_module_t module;
    ctn_sequence_t sequence;
    uint32_t size;
    uint32_t me;
    bool oversubscribed;
    uint32_t cpu; /* 1 + where this member runs, as it has said */
    uint64_t
        generation_barrier; /* 1 + the last that was passed ahead of others */
    unsigned char *memory;  /* its own */
    /* In the memory of member 0, see above: [ring][size], so far apart. */
    size_t flag_stride;
    size_t descriptor_stride;
    size_t fold_flag_stride;
    size_t descriptor_data; /* most in a post */
    unsigned char *flags;
    unsigned char *descriptors;
    unsigned char *fold_flags;
    unsigned char *eager_rows;
    shm_last_t *last; /* [ring] */
    uint32_t *cpus;   /* [size] */
    shm_peer_t *peer; /* [size] */
    shm_kept_t kept[SHM_GENERATIONS];
} shm_t;

typedef struct shm_call shm_call_t;

/** A way to do one kind of basic collective: steps, one after the other. */
typedef struct shm_algorithm {
    ctn_algorithm_t base; /* SHM_ALGORITHM */
    /** Do what can be done now; true: the step is over. Call->seen is 0 when a
     * step begins, and counts members up to who is waited for, of those below
     * call->end: all of them, or who alone is. */
    bool (*step[8])(shm_call_t *call);
    bool
        runs_inline; /* vectors of a line only can be had from shm_run_inline */
} shm_algorithm_t;

/** Where a call copies what fits no place. */
typedef struct shm_copy_area {
    unsigned char *memory;
    size_t bytes;
    size_t used;
    bool kept; /* it stays when the call ends */
} shm_copy_area_t;

/** What is known of one basic collective under way. */
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
    uint32_t loads;   /* at a word before something else is looked after */
    bool zcopy;       /* others read what is the caller's */
    bool acknowledge; /* a block that was read is lent */
    const void *own;  /* own vector, where it stays while `out` is written */
    const void *left; /* what has been folded so far */
    uint64_t at;      /* for each way to use; 0 at first */
    catena_status_t status; /* what it ends with */
    bool mismatch;          /* some vector had another length */
    uint32_t peer_checks;   /* exec's, when it began or looked */
    size_t longest;         /* of the blocks that may lie in rows */
    shm_copy_area_t copy_area;
};

extern const ctn_phase_t shm_phases[];

/** The part of a way that exec sees. */
#define SHM_ALGORITHM(algorithm_name, synchronizes)                            \
    {                                                                          \
        .name = (algorithm_name), .state_bytes = sizeof(shm_call_t),           \
        .phases = shm_phases, .synchronizing = (synchronizes),                 \
    }

/** A way for each kind, by what all members know. */
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

/** Their names, NULL-terminated; where there is more than one. */
extern const char *const shm_barrier_names[];
extern const char *const shm_bcast_names[];
extern const char *const shm_reduce_names[];
extern const char *const shm_allreduce_names[];
extern const char *const shm_scan_names[];
extern const char *const shm_block_names[]; /* of gather and so on */

/** What "flat" allreduce and reduce, staged bcast, and allgather do with
 * vectors of up to shm->descriptor_data; alone, under the number `seq`. */
catena_status_t shm_run_inline(shm_t *shm, ctn_basic_kind_t kind,
                               const ctn_basic_coll_t *basic, uint64_t seq);

/** What all come to now and then (ctn_sequence_barrier_due), and that all have.
 */
extern const shm_algorithm_t shm_generation_barrier_algorithm;
extern const shm_algorithm_t shm_generation_barrier_end_algorithm;

/** On crowded hosts, for exec->spin_polls: who waits for the members from
 * `first` on, below `end`. */
uint16_t shm_spins_for(const shm_t *shm, uint32_t first, uint32_t end);

/** The one of `ways` (NULL-terminated) that the caller has named, or NULL. */
const shm_algorithm_t *
shm_named_algorithm(const shm_algorithm_t *const *algorithms,
                    const ctn_basic_coll_t *basic);

/* ---- words ---- */

/** The ring of an operation: their number is a power of two. */
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

/** Count this member among those of an allreduce by who comes last. */
static inline uint64_t shm_count(const shm_t *shm, uint64_t seq)
{
    return __atomic_add_fetch(&shm->last[shm_generation(shm, seq)].arrived, 1,
                              __ATOMIC_ACQ_REL);
}

/** Say something with a word of one's own. */
static inline void shm_set_flag(const shm_call_t *call, uint64_t *word)
{
    ctn_exec_post(call->shm->module.exec, word, ctn_flag64(call->seq));
}

/** Whether a word that another member says has come. */
static inline bool shm_is_set(const shm_call_t *call, const uint64_t *word)
{
    return ctn_word_becomes(word, ctn_flag64(call->seq), call->loads);
}

/** The same of a member whom alone the step waits for. */
static inline bool shm_is_set_by(shm_call_t *call, uint32_t i,
                                 const uint64_t *word)
{
    call->next = i;
    call->end = i + 1;
    return shm_is_set(call, word);
}

/** Whether all members have set their flags; likewise posts. Counts in
 * call->seen. */
bool shm_all_flags(shm_call_t *call);
bool shm_all_descriptors(shm_call_t *call);

/* ---- data ---- */

/** Where a member's stage for this ring is: a segment. */
static inline unsigned char *shm_staging_of(const shm_call_t *call, uint32_t i)
{
    return call->shm->peer[i].staging +
           shm_generation(call->shm, call->seq) * CTN_CHUNK_BYTES;
}

/** Member i's row among those of up to `longest` bytes, which lie close
 * together. */
void *shm_eager_row_of(const shm_call_t *call, uint32_t i, size_t longest);
/** Where member i puts data of so many bytes, up to a segment, that are not
 * lent. */
void *shm_place_of(const shm_call_t *call, uint32_t i, size_t bytes);
/** Show data to all: by a copy, or lent when that is allowed and possible. */
void shm_publish(shm_call_t *call, const void *data, size_t bytes,
                 bool may_zcopy);
/** Where the vector is that member i has shown; its post has been seen. NULL:
 * it has another length, and the call fails. */
const void *shm_published(shm_call_t *call, uint32_t i);
/** Whether what member i shows is lent. */
static inline bool shm_is_zcopy(const shm_call_t *call, uint32_t i)
{
    return shm_descriptor_of(call, i)->offset < SHM_MARKS;
}
/** A vector of member i has the length that `mark` says, or none: the call
 * fails. */
void shm_report_mismatch(shm_call_t *call, uint32_t i, uint64_t mark);
/** Whether a call that fails need not wait for what others may never do. */
static inline bool shm_gives_up(const shm_call_t *call)
{
    return call->mismatch;
}

static inline void shm_copy(const shm_call_t *call, void *to, const void *from,
                            size_t bytes)
{
    if (bytes > 0) { /* of nothing there may be no address */
        ctn_exec_copy(call->shm->module.exec, to, from, bytes);
    }
}

/** out = left op right, of call->basic->by. */
void shm_reduce(shm_call_t *call, const void *left, const void *right,
                void *out, size_t bytes);

#endif
