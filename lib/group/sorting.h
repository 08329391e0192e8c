#ifndef CTN_GROUP_SORTING_H
#define CTN_GROUP_SORTING_H

#include "group/splitting.h"

/* What the parallel sorts of a split share: the record that a member holds for
 * another one, and what that one is told in the end. */

/** A copy of a record of any length; zeroed before the first use. */
typedef struct ctn_item {
    void *memory; /* when it needs more than `near` */
    size_t room;  /* of that */
    _Alignas(8) unsigned char near[CTN_INLINE_BYTES];
} ctn_item_t;

static inline const ctn_record_t *ctn_item_record(const ctn_item_t *item)
{
    return item->memory != NULL ? item->memory : (const void *)item->near;
}

/** Take a copy of `record`, which is not the item's own. */
catena_status_t ctn_item_set(ctn_exec_t *exec, ctn_item_t *item,
                             const ctn_record_t *record);
void ctn_item_release(ctn_exec_t *exec, ctn_item_t *item);

/** Where a record's owner is in its new chain. */
typedef struct ctn_place {
    uint32_t size;
    uint32_t rank;
    ctn_address_t left;
    ctn_address_t right;
} ctn_place_t;

/** Make `lane` the chain with this place; it has no log-chain yet. */
void ctn_place_take(ctn_lane_t *lane, const ctn_place_t *place);

#endif
