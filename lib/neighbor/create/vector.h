#ifndef CTN_NEIGHBOR_CREATE_VECTOR_H
#define CTN_NEIGHBOR_CREATE_VECTOR_H

#include "neighbor/neighborhood.h"

/** Something of which there will be more. */
typedef struct ctn_pile {
    void *item;
    uint32_t count;
    uint32_t room;
} ctn_pile_t;

/** Room for one more of `bytes`, zeroed; NULL: no memory. */
void *ctn_pile_add(ctn_pile_t *pile, size_t bytes);
void ctn_pile_drop(ctn_pile_t *pile);

/** Deliver records, as ctn_deliver does; `pile` is dropped. Whose status is bad
 * already still calls it: then nothing comes to anybody, and all learn that
 * something is wrong, though not all at once.
 * @param[in,out] status this rank's
 * @param[out]    came   to be dropped */
void ctn_pile_deliver(catena_group_t *group, catena_status_t *status,
                      ctn_pile_t *pile, size_t bytes, ctn_pile_t *came);

#endif
