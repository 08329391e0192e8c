#include "neighbor/schedule/aggregate.h"

#include <stdlib.h>

/** One block of memory for the plan and its arrays. */
static void *cut(unsigned char **at, size_t count, size_t bytes)
{
    void *array = *at;
    *at += count * bytes;
    return array;
}

ctn_schedule_t *ctn_schedule_create(uint32_t sends, uint32_t receives,
                                    uint32_t transfers, uint32_t parts)
{
    size_t bytes = sizeof(ctn_schedule_t) +
                   ((size_t)sends + receives) * sizeof(ctn_schedule_message_t) +
                   transfers * sizeof(ctn_local_copy_t) +
                   parts * sizeof(ctn_block_ref_t);
    ctn_schedule_t *plan = calloc(1, bytes);
    if (plan == NULL) {
        return NULL;
    }
    unsigned char *at = (unsigned char *)(plan + 1);
    plan->sends = sends;
    plan->receives = receives;
    plan->transfers = transfers;
    plan->parts = parts;
    plan->send = cut(&at, sends, sizeof(ctn_schedule_message_t));
    plan->receive = cut(&at, receives, sizeof(ctn_schedule_message_t));
    plan->transfer = cut(&at, transfers, sizeof(ctn_local_copy_t));
    plan->part = cut(&at, parts, sizeof(ctn_block_ref_t));
    return plan;
}

void ctn_schedule_free(ctn_schedule_t *plan)
{
    if (plan != NULL && plan->owns_links) {
        free(plan->out);
        free(plan->in);
    }
    if (plan != NULL) {
        ctn_neighbor_aggregates_free(plan->bundles);
    }
    free(plan);
}

uint32_t ctn_schedule_rounds(const ctn_schedule_t *plan)
{
    return plan->rounds + (plan->bundles != NULL);
}

uint32_t ctn_schedule_messages(const ctn_schedule_t *plan)
{
    return plan->sends + (plan->bundles != NULL ? plan->bundles->led : 0);
}
