#ifndef ORACLE_LAYOUT_H
#define ORACLE_LAYOUT_H

#include <stdbool.h>

#include "oracle/case.h"

/* The layouts of test cases; see layouts.h. */

typedef struct oracle_layout {
    const char *name;
    const char *settings; /* NAME=VALUE;NAME=VALUE */
    const char *how;
    int ranks;
    int nodes;
    unsigned cost;
    const char *run;
} oracle_layout_t;

enum { ORACLE_LAYOUT_COUNT = 17 };
extern const oracle_layout_t oracle_layouts[ORACLE_LAYOUT_COUNT];

/** -1: no such name. */
int oracle_layout_find(const char *name);
bool oracle_layout_simulated(int layout);
/** The command that starts its ranks: "env 'A=b' prun -n 7 ". */
void oracle_layout_command(int layout, char *text, size_t bytes);

/** A covering set, and the layouts of each case by bits. */
typedef struct oracle_plan {
    const oracle_space_t *space;
    oracle_deal_t deal;
    oracle_case_t *set;
    uint32_t *layouts;
    size_t count;
} oracle_plan_t;

/** Make a plan, owned by the process.
 * @param fits whether the ranks of a layout can run a case; NULL: always */
void oracle_plan_make(oracle_plan_t *plan, const oracle_space_t *space,
                      bool (*fits)(const oracle_case_t *c, unsigned layout));
/** The plan of collectives, made at the first call for the whole process. */
const oracle_plan_t *oracle_plan(void);
/** The number of pairs of values, or of value and layout, that the first
 * `count` cases lack. */
size_t oracle_plan_lacks(const oracle_plan_t *plan, size_t count);

/** The layouts of a directed case: a single rank, one node, and several nodes,
 * the latter real and simulated. The name determines them.
 * @return by bits */
uint32_t oracle_layouts_for(const char *name, int least, int most, int nodes);

#endif
