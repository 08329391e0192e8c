/* The split algorithms with arbitrary data, on chains of simulated ranks: the
 * chains that they create against the oracle, which cannot be checked from
 * outside; also in place, with few sorters, with inconsistent comparators, and
 * when a rank dies. usage: test_split, or as a rank under a launcher:
 * test_split --rank */

#include <stdlib.h>
#include <string.h>

#include "oracle/random.h"
#include "oracle/split/split.h"
#include "split/algorithms.h"
#include "unit/job.h"
#include "unit/unit.h"

enum {
    MEMBERS = 1024,
    SCANS = 6, /* on a new chain: more than generations */
    FEW_ROUNDS = 7
};

typedef struct algorithm {
    const char *name; /* by which the oracle knows its limits */
    ctn_op_t *(*create)(const ctn_split_args_t *args);
    uint32_t most;
} algorithm_t;

static const algorithm_t algorithms[] = {
    {"bitonic", ctn_split_bitonic, 0},
    {"gather-scatter", ctn_split_gather_scatter, 0},
    {"cheng", ctn_split_cheng, 1},
    {"cheng", ctn_split_cheng, 4},
    {"cheng", ctn_split_cheng, 24},
    {"cheng", ctn_split_cheng, 128},
    {"hash", ctn_split_hash, 0},
    {"hash-plain", ctn_split_hash_plain, 0},
    {"hash64", ctn_split_hash64, 0},
    {"radix", ctn_split_radix, 0},
    {"radix-plain", ctn_split_radix, 0},
};

enum {
    ALGORITHMS = sizeof(algorithms) / sizeof(algorithms[0]),
    HASH = 6,
    RADIX = 9
};

/** The current run, whose ranks are one process, and its results. */
static struct {
    const algorithm_t *algorithm;
    oracle_split_t split;
    bool in_place;
    bool inconsistent_color_order, inconsistent_key_order;
    int inconsistency;
    struct member {
        catena_status_t status;
        ctn_chain_place_t place;
        uint64_t rounds;
    } member[MEMBERS];
} run;

/* ---- a rank ---- */

/** Return the record of a member of `parent` for a split into `chain`, in the
 * heap; to be freed as scratch memory. */
static ctn_record_t *record_of(const job_t *job, const ctn_chain_t *parent,
                               const ctn_chain_t *chain, size_t *bytes)
{
    const oracle_item_t *item = &run.split.item[job->rank];
    bool reorder = (run.split.flags & CATENA_SPLIT_NO_REORDER) == 0;
    size_t color_bytes = item->left_out ? 0 : item->color_bytes;
    size_t key_bytes = reorder ? item->key_bytes : 0;
    *bytes = sizeof(ctn_record_t) + color_bytes + key_bytes + 8;
    ctn_record_t *record = ctn_scratch_alloc(job->exec, *bytes);
    memset(record, 0, *bytes);
    record->rank = parent->place.rank;
    record->process = (uint32_t)chain->place.self.process;
    record->offset = chain->place.self.offset;
    record->color_bytes = item->left_out ? CTN_NO_COLOR : (uint32_t)color_bytes;
    record->key_bytes = (uint32_t)key_bytes;
    memcpy(record->data, item->color, color_bytes);
    memcpy(record->data + color_bytes, item->key, key_bytes);
    return record;
}

static catena_status_t split(job_t *job, ctn_chain_t *parent,
                             ctn_chain_t *chain)
{
    catena_split_t call = oracle_split_call(&run.split, (int)job->rank);
    oracle_liar_t inconsistency = {.way = run.inconsistency,
                                   .random = job->rank,
                                   .turned = job->rank % 2 == 1};
    bool inconsistent =
        run.inconsistent_color_order || run.inconsistent_key_order;
    size_t bytes;
    ctn_record_t *record = record_of(job, parent, chain, &bytes);
    ctn_split_args_t args = {
        .parent = parent,
        .chain = chain,
        .by = {job->exec,
               run.inconsistent_color_order ? oracle_lie : call.color_compare,
               run.inconsistent_key_order ? oracle_lie : call.key_compare,
               inconsistent ? (void *)&inconsistency : call.argument},
        .record = record,
        .reorder = (run.split.flags & CATENA_SPLIT_NO_REORDER) == 0,
        .most = run.algorithm->most,
        .every_bit = strcmp(run.algorithm->name, "radix-plain") == 0,
    };
    catena_status_t status =
        ctn_op_run(job->exec, run.algorithm->create(&args));
    ctn_scratch_free(job->exec, record, bytes);
    return status;
}

/** The chain is connected, and its members agree on sequence numbers. */
static void check_chain(job_t *job, ctn_chain_t *chain)
{
    ctn_words_t left, right;
    for (int i = 0; i < SCANS; i++) {
        ctn_words_t own = {{1}};
        JOB_CHECK(job, ctn_op_run(job->exec, ctn_scan_create(
                                                 job->exec, chain, ctn_fold_sum,
                                                 &own, &left, &right,
                                                 sizeof(own))) == CATENA_OK);
        JOB_CHECK(job, left.word[0] == chain->place.rank);
        JOB_CHECK(job, left.word[0] + 1 + right.word[0] == chain->place.size);
    }
}

static void split_world(job_t *job)
{
    struct member *member = &run.member[job->rank];
    catena_group_t *made = NULL;
    uint64_t memory = job->exec->tally.memory;
    JOB_CHECK(job, (run.in_place ? catena_group_dup(job->context->world, &made)
                                 : ctn_group_create(job->exec, job->size,
                                                    &made)) == CATENA_OK);
    ctn_chain_t *chain = &made->chain;
    uint64_t rounds = job->exec->tally.rounds;
    member->status = split(job, run.in_place ? chain : job->chain, chain);
    member->rounds = job->exec->tally.rounds - rounds;
    member->place = chain->place;
    if (member->status == CATENA_OK) {
        check_chain(job, chain);
        if (!run.inconsistent_color_order && !run.inconsistent_key_order) {
            /* what is in order already stays unchanged */
            JOB_CHECK(job, split(job, chain, chain) == CATENA_OK);
            JOB_CHECK(job, memcmp(&member->place, &chain->place,
                                  sizeof(chain->place)) == 0);
            check_chain(job, chain);
        }
    }
    if (member->status == CATENA_OK || run.in_place) {
        JOB_CHECK(job, catena_group_free(&made) == CATENA_OK);
    } else {
        ctn_group_release(made); /* not used yet */
    }
    ctn_log_chain_drop(job->chain);
    ctn_backoff_t backoff = {0};
    while (job->exec->background != NULL) { /* until the teardown is complete */
        ctn_exec_poll_or_idle(job->exec, &backoff);
    }
    JOB_CHECK(job, job->exec->tally.memory == memory);
}

/* ---- chains ---- */

static bool same(ctn_address_t a, ctn_address_t b)
{
    return a.process == b.process &&
           (a.process == CTN_NO_PROCESS || a.offset == b.offset);
}

/** Find the member at an address; `members`: there is none. */
static uint32_t find(uint32_t members, ctn_address_t address)
{
    uint32_t i = 0;
    while (i < members && !same(run.member[i].place.self, address)) {
        i++;
    }
    return i;
}

/** Neighbors are neighbors of each other, with consistent ranks and sizes;
 * members without a color are in chains of their own. */
static void check_links(uint32_t members)
{
    for (uint32_t i = 0; i < members; i++) {
        const ctn_chain_place_t *place = &run.member[i].place;
        ck_assert_int_eq(place->rank == 0, !ctn_address_exists(place->left));
        ck_assert_int_eq(place->rank + 1 == place->size,
                         !ctn_address_exists(place->right));
        if (!ctn_address_exists(place->right)) {
            continue;
        }
        uint32_t next = find(members, place->right);
        ck_assert_uint_lt(next, members);
        const ctn_chain_place_t *right = &run.member[next].place;
        ck_assert_uint_eq(right->rank, place->rank + 1);
        ck_assert_uint_eq(right->size, place->size);
        ck_assert(same(right->left, place->self));
        ck_assert_int_eq(run.split.item[i].left_out,
                         run.split.item[next].left_out);
    }
}

static void check_order(uint32_t members)
{
    oracle_members_t world = oracle_members_world((int)members);
    for (uint32_t i = 0; i < members; i++) {
        if (run.split.item[i].left_out) {
            continue;
        }
        const ctn_chain_place_t *place = &run.member[i].place;
        oracle_members_t expected =
            oracle_split_expect(&run.split, &world, (int)i);
        ck_assert_int_eq((int)place->size, expected.size);
        ck_assert_int_lt((int)place->rank, expected.size);
        ck_assert_int_eq(expected.rank[place->rank], (int)i);
        oracle_members_free(&expected);
    }
    oracle_members_free(&world);
}

/* ---- runs ---- */

static void prepare(const algorithm_t *algorithm, uint32_t members,
                    uint64_t seed)
{
    uint64_t random = seed * 31 + members;
    memset(&run, 0, offsetof(__typeof__(run), member));
    run.algorithm = algorithm;
    run.split.algorithm = algorithm->name;
    oracle_split_draw(&run.split, &random, members > 20 ? 300 : 100000);
    run.split.flags &= ~(unsigned)CATENA_SPLIT_NO_SPLIT; /* set by the caller */
    run.in_place = ctn_random_below(&random, 2) == 0;
}

/** All members end with the given status. */
static void go(uint32_t members, uint64_t seed, catena_status_t expected)
{
    char text[200];
    oracle_split_describe(&run.split, text, sizeof(text));
    ck_assert_msg(job_simulate(members, seed, split_world) == 0,
                  "%u ranks, seed %llu: %s", members, (unsigned long long)seed,
                  text);
    for (uint32_t i = 0; i < members; i++) {
        ck_assert_msg(run.member[i].status == expected, "%u ranks: %s: %s",
                      members, text,
                      catena_status_string(run.member[i].status));
    }
    if (expected == CATENA_OK) {
        check_links(members);
    }
}

static void run_honest(const algorithm_t *algorithm, uint32_t members,
                       uint64_t seed)
{
    prepare(algorithm, members, seed);
    oracle_split_open(&run.split, (int)members);
    go(members, seed, CATENA_OK);
    check_order(members);
    oracle_split_close(&run.split);
}

START_TEST(all_numbers_of_members)
{
    for (uint32_t members = 1; members <= 70;
         members += (1 + members / 20) * (uint32_t)unit_step(7)) {
        run_honest(&algorithms[_i], members, members);
    }
}
END_TEST

START_TEST(many_members)
{
    static const uint32_t members[] = {97, 128};
    int step = unit_step(2);
    for (int i = _i % step; i < 2; i += step) {
        run_honest(&algorithms[_i], members[i], (uint64_t)i + 3);
    }
}
END_TEST

/** Not with as many sorters, each of which writes to all others, nor with as
 * many passes. */
START_TEST(a_thousand_members)
{
    const algorithm_t *algorithm = &algorithms[_i];
    bool few = (algorithm->most > 0 && algorithm->most < 16) || _i > RADIX;
    run_honest(algorithm, few ? 130 : MEMBERS, 5);
}
END_TEST

/** All members end, either all with an error or all with consistent chains. */
START_TEST(inconsistent_comparators)
{
    for (uint64_t seed = 1; seed <= 20; seed += unit_step(10)) {
        uint32_t members = (uint32_t)(seed * seed % 70) + 2;
        bool takes_bytes = _i >= HASH;
        prepare(&algorithms[_i], members, seed);
        run.inconsistent_color_order = !takes_bytes && seed % 3 != 0;
        run.inconsistent_key_order =
            _i < RADIX && (takes_bytes || seed % 3 != 1);
        run.inconsistency = (int)(seed % ORACLE_LIARS);
        oracle_split_open(&run.split, (int)members);
        ck_assert_int_eq(job_simulate(members, seed, split_world), 0);
        catena_status_t status = run.member[0].status;
        ck_assert(status == CATENA_OK || status == CATENA_ERR_ARG);
        for (uint32_t i = 0; i < members; i++) {
            ck_assert_int_eq(run.member[i].status, status);
        }
        if (status == CATENA_OK) {
            check_links(members);
        }
        oracle_split_close(&run.split);
    }
}
END_TEST

/** The purpose of hash: one color and keys in order already take a single scan,
 * also without keys. */
START_TEST(nothing_to_do_is_one_scan)
{
    static const oracle_key_t keys[] = {ORACLE_KEY_EQUAL, ORACLE_KEY_RISING,
                                        ORACLE_KEY_FALLING};
    for (int i = 0; i < 3; i++) {
        prepare(&algorithms[HASH], 100, 1);
        run.split =
            (oracle_split_t){.algorithm = "hash",
                             .key = keys[i],
                             .key_order = ORACLE_ORDER_INT64,
                             .color_order = ORACLE_ORDER_INT64,
                             .flags = i == 2 ? CATENA_SPLIT_NO_REORDER : 0};
        oracle_split_open(&run.split, 100);
        go(100, 3, CATENA_OK);
        for (int r = 0; r < 100; r++) {
            ck_assert_uint_le(run.member[r].rounds, FEW_ROUNDS);
        }
        oracle_split_close(&run.split);
    }
}
END_TEST

/** hash-plain compares the colors of a chain that a pass has left as it was:
 * one round to the right, and an allreduce. The first member, which has a
 * partner in every round, takes them all. */
START_TEST(plain_compares_after_a_pass)
{
    static const struct {
        oracle_color_t color;
        uint32_t members;
        uint64_t least, most; /* rounds of the first member */
    } cases[] = {{ORACLE_COLOR_SAME, 100, 7 + 1 + 7, 7 + 1 + 7},
                 {ORACLE_COLOR_SAME, 1, 0, 0},
                 {ORACLE_COLOR_DIFFERENT, 64, 6 + 2, 6 + 5 + 4 + 3 + 2 + 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        prepare(&algorithms[HASH + 1], cases[i].members, 1);
        run.split = (oracle_split_t){.algorithm = "hash-plain",
                                     .color = cases[i].color,
                                     .color_order = ORACLE_ORDER_INT64,
                                     .flags = CATENA_SPLIT_NO_REORDER};
        oracle_split_open(&run.split, (int)cases[i].members);
        go(cases[i].members, 3, CATENA_OK);
        ck_assert_uint_ge(run.member[0].rounds, cases[i].least);
        ck_assert_uint_le(run.member[0].rounds, cases[i].most);
        oracle_split_close(&run.split);
    }
}
END_TEST

/** All members reject a value that is wrong on one of them. */
START_TEST(radix_takes_integers)
{
    for (uint32_t members = 1; members < 20;
         members += (uint32_t)unit_step(10)) {
        for (uint32_t i = 0; i < 4; i++) {
            prepare(&algorithms[RADIX], members, members);
            run.split.left_out = ORACLE_OUT_NONE;
            run.split.flags = 0;
            oracle_split_open(&run.split, (int)members);
            oracle_item_t *item = &run.split.item[members * i / 4];
            item->color = realloc(item->color, 9);
            item->key = realloc(item->key, 9);
            memset(item->color, 0, 9);
            memset(item->key, 0, 9);
            *(i % 2 == 0 ? &item->color_bytes : &item->key_bytes) =
                i < 2 ? 9 : 4;
            go(members, i, CATENA_ERR_ARG);
            oracle_split_close(&run.split);
        }
    }
}
END_TEST

/* ---- a rank dies ---- */

static void split_until_death(job_t *job)
{
    struct member *member = &run.member[job->rank];
    member->status = CATENA_OK;
    while (member->status == CATENA_OK) {
        catena_group_t *made = NULL;
        member->status = ctn_group_create(job->exec, job->size, &made);
        JOB_CHECK(job, member->status == CATENA_OK);
        member->status = split(job, job->chain, &made->chain);
        if (member->status == CATENA_OK) {
            member->status = catena_group_free(&made);
        } else {
            ctn_group_release(made);
        }
    }
}

/** The remaining ranks detect it. */
START_TEST(a_rank_dies)
{
    enum { RANKS = 13 };
    int saw = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        prepare(&algorithms[_i], RANKS, seed);
        oracle_split_open(&run.split, RANKS);
        job_simulate_death(RANKS, seed, 400 + seed * seed * 17,
                           split_until_death);
        oracle_split_close(&run.split);
        for (int i = 0; i < RANKS; i++) {
            catena_status_t status = run.member[i].status;
            ck_assert(status == CATENA_OK || status == CATENA_ERR_PEER);
            saw += status != CATENA_OK;
        }
    }
    ck_assert_int_gt(saw, 3 * RANKS);
}
END_TEST

/* ---- under a launcher ---- */

static void everything(job_t *job)
{
    for (int i = 0; i < ALGORITHMS; i++) {
        for (uint64_t seed = 1; seed <= 6; seed++) {
            prepare(&algorithms[i], job->size, seed);
            oracle_split_open(&run.split, (int)job->size);
            split_world(job);
            JOB_CHECK(job, run.member[job->rank].status == CATENA_OK);
            oracle_split_close(&run.split);
        }
    }
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, all_numbers_of_members, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, many_members, 0, ALGORITHMS);
    for (int i = 0; i < ALGORITHMS; i += unit_step(5)) {
        tcase_add_loop_test(tcase, a_thousand_members, i, i + 1);
    }
    tcase_add_loop_test(tcase, inconsistent_comparators, 0, ALGORITHMS);
    tcase_add_test(tcase, nothing_to_do_is_one_scan);
    tcase_add_test(tcase, plain_compares_after_a_pass);
    tcase_add_test(tcase, radix_takes_integers);
    tcase_add_loop_test(tcase, a_rank_dies, 0, ALGORITHMS);
}

UNIT_TEST(split)
{
    return unit_as_rank ? job_rank("split", everything)
                        : unit_main("split", 100, add_cases);
}
