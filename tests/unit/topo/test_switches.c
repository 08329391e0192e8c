/* Switches of nodes from a file: host lists, errors, and a hierarchy of nodes,
 * switches and the network. */

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo/switches.h"

#include "unit/job.h"
#include "unit/said.h"
#include "unit/unit.h"

static const char machine[] = TEST_DATA "/switches.conf";

START_TEST(host_lists)
{
    static const char lists[] = "login,n[0-3,8],rack[1-2]n[01-16]x,a[08-11],"
                                "m[08-100]";
    static const char *const in[] = {
        "login",     "n0",  "n3",  "n8",  "rack1n01x", "rack2n16x",
        "rack2n09x", "a08", "a11", "m08", "m99",       "m100"};
    static const char *const out[] = {
        "logi",       "login1",    "n",        "n4",        "n03",   "n",
        "n00",        "rack3n01x", "rack1n1x", "rack1n17x", "a8",    "rack1n01",
        "rack1n01xx", "",          "a012",     "m8",        "m0100", "m101"};
    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
        ck_assert_msg(ctn_hostlist_has(lists, in[i]), "%s", in[i]);
    }
    for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
        ck_assert_msg(!ctn_hostlist_has(lists, out[i]), "%s", out[i]);
    }
}
END_TEST

START_TEST(nodes)
{
    static const char *const at[][2] = {{"node0", "leaf0"},
                                        {"node3", "leaf1"},
                                        {"spare", "leaf1"},
                                        {"spare.example.org", "leaf1"},
                                        {"rack2n09", "leaf2"}};
    char name[64];
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        ck_assert_int_eq(
            ctn_switch_of(NULL, machine, at[i][0], name, sizeof(name)),
            CATENA_OK);
        ck_assert_str_eq(name, at[i][1]);
    }
}
END_TEST

/** Files that are refused, with what the message says. */
static const struct {
    const char *text;
    const char *line; /* number, with the file's name before it */
    const char *fact;
} wrong[] = {
    {"SwitchName=a Nodes=n0\nSwitchName=b Nods=n1\n", ":2:", "Nods"},
    {"Nodes=n0\n", ":1:", "SwitchName"},
    {"\n\nSwitchName=a\n", ":3:", "Switches"},
    {"SwitchName=a Nodes=n0 Switches=b\n", ":1:", "Nodes and Switches"},
    {"SwitchName=a SwitchName=b Nodes=n0\n", ":1:", "twice"},
    {"SwitchName= Nodes=n0\n", ":1:", "no value"},
    {"SwitchName=a Nodes=n[0-\n", ":1:", "n[0-"},
    {"SwitchName=a Nodes=n[3-1]\n", ":1:", "ascends"},
    {"SwitchName=a Nodes=n[]\n", ":1:", "digits"},
    {"SwitchName=a Nodes=n[1;2]\n", ":1:", "','"},
    {"SwitchName=a Nodes=n]\n", ":1:", "']'"},
    {"SwitchName=a Nodes=n0,\n", ":1:", "empty"},
    {"SwitchName=a word Nodes=n0\n", ":1:", "word"},
    {"SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n0\n", ":2:", "line 1"},
    {"SwitchName=a Nodes=n1\n", "", "n0"},
    {"", "", "n0"},
};

START_TEST(files_that_are_wrong)
{
    char path[] = "/tmp/catena-switches-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    size_t length = strlen(wrong[_i].text);
    ck_assert_int_eq(write(fd, wrong[_i].text, length), (ssize_t)length);
    close(fd);
    char name[64];
    capture_t captured;
    capture_start(&captured);
    catena_status_t status =
        ctn_switch_of(NULL, path, "n0", name, sizeof(name));
    capture_stop(&captured);
    unlink(path);
    ck_assert_int_eq(status, CATENA_ERR_ARG);
    ck_assert_msg(strstr(captured.text, path) != NULL &&
                      strstr(captured.text, wrong[_i].line) != NULL &&
                      strstr(captured.text, wrong[_i].fact) != NULL,
                  "%s: %s", wrong[_i].text, captured.text);
}
END_TEST

START_TEST(no_file)
{
    char name[64];
    capture_t captured;
    capture_start(&captured);
    ck_assert_int_eq(ctn_switch_of(NULL, "/no/such/file", "n0", name, 64),
                     CATENA_ERR_ARG);
    capture_stop(&captured);
    ck_assert_ptr_nonnull(strstr(captured.text, "/no/such/file"));
}
END_TEST

/* ---- a hierarchy ---- */

enum { NODES = 4, PPN = 2, RANKS = NODES * PPN };

/** Ranks 0, 2 and 4 lead their nodes, 0 and 4 their switches. */
static void by_switches(job_t *job)
{
    static const char *const levels[RANKS] = {
        "levels=\"node:shm(2) switch:p2p(2) network:p2p(2)\"",
        "levels=\"node:shm(2)\"",
        "levels=\"node:shm(2) switch:p2p(2)\"",
        "levels=\"node:shm(2)\"",
        "levels=\"node:shm(2) switch:p2p(2) network:p2p(2)\"",
        "levels=\"node:shm(2)\"",
        "levels=\"node:shm(2) switch:p2p(2)\"",
        "levels=\"node:shm(2)\""};
    catena_group_t *world = job->context->world;
    int32_t send[RANKS], recv[RANKS], sum = 0;
    char text[1024];
    for (int i = 0; i < RANKS; i++) {
        send[i] = (int32_t)job->rank * 100 + i;
        recv[i] = -1;
    }
    JOB_CHECK(job, catena_alltoall(send, 1, CATENA_INT32, recv, 1, CATENA_INT32,
                                   world) == CATENA_OK);
    for (int i = 0; i < RANKS; i++) {
        JOB_CHECK(job, recv[i] == i * 100 + (int32_t)job->rank);
    }
    JOB_CHECK(job, catena_allreduce(send, &sum, 1, CATENA_INT32, CATENA_SUM,
                                    world) == CATENA_OK);
    JOB_CHECK(job, sum == RANKS * (RANKS - 1) / 2 * 100);
    JOB_CHECK(job, catena_group_explain(world, "allreduce", text,
                                        sizeof(text)) == CATENA_OK);
    JOB_CHECK(job, strstr(text, levels[job->rank]) != NULL);
    JOB_CHECK(job, catena_group_explain(world, "alltoall", text,
                                        sizeof(text)) == CATENA_OK);
    JOB_CHECK(job, strstr(text, levels[job->rank]) != NULL);
}

static catena_sim_params_t params_with(const char *const settings[])
{
    return (catena_sim_params_t){.size = sizeof(catena_sim_params_t),
                                 .machine = "hpc-a",
                                 .nodes = NODES,
                                 .ppn = PPN,
                                 .ranks = PPN,
                                 .seed = 1,
                                 .stack_bytes = JOB_STACK_BYTES,
                                 .settings = settings};
}

START_TEST(levels_of_switches)
{
    static const char *const settings[] = {
        "SWITCHES=" TEST_DATA "/switches.conf",
        "HIERARCHY=node:shm,switch:p2p,network:p2p", NULL};
    catena_sim_params_t params = params_with(settings);
    ck_assert_int_eq(job_simulate_on(&params, by_switches), 0);
}
END_TEST

/** All ranks fail, and none waits. */
static void refused(job_t *job)
{
    int32_t value = 0;
    JOB_CHECK(job, catena_bcast(&value, 1, CATENA_INT32, 0,
                                job->context->world) == CATENA_ERR_ARG);
}

START_TEST(no_setting)
{
    static const char *const settings[] = {
        "HIERARCHY=node:shm,switch:p2p,network:p2p", NULL};
    catena_sim_params_t params = params_with(settings);
    capture_t captured;
    capture_start(&captured);
    int failed = job_simulate_on(&params, refused);
    capture_stop(&captured);
    ck_assert_int_eq(failed, 0);
    said_facts(&captured, "CATENA_SWITCHES", NULL);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, host_lists);
    tcase_add_test(tcase, nodes);
    tcase_add_loop_test(tcase, files_that_are_wrong, 0,
                        (int)(sizeof(wrong) / sizeof(wrong[0])));
    tcase_add_test(tcase, no_file);
    tcase_add_test(tcase, levels_of_switches);
    tcase_add_test(tcase, no_setting);
}

UNIT_TEST(switches)
{
    return unit_main("switches", 60, add_cases);
}
