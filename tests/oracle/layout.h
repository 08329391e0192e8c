#ifndef ORACLE_LAYOUT_H
#define ORACLE_LAYOUT_H

#include <stdbool.h>

#include "oracle/case.h"

/* Where cases run; see layouts.h. */

typedef struct oracle_layout {
    const char *name;
    const char *settings; /* NAME=VALUE;NAME=VALUE */
    const char *how;
    int ranks;
    int nodes;
    unsigned cost;
    bool quick;
} oracle_layout_t;

enum { ORACLE_LAYOUT_COUNT = 20 };
extern const oracle_layout_t oracle_layouts[ORACLE_LAYOUT_COUNT];

/** -1: there is none of that name. */
int oracle_layout_find(const char *name);
bool oracle_layout_simulated(int layout);
/** "env 'A=b' prun -n 7 ": what starts its ranks. */
void oracle_layout_command(int layout, char *text, size_t bytes);

/** A covering set, and by bits the layouts of each case. */
typedef struct oracle_plan {
    const oracle_space_t *space;
    oracle_deal_t deal;
    oracle_case_t *set;
    uint32_t *layouts;
    size_t count;
} oracle_plan_t;

/** Make one, whose owner is the process. @param fits whether the ranks of a
 * layout can run a case; NULL: any can */
void oracle_plan_make(oracle_plan_t *plan, const oracle_space_t *space,
                      bool (*fits)(const oracle_case_t *c, unsigned layout));
/** That of collectives. Made at the first call, for the whole process. */
const oracle_plan_t *oracle_plan(void);
/** How many pairs of values, or of a value and a layout, are missing from the
 * first `count` cases. */
size_t oracle_plan_lacks(const oracle_plan_t *plan, size_t count);

/** Directed cases run on a few layouts: of a rank alone, of one node and of
 * several, these real and simulated. Which ones follows from the name.
 * @return by bits */
uint32_t oracle_layouts_for(const char *name, int least, int most, int nodes);

#endif
