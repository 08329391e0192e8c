/* Reductions by operations of the program: elements with gaps, and elements of
 * more than 32 KiB. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

/* A pair (a, b) is the map x -> a x + b. Maps compose: not commutative. */
enum { GAP = 3, MAPS = 5, LARGE = 6000 };

typedef struct map {
    uint32_t a, b;
} map_t;

static int rank, size;
static int distance; /* maps from one to the next of an element */

static map_t compose(map_t first, map_t second)
{
    return (map_t){second.a * first.a, second.a * first.b + second.b};
}

/** Compose the maps of elements, at their places. */
static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int bytes;
    MPI_Aint lower, extent;
    MPI_Type_size(*type, &bytes);
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; i++) {
        map_t *first = (map_t *)((char *)in + i * extent);
        map_t *second = (map_t *)((char *)inout + i * extent);
        for (int j = 0; j < bytes / (int)sizeof(map_t); j++) {
            second[j * distance] =
                compose(first[j * distance], second[j * distance]);
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
    MPI_Datatype map, vector, type;
    MPI_Op op;
    distance = gap;
    MPI_Type_contiguous(2, MPI_UINT32_T, &map);
    MPI_Type_vector(maps, 1, distance, map, &vector);
    MPI_Type_create_resized(vector, 0,
                            (MPI_Aint)sizeof(map_t) * maps * distance, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(compose_all, 0, &op);
    map_t *own = maps_of(elements * size, maps);
    map_t *result = maps_of(elements, maps);
    printf("%d: %s\n", rank, name);
    MPI_Allreduce(own, result, elements, type, op, MPI_COMM_WORLD);
    print("allreduce", result, elements, maps);
    MPI_Scan(own, result, elements, type, op, MPI_COMM_WORLD);
    print("scan", result, elements, maps);
    MPI_Exscan(own, result, elements, type, op, MPI_COMM_WORLD);
    if (rank > 0) {
        print("exscan", result, elements, maps);
    }
    MPI_Reduce_scatter_block(own, result, elements, type, op, MPI_COMM_WORLD);
    print("reduce_scatter_block", result, elements, maps);
    MPI_Reduce(rank == size / 2 ? MPI_IN_PLACE : own, own, elements, type, op,
               size / 2, MPI_COMM_WORLD);
    if (rank == size / 2) {
        print("reduce in place", own, elements, maps);
    }
    free(own);
    free(result);
    MPI_Op_free(&op);
    MPI_Type_free(&map);
    MPI_Type_free(&vector);
    MPI_Type_free(&type);
}

/** The largest of values, and where it is. */
static void location(void)
{
    struct {
        double value;
        int rank;
    } own = {(rank * 5 + 3) % 7, rank}, largest;
    MPI_Allreduce(&own, &largest, 1, MPI_DOUBLE_INT, MPI_MAXLOC,
                  MPI_COMM_WORLD);
    printf("%d: largest: %g of %d\n", rank, largest.value, largest.rank);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    reduce("with gaps", 9, MAPS, GAP);
    reduce("large", 2, LARGE, 1);
    reduce("large, with gaps", 2, LARGE, GAP);
    location();
    MPI_Finalize();
    return 0;
}
