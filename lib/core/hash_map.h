#ifndef CTN_CORE_HASH_MAP_H
#define CTN_CORE_HASH_MAP_H

#include <stdbool.h>

#include "core/hash.h"

typedef struct ctn_hash_entry {
    uint64_t key;
    void *value; /* NULL: the entry is free */
} ctn_hash_entry_t;

/** A map of 64-bit keys to pointers; empty when it is zeroed. Open addressing
 * with linear probing (Knuth, The Art of Computer Programming 3, 6.4), at most
 * half full. Keys are never removed. To visit all values, read all entries that
 * are not free. */
typedef struct ctn_hash_map {
    ctn_hash_entry_t *entry; /* [slots] */
    size_t slots;            /* number of entries: 0 or a power of two */
    size_t count;            /* of keys */
} ctn_hash_map_t;

/** The entry of a key, or the free entry where it would be added. The map must
 * have entries. */
static inline ctn_hash_entry_t *ctn_hash_map_entry(const ctn_hash_map_t *map,
                                                   uint64_t key)
{
    size_t mask = map->slots - 1;
    size_t i = (size_t)(ctn_hash_fibonacci(key) >> 32) & mask;
    while (map->entry[i].value != NULL && map->entry[i].key != key) {
        i = (i + 1) & mask;
    }
    return &map->entry[i];
}

/** The value of a key; NULL: it has none. */
static inline void *ctn_hash_map_find(const ctn_hash_map_t *map, uint64_t key)
{
    return map->slots > 0 ? ctn_hash_map_entry(map, key)->value : NULL;
}

/** Reserve memory for one more key, so that the next ctn_hash_map_add succeeds.
 * @return false: no memory, and the map is unchanged */
bool ctn_hash_map_reserve(ctn_hash_map_t *map);

/** Add a key, which has no value yet.
 * @param value not NULL; owned by the caller
 * @return false: no memory, and the map is unchanged */
bool ctn_hash_map_add(ctn_hash_map_t *map, uint64_t key, void *value);

/** Free the memory of the map, which is empty then. */
void ctn_hash_map_drop(ctn_hash_map_t *map);

#endif
