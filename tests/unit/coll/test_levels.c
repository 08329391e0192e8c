/* Levels of hierarchies as text, and in settings. */

#include <stdlib.h>
#include <string.h>

#include "coll/hierarchy/levels.h"
#include "settings.h"
#include "unit/said.h"
#include "unit/unit.h"

static const struct {
    const char *text;
    const char *fact; /* the mistake, or the correction */
} nonsense[] = {
    {"", "empty"},
    {"node:shm,", "empty"},
    {",node:shm", "empty"},
    {"node:shm,,network:ucx", "empty"},
    {"node", "component"},
    {"node:", "component"},
    {":shm", "rule"},
    {"nod:shm", "node"},
    {"sockets:shm", "socket"},
    {"node:shn", "p2p"},
    {"node:shm ", "p2p"},
    {"node:shm:ucx", "p2p"},
    {"node:shm,node:ucx", "twice"},
    {"user:shm,node:shm,USER:p2p", "twice"},
    {"node:shm,numa:shm", "joins no more"},
    {"node:shm,user:shm,core:shm", "joins no more"},
    {"network:p2p,user:p2p", "joins no more"},
    {"core:p2p,l3:p2p,numa:p2p,socket:p2p,user:p2p,node:p2p,network:p2p,"
     "network:p2p",
     "twice"},
};

START_TEST(texts_that_are_nonsense)
{
    ctn_hierarchy_levels_t levels;
    capture_t captured;
    capture_start(&captured);
    catena_status_t status =
        ctn_hierarchy_levels_read(NULL, "HERE", nonsense[_i].text, &levels);
    capture_stop(&captured);
    ck_assert_int_eq(status, CATENA_ERR_ARG);
    said_facts(&captured, "HERE", nonsense[_i].fact, NULL);
}
END_TEST

START_TEST(texts_that_are_not)
{
    static const char *const texts[][2] = {
        {"node:shm", "node:shm"},
        {"Node:SHM,network:Ucx", "node:shm,network:ucx"},
        {"user:p2p,core:shm", "user:p2p,core:shm"},
        {"core:p2p,l3:p2p,numa:p2p,socket:p2p,user:p2p,node:p2p,network:p2p",
         "core:p2p,l3:p2p,numa:p2p,socket:p2p,user:p2p,node:p2p,network:p2p"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ctn_hierarchy_levels_t levels;
        char text[CTN_HIERARCHY_LEVELS_BYTES];
        ck_assert_int_eq(
            ctn_hierarchy_levels_read(NULL, "HERE", texts[i][0], &levels),
            CATENA_OK);
        ctn_hierarchy_levels_write(&levels, text);
        ck_assert_str_eq(text, texts[i][1]);
    }
}
END_TEST

START_TEST(settings_of_the_environment)
{
    const char *list[] = {"SUBGROUP=row", "SCAN_HIERARCHY=node:shm,network:ucx",
                          NULL};
    ctn_config_t config;
    capture_t captured;
    ck_assert_int_eq(ctn_config_read(&config, ctn_settings, list, NULL),
                     CATENA_OK);
    ck_assert_int_eq(ctn_hierarchy_check(NULL, &config), CATENA_OK);
    ck_assert(ctn_hierarchy_names(&config, "ucx"));
    ck_assert(!ctn_hierarchy_names(&config, "p2p"));
    ctn_config_release(&config);

    list[1] = "REDUCE_SCATTER_HIERARCHY=node:shm,numa:shm";
    ck_assert_int_eq(ctn_config_read(&config, ctn_settings, list, NULL),
                     CATENA_OK);
    capture_start(&captured);
    ck_assert_int_eq(ctn_hierarchy_check(NULL, &config), CATENA_ERR_ARG);
    capture_stop(&captured);
    said_facts(&captured, "CATENA_REDUCE_SCATTER_HIERARCHY", NULL);
    ck_assert(!ctn_hierarchy_names(&config, "ucx"));
    ctn_config_release(&config);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, texts_that_are_nonsense, 0, COUNT(nonsense));
    tcase_add_test(tcase, texts_that_are_not);
    tcase_add_test(tcase, settings_of_the_environment);
}

UNIT_TEST(levels)
{
    return unit_main("levels", 60, add_cases);
}
