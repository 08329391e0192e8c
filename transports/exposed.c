#include "transports/exposed.h"

#include <stdlib.h>
#include <string.h>

/** Double the table. */
static bool grow(ctn_exposed_t *exposed)
{
    uint32_t count = exposed->count > 0 ? 2 * exposed->count : 16;
    void *more =
        count <= CTN_EXPOSED_REGIONS
            ? realloc(exposed->region, count * sizeof(*exposed->region))
            : NULL;
    if (more == NULL) {
        return false;
    }
    exposed->region = more;
    memset(exposed->region + exposed->count, 0,
           (count - exposed->count) * sizeof(*exposed->region));
    exposed->next = exposed->count;
    exposed->count = count;
    return true;
}

bool ctn_exposed_add(ctn_exposed_t *exposed, void *memory, size_t bytes,
                     uint64_t *offset)
{
    uint32_t tried = 0;
    if (bytes == 0 || bytes >> CTN_EXPOSED_SHIFT != 0) {
        return false;
    }
    while (tried < exposed->count && exposed->region[exposed->next].bytes > 0) {
        exposed->next = (exposed->next + 1) % exposed->count;
        tried++;
    }
    if (tried == exposed->count && !grow(exposed)) {
        return false;
    }
    exposed->region[exposed->next].base = memory;
    exposed->region[exposed->next].bytes = bytes;
    *offset = CTN_EXPOSED_BIT | (uint64_t)exposed->next << CTN_EXPOSED_SHIFT;
    exposed->next = (exposed->next + 1) % exposed->count;
    return true;
}

void ctn_exposed_remove(ctn_exposed_t *exposed, uint64_t offset, bool more)
{
    uint64_t number = offset >> CTN_EXPOSED_SHIFT & (CTN_EXPOSED_REGIONS - 1);
    if (number < exposed->count) {
        exposed->region[number].base = NULL;
        if (!more) {
            exposed->region[number].bytes = 0;
        }
    }
}

void ctn_exposed_free(ctn_exposed_t *exposed)
{
    free(exposed->region);
    *exposed = (ctn_exposed_t){.region = NULL};
}
