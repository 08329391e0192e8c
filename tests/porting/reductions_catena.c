/* Reductions by operations of the program: elements with gaps, and elements of
 * more than 32 KiB. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

/* A pair (a, b) is the map x -> a x + b. Maps compose: not commutative. */
enum { GAP = 3, MAPS = 5, LARGE = 6000 };

typedef struct map {
    uint32_t a, b;
} map_t;

static catena_context_t *context;
static catena_group_t *world;
static int rank, size;
static int distance; /* maps from one to the next of an element */

static map_t compose(map_t first, map_t second)
{
    return (map_t){second.a * first.a, second.a * first.b + second.b};
}

/** Compose the maps of elements, at their places. */
static void compose_all(const void *in, void *inout, size_t count,
                        catena_type_t type, void *argument)
{
    size_t bytes = catena_type_size(type);
    ptrdiff_t lower, extent;
    int step = *(const int *)argument;
    check(context, catena_type_extent(type, &lower, &extent));
    for (size_t i = 0; i < count; i++) {
        const map_t *first =
            (const map_t *)((const char *)in + (ptrdiff_t)i * extent);
        map_t *second = (map_t *)((char *)inout + (ptrdiff_t)i * extent);
        for (int j = 0; j < (int)(bytes / sizeof(map_t)); j++) {
            second[j * step] = compose(first[j * step], second[j * step]);
        }
    }
}

/** The maps of this rank, one after the other with their gaps. */
static map_t *maps_of(int elements, int maps)
{
    size_t places = (size_t)elements * (size_t)(maps * distance);
    map_t *all = calloc(places, sizeof(*all));
    for (size_t i = 0; i < places; i++) {
        uint32_t x = (uint32_t)i * 2654435761u + (uint32_t)rank * 40503u;
        all[i] = (map_t){2 * x + 1, x ^ x >> 7};
    }
    return all;
}

/** A number that depends on all maps, and not on the gaps. */
static void print(const char *name, const map_t *all, int elements, int maps)
{
    uint64_t sum = 0;
    for (int i = 0; i < elements * maps; i++) {
        map_t map = all[i * distance];
        sum = sum * 31 + map.a;
        sum = sum * 31 + map.b;
    }
    printf("%d: %s: %016llx\n", rank, name, (unsigned long long)sum);
}

/** All reductions of elements of so many maps. */
static void reduce(const char *name, int elements, int maps, int gap)
{
    catena_type_t map, vector, type;
    catena_op_t op;
    distance = gap;
    check(context, catena_type_contiguous(2, CATENA_UINT32, &map));
    check(context, catena_type_vector(maps, 1, distance, map, &vector));
    check(context,
          catena_type_resized(
              vector, 0, (ptrdiff_t)sizeof(map_t) * maps * distance, &type));
    check(context, catena_op_create(compose_all, &distance, 0, &op));
    map_t *own = maps_of(elements * size, maps);
    map_t *result = maps_of(elements, maps);
    printf("%d: %s\n", rank, name);
    check(context, catena_allreduce(own, result, elements, type, op, world));
    print("allreduce", result, elements, maps);
    check(context, catena_scan(own, result, elements, type, op, world));
    print("scan", result, elements, maps);
    check(context, catena_exscan(own, result, elements, type, op, world));
    if (rank > 0) {
        print("exscan", result, elements, maps);
    }
    check(context,
          catena_reduce_scatter_block(own, result, elements, type, op, world));
    print("reduce_scatter_block", result, elements, maps);
    check(context, catena_reduce(rank == size / 2 ? CATENA_IN_PLACE : own, own,
                                 elements, type, op, size / 2, world));
    if (rank == size / 2) {
        print("reduce in place", own, elements, maps);
    }
    free(own);
    free(result);
    check(context, catena_op_free(&op));
    check(context, catena_type_free(&map));
    check(context, catena_type_free(&vector));
    check(context, catena_type_free(&type));
}

/** The largest of values, and where it is. */
static void location(void)
{
    struct {
        double value;
        int rank;
    } own = {(rank * 5 + 3) % 7, rank}, largest;
    check(context, catena_allreduce(&own, &largest, 1, CATENA_DOUBLE_INT32,
                                    CATENA_MAXLOC, world));
    printf("%d: largest: %g of %d\n", rank, largest.value, largest.rank);
}

int main(void)
{
    check(NULL, catena_init(NULL, &context));
    world = catena_world(context);
    rank = catena_group_rank(world);
    size = catena_group_size(world);
    reduce("with gaps", 9, MAPS, GAP);
    reduce("large", 2, LARGE, 1);
    reduce("large, with gaps", 2, LARGE, GAP);
    location();
    check(NULL, catena_finalize(&context));
    return 0;
}
