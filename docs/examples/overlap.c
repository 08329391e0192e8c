/* A nonblocking alltoall, overlapped with computation. catena has no thread of
 * its own: an operation advances while the program is inside a catena call. So
 * the computation is cut into steps with a catena_request_test between them. */
#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4096, STEPS = 64, WORK = 100000 };

/** A step of work that is independent of the operation. */
static double compute(double x)
{
    for (int i = 0; i < WORK; i++) {
        x += 1.0 / (1.0 + x * x);
    }
    return x;
}

static void check(catena_context_t *context, catena_status_t status,
                  const char *what)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "%s: %s\n", what, catena_status_string(status));
        catena_abort(context, EXIT_FAILURE);
    }
}

/** Every element encodes its sender, its receiver and its index. */
static double element(int from, int to, int i)
{
    return from * 1e6 + to * 1e4 + i;
}

static int wrong_elements(const double *receive, int rank, int size)
{
    int wrong = 0;
    for (int from = 0; from < size; from++) {
        for (int i = 0; i < COUNT; i++) {
            wrong += receive[from * COUNT + i] != element(from, rank, i);
        }
    }
    return wrong;
}

int main(void)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return EXIT_FAILURE;
    }
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    int size = catena_group_size(world);
    size_t elements = (size_t)size * COUNT;
    double *send = catena_malloc(context, elements * sizeof(*send));
    double *receive = catena_malloc(context, elements * sizeof(*receive));
    if (send == NULL || receive == NULL) {
        catena_abort(context, EXIT_FAILURE);
    }
    for (int to = 0; to < size; to++) {
        for (int i = 0; i < COUNT; i++) {
            send[to * COUNT + i] = element(rank, to, i);
        }
    }

    catena_request_t *request;
    check(context,
          catena_ialltoall(send, COUNT, CATENA_DOUBLE, receive, COUNT,
                           CATENA_DOUBLE, world, &request),
          "ialltoall");
    double x = rank;
    int done = 0;
    int steps_until_done = 0;
    for (int step = 0; step < STEPS; step++) {
        x = compute(x);
        if (!done) { /* one round of progress; frees the request at the end */
            check(context, catena_request_test(&request, &done), "test");
            steps_until_done++;
        }
    }
    /* A complete request is NULL, and NULL counts as complete. */
    check(context, catena_request_wait(&request), "wait");

    int wrong = wrong_elements(receive, rank, size);
    printf("rank %d: %d wrong, %s after %d of %d steps, x = %.3f\n", rank,
           wrong, done ? "complete" : "not complete", steps_until_done, STEPS,
           x);
    catena_free(context, receive);
    catena_free(context, send);
    check(context, catena_finalize(&context), "finalize");
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
