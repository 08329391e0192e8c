/* Maps of 64-bit keys to pointers. */

#include "core/hash_map.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 16 }; /* entries of the first allocation */

bool ctn_hash_map_reserve(ctn_hash_map_t *map)
{
    if (2 * (map->count + 1) <= map->slots) {
        return true;
    }
    ctn_hash_map_t larger = {.slots =
                                 map->slots > 0 ? 2 * map->slots : FIRST_SLOTS,
                             .count = map->count};
    larger.entry = calloc(larger.slots, sizeof(*larger.entry));
    if (larger.entry == NULL) {
        return false;
    }
    for (size_t i = 0; i < map->slots; i++) {
        if (map->entry[i].value != NULL) {
            *ctn_hash_map_entry(&larger, map->entry[i].key) = map->entry[i];
        }
    }
    free(map->entry);
    *map = larger;
    return true;
}

bool ctn_hash_map_add(ctn_hash_map_t *map, uint64_t key, void *value)
{
    assert(value != NULL && ctn_hash_map_find(map, key) == NULL);
    if (!ctn_hash_map_reserve(map)) {
        return false;
    }
    *ctn_hash_map_entry(map, key) = (ctn_hash_entry_t){key, value};
    map->count++;
    return true;
}

void ctn_hash_map_drop(ctn_hash_map_t *map)
{
    free(map->entry);
    *map = (ctn_hash_map_t){0};
}
