/* NBR-1. Each edge has a message of its own, and all are under way at once: one
 * round, as many messages as a rank has targets, no memory besides that of the
 * links. A program with nonblocking sends and receives does the same
 * ([Hoefler]: "start all isend, irecv + waitall"). */

#include "neighbor/schedule/builder.h"

catena_status_t ctn_schedule_direct(catena_neighborhood_t *neighborhood,
                                    ctn_pattern_t pattern,
                                    ctn_schedule_t **schedule)
{
    ctn_schedule_builder_t builder = {.neighborhood = neighborhood,
                                      .rounds = 1};
    ctn_schedule_builder_edges(&builder, pattern, CTN_EDGES_ALL);
    catena_status_t status = ctn_schedule_builder_finish(
        &builder, CTN_NEIGHBOR_DIRECT, pattern, false, schedule);
    if (status == CATENA_OK) {
        (*schedule)->in_step = false;
        (*schedule)->facts.heavy_rounds = 1;
    }
    return status;
}
