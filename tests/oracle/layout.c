#include "oracle/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "oracle/random.h"

#define LAYOUT(...) {__VA_ARGS__},
const oracle_layout_t oracle_layouts[ORACLE_LAYOUT_COUNT] = {
#include "oracle/layouts.h"
};
#undef LAYOUT

int oracle_layout_find(const char *name)
{
    for (int l = 0; l < ORACLE_LAYOUT_COUNT; l++) {
        if (strcmp(oracle_layouts[l].name, name) == 0) {
            return l;
        }
    }
    return -1;
}

bool oracle_layout_simulated(int layout)
{
    return strncmp(oracle_layouts[layout].how, "--sim", 5) == 0;
}

void oracle_layout_command(int layout, char *text, size_t bytes)
{
    const oracle_layout_t *l = &oracle_layouts[layout];
    const char *setting = l->settings;
    size_t at = (size_t)snprintf(text, bytes, "%s", *setting ? "env " : "");
    while (*setting != '\0') {
        size_t length = strcspn(setting, ";");
        at += (size_t)snprintf(text + at, bytes - at, "'%.*s' ", (int)length,
                               setting);
        setting += length + (setting[length] == ';');
    }
    if (!oracle_layout_simulated(layout)) {
        snprintf(text + at, bytes - at, "prun %s ", l->how);
    }
}

/* ---- covering sets ---- */

static bool all_fit(const oracle_case_t *c, unsigned layout)
{
    (void)c;
    (void)layout;
    return true;
}

void oracle_plan_make(oracle_plan_t *plan, const oracle_space_t *space,
                      bool (*fits)(const oracle_case_t *c, unsigned layout))
{
    static unsigned cost[ORACLE_LAYOUT_COUNT];
    static bool second[ORACLE_LAYOUT_COUNT];
    static bool rare[ORACLE_LAYOUT_COUNT];
    for (int l = 0; l < ORACLE_LAYOUT_COUNT; l++) {
        cost[l] = oracle_layouts[l].cost;
        second[l] = oracle_layout_simulated(l);
        rare[l] = strcmp(oracle_layouts[l].run, "twice") == 0;
    }
    plan->space = space;
    plan->deal = (oracle_deal_t){.layouts = ORACLE_LAYOUT_COUNT,
                                 .cost = cost,
                                 .second = second,
                                 .rare = rare,
                                 .fits = fits != NULL ? fits : all_fit};
    size_t first;
    plan->set = oracle_cover(space, &plan->count, &first);
    plan->layouts =
        oracle_deal(space, &plan->deal, plan->set, plan->count, first);
}

static bool fits(const oracle_case_t *c, unsigned layout)
{
    bool network = oracle_layout_simulated((int)layout) ||
                   oracle_layouts[layout].nodes > 1;
    return network || !oracle_by_network(c);
}

const oracle_plan_t *oracle_plan(void)
{
    static oracle_plan_t plan;
    if (plan.set == NULL) {
        oracle_plan_make(&plan, oracle_space(), fits);
    }
    return &plan;
}

size_t oracle_plan_lacks(const oracle_plan_t *plan, size_t count)
{
    uint32_t *some = oracle_zeros(plan->count, sizeof(*some));
    memcpy(some, plan->layouts, count * sizeof(*some));
    size_t lacks =
        oracle_uncovered(plan->space, plan->set, count) +
        oracle_undealt(plan->space, &plan->deal, plan->set, some, plan->count);
    free(some);
    return lacks;
}

/* ---- directed cases ---- */

/** Single rank; one node; several nodes, real and simulated. */
enum { ALONE = 4, SORTS };

static bool is_sort(int layout, int sort)
{
    const oracle_layout_t *l = &oracle_layouts[layout];
    if (l->ranks == 1 || sort == ALONE) {
        return l->ranks == 1 && sort == ALONE;
    }
    return oracle_layout_simulated(layout) == (sort % 2 == 1) &&
           (l->nodes > 1) == (sort / 2 == 1);
}

uint32_t oracle_layouts_for(const char *name, int least, int most, int nodes)
{
    uint32_t chosen = 0;
    uint64_t random = 7;
    for (const char *c = name; *c != '\0'; c++) {
        random = random * 31 + (unsigned char)*c;
    }
    for (int sort = 0; sort < SORTS; sort++) {
        int fit[ORACLE_LAYOUT_COUNT];
        size_t count = 0;
        for (int l = 0; l < ORACLE_LAYOUT_COUNT; l++) {
            const oracle_layout_t *at = &oracle_layouts[l];
            if (is_sort(l, sort) && at->ranks >= least &&
                (most == 0 || at->ranks <= most) && at->nodes >= nodes) {
                fit[count++] = l;
            }
        }
        if (count > 0) {
            chosen |= UINT32_C(1) << fit[ctn_random_below(&random, count)];
        }
    }
    return chosen;
}
