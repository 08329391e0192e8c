#ifndef CTN_SPLIT_RECORD_H
#define CTN_SPLIT_RECORD_H

#include <catena/group.h>

#include "group/chain.h"

/* What a member brings to a split, as it travels: color and key lie behind the
 * record, padded to 8 bytes. 80 bytes of color and 8 of key still fit one slot
 * together with it. */
typedef struct ctn_record {
    uint32_t rank;    /* in the parent */
    uint32_t process; /* with offset: the address of the block it brings */
    uint64_t offset;
    uint32_t color_bytes; /* CTN_NO_COLOR: is in no group */
    uint32_t key_bytes;
    unsigned char data[];
} ctn_record_t;

_Static_assert(sizeof(ctn_record_t) == 24, "records are small");

#define CTN_NO_COLOR UINT32_MAX

/** How records are compared. */
typedef struct ctn_order_by {
    ctn_exec_t *exec;       /* comparisons are charged to it; NULL: to nobody */
    catena_compare_t color; /* NULL: byte for byte */
    catena_compare_t key;
    void *argument;
} ctn_order_by_t;

static inline size_t ctn_record_color_bytes(const ctn_record_t *record)
{
    return record->color_bytes != CTN_NO_COLOR ? record->color_bytes : 0;
}

static inline size_t ctn_record_bytes(const ctn_record_t *record)
{
    return (sizeof(*record) + ctn_record_color_bytes(record) +
            record->key_bytes + 7) &
           ~(size_t)7;
}

static inline ctn_address_t ctn_record_address(const ctn_record_t *record)
{
    return (ctn_address_t){record->process, record->offset};
}

/** Byte for byte, a prefix first: what NULL stands for. */
int ctn_compare_bytes(const void *a, size_t a_bytes, const void *b,
                      size_t b_bytes);

/** By color; who has none comes last. */
int ctn_record_compare_colors(const ctn_order_by_t *by, const ctn_record_t *a,
                              const ctn_record_t *b);
/** By color, key, rank: never 0 for records of two members. */
int ctn_record_compare(const ctn_order_by_t *by, const ctn_record_t *a,
                       const ctn_record_t *b);

/** Sort: merges, ends whatever the comparator says.
 * @param list room for 2 * count; the first count are what is sorted */
void ctn_records_sort(const ctn_order_by_t *by, const ctn_record_t **list,
                      uint32_t count);

/** Of `count` records, `own` among them, keep those of its color, in order.
 * @param list as above; what is kept comes first
 * @return how many are kept */
uint32_t ctn_records_own_part(const ctn_order_by_t *by, const ctn_record_t *own,
                              const ctn_record_t **list, uint32_t count);

/** The chain of these members, seen from `own`, which is one of them. */
ctn_chain_place_t ctn_records_place(const ctn_record_t *own,
                                    const ctn_record_t *const *list,
                                    uint32_t count);

#endif
