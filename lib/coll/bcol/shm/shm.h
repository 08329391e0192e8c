#ifndef CTN_COLL_BCOL_SHM_SHM_H
#define CTN_COLL_BCOL_SHM_SHM_H

#include "coll/bcol/bcol.h"
#include "core/tiny.h"
#include "exec/slot.h"
#include "topo/node.h"

/** The longest vector of a bcast. */
#define SHM_BCAST_BYTES CTN_PICK((size_t)1 << 18, (size_t)1 << 14)
/** An eager row of the component shm. */
#define SHM_EAGER_ROW_BYTES CTN_PICK(2048u, 512u)
/** The longest data in an eager row if staged data rotate: longer ones do
 * so in staging buffers (2 KiB: allgather 0.79 us, not 0.91; scan 0.54, not
 * 0.68). */
#define SHM_PAIR_ROW_BYTES CTN_PICK(1024u, 400u)

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
 * zcopy data, or copies that stay; a descriptor has some data or their
 * location; an eager row takes data of up to shm_row_data bytes.
 *
 * Data are *staged*, that is copied to the descriptor, eager row or staging
 * buffer of a member, or *zcopy* (zero-copy): they stay where they are, the
 * descriptor has their offset in the heap, or their address if readers only
 * copy them and the system allows that (exec/attach.h), and their owner does
 * not end before all readers have set `departed`. Longer blocks may also go
 * through a copy area (see below). The descriptor tells the length in all
 * cases. A reader that expects another length does not use the data, does what
 * other members wait for, and fails. If the number of chunks differs, later
 * operations would not match any more, so the job aborts.
 */

/** The fewest bytes of a block outside the heap that another member reads
 * there, where members share cores: fewer are as fast through the heap. */
#define SHM_ATTACH_BYTES CTN_PICK(65536u, 1024u)
/** The same, to read or to write, if more than two members have a core each:
 * accesses to the memory of one process wait for each other. */
#define SHM_ATTACH_MANY_BYTES CTN_PICK(262144u, 2048u)

/* Of a module's sequence: generations, and operations that run at once. */
#define SHM_GENERATIONS 16u
#define SHM_FLIGHT 4u

/** What a member publishes: the length of its data, and the data or where they
 * are. */
typedef struct shm_descriptor {
    uint64_t word;
    /** Staged data: SHM_STAGED less their mark. Else the offset of the data in
     * the owner's arena, or their address with CTN_BY_ADDRESS; `data` then has
     * a shm_location_t. */
    uint64_t offset;
    unsigned char data[]; /* [descriptor_data], aligned for users' functions */
} shm_descriptor_t;

#define SHM_STAGED UINT64_MAX
#define SHM_MARK_CHUNKS (UINT32_C(1) << 28)
/** No mark of staged data reaches this; no place is that close to SHM_STAGED.
 */
#define SHM_MARKS (UINT64_C(1) << 60)

/** Where published data are that are not staged. */
typedef enum shm_storage {
    SHM_ZCOPY,   /* the owner waits until they have been read */
    SHM_PLACED,  /* the owner has written them to their target */
    SHM_KEPT,    /* in memory that stays until they have been read */
    SHM_MISSING, /* there was no memory */
    SHM_MISMATCH /* the owner has no valid data */
} shm_storage_t;

typedef struct shm_location {
    uint64_t mark;
    uint64_t storage; /* shm_storage_t */
    uint64_t filled;  /* a count: how many bytes of them are there. It is
                         written before the descriptor's word, too, and so
                         needs no number of the operation */
} shm_location_t;

/** In a gather, where member i may write its data: behind the location in its
 * descriptor, which the root fills before it sets its own word. */
typedef struct shm_offer {
    uint64_t place; /* in the root's memory, see exec/attach.h */
    uint64_t bytes; /* that the root expects */
    uint64_t tag;   /* of this operation and this offer: what a member has
                       staged there before is not taken for one */
} shm_offer_t;

/** The mark of a vector, which tells its length: number of chunks (from bit 32
 * on, modulo 2^28), and bytes of this chunk. The mark of a block is its length;
 * that of the vector of a reduce_scatter also has a digest of the lengths of
 * its blocks, from bit 40 on. */
static inline uint64_t shm_vector_mark(const ctn_basic_coll_t *basic)
{
    return (uint64_t)(basic->chunks % SHM_MARK_CHUNKS) << 32 | basic->bytes;
}

/** Of allreduce "last" (reduce.c); shared by all members, for each
 * generation. */
typedef struct shm_last {
    uint64_t word;    /* all vectors are reduced */
    uint64_t arrived; /* counter, never reset: each operation adds `size` */
    uint64_t folder;  /* the member that reduced; plus size: with a mismatch */
    uint64_t rows;    /* of generation 0: not 0 after a member might use eager
                         rows; every member sets it */
    uint64_t unused[4]; /* fills a cache line */
} shm_last_t;

typedef struct shm_algorithm shm_algorithm_t;

/** Memory for copies that other members may still read when the operation has
 * ended. The module keeps it for later operations. */
typedef struct shm_kept {
    void *memory;
    size_t bytes;
    uint64_t seq;          /* of the last operation that used it */
    uint32_t first_reader; /* members that may read it */
    uint32_t last_reader;
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
    bool has_rows;          /* those of all eager rows are mapped */
    bool has_staging;       /* those of its staging buffers are mapped */
    size_t descriptor_data; /* bytes of data that fit a descriptor */
    ctn_node_area_t area;   /* in the memory of member 0 */
    shm_last_t *last;       /* [generations], also there */
    shm_peer_t *peer;       /* [size] */
    shm_kept_t kept[SHM_GENERATIONS];
    size_t kept_bytes; /* of all of them */
} shm_t;

typedef struct shm_call shm_call_t;

/** An algorithm of a basic collective: a list of steps, run one after the
 * other. */
struct shm_algorithm {
    ctn_algorithm_t base; /* SHM_ALGORITHM */
    /** NULL-terminated. A step does what can be done now; true: it has ended. A
     * step that waits for members counts in call->next, which is 0 when it
     * begins: the first member that it still waits for. */
    bool (*step[6])(shm_call_t *call);
    /** Data from this length on are zero-copy if they lie in the shared heap,
     * or `by_address`, and do not fit a descriptor. A copy costs more than the
     * wait for the readers then. */
    size_t zcopy_bytes;
    bool by_rule;     /* rules say that instead */
    bool vector;      /* it publishes vectors; else blocks */
    bool runs_inline; /* shm_run_inline has a version of it for short data */
    bool stages;      /* it uses staging buffers for data of any length */
    bool by_address;  /* zero-copy data may lie outside the heap: members read
                         them by shm_take alone */
};

/** Memory for copies of blocks that do not fit a staging buffer. */
typedef struct shm_copy_area {
    unsigned char *memory;
    size_t bytes; /* of `memory` */
    size_t used;  /* bytes of it */
    bool kept;    /* it is in shm->kept, and stays when the call ends */
} shm_copy_area_t;

/** The fewest bytes of a block that goes by its address.
 * @param shared if members share cores
 * @param pair   of two members with a core each */
static inline size_t shm_attach_bytes(const shm_t *shm, size_t shared,
                                      size_t pair)
{
    return shm->area.oversubscribed ? shared
           : shm->size > 2          ? SHM_ATTACH_MANY_BYTES
                                    : pair;
}

/** State of a basic collective. */
struct shm_call {
    /* arguments */
    shm_t *shm;
    ctn_basic_kind_t kind;
    const ctn_basic_coll_t *basic;
    const shm_algorithm_t *algorithm;
    /* working */
    uint64_t seq;     /* number of the operation */
    unsigned step;    /* index in algorithm->step */
    uint32_t next;    /* the first member that the step still waits for */
    uint32_t end;     /* 1 + the last member that the step waits for */
    uint32_t loads;   /* of a word that is polled, before the step returns */
    bool zcopy;       /* other members read this rank's buffer */
    bool acknowledge; /* an owner asks whether this member has read its data */
    const void *own;  /* where this member reads its vector */
    const void *left; /* the reduction so far */
    uint64_t digest;  /* reduce_scatter: part of its mark; else 0 */
    uint64_t arrival; /* allreduce "last": the counter `arrived` when this
                         member was counted; 0: not yet */
    catena_status_t status; /* what it ends with */
    bool mismatch;          /* a vector had another length, or no valid data */
    uint32_t peer_checks;   /* exec->peer_checks when it was last compared */
    size_t longest; /* bytes of the longest data that eager rows must take */
    size_t zcopy_bytes; /* see shm_algorithm_t */
    size_t taken;       /* of the data that shm_take is taking */
    shm_copy_area_t copy_area;
};

extern const ctn_phase_t shm_phases[];

/** The part of an algorithm that exec uses. */
#define SHM_ALGORITHM(algorithm_name, synchronizes)                            \
    {                                                                          \
        .name = (algorithm_name), .state_bytes = sizeof(shm_call_t),           \
        .phases = shm_phases, .synchronizing = (synchronizes),                 \
    }

/* The algorithms. */
extern const shm_algorithm_t shm_flat_barrier;
extern const shm_algorithm_t shm_root_barrier;
extern const shm_algorithm_t shm_fanin;
extern const shm_algorithm_t shm_fanout;
extern const shm_algorithm_t shm_bcast;
extern const shm_algorithm_t shm_gather;
extern const shm_algorithm_t shm_scatter;
extern const shm_algorithm_t shm_allgather;
extern const shm_algorithm_t shm_reduce_scatter;
extern const shm_algorithm_t shm_alltoall;
extern const shm_algorithm_t shm_flat; /* reduce, scan, exscan */
extern const shm_algorithm_t shm_shared_reduce;
extern const shm_algorithm_t shm_flat_allreduce;
extern const shm_algorithm_t shm_shared_allreduce;
extern const shm_algorithm_t shm_last_allreduce;
extern const shm_algorithm_t shm_chain_scan;
extern const shm_algorithm_t shm_chain_exscan;
/** Only waits for the members that have entered a generation barrier. */
extern const shm_algorithm_t shm_generation_barrier_end;

/** Those among which callers and rules select. Where they are "staged" and
 * "zero-copy", one algorithm does both. */
#define SHM_STORAGE (CTN_ALGORITHM_BIT(STAGED) | CTN_ALGORITHM_BIT(ZERO_COPY))
#define SHM_BARRIERS (CTN_ALGORITHM_BIT(FLAT) | CTN_ALGORITHM_BIT(ROOT))
#define SHM_REDUCES (CTN_ALGORITHM_BIT(FLAT) | CTN_ALGORITHM_BIT(SHARED))
#define SHM_ALLREDUCES (SHM_REDUCES | CTN_ALGORITHM_BIT(LAST))
#define SHM_SCANS (CTN_ALGORITHM_BIT(FLAT) | CTN_ALGORITHM_BIT(CHAIN))

extern const shm_algorithm_t *const shm_algorithms[CTN_BASICS][CTN_ALGORITHMS];

/** The length from which on data are zero-copy, in the algorithm that
 * shm_choose has just returned; see shm_algorithm_t. */
size_t shm_zcopy_bytes(const shm_t *shm, ctn_basic_kind_t kind,
                       const shm_algorithm_t *algorithm);

/** The length that rules match: that of the data on this member. */
static inline size_t shm_bytes_of(const shm_t *shm, ctn_basic_kind_t kind,
                                  const ctn_basic_coll_t *basic)
{
    return kind == CTN_REDUCE_SCATTER ? basic->at[shm->size] : basic->bytes;
}

/** Choose the algorithm of a basic collective. */
static inline const shm_algorithm_t *
shm_choose(shm_t *shm, ctn_basic_kind_t kind, const ctn_basic_coll_t *basic)
{
    ctn_algorithm_set_t possible = ctn_bcol_shm.algorithms[kind];
    ctn_algorithm_name_t name = CTN_ALGORITHM_AUTO; /* there is only one */
    if (possible != 0) {
        name = ctn_basic_choose(&shm->module, kind, possible, basic,
                                shm_bytes_of(shm, kind, basic));
    }
    return shm_algorithms[kind][name];
}

/** Bytes of the longest block of a basic collective whose members know all
 * lengths. */
size_t shm_longest_block(const shm_t *shm, const ctn_basic_coll_t *basic);

/** Begin operation `seq` of a call whose arguments are set. */
void shm_call_begin(shm_call_t *call, uint64_t seq);

/** Run a bcast, an allgather or a "flat" reduction inline, as operation `seq`.
 * @param longest bytes of the longest data of a member, at most
 *        shm_row_data */
catena_status_t shm_run_inline(shm_t *shm, ctn_basic_kind_t kind,
                               const ctn_basic_coll_t *basic, size_t longest,
                               uint64_t seq);

/** The two halves of that, for an operation.
 * @return whether anything is left to collect */
bool shm_publish_inline(const shm_call_t *call, size_t longest, uint64_t seq);
catena_status_t shm_collect_inline(const shm_call_t *call, size_t longest,
                                   uint64_t seq);

/** The value for exec->spin_polls while this member waits for the members from
 * `first` to `end` - 1: 0 unless oversubscribed and all of them last ran on
 * other cores. */
uint16_t shm_spins_for(const shm_t *shm, uint32_t first, uint32_t end);

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

/** Steps: wait until all members have arrived, or have published their
 * descriptors. */
bool shm_all_arrived(shm_call_t *call);
bool shm_all_descriptors(shm_call_t *call);

/* ---- data ---- */

/** Stride of eager rows. An odd number of cache lines, so that the rows of many
 * members fall into different sets of a cache. */
static inline size_t shm_eager_row_stride(size_t bytes)
{
    return (((bytes + 63) / 64) | 1) * 64;
}

/** Whether staged data rotate (ctn_eager_rotate): of two members with a core
 * each, unless the other one reads a part only (a reduce_scatter of 1 KiB then
 * takes 1.16 times as long if they do). */
static inline bool shm_rotates(const shm_t *shm, ctn_basic_kind_t kind)
{
    return shm->size == 2 && !shm->area.oversubscribed &&
           kind != CTN_REDUCE_SCATTER && kind != CTN_ALLTOALL;
}

/** The longest data in an eager row; longer ones are in staging buffers. */
static inline size_t shm_row_data(const shm_t *shm, ctn_basic_kind_t kind)
{
    return shm_rotates(shm, kind) ? SHM_PAIR_ROW_BYTES : SHM_EAGER_ROW_BYTES;
}

/** Where `bytes`, at most a chunk, begin in a member's staging buffer of this
 * generation. */
static inline unsigned char *shm_staging_of(const shm_call_t *call, uint32_t i,
                                            size_t bytes)
{
    const shm_t *shm = call->shm;
    return shm->peer[i].staging +
           shm_generation(shm, call->seq) * CTN_CHUNK_BYTES +
           (shm_rotates(shm, call->kind)
                ? ctn_eager_rotate(call->seq, shm->sequence.generations,
                                   CTN_CHUNK_BYTES, bytes)
                : 0);
}

/** Where the staged data of member i's descriptor lie, up to a chunk: in the
 * descriptor, in an eager row or in a staging buffer. */
void *shm_place_of(const shm_call_t *call, uint32_t i, size_t bytes);
/** Map the pages of all eager rows, before the first one is used. Otherwise the
 * first operation of each generation takes 20 us longer. */
CTN_COLD void shm_touch_rows(shm_t *shm);
/** Map the pages of this member's staging buffers, if data rotate through all
 * of them: by a read the kernel maps many pages at once. */
CTN_COLD void shm_touch_staging(shm_t *shm);
/** Publish data in the descriptor of member i, and set call->own to where they
 * are. If they need a copy area and there is none, the descriptor says so, and
 * the readers fail. */
void shm_publish(shm_call_t *call, uint32_t i, const void *data, size_t bytes);
/** Publish this member's data in its own descriptor; takes a copy area if they
 * need one. */
void shm_publish_own(shm_call_t *call, const void *data, size_t bytes);
/** A step: the same with basic->in, of basic->bytes. */
bool shm_publish_in(shm_call_t *call);
/** What member `owner` published in the descriptor of member i; its word has
 * been seen. Sets call->acknowledge if the data are zero-copy. @return NULL:
 * the owner had no memory or no valid data, or they have another length; the
 * call fails */
const void *shm_published(shm_call_t *call, uint32_t i, uint32_t owner,
                          size_t bytes);
/** Copy what is there of the data that member `owner` published in the
 * descriptor of member i to `to`, if they are valid, see shm_published.
 * @return whether nothing is left to copy */
bool shm_take(shm_call_t *call, uint32_t i, uint32_t owner, void *to,
              size_t bytes);
/** The root of a flat reduce has found another length: publish its own, since
 * members with another one may run "shared", and wait for the root's vector. */
CTN_COLD void shm_publish_mark(const shm_t *shm, const ctn_basic_coll_t *basic,
                               uint64_t seq);
/** Publish that this member has written its data to their target. */
void shm_publish_placed(shm_call_t *call, size_t bytes);
/** Check the length of this member's own block. @return whether it is as
 * expected; if not, the call fails */
bool shm_check_own(shm_call_t *call, size_t bytes, size_t expected);
/** Whether the data in the descriptor of member i are zero-copy. */
bool shm_is_zcopy(const shm_call_t *call, uint32_t i);

/* Data longer than a chunk that are not zero-copy go to the copy area of the
 * call. That is memory that the module keeps until their readers have them, so
 * this member does not wait for these; or, for longer data, memory allocated
 * for the call, which is zero-copy: this member waits for the readers and frees
 * it. Of a long block that is read by shm_take alone, the readers copy each
 * fragment as soon as it is there. */

/** The least memory that is kept. */
#define SHM_KEPT_LEAST CTN_PICK(65536u, 4096u)
/** The most for an operation that is not synchronizing. Its readers notify its
 * owner when they have the data, so that little memory is used, and stays in
 * the cache (gather of 1 MiB by 2 ranks with a core each: 47 us; 64 if the
 * member waits). */
#define SHM_KEPT_MOST CTN_PICK((size_t)1 << 20, (size_t)1 << 14)
/** The most for another one, whose members wait for each other anyway. */
#define SHM_KEPT_SYNCHRONIZING CTN_PICK((size_t)1 << 17, (size_t)1 << 13)
/** Memory that copies of up to half of it rotate through: to write what a
 * reader has just read is slow (bcast of 64 and 128 KiB by 2 ranks with a core
 * each, Intel Xeon: 8.0 and 13.6 us in the same memory each time, 5.4 and 9.0
 * with rotation). */
#define SHM_KEPT_ROTATED CTN_PICK((size_t)1 << 18, (size_t)1 << 15)
/** The most that a module keeps. */
#define SHM_KEPT_ALL (2 * SHM_KEPT_MOST)

/** Whether data for the descriptor of member i will be zero-copy, by their
 * length and by where they lie. @param[out] offset for the descriptor */
bool shm_may_zcopy(const shm_call_t *call, uint32_t i, const void *data,
                   size_t bytes, uint64_t *offset);
/** Take memory for `bytes` of copies. */
void shm_copy_area_take(shm_call_t *call, size_t bytes);
/** Release all kept memory, when the module is destroyed. */
void shm_release_kept(shm_t *shm);

/** Set this member's flag if anything that it read is zero-copy. */
void shm_acknowledge(shm_call_t *call);
/** The last step: shm_acknowledge, and if this member published zero-copy data,
 * wait until their readers have set their flags. */
bool shm_finish(shm_call_t *call);

static inline void shm_copy(const shm_call_t *call, void *to, const void *from,
                            size_t bytes)
{
    if (bytes > 0) { /* the address of no bytes may be invalid */
        ctn_exec_copy(call->shm->module.exec, to, from, bytes);
    }
}

/** Whether a member that reduces vectors in the order of members can read its
 * own vector in `in`. In place, the result of the first two vectors is written
 * there, which members 0 and 1 have read by then; the others must read a copy.
 * A copy that was published just now is read only if need be: a load that takes
 * bytes of several stores waits until these have reached the cache, behind all
 * that the other members still hold (allreduce of 256 B, 2 ranks with a core
 * each: 0.50 us instead of 0.25). */
static inline bool shm_in_stays(const shm_t *shm, const ctn_basic_coll_t *basic)
{
    return basic->in != basic->out || shm->me < 2;
}

/** out = left op right, of call->basic->by. */
void shm_reduce(shm_call_t *call, const void *left, const void *right,
                void *out, size_t bytes);

/** Whether a reduction is by the balanced tree, and this differs from reducing
 * one vector after the other. */
static inline bool shm_is_balanced(const shm_t *shm,
                                   const ctn_basic_coll_t *basic)
{
    return basic->balanced && shm->size > 3;
}

#endif
