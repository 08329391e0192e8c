/* Public structs that begin with their size. */

#include <catena/catena.h>
#include <catena/model.h>
#include <catena/sim.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/sized.h"
#include "unit/said.h"
#include "unit/unit.h"

/* A struct grows at its end, and has no padding there: an older program's size
 * would cover a member that is put into it. Name the new last member here. */
#define ENDS_WITH(type, last)                                                  \
    _Static_assert(offsetof(type, size) == 0 &&                                \
                       offsetof(type, last) + sizeof(((type *)0)->last) ==     \
                           sizeof(type),                                       \
                   #type)
ENDS_WITH(catena_config_t, progress_argument);
ENDS_WITH(catena_group_stats_t, split_memory);
ENDS_WITH(catena_heap_stats_t, frees);
ENDS_WITH(catena_model_point_t, segments);
ENDS_WITH(catena_neighborhood_info_t, weights);
ENDS_WITH(catena_neighborhood_stats_t, weight_all);
ENDS_WITH(catena_oob_t, argument);
ENDS_WITH(catena_place_t, network);
ENDS_WITH(catena_sim_params_t, choose_argument);
ENDS_WITH(catena_sim_report_t, exit_code);
ENDS_WITH(catena_sim_stats_t, node_messages);
ENDS_WITH(catena_split_t, algorithm);

/* ---- the rules ---- */

/** A struct of three releases: first, the library's, a newer one. */
typedef struct thing {
    size_t size;
    int64_t first;
    int64_t second;
} thing_t;
typedef struct newer {
    thing_t known;
    int64_t third[2];
} newer_t;
enum { FIRST_BYTES = offsetof(thing_t, second) };

static const ctn_sized_t thing_struct = CTN_SIZED(thing_t, first);

START_TEST(an_older_struct_is_read_with_defaults)
{
    thing_t given = {FIRST_BYTES, 5, 6};
    thing_t own = {1, 2, 3};
    ck_assert_int_eq(
        ctn_sized_read(__func__, NULL, &thing_struct, &given, &own), CATENA_OK);
    ck_assert_uint_eq(own.size, sizeof(own));
    ck_assert_int_eq(own.first, 5);
    ck_assert_int_eq(own.second, 0);
}
END_TEST

START_TEST(a_newer_struct_is_read_if_the_rest_is_zero)
{
    newer_t given = {{sizeof(given), 5, 6}, {0, 0}};
    thing_t own[2] = {{0}, {7, 8, 9}};
    ck_assert_int_eq(ctn_sized_read(__func__, NULL, &thing_struct, &given, own),
                     CATENA_OK);
    ck_assert_int_eq(own[0].first, 5);
    ck_assert_int_eq(own[0].second, 6);
    ck_assert_int_eq(own[1].size, 7);
    memset((unsigned char *)&given + sizeof(given) - 1, 1, 1);
    capture_t said;
    capture_start(&said);
    ck_assert_int_eq(ctn_sized_read(__func__, NULL, &thing_struct, &given, own),
                     CATENA_ERR_UNSUPPORTED);
    capture_stop(&said);
    said_facts(&said, "thing_t", "39", "40", "24", catena_version(), NULL);
    ck_assert_int_eq(own[0].first, 0);
}
END_TEST

START_TEST(a_size_is_required)
{
    static const size_t sizes[] = {0, 1, FIRST_BYTES - 1};
    thing_t given = {sizes[_i], 5, 6};
    thing_t own = {0};
    capture_t said;
    capture_start(&said);
    ck_assert_int_eq(
        ctn_sized_read(__func__, NULL, &thing_struct, &given, &own),
        CATENA_ERR_ARG);
    ck_assert_int_eq(
        ctn_sized_write(__func__, NULL, &thing_struct, &own, &given),
        CATENA_ERR_ARG);
    capture_stop(&said);
    ck_assert_ptr_nonnull(strstr(said.text, ".size = sizeof(thing_t)"));
    ck_assert_int_eq(own.first, 0);
    ck_assert_int_eq(given.first, 5);
}
END_TEST

START_TEST(a_struct_is_filled_up_to_its_size)
{
    static const size_t sizes[] = {FIRST_BYTES, FIRST_BYTES + 4,
                                   sizeof(thing_t), sizeof(newer_t)};
    const thing_t own = {sizeof(own), -1, -1};
    newer_t given = {{sizes[_i], 0, 0}, {0, 0}};
    ck_assert_int_eq(
        ctn_sized_write(__func__, NULL, &thing_struct, &own, &given),
        CATENA_OK);
    ck_assert_uint_eq(given.known.size, sizes[_i]);
    const unsigned char *byte = (const void *)&given;
    for (size_t i = sizeof(size_t); i < sizeof(given); i++) {
        bool filled = i < sizes[_i] && i < sizeof(own);
        ck_assert_uint_eq(byte[i], filled ? 0xff : 0);
    }
}
END_TEST

/* ---- the functions that take such structs ---- */

/* The call refuses a struct without its size, and names the type. */
#define REFUSES(type, call)                                                    \
    do {                                                                       \
        capture_t said;                                                        \
        capture_start(&said);                                                  \
        catena_status_t status = (call);                                       \
        capture_stop(&said);                                                   \
        ck_assert_int_eq(status, CATENA_ERR_ARG);                              \
        ck_assert_ptr_nonnull(strstr(said.text, ".size = sizeof(" #type ")")); \
    } while (0)

static int returns(const catena_config_t *config, void *argument)
{
    (void)config, (void)argument;
    return 0;
}

START_TEST(a_simulation_and_a_model_need_sizes)
{
    catena_machine_t *machine;
    catena_sim_params_t params = {.machine = "hpc-b", .nodes = 1, .ppn = 1};
    catena_sim_report_t report = {0};
    catena_model_point_t point = {0, "direct", 2, 2, 1, 8, 1, 1};
    double seconds;
    ck_assert_int_eq(catena_machine_open("hpc-b", &machine), CATENA_OK);
    REFUSES(catena_model_point_t,
            catena_model_alltoall(machine, &point, &seconds));
    catena_machine_close(&machine);
    REFUSES(catena_sim_params_t, catena_sim_run(&params, returns, NULL, NULL));
    params.size = sizeof(params);
    REFUSES(catena_sim_report_t,
            catena_sim_run(&params, returns, NULL, &report));
}
END_TEST

START_TEST(a_context_and_its_groups_need_sizes)
{
    catena_context_t *context;
    catena_config_t config = {0};
    REFUSES(catena_config_t, catena_init(&config, &context));
    ck_assert_int_eq(catena_init(NULL, &context), CATENA_OK);
    catena_group_t *world = catena_world(context);
    catena_group_t *made;
    catena_request_t *request;
    catena_neighborhood_t *cart;
    const int one[] = {1};
    const catena_split_t split = {0};
    const catena_neighborhood_info_t info = {0};
    catena_place_t place = {0};
    catena_group_stats_t group_stats = {0};
    catena_heap_stats_t heap_stats = {0};
    catena_neighborhood_stats_t stats = {0};
    REFUSES(catena_split_t, catena_group_split_by(world, &split, &made));
    REFUSES(catena_split_t,
            catena_group_isplit_by(world, &split, &made, &request));
    REFUSES(catena_neighborhood_info_t,
            catena_neighborhood_create(world, 0, NULL, NULL, 0, NULL, NULL,
                                       &info, &cart));
    REFUSES(catena_neighborhood_info_t,
            catena_dist_graph_create(world, 0, NULL, NULL, NULL, NULL, &info,
                                     &cart));
    REFUSES(catena_neighborhood_info_t,
            catena_cart_create(world, 1, one, one, 0, &info, &cart));
    ck_assert_int_eq(catena_cart_create(world, 1, one, one, 0, NULL, &cart),
                     CATENA_OK);
    REFUSES(catena_neighborhood_info_t,
            catena_cart_derive_graph(cart, 0, NULL, NULL, 0, &info, &cart));
    REFUSES(catena_neighborhood_stats_t,
            catena_neighborhood_get_stats(cart, &stats));
    REFUSES(catena_group_stats_t, catena_group_get_stats(world, &group_stats));
    REFUSES(catena_heap_stats_t, catena_heap_get_stats(context, &heap_stats));
    REFUSES(catena_place_t, catena_get_place(context, &place));
    ck_assert_int_eq(catena_neighborhood_free(&cart), CATENA_OK);
    ck_assert_int_eq(catena_finalize(&context), CATENA_OK);
}
END_TEST

static void add(TCase *tcase)
{
    tcase_add_test(tcase, an_older_struct_is_read_with_defaults);
    tcase_add_test(tcase, a_newer_struct_is_read_if_the_rest_is_zero);
    tcase_add_loop_test(tcase, a_size_is_required, 0, 3);
    tcase_add_loop_test(tcase, a_struct_is_filled_up_to_its_size, 0, 4);
    tcase_add_test(tcase, a_simulation_and_a_model_need_sizes);
    tcase_add_test(tcase, a_context_and_its_groups_need_sizes);
}

UNIT_TEST(sized)
{
    return unit_main("sized", 20, add);
}
