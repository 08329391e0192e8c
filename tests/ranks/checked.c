/* CATENA_CHECK=on: some ranks of a group call something other than the rest.
 * The call fails on all of them, whatever they call, changes no buffer, and the
 * next calls work. */

#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/rank_test.h"

enum {
    MISMATCHES = 2000, /* tried */
    BATCH = 4,         /* calls in flight at most */
    MOST = 600,        /* elements of a block at most */
    SCOPES = 3         /* all ranks, some of them, a neighborhood */
};

/** What is called. Those from NEIGHBOR on are calls of a neighborhood. */
typedef enum kind {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    ALLTOALL,
    ALLTOALLV,
    SPLIT,
    DUP,
    AGREE, /* where failures are returned */
    SHRINK,
    CREATE, /* a neighborhood */
    CREATE_GRAPH,
    CREATE_CART,
    KINDS,
    NEIGHBOR = KINDS,
    NEIGHBOR_ALLGATHER = NEIGHBOR,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_REDUCE,
    ALL_KINDS
} kind_t;

/** One call of a rank. */
typedef struct what {
    kind_t kind;
    int root;
    size_t count;
    catena_type_t type;
    catena_op_t op;
    bool refused; /* its arguments are invalid */
    int set;      /* before it: index in settings + 1; 0: nothing */
} what_t;

/** Settings that some ranks have, and others have not. */
static const char *const settings[][2] = {
    {"hierarchy", "node:shm,network:p2p"}, {"barrier_algorithm", "tree"},
    {"bcast_hierarchy", "network:p2p"},    {"reproducible", "on"},
    {"alltoall_algorithm", "bruck"},       {"alltoall_radix", "3"},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/** A call in flight. */
typedef struct flight {
    what_t right;
    what_t own; /* of this rank */
    bool differs;
    int set; /* of the ranks that call something else */
    int scope;
    bool blocks;
    unsigned char *send, *recv; /* [ranks * MOST * 8] */
    size_t *counts;             /* [ranks] */
    ptrdiff_t *places;          /* [ranks] */
    catena_group_t *made;
    catena_neighborhood_t *neighbors;
    catena_request_t *request;
} flight_t;

typedef struct checked {
    rank_test_t *test;
    uint64_t random; /* the same on all ranks of a group */
    catena_group_t *group[2];
    catena_neighborhood_t *ring;
    flight_t flight[BATCH];
    size_t bytes; /* of a buffer */
} checked_t;

static uint64_t below(checked_t *checked, uint64_t limit)
{
    return ctn_random_below(&checked->random, limit);
}

static bool has_root(kind_t kind)
{
    return kind == BCAST || kind == REDUCE ||
           (kind >= GATHER && kind <= SCATTERV);
}

static bool reduces(kind_t kind)
{
    return kind == REDUCE || kind == ALLREDUCE ||
           (kind >= REDUCE_SCATTER && kind <= EXSCAN) ||
           kind == NEIGHBOR_REDUCE;
}

/** Whether the check compares its lengths. */
static bool has_common_length(kind_t kind)
{
    return kind > BARRIER && kind < SPLIT && kind != GATHERV &&
           kind != SCATTERV && kind != ALLTOALLV;
}

static bool moves(kind_t kind)
{
    return kind != BARRIER && (kind < SPLIT || kind >= KINDS);
}

static bool always_blocks(kind_t kind)
{
    return kind >= DUP && kind < KINDS;
}

/** Whether it compares the settings. */
static bool has_settings(kind_t kind)
{
    return kind < SPLIT;
}

static bool returns_failures(void)
{
    const char *failures = getenv("CATENA_FAILURES");
    return failures != NULL && strcmp(failures, "return") == 0;
}

static int members_of(const checked_t *checked, int scope)
{
    return catena_group_size(checked->group[scope == 1]);
}

/* ---- drawing, the same on all ranks ---- */

static what_t draw(checked_t *checked, int scope)
{
    static const catena_op_t ops[] = {CATENA_SUM, CATENA_MAX, CATENA_BAND};
    kind_t kind;
    do {
        kind = scope == 2 ? NEIGHBOR + below(checked, ALL_KINDS - NEIGHBOR)
                          : below(checked, KINDS);
    } while ((kind == AGREE || kind == SHRINK) && !returns_failures());
    what_t what = {
        .kind = kind,
        .root = (int)below(checked, (uint64_t)members_of(checked, scope)),
        .count = 1 + below(checked, below(checked, 3) == 0 ? MOST - 1 : 8),
        .type = below(checked, 2) == 0 ? CATENA_INT32 : CATENA_UINT64,
        .op = ops[below(checked, 3)]};
    return what;
}

/** A call of a few ranks that differs from the right one in one thing.
 * @param alone nothing else is in flight that settings would apply to */
static what_t alter(checked_t *checked, const what_t *right, int scope,
                    bool alone)
{
    what_t what = *right;
    for (;;) {
        switch (below(checked, 7)) {
        case 0:
            what.kind = draw(checked, scope).kind;
            if (what.kind != right->kind) {
                return what;
            }
            break;
        case 1:
            if (has_root(right->kind)) {
                what.root = (right->root + 1) % members_of(checked, scope);
                return what;
            }
            break;
        case 2:
            if (has_common_length(right->kind)) {
                what.count = right->count == 1 ? 2 : right->count - 1;
                return what;
            }
            break;
        case 3:
            if (reduces(right->kind)) {
                what.op = right->op == CATENA_SUM ? CATENA_PROD : CATENA_SUM;
                return what;
            }
            break;
        case 4: /* of the same length */
            if (reduces(right->kind)) {
                what.type =
                    right->type == CATENA_INT32 ? CATENA_UINT32 : CATENA_INT64;
                return what;
            }
            break;
        case 5:
            if (has_settings(right->kind) && alone) {
                what.set = 1 + (int)below(checked, SETTINGS);
                return what;
            }
            break;
        default:
            if (moves(right->kind)) {
                what.refused = true;
                return what;
            }
        }
    }
}

/** Draw a call. If some ranks are to call something else, at least one rank
 * does, and at least one makes the right call. */
static void draw_call(checked_t *checked, flight_t *f, bool blocks)
{
    uint64_t members = (uint64_t)members_of(checked, f->scope);
    f->right = draw(checked, f->scope);
    f->blocks = blocks || always_blocks(f->right.kind);
    f->own = f->right;
    what_t other = alter(checked, &f->right, f->scope, blocks);
    f->set = f->differs ? other.set : 0;
    f->blocks |= always_blocks(other.kind);
    uint64_t odd = below(checked, members);
    uint64_t even = (odd + 1 + below(checked, members - 1)) % members;
    int me = catena_group_rank(checked->group[f->scope == 1]);
    for (uint64_t i = 0; i < members; i++) {
        bool differs = i == odd || (i != even && below(checked, 3) == 0);
        if (f->differs && differs && i == (uint64_t)me) {
            f->own = other;
        }
    }
}

/* ---- calling ---- */

/** Both forms of a call. */
#define CALL(name, ...)                                                        \
    (f->blocks ? catena_##name(__VA_ARGS__)                                    \
               : catena_i##name(__VA_ARGS__, &f->request))

static catena_status_t call_neighbors(checked_t *checked, flight_t *f)
{
    const what_t *w = &f->own;
    catena_neighborhood_t *ring = checked->ring;
    void *recv = w->refused ? NULL : f->recv;
    switch (w->kind) {
    case NEIGHBOR_ALLGATHER:
        return CALL(neighbor_allgather, f->send, w->count, w->type, recv,
                    w->count, w->type, ring);
    case NEIGHBOR_ALLTOALL:
        return CALL(neighbor_alltoall, f->send, w->count, w->type, recv,
                    w->count, w->type, ring);
    default:
        return CALL(neighbor_reduce, f->send, recv, w->count, w->type, w->op,
                    ring);
    }
}

static catena_status_t call_moving(flight_t *f, catena_group_t *g)
{
    const what_t *w = &f->own;
    size_t n = w->count;
    catena_type_t t = w->type;
    int root = w->refused && has_root(w->kind) ? -1 : w->root;
    void *recv = w->refused ? NULL : f->recv;
    switch (w->kind) {
    case GATHER:
        return CALL(gather, f->send, n, t, recv, n, t, root, g);
    case GATHERV:
        return CALL(gatherv, f->send, n, t, recv, f->counts, f->places, t, root,
                    g);
    case SCATTER:
        return CALL(scatter, f->send, n, t, recv, n, t, root, g);
    case SCATTERV:
        return CALL(scatterv, f->send, f->counts, f->places, t, recv, n, t,
                    root, g);
    case ALLGATHER:
        return CALL(allgather, f->send, n, t, recv, n, t, g);
    case ALLGATHERV:
        return CALL(allgatherv, f->send, n, t, recv, f->counts, f->places, t,
                    g);
    case ALLTOALL:
        return CALL(alltoall, f->send, n, t, recv, n, t, g);
    default:
        return CALL(alltoallv, f->send, f->counts, f->places, t, recv,
                    f->counts, f->places, t, g);
    }
}

static catena_status_t call(checked_t *checked, flight_t *f)
{
    const what_t *w = &f->own;
    catena_group_t *g = checked->group[f->scope == 1];
    const int ranks = catena_group_size(g);
    const int me = catena_group_rank(g);
    const catena_split_t split = {.size = sizeof(split),
                                  .algorithm = me % 2 == 0 ? "auto" : NULL};
    const int next = ranks - 1 - me;
    const int one = 1;
    int root = w->refused && has_root(w->kind) ? -1 : w->root;
    void *recv = w->refused ? NULL : f->recv;
    size_t n = w->count;
    uint64_t flags = UINT64_MAX;
    switch (w->kind) {
    case BARRIER:
        return CALL(barrier, g);
    case BCAST:
        return CALL(bcast, recv, n, w->type, root, g);
    case REDUCE:
        return CALL(reduce, f->send, recv, n, w->type, w->op, root, g);
    case ALLREDUCE:
        return CALL(allreduce, f->send, recv, n, w->type, w->op, g);
    case REDUCE_SCATTER:
        return CALL(reduce_scatter, f->send, recv, f->counts, w->type, w->op,
                    g);
    case REDUCE_SCATTER_BLOCK:
        return CALL(reduce_scatter_block, f->send, recv, n, w->type, w->op, g);
    case SCAN:
        return CALL(scan, f->send, recv, n, w->type, w->op, g);
    case EXSCAN:
        return CALL(exscan, f->send, recv, n, w->type, w->op, g);
    case SPLIT:
        return f->blocks
                   ? catena_group_split_by(g, &split, &f->made)
                   : catena_group_isplit_by(g, &split, &f->made, &f->request);
    case DUP:
        return catena_group_dup(g, &f->made);
    case AGREE:
        return catena_group_agree(g, &flags);
    case SHRINK:
        return catena_group_shrink(g, &f->made);
    case CREATE:
        return catena_neighborhood_create(g, 1, &next, NULL, 1, &next, NULL,
                                          NULL, &f->neighbors);
    case CREATE_GRAPH:
        return catena_dist_graph_create(g, 1, &me, &one, &next, NULL, NULL,
                                        &f->neighbors);
    case CREATE_CART:
        return catena_cart_create(g, 1, &ranks, &one, 0, NULL, &f->neighbors);
    default:
        return f->scope == 2 ? call_neighbors(checked, f) : call_moving(f, g);
    }
}

/** Set one of `settings` on this rank. */
static void set(checked_t *checked, const flight_t *f, int index,
                const char *value)
{
    RANK_CHECK(checked->test,
               catena_group_set(checked->group[f->scope == 1],
                                settings[index - 1][0], value) == CATENA_OK);
}

/** Fill the buffers, and start or make the call. */
static void start(checked_t *checked, flight_t *f)
{
    int p = members_of(checked, f->scope);
    memset(f->send, 1, checked->bytes);
    memset(f->recv, 2, checked->bytes);
    for (int i = 0; i < p; i++) {
        f->counts[i] = f->own.count;
        f->places[i] = (ptrdiff_t)(f->own.count * (size_t)i);
    }
    f->request = NULL;
    f->made = NULL;
    f->neighbors = NULL;
    if (f->own.set != 0) {
        set(checked, f, f->own.set, settings[f->own.set - 1][1]);
    }
    catena_status_t status = call(checked, f);
    bool fails = f->differs && (f->blocks || f->own.refused);
    RANK_CHECK(checked->test, status == (fails ? CATENA_ERR_ARG : CATENA_OK));
}

static void end(checked_t *checked, flight_t *f)
{
    rank_test_t *test = checked->test;
    if (f->request != NULL) {
        RANK_CHECK(test, catena_request_wait(&f->request) ==
                             (f->differs ? CATENA_ERR_ARG : CATENA_OK));
    }
    for (size_t i = 0; f->differs && i < checked->bytes; i++) {
        if (f->recv[i] != 2) {
            rank_fail(test, "a call that failed has written byte %zu", i);
            break;
        }
    }
    RANK_CHECK(test, f->differs ? f->made == NULL
                                : (f->made != NULL) == (f->own.kind == SPLIT ||
                                                        f->own.kind == DUP ||
                                                        f->own.kind == SHRINK));
    RANK_CHECK(test, (f->neighbors != NULL) ==
                         (!f->differs && f->own.kind >= CREATE &&
                          f->own.kind < KINDS));
    if (f->made != NULL) {
        RANK_CHECK(test, catena_group_free(&f->made) == CATENA_OK);
    }
    RANK_CHECK(test, catena_neighborhood_free(&f->neighbors) == CATENA_OK);
    if (f->set != 0) { /* on all ranks */
        set(checked, f, f->set, "auto");
    }
}

/** Calls of the groups still work. */
static void still_works(checked_t *checked)
{
    for (int g = 0; g < 2; g++) {
        int32_t one = 1, sum = 0;
        RANK_CHECK(checked->test,
                   catena_allreduce(&one, &sum, 1, CATENA_INT32, CATENA_SUM,
                                    checked->group[g]) == CATENA_OK);
        RANK_CHECK(checked->test, sum == catena_group_size(checked->group[g]));
    }
}

static void open(checked_t *checked)
{
    rank_test_t *test = checked->test;
    int p = test->place.ranks;
    int left = (test->place.rank + p - 1) % p;
    int right = (test->place.rank + 1) % p;
    RANK_CHECK(test,
               catena_group_dup(test->world, &checked->group[0]) == CATENA_OK);
    RANK_CHECK(test, catena_group_split(test->world, test->place.rank % (p / 2),
                                        -test->place.rank,
                                        &checked->group[1]) == CATENA_OK);
    RANK_CHECK(test, catena_neighborhood_create(test->world, 1, &left, NULL, 1,
                                                &right, NULL, NULL,
                                                &checked->ring) == CATENA_OK);
    checked->bytes = (size_t)p * MOST * sizeof(uint64_t);
    for (int i = 0; i < BATCH; i++) {
        flight_t *f = &checked->flight[i];
        f->send =
            rank_take(test, i % 2 ? RANK_HEAP : RANK_MALLOC, checked->bytes);
        f->recv =
            rank_take(test, i % 2 ? RANK_HEAP : RANK_MALLOC, checked->bytes);
        f->counts = calloc((size_t)p, sizeof(*f->counts));
        f->places = calloc((size_t)p, sizeof(*f->places));
    }
}

static void close(checked_t *checked)
{
    rank_test_t *test = checked->test;
    for (int i = 0; i < BATCH; i++) {
        flight_t *f = &checked->flight[i];
        rank_give(test, i % 2 ? RANK_HEAP : RANK_MALLOC, f->send);
        rank_give(test, i % 2 ? RANK_HEAP : RANK_MALLOC, f->recv);
        free(f->counts);
        free(f->places);
    }
    RANK_CHECK(test, catena_neighborhood_free(&checked->ring) == CATENA_OK);
    for (int g = 0; g < 2; g++) {
        RANK_CHECK(test, catena_group_free(&checked->group[g]) == CATENA_OK);
    }
}

static void random_calls(rank_test_t *test)
{
    checked_t checked = {.test = test};
    uint64_t random = rank_seed(1); /* the same on all ranks */
    open(&checked);
    for (unsigned tried = 0; tried < MISMATCHES;) {
        bool blocks = ctn_random_below(&random, 2) == 0;
        uint64_t calls = blocks ? 1 : 1 + ctn_random_below(&random, BATCH);
        for (uint64_t i = 0; i < calls; i++) {
            flight_t *f = &checked.flight[i];
            checked.random = ctn_random(&random);
            f->scope = (int)ctn_random_below(&random, SCOPES);
            /* Calls of neighborhoods are not compared. */
            f->differs = ctn_random_below(&random, 4) != 0 && f->scope < 2;
            tried += f->differs;
            draw_call(&checked, f, blocks);
            start(&checked, f);
        }
        for (uint64_t i = calls; i-- > 0;) {
            end(&checked, &checked.flight[i]);
        }
        still_works(&checked);
    }
    close(&checked);
}

/** One rank would leave the job. */
static void finalize(rank_test_t *test)
{
    int32_t one = 1, sum = 0;
    catena_status_t status = test->place.rank == 1
                                 ? catena_finalize(&test->context)
                                 : catena_barrier(test->world);
    RANK_CHECK(test, status == CATENA_ERR_ARG && test->context != NULL);
    RANK_CHECK(test, catena_allreduce(&one, &sum, 1, CATENA_INT32, CATENA_SUM,
                                      test->world) == CATENA_OK);
    RANK_CHECK(test, sum == test->place.ranks);
}

/** What is started is complete only after the check. */
static void held(rank_test_t *test)
{
    catena_group_t *group = NULL;
    catena_request_t *request = NULL;
    int done = 0;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    if (test->place.rank > 0) {
        RANK_CHECK(test, catena_ibarrier(group, &request) == CATENA_OK);
        RANK_CHECK(test, catena_request_test(&request, &done) == CATENA_OK);
        RANK_CHECK(test, !done);
        RANK_CHECK(test, catena_group_free(&group) == CATENA_ERR_STATE);
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    } else {
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        RANK_CHECK(test, catena_ibarrier(group, &request) == CATENA_OK);
    }
    RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** Each rank starts requests in its own order, also around other calls, as it
 * may. */
static void started(rank_test_t *test)
{
    catena_request_t *request[2] = {NULL, NULL};
    int32_t one = 1, sum = 0;
    size_t first = (size_t)test->place.rank % 2;
    RANK_CHECK(test,
               catena_barrier_init(test->world, &request[0]) == CATENA_OK);
    RANK_CHECK(test,
               catena_allreduce_init(&one, &sum, 1, CATENA_INT32, CATENA_SUM,
                                     test->world, &request[1]) == CATENA_OK);
    for (int i = 0; i < 20; i++) {
        sum = 0;
        RANK_CHECK(test, catena_request_start(request[first]) == CATENA_OK);
        if (first == 0) {
            RANK_CHECK(test, catena_request_start(request[1]) == CATENA_OK);
        }
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        if (first == 1) {
            RANK_CHECK(test, catena_request_start(request[0]) == CATENA_OK);
        }
        RANK_CHECK(test, catena_request_waitall(2, request) == CATENA_OK);
        RANK_CHECK(test, sum == test->place.ranks);
    }
    RANK_CHECK(test, catena_request_free(&request[0]) == CATENA_OK);
    RANK_CHECK(test, catena_request_free(&request[1]) == CATENA_OK);
}

/** Settings are the same when a collective is called: the order of the calls
 * that set them, and calls that change nothing, do not matter. */
static void set_alike(rank_test_t *test)
{
    catena_group_t *group = NULL;
    int odd = test->place.rank % 2;
    const char *const name[] = {"alltoall_radix", "hierarchy"};
    const char *const value[] = {"3", "network:p2p"};
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    for (int i = 0; i < 2; i++) {
        RANK_CHECK(test, catena_group_set(group, name[i ^ odd],
                                          value[i ^ odd]) == CATENA_OK);
    }
    if (odd) {
        RANK_CHECK(test, catena_group_set(group, "alltoall_window", "auto") ==
                             CATENA_OK);
    }
    RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
    RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** The group fails while members compare their calls of catena_group_agree:
 * they agree as without the comparison, and can shrink the group. */
static void fails_meanwhile(rank_test_t *test)
{
    if (!returns_failures()) {
        return;
    }
    for (int turn = 0; turn < 20; turn++) {
        catena_group_t *group = NULL;
        catena_group_t *made = NULL;
        uint64_t flags = ~(UINT64_C(1) << test->place.rank % 64);
        uint64_t all = UINT64_MAX << test->place.ranks;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        if (test->place.rank == turn % test->place.ranks) {
            RANK_CHECK(test, catena_group_revoke(group) == CATENA_OK);
        }
        if (turn % 2 == 0) {
            RANK_CHECK(test, catena_group_agree(group, &flags) == CATENA_OK);
            RANK_CHECK(test, flags == all);
        }
        RANK_CHECK(test, catena_group_shrink(group, &made) == CATENA_OK);
        RANK_CHECK(test, catena_barrier(made) == CATENA_OK);
        RANK_CHECK(test, catena_group_free(&made) == CATENA_OK);
        RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
    }
}

static const rank_case_t cases[] = {
    {"random calls", random_calls},
    {"finalize", finalize},
    {"calls that are held", held},
    {"requests started in any order", started},
    {"settings that are the same", set_alike},
    {"a group that fails meanwhile", fails_meanwhile},
    {NULL, NULL}};
const rank_suite_t rank_suite_checked = {.name = "checked",
                                         .cases = cases,
                                         .ranks = 4,
                                         .checked = true,
                                         .named = true};

/* ---- calls that have returned before the mismatch is found ---- */

/** Rank 1 makes such a call, the others a barrier: all operations end. A rank
 * of another node may find first that the others are gone. */
static void end_all(rank_test_t *test,
                    catena_status_t (*make)(catena_group_t **group,
                                            catena_request_t **request))
{
    catena_group_t *group = NULL;
    catena_request_t *request = NULL;
    catena_status_t status;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    if (test->place.rank != 1) {
        status = catena_barrier(group);
        RANK_CHECK(test, status == CATENA_ERR_ARG ||
                             status == CATENA_ERR_ENDED ||
                             status == CATENA_ERR_PEER);
    } else { /* a mismatch that is found at once is an error of the call */
        status = make(&group, &request);
        RANK_CHECK(test, status == CATENA_OK || status == CATENA_ERR_ENDED);
    }
    if (request != NULL) {
        RANK_CHECK(test, catena_request_start(request) == CATENA_OK);
        RANK_CHECK(test, catena_request_wait(&request) == CATENA_ERR_ENDED);
    }
    status = catena_barrier(test->world);
    RANK_CHECK(test, status == CATENA_ERR_ENDED || status == CATENA_ERR_PEER);
    test->ended = true;
}

static catena_status_t free_it(catena_group_t **group,
                               catena_request_t **request)
{
    (void)request;
    return catena_group_free(group);
}

static catena_status_t init_barrier(catena_group_t **group,
                                    catena_request_t **request)
{
    return catena_barrier_init(*group, request);
}

static catena_status_t init_bcast(catena_group_t **group,
                                  catena_request_t **request)
{
    static int64_t data;
    return catena_bcast_init(&data, 1, CATENA_INT64, 0, *group, request);
}

static catena_status_t init_alltoall(catena_group_t **group,
                                     catena_request_t **request)
{
    static char send[64], receive[64];
    return catena_alltoall_init(send, 1, CATENA_BYTE, receive, 1, CATENA_BYTE,
                                *group, request);
}

#define END(call)                                                              \
    static void end_by_##call(rank_test_t *test)                               \
    {                                                                          \
        end_all(test, call);                                                   \
    }
END(free_it)
END(init_barrier)
END(init_bcast)
END(init_alltoall)

static const rank_case_t ending[] = {{"group_free", end_by_free_it},
                                     {"barrier_init", end_by_init_barrier},
                                     {"bcast_init", end_by_init_bcast},
                                     {"alltoall_init", end_by_init_alltoall},
                                     {NULL, NULL}};
const rank_suite_t rank_suite_checkedend = {.name = "checkedend",
                                            .cases = ending,
                                            .ranks = 2,
                                            .checked = true,
                                            .named = true};
