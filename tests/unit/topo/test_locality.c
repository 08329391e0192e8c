/* The locality of a process and the devices it uses, on machines from files. */

#include <stdlib.h>
#include <string.h>

#include "topo/locality.h"

#include "unit/unit.h"

static const char machine[] = TEST_DATA "/two-devices.xml";
static const ctn_log_t quiet = {.level = CATENA_LOG_FATAL};

static char *devices_for(const char *setting, uint32_t local_rank)
{
    ctn_locality_t locality = {.local_rank = local_rank, .local_size = 4};
    char *devices = NULL;
    ck_assert_int_eq(ctn_locality_find(&quiet, machine, &locality), CATENA_OK);
    ck_assert_int_eq(
        ctn_locality_devices(&quiet, machine, setting, &locality, &devices),
        CATENA_OK);
    return devices;
}

START_TEST(ranks_are_in_domains)
{
    for (uint32_t i = 0; i < 8; i++) {
        ctn_locality_t locality = {.local_rank = i, .local_size = 8};
        ck_assert_int_eq(ctn_locality_find(&quiet, machine, &locality),
                         CATENA_OK);
        ck_assert_int_eq(locality.numa, (int)(i % 4 / 2));
        ck_assert_int_eq(
            ctn_locality_find(&quiet, "numa:2 core:2 pu:1", &locality),
            CATENA_OK);
        ck_assert_int_eq(locality.numa, (int)(i % 4 / 2));
    }
}
END_TEST

START_TEST(local_devices_only)
{
    static const char *const expected[] = {"mlx5_0:1", "mlx5_0:1", "mlx5_1:2",
                                           "mlx5_1:2"};
    for (uint32_t i = 0; i < 4; i++) {
        char *devices = devices_for("auto", i);
        ck_assert_ptr_nonnull(devices);
        ck_assert_str_eq(devices,
                         expected[i]); /* without the port that is down */
        free(devices);
    }
}
END_TEST

START_TEST(devices_by_setting)
{
    ck_assert_ptr_null(devices_for("all", 0));
    char *devices = devices_for("eth0,eth1/ib0:1", 2);
    ck_assert_str_eq(devices, "eth0,eth1");
    free(devices);
    devices = devices_for("eth0,eth1/ib0:1", 3);
    ck_assert_str_eq(devices, "ib0:1");
    free(devices);
}
END_TEST

START_TEST(nothing_to_choose_from)
{
    ctn_locality_t locality = {.local_rank = 0, .local_size = 1};
    char *devices = NULL;
    ck_assert_int_eq(ctn_locality_find(&quiet, "numa:2 core:2 pu:1", &locality),
                     CATENA_OK);
    ck_assert_int_eq(ctn_locality_devices(&quiet, "numa:2 core:2 pu:1", "auto",
                                          &locality, &devices),
                     CATENA_OK);
    ck_assert_ptr_null(devices);
}
END_TEST

START_TEST(bad_input)
{
    ctn_locality_t locality = {.local_rank = 1, .local_size = 2};
    char *devices = NULL;
    ck_assert_int_eq(
        ctn_locality_devices(&quiet, machine, "ib0/", &locality, &devices),
        CATENA_ERR_ARG);
    ck_assert_ptr_null(devices);
    ck_assert_int_eq(ctn_locality_find(&quiet, "no such machine", &locality),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_locality_find(&quiet, "/no/such/file.xml", &locality),
                     CATENA_ERR_ARG);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, ranks_are_in_domains);
    tcase_add_test(tcase, local_devices_only);
    tcase_add_test(tcase, devices_by_setting);
    tcase_add_test(tcase, nothing_to_choose_from);
    tcase_add_test(tcase, bad_input);
}

UNIT_TEST(locality)
{
    return unit_main("site", 60, add_cases);
}
