#ifndef CTN_TOPO_TOPO_H
#define CTN_TOPO_TOPO_H

#include "group/group.h"

/* Topology: where the members of a group are. It is built by splits when an
 * operation first needs it. The members of a node form a chain, and the first
 * members of all nodes, the node leaders, form another one. Its memory does not
 * grow with the group: a member has a handle and its control block; a leader
 * also has a table of its node and of its log2(nodes) partners. Direct and
 * leader algorithms need all members: the member table (members.c) is kept once
 * per node in the shared heap and built only for them. */

/** A member of a group, as all others see it. */
typedef struct ctn_member {
    ctn_address_t address;
    uint64_t cts_table; /* offset of its CTS table, see ctn_cts_t */
    uint32_t rank;      /* in the group */
    int32_t numa;       /* domain it is bound to; -1: none */
} ctn_member_t;

_Static_assert(sizeof(ctn_member_t) == 32, "records of fixed size");

/** A member of this node in the table of its leader. */
typedef struct ctn_local_member {
    uint64_t ready; /* written by the member: how often it has filled in this
                       entry */
    uint64_t unused;
    ctn_member_t member;
} ctn_local_member_t;

/** A node leader, as other leaders know it. */
typedef struct ctn_node_leader {
    ctn_address_t address;
    uint64_t rank; /* in the group */
} ctn_node_leader_t;

/** The partners of a node leader in round d of a dissemination: the leaders 2^d
 * nodes away on the ring of leaders. */
typedef struct ctn_leader_ring_round {
    ctn_node_leader_t to;   /* to the right */
    ctn_node_leader_t from; /* to the left */
} ctn_leader_ring_round_t;

/** CTS: what peer `p` of a group allows a member to send to it. The peer writes
 * it to cts_table[generation][p] of the member. There is one for each pair,
 * because peers may run any number of rounds ahead. Pages that are never
 * written use no memory, but count against the heap's limit. */
typedef struct ctn_cts {
    uint64_t word;
    uint64_t offset; /* the peer's buffer, or CTN_STAGED */
    uint64_t bytes;  /* capacity that the peer has posted */
} ctn_cts_t;

#define CTN_STAGED UINT64_MAX

/* Eager rows: small blocks for the members of a node, see
 * coll/alltoall/eager_rows.c. There are classes of row lengths, and each class
 * has a row for each generation and writer. A member's rows follow its CTS
 * table. On oversubscribed hosts all rows of a node are contiguous in the
 * leader's memory: each poll follows a context switch, which may have flushed
 * the TLB, so few pages are best. Classes do not overlap, so that memory read
 * as a word has only ever been a word. */
#define CTN_EAGER_ROWS_BYTES 65536u /* limit for all blocks of a row */
/* Limits for one block: */
#define CTN_EAGER_ROWS_PAIR_BYTES 256u /* two members with a core each */
#define CTN_EAGER_ROWS_NODE_BYTES 512u /* more members with a core each */
#define CTN_EAGER_ROWS_OVERSUBSCRIBED_BYTES 1024u /* more ranks than cores */

/** Return the largest block for so many members, if one row can hold all of
 * them. */
static inline size_t ctn_eager_rows_most_bytes(uint32_t members,
                                               bool oversubscribed)
{
    return oversubscribed ? CTN_EAGER_ROWS_OVERSUBSCRIBED_BYTES
           : members > 2  ? CTN_EAGER_ROWS_NODE_BYTES
                          : CTN_EAGER_ROWS_PAIR_BYTES;
}

/** Return whether blocks of so many bytes are sent through eager rows. */
static inline bool ctn_eager_rows_fit(size_t bytes, uint32_t members,
                                      bool oversubscribed)
{
    return members <= CTN_EAGER_ROWS_MEMBERS &&
           bytes <= ctn_eager_rows_most_bytes(members, oversubscribed) &&
           members * bytes <= CTN_EAGER_ROWS_BYTES;
}

/** Return the class of rows that hold a word and so many bytes. */
static inline unsigned ctn_eager_rows_class(size_t bytes)
{
    size_t lines = (sizeof(uint64_t) + bytes - 1) / 64;
    return lines <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(lines - 1);
}

/** Return the distance between rows of a class: an odd number of whole cache
 * lines, so that rows map to different cache sets. */
static inline size_t ctn_eager_rows_stride(unsigned class)
{
    return ((size_t)64 << class) + 64;
}

/** Return the offset of a class among the rows of `writers`. */
static inline size_t ctn_eager_rows_class_offset(unsigned class, size_t writers)
{
    return CTN_GENERATIONS * writers *
           (((size_t)64 << class) - 64 + class * 64);
}

/** Distance between the words of one reader, in words: a line each unless few
 * lines are better, as in the node area. */
static inline size_t ctn_delivered_stride(uint32_t members, bool oversubscribed)
{
    return oversubscribed || members == 2 ? 1 : 8;
}

static inline size_t ctn_delivered_words(uint32_t members, bool oversubscribed)
{
    return (members * ctn_delivered_stride(members, oversubscribed) + 15) &
           ~(size_t)15;
}

/** Return the offset of the rows, behind the CTS table of a group of `size`. */
static inline size_t ctn_eager_rows_offset(uint32_t size)
{
    return (CTN_GENERATIONS * (size_t)size * sizeof(ctn_cts_t) + 127) &
           ~(size_t)127;
}

/** The members of a group, node by node: node b has member[first[b]] to
 * member[first[b + 1] - 1], in group order. The arrays are in the heap of the
 * node leader. */
typedef struct ctn_member_table {
    uint32_t nodes;
    uint32_t size;
    const uint32_t *first;      /* nodes + 1 */
    const ctn_member_t *member; /* size */
    const uint32_t *by_rank;    /* size: group rank to index in member */
} ctn_member_table_t;

/** A cache line written by one member and read by all members of its node: the
 * member has started an operation, and its buffers are here. */
typedef struct ctn_buffer_descriptor {
    uint64_t word;
    uint64_t send; /* offset in its arena, or CTN_STAGED */
    uint64_t receive;
    uint64_t
        rows; /* offset of the array that describes each block, or CTN_STAGED */
    uint64_t direct_receive; /* receive, or CTN_STAGED if that holds data still
                                to be sent */
    uint64_t bytes;          /* of each block, if all have the same length */
    uint64_t unused[2];
} ctn_buffer_descriptor_t;

_Static_assert(sizeof(ctn_buffer_descriptor_t) == 64, "a post is a cache line");

/** A member's record during a split: the record, or the offset of a longer one
 * (see split/call/allgather_fast.c). */
typedef struct ctn_published_record {
    uint64_t bytes; /* of the record */
    uint64_t
        offset; /* in the member's arena; CTN_STAGED: the record is in data */
    unsigned char data[112];
} ctn_published_record_t;

_Static_assert(sizeof(ctn_published_record_t) == 128,
               "a card is two cache lines");

/** The gathered records of all nodes; written by the leader. */
typedef struct ctn_gathered_records {
    uint64_t word; /* number of the split */
    uint64_t offset;
    uint64_t bytes;
    uint64_t unused[5];
} ctn_gathered_records_t;

/** Words shared by the members of a node, in the heap of its leader. Each has
 * one writer; i is the local rank. */
typedef struct ctn_node_area {
    /* barrier: [generation * arrived_stride + i * stride], increases with each
     * operation */
    uint64_t *arrived;
    size_t arrived_stride;
    size_t stride;      /* in words: one line, or dense (node.c) */
    uint64_t *released; /* barrier: written by the leader */
    uint64_t *fenced;   /* node fence: [i * stride] */
    ctn_buffer_descriptor_t *descriptor; /* [generation][i] */
    uint64_t *departed; /* [generation][i * stride]: i no longer accesses
                           others' buffers */
    /* Splits, two of which may be read at a time: */
    uint64_t *published; /* records: [i * stride], increases with each split */
    ctn_published_record_t *published_record; /* [split % 2][i] */
    ctn_gathered_records_t *gathered;         /* [split % 2] */
    uint32_t *cpu; /* [i]: 1 + the CPU it last ran on; 0: not published */
} ctn_node_area_t;

typedef enum ctn_built { CTN_NEW, CTN_BUILDING, CTN_BUILT } ctn_built_t;

typedef struct ctn_topo {
    ctn_attachment_t attachment;
    catena_group_t *group;
    ctn_built_t state;
    ctn_chain_t node;    /* the members on this node */
    ctn_chain_t leaders; /* the leaders of all nodes; leaders only */
    uint32_t node_index;
    uint32_t nodes;
    bool oversubscribed; /* more ranks than cores on the host: as the leader
                            found, so that all members of the node select the
                            same algorithms */
    const ctn_local_member_t
        *local; /* the members on this node, in the leader's heap */
    ctn_node_area_t node_area;
    /* The last values this member has written to the node area. */
    uint64_t released; /* leader */
    uint64_t fenced;
    uint64_t published;
    uint64_t splits; /* started by publishing records */
    uint32_t cpu;
    ctn_endpoint_t **peer;     /* to the members on this node */
    ctn_local_member_t *known; /* `local`, of a member that knows all members */
    /* The member table and the memory that belongs to it. */
    ctn_built_t member_table_state;
    ctn_member_table_t member_table;
    ctn_cts_t *cts_table; /* this member's, [generation][size]; then its rows */
    unsigned char **rows; /* of the members on this node, or NULL */
    unsigned char
        *side_by_side;   /* all their rows, if oversubscribed; or NULL */
    uint64_t *delivered; /* or NULL, see ctn_topo_delivered */
    /* Owned by the leader, NULL elsewhere. */
    ctn_leader_ring_round_t *leader_ring; /* [log2 of the number of nodes] */
    void *shared; /* local and node area; may be in the control block */
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

/* Words of operation `seq` in the node area; i is the local rank. */

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

/** Return the word that member `from` writes when its block is in the buffer of
 * member `to`; only with up to CTN_EAGER_ROWS_MEMBERS on the node. */
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

/** Return the group rank of local rank i. */
static inline uint32_t ctn_topo_local_to_group(const ctn_topo_t *topo,
                                               uint32_t i)
{
    const ctn_member_table_t *member_table = &topo->member_table;
    return topo->nodes == 1
               ? i
               : member_table->member[member_table->first[topo->node_index] + i]
                     .rank;
}

/** On an oversubscribed host of one node, publish the CPU this member runs
 * on. */
static inline void ctn_topo_publish_cpu(ctn_exec_t *exec, ctn_topo_t *topo)
{
    if (exec->oversubscribed && topo->nodes == 1) {
        ctn_exec_report_cpu(exec, &topo->cpu,
                            &topo->node_area.cpu[ctn_topo_local_rank(topo)]);
    }
}

/** Return whether member i last ran on another CPU; see ctn_exec_elsewhere. */
static inline bool ctn_topo_elsewhere(const ctn_topo_t *topo, uint32_t i)
{
    return ctn_exec_on_other_core(topo->cpu, &topo->node_area.cpu[i]);
}

/** Return the rounds of a dissemination among n. */
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

/** Return the topology of a group, which may not be built yet; NULL: no
 * memory. */
ctn_topo_t *ctn_topo_of(catena_group_t *group);
/** Return the topology if there is one, else NULL; does not create it. */
static inline ctn_topo_t *ctn_topo_known(const catena_group_t *group)
{
    return (ctn_topo_t *)group->frequent;
}

/** Link the node's chain of the world from the launcher's list of local ranks.
 * All ranks take their control blocks at the same point, hence at the same
 * offsets, so no split is needed. Call it right after the group is created.
 * @param local_ranks of this node, ascending
 * @return ERR_NO_MEMORY */
catena_status_t ctn_topo_link_node(catena_group_t *group,
                                   const uint32_t *local_ranks);

/** A member of a new group, known to a rank that has seen all members. */
typedef struct ctn_known_member {
    ctn_address_t address;
    uint32_t
        node; /* any number; equal if and only if members are on one node */
    int32_t numa;
} ctn_known_member_t;

/** Build the topology of a group from its known members, without messages. All
 * members must do so; see ctn_topo_linkable.
 * @param member in group order, as many as the group has
 * @return ERR_NO_MEMORY */
catena_status_t ctn_topo_link(catena_group_t *group,
                              const ctn_known_member_t *member,
                              bool oversubscribed);

/** Return whether ctn_topo_link is possible: no node has more than
 * CTN_NODE_AREA_MEMBERS. O(n * nodes). */
bool ctn_topo_linkable(const ctn_known_member_t *member, uint32_t n);

/** Build the topology from within a phase. Sets *topo and returns NEXT when it
 * is ready, else starts or awaits the build. All operations of a group start in
 * the same order, so all members build at the same point. */
ctn_step_t ctn_topo_need(ctn_op_t *op, catena_group_t *group,
                         ctn_topo_t **topo);

/** As ctn_topo_need, including the member table. */
ctn_step_t ctn_member_table_need(ctn_op_t *op, catena_group_t *group,
                                 ctn_topo_t **topo);

/* Internal to this folder. */

/** Create an operation that builds the ring of node leaders; NULL: no
 * memory. */
ctn_op_t *ctn_leader_ring_create(ctn_exec_t *exec, ctn_topo_t *topo);
/** Create an operation that broadcasts words from the node leader to all
 * members of the node; NULL: no memory. `received` is set on all members, the
 * leader included. */
ctn_op_t *ctn_node_bcast_create(ctn_exec_t *exec, ctn_topo_t *topo,
                                const ctn_words_t *outgoing,
                                ctn_words_t *received);
/** Run `child` (just created, or NULL for no memory) to build something, and
 * return to the calling phase: sets *state to BUILDING. */
ctn_step_t ctn_topo_build(ctn_op_t *op, ctn_op_t *child, ctn_built_t *state);
/** Map the node area in the leader's memory. */
void ctn_node_area_map(ctn_topo_t *topo, unsigned char *memory,
                       bool oversubscribed);
size_t ctn_node_area_bytes(uint32_t members, bool oversubscribed);
/** Connect to the members of this node. @return ERR_NO_MEMORY, or as
 * ctn_exec_connect */
catena_status_t ctn_topo_connect(ctn_topo_t *topo);
/** Return the offset of memory in the shared heap. */
uint64_t ctn_offset_of(const ctn_exec_t *exec, const void *memory);
/** Round up to pairs of cache lines. */
static inline size_t ctn_line_up(size_t bytes)
{
    return (bytes + 127) & ~(size_t)127;
}

#endif
