#ifndef CTN_NEIGHBOR_SCHEDULE_SELECT_H
#define CTN_NEIGHBOR_SCHEDULE_SELECT_H

#include "neighbor/neighborhood.h"

/* The selection of a schedule by rules (model/tuning.h). A rule names an
 * algorithm, or says auto: that with the least estimated time, from facts that
 * all ranks have agreed on. */

/** Costs in ns. */
typedef union ctn_neighbor_costs {
    struct {
        double round[CTN_REACHES]; /* from a send until the data can be used */
        double message[CTN_REACHES]; /* at both ends together */
        double byte[CTN_REACHES];
        /* A byte of a block that shares a message: it is copied at both ends.
         */
        double packed;
        /* A switch of process, for each rank that shares the core. */
        double switching;
        double share; /* no cost: number of ranks on a core, at least 1 */
        /* No cost: what the network takes of a message whose receiving port is
         * busy, in bytes; 0: not known. */
        double buffer;
    };
    double each[3 * CTN_REACHES + 4];
} ctn_neighbor_costs_t;

/** The blocks of an operation. */
typedef enum ctn_block_class {
    CTN_BLOCKS_ANY,     /* of any lengths, or operands of a reduction */
    CTN_BLOCKS_UNIFORM, /* of one length, and not reduced: an algorithm may
                           have another schedule for them */
    CTN_BLOCK_CLASSES
} ctn_block_class_t;

/** What is selected for a range of lengths of blocks. */
typedef struct ctn_neighbor_choice {
    ctn_choice_t by; /* the rule, and the range */
    ctn_neighbor_algorithm_t algorithm;
} ctn_neighbor_choice_t;

/** How long an exchange occupies the ports of a network, where the costs have a
 * buffer (schedule/port_time.h): with messages of equal lengths, and with
 * lengths by weight. */
typedef union ctn_port_times {
    struct {
        uint64_t at_once[2];
        uint64_t rounds[2]; /* 0: there is no colored schedule yet */
        uint64_t lightest;  /* the least weight of an edge */
    };
    uint64_t each[5];
} ctn_port_times_t;

/** What the choice of a schedule needs. The same on all ranks. */
typedef struct ctn_chooser {
    ctn_neighbor_costs_t costs;
    ctn_rule_facts_t place; /* that rules match; `blocking` is not set */
    size_t usual; /* usual bytes of a block, for blocks of unknown length */
    ctn_port_times_t port_times;
    /* Schedules of the algorithm were built, or found impossible. */
    bool tried[CTN_NEIGHBOR_ALGORITHMS];
    /* Of schedule[algorithm][pattern] and, in the class of uniform blocks, of
     * its `uniform`; they stay when the schedule is dropped. */
    ctn_schedule_facts_t facts[CTN_BLOCK_CLASSES][CTN_NEIGHBOR_ALGORITHMS]
                              [CTN_PATTERNS];
    /* The algorithms that are selected for some length. */
    ctn_algorithm_set_t used[CTN_PATTERNS];
    /* The last choices, for the next calls. */
    ctn_neighbor_choice_t kept[CTN_BLOCK_CLASSES][CTN_PATTERNS];
} ctn_chooser_t;

/** The costs as this rank sees them. */
void ctn_neighbor_costs(const catena_neighborhood_t *neighborhood,
                        ctn_neighbor_costs_t *costs);

/** Estimated time of an operation with blocks of this length, in ns. The
 * schedule is possible. */
double ctn_schedule_estimate(const catena_neighborhood_t *neighborhood,
                             ctn_neighbor_algorithm_t algorithm,
                             ctn_pattern_t pattern, ctn_block_class_t blocks,
                             size_t bytes);

/** The class of blocks of this length; 0: any length.
 * @param combined as for ctn_neighbor_choose */
ctn_block_class_t ctn_blocks_classify(const catena_neighborhood_t *neighborhood,
                                      size_t bytes, bool combined);

/** The facts of the schedule that an algorithm has for blocks of this length.
 */
const ctn_schedule_facts_t *
ctn_schedule_facts_for(const catena_neighborhood_t *neighborhood,
                       ctn_neighbor_algorithm_t algorithm,
                       ctn_pattern_t pattern, ctn_block_class_t blocks,
                       size_t bytes);

/** Why an algorithm that was tried is not possible; NULL: it is possible. */
const char *
ctn_neighbor_algorithm_refusal(const catena_neighborhood_t *neighborhood,
                               ctn_neighbor_algorithm_t algorithm);

/** Whether the operations of a neighborhood use the pattern. */
bool ctn_pattern_is_used(const catena_neighborhood_t *neighborhood,
                         ctn_pattern_t pattern);

/** Builds the schedules of an algorithm that do not exist yet, if possible.
 * Collective. */
catena_status_t ctn_schedules_make_for(catena_neighborhood_t *neighborhood,
                                       ctn_neighbor_algorithm_t algorithm);

/** Builds the schedules of the requested algorithm or, if that is auto or not
 * possible, of all algorithms that rules may select. Collective. */
catena_status_t
ctn_schedules_make_candidates(catena_neighborhood_t *neighborhood);

#endif
