/* Ranks form a grid. In each step a vector is broadcast down every column
 * (bcast), scaled, and summed along every row (allreduce). The bcast of the
 * next step overlaps the sum of this one: two operations of two groups are in
 * flight. */
#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 20000, STEPS = 10 };

typedef struct grid {
    int rows, columns;
    int row, column;             /* of this rank */
    catena_group_t *along_row;   /* in the order of columns */
    catena_group_t *down_column; /* in the order of rows */
} grid_t;

static catena_context_t *context;

static void check(catena_status_t status, const char *what)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "%s: %s\n", what, catena_status_string(status));
        catena_abort(context, EXIT_FAILURE);
    }
}

static void make_grid(catena_group_t *world, grid_t *grid)
{
    int rank = catena_group_rank(world);
    int size = catena_group_size(world);
    grid->columns = 1;
    for (int i = 1; i * i <= size; i++) {
        grid->columns = size % i == 0 ? i : grid->columns;
    }
    grid->rows = size / grid->columns;
    grid->row = rank / grid->columns;
    grid->column = rank % grid->columns;
    check(catena_group_split(world, grid->row, rank, &grid->along_row),
          "split");
    check(catena_group_split(world, grid->column, rank, &grid->down_column),
          "split");
    /* The shared heap on each node, messages between their leaders. */
    check(catena_group_set(grid->along_row, "allreduce_hierarchy",
                           "node:shm,network:p2p"),
          "hierarchy");
}

/** Row 0 has the vectors; the columns' differ. */
static catena_request_t *begin_step(const grid_t *grid, int step, double *x)
{
    catena_request_t *request;
    for (int i = 0; i < COUNT && grid->row == 0; i++) {
        x[i] = step + grid->column + i;
    }
    check(
        catena_ibcast(x, COUNT, CATENA_DOUBLE, 0, grid->down_column, &request),
        "ibcast");
    return request;
}

static int wrong_sums(const grid_t *grid, int step, const double *sum)
{
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        double expected = 0;
        for (int column = 0; column < grid->columns; column++) {
            expected += (grid->row + 1) * (double)(step + column + i);
        }
        wrong += sum[i] != expected;
    }
    return wrong;
}

int main(void)
{
    grid_t grid;
    int wrong = 0;
    check(catena_init(NULL, &context), "init");
    make_grid(catena_world(context), &grid);
    double *x[2], *sum = catena_calloc(context, COUNT, sizeof(*sum));
    x[0] = catena_calloc(context, COUNT, sizeof(**x));
    x[1] = catena_calloc(context, COUNT, sizeof(**x));
    check(x[0] && x[1] && sum ? CATENA_OK : CATENA_ERR_NO_MEMORY, "calloc");

    catena_request_t *request[2]; /* the incoming vector, the sum */
    request[0] = begin_step(&grid, 0, x[0]);
    for (int step = 0; step < STEPS; step++) {
        double *now = x[step % 2];
        check(catena_request_wait(&request[0]), "wait");
        for (int i = 0; i < COUNT; i++) {
            now[i] *= grid.row + 1;
        }
        check(catena_iallreduce(now, sum, COUNT, CATENA_DOUBLE, CATENA_SUM,
                                grid.along_row, &request[1]),
              "iallreduce");
        if (step + 1 < STEPS) {
            request[0] = begin_step(&grid, step + 1, x[(step + 1) % 2]);
        }
        check(catena_request_wait(&request[1]), "wait");
        wrong += wrong_sums(&grid, step, sum);
    }

    char how[256];
    check(catena_group_explain(grid.along_row, "allreduce", how, sizeof(how)),
          "explain");
    printf("row %d of %d, column %d of %d: %d wrong; %s\n", grid.row, grid.rows,
           grid.column, grid.columns, wrong, how);
    check(catena_group_free(&grid.along_row), "free");
    check(catena_group_free(&grid.down_column), "free");
    check(catena_finalize(&context), "finalize"); /* frees the heap too */
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
