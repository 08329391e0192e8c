#include "group/sorting.h"

#include <string.h>

catena_status_t ctn_item_set(ctn_exec_t *exec, ctn_item_t *item,
                             const ctn_record_t *record)
{
    size_t bytes = ctn_record_bytes(record);
    bool grows =
        item->memory != NULL ? bytes > item->room : bytes > sizeof(item->near);
    if (grows) {
        void *memory = ctn_scratch_alloc(exec, bytes);
        if (memory == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        ctn_item_release(exec, item);
        item->memory = memory;
        item->room = bytes;
    }
    memcpy(item->memory != NULL ? item->memory : item->near, record, bytes);
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
    return CATENA_OK;
}

void ctn_item_release(ctn_exec_t *exec, ctn_item_t *item)
{
    ctn_scratch_free(exec, item->memory, item->room);
    item->memory = NULL;
    item->room = 0;
}

void ctn_place_take(ctn_lane_t *lane, const ctn_place_t *place)
{
    ctn_logchain_drop(lane);
    lane->chain.size = place->size;
    lane->chain.rank = place->rank;
    lane->chain.left = place->left;
    lane->chain.right = place->right;
}
