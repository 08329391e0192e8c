#include "exec/attach.h"

#include <stdlib.h>

/** Read at an address into a span that is not contiguous. */
CTN_COLD static bool read_scattered(ctn_exec_t *exec, ctn_endpoint_t *peer,
                                    uint64_t address, const ctn_span_t *into)
{
    enum { PART = CTN_PICK(65536, 512) };
    unsigned char *part = malloc(PART);
    bool there = part != NULL;
    if (!there) {
        (void)ctn_exec_abort(exec, CATENA_ERR_NO_MEMORY);
    }
    for (size_t at = 0; there && at < into->bytes; at += PART) {
        size_t bytes = into->bytes - at < PART ? into->bytes - at : PART;
        there = ctn_attach_read(exec, peer, part, bytes, address + at);
        if (there) {
            ctn_span_write(exec, into, at, bytes, part);
        }
    }
    free(part);
    return there;
}

bool ctn_read_place(ctn_exec_t *exec, ctn_endpoint_t *peer, uint64_t place,
                    const ctn_span_t *into)
{
    if (!ctn_is_address(place)) {
        ctn_span_write(exec, into, 0, into->bytes, ctn_pointer(peer, place));
        return true;
    }
    uint64_t address = place & ~CTN_BY_ADDRESS;
    return into->type == NULL
               ? ctn_attach_read(exec, peer, into->base, into->bytes, address)
               : read_scattered(exec, peer, address, into);
}
