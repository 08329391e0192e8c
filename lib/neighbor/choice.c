#include "neighbor/neighborhood.h"

#include <string.h>

/* In the order of ctn_scheme_t. */
static const char *const names[] = {"direct", "colored", "combining",
                                    "aggregated"};

_Static_assert(sizeof(names) / sizeof(*names) == CTN_SCHEMES, "one each");

int ctn_scheme_named(const ctn_log_t *log, const char *name)
{
    for (int i = 0; i < CTN_SCHEMES; i++) {
        if (strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    if (strcmp(name, "auto") == 0) {
        return -1;
    }
    ctn_error(log,
              "neighborhood: algorithm is '%s'; expected auto, direct, "
              "colored, combining or aggregated",
              name);
    return -2;
}

const ctn_plan_t *ctn_neighbor_choose(const catena_neighborhood_t *neighborhood,
                                      ctn_pattern_t pattern, size_t bytes)
{
    (void)bytes;
    int wanted = neighborhood->wanted;
    const ctn_plan_t *plan =
        wanted >= 0 ? neighborhood->plan[wanted][pattern] : NULL;
    return plan != NULL ? plan : neighborhood->plan[CTN_SCHEME_DIRECT][pattern];
}

catena_status_t ctn_plans_make(catena_neighborhood_t *neighborhood)
{
    catena_status_t status = CATENA_OK;
    for (int p = 0; p < CTN_PATTERNS && status == CATENA_OK; p++) {
        status = ctn_plan_direct(neighborhood, (ctn_pattern_t)p,
                                 &neighborhood->plan[CTN_SCHEME_DIRECT][p]);
    }
    return ctn_neighbor_agree(neighborhood->group, status, 0, NULL, 0, NULL);
}

void ctn_plans_free(catena_neighborhood_t *neighborhood)
{
    for (int s = 0; s < CTN_SCHEMES; s++) {
        for (int p = 0; p < CTN_PATTERNS; p++) {
            ctn_plan_free(neighborhood->plan[s][p]);
            neighborhood->plan[s][p] = NULL;
        }
    }
}
