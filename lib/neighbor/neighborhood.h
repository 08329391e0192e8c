#ifndef CTN_NEIGHBOR_NEIGHBORHOOD_H
#define CTN_NEIGHBOR_NEIGHBORHOOD_H

#include <catena/neighbor.h>

#include "core/refuse.h"
#include "group/group.h"
#include "map/grid.h"
#include "model/tuning.h"
#include "neighbor/schedule/schedule.h"
#include "type/op.h"

/** An edge, as one of its ends sees it. */
typedef struct ctn_edge {
    int rank;       /* at the other end, or CATENA_PROC_NULL */
    uint32_t label; /* edges with the same label between two ranks are
                       matched with each other: in a grid the direction, else
                       0 */
    int weight;     /* the larger of both ends' weights; 1 if unweighted */
    uint32_t node;  /* of the other end: lowest rank of the group on that node
                     */
    uint32_t peer_index; /* index of this edge in the other end's list */
    uint32_t link;       /* index in out[] or in[]; CTN_NO_LINK: to the rank
                            itself or to CATENA_PROC_NULL */
    uint32_t round;      /* its color in NBR-2; else unused */
} ctn_edge_t;

#define CTN_NO_LINK UINT32_MAX

/** Facts about the graph that all ranks agreed on at its creation. */
typedef struct ctn_graph_facts {
    uint32_t nodes;        /* number of nodes that hold ranks of the group */
    uint32_t most_degree;  /* greatest number of sources or targets of a rank */
    uint32_t most_on_node; /* greatest number of ranks on a node */
    uint64_t edges;        /* their number */
    uint64_t weight_all;   /* sum of the weights of all edges */
    uint64_t weight_between; /* the same, of edges between nodes only */
    uint64_t weight_before;  /* weight_between before rank reordering */
    int greatest_weight;     /* of an edge */
    bool weighted;           /* the callers gave weights */
    bool connected;          /* edges connect all ranks that have neighbors */
} ctn_graph_facts_t;

enum { CTN_NEIGHBOR_COLLECTIVES = 7 }; /* their number in calls.def */

/** How a collective ran. */
typedef struct ctn_neighbor_ran {
    const ctn_schedule_t *schedule; /* NULL: it has not run */
    const ctn_rule_t *rule;         /* as of ctn_neighbor_choose */
} ctn_neighbor_ran_t;

/** The mark of a neighborhood: core/handle.h. */
#define CTN_NEIGHBORHOOD 0xc3

/** A neighborhood on one rank. */
struct catena_neighborhood {
    /* The two cache lines that small operations touch. */
    _Alignas(64) struct ctn_inline_path *path; /* the inline path, or NULL */
    const ctn_link_in_t *ran; /* schedule->in of the last operation if its
                                 senders know all that is complete here; else
                                 NULL */
    uint64_t begun;           /* 1 + the last operation that has begun */
    int requested; /* by the application: ctn_neighbor_algorithm_t, or -1:
                      auto */
    const ctn_schedule_t *last; /* schedule of the last operation, or NULL */
    ctn_exec_t *exec;
    void *kept; /* list of ctn_execution_t that later operations reuse, or
                   NULL */
    ctn_sequence_t sequence; /* numbers the operations; has no slots */
    catena_group_t *group;   /* its own: a duplicate, or reordered */
    unsigned operations;     /* CATENA_NEIGHBOR_...: those it was made for */
#ifndef NDEBUG
    uint8_t mark;
#endif
    bool check; /* CATENA_CHECK: empty messages are sent, too */
    uint32_t sources, targets;
    ctn_edge_t *source; /* [sources] */
    ctn_edge_t *target; /* [targets] */
    ctn_grid_t *grid;   /* or NULL */
    ctn_graph_facts_t graph_facts;
    uint32_t node; /* this rank's, as in ctn_edge_t */
    /* Link ends: one for each edge to another rank. */
    uint32_t outs, ins;
    ctn_link_out_t *out;
    ctn_link_in_t *in;
    void *memory; /* slots, eager buffers and link controls, in the heap */
    /* By algorithm and pattern; NULL: not built, or not possible. */
    ctn_schedule_t *schedule[CTN_NEIGHBOR_ALGORITHMS][CTN_PATTERNS];
    struct ctn_chooser *chooser; /* schedule/select.h */
    size_t bytes;                /* usual bytes along an edge of weight 1; 0:
                                    unknown */
    /* What each collective last used since the algorithm was set. */
    ctn_neighbor_ran_t last_of[CTN_NEIGHBOR_COLLECTIVES];
    ctn_refcount_t *users;       /* counts persistent requests on it */
    ctn_attachment_t attachment; /* to its group, once it is created */
};

/** The log of a neighborhood; NULL, the default log, if there is none. */
static inline const ctn_log_t *
ctn_neighborhood_log(const catena_neighborhood_t *neighborhood)
{
    return CTN_UNUSABLE(neighborhood, CTN_NEIGHBORHOOD)
               ? NULL
               : neighborhood->exec->log;
}

_Static_assert(offsetof(catena_neighborhood_t, sequence.failure) == 128 &&
                   offsetof(catena_neighborhood_t, sequence.started) == 64,
               "a cache line, then the sequence");

/* ---- functions of create/ and schedule/. Each returns a status that is the
 * same on all ranks, unless its comment says otherwise. ---- */

/** The graph of a neighborhood that is being created, as one rank gives it. */
typedef struct ctn_graph {
    uint32_t sources, targets;
    /* Of each edge rank, label and weight are set. */
    ctn_edge_t *source;
    ctn_edge_t *target;
    bool weighted;
    ctn_grid_t *grid; /* or NULL */
} ctn_graph_t;

/** create/create.c: makes a neighborhood on a group: matches edges, agrees on
 * the graph facts, connects links, builds schedules. The neighborhood owns the
 * group from now on; if the creation fails, the group is freed. Collective.
 * @param function the public function, for messages
 * @param graph    its lists and its grid go to the neighborhood, or are freed;
 *                 a grid gets the weights of the info
 * @param info     what the caller passes; NULL: no hints
 * @param reorder  0 or 1; negative: as info says
 * @param failed   CATENA_OK, or why this rank's arguments are invalid: then all
 *                 ranks fail */
catena_status_t ctn_neighborhood_make(const char *function,
                                      catena_group_t *group, ctn_graph_t *graph,
                                      const catena_neighborhood_info_t *info,
                                      int reorder, catena_status_t failed,
                                      catena_neighborhood_t **out);

/** create/agree.c: the worst status of all ranks, and sums and maxima of words
 * over all ranks. Collective; blocks.
 * @param[in,out] sums   [count] this rank's words, then the sums
 * @param[in,out] maxima [max_count] this rank's words, then the maxima */
catena_status_t ctn_neighbor_agree(catena_group_t *group,
                                   catena_status_t status, size_t count,
                                   uint64_t sums[], size_t max_count,
                                   uint64_t maxima[]);

/** The same for the status alone. */
catena_status_t ctn_neighbor_agree_status(catena_group_t *group,
                                          catena_status_t status);

/** The same for any number of maxima; NULL if `status` is an error. */
catena_status_t ctn_neighbor_agree_maxima(catena_group_t *group,
                                          catena_status_t status, size_t count,
                                          uint64_t maxima[]);

/** create/agree.c: agrees on a status and checks that values are the same on
 * all ranks. Collective; blocks.
 * @param own   [count] this rank's values; at most CTN_SAMES_MOST
 * @param names [count] for the message
 * @return the worst status of all ranks, or ERR_ARG, which is logged */
catena_status_t ctn_neighbor_agree_same(const char *function,
                                        catena_group_t *group,
                                        catena_status_t status, size_t count,
                                        const uint64_t own[],
                                        const char *const names[]);
enum { CTN_SAMES_MOST = 8 };

/* The schedule builders: each algorithm has a file in schedule/. *schedule is
 * NULL on all ranks if the algorithm is not possible for the graph. Collective.
 */

/** All messages at once, one for each edge. */
catena_status_t ctn_schedule_direct(catena_neighborhood_t *neighborhood,
                                    ctn_pattern_t pattern,
                                    ctn_schedule_t **schedule);
/** Rounds in which a rank sends and receives at most one message; edges of the
 * greatest weight come first. */
catena_status_t ctn_schedule_colored(catena_neighborhood_t *neighborhood,
                                     ctn_pattern_t pattern,
                                     ctn_schedule_t **schedule);
/** Grids: one dimension after the other; blocks for diagonal neighbors travel
 * with those for the neighbors that they pass. */
catena_status_t ctn_schedule_combining(catena_neighborhood_t *neighborhood,
                                       ctn_pattern_t pattern,
                                       ctn_schedule_t **schedule);
/** Edges between two nodes are aggregated: they travel through one leader of
 * each node. */
catena_status_t ctn_schedule_aggregated(catena_neighborhood_t *neighborhood,
                                        ctn_pattern_t pattern,
                                        ctn_schedule_t **schedule);

/** schedule/select.c: builds the schedules that operations may use: the direct
 * ones, and those of the `requested` algorithm or, if that is auto, of all
 * algorithms that rules may select. The caller has set `requested`, `bytes`,
 * graph facts and links. An algorithm that is not possible for the graph counts
 * as auto. Collective. */
catena_status_t ctn_schedules_make(catena_neighborhood_t *neighborhood);
/** Frees the schedules and the chooser, also if ctn_schedules_make failed. */
void ctn_schedules_free(catena_neighborhood_t *neighborhood);

/** schedule/select.c: the schedule for an operation. Ranks joined by edges find
 * the same one, since they have the same schedule facts and the same bytes.
 * @param bytes    length of each block if all are equally long; else 0
 * @param combined  blocks are operands of a reduction
 * @param blocking  as rules distinguish calls
 * @param[out] rule that selected it; NULL: the algorithm is requested, or
 *                  CATENA_CHECK=on selects it */
const ctn_schedule_t *
ctn_neighbor_choose(const catena_neighborhood_t *neighborhood,
                    ctn_pattern_t pattern, size_t bytes, bool combined,
                    bool blocking, const ctn_rule_t **rule);

/** Values of the settings of neighborhoods. */
typedef struct ctn_neighbor_config {
    unsigned algorithm; /* NEIGHBOR_ALGORITHM: 0 auto, else 1 + algorithm */
} ctn_neighbor_config_t;

extern const ctn_setting_table_t ctn_neighbor_settings;

static inline const ctn_neighbor_config_t *
ctn_neighbor_config(const ctn_config_t *config)
{
    return ctn_config_values(config, &ctn_neighbor_settings);
}

/** "auto", then the names of the algorithms: the name of an algorithm is at 1 +
 * algorithm; NULL-terminated. */
extern const char *const ctn_neighbor_algorithm_words[];

/** The algorithm of this name. -1: auto; -2: unknown, which is logged. */
int ctn_neighbor_algorithm_by_name(const char *function, const ctn_log_t *log,
                                   const char *name);

/** call/execution_memory.c: frees what operations keep for later ones: `kept`
 * and `path`. No operation is under way. */
void ctn_neighbor_forget(catena_neighborhood_t *neighborhood);

/** A process's place in a reordered graph. */
typedef struct ctn_place {
    int rank;           /* its new rank */
    uint32_t successor; /* old rank of the process whose new rank is this
                           process's old one */
} ctn_place_t;

/** create/mapping.c: rank reordering: puts ranks that share heavy edges on one
 * node. Rank 0 computes the places. The rank with place r becomes rank r, and
 * takes over the edges of the old rank r. Collective over `group`.
 * @param[in]  graph   its targets, with the weights that both ends have agreed
 *                     on; of a grid, which is the same on all ranks and may be
 *                     smaller than the group, nodes get blocks instead. Sources
 *                     and coords are ignored
 * @param[in]  weights of a grid by direction: [ndirs] of a derived graph, else
 *                     [2 * ndims] with the lower neighbor first; NULL: all the
 *                     same
 * @param[out] place   in a grid the new rank is row-major, or beyond it
 * @return this rank's status; the ranks still have to agree on it: CATENA_OK,
 *         ERR_NO_MEMORY, ERR_PEER */
catena_status_t ctn_reorder(catena_group_t *group, const ctn_graph_t *graph,
                            const int weights[], ctn_place_t *place);

#endif
