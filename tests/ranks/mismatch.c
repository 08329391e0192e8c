/* Length mismatches: one rank sends more or fewer bytes than the others expect.
 * A rank that receives a block of another length returns an error. Nothing
 * outside receive blocks changes, no rank deadlocks, and the next collective of
 * the group works. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/refuse.h"

/* Around the lengths at which the path changes. The last ones are the values of
 * the sequence flag of a block that is offered or refused; only an alltoallv of
 * few ranks has them. */
static const size_t sizes[] = {8,     108,    520,           1000,
                               2000,  16000,  20000,         31000,
                               32000, 160000, (1 << 20) - 2, (1 << 20) - 1};

/** An erroneous call, and the correct one that follows. */
typedef struct mismatch {
    rank_test_t *test;
    catena_group_t *group;
    oracle_case_t c;
    int odd;       /* the rank whose length differs */
    size_t bytes;  /* the length of all other ranks */
    size_t wrong;  /* the length of the odd rank */
    bool whole;    /* allgather: it expects its own length of all */
    bool flat;     /* the hierarchy is network:p2p */
    bool unwanted; /* alltoallv: the victim expects nothing */
} mismatch_t;

static unsigned kind_of(const mismatch_t *m)
{
    return m->c.value[ORACLE_KIND];
}

static const char *algorithm_of(const mismatch_t *m)
{
    return oracle_algorithm_name(kind_of(m), m->c.value[ORACLE_ALGORITHM]);
}

/** Whether all blocks of a rank's call have one length. */
static bool has_one_length(const mismatch_t *m)
{
    unsigned kind = kind_of(m);
    return kind == ORACLE_BCAST || kind == ORACLE_ALLTOALL ||
           oracle_reduces(kind) || m->whole;
}

/** Whether all ranks succeed, except those that must fail. */
static bool others_succeed(unsigned kind)
{
    return kind == ORACLE_GATHERV || kind == ORACLE_SCATTERV;
}

/** Whether there is a root, which may be the odd rank: its own block then has
 * another length than it says itself. */
static bool root_is_checked(unsigned kind)
{
    return others_succeed(kind) || kind == ORACLE_GATHER ||
           kind == ORACLE_SCATTER || kind == ORACLE_REDUCE;
}

/** Whether the data of other ranks are independent of the error. */
static bool others_have_all(unsigned kind)
{
    return kind == ORACLE_BCAST || kind == ORACLE_GATHERV ||
           kind == ORACLE_SCATTERV || kind == ORACLE_SCAN ||
           kind == ORACLE_EXSCAN;
}

/** Whether each rank receives from all ranks, and all know all lengths. */
static bool gets_of_all(unsigned kind)
{
    return kind == ORACLE_ALLGATHER || kind == ORACLE_ALLGATHERV ||
           kind == ORACLE_REDUCE_SCATTER_BLOCK;
}

/** The rank that receives the wrong block of an alltoallv. */
static int victim(const mismatch_t *m)
{
    return m->odd > 0 ? m->odd - 1 : m->test->place.ranks - 1;
}

static bool must_fail(const mismatch_t *m)
{
    int rank = m->test->place.rank;
    switch (kind_of(m)) {
    case ORACLE_ALLTOALLV:
    case ORACLE_ALLTOALLW:
        return !m->unwanted && rank == victim(m);
    case ORACLE_GATHER:
    case ORACLE_GATHERV:
    case ORACLE_REDUCE:
        return rank == 0;
    case ORACLE_BCAST:
    case ORACLE_SCATTER:
    case ORACLE_SCATTERV:
        return rank == m->odd;
    case ORACLE_SCAN:
        return rank >= m->odd;
    case ORACLE_EXSCAN:
        return rank > m->odd;
    default:
        return true;
    }
}

/** The call of this rank. In v variants the gaps between blocks are wider than
 * the excess of the wrong length. In an alltoallw elements have gaps, too. */
static oracle_call_t call_of(const mismatch_t *m, bool right)
{
    bool is_odd = !right && m->test->place.rank == m->odd;
    size_t unit = oracle_unit_bytes(m->c.value[ORACLE_TYPE]);
    size_t usual = m->bytes / unit;
    size_t own = is_odd ? m->wrong / unit : usual;
    return (oracle_call_t){.c = m->c,
                           .group = m->group,
                           .table = rank_table(m->test),
                           .exactly = has_one_length(m) ? own : usual,
                           .shape = m->bytes + m->wrong,
                           .apart = usual / 8 + 64,
                           .wrong_by =
                               has_one_length(m) ? 0 : (ptrdiff_t)(own - usual),
                           .wrong_to = (size_t)victim(m)};
}

/** Other receive counts. In an allgatherv the odd rank expects the same total
 * as the others, in different blocks. `unwanted`: the victim expects none. */
static void split_otherwise(const mismatch_t *m, bool right,
                            oracle_call_t *call)
{
    if (m->unwanted && !right && m->test->place.rank == victim(m)) {
        call->receive.counts[m->odd] = 0;
    }
    if (kind_of(m) == ORACLE_ALLGATHERV) {
        size_t *from = &call->receive.counts[victim(m)];
        size_t *to = &call->receive.counts[m->odd];
        size_t some = (size_t)labs((long)call->wrong_by);
        if (call->wrong_by < 0) {
            size_t *other = from;
            from = to;
            to = other;
        }
        some = some < *from ? some : *from;
        *from -= some;
        *to += some;
    }
}

/** Make the erroneous call, or the correct one. */
static void try_once(const mismatch_t *m, bool right)
{
    static capture_t captured;
    rank_test_t *test = m->test;
    bool must = !right && must_fail(m);
    oracle_call_t call = call_of(m, right);
    char text[200];
    snprintf(text, sizeof(text),
             "%zu bytes, rank %d %zu, the %s call: ", m->bytes, m->odd,
             m->wrong, right ? "right" : "wrong");
    oracle_call_open(&test->oracle, &call);
    split_otherwise(m, right, &call);
    oracle_call_fill(&call, m->wrong + right);
    rank_capture_start(test, &captured);
    /* sets catena_last_error */
    (void)catena_bcast(NULL, 0, CATENA_BYTE, 0, NULL);
    catena_status_t status = oracle_call_run(&test->oracle, &call);
    rank_capture_stop(test, &captured);
    if (status != CATENA_OK && strstr(catena_last_error(), "is NULL") != NULL) {
        rank_fail(test, "%s%s %s: catena_last_error does not say why", text,
                  oracle_kind_name(kind_of(m)), algorithm_of(m));
    }
    if (right ||
        (others_have_all(kind_of(m)) && !must && status == CATENA_OK)) {
        oracle_call_check(&test->oracle, &call, text);
    } else {
        oracle_call_check_around(&test->oracle, &call, text);
    }
    if (right || others_succeed(kind_of(m))) {
        rank_hold_against(test, text, must ? CATENA_ERR_ARG : CATENA_OK, status,
                          must ? "expected" : "", captured.text);
    } else if (must && status == CATENA_OK) {
        rank_fail(test, "%s%s %s: no error", text, oracle_kind_name(kind_of(m)),
                  algorithm_of(m));
    }
    oracle_call_close(&test->oracle, &call);
}

static size_t segments_of(size_t ranks, size_t bytes)
{
    return (ranks * bytes + 32767) / 32768;
}

/** Whether the vectors of all ranks of a node together, or of those of one of
 * its two NUMA domains, have the same number of segments with both lengths. */
static bool segments_agree(const mismatch_t *m)
{
    size_t ranks = (size_t)m->test->place.ranks;
    const size_t subgroups[] = {ranks, ranks / 2, ranks - ranks / 2};
    for (size_t i = 0; i < 3; i++) {
        if (segments_of(subgroups[i], m->bytes) !=
            segments_of(subgroups[i], m->wrong)) {
            return false;
        }
    }
    return true;
}

/** Whether ranks with these lengths choose different algorithms or numbers of
 * messages, which ends all operations; see docs/algorithms.md, A2A-1 and A2A-2.
 * Vectors, and collectives in which each rank receives from all, do if their
 * numbers of chunks differ. */
static bool ends(const mismatch_t *m)
{
    unsigned kind = kind_of(m);
    const char *algorithm = algorithm_of(m);
    bool led = strcmp(algorithm, "auto") == 0 || strstr(algorithm, "a2a") ||
               strstr(algorithm, "mpml");
    if (gets_of_all(kind) && (kind != ORACLE_ALLGATHER || m->whole)) {
        return m->bytes > 1000 &&
               !(m->flat && strcmp(algorithm, "ring") == 0) &&
               (m->flat || m->test->place.nodes > 1 || !segments_agree(m));
    }
    if (!oracle_pairs(kind)) {
        return has_one_length(m) && m->bytes >= 32000;
    }
    if (m->test->place.nodes == 1) {
        return false;
    }
    /* Between nodes of 2 and 1 two blocks of 32000 are nearly a fragment. */
    bool two = m->test->place.ranks == 3 ||
               (m->test->place.ranks == 5 && m->test->place.nodes == 3);
    return kind == ORACLE_ALLTOALL ? led || strcmp(algorithm, "morton") == 0 ||
                                         (m->bytes > 10000 && m->bytes <= 32000)
                                   : led && m->bytes >= (two ? 32000 : 160000);
}

/** A twentieth less and more. If no choice depends on the length, also zero,
 * and 30 times as much. */
static void try_size(mismatch_t *m, size_t number)
{
    bool splits =
        kind_of(m) == ORACLE_ALLGATHERV; /* small: within the guards */
    size_t by = splits ? 4 : (m->bytes / 20 & ~(size_t)3) + 4;
    const size_t wrongs[] = {m->bytes - by, m->bytes + by, 0, 30 * m->bytes};
    bool any = (others_succeed(kind_of(m)) ||
                (kind_of(m) == ORACLE_ALLGATHER && !m->whole)) &&
               m->bytes <= 20000;
    size_t ranks = (size_t)m->test->place.ranks;
    m->odd = root_is_checked(kind_of(m)) ? (int)(number % ranks)
                                         : (int)(number % (ranks - 1)) + 1;
    for (size_t w = 0; w < (any ? 4 : 2); w++) {
        m->wrong = wrongs[w];
        if (ends(m)) {
            continue;
        }
        m->c.value[ORACLE_MEMORY] =
            (number + w + m->c.value[ORACLE_ALGORITHM]) % 2;
        try_once(m, false);
        try_once(m, true);
    }
    /* A block sent without a CTS that no rank expects: the next calls do not
     * take it for theirs. */
    bool uses_rts = kind_of(m) != ORACLE_ALLTOALLV || m->bytes > 16000 ||
                    (m->bytes > 2000 && m->c.value[ORACLE_MEMORY] == 0) ||
                    strcmp(algorithm_of(m), "direct") != 0;
    for (int turn = 0; turn < 5 && !uses_rts; turn++) {
        m->wrong = m->bytes;
        m->unwanted = turn < 2;
        try_once(m, !m->unwanted);
    }
    m->unwanted = false;
}

static void try_all(rank_test_t *test, unsigned kind)
{
    static const char *const hierarchies[] = {"auto", "network:p2p",
                                              "node:p2p,network:p2p"};
    mismatch_t m = {.test = test};
    m.c.value[ORACLE_KIND] = (uint8_t)kind;
    m.c.value[ORACLE_TYPE] =
        kind == ORACLE_ALLTOALLW ? ORACLE_RESIZED : ORACLE_BYTE;
    m.c.value[ORACLE_OP] = oracle_reduces(kind) ? ORACLE_BXOR : ORACLE_NO_OP;
    bool blocks = others_succeed(kind) || gets_of_all(kind);
    int ways = oracle_pairs(kind) ? 1 : blocks ? 3 : 2;
    for (unsigned i = 0; i < oracle_algorithms(kind) * (unsigned)ways; i++) {
        const char *hierarchy = hierarchies[i % (unsigned)ways];
        m.flat = i % (unsigned)ways == 1;
        m.c.value[ORACLE_ALGORITHM] = (uint8_t)(i / (unsigned)ways);
        RANK_CHECK(test, catena_group_dup(test->world, &m.group) == CATENA_OK);
        oracle_choose_algorithm(&test->oracle, &m.c, m.group);
        RANK_CHECK(test, catena_group_set(m.group, "hierarchy", hierarchy) ==
                             CATENA_OK);
        size_t count = sizeof(sizes) / sizeof(sizes[0]);
        bool long_ones = kind == ORACLE_ALLTOALLV && test->place.ranks <= 5;
        /* alltoallw differs from alltoallv in types only. */
        size_t step = kind == ORACLE_ALLTOALLW ? 3 : 1;
        /* In a layout an algorithm takes every third size. */
        bool some = step == 1 && test->options->layout >= 0;
        size_t first = (i / (unsigned)ways + i % (unsigned)ways +
                        (unsigned)test->options->layout) %
                       3;
        for (size_t k = some ? first : 0; k < count - (long_ones ? 0 : 2);
             k += some ? 3 : step) {
            m.bytes = sizes[k];
            m.whole = false;
            size_t number = some ? k / 3 : k;
            try_size(&m, number);
            m.whole = kind == ORACLE_ALLGATHER;
            if (m.whole) {
                try_size(&m, number);
            }
        }
        RANK_CHECK(test, catena_group_free(&m.group) == CATENA_OK);
    }
}

static void run_all(rank_test_t *test)
{
    static const unsigned kinds[] = {
        ORACLE_ALLTOALLV, ORACLE_ALLTOALLW,  ORACLE_ALLTOALL,
        ORACLE_GATHERV,   ORACLE_SCATTER,    ORACLE_SCATTERV,
        ORACLE_ALLGATHER, ORACLE_BCAST,      ORACLE_REDUCE,
        ORACLE_ALLREDUCE, ORACLE_SCAN,       ORACLE_EXSCAN,
        ORACLE_GATHER,    ORACLE_ALLGATHERV, ORACLE_REDUCE_SCATTER_BLOCK};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *name = oracle_kind_name(kinds[i]);
        if (rank_dealt(test, name)) {
            try_all(test, kinds[i]);
            rank_conclude(test, name);
        }
    }
}

/* ---- errors that end all operations ---- */

/** Ranks choose different algorithms or numbers of messages: all of them fail,
 * in this call or a later one, and nothing is written outside receive blocks.
 * Each case ends its job, or where failures are returned its group. */
typedef struct ending {
    const char *name;
    unsigned kind;
    const char *algorithm, *hierarchy;
    size_t bytes;
    int odd;
    bool finds;   /* the odd rank fails, or finds that all have ended */
    size_t wrong; /* the length of the odd rank; 0: a twentieth more */
} ending_t;

static const ending_t endings[] = {
    {"bcast", ORACLE_BCAST, "auto", "auto", 160000, 3, true, 0},
    {"allreduce", ORACLE_ALLREDUCE, "auto", "network:p2p", 160000, 3, true, 0},
    {"tree", ORACLE_ALLREDUCE, "tree", "network:p2p", 32000, 2, false, 0},
    {"linear", ORACLE_REDUCE, "auto", "network:p2p", 32000, 2, false, 0},
    {"bruck and ring", ORACLE_ALLGATHER, "auto", "network:p2p", 16000, 3, true,
     0},
    {"passes", ORACLE_REDUCE_SCATTER_BLOCK, "recursive-halving", "network:p2p",
     32000, 3, true, 0},
    {"joint", ORACLE_ALLTOALL, "direct", "auto", 32000, 3, true, 0},
    {"teams", ORACLE_ALLTOALL, "direct", "auto", 16800, 3, true, 16000},
    {"leaders", ORACLE_ALLTOALL, "mpml", "auto", 8, 3, true, 0},
    {"plain short", ORACLE_ALLTOALL, "mpml-plain", "auto", 8, 3, true, 0},
    {"morton", ORACLE_ALLTOALL, "morton", "auto", 16000, 3, true, 0},
    {"plain long", ORACLE_ALLTOALL, "l-a2a-plain", "auto", 16000, 3, true, 0},
};

/** The group has failed on all ranks, and they go on in a new one. */
static void go_on(rank_test_t *test, catena_group_t *group)
{
    catena_group_t *fresh = NULL;
    RANK_CHECK(test, catena_barrier(group) == CATENA_ERR_REVOKED);
    RANK_CHECK(test, catena_group_shrink(group, &fresh) == CATENA_OK);
    RANK_CHECK(test, catena_barrier(fresh) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&fresh) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
}

static void end(rank_test_t *test, const ending_t *ending)
{
    const char *failures = getenv("CATENA_FAILURES");
    bool returned = failures != NULL && strcmp(failures, "return") == 0;
    mismatch_t m = {.test = test,
                    .odd = ending->odd,
                    .bytes = ending->bytes,
                    .wrong = ending->wrong > 0
                                 ? ending->wrong
                                 : ending->bytes +
                                       (ending->bytes / 20 & ~(size_t)3) + 4};
    catena_status_t status = CATENA_OK;
    m.c.value[ORACLE_KIND] = (uint8_t)ending->kind;
    m.c.value[ORACLE_OP] =
        oracle_reduces(ending->kind) ? ORACLE_BXOR : ORACLE_NO_OP;
    while (strcmp(algorithm_of(&m), ending->algorithm) != 0) {
        m.c.value[ORACLE_ALGORITHM]++;
    }
    (void)catena_group_dup(test->world, &m.group);
    oracle_choose_algorithm(&test->oracle, &m.c, m.group);
    (void)catena_group_set(m.group, "hierarchy", ending->hierarchy);
    for (int turn = 0; turn < 3 && status == CATENA_OK; turn++) {
        oracle_call_t call = call_of(&m, true);
        if (turn == 0 && test->place.rank == m.odd) {
            call.exactly = m.wrong;
        }
        oracle_call_open(&test->oracle, &call);
        oracle_call_fill(&call, 1);
        status = oracle_call_run(&test->oracle, &call);
        oracle_call_check_around(&test->oracle, &call, "the end: ");
        oracle_call_close(&test->oracle, &call);
    }
    /* Other ranks may complete all their calls before they detect the error, or
     * the network may report that the odd rank is gone. */
    RANK_CHECK(
        test, !ending->finds || test->place.rank != m.odd ||
                  status == CATENA_ERR_ARG ||
                  status == (returned ? CATENA_ERR_REVOKED : CATENA_ERR_ENDED));
    if (returned) {
        go_on(test, m.group);
        return;
    }
    /* ERR_PEER: another rank has left already. */
    status = catena_barrier(test->world);
    RANK_CHECK(test, status == CATENA_ERR_ENDED || status == CATENA_ERR_PEER);
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
const rank_suite_t rank_suite_mismatch = {
    .name = "mismatch",
    .many = many,
    .ranks = 2,
    .on = "n2 n3-posix n4-rma sim3+1+5 sim1+1+1+1+1"};
