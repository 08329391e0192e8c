/* Splits by hierarchy levels, and splits that are refused on all ranks. */

#include <stdlib.h>
#include <string.h>

#include "oracle/split/split.h"
#include "ranks/helpers/rank_test.h"

enum { LEVELS = CATENA_LEVEL_CORE + 1 };

/* ---- hierarchy levels ---- */

/** Processing units of one resource of a level, in CATENA_TOPOLOGY's
 * description; all, if it has neither such a level nor a larger one.
 * @param[out] all of the node */
static long units_of(const char *description, catena_level_t level, long *all)
{
    static const char *const names[LEVELS] = {[CATENA_LEVEL_SOCKET] = "pack",
                                              [CATENA_LEVEL_NUMA] = "numa",
                                              [CATENA_LEVEL_L3] = "l3",
                                              [CATENA_LEVEL_CORE] = "core"};
    long units = 0;
    *all = 1;
    for (const char *at = description; (at = strchr(at, ':')) != NULL; at++) {
        *all *= strtol(at + 1, NULL, 10);
    }
    for (int i = level; i > CATENA_LEVEL_NODE && units == 0; i--) {
        const char *at = strstr(description, names[i]);
        if (at == NULL) {
            continue;
        }
        units = 1;
        at = strchr(at, ':') + 1; /* its own number does not count */
        while ((at = strchr(at, ':')) != NULL) {
            units *= strtol(++at, NULL, 10);
        }
    }
    return units > 0 ? units : *all;
}

/** The resource of a level that a rank of this node is bound to. */
static long resource_of(const char *description, catena_level_t level,
                        int local_rank)
{
    long all;
    long units = units_of(description, level, &all);
    return local_rank % all / units;
}

/** The members of this rank's group of a level, the last rank first. */
static oracle_members_t expect_level(rank_test_t *test, catena_level_t level,
                                     const char *description,
                                     const int32_t *nodes,
                                     const int32_t *locals)
{
    int p = test->place.ranks;
    oracle_members_t made = {0, calloc((size_t)p, sizeof(int))};
    long own = resource_of(description, level, test->place.local_rank);
    for (int i = p; i-- > 0;) {
        if (nodes[i] == test->place.node &&
            resource_of(description, level, locals[i]) == own) {
            made.rank[made.size++] = i;
        }
    }
    return made;
}

/** Groups of a level are nested in those of larger levels. Nodes, and domains
 * if `domains` is not NULL, match the place. */
static void expect_nested(rank_test_t *test, int32_t *const *group_of,
                          const int32_t *nodes, const int32_t *domains)
{
    int p = test->place.ranks;
    int own = test->place.rank;
    for (int i = 0; i < p; i++) {
        RANK_CHECK(test, (group_of[CATENA_LEVEL_NODE][i] ==
                          group_of[CATENA_LEVEL_NODE][own]) ==
                             (nodes[i] == test->place.node));
        for (int level = CATENA_LEVEL_SOCKET; level < LEVELS; level++) {
            RANK_CHECK(test,
                       group_of[level][i] != group_of[level][own] ||
                           group_of[level - 1][i] == group_of[level - 1][own]);
        }
        if (domains != NULL && nodes[i] == test->place.node) {
            RANK_CHECK(test, (group_of[CATENA_LEVEL_NUMA][i] ==
                              group_of[CATENA_LEVEL_NUMA][own]) ==
                                 (domains[i] == test->place.numa));
        }
    }
}

/** The first member of a group, which is its last rank of the world. */
static int32_t first_member(rank_test_t *test, catena_group_t *group)
{
    int32_t *gathered =
        oracle_gather_value(&test->oracle, group, test->place.rank);
    int32_t first = gathered[0];
    for (int i = 1; i < catena_group_size(group); i++) {
        RANK_CHECK(test, gathered[i] < gathered[i - 1]);
    }
    free(gathered);
    return first;
}

static void levels(rank_test_t *test)
{
    const char *description = getenv("CATENA_TOPOLOGY");
    int32_t *group_of[LEVELS] = {NULL};
    int32_t *nodes =
        oracle_gather_value(&test->oracle, test->world, test->place.node);
    int32_t *domains =
        oracle_gather_value(&test->oracle, test->world, test->place.numa);
    int32_t *locals =
        oracle_gather_value(&test->oracle, test->world, test->place.local_rank);
    for (int level = CATENA_LEVEL_NODE; level < LEVELS; level++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_split_level(
                             test->world, (catena_level_t)level,
                             -test->place.rank, &group) == CATENA_OK);
        if (group == NULL) {
            goto end; /* so do all */
        }
        group_of[level] = oracle_gather_value(&test->oracle, test->world,
                                              first_member(test, group));
        if (description != NULL) {
            oracle_members_t expected = expect_level(
                test, (catena_level_t)level, description, nodes, locals);
            oracle_group_check(&test->oracle, group, &expected, "level");
            oracle_members_free(&expected);
        }
        oracle_group_free(&test->oracle, group);
    }
    /* A description applies to real machines, not to simulated ones. */
    bool known =
        test->place.numa >= 0 && !(test->simulated && description != NULL);
    expect_nested(test, group_of, nodes, known ? domains : NULL);
end:
    for (int level = 0; level < LEVELS; level++) {
        free(group_of[level]);
    }
    free(nodes);
    free(domains);
    free(locals);
}

/* ---- refused calls ---- */

/** Refused on all ranks: no effect, no output set. */
static void refuse(rank_test_t *test, const catena_split_t *call,
                   const char *what)
{
    catena_group_t *untouched = test->world;
    catena_request_t *request = (void *)test;
    if (catena_group_split_by(test->world, call, &untouched) !=
        CATENA_ERR_ARG) {
        rank_fail(test, "%s: not refused", what);
    }
    if (catena_group_isplit_by(test->world, call, &untouched, &request) !=
        CATENA_ERR_ARG) {
        rank_fail(test, "%s: not refused without blocking", what);
    }
    RANK_CHECK(test, untouched == test->world);
    RANK_CHECK(test, request == (void *)test);
    RANK_CHECK(test, catena_group_split_by(test->world, call, NULL) ==
                         CATENA_ERR_ARG);
}

static void refuse_algorithms(rank_test_t *test)
{
    static const char *const unknown[] = {
        "",           "nonsense", "Hash",        "hash65",      "bitonic ",
        "cheng:",     "cheng:5",  "cheng:127",   "cheng:8193",  "cheng:1024x",
        "cheng:-128", "radix:2",  "cheng:0x400", "cheng: 1024", "allgather-"};
    oracle_split_t split = {.algorithm = "auto"};
    oracle_split_open(&split, test->place.ranks);
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        catena_split_t call = oracle_split_call(&split, test->place.rank);
        call.algorithm = unknown[i];
        refuse(test, &call, unknown[i]);
    }
    oracle_split_close(&split);
}

/** Algorithms that do not support such data. */
static void refuse_misfits(rank_test_t *test)
{
    int refused = 0;
    for (int a = 0; a < ORACLE_SPLIT_ALGORITHMS; a++) {
        for (int orders = 0; orders < ORACLE_ORDERS * ORACLE_ORDERS; orders++) {
            oracle_split_t split = {
                .algorithm = oracle_split_algorithms[a],
                .color_order = (oracle_order_t)(orders % ORACLE_ORDERS),
                .key_order = (oracle_order_t)(orders / ORACLE_ORDERS)};
            if (!oracle_split_fits(&split)) {
                oracle_split_open(&split, test->place.ranks);
                catena_split_t call =
                    oracle_split_call(&split, test->place.rank);
                refuse(test, &call, split.algorithm);
                oracle_split_close(&split);
                refused++;
            }
        }
    }
    RANK_CHECK(test, refused > ORACLE_ORDERS);
}

static void refuse_nothing(rank_test_t *test)
{
    oracle_split_t split = {.algorithm = "auto", .color = ORACLE_COLOR_WORDS};
    oracle_split_open(&split, test->place.ranks);
    catena_split_t call = oracle_split_call(&split, test->place.rank);
    catena_group_t *untouched = test->world;
    refuse(test, NULL, "no split");
    call.color = NULL;
    refuse(test, &call, "no color");
    call = oracle_split_call(&split, test->place.rank);
    call.key = NULL;
    refuse(test, &call, "no key");
    for (int level = 0; level <= LEVELS; level += LEVELS) {
        RANK_CHECK(test,
                   catena_group_split_level(test->world, (catena_level_t)level,
                                            0, &untouched) == CATENA_ERR_ARG);
    }
    RANK_CHECK(test, untouched == test->world);
    oracle_split_close(&split);
}

/* ---- errors on one rank ---- */

static const int64_t number = 7;

static int own_order(const void *a, size_t a_bytes, const void *b,
                     size_t b_bytes, void *argument)
{
    return catena_compare_int64(a, a_bytes, b, b_bytes, argument);
}

static catena_split_t by_numbers(void)
{
    return (catena_split_t){.size = sizeof(catena_split_t),
                            .color = &number,
                            .color_bytes = sizeof(number),
                            .color_compare = catena_compare_int64,
                            .key = &number,
                            .key_bytes = sizeof(number),
                            .key_compare = catena_compare_int64};
}

/** The error of one rank. The last ones are errors only because other ranks
 * pass something else. */
enum {
    BAD_COLOR,
    NO_PLACE,
    NO_PLACE_FOR_ALL,
    NO_LEVEL,
    NO_SPLIT,
    NO_SIZE,
    NEWER,
    BAD_FLAGS,
    NO_LONG_COLOR,
    NO_COMPARATOR,
    OWN_COMPARATOR,
    COMPARATOR_OF_ONE_LEFT_OUT,
    WRONGS
};

/** A struct of a later release, whose new member is set. */
typedef struct newer_split {
    catena_split_t known;
    int64_t member;
} newer_split_t;

static newer_split_t newer_split(void)
{
    newer_split_t newer = {by_numbers(), 1};
    newer.known.size = sizeof(newer);
    return newer;
}

static catena_status_t split_wrongly(catena_group_t *group, int what,
                                     bool wrong, catena_group_t **out)
{
    static const char color[1000];
    catena_split_t call = by_numbers();
    const newer_split_t newer = newer_split();
    switch (what) {
    case BAD_COLOR:
        return catena_group_split(group, wrong ? -5 : 0, 0, out);
    case NO_PLACE:
        return catena_group_split(group, 0, 0, wrong ? NULL : out);
    case NO_PLACE_FOR_ALL:
        return catena_group_dup(group, wrong ? NULL : out);
    case NO_LEVEL:
        return catena_group_split_level(
            group, wrong ? (catena_level_t)LEVELS : CATENA_LEVEL_NODE, 0, out);
    case NO_SIZE:
        call.size = wrong ? 0 : call.size;
        break;
    case NEWER:
        return catena_group_split_by(group, wrong ? &newer.known : &call, out);
    case BAD_FLAGS:
        call.flags = wrong ? 1u << 20 : 0;
        call.algorithm = "allgather-fast";
        break;
    case NO_LONG_COLOR:
        call = (catena_split_t){.size = sizeof(catena_split_t),
                                .color = wrong ? NULL : color,
                                .color_bytes = sizeof(color)};
        break;
    case NO_COMPARATOR:
        call.key_compare = wrong ? NULL : call.key_compare;
        break;
    case OWN_COMPARATOR:
        call.color_compare = wrong ? own_order : call.color_compare;
        break;
    case COMPARATOR_OF_ONE_LEFT_OUT:
        call.key_compare = own_order;
        call = wrong ? (catena_split_t){.size = sizeof(catena_split_t),
                                        .flags = CATENA_SPLIT_UNDEFINED}
                     : call;
        break;
    default:
        break;
    }
    return catena_group_split_by(group,
                                 wrong && what == NO_SPLIT ? NULL : &call, out);
}

/** All calls return, and the ranks can continue. */
static void refuse_alone(rank_test_t *test, int what, int one)
{
    catena_group_t *untouched = test->world;
    bool wrong = test->place.rank == one;
    catena_status_t expected =
        wrong && what == NEWER ? CATENA_ERR_UNSUPPORTED : CATENA_ERR_ARG;
    catena_status_t status =
        split_wrongly(test->world, what, wrong, &untouched);
    if (status != expected || untouched != test->world) {
        rank_fail(test, "error %d on rank %d: %s", what, one,
                  catena_status_string(status));
    }
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
}

/** @param newer the one rank sets an unknown member; else it passes no place
 *         for the request */
static void refuse_one_request(rank_test_t *test, int one, bool newer)
{
    catena_group_t *untouched = test->world;
    catena_request_t *request = NULL;
    catena_split_t call = by_numbers();
    const newer_split_t unknown = newer_split();
    bool wrong = test->place.rank == one;
    catena_status_t expected =
        wrong && newer ? CATENA_ERR_UNSUPPORTED : CATENA_ERR_ARG;
    catena_status_t status = catena_group_isplit_by(
        test->world, wrong && newer ? &unknown.known : &call, &untouched,
        wrong && !newer ? NULL : &request);
    if (!wrong) {
        RANK_CHECK(test, status == CATENA_OK);
        status = catena_request_wait(&request);
    }
    RANK_CHECK(test, status == expected && untouched == test->world);
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
}

/** A rank in no group needs only the comparators that other ranks might need
 * from it. */
static void accept_left_out(rank_test_t *test)
{
    catena_group_t *made = NULL;
    catena_split_t call = {.size = sizeof(call),
                           .flags = CATENA_SPLIT_UNDEFINED};
    if (test->place.rank % 2 == 0) {
        call = by_numbers();
    }
    RANK_CHECK(test,
               catena_group_split_by(test->world, &call, &made) == CATENA_OK);
    RANK_CHECK(test, (made != NULL) == (test->place.rank % 2 == 0));
    oracle_group_free(&test->oracle, made);
}

static void refuse_on_one(rank_test_t *test)
{
    int size = test->place.ranks;
    const int ones[] = {0, size / 2, size - 1};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < (size > 1 ? WRONGS : NO_COMPARATOR); k++) {
            refuse_alone(test, k, ones[i]);
        }
        refuse_one_request(test, ones[i], false);
        refuse_one_request(test, ones[i], true);
        accept_left_out(test);
    }
}

static void works(rank_test_t *test)
{
    oracle_split_t split = {.algorithm = "auto", .color = ORACLE_COLOR_WORDS};
    oracle_split_world(&test->oracle, &split);
}

static const rank_case_t cases[] = {
    {"levels", levels},
    {"unknown algorithms", refuse_algorithms},
    {"algorithms for other data", refuse_misfits},
    {"nothing", refuse_nothing},
    {"wrong on one rank", refuse_on_one},
    {"after refusals", works},
    {NULL, NULL}};
const rank_suite_t rank_suite_splitbad = {.name = "splitbad", .cases = cases};
