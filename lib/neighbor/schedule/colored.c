/* NBR-2. Rounds in which each rank sends at most one message and receives at
 * most one: an edge coloring, in which the edges from one rank differ and the
 * edges to one rank differ. [Hoefler], "Sparse Collective Operations", slides
 * "Optimization Potential" and "Weighted Performance": messages that share no
 * end do not hinder each other; heavy ones should share rounds, since a round
 * takes as long as its heaviest message.
 *
 * Grids: a color for each direction, heaviest first. In a round all ranks send
 * in one direction and receive from the opposite one, so in periodic dimensions
 * the number of rounds, and of heavy rounds, is minimal. Between open borders
 * directions share a round if no rank has edges along both.
 *
 * Other graphs: greedily, the heaviest edges first, then those at least half as
 * heavy as the heaviest left, and so on. Each sender proposes different colors
 * for its edges, each the lowest that it does not know to be taken at either
 * end. Each receiver accepts the best proposal for a color, that of the
 * heaviest edge, and answers all proposals with the colors that are taken at
 * it. In each iteration at least the best of all proposals is accepted, so
 * there is an end; mostly after a few iterations. At most 2 d - 1 colors for
 * degree d; d if all ranks list their targets in the same order of directions.
 * Memory O(degree), and a bit for each edge and color. */

#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "neighbor/create/sparse_exchange.h"
#include "neighbor/grid/displacements.h"
#include "neighbor/schedule/builder.h"

#define NO_COLOR UINT32_MAX

/** The coloring of a graph. A set of colors is [words] with a bit for each
 * color. */
typedef struct coloring {
    catena_neighborhood_t *neighborhood;
    catena_status_t status; /* this rank's */
    uint32_t words;
    uint64_t *memory;   /* of all sets */
    uint64_t *sends;    /* set: taken by edges from this rank */
    uint64_t *receives; /* set: taken by edges to this rank */
    uint64_t *known;    /* [target], sets: known to be taken by edges to that
                           target */
    uint64_t *tried;    /* set: proposed in this iteration */
    uint32_t *order;    /* [targets]: indices of targets, the heaviest first */
} coloring_t;

/** A proposal, from the sender of an edge to its receiver. */
typedef struct proposal {
    uint32_t to, from; /* for ctn_sparse_exchange */
    uint32_t source;   /* index of the edge in the receiver's list of sources */
    uint32_t target;   /* index of the edge in the sender's list of targets */
    uint32_t color;
} proposal_t;

/** The answer to it. */
typedef struct answer {
    uint32_t to, from; /* for ctn_sparse_exchange */
    uint32_t target;   /* index of the edge in the sender's list of targets */
    uint32_t color;
    uint32_t accepted; /* 0 or 1 */
    uint64_t taken;    /* the word of the receiver's set `receives` that
                          contains the color */
} answer_t;

/** Whether a set has a color. */
static bool has(const uint64_t *set, uint32_t color)
{
    return set[color / 64] >> color % 64 & 1u;
}

/** Adds a color to a set. */
static void take(uint64_t *set, uint32_t color)
{
    set[color / 64] |= UINT64_C(1) << color % 64;
}

/* ---- senders ---- */

/** Whether an edge has no color yet, but needs one. */
static bool is_open(const ctn_edge_t *edge)
{
    return edge->link != CTN_NO_LINK && edge->round == NO_COLOR;
}

static const ctn_edge_t *target_of(const coloring_t *c, uint32_t i)
{
    return &c->neighborhood->target[i];
}

/** Sorts indices of targets. */
static int heaviest_first(const void *a, const void *b, void *argument)
{
    const coloring_t *c = argument;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int p = target_of(c, x)->weight;
    int q = target_of(c, y)->weight;
    return p != q ? (p < q) - (p > q) : (x > y) - (x < y);
}

/** 1 + the weight of this rank's heaviest edge without a color; 0: none. */
static uint64_t heaviest_left(const coloring_t *c)
{
    for (uint32_t i = 0; i < c->neighborhood->targets; i++) {
        const ctn_edge_t *edge = target_of(c, c->order[i]);
        if (is_open(edge)) {
            return (uint64_t)edge->weight + 1;
        }
    }
    return 0;
}

/** The lowest color to propose for an edge. @param known its set in c->known */
static uint32_t lowest_free(const coloring_t *c, const uint64_t *known)
{
    for (uint32_t w = 0; w < c->words; w++) {
        uint64_t taken = c->sends[w] | c->tried[w] | known[w];
        if (taken != UINT64_MAX) {
            return w * 64 + (uint32_t)__builtin_ctzll(~taken);
        }
    }
    return NO_COLOR; /* impossible: there are more colors than edges */
}

/** Proposes colors for all open edges of at least the weight `least`. */
static void propose(coloring_t *c, uint64_t least, ctn_vector_t *proposals)
{
    memset(c->tried, 0, c->words * sizeof(*c->tried));
    for (uint32_t i = 0; i < c->neighborhood->targets; i++) {
        uint32_t target = c->order[i];
        const ctn_edge_t *edge = target_of(c, target);
        if (!is_open(edge) || (uint64_t)edge->weight < least) {
            continue;
        }
        uint32_t color = lowest_free(c, &c->known[(size_t)target * c->words]);
        take(c->tried, color);
        ctn_vector_put(proposals,
                       &(proposal_t){(uint32_t)edge->rank, 0, edge->peer_index,
                                     target, color},
                       sizeof(proposal_t), &c->status);
    }
}

/** Processes the answers. */
static void take_answers(coloring_t *c, const ctn_vector_t *answers)
{
    const answer_t *answer = answers->item;
    for (uint32_t i = 0; i < answers->count; i++, answer++) {
        uint64_t *known = &c->known[(size_t)answer->target * c->words];
        known[answer->color / 64] |= answer->taken;
        if (answer->accepted) {
            c->neighborhood->target[answer->target].round = answer->color;
            take(c->sends, answer->color);
        }
    }
}

/* ---- receivers ---- */

/** A hash that breaks ties: in the order of ranks there would be long sequences
 * of edges, each of which waits for the one before it. */
static uint64_t shuffle(const proposal_t *p)
{
    return ctn_hash_mix((uint64_t)p->from << 32 | p->target);
}

/** Sorts proposals: those for the heaviest edges first, equal ones by hash. */
static int best_first(const void *a, const void *b, void *argument)
{
    const coloring_t *c = argument;
    const proposal_t *x = a;
    const proposal_t *y = b;
    int p = c->neighborhood->source[x->source].weight;
    int q = c->neighborhood->source[y->source].weight;
    if (p != q) {
        return p > q ? -1 : 1;
    }
    uint64_t h = shuffle(x);
    uint64_t k = shuffle(y);
    return h != k ? (h > k) - (h < k)
                  : (x->from > y->from) - (x->from < y->from);
}

/** Accepts or refuses all proposals, the best first, and makes the answers. */
static void answer_proposals(coloring_t *c, ctn_vector_t *proposals,
                             ctn_vector_t *answers)
{
    proposal_t *proposal = proposals->item;
    if (proposals->count > 1) {
        qsort_r(proposal, proposals->count, sizeof(*proposal), best_first, c);
    }
    for (uint32_t i = 0; i < proposals->count; i++, proposal++) {
        bool accepted = !has(c->receives, proposal->color);
        if (accepted) {
            take(c->receives, proposal->color);
            c->neighborhood->source[proposal->source].round = proposal->color;
        }
        ctn_vector_put(answers,
                       &(answer_t){.to = proposal->from,
                                   .target = proposal->target,
                                   .color = proposal->color,
                                   .accepted = accepted},
                       sizeof(answer_t), &c->status);
    }
    answer_t *answer = answers->item;
    for (uint32_t i = 0; i < answers->count; i++, answer++) {
        answer->taken = c->receives[answer->color / 64];
    }
}

/* ---- iterations ---- */

/** Takes memory for the sets, and sorts the targets by weight. */
static catena_status_t prepare(coloring_t *c)
{
    catena_neighborhood_t *neighborhood = c->neighborhood;
    uint32_t targets = neighborhood->targets;
    c->words = (2 * neighborhood->graph_facts.most_degree) / 64 + 1;
    c->memory =
        calloc((size_t)c->words * (3 + (size_t)targets), sizeof(*c->memory));
    c->order = malloc(((size_t)targets + 1) * sizeof(*c->order));
    if (c->memory == NULL || c->order == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    c->sends = c->memory;
    c->receives = c->memory + c->words;
    c->tried = c->receives + c->words;
    c->known = c->tried + c->words;
    for (uint32_t i = 0; i < targets; i++) {
        c->order[i] = i;
        neighborhood->target[i].round = NO_COLOR;
    }
    qsort_r(c->order, targets, sizeof(*c->order), heaviest_first, c);
    return CATENA_OK;
}

/** One iteration: the heaviest edges only as long as one of the greatest weight
 * is open, then all that are at least half as heavy as the heaviest open one.
 * @param heaviest weight of the heaviest open edge of all ranks */
static void iterate(coloring_t *c, uint64_t heaviest)
{
    catena_group_t *group = c->neighborhood->group;
    bool first =
        heaviest == (uint64_t)c->neighborhood->graph_facts.greatest_weight;
    ctn_vector_t proposals = {0};
    ctn_vector_t answers = {0};
    if (c->status == CATENA_OK) {
        propose(c, first ? heaviest : (heaviest + 1) / 2, &proposals);
    }
    c->status =
        ctn_sparse_exchange(group, c->status, &proposals, sizeof(proposal_t));
    if (c->status == CATENA_OK) {
        answer_proposals(c, &proposals, &answers);
    }
    ctn_vector_drop(&proposals);
    c->status =
        ctn_sparse_exchange(group, c->status, &answers, sizeof(answer_t));
    if (c->status == CATENA_OK) {
        take_answers(c, &answers);
    }
    ctn_vector_drop(&answers);
}

/** Finds a round for each edge of a graph. */
static catena_status_t color_graph(catena_neighborhood_t *neighborhood)
{
    coloring_t c = {.neighborhood = neighborhood};
    c.status = prepare(&c);
    catena_status_t status;
    uint64_t left;
    do {
        left = c.status == CATENA_OK ? heaviest_left(&c) : 0;
        status =
            ctn_neighbor_agree_maxima(neighborhood->group, c.status, 1, &left);
        if (status == CATENA_OK && left > 0) {
            iterate(&c, left - 1);
        }
    } while (status == CATENA_OK && left > 0);
    free(c.memory);
    free(c.order);
    return status;
}

/* ---- grids ---- */

/** Whether some rank sends along both displacements; with `sign` -1, whether
 * some rank receives along both. */
static bool share_a_rank(const ctn_displacements_t *displacements, uint32_t i,
                         uint32_t j, int sign)
{
    const int *x = ctn_displacement(displacements, i);
    const int *y = ctn_displacement(displacements, j);
    for (int d = 0; d < displacements->ndims; d++) {
        int a = sign * x[d];
        int b = sign * y[d];
        int low = a < b ? a : b;
        int high = a < b ? b : a;
        /* From a place between `least` and `most` both stay in the grid. */
        int least = low < 0 ? -low : 0;
        int most = displacements->grid->dims[d] - 1 - (high > 0 ? high : 0);
        if (!displacements->grid->periods[d] && least > most) {
            return false;
        }
    }
    return true;
}

/** Whether messages go along a displacement. */
static bool is_used(const ctn_displacements_t *displacements, uint32_t i)
{
    return !ctn_displacement_is_zero(displacements, i) &&
           ctn_displacement_fits_anywhere(displacements, i);
}

/** The first round in which no rank would have two messages to send, or two to
 * receive, if displacement order[count - 1] were added to it.
 * @param order [count] displacements; all but the last have their rounds
 * @param round by displacement */
static uint32_t first_round(const ctn_displacements_t *displacements,
                            const uint32_t *order, uint32_t count,
                            const uint32_t *round)
{
    uint32_t i = order[count - 1];
    uint32_t found = 0;
    uint32_t k = 0;
    while (is_used(displacements, i) && k + 1 < count) {
        uint32_t j = order[k++];
        if (round[j] == found && is_used(displacements, j) &&
            (share_a_rank(displacements, i, j, 1) ||
             share_a_rank(displacements, i, j, -1))) {
            found++;
            k = 0; /* start again */
        }
    }
    return found;
}

/** Sets the rounds of all edges. Takes the displacements in the order of their
 * weights, the heaviest first, and equal ones in the order of the list. */
static catena_status_t
color_directions(const catena_neighborhood_t *neighborhood,
                 const ctn_displacements_t *displacements)
{
    uint32_t *order =
        malloc(((size_t)displacements->count + 1) * sizeof(*order));
    uint32_t *round =
        malloc(((size_t)displacements->count + 1) * sizeof(*round));
    bool good = order != NULL && round != NULL;
    for (uint32_t i = 0; good && i < displacements->count; i++) {
        uint32_t at = i;
        while (at > 0 && displacements->weight[order[at - 1]] <
                             displacements->weight[i]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    for (uint32_t k = 0; good && k < displacements->count; k++) {
        uint32_t i = order[k];
        round[i] = first_round(displacements, order, k + 1, round);
        neighborhood->target[i].round = round[i];
        neighborhood->source[ctn_displacement_source(displacements, i)].round =
            round[i];
    }
    free(order);
    free(round);
    return good ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

static catena_status_t color_grid(catena_neighborhood_t *neighborhood)
{
    ctn_displacements_t displacements;
    catena_status_t status =
        ctn_displacements_make(neighborhood, &displacements);
    if (status == CATENA_OK) {
        status = color_directions(neighborhood, &displacements);
        ctn_displacements_free(&displacements);
        status = ctn_neighbor_agree_status(neighborhood->group, status);
    }
    return status;
}

/* ---- the schedule ---- */

catena_status_t ctn_schedule_colored(catena_neighborhood_t *neighborhood,
                                     ctn_pattern_t pattern,
                                     ctn_schedule_t **schedule)
{
    ctn_schedule_t *const *made = neighborhood->schedule[CTN_NEIGHBOR_COLORED];
    bool is_colored = made[CTN_PATTERN_ALLTOALL] || made[CTN_PATTERN_ALLGATHER];
    catena_status_t status = is_colored ? CATENA_OK
                             : neighborhood->grid != NULL
                                 ? color_grid(neighborhood)
                                 : color_graph(neighborhood);
    *schedule = NULL;
    if (status != CATENA_OK) {
        return status;
    }
    ctn_schedule_builder_t builder = {.neighborhood = neighborhood};
    ctn_schedule_builder_edges(&builder, pattern, CTN_EDGES_COLORED);
    return ctn_schedule_builder_finish(&builder, CTN_NEIGHBOR_COLORED, pattern,
                                       false, schedule);
}
