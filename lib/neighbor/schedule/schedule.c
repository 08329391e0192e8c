/* Freeing a schedule; see schedule.h. */

#include <stdlib.h>

#include "neighbor/schedule/aggregate.h"

void ctn_schedule_free(ctn_schedule_t *schedule)
{
    if (schedule == NULL) {
        return;
    }
    if (schedule->owns_links) {
        free(schedule->out);
        free(schedule->in);
    }
    ctn_neighbor_aggregates_free(schedule->aggregates);
    free(schedule->send);
    free(schedule->receive);
    free(schedule->local_copy);
    free(schedule->block);
    free(schedule);
}
