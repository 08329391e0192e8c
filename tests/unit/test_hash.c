/* Splits by hash and by radix, on simulated ranks, against an oracle that
 * counts: colors and keys of every kind, and colors made to collide. usage:
 * test_hash, or as a rank under a launcher: test_hash --rank */

#include <stdlib.h>
#include <string.h>

#include "split_case.h"
#include "split_values.h"
#include "unit.h"

enum {
    MEMBERS_MAX = 1024,
    SCANS = 6 /* over a chain that is made: more than there are rings */
};

/** What the ranks, which are one process, are given and leave. */
typedef struct member {
    value_t color; /* count CTN_NO_COLOR: none */
    value_t key;
    int64_t number[2]; /* that of color and key, where they are integers */
    catena_status_t status;
    ctn_chain_t chain;
    uint64_t rounds;
    uint64_t messages;
} member_t;

typedef ctn_op_t *(*algorithm_t)(const ctn_splitting_t *splitting);

/** The run at hand. */
static struct {
    const char *name;
    algorithm_t algorithm;
    catena_compare_t color_compare;
    catena_compare_t key_compare;
    bool reorder;
    bool plain;
    bool in_place;
    catena_status_t expected;
    member_t member[MEMBERS_MAX];
} run;

/* ---- a rank ---- */

static void split(job_t *job, member_t *member, ctn_lane_t *parent,
                  ctn_lane_t *lane)
{
    value_t no_key = {NULL, 0};
    ctn_record_t *record = split_record(parent, lane, member->color,
                                        run.reorder ? member->key : no_key);
    ctn_splitting_t splitting = {
        .parent = parent,
        .lane = lane,
        .by = {job->exec, run.color_compare, run.key_compare, NULL},
        .record = record,
        .reorder = run.reorder,
        .plain = run.plain,
    };
    ctn_tally_t before = job->exec->tally;
    member->status = ctn_op_run(run.algorithm(&splitting));
    member->rounds = job->exec->tally.rounds - before.rounds;
    member->messages = job->exec->tally.messages - before.messages;
    member->chain = lane->chain;
    free(record);
}

/** One after the other, until a rank dies. */
static void split_until_death(job_t *job)
{
    member_t *member = &run.member[job->rank];
    do {
        catena_group_t *made = NULL;
        if (ctn_group_create(job->exec, &made) != CATENA_OK) {
            return;
        }
        split(job, member, job->lane, &made->lane);
        ctn_group_release(made);
    } while (member->status == CATENA_OK);
}

static void split_world(job_t *job)
{
    member_t *member = &run.member[job->rank];
    split_target_t target = split_open(job, run.in_place);
    split(job, member, target.parent, target.lane);
    if (member->status == CATENA_OK) {
        split_check_chain(job, target.lane, SCANS);
    }
    split_close(job, &target, member->status);
}

/* ---- the oracle ---- */

static int compare_values(catena_compare_t compare, value_t a, value_t b)
{
    return compare != NULL
               ? compare(a.bytes, a.count, b.bytes, b.count, NULL)
               : ctn_compare_bytes(a.bytes, a.count, b.bytes, b.count);
}

static bool same_color(const member_t *a, const member_t *b)
{
    return a->color.count == b->color.count &&
           (a->color.count == CTN_NO_COLOR ||
            compare_values(NULL, a->color, b->color) == 0);
}

/** Whether `b` comes before `a` in their group. */
static bool is_before(const member_t *b, const member_t *a)
{
    int order =
        run.reorder ? compare_values(run.key_compare, b->key, a->key) : 0;
    return order < 0 || (order == 0 && b < a);
}

/** Its place, by counting, and those next to it. */
static void check_member(const member_t *a, uint32_t members)
{
    uint32_t size = 0;
    uint32_t rank = 0;
    const member_t *left = NULL;
    const member_t *right = NULL;
    for (uint32_t j = 0; j < members; j++) {
        const member_t *b = &run.member[j];
        if (!same_color(a, b)) {
            continue;
        }
        size++;
        if (is_before(b, a)) {
            rank++;
            left = left == NULL || is_before(left, b) ? b : left;
        } else if (b != a) {
            right = right == NULL || is_before(b, right) ? b : right;
        }
    }
    ck_assert_uint_eq(a->chain.size, size);
    ck_assert_uint_eq(a->chain.rank, rank);
    ck_assert(left != NULL ? split_same_address(a->chain.left, left->chain.self)
                           : !ctn_address_exists(a->chain.left));
    ck_assert(right != NULL
                  ? split_same_address(a->chain.right, right->chain.self)
                  : !ctn_address_exists(a->chain.right));
}

static void go(uint32_t members, uint64_t seed)
{
    ck_assert_msg(job_simulate(members, seed, split_world) == 0,
                  "%s of %u, seed %llu", run.name, members,
                  (unsigned long long)seed);
    for (uint32_t i = 0; i < members; i++) {
        ck_assert_int_eq(run.member[i].status, run.expected);
        if (run.expected == CATENA_OK) {
            check_member(&run.member[i], members);
        }
    }
}

/* ---- colors ---- */

enum {
    ONE,
    ALL_DIFFERENT,
    FEW,
    MANY,
    MOSTLY_ONE,
    EXTREMES,
    OR_NOTHING,
    INTEGERS, /* up to here */
    PREFIXES = INTEGERS,
    SAME_BINS,
    SAME_HASH,
    LONG,
    COLORS
};

static value_t draw_color(int kind, uint64_t *random, uint32_t members,
                          uint32_t rank, int64_t *place)
{
    static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -1,       0,
                                       1,         INT64_MAX - 1, INT64_MAX};
    static const char *const prefixes[] = {"", "a", "aa", "aaa", "ab", "b"};
    uint64_t drawn = job_random(random);
    switch (kind) {
    case ONE:
        return value_of_number(place, 42);
    case ALL_DIFFERENT:
        return value_of_number(place, -(int64_t)rank);
    case FEW:
        return value_of_number(place, (int64_t)(drawn % 5) - 2);
    case MANY:
        return value_of_number(place, (int64_t)(drawn % members * 0x100000001));
    case MOSTLY_ONE:
        return value_of_number(place, drawn % 16 == 0 ? (int64_t)rank : -7);
    case EXTREMES:
        return value_of_number(place, extremes[drawn % 7]);
    case OR_NOTHING:
        return drawn % 4 == 0 ? value_of_text("")
                              : value_of_number(place, (int64_t)drawn % 3);
    case PREFIXES:
        return value_of_text(prefixes[drawn % 6]);
    case SAME_BINS:
        return value_in_same_bins((unsigned)drawn);
    case SAME_HASH:
        return value_of_same_hash((unsigned)drawn);
    default:
        return value_that_is_long((unsigned)drawn);
    }
}

/* ---- keys ---- */

enum {
    NO_KEYS,
    EQUAL,
    ORDERED,
    REVERSED,
    SHUFFLED,
    KEY_EXTREMES,
    KEY_OR_NOTHING,
    INTEGER_KEYS,
    BYTES = INTEGER_KEYS,
    BACKWARDS,
    LONG_KEYS,
    KEYS
};

static value_t draw_key(int kind, uint64_t *random, uint32_t rank,
                        int64_t *place)
{
    static const char *const letters[] = {"", "k", "kk", "l"};
    uint64_t drawn = job_random(random);
    switch (kind) {
    case NO_KEYS:
    case EQUAL:
        return value_of_number(place, 7);
    case ORDERED:
        return value_of_number(place, (int64_t)rank / 2 - 3);
    case REVERSED:
        return value_of_number(place, -(int64_t)rank);
    case SHUFFLED:
        return value_of_number(place, (int64_t)drawn);
    case KEY_EXTREMES:
        return value_of_number(place, drawn % 3 == 0   ? INT64_MIN
                                      : drawn % 3 == 1 ? INT64_MAX
                                                       : 0);
    case KEY_OR_NOTHING:
        return drawn % 4 == 0 ? value_of_text("")
                              : value_of_number(place, (int64_t)drawn % 3);
    case LONG_KEYS:
        return value_that_is_long((unsigned)drawn);
    default:
        return value_of_text(letters[drawn % 4]);
    }
}

/* ---- runs ---- */

typedef struct candidate {
    const char *name;
    algorithm_t algorithm;
    int colors; /* kinds of them that it takes */
    int keys;
} candidate_t;

enum { HASH, HASH64, RADIX, RADIX_PLAIN, CANDIDATES };

static const candidate_t candidates[CANDIDATES] = {
    [HASH] = {"hash", ctn_split_hash, COLORS, KEYS},
    [HASH64] = {"hash64", ctn_split_hash64, COLORS, KEYS},
    [RADIX] = {"radix", ctn_split_radix, INTEGERS, INTEGER_KEYS},
    [RADIX_PLAIN] = {"radix-plain", ctn_split_radix, INTEGERS, INTEGER_KEYS},
};

static void prepare(const candidate_t *candidate, uint32_t members, int color,
                    int key, uint64_t seed)
{
    uint64_t random = seed * 7919 + members;
    uint64_t undefined = job_random(&random) % 3;
    run.name = candidate->name;
    run.algorithm = candidate->algorithm;
    run.plain = candidate == &candidates[RADIX_PLAIN];
    run.color_compare = color < INTEGERS ? catena_compare_int64 : NULL;
    run.key_compare = key < INTEGER_KEYS ? catena_compare_int64
                      : key == BACKWARDS ? split_compare_backwards
                                         : NULL;
    run.reorder = key != NO_KEYS;
    run.in_place = job_random(&random) % 2 == 0;
    run.expected = CATENA_OK;
    memset(run.member, 0, sizeof(run.member));
    for (uint32_t i = 0; i < members; i++) {
        member_t *member = &run.member[i];
        member->color =
            draw_color(color, &random, members, i, &member->number[0]);
        member->key = draw_key(key, &random, i, &member->number[1]);
        if (undefined == 0 && job_random(&random) % 4 == 0) {
            member->color.count = CTN_NO_COLOR;
        }
    }
}

/** Of the longest colors in a few runs only: they are large. */
START_TEST(all_numbers_of_members)
{
    const candidate_t *candidate = &candidates[_i];
    for (uint32_t members = 1; members <= 70; members++) {
        for (uint32_t i = 0; i < 5; i++) {
            int color = (int)((members * 5 + i) % (uint32_t)candidate->colors);
            int key = (int)((members + i * 3) % (uint32_t)candidate->keys);
            if ((color != LONG && key != LONG_KEYS) || members < 20) {
                prepare(candidate, members, color, key, members);
                go(members, i);
            }
        }
    }
}
END_TEST

START_TEST(many_members)
{
    static const uint32_t numbers[] = {97, 128, 200};
    const candidate_t *candidate = &candidates[_i];
    for (int i = 0; i < 3; i++) {
        for (int color = 0; color < candidate->colors; color++) {
            int key = (color + i * 4) % candidate->keys;
            if (color != LONG && key != LONG_KEYS) {
                prepare(candidate, numbers[i], color, key, (uint64_t)key);
                go(numbers[i], (uint64_t)color);
            }
        }
    }
}
END_TEST

START_TEST(a_thousand_members)
{
    const candidate_t *candidate = &candidates[_i];
    prepare(candidate, 1024, MANY, SHUFFLED, 1);
    go(1024, 1);
    prepare(candidate, 1024, FEW, NO_KEYS, 2);
    go(1024, 2);
}
END_TEST

/** What it is for: one color, keys in order already, takes a scan and no more,
 * the more so without keys. */
START_TEST(nothing_to_do_is_one_scan)
{
    static const int kinds[] = {NO_KEYS, EQUAL, ORDERED};
    for (int i = 0; i < 3; i++) {
        prepare(&candidates[HASH], 100, ONE, kinds[i], 1);
        for (int r = 0; r < 100; r++) {
            run.member[r].color.count = sizeof(int64_t);
        }
        go(100, 3);
        for (int r = 0; r < 100; r++) {
            ck_assert_uint_le(run.member[r].rounds, 7);
            ck_assert_uint_le(run.member[r].messages, 14);
        }
    }
}
END_TEST

/** What one of them gets wrong is refused by all. */
START_TEST(radix_takes_integers)
{
    static const int64_t number_of_9[2];
    for (uint32_t members = 1; members < 20; members++) {
        for (uint32_t i = 0; i < 4; i++) {
            prepare(&candidates[RADIX], members, FEW, SHUFFLED, members);
            member_t *member = &run.member[members * i / 4];
            value_t *value = i % 2 == 0 ? &member->color : &member->key;
            *value = (value_t){number_of_9, i < 2 ? 9 : 4};
            run.expected = CATENA_ERR_ARG;
            go(members, i);
        }
    }
}
END_TEST

/** A rank dies somewhere in between: the others see it, nothing crashes. */
START_TEST(a_member_dies)
{
    for (uint64_t seed = 1; seed <= 15; seed++) {
        prepare(&candidates[_i], 12, seed % 3 == 0 ? ONE : MANY,
                seed % 2 == 0 ? SHUFFLED : NO_KEYS, seed);
        job_simulate_death(12, seed, 500 + seed * seed * 40, split_until_death);
    }
}
END_TEST

/* ---- under a launcher ---- */

static void everything(job_t *job)
{
    for (int i = 0; i < CANDIDATES; i++) {
        for (int color = 0; color < candidates[i].colors; color++) {
            prepare(&candidates[i], job->size, color,
                    color % candidates[i].keys, (uint64_t)color);
            split_world(job);
            JOB_CHECK(job, run.member[job->rank].status == CATENA_OK);
        }
    }
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, all_numbers_of_members, 0, CANDIDATES);
    tcase_add_loop_test(tcase, many_members, 0, CANDIDATES);
    tcase_add_loop_test(tcase, a_thousand_members, 0, CANDIDATES);
    tcase_add_test(tcase, nothing_to_do_is_one_scan);
    tcase_add_test(tcase, radix_takes_integers);
    tcase_add_loop_test(tcase, a_member_dies, 0, CANDIDATES);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv) ? job_rank(1, everything)
                                   : unit_main("hash", 100, add_cases);
}
