/* Hierarchies of simulated jobs, compared with a naive computation. */

#include <catena/coll.h>
#include <stdlib.h>
#include <string.h>

#include "coll/barrier.h"
#include "coll/hierarchy/levels.h"
#include "idle_bcol.h"
#include "naive_levels.h"
#include "unit/said.h"
#include "unit/unit.h"

/* ---- shapes ---- */

static const int round_robin[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1};
static const int uneven[] = {0, 0, 0, 1, 2, 2, 2, 2, 2};
static const int mixed[] = {2, 0, 0, 2, 1, 1, 0, 2, 1, 0, 0, 2, 1};

static const struct shape {
    const char *name;
    int nodes;
    int ranks;          /* of node_of, or on each node */
    const int *node_of; /* NULL: in blocks */
    const char *topology;
} shapes[] = {
    {"alone", 1, 1, NULL, ""},
    {"a node", 1, 6, NULL, ""},
    {"one each", 5, 1, NULL, ""},
    {"uneven", 3, 9, uneven, ""},
    {"round-robin", 3, 11, round_robin, ""},
    {"mixed", 3, 13, mixed, "numa:2 core:2 pu:1"},
    {"domains", 2, 6, NULL, "numa:2 core:3 pu:1"},
    {"deep", 2, 16, NULL, "package:2 numa:2 l3:2 core:2 pu:1"},
    {"four domains", 3, 8, NULL, "package:2 numa:2 core:2 pu:1"},
};

static const char *const hierarchies[] = {
    "network:p2p",
    "node:shm,network:ucx",
    "numa:shm,node:shm,network:ucx",
    "numa:shm,network:p2p",
    "socket:shm,network:p2p",
    "core:shm,l3:shm,numa:shm,socket:shm,user:p2p,node:shm,network:ucx",
    "user:p2p,network:p2p",
    "node:shm,user:p2p,network:ucx",
    "user:p2p,node:p2p,network:p2p",
};

enum {
    SHAPES = sizeof(shapes) / sizeof(shapes[0]),
    HIERARCHIES = sizeof(hierarchies) / sizeof(hierarchies[0])
};

static int run_with(const struct shape *shape, const char *hierarchy,
                    uint64_t seed, job_body_t body)
{
    char levels[CTN_HIERARCHY_LEVELS_BYTES];
    char topology[128];
    snprintf(levels, sizeof(levels), "HIERARCHY=%s", hierarchy);
    snprintf(topology, sizeof(topology), "TOPOLOGY=%s", shape->topology);
    const char *settings[] = {levels, topology, NULL};
    catena_sim_params_t params = {
        .size = sizeof(params),
        .machine = "hpc-a",
        .nodes = shape->nodes,
        .ppn = shape->ranks,
        .ranks = shape->ranks,
        .node_of = shape->node_of,
        .seed = seed,
        .jitter = 0.5,
        .reorder = seed % 3 != 0,
        .stack_bytes = JOB_STACK_BYTES,
        .settings = settings,
    };
    int failed = job_simulate_on(&params, body);
    ck_assert_int_eq(idle.modules, 0);
    return failed;
}

static ctn_hierarchy_t *get_hierarchy(job_t *job, catena_group_t *group,
                                      const char *collective)
{
    ctn_hierarchy_t *hierarchy = NULL;
    JOB_CHECK(job,
              ctn_hierarchy_of(group, collective, &hierarchy) == CATENA_OK);
    return hierarchy;
}

/* Argument of the job bodies. */
static const char *expected_levels;

static void split_users(job_t *job)
{
    char name[32];
    snprintf(name, sizeof(name), "part %u", job->rank * 7 / 3 % 3);
    JOB_CHECK(job, catena_group_set(job->context->world, "subgroup", name) ==
                       CATENA_OK);
}

static void build_on_world(job_t *job)
{
    catena_group_t *group = job->context->world;
    split_users(job);
    naive_check(job, group, get_hierarchy(job, group, "bcast"),
                expected_levels);
}

START_TEST(shapes_of_jobs)
{
    const struct shape *shape = &shapes[_i / HIERARCHIES];
    expected_levels = hierarchies[_i % HIERARCHIES];
    int failed = run_with(shape, expected_levels, (uint64_t)_i, build_on_world);
    ck_assert_msg(failed == 0, "%s, %s: %d ranks", shape->name, expected_levels,
                  failed);
}
END_TEST

/* ---- the default ---- */

static void build_default(job_t *job)
{
    catena_group_t *group = job->context->world;
    const ctn_hierarchy_t *hierarchy = get_hierarchy(job, group, "barrier");
    naive_check(job, group, hierarchy, expected_levels);
    JOB_CHECK(job, strcmp(hierarchy->text, "auto") == 0);
}

/* A described machine of 4 domains, on a host with enough cores on all nodes,
 * or on all but one. */
START_TEST(default_levels)
{
    static int one_large[45];
    for (int r = 0; r < 45; r++) {
        one_large[r] = r < 40 ? 1 : 0; /* 32 cores */
    }
    struct shape shape = shapes[6];
    expected_levels = "numa:shm,node:shm,network:ucx";
    ck_assert_int_eq(run_with(&shape, "auto", 1, build_default), 0);
    shape.ranks = 45;
    shape.node_of = one_large;
    expected_levels = "node:shm,network:ucx";
    ck_assert_int_eq(run_with(&shape, "AUTO", 1, build_default), 0);
}
END_TEST

static void describe(job_t *job)
{
    char text[64];
    const ctn_hierarchy_t *hierarchy =
        get_hierarchy(job, job->context->world, "scan");
    naive_await(job, hierarchy);
    ctn_hierarchy_describe(hierarchy, text, sizeof(text));
    JOB_CHECK(job, strcmp(text, job->rank == 0   ? "numa:shm(3) node:shm(2) "
                                                   "network:ucx(2)"
                                : job->rank == 3 ? "numa:shm(3) node:shm(2)"
                                : job->rank == 6 ? "numa:shm(3) node:shm(2) "
                                                   "network:ucx(2)"
                                : job->rank == 9 ? "numa:shm(3) node:shm(2)"
                                                 : "numa:shm(3)") == 0);
    JOB_CHECK(job, hierarchy->in_order);
    char little[5];
    ctn_hierarchy_describe(hierarchy, little, sizeof(little));
    JOB_CHECK(job, strcmp(little, "numa") == 0);
}

START_TEST(in_words)
{
    ck_assert_int_eq(run_with(&shapes[6], "auto", 1, describe), 0);
}
END_TEST

/* ---- rejected hierarchies ---- */

static catena_status_t refusal; /* expected on all ranks */

static void see_refusal(job_t *job)
{
    ctn_hierarchy_t *hierarchy =
        get_hierarchy(job, job->context->world, "reduce");
    ctn_hierarchy_t *again =
        get_hierarchy(job, job->context->world, "allreduce");
    naive_await(job, hierarchy);
    naive_await(job, again);
    JOB_CHECK(job, hierarchy->status == refusal && again->status == refusal);
    JOB_CHECK(job, hierarchy->levels == 0 && !hierarchy->top);
    /* Another hierarchy can be built. */
    idle.refuse_create = idle.refuse_link = -1;
    JOB_CHECK(job, catena_group_set(job->context->world, "hierarchy",
                                    "network:p2p") == CATENA_OK);
    naive_check(job, job->context->world,
                get_hierarchy(job, job->context->world, "reduce"),
                "network:p2p");
}

static void refused(int shape, const char *hierarchy, catena_status_t status)
{
    refusal = status;
    ck_assert_int_eq(run_with(&shapes[shape], hierarchy, 1, see_refusal), 0);
}

START_TEST(refused_by_the_job)
{
    refused(4, "node:shm", CATENA_ERR_ARG); /* no level joins its subgroups */
    refused(8, "numa:shm,socket:shm", CATENA_ERR_ARG);
    refused(3, "network:shm", CATENA_ERR_ARG);
    idle.refuse_create = idle.refuse_link = 8;
    refused(3, "node:shm,network:p2p", CATENA_ERR_NO_MEMORY);
}
END_TEST

START_TEST(refused_by_a_rank)
{
    idle.refuse_create = _i;
    refused(3, "network:p2p", CATENA_ERR_NO_MEMORY);
    idle.refuse_link = _i;
    refused(3, "user:p2p,network:p2p", CATENA_ERR_ARG);
}
END_TEST

static void differ(job_t *job)
{
    catena_group_t *group = job->context->world;
    ctn_hierarchy_t *before = get_hierarchy(job, group, "gather");
    JOB_CHECK(job, catena_group_set(group, "scan_hierarchy",
                                    job->rank < job->size / 2
                                        ? "node:shm,network:p2p"
                                        : "node:p2p,network:p2p") == CATENA_OK);
    ctn_hierarchy_t *one = get_hierarchy(job, group, "gather");
    ctn_hierarchy_t *two = get_hierarchy(job, group, "scan");
    naive_await(job, one);
    naive_await(job, two);
    JOB_CHECK(job, one->status == CATENA_ERR_ARG);
    JOB_CHECK(job, two->status == CATENA_ERR_ARG);
    JOB_CHECK(job, before->status == CATENA_OK);
    JOB_CHECK(job,
              catena_group_set(group, "scan_hierarchy", "auto") == CATENA_OK);
    two = get_hierarchy(job, group, "scan"); /* as before */
    JOB_CHECK(job,
              ctn_op_run(group->exec, ctn_barrier_create(group)) == CATENA_OK);
    naive_await(job, two);
    JOB_CHECK(job, two->status == CATENA_OK && two->tickets == before->tickets);
}

START_TEST(settings_that_differ)
{
    capture_t captured;
    capture_start(&captured);
    int failed = run_with(&shapes[4], "auto", 1, differ);
    capture_stop(&captured);
    ck_assert_int_eq(failed, 0);
    said_facts(&captured, "4", "5", "scan", "node:p2p,network:p2p", NULL);
}
END_TEST

static void differ_in_algorithm(job_t *job)
{
    static char flat[] = "flat";
    catena_group_t *group = job->context->world;
    ctn_hierarchy_config_t *config =
        ctn_config_values(&job->context->config, &ctn_hierarchy_settings);
    char *algorithm = config->of[CTN_COLL_REDUCE].algorithm;
    if (job->rank == job->size - 1) {
        config->of[CTN_COLL_REDUCE].algorithm = flat;
    }
    ctn_hierarchy_t *hierarchy = get_hierarchy(job, group, "reduce");
    naive_await(job, hierarchy);
    JOB_CHECK(job, hierarchy->status == CATENA_ERR_ARG);
    config->of[CTN_COLL_REDUCE].algorithm = algorithm;
}

START_TEST(algorithms_that_differ)
{
    ck_assert_int_eq(run_with(&shapes[4], "auto", 1, differ_in_algorithm), 0);
}
END_TEST

/* ---- settings of a group ---- */

static void set_and_get(job_t *job)
{
    catena_group_t *group = job->context->world;
    ctn_hierarchy_t *first = get_hierarchy(job, group, "bcast");
    JOB_CHECK(job, get_hierarchy(job, group, "bcast") == first);
    JOB_CHECK(job, catena_group_set(group, "bcast_hierarchy",
                                    "node:p2p,network:p2p") == CATENA_OK);
    ctn_hierarchy_t *second = get_hierarchy(job, group, "bcast");
    ctn_hierarchy_t *other = get_hierarchy(job, group, "reduce");
    JOB_CHECK(job,
              catena_group_set(group, "bcast_hierarchy", "auto") == CATENA_OK);
    ctn_hierarchy_t *third = get_hierarchy(job, group, "bcast");
    naive_await(job, third);
    naive_check(job, group, third, "node:shm,network:ucx");
    naive_check(job, group, second, "node:p2p,network:p2p");
    naive_check(job, group, other, "node:shm,network:ucx");
    naive_check(job, group, first, "node:shm,network:ucx");
    /* The same levels use the same modules and share their turns. */
    JOB_CHECK(job, first->tickets == third->tickets &&
                       first->tickets == other->tickets &&
                       first->tickets != second->tickets);
    JOB_CHECK(job,
              memcmp(first->level, third->level, sizeof(first->level)) == 0);
    JOB_CHECK(job, first->levels == 0 || first->level[0] != second->level[0]);
}

START_TEST(settings_of_groups)
{
    ck_assert_int_eq(
        run_with(&shapes[3], "node:shm,network:ucx", 1, set_and_get), 0);
}
END_TEST

static void set_nonsense(job_t *job)
{
    catena_group_t *group = job->context->world;
    char text[600];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    JOB_CHECK(job, catena_group_set(group, "hierarchy", "nude:shm") ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_group_set(group, "subgroup", text) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_group_set(group, "hierachy", "node:shm") ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_group_set(group, "alltoallv_hierarchy", "node:shm") ==
                       CATENA_ERR_ARG);
    naive_check(job, group, get_hierarchy(job, group, "gather"), "network:p2p");
    ctn_hierarchy_t *hierarchy;
    JOB_CHECK(job, ctn_hierarchy_of(group, "alltoallv", &hierarchy) ==
                       CATENA_ERR_ARG);
}

START_TEST(nonsense_of_groups)
{
    ck_assert_int_eq(run_with(&shapes[0], "network:p2p", 1, set_nonsense), 0);
}
END_TEST

static void change_subgroups(job_t *job)
{
    catena_group_t *group = job->context->world;
    JOB_CHECK(job,
              catena_group_set(group, "subgroup",
                               job->rank % 2 ? "odd" : "even") == CATENA_OK);
    ctn_hierarchy_t *first = get_hierarchy(job, group, "bcast");
    naive_check(job, group, first, "user:p2p,network:p2p");
    /* A hierarchy uses the names at the time of its request. */
    split_users(job);
    ctn_hierarchy_t *second = get_hierarchy(job, group, "bcast");
    JOB_CHECK(job, catena_group_set(group, "subgroup", "one") == CATENA_OK);
    ctn_hierarchy_t *third = get_hierarchy(job, group, "bcast");
    naive_check(job, group, third, "user:p2p,network:p2p");
    split_users(job);
    naive_check(job, group, second, "user:p2p,network:p2p");
    JOB_CHECK(job, first->tickets != second->tickets);
}

START_TEST(subgroups_change)
{
    ck_assert_int_eq(
        run_with(&shapes[5], "user:p2p,network:p2p", 2, change_subgroups), 0);
}
END_TEST

/* ---- groups ---- */

/** Groups of groups, in reverse order; requested while other operations are in
 * progress; some are freed immediately. */
static void build_on_groups(job_t *job)
{
    catena_group_t *groups[3] = {NULL, NULL, NULL};
    uint64_t send[NAIVE_RANKS], receive[NAIVE_RANKS];
    catena_request_t *request[2];
    catena_group_t *parent = job->context->world;
    JOB_CHECK(job,
              catena_group_split(parent, (int)(job->rank % 2), -(int)job->rank,
                                 &groups[0]) == CATENA_OK);
    JOB_CHECK(job, catena_group_split(groups[0], (int)(job->rank / 4), 0,
                                      &groups[1]) == CATENA_OK);
    JOB_CHECK(job, catena_group_dup(parent, &groups[2]) == CATENA_OK);
    for (uint32_t r = 0; r < job->size; r++) {
        send[r] = job->rank * 1000 + r;
    }
    for (int i = 0; i < 3; i++) {
        uint32_t n = groups[i]->chain.place.size;
        /* An algorithm without levels: the components here have none. */
        JOB_CHECK(job, catena_group_set(groups[i], "alltoall_algorithm",
                                        "shift") == CATENA_OK);
        JOB_CHECK(job, catena_ialltoall(send, 1, CATENA_UINT64, receive, 1,
                                        CATENA_UINT64, groups[i],
                                        &request[0]) == CATENA_OK);
        ctn_hierarchy_t *hierarchy =
            get_hierarchy(job, groups[i], "reduce_scatter");
        ctn_hierarchy_t *flat = NULL;
        JOB_CHECK(job, ctn_hierarchy_flat(groups[i], NULL, &flat) == CATENA_OK);
        request[1] = ctn_barrier_create(groups[i]);
        ctn_op_start(request[1]);
        JOB_CHECK(job, catena_request_wait(&request[1]) == CATENA_OK);
        JOB_CHECK(job, catena_request_wait(&request[0]) == CATENA_OK);
        JOB_CHECK(job, receive[0] % 1000 == groups[i]->chain.place.rank);
        JOB_CHECK(job, n > 1 || receive[0] == send[0]);
        naive_await(job, flat);
        if (i < 2) {
            naive_check(job, groups[i], hierarchy,
                        "numa:shm,node:shm,network:ucx");
            naive_check(job, groups[i], flat, "network:p2p");
            JOB_CHECK(job, flat->in_order && flat->balanced);
        }
        JOB_CHECK(job, i > 0 || hierarchy->levels > 0 || n == 1);
    }
    ctn_hierarchy_t *late =
        get_hierarchy(job, groups[2], "scan"); /* still being built */
    JOB_CHECK(job, late != NULL);
    for (int i = 2; i >= 0; i--) {
        JOB_CHECK(job, catena_group_free(&groups[i]) == CATENA_OK);
    }
}

START_TEST(groups_of_groups)
{
    ck_assert_int_eq(run_with(&shapes[_i], "numa:shm,node:shm,network:ucx",
                              (uint64_t)_i, build_on_groups),
                     0);
}
END_TEST

/** Successive groups may reuse the same memory. */
static void one_after_the_other(job_t *job)
{
    for (int i = 0; i < 5; i++) {
        catena_group_t *group;
        JOB_CHECK(job,
                  catena_group_dup(job->context->world, &group) == CATENA_OK);
        ctn_hierarchy_t *hierarchy = get_hierarchy(job, group, "bcast");
        if (i % 2 == 0) {
            naive_check(job, group, hierarchy, expected_levels);
        }
        JOB_CHECK(job, catena_group_free(&group) == CATENA_OK);
    }
}

START_TEST(many_groups)
{
    expected_levels = "numa:shm,node:shm,network:p2p";
    ck_assert_int_eq(
        run_with(&shapes[5], expected_levels, 1, one_after_the_other), 0);
}
END_TEST

/** The calls must return, with any status. */
static void until_death(job_t *job)
{
    for (int i = 0; i < 8 && job->exec->status == CATENA_OK; i++) {
        catena_group_t *group;
        ctn_hierarchy_t *hierarchy;
        if (catena_group_dup(job->context->world, &group) == CATENA_OK &&
            ctn_hierarchy_of(group, "bcast", &hierarchy) == CATENA_OK) {
            naive_await(job, hierarchy);
            (void)catena_group_free(&group);
        }
    }
}

START_TEST(deaths)
{
    job_simulate_death(11, (uint64_t)_i, 500 + (uint64_t)(_i * _i) * 41,
                       until_death);
}
END_TEST

static void prepare(void)
{
    idle.modules = 0;
    idle.refuse_create = idle.refuse_link = -1;
}

static void add_cases(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, prepare, NULL);
    /* each shape, and each hierarchy, more than once */
    for (int i = 0; i < SHAPES * HIERARCHIES; i += unit_step(4)) {
        tcase_add_loop_test(tcase, shapes_of_jobs, i, i + 1);
    }
    tcase_add_test(tcase, default_levels);
    tcase_add_test(tcase, in_words);
    tcase_add_test(tcase, refused_by_the_job);
    for (int i = 0; i < 9; i += unit_step(4)) {
        tcase_add_loop_test(tcase, refused_by_a_rank, i, i + 1);
    }
    tcase_add_test(tcase, settings_that_differ);
    tcase_add_test(tcase, algorithms_that_differ);
    tcase_add_test(tcase, settings_of_groups);
    tcase_add_test(tcase, nonsense_of_groups);
    tcase_add_test(tcase, subgroups_change);
    for (int i = 0; i < SHAPES; i += unit_step(3)) {
        tcase_add_loop_test(tcase, groups_of_groups, i, i + 1);
    }
    tcase_add_test(tcase, many_groups);
    for (int i = 1; i < 16; i += unit_step(4)) {
        tcase_add_loop_test(tcase, deaths, i, i + 1);
    }
}

UNIT_TEST(hierarchy)
{
    return unit_main("hierarchy", 60, add_cases);
}
