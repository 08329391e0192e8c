#ifndef CTN_SPLIT_RECORD_H
#define CTN_SPLIT_RECORD_H

#include <catena/group.h>

#include "group/chain_place.h"

/* The record that a member brings to a split, in the format in which it is
 * sent: color and key follow it, and the whole is padded to a multiple of 8
 * bytes. With 80 bytes of color and 8 of key it fills the 112 bytes of one
 * slot. */
typedef struct ctn_record {
    uint32_t rank;    /* in the parent */
    uint32_t process; /* with `offset`: the address of the control block that
                         the member brings for its new chain */
    uint64_t offset;
    uint32_t color_bytes; /* CTN_NO_COLOR: the member joins no group */
    uint32_t key_bytes;
    unsigned char data[]; /* color, then key */
} ctn_record_t;

_Static_assert(sizeof(ctn_record_t) == 24, "records are small");

#define CTN_NO_COLOR UINT32_MAX

/** How records are compared. */
typedef struct ctn_order_by {
    ctn_exec_t *exec; /* counts comparisons as time in a simulation; NULL: they
                         are not counted */
    catena_compare_t color; /* NULL: bytewise */
    catena_compare_t key;   /* NULL: bytewise */
    void *argument;         /* of both comparators */
} ctn_order_by_t;

static inline size_t ctn_record_color_bytes(const ctn_record_t *record)
{
    return record->color_bytes != CTN_NO_COLOR ? record->color_bytes : 0;
}

/** Return the length of the whole record, padding included. */
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

/** Fill a record, which has room for ctn_record_bytes(head): `head`, color,
 * key and padding of zeros. */
void ctn_record_fill(ctn_record_t *record, const ctn_record_t *head,
                     const void *color, const void *key);

/** Compare bytewise; a prefix precedes what it begins. Used where a comparator
 * is NULL. */
int ctn_compare_bytes(const void *a, size_t a_bytes, const void *b,
                      size_t b_bytes);

/** Compare by color; records without one come last. */
int ctn_record_compare_colors(const ctn_order_by_t *by, const ctn_record_t *a,
                              const ctn_record_t *b);
/** Compare by color, key, rank: never 0 for records of two members. */
int ctn_record_compare(const ctn_order_by_t *by, const ctn_record_t *a,
                       const ctn_record_t *b);

/** Merge sort; terminates for any comparator, also an inconsistent one.
 * @param list has 2 * count entries: the first `count` are sorted, the others
 * are working memory */
void ctn_records_sort(const ctn_order_by_t *by, const ctn_record_t **list,
                      uint32_t count);

/** Of `count` records, `own` among them, keep those of its color and sort them.
 * @param list has 2 * count entries, as above; the kept records come first
 * @return the number of records kept */
uint32_t ctn_records_own_part(const ctn_order_by_t *by, const ctn_record_t *own,
                              const ctn_record_t **list, uint32_t count);

/** Return the place of member i in the chain of the members whose `count`
 * records are in `list`, in order. */
ctn_chain_place_t ctn_record_place(const ctn_record_t *const *list,
                                   uint32_t count, uint32_t i);
/** The same of the member with record `own`. */
ctn_chain_place_t ctn_records_place(const ctn_record_t *own,
                                    const ctn_record_t *const *list,
                                    uint32_t count);

#endif
