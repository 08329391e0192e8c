/* Small blocks in rings both ways. A call that is given as others before it
 * takes a way of its own, and so do requests that are alone: here they follow
 * each other in any order, with other calls and wrong lengths in between. */

#include "nbr_small.h"

#include <string.h>

#include "rank_refuse.h"

enum { MOST = 1100, BLOCKS = 2, ROOM = BLOCKS * MOST + 16, GUARD = 0xa5 };

/** How a rank makes a call; neighbors need not make it alike. */
typedef enum small_form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;

/** Peers so many ranks away. */
typedef struct small_ring {
    catena_neighborhood_t *neighborhood;
    int peer[BLOCKS]; /* to the left, to the right */
} small_ring_t;

typedef struct small_call {
    const small_ring_t *ring;
    bool gather;
    size_t bytes; /* of a block */
    size_t room;  /* of a buffer */
    uint64_t seed;
    bool by_words; /* sent as words of 8 bytes, where they are some */
    unsigned char *send;
    unsigned char *receive;
} small_call_t;

static small_ring_t open_ring(rank_test_t *test, int away)
{
    int p = test->place.size;
    int rank = test->place.rank;
    away %= p;
    small_ring_t ring = {.peer = {(rank + p - away) % p, (rank + away) % p}};
    RANK_CHECK(test,
               catena_neighborhood_create(test->world, BLOCKS, ring.peer, NULL,
                                          BLOCKS, ring.peer, NULL, NULL,
                                          &ring.neighborhood) == CATENA_OK);
    return ring;
}

/** Byte i of what a rank sends to one of its peers, or to all. */
static unsigned char byte_of(const small_call_t *call, int from, int block,
                             size_t i)
{
    return (unsigned char)(call->seed * 7 + (uint64_t)from * 31 +
                           (uint64_t)(call->gather ? 0 : block) * 17 + i * 3 +
                           (i >> 8));
}

static void fill(const rank_test_t *test, const small_call_t *call)
{
    for (int block = 0; block < (call->gather ? 1 : BLOCKS); block++) {
        for (size_t i = 0; i < call->bytes; i++) {
            call->send[(size_t)block * call->bytes + i] =
                byte_of(call, test->place.rank, block, i);
        }
    }
    memset(call->receive, GUARD, call->room);
}

static void check(rank_test_t *test, const small_call_t *call)
{
    const int *peer = call->ring->peer;
    size_t bytes = call->bytes;
    for (int block = 0; block < BLOCKS; block++) {
        /* Edges between the same two ranks are matched in order. */
        int theirs = peer[0] == peer[1] ? block : 1 - block;
        size_t i = 0;
        while (i < bytes && call->receive[(size_t)block * bytes + i] ==
                                byte_of(call, peer[block], theirs, i)) {
            i++;
        }
        RANK_CHECK(test, i == bytes);
    }
    for (size_t i = BLOCKS * bytes; i < call->room; i++) {
        RANK_CHECK(test, call->receive[i] == GUARD);
    }
}

static catena_datatype_t type_of(const small_call_t *call, size_t *count)
{
    bool words = call->by_words && call->bytes % 8 == 0;
    *count = words ? call->bytes / 8 : call->bytes;
    return words ? CATENA_UINT64 : CATENA_BYTE;
}

static catena_status_t make_request(const small_call_t *call, form_t form,
                                    catena_request_t **request)
{
    static catena_status_t (*const make[2][2])(
        const void *, size_t, catena_datatype_t, void *, size_t,
        catena_datatype_t, catena_neighborhood_t *, catena_request_t **) = {
        {catena_ineighbor_alltoall, catena_ineighbor_gather},
        {catena_neighbor_alltoall_init, catena_neighbor_gather_init}};
    size_t count;
    catena_datatype_t type = type_of(call, &count);
    return make[form == PERSISTENT][call->gather](
        call->send, count, type, call->receive, call->bytes, CATENA_BYTE,
        call->ring->neighborhood, request);
}

static catena_status_t run_blocking(const small_call_t *call)
{
    size_t count;
    catena_datatype_t type = type_of(call, &count);
    return (call->gather ? catena_neighbor_gather : catena_neighbor_alltoall)(
        call->send, count, type, call->receive, call->bytes, CATENA_BYTE,
        call->ring->neighborhood);
}

static catena_status_t run(const small_call_t *call, form_t form)
{
    if (form == BLOCKING) {
        return run_blocking(call);
    }
    catena_request_t *request = NULL;
    catena_status_t status = make_request(call, form, &request);
    if (status == CATENA_OK && form == PERSISTENT) {
        status = catena_start(request);
    }
    if (status != CATENA_OK) {
        return status;
    }
    status = catena_wait(&request);
    catena_status_t freed =
        request != NULL ? catena_request_free(&request) : CATENA_OK;
    return status != CATENA_OK ? status : freed;
}

/* ---- calls that change ---- */

/** One call, which `wrong`, unless it is -1, makes with another length. */
static void one_call(rank_test_t *test, small_call_t call, int wrong,
                     bool longer, form_t form)
{
    int rank = test->place.rank;
    const int *peer = call.ring->peer;
    bool errs = wrong >= 0 && peer[0] != rank;
    bool finds =
        errs && (rank == wrong || peer[0] == wrong || peer[1] == wrong);
    if (errs && rank == wrong) {
        call.bytes = longer           ? call.bytes + 8
                     : call.bytes > 1 ? call.bytes / 2
                                      : 3;
    }
    fill(test, &call);
    FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK, finds ? "sent" : "",
          run(&call, form));
    if (!finds) {
        check(test, &call);
    }
}

/** Some calls of the same arguments on all ranks; one in the middle of them may
 * go wrong. */
static void same_calls(rank_test_t *test, small_call_t call, uint64_t drawn,
                       uint64_t *own)
{
    int p = test->place.size;
    int wrong = (drawn >> 8) % 3 == 0 ? (int)((drawn >> 16) % (uint64_t)p) : -1;
    uint64_t mine = rank_random(own);
    call.by_words = mine % 2 == 0;
    for (int turn = 0; turn < 6; turn++) {
        form_t form = (mine >> (8 + 2 * turn)) % 4;
        call.seed++;
        one_call(test, call, turn == 3 ? wrong : -1, (drawn >> 32) % 2 == 0,
                 form < FORMS ? form : BLOCKING);
    }
}

void nbr_small(rank_test_t *test)
{
    static const size_t lengths[] = {1,   7,   8,    13,   16,  40,
                                     100, 520, 1000, 1024, 1032};
    enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]), TURNS = 150 };
    uint64_t all = 5;
    uint64_t own = 11 + (uint64_t)test->place.rank;
    small_ring_t rings[2] = {open_ring(test, 1), open_ring(test, 2)};
    unsigned char *memory[2][2];
    for (int i = 0; i < 4; i++) {
        memory[i / 2][i % 2] =
            rank_take(test, i % 2 ? RANK_MALLOC : RANK_HEAP, ROOM);
    }
    for (int i = 0; i < TURNS; i++) {
        uint64_t drawn = rank_random(&all);
        uint64_t mine = rank_random(&own);
        small_call_t call = {
            .ring = &rings[drawn % 2],
            .gather = (drawn >> 1) % 3 == 0,
            .bytes = lengths[(drawn >> 24) % LENGTHS],
            .room = ROOM,
            .seed = drawn,
            .send = memory[0][mine % 2],
            .receive = memory[1][(mine >> 1) % 2],
        };
        same_calls(test, call, rank_random(&all), &own);
    }
    for (int i = 0; i < 4; i++) {
        rank_give(test, i % 2 ? RANK_MALLOC : RANK_HEAP, memory[i / 2][i % 2]);
    }
    for (int i = 0; i < 2; i++) {
        RANK_CHECK(test, catena_neighborhood_free(rings[i].neighborhood) ==
                             CATENA_OK);
    }
}

/* ---- requests of two neighborhoods ---- */

/* Of each so many that the last has to wait for its turn. */
enum { EACH = 3, REQUESTS = 2 * EACH };

typedef struct requests {
    size_t room; /* of a buffer */
    small_ring_t rings[2];
    small_call_t call[REQUESTS]; /* EACH of them on each ring */
    catena_request_t *request[REQUESTS];
    small_call_t between;
} requests_t;

/** Short ones, or those that neighbors copy out of each other's memory. */
static const size_t lengths_of[2][REQUESTS] = {
    {13, 700, 40, 13, 8, 1024}, {2048, 70000, 1500, 1500, 9000, 2048}};

/** Where the buffers of request i lie: neighbors need not do alike. */
static rank_memory_t memory_of(const rank_test_t *test, int i, bool received)
{
    return (test->place.rank + i + (received ? 1 : 0)) % 3 == 0 ? RANK_MALLOC
                                                                : RANK_HEAP;
}

static void open_requests(rank_test_t *test, requests_t *r, bool are_long)
{
    const size_t *lengths = lengths_of[are_long];
    r->room = are_long ? BLOCKS * 70000 + 16 : ROOM;
    for (int i = 0; i < 2; i++) {
        r->rings[i] = open_ring(test, i + 1);
    }
    for (int i = 0; i < REQUESTS; i++) {
        r->call[i] = (small_call_t){
            .ring = &r->rings[i / EACH],
            .gather = i == 1,
            .bytes = lengths[i],
            .room = r->room,
            .by_words = i == EACH + 1,
            .send = rank_take(test, memory_of(test, i, false), r->room),
            .receive = rank_take(test, memory_of(test, i, true), r->room),
        };
        RANK_CHECK(test, make_request(&r->call[i], PERSISTENT,
                                      &r->request[i]) == CATENA_OK);
    }
    r->between = (small_call_t){.bytes = are_long ? 3000 : 24,
                                .room = r->room,
                                .send = rank_take(test, RANK_HEAP, r->room),
                                .receive = rank_take(test, RANK_HEAP, r->room)};
}

static void close_requests(rank_test_t *test, requests_t *r)
{
    for (int i = 0; i < REQUESTS; i++) {
        RANK_CHECK(test, catena_request_free(&r->request[i]) == CATENA_OK);
        rank_give(test, memory_of(test, i, false), r->call[i].send);
        rank_give(test, memory_of(test, i, true), r->call[i].receive);
    }
    rank_give(test, RANK_HEAP, r->between.send);
    rank_give(test, RANK_HEAP, r->between.receive);
    for (int i = 0; i < 2; i++) {
        RANK_CHECK(test, catena_neighborhood_free(r->rings[i].neighborhood) ==
                             CATENA_OK);
    }
}

/** Start those of `drawn`: on a ring in the same order on all ranks, but which
 * of the rings comes next each decides itself. */
static void start_drawn(rank_test_t *test, requests_t *r, uint64_t drawn,
                        uint64_t own)
{
    int begun[2] = {0};
    for (int n = 0; n < REQUESTS; n++) {
        int ring = (int)((own >> n) % 2);
        ring = begun[ring] < EACH ? ring : 1 - ring;
        int at = (begun[ring]++ + (int)((drawn >> (8 + ring)) % 2)) % EACH;
        int i = ring * EACH + at;
        if ((drawn >> i) % 2 != 0) {
            r->call[i].seed++;
            fill(test, &r->call[i]);
            RANK_CHECK(test, catena_start(r->request[i]) == CATENA_OK);
        }
    }
}

static catena_status_t end_request(catena_request_t **request, bool tests)
{
    int done = 0;
    catena_status_t status = CATENA_OK;
    while (tests && !done) {
        status = catena_test(request, &done);
    }
    return tests ? status : catena_wait(request);
}

static void wait_drawn(rank_test_t *test, requests_t *r, uint64_t drawn,
                       uint64_t own)
{
    for (uint64_t n = 0; n < REQUESTS; n++) {
        uint64_t i = (own / 4 + (own % 2 != 0 ? n : REQUESTS - n)) % REQUESTS;
        if ((drawn >> i) % 2 != 0) {
            RANK_CHECK(test, end_request(&r->request[i],
                                         (own >> 12) % 3 == 0) == CATENA_OK);
            check(test, &r->call[i]);
        }
    }
}

static catena_status_t run_request(catena_request_t **request, bool tests)
{
    catena_status_t status = catena_start(*request);
    return status == CATENA_OK ? end_request(request, tests) : status;
}

/** Request i alone, in whose place one rank calls with another length. */
static void one_goes_wrong(rank_test_t *test, requests_t *r, int i,
                           uint64_t drawn, bool tests)
{
    int rank = test->place.rank;
    int wrong = (int)((drawn >> 24) % (uint64_t)test->place.size);
    small_call_t *call = &r->call[i];
    const int *peer = call->ring->peer;
    bool finds = peer[0] != rank && (peer[0] == wrong || peer[1] == wrong);
    call->seed++;
    if (rank == wrong) {
        one_call(test, *call, wrong, false, BLOCKING);
        return;
    }
    fill(test, call);
    FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK, finds ? "sent" : "",
          run_request(&r->request[i], tests));
    if (!finds) {
        check(test, call);
    }
}

static void request_turns(rank_test_t *test, bool are_long)
{
    enum { TURNS = 400, LONG_TURNS = 160 };
    int turns = are_long ? LONG_TURNS : TURNS;
    uint64_t all = 9;
    uint64_t own = 21 + (uint64_t)test->place.rank;
    requests_t r = {0};
    open_requests(test, &r, are_long);
    for (int turn = 0; turn < turns; turn++) {
        uint64_t drawn = rank_random(&all);
        uint64_t mine = rank_random(&own);
        /* Now and then one alone, several times in a row. */
        if (turn * 2 * REQUESTS / turns % 2 == 0) {
            int one = turn * REQUESTS / turns;
            drawn = drawn >> REQUESTS << REQUESTS | UINT64_C(1) << one;
            if ((drawn >> 40) % 6 == 0) {
                one_goes_wrong(test, &r, one, drawn, mine % 2 == 0);
                continue;
            }
        }
        start_drawn(test, &r, drawn, mine);
        if ((drawn >> 16) % 3 == 0) {
            r.between.ring = &r.rings[(drawn >> 20) % 2];
            r.between.seed = drawn;
            one_call(test, r.between, -1, false,
                     (mine >> 16) % 4 == 0 ? NONBLOCKING : BLOCKING);
        }
        wait_drawn(test, &r, drawn, mine >> 8);
    }
    close_requests(test, &r);
}

void nbr_small_requests(rank_test_t *test)
{
    request_turns(test, false);
}

void nbr_long_requests(rank_test_t *test)
{
    request_turns(test, true);
}
