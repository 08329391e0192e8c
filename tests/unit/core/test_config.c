/* Settings: values, names, order of precedence. */

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/hierarchy/settings.h"
#include "coll/select/select.h"
#include "exec/exec.h"
#include "heap/heap.h"
#include "model/tuning.h"
#include "neighbor/neighborhood.h"
#include "settings.h"
#include "topo/locality.h"
#include "transports/ucx/settings.h"
#include "unit/said.h"
#include "unit/unit.h"

static int lines(const char *text)
{
    int count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

static catena_status_t read_one(ctn_config_t *config, const char *setting)
{
    const char *list[] = {setting, NULL};

    return ctn_config_read(config, ctn_settings, list, NULL);
}

/* The values of a layer. */
#define VALUES(layer)                                                          \
    ((const ctn_##layer##_config_t *)ctn_config_values(                        \
        &config, &ctn_##layer##_settings))

START_TEST(defaults)
{
    ctn_config_t config;

    ck_assert_int_eq(ctn_config_read(&config, ctn_settings, NULL, NULL),
                     CATENA_OK);
    ck_assert_int_eq(VALUES(job)->log_level, CATENA_LOG_WARN);
    ck_assert(VALUES(heap)->size == CTN_CONFIG_AUTO);
    ck_assert(VALUES(heap)->huge_pages == CTN_CONFIG_AUTO);
    ck_assert(VALUES(topo)->host_ranks == CTN_CONFIG_AUTO);
    ck_assert(VALUES(exec)->spin == CTN_CONFIG_AUTO);
    ck_assert(VALUES(exec)->sleep_ms == CTN_CONFIG_AUTO);
    ck_assert_int_eq(VALUES(exec)->wait, CTN_WAIT_AUTO);
    ck_assert(VALUES(select)->leaders == CTN_CONFIG_AUTO);
    ck_assert_uint_eq(VALUES(hierarchy)->alltoall, 0);
    ck_assert_str_eq(VALUES(topo)->topology, "");
    ck_assert_str_eq(VALUES(model)->tuning, "auto");
    ck_assert_int_eq(VALUES(ucx)->put, CTN_PUT_AUTO);
    ck_assert(VALUES(job)->network == CTN_CONFIG_AUTO);
    ck_assert_uint_eq(VALUES(exec)->check, 0);
    ck_assert_str_eq(VALUES(hierarchy)->levels, "auto");
    ck_assert_str_eq(VALUES(hierarchy)->subgroup, "");
    ck_assert_uint_eq(VALUES(hierarchy)->reproducible, 0);
    for (int i = 0; i < CTN_COLL_COUNT; i++) {
        ck_assert_str_eq(VALUES(hierarchy)->of[i].levels, "auto");
        ck_assert(i == CTN_COLL_ALLTOALL ||
                  strcmp(VALUES(hierarchy)->of[i].algorithm, "auto") == 0);
    }
    ctn_config_release(&config);
    ck_assert_ptr_null(config.values);
    ctn_config_release(&config); /* a second call has no effect */
}
END_TEST

static const struct {
    const char *text;
    size_t bytes;
} sizes[] = {
    {"1", 1},
    {"4096", 4096},
    {"64k", 65536},
    {"64K", 65536},
    {"64kb", 65536},
    {"100b", 100},
    {"2m", (size_t)2 << 20},
    {"2MB", (size_t)2 << 20},
    {"1g", (size_t)1 << 30},
    {"3t", (size_t)3 << 40},
    {"auto", CTN_CONFIG_AUTO},
    {"AUTO", CTN_CONFIG_AUTO},
    {"18446744073709551613", SIZE_MAX - 2}, /* the largest */
};

START_TEST(units)
{
    char setting[64];
    ctn_config_t config;

    snprintf(setting, sizeof(setting), "HEAP_SIZE=%s", sizes[_i].text);
    ck_assert_int_eq(read_one(&config, setting), CATENA_OK);
    ck_assert(VALUES(heap)->size == sizes[_i].bytes);
    ctn_config_release(&config);
}
END_TEST

static const struct {
    const char *text;
    size_t value;
} switches[] = {
    {"y", 1},     {"1", 1},
    {"on", 1},    {"yes", 1},
    {"Y", 1},     {"n", 0},
    {"0", 0},     {"off", 0},
    {"no", 0},    {"true", 1},
    {"OFF", 0},   {"On", 1},
    {"false", 0}, {"auto", CTN_CONFIG_AUTO},
};

START_TEST(booleans)
{
    char setting[64];
    ctn_config_t config;

    snprintf(setting, sizeof(setting), "HEAP_HUGE_PAGES=%s", switches[_i].text);
    ck_assert_int_eq(read_one(&config, setting), CATENA_OK);
    ck_assert(VALUES(heap)->huge_pages == switches[_i].value);
    ctn_config_release(&config);
}
END_TEST

START_TEST(every_setting)
{
    static const char *const list[] = {"LOG_LEVEL=trace",
                                       "HEAP_SIZE=1g",
                                       "HEAP_HUGE_PAGES=n",
                                       "HOST_RANKS=16",
                                       "SPIN=inf",
                                       "SLEEP=inf",
                                       "WAIT=Yield",
                                       "ALLTOALL_LEADERS=4",
                                       "ALLTOALL_ALGORITHM=ONMPML",
                                       "TUNING=machine:hpc-b",
                                       "TOPOLOGY=numa:2 core:2=x",
                                       "UCX_PUT=rma",
                                       "NETWORK=y",
                                       "CHECK=on",
                                       "HIERARCHY=node:shm,network:p2p",
                                       "SUBGROUP=row 3",
                                       "REPRODUCIBLE=on",
                                       "REDUCE_SCATTER_ALGORITHM=ring",
                                       NULL};
    ctn_config_t config;

    ck_assert_int_eq(ctn_config_read(&config, ctn_settings, list, NULL),
                     CATENA_OK);
    ck_assert_int_eq(VALUES(job)->log_level, CATENA_LOG_TRACE);
    ck_assert_uint_eq(VALUES(heap)->size, (size_t)1 << 30);
    ck_assert_uint_eq(VALUES(heap)->huge_pages, 0);
    ck_assert_uint_eq(VALUES(topo)->host_ranks, 16);
    ck_assert(VALUES(exec)->spin == CTN_CONFIG_INF);
    ck_assert(VALUES(exec)->sleep_ms == CTN_CONFIG_INF);
    ck_assert_int_eq(VALUES(exec)->wait, CTN_WAIT_YIELD);
    ck_assert_uint_eq(VALUES(select)->leaders, 4);
    ck_assert_uint_eq(VALUES(hierarchy)->alltoall, 8);
    ck_assert_str_eq(VALUES(model)->tuning, "machine:hpc-b");
    ck_assert_str_eq(VALUES(topo)->topology, "numa:2 core:2=x");
    ck_assert_int_eq(VALUES(ucx)->put, CTN_PUT_RMA);
    ck_assert_uint_eq(VALUES(job)->network, 1);
    ck_assert_uint_eq(VALUES(exec)->check, 1);
    ck_assert_str_eq(VALUES(hierarchy)->levels, "node:shm,network:p2p");
    ck_assert_str_eq(VALUES(hierarchy)->subgroup, "row 3");
    ck_assert_uint_eq(VALUES(hierarchy)->reproducible, 1);
    ck_assert_str_eq(VALUES(hierarchy)->of[CTN_COLL_REDUCE_SCATTER].algorithm,
                     "ring");
    ctn_config_release(&config);
}
END_TEST

/* Each collective's settings reach its own fields, and no others. The algorithm
 * of alltoall has a type of its own. */
START_TEST(every_collective)
{
    char setting[64], variable[64];
    ctn_config_t config;

    snprintf(setting, sizeof(setting), "%s_HIERARCHY=node:p2p",
             ctn_collective_names[_i]);
    snprintf(variable, sizeof(variable), "CATENA_%s_ALGORITHM",
             ctn_collective_names[_i]);
    for (char *c = setting; *c != '='; c++)
        *c = (char)toupper((unsigned char)*c);
    for (char *c = variable; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    setenv(variable, _i == CTN_COLL_ALLTOALL ? "bruck" : "tree", 1);
    ck_assert_int_eq(read_one(&config, setting), CATENA_OK);
    unsetenv(variable);
    for (int i = 0; i < CTN_COLL_COUNT; i++) {
        ck_assert_str_eq(VALUES(hierarchy)->of[i].levels,
                         i == _i ? "node:p2p" : "auto");
        if (i != CTN_COLL_ALLTOALL) {
            ck_assert_str_eq(VALUES(hierarchy)->of[i].algorithm,
                             i == _i ? "tree" : "auto");
        }
    }
    ck_assert_uint_eq(VALUES(hierarchy)->alltoall, _i == CTN_COLL_ALLTOALL
                                                       ? CTN_ALGORITHM_BRUCK
                                                       : CTN_ALGORITHM_AUTO);
    ck_assert_ptr_null(ctn_collective_names[CTN_COLL_COUNT]);
    ctn_config_release(&config);
}
END_TEST

START_TEST(zero_where_it_means_something)
{
    static const char *const list[] = {"SPIN=0", "SLEEP=0", NULL};
    ctn_config_t config;

    ck_assert_int_eq(ctn_config_read(&config, ctn_settings, list, NULL),
                     CATENA_OK);
    ck_assert_uint_eq(VALUES(exec)->spin, 0);
    ck_assert_uint_eq(VALUES(exec)->sleep_ms, 0);
    ctn_config_release(&config);
}
END_TEST

static const char *const bad[] = {
    "HEAP_SIZE=",
    "HEAP_SIZE=-1",
    "HEAP_SIZE= 1",
    "HEAP_SIZE=1x",
    "HEAP_SIZE=1kk",
    "HEAP_SIZE=k",
    "HEAP_SIZE=0",
    "HEAP_SIZE=inf",
    "HEAP_SIZE=1.5g",
    "HEAP_SIZE=0x10",
    "HEAP_SIZE=17179869184g", /* 2^64 */
    "HEAP_SIZE=18446744073709551616",
    "HEAP_SIZE=18446744073709551615", /* would be read as auto */
    "HEAP_SIZE=18446744073709551614", /* would be read as inf */
    "HEAP_HUGE_PAGES=2",
    "HEAP_HUGE_PAGES=",
    "HOST_RANKS=0",
    "SPIN=often",
    "SLEEP=soon",
    "WAIT=",
    "WAIT=often",
    "ALLTOALL_LEADERS=0",
    "ALLTOALL_LEADERS=-2",
    "ALLTOALL_ALGORITHM=brook",
    "LOG_LEVEL=loud",
    "LOG_LEVEL=",
    "UCX_PUT=get",
    "NETWORK=2",
    "CHECK=auto",
    "HEAP_SIZE",
    "",
    "=1",
};

START_TEST(bad_values)
{
    capture_t capture;
    ctn_config_t config, before;
    catena_status_t status;

    memset(&config, 0x5a, sizeof(config));
    before = config;
    capture_start(&capture);
    status = read_one(&config, bad[_i]);
    capture_stop(&capture);

    ck_assert_msg(status == CATENA_ERR_ARG, "%s was taken", bad[_i]);
    ck_assert_mem_eq(&config, &before, sizeof(config));
    ck_assert_int_eq(lines(capture.text), 1);
}
END_TEST

START_TEST(message_says_expected_and_found)
{
    capture_t said;
    ctn_config_t config;

    capture_start(&said);
    ck_assert_int_eq(read_one(&config, "HEAP_SIZE=lots"), CATENA_ERR_ARG);
    capture_stop(&said);
    said_facts(&said, "ERROR", "HEAP_SIZE", "64k", "lots", NULL);
}
END_TEST

START_TEST(environment_then_settings)
{
    ctn_config_t config;

    setenv("CATENA_HEAP_SIZE", "1m", 1);
    setenv("CATENA_SPIN", "7", 1);
    ck_assert_int_eq(read_one(&config, "HEAP_SIZE=2m"), CATENA_OK);
    ck_assert_uint_eq(VALUES(heap)->size, (size_t)2 << 20);
    ck_assert_uint_eq(VALUES(exec)->spin, 7);
    ctn_config_release(&config);
    unsetenv("CATENA_HEAP_SIZE");
    unsetenv("CATENA_SPIN");
}
END_TEST

START_TEST(later_setting_wins)
{
    static const char *const list[] = {"TOPOLOGY=a", "TOPOLOGY=b", NULL};
    ctn_config_t config;

    ck_assert_int_eq(ctn_config_read(&config, ctn_settings, list, NULL),
                     CATENA_OK);
    ck_assert_str_eq(VALUES(topo)->topology, "b");
    ctn_config_release(&config);
}
END_TEST

START_TEST(bad_environment)
{
    capture_t capture;
    ctn_config_t config;

    setenv("CATENA_SLEEP", "soon", 1);
    capture_start(&capture);
    ck_assert_int_eq(ctn_config_read(&config, ctn_settings, NULL, NULL),
                     CATENA_ERR_ARG);
    capture_stop(&capture);
    unsetenv("CATENA_SLEEP");
    said_facts(&capture, "CATENA_SLEEP", NULL);
    ck_assert_int_eq(lines(capture.text), 1);
}
END_TEST

static const struct {
    const char *typed;
    const char *meant;
} names[] = {
    {"HEAPSIZE", "HEAP_SIZE"},
    {"HEAP_SIZES", "HEAP_SIZE"},
    {"heap_size", "HEAP_SIZE"},
    {"HUGE_PAGES", "HEAP_HUGE_PAGES"},
    {"ALLTOAL_ALGORITM", "ALLTOALL_ALGORITHM"},
    {"LEADERS", "ALLTOALL_LEADERS"},
    {"LOGLEVEL", "LOG_LEVEL"},
    {"UXC_PUT", "UCX_PUT"},
    {"SLEEPS", "SLEEP"},
    {"BCASTHIERARCHY", "BCAST_HIERARCHY"},
    {"HIERACHY", "HIERARCHY"},
    {"BCST_ALGORITHM", "BCAST_ALGORITHM"},
    {"SUBGROUPS", "SUBGROUP"},
};

START_TEST(nearest_name)
{
    capture_t capture;
    char variable[64], setting[64], expected[64];
    ctn_config_t config;

    snprintf(variable, sizeof(variable), "CATENA_%s", names[_i].typed);
    snprintf(expected, sizeof(expected), "CATENA_%s", names[_i].meant);
    setenv(variable, "1", 1);
    capture_start(&capture);
    ck_assert_int_eq(ctn_config_read(&config, ctn_settings, NULL, NULL),
                     CATENA_OK);
    ck_assert_uint_eq(ctn_config_warn_unknown(ctn_settings, NULL), 1);
    capture_stop(&capture);
    unsetenv(variable);
    ctn_config_release(&config);
    said_facts(&capture, "WARN", expected, NULL);
    ck_assert_int_eq(lines(capture.text), 1);

    snprintf(setting, sizeof(setting), "%s=1", names[_i].typed);
    capture_start(&capture);
    ck_assert_int_eq(read_one(&config, setting), CATENA_ERR_ARG);
    capture_stop(&capture);
    said_facts(&capture, names[_i].meant, NULL);
}
END_TEST

START_TEST(very_long_name)
{
    capture_t capture;
    char variable[600];

    memset(variable, 'X', sizeof(variable) - 1);
    memcpy(variable, "CATENA_", 7);
    variable[sizeof(variable) - 1] = '\0';
    setenv(variable, "1", 1);
    capture_start(&capture);
    ck_assert_uint_eq(ctn_config_warn_unknown(ctn_settings, NULL), 1);
    capture_stop(&capture);
    unsetenv(variable);
}
END_TEST

START_TEST(log_level_is_kept)
{
    ctn_log_t log = {.level = CATENA_LOG_ERROR, .rank = 3, .host = "here"};
    capture_t capture;

    capture_start(&capture);
    ctn_warn(&log, "not shown");
    ctn_error(&log, "shown %d", 1);
    capture_stop(&capture);
    ck_assert_str_eq(capture.text, "[catena here:3] ERROR shown 1\n");
}
END_TEST

typedef struct received {
    int level, count;
    char text[64];
} received_t;

static void receive(void *argument, int level, const char *message)
{
    received_t *received = argument;
    received->level = level;
    received->count++;
    snprintf(received->text, sizeof(received->text), "%s", message);
}

static void *say_error(void *text)
{
    ck_assert_str_eq(catena_last_error(), "");
    ctn_error(NULL, "%s", (char *)text);
    ck_assert_str_eq(catena_last_error(), text);
    return NULL;
}

START_TEST(last_error_and_sink)
{
    received_t received = {0};
    ctn_log_t log = {.level = CATENA_LOG_WARN,
                     .rank = 3,
                     .sink = receive,
                     .argument = &received};
    capture_t capture;
    pthread_t other;
    char longest[600];

    char before[512];
    strcpy(before, catena_last_error());
    capture_start(&capture);
    ctn_warn(&log, "warned %d", 1);
    ctn_info(&log, "hidden");
    ck_assert_int_eq(received.count, 1);
    ck_assert_int_eq(received.level, CATENA_LOG_WARN);
    ck_assert_str_eq(received.text, "warned 1");
    ck_assert_str_eq(catena_last_error(), before);
    log.level = CATENA_LOG_FATAL; /* hides errors, which are kept */
    ctn_error(&log, "expected %d", 7);
    ck_assert_int_eq(received.count, 1);
    ck_assert_str_eq(catena_last_error(), "expected 7");
    log.level = CTN_LOG_NOTHING;
    ctn_error(&log, "a trial");
    ck_assert_str_eq(catena_last_error(), "expected 7");
    capture_stop(&capture);
    ck_assert_str_eq(capture.text, "");

    capture_start(&capture);
    ck_assert_int_eq(pthread_create(&other, NULL, say_error, "elsewhere"), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ck_assert_str_eq(catena_last_error(), "expected 7");
    memset(longest, 'X', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ctn_error(NULL, "%s", longest);
    ck_assert_uint_eq(strlen(catena_last_error()), 511);
    capture_stop(&capture);
}
END_TEST

/** From the configuration of a context to the function. */
START_TEST(context_logs_to_function)
{
    static const char *const settings[] = {"LOG_LEVEL=loud", NULL};
    received_t received = {0};
    catena_context_t *context = NULL;
    catena_config_t config = {.size = sizeof(config),
                              .settings = settings,
                              .log = receive,
                              .log_argument = &received};
    ck_assert_int_eq(catena_init(&config, &context), CATENA_ERR_ARG);
    ck_assert_ptr_null(context);
    ck_assert_int_eq(received.level, CATENA_LOG_ERROR);
    ck_assert_ptr_nonnull(strstr(received.text, "LOG_LEVEL"));
    ck_assert_ptr_nonnull(strstr(catena_last_error(), "loud"));
}
END_TEST

START_TEST(listing)
{
    char text[8192];
    FILE *stream = fmemopen(text, sizeof(text), "w");

    ck_assert_ptr_nonnull(stream);
    setenv("CATENA_SLEEP", "5", 1);
    ck_assert_int_eq(catena_config_print(stream, 0), CATENA_OK);
    fclose(stream);
    unsetenv("CATENA_SLEEP");
    ck_assert_ptr_nonnull(strstr(text, "CATENA_SLEEP=5\n"));
    ck_assert_ptr_nonnull(strstr(text, "CATENA_HEAP_SIZE=auto\n"));
    ck_assert_ptr_nonnull(strstr(text, "CATENA_TUNING=auto\n"));
    ck_assert_int_eq(lines(text), 31 + 2 * CTN_COLL_COUNT);
    ck_assert_int_eq(catena_config_print(NULL, 0), CATENA_ERR_ARG);
}
END_TEST

START_TEST(status_strings)
{
    ck_assert_str_eq(catena_status_string(CATENA_OK), "success");
    ck_assert_str_eq(catena_status_string((catena_status_t)-99),
                     "unknown status");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, defaults);
    tcase_add_loop_test(tcase, units, 0, COUNT(sizes));
    tcase_add_loop_test(tcase, booleans, 0, COUNT(switches));
    tcase_add_test(tcase, every_setting);
    tcase_add_loop_test(tcase, every_collective, 0, CTN_COLL_COUNT);
    tcase_add_test(tcase, zero_where_it_means_something);
    tcase_add_loop_test(tcase, bad_values, 0, COUNT(bad));
    tcase_add_test(tcase, message_says_expected_and_found);
    tcase_add_test(tcase, environment_then_settings);
    tcase_add_test(tcase, later_setting_wins);
    tcase_add_test(tcase, bad_environment);
    tcase_add_loop_test(tcase, nearest_name, 0, COUNT(names));
    tcase_add_test(tcase, very_long_name);
    tcase_add_test(tcase, log_level_is_kept);
    tcase_add_test(tcase, last_error_and_sink);
    tcase_add_test(tcase, context_logs_to_function);
    tcase_add_test(tcase, listing);
    tcase_add_test(tcase, status_strings);
}

UNIT_TEST(config)
{
    return unit_main("config", 60, add_cases);
}
