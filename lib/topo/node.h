#ifndef CTN_TOPO_NODE_H
#define CTN_TOPO_NODE_H

#include "core/tiny.h"
#include "exec/exec.h"

/* Node area: what the members of a sequence that share memory tell each other,
 * in the memory of one of them. The user sequence of a group has one
 * (topo/topo.h), and so has every module of the component shm. A flag is a word
 * by which a member publishes that it has reached some point of an operation.
 *
 *   arrived     flag: the member has started, or its part of a result is there
 *   departed    flag: the member no longer reads what other members published;
 *               in a barrier, the root lets all members leave
 *   descriptor  a word, and data of the member or where its buffers are
 *   row         eager row: data of the member, no words
 *   cpu         the core on which a member runs
 *
 * Each has one entry for each generation and member, except `cpu`; the member
 * writes it, unless a comment names another one. Words hold ctn_flag64(seq),
 * and are written after the data that they publish. The memory of words never
 * holds data, so old data are not taken for a word. Nobody checks whether a
 * generation is free: it is (exec/generations.h). */

/** Most members of a flat barrier where each rank has a core. */
#define CTN_FLAT_MEMBERS CTN_PICK(8u, 4u)

/** Entries of all members, for each generation. */
typedef struct ctn_node_entries {
    unsigned char *first;
    size_t stride;     /* bytes from a member's entry to the next one's */
    size_t generation; /* bytes from a generation's entries to the next one's */
} ctn_node_entries_t;

/** A node area, as one member has it. */
typedef struct ctn_node_area {
    /* What its layout follows from: */
    uint32_t members;
    uint32_t generations; /* of the sequence: a power of two, at most 16 */
    bool oversubscribed;
    size_t descriptor_bytes; /* of one; a multiple of 64 */
    size_t row_bytes;        /* of one; a multiple of 64; 0: no rows */
    /* The layout: */
    ctn_node_entries_t arrived;
    ctn_node_entries_t departed;
    ctn_node_entries_t descriptor;
    ctn_node_entries_t row; /* at the end */
    uint32_t *cpus; /* [members]: 1 + the core on which a member last ran; 0:
                       not published */
    /* Of this member: */
    uint32_t me;
    uint32_t cpu; /* what it published last in cpus[me] */
} ctn_node_area_t;

/** Round up to pairs of cache lines. */
static inline size_t ctn_line_up(size_t bytes)
{
    return (bytes + 127) & ~(size_t)127;
}

/** Set the layout of an area in `memory`, which is aligned to 128 bytes and was
 * zero before any member used it. With NULL only the size is meaningful.
 * @param[out] words bytes of all but the rows; may be NULL
 * @return bytes of the area */
size_t ctn_node_area_map(ctn_node_area_t *area, unsigned char *memory,
                         size_t *words);

/** Set the layout of flags of `members` at `memory` + *at, and advance *at past
 * them. With 1 generation they serve all operations. */
ctn_node_entries_t ctn_node_flags(unsigned char *memory, size_t *at,
                                  uint32_t members, uint32_t generations,
                                  bool oversubscribed);

/** Return member i's entry for operation `seq`. */
static inline void *ctn_node_entry(const ctn_node_area_t *area,
                                   const ctn_node_entries_t *entries,
                                   uint64_t seq, uint32_t i)
{
    return entries->first +
           (seq & (area->generations - 1)) * entries->generation +
           i * entries->stride;
}

static inline uint64_t *ctn_node_arrived(const ctn_node_area_t *area,
                                         uint64_t seq, uint32_t i)
{
    return ctn_node_entry(area, &area->arrived, seq, i);
}

static inline uint64_t *ctn_node_departed(const ctn_node_area_t *area,
                                          uint64_t seq, uint32_t i)
{
    return ctn_node_entry(area, &area->departed, seq, i);
}

/** Set a word of this member for operation `seq`. */
static inline void ctn_node_set(ctn_exec_t *exec, uint64_t *word, uint64_t seq)
{
    ctn_exec_post(exec, word, ctn_flag64(seq));
}

/** Return whether a word is set, after at most `loads` loads (> 0). */
static inline bool ctn_node_is_set(const uint64_t *word, uint64_t seq,
                                   uint32_t loads)
{
    return ctn_word_reaches(word, ctn_flag64(seq), loads);
}

/** Wait for words of members: the first ones of `entries`.
 * @param[in,out] next the first member whose word has not been seen; 0 at first
 * @return whether all words are set */
static inline bool ctn_node_all_set(const ctn_node_area_t *area,
                                    const ctn_node_entries_t *entries,
                                    uint64_t seq, uint32_t *next,
                                    uint32_t loads)
{
    return ctn_words_reach(ctn_node_entry(area, entries, seq, 0),
                           entries->stride, area->members, ctn_flag64(seq),
                           loads, next);
}

/* ---- barrier ----
 *
 * Flat: every member arrives and waits for all: one step, in which no member
 * depends on another one being scheduled twice. Root: every member arrives, the
 * root waits for all and releases them. */

/** Return whether the barrier of a node is flat. */
static inline bool ctn_node_is_flat(const ctn_node_area_t *area)
{
    return area->oversubscribed || area->members <= CTN_FLAT_MEMBERS;
}

static inline void ctn_node_arrive(ctn_exec_t *exec,
                                   const ctn_node_area_t *area, uint64_t seq)
{
    ctn_node_set(exec, ctn_node_arrived(area, seq, area->me), seq);
}

/** Return whether all members have arrived; `next` as in ctn_node_all_set. */
static inline bool ctn_node_all_arrived(const ctn_node_area_t *area,
                                        uint64_t seq, uint32_t *next,
                                        uint32_t loads)
{
    return ctn_node_all_set(area, &area->arrived, seq, next, loads);
}

/** At `root`: release all members, and return true. At others: return whether
 * the root has released them. */
static inline bool ctn_node_release(ctn_exec_t *exec,
                                    const ctn_node_area_t *area, uint64_t seq,
                                    uint32_t root, uint32_t loads)
{
    uint64_t *word = ctn_node_departed(area, seq, root);
    if (area->me == root) {
        ctn_node_set(exec, word, seq);
        return true;
    }
    return ctn_node_is_set(word, seq, loads);
}

/* ---- cores ---- */

/** If oversubscribed, publish on which core this member runs. */
static inline void ctn_node_report_cpu(ctn_exec_t *exec, ctn_node_area_t *area)
{
    if (area->oversubscribed) {
        ctn_exec_report_cpu(exec, &area->cpu, &area->cpus[area->me]);
    }
}

/** Return whether member i last ran on another core; see
 * ctn_exec_on_other_core. */
static inline bool ctn_node_elsewhere(const ctn_node_area_t *area, uint32_t i)
{
    return ctn_exec_on_other_core(area->cpu, &area->cpus[i]);
}

#endif
