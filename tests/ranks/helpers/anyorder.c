#include "ranks/helpers/anyorder.h"

#include <stdlib.h>

#include "oracle/neighborhood/neighborhood.h"

/* ---- an order of this rank's own ---- */

static void shuffle(size_t count, size_t order[], uint64_t *own)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = ctn_random_below(own, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

static uint64_t own_random(const rank_test_t *test, uint64_t seed)
{
    return oracle_hash(seed, (uint64_t)test->place.rank, 1);
}

/* ---- freeing ---- */

enum { FREED = 7 };

typedef struct freed {
    catena_group_t *group; /* of the neighborhood, if it is one */
    catena_neighborhood_t *ring;
} freed_t;

/** Whether the sum over a group is right. */
static void add_up(rank_test_t *test, catena_group_t *group)
{
    int64_t own = catena_group_rank(group);
    int64_t size = catena_group_size(group);
    int64_t sum = -1;
    RANK_CHECK(test, catena_allreduce(&own, &sum, 1, CATENA_INT64, CATENA_SUM,
                                      group) == CATENA_OK);
    RANK_CHECK(test, sum == size * (size - 1) / 2);
}

static void use(rank_test_t *test, freed_t *f, uint64_t what)
{
    int64_t own = catena_group_rank(f->group);
    int64_t size = catena_group_size(f->group);
    int64_t come[2] = {-1, -1};
    switch (what % 4) {
    case 0:
        add_up(test, f->group);
        break;
    case 1:
        come[0] = own == size - 1 ? own : -1;
        RANK_CHECK(test, catena_bcast(come, 1, CATENA_INT64, (int)size - 1,
                                      f->group) == CATENA_OK);
        RANK_CHECK(test, come[0] == size - 1);
        break;
    case 2:
        RANK_CHECK(test, catena_barrier(f->group) == CATENA_OK);
        break;
    default:
        if (f->ring != NULL) {
            RANK_CHECK(test, catena_neighbor_allgather(&own, 1, CATENA_INT64,
                                                       come, 1, CATENA_INT64,
                                                       f->ring) == CATENA_OK);
            RANK_CHECK(test, come[0] == (own + size - 1) % size &&
                                 come[1] == (own + 1) % size);
        }
    }
}

static void make(rank_test_t *test, freed_t *f, uint64_t what)
{
    static const int periods[] = {1};
    int rank = test->place.rank;
    catena_group_t *part = NULL;
    *f = (freed_t){NULL, NULL};
    RANK_CHECK(test,
               catena_group_split(test->world,
                                  what % 3 == 0 ? 0 : rank % (int)(what % 3),
                                  rank, &part) == CATENA_OK);
    f->group = part;
    if (what % 2 == 0 && part != NULL) {
        const int dims[] = {catena_group_size(part)};
        RANK_CHECK(test, catena_cart_create(part, 1, dims, periods, 0, NULL,
                                            &f->ring) == CATENA_OK);
        f->group = catena_neighborhood_group(f->ring);
        RANK_CHECK(test, catena_group_free(&part) == CATENA_OK);
    }
}

static catena_status_t give_back(freed_t *f)
{
    return f->ring != NULL ? catena_neighborhood_free(&f->ring)
                           : catena_group_free(&f->group);
}

/** One member has started a barrier. Its early free is refused locally, and the
 * others do not notice. */
static void too_early(rank_test_t *test, freed_t *f)
{
    catena_request_t *request = NULL;
    int size = catena_group_size(f->group);
    bool early = catena_group_rank(f->group) == size - 1;
    for (int turn = 0; turn < 2; turn++) {
        if (early == (turn == 0)) {
            RANK_CHECK(test, catena_ibarrier(f->group, &request) == CATENA_OK);
        }
        if (turn == 0 && early && size > 1) {
            freed_t kept = *f;
            RANK_CHECK(test, give_back(f) == CATENA_ERR_STATE);
            RANK_CHECK(test, give_back(f) == CATENA_ERR_STATE);
            RANK_CHECK(test, f->ring == kept.ring && f->group == kept.group);
        }
        add_up(test, test->world);
    }
    RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
}

void freed_in_any_order(rank_test_t *test, uint64_t seed)
{
    freed_t freed[FREED];
    freed_t fresh;
    size_t order[FREED];
    uint64_t shared = seed;
    uint64_t own = own_random(test, seed);
    for (size_t i = 0; i < FREED; i++) {
        make(test, &freed[i], ctn_random(&shared));
    }
    for (size_t i = 0; i < 2 * FREED; i++) {
        use(test, &freed[i % FREED], ctn_random(&shared));
    }
    too_early(test, &freed[ctn_random_below(&shared, FREED)]);
    shuffle(FREED, order, &own);
    for (size_t i = 0; i < FREED; i++) {
        RANK_CHECK(test, give_back(&freed[order[i]]) == CATENA_OK);
        switch (ctn_random(&shared) % 4) {
        case 0:
            add_up(test, test->world);
            break;
        case 1:
            make(test, &fresh, ctn_random(&shared));
            use(test, &fresh, ctn_random(&shared));
            RANK_CHECK(test, give_back(&fresh) == CATENA_OK);
            break;
        default:
            break;
        }
    }
}

/* ---- starting ---- */

/** A persistent operation of a group, or of the neighbors on its ring. */
typedef struct started {
    bool near;
    oracle_call_t call;
    oracle_nbr_call_t nbr;
    uint64_t seed;
    bool active;
    catena_request_t *request;
} started_t;

/** The object that operations run on. If there is a neighborhood, `ring` is its
 * graph, settled for this rank. */
typedef struct place {
    freed_t on;
    oracle_graph_t ring;
} place_t;

static void open_place(rank_test_t *test, place_t *place, uint64_t what)
{
    make(test, &place->on, what);
    if (place->on.ring != NULL) {
        oracle_graph_torus(&place->ring, 1, catena_group_size(place->on.group),
                           false);
        oracle_graph_settle(&place->ring, catena_group_rank(place->on.group));
    }
}

static void close_place(rank_test_t *test, place_t *place)
{
    if (place->on.ring != NULL) {
        oracle_graph_free(&place->ring);
    }
    RANK_CHECK(test, give_back(&place->on) == CATENA_OK);
}

static void open_started(rank_test_t *test, started_t *s, const place_t *place,
                         uint64_t seed)
{
    const oracle_t *oracle = &test->oracle;
    uint64_t random = seed;
    uint64_t own = own_random(test, seed);
    bool few = catena_group_size(place->on.group) <= 20;
    *s = (started_t){.seed = seed};
    s->near = place->on.ring != NULL && ctn_random_below(&random, 5) == 0;
    if (s->near) {
        s->nbr = (oracle_nbr_call_t){.graph = &place->ring,
                                     .neighborhood = place->on.ring,
                                     .table = rank_table(test)};
        oracle_nbr_draw(&s->nbr, &random, &own, few ? 5000 : 17);
        s->nbr.form = ORACLE_FORM_PERSISTENT;
        oracle_nbr_open(oracle, &s->nbr);
        RANK_CHECK(test, oracle_nbr_run(&s->nbr) == CATENA_OK);
        s->request = s->nbr.request;
        return;
    }
    s->call = (oracle_call_t){
        .group = place->on.group, .table = rank_table(test), .shape = seed};
    unsigned kind = (unsigned)ctn_random_below(&random, ORACLE_KINDS);
    oracle_draw(&s->call.c, kind, true, &random);
    s->call.c.value[ORACLE_SIZE] %= few ? 9 : 5;
    s->call.c.value[ORACLE_MODE] = ORACLE_PERSISTENT;
    oracle_call_open(oracle, &s->call);
    RANK_CHECK(test, oracle_call_run(oracle, &s->call) == CATENA_OK);
    s->request = s->call.request;
}

static void start(rank_test_t *test, started_t *s)
{
    s->seed++;
    if (s->near) {
        oracle_nbr_fill(&s->nbr, s->seed);
    } else {
        oracle_call_fill(&s->call, s->seed);
    }
    s->active = true;
    RANK_CHECK(test, catena_request_start(s->request) == CATENA_OK);
}

static void complete(rank_test_t *test, started_t *s)
{
    RANK_CHECK(test, catena_request_wait(&s->request) == CATENA_OK);
    if (s->near) {
        oracle_nbr_check(&test->oracle, &s->nbr, "started in any order");
    } else {
        oracle_call_check(&test->oracle, &s->call, "started in any order: ");
    }
    s->active = false;
}

static void close_started(rank_test_t *test, started_t *s)
{
    RANK_CHECK(test, catena_request_free(&s->request) == CATENA_OK);
    if (s->near) {
        oracle_nbr_close(&test->oracle, &s->nbr);
    } else {
        oracle_call_close(&test->oracle, &s->call);
    }
}

/** In each turn every rank starts all in an order of its own, and waits for
 * them in another one. One rank, a different one in each turn, waits for some
 * before it starts the next. */
static void run_all(rank_test_t *test, started_t *s, size_t count, int turns,
                    uint64_t *own)
{
    size_t *order = calloc(count, sizeof(*order));
    for (int turn = 0; turn < turns; turn++) {
        bool hasty = turn % test->place.ranks == test->place.rank;
        shuffle(count, order, own);
        for (size_t i = 0; i < count; i++) {
            start(test, &s[order[i]]);
            size_t other = order[ctn_random_below(own, i + 1)];
            if (hasty && s[other].active) {
                complete(test, &s[other]);
            }
        }
        shuffle(count, order, own);
        for (size_t i = 0; i < count; i++) {
            if (s[order[i]].active) {
                complete(test, &s[order[i]]);
            }
        }
    }
    shuffle(count, order, own);
    for (size_t i = 0; i < count; i++) {
        close_started(test, &s[order[i]]);
    }
    free(order);
}

void started_in_any_order(rank_test_t *test, uint64_t seed, int requests,
                          int turns)
{
    enum { ON = 3 };
    place_t place[ON] = {{.on = {test->world, NULL}}};
    uint64_t shared = seed;
    uint64_t own = own_random(test, seed);
    started_t *s = calloc((size_t)requests, sizeof(*s));
    open_place(test, &place[1], 2 * 3);
    open_place(test, &place[2], 2 + ctn_random_below(&shared, 4));
    for (int i = 0; i < requests; i++) {
        const place_t *at = &place[ctn_random_below(&shared, ON)];
        open_started(test, &s[i], at, ctn_random(&shared));
        if (ctn_random_below(&shared, 4) == 0) {
            add_up(test, place[ctn_random_below(&shared, ON)].on.group);
        }
    }
    run_all(test, s, (size_t)requests, turns, &own);
    close_place(test, &place[1]);
    close_place(test, &place[2]);
    free(s);
}

/* ---- polling ---- */

enum {
    SUMS = 6,
    CHUNK = 32768 / sizeof(int64_t), /* elements of a chunk */
    UNDER_WAY = 6                    /* chunks of one operation */
};

typedef struct sum {
    int64_t *in, *out;
    size_t count;
    catena_request_t *request;
} sum_t;

static void start_sum(rank_test_t *test, sum_t *sum, size_t count,
                      catena_group_t *group)
{
    *sum = (sum_t){.in = malloc(count * sizeof(int64_t)),
                   .out = malloc(count * sizeof(int64_t)),
                   .count = count};
    for (size_t i = 0; i < count; i++) {
        sum->in[i] = catena_group_rank(group) + (int64_t)(i + count);
    }
    RANK_CHECK(test, catena_iallreduce(sum->in, sum->out, count, CATENA_INT64,
                                       CATENA_SUM, group,
                                       &sum->request) == CATENA_OK);
}

static void end_sum(rank_test_t *test, sum_t *sum, const catena_group_t *group)
{
    int64_t size = catena_group_size(group);
    size_t wrong = 0;
    RANK_CHECK(test, catena_request_wait(&sum->request) == CATENA_OK);
    for (size_t i = 0; i < sum->count; i++) {
        wrong += sum->out[i] !=
                 size * ((int64_t)(i + sum->count) * 2 + size - 1) / 2;
    }
    RANK_CHECK(test, wrong == 0);
    free(sum->in);
    free(sum->out);
}

/** Poll until a request is complete, at most so many times. */
static void poll_some(rank_test_t *test, catena_request_t **request,
                      uint64_t times)
{
    int done = 0;
    while (times-- > 0 && !done) {
        RANK_CHECK(test, catena_request_test(request, &done) == CATENA_OK);
    }
}

void sums_of_any_length(rank_test_t *test, uint64_t seed)
{
    catena_group_t *node = NULL;
    catena_group_t *part = NULL;
    sum_t sum[SUMS];
    uint64_t shared = seed;
    uint64_t own = own_random(test, seed);
    RANK_CHECK(test, catena_group_split_level(test->world, CATENA_LEVEL_NODE, 0,
                                              &node) == CATENA_OK);
    int rank = catena_group_rank(node);
    RANK_CHECK(test,
               catena_group_split(node, rank / 4, rank, &part) == CATENA_OK);
    for (int i = 0; i < SUMS; i++) {
        bool many = ctn_random(&shared) % 2 == 0;
        size_t count = (size_t)ctn_random_below(&shared, CHUNK / 8) + 1;
        start_sum(test, &sum[i],
                  many ? count + CHUNK * (UNDER_WAY + count % 4) : count, part);
        if ((catena_group_rank(part) + i) % 2 != 0) {
            poll_some(test, &sum[i].request,
                      UINT64_C(1) << ctn_random_below(&own, 10));
        }
    }
    for (int i = 0; i < SUMS; i++) {
        end_sum(test, &sum[i], part);
    }
    RANK_CHECK(test, catena_group_free(&part) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&node) == CATENA_OK);
}
