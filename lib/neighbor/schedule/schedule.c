/* Creating, freeing and counting a schedule; see schedule.h. */

#include <stdlib.h>

#include "neighbor/schedule/aggregate.h"

/** Takes the next array from the memory of the schedule.
 * @param[in,out] at where the next array begins */
static void *cut(unsigned char **at, size_t count, size_t bytes)
{
    void *array = *at;
    *at += count * bytes;
    return array;
}

ctn_schedule_t *ctn_schedule_create(uint32_t sends, uint32_t receives,
                                    uint32_t local_copies, uint32_t blocks)
{
    size_t bytes = sizeof(ctn_schedule_t) +
                   ((size_t)sends + receives) * sizeof(ctn_schedule_message_t) +
                   local_copies * sizeof(ctn_local_copy_t) +
                   blocks * sizeof(ctn_block_ref_t);
    ctn_schedule_t *schedule = calloc(1, bytes);
    if (schedule == NULL) {
        return NULL;
    }
    unsigned char *at = (unsigned char *)(schedule + 1);
    schedule->sends = sends;
    schedule->receives = receives;
    schedule->local_copies = local_copies;
    schedule->blocks = blocks;
    schedule->send = cut(&at, sends, sizeof(ctn_schedule_message_t));
    schedule->receive = cut(&at, receives, sizeof(ctn_schedule_message_t));
    schedule->local_copy = cut(&at, local_copies, sizeof(ctn_local_copy_t));
    schedule->block = cut(&at, blocks, sizeof(ctn_block_ref_t));
    return schedule;
}

void ctn_schedule_free(ctn_schedule_t *schedule)
{
    if (schedule != NULL && schedule->owns_links) {
        free(schedule->out);
        free(schedule->in);
    }
    if (schedule != NULL) {
        ctn_neighbor_aggregates_free(schedule->aggregates);
    }
    free(schedule);
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
