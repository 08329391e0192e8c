/* Settings, statistics and explanations of neighborhoods. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/entry.h"
#include "core/sized.h"
#include "neighbor/call/executor.h"
#include "neighbor/schedule/aggregate.h"
#include "neighbor/schedule/select.h"

/* ---- settings ---- */

/** Reads a setting. @param[out] requested algorithm, or -1: auto */
static catena_status_t read_setting(const ctn_log_t *log, const char *name,
                                    const char *value, int *requested)
{
    static const char function[] = "catena_neighborhood_set";
    if (name == NULL || value == NULL) {
        return ctn_refuse_null(log, function, name == NULL ? "name" : "value");
    }
    if (strcmp(name, "algorithm") != 0) {
        return ctn_refuse(
            log, CATENA_ERR_ARG, function,
            "a neighborhood has no setting '%s'; expected algorithm", name);
    }
    *requested = ctn_neighbor_algorithm_by_name(function, log, value);
    return *requested < -1 ? CATENA_ERR_ARG : CATENA_OK;
}

/** Sets the algorithm, and creates its schedules if they do not exist yet. */
static catena_status_t set_algorithm(catena_neighborhood_t *neighborhood,
                                     int requested)
{
    const ctn_log_t *log = neighborhood->exec->log;
    int before = neighborhood->requested;
    neighborhood->requested = requested;
    catena_status_t status = ctn_schedules_make_candidates(neighborhood);
    const char *refusal =
        requested >= 0 ? ctn_neighbor_algorithm_refusal(
                             neighborhood, (ctn_neighbor_algorithm_t)requested)
                       : NULL;
    if (status == CATENA_OK && refusal != NULL) {
        status =
            ctn_refuse(log, CATENA_ERR_ARG, "catena_neighborhood_set",
                       "algorithm '%s' is not possible: %s; there are auto, "
                       "direct and colored for all graphs",
                       ctn_neighbor_algorithm_words[1 + requested], refusal);
    }
    if (status != CATENA_OK) {
        neighborhood->requested = before;
    }
    return status;
}

catena_status_t catena_neighborhood_set(catena_neighborhood_t *neighborhood,
                                        const char *name, const char *value)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(neighborhood, CTN_NEIGHBORHOOD)) {
        return CTN_REFUSE_NULL(NULL, neighborhood);
    }
    const ctn_log_t *log = neighborhood->exec->log;
    int requested = -1;
    ctn_backoff_t backoff = {0};
    /* Detached operations connect persistent requests: waits for them. */
    while (ctn_sequence_under_way(&neighborhood->sequence) > 0 &&
           ctn_sequence_under_way(&neighborhood->sequence) ==
               neighborhood->sequence.detached) {
        ctn_exec_poll_or_idle(neighborhood->exec, &backoff);
    }
    uint64_t under_way = ctn_sequence_under_way(&neighborhood->sequence);
    catena_status_t status =
        under_way == 0 ? read_setting(log, name, value, &requested)
                       : ctn_group_refuse_busy(neighborhood->group, under_way,
                                               "neighborhood", __func__);
    /* Else the ranks would create different schedules and deadlock. */
    status =
        ctn_neighbor_agree_same(__func__, neighborhood->group, status, 1,
                                &(const uint64_t){(uint64_t)(requested + 1)},
                                &(const char *const){"the algorithm"});
    status =
        status == CATENA_OK ? set_algorithm(neighborhood, requested) : status;
    if (status == CATENA_OK) {
        ctn_inline_forget(neighborhood);
        memset(neighborhood->last_of, 0, sizeof(neighborhood->last_of));
    }
    return status;
}

/* ---- statistics ---- */

/** The schedule that the statistics describe, of the alltoall pattern if the
 * neighborhood uses it: that of the last operation. If that had the other
 * pattern, the one of the same algorithm; if no operation has run, the one for
 * blocks of the usual length. */
static const ctn_schedule_t *
schedule_to_report(const catena_neighborhood_t *neighborhood)
{
    ctn_pattern_t pattern =
        ctn_pattern_is_used(neighborhood, CTN_PATTERN_ALLTOALL)
            ? CTN_PATTERN_ALLTOALL
            : CTN_PATTERN_ALLGATHER;
    const ctn_schedule_t *last = neighborhood->last;
    if (last != NULL && last->pattern == pattern) {
        return last;
    }
    const ctn_schedule_t *schedule =
        last != NULL ? neighborhood->schedule[last->algorithm][pattern] : NULL;
    if (schedule != NULL) {
        return last->aggregates != NULL && schedule->uniform != NULL
                   ? schedule->uniform
                   : schedule;
    }
    const ctn_rule_t *rule;
    return ctn_neighbor_choose(neighborhood, pattern,
                               neighborhood->chooser->usual, false, true,
                               &rule);
}

static const ctn_sized_t stats_struct =
    CTN_SIZED(catena_neighborhood_stats_t, weight_all);

catena_status_t
catena_neighborhood_get_stats(const catena_neighborhood_t *neighborhood,
                              catena_neighborhood_stats_t *stats)
{
    if (CTN_UNUSABLE(neighborhood, CTN_NEIGHBORHOOD) || stats == NULL) {
        return CTN_REFUSE_NULL(ctn_neighborhood_log(neighborhood), neighborhood,
                               stats);
    }
    const ctn_graph_facts_t *graph_facts = &neighborhood->graph_facts;
    const ctn_schedule_t *last = neighborhood->last;
    const ctn_schedule_t *schedule = schedule_to_report(neighborhood);
    const catena_neighborhood_stats_t own = {
        .algorithm = last != NULL
                         ? ctn_neighbor_algorithm_words[1 + last->algorithm]
                         : NULL,
        .messages =
            schedule->sends +
            (schedule->aggregates != NULL ? schedule->aggregates->led : 0),
        .rounds = schedule->facts.rounds,
        .heavy_rounds = schedule->facts.heavy_rounds,
        .weight_between = graph_facts->weight_between,
        .weight_before = graph_facts->weight_before,
        .weight_all = graph_facts->weight_all,
    };
    return ctn_sized_write(__func__, neighborhood->exec->log, &stats_struct,
                           &own, stats);
}

/* ---- explanations ---- */

/** The rest of a caller's text buffer; text that does not fit is truncated. */
typedef struct page {
    char *at;    /* where the next text goes */
    size_t left; /* bytes from there, with the terminating 0 */
} page_t;

__attribute__((format(printf, 2, 3))) static void print(page_t *page,
                                                        const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int bytes = vsnprintf(page->at, page->left, format, list);
    va_end(list);
    size_t written = bytes < 0                    ? 0
                     : (size_t)bytes < page->left ? (size_t)bytes
                                                  : page->left - 1;
    page->at += written;
    page->left -= written;
}

/** Prints which rule selected a schedule.
 * @param bytes as for print_reason */
static void print_rule(page_t *page, const catena_neighborhood_t *neighborhood,
                       const ctn_rule_t *rule, size_t bytes)
{
    const ctn_neighbor_costs_t *costs = &neighborhood->chooser->costs;
    char text[80];
    ctn_rule_describe(rule, text, sizeof(text));
    print(page, "%s", text);
    if (rule->algorithm != CTN_ALGORITHM_AUTO) {
        return;
    }
    print(page, ": least estimate for ");
    if (bytes > 0) {
        print(page, "%zu bytes", bytes);
    } else {
        print(page, "its blocks");
    }
    print(page,
          "; a message %.1f us on a node, %.1f us between nodes, %.1f ranks a "
          "core",
          costs->message[CTN_LOCAL] / 1000, costs->message[CTN_REMOTE] / 1000,
          costs->share);
}

/** Prints why a schedule is selected.
 * @param bytes length of a block; 0: that of the last call */
static void print_reason(page_t *page,
                         const catena_neighborhood_t *neighborhood,
                         const ctn_neighbor_ran_t *ran, size_t bytes)
{
    int requested = neighborhood->requested;
    const char *refusal =
        requested >= 0 ? ctn_neighbor_algorithm_refusal(
                             neighborhood, (ctn_neighbor_algorithm_t)requested)
                       : NULL;
    if (refusal != NULL) {
        print(page, "%s is not possible: %s; ",
              ctn_neighbor_algorithm_words[1 + requested], refusal);
    }
    if (ran->rule != NULL) {
        print_rule(page, neighborhood, ran->rule, bytes);
    } else if (requested == (int)ran->schedule->algorithm) {
        print(page, "as asked for");
    } else if (neighborhood->check) {
        print(page, "lengths are checked");
    } else {
        print(page, "a persistent request keeps its algorithm");
    }
}

/** Prints the estimate of an algorithm, or why it is not possible. */
static void print_algorithm(page_t *page,
                            const catena_neighborhood_t *neighborhood,
                            ctn_neighbor_algorithm_t algorithm,
                            ctn_pattern_t pattern, ctn_block_class_t blocks,
                            size_t bytes)
{
    const ctn_chooser_t *chooser = neighborhood->chooser;
    const ctn_schedule_facts_t *facts =
        ctn_schedule_facts_for(neighborhood, algorithm, pattern, blocks, bytes);
    print(page, "\n%s: ", ctn_neighbor_algorithm_words[1 + algorithm]);
    if (!facts->possible) {
        print(page, "%s",
              chooser->tried[algorithm]
                  ? ctn_neighbor_algorithm_refusal(neighborhood, algorithm)
                  : "only when asked for");
        return;
    }
    print(
        page,
        "%.1f us; rounds %u, heavy %u; of a rank at most %llu messages of "
        "%llu blocks on its node, %llu of %llu to others",
        ctn_schedule_estimate(neighborhood, algorithm, pattern, blocks, bytes) /
            1000,
        facts->rounds, facts->heavy_rounds,
        (unsigned long long)facts->most[CTN_COUNT_MESSAGES + CTN_LOCAL],
        (unsigned long long)facts->most[CTN_COUNT_BLOCKS + CTN_LOCAL],
        (unsigned long long)facts->most[CTN_COUNT_MESSAGES + CTN_REMOTE],
        (unsigned long long)facts->most[CTN_COUNT_BLOCKS + CTN_REMOTE]);
}

/** The collective to explain; NULL: invalid arguments, which are logged.
 * @param function the public function */
static const ctn_neighbor_collective_t *
find_collective(const char *function, const catena_neighborhood_t *neighborhood,
                const char *collective, char *text, size_t bytes)
{
    if (CTN_UNUSABLE(neighborhood, CTN_NEIGHBORHOOD)) {
        (void)ctn_refuse_handle(function, "neighborhood", neighborhood);
        return NULL;
    }
    const ctn_log_t *log = neighborhood->exec->log;
    if (collective == NULL || text == NULL) {
        (void)ctn_refuse_null(log, function,
                              collective == NULL ? "collective" : "text");
        return NULL;
    }
    if (bytes == 0) {
        (void)ctn_refuse(log, CATENA_ERR_ARG, function, CTN_NO_BYTES);
        return NULL;
    }
    *text = '\0';
    const ctn_neighbor_collective_t *found =
        ctn_neighbor_collective_named(function, log, collective);
    if (found != NULL && (neighborhood->operations & found->operation) == 0) {
        (void)ctn_refuse(log, CATENA_ERR_ARG, function,
                         "%s: the neighborhood is made for other operations "
                         "(%#x)",
                         collective, neighborhood->operations);
        return NULL;
    }
    return found;
}

/** Prints a schedule, and why it is selected.
 * @param ran   the schedule, or what would run
 * @param note  before the reason
 * @param bytes as for print_reason */
static void print_choice(page_t *page,
                         const catena_neighborhood_t *neighborhood,
                         const ctn_neighbor_ran_t *ran, const char *note,
                         size_t bytes)
{
    const ctn_schedule_t *schedule = ran->schedule;
    print(page, "algorithm=%s rounds=%u messages=%u ",
          ctn_neighbor_algorithm_words[1 + schedule->algorithm],
          schedule->facts.rounds, schedule->sends);
    if (schedule->aggregates != NULL) {
        print(page, "aggregates=%zu ", schedule->aggregates->out.count);
    }
    print(page, "reason=\"%s", note);
    print_reason(page, neighborhood, ran, bytes);
    print(page, "\"");
}

catena_status_t
catena_neighborhood_explain(const catena_neighborhood_t *neighborhood,
                            const char *collective, char *text, size_t bytes)
{
    const ctn_neighbor_collective_t *found =
        find_collective(__func__, neighborhood, collective, text, bytes);
    if (found == NULL) {
        return CATENA_ERR_ARG;
    }
    page_t page = {text, bytes};
    ctn_neighbor_ran_t ran = neighborhood->last_of[found->index];
    if (ran.schedule != NULL) {
        print_choice(&page, neighborhood, &ran, "", 0);
    } else {
        ran.schedule =
            ctn_neighbor_choose(neighborhood, ctn_neighbor_pattern(found), 0,
                                ctn_neighbor_reduces(found), true, &ran.rule);
        print_choice(&page, neighborhood, &ran, "has not run yet; ",
                     neighborhood->chooser->usual);
    }
    return CATENA_OK;
}

catena_status_t
catena_neighborhood_estimate(const catena_neighborhood_t *neighborhood,
                             const char *collective, size_t block_bytes,
                             char *text, size_t bytes)
{
    const ctn_neighbor_collective_t *found =
        find_collective(__func__, neighborhood, collective, text, bytes);
    if (found == NULL) {
        return CATENA_ERR_ARG;
    }
    page_t page = {text, bytes};
    ctn_pattern_t pattern = ctn_neighbor_pattern(found);
    bool combined = ctn_neighbor_reduces(found);
    size_t uniform = ctn_neighbor_varies(found) ? 0 : block_bytes;
    size_t length = uniform > 0 ? uniform : neighborhood->chooser->usual;
    ctn_block_class_t blocks =
        ctn_blocks_classify(neighborhood, uniform, combined);
    ctn_neighbor_ran_t ran;
    ran.schedule = ctn_neighbor_choose(neighborhood, pattern, uniform, combined,
                                       true, &ran.rule);
    print_choice(&page, neighborhood, &ran, "", length);
    for (ctn_neighbor_algorithm_t algorithm = 0;
         algorithm < CTN_NEIGHBOR_ALGORITHMS; algorithm++) {
        print_algorithm(&page, neighborhood, algorithm, pattern, blocks,
                        length);
    }
    return CATENA_OK;
}
