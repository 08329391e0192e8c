#ifndef CTN_NEIGHBOR_NEIGHBORHOOD_H
#define CTN_NEIGHBOR_NEIGHBORHOOD_H

#include <catena/neighbor.h>

#include "group/group.h"
#include "neighbor/schedule/schedule.h"
#include "type/op.h"

/** The algorithms there are; see schedule/select.c. */
typedef enum ctn_neighbor_algorithm {
    CTN_NEIGHBOR_DIRECT,
    CTN_NEIGHBOR_COLORED,
    CTN_NEIGHBOR_COMBINING,
    CTN_NEIGHBOR_AGGREGATED,
    CTN_NEIGHBOR_ALGORITHMS
} ctn_neighbor_algorithm_t;

/** An edge, as the rank at one end knows it. */
typedef struct ctn_edge {
    int rank;       /* at the other end, or CATENA_PROC_NULL */
    uint32_t label; /* edges of one label between two ranks are matched with
                       each other: in a grid the direction of travel, else 0 */
    int weight;     /* the larger of what both ends said; 1 when unweighted */
    uint32_t node;  /* of the other end: the lowest rank of the group there */
    uint32_t peer_index; /* of this edge in the other end's list */
    uint32_t link;  /* in out[] or in[]; CTN_NO_LINK: to itself, or nobody */
    uint32_t round; /* color; set when it is asked for */
} ctn_edge_t;

#define CTN_NO_LINK UINT32_MAX

/** A grid. */
typedef struct ctn_grid {
    int ndims;
    int *dims;
    int *periods;
    int *coords;
    /* Of a graph derived from it; else NULL and 0. */
    int ndirs;
    int *displacements; /* [ndirs][ndims] */
} ctn_grid_t;

/** Facts that all ranks have agreed on when it was made. */
typedef struct ctn_graph_facts {
    uint32_t nodes;        /* that the group's ranks are on */
    uint32_t most_degree;  /* greatest number of sources or targets */
    uint32_t most_remote;  /* the same of edges between nodes */
    uint32_t most_on_node; /* ranks */
    uint64_t weight_all;
    uint64_t weight_between; /* nodes */
    uint64_t weight_before;  /* between nodes, in the parent group's order */
    int greatest_weight;
    bool weighted;
    bool connected; /* one component, maybe with ranks without neighbors */
} ctn_graph_facts_t;

struct catena_neighborhood {
    /* Two cache lines that are all of this that small operations touch. */
    _Alignas(64) struct ctn_inline_path *path; /* for short messages, or NULL */
    const ctn_link_in_t *ran; /* links that know what is complete, or NULL */
    uint64_t begun;           /* 1 + the last operation that has */
    uint64_t allowed; /* rings of short messages of those below are free */
    bool ahead;       /* of what links know of that */
    int requested;    /* ctn_neighbor_algorithm_t, or -1: auto */
    const ctn_schedule_t *last; /* plan of the last operation, or NULL */
    ctn_exec_t *exec;
    ctn_sequence_t sequence; /* numbers the operations; has no slots */
    catena_group_t *group;   /* its own */
    unsigned operations;     /* it is made for */
    bool check;              /* CATENA_CHECK: messages of no bytes are sent */
    uint32_t sources, targets;
    ctn_edge_t *source; /* [sources] */
    ctn_edge_t *target; /* [targets] */
    ctn_grid_t *grid;   /* or NULL */
    ctn_graph_facts_t graph_facts;
    uint32_t node; /* this rank's, as in ctn_edge_t */
    /* Ends of the edges' links: one for each edge to another rank. */
    uint32_t outs, ins;
    ctn_link_out_t *out;
    ctn_link_in_t *in;
    void *memory; /* slots, wide payloads and cells, in the heap */
    /* Plans, by scheme and pattern; NULL: not made, or not possible. */
    ctn_schedule_t *schedule[CTN_NEIGHBOR_ALGORITHMS][CTN_PATTERNS];
    struct ctn_chooser *chooser; /* schedule/select.c's */
    size_t bytes;          /* usual, along an edge of weight 1; 0: not known */
    void *kept;            /* memory that operations use again, or NULL */
    ctn_refcount_t *users; /* persistent requests */
    ctn_attachment_t attachment; /* it goes with its group, once it is made */
};

_Static_assert(offsetof(catena_neighborhood_t, group) == 128 &&
                   offsetof(catena_neighborhood_t, sequence.started) == 64,
               "a cache line, then the channel");

/* ---- who makes what; each returns a status that is the same on all ranks,
 * unless it says otherwise ---- */

/** What a neighborhood is to be made from. */
typedef struct ctn_graph {
    unsigned operations;
    uint32_t sources, targets;
    /* Filled in: rank, label, weight. Copied. */
    const ctn_edge_t *source;
    const ctn_edge_t *target;
    bool weighted;
    /* Given to the neighborhood when it is made, freed when it is not. */
    ctn_grid_t *grid;
} ctn_graph_t;

/** create.c: make it on a group, which it owns from now on (and frees if it is
 * not made): match edges, connect links, agree on the census, make plans.
 * Collective. `failed`: this rank has found its arguments wrong; then all ranks
 * fail, with ERR_ARG where there was nothing wrong. */
catena_status_t ctn_neighborhood_make(catena_group_t *group,
                                      const ctn_graph_t *graph,
                                      const catena_neighborhood_info_t *info,
                                      catena_status_t failed,
                                      catena_neighborhood_t **out);

/** create/sparse_exchange.c: an exchange of records between any ranks of a
 * group, by ceil(log2 p) rounds of its log-chain: what is for members 2^d or
 * more away goes a step of 2^d.
 * @param[in]  count   of records of `bytes`, each of which begins with the
 *                     uint32_t rank that it is for
 * @param[in]  record  [count][bytes]
 * @param[out] came    malloc'd, the caller's: ordered by the rank they come
 *                     from, then as that one listed them; each begins with the
 *                     uint32_t rank that it comes from
 * Collective; blocks.
 * @return this rank's status, on which all have to agree yet. ERR_NO_MEMORY on
 *         all where a rank begins with that, as it does with NULL for some
 *         records; who runs out of memory later tells those to whom something
 *         does not come because of it, and maybe others */
catena_status_t ctn_sparse_exchange(catena_group_t *group, size_t bytes,
                                    size_t count, const void *record,
                                    void **came, size_t *came_count);

/** create/agree.c: the worst of all ranks' statuses, and sums and maxima of
 * words. Collective; blocks. */
catena_status_t ctn_neighbor_agree(catena_group_t *group,
                                   catena_status_t status, size_t count,
                                   uint64_t sums[], size_t max_count,
                                   uint64_t maxima[]);

/** More links, for a plan: this rank sends to `to`, receives from `from`; every
 * pair is named by both ends, k-th with k-th. Collective.
 * @param[out] plan its links are set; it owns them */
catena_status_t ctn_schedule_connect(catena_neighborhood_t *neighborhood,
                                     uint32_t outs, const uint32_t to[],
                                     uint32_t ins, const uint32_t from[],
                                     ctn_schedule_t *schedule);

/* Builders, each a file: NULL in *plan where the graph is none for it (the same
 * on all ranks). Collective. */
catena_status_t ctn_schedule_direct(catena_neighborhood_t *neighborhood,
                                    ctn_pattern_t pattern,
                                    ctn_schedule_t **schedule);
/** Rounds in which a rank sends and receives at most one message; edges of the
 * greatest weight first. */
catena_status_t ctn_schedule_colored(catena_neighborhood_t *neighborhood,
                                     ctn_pattern_t pattern,
                                     ctn_schedule_t **schedule);
/** Grids: along one dimension after the other; blocks for diagonals travel with
 * those for the neighbors they pass. */
catena_status_t ctn_schedule_combining(catena_neighborhood_t *neighborhood,
                                       ctn_pattern_t pattern,
                                       ctn_schedule_t **schedule);
/** Edges between two nodes travel together, through one rank of each. */
catena_status_t ctn_schedule_aggregated(catena_neighborhood_t *neighborhood,
                                        ctn_pattern_t pattern,
                                        ctn_schedule_t **schedule);

/** schedule/select.c: make the plans that operations may run: the direct ones,
 * and those of the algorithm that is `wanted` or, if that is auto, of all that
 * may be best. `wanted`, `bytes`, census and links are there. An algorithm that
 * is not possible for the graph is none: then it is chosen. Collective. */
catena_status_t ctn_schedules_make(catena_neighborhood_t *neighborhood);
/** Free them, and what they were chosen by; also half of them. */
void ctn_schedules_free(catena_neighborhood_t *neighborhood);

/** schedule/select.c: the plan for an operation. All ranks that edges join find
 * the same, since they have the same census and the same bytes.
 * @param bytes    along an edge, where all are alike; else 0
 * @param combined blocks are operands of a reduction */
const ctn_schedule_t *
ctn_neighbor_choose(const catena_neighborhood_t *neighborhood,
                    ctn_pattern_t pattern, size_t bytes, bool combined);
/** Their names, "direct" and so on; NULL-terminated. */
extern const char *const ctn_neighbor_algorithm_names[];
/** -1: auto; -2: there is none of that name (logged, with those there are). */
int ctn_neighbor_algorithm_by_name(const ctn_log_t *log, const char *name);

/** call/executor.c: give back what operations have kept; none is under way. */
void ctn_neighbor_forget(catena_neighborhood_t *neighborhood);

/** create/mapping.c: new ranks for a graph, that put heavy neighbors on one
 * node: rank 0 finds them. The rank whose place is r becomes rank r, and takes
 * over the edges of the one that has been rank r. Collective over `group`.
 * @param[in]  graph targets of all ranks within the group, with the weights on
 *                   which both ends agree; its sources are not looked at
 * @param[out] place this rank's new rank
 * @return this rank's status, on which all have to agree yet: CATENA_OK,
 *         ERR_NO_MEMORY, ERR_PEER */
catena_status_t ctn_reorder_graph(catena_group_t *group,
                                  const ctn_graph_t *graph, int *place);
/** The same for a grid, whose sides may hold fewer cells than the group has
 * ranks: blocks of it go to nodes.
 * @param[in]  grid    the same on all ranks; its coords are not looked at
 * @param[in]  weights by direction: [ndirs] of a derived graph, else [2 *
 * ndims] with the lower neighbor first; NULL: all the same
 * @param[out] place   this rank's new rank, row-major; beyond the grid: no cell
 */
catena_status_t ctn_reorder_grid(catena_group_t *group, const ctn_grid_t *grid,
                                 const int weights[], int *place);

#endif
