/* NBR-7. Selects a schedule by rules. Those that ship say "auto": the algorithm
 * with the least estimated time (estimate.c). The estimate uses facts that the
 * ranks agreed on when the schedule was built, so all ranks find the same
 * schedule. */

#include "neighbor/schedule/select.h"
#include "exec/deaths.h"

#include <stdlib.h>
#include <string.h>

#include "neighbor/schedule/aggregate.h"

const char *const ctn_neighbor_algorithm_words[] = {
    "auto", "direct", "colored", "combining", "aggregated", NULL};

_Static_assert(sizeof(ctn_neighbor_algorithm_words) /
                       sizeof(*ctn_neighbor_algorithm_words) ==
                   CTN_NEIGHBOR_ALGORITHMS + 2,
               "\"auto\", a name for each algorithm, NULL");

static const ctn_setting_type_t algorithm_type = {
    .kind = CTN_SETTING_WORD, .words = ctn_neighbor_algorithm_words};

static const ctn_setting_t settings[] = {
    {"NEIGHBOR_ALGORITHM", "auto",
     "Algorithm of neighborhoods that are created without one. auto: selected\n"
     "for each neighborhood. The same on all ranks.",
     offsetof(ctn_neighbor_config_t, algorithm), &algorithm_type},
};

/* The algorithms, as rules name them. */
static const ctn_algorithm_name_t names[CTN_NEIGHBOR_ALGORITHMS] = {
    [CTN_NEIGHBOR_DIRECT] = CTN_ALGORITHM_DIRECT,
    [CTN_NEIGHBOR_COLORED] = CTN_ALGORITHM_COLORED,
    [CTN_NEIGHBOR_COMBINING] = CTN_ALGORITHM_COMBINING,
    [CTN_NEIGHBOR_AGGREGATED] = CTN_ALGORITHM_AGGREGATED,
};

const ctn_setting_table_t ctn_neighbor_settings =
    CTN_SETTING_TABLE(settings, ctn_neighbor_config_t);

/** A schedule builder. */
typedef catena_status_t (*maker_t)(catena_neighborhood_t *neighborhood,
                                   ctn_pattern_t pattern,
                                   ctn_schedule_t **schedule);

static const maker_t makers[CTN_NEIGHBOR_ALGORITHMS] = {
    [CTN_NEIGHBOR_DIRECT] = ctn_schedule_direct,
    [CTN_NEIGHBOR_COLORED] = ctn_schedule_colored,
    [CTN_NEIGHBOR_COMBINING] = ctn_schedule_combining,
    [CTN_NEIGHBOR_AGGREGATED] = ctn_schedule_aggregated,
};

int ctn_neighbor_algorithm_by_name(const char *function, const ctn_log_t *log,
                                   const char *name)
{
    for (int i = 0; i < CTN_NEIGHBOR_ALGORITHMS; i++) {
        if (strcmp(name, ctn_neighbor_algorithm_words[1 + i]) == 0) {
            return i;
        }
    }
    if (strcmp(name, "auto") == 0) {
        return -1;
    }
    (void)ctn_refuse(log, CATENA_ERR_ARG, function,
                     "algorithm is '%s'; expected auto, direct, colored, "
                     "combining or aggregated",
                     name);
    return -2;
}

/* ---- facts ---- */

/** Agrees on the costs, which are the maxima of all ranks, in thousandths, and
 * on what rules match. */
static catena_status_t agree_facts(const catena_neighborhood_t *neighborhood,
                                   ctn_chooser_t *chooser)
{
    ctn_neighbor_costs_t *costs = &chooser->costs;
    enum { COSTS = sizeof(costs->each) / sizeof(*costs->each) };
    uint64_t maxima[COSTS + 1];
    ctn_neighbor_costs(neighborhood, costs);
    for (int i = 0; i < COSTS; i++) {
        maxima[i] = (uint64_t)(costs->each[i] * 1000);
    }
    maxima[COSTS] = neighborhood->exec->oversubscribed;
    catena_status_t status = ctn_neighbor_agree_maxima(
        neighborhood->group, CATENA_OK, COSTS + 1, maxima);
    for (int i = 0; i < COSTS; i++) {
        costs->each[i] = (double)maxima[i] / 1000;
    }
    chooser->place =
        (ctn_rule_facts_t){.ranks = neighborhood->group->chain.place.size,
                           .nodes = neighborhood->graph_facts.nodes,
                           .ppn = neighborhood->graph_facts.most_on_node,
                           .oversubscribed = maxima[COSTS] != 0};
    return status;
}

/* ---- building schedules ---- */

const char *
ctn_neighbor_algorithm_refusal(const catena_neighborhood_t *neighborhood,
                               ctn_neighbor_algorithm_t algorithm)
{
    const ctn_graph_facts_t *graph_facts = &neighborhood->graph_facts;
    const ctn_schedule_facts_t *facts =
        neighborhood->chooser->facts[CTN_BLOCKS_ANY][algorithm];
    if (facts[CTN_PATTERN_ALLTOALL].possible ||
        facts[CTN_PATTERN_ALLGATHER].possible) {
        return NULL;
    }
    if (algorithm == CTN_NEIGHBOR_COMBINING) {
        return neighborhood->grid == NULL
                   ? "it is not a grid or derived from one"
               : !graph_facts->connected
                   ? "the graph is not connected"
                   : "blocks would go through ranks without edges";
    }
    return graph_facts->nodes < 2 ? "all ranks are on one node"
                                  : "the graph is not connected";
}

bool ctn_pattern_is_used(const catena_neighborhood_t *neighborhood,
                         ctn_pattern_t pattern)
{
    /* neighbor_reduce has the pattern allgather, neighbor_reducev alltoall. */
    unsigned operations = neighborhood->operations;
    return (operations & CATENA_NEIGHBOR_REDUCE) != 0 ||
           (operations &
            (pattern == CTN_PATTERN_ALLGATHER ? CATENA_NEIGHBOR_ALLGATHER
                                              : CATENA_NEIGHBOR_ALLTOALL)) != 0;
}

ctn_block_class_t ctn_blocks_classify(const catena_neighborhood_t *neighborhood,
                                      size_t bytes, bool combined)
{
    /* CATENA_CHECK: only messages with the lengths of all their blocks reveal a
     * mismatch. */
    return bytes > 0 && !combined && !neighborhood->check ? CTN_BLOCKS_UNIFORM
                                                          : CTN_BLOCKS_ANY;
}

const ctn_schedule_facts_t *
ctn_schedule_facts_for(const catena_neighborhood_t *neighborhood,
                       ctn_neighbor_algorithm_t algorithm,
                       ctn_pattern_t pattern, ctn_block_class_t blocks,
                       size_t bytes)
{
    const ctn_chooser_t *chooser = neighborhood->chooser;
    const ctn_schedule_facts_t *facts =
        &chooser->facts[blocks][algorithm][pattern];
    return facts->possible && bytes <= facts->most_bytes
               ? facts
               : &chooser->facts[CTN_BLOCKS_ANY][algorithm][pattern];
}

catena_status_t ctn_schedules_make_for(catena_neighborhood_t *neighborhood,
                                       ctn_neighbor_algorithm_t algorithm)
{
    catena_status_t status = CATENA_OK;
    for (ctn_pattern_t pattern = 0; pattern < CTN_PATTERNS; pattern++) {
        ctn_schedule_t **schedule = &neighborhood->schedule[algorithm][pattern];
        if (status == CATENA_OK && *schedule == NULL &&
            ctn_pattern_is_used(neighborhood, pattern)) {
            status = makers[algorithm](neighborhood, pattern, schedule);
        }
        if (status == CATENA_OK && *schedule != NULL) {
            const ctn_schedule_t *each[CTN_BLOCK_CLASSES] = {
                [CTN_BLOCKS_ANY] = *schedule,
                [CTN_BLOCKS_UNIFORM] = (*schedule)->uniform};
            for (int blocks = 0; blocks < CTN_BLOCK_CLASSES; blocks++) {
                if (each[blocks] != NULL) {
                    neighborhood->chooser->facts[blocks][algorithm][pattern] =
                        each[blocks]->facts;
                }
            }
        }
    }
    neighborhood->chooser->tried[algorithm] = status == CATENA_OK;
    return status;
}

/** Whether to estimate an algorithm beside direct: one that combines messages,
 * where there are some to combine; colored where the network's buffer is known
 * and each rank has ports of its own. */
static bool is_candidate(const catena_neighborhood_t *neighborhood,
                         ctn_neighbor_algorithm_t algorithm)
{
    const ctn_graph_facts_t *graph_facts = &neighborhood->graph_facts;
    switch (algorithm) {
    case CTN_NEIGHBOR_COMBINING:
        return neighborhood->grid != NULL && neighborhood->grid->ndirs > 1;
    case CTN_NEIGHBOR_AGGREGATED:
        return graph_facts->nodes > 1 && graph_facts->most_on_node > 1;
    case CTN_NEIGHBOR_COLORED:
        return neighborhood->chooser->costs.buffer > 0 &&
               graph_facts->nodes > 1 && graph_facts->most_on_node == 1;
    case CTN_NEIGHBOR_DIRECT:
    case CTN_NEIGHBOR_ALGORITHMS:
    default:
        return false;
    }
}

/** Frees a schedule and its `uniform`, with their memory in the heap. */
static void drop_schedules(catena_neighborhood_t *neighborhood,
                           ctn_schedule_t **schedule)
{
    const ctn_failure_t *failure = neighborhood->sequence.failure;
    while (*schedule != NULL) {
        ctn_schedule_t *uniform = (*schedule)->uniform;
        if ((*schedule)->aggregates != NULL) {
            ctn_failure_free(neighborhood->exec, failure,
                             (*schedule)->aggregates->memory);
        }
        ctn_failure_free(neighborhood->exec, failure, (*schedule)->memory);
        ctn_schedule_free(*schedule);
        *schedule = uniform;
    }
}

/** The best of direct and the candidates that exist. */
static ctn_neighbor_algorithm_t
find_best(const catena_neighborhood_t *neighborhood, ctn_pattern_t pattern,
          ctn_block_class_t blocks, size_t bytes)
{
    ctn_neighbor_algorithm_t best = CTN_NEIGHBOR_DIRECT;
    double least =
        ctn_schedule_estimate(neighborhood, best, pattern, blocks, bytes);
    for (ctn_neighbor_algorithm_t algorithm = 0;
         algorithm < CTN_NEIGHBOR_ALGORITHMS; algorithm++) {
        if (neighborhood->schedule[algorithm][pattern] == NULL ||
            !is_candidate(neighborhood, algorithm)) {
            continue;
        }
        double time = ctn_schedule_estimate(neighborhood, algorithm, pattern,
                                            blocks, bytes);
        /* the estimate is not exact: the gain must be clear */
        if (1.15 * time < least) {
            best = algorithm;
            least = time;
        }
    }
    return best;
}

/** Replaces a choice of "auto" by the best of the schedules that exist, for all
 * lengths between the same two powers of two. */
static void choose_by_estimate(const catena_neighborhood_t *neighborhood,
                               ctn_pattern_t pattern, ctn_block_class_t blocks,
                               size_t bytes, ctn_neighbor_choice_t *choice)
{
    size_t from = 0;
    size_t to = 0;
    if (bytes > 0) {
        from = (SIZE_MAX / 2 + 1) >> __builtin_clzll(bytes);
        to = from + (from - 1);
    }
    choice->algorithm =
        find_best(neighborhood, pattern, blocks, from + from / 2);
    choice->by.from = from > choice->by.from ? from : choice->by.from;
    choice->by.to = to < choice->by.to ? to : choice->by.to;
}

/** Selects the algorithm for a length, with the range of lengths for which it
 * is selected.
 * @param untried rules may also name algorithms whose schedules have not been
 *                built */
static void find_choice(const catena_neighborhood_t *neighborhood,
                        ctn_pattern_t pattern, ctn_block_class_t blocks,
                        bool blocking, bool untried, size_t bytes,
                        ctn_neighbor_choice_t *choice)
{
    static const ctn_rules_of_t lists[CTN_PATTERNS] = {
        [CTN_PATTERN_ALLTOALL] = CTN_RULES_NEIGHBOR_ALLTOALL,
        [CTN_PATTERN_ALLGATHER] = CTN_RULES_NEIGHBOR_ALLGATHER};
    const ctn_chooser_t *chooser = neighborhood->chooser;
    ctn_rule_facts_t facts = chooser->place;
    ctn_algorithm_set_t possible = CTN_ALGORITHM_BIT(AUTO);
    for (int i = 0; i < CTN_NEIGHBOR_ALGORITHMS; i++) {
        bool usable = neighborhood->schedule[i][pattern] != NULL ||
                      (untried && !chooser->tried[i]);
        possible |= (ctn_algorithm_set_t)usable << names[i];
    }
    facts.blocking = blocking;
    ctn_tuning_find(neighborhood->exec->tuning, lists[pattern], possible,
                    &facts, bytes, &choice->by);
    if (choice->by.rule->algorithm == CTN_ALGORITHM_AUTO) {
        choose_by_estimate(neighborhood, pattern, blocks, bytes, choice);
        return;
    }
    choice->algorithm = CTN_NEIGHBOR_DIRECT;
    while (names[choice->algorithm] != choice->by.rule->algorithm) {
        choice->algorithm++;
    }
}

/** The algorithms that are selected for some length, by ctn_algorithm_name_t.
 * AUTO is among them if rules leave a choice to the estimate. */
static ctn_algorithm_set_t find_used(const catena_neighborhood_t *neighborhood,
                                     ctn_pattern_t pattern)
{
    ctn_algorithm_set_t used = 0;
    bool by_mode = true;
    for (int blocking = 1; blocking >= 0 && by_mode; blocking--) {
        by_mode = false;
        for (int blocks = 0; blocks < CTN_BLOCK_CLASSES; blocks++) {
            ctn_neighbor_choice_t choice = {.by = {.to = SIZE_MAX}};
            do {
                find_choice(neighborhood, pattern, (ctn_block_class_t)blocks,
                            blocking > 0, true, choice.by.to + 1, &choice);
                by_mode |= choice.by.by_mode;
                used |= (ctn_algorithm_set_t)1 << names[choice.algorithm] |
                        (ctn_algorithm_set_t)1 << choice.by.rule->algorithm;
            } while (choice.by.to < SIZE_MAX);
        }
    }
    return used;
}

/** Drops schedules that are selected for no length. Direct ones stay. */
static void drop_useless(catena_neighborhood_t *neighborhood)
{
    for (int pattern = 0; pattern < CTN_PATTERNS; pattern++) {
        for (int i = CTN_NEIGHBOR_DIRECT + 1; i < CTN_NEIGHBOR_ALGORITHMS;
             i++) {
            if (!ctn_algorithm_in(neighborhood->chooser->used[pattern],
                                  names[i])) {
                drop_schedules(neighborhood,
                               &neighborhood->schedule[i][pattern]);
            }
        }
    }
}

/** Builds the schedules that rules may select. An algorithm that proves
 * impossible lets other rules match, until all that do have been tried. */
static catena_status_t make_selected(catena_neighborhood_t *neighborhood)
{
    ctn_chooser_t *chooser = neighborhood->chooser;
    catena_status_t status = CATENA_OK;
    bool more = true;
    while (more && status == CATENA_OK) {
        ctn_algorithm_set_t used = 0;
        for (ctn_pattern_t pattern = 0; pattern < CTN_PATTERNS; pattern++) {
            chooser->used[pattern] = ctn_pattern_is_used(neighborhood, pattern)
                                         ? find_used(neighborhood, pattern)
                                         : 0;
            used |= chooser->used[pattern];
        }
        more = false;
        for (ctn_neighbor_algorithm_t i = 0; i < CTN_NEIGHBOR_ALGORITHMS; i++) {
            bool wanted = ctn_algorithm_in(used, names[i]) ||
                          (ctn_algorithm_in(used, CTN_ALGORITHM_AUTO) &&
                           is_candidate(neighborhood, i));
            if (wanted && !chooser->tried[i] && status == CATENA_OK) {
                status = ctn_schedules_make_for(neighborhood, i);
                more = true;
            }
        }
    }
    return status;
}

catena_status_t
ctn_schedules_make_candidates(catena_neighborhood_t *neighborhood)
{
    ctn_chooser_t *chooser = neighborhood->chooser;
    memset(chooser->kept, 0, sizeof(chooser->kept));
    if (neighborhood->requested >= 0) {
        ctn_neighbor_algorithm_t requested =
            (ctn_neighbor_algorithm_t)neighborhood->requested;
        catena_status_t status =
            ctn_schedules_make_for(neighborhood, requested);
        if (status != CATENA_OK ||
            ctn_neighbor_algorithm_refusal(neighborhood, requested) == NULL) {
            return status;
        }
    }
    return make_selected(neighborhood);
}

/** The usual length of a block: `bytes` of the info times the mean weight of an
 * edge, else 4 KiB. */
static size_t find_usual(const catena_neighborhood_t *neighborhood)
{
    const ctn_graph_facts_t *facts = &neighborhood->graph_facts;
    double weight =
        facts->edges > 0 ? (double)facts->weight_all / (double)facts->edges : 1;
    double usual =
        neighborhood->bytes > 0 ? (double)neighborhood->bytes * weight : 4096;
    return usual < 0x1p63 ? (size_t)usual : SIZE_MAX; /* if representable */
}

catena_status_t ctn_schedules_make(catena_neighborhood_t *neighborhood)
{
    neighborhood->chooser = calloc(1, sizeof(*neighborhood->chooser));
    catena_status_t status = ctn_neighbor_agree_status(
        neighborhood->group,
        neighborhood->chooser != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY);
    if (status == CATENA_OK) {
        status = agree_facts(neighborhood, neighborhood->chooser);
    }
    if (status == CATENA_OK) {
        neighborhood->chooser->usual = find_usual(neighborhood);
        status = ctn_schedules_make_for(neighborhood, CTN_NEIGHBOR_DIRECT);
    }
    if (status == CATENA_OK) {
        status = ctn_schedules_make_candidates(neighborhood);
    }
    if (status == CATENA_OK && neighborhood->requested < 0) {
        drop_useless(neighborhood);
    }
    return status;
}

void ctn_schedules_free(catena_neighborhood_t *neighborhood)
{
    for (int algorithm = 0; algorithm < CTN_NEIGHBOR_ALGORITHMS; algorithm++) {
        for (int pattern = 0; pattern < CTN_PATTERNS; pattern++) {
            drop_schedules(neighborhood,
                           &neighborhood->schedule[algorithm][pattern]);
        }
    }
    free(neighborhood->chooser);
    neighborhood->chooser = NULL;
}

/* ---- selection ---- */

/** Selects the algorithm. With CATENA_CHECK=on it must not depend on the
 * length, since ranks whose lengths differ would run different schedules and
 * deadlock. It is then direct, whose messages have one block each, so that the
 * mismatched one is known. */
static ctn_neighbor_algorithm_t
choose(const catena_neighborhood_t *neighborhood, ctn_pattern_t pattern,
       ctn_block_class_t blocks, bool blocking, size_t bytes,
       const ctn_rule_t **rule)
{
    ctn_chooser_t *chooser = neighborhood->chooser;
    ctn_neighbor_choice_t *kept = &chooser->kept[blocks][pattern];
    *rule = NULL;
    if (neighborhood->requested >= 0 &&
        neighborhood->schedule[neighborhood->requested][pattern] != NULL) {
        return (ctn_neighbor_algorithm_t)neighborhood->requested;
    }
    if (neighborhood->check) {
        return CTN_NEIGHBOR_DIRECT;
    }
    size_t length = bytes > 0 ? bytes : chooser->usual;
    if (!ctn_choice_holds(&kept->by, kept->by.possible, blocking, length)) {
        find_choice(neighborhood, pattern, blocks, blocking, false, length,
                    kept);
    }
    *rule = kept->by.rule;
    return kept->algorithm;
}

const ctn_schedule_t *
ctn_neighbor_choose(const catena_neighborhood_t *neighborhood,
                    ctn_pattern_t pattern, size_t bytes, bool combined,
                    bool blocking, const ctn_rule_t **rule)
{
    ctn_block_class_t blocks =
        ctn_blocks_classify(neighborhood, bytes, combined);
    const ctn_schedule_t *schedule = neighborhood->schedule[choose(
        neighborhood, pattern, blocks, blocking, bytes, rule)][pattern];
    return blocks == CTN_BLOCKS_UNIFORM && schedule->uniform != NULL &&
                   bytes <= schedule->uniform->aggregates->most_bytes
               ? schedule->uniform
               : schedule;
}
