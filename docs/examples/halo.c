/* Heat in a plate. Ranks form a grid. Each holds a block of the plate with a
 * frame of one cell for the neighbors' borders: the halo. In every step
 * neighbors exchange their borders in place, while the cells that need no halo
 * are computed. At the end rank 0 gathers the whole plate, computes it again
 * alone, and compares bit by bit.
 *
 * cc -std=c17 halo.c -o halo $(pkg-config --cflags --libs catena)
 * With pictures: -DHALO_PNG $(pkg-config --cflags --libs libpng) */
#define _GNU_SOURCE
#include <argp.h>
#include <catena/catena.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HALO_PNG
#include <png.h>
#endif

typedef enum way { BLOCKING, OVERLAP, PERSISTENT, WAYS } way_t;

static const char *const way_names[] = {"blocking", "overlap", "persistent"};

typedef struct options {
    int cells[2]; /* rows, columns */
    int grid[2];  /* of ranks; 0: any */
    int steps;
    bool periodic, nine, reorder, unchecked;
    way_t way;
    const char *picture;
} options_t;

/** A rank's share of the plate. */
typedef struct plate {
    const options_t *options;
    catena_neighborhood_t *neighborhood;
    int grid[2];            /* of ranks */
    int first[2], cells[2]; /* of this block, without the halo */
    int stride;             /* from row to row, with halo */
    double *field[2];       /* before and after a step */
    /* By direction: the send and the receive types. */
    int directions;
    catena_type_t send[8], receive[8];
    catena_request_t *request[2]; /* of field 0 and 1 */
} plate_t;

static catena_context_t *context;

static void check(catena_status_t status, const char *what)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "halo: %s: %s\n", what, catena_status_string(status));
        catena_abort(context, EXIT_FAILURE);
    }
}

/* ---- options ---- */

static const struct argp_option known[] = {
    {"size", 's', "ROWSxCOLUMNS", 0, "Cells of the plate (400x600)", 0},
    {"steps", 'n', "COUNT", 0, "Steps (200)", 0},
    {"grid", 'g', "ROWSxCOLUMNS", 0, "Ranks along each side; 0: balanced (0x0)",
     0},
    {"periodic", 'p', NULL, 0, "Periodic: join opposite sides of the plate", 0},
    {"stencil", 'k', "5|9", 0, "Cells of the stencil (9)", 0},
    {"exchange", 'x', "WAY", 0, "blocking, overlap or persistent (overlap)", 0},
    {"reorder", 'r', NULL, 0, "Reorder the ranks so that neighbors share nodes",
     0},
    {"unchecked", 'u', NULL, 0, "Do not compute the plate again at rank 0", 0},
    {"output", 'o', "FILE", 0, "Write a picture of the result (PNG)", 0},
    {0}};

/** @return false: not two numbers of `least` or more */
static bool read_pair(const char *text, int least, int pair[2])
{
    char rest;
    return sscanf(text, "%dx%d%c", &pair[0], &pair[1], &rest) == 2 &&
           pair[0] >= least && pair[1] >= least;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    options_t *options = state->input;
    switch (key) {
    case 's':
        if (!read_pair(text, 1, options->cells)) {
            argp_error(state, "--size: '%s', expected 400x600", text);
        }
        break;
    case 'g':
        if (!read_pair(text, 0, options->grid)) {
            argp_error(state, "--grid: '%s', expected 4x4 or 0x2", text);
        }
        break;
    case 'n':
        options->steps = atoi(text);
        if (options->steps < 0) {
            argp_error(state, "--steps: '%s', expected 0 or more", text);
        }
        break;
    case 'p':
        options->periodic = true;
        break;
    case 'k':
        if (strcmp(text, "5") != 0 && strcmp(text, "9") != 0) {
            argp_error(state, "--stencil: '%s', expected 5 or 9", text);
        }
        options->nine = text[0] == '9';
        break;
    case 'x':
        for (options->way = 0; options->way < WAYS; options->way++) {
            if (strcmp(text, way_names[options->way]) == 0) {
                return 0;
            }
        }
        argp_error(state, "--exchange: '%s' is unknown", text);
        break;
    case 'r':
        options->reorder = true;
        break;
    case 'u':
        options->unchecked = true;
        break;
    case 'o':
        options->picture = text;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- heat ---- */

/** Initial values: two warm spots. */
static double initial(const options_t *options, int row, int column)
{
    double y = (row + 0.5) / options->cells[0];
    double x = (column + 0.5) / options->cells[1];
    bool large = (x - 0.3) * (x - 0.3) + (y - 0.4) * (y - 0.4) < 0.04;
    bool small = (x - 0.8) * (x - 0.8) + (y - 0.7) * (y - 0.7) < 0.01;
    return large ? 0.7 : small ? 1 : 0;
}

/** Compute the next values of a box of cells. `before` and `after` point to
 * cell (0, 0), with the halo around it. Used for a block and for the whole
 * plate. */
static void compute(const double *before, double *after, int stride, bool nine,
                    const int from[2], const int to[2])
{
    for (int row = from[0]; row < to[0]; row++) {
        const double *here = before + (ptrdiff_t)row * stride;
        const double *above = here - stride;
        const double *below = here + stride;
        double *next = after + (ptrdiff_t)row * stride;
        for (int i = from[1]; i < to[1]; i++) {
            double straight = above[i] + below[i] + here[i - 1] + here[i + 1];
            double oblique =
                above[i - 1] + above[i + 1] + below[i - 1] + below[i + 1];
            next[i] =
                here[i] + (nine ? (4 * straight + oblique - 20 * here[i]) * 0.03
                                : (straight - 4 * here[i]) * 0.2);
        }
    }
}

static double *origin(double *field, int stride)
{
    return field + stride + 1;
}

/* ---- a block ---- */

/** The type of a box of the block with its halo, from cell (row, column). */
static catena_type_t make_box(const plate_t *plate, int row, int column,
                              int rows, int columns)
{
    const size_t sizes[] = {(size_t)plate->cells[0] + 2, (size_t)plate->stride};
    const size_t box[] = {(size_t)rows, (size_t)columns};
    const size_t starts[] = {(size_t)row + 1, (size_t)column + 1};
    catena_type_t type;
    check(catena_type_subarray(2, sizes, box, starts, CATENA_ORDER_C,
                               CATENA_DOUBLE, &type),
          "subarray");
    return type;
}

/** The type of the border in a direction: own cells, or the halo. */
static catena_type_t make_border(const plate_t *plate, const int toward[2],
                                 bool halo)
{
    int at[2];
    int cells[2];
    for (int d = 0; d < 2; d++) {
        int last = plate->cells[d] - 1;
        at[d] = toward[d] <= 0 ? 0 : last;
        at[d] += halo ? toward[d] : 0;
        cells[d] = toward[d] == 0 ? plate->cells[d] : 1;
    }
    return make_box(plate, at[0], at[1], cells[0], cells[1]);
}

/** The position of a rank's block. */
static void block_of(const plate_t *plate, int rank, int first[2], int cells[2])
{
    int place[2];
    check(catena_cart_coords(plate->neighborhood, rank, 2, place), "coords");
    for (int d = 0; d < 2; d++) {
        long all = plate->options->cells[d];
        first[d] = (int)(all * place[d] / plate->grid[d]);
        cells[d] = (int)(all * (place[d] + 1) / plate->grid[d]) - first[d];
    }
}

/** Four neighbors are those of the grid: lower and higher in each dimension, as
 * source and as target. Eight neighbors are a graph derived from it: its target
 * k is in direction k, its source k in the opposite one. */
static void make_neighborhood(plate_t *plate)
{
    static const int straight[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    static const int all[8][2] = {{-1, 0},  {1, 0},  {0, -1}, {0, 1},
                                  {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};
    const options_t *options = plate->options;
    const int periods[] = {options->periodic, options->periodic};
    catena_group_t *world = catena_world(context);
    catena_neighborhood_t *cart;
    memcpy(plate->grid, options->grid, sizeof(plate->grid));
    if (catena_dims_create(catena_group_size(world), 2, plate->grid) !=
            CATENA_OK ||
        plate->grid[0] * plate->grid[1] != catena_group_size(world)) {
        fprintf(stderr, "halo: %d ranks do not fill a grid of %d x %d\n",
                catena_group_size(world), options->grid[0], options->grid[1]);
        catena_abort(context, EXIT_FAILURE);
    }
    check(catena_cart_create(world, 2, plate->grid, periods, options->reorder,
                             NULL, &cart),
          "cart");
    plate->neighborhood = cart;
    plate->directions = 4;
    if (options->nine) {
        check(catena_cart_derive_graph(cart, 8, all[0], CATENA_UNWEIGHTED, 0,
                                       NULL, &plate->neighborhood),
              "derived graph");
        check(catena_neighborhood_free(&cart), "free");
        plate->directions = 8;
    }
    catena_group_t *group = catena_neighborhood_group(plate->neighborhood);
    block_of(plate, catena_group_rank(group), plate->first, plate->cells);
    plate->stride = plate->cells[1] + 2;
    for (int k = 0; k < plate->directions; k++) {
        const int *toward = options->nine ? all[k] : straight[k];
        int sign = options->nine ? -1 : 1;
        int source[] = {sign * toward[0], sign * toward[1]};
        plate->send[k] = make_border(plate, toward, false);
        plate->receive[k] = make_border(plate, source, true);
    }
}

/** Initialize both fields, 0 outside the plate. */
static void fill(plate_t *plate)
{
    size_t count = (size_t)(plate->cells[0] + 2) * (size_t)plate->stride;
    for (int i = 0; i < 2; i++) {
        plate->field[i] = catena_calloc(context, count, sizeof(double));
        check(plate->field[i] ? CATENA_OK : CATENA_ERR_NO_MEMORY, "calloc");
    }
    double *field = origin(plate->field[0], plate->stride);
    for (int row = 0; row < plate->cells[0]; row++) {
        for (int i = 0; i < plate->cells[1]; i++) {
            field[(ptrdiff_t)row * plate->stride + i] = initial(
                plate->options, plate->first[0] + row, plate->first[1] + i);
        }
    }
}

static const size_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static const ptrdiff_t zeros[8];

/** Start the exchange of a field's borders, or complete it if blocking. */
static void exchange(plate_t *plate, int which)
{
    double *field = plate->field[which];
    catena_request_t **request = &plate->request[which];
    switch (plate->options->way) {
    case BLOCKING:
        check(catena_neighbor_alltoallw(field, ones, zeros, plate->send, field,
                                        ones, zeros, plate->receive,
                                        plate->neighborhood),
              "exchange");
        break;
    case OVERLAP:
        check(catena_ineighbor_alltoallw(field, ones, zeros, plate->send, field,
                                         ones, zeros, plate->receive,
                                         plate->neighborhood, request),
              "exchange");
        break;
    default:
        if (*request == NULL) {
            check(catena_neighbor_alltoallw_init(
                      field, ones, zeros, plate->send, field, ones, zeros,
                      plate->receive, plate->neighborhood, request),
                  "exchange");
        }
        check(catena_request_start(*request), "start");
    }
}

/** The cells that need no halo during the exchange, then the border. */
static void step(plate_t *plate, int which)
{
    const double *before = origin(plate->field[which], plate->stride);
    double *after = origin(plate->field[1 - which], plate->stride);
    int rows = plate->cells[0];
    int columns = plate->cells[1];
    bool nine = plate->options->nine;
    enum { ROWS = 16 }; /* between calls of catena_progress */
    exchange(plate, which);
    for (int row = 1; row < rows - 1; row += ROWS) {
        int end = row + ROWS < rows - 1 ? row + ROWS : rows - 1;
        compute(before, after, plate->stride, nine, (int[]){row, 1},
                (int[]){end, columns - 1});
        check(catena_progress(context), "progress");
    }
    check(catena_request_wait(&plate->request[which]), "wait");
    const int border[4][2][2] = {
        {{0, 0}, {1, columns}},
        {{rows > 1 ? rows - 1 : 1, 0}, {rows, columns}},
        {{1, 0}, {rows - 1, 1}},
        {{1, columns > 1 ? columns - 1 : 1}, {rows - 1, columns}}};
    for (int i = 0; i < 4; i++) {
        compute(before, after, plate->stride, nine, border[i][0], border[i][1]);
    }
}

static void give_back(plate_t *plate)
{
    for (int i = 0; i < 2; i++) {
        if (plate->request[i] != NULL) {
            check(catena_request_free(&plate->request[i]), "free");
        }
        catena_free(context, plate->field[i]);
    }
    for (int k = 0; k < plate->directions; k++) {
        check(catena_type_free(&plate->send[k]), "free");
        check(catena_type_free(&plate->receive[k]), "free");
    }
    check(catena_neighborhood_free(&plate->neighborhood), "free");
}

/* ---- the whole plate, at rank 0 ---- */

/** @return [rows][columns] at rank 0, NULL elsewhere */
static double *gather(const plate_t *plate, double *field)
{
    catena_group_t *group = catena_neighborhood_group(plate->neighborhood);
    int ranks = catena_group_rank(group) == 0 ? catena_group_size(group) : 0;
    const int *all = plate->options->cells;
    double *came = NULL;
    double *whole = NULL;
    size_t *counts = calloc((size_t)ranks + 1, sizeof(*counts));
    ptrdiff_t *at = calloc((size_t)ranks + 2, sizeof(*at));
    int first[2], cells[2];
    if (ranks > 0) {
        came = calloc((size_t)all[0] * (size_t)all[1], sizeof(*came));
        whole = calloc((size_t)all[0] * (size_t)all[1], sizeof(*whole));
    }
    check(counts && at && (ranks == 0 || (came && whole))
              ? CATENA_OK
              : CATENA_ERR_NO_MEMORY,
          "calloc");
    for (int r = 0; r < ranks; r++) {
        block_of(plate, r, first, cells);
        counts[r] = (size_t)cells[0] * (size_t)cells[1];
        at[r + 1] = at[r] + (ptrdiff_t)counts[r];
    }
    catena_type_t inside =
        make_box(plate, 0, 0, plate->cells[0], plate->cells[1]);
    check(catena_gatherv(field, 1, inside, came, counts, at, CATENA_DOUBLE, 0,
                         group),
          "gatherv");
    check(catena_type_free(&inside), "free");
    for (int r = 0; r < ranks; r++) {
        block_of(plate, r, first, cells);
        for (int row = 0; row < cells[0]; row++) {
            memcpy(whole + (ptrdiff_t)(first[0] + row) * all[1] + first[1],
                   came + at[r] + (ptrdiff_t)row * cells[1],
                   (size_t)cells[1] * sizeof(double));
        }
    }
    free(counts);
    free(at);
    free(came);
    return whole;
}

/** Fill the halo of a periodic plate. */
static void join_sides(double *cell, int stride, const int cells[2])
{
    ptrdiff_t rows = cells[0];
    for (int i = 0; i < cells[1]; i++) {
        cell[i - stride] = cell[(rows - 1) * stride + i];
        cell[rows * stride + i] = cell[i];
    }
    for (ptrdiff_t row = -1; row <= rows; row++) {
        cell[row * stride - 1] = cell[row * stride + cells[1] - 1];
        cell[row * stride + cells[1]] = cell[row * stride];
    }
}

/** The number of cells that differ bitwise from a computation by one process.
 */
static long count_wrong(const options_t *options, const double *whole)
{
    int stride = options->cells[1] + 2;
    size_t count = (size_t)(options->cells[0] + 2) * (size_t)stride;
    double *field[] = {calloc(count, sizeof(double)),
                       calloc(count, sizeof(double))};
    check(field[0] && field[1] ? CATENA_OK : CATENA_ERR_NO_MEMORY, "calloc");
    double *cell[] = {origin(field[0], stride), origin(field[1], stride)};
    for (int row = 0; row < options->cells[0]; row++) {
        for (int i = 0; i < options->cells[1]; i++) {
            cell[0][(ptrdiff_t)row * stride + i] = initial(options, row, i);
        }
    }
    for (int i = 0; i < options->steps; i++) {
        if (options->periodic) {
            join_sides(cell[i % 2], stride, options->cells);
        }
        compute(cell[i % 2], cell[1 - i % 2], stride, options->nine,
                (int[]){0, 0}, options->cells);
    }
    long wrong = 0;
    for (int row = 0; row < options->cells[0]; row++) {
        for (int i = 0; i < options->cells[1]; i++) {
            wrong +=
                memcmp(&cell[options->steps % 2][(ptrdiff_t)row * stride + i],
                       &whole[(ptrdiff_t)row * options->cells[1] + i],
                       sizeof(double)) != 0;
        }
    }
    free(field[0]);
    free(field[1]);
    return wrong;
}

/** Cold is black, then red, yellow, white. @return whether the file was written
 */
static bool paint(const options_t *options, const double *whole)
{
#ifdef HALO_PNG
    size_t cells = (size_t)options->cells[0] * (size_t)options->cells[1];
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)options->cells[1],
                       .height = (png_uint_32)options->cells[0],
                       .format = PNG_FORMAT_RGB};
    unsigned char *pixels = malloc(3 * cells);
    check(pixels ? CATENA_OK : CATENA_ERR_NO_MEMORY, "malloc");
    for (size_t i = 0; i < cells; i++) {
        for (int color = 0; color < 3; color++) {
            double part = 3 * whole[i] - color;
            pixels[3 * i + (size_t)color] =
                (unsigned char)(part < 0   ? 0
                                : part < 1 ? 255 * part
                                           : 255);
        }
    }
    bool written = png_image_write_to_file(&image, options->picture, 0, pixels,
                                           0, NULL) != 0;
    free(pixels);
    return written;
#else
    (void)options;
    (void)whole;
    fprintf(stderr, "halo: compiled without -DHALO_PNG\n");
    return false;
#endif
}

static void introduce(const plate_t *plate)
{
    const options_t *options = plate->options;
    char how[512];
    size_t bytes = (size_t)plate->cells[1] * sizeof(double);
    check(catena_neighborhood_estimate(plate->neighborhood, "neighbor_alltoall",
                                       bytes, how, sizeof(how)),
          "estimate");
    printf("%d x %d cells, %d steps, %d points, %s sides; ranks %d x %d, %s\n",
           options->cells[0], options->cells[1], options->steps,
           options->nine ? 9 : 5, options->periodic ? "joined" : "cold",
           plate->grid[0], plate->grid[1], way_names[options->way]);
    printf("exchange: %s\n", how);
}

/** @return whether the result is correct */
static bool conclude(const plate_t *plate, double seconds)
{
    const options_t *options = plate->options;
    bool good = true;
    double *whole = gather(plate, plate->field[options->steps % 2]);
    if (whole == NULL) {
        return true;
    }
    printf("%.1f us a step\n",
           seconds * 1e6 / (options->steps + (options->steps == 0)));
    if (!options->unchecked) {
        long wrong = count_wrong(options, whole);
        printf("%s: %ld cells differ from the result of one process\n",
               wrong == 0 ? "right" : "WRONG", wrong);
        good = wrong == 0;
    }
    if (options->picture != NULL) {
        bool written = paint(options, whole);
        printf("%s %s\n", written ? "wrote" : "could not write",
               options->picture);
        good = good && written;
    }
    free(whole);
    return good;
}

int main(int argc, char **argv)
{
    options_t options = {
        .cells = {400, 600}, .steps = 200, .nine = true, .way = OVERLAP};
    struct argp argp = {
        .options = known, .parser = parse, .doc = "Heat in a plate."};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (catena_init(NULL, &context) != CATENA_OK) {
        return EXIT_FAILURE;
    }
    plate_t plate = {.options = &options};
    make_neighborhood(&plate);
    if (options.cells[0] < plate.grid[0] || options.cells[1] < plate.grid[1]) {
        fprintf(stderr, "halo: more ranks than cells along a side\n");
        catena_abort(context, EXIT_FAILURE);
    }
    fill(&plate);
    catena_group_t *group = catena_neighborhood_group(plate.neighborhood);
    if (catena_group_rank(group) == 0) {
        introduce(&plate);
    }
    check(catena_barrier(group), "barrier");
    double begun = catena_time(context);
    for (int i = 0; i < options.steps; i++) {
        step(&plate, i % 2);
    }
    check(catena_barrier(group), "barrier");
    bool good = conclude(&plate, catena_time(context) - begun);
    give_back(&plate);
    check(catena_finalize(&context), "finalize");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
