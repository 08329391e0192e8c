#ifndef UNIT_SPLIT_CASE_H
#define UNIT_SPLIT_CASE_H

#include "group/splitting.h"
#include "job.h"

/* A split of the world, whatever the algorithm. */

/** A color or a key. */
typedef struct value {
    const void *bytes;
    uint32_t count; /* CTN_NO_COLOR: none */
} value_t;

/** Orders bytes the other way round. */
int split_compare_backwards(const void *a, size_t a_bytes, const void *b,
                            size_t b_bytes, void *argument);

bool split_same_address(ctn_address_t a, ctn_address_t b);

/** What a member of `parent` brings to a split into `lane`; to be freed. */
ctn_record_t *split_record(const ctn_lane_t *parent, const ctn_lane_t *lane,
                           value_t color, value_t key);

/** What is split, and into what. */
typedef struct split_target {
    catena_group_t *made;
    ctn_lane_t *parent;
    ctn_lane_t *lane; /* the same, in place */
    uint64_t memory;  /* that the algorithms held before */
} split_target_t;

split_target_t split_open(job_t *job, bool in_place);
/** When all is over, and gave `status`: nothing is left of it. */
void split_close(job_t *job, const split_target_t *target,
                 catena_status_t status);

/** The chain is one, and its members count its operations alike: scans over it,
 * so many, count its members. */
void split_check_chain(job_t *job, ctn_lane_t *lane, int scans);

#endif
