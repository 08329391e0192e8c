#ifndef CTN_TOPO_TOPO_H
#define CTN_TOPO_TOPO_H

#include "group/group.h"

/* Where the members of a group are. Built by splits when an operation first
 * asks: the node's members form a chain, the first of each node (its root)
 * form another. So far memory does not grow with the group: a member keeps a
 * handle and its block, a root a table of its node and of the log2(nodes)
 * roots it meets. What is known of all members, which direct and leader
 * algorithms need, is the roster (members.c): kept once per node in the shared
 * heap, and built only for them. */

/** One member of a group, as all others see it. */
typedef struct ctn_member {
    ctn_address_t address;
    uint64_t cts_table; /* offset of its grant table, see ctn_cts_t */
    uint32_t rank;      /* in the group */
    int32_t numa;       /* domain it is bound to, -1: none */
} ctn_member_t;

_Static_assert(sizeof(ctn_member_t) == 32, "records of fixed size");

/** A member of this node in the table of its root. */
typedef struct ctn_local_member {
    uint64_t ready; /* set by the member: how often it has filled it in */
    uint64_t unused;
    ctn_member_t member;
} ctn_local_member_t;

/** A root, as other roots know it. */
typedef struct ctn_node_leader {
    ctn_address_t address;
    uint64_t rank; /* in the group */
} ctn_node_leader_t;

/** Whom a root meets in round d of a dissemination: the roots 2^d nodes away,
 * the chain of roots being closed to a ring. */
typedef struct ctn_leader_ring_round {
    ctn_node_leader_t to;   /* to the right */
    ctn_node_leader_t from; /* to the left */
} ctn_leader_ring_round_t;

/** What peer `p` of a group has allowed a member to send it: written by the
 * peer into grants[ring][p] of the member. One for each pair, since peers may
 * run any number of rounds ahead. Pages of it that are never written cost no
 * memory, though they count against the heap's limit.
 */
typedef struct ctn_cts {
    uint64_t word;
    uint64_t offset; /* the peer's buffer, or CTN_STAGED */
    uint64_t bytes;  /* that the peer expects */
} ctn_cts_t;

#define CTN_STAGED UINT64_MAX

/* Rows: small blocks for the members of a node, see coll/alltoall/eager_rows.c.
 * They come in classes of lengths, and of each class there is one for each ring
 * and writer. A member keeps its own behind its grants. On crowded hosts all of
 * a node lie side by side in the memory of its root: there each poll follows a
 * switch of process, which may have emptied the TLB, so few pages are best.
 * Every class has places of its own, so that what is read as a word is a word.
 */
#define CTN_EAGER_ROWS_BYTES 65536u /* most of all blocks of a row */
/* A block has at most: */
#define CTN_EAGER_ROWS_PAIR_BYTES 256u /* of two members with a core each */
#define CTN_EAGER_ROWS_NODE_BYTES 512u /* of more */
#define CTN_EAGER_ROWS_OVERSUBSCRIBED_BYTES                                    \
    1024u /* with more ranks than cores */

/** Most bytes of a block among so many, if a row can hold them all. */
static inline size_t ctn_eager_rows_most_bytes(uint32_t members,
                                               bool oversubscribed)
{
    return oversubscribed ? CTN_EAGER_ROWS_OVERSUBSCRIBED_BYTES
           : members > 2  ? CTN_EAGER_ROWS_NODE_BYTES
                          : CTN_EAGER_ROWS_PAIR_BYTES;
}

/** Whether blocks of so many bytes take the way of rows among so many. */
static inline bool ctn_eager_rows_fit(size_t bytes, uint32_t members,
                                      bool oversubscribed)
{
    return members <= CTN_EAGER_ROWS_MEMBERS &&
           bytes <= ctn_eager_rows_most_bytes(members, oversubscribed) &&
           members * bytes <= CTN_EAGER_ROWS_BYTES;
}

/** Class of the rows that hold a word and so many bytes. */
static inline unsigned ctn_eager_rows_class(size_t bytes)
{
    size_t lines = (sizeof(uint64_t) + bytes - 1) / 64;
    return lines <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(lines - 1);
}

/** From one row of a class to the next: whole lines, an odd number of them, so
 * that those of many rows meet in different sets of a cache. */
static inline size_t ctn_eager_rows_stride(unsigned class)
{
    return ((size_t)64 << class) + 64;
}

/** Where a class begins among the rows of `writers`. */
static inline size_t ctn_eager_rows_class_offset(unsigned class, size_t writers)
{
    return CTN_GENERATIONS * writers *
           (((size_t)64 << class) - 64 + class * 64);
}

/** Words of one reader, and from one writer's to the next: as on the board, a
 * line each unless few lines are better. */
static inline size_t ctn_delivered_stride(uint32_t members, bool oversubscribed)
{
    return oversubscribed || members == 2 ? 1 : 8;
}

static inline size_t ctn_delivered_words(uint32_t members, bool oversubscribed)
{
    return (members * ctn_delivered_stride(members, oversubscribed) + 15) &
           ~(size_t)15;
}

/** Where the rows begin behind the grants of a group of `size`. */
static inline size_t ctn_eager_rows_offset(uint32_t size)
{
    return (CTN_GENERATIONS * (size_t)size * sizeof(ctn_cts_t) + 127) &
           ~(size_t)127;
}

/** Node by node, the members of a group; node b's are member[first[b]] to
 * member[first[b + 1] - 1], in group order. The arrays lie in the heap of the
 * node's root. */
typedef struct ctn_member_table {
    uint32_t nodes;
    uint32_t size;
    const uint32_t *first;      /* nodes + 1 */
    const ctn_member_t *member; /* size */
    const uint32_t *by_rank;    /* size: group rank to index in member */
} ctn_member_table_t;

/** A line that one member writes and all members on its node read: it says
 * that the member has started an operation, and where its buffers are. */
typedef struct ctn_buffer_descriptor {
    uint64_t word;
    uint64_t send; /* offset in its arena, or CTN_STAGED */
    uint64_t receive;
    uint64_t rows; /* offset of what it says of each block, or CTN_STAGED */
    uint64_t direct_receive; /* receive, unless that holds what is to be sent */
    uint64_t bytes;          /* of each block, if they are of one length */
    uint64_t unused[2];
} ctn_buffer_descriptor_t;

_Static_assert(sizeof(ctn_buffer_descriptor_t) == 64, "a post is a cache line");

/** What a member shows the others on its node when the group is split: a
 * record, or where a longer one lies (see split/call/allgather_fast.c). */
typedef struct ctn_published_record {
    uint64_t bytes;  /* of the record */
    uint64_t offset; /* in the member's arena, or CTN_STAGED: it is here */
    unsigned char data[112];
} ctn_published_record_t;

_Static_assert(sizeof(ctn_published_record_t) == 128,
               "a card is two cache lines");

/** Where the roots' gathered cards are: written by the root. */
typedef struct ctn_gathered_records {
    uint64_t word; /* counts the splits */
    uint64_t offset;
    uint64_t bytes;
    uint64_t unused[5];
} ctn_gathered_records_t;

/** Words shared by the members on a node, in the heap of its root. Each has
 * one writer; i counts the node's members. */
typedef struct ctn_node_area {
    /* barrier: [ring * arrived_stride + i * stride], grows with the operations
     */
    uint64_t *arrived;
    size_t arrived_stride;
    size_t stride;      /* in words: a line each, or dense (node.c) */
    uint64_t *released; /* barrier: written by the root */
    uint64_t *fenced;   /* node fence: [i * stride] */
    ctn_buffer_descriptor_t *descriptor; /* [ring][i] */
    uint64_t *departed; /* [ring][i * stride]: i did what it does for others */
    /* Splits, two of which may be looked at at once: */
    uint64_t *published; /* cards: [i * stride], grows with the splits */
    ctn_published_record_t *published_record; /* [split % 2][i] */
    ctn_gathered_records_t *gathered;         /* [split % 2] */
    uint32_t *cpu; /* [i]: 1 + where it ran last, 0: it does not say */
} ctn_node_area_t;

typedef enum ctn_built { CTN_NEW, CTN_BUILDING, CTN_BUILT } ctn_built_t;

typedef struct ctn_topo {
    ctn_attachment_t attachment;
    catena_group_t *group;
    ctn_built_t state;
    ctn_chain_t node;    /* the members on this node */
    ctn_chain_t leaders; /* the roots of all nodes; only roots have it */
    uint32_t node_index;
    uint32_t nodes;
    bool oversubscribed; /* the host has more ranks than cores: as the root
                     found, so that all members of the node go the same way */
    const ctn_local_member_t
        *local; /* the members on this node, in its root's heap */
    ctn_node_area_t node_area;
    /* What this member has last written to the board's words. */
    uint64_t released; /* root */
    uint64_t fenced;
    uint64_t published;
    uint64_t splits; /* begun by showing cards */
    uint32_t cpu;
    ctn_endpoint_t **peer;     /* to the members on this node */
    ctn_local_member_t *known; /* `local`, of a member that was told of all */
    /* The roster, and what goes with it. */
    ctn_built_t member_table_state;
    ctn_member_table_t member_table;
    ctn_cts_t *cts_table; /* this member's, [ring][size]; then its rows */
    unsigned char **rows; /* of the members on this node, or NULL */
    unsigned char *side_by_side; /* all their rows, when crowded; or NULL */
    uint64_t *delivered;         /* or NULL, see ctn_topo_delivered */
    /* What a root owns, NULL elsewhere. */
    ctn_leader_ring_round_t *leader_ring; /* log2 of the number of nodes */
    void *shared; /* local and board; may lie in the block */
    void *shared_member_table;
} ctn_topo_t;

static inline uint32_t ctn_topo_local_size(const ctn_topo_t *topo)
{
    return topo->node.place.size;
}

static inline uint32_t ctn_topo_local_rank(const ctn_topo_t *topo)
{
    return topo->node.place.rank;
}

/* The board's words of operation `seq`; i counts the node's members. */

static inline ctn_buffer_descriptor_t *
ctn_topo_descriptor(const ctn_topo_t *topo, uint64_t seq, uint32_t i)
{
    return &topo->node_area
                .descriptor[seq % CTN_GENERATIONS * ctn_topo_local_size(topo) +
                            i];
}

static inline uint64_t *ctn_topo_departed(const ctn_topo_t *topo, uint64_t seq,
                                          uint32_t i)
{
    size_t at = seq % CTN_GENERATIONS * ctn_topo_local_size(topo) + i;
    return &topo->node_area.departed[at * topo->node_area.stride];
}

/** What member `from` writes when its block lies in the buffer of member `to`;
 * only with up to CTN_EAGER_ROWS_MEMBERS on the node. */
static inline uint64_t *ctn_topo_delivered(const ctn_topo_t *topo, uint64_t seq,
                                           uint32_t to, uint32_t from)
{
    uint32_t n = ctn_topo_local_size(topo);
    size_t stride = ctn_delivered_stride(n, topo->oversubscribed);
    return &topo->delivered[(seq % CTN_GENERATIONS * n + to) *
                                ctn_delivered_words(n, topo->oversubscribed) +
                            from * stride];
}

static inline uint64_t *ctn_topo_arrived(const ctn_topo_t *topo, uint64_t seq,
                                         uint32_t i)
{
    return &topo->node_area.arrived[seq % CTN_GENERATIONS *
                                        topo->node_area.arrived_stride +
                                    i * topo->node_area.stride];
}

/** Group rank of the node's member i. */
static inline uint32_t ctn_topo_local_to_group(const ctn_topo_t *topo,
                                               uint32_t i)
{
    const ctn_member_table_t *member_table = &topo->member_table;
    return topo->nodes == 1
               ? i
               : member_table->member[member_table->first[topo->node_index] + i]
                     .rank;
}

/** On a crowded host of one node, tell where this member runs. */
static inline void ctn_topo_publish_cpu(ctn_exec_t *exec, ctn_topo_t *topo)
{
    if (exec->oversubscribed && topo->nodes == 1) {
        ctn_exec_report_cpu(exec, &topo->cpu,
                            &topo->node_area.cpu[ctn_topo_local_rank(topo)]);
    }
}

/** Whether member i ran last on another core; see ctn_exec_on_other_core. */
static inline bool ctn_topo_elsewhere(const ctn_topo_t *topo, uint32_t i)
{
    return ctn_exec_on_other_core(topo->cpu, &topo->node_area.cpu[i]);
}

/** Rounds of a dissemination among n. */
static inline unsigned ctn_rounds(uint32_t n)
{
    return n > 1 ? 32 - (unsigned)__builtin_clz(n - 1) : 0;
}

static inline uint32_t
ctn_member_table_count(const ctn_member_table_t *member_table, uint32_t node)
{
    return member_table->first[node + 1] - member_table->first[node];
}

static inline const ctn_member_t *ctn_topo_local(const ctn_topo_t *topo,
                                                 uint32_t i)
{
    return &topo->local[i].member;
}

/** The topology of a group, not necessarily built yet; NULL: no memory. */
ctn_topo_t *ctn_topo_of(catena_group_t *group);
/** The same, but not made here; NULL: there is none yet. */
static inline ctn_topo_t *ctn_topo_known(const catena_group_t *group)
{
    return (ctn_topo_t *)group->topo;
}

/** For the world: the launcher has named the members of the node, and all
 * ranks take their blocks at the same point, so that they lie at the same
 * offsets: no split is needed. To be called right after the group was made.
 * @param local_ranks of this node, ascending
 * @return ERR_NO_MEMORY */
catena_status_t ctn_topo_link_node(catena_group_t *group,
                                   const uint32_t *local_ranks);

/** A member of a new group, as those know it who have seen all its members. */
typedef struct ctn_known_member {
    ctn_address_t address;
    uint32_t node; /* any number, the same for members on one node only */
    int32_t numa;
} ctn_known_member_t;

/** Build the topology of a group from what is known of its members, without a
 * message. All of them must do so; see ctn_topo_linkable.
 * @param member in group order, as many as the group has
 * @return ERR_NO_MEMORY */
catena_status_t ctn_topo_link(catena_group_t *group,
                              const ctn_known_member_t *member,
                              bool oversubscribed);

/** Whether that can be done: no node may have more than CTN_NODE_AREA_MEMBERS.
 * O(n * nodes). */
bool ctn_topo_linkable(const ctn_known_member_t *member, uint32_t n);

/** A phase's way to have it built: sets *topo and returns NEXT when it is
 * ready, else begins or awaits the building. All operations of a group start
 * in the same order, so all members build at the same point. */
ctn_step_t ctn_topo_need(ctn_op_t *op, catena_group_t *group,
                         ctn_topo_t **topo);

/** Likewise for the topology together with its roster. */
ctn_step_t ctn_member_table_need(ctn_op_t *op, catena_group_t *group,
                                 ctn_topo_t **topo);

/* For the files of this folder. */

/** An operation that builds the ring of roots; NULL: no memory. */
ctn_op_t *ctn_leader_ring_create(ctn_exec_t *exec, ctn_topo_t *topo);
/** What the node's root says, all its members hear; NULL: no memory. `heard`
 * is set on all members, the root included. */
ctn_op_t *ctn_node_bcast_create(ctn_exec_t *exec, ctn_topo_t *topo,
                                const ctn_words_t *outgoing,
                                ctn_words_t *received);
/** Have `child` (an operation just made, or NULL when there was no memory)
 * build something and come back to the phase: sets *state to BUILDING. */
ctn_step_t ctn_topo_build(ctn_op_t *op, ctn_op_t *child, ctn_built_t *state);
/** Lay out and find the board in its root's memory. */
void ctn_node_area_map(ctn_topo_t *topo, unsigned char *memory,
                       bool oversubscribed);
size_t ctn_node_area_bytes(uint32_t members, bool oversubscribed);
/** Reach the members on this node; ERR_NO_MEMORY or as ctn_exec_connect. */
catena_status_t ctn_topo_connect(ctn_topo_t *topo);
/** A root's heap memory, as an offset. */
uint64_t ctn_offset_of(const ctn_exec_t *exec, const void *memory);
/** Memory in whole pairs of cache lines. */
static inline size_t ctn_line_up(size_t bytes)
{
    return (bytes + 127) & ~(size_t)127;
}

#endif
