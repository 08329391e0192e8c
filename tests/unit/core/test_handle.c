/* Handles that were freed: with assertions, each call refuses them. */

#include <string.h>

#include "job.h"
#include "unit.h"

#ifdef NDEBUG

UNIT_TEST(handle)
{
    return 77; /* skipped: they are not recognized */
}

#else

/** The last call was refused for a handle that was freed. */
static bool was_refused(catena_status_t status)
{
    return status == CATENA_ERR_ARG &&
           strstr(catena_last_error(), "was freed") != NULL;
}

#define REFUSED(call) JOB_CHECK(job, was_refused(call))

static void freed_group(job_t *job)
{
    catena_group_t *group, *other, *out = NULL;
    int64_t in = 1, sum = 0;
    size_t count;
    uint64_t flags = 1;
    const int *ranks;
    char text[64];
    catena_request_t *request = NULL;
    catena_neighborhood_t *grid = NULL;
    JOB_CHECK(job, catena_group_dup(catena_world(job->context), &group) ==
                       CATENA_OK);
    other = group;
    JOB_CHECK(job, catena_group_free(&group) == CATENA_OK && group == NULL);
    REFUSED(catena_barrier(other));
    REFUSED(catena_ibarrier(other, &request));
    REFUSED(catena_allreduce(&in, &sum, 1, CATENA_INT64, CATENA_SUM, other));
    REFUSED(catena_ialltoall(&in, 1, CATENA_INT64, &sum, 1, CATENA_INT64, other,
                             &request));
    REFUSED(catena_bcast_init(&in, 1, CATENA_INT64, 0, other, &request));
    REFUSED(catena_group_dup(other, &out));
    REFUSED(catena_group_split(other, 0, 0, &out));
    REFUSED(catena_group_set(other, "alltoall_algorithm", "direct"));
    REFUSED(catena_group_explain(other, "alltoall", text, sizeof(text)));
    REFUSED(catena_group_world_ranks(other, &ranks));
    REFUSED(catena_group_failed(other, &count, NULL));
    REFUSED(catena_group_agree(other, &flags));
    REFUSED(catena_cart_create(other, 0, NULL, NULL, 0, NULL, &grid));
    REFUSED(catena_group_translate_ranks(other, 0, NULL,
                                         catena_world(job->context), NULL));
    REFUSED(catena_group_translate_ranks(catena_world(job->context), 0, NULL,
                                         other, NULL));
    REFUSED(catena_group_create(other, 0, NULL, &out));
    REFUSED(catena_group_free(&other));
    JOB_CHECK(job,
              catena_group_size(other) == 0 && catena_group_rank(other) == -1);
    JOB_CHECK(job, out == NULL && request == NULL && grid == NULL);
}

static void freed_request(job_t *job)
{
    catena_group_t *world = catena_world(job->context);
    catena_request_t *request, *other;
    size_t index;
    int done;
    char text[64];
    JOB_CHECK(job, catena_ibarrier(world, &request) == CATENA_OK);
    other = request;
    JOB_CHECK(job, catena_request_wait(&request) == CATENA_OK);
    for (int i = 0; i < 50; i++) { /* they do not use the memory again */
        JOB_CHECK(job, catena_ibarrier(world, &request) == CATENA_OK);
        JOB_CHECK(job, catena_request_wait(&request) == CATENA_OK);
    }
    REFUSED(catena_request_wait(&other));
    REFUSED(catena_request_test(&other, &done));
    REFUSED(catena_request_waitall(1, &other));
    REFUSED(catena_request_testall(1, &other, &done));
    REFUSED(catena_request_waitany(1, &other, &index));
    REFUSED(catena_request_testany(1, &other, &index, &done));
    REFUSED(catena_request_waitsome(1, &other, &index, &index, NULL));
    REFUSED(catena_request_testsome(1, &other, &index, &index, NULL, &done));
    REFUSED(catena_request_describe(other, text, sizeof(text)));
    JOB_CHECK(job, catena_barrier_init(world, &request) == CATENA_OK);
    other = request;
    JOB_CHECK(job, catena_request_free(&request) == CATENA_OK);
    REFUSED(catena_request_start(other));
    REFUSED(catena_request_free(&other));
}

static void freed_neighborhood(job_t *job)
{
    catena_neighborhood_t *grid = NULL, *other;
    int dims[1] = {(int)job->size}, periods[1] = {1}, sources, targets;
    int64_t in[2] = {0}, out[2] = {0};
    char text[64];
    JOB_CHECK(job, catena_cart_create(catena_world(job->context), 1, dims,
                                      periods, 0, NULL, &grid) == CATENA_OK);
    other = grid;
    JOB_CHECK(job, catena_neighborhood_free(&grid) == CATENA_OK);
    REFUSED(catena_neighbor_alltoall(in, 1, CATENA_INT64, out, 1, CATENA_INT64,
                                     other));
    REFUSED(catena_neighborhood_counts(other, &sources, &targets));
    REFUSED(catena_neighborhood_set(other, "algorithm", "direct"));
    REFUSED(catena_neighborhood_explain(other, "neighbor_alltoall", text,
                                        sizeof(text)));
    REFUSED(catena_cart_rank(other, dims, &sources));
    REFUSED(catena_neighborhood_free(&other));
    REFUSED(catena_cart_ndims(other, &targets));
    JOB_CHECK(job, catena_neighborhood_group(other) == NULL);
}

static void keep_first(const void *in, void *inout, size_t count,
                       catena_type_t type, void *argument)
{
    (void)argument;
    memcpy(inout, in, count * catena_type_size(type));
}

#define NO_ARGUMENT(call) JOB_CHECK(job, (call) == CATENA_ERR_ARG)

/** The operator of a reduction whose type was freed may ask about it. */
static void ask(const void *in, void *inout, size_t count, catena_type_t type,
                void *argument)
{
    ptrdiff_t lower, extent;
    if (catena_type_extent(type, &lower, &extent) == CATENA_OK) {
        memcpy(inout, in, count * (size_t)extent);
        ++*(int *)argument;
    }
}

/** A type and an operator that were freed while a persistent request uses them:
 * it may be started, and other calls refuse them. */
static void freed_while_used(job_t *job)
{
    catena_group_t *world = catena_world(job->context);
    catena_request_t *request = NULL;
    catena_type_t type = NULL, other;
    catena_op_t op = NULL, first;
    int64_t in[2] = {1, 2}, out[2] = {0};
    int asked = 0;
    JOB_CHECK(job, catena_type_contiguous(2, CATENA_INT64, &type) == CATENA_OK);
    JOB_CHECK(job, catena_op_create(ask, &asked, 0, &op) == CATENA_OK);
    JOB_CHECK(job, catena_allreduce_init(in, out, 1, type, op, world,
                                         &request) == CATENA_OK);
    other = type;
    first = op;
    JOB_CHECK(job, catena_type_free(&type) == CATENA_OK);
    JOB_CHECK(job, catena_op_free(&op) == CATENA_OK);
    NO_ARGUMENT(catena_bcast(in, 1, other, 0, world));
    NO_ARGUMENT(catena_type_contiguous(2, other, &type));
    NO_ARGUMENT(catena_type_free(&other));
    NO_ARGUMENT(catena_allreduce(in, out, 2, CATENA_INT64, first, world));
    NO_ARGUMENT(catena_op_free(&first));
    JOB_CHECK(job, catena_request_start(request) == CATENA_OK);
    JOB_CHECK(job, catena_request_wait(&request) == CATENA_OK);
    JOB_CHECK(job, memcmp(in, out, sizeof(out)) == 0);
    JOB_CHECK(job, catena_request_free(&request) == CATENA_OK);
    JOB_CHECK(job, job->size == 1 || asked > 0);
    NO_ARGUMENT(catena_type_extent(other, &(ptrdiff_t){0}, &(ptrdiff_t){0}));
}

/** Types and operations. */
static void freed_type(job_t *job)
{
    catena_group_t *world = catena_world(job->context);
    catena_type_t type = NULL, other;
    catena_op_t op = NULL, sum;
    int64_t in[2] = {0}, out[2] = {0};
    JOB_CHECK(job, catena_type_contiguous(2, CATENA_INT64, &type) == CATENA_OK);
    JOB_CHECK(job, catena_op_create(keep_first, NULL, 0, &op) == CATENA_OK);
    other = type;
    sum = op;
    JOB_CHECK(job, catena_type_free(&type) == CATENA_OK);
    JOB_CHECK(job, catena_op_free(&op) == CATENA_OK);
    NO_ARGUMENT(catena_bcast(in, 1, other, 0, world));
    NO_ARGUMENT(catena_type_contiguous(2, other, &type));
    NO_ARGUMENT(catena_type_free(&other));
    NO_ARGUMENT(catena_allreduce(in, out, 1, CATENA_INT64, sum, world));
    NO_ARGUMENT(catena_op_free(&sum));
}

static void freed(job_t *job)
{
    freed_type(job);
    freed_while_used(job);
    freed_group(job);
    freed_request(job);
    freed_neighborhood(job);
}

START_TEST(handles_that_were_freed_are_refused)
{
    ck_assert_int_eq(job_simulate(1, 1, freed), 0);
    ck_assert_int_eq(job_simulate(3, 2, freed), 0);
}
END_TEST

static int ended(const catena_config_t *config, void *argument)
{
    catena_context_t *context, *other;
    catena_heap_stats_t stats = {.size = sizeof(stats)};
    int *errors = argument;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    other = context;
    *errors += catena_finalize(&context) != CATENA_OK;
    *errors += catena_world(other) != NULL || catena_self(other) != NULL;
    *errors += catena_malloc(other, 8) != NULL;
    *errors += catena_realloc(other, NULL, 8) != NULL;
    *errors += !was_refused(catena_progress(other));
    *errors += catena_time(other) != 0;
    *errors += !was_refused(catena_node_put(other, 0, 0, NULL, 0));
    *errors += !was_refused(catena_heap_get_stats(other, &stats));
    *errors += !was_refused(catena_finalize(&other));
    return 0;
}

START_TEST(a_context_that_was_ended_is_refused)
{
    int errors = 0;
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-a",
                                  .nodes = 2,
                                  .ppn = 2,
                                  .stack_bytes = JOB_STACK_BYTES};
    ck_assert_int_eq(catena_sim_run(&params, ended, &errors, NULL), CATENA_OK);
    ck_assert_int_eq(errors, 0);
}
END_TEST

static void add(TCase *tcase)
{
    tcase_add_test(tcase, handles_that_were_freed_are_refused);
    tcase_add_test(tcase, a_context_that_was_ended_is_refused);
}

UNIT_TEST(handle)
{
    return unit_main("handle", 20, add);
}

#endif
