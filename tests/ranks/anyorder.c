#include "anyorder.h"

#include <stdlib.h>

#include "oracle/random.h"

/* ---- an order of this rank's own ---- */

static void shuffle(size_t count, size_t order[], uint64_t *own)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = oracle_below(own, i + 1);
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
    catena_group_t *group; /* the neighborhood's own, if it is one */
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
            RANK_CHECK(test, catena_neighbor_gather(&own, 1, CATENA_INT64, come,
                                                    1, CATENA_INT64,
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
        RANK_CHECK(test, catena_group_free(part) == CATENA_OK);
    }
}

static catena_status_t give_back(freed_t *f)
{
    return f->ring != NULL ? catena_neighborhood_free(f->ring)
                           : catena_group_free(f->group);
}

/** One member has begun a barrier, and is refused alone: it needs nobody for
 * that, and the others do not hear of it. */
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
            RANK_CHECK(test, give_back(f) == CATENA_ERR_STATE);
            RANK_CHECK(test, give_back(f) == CATENA_ERR_STATE);
        }
        add_up(test, test->world);
    }
    RANK_CHECK(test, catena_wait(&request) == CATENA_OK);
}

void freed_in_any_order(rank_test_t *test, uint64_t seed)
{
    freed_t freed[FREED];
    freed_t fresh;
    size_t order[FREED];
    uint64_t shared = seed;
    uint64_t own = own_random(test, seed);
    for (size_t i = 0; i < FREED; i++) {
        make(test, &freed[i], oracle_random(&shared));
    }
    for (size_t i = 0; i < 2 * FREED; i++) {
        use(test, &freed[i % FREED], oracle_random(&shared));
    }
    too_early(test, &freed[oracle_below(&shared, FREED)]);
    shuffle(FREED, order, &own);
    for (size_t i = 0; i < FREED; i++) {
        RANK_CHECK(test, give_back(&freed[order[i]]) == CATENA_OK);
        switch (oracle_random(&shared) % 4) {
        case 0:
            add_up(test, test->world);
            break;
        case 1:
            make(test, &fresh, oracle_random(&shared));
            use(test, &fresh, oracle_random(&shared));
            RANK_CHECK(test, give_back(&fresh) == CATENA_OK);
            break;
        default:
            break;
        }
    }
}

/* ---- starting ---- */

typedef enum what {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    SCATTER,
    ALLGATHER,
    REDUCE_SCATTER,
    SCAN,
    EXSCAN,
    ALLTOALL,
    ALLTOALLV,
    NEIGHBOR_GATHER,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_REDUCE,
    WHATS
} what_t;

/** A persistent operation on int64_t; values follow from `salt`, the rank, the
 * turn and the index, so that sums are known. */
typedef struct started {
    what_t what;
    const freed_t *on;
    uint64_t salt;
    int64_t rank, size, root;
    size_t count; /* of a block */
    int64_t *send, *recv;
    size_t *counts;
    ptrdiff_t *places;
    int turn; /* that is under way, or is the next */
    bool active;
    catena_request_t *request;
} started_t;

/** Element i of what `from` has for `to` (or all: 0). */
static int64_t value(const started_t *s, int64_t from, int64_t to, size_t i)
{
    return (int64_t)(s->salt % 1000) * 1000003 + s->turn * 10007 + from * 101 +
           to * 13 + (int64_t)i;
}

static bool is_rooted(const started_t *s)
{
    return s->what == BCAST || s->what == REDUCE || s->what == GATHER ||
           s->what == SCATTER;
}

static bool at_root(const started_t *s)
{
    return !is_rooted(s) || s->rank == s->root;
}

/** Whether what is sent has a block for each rank. */
static bool sends_to_each(const started_t *s)
{
    return s->what == SCATTER || s->what == REDUCE_SCATTER ||
           s->what >= ALLTOALL;
}

/** The sum of what ranks up to `last` have for `to`. */
static int64_t sum(const started_t *s, int64_t last, int64_t to, size_t i)
{
    int64_t all = 0;
    for (int64_t r = 0; r <= last; r++) {
        all += value(s, r, to, i);
    }
    return all;
}

/** Element i of block b of what has to be received; `mine`: of what is there
 * before. */
static int64_t expected(const started_t *s, int64_t b, size_t i)
{
    int64_t last = s->size - 1;
    int64_t side = b == 0 ? s->rank + last : s->rank + 1; /* of the ring */
    switch (s->what) {
    case BCAST:
        return value(s, s->root, 0, i);
    case REDUCE:
    case ALLREDUCE:
        return sum(s, last, 0, i);
    case SCATTER:
        return value(s, s->root, s->rank, i);
    case REDUCE_SCATTER:
        return sum(s, last, s->rank, i);
    case SCAN:
        return sum(s, s->rank, 0, i);
    case EXSCAN:
        return sum(s, s->rank - 1, 0, i);
    case ALLTOALL:
    case ALLTOALLV:
        return value(s, b, s->rank, i);
    case NEIGHBOR_GATHER:
        return value(s, side % s->size, 0, i);
    case NEIGHBOR_ALLTOALL: /* what it has for the other side */
        return value(s, side % s->size, 1 - b, i);
    case NEIGHBOR_REDUCE:
        return value(s, (s->rank + last) % s->size, 0, i) +
               value(s, (s->rank + 1) % s->size, 0, i);
    default: /* gathered */
        return value(s, b, 0, i);
    }
}

static int64_t received_blocks(const started_t *s)
{
    switch (s->what) {
    case BARRIER:
        return 0;
    case REDUCE:
    case GATHER:
        return !at_root(s) ? 0 : s->what == GATHER ? s->size : 1;
    case EXSCAN:
        return s->rank > 0;
    case ALLGATHER:
    case ALLTOALL:
    case ALLTOALLV:
        return s->size;
    case NEIGHBOR_GATHER:
    case NEIGHBOR_ALLTOALL:
        return 2;
    default:
        return 1;
    }
}

static catena_status_t init(started_t *s)
{
    const catena_datatype_t t = CATENA_INT64;
    catena_group_t *g = s->on->group;
    catena_neighborhood_t *ring = s->on->ring;
    catena_request_t **r = &s->request;
    int64_t *in = s->send, *out = s->recv;
    size_t n = s->count;
    int root = (int)s->root;
    switch (s->what) {
    case BARRIER:
        return catena_barrier_init(g, r);
    case BCAST:
        return catena_bcast_init(out, n, t, root, g, r);
    case REDUCE:
        return catena_reduce_init(in, out, n, t, CATENA_SUM, root, g, r);
    case ALLREDUCE:
        return catena_allreduce_init(in, out, n, t, CATENA_SUM, g, r);
    case GATHER:
        return catena_gather_init(in, n, t, out, n, t, root, g, r);
    case SCATTER:
        return catena_scatter_init(in, n, t, out, n, t, root, g, r);
    case ALLGATHER:
        return catena_allgather_init(in, n, t, out, n, t, g, r);
    case REDUCE_SCATTER:
        return catena_reduce_scatter_block_init(in, out, n, t, CATENA_SUM, g,
                                                r);
    case SCAN:
        return catena_scan_init(in, out, n, t, CATENA_SUM, g, r);
    case EXSCAN:
        return catena_exscan_init(in, out, n, t, CATENA_SUM, g, r);
    case ALLTOALL:
        return catena_alltoall_init(in, out, n, t, g, r);
    case ALLTOALLV:
        return catena_alltoallv_init(in, s->counts, s->places, t, out,
                                     s->counts, s->places, t, g, r);
    case NEIGHBOR_GATHER:
        return catena_neighbor_gather_init(in, n, t, out, n, t, ring, r);
    case NEIGHBOR_ALLTOALL:
        return catena_neighbor_alltoall_init(in, n, t, out, n, t, ring, r);
    default:
        return catena_neighbor_reduce_init(in, out, n, t, CATENA_SUM, ring, r);
    }
}

static void open_started(rank_test_t *test, started_t *s, const freed_t *on,
                         uint64_t *shared)
{
    static const size_t counts[] = {1, 1, 3, 17, 130, 600, 5000};
    *s = (started_t){.on = on, .salt = oracle_random(shared)};
    s->what = (what_t)oracle_below(shared,
                                   on->ring != NULL ? WHATS : NEIGHBOR_GATHER);
    s->rank = catena_group_rank(on->group);
    s->size = catena_group_size(on->group);
    s->root = (int64_t)(s->salt >> 20) % s->size;
    s->count = counts[oracle_below(shared, 7)];
    if (s->size > 20 && s->count > 17) {
        s->count = 17;
    }
    size_t blocks = (size_t)s->size + 2;
    rank_memory_t memory = s->salt >> 40 & 1 ? RANK_HEAP : RANK_MALLOC;
    s->send = (void *)rank_take(test, memory, blocks * s->count * 8);
    s->recv = (void *)rank_take(test, memory, blocks * s->count * 8);
    s->counts = calloc(blocks, sizeof(*s->counts));
    s->places = calloc(blocks, sizeof(*s->places));
    for (size_t b = 0; b < blocks; b++) {
        s->counts[b] = s->count;
        s->places[b] = (ptrdiff_t)(b * s->count);
    }
    RANK_CHECK(test, init(s) == CATENA_OK);
}

static void start(rank_test_t *test, started_t *s)
{
    bool bcast = s->what == BCAST;
    size_t blocks = sends_to_each(s) ? (size_t)s->size + 2 : 1;
    for (size_t k = 0; k < blocks * s->count; k++) {
        int64_t to = sends_to_each(s) ? (int64_t)(k / s->count) : 0;
        (bcast ? s->recv : s->send)[k] =
            bcast && !at_root(s) ? -1 : value(s, s->rank, to, k % s->count);
    }
    for (size_t k = 0; !bcast && k < ((size_t)s->size + 2) * s->count; k++) {
        s->recv[k] = -1;
    }
    s->active = true;
    RANK_CHECK(test, catena_start(s->request) == CATENA_OK);
}

static void complete(rank_test_t *test, started_t *s)
{
    RANK_CHECK(test, catena_wait(&s->request) == CATENA_OK);
    for (int64_t b = 0; b < received_blocks(s); b++) {
        for (size_t i = 0; i < s->count; i++) {
            int64_t found = s->recv[(size_t)b * s->count + i];
            if (found != expected(s, b, i)) {
                rank_fail(test,
                          "operation %d, turn %d, block %d, element %zu "
                          "of %zu: %lld instead of %lld",
                          s->what, s->turn, (int)b, i, s->count,
                          (long long)found, (long long)expected(s, b, i));
                b = s->size + 2;
                break;
            }
        }
    }
    s->active = false;
    s->turn++;
}

static void close_started(rank_test_t *test, started_t *s)
{
    rank_memory_t memory = s->salt >> 40 & 1 ? RANK_HEAP : RANK_MALLOC;
    RANK_CHECK(test, catena_request_free(&s->request) == CATENA_OK);
    rank_give(test, memory, (void *)s->send);
    rank_give(test, memory, (void *)s->recv);
    free(s->counts);
    free(s->places);
}

/** Turn by turn, all are started in an order of this rank's, and waited for in
 * another one. One rank, in each turn another, waits for some before it starts
 * the next. */
static void run_all(rank_test_t *test, started_t *s, size_t count, int turns,
                    uint64_t *own)
{
    size_t *order = calloc(count, sizeof(*order));
    for (int turn = 0; turn < turns; turn++) {
        bool hasty = turn % test->place.size == test->place.rank;
        shuffle(count, order, own);
        for (size_t i = 0; i < count; i++) {
            start(test, &s[order[i]]);
            size_t other = order[oracle_below(own, i + 1)];
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
    freed_t on[ON] = {{test->world, NULL}};
    uint64_t shared = seed;
    uint64_t own = own_random(test, seed);
    started_t *s = calloc((size_t)requests, sizeof(*s));
    make(test, &on[1], 2 * 3);
    make(test, &on[2], 2 + oracle_below(&shared, 4));
    for (int i = 0; i < requests; i++) {
        open_started(test, &s[i], &on[oracle_below(&shared, ON)], &shared);
        if (oracle_below(&shared, 4) == 0) {
            add_up(test, on[oracle_below(&shared, ON)].group);
        }
    }
    run_all(test, s, (size_t)requests, turns, &own);
    RANK_CHECK(test, give_back(&on[1]) == CATENA_OK);
    RANK_CHECK(test, give_back(&on[2]) == CATENA_OK);
    free(s);
}
