/* Lengths that do not agree: one rank gives more or fewer bytes than the others
 * expect. Ranks that are to get a block of another length return an error,
 * nothing outside their receive blocks changes, nobody waits for ever, and the
 * next collective of the group works. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank_test.h"

enum { GUARD = 0xa5, MOST = 10 };

/* Around the lengths from which on data take another way. */
static const size_t sizes[] = {8,     108,   500,   1000,   16000,
                               20000, 31000, 32000, 160000, 1 << 20};

/** One call: this rank's blocks, of `count` elements each but for the one that
 * is wrong. */
typedef struct call {
    rank_test_t *test;
    catena_group_t *group;
    int p, me;
    int odd;       /* who gives something else than the others */
    size_t bytes;  /* what all but that one give */
    size_t others; /* what this rank gives: bytes, unless it is the odd one */
    unsigned char *send, *receive;
    size_t *send_counts, *counts;
    ptrdiff_t *send_places, *places;
    catena_datatype_t *types, *send_types;
    catena_datatype_t pairs; /* two bytes, the second first */
} call_t;

/** From one block to the next, with more between them than is sent too much. */
static size_t stride_of(const call_t *c)
{
    return c->bytes + c->bytes / 8 + 64;
}

static bool all(const call_t *c, int rank)
{
    (void)c, (void)rank;
    return true;
}
static bool odd_only(const call_t *c, int rank)
{
    return rank == c->odd;
}
static bool root_only(const call_t *c, int rank)
{
    (void)c;
    return rank == 0;
}
static bool not_before(const call_t *c, int rank)
{
    return rank >= c->odd;
}
static bool after(const call_t *c, int rank)
{
    return rank > c->odd;
}

/** The rank that gets something wrong in an alltoallv. */
static int victim(const call_t *c)
{
    return c->odd > 0 ? c->odd - 1 : c->p - 1;
}
static bool victim_only(const call_t *c, int rank)
{
    return rank == victim(c);
}

/** Blocks of the same length with a gap behind each, but for the one that the
 * odd rank sends to its victim. */
static void set_counts(call_t *c)
{
    size_t stride = stride_of(c);
    for (int i = 0; i < c->p; i++) {
        c->counts[i] = c->send_counts[i] = c->bytes;
        c->places[i] = c->send_places[i] = (ptrdiff_t)(i * stride);
        c->types[i] = c->send_types[i] = CATENA_BYTE;
    }
}

static catena_status_t alltoallv(call_t *c)
{
    set_counts(c);
    c->send_counts[victim(c)] = c->others;
    return catena_alltoallv(c->send, c->send_counts, c->send_places,
                            CATENA_BYTE, c->receive, c->counts, c->places,
                            CATENA_BYTE, c->group);
}

/** Every other block is received as pairs of bytes. */
static catena_status_t alltoallw(call_t *c)
{
    set_counts(c);
    c->send_counts[victim(c)] = c->others;
    for (int i = c->me % 2; i < c->p; i += 2) {
        c->types[i] = c->pairs;
        c->counts[i] /= 2;
    }
    return catena_alltoallw(c->send, c->send_counts, c->send_places,
                            c->send_types, c->receive, c->counts, c->places,
                            c->types, c->group);
}

static catena_status_t alltoall(call_t *c)
{
    return catena_alltoall(c->send, c->receive, c->others, CATENA_BYTE,
                           c->group);
}

static catena_status_t bcast(call_t *c)
{
    return catena_bcast(c->receive, c->others, CATENA_BYTE, 0, c->group);
}

static catena_status_t reduce(call_t *c)
{
    return catena_reduce(c->send, c->receive, c->others / 4, CATENA_INT32,
                         CATENA_SUM, 0, c->group);
}

static catena_status_t allreduce(call_t *c)
{
    return catena_allreduce(c->send, c->receive, c->others / 4, CATENA_INT32,
                            CATENA_SUM, c->group);
}

static catena_status_t scan(call_t *c)
{
    return catena_scan(c->send, c->receive, c->others / 4, CATENA_INT32,
                       CATENA_SUM, c->group);
}

static catena_status_t exscan(call_t *c)
{
    return catena_exscan(c->send, c->receive, c->others / 4, CATENA_INT32,
                         CATENA_SUM, c->group);
}

static catena_status_t gatherv(call_t *c)
{
    set_counts(c);
    return catena_gatherv(c->send, c->others, CATENA_BYTE, c->receive,
                          c->counts, c->places, CATENA_BYTE, 0, c->group);
}

static catena_status_t scatter(call_t *c)
{
    return catena_scatter(c->send, c->bytes, CATENA_BYTE, c->receive, c->others,
                          CATENA_BYTE, 0, c->group);
}

static catena_status_t scatterv(call_t *c)
{
    set_counts(c);
    return catena_scatterv(c->send, c->send_counts, c->send_places, CATENA_BYTE,
                           c->receive, c->others, CATENA_BYTE, 0, c->group);
}

/** Where this rank's receive blocks are. */
typedef enum extent {
    ONE,      /* a block of what it says */
    EACH,     /* one of each rank, of that */
    EXPECTED, /* the root: one of each, of what the others say */
    GAPS,     /* one of each, with gaps */
    ROOT_GAPS,
    ROOT,
    OWN_GAPS
} extent_t;

typedef struct kind {
    const char *name;
    catena_status_t (*run)(call_t *call);
    bool (*must_fail)(const call_t *call, int rank);
    extent_t extent;
    const char *setting; /* of algorithms */
    const char *algorithms[MOST];
} kind_t;

#define A2A "alltoall_algorithm"
#define LEADERS "l-a2a", "mpml", "nmpml", "onmpml"
static const kind_t kinds[] = {
    {"alltoallv",
     alltoallv,
     victim_only,
     GAPS,
     A2A,
     {"auto", "direct", "shift", LEADERS}},
    {"alltoallw",
     alltoallw,
     victim_only,
     GAPS,
     A2A,
     {"auto", "direct", "shift", LEADERS}},
    {"alltoall",
     alltoall,
     all,
     EACH,
     A2A,
     {"auto", "direct", "shift", "bruck", "morton", LEADERS}},
    {"gatherv",
     gatherv,
     root_only,
     ROOT_GAPS,
     "gather_algorithm",
     {"auto", "staged", "lent", "linear", "binomial"}},
    {"scatter",
     scatter,
     odd_only,
     ONE,
     "scatter_algorithm",
     {"auto", "staged", "lent", "linear", "binomial"}},
    {"scatterv",
     scatterv,
     odd_only,
     ONE,
     "scatter_algorithm",
     {"auto", "staged", "lent", "linear", "binomial"}},
    {"bcast",
     bcast,
     odd_only,
     ONE,
     "bcast_algorithm",
     {"auto", "staged", "lent", "binomial", "chain", "linear"}},
    {"reduce",
     reduce,
     root_only,
     ROOT,
     "reduce_algorithm",
     {"auto", "flat", "shared", "binomial", "chain", "linear"}},
    {"allreduce",
     allreduce,
     all,
     ONE,
     "allreduce_algorithm",
     {"auto", "flat", "shared", "last", "recursive-doubling", "rabenseifner",
      "tree"}},
    {"scan",
     scan,
     not_before,
     ONE,
     "scan_algorithm",
     {"auto", "flat", "chain"}},
    {"exscan", exscan, after, ONE, "scan_algorithm", {"auto", "flat", "chain"}},
};

/** What a call may write of the receive buffer: [from, to) of block i; false:
 * there is none. */
static bool block_of(const call_t *c, extent_t extent, int i, size_t *from,
                     size_t *to)
{
    size_t stride = stride_of(c);
    bool mine = i == c->me;
    bool root = c->me == 0;
    size_t n = i < c->p ? (size_t)i : 0;
    switch (extent) {
    case ONE:
        *from = 0, *to = c->others;
        return i == 0;
    case ROOT:
        *from = 0, *to = c->others;
        return i == 0 && root;
    case EACH:
        *from = n * c->others, *to = *from + c->others;
        return true;
    case EXPECTED:
        *from = n * c->bytes, *to = *from + c->bytes;
        return root;
    case ROOT_GAPS:
        *from = n * stride, *to = *from + c->bytes;
        return root;
    case OWN_GAPS:
        *from = n * stride, *to = *from + (mine ? c->others : c->bytes);
        return true;
    case GAPS:
    default:
        *from = n * stride, *to = *from + c->bytes;
        return true;
    }
}

/** Bytes outside of all receive blocks are as they were. */
static bool guards_are_whole(const call_t *c, extent_t extent, size_t room)
{
    size_t at = 0;
    for (int i = 0; i <= c->p; i++) {
        size_t from = room, to = room;
        if (i < c->p && !block_of(c, extent, i, &from, &to)) {
            continue;
        }
        for (; at < from; at++) {
            if (c->receive[at] != GUARD) {
                return false;
            }
        }
        at = to > at ? to : at;
    }
    return true;
}

/** One wrong call, and a right one. */
static void try(call_t *c, const kind_t *kind, const char *how, size_t wrong,
                rank_memory_t memory)
{
    rank_test_t *test = c->test;
    size_t room = (size_t)(c->p + 1) * stride_of(c);
    c->send = rank_take(test, memory, room);
    c->receive = rank_take(test, memory, room);
    for (int turn = 0; turn < 2; turn++) {
        c->others = turn == 0 && c->me == c->odd ? wrong : c->bytes;
        memset(c->send, c->me + 1, room);
        memset(c->receive, GUARD, room);
        catena_status_t status = kind->run(c);
        if (!guards_are_whole(c, kind->extent, room)) {
            rank_fail(test, "%s, %s, %zu bytes, rank %d %zu: a guard changed",
                      kind->name, how, c->bytes, c->odd, wrong);
        }
        bool must = turn == 0 && kind->must_fail(c, c->me);
        if (must ? status == CATENA_OK : turn == 1 && status != CATENA_OK) {
            rank_fail(test, "%s, %s, %zu bytes, rank %d %zu, %s: %s: %s",
                      kind->name, how, c->bytes, c->odd, wrong,
                      memory == RANK_HEAP ? "heap" : "malloc",
                      turn == 0 ? "the wrong call" : "the right call",
                      catena_status_string(status));
        }
    }
    rank_give(test, memory, c->send);
    rank_give(test, memory, c->receive);
}

/** Lengths with which ranks go ways that do not meet, so that all ends; see
 * docs/algorithms.md, A2A-1 and A2A-2. Vectors: in numbers of segments that
 * differ. */
static bool ends(const call_t *c, const kind_t *kind, const char *algorithm)
{
    bool led = strcmp(algorithm, "auto") == 0 || strstr(algorithm, "a2a") ||
               strstr(algorithm, "mpml");
    if (kind->extent == ONE || kind->extent == ROOT) {
        return !strstr(kind->name, "scatter") && c->bytes >= 32000;
    }
    if (c->test->place.nodes == 1) {
        return false;
    }
    return kind->run == alltoall
               ? led || (c->bytes > 10000 && c->bytes <= 32000)
               : strcmp(kind->setting, A2A) == 0 && led && c->bytes >= 160000;
}

static void try_all(rank_test_t *test, const kind_t *kind,
                    const char *algorithm, const char *hierarchy)
{
    call_t c = {.test = test, .p = test->place.size, .me = test->place.rank};
    size_t p = (size_t)c.p;
    const char *only = getenv("MISMATCH_BYTES");
    char how[64];
    snprintf(how, sizeof(how), "%s %s", algorithm, hierarchy);
    (void)catena_group_dup(test->world, &c.group);
    if (catena_group_set(c.group, kind->setting, algorithm) != CATENA_OK ||
        (strcmp(kind->setting, A2A) != 0 &&
         catena_group_set(c.group, "hierarchy", hierarchy) != CATENA_OK)) {
        rank_fail(test, "no setting");
    }
    c.counts = calloc(4 * p, sizeof(size_t));
    c.places = (ptrdiff_t *)(c.counts + p);
    c.send_counts = c.counts + 2 * p;
    c.send_places = (ptrdiff_t *)(c.counts + 3 * p);
    c.types = calloc(2 * p, sizeof(*c.types));
    c.send_types = c.types + p;
    (void)catena_type_indexed(2, (size_t[]){1, 1}, (ptrdiff_t[]){1, 0},
                              CATENA_BYTE, &c.pairs);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        c.bytes = sizes[i];
        if ((only != NULL && strtoull(only, NULL, 0) != c.bytes) ||
            ends(&c, kind, algorithm)) {
            continue;
        }
        size_t less = c.bytes - (c.bytes / 20 & ~(size_t)3) - 4;
        size_t more = c.bytes + (c.bytes / 20 & ~(size_t)3) + 4;
        c.odd = (int)(i % (p - 1)) + 1;
        try(&c, kind, how, more, RANK_HEAP);
        try(&c, kind, how, less, RANK_HEAP);
        try(&c, kind, how, more, RANK_MALLOC);
        try(&c, kind, how, less, RANK_MALLOC);
    }
    (void)catena_type_free(&c.pairs);
    free(c.types);
    free(c.counts);
    (void)catena_group_free(c.group);
}

static void run(rank_test_t *test, const kind_t *kind)
{
    for (int i = 0; i < MOST && kind->algorithms[i] != NULL; i++) {
        try_all(test, kind, kind->algorithms[i], "auto");
        if (strcmp(kind->setting, A2A) != 0) {
            try_all(test, kind, kind->algorithms[i], "network:p2p");
        }
    }
}

static void run_all(rank_test_t *test)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (rank_dealt(test, kinds[i].name)) {
            run(test, &kinds[i]);
            rank_conclude(test, kinds[i].name);
        }
    }
}

/* ---- what ends everything ---- */

static catena_status_t allgather(call_t *c)
{
    return catena_allgather(c->send, c->others, CATENA_BYTE, c->receive,
                            c->others, CATENA_BYTE, c->group);
}

static catena_status_t reduce_scatter(call_t *c)
{
    return catena_reduce_scatter_block(c->send, c->receive, c->others / 4,
                                       CATENA_INT32, CATENA_SUM, c->group);
}

/** Ranks go ways that do not meet: all of them fail, in this call or a later
 * one, and nothing is written beyond. One such case ends a job. */
typedef struct ending {
    const char *name;
    catena_status_t (*run)(call_t *call);
    extent_t extent;
    const char *setting, *algorithm;
    const char *hierarchy; /* NULL: it goes by none */
    size_t bytes;
    int odd;
    bool finds; /* the odd one does */
} ending_t;

static const ending_t endings[] = {
    {"bcast", bcast, ONE, "bcast_algorithm", "auto", "auto", 160000, 3, true},
    {"allreduce", allreduce, ONE, "allreduce_algorithm", "auto", "network:p2p",
     160000, 3, true},
    {"tree", allreduce, ONE, "allreduce_algorithm", "tree", "network:p2p",
     32000, 2, false},
    {"linear", reduce, ROOT, "reduce_algorithm", "auto", "network:p2p", 32000,
     2, false},
    {"allgather", allgather, EACH, "allgather_algorithm", "ring", "network:p2p",
     20000, 3, true},
    {"reduce_scatter", reduce_scatter, ONE, "reduce_scatter_algorithm", "ring",
     "network:p2p", 20000, 3, true},
    {"joint", alltoall, EACH, A2A, "direct", NULL, 32000, 3, true},
    {"leaders", alltoall, EACH, A2A, "mpml", NULL, 8, 3, true},
};

static void end(rank_test_t *test, const ending_t *ending)
{
    call_t c = {.test = test,
                .p = test->place.size,
                .me = test->place.rank,
                .odd = ending->odd,
                .bytes = ending->bytes};
    size_t wrong = c.bytes + (c.bytes / 20 & ~(size_t)3) + 4;
    size_t room = (size_t)(c.p + 1) * stride_of(&c);
    catena_status_t status = CATENA_OK;
    (void)catena_group_dup(test->world, &c.group);
    if (ending->hierarchy != NULL) {
        (void)catena_group_set(c.group, "hierarchy", ending->hierarchy);
    }
    (void)catena_group_set(c.group, ending->setting, ending->algorithm);
    c.send = rank_take(test, RANK_HEAP, room);
    c.receive = rank_take(test, RANK_HEAP, room);
    for (int turn = 0; turn < 3 && status == CATENA_OK; turn++) {
        c.others = turn == 0 && c.me == c.odd ? wrong : c.bytes;
        memset(c.send, 1, room);
        memset(c.receive, GUARD, room);
        status = ending->run(&c);
        RANK_CHECK(test, guards_are_whole(&c, ending->extent, room));
    }
    /* Another may be through with its calls before it hears of it, or be told
     * by the network that the first is gone. */
    RANK_CHECK(test,
               !ending->finds || c.me != c.odd || status == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_barrier(test->world) != CATENA_OK);
    test->ended = true;
}

static void end_all(rank_test_t *test)
{
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (rank_dealt(test, endings[i].name)) {
            end(test, &endings[i]);
            rank_conclude(test, endings[i].name);
        }
    }
}

static const rank_case_t ending[] = {{"all", end_all}, {NULL, NULL}};
const rank_suite_t rank_suite_mismatchend = {
    .name = "mismatchend", .many = ending, .ranks = 4, .named = true};

static const rank_case_t many[] = {{"all", run_all}, {NULL, NULL}};
const rank_suite_t rank_suite_mismatch = {.name = "mismatch",
                                          .many = many,
                                          .ranks = 2,
                                          .on = "n2 n4-rma sim1+1+1+1+1"};
