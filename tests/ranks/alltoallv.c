/* Exchanges with counts and types of their own for every pair, over every
 * algorithm, without barriers between the calls. */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

typedef struct matrix {
    size_t n;      /* rows and columns of the whole */
    size_t p;      /* ranks: each has rows, or columns, of its own */
    size_t *first; /* [p + 1] uneven widths, 0 among them */
    size_t mine;
    size_t from;   /* my first */
    int32_t *rows; /* [mine][n] */
    int32_t *out;  /* [n][mine] or [mine][n] */
    catena_datatype_t *send_types;
    catena_datatype_t *receive_types;
    size_t *send_counts;
    size_t *receive_counts;
    ptrdiff_t *zeros;
} matrix_t;

static int32_t entry(size_t row, size_t column)
{
    return (int32_t)(row * 10007 + column);
}

static void matrix_open(rank_test_t *test, matrix_t *m)
{
    size_t rank = (size_t)test->place.rank;
    m->p = (size_t)test->place.size;
    m->first = calloc(m->p + 1, sizeof(*m->first));
    for (size_t i = 0; i < m->p; i++) {
        m->first[i + 1] = m->first[i] + rank_hash(17, i, 0) % 6;
    }
    m->n = m->first[m->p];
    m->from = m->first[rank];
    m->mine = m->first[rank + 1] - m->from;
    size_t bytes = (m->n * m->mine + 1) * sizeof(int32_t);
    m->rows = malloc(bytes);
    m->out = catena_malloc(test->context, bytes);
    m->send_types = calloc(m->p, sizeof(*m->send_types));
    m->receive_types = calloc(m->p, sizeof(*m->receive_types));
    m->send_counts = calloc(m->p, sizeof(*m->send_counts));
    m->receive_counts = calloc(m->p, sizeof(*m->receive_counts));
    m->zeros = calloc(m->p, sizeof(*m->zeros));
    for (size_t i = 0; i < m->mine * m->n; i++) {
        m->rows[i] = entry(m->from + i / m->n, i % m->n);
    }
    for (size_t i = 0; i < m->p; i++) {
        size_t width = m->first[i + 1] - m->first[i];
        m->send_counts[i] = m->mine > 0 && width > 0;
        m->receive_counts[i] = m->send_counts[i];
        m->send_types[i] = CATENA_DOUBLE; /* where the count is 0 */
        m->receive_types[i] = CATENA_INT8;
    }
}

static void matrix_close(rank_test_t *test, matrix_t *m)
{
    free(m->first);
    free(m->rows);
    catena_free(test->context, m->out);
    free(m->send_types);
    free(m->receive_types);
    free(m->send_counts);
    free(m->receive_counts);
    free(m->zeros);
}

/** Cut columns out of the rows; Fortran's order names the indices the other way
 * round. */
static void cut_columns(rank_test_t *test, matrix_t *m, bool fortran)
{
    for (size_t i = 0; i < m->p; i++) {
        size_t c[3][2] = {{m->mine, m->n},
                          {m->mine, m->first[i + 1] - m->first[i]},
                          {0, m->first[i]}};
        size_t f[3][2] = {
            {c[0][1], c[0][0]}, {c[1][1], c[1][0]}, {c[2][1], c[2][0]}};
        if (m->send_counts[i] == 0) {
            continue;
        }
        catena_status_t status =
            fortran ? catena_type_subarray(2, f[0], f[1], f[2],
                                           CATENA_ORDER_FORTRAN, CATENA_INT32,
                                           &m->send_types[i])
                    : catena_type_subarray(2, c[0], c[1], c[2], CATENA_ORDER_C,
                                           CATENA_INT32, &m->send_types[i]);
        RANK_CHECK(test, status == CATENA_OK);
    }
}

/** Rows of my columns, one block after the other. */
static void take_rows(rank_test_t *test, matrix_t *m)
{
    for (size_t i = 0; i < m->p; i++) {
        size_t sizes[] = {m->n, m->mine};
        size_t box[] = {m->first[i + 1] - m->first[i], m->mine};
        size_t start[] = {m->first[i], 0};
        if (m->receive_counts[i] > 0) {
            RANK_CHECK(test,
                       catena_type_subarray(2, sizes, box, start,
                                            CATENA_ORDER_C, CATENA_INT32,
                                            &m->receive_types[i]) == CATENA_OK);
        }
    }
}

/** Columns of my part of the transpose, [mine][n]: a row that arrives becomes
 * a column. The first column's place is part of the type. */
static void take_columns(rank_test_t *test, matrix_t *m)
{
    ptrdiff_t row_bytes = (ptrdiff_t)(m->n * sizeof(int32_t));
    for (size_t i = 0; i < m->p; i++) {
        catena_datatype_t column = NULL;
        catena_datatype_t narrow = NULL;
        size_t width = m->first[i + 1] - m->first[i];
        ptrdiff_t place = (ptrdiff_t)m->first[i];
        if (m->receive_counts[i] == 0) {
            continue;
        }
        RANK_CHECK(test,
                   catena_type_hvector(m->mine, 1, row_bytes, CATENA_INT32,
                                       &column) == CATENA_OK);
        RANK_CHECK(test, catena_type_resized(column, 0, sizeof(int32_t),
                                             &narrow) == CATENA_OK);
        RANK_CHECK(test,
                   catena_type_indexed(1, &width, &place, narrow,
                                       &m->receive_types[i]) == CATENA_OK);
        RANK_CHECK(test, catena_type_free(&column) == CATENA_OK);
        RANK_CHECK(test, catena_type_free(&narrow) == CATENA_OK);
    }
}

static void free_matrix_types(rank_test_t *test, matrix_t *m)
{
    for (size_t i = 0; i < m->p; i++) {
        if (m->send_counts[i] > 0) {
            RANK_CHECK(test, catena_type_free(&m->send_types[i]) == CATENA_OK);
            RANK_CHECK(test,
                       catena_type_free(&m->receive_types[i]) == CATENA_OK);
        }
    }
}

static void check_matrix(rank_test_t *test, const matrix_t *m, bool transposed)
{
    for (size_t i = 0; i < m->mine * m->n; i++) {
        size_t row = transposed ? i % m->n : i / m->mine;
        size_t column = m->from + (transposed ? i / m->n : i % m->mine);
        if (m->out[i] != entry(row, column)) {
            rank_fail(test, "entry %zu: expected %d, found %d", i,
                      entry(row, column), m->out[i]);
            return;
        }
    }
    RANK_CHECK(test, m->out[m->mine * m->n] == -1);
}

static void matrices(rank_test_t *test)
{
    for (int s = 0; s < SETTINGS; s++) {
        use(test, test->world, settings[s]);
        for (int way = 0; way < 4; way++) {
            bool transposed = way % 2;
            matrix_t m;
            matrix_open(test, &m);
            memset(m.out, 0xff, (m.n * m.mine + 1) * sizeof(int32_t));
            cut_columns(test, &m, way / 2);
            if (transposed) {
                take_columns(test, &m);
            } else {
                take_rows(test, &m);
            }
            RANK_CHECK(test, catena_alltoallw(
                                 m.rows, m.send_counts, m.zeros, m.send_types,
                                 m.out, m.receive_counts, m.zeros,
                                 m.receive_types, test->world) == CATENA_OK);
            check_matrix(test, &m, transposed);
            free_matrix_types(test, &m);
            matrix_close(test, &m);
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

/* ---- cases: arguments ---- */

/** What a call is made of; each check spoils one thing. */
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
    arguments_t a = good;
    a.send = NULL;
    expect(test, a, CATENA_ERR_ARG, "no send buffer");
    a = good;
    a.send_counts = NULL;
    expect(test, a, CATENA_ERR_ARG, "no send counts");
    a = good;
    a.send_displacements = NULL;
    expect(test, a, CATENA_ERR_ARG, "no send displacements");
    a = good;
    a.send_type = NULL;
    expect(test, a, CATENA_ERR_ARG, "no send type");
    a = good;
    a.receive = NULL;
    expect(test, a, CATENA_ERR_ARG, "no receive buffer");
    a = good;
    a.receive = (void *)(uintptr_t)CATENA_IN_PLACE;
    expect(test, a, CATENA_ERR_ARG, "received in place");
    a = good;
    a.receive_counts = NULL;
    expect(test, a, CATENA_ERR_ARG, "no receive counts");
    a = good;
    a.receive_displacements = NULL;
    expect(test, a, CATENA_ERR_ARG, "no receive displacements");
    a = good;
    a.receive_type = NULL;
    expect(test, a, CATENA_ERR_ARG, "no receive type");
    a.send = CATENA_IN_PLACE;
    expect(test, a, CATENA_ERR_ARG, "in place, no receive type");
    a = good;
    a.group = NULL;
    expect(test, a, CATENA_ERR_ARG, "no group");
}

static void bad_arguments(rank_test_t *test)
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
                                    {"bad_arguments", bad_arguments},
                                    {NULL, NULL}};

int main(int argc, char **argv)
{
    return rank_main(argc, argv, cases);
}
