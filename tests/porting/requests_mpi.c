/* Requests that are completed in any order: testany, testsome, waitany,
 * waitsome. */

#include <stdio.h>

#include <mpi.h>

enum { REQUESTS = 6, VALUES = 100 };

static int rank, size;
static int values[REQUESTS][VALUES], results[REQUESTS][VALUES];
static int completed[REQUESTS]; /* how often */

static void start(MPI_Request requests[])
{
    for (int i = 0; i < REQUESTS; i++) {
        completed[i] = 0;
        for (int j = 0; j < VALUES; j++) {
            values[i][j] = 10 * rank + i + j;
            results[i][j] = values[i][j];
        }
    }
    MPI_Ibcast(results[0], VALUES, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(values[1], results[1], VALUES, MPI_INT, MPI_SUM,
                   MPI_COMM_WORLD, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    MPI_Iscan(values[3], results[3], VALUES, MPI_INT, MPI_MAX, MPI_COMM_WORLD,
              &requests[3]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[4]);
    MPI_Ireduce_scatter_block(values[5], results[5], VALUES / size, MPI_INT,
                              MPI_SUM, MPI_COMM_WORLD, &requests[5]);
}

static void print(const char *name, const MPI_Request requests[])
{
    printf("%d: %s:", rank, name);
    for (int i = 0; i < REQUESTS; i++) {
        printf(" %d%s %d %d", completed[i],
               requests[i] == MPI_REQUEST_NULL ? " null" : "", results[i][0],
               results[i][VALUES / size - 1]);
    }
    printf("\n");
}

static void wait_any(void)
{
    MPI_Request requests[REQUESTS];
    int index;
    start(requests);
    for (;;) {
        MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE);
        if (index == MPI_UNDEFINED) {
            break;
        }
        completed[index]++;
    }
    print("waitany", requests);
}

static void test_any(void)
{
    MPI_Request requests[REQUESTS];
    int index, done;
    start(requests);
    for (;;) {
        MPI_Testany(REQUESTS, requests, &index, &done, MPI_STATUS_IGNORE);
        if (done && index == MPI_UNDEFINED) {
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
    MPI_Request requests[REQUESTS];
    int count, indices[REQUESTS];
    start(requests);
    for (;;) {
        MPI_Waitsome(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE);
        if (count == MPI_UNDEFINED) {
            break;
        }
        for (int i = 0; i < count; i++) {
            completed[indices[i]]++;
        }
    }
    print("waitsome", requests);
}

static void test_some(void)
{
    MPI_Request requests[REQUESTS];
    int count, indices[REQUESTS];
    start(requests);
    for (;;) {
        MPI_Testsome(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE);
        if (count == MPI_UNDEFINED) {
            break;
        }
        for (int i = 0; i < count; i++) {
            completed[indices[i]]++;
        }
    }
    print("testsome", requests);
}

static void test_all(void)
{
    MPI_Request requests[REQUESTS];
    int done = 0;
    start(requests);
    while (!done) {
        MPI_Testall(REQUESTS, requests, &done, MPI_STATUSES_IGNORE);
    }
    print("testall", requests);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wait_any();
    test_any();
    wait_some();
    test_some();
    test_all();
    MPI_Finalize();
    return 0;
}
