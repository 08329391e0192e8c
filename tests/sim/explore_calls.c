#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "explore.h"
#include "oracle/case.h"

static result_t result(catena_status_t status, bool good)
{
    return status == CATENA_ERR_PROC_FAILED || status == CATENA_ERR_REVOKED
               ? FAILED
           : status == CATENA_OK && good ? RIGHT
                                         : WRONG;
}

static int32_t value_of(int turn, int from, int to, int i)
{
    return turn * 1000003 + from * 1009 + to * 31 + i;
}

/** Fill a block that goes from one rank to another. */
static void fill(const explored_t *of, int32_t *block, int turn, int from,
                 int to)
{
    for (int i = 0; i < of->count; i++) {
        block[i] = value_of(turn, from, to, i);
    }
}

static bool holds(const explored_t *of, const int32_t *block, int turn,
                  int from, int to)
{
    int i = 0;
    while (i < of->count && block[i] == value_of(turn, from, to, i)) {
        i++;
    }
    return i == of->count;
}

/** Whether a block is the sum of those that go from the first ranks to one. */
static bool holds_sum(const explored_t *of, const int32_t *block, int turn,
                      int ranks, int to)
{
    int32_t first = 0;
    for (int from = 0; from < ranks; from++) {
        first += value_of(turn, from, to, 0);
    }
    int i = 0;
    while (i < of->count && block[i] == first + i * ranks) {
        i++;
    }
    return i == of->count;
}

/** The call of a rank: its group and blocks. */
typedef struct place {
    int n, me, root;
    size_t count;
    int32_t *send, *recv;         /* blocks of all ranks */
    int32_t *receive[MOST_RANKS]; /* each of them */
} place_t;

static place_t place_of(const explored_t *of, catena_group_t *group,
                        int32_t memory[], int turn)
{
    place_t at = {.n = catena_group_size(group),
                  .me = catena_group_rank(group),
                  .count = (size_t)of->count,
                  .send = memory,
                  .recv = memory + MOST_RANKS * of->count};
    at.root = turn % at.n;
    for (int i = 0; i < MOST_RANKS; i++) {
        at.receive[i] = at.recv + i * of->count;
    }
    return at;
}

static result_t alltoall(const explored_t *of, catena_group_t *group,
                         int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    bool good = true;
    for (int to = 0; to < at.n; to++) {
        fill(of, at.send + to * of->count, turn, at.me, to);
    }
    catena_status_t status =
        catena_alltoall(at.send, at.count, CATENA_INT32, at.recv, at.count,
                        CATENA_INT32, group);
    for (int from = 0; status == CATENA_OK && from < at.n; from++) {
        good = good && holds(of, at.receive[from], turn, from, at.me);
    }
    return result(status, good);
}

static result_t two_at_once(const explored_t *of, catena_group_t *group,
                            int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    int32_t *sum = at.receive[0], *got = at.receive[1];
    catena_request_t *request[2] = {NULL};
    fill(of, at.send, turn, at.me, 0);
    if (at.me == at.root) {
        fill(of, got, turn, at.root, 1);
    }
    catena_status_t status =
        catena_ibcast(got, at.count, CATENA_INT32, at.root, group, &request[0]);
    if (status == CATENA_OK) {
        status = catena_iallreduce(at.send, sum, at.count, CATENA_INT32,
                                   CATENA_SUM, group, &request[1]);
    }
    catena_status_t waited = catena_request_waitall(2, request);
    return result(status == CATENA_OK ? waited : status,
                  holds_sum(of, sum, turn, at.n, 0) &&
                      holds(of, got, turn, at.root, 1));
}

/** Whether a rank has entered the barrier of a turn, in this run. */
static bool entered[TURNS + AGAIN][MOST_RANKS];

static result_t barrier(const explored_t *of, catena_group_t *group,
                        int32_t memory[], int turn)
{
    (void)of, (void)memory;
    entered[turn][catena_group_rank(group)] = true;
    catena_status_t status = catena_barrier(group);
    bool all = true;
    for (int r = 0; r < catena_group_size(group); r++) {
        all = all && entered[turn][r];
    }
    return result(status, all);
}

static result_t bcast(const explored_t *of, catena_group_t *group,
                      int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    if (at.me == at.root) {
        fill(of, at.send, turn, at.root, 0);
    }
    catena_status_t status =
        catena_bcast(at.send, at.count, CATENA_INT32, at.root, group);
    return result(status, holds(of, at.send, turn, at.root, 0));
}

static result_t reduce(const explored_t *of, catena_group_t *group,
                       int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    fill(of, at.send, turn, at.me, 0);
    catena_status_t status = catena_reduce(
        at.send, at.recv, at.count, CATENA_INT32, CATENA_SUM, at.root, group);
    return result(status,
                  at.me != at.root || holds_sum(of, at.recv, turn, at.n, 0));
}

static result_t allreduce(const explored_t *of, catena_group_t *group,
                          int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    fill(of, at.send, turn, at.me, 0);
    catena_status_t status = catena_allreduce(at.send, at.recv, at.count,
                                              CATENA_INT32, CATENA_SUM, group);
    return result(status, holds_sum(of, at.recv, turn, at.n, 0));
}

static result_t gather(const explored_t *of, catena_group_t *group,
                       int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    bool good = true;
    fill(of, at.send, turn, at.me, 0);
    catena_status_t status =
        catena_gather(at.send, at.count, CATENA_INT32, at.recv, at.count,
                      CATENA_INT32, at.root, group);
    for (int i = 0; at.me == at.root && i < at.n; i++) {
        good = good && holds(of, at.receive[i], turn, i, 0);
    }
    return result(status, good);
}

static result_t scatter(const explored_t *of, catena_group_t *group,
                        int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    for (int to = 0; to < at.n; to++) {
        fill(of, at.send + to * of->count, turn, at.root, to);
    }
    catena_status_t status =
        catena_scatter(at.send, at.count, CATENA_INT32, at.recv, at.count,
                       CATENA_INT32, at.root, group);
    return result(status, holds(of, at.recv, turn, at.root, at.me));
}

static result_t allgather(const explored_t *of, catena_group_t *group,
                          int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    bool good = true;
    fill(of, at.send, turn, at.me, 0);
    catena_status_t status =
        catena_allgather(at.send, at.count, CATENA_INT32, at.recv, at.count,
                         CATENA_INT32, group);
    for (int i = 0; i < at.n; i++) {
        good = good && holds(of, at.receive[i], turn, i, 0);
    }
    return result(status, good);
}

static result_t reduce_scatter(const explored_t *of, catena_group_t *group,
                               int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    for (int to = 0; to < at.n; to++) {
        fill(of, at.send + to * of->count, turn, at.me, to);
    }
    catena_status_t status = catena_reduce_scatter_block(
        at.send, at.recv, at.count, CATENA_INT32, CATENA_SUM, group);
    return result(status, holds_sum(of, at.recv, turn, at.n, at.me));
}

static result_t scan(const explored_t *of, catena_group_t *group,
                     int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    fill(of, at.send, turn, at.me, 0);
    catena_status_t status = catena_scan(at.send, at.recv, at.count,
                                         CATENA_INT32, CATENA_SUM, group);
    return result(status, holds_sum(of, at.recv, turn, at.me + 1, 0));
}

static result_t split(const explored_t *of, catena_group_t *group,
                      int32_t memory[], int turn)
{
    int me = catena_group_rank(group), n = catena_group_size(group);
    int64_t color = me % 2, key = -me;
    catena_split_t how = {.size = sizeof(how),
                          .color = &color,
                          .color_bytes = sizeof(color),
                          .color_compare = catena_compare_int64,
                          .key = &key,
                          .key_bytes = sizeof(key),
                          .key_compare = catena_compare_int64,
                          .algorithm = of->algorithm};
    catena_group_t *made = NULL;
    (void)memory, (void)turn;
    catena_status_t status = catena_group_split_by(group, &how, &made);
    bool good = status == CATENA_OK &&
                catena_group_size(made) == (n + 1 - me % 2) / 2 &&
                catena_group_rank(made) == catena_group_size(made) - 1 - me / 2;
    if (status == CATENA_OK) {
        status = catena_group_free(&made);
    }
    return result(status, good);
}

enum { DEGREE = 2 };

/** A neighborhood in which each rank sends to the next two. */
static catena_status_t make_ring(const explored_t *of, catena_group_t *group,
                                 catena_neighborhood_t **made)
{
    int me = catena_group_rank(group), n = catena_group_size(group);
    int sources[DEGREE], targets[DEGREE];
    for (int i = 0; i < DEGREE; i++) {
        sources[i] = (me + n * DEGREE - i - 1) % n;
        targets[i] = (me + i + 1) % n;
    }
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .algorithm = of->algorithm};
    return catena_neighborhood_create(group, DEGREE, sources, CATENA_UNWEIGHTED,
                                      DEGREE, targets, CATENA_UNWEIGHTED, &info,
                                      made);
}

static result_t create(const explored_t *of, catena_group_t *group,
                       int32_t memory[], int turn)
{
    catena_neighborhood_t *made = NULL;
    (void)memory, (void)turn;
    catena_status_t status = make_ring(of, group, &made);
    return result(
        status == CATENA_OK ? catena_neighborhood_free(&made) : status, true);
}

/* The neighborhoods of the turns of a run: the first one makes them, so that
 * only the exchange is explored. */
static catena_neighborhood_t *ring[MOST_RANKS];

static result_t neighbors(const explored_t *of, catena_group_t *group,
                          int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    catena_neighborhood_t *smaller = NULL; /* of those that are left */
    catena_neighborhood_t **made = turn < TURNS ? &ring[at.me] : &smaller;
    catena_status_t status =
        *made == NULL ? make_ring(of, group, made) : CATENA_OK;
    if (status != CATENA_OK) {
        return result(status, true);
    }
    for (int i = 0; i < DEGREE; i++) {
        fill(of, at.send + i * of->count, turn, at.me, i);
    }
    status = catena_neighbor_alltoall(at.send, at.count, CATENA_INT32, at.recv,
                                      at.count, CATENA_INT32, *made);
    bool good = true;
    for (int i = 0; i < DEGREE; i++) {
        int source = (at.me + at.n * DEGREE - i - 1) % at.n;
        good = good && holds(of, at.recv + i * of->count, turn, source, i);
    }
    catena_status_t freed = CATENA_OK;
    if (turn >= TURNS - 1 || status != CATENA_OK || !good) {
        freed = catena_neighborhood_free(made);
    }
    return result(status == CATENA_OK ? freed : status, good);
}

/** Blocks of growing length go to the next ranks. */
static result_t sparse(const explored_t *of, catena_group_t *group,
                       int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    int targets[DEGREE];
    size_t bytes[DEGREE];
    for (int i = 0; i < DEGREE; i++) {
        targets[i] = (at.me + i + turn) % at.n;
        bytes[i] = at.count * sizeof(int32_t);
        fill(of, at.send + i * of->count, turn, at.me, i);
    }
    catena_received_t *received = NULL;
    catena_status_t status = catena_sparse_exchange(
        group, DEGREE, targets, at.send, bytes, NULL, &received);
    if (status != CATENA_OK) {
        return result(status, true);
    }
    bool good = received->count == DEGREE;
    for (int k = 0; good && k < DEGREE; k++) {
        int from = received->sources[k];
        int i = (at.me - from - turn + 2 * at.n * TURNS) % at.n;
        good = received->bytes[k] == bytes[0] &&
               (k == 0 || received->sources[k - 1] <= from) &&
               holds(of, (const int32_t *)received->data + k * of->count, turn,
                     from, at.n == 1 ? k : i);
    }
    (void)catena_received_free(&received);
    return result(status, good);
}

void explored_begin(void)
{
    memset(entered, 0, sizeof(entered));
    memset(ring, 0, sizeof(ring));
}

typedef result_t call_t(const explored_t *of, catena_group_t *group,
                        int32_t memory[], int turn);

/** A collective whose algorithms are explored. */
typedef struct explored_kind {
    unsigned kind;
    call_t *call;
    const char *shared; /* its algorithms in the memory of a node */
} explored_kind_t;

static const explored_kind_t kinds[] = {
    {ORACLE_BARRIER, barrier, "flat root"},
    {ORACLE_BCAST, bcast, "staged zero-copy"},
    {ORACLE_REDUCE, reduce, "flat shared staged zero-copy"},
    {ORACLE_ALLREDUCE, allreduce, "staged zero-copy flat shared last"},
    {ORACLE_GATHER, gather, "staged zero-copy"},
    {ORACLE_SCATTER, scatter, "staged zero-copy"},
    {ORACLE_ALLGATHER, allgather, "staged zero-copy"},
    {ORACLE_REDUCE_SCATTER, reduce_scatter, "flat shared staged zero-copy"},
    {ORACLE_SCAN, scan, "staged zero-copy flat shared chain"},
    {ORACLE_ALLTOALL, alltoall, ""},
};

/** A group made from neighbors, in the opposite order, and scans on it. */
static result_t chain(const explored_t *of, catena_group_t *group,
                      int32_t memory[], int turn)
{
    place_t at = place_of(of, group, memory, turn);
    int mine = at.n - 1 - at.me;
    int32_t *left = at.receive[0], *right = at.receive[1];
    catena_group_t *made = NULL;
    fill(of, at.send, turn, 0, 0);
    catena_status_t status = catena_chain_create(
        group, mine > 0 ? at.me + 1 : CATENA_PROC_NULL,
        mine + 1 < at.n ? at.me - 1 : CATENA_PROC_NULL, mine, at.n, &made);
    if (status != CATENA_OK) {
        return result(status, false);
    }
    status = catena_chain_double_scan(at.send, left, right, at.count,
                                      CATENA_INT32, CATENA_SUM, made);
    bool good = status == CATENA_OK;
    for (int i = 0; good && i < of->count; i++) {
        good = (mine == 0 || left[i] == mine * at.send[i]) &&
               (mine + 1 == at.n || right[i] == at.me * at.send[i]);
    }
    catena_status_t freed = catena_group_free(&made);
    return result(status != CATENA_OK ? status : freed, good);
}

static const char *const splits[] = {
    "allgather", "allgather-fast", "gather-scatter", "cheng",      "bitonic",
    "radix",     "radix-plain",    "hash",           "hash-plain", "hash64"};

static const char *const exchanges[] = {"direct", "colored", "combining",
                                        "aggregated"};

enum { MOST_EXPLORED = 240, SHORT = 3 };
static explored_t explored[MOST_EXPLORED];
static int explored_count;

static explored_t *add(const char *collective, const char *algorithm,
                       call_t *call, int count)
{
    assert(explored_count < MOST_EXPLORED);
    explored_t *of = &explored[explored_count++];
    *of = (explored_t){.call = call, .algorithm = algorithm, .count = count};
    snprintf(of->name, sizeof(of->name), "%s %s%s", collective, algorithm,
             count == EXPLORED_LONG ? ", long" : "");
    return of;
}

/** Whether a word is one of a list. */
static bool is_in(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at++) {
        if ((at == list || at[-1] == ' ') &&
            (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/** An algorithm of a collective, over shared memory where it has it, else over
 * messages. */
static void add_algorithm(const explored_kind_t *of, const char *algorithm,
                          bool messages, int count)
{
    const char *name = oracle_setting_name(of->kind);
    explored_t *x = add(name, algorithm, of->call, count);
    if (messages) {
        snprintf(x->setting[0], sizeof(x->setting[0]), "HIERARCHY=network:p2p");
        snprintf(x->name, sizeof(x->name), "%s %s, messages%s", name, algorithm,
                 count == EXPLORED_LONG ? ", long" : "");
    }
    snprintf(x->setting[1], sizeof(x->setting[1]), "%s_ALGORITHM=%s", name,
             algorithm);
    for (char *c = x->setting[1]; *c != '='; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
}

static void add_kind(const explored_kind_t *of, int count)
{
    bool alltoalls = of->kind == ORACLE_ALLTOALL;
    add_algorithm(of, "auto", false, count);
    if (alltoalls) {
        add_algorithm(of, "direct", true, count);
        add_algorithm(of, "bruck", true, count);
        explored_t *levels = add("alltoall", "levels", of->call, count);
        snprintf(levels->setting[0], sizeof(levels->setting[0]),
                 "HIERARCHY=node:shm,network:p2p");
    } else {
        add_algorithm(of, "auto", true, count);
    }
    for (unsigned a = 1; a < oracle_algorithms(of->kind); a++) {
        const char *name = oracle_algorithm_name(of->kind, a);
        add_algorithm(of, name, !alltoalls && !is_in(of->shared, name), count);
    }
}

int explored_all(const explored_t **all)
{
    static const int counts[] = {SHORT, EXPLORED_LONG};
    explored_count = 0;
    *all = explored;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            if (counts[c] == SHORT || kinds[k].kind != ORACLE_BARRIER) {
                add_kind(&kinds[k], counts[c]);
            }
        }
        (void)add("bcast and allreduce", "at once", two_at_once, counts[c]);
        (void)add("sparse_exchange", "auto", sparse, counts[c]);
        (void)add("chain", "double scan", chain, counts[c]);
        for (size_t i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++) {
            (void)add("neighbor_alltoall", exchanges[i], neighbors, counts[c]);
        }
    }
    for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
        (void)add("split", splits[i], split, SHORT);
    }
    (void)add("neighborhood_create", "direct", create, SHORT);
    return explored_count;
}
