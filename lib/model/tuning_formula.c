/* A tuning without rules: selects the fastest algorithm by
 * catena_model_alltoall. */

#include <catena/model.h>

#include "model/tuning_parts.h"

/** The algorithms that have formulas, and most of them any number of leaders on
 * a node. */
static const ctn_algorithm_name_t modelled[] = {
    CTN_ALGORITHM_DIRECT, CTN_ALGORITHM_L_A2A, CTN_ALGORITHM_MPML,
    CTN_ALGORITHM_NMPML, CTN_ALGORITHM_ONMPML};

enum { MODELLED = sizeof(modelled) / sizeof(modelled[0]) };

/** The time of an algorithm; overwrites algorithm and leaders of `point`. */
static double seconds_of(const ctn_tuning_t *tuning,
                         catena_model_point_t *point,
                         ctn_algorithm_name_t algorithm, uint32_t leaders)
{
    double seconds = 0;
    point->algorithm = ctn_algorithm_names[algorithm];
    point->leaders = (int)leaders;
    /* The algorithm has a formula and all numbers are positive, so this
     * succeeds. */
    (void)ctn_model_alltoall(tuning->machine, point, &seconds);
    return seconds;
}

/** The fastest algorithm and number of leaders; among equals the first of the
 * table, with the fewest leaders. */
static ctn_rule_t quickest(const ctn_tuning_t *tuning,
                           catena_model_point_t *point)
{
    ctn_rule_t rule = ctn_rule_anywhere;
    double least = seconds_of(tuning, point, CTN_ALGORITHM_DIRECT, 1);
    uint32_t most = (uint32_t)point->ppn; /* leaders */
    most = most < tuning->machine->ports ? most : tuning->machine->ports;
    most = most < CTN_TUNING_LEADERS ? most : CTN_TUNING_LEADERS;
    rule.algorithm = CTN_ALGORITHM_DIRECT;
    rule.tuning = tuning->name;
    /* On one node it stays direct: there are no messages to combine. */
    for (size_t i = 1; i < MODELLED && point->nodes > 1; i++) {
        uint32_t up_to = modelled[i] == CTN_ALGORITHM_L_A2A ? 1 : most;
        for (uint32_t n = 1; n <= up_to; n *= 2) {
            double seconds = seconds_of(tuning, point, modelled[i], n);
            if (seconds < least) {
                least = seconds;
                rule.algorithm = modelled[i];
                rule.leaders = n;
            }
        }
    }
    return rule;
}

/** The length above which blocks of an alltoallv are faster sent directly than
 * through the rule's leaders; SIZE_MAX: none up to 1 GiB. */
static size_t length_of_leaders(const ctn_tuning_t *tuning,
                                catena_model_point_t *point,
                                const ctn_rule_t *rule)
{
    for (size_t best = point->bytes; best < (size_t)1 << 30; best *= 2) {
        point->bytes = 2 * best;
        if (seconds_of(tuning, point, CTN_ALGORITHM_DIRECT, 1) <
            seconds_of(tuning, point, rule->algorithm, rule->leaders)) {
            return best;
        }
    }
    return SIZE_MAX;
}

ctn_rule_t ctn_tuning_by_formulas(const ctn_tuning_t *tuning,
                                  ctn_rules_of_t list, uint32_t nodes,
                                  uint32_t ppn, size_t bytes)
{
    catena_model_point_t point = {
        .nodes = (int)nodes, .ppn = (int)ppn, .bytes = bytes > 0 ? bytes : 1};
    ctn_rule_t rule = quickest(tuning, &point);
    if (list == CTN_RULES_ALLTOALLV && rule.leaders > 0) {
        rule.direct_above = length_of_leaders(tuning, &point, &rule);
    }
    return rule;
}
