/* Member records and tables of subgroups (HIER-11): which ranks each member
 * represents, as ranges of consecutive ranks. */

#include "coll/hierarchy/levels.h"

#include <stdlib.h>
#include <string.h>

/** Allocate a record with room for so many ranges. NULL: no memory. */
static ctn_member_record_t *new_record(uint32_t rank, uint32_t ranges)
{
    ctn_member_record_t *record = malloc(ctn_member_record_bytes(ranges));
    if (record != NULL) {
        *record = (ctn_member_record_t){.rank = rank, .ranges = ranges};
    }
    return record;
}

ctn_member_record_t *ctn_member_record_of_rank(uint32_t rank)
{
    ctn_member_record_t *record = new_record(rank, 1);
    if (record != NULL) {
        record->range[0] = (ctn_range_t){rank, 1};
    }
    return record;
}

static const ctn_member_record_t *record_of(const ctn_rank_blocks_t *records,
                                            uint32_t member)
{
    return records->block[member].data;
}

catena_status_t ctn_member_records_status(const ctn_rank_blocks_t *records)
{
    int32_t worst = CATENA_OK;
    for (uint32_t i = 0; i < records->count; i++) {
        int32_t status = record_of(records, i)->status;
        worst = status < worst ? status : worst;
    }
    return (catena_status_t)worst;
}

/** Set a member from its record. @param ranges memory for its ranges */
static void fill_member(const ctn_member_record_t *record, ctn_range_t *ranges,
                        ctn_sbgp_member_t *member)
{
    *member = (ctn_sbgp_member_t){.memory = record->memory,
                                  .rank = record->rank,
                                  .ranges = record->ranges,
                                  .range = ranges};
    memcpy(ranges, record->range, record->ranges * sizeof(*ranges));
}

/** Whether a member represents as many ranks as the first one, a power of two.
 */
static bool is_even(const ctn_sbgp_member_t *member,
                    const ctn_sbgp_member_t *first)
{
    uint32_t ranks = member->range->count;
    return (ranks & (ranks - 1)) == 0 && ranks == first->range->count;
}

/** Whether a member represents one range, which begins where the range of the
 * member before it ends. */
static bool follows(const ctn_sbgp_member_t *member,
                    const ctn_sbgp_member_t *before)
{
    return member->ranges == 1 &&
           (before == NULL || member->range->first ==
                                  before->range->first + before->range->count);
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/** Count the nodes of the members. @param node memory for one each */
static void count_nodes(const ctn_rank_blocks_t *records, uint32_t *node,
                        ctn_sbgp_t *sbgp)
{
    uint32_t same = 0; /* members on the node of this one, so far */
    for (uint32_t i = 0; i < sbgp->size; i++) {
        node[i] = record_of(records, i)->node;
    }
    qsort(node, sbgp->size, sizeof(*node), compare_numbers);
    for (uint32_t i = 0; i < sbgp->size; i++) {
        same = i > 0 && node[i] == node[i - 1] ? same + 1 : 1;
        sbgp->nodes += same == 1;
        sbgp->ppn = same > sbgp->ppn ? same : sbgp->ppn;
    }
}

ctn_module_entry_t *ctn_module_entry_create(const ctn_rank_blocks_t *records,
                                            const ctn_sbgp_rule_t *rule,
                                            uint32_t me, bool oversubscribed)
{
    uint32_t size = records->count;
    size_t ranges = 0;
    for (uint32_t i = 0; i < size; i++) {
        ranges += record_of(records, i)->ranges;
    }
    ctn_module_entry_t *entry =
        calloc(1, sizeof(*entry) + size * sizeof(ctn_sbgp_member_t) +
                      ranges * sizeof(ctn_range_t));
    if (entry == NULL) {
        return NULL;
    }
    ctn_sbgp_member_t *member = entry->member;
    ctn_range_t *range = (ctn_range_t *)(void *)(member + size);
    ctn_sbgp_t *sbgp = &entry->sbgp;
    *sbgp = (ctn_sbgp_t){
        .rule = rule,
        .size = size,
        .me = me,
        .in_order = true,
        .balanced = true,
        .oversubscribed = oversubscribed,
        .member = member,
    };
    count_nodes(records, (uint32_t *)(void *)range, sbgp); /* filled below */
    for (uint32_t i = 0; i < size; i++) {
        fill_member(record_of(records, i), range, &member[i]);
        range += member[i].ranges;
        sbgp->in_order &= follows(&member[i], i > 0 ? &member[i - 1] : NULL);
        sbgp->balanced &= sbgp->in_order && is_even(&member[i], member);
    }
    return entry;
}

void ctn_module_entries_destroy(ctn_module_entry_t **list)
{
    while (*list != NULL) {
        ctn_module_entry_t *entry = *list;
        *list = entry->next;
        entry->module->bcol->destroy(entry->module);
        free(entry);
    }
}

void ctn_module_entries_move(ctn_module_entry_t **to, ctn_module_entry_t **from)
{
    while (*from != NULL) {
        ctn_module_entry_t *entry = *from;
        *from = entry->next;
        entry->next = *to;
        *to = entry;
    }
}

ctn_member_record_t *ctn_member_record_of_leader(const ctn_sbgp_t *sbgp)
{
    uint32_t ranges = ctn_sbgp_ranges(sbgp, NULL);
    ctn_member_record_t *record = new_record(sbgp->member->rank, ranges);
    if (record == NULL) {
        return NULL;
    }
    /* Join ranges that are adjacent. */
    ctn_range_t *range = record->range;
    ctn_range_t *last = range;
    (void)ctn_sbgp_ranges(sbgp, range);
    for (uint32_t i = 1; i < ranges; i++) {
        if (range[i].first == last->first + last->count) {
            last->count += range[i].count;
        } else {
            *++last = range[i];
        }
    }
    record->ranges = (uint32_t)(last - range) + 1;
    return record;
}
