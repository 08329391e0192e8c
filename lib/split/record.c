/* Records of a split: their order, and the places that follow from it. */

#include "split/record.h"

#include <string.h>

void ctn_record_fill(ctn_record_t *record, const ctn_record_t *head,
                     const void *color, const void *key)
{
    size_t bytes = ctn_record_bytes(head);
    size_t color_bytes = ctn_record_color_bytes(head);
    memset((unsigned char *)record + bytes - 8, 0, 8); /* padding */
    *record = *head;
    if (color_bytes > 0) {
        memcpy(record->data, color, color_bytes);
    }
    if (head->key_bytes > 0) {
        memcpy(record->data + color_bytes, key, head->key_bytes);
    }
}

int ctn_compare_bytes(const void *a, size_t a_bytes, const void *b,
                      size_t b_bytes)
{
    size_t common = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = common > 0 ? memcmp(a, b, common) : 0;
    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

int catena_compare_int64(const void *a, size_t a_bytes, const void *b,
                         size_t b_bytes, void *argument)
{
    int64_t x;
    int64_t y;
    (void)argument;
    a_bytes = a != NULL ? a_bytes : 0;
    b_bytes = b != NULL ? b_bytes : 0;
    /* Shorter data precede all integers, longer data follow them. If they were
     * compared with integers bytewise, the order would not be transitive: as
     * bytes integers have another order than as numbers. a_length, b_length:
     * -1 shorter than an integer, 0 an integer, 1 longer. */
    int a_length = (a_bytes > sizeof(x)) - (a_bytes < sizeof(x));
    int b_length = (b_bytes > sizeof(y)) - (b_bytes < sizeof(y));
    if (a_length != b_length) {
        return a_length < b_length ? -1 : 1;
    }
    if (a_length != 0) {
        return ctn_compare_bytes(a, a_bytes, b, b_bytes);
    }
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

/** Compare two colors or two keys by the comparator `with`; NULL: bytewise. */
static int compare(const ctn_order_by_t *by, catena_compare_t with,
                   const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return with != NULL ? with(a, a_bytes, b, b_bytes, by->argument)
                        : ctn_compare_bytes(a, a_bytes, b, b_bytes);
}

int ctn_record_compare_colors(const ctn_order_by_t *by, const ctn_record_t *a,
                              const ctn_record_t *b)
{
    if (by->exec != NULL) {
        ctn_exec_charge(by->exec, CTN_WORK_COMPARE, 1);
    }
    if (a->color_bytes == CTN_NO_COLOR || b->color_bytes == CTN_NO_COLOR) {
        return (a->color_bytes == CTN_NO_COLOR) -
               (b->color_bytes == CTN_NO_COLOR);
    }
    return compare(by, by->color, a->data, a->color_bytes, b->data,
                   b->color_bytes);
}

int ctn_record_compare(const ctn_order_by_t *by, const ctn_record_t *a,
                       const ctn_record_t *b)
{
    int order = ctn_record_compare_colors(by, a, b);
    if (order == 0) {
        order = compare(by, by->key, a->data + ctn_record_color_bytes(a),
                        a->key_bytes, b->data + ctn_record_color_bytes(b),
                        b->key_bytes);
    }
    return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/** Merge each two adjacent sorted runs of `width` records of `from` into one
 * run of `to`. Both have `count` records. */
static void merge_runs(const ctn_order_by_t *by, const ctn_record_t **from,
                       const ctn_record_t **to, uint32_t count, uint64_t width)
{
    for (uint64_t start = 0; start < count; start += 2 * width) {
        uint64_t middle = start + width < count ? start + width : count;
        uint64_t end = start + 2 * width < count ? start + 2 * width : count;
        uint64_t a = start;
        uint64_t b = middle;
        for (uint64_t i = start; i < end; i++) {
            bool a_first =
                b == end ||
                (a < middle && ctn_record_compare(by, from[a], from[b]) <= 0);
            to[i] = a_first ? from[a++] : from[b++];
        }
    }
}

void ctn_records_sort(const ctn_order_by_t *by, const ctn_record_t **list,
                      uint32_t count)
{
    const ctn_record_t **from = list;
    const ctn_record_t **to = list + count;
    for (uint64_t width = 1; width < count; width *= 2) {
        merge_runs(by, from, to, count, width);
        const ctn_record_t **swap = from;
        from = to;
        to = swap;
    }
    if (from != list) {
        memcpy(list, from, count * sizeof(*list));
    }
}

uint32_t ctn_records_own_part(const ctn_order_by_t *by, const ctn_record_t *own,
                              const ctn_record_t **list, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (list[i]->rank == own->rank ||
            ctn_record_compare_colors(by, list[i], own) == 0) {
            list[kept++] = list[i];
        }
    }
    ctn_records_sort(by, list, kept);
    return kept;
}

ctn_chain_place_t ctn_record_place(const ctn_record_t *const *list,
                                   uint32_t count, uint32_t i)
{
    return (ctn_chain_place_t){
        .size = count,
        .rank = i,
        .self = ctn_record_address(list[i]),
        .left = i > 0 ? ctn_record_address(list[i - 1]) : CTN_NO_ADDRESS,
        .right =
            i + 1 < count ? ctn_record_address(list[i + 1]) : CTN_NO_ADDRESS,
    };
}

ctn_chain_place_t ctn_records_place(const ctn_record_t *own,
                                    const ctn_record_t *const *list,
                                    uint32_t count)
{
    uint32_t me = 0;
    while (list[me]->rank != own->rank) {
        me++;
    }
    return ctn_record_place(list, count, me);
}
