/* Requests that are completed in any order: testany, testsome, waitany,
 * waitsome. */

#include <stdio.h>

#include "check.h"

enum { REQUESTS = 6, VALUES = 100 };

static catena_context_t *context;
static catena_group_t *world;
static int rank, size;
static int values[REQUESTS][VALUES], results[REQUESTS][VALUES];
static int completed[REQUESTS]; /* how often */

static void start(catena_request_t *requests[])
{
    for (int i = 0; i < REQUESTS; i++) {
        completed[i] = 0;
        for (int j = 0; j < VALUES; j++) {
            values[i][j] = 10 * rank + i + j;
            results[i][j] = values[i][j];
        }
    }
    check(context, catena_ibcast(results[0], VALUES, CATENA_INT32, 0, world,
                                 &requests[0]));
    check(context,
          catena_iallreduce(values[1], results[1], VALUES, CATENA_INT32,
                            CATENA_SUM, world, &requests[1]));
    requests[2] = NULL;
    check(context, catena_iscan(values[3], results[3], VALUES, CATENA_INT32,
                                CATENA_MAX, world, &requests[3]));
    check(context, catena_ibarrier(world, &requests[4]));
    check(context, catena_ireduce_scatter_block(
                       values[5], results[5], VALUES / size, CATENA_INT32,
                       CATENA_SUM, world, &requests[5]));
}

static void print(const char *name, catena_request_t *const requests[])
{
    printf("%d: %s:", rank, name);
    for (int i = 0; i < REQUESTS; i++) {
        printf(" %d%s %d %d", completed[i], requests[i] == NULL ? " null" : "",
               results[i][0], results[i][VALUES / size - 1]);
    }
    printf("\n");
}

static void wait_any(void)
{
    catena_request_t *requests[REQUESTS];
    size_t index;
    start(requests);
    for (;;) {
        check(context, catena_request_waitany(REQUESTS, requests, &index));
        if (index == REQUESTS) {
            break;
        }
        completed[index]++;
    }
    print("waitany", requests);
}

static void test_any(void)
{
    catena_request_t *requests[REQUESTS];
    size_t index;
    int done;
    start(requests);
    for (;;) {
        check(context,
              catena_request_testany(REQUESTS, requests, &index, &done));
        if (done && index == REQUESTS) {
            break;
        }
        if (done) {
            completed[index]++;
        }
    }
    print("testany", requests);
}

static void wait_some(void)
{
    catena_request_t *requests[REQUESTS];
    size_t count, indices[REQUESTS];
    start(requests);
    for (;;) {
        check(context, catena_request_waitsome(REQUESTS, requests, &count,
                                               indices, NULL));
        if (count == 0) {
            break;
        }
        for (size_t i = 0; i < count; i++) {
            completed[indices[i]]++;
        }
    }
    print("waitsome", requests);
}

static void test_some(void)
{
    catena_request_t *requests[REQUESTS];
    size_t count, indices[REQUESTS];
    int done;
    start(requests);
    for (;;) {
        check(context, catena_request_testsome(REQUESTS, requests, &count,
                                               indices, NULL, &done));
        if (done && count == 0) {
            break;
        }
        for (size_t i = 0; i < count; i++) {
            completed[indices[i]]++;
        }
    }
    print("testsome", requests);
}

static void test_all(void)
{
    catena_request_t *requests[REQUESTS];
    int done = 0;
    start(requests);
    while (!done) {
        check(context, catena_request_testall(REQUESTS, requests, &done));
    }
    print("testall", requests);
}

int main(void)
{
    check(NULL, catena_init(NULL, &context));
    world = catena_world(context);
    rank = catena_group_rank(world);
    size = catena_group_size(world);
    wait_any();
    test_any();
    wait_some();
    test_some();
    test_all();
    check(NULL, catena_finalize(&context));
    return 0;
}
