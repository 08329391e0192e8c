#include "split_case.h"

#include <stdlib.h>
#include <string.h>

int split_compare_backwards(const void *a, size_t a_bytes, const void *b,
                            size_t b_bytes, void *argument)
{
    (void)argument;
    return ctn_compare_bytes(b, b_bytes, a, a_bytes);
}

bool split_same_address(ctn_address_t a, ctn_address_t b)
{
    return a.process == b.process &&
           (a.process == CTN_NO_PROCESS || a.offset == b.offset);
}

ctn_record_t *split_record(const ctn_lane_t *parent, const ctn_lane_t *lane,
                           value_t color, value_t key)
{
    size_t color_bytes = color.count == CTN_NO_COLOR ? 0 : color.count;
    ctn_record_t *record =
        calloc(1, sizeof(*record) + color_bytes + key.count + 8);
    record->rank = parent->chain.rank;
    record->process = (uint32_t)lane->chain.self.process;
    record->offset = lane->chain.self.offset;
    record->color_bytes = color.count;
    record->key_bytes = key.count;
    if (color_bytes > 0) {
        memcpy(record->data, color.bytes, color_bytes);
    }
    if (key.count > 0) {
        memcpy(record->data + color_bytes, key.bytes, key.count);
    }
    return record;
}

split_target_t split_open(job_t *job, bool in_place)
{
    split_target_t target = {.memory = job->exec->tally.memory};
    if (in_place) {
        JOB_CHECK(job, catena_group_dup(job->context->world, &target.made) ==
                           CATENA_OK);
    } else {
        JOB_CHECK(job, ctn_group_create(job->exec, &target.made) == CATENA_OK);
    }
    target.lane = &target.made->lane;
    target.parent = in_place ? target.lane : job->lane;
    return target;
}

void split_close(job_t *job, const split_target_t *target,
                 catena_status_t status)
{
    if (status == CATENA_OK || target->parent == target->lane) {
        JOB_CHECK(job, catena_group_free(target->made) == CATENA_OK);
    } else {
        ctn_group_release(target->made); /* nobody has used it yet */
    }
    ctn_logchain_drop(job->lane);
    ctn_patience_t patience = {0};
    while (job->exec->aside != NULL) { /* the members part */
        ctn_exec_poll_or_idle(job->exec, &patience);
    }
    JOB_CHECK(job, job->exec->tally.memory == target->memory);
}

void split_check_chain(job_t *job, ctn_lane_t *lane, int scans)
{
    ctn_words_t left;
    ctn_words_t right;
    for (int i = 0; i < scans; i++) {
        ctn_words_t own = {{1}};
        JOB_CHECK(job, ctn_op_run(ctn_scan_create(job->exec, lane, ctn_fold_sum,
                                                  &own, &left, &right,
                                                  sizeof(own))) == CATENA_OK);
        JOB_CHECK(job, left.word[0] == lane->chain.rank);
        JOB_CHECK(job, left.word[0] + 1 + right.word[0] == lane->chain.size);
    }
}
