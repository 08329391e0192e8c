/* What alltoallv and alltoallw are called with. */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alltoallv.h"

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

void alltoallv_arguments(rank_test_t *test)
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
