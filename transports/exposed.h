#ifndef CTN_TRANSPORT_EXPOSED_H
#define CTN_TRANSPORT_EXPOSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory outside the arena that puts may write to while it is exposed
 * (transport.h). To a sender it has offsets beyond the arena: bit 47, then the
 * number of the region, then the offset in the region. An offset has 48 bits,
 * since it is a part of a place (transfer.h). */

enum { CTN_EXPOSED_SHIFT = 36, CTN_EXPOSED_REGIONS = 1 << 11 };

#define CTN_EXPOSED_BIT (UINT64_C(1) << 47)

/** The regions of a process; zeroed at first. */
typedef struct ctn_exposed {
    struct ctn_exposed_region {
        unsigned char *base; /* NULL: concealed */
        size_t bytes;        /* 0: the number is free */
    } * region;              /* malloc'd */
    uint32_t count;          /* regions there is memory for */
    uint32_t next;           /* probably a free one */
} ctn_exposed_t;

/** Expose memory. @param[out] offset its offset for a sender
 * @return false: it is too long, there are too many, or no memory */
bool ctn_exposed_add(ctn_exposed_t *exposed, void *memory, size_t bytes,
                     uint64_t *offset);
/** From now on nothing is written there.
 * @param more puts to it may still come: its number is not used again */
void ctn_exposed_remove(ctn_exposed_t *exposed, uint64_t offset, bool more);
/** Nothing is written to any region any more. */
void ctn_exposed_free(ctn_exposed_t *exposed);

static inline bool ctn_is_exposed(uint64_t offset)
{
    return (offset & CTN_EXPOSED_BIT) != 0;
}

/** Whether `bytes` at an offset lie in a region that is exposed, or was so and
 * may still get puts.
 * @param[out] to the memory; NULL: not exposed any more, the caller drops the
 * data */
static inline bool ctn_exposed_find(const ctn_exposed_t *exposed,
                                    uint64_t offset, size_t bytes,
                                    unsigned char **to)
{
    uint64_t number = (offset & ~CTN_EXPOSED_BIT) >> CTN_EXPOSED_SHIFT;
    uint64_t at = offset & ((UINT64_C(1) << CTN_EXPOSED_SHIFT) - 1);
    if (!ctn_is_exposed(offset) || number >= exposed->count ||
        at >= exposed->region[number].bytes ||
        bytes > exposed->region[number].bytes - at) {
        return false;
    }
    unsigned char *base = exposed->region[number].base;
    *to = base != NULL ? base + at : NULL;
    return true;
}

#endif
