/* Memory that is released together. */

#include "core/region.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct ctn_region_block {
    struct ctn_region_block *next;
    _Alignas(max_align_t) unsigned char data[];
} ctn_region_block_t;

void *ctn_region_take(ctn_region_t *region, size_t count, size_t bytes)
{
    ctn_region_block_t *block = NULL;
    if (count <= (SIZE_MAX - sizeof(*block)) / bytes) {
        block = calloc(1, sizeof(*block) + count * bytes);
    }
    if (block == NULL) {
        region->failed = true;
        return NULL;
    }
    block->next = region->blocks;
    region->blocks = block;
    return block->data;
}

catena_status_t ctn_region_release(ctn_region_t *region)
{
    catena_status_t status = region->failed ? CATENA_ERR_NO_MEMORY : CATENA_OK;
    while (region->blocks != NULL) {
        ctn_region_block_t *block = region->blocks;
        region->blocks = block->next;
        free(block);
    }
    region->failed = false;
    return status;
}
