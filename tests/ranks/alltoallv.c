/* Exchanges with counts and types of their own for every pair, over every
 * algorithm, without barriers between the calls. */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alltoallv.h"
#include "rank_vector.h"

typedef struct setting {
    const char *algorithm;
    const char *leaders;
} setting_t;

static const setting_t settings[] = {
    {"direct", "auto"}, {"l-a2a", "auto"},  {"mpml", "1"},   {"mpml", "2"},
    {"mpml", "5"},      {"mpml", "auto"},   {"nmpml", "1"},  {"nmpml", "2"},
    {"nmpml", "5"},     {"nmpml", "auto"},  {"onmpml", "1"}, {"onmpml", "2"},
    {"onmpml", "5"},    {"onmpml", "auto"}, {"shift", "2"},  {"bruck", "auto"},
    {"morton", "auto"}, {"auto", "auto"}};

enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

static void use(rank_test_t *test, catena_group_t *group, setting_t setting)
{
    RANK_CHECK(test, catena_group_set(group, "alltoall_algorithm",
                                      setting.algorithm) == CATENA_OK);
    RANK_CHECK(test, catena_group_set(group, "alltoall_leaders",
                                      setting.leaders) == CATENA_OK);
}

/** All sides are alike but for the memory. */
static rank_vector_t describe(rank_test_t *test, rank_call_t call,
                              rank_amount_t amount, size_t limit)
{
    return (rank_vector_t){
        .group = test->world, .call = call, .amount = amount, .limit = limit};
}

static void set_elements(rank_vector_t *x, rank_elements_t send,
                         rank_elements_t receive)
{
    x->send.elements = send;
    x->receive.elements = receive;
}

/** Heap, malloc, or both mixed by rank. */
static void set_memory(rank_test_t *test, rank_vector_t *x, int way)
{
    int rank = test->place.rank;
    x->send.memory = (rank_memory_t)(way == 2 ? rank % 2 : way);
    x->receive.memory = (rank_memory_t)(way == 2 ? rank / 2 % 2 : way);
}

static void exchange(rank_test_t *test, rank_vector_t *x, int calls,
                     const char *what)
{
    rank_vector_open(test, x);
    for (int i = 0; i < calls; i++) {
        rank_vector_fill(test, x, x->shape + (uint64_t)i);
        RANK_CHECK(test, rank_vector_run(x) == CATENA_OK);
        rank_vector_check(test, x, what);
    }
    rank_vector_close(test, x);
}

/** With other shapes for each setting.
 * @param left_out one in three: those of this number modulo 3; 3: none */
static void most_settings(rank_test_t *test, const rank_vector_t *like,
                          int left_out)
{
    for (int s = 0; s < SETTINGS; s++) {
        if (s % 3 == left_out) {
            continue;
        }
        rank_vector_t x = *like;
        char what[64];
        snprintf(what, sizeof(what), "%s, %s leaders", settings[s].algorithm,
                 settings[s].leaders);
        x.shape += (uint64_t)s * 100;
        use(test, test->world, settings[s]);
        exchange(test, &x, 2, what);
    }
    use(test, test->world, (setting_t){"auto", "auto"});
}

static void all_settings(rank_test_t *test, const rank_vector_t *like)
{
    most_settings(test, like, 3);
}

/** Every kind of memory; each setting with two of the three. */
static void sweep(rank_test_t *test, rank_vector_t x)
{
    for (int way = 0; way < 3; way++) {
        x.shape += 7;
        set_memory(test, &x, way);
        most_settings(test, &x, way);
    }
}

/* ---- who sends how much ---- */

static size_t nothing(const rank_vector_t *x, size_t from, size_t to)
{
    (void)x;
    (void)from;
    (void)to;
    return 0;
}

static size_t always_limit(const rank_vector_t *x, size_t from, size_t to)
{
    (void)from;
    (void)to;
    return x->limit;
}

/** A member that the shape names. */
static size_t chosen(const rank_vector_t *x, uint64_t salt)
{
    return rank_hash(x->shape, salt, 3) % (uint64_t)catena_group_size(x->group);
}

static size_t one_sends(const rank_vector_t *x, size_t from, size_t to)
{
    return from == chosen(x, 1) ? 1 + rank_amount_random(x, from, to) : 0;
}

static size_t one_receives(const rank_vector_t *x, size_t from, size_t to)
{
    return to == chosen(x, 1) ? 1 + rank_amount_random(x, from, to) : 0;
}

/** One pair has much, a few have some, and most have little or nothing: sizes
 * on both sides of every threshold. */
static size_t hub(const rank_vector_t *x, size_t from, size_t to)
{
    static const size_t little[] = {0, 0, 1, 7, 8, 9, 111, 112, 113, 200};
    static const size_t some[] = {8191, 8192, 8193, 30000};
    uint64_t random = rank_hash(x->shape, from, to);
    if (from == chosen(x, 1) && to == chosen(x, 2)) {
        return 300000;
    }
    return random % 32 == 0 ? some[(random >> 8) % 4]
                            : little[(random >> 8) % 10];
}

/** Few ranks have anything to do. */
static size_t few(const rank_vector_t *x, size_t from, size_t to)
{
    return from == chosen(x, 1) || from == chosen(x, 2)
               ? rank_hash(x->shape, from, to) % 3 * x->limit / 2
               : 0;
}

/* ---- cases: amounts ---- */

static void random_counts(rank_test_t *test)
{
    sweep(test, describe(test, RANK_ALLTOALLV, rank_amount_random, 2000));
}

static void large_counts(rank_test_t *test)
{
    sweep(test, describe(test, RANK_ALLTOALLV, rank_amount_random, 30000));
}

static void no_counts(rank_test_t *test)
{
    rank_vector_t x = describe(test, RANK_ALLTOALLV, nothing, 0);
    all_settings(test, &x);
    x.in_place = true;
    all_settings(test, &x);
    x.in_place = false;
    x.call = RANK_ALLTOALLW;
    all_settings(test, &x);
}

static void only_one(rank_test_t *test)
{
    rank_vector_t x = describe(test, RANK_ALLTOALLV, one_sends, 9000);
    set_memory(test, &x, 2);
    all_settings(test, &x);
    x.amount = one_receives;
    all_settings(test, &x);
}

static void one_huge(rank_test_t *test)
{
    rank_vector_t x = describe(test, RANK_ALLTOALLV, hub, 0);
    sweep(test, x);
    x.in_place = true;
    set_memory(test, &x, 2);
    all_settings(test, &x);
}

static void in_place(rank_test_t *test)
{
    rank_vector_t x = describe(test, RANK_ALLTOALLV, rank_amount_random, 1000);
    x.in_place = true;
    sweep(test, x);
    x.call = RANK_ALLTOALLW;
    x.unit = 24;
    set_elements(&x, RANK_DERIVED, RANK_DERIVED);
    x.limit = 400;
    sweep(test, x);
}

/* ---- cases: types ---- */

/** Types on both sides that have nothing in common but the bytes. */
static void fixed_types(rank_test_t *test)
{
    rank_vector_t x = describe(test, RANK_ALLTOALLV, rank_amount_random, 60);
    x.unit = 16;
    bool odd = test->place.rank % 2;
    set_elements(&x, odd ? RANK_BYTES : RANK_FIXED,
                 odd ? RANK_FIXED : RANK_BYTES);
    set_memory(test, &x, 2);
    all_settings(test, &x);
    x.call = RANK_ALLTOALLW;
    all_settings(test, &x);
}

static void derived_types(rank_test_t *test)
{
    rank_vector_t x = describe(test, RANK_ALLTOALLV, rank_amount_random, 40);
    x.unit = 48;
    x.shape = 5;
    set_elements(&x, RANK_DERIVED, RANK_DERIVED);
    sweep(test, x);
    set_elements(&x, RANK_DERIVED, RANK_BYTES);
    all_settings(test, &x);
    set_elements(&x, RANK_FIXED, RANK_DERIVED);
    all_settings(test, &x);
    x.amount = hub; /* odd numbers of bytes, much of them */
    x.unit = 1;
    set_elements(&x, RANK_DERIVED, RANK_DERIVED);
    all_settings(test, &x);
}

static void type_per_peer(rank_test_t *test)
{
    rank_vector_t x = describe(test, RANK_ALLTOALLW, rank_amount_random, 400);
    x.unit = 12;
    x.shape = 9;
    set_elements(&x, RANK_DERIVED, RANK_DERIVED);
    sweep(test, x);
    set_elements(&x, RANK_DERIVED, RANK_FIXED);
    all_settings(test, &x);
    x.amount = hub;
    x.unit = 1;
    set_elements(&x, RANK_DERIVED, RANK_DERIVED);
    all_settings(test, &x);
}

/** catena_alltoall of derived types: nothing is written into the gaps. */
static void even_derived(rank_test_t *test)
{
    static const size_t counts[] = {0, 1, 5, 400};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        rank_vector_t x =
            describe(test, RANK_ALLTOALL, always_limit, counts[i]);
        x.unit = 24;
        x.shape = i * 1000;
        x.in_place = i == 2;
        set_elements(&x, RANK_DERIVED, RANK_DERIVED);
        set_memory(test, &x, (int)(i % 3));
        all_settings(test, &x);
    }
}

/* ---- cases: matrices, seen as users see them ---- */

static void matrices(rank_test_t *test)
{
    for (int s = 0; s < SETTINGS; s++) {
        use(test, test->world, settings[s]);
        for (int way = 0; way < 4; way++) {
            alltoallv_matrix(test, way / 2, way % 2);
        }
    }
    use(test, test->world, (setting_t){"auto", "auto"});
}

/* ---- cases: requests ---- */

/** Types are freed while an operation has just begun. */
static void types_freed(rank_test_t *test)
{
    for (int s = 0; s < SETTINGS; s++) {
        for (int call = RANK_ALLTOALLV; call <= RANK_ALLTOALL; call++) {
            rank_vector_t x = describe(
                test, (rank_call_t)call,
                call == RANK_ALLTOALL ? always_limit : rank_amount_random, 30);
            x.unit = 36;
            x.shape = (uint64_t)(s * 3 + call);
            set_elements(&x, RANK_DERIVED, RANK_DERIVED);
            set_memory(test, &x, s % 3);
            use(test, test->world, settings[s]);
            rank_vector_open(test, &x);
            rank_vector_fill(test, &x, x.shape);
            if (s % 2 == 0) {
                RANK_CHECK(test, rank_vector_start(&x) == CATENA_OK);
                rank_vector_free_types(test, &x);
                RANK_CHECK(test, catena_wait(&x.request) == CATENA_OK);
            } else {
                RANK_CHECK(test, rank_vector_init(&x) == CATENA_OK);
                rank_vector_free_types(test, &x);
                RANK_CHECK(test, catena_start(x.request) == CATENA_OK);
                RANK_CHECK(test, catena_wait(&x.request) == CATENA_OK);
                RANK_CHECK(test, catena_request_free(&x.request) == CATENA_OK);
            }
            rank_vector_check(test, &x, settings[s].algorithm);
            rank_vector_close(test, &x);
        }
    }
    use(test, test->world, (setting_t){"auto", "auto"});
}

static void persistent(rank_test_t *test)
{
    static const setting_t some[] = {
        {"direct", "auto"}, {"onmpml", "2"}, {"mpml", "1"}, {"shift", "2"}};
    rank_vector_t x[4];
    catena_request_t *requests[5];
    for (int i = 0; i < 4; i++) {
        x[i] = describe(test, i == 2 ? RANK_ALLTOALLW : RANK_ALLTOALLV,
                        i == 1 ? hub : rank_amount_random, 900);
        x[i].shape = (uint64_t)i + 20;
        x[i].in_place = i == 3;
        set_memory(test, &x[i], i % 3);
        use(test, test->world, some[i]);
        rank_vector_open(test, &x[i]);
        RANK_CHECK(test, rank_vector_init(&x[i]) == CATENA_OK);
        requests[i] = x[i].request;
    }
    RANK_CHECK(test,
               catena_barrier_init(test->world, &requests[4]) == CATENA_OK);
    for (uint64_t round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++) {
            rank_vector_fill(test, &x[i], round * 4 + (uint64_t)i);
        }
        RANK_CHECK(test, catena_startall(5, requests) == CATENA_OK);
        RANK_CHECK(test, catena_start(requests[1]) == CATENA_ERR_STATE);
        RANK_CHECK(test, catena_waitall(5, requests) == CATENA_OK);
        for (int i = 0; i < 4; i++) {
            rank_vector_check(test, &x[i], "persistent");
        }
    }
    for (int i = 0; i < 5; i++) {
        RANK_CHECK(test, catena_request_free(&requests[i]) == CATENA_OK);
    }
    for (int i = 0; i < 4; i++) {
        rank_vector_close(test, &x[i]);
    }
    use(test, test->world, (setting_t){"auto", "auto"});
}

enum { IN_FLIGHT = 7 };

/** Complete in an order of this rank's own, by waiting or by testing. */
static void complete(rank_test_t *test, catena_request_t **requests,
                     size_t count, uint64_t *random)
{
    size_t left = count;
    while (left > 0) {
        size_t i = rank_random(random) % left;
        int done = rank_random(random) % 2 == 0;
        while (!done) {
            RANK_CHECK(test, catena_test(&requests[i], &done) == CATENA_OK);
            sched_yield();
        }
        RANK_CHECK(test, catena_wait(&requests[i]) == CATENA_OK);
        RANK_CHECK(test, requests[i] == NULL);
        requests[i] = requests[--left];
    }
}

static void open_one(rank_test_t *test, rank_vector_t *x, uint64_t seed,
                     catena_group_t *group)
{
    uint64_t random = seed;
    uint64_t what = rank_random(&random);
    rank_call_t call = (rank_call_t)(what % 3);
    *x = describe(test, call,
                  call == RANK_ALLTOALL ? always_limit
                  : what >> 8 & 3       ? rank_amount_random
                                        : few,
                  call == RANK_ALLTOALL ? 10 : 300);
    x->group = group;
    x->shape = seed;
    x->unit = 12;
    x->in_place = (what >> 16) % 4 == 0;
    set_elements(x, (what >> 24) % 2 ? RANK_DERIVED : RANK_BYTES,
                 (what >> 25) % 2 ? RANK_DERIVED : RANK_FIXED);
    set_memory(test, x, (int)((what >> 32) % 3));
    use(test, group, settings[(what >> 40) % SETTINGS]);
    rank_vector_open(test, x);
    rank_vector_fill(test, x, seed);
}

static void several_in_flight(rank_test_t *test)
{
    uint64_t own = 99 + (uint64_t)test->place.rank;
    for (uint64_t round = 0; round < 12; round++) {
        rank_vector_t *x = calloc(IN_FLIGHT, sizeof(*x));
        catena_request_t *requests[IN_FLIGHT + 2];
        for (int i = 0; i < IN_FLIGHT; i++) {
            open_one(test, &x[i], round * 100 + (uint64_t)i, test->world);
        }
        for (int i = 0; i < IN_FLIGHT; i++) {
            RANK_CHECK(test, rank_vector_start(&x[i]) == CATENA_OK);
            rank_vector_free_types(test, &x[i]);
            requests[i] = x[i].request;
            if (i % 3 == 1) {
                RANK_CHECK(test,
                           catena_ibarrier(test->world,
                                           &requests[IN_FLIGHT + i / 3]) ==
                               CATENA_OK);
            }
        }
        complete(test, requests, IN_FLIGHT + 2, &own);
        for (int i = 0; i < IN_FLIGHT; i++) {
            rank_vector_check(test, &x[i], "in flight");
            rank_vector_close(test, &x[i]);
        }
        free(x);
    }
    use(test, test->world, (setting_t){"auto", "auto"});
}

/** Even ranks start on one group first, odd ones on the other. */
static void different_orders(rank_test_t *test)
{
    catena_group_t *group[2];
    RANK_CHECK(test, catena_group_dup(test->world, &group[0]) == CATENA_OK);
    RANK_CHECK(test, catena_group_split(test->world, 0, -test->place.rank,
                                        &group[1]) == CATENA_OK);
    for (uint64_t round = 0; round < 8; round++) {
        rank_vector_t *x = calloc(4, sizeof(*x));
        for (int i = 0; i < 4; i++) {
            open_one(test, &x[i], 7000 + round * 10 + (uint64_t)i,
                     group[i / 2]);
        }
        for (int i = 0; i < 4; i++) {
            int first = test->place.rank % 2 * 2;
            RANK_CHECK(test, rank_vector_start(&x[i ^ first]) == CATENA_OK);
        }
        for (int i = 0; i < 4; i++) {
            RANK_CHECK(test, catena_wait(&x[i].request) == CATENA_OK);
            rank_vector_check(test, &x[i], "different orders");
            rank_vector_close(test, &x[i]);
        }
        free(x);
    }
    RANK_CHECK(test, catena_group_free(group[1]) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(group[0]) == CATENA_OK);
}

/** Many in a row, in which most ranks have nothing to do: nothing but the
 * operations themselves keeps those from running far ahead. */
static void idle_ranks(rank_test_t *test)
{
    enum { KINDS = 8, CALLS = 64 };
    for (int s = 0; s < SETTINGS; s += 3) {
        rank_vector_t *x = calloc(KINDS, sizeof(*x));
        use(test, test->world, settings[s]);
        for (int i = 0; i < KINDS; i++) {
            static const size_t limits[KINDS] = {2,    16,    220,   400,
                                                 5000, 16386, 40000, 70};
            x[i] = describe(test, RANK_ALLTOALLV, few, limits[i]);
            x[i].shape = (uint64_t)(s * 100 + i);
            set_memory(test, &x[i], i % 3);
            rank_vector_open(test, &x[i]);
        }
        for (int i = 0; i < CALLS; i++) {
            rank_vector_t *now = &x[i % KINDS];
            rank_vector_fill(test, now, (uint64_t)i);
            RANK_CHECK(test, rank_vector_run(now) == CATENA_OK);
            rank_vector_check(test, now, settings[s].algorithm);
        }
        for (int i = 0; i < KINDS; i++) {
            rank_vector_close(test, &x[i]);
        }
        free(x);
    }
    use(test, test->world, (setting_t){"auto", "auto"});
}

static size_t only_own(const rank_vector_t *x, size_t from, size_t to)
{
    return from == to ? x->limit : 0;
}

/** A member of each node comes late to an exchange that the others can end
 * without it. They take memory of the heap at once and write into it: whatever
 * the late one still looks at must not be there. */
static void late_member(rank_test_t *test)
{
    enum { BLOCKS = 6 };
    size_t bytes[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        bytes[i] = (size_t)test->place.size << (3 + i); /* 8 to 256 a rank */
    }
    for (int s = 0; s < SETTINGS; s++) {
        unsigned char *blocks[BLOCKS];
        rank_vector_t x = describe(test, RANK_ALLTOALLV, only_own, 100);
        set_memory(test, &x, 1);
        use(test, test->world, settings[s]);
        rank_vector_open(test, &x);
        rank_vector_fill(test, &x, (uint64_t)s);
        if (test->place.local_rank == s % test->place.local_size) {
            rank_pause(test, 500);
        }
        RANK_CHECK(test, rank_vector_run(&x) == CATENA_OK);
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = catena_malloc(test->context, bytes[i]);
            memset(blocks[i], 1, bytes[i]);
        }
        rank_vector_check(test, &x, settings[s].algorithm);
        rank_vector_close(test, &x);
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        for (int i = 0; i < BLOCKS; i++) {
            catena_free(test->context, blocks[i]);
        }
    }
    use(test, test->world, (setting_t){"auto", "auto"});
}

/** A group whose operations are complete may be freed, whatever catena keeps
 * in order between them. */
static void freed_group(rank_test_t *test)
{
    for (int calls = 1; calls <= 5; calls++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        rank_vector_t x = describe(test, RANK_ALLTOALLV, few, 300);
        x.group = group;
        x.shape = (uint64_t)calls;
        exchange(test, &x, calls, "a group to be freed");
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    }
}

static const rank_case_t cases[] = {{"random_counts", random_counts},
                                    {"large_counts", large_counts},
                                    {"no_counts", no_counts},
                                    {"only_one", only_one},
                                    {"one_huge", one_huge},
                                    {"in_place", in_place},
                                    {"fixed_types", fixed_types},
                                    {"derived_types", derived_types},
                                    {"type_per_peer", type_per_peer},
                                    {"even_derived", even_derived},
                                    {"matrices", matrices},
                                    {"types_freed", types_freed},
                                    {"persistent", persistent},
                                    {"several_in_flight", several_in_flight},
                                    {"different_orders", different_orders},
                                    {"idle_ranks", idle_ranks},
                                    {"late_member", late_member},
                                    {"freed_group", freed_group},
                                    {"bad_arguments", alltoallv_arguments},
                                    {NULL, NULL}};

int main(int argc, char **argv)
{
    return rank_main(argc, argv, cases);
}
