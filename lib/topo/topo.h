#ifndef CTN_TOPO_TOPO_H
#define CTN_TOPO_TOPO_H

#include "exec/transfer.h"
#include "group/group.h"
#include "topo/node.h"

/** Most members of a node that use eager rows. */
#define CTN_EAGER_ROWS_MEMBERS CTN_PICK(64u, 8u)
/** Most members of a node whose node area fits a control block. */
#define CTN_NODE_AREA_MEMBERS CTN_PICK(64u, 8u)

/* Topology: where the members of a group are. It is built by splits when an
 * operation first needs it (topo.c), or without messages by the split that made
 * the group (known.c). The members of a node form a chain, and the first
 * members of all nodes, the node leaders, form another one. Its log-chain is
 * that of a ring, the leader ring. The memory of the topology does not grow
 * with the group: every member has a ctn_topo_t and a list of the members of
 * its node, a node leader also the log-chain. Algorithms in which each member
 * communicates with all others also need the member table (members.c), which is
 * built only for them, once per node in the shared heap. */

/** A member of a group, as all others see it. */
typedef struct ctn_member {
    ctn_address_t address;
    uint64_t cts_table; /* offset of its CTS table, see ctn_cts_t */
    uint32_t rank;      /* in the group */
    int32_t numa;       /* domain it is bound to; -1: none */
} ctn_member_t;

_Static_assert(sizeof(ctn_member_t) == 32, "entries of fixed size");

/* Eager rows: a member's small blocks for all members of its node, see
 * coll/alltoall/eager_rows.c. A row begins with a word. There are classes of
 * row lengths, and each class has a row for each generation and writer. A
 * member's rows follow its CTS table. On oversubscribed hosts all rows of a
 * node are contiguous in the leader's memory: each poll follows a context
 * switch, which may have flushed the TLB, so few pages are best. Rows of
 * different classes do not overlap, so a location that holds a word never holds
 * data. */
#define CTN_EAGER_ROWS_BYTES 65536u /* limit for all blocks of a row */
/* Limits for one block: with more ranks than cores (2 KiB, malloc, 8 ranks on 2
 * cores: 38 us, 57 through staging buffers); of two members with a core each (2
 * KiB: 1.00 us in rows; else 0.95, malloc, and 0.81, heap); and of more. */
#define CTN_EAGER_ROWS_BLOCK_BYTES 2048u
#define CTN_EAGER_ROWS_PAIR_BYTES 1024u
#define CTN_EAGER_ROWS_NODE_BYTES 512u

/** Return the largest block for so many members, if one row can hold all of
 * them. */
static inline size_t ctn_eager_rows_most_bytes(uint32_t members,
                                               bool oversubscribed)
{
    return oversubscribed ? CTN_EAGER_ROWS_BLOCK_BYTES
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

/** Return the distance between the words that one reader polls
 * (ctn_topo_read_flag), in words. Each has a cache line to itself, unless few
 * lines are better, as in the node area (node.c). */
static inline size_t ctn_read_flag_stride(uint32_t members, bool oversubscribed)
{
    return oversubscribed || members == 2 ? 1 : 8;
}

/** Return the memory for these words of one reader, in words: whole pairs of
 * cache lines. */
static inline size_t ctn_read_flag_words(uint32_t members, bool oversubscribed)
{
    return (members * ctn_read_flag_stride(members, oversubscribed) + 15) &
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
    uint32_t least, most;  /* members on a node */
    bool oversubscribed;   /* the host of some node has more ranks than cores */
    const uint32_t *first; /* [nodes + 1] */
    const ctn_member_t *member; /* [size] */
    const uint32_t *by_rank;    /* [size]: index in `member`, by group rank */
} ctn_member_table_t;

/** Buffer descriptor: a cache line that one member writes and all members of
 * its node read. It says that the member has started an operation, and where
 * its buffers are. */
typedef struct ctn_buffer_descriptor {
    uint64_t word;    /* announces the rest */
    uint64_t send;    /* offset of the send buffer in the member's arena, or
                         CTN_STAGED */
    uint64_t receive; /* of the receive buffer, likewise; in place the same */
    uint64_t rows;    /* of the array that describes each block, likewise */
    uint64_t bytes;   /* of each block, if all have the same length */
    uint64_t source;  /* where other members read the blocks that this one
                         sends (exec/attach.h), and the bits below; or
                         CTN_STAGED */
    uint64_t unused[2];
} ctn_buffer_descriptor_t;

/* Bits of `source`, above CTN_PLACE_MOST. */
/** The blocks that this member receives are not contiguous: it cannot read by
 * address. */
#define CTN_SOURCE_SCATTERS (UINT64_C(1) << 62)
/** A copy, which has the blocks for members of this node only, by local rank.
 */
#define CTN_SOURCE_COPY (UINT64_C(1) << 61)

_Static_assert(sizeof(ctn_buffer_descriptor_t) == 64,
               "a buffer descriptor is a cache line");

/** What a member publishes in a split: its record with its location
 * (split/call/allgather_fast.c), or where they lie if `data` is too short. */
typedef struct ctn_published_record {
    uint64_t bytes;  /* of both */
    uint64_t offset; /* in the member's arena; CTN_STAGED: they are in `data` */
    unsigned char data[112];
} ctn_published_record_t;

_Static_assert(sizeof(ctn_published_record_t) == 128,
               "a published record is two cache lines");

/** Where the leader has the records of all nodes in a split. */
typedef struct ctn_gathered_records {
    uint64_t word;   /* number of the split, from 1 */
    uint64_t offset; /* in the leader's arena */
    uint64_t bytes;
    uint64_t unused[5];
} ctn_gathered_records_t;

/** The topology of a group, as one member has it. */
typedef struct ctn_topo {
    ctn_attachment_t attachment;
    catena_group_t *group;
    ctn_built_t state;
    ctn_chain_t node;    /* the group's members on this node */
    ctn_chain_t leaders; /* the leaders of all nodes; set at leaders only. With
                            several nodes its log-chain is the leader ring: it
                            has the partners of a dissemination */
    uint32_t node_index; /* number of this node: its leader's rank in
                            `leaders` */
    uint32_t nodes;      /* number of nodes of the group */
    bool oversubscribed; /* more ranks than cores on the host: as the leader
                            found, so that all members of the node select the
                            same algorithms */
    ctn_member_t *local; /* the members on this node, by local rank, without
                            their CTS tables */
    ctn_node_area_t node_area; /* of the user sequence */
    /* Beside the node area: flags that count node fences, and fences of splits;
     * one for each member. */
    ctn_node_entries_t fence_flags;
    ctn_node_entries_t publish_flags;
    uint64_t fences;    /* node fences that this member has entered */
    uint64_t published; /* fences of splits, likewise */
    /* Splits. Records of two consecutive ones may be read at a time: */
    ctn_published_record_t *published_record; /* [split % 2][i] */
    ctn_gathered_records_t *gathered; /* [split % 2], written by the leader */
    uint64_t splits;       /* number of splits that have published records */
    ctn_endpoint_t **peer; /* to the members on this node, by local rank */
    /* The member table and the memory that belongs to it. */
    ctn_built_t member_table_state;
    ctn_member_table_t member_table;
    /* Of each operation at once, an array of what it receives by transfers;
     * allocated on first use, as zero. Between operations none of them holds
     * memory or has a posted receive. */
    ctn_transfer_recv_t *transfer[CTN_FLIGHT];
    /* Peer p of the group writes its CTS to cts_table[generation][p]. There is
     * one for each pair, because peers may run any number of rounds ahead.
     * Pages that are never written use no memory, but count against the heap's
     * limit. */
    ctn_cts_t *cts_table; /* this member's, [generation][size]; its rows follow
                             unless the host is oversubscribed */
    unsigned char **rows; /* eager rows of the members on this node, by local
                             rank; or NULL */
    unsigned char *side_by_side; /* all their rows, contiguous, if the host is
                                    oversubscribed; or NULL */
    uint64_t *read_flags;        /* see ctn_topo_read_flag; or NULL */
    /* Owned by the leader, NULL elsewhere. */
    void *shared; /* the node area and what lies beside it; may be in the
                     control block */
    void *shared_member_table; /* memory of the member table */
} ctn_topo_t;

/** Return the number of the group's members on this node. */
static inline uint32_t ctn_topo_local_size(const ctn_topo_t *topo)
{
    return topo->node.place.size;
}

/** Return the rank of this member among them. */
static inline uint32_t ctn_topo_local_rank(const ctn_topo_t *topo)
{
    return topo->node.place.rank;
}

/** Return the buffer descriptor of local rank i for operation `seq`. */
static inline ctn_buffer_descriptor_t *
ctn_topo_descriptor(const ctn_topo_t *topo, uint64_t seq, uint32_t i)
{
    return ctn_node_entry(&topo->node_area, &topo->node_area.descriptor, seq,
                          i);
}

/** Return the word that local rank `from` writes when it has read its block
 * from the buffer of local rank `to`; only with up to CTN_EAGER_ROWS_MEMBERS on
 * the node. */
static inline uint64_t *ctn_topo_read_flag(const ctn_topo_t *topo, uint64_t seq,
                                           uint32_t to, uint32_t from)
{
    uint32_t n = ctn_topo_local_size(topo);
    size_t stride = ctn_read_flag_stride(n, topo->oversubscribed);
    return &topo->read_flags[(seq % CTN_GENERATIONS * n + to) *
                                 ctn_read_flag_words(n, topo->oversubscribed) +
                             from * stride];
}

/** Return the group rank of local rank i; with several nodes the member table
 * must exist. */
static inline uint32_t ctn_topo_local_to_group(const ctn_topo_t *topo,
                                               uint32_t i)
{
    const ctn_member_table_t *member_table = &topo->member_table;
    return topo->nodes == 1
               ? i
               : member_table->member[member_table->first[topo->node_index] + i]
                     .rank;
}

/** On an oversubscribed host of one node, publish on which core this member
 * runs. */
static inline void ctn_topo_report_cpu(ctn_exec_t *exec, ctn_topo_t *topo)
{
    if (topo->nodes == 1) {
        ctn_node_report_cpu(exec, &topo->node_area);
    }
}

/** Return the rounds of a dissemination among n. */
static inline unsigned ctn_rounds(uint32_t n)
{
    return n > 1 ? 32 - (unsigned)__builtin_clz(n - 1) : 0;
}

/** Return the number of members on a node. */
static inline uint32_t
ctn_member_table_count(const ctn_member_table_t *member_table, uint32_t node)
{
    return member_table->first[node + 1] - member_table->first[node];
}

/** Return the member with local rank i. */
static inline const ctn_member_t *ctn_topo_local(const ctn_topo_t *topo,
                                                 uint32_t i)
{
    return &topo->local[i];
}

/** Return the topology of a group, which may not be built yet; NULL: no
 * memory. */
ctn_topo_t *ctn_topo_of(catena_group_t *group);
/** Return the topology if there is one, else NULL; does not create it. */
static inline ctn_topo_t *ctn_topo_known(const catena_group_t *group)
{
    return (ctn_topo_t *)group->frequent;
}

/** Set the places in the chain of the node's members of the world. No split is
 * needed: the launcher lists the ranks of the node, and all ranks allocate the
 * control block of the world at the same point of their start, hence at the
 * same offset. Call it right after the world is created.
 * @param local_ranks world ranks of this node, ascending
 * @return ERR_NO_MEMORY */
catena_status_t ctn_topo_link_node(catena_group_t *group,
                                   const uint32_t *local_ranks);

/** A member of a new group, known to a rank that has seen all members. */
typedef struct ctn_known_member {
    ctn_address_t address;
    uint32_t node; /* its number in the parent */
    int32_t numa;  /* domain; -1: none */
} ctn_known_member_t;

/** Build the topology of a group from its known members, without messages. All
 * members must do so. If a node has more than CTN_NODE_AREA_MEMBERS, nothing is
 * done: the first operation that needs the topology builds it with messages.
 * Takes time linear in the members and the nodes of the parent.
 * @param member in group order, as many as the group has
 * @param memory [2 * parent_nodes], not initialized
 * @return ERR_NO_MEMORY */
catena_status_t ctn_topo_link(catena_group_t *group,
                              const ctn_known_member_t *member,
                              uint32_t parent_nodes, uint32_t *memory,
                              bool oversubscribed);

/** Called by a phase that needs the topology, as ctn_op_need. Sets *topo when
 * it returns NEXT. */
ctn_step_t ctn_topo_need(ctn_op_t *op, catena_group_t *group,
                         ctn_topo_t **topo);

/** As ctn_topo_need, including the member table. */
ctn_step_t ctn_member_table_need(ctn_op_t *op, catena_group_t *group,
                                 ctn_topo_t **topo);

/* Internal to this folder. */

/** The nodes of known members, in the order of their first members. */
typedef struct ctn_known_nodes {
    uint32_t count;
    uint32_t most;   /* members of the node that has the most */
    uint32_t *first; /* [count]: index of the first member; in `memory` */
} ctn_known_nodes_t;

/** Find the nodes of `n` members; the parameters are those of
 * ctn_topo_link. */
ctn_known_nodes_t ctn_known_nodes_find(const ctn_known_member_t *member,
                                       uint32_t n, uint32_t parent_nodes,
                                       uint32_t *memory);

/** Create an operation that broadcasts words from the node leader to all
 * members of the node; NULL: no memory. `received` is set on all members, the
 * leader included; `outgoing` is significant there only. */
ctn_op_t *ctn_node_bcast_create(ctn_exec_t *exec, ctn_topo_t *topo,
                                const ctn_words_t *outgoing,
                                ctn_words_t *received);
/** At the node leader: take the memory that the node shares, topo->shared: in
 * the control block, or of its own on large nodes. The place in topo->node and
 * topo->oversubscribed are set. @return false: no memory */
bool ctn_topo_take_shared(ctn_topo_t *topo);
/** Return that memory, zeroed for the next group. */
void ctn_topo_release_shared(ctn_exec_t *exec, ctn_topo_t *topo);
/** Connect to the members of this node, which are in topo->local, and map the
 * leader's memory: the node area and what lies beside it.
 * @param offset of that memory in the leader's arena
 * @return ERR_NO_MEMORY, ERR_LAUNCHER (logged), or as ctn_exec_connect */
catena_status_t ctn_topo_connect(ctn_topo_t *topo, uint64_t offset);

#endif
