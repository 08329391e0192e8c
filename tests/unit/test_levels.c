/* Levels of hierarchies as text, and in settings. */

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "coll/levels.h"
#include "unit.h"

static const struct {
    const char *text;
    const char *said;
} nonsense[] = {
    {"", "a level is empty"},
    {"node:shm,", "a level is empty"},
    {",node:shm", "a level is empty"},
    {"node:shm,,network:ucx", "a level is empty"},
    {"node", "'node' lacks a component; expected rule:component"},
    {"node:", "lacks a component"},
    {":shm", "lacks a rule"},
    {"nod:shm", "no rule 'nod', the nearest is node; there are core, l3, numa, "
                "socket, node, network, user"},
    {"sockets:shm", "the nearest is socket"},
    {"node:shn", "no component 'shn', the nearest is shm; there are shm, p2p, "
                 "ucx"},
    {"node:shm ", "no component 'shm '"},
    {"node:shm:ucx", "no component 'shm:ucx'"},
    {"node:shm,node:ucx", "rule node is there twice"},
    {"user:shm,node:shm,USER:p2p", "rule user is there twice"},
    {"node:shm,numa:shm", "numa above node joins nothing"},
    {"node:shm,user:shm,core:shm", "core above node joins nothing"},
    {"network:p2p,user:p2p", "user above network joins nothing"},
    {"core:p2p,l3:p2p,numa:p2p,socket:p2p,user:p2p,node:p2p,network:p2p,"
     "network:p2p",
     "rule network is there twice"},
};

START_TEST(texts_that_are_nonsense)
{
    ctn_levels_t levels;
    capture_t capture;
    capture_start(&capture);
    catena_status_t status =
        ctn_levels_read(NULL, "HERE", nonsense[_i].text, &levels);
    capture_stop(&capture);
    ck_assert_int_eq(status, CATENA_ERR_ARG);
    ck_assert_msg(strstr(capture.text, nonsense[_i].said) != NULL, "%s: %s",
                  nonsense[_i].text, capture.text);
    ck_assert_ptr_nonnull(strstr(capture.text, "HERE is '"));
    ck_assert_ptr_eq(strchr(capture.text, '\n'),
                     capture.text + strlen(capture.text) - 1);
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
        ctn_levels_t levels;
        char text[CTN_LEVELS_BYTES];
        ck_assert_int_eq(ctn_levels_read(NULL, "HERE", texts[i][0], &levels),
                         CATENA_OK);
        ctn_levels_write(&levels, text);
        ck_assert_str_eq(text, texts[i][1]);
    }
}
END_TEST

START_TEST(settings_of_the_environment)
{
    const char *list[] = {"SUBGROUP=row", "SCAN_HIERARCHY=node:shm,network:ucx",
                          NULL};
    catena_config_t settings = {.settings = list};
    ctn_config_t config;
    capture_t capture;
    ck_assert_int_eq(ctn_config_read(&config, &settings, NULL), CATENA_OK);
    ck_assert_int_eq(ctn_hierarchy_check(NULL, &config), CATENA_OK);
    ck_assert(ctn_hierarchy_names(&config, "ucx"));
    ck_assert(!ctn_hierarchy_names(&config, "p2p"));
    ctn_config_release(&config);

    list[1] = "REDUCE_SCATTER_HIERARCHY=node:shm,numa:shm";
    ck_assert_int_eq(ctn_config_read(&config, &settings, NULL), CATENA_OK);
    capture_start(&capture);
    ck_assert_int_eq(ctn_hierarchy_check(NULL, &config), CATENA_ERR_ARG);
    capture_stop(&capture);
    ck_assert_ptr_nonnull(
        strstr(capture.text, "CATENA_REDUCE_SCATTER_HIERARCHY is 'node:shm,"));
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

int main(void)
{
    return unit_main("levels", 60, add_cases);
}
