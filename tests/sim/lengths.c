/* Calls with a wrong length, as a kind of runs drawn from seeds: some rank
 * reports each, nothing is written outside the receive blocks, and unless the
 * mismatch ended all operations the next call works. */

#include <stdlib.h>

#include "sim/random.h"

enum { WRONG_CALLS = 5 };

/** What the ranks found, for each wrong call. */
typedef struct found {
    unsigned reports[WRONG_CALLS]; /* ranks that got an error */
    unsigned passed[WRONG_CALLS];  /* ranks that have completed the next call */
} found_t;

/** One call; the same on all ranks but for `own`. */
typedef struct wrong {
    oracle_case_t c;
    catena_group_t *group;
    size_t usual; /* elements */
    size_t own;   /* elements of this rank */
    size_t victim;
    uint64_t shape;
} wrong_t;

static bool has_one_length(unsigned kind)
{
    return kind == ORACLE_BCAST || kind == ORACLE_ALLTOALL ||
           oracle_reduces(kind);
}

static oracle_call_t call_of(rank_test_t *test, const wrong_t *w, bool right)
{
    unsigned kind = w->c.value[ORACLE_KIND];
    size_t own = right ? w->usual : w->own;
    return (oracle_call_t){
        .c = w->c,
        .group = w->group,
        .table = rank_table(test),
        .exactly = has_one_length(kind) ? own : w->usual,
        .shape = w->shape,
        .apart = w->usual + 64,
        .wrong_by =
            has_one_length(kind) ? 0 : (ptrdiff_t)own - (ptrdiff_t)w->usual,
        .wrong_to = w->victim};
}

static catena_status_t call_once(rank_test_t *test, const wrong_t *w,
                                 bool right)
{
    const oracle_t *oracle = &test->oracle;
    oracle_call_t call = call_of(test, w, right);
    oracle_call_open(oracle, &call);
    oracle_call_fill(&call, w->shape + right);
    catena_status_t status = oracle_call_run(oracle, &call);
    if (right && status == CATENA_OK) {
        oracle_call_check(oracle, &call, "the next call: ");
    } else {
        oracle_call_check_around(oracle, &call, "a wrong length: ");
    }
    oracle_call_close(oracle, &call);
    return status;
}

/** Any length, and another one of a single rank. */
static void draw_wrong(rank_test_t *test, wrong_t *w, uint64_t *random)
{
    static const size_t lengths[] = {1,    8,     100,   113,   1000,  3000,
                                     8192, 20000, 32000, 40000, 70000, 160000};
    enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
    size_t size = (size_t)test->place.ranks;
    size_t odd = ctn_random_below(random, size);
    size_t most = size > 40 ? 4 : size > 16 ? 7 : LENGTHS;
    unsigned kind;
    do {
        kind = 1 + (unsigned)ctn_random_below(random, ORACLE_KINDS - 1);
        oracle_draw(&w->c, kind, true, random);
    } while (kind == ORACLE_BARRIER || kind == ORACLE_REDUCE_SCATTER);
    uint8_t *value = w->c.value;
    value[ORACLE_MODE] = ORACLE_BLOCKING;
    value[ORACLE_PLACE] = ORACLE_APART;
    value[ORACLE_TYPE] =
        kind == ORACLE_ALLTOALLW ? ORACLE_RESIZED : ORACLE_BYTE;
    value[ORACLE_OP] = oracle_reduces(kind) ? ORACLE_BXOR : ORACLE_NO_OP;
    value[ORACLE_ELEMENT] = ORACLE_PLAIN;
    if (kind == ORACLE_BCAST || kind == ORACLE_SCAN || kind == ORACLE_EXSCAN) {
        value[ORACLE_ROOT] = ORACLE_FIRST; /* rank 0 would notice nothing */
        odd += odd == 0;
    }
    size_t unit = oracle_unit_bytes(value[ORACLE_TYPE]);
    size_t bytes = lengths[ctn_random_below(random, most)];
    size_t by = 1 + bytes / unit / 20;
    w->usual = 2 + bytes / unit;
    const size_t wrong[] = {w->usual + by, w->usual - by, 2 * w->usual,
                            w->usual / 2};
    size_t other = wrong[ctn_random_below(random, 4)];
    w->own = (size_t)test->place.rank == odd ? other : w->usual;
    w->victim = odd > 0 ? odd - 1 : size - 1;
    w->shape = ctn_random(random);
}

void wrong_lengths(rank_test_t *test, draw_t *draw, uint64_t random)
{
    catena_status_t status = CATENA_OK;
    if (draw->shared == NULL) {
        draw->shared = calloc(1, sizeof(found_t));
        draw->asked = draw->ranks;
    }
    found_t *found = draw->shared;
    for (int i = 0; i < WRONG_CALLS && draw->ranks > 1; i++) {
        wrong_t w;
        draw_wrong(test, &w, &random);
        pause_somewhere(test, random);
        if (catena_group_dup(test->world, &w.group) != CATENA_OK) {
            break;
        }
        oracle_choose_hierarchy(&test->oracle, &w.c, w.group);
        oracle_choose_algorithm(&test->oracle, &w.c, w.group);
        for (int call = 0; call < 2; call++) {
            status = call_once(test, &w, call == 1);
            found->reports[i] += status != CATENA_OK;
            if (status == CATENA_ERR_ENDED) {
                break;
            }
            RANK_CHECK(test, status == CATENA_OK ||
                                 (call == 0 && status == CATENA_ERR_ARG));
        }
        (void)catena_group_free(&w.group);
        if (status == CATENA_ERR_ENDED) {
            break;
        }
        found->passed[i]++;
    }
    if (--draw->asked == 0) {
        for (int i = 0; i < WRONG_CALLS; i++) {
            RANK_CHECK(test, found->passed[i] < (unsigned)draw->ranks ||
                                 found->reports[i] > 0);
        }
        free(found);
        draw->shared = NULL;
    }
}
