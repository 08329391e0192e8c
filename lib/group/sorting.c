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

static bool first_is_lower(const ctn_order_by_t *by, const void *a,
                           const void *a_end, const void *b, const void *b_end)
{
    return b == b_end || (a != a_end && ctn_record_compare(by, a, b) <= 0);
}

void ctn_records_merge(const ctn_order_by_t *by, const void *a, size_t a_bytes,
                       const void *b, size_t b_bytes, void *to)
{
    const void *a_end = (const unsigned char *)a + a_bytes;
    const void *b_end = (const unsigned char *)b + b_bytes;
    unsigned char *at = to;
    while (a != a_end || b != b_end) {
        const void **from = first_is_lower(by, a, a_end, b, b_end) ? &a : &b;
        size_t bytes = ctn_record_bytes(*from);
        memcpy(at, *from, bytes);
        at += bytes;
        *from = ctn_record_next(*from);
    }
    ctn_exec_charge(by->exec, CTN_WORK_COPY, a_bytes + b_bytes);
}

catena_status_t ctn_table_merge(const ctn_order_by_t *by, ctn_table_t *table,
                                const void *records, size_t bytes)
{
    ctn_table_t merged = {.bytes = table->bytes + bytes};
    merged.records = ctn_scratch_alloc(by->exec, merged.bytes);
    if (merged.records == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_records_merge(by, table->records, table->bytes, records, bytes,
                      merged.records);
    ctn_table_release(by->exec, table);
    *table = merged;
    return CATENA_OK;
}

void ctn_table_release(ctn_exec_t *exec, ctn_table_t *table)
{
    ctn_scratch_free(exec, table->records, table->bytes);
    *table = (ctn_table_t){NULL, 0};
}
