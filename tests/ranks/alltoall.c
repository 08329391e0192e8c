/* Alltoalls beside what the oracle's cases have: many in a row in which most
 * ranks have nothing to do, members that come late, and arguments. */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "rank_test.h"

/** An alltoallv of single bytes in which one member alone has any. */
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

/** Nothing but the operations themselves keeps ranks that have nothing to do
 * from running far ahead. */
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
    RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
}

/** A member of each node comes late to an exchange that the others can end
 * without it. They take memory of the heap at once and write into it: whatever
 * the late one still looks at must not be there. */
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
            size_t bytes = (size_t)test->place.size << (3 + i);
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
    RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
}

/** A group whose operations are complete may be freed, whatever catena keeps
 * in order between them. */
static void freed_group(rank_test_t *test)
{
    for (unsigned calls = 1; calls <= 5; calls++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        oracle_call_t call = of_one(test, group, 300, calls, 0);
        oracle_call_exercise(&test->oracle, &call, calls);
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    }
}

/* ---- arguments ---- */

static void even_arguments(rank_test_t *test)
{
    char block[64] = {0};
    catena_group_t *world = test->world;
    RANK_CHECK(test,
               catena_alltoall(block, block, 1, NULL, world) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_alltoall(block, block, 1, CATENA_BYTE, NULL) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_alltoall(NULL, block, 1, CATENA_BYTE, world) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_alltoall(block, NULL, 1, CATENA_BYTE, world) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_alltoall(block, block, SIZE_MAX / 2, CATENA_DOUBLE,
                                     world) == CATENA_ERR_ARG);
    RANK_CHECK(test,
               catena_alltoall(NULL, NULL, 0, CATENA_BYTE, world) == CATENA_OK);
    RANK_CHECK(test, catena_group_set(world, "alltoall_algorithm", "magic") ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_set(world, "alltoall_leaders", "0") ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_set(world, "alltoall_radix", "1") ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_set(world, "alltoall_window", "33") ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test,
               catena_group_set(world, "colour", "blue") == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_free(world) == CATENA_ERR_ARG);
}

/** What a call is made of, pointers all; each check spoils one thing. */
typedef struct arguments {
    const void *send;
    const size_t *send_counts;
    const ptrdiff_t *send_displacements;
    catena_datatype_t send_type;
    void *receive;
    const size_t *receive_counts;
    const ptrdiff_t *receive_displacements;
    catena_datatype_t receive_type;
    catena_group_t *group;
} arguments_t;

static void expect(rank_test_t *test, arguments_t a, catena_status_t expected,
                   const char *what)
{
    size_t p = (size_t)test->place.size;
    catena_datatype_t *send_types = calloc(p, sizeof(*send_types));
    catena_datatype_t *receive_types = calloc(p, sizeof(*receive_types));
    for (size_t i = 0; i < p; i++) {
        send_types[i] = a.send_type;
        receive_types[i] = a.receive_type;
    }
    catena_request_t *request = NULL;
    catena_status_t found[4] = {
        catena_alltoallv(a.send, a.send_counts, a.send_displacements,
                         a.send_type, a.receive, a.receive_counts,
                         a.receive_displacements, a.receive_type, a.group),
        catena_alltoallw(a.send, a.send_counts, a.send_displacements,
                         send_types, a.receive, a.receive_counts,
                         a.receive_displacements, receive_types, a.group),
        catena_ialltoallv(a.send, a.send_counts, a.send_displacements,
                          a.send_type, a.receive, a.receive_counts,
                          a.receive_displacements, a.receive_type, a.group,
                          &request)};
    RANK_CHECK(test, expected == CATENA_OK || request == NULL);
    RANK_CHECK(test, catena_wait(&request) == CATENA_OK);
    found[3] = catena_alltoallw_init(
        a.send, a.send_counts, a.send_displacements, send_types, a.receive,
        a.receive_counts, a.receive_displacements, receive_types, a.group,
        &request);
    if (found[3] == CATENA_OK) {
        RANK_CHECK(test, catena_start(request) == CATENA_OK);
        RANK_CHECK(test, catena_wait(&request) == CATENA_OK);
        RANK_CHECK(test, catena_request_free(&request) == CATENA_OK);
    }
    RANK_CHECK(test, request == NULL);
    for (int i = 0; i < 4; i++) {
        if (found[i] != expected) {
            rank_fail(test, "%s, call %d: expected %s, found %s", what, i,
                      catena_status_string(expected),
                      catena_status_string(found[i]));
        }
    }
    free(send_types);
    free(receive_types);
}

static void null_arguments(rank_test_t *test, arguments_t good)
{
    static const struct {
        const char *what;
        size_t at; /* in the arguments */
    } missing[] = {
        {"no send buffer", offsetof(arguments_t, send)},
        {"no send counts", offsetof(arguments_t, send_counts)},
        {"no send displacements", offsetof(arguments_t, send_displacements)},
        {"no send type", offsetof(arguments_t, send_type)},
        {"no receive buffer", offsetof(arguments_t, receive)},
        {"no receive counts", offsetof(arguments_t, receive_counts)},
        {"no receive displacements",
         offsetof(arguments_t, receive_displacements)},
        {"no receive type", offsetof(arguments_t, receive_type)},
        {"no group", offsetof(arguments_t, group)},
    };
    arguments_t a;
    for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++) {
        a = good;
        memset((char *)&a + missing[i].at, 0, sizeof(void *));
        expect(test, a, CATENA_ERR_ARG, missing[i].what);
    }
    a = good;
    a.receive = (void *)(uintptr_t)CATENA_IN_PLACE;
    expect(test, a, CATENA_ERR_ARG, "received in place");
    a = good;
    a.send = CATENA_IN_PLACE;
    a.receive_type = NULL;
    expect(test, a, CATENA_ERR_ARG, "in place, no receive type");
}

static void vector_arguments(rank_test_t *test)
{
    size_t p = (size_t)test->place.size;
    double *buffer = calloc(2 * p, sizeof(*buffer));
    size_t *ones = calloc(p, sizeof(*ones));
    size_t *zeros = calloc(p, sizeof(*zeros));
    size_t *most = calloc(p, sizeof(*most));
    ptrdiff_t *places = calloc(p, sizeof(*places));
    ptrdiff_t *far = calloc(p, sizeof(*far));
    for (size_t i = 0; i < p; i++) {
        ones[i] = 1;
        places[i] = (ptrdiff_t)(i * sizeof(double)); /* w; enough for v */
        far[i] = PTRDIFF_MAX;
    }
    most[p - 1] = SIZE_MAX / 2;
    arguments_t good = {buffer, ones,   places,      CATENA_BYTE, buffer + p,
                        ones,   places, CATENA_BYTE, test->world};
    expect(test, good, CATENA_OK, "nothing wrong");
    null_arguments(test, good);
    arguments_t a = good;
    a.send_type = a.receive_type = CATENA_DOUBLE;
    a.send_counts = most;
    expect(test, a, CATENA_ERR_ARG, "too much to send");
    a.send_counts = ones;
    a.receive_counts = most;
    expect(test, a, CATENA_ERR_ARG, "too much to receive");
    a = (arguments_t){NULL,  zeros, far,           CATENA_BYTE, NULL,
                      zeros, far,   CATENA_DOUBLE, test->world};
    expect(test, a, CATENA_OK, "nothing to do");
    a.send = CATENA_IN_PLACE;
    a.send_counts = NULL;
    a.send_displacements = NULL;
    expect(test, a, CATENA_OK, "nothing to do, in place");
    RANK_CHECK(test, catena_ialltoallv(buffer, ones, places, CATENA_BYTE,
                                       buffer + p, ones, places, CATENA_BYTE,
                                       test->world, NULL) == CATENA_ERR_ARG);
    free(buffer);
    free(ones);
    free(zeros);
    free(most);
    free(places);
    free(far);
}

static const rank_case_t cases[] = {{"idle_ranks", idle_ranks},
                                    {"late_member", late_member},
                                    {"freed_group", freed_group},
                                    {"even_arguments", even_arguments},
                                    {"vector_arguments", vector_arguments},
                                    {NULL, NULL}};
const rank_suite_t rank_suite_alltoall = {.name = "alltoall", .cases = cases};
