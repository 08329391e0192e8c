#include "ranks/helpers/rank_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle/layout.h"

void rank_fail(rank_test_t *test, const char *format, ...)
{
    if (test->errors++ > 0) {
        return;
    }
    va_list arguments;
    fprintf(stderr, "# rank %d: ", test->place.rank);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static void fail(void *owner, const char *text)
{
    rank_fail(owner, "%s", text);
}

void rank_test_open(rank_test_t *test)
{
    test->world = catena_world(test->context);
    test->place.size = sizeof(test->place);
    RANK_CHECK(test,
               catena_get_place(test->context, &test->place) == CATENA_OK);
    test->oracle = (oracle_t){test->context, fail, test};
}

void rank_test_close(rank_test_t *test)
{
    if (test->table != NULL) {
        oracle_table_close(&test->oracle, test->table);
        free(test->table);
        test->table = NULL;
    }
}

const oracle_table_t *rank_table(rank_test_t *test)
{
    if (test->table == NULL) {
        test->table = oracle_zeros(1, sizeof(*test->table));
        oracle_table_open(&test->oracle, test->table);
    }
    return test->table;
}

bool rank_checks(void)
{
    const char *check = getenv("CATENA_CHECK");
    return check != NULL && strcmp(check, "on") == 0;
}

uint64_t rank_seed(uint64_t usual)
{
    const char *text = getenv("RANK_TEST_SEED");
    return text != NULL ? strtoull(text, NULL, 0) : usual;
}

/* ---- cases ---- */

/** Errors of all ranks, on all ranks. */
static unsigned long all_errors(rank_test_t *test)
{
    size_t p = (size_t)test->place.ranks;
    uint64_t *send = calloc(p, sizeof(uint64_t));
    uint64_t *receive = calloc(p, sizeof(uint64_t));
    unsigned long sum = 0;
    for (size_t i = 0; i < p; i++) {
        send[i] = test->errors;
    }
    if (catena_alltoall(send, 1, CATENA_UINT64, receive, 1, CATENA_UINT64,
                        test->own) != CATENA_OK) {
        sum = 1;
    }
    for (size_t i = 0; i < p; i++) {
        sum += receive[i];
    }
    free(send);
    free(receive);
    return sum;
}

static void full_name(const rank_test_t *test, const char *name, char *text,
                      size_t bytes)
{
    snprintf(text, bytes, "%s: %s", test->suite->name, name);
}

bool rank_wanted(const rank_test_t *test, const char *name)
{
    char text[400];
    full_name(test, name, text, sizeof(text));
    return test->options->only == NULL ||
           strstr(text, test->options->only) != NULL;
}

static void show_repeat(const rank_test_t *test, const char *name)
{
    int layout = test->options->layout;
    char start[300] = "";
    if (layout >= 0) {
        oracle_layout_command(layout, start, sizeof(start));
    }
    printf("# repeat: %s%s%s%s --only '%s'\n", start, test->options->program,
           layout >= 0 ? " --layout " : "",
           layout >= 0 ? oracle_layouts[layout].name : "", name);
}

void rank_conclude(rank_test_t *test, const char *name)
{
    char text[400];
    unsigned long errors = test->ended ? test->errors : all_errors(test);
    full_name(test, name, text, sizeof(text));
    test->failed += errors > 0;
    test->errors = 0;
    if (test->place.rank == 0) {
        printf("%s - %s\n", errors == 0 ? "ok" : "not ok", text);
        if (errors > 0) {
            show_repeat(test, text);
        }
        fflush(stdout);
    }
}

/** Whether a suite can run on this number of ranks. */
static bool suite_fits(const rank_test_t *test, const rank_suite_t *suite)
{
    const char *wanted = test->options->suite;
    if (wanted != NULL ? strcmp(wanted, suite->name) != 0 : suite->named) {
        return false;
    }
    return test->place.ranks >= suite->ranks &&
           test->place.nodes >= suite->nodes &&
           !(suite->real && test->simulated) &&
           !(suite->simulated && !test->simulated) &&
           !(rank_checks() ? suite->unchecked : suite->checked);
}

void rank_check_plan(rank_test_t *test, const oracle_plan_t *plan)
{
    if (test->place.rank == 0) {
        RANK_CHECK(test, oracle_plan_lacks(plan, plan->count) == 0);
        RANK_CHECK(test, oracle_plan_lacks(plan, plan->count / 2) > 0);
    }
}

bool rank_dealt(const rank_test_t *test, const char *name)
{
    const rank_suite_t *suite = test->suite;
    int layout = test->options->layout;
    char text[400];
    full_name(test, name, text, sizeof(text));
    if (layout < 0 || !rank_wanted(test, name)) {
        return rank_wanted(test, name);
    }
    const char *on = suite->on;
    const char *found =
        on != NULL ? strstr(on, oracle_layouts[layout].name) : NULL;
    size_t length = strlen(oracle_layouts[layout].name);
    if (on != NULL) {
        return found != NULL && (found[length] == ' ' || found[length] == 0);
    }
    return (oracle_layouts_for(text, suite->ranks, suite->most, suite->nodes) >>
                layout &
            1) != 0;
}

static void run_case(rank_test_t *test, const rank_case_t *c)
{
    test->errors = 0;
    test->name = c->name;
    c->run(test);
    catena_group_set(test->world, "alltoall_algorithm", "auto");
}

void rank_suite_run(rank_test_t *test, const rank_suite_t *suite)
{
    test->suite = suite;
    if (!suite_fits(test, suite)) {
        return;
    }
    for (const rank_case_t *c = suite->cases; c != NULL && c->name != NULL;
         c++) {
        if (rank_dealt(test, c->name)) {
            run_case(test, c);
            rank_conclude(test, c->name);
        }
    }
    for (const rank_case_t *c = suite->many; c != NULL && c->name != NULL;
         c++) {
        run_case(test, c);
    }
}

/* ---- helpers of cases ---- */

void rank_pause(rank_test_t *test, double microseconds)
{
    if (test->simulated) {
        catena_compute(test->context, microseconds * 1e-6);
    } else {
        usleep((useconds_t)microseconds);
    }
}

/** Complete requests by waitsome or testsome. */
static void complete_some(rank_test_t *test, catena_request_t **requests,
                          size_t count, bool block)
{
    size_t *indices = calloc(count + 1, sizeof(*indices));
    size_t completed;
    int done = 0;
    while (!done) {
        RANK_CHECK(test,
                   (block ? catena_request_waitsome(count, requests, &completed,
                                                    indices, NULL)
                          : catena_request_testsome(count, requests, &completed,
                                                    indices, NULL, &done)) ==
                       CATENA_OK);
        done = block ? completed == 0 : done;
    }
    free(indices);
}

void rank_complete(rank_test_t *test, catena_request_t **requests, size_t count,
                   int way)
{
    int done = 0;
    size_t index;
    switch (way) {
    case 0:
        RANK_CHECK(test, catena_request_waitall(count, requests) == CATENA_OK);
        break;
    case 1:
        while (!done) {
            RANK_CHECK(test, catena_request_testall(count, requests, &done) ==
                                 CATENA_OK);
        }
        break;
    case 2:
        do {
            RANK_CHECK(test, catena_request_waitany(count, requests, &index) ==
                                 CATENA_OK);
        } while (index < count);
        break;
    case 3:
        do {
            RANK_CHECK(test, catena_request_testany(count, requests, &index,
                                                    &done) == CATENA_OK);
        } while (index < count || !done);
        break;
    case 4:
    case 5:
        complete_some(test, requests, count, way == 4);
        break;
    default: /* the last started first */
        for (size_t i = count; i-- > 0;) {
            for (done = 0; !done;) {
                RANK_CHECK(test, catena_request_test(&requests[i], &done) ==
                                     CATENA_OK);
            }
        }
    }
}

unsigned char *rank_take(rank_test_t *test, rank_memory_t memory, size_t bytes)
{
    return oracle_take(&test->oracle, memory, bytes);
}

void rank_give(rank_test_t *test, rank_memory_t memory, unsigned char *block)
{
    oracle_give(&test->oracle, memory, block);
}

oracle_call_t rank_alltoall(rank_test_t *test, catena_group_t *group,
                            size_t bytes)
{
    return (oracle_call_t){.c = {.value = {[ORACLE_KIND] = ORACLE_ALLTOALL,
                                           [ORACLE_MODE] = ORACLE_NONBLOCKING}},
                           .group = group,
                           .table = rank_table(test),
                           .exactly = bytes};
}

void rank_exchange(rank_test_t *test, catena_group_t *group, size_t bytes,
                   unsigned times)
{
    oracle_call_t call = rank_alltoall(test, group, bytes);
    call.c.value[ORACLE_MODE] = ORACLE_BLOCKING;
    oracle_call_exercise(&test->oracle, &call, times);
}
