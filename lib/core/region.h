#ifndef CTN_CORE_REGION_H
#define CTN_CORE_REGION_H

#include <stdbool.h>
#include <stddef.h>

#include <catena/status.h>

/** Memory that is released together, such as the arrays of one computation;
 * empty when it is zeroed. The caller takes all of them, and then checks once
 * whether an allocation has failed. */
typedef struct ctn_region {
    struct ctn_region_block *blocks;
    bool failed; /* an allocation failed since the last release */
} ctn_region_t;

/** Take zeroed memory for `count` items; 0 is allowed.
 * @return NULL: no memory, and region->failed is set */
void *ctn_region_take(ctn_region_t *region, size_t count, size_t bytes);

/** Free all memory of the region, which is empty then.
 * @return ERR_NO_MEMORY: an allocation had failed; else OK */
catena_status_t ctn_region_release(ctn_region_t *region);

#endif
