#include "neighbor/create/vector.h"

#include <stdlib.h>
#include <string.h>

void *ctn_vector_add(ctn_vector_t *pile, size_t bytes)
{
    if (pile->count == pile->room) {
        uint32_t room = pile->room > 0 ? 2 * pile->room : 16;
        void *item = realloc(pile->item, room * bytes);
        if (item == NULL) {
            return NULL;
        }
        pile->item = item;
        pile->room = room;
    }
    return memset((unsigned char *)pile->item + pile->count++ * bytes, 0,
                  bytes);
}

void ctn_vector_drop(ctn_vector_t *pile)
{
    free(pile->item);
    *pile = (ctn_vector_t){0};
}

void ctn_vector_sparse_exchange(catena_group_t *group, catena_status_t *status,
                                ctn_vector_t *pile, size_t bytes,
                                ctn_vector_t *came)
{
    bool good = *status == CATENA_OK;
    size_t count = 0;
    *came = (ctn_vector_t){0};
    /* Records that cannot be had tell all that they are missing. */
    catena_status_t ran =
        ctn_sparse_exchange(group, bytes, good ? pile->count : 1,
                            good ? pile->item : NULL, &came->item, &count);
    if (ran == CATENA_OK) {
        came->count = came->room = (uint32_t)count;
    }
    if (good) {
        *status = ran;
    }
    ctn_vector_drop(pile);
}
