/* Repeated calls on rings in both directions. A call with the arguments of
 * earlier ones takes a path of its own. So do single requests, and blocks that
 * the second of two ranks copies in place. Here they alternate in any order,
 * with other calls and wrong lengths in between. */

#include "ranks/helpers/nbr_mix.h"
#include "ranks/helpers/refuse.h"

/* So many requests of each that the last must wait for its turn. */
enum { EACH = 3, REQUESTS = 2 * EACH, RINGS = 2 };

static void open_ring(rank_test_t *test, nbr_t *ring, int away)
{
    oracle_graph_ring(&ring->graph, test->place.ranks, away);
    nbr_open(test, ring, NULL, (uint64_t)(11 * away + test->place.rank));
    /* If messages share a path, a wrong length affects more ranks than the
     * neighbors. */
    RANK_CHECK(test, nbr_choose(ring, "direct"));
}

/** Blocks of so many bytes. The ring's `own` draws the values of this rank. */
static oracle_nbr_call_t call_of(nbr_t *ring, bool gather, size_t bytes)
{
    uint64_t mine = ctn_random(&ring->own);
    oracle_nbr_call_t call = {
        .graph = &ring->graph,
        .neighborhood = ring->neighborhood,
        .table = &ring->table,
        .kind = gather ? ORACLE_NEIGHBOR_ALLGATHER : ORACLE_NEIGHBOR_ALLTOALL,
        .type = ORACLE_BYTE,
        .count = bytes,
        .in_place = mine >> 24 & 1,
        .as_words = mine % 2 == 0,
        .send_memory = mine >> 8 & 3 ? ORACLE_HEAP : ORACLE_MALLOC,
        .receive_memory = mine >> 16 & 3 ? ORACLE_HEAP : ORACLE_MALLOC};
    oracle_nbr_repair(&call);
    return call;
}

/** Whether a call in which `wrong` uses another length is wrong here. */
static bool is_near(const nbr_t *ring, int wrong)
{
    int rank = ring->test->place.rank;
    const int *peer = ring->graph.sources[rank].rank;
    return wrong >= 0 && peer[0] != rank &&
           (rank == wrong || peer[0] == wrong || peer[1] == wrong);
}

/** `run` it after filling; `wrong`, unless -1, makes another call, of another
 * length, instead. */
static void one_call(nbr_t *ring, oracle_nbr_call_t *call, uint64_t seed,
                     int wrong, size_t other,
                     catena_status_t (*run)(oracle_nbr_call_t *call))
{
    rank_test_t *test = ring->test;
    bool finds = is_near(ring, wrong);
    oracle_nbr_call_t bad = {.graph = NULL};
    call->seed = seed;
    if (wrong == test->place.rank && finds) {
        bad = call_of(ring, call->kind == ORACLE_NEIGHBOR_ALLGATHER, other);
        bad.form = call->form;
        oracle_nbr_open(&test->oracle, &bad);
        call = &bad;
        run = oracle_nbr_run_to_end;
    }
    oracle_nbr_fill(call, seed);
    FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK, finds ? "sent" : "",
          run(call));
    if (finds) {
        oracle_nbr_check_around(&test->oracle, call, test->name);
    } else {
        oracle_nbr_check(&test->oracle, call, test->name);
    }
    if (call == &bad) {
        oracle_nbr_close(&test->oracle, &bad);
    }
}

/** Some calls with the same arguments on all ranks, in any common form; one in
 * the middle may be wrong. */
static void same_calls(nbr_t *ring, size_t bytes, uint64_t drawn)
{
    rank_test_t *test = ring->test;
    bool is_wrong = (drawn >> 8) % 3 == 0;
    size_t other = (drawn >> 32) % 2 == 0 ? bytes + 8
                   : bytes > 1            ? bytes / 2
                                          : 3;
    oracle_nbr_call_t call = call_of(ring, (drawn >> 1) % 3 == 0, bytes);
    oracle_nbr_open(&test->oracle, &call);
    for (int turn = 0; turn < 6; turn++) {
        size_t form = (drawn >> (40 + 2 * turn)) % 4;
        call.form =
            form < ORACLE_FORMS ? (oracle_form_t)form : ORACLE_FORM_BLOCKING;
        one_call(ring, &call, drawn + (uint64_t)turn,
                 is_wrong && turn == 3
                     ? (int)((drawn >> 16) % (uint64_t)test->place.ranks)
                     : -1,
                 other, oracle_nbr_run_to_end);
    }
    oracle_nbr_close(&test->oracle, &call);
}

/** Short blocks, or blocks that neighbors copy out of each other's memory. Real
 * ranks take fewer turns than simulated ones. */
static void in_a_row(rank_test_t *test)
{
    static const size_t lengths[] = {1,    7,    8,    13,    16,   40,
                                     100,  520,  1000, 1024,  1032, 2048,
                                     4096, 8192, 8200, 20000, 70000};
    enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
    int turns = test->simulated ? 100 : 40;
    uint64_t all = 5;
    nbr_t rings[RINGS];
    for (int i = 0; i < RINGS; i++) {
        open_ring(test, &rings[i], i + 1);
    }
    for (int i = 0; i < turns; i++) {
        uint64_t drawn = ctn_random(&all);
        same_calls(&rings[drawn % RINGS], lengths[(drawn >> 24) % LENGTHS],
                   drawn);
    }
    for (int i = 0; i < RINGS; i++) {
        nbr_close(&rings[i]);
    }
}

/* ---- requests of two neighborhoods ---- */

typedef struct requests {
    nbr_t ring[RINGS];
    oracle_nbr_call_t call[REQUESTS]; /* EACH of them on each ring */
    size_t between;                   /* bytes of other calls */

} requests_t;

static void open_requests(rank_test_t *test, requests_t *r, bool are_long)
{
    static const size_t lengths[2][REQUESTS] = {
        {13, 700, 40, 13, 8, 1024}, {2048, 70000, 1500, 1500, 9000, 2048}};
    r->between = are_long ? 3000 : 24;
    for (int i = 0; i < RINGS; i++) {
        open_ring(test, &r->ring[i], i + 1);
    }
    for (int i = 0; i < REQUESTS; i++) {
        r->call[i] = call_of(&r->ring[i / EACH], i == 1, lengths[are_long][i]);
        r->call[i].form = ORACLE_FORM_PERSISTENT;
        oracle_nbr_open(&test->oracle, &r->call[i]);
        RANK_CHECK(test, oracle_nbr_run(&r->call[i]) == CATENA_OK);
    }
}

static void close_requests(rank_test_t *test, requests_t *r)
{
    for (int i = 0; i < REQUESTS; i++) {
        RANK_CHECK(test, catena_request_free(&r->call[i].request) == CATENA_OK);
        oracle_nbr_close(&test->oracle, &r->call[i]);
    }
    for (int i = 0; i < RINGS; i++) {
        nbr_close(&r->ring[i]);
    }
}

static catena_status_t end_by_test(oracle_nbr_call_t *call)
{
    int done = 0;
    catena_status_t status = CATENA_OK;
    while (!done) {
        status = catena_request_test(&call->request, &done);
    }
    return status;
}

static catena_status_t end_by_wait(oracle_nbr_call_t *call)
{
    return catena_request_wait(&call->request);
}

static catena_status_t start_and_test(oracle_nbr_call_t *call)
{
    catena_status_t status = catena_request_start(call->request);
    return status == CATENA_OK ? end_by_test(call) : status;
}

static catena_status_t start_and_wait(oracle_nbr_call_t *call)
{
    catena_status_t status = catena_request_start(call->request);
    return status == CATENA_OK ? end_by_wait(call) : status;
}

/** Start those of `drawn`: on a ring in the same order on all ranks; each rank
 * interleaves the rings in its own order. */
static void start_drawn(rank_test_t *test, requests_t *r, uint64_t drawn,
                        uint64_t own)
{
    int begun[RINGS] = {0};
    for (int n = 0; n < REQUESTS; n++) {
        int ring = (int)((own >> n) % RINGS);
        ring = begun[ring] < EACH ? ring : 1 - ring;
        int at = (begun[ring]++ + (int)((drawn >> (8 + ring)) % 2)) % EACH;
        int i = ring * EACH + at;
        if ((drawn >> i) % 2 != 0) {
            oracle_nbr_fill(&r->call[i], r->call[i].seed + 1);
            RANK_CHECK(test,
                       catena_request_start(r->call[i].request) == CATENA_OK);
        }
    }
}

static void end_drawn(rank_test_t *test, requests_t *r, uint64_t drawn,
                      uint64_t own)
{
    for (uint64_t n = 0; n < REQUESTS; n++) {
        uint64_t i = (own / 4 + (own % 2 != 0 ? n : REQUESTS - n)) % REQUESTS;
        if ((drawn >> i) % 2 != 0) {
            RANK_CHECK(test, ((own >> 12) % 3 == 0 ? end_by_test : end_by_wait)(
                                 &r->call[i]) == CATENA_OK);
            oracle_nbr_check(&test->oracle, &r->call[i], test->name);
        }
    }
}

static void request_turns(rank_test_t *test, bool are_long)
{
    int turns = are_long ? 80 : 200;
    uint64_t all = 9;
    uint64_t own = 21 + (uint64_t)test->place.rank;
    requests_t r;
    open_requests(test, &r, are_long);
    for (int turn = 0; turn < turns; turn++) {
        uint64_t drawn = ctn_random(&all);
        uint64_t mine = ctn_random(&own);
        /* Sometimes a single one, several times in a row. */
        if (turn * 2 * REQUESTS / turns % 2 == 0) {
            int one = turn * REQUESTS / turns;
            oracle_nbr_call_t *call = &r.call[one];
            drawn = drawn >> REQUESTS << REQUESTS | UINT64_C(1) << one;
            if ((drawn >> 40) % 6 == 0) {
                one_call(&r.ring[one / EACH], call, call->seed + 1, -1, 0,
                         mine % 2 == 0 ? start_and_test : start_and_wait);
                continue;
            }
        }
        start_drawn(test, &r, drawn, mine);
        if ((drawn >> 16) % 3 == 0) {
            nbr_t *ring = &r.ring[(drawn >> 20) % RINGS];
            oracle_nbr_call_t call = call_of(ring, false, r.between);
            call.form = (mine >> 16) % 4 == 0 ? ORACLE_FORM_NONBLOCKING
                                              : ORACLE_FORM_BLOCKING;
            oracle_nbr_open(&test->oracle, &call);
            one_call(ring, &call, drawn, -1, 0, oracle_nbr_run_to_end);
            oracle_nbr_close(&test->oracle, &call);
        }
        end_drawn(test, &r, drawn, mine >> 8);
    }
    close_requests(test, &r);
}

static void short_requests(rank_test_t *test)
{
    request_turns(test, false);
}

static void long_requests(rank_test_t *test)
{
    request_turns(test, true);
}

static const rank_case_t cases[] = {
    {"the same call again and again", in_a_row},
    {"requests for small blocks", short_requests},
    {"requests for long blocks", long_requests},
    {NULL, NULL}};
const rank_suite_t rank_suite_neighborrow = {
    .name = "neighborrow",
    .cases = cases,
    .on = "n7 n5-sleep sim3+1+5 sim:2+4+1"};
