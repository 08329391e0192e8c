/* The parallel sorts of the generalized split, on simulated ranks: colors and
 * keys of any length drawn from seeds against a naive oracle, and comparators
 * that contradict themselves. usage: test_split, or as a rank under a launcher:
 * test_split --rank */

#include <stdlib.h>
#include <string.h>

#include "split_case.h"
#include "unit.h"

enum { MEMBERS_MAX = 1100, VALUE_MAX = 400 };

/** What the ranks, which are one process, leave for the oracle. */
typedef struct member {
    uint32_t color_bytes; /* CTN_NO_COLOR: none */
    uint32_t key_bytes;
    unsigned char color[VALUE_MAX];
    unsigned char key[VALUE_MAX];
    catena_status_t status;
    ctn_chain_t chain;
} member_t;

typedef enum order {
    BYTES, /* comparators: none */
    INT64,
    BACKWARDS,
    ORDERS, /* from here on they lie */
    LIES_AT_RANDOM = ORDERS,
    LIES_ABOVE,
    LIES_BELOW,
    LIES_BY_RANK,
    LIES_IN_CIRCLES,
    ORDERS_ALL
} order_t;

typedef struct algorithm {
    const char *name;
    ctn_op_t *(*create)(const ctn_splitting_t *splitting);
    uint32_t most;
} algorithm_t;

static const algorithm_t algorithms[] = {
    {"bitonic", ctn_split_bitonic, 0},
    {"gather-scatter", ctn_split_gather_scatter, 0},
    {"cheng:1", ctn_split_cheng, 1},
    {"cheng:4", ctn_split_cheng, 4},
    {"cheng:24", ctn_split_cheng, 24},
    {"cheng:128", ctn_split_cheng, 128},
    {"hash", ctn_split_hash, 0},
    {"hash64", ctn_split_hash64, 0},
};

enum { ALGORITHMS = sizeof(algorithms) / sizeof(algorithms[0]) };

/** The run at hand. */
static struct {
    const algorithm_t *algorithm;
    order_t color_order;
    order_t key_order;
    bool in_place;
    uint32_t colors;    /* different ones */
    uint32_t color_max; /* bytes */
    uint32_t key_max;
    bool undefined; /* some are in no group */
    unsigned asked; /* of comparators that lie */
    member_t member[MEMBERS_MAX];
} run;

/* ---- comparators ---- */

static int lie_at_random(const void *a, size_t a_bytes, const void *b,
                         size_t b_bytes, void *argument)
{
    uint64_t state = run.asked++;
    (void)argument;
    return job_random(&state) % 4 == 0
               ? (int)(job_random(&state) % 3) - 1
               : ctn_compare_bytes(a, a_bytes, b, b_bytes);
}

static int lie_above(const void *a, size_t a_bytes, const void *b,
                     size_t b_bytes, void *argument)
{
    (void)a, (void)a_bytes, (void)b, (void)b_bytes, (void)argument;
    return 1;
}

static int lie_below(const void *a, size_t a_bytes, const void *b,
                     size_t b_bytes, void *argument)
{
    (void)a, (void)a_bytes, (void)b, (void)b_bytes, (void)argument;
    return -1;
}

static int lie_by_rank(const void *a, size_t a_bytes, const void *b,
                       size_t b_bytes, void *argument)
{
    const job_t *job = argument;
    int order = ctn_compare_bytes(a, a_bytes, b, b_bytes);
    return job->rank % 2 == 0 ? order : -order;
}

static int lie_in_circles(const void *a, size_t a_bytes, const void *b,
                          size_t b_bytes, void *argument)
{
    const unsigned char *x = a;
    const unsigned char *y = b;
    (void)argument;
    int difference = (a_bytes > 0 ? x[0] : 0) - (b_bytes > 0 ? y[0] : 0);
    return difference % 3;
}

static const catena_compare_t comparators[ORDERS_ALL] = {
    [INT64] = catena_compare_int64,     [BACKWARDS] = split_compare_backwards,
    [LIES_AT_RANDOM] = lie_at_random,   [LIES_ABOVE] = lie_above,
    [LIES_BELOW] = lie_below,           [LIES_BY_RANK] = lie_by_rank,
    [LIES_IN_CIRCLES] = lie_in_circles,
};

/* ---- a rank ---- */

static uint32_t draw_bytes(uint64_t *random, order_t order, uint32_t most)
{
    return order == INT64 ? 8
           : most == 0    ? 0
                          : (uint32_t)(job_random(random) % (most + 1));
}

/** Few different values, so that there are ties. */
static void draw_value(uint64_t *random, uint32_t different,
                       unsigned char *value, uint32_t bytes)
{
    uint64_t which = job_random(random) % different + 1;
    for (uint32_t i = 0; i < bytes; i++) {
        value[i] = (unsigned char)(i < 8 ? which >> (8 * (7 - i)) * 1 : which);
    }
}

/** The length of a color follows from the color, so that it is met again. */
static void draw_member(const job_t *job, member_t *member)
{
    uint64_t own = job->seed * 7919 + job->rank * UINT64_C(1000003);
    uint64_t color =
        job->seed + job_random(&own) % (run.colors > 0 ? run.colors : 1);
    uint32_t different = job_random(&own) % 2 == 0 ? 3 : 1000000;
    member->color_bytes = draw_bytes(&color, run.color_order, run.color_max);
    draw_value(&color, 1000000, member->color, member->color_bytes);
    member->key_bytes = draw_bytes(&own, run.key_order, run.key_max);
    draw_value(&own, different, member->key, member->key_bytes);
    if (run.undefined && job_random(&own) % 5 == 0) {
        member->color_bytes = CTN_NO_COLOR;
    }
}

static catena_status_t split(job_t *job, const member_t *member,
                             ctn_lane_t *parent, ctn_lane_t *lane)
{
    value_t color = {member->color, member->color_bytes};
    value_t key = {member->key, member->key_bytes};
    ctn_record_t *record = split_record(parent, lane, color, key);
    ctn_splitting_t splitting = {
        .parent = parent,
        .lane = lane,
        .by = {job->exec, comparators[run.color_order],
               comparators[run.key_order], job},
        .record = record,
        .reorder = true,
        .most = run.algorithm->most,
    };
    catena_status_t status = ctn_op_run(run.algorithm->create(&splitting));
    free(record);
    return status;
}

/** What is in order already stays as it is. */
static void split_again(job_t *job, const member_t *member, ctn_lane_t *lane)
{
    ctn_chain_t before = lane->chain;
    JOB_CHECK(job, split(job, member, lane, lane) == CATENA_OK);
    JOB_CHECK(job, memcmp(&before, &lane->chain, sizeof(before)) == 0);
    split_check_chain(job, lane, 1);
}

static void split_world(job_t *job)
{
    member_t *member = &run.member[job->rank];
    memset(member, 0, sizeof(*member));
    draw_member(job, member);
    split_target_t target = split_open(job, run.in_place);
    member->status = split(job, member, target.parent, target.lane);
    member->chain = target.lane->chain;
    if (member->status == CATENA_OK) {
        split_check_chain(job, target.lane, 1);
        if (run.color_order < ORDERS && run.key_order < ORDERS) {
            split_again(job, member, target.lane);
        }
    }
    split_close(job, &target, member->status);
}

/* ---- the oracle ---- */

static int compare_values(order_t order, const void *a, uint32_t a_bytes,
                          const void *b, uint32_t b_bytes)
{
    return order == BYTES ? ctn_compare_bytes(a, a_bytes, b, b_bytes)
                          : comparators[order](a, a_bytes, b, b_bytes, NULL);
}

static bool same_color(const member_t *a, const member_t *b)
{
    if (a->color_bytes == CTN_NO_COLOR || b->color_bytes == CTN_NO_COLOR) {
        return a->color_bytes == b->color_bytes;
    }
    return compare_values(run.color_order, a->color, a->color_bytes, b->color,
                          b->color_bytes) == 0;
}

/** By counting: who has the same color, and who of them comes before. */
static void check_order(uint32_t members)
{
    for (uint32_t i = 0; i < members; i++) {
        const member_t *a = &run.member[i];
        uint32_t size = 0;
        uint32_t rank = 0;
        for (uint32_t j = 0; j < members; j++) {
            const member_t *b = &run.member[j];
            if (same_color(a, b)) {
                int order = compare_values(run.key_order, b->key, b->key_bytes,
                                           a->key, a->key_bytes);
                size++;
                rank += order < 0 || (order == 0 && j < i);
            }
        }
        ck_assert_int_eq(a->status, CATENA_OK);
        ck_assert_uint_eq(a->chain.size, size);
        ck_assert_uint_eq(a->chain.rank, rank);
    }
}

/** Who is at an address; members: nobody. */
static uint32_t find(uint32_t members, ctn_address_t address)
{
    uint32_t i = 0;
    while (i < members &&
           !split_same_address(run.member[i].chain.self, address)) {
        i++;
    }
    return i;
}

/** Neighbours are neighbours of each other, with ranks and sizes that fit. */
static void check_links(uint32_t members, bool colors)
{
    for (uint32_t i = 0; i < members; i++) {
        const ctn_chain_t *chain = &run.member[i].chain;
        ck_assert_int_eq(chain->rank == 0, !ctn_address_exists(chain->left));
        ck_assert_int_eq(chain->rank + 1 == chain->size,
                         !ctn_address_exists(chain->right));
        if (!ctn_address_exists(chain->right)) {
            continue;
        }
        uint32_t next = find(members, chain->right);
        ck_assert_uint_lt(next, members);
        const ctn_chain_t *right = &run.member[next].chain;
        ck_assert_uint_eq(right->rank, chain->rank + 1);
        ck_assert_uint_eq(right->size, chain->size);
        ck_assert(split_same_address(right->left, chain->self));
        ck_assert(!colors || same_color(&run.member[i], &run.member[next]));
    }
}

/* ---- runs ---- */

/** Colors are not compared by a comparator, but by what their bytes are. */
static bool takes_bytes(const algorithm_t *algorithm)
{
    return algorithm->create == ctn_split_hash ||
           algorithm->create == ctn_split_hash64;
}

static void draw_run(const algorithm_t *algorithm, uint64_t seed,
                     uint32_t members)
{
    static const uint32_t lengths[] = {8, 8, 20, 80, 300};
    static const uint32_t key_lengths[] = {0, 8, 8, 8, 300};
    uint64_t random = seed * 31 + members;
    memset(&run, 0, offsetof(__typeof__(run), member));
    run.algorithm = algorithm;
    run.color_order = (order_t)(job_random(&random) % ORDERS);
    if (takes_bytes(algorithm) && run.color_order > INT64) {
        run.color_order = BYTES;
    }
    run.key_order = (order_t)(job_random(&random) % ORDERS);
    run.in_place = job_random(&random) % 2 == 0;
    run.colors = (uint32_t)(job_random(&random) %
                            (job_random(&random) % 2 == 0 ? 4 : members)) +
                 1;
    run.color_max = lengths[job_random(&random) % 5];
    run.key_max = key_lengths[job_random(&random) % 5];
    run.undefined = job_random(&random) % 3 == 0;
}

static void run_honest(const algorithm_t *algorithm, uint32_t members,
                       uint64_t seed)
{
    draw_run(algorithm, seed, members);
    ck_assert_msg(job_simulate(members, seed, split_world) == 0,
                  "%s of %u, seed %llu", algorithm->name, members,
                  (unsigned long long)seed);
    check_order(members);
    check_links(members, true);
}

START_TEST(all_numbers_of_members)
{
    for (uint32_t members = 1; members <= 70; members++) {
        run_honest(&algorithms[_i], members, 1);
    }
}
END_TEST

START_TEST(many_members)
{
    static const uint32_t numbers[] = {97, 128, 200};
    for (uint64_t seed = 2; seed <= 3; seed++) {
        for (int i = 0; i < 3; i++) {
            run_honest(&algorithms[_i], numbers[i], seed);
        }
    }
}
END_TEST

/** Not with as many sorters, each of which writes to all others. */
START_TEST(a_thousand_members)
{
    const algorithm_t *algorithm = &algorithms[_i];
    uint32_t members = algorithm->most > 0 && algorithm->most < 16 ? 130 : 1024;
    run_honest(algorithm, members, 5);
}
END_TEST

/** All members end, all with an error or all with chains that fit. */
static void run_lies(const algorithm_t *algorithm, uint32_t members,
                     uint64_t seed)
{
    uint64_t random = seed;
    draw_run(algorithm, seed, members);
    order_t lie = (order_t)(ORDERS + seed % (ORDERS_ALL - ORDERS));
    uint64_t which = takes_bytes(algorithm) ? 0 : job_random(&random) % 3;
    run.color_order = which != 0 ? lie : run.color_order;
    run.key_order = which != 1 ? lie : run.key_order;
    ck_assert_msg(job_simulate(members, seed, split_world) == 0,
                  "%s of %u, lies, seed %llu", algorithm->name, members,
                  (unsigned long long)seed);
    catena_status_t status = run.member[0].status;
    ck_assert(status == CATENA_OK || status == CATENA_ERR_ARG);
    for (uint32_t i = 0; i < members; i++) {
        ck_assert_int_eq(run.member[i].status, status);
    }
    if (status == CATENA_OK) {
        check_links(members, false);
    }
    if (run.color_order == LIES_ABOVE && !run.undefined && members > 1) {
        ck_assert_int_eq(status, CATENA_ERR_ARG); /* any two contradict it */
    }
}

START_TEST(comparators_lie)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        run_lies(&algorithms[_i], (uint32_t)(seed * seed % 70) + 2, seed);
    }
}
END_TEST

/* ---- a rank dies ---- */

static void split_until_death(job_t *job)
{
    catena_status_t status = CATENA_OK;
    member_t *member = &run.member[job->rank];
    draw_member(job, member);
    while (status == CATENA_OK) {
        catena_group_t *made = NULL;
        status = ctn_group_create(job->exec, &made);
        JOB_CHECK(job, status == CATENA_OK);
        status = split(job, member, job->lane, &made->lane);
        if (status == CATENA_OK) {
            status = catena_group_free(made);
        } else {
            ctn_group_release(made);
        }
    }
    member->status = status;
}

/** Whoever is left sees it. */
START_TEST(a_rank_dies)
{
    enum { MEMBERS = 13 };
    int saw = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        draw_run(&algorithms[_i], seed, MEMBERS);
        job_simulate_death(MEMBERS, seed, 400 + seed * seed * 17,
                           split_until_death);
        for (int i = 0; i < MEMBERS; i++) {
            catena_status_t status = run.member[i].status;
            ck_assert(status == CATENA_OK || status == CATENA_ERR_PEER);
            saw += status != CATENA_OK;
            run.member[i].status = CATENA_OK;
        }
    }
    ck_assert_int_gt(saw, 3 * MEMBERS);
}
END_TEST

/* ---- under a launcher ---- */

static void everything(job_t *job)
{
    for (int i = 0; i < ALGORITHMS; i++) {
        for (uint64_t seed = 1; seed <= 15; seed++) {
            draw_run(&algorithms[i], seed, job->size);
            if (seed > 10) {
                order_t lie = (order_t)(ORDERS + seed - 11);
                *(takes_bytes(&algorithms[i]) ? &run.key_order
                                              : &run.color_order) = lie;
            }
            job->seed = seed;
            split_world(job);
        }
    }
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, all_numbers_of_members, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, many_members, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, a_thousand_members, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, comparators_lie, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, a_rank_dies, 0, ALGORITHMS);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv) ? job_rank(1, everything)
                                   : unit_main("split", 100, add_cases);
}
