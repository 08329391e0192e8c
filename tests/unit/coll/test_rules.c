/* Rules of a file: each collective obeys them on all ranks, in both components,
 * and explains which one it has obeyed. Rules of blocking calls, and of
 * others. */

#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/job.h"
#include "unit/unit.h"

/* Of each list the first rule is for component shm, the second one for p2p. No
 * rule that ships selects these algorithms for few ranks and short data. */
static const char rules[] =
    "{\"name\": \"made up\", \"source\": \"this test\","
    "\"barrier\": [{\"algorithm\": \"root\"}, {\"algorithm\": \"tree\"}],"
    "\"bcast\": [{\"algorithm\": \"zero-copy\"}, {\"algorithm\": \"chain\"}],"
    "\"reduce\": [{\"bytes_to\": 4, \"algorithm\": \"flat\"},"
    " {\"algorithm\": \"shared\"}, {\"algorithm\": \"chain\"}],"
    "\"allreduce\": [{\"blocking\": true, \"algorithm\": \"last\"},"
    " {\"blocking\": true, \"algorithm\": \"rabenseifner\"},"
    " {\"blocking\": false, \"algorithm\": \"shared\"},"
    " {\"blocking\": false, \"algorithm\": \"tree\"}],"
    "\"gather\": [{\"algorithm\": \"zero-copy\"}, {\"algorithm\": "
    "\"binomial\"}],"
    "\"scatter\": [{\"algorithm\": \"zero-copy\"}, {\"algorithm\": "
    "\"binomial\"}],"
    "\"allgather\": [{\"algorithm\": \"zero-copy\"}, {\"algorithm\": "
    "\"ring\"}],"
    "\"reduce_scatter\": [{\"algorithm\": \"zero-copy\"},"
    " {\"algorithm\": \"ring\"}],"
    "\"scan\": [{\"algorithm\": \"chain\"}],"
    "\"alltoall\": [{\"algorithm\": \"bruck\"}],"
    "\"alltoallv\": [{\"algorithm\": \"shift\"}],"
    "\"split\": [{\"keys\": true, \"algorithm\": \"radix\"},"
    " {\"keys\": false, \"algorithm\": \"hash\"},"
    " {\"ranks\": [2, null], \"algorithm\": \"cheng\"}]}";

static char path[] = "/tmp/catena-rules-XXXXXX.json";

enum { RANKS = 6, LONG = 500 };

/** Buffers of a rank: a value for each rank, and room for as many results. */
typedef struct buffers {
    int32_t in[RANKS * LONG];
    int32_t out[RANKS * LONG];
    size_t count; /* elements of a block */
} buffers_t;

typedef catena_status_t (*call_t)(buffers_t *b, catena_group_t *group);

#define CALL(name, ...)                                                        \
    static catena_status_t call_##name(buffers_t *b, catena_group_t *group)    \
    {                                                                          \
        (void)b;                                                               \
        return catena_##name(__VA_ARGS__, group);                              \
    }
#define IN b->in, b->count, CATENA_INT32
#define OUT b->out, b->count, CATENA_INT32

static catena_status_t call_barrier(buffers_t *b, catena_group_t *group)
{
    (void)b;
    return catena_barrier(group);
}
CALL(bcast, OUT, 1)
CALL(reduce, b->in, OUT, CATENA_SUM, 1)
CALL(allreduce, b->in, OUT, CATENA_SUM)
CALL(gather, IN, OUT, 1)
CALL(scatter, IN, OUT, 1)
CALL(allgather, IN, OUT)
CALL(reduce_scatter_block, b->in, OUT, CATENA_SUM)
CALL(scan, b->in, OUT, CATENA_SUM)
CALL(exscan, b->in, OUT, CATENA_SUM)
CALL(alltoall, IN, OUT)

static const struct {
    const char *name;
    call_t call;
    const char *expected[2]; /* by component */
} collectives[] = {
    {"barrier",
     call_barrier,
     {"barrier on node: root (rule 1 ", "barrier on network: tree (rule 2 "}},
    {"bcast",
     call_bcast,
     {"bcast on node: zero-copy (rule 1 ", "bcast on network: chain (rule 2 "}},
    {"reduce",
     call_reduce,
     {"reduce on node: shared (rule 2 ", "reduce on network: chain (rule 3 "}},
    {"allreduce",
     call_allreduce,
     {"allreduce on node: last (rule 1 ",
      "allreduce on network: rabenseifner (rule 2 "}},
    {"gather",
     call_gather,
     {"gather on node: zero-copy (rule 1 ",
      "gather on network: binomial (rule 2 "}},
    {"scatter",
     call_scatter,
     {"scatter on node: zero-copy (rule 1 ",
      "scatter on network: binomial (rule 2 "}},
    {"allgather",
     call_allgather,
     {"allgather on node: zero-copy (rule 1 ",
      "allgather on network: ring (rule 2 "}},
    {"reduce_scatter_block",
     call_reduce_scatter_block,
     {"reduce_scatter on node: zero-copy (rule 1 ",
      "reduce_scatter on network: ring (rule 2 "}},
    {"scan",
     call_scan,
     {"scan on node: chain (rule 1 ", "levels=\"network:p2p"}},
    {"exscan",
     call_exscan,
     {"exscan on node: chain (rule 1 ", "levels=\"network:p2p"}},
    {"alltoall",
     call_alltoall,
     {"levels=\"node:shm", "alltoall on network: bruck (rule 1 "}},
};

enum { COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]) };

static bool says(job_t *job, const catena_group_t *group, const char *name,
                 const char *expected)
{
    char text[1000];
    JOB_CHECK(job, catena_group_explain(group, name, text, sizeof(text)) ==
                       CATENA_OK);
    return strstr(text, expected) != NULL;
}

static unsigned component; /* 0: shm, 1: p2p */
static size_t elements;

static void obeyed(job_t *job)
{
    static const char *const hierarchies[] = {"node:shm", "network:p2p"};
    catena_group_t *world = job->context->world;
    buffers_t *b = calloc(1, sizeof(*b));
    b->count = elements;
    for (size_t i = 0; i < RANKS * elements; i++) {
        b->in[i] = (int32_t)(job->rank + i);
    }
    JOB_CHECK(job, catena_group_set(world, "hierarchy",
                                    hierarchies[component]) == CATENA_OK);
    for (size_t i = 0; i < COLLECTIVES; i++) {
        const char *expected = collectives[i].expected[component];
        JOB_CHECK(job, collectives[i].call(b, world) == CATENA_OK);
        if (!says(job, world, collectives[i].name, expected)) {
            fprintf(stderr, "%s: no %s\n", collectives[i].name, expected);
            JOB_CHECK(job, false);
        }
    }
    JOB_CHECK(job, catena_group_set(world, "hierarchy", "auto") == CATENA_OK);
    JOB_CHECK(job, call_alltoall(b, world) == CATENA_OK);
    JOB_CHECK(job, says(job, world, "alltoall", "algorithm=bruck ") &&
                       says(job, world, "alltoall",
                            "reason=\"rule 1 of tuning made up\""));
    free(b);
}

/** Short data may run inline, long data in chunks. */
START_TEST(every_collective)
{
    component = (unsigned)_i % 2;
    elements = _i / 2 == 0 ? 2 : LONG;
    ck_assert_int_eq(component == 0 ? job_simulate_node(RANKS, 1, obeyed)
                                    : job_simulate(RANKS, 1, obeyed),
                     0);
}
END_TEST

/** A blocking allreduce, then a nonblocking and a persistent one. */
static void by_mode(job_t *job)
{
    catena_group_t *world = job->context->world;
    static const char *const expected[][2] = {
        {"last (rule 1 of", "rabenseifner (rule 2 of"},
        {"shared (rule 3 of", "tree (rule 4 of"}};
    JOB_CHECK(job,
              catena_group_set(world, "hierarchy",
                               component == 0 ? "node:shm" : "network:p2p") ==
                  CATENA_OK);
    for (int i = 0; i < 6; i++) {
        int32_t in = (int32_t)job->rank, sum = 0;
        catena_request_t *request = NULL;
        if (i % 3 == 0) {
            JOB_CHECK(job, catena_allreduce(&in, &sum, 1, CATENA_INT32,
                                            CATENA_SUM, world) == CATENA_OK);
        } else if (i % 3 == 1) {
            JOB_CHECK(job,
                      catena_iallreduce(&in, &sum, 1, CATENA_INT32, CATENA_SUM,
                                        world, &request) == CATENA_OK);
        } else {
            JOB_CHECK(job, catena_allreduce_init(&in, &sum, 1, CATENA_INT32,
                                                 CATENA_SUM, world,
                                                 &request) == CATENA_OK);
            JOB_CHECK(job, catena_request_start(request) == CATENA_OK);
        }
        JOB_CHECK(job,
                  i % 3 == 0 || catena_request_wait(&request) == CATENA_OK);
        JOB_CHECK(job, sum == RANKS * (RANKS - 1) / 2);
        JOB_CHECK(
            job, says(job, world, "allreduce", expected[i % 3 > 0][component]));
        JOB_CHECK(job, i % 3 < 2 || catena_request_free(&request) == CATENA_OK);
    }
}

START_TEST(every_mode)
{
    component = (unsigned)_i;
    ck_assert_int_eq(component == 0 ? job_simulate_node(RANKS, 1, by_mode)
                                    : job_simulate(RANKS, 1, by_mode),
                     0);
}
END_TEST

/** A reduce in which the root has another length than the others, so that it
 * runs flat, and they run "shared", or the other way round. All hear of it. */
static void other_lengths(job_t *job)
{
    catena_group_t *world = job->context->world;
    int32_t in[2] = {1, 1}, out[2] = {0, 0};
    JOB_CHECK(job,
              catena_group_set(world, "hierarchy", "node:shm") == CATENA_OK);
    for (int i = 0; i < 4; i++) {
        size_t count = (job->rank == 0) == (i % 2 == 0) ? 1 : 2;
        catena_request_t *request = NULL;
        catena_status_t status;
        if (i < 2) {
            status = catena_reduce(in, out, count, CATENA_INT32, CATENA_SUM, 0,
                                   world);
        } else {
            status = catena_ireduce(in, out, count, CATENA_INT32, CATENA_SUM, 0,
                                    world, &request);
            JOB_CHECK(job, status == CATENA_OK);
            status = catena_request_wait(&request);
        }
        JOB_CHECK(job,
                  status == CATENA_ERR_ARG || (i % 2 == 1 && job->rank != 0));
        JOB_CHECK(job, catena_reduce(in, out, 2, CATENA_INT32, CATENA_SUM, 0,
                                     world) == CATENA_OK);
        JOB_CHECK(job, job->rank != 0 || out[1] == RANKS);
    }
}

START_TEST(root_of_another_length)
{
    ck_assert_int_eq(job_simulate_node(RANKS, 1, other_lengths), 0);
}
END_TEST

/** An algorithm that is asked for overrides all rules; what a component does
 * not have is selected by rules. */
static void overridden(job_t *job)
{
    catena_group_t *world = job->context->world;
    int32_t in = 1, sum = 0;
    JOB_CHECK(job,
              catena_group_set(world, "hierarchy", "network:p2p") == CATENA_OK);
    static const char *const asked[][2] = {
        {"tree", "tree (as asked for)"},
        {"last", "rabenseifner (rule 2 of tuning made up)"},
        {"auto", "rabenseifner (rule 2 of tuning made up)"}};
    for (int i = 0; i < 3; i++) {
        JOB_CHECK(job, catena_group_set(world, "allreduce_algorithm",
                                        asked[i][0]) == CATENA_OK);
        JOB_CHECK(job, catena_allreduce(&in, &sum, 1, CATENA_INT32, CATENA_SUM,
                                        world) == CATENA_OK);
        JOB_CHECK(job, sum == RANKS);
        JOB_CHECK(job, says(job, world, "allreduce", asked[i][1]));
    }
}

START_TEST(settings_override)
{
    ck_assert_int_eq(job_simulate(RANKS, 1, overridden), 0);
}
END_TEST

/** Any other comparator: equal colors may have other bytes. */
static int compare_words(const void *a, size_t a_bytes, const void *b,
                         size_t b_bytes, void *argument)
{
    return catena_compare_int64(a, a_bytes, b, b_bytes, argument);
}

/** Splits with keys and without. One whose colors cannot be hashed, or whose
 * keys are no integers on all ranks, falls to the next rule. Half of the ranks
 * have an empty key. */
static void split(job_t *job)
{
    static const struct {
        unsigned flags;
        catena_compare_t compare;
        const char *expected;
    } splits[] = {
        {0, catena_compare_int64, "algorithm=cheng "},
        {CATENA_SPLIT_NO_REORDER, catena_compare_int64, "algorithm=hash "},
        {CATENA_SPLIT_NO_REORDER, compare_words, "algorithm=cheng "}};
    catena_group_t *world = job->context->world;
    for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
        int64_t color = job->rank % 2;
        catena_group_t *group = NULL;
        const catena_split_t by = {.size = sizeof(by),
                                   .flags = splits[i].flags,
                                   .color = &color,
                                   .color_bytes = sizeof(color),
                                   .color_compare = splits[i].compare,
                                   .key = &color,
                                   .key_bytes = job->rank < RANKS / 2 ? 8 : 0};
        JOB_CHECK(job, catena_group_split_by(world, &by, &group) == CATENA_OK);
        JOB_CHECK(job, says(job, world, "split", splits[i].expected));
        JOB_CHECK(job, says(job, world, "split", "of tuning made up"));
        JOB_CHECK(job, catena_group_free(&group) == CATENA_OK);
    }
}

START_TEST(splits)
{
    ck_assert_int_eq(job_simulate(RANKS, 1, split), 0);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, every_collective, 0, 4);
    tcase_add_loop_test(tcase, every_mode, 0, 2);
    tcase_add_test(tcase, root_of_another_length);
    tcase_add_test(tcase, settings_override);
    tcase_add_test(tcase, splits);
}

UNIT_TEST(rules)
{
    int fd = mkstemps(path, 5);
    if (fd < 0 || write(fd, rules, strlen(rules)) != (ssize_t)strlen(rules)) {
        return 2;
    }
    close(fd);
    setenv("CATENA_TUNING", path, 1);
    int code = unit_main("rules", 60, add_cases);
    unlink(path);
    return code;
}
