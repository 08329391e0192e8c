/* Alltoalls beyond the oracle's cases: long sequences in which most ranks have
 * no data, late members, and sides that differ from rank to rank. */

#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/rank_test.h"

/** An alltoallv of single bytes in which only one member has any. */
static oracle_call_t of_one(rank_test_t *test, catena_group_t *group,
                            size_t bytes, uint64_t shape, uint8_t memory)
{
    return (oracle_call_t){.c = {.value = {[ORACLE_KIND] = ORACLE_ALLTOALLV,
                                           [ORACLE_COUNTS] = ORACLE_ONE,
                                           [ORACLE_MEMORY] = memory}},
                           .group = group,
                           .table = rank_table(test),
                           .exactly = bytes,
                           .shape = shape};
}

static void choose(rank_test_t *test, oracle_call_t *call, unsigned algorithm)
{
    call->c.value[ORACLE_ALGORITHM] = (uint8_t)algorithm;
    call->c.value[ORACLE_HIERARCHY] = (uint8_t)(algorithm * 5 % 4);
    oracle_choose_algorithm(&test->oracle, &call->c, call->group);
}

/** Only the operations themselves keep ranks without data from running far
 * ahead. */
static void idle_ranks(rank_test_t *test)
{
    static const size_t bytes[] = {2, 16, 220, 400, 5000, 16386, 40000, 70};
    enum { CALLS = sizeof(bytes) / sizeof(bytes[0]) };
    catena_group_t *group = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    for (unsigned a = 0; a < oracle_algorithms(ORACLE_ALLTOALLV); a += 2) {
        oracle_call_t call[CALLS];
        for (unsigned i = 0; i < CALLS; i++) {
            call[i] =
                of_one(test, group, bytes[i], a * 100 + i, (uint8_t)(i % 5));
            oracle_call_open(&test->oracle, &call[i]);
        }
        choose(test, &call[0], a);
        for (unsigned i = 0; i < 5 * CALLS; i++) {
            oracle_call_t *now = &call[i % CALLS];
            oracle_call_fill(now, i);
            RANK_CHECK(test, oracle_call_run(&test->oracle, now) == CATENA_OK);
            oracle_call_check(&test->oracle, now, "");
        }
        for (unsigned i = 0; i < CALLS; i++) {
            oracle_call_close(&test->oracle, &call[i]);
        }
    }
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** A member of each node is late for an exchange that the others can complete
 * without it. They then allocate heap memory and write to it: memory that the
 * late member still reads must not be among it. */
static void late_member(rank_test_t *test)
{
    enum { BLOCKS = 6 };
    catena_group_t *group = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    for (unsigned a = 0; a < oracle_algorithms(ORACLE_ALLTOALLV); a++) {
        unsigned char *blocks[BLOCKS];
        oracle_call_t call = of_one(test, group, 100, a, 1);
        choose(test, &call, a);
        oracle_call_open(&test->oracle, &call);
        oracle_call_fill(&call, a);
        if (test->place.local_rank == (int)a % test->place.local_size) {
            rank_pause(test, 500);
        }
        RANK_CHECK(test, oracle_call_run(&test->oracle, &call) == CATENA_OK);
        for (int i = 0; i < BLOCKS; i++) { /* 8 to 256 bytes a rank */
            size_t bytes = (size_t)test->place.ranks << (3 + i);
            blocks[i] = catena_malloc(test->context, bytes);
            memset(blocks[i], 1, bytes);
        }
        oracle_call_check(&test->oracle, &call, "");
        oracle_call_close(&test->oracle, &call);
        RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
        for (int i = 0; i < BLOCKS; i++) {
            catena_free(test->context, blocks[i]);
        }
    }
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** A group whose operations are complete may be freed, whatever internal
 * ordering is still pending. */
static void freed_group(rank_test_t *test)
{
    for (unsigned calls = 1; calls <= 5; calls++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        oracle_call_t call = of_one(test, group, 300, calls, 0);
        oracle_call_exercise(&test->oracle, &call, calls);
        RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
    }
}

/* ---- sides that differ from rank to rank ---- */

/** One side of an alltoall: blocks of `count` integers, `step` apart in memory
 * of the heap or of malloc. */
typedef struct side {
    int32_t *memory;
    size_t count, step;
    bool heap;
    catena_type_t type; /* of a block */
} side_t;

static size_t ints_of(const side_t *side)
{
    return side->step * (side->count - 1) + 1;
}

static void open_side(rank_test_t *test, side_t *side)
{
    size_t bytes =
        (size_t)test->place.ranks * ints_of(side) * sizeof(*side->memory);
    side->memory =
        side->heap ? catena_malloc(test->context, bytes) : malloc(bytes);
    RANK_CHECK(test, side->memory != NULL);
    memset(side->memory, 0xff, bytes);
    RANK_CHECK(test,
               catena_type_vector(side->count, 1, (ptrdiff_t)side->step,
                                  CATENA_INT32, &side->type) == CATENA_OK);
}

static void close_side(rank_test_t *test, side_t *side)
{
    RANK_CHECK(test, catena_type_free(&side->type) == CATENA_OK);
    if (side->heap) {
        catena_free(test->context, side->memory);
    } else {
        free(side->memory);
    }
}

static int32_t value_of(int from, int to, size_t i)
{
    return (int32_t)((size_t)(from * 31 + to * 7) + i);
}

/** Call alltoall, or alltoallv, and check the result. The bits of `kind` select
 * step 1 or 2, and malloc or the heap, for each side. */
static void exchange_sides(rank_test_t *test, catena_group_t *group,
                           size_t count, unsigned kind, bool vector)
{
    int ranks = test->place.ranks;
    side_t send = {.count = count,
                   .step = 1 + (kind >> 0 & 1),
                   .heap = (kind >> 1 & 1) != 0};
    side_t recv = {.count = count,
                   .step = 1 + (kind >> 2 & 1),
                   .heap = (kind >> 3 & 1) != 0};
    size_t *ones = calloc((size_t)ranks, sizeof(*ones));
    ptrdiff_t *places = calloc((size_t)ranks, sizeof(*places));
    RANK_CHECK(test, ones != NULL && places != NULL);
    open_side(test, &send);
    open_side(test, &recv);
    for (int r = 0; r < ranks; r++) {
        ones[r] = 1;
        places[r] = r;
        for (size_t i = 0; i < count; i++) {
            send.memory[(size_t)r * ints_of(&send) + i * send.step] =
                value_of(test->place.rank, r, i);
        }
    }
    RANK_CHECK(
        test,
        (vector ? catena_alltoallv(send.memory, ones, places, send.type,
                                   recv.memory, ones, places, recv.type, group)
                : catena_alltoall(send.memory, 1, send.type, recv.memory, 1,
                                  recv.type, group)) == CATENA_OK);
    size_t wrong = 0;
    for (int r = 0; r < ranks; r++) {
        const int32_t *block = recv.memory + (size_t)r * ints_of(&recv);
        for (size_t i = 0; i < ints_of(&recv); i++) {
            wrong += block[i] !=
                     (i % recv.step != 0
                          ? -1
                          : value_of(r, test->place.rank, i / recv.step));
        }
    }
    RANK_CHECK(test, wrong == 0);
    close_side(test, &send);
    close_side(test, &recv);
    free(ones);
    free(places);
}

/** Each rank has each side in the heap or not, contiguous or not, at random: so
 * some blocks can be read by their receivers, and others cannot. */
static void mixed_sides(rank_test_t *test)
{
    static const size_t counts[] = {20, 300, 1100, 5000, 40000};
    catena_group_t *group = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (unsigned call = 0; call < 32; call++) {
            uint64_t mix =
                ctn_hash_mix(i * 64 + call + 1000 * (unsigned)test->place.rank);
            exchange_sides(test, group, counts[i], mix >> 20 & 15,
                           call % 2 != 0);
        }
    }
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

static const rank_case_t cases[] = {{"idle_ranks", idle_ranks},
                                    {"mixed_sides", mixed_sides},
                                    {"late_member", late_member},
                                    {"freed_group", freed_group},
                                    {NULL, NULL}};
const rank_suite_t rank_suite_alltoall = {.name = "alltoall", .cases = cases};
