/* One table of records for all simulated ranks, see split/shared_table.h. */

#include "split/shared_table.h"

#include <stdlib.h>

#include "group/chain_coll.h"

/* Shared by all simulated ranks, which run one at a time. */
struct ctn_shared_table {
    uint32_t count; /* of records: one for each rank */
    uint32_t users; /* members that have opened the table and not closed it */
    bool linked;    /* `place` is set */
    const ctn_record_t **list; /* [2 * count], for ctn_records_sort: in order of
                                  ranks; once linked, of colors and keys */
    ctn_chain_place_t *place;  /* [count]: the new places, by rank in the
                                  parent */
    ctn_address_t *address;    /* [count]: in the parent, for the allgather */
};

static bool allocate_lists(ctn_shared_table_t *shared, uint32_t count)
{
    shared->count = count;
    shared->list = calloc(2 * (size_t)count, sizeof(*shared->list));
    shared->place = calloc(count, sizeof(*shared->place));
    shared->address = calloc(count, sizeof(*shared->address));
    return shared->list != NULL && shared->place != NULL &&
           shared->address != NULL;
}

static void release(ctn_shared_table_t *shared)
{
    free(shared->list);
    free(shared->place);
    free(shared->address);
    free(shared);
}

ctn_shared_table_t *ctn_shared_table_open(const ctn_split_args_t *args)
{
    ctn_exec_t *exec = args->by.exec;
    const ctn_chain_place_t *place = &args->parent->place;
    void **common = exec->local->ops->common(exec->local, place->size);
    if (common == NULL) {
        ctn_error(
            exec->log,
            "split: an allgather without data (--cost-only) needs a group of "
            "all ranks; this one has %u",
            place->size);
        return NULL;
    }
    ctn_shared_table_t *shared = *common;
    if (shared == NULL) {
        shared = calloc(1, sizeof(*shared));
        if (shared != NULL && !allocate_lists(shared, place->size)) {
            release(shared);
            shared = NULL;
        }
        if (shared == NULL) {
            return NULL;
        }
        *common = shared;
    }
    shared->list[place->rank] = args->record;
    if (++shared->users == place->size) {
        *common = NULL; /* the next split has its own */
    }
    return shared;
}

void ctn_shared_table_close(ctn_shared_table_t *shared)
{
    if (shared != NULL && --shared->users == 0) {
        release(shared);
    }
}

/** Set the places of the members with the records from `first` to before `end`,
 * which are those of one color. */
static void link_color(ctn_shared_table_t *shared, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        shared->place[shared->list[i]->rank] =
            ctn_record_place(shared->list + first, end - first, i - first);
    }
}

/** Sort the records and set all places, when the first member asks for its own:
 * later some member may have released its record. No simulated time passes
 * here; ctn_shared_table_place charges each member for its own work. */
static void link_once(ctn_shared_table_t *shared, ctn_order_by_t by)
{
    if (shared->linked) {
        return;
    }
    shared->linked = true;
    by.exec = NULL;
    ctn_records_sort(&by, shared->list, shared->count);
    uint32_t first = 0;
    for (uint32_t i = 1; i <= shared->count; i++) {
        if (i == shared->count ||
            ctn_record_compare_colors(&by, shared->list[i - 1],
                                      shared->list[i]) != 0) {
            link_color(shared, first, i);
            first = i;
        }
    }
}

ctn_chain_place_t ctn_shared_table_place(ctn_shared_table_t *shared,
                                         const ctn_split_args_t *args)
{
    link_once(shared, args->by);
    ctn_chain_place_t place = shared->place[args->record->rank];
    /* of a merge sort: ceil(log2) of the number of records */
    unsigned passes =
        place.size > 1 ? 32u - (unsigned)__builtin_clz(place.size - 1) : 0;
    ctn_exec_charge(args->by.exec, CTN_WORK_COMPARE,
                    shared->count + (size_t)place.size * passes);
    return place;
}

ctn_op_t *ctn_shared_table_allgather(ctn_shared_table_t *shared,
                                     const ctn_split_args_t *args)
{
    return ctn_chain_allgather_sizes(args->by.exec, args->parent,
                                     ctn_record_bytes(args->record),
                                     shared->address);
}
