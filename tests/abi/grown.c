/* A rank that passes structs to the library and checks what it does with them.
 * tests/abi/grown.sh compiles it against this tree's headers, and with GROWN
 * against headers of a later release whose structs have a new last member.
 * Usage: grown VERSION VALUE: the library that is to be loaded, and what the
 * new members hold. */

#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GROWN
#define SET_GROWN(object, value) ((object).grown = (value))
#else
#define SET_GROWN(object, value) ((void)(value))
#endif

enum { ROWS = 3, COLUMNS = 4, UNTOUCHED = 0x5a5a, FILLED = 42 };

#define CHECK(condition) check((condition), #condition, __LINE__)
static void check(int condition, const char *text, int line)
{
    if (!condition) {
        fprintf(stderr, "grown.c:%d: not so: %s; last error: %s\n", line, text,
                catena_last_error());
        exit(1);
    }
}

/** The call is refused if the library does not know what is set. */
static int accepted(catena_status_t status, const char *type, int unknown)
{
    if (unknown) {
        CHECK(status == CATENA_ERR_UNSUPPORTED);
        CHECK(strstr(catena_last_error(), type) != NULL);
        CHECK(strstr(catena_last_error(), "a newer library") != NULL);
    } else {
        CHECK(status == CATENA_OK);
    }
    return !unknown;
}

static catena_context_t *join(long value, int unknown)
{
    static const char *const settings[] = {"HEAP_SIZE=64m", NULL};
    catena_config_t config = {.size = sizeof(config), .settings = settings};
    catena_context_t *context = NULL;
    SET_GROWN(config, value);
    if (!accepted(catena_init(&config, &context), "catena_config_t", unknown)) {
        SET_GROWN(config, 0);
        CHECK(catena_init(&config, &context) == CATENA_OK);
    }
    return context;
}

/** The library fills what both know, and nothing behind it. */
static void place(catena_context_t *context, int newer)
{
    struct {
        catena_place_t place;
        long behind[8];
    } out;
    memset(&out, 0x5a, sizeof(out));
    out.place.size = sizeof(out.place);
    SET_GROWN(out.place, UNTOUCHED);
    CHECK(catena_get_place(context, &out.place) == CATENA_OK);
    CHECK(out.place.size == sizeof(out.place));
    CHECK(out.place.rank == catena_group_rank(catena_world(context)));
    CHECK(out.place.ranks == 4 && out.place.nodes == 2);
    CHECK(out.place.node == out.place.rank / 2);
    CHECK(strcmp(out.place.launcher, "pmix") == 0);
    CHECK(out.place.network != NULL && out.place.network[0] != '\0');
#ifdef GROWN
    CHECK(out.place.grown == (newer ? FILLED : UNTOUCHED));
#else
    (void)newer;
#endif
    const unsigned char *byte = (const unsigned char *)out.behind;
    for (size_t i = 0; i < sizeof(out.behind); i++) {
        CHECK(byte[i] == 0x5a);
    }
}

/** Even and odd ranks, the highest first. */
static void split(catena_group_t *world, long value, int unknown)
{
    int rank = catena_group_rank(world);
    int64_t color = rank % 2;
    int64_t key = -rank;
    catena_split_t by = {.size = sizeof(by),
                         .color = &color,
                         .color_bytes = sizeof(color),
                         .color_compare = catena_compare_int64,
                         .key = &key,
                         .key_bytes = sizeof(key),
                         .key_compare = catena_compare_int64};
    catena_group_t *half = NULL;
    SET_GROWN(by, value);
    if (accepted(catena_group_split_by(world, &by, &half), "catena_split_t",
                 unknown)) {
        CHECK(catena_group_size(half) == 2);
        CHECK(catena_group_rank(half) == 1 - rank / 2);
        CHECK(catena_group_free(&half) == CATENA_OK);
    }
}

/** A ring: each rank gets the number of the one before it. */
static void ring(catena_group_t *world, long value, int unknown)
{
    int rank = catena_group_rank(world);
    int before = (rank + 3) % 4;
    int after = (rank + 1) % 4;
    catena_neighborhood_info_t info = {
        .size = sizeof(info), .algorithm = "direct", .bytes = sizeof(int)};
    catena_neighborhood_t *around = NULL;
    SET_GROWN(info, value);
    if (accepted(catena_neighborhood_create(world, 1, &before, NULL, 1, &after,
                                            NULL, &info, &around),
                 "catena_neighborhood_info_t", unknown)) {
        int from = -1;
        CHECK(catena_neighbor_allgather(&rank, 1, CATENA_INT32, &from, 1,
                                        CATENA_INT32, around) == CATENA_OK);
        CHECK(from == before);
        CHECK(catena_neighborhood_free(&around) == CATENA_OK);
    }
}

/** A column of a matrix: a derived type, which the library allocates. */
static void column(catena_group_t *world)
{
    int rank = catena_group_rank(world);
    int matrix[ROWS][COLUMNS];
    memset(matrix, 0, sizeof(matrix));
    for (int i = 0; i < ROWS && rank == 0; i++) {
        matrix[i][1] = 10 + i;
    }
    catena_type_t type = NULL;
    ptrdiff_t lower = -1;
    ptrdiff_t extent = -1;
    CHECK(catena_type_vector(ROWS, 1, COLUMNS, CATENA_INT32, &type) ==
          CATENA_OK);
    CHECK(catena_type_size(type) == ROWS * sizeof(int));
    CHECK(catena_type_extent(type, &lower, &extent) == CATENA_OK);
    CHECK(lower == 0 && extent == (2 * COLUMNS + 1) * (int)sizeof(int));
    CHECK(catena_bcast(&matrix[0][1], 1, type, 0, world) == CATENA_OK);
    CHECK(catena_type_free(&type) == CATENA_OK);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        CHECK(matrix[i / COLUMNS][i % COLUMNS] ==
              (i % COLUMNS == 1 ? 10 + i / COLUMNS : 0));
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    CHECK(strcmp(catena_version(), argv[1]) == 0);
    long value = strtol(argv[2], NULL, 10);
    int newer = strstr(argv[1], ".999") != NULL;
    int unknown = value != 0 && !newer;
    catena_context_t *context = join(value, unknown);
    catena_group_t *world = catena_world(context);
    place(context, newer);
    split(world, value, unknown);
    ring(world, value, unknown);
    column(world);
#ifdef CALLS_GROWN
    CHECK(catena_grown() == FILLED);
#endif
    CHECK(catena_finalize(&context) == CATENA_OK);
    printf("as expected\n");
    return 0;
}
