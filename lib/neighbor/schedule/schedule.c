/* Creating, freeing and counting a schedule; see schedule.h. */

#include <stdlib.h>

#include "neighbor/schedule/aggregate.h"

ctn_schedule_t *ctn_schedule_create(uint32_t sends, uint32_t receives,
                                    uint32_t local_copies, uint32_t blocks)
{
    ctn_region_t region = {0};
    ctn_schedule_t *schedule = ctn_region_take(&region, 1, sizeof(*schedule));
    if (schedule == NULL) {
        return NULL;
    }
    ctn_schedule_t s = {.sends = sends,
                        .receives = receives,
                        .local_copies = local_copies,
                        .blocks = blocks};
    s.send = ctn_region_take(&region, sends, sizeof(*s.send));
    s.receive = ctn_region_take(&region, receives, sizeof(*s.receive));
    s.local_copy =
        ctn_region_take(&region, local_copies, sizeof(*s.local_copy));
    s.block = ctn_region_take(&region, blocks, sizeof(*s.block));
    s.region = region;
    if (region.failed) {
        (void)ctn_region_release(&region);
        return NULL;
    }
    *schedule = s;
    return schedule;
}

void ctn_schedule_free(ctn_schedule_t *schedule)
{
    if (schedule != NULL && schedule->owns_links) {
        free(schedule->out);
        free(schedule->in);
    }
    if (schedule != NULL) {
        ctn_region_t region = schedule->region; /* has the schedule, too */
        ctn_neighbor_aggregates_free(schedule->aggregates);
        (void)ctn_region_release(&region);
    }
}

uint32_t ctn_schedule_rounds(const ctn_schedule_t *schedule)
{
    return schedule->rounds + (schedule->aggregates != NULL);
}

uint32_t ctn_schedule_messages(const ctn_schedule_t *schedule)
{
    return schedule->sends +
           (schedule->aggregates != NULL ? schedule->aggregates->led : 0);
}
