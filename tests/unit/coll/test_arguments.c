/* Refused calls: NULL for each pointer, states, blocks beyond the address
 * space. Each leaves a text that names the function and the argument, and logs
 * it once. A job of one rank rejects them like any other job. */

#include <catena/catena.h>
#include <catena/model.h>
#include <catena/sim.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "unit/unit.h"

enum { EACH = 2, TEXT_BYTES = 256 }; /* neighbors of a rank on a ring */

typedef struct null {
    catena_context_t *context, *second;
    catena_group_t *world, *group;
    catena_request_t *persistent, *request;
    catena_neighborhood_t *cart, *neighborhood;
    catena_received_t *received;
    catena_machine_t *machine, *opened;
    FILE *stream;
    int32_t send[64], recv[64];
    size_t ones[EACH], nothing[EACH];
    ptrdiff_t zeros[EACH];
    catena_type_t types[EACH], type;
    catena_op_t op;
    catena_op_function_t function;
    catena_sim_program_t program;
    const int *list;
    int zero_each[EACH], one_each[EACH], numbers[EACH], number;
    size_t size;
    catena_status_t status;
    ptrdiff_t size_signed;
    uint64_t offset;
    double real;
    void *pointer, *block;
    char text[TEXT_BYTES];
    catena_place_t place;
    catena_split_t split;
    catena_group_stats_t group_stats;
    catena_heap_stats_t heap_stats;
    catena_model_point_t point;
    catena_neighborhood_info_t info;
    catena_neighborhood_stats_t neighbor_stats;
    catena_sim_params_t params;
    catena_sim_report_t report;
    catena_sim_stats_t stats;
    int logged; /* errors of the context since forget_error */
    catena_accumulator_t accumulator;
    float single;
} null_t;

static void count_error(void *argument, int level, const char *message)
{
    (void)level, (void)message;
    ((null_t *)argument)->logged++;
}

static void add(const void *in, void *inout, size_t count, catena_type_t type,
                void *argument)
{
    (void)in, (void)inout, (void)count, (void)type, (void)argument;
}

static int program(const catena_config_t *config, void *argument)
{
    (void)config, (void)argument;
    return 0;
}

static void open_null(null_t *n)
{
    *n = (null_t){
        .ones = {1, 1},
        .types = {CATENA_INT32, CATENA_INT32},
        .one_each = {1, 1},
        .function = add,
        .program = program,
        .stream = fopen("/dev/null", "w"),
        .point = {.size = sizeof(catena_model_point_t),
                  .algorithm = "direct",
                  .nodes = 2,
                  .ppn = 2,
                  .leaders = 1,
                  .bytes = 8},
        .place.size = sizeof(catena_place_t),
        .split.size = sizeof(catena_split_t),
        .group_stats.size = sizeof(catena_group_stats_t),
        .heap_stats.size = sizeof(catena_heap_stats_t),
        .info.size = sizeof(catena_neighborhood_info_t),
        .neighbor_stats.size = sizeof(catena_neighborhood_stats_t),
        .report.size = sizeof(catena_sim_report_t),
        .stats.size = sizeof(catena_sim_stats_t),
        .params = {.size = sizeof(catena_sim_params_t),
                   .machine = "hpc-b",
                   .nodes = 1,
                   .ppn = 1},
    };
    static const char *const settings[] = {"LOG_LEVEL=error", NULL};
    ck_assert_int_eq(
        catena_init(&(catena_config_t){.size = sizeof(catena_config_t),
                                       .settings = settings,
                                       .log = count_error,
                                       .log_argument = n},
                    &n->context),
        CATENA_OK);
    n->world = catena_world(n->context);
    ck_assert_int_eq(catena_barrier_init(n->world, &n->persistent), CATENA_OK);
    ck_assert_int_eq(catena_cart_create(n->world, 1, n->one_each, n->one_each,
                                        0, NULL, &n->cart),
                     CATENA_OK);
    ck_assert_int_eq(catena_machine_open("hpc-b", &n->machine), CATENA_OK);
}

static void close_null(null_t *n)
{
    fclose(n->stream);
    catena_machine_close(&n->machine);
    catena_free(n->context, n->block);
    ck_assert_int_eq(catena_received_free(&n->received), CATENA_OK);
    if (n->op != NULL) {
        ck_assert_int_eq(catena_op_free(&n->op), CATENA_OK);
    }
    ck_assert_int_eq(catena_request_free(&n->persistent), CATENA_OK);
    ck_assert_int_eq(catena_neighborhood_free(&n->cart), CATENA_OK);
    ck_assert_int_eq(catena_finalize(&n->context), CATENA_OK);
}

/* ---- texts ---- */

/** Replace the text of catena_last_error. */
static void forget_error(null_t *n)
{
    ctn_error(ctn_log_kept(), "none");
    n->logged = 0;
}

/** Whether a text begins with "NAME: ", the name of the function or, for its
 * three functions, that of the collective.
 * @param[out] rest what comes after it */
static bool names_function(const char *text, const char *function,
                           const char **rest)
{
    static const char *const forms[] = {"%.*s", "catena_%.*s", "catena_i%.*s",
                                        "catena_%.*s_init"};
    char name[TEXT_BYTES];
    int length = (int)strcspn(text, ":");
    bool found = false;
    *rest = text + length;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && !found; i++) {
        snprintf(name, sizeof(name), forms[i], length, text);
        found = strcmp(name, function) == 0;
    }
    return found;
}

/** Whether a text has all parts of a name: "the type of send" of send_type. */
static bool names_argument(const char *text, const char *argument)
{
    char parts[TEXT_BYTES];
    bool found = true;
    snprintf(parts, sizeof(parts), "%s", argument);
    for (char *rest, *part = strtok_r(parts, "_", &rest); part != NULL && found;
         part = strtok_r(NULL, "_", &rest)) {
        found = strstr(text, part) != NULL;
    }
    return found;
}

/** The refused call has left a text, and logged it once.
 * @param caller the function, or a test of it: with "_null" after its name */
static void check_error(const null_t *n, const char *caller,
                        const char *argument)
{
    char function[TEXT_BYTES];
    const char *text = catena_last_error();
    const char *rest;
    const char *end = strstr(caller, "_null");
    int length = end != NULL ? (int)(end - caller) : (int)strlen(caller);
    snprintf(function, sizeof(function), "%.*s", length, caller);
    ck_assert_msg(names_function(text, function, &rest) &&
                      names_argument(rest, argument),
                  "%s, %s: found \"%s\"", function, argument, text);
    ck_assert_msg(n->logged <= 1, "%s, %s: logged %d times", function, argument,
                  n->logged);
}

/* ---- NULL ---- */

#define REFUSES(n, what, call)                                                 \
    do {                                                                       \
        forget_error(n);                                                       \
        catena_status_t status = (call);                                       \
        ck_assert_msg(status == CATENA_ERR_ARG && (n)->request == NULL,        \
                      "%s with %s NULL: %d", __func__, what, status);          \
        check_error(n, __func__, what);                                        \
    } while (0)
#define GIVES_NULL(n, what, call)                                              \
    do {                                                                       \
        forget_error(n);                                                       \
        ck_assert_msg((call) == NULL && (n)->world != NULL, "%s", what);       \
        check_error(n, __func__, what);                                        \
    } while (0)
/* A number that no group, type or clock has. */
#define SAYS(n, what, call)                                                    \
    ck_assert_msg((call) <= 0 && (n)->world != NULL, "%s", what)
/* A NULL handle is nothing to free. */
#define ACCEPTS(n, call)                                                       \
    do {                                                                       \
        catena_status_t status = (call);                                       \
        ck_assert_msg(status == CATENA_OK && (n)->world != NULL,               \
                      "%s of a NULL handle: %d", __func__, status);            \
    } while (0)
/* NULL is allowed, or the function returns nothing. */
#define RUNS(n, what, call) ((void)(n), (void)(what), (void)(call))

#include "null_calls.h"

START_TEST(refuses_null)
{
    null_t n;
    open_null(&n);
    null_calls[_i].run(&n);
    close_null(&n);
}
END_TEST

/* ---- states, and values ---- */

/* The call fails, and its text begins with the function and has these words. */
#define SAYS_WHY(n, expected, function, words, call)                           \
    do {                                                                       \
        forget_error(n);                                                       \
        catena_status_t status = (call);                                       \
        ck_assert_msg(status == (expected), "%s: %d", #call, status);          \
        check_error(n, #function, "");                                         \
        ck_assert_msg(strstr(catena_last_error(), words) != NULL,              \
                      "%s: found \"%s\"", #call, catena_last_error());         \
    } while (0)

START_TEST(refuses_states)
{
    null_t n;
    catena_group_t *own;
    catena_request_t *request;
    open_null(&n);
    ck_assert_int_eq(catena_request_start(n.persistent), CATENA_OK);
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_request_start, "active",
             catena_request_start(n.persistent));
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_request_free, "active",
             catena_request_free(&n.persistent));
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_finalize, "complete them first",
             catena_finalize(&n.context));
    ck_assert_int_eq(catena_request_wait(&n.persistent), CATENA_OK);
    ck_assert_int_eq(catena_group_dup(n.world, &own), CATENA_OK);
    ck_assert_int_eq(catena_ibarrier(own, &request), CATENA_OK);
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_request_start, "nonblocking",
             catena_request_start(request));
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_request_free, "nonblocking",
             catena_request_free(&request));
    ck_assert_int_eq(catena_request_wait(&request), CATENA_OK);
    ck_assert_int_eq(catena_group_free(&own), CATENA_OK);
    close_null(&n);
}
END_TEST

START_TEST(says_which_values_are_wrong)
{
    null_t n;
    catena_group_t *world;
    catena_op_t op = CATENA_SUM;
    catena_type_t type = CATENA_INT32;
    catena_context_t *second;
    catena_config_t config = {.size = 0};
    catena_split_t split = {.size = 0};
    catena_neighborhood_info_t info = {.size = 0};
    int one = 1, minus = -1;
    open_null(&n);
    world = n.world;
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_group_free, "catena_world",
             catena_group_free(&world));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_op_free, "catena_op_create",
             catena_op_free(&op));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_type_free, "int32",
             catena_type_free(&type));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_init, "sizeof(catena_config_t)",
             catena_init(&config, &second));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_group_split_by,
             "sizeof(catena_split_t)",
             catena_group_split_by(n.world, &split, &n.group));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_group_split, "is -5",
             catena_group_split(n.world, -5, 0, &n.group));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_group_set, "no setting 'x'",
             catena_group_set(n.world, "x", "auto"));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_group_set, "bcast_algorithm is 'x'",
             catena_group_set(n.world, "bcast_algorithm", "x"));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_group_set, "hierarchy is 'x'",
             catena_group_set(n.world, "hierarchy", "x"));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_group_explain, "bytes",
             catena_group_explain(n.world, "bcast", n.text, 0));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_heap_offset, "catena_malloc",
             catena_heap_offset(n.context, &n, &n.offset));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_node_put, "rank 9",
             catena_node_put(n.context, 9, 0, n.send, 1));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_node_get, "beyond the heap",
             catena_node_get(n.context, 0, UINT64_MAX, n.recv, 1));
    forget_error(&n);
    ck_assert_ptr_null(catena_aligned_alloc(n.context, 48, 8));
    check_error(&n, "catena_aligned_alloc", "alignment");
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_compute, "-1 seconds",
             catena_compute(n.context, -1));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_dims_create, "0 ranks",
             catena_dims_create(0, 1, n.numbers));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_dims_create, "dims[0] is -1",
             catena_dims_create(1, 1, &minus));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_cart_shift, "dimension is 1",
             catena_cart_shift(n.cart, 1, 1, &n.number, &one));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_cart_coords, "rank is 1",
             catena_cart_coords(n.cart, 1, 1, n.numbers));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_cart_create, "is -1",
             catena_cart_create(n.world, 1, &minus, n.one_each, 0, NULL,
                                &n.neighborhood));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_cart_create,
             "sizeof(catena_neighborhood_info_t)",
             catena_cart_create(n.world, 1, n.one_each, n.one_each, 0, &info,
                                &n.neighborhood));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_neighborhood_set, "no setting 'x'",
             catena_neighborhood_set(n.cart, "x", "auto"));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_neighborhood_explain,
             "neighbor_allgather",
             catena_neighborhood_explain(n.cart, "x", n.text, sizeof(n.text)));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_type_subarray, "ndims",
             catena_type_subarray(0, n.ones, n.ones, n.nothing, CATENA_ORDER_C,
                                  type, &n.type));
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_sim_get_stats, "catena_sim_run",
             catena_sim_get_stats(n.context, &n.stats));
    n.point.ppn = 0;
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_model_alltoall, "ppn 0",
             catena_model_alltoall(n.machine, &n.point, &n.real));
    n.params.machine = NULL;
    SAYS_WHY(&n, CATENA_ERR_ARG, catena_sim_run, "machine",
             catena_sim_run(&n.params, program, NULL, NULL));
    close_null(&n);
}
END_TEST

/** A program of two ranks. The world ranks of a duplicate are not known; what
 * has operations under way is not freed. */
static int refuse_states(const catena_config_t *config, void *argument)
{
    null_t n = {.one_each = {1, 1}};
    catena_config_t own = *config;
    catena_group_t *part;
    (void)argument;
    own.log = count_error;
    own.log_argument = &n;
    ck_assert_int_eq(catena_init(&own, &n.context), CATENA_OK);
    n.world = catena_world(n.context);
    ck_assert_int_eq(catena_group_dup(n.world, &n.group), CATENA_OK);
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_group_translate_ranks,
             "catena_group_world_ranks",
             catena_group_translate_ranks(n.group, 1, n.zero_each, n.world,
                                          n.numbers));
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_group_create,
             "catena_group_world_ranks",
             catena_group_create(n.group, 1, n.zero_each, &part));
    ck_assert_int_eq(catena_ibarrier(n.group, &n.request), CATENA_OK);
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_group_free, "complete it first",
             catena_group_free(&n.group));
    ck_assert_int_eq(catena_request_wait(&n.request), CATENA_OK);
    ck_assert_int_eq(catena_group_free(&n.group), CATENA_OK);
    ck_assert_int_eq(catena_ibarrier(n.world, &n.request), CATENA_OK);
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_finalize, "complete it first",
             catena_finalize(&n.context));
    ck_assert_int_eq(catena_request_wait(&n.request), CATENA_OK);
    ck_assert_int_eq(catena_cart_create(n.world, 1, (const int[]){2},
                                        n.one_each, 0, NULL, &n.cart),
                     CATENA_OK);
    ck_assert_int_eq(catena_ineighbor_alltoall(n.send, 1, CATENA_INT32, n.recv,
                                               1, CATENA_INT32, n.cart,
                                               &n.request),
                     CATENA_OK);
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_neighborhood_free,
             "complete it first", catena_neighborhood_free(&n.cart));
    SAYS_WHY(&n, CATENA_ERR_STATE, catena_neighborhood_set, "complete it first",
             catena_neighborhood_set(n.cart, "algorithm", "auto"));
    ck_assert_int_eq(catena_request_wait(&n.request), CATENA_OK);
    ck_assert_int_eq(catena_neighborhood_free(&n.cart), CATENA_OK);
    return catena_finalize(&n.context) != CATENA_OK;
}

START_TEST(refuses_states_of_two_ranks)
{
    catena_sim_params_t params = {
        .size = sizeof(params), .machine = "hpc-b", .nodes = 1, .ppn = 2};
    catena_sim_report_t report = {.size = sizeof(report)};
    ck_assert_int_eq(catena_sim_run(&params, refuse_states, NULL, &report),
                     CATENA_OK);
    ck_assert_int_eq(report.failed_ranks, 0);
}
END_TEST

/* ---- blocks beyond the address space ---- */

#define BEYOND(call)                                                           \
    ck_assert_msg((call) == CATENA_ERR_ARG, "line %d: %s", __LINE__, #call)

/** Displacements whose product with the extent wraps to 0 or leaves the address
 * space on either side, and lengths that do. */
START_TEST(refuses_far_blocks)
{
    enum { T = 8 };
    static const ptrdiff_t far[][EACH] = {
        {(ptrdiff_t)1 << 61, (ptrdiff_t)1 << 61},
        {-((ptrdiff_t)1 << 60) + 1, 0},
        {PTRDIFF_MAX / T, PTRDIFF_MAX / T}};
    static const ptrdiff_t far_bytes[][EACH] = {
        {PTRDIFF_MAX, 0}, {PTRDIFF_MIN, 0}, {PTRDIFF_MAX - T, 0}};
    static const size_t many[EACH] = {SIZE_MAX / T + 2, 0};
    const ptrdiff_t *at = far[_i];
    const ptrdiff_t *byte = far_bytes[_i];
    null_t n;
    open_null(&n);
    const catena_type_t type = CATENA_INT64;
    const catena_type_t types[] = {type, type};
    BEYOND(catena_alltoallv(n.send, n.ones, at, type, n.recv, n.ones, n.zeros,
                            type, n.world));
    BEYOND(catena_alltoallv(n.send, n.ones, n.zeros, type, n.recv, n.ones, at,
                            type, n.world));
    BEYOND(catena_alltoallv(n.send, many, n.zeros, type, n.recv, many, n.zeros,
                            type, n.world));
    BEYOND(catena_alltoallw(n.send, n.ones, byte, types, n.recv, n.ones,
                            n.zeros, types, n.world));
    BEYOND(catena_alltoallw(n.send, n.ones, n.zeros, types, n.recv, n.ones,
                            byte, types, n.world));
    BEYOND(
        catena_gatherv(n.send, 1, type, n.recv, n.ones, at, type, 0, n.world));
    BEYOND(
        catena_scatterv(n.send, n.ones, at, type, n.recv, 1, type, 0, n.world));
    BEYOND(
        catena_allgatherv(n.send, 1, type, n.recv, n.ones, at, type, n.world));
    BEYOND(
        catena_reduce_scatter(n.send, n.recv, many, type, CATENA_SUM, n.world));
    BEYOND(catena_neighbor_allgatherv(n.send, 1, type, n.recv, n.ones, at, type,
                                      n.cart));
    BEYOND(catena_neighbor_alltoallv(n.send, n.ones, at, type, n.recv, n.ones,
                                     n.zeros, type, n.cart));
    BEYOND(catena_neighbor_alltoallw(n.send, n.ones, n.zeros, types, n.recv,
                                     n.ones, byte, types, n.cart));
    BEYOND(catena_neighbor_reducev(n.send, n.ones, at, n.recv, 1, type,
                                   CATENA_SUM, n.cart));
    /* Other arguments of empty blocks are ignored. */
    ck_assert_int_eq(catena_alltoallv(n.send, n.nothing, at, type, n.recv,
                                      n.nothing, at, type, n.world),
                     CATENA_OK);
    close_null(&n);
}
END_TEST

/* ---- times beyond the range of clocks ---- */

typedef struct longest {
    double delay_s; /* of every message */
    double work_s;  /* of every rank, `times` times */
    int times;
    size_t stack_bytes;
    catena_status_t status; /* of the run */
} longest_t;

static double delay(void *argument, const catena_sim_message_t *message)
{
    (void)message;
    return ((const longest_t *)argument)->delay_s;
}

static int work_long(const catena_config_t *config, void *argument)
{
    const longest_t *longest = argument;
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    bool refused = longest->work_s > 1e6;
    double begun = catena_time(context);
    for (int i = 0; i < longest->times; i++) {
        refused ^= catena_compute(context, longest->work_s) != CATENA_OK;
    }
    double took = catena_time(context) - begun;
    return refused || (longest->work_s <= 1e6 && took < longest->work_s) ||
           catena_finalize(&context) != CATENA_OK;
}

START_TEST(refuses_long_times)
{
    static longest_t cases[] = {
        {.delay_s = 1e12, .status = CATENA_ERR_ARG},
        {.delay_s = 1e300, .status = CATENA_ERR_ARG},
        {.delay_s = 1e5, .status = CATENA_OK},
        {.work_s = 1e12, .times = 1, .status = CATENA_OK},
        {.work_s = 1e6, .times = 20, .status = CATENA_ERR_ARG},
        {.work_s = 1e6, .times = 2, .status = CATENA_OK},
        {.stack_bytes = SIZE_MAX - 100, .status = CATENA_ERR_ARG},
    };
    longest_t *longest = &cases[_i];
#if defined(__SANITIZE_ADDRESS__)
    if (longest->status != CATENA_OK) {
        return; /* ranks that never end keep their memory, as after abort(3) */
    }
#endif
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-b",
                                  .nodes = 2,
                                  .ppn = 1,
                                  .stack_bytes = longest->stack_bytes,
                                  .delay = delay,
                                  .delay_argument = longest};
    catena_sim_report_t report = {.size = sizeof(report)};
    ck_assert_int_eq(catena_sim_run(&params, work_long, longest, &report),
                     longest->status);
    ck_assert_int_eq(report.failed_ranks, 0);
    ck_assert(longest->status != CATENA_OK ||
              report.virtual_s >= longest->delay_s);
}
END_TEST

/** NULL is a buffer of 0 bytes. (memcpy does not take it: undefined behaviour,
 * which the sanitizers find.) */
START_TEST(puts_and_gets_nothing)
{
    null_t n;
    open_null(&n);
    n.block = catena_malloc(n.context, 1);
    ck_assert_int_eq(catena_heap_offset(n.context, n.block, &n.offset),
                     CATENA_OK);
    ck_assert_int_eq(catena_node_put(n.context, 0, n.offset, NULL, 0),
                     CATENA_OK);
    ck_assert_int_eq(catena_node_get(n.context, 0, n.offset, NULL, 0),
                     CATENA_OK);
    close_null(&n);
}
END_TEST

/** catena_abort ends the process without a context, too. */
START_TEST(aborts_without_a_context)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        catena_abort(NULL, 7);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, refuses_null, 0,
                        sizeof(null_calls) / sizeof(null_calls[0]));
    tcase_add_test(tcase, refuses_states);
    tcase_add_test(tcase, says_which_values_are_wrong);
    tcase_add_test(tcase, refuses_states_of_two_ranks);
    tcase_add_loop_test(tcase, refuses_far_blocks, 0, 3);
    tcase_add_loop_test(tcase, refuses_long_times, 0, 7);
    tcase_add_test(tcase, puts_and_gets_nothing);
    tcase_add_test(tcase, aborts_without_a_context);
}

UNIT_TEST(arguments)
{
    return unit_main("arguments", 20, add_cases);
}
