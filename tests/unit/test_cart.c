/* Grids: dimensions against a search of all, places and neighbors against sums
 * written out, derived graphs and parts of grids. */

#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "neighbor/neighborhood.h"
#include "said.h"
#include "unit.h"

enum { MOST_DIMS = 4, MOST_DIRECTIONS = 6 };

/* ---- dimensions ---- */

/** Whether `now` is better than `best`, if there is one: closer together, then
 * smaller at the first place where they differ. */
static bool is_better(const int *now, const int *best, int ndims)
{
    int difference = (now[0] - now[ndims - 1]) - (best[0] - best[ndims - 1]);
    for (int d = 0; difference == 0 && d < ndims; d++) {
        difference = now[d] - best[d];
    }
    return best[0] == 0 || difference < 0;
}

/** The best of all products of n, by looking at all of them. */
static void search(int n, int ndims, int most, int at, int *now, int *best)
{
    if (at == ndims) {
        if (n == 1 && is_better(now, best, ndims)) {
            memcpy(best, now, (size_t)ndims * sizeof(*now));
        }
        return;
    }
    for (int d = 1; d <= most; d++) {
        if (n % d == 0) {
            now[at] = d;
            search(n / d, ndims, d, at + 1, now, best);
        }
    }
}

START_TEST(dims_are_even)
{
    for (int i = 1; i <= 400; i++) {
        int n = i < 400 ? i : 7488; /* 26 18 16, not 24 24 13 */
        for (int ndims = 1; ndims <= MOST_DIMS; ndims++) {
            int dims[MOST_DIMS] = {0};
            int now[MOST_DIMS] = {0};
            int best[MOST_DIMS] = {0};
            search(n, ndims, n, 0, now, best);
            ck_assert_int_eq(catena_dims_create(n, ndims, dims), CATENA_OK);
            ck_assert_msg(memcmp(dims, best, sizeof(dims)) == 0,
                          "%d in %d: %d %d %d %d, expected %d %d %d %d", n,
                          ndims, dims[0], dims[1], dims[2], dims[3], best[0],
                          best[1], best[2], best[3]);
        }
    }
}
END_TEST

START_TEST(dims_that_are_kept)
{
    int dims[4] = {0, 3, 0, 2};
    ck_assert_int_eq(catena_dims_create(72, 4, dims), CATENA_OK);
    ck_assert_int_eq(dims[0], 4);
    ck_assert_int_eq(dims[1], 3);
    ck_assert_int_eq(dims[2], 3);
    ck_assert_int_eq(dims[3], 2);
    int beside[4] = {0, 0, 5, 0};
    int closest[4] = {26, 18, 5, 16};
    ck_assert_int_eq(catena_dims_create(5 * 7488, 4, beside), CATENA_OK);
    ck_assert_mem_eq(beside, closest, sizeof(beside));
    int indivisible[2] = {0, 5};
    ck_assert_int_eq(catena_dims_create(72, 2, indivisible), CATENA_ERR_ARG);
    ck_assert_int_eq(indivisible[0], 0);
    int other[2] = {3, 4};
    ck_assert_int_eq(catena_dims_create(24, 2, other), CATENA_ERR_ARG);
    ck_assert_int_eq(catena_dims_create(12, 2, other), CATENA_OK);
    int negative[1] = {-2};
    ck_assert_int_eq(catena_dims_create(4, 1, negative), CATENA_ERR_ARG);
    ck_assert_int_eq(catena_dims_create(0, 1, negative), CATENA_ERR_ARG);
    ck_assert_int_eq(catena_dims_create(1, 0, NULL), CATENA_OK);
    ck_assert_int_eq(catena_dims_create(4, 1, NULL), CATENA_ERR_ARG);
}
END_TEST

/** Large numbers and many dimensions do not take long. */
START_TEST(dims_of_large_numbers)
{
    int prime[3] = {0};
    ck_assert_int_eq(catena_dims_create(2147483647, 3, prime), CATENA_OK);
    ck_assert_int_eq(prime[0], 2147483647);
    ck_assert_int_eq(prime[1], 1);
    int smooth[40] = {0};
    ck_assert_int_eq(catena_dims_create(1 << 30, 40, smooth), CATENA_OK);
    for (int d = 0; d < 40; d++) {
        ck_assert_int_eq(smooth[d], d < 30 ? 2 : 1);
    }
    int many[5] = {0};
    int64_t product = 1;
    ck_assert_int_eq(catena_dims_create(2095133040, 5, many), CATENA_OK);
    for (int d = 0; d < 5; d++) {
        product *= many[d];
        ck_assert_int_ge(many[d > 0 ? d - 1 : 0], many[d]);
    }
    ck_assert_int_eq(product, 2095133040);
}
END_TEST

/* ---- grids ---- */

typedef struct box {
    int ndims;
    int dims[MOST_DIMS];
    int periods[MOST_DIMS];
} box_t;

static box_t box;

/** Any grid of at most so many ranks: sizes of 1 and 2 are frequent. */
static box_t draw_box(uint64_t *random, int ranks)
{
    box_t drawn = {.ndims = (int)(job_random(random) % (MOST_DIMS + 1))};
    for (int d = 0; d < drawn.ndims; d++) {
        int size = 1 + (int)(job_random(random) % 4);
        drawn.dims[d] = size <= ranks ? size : 1;
        ranks /= drawn.dims[d];
        drawn.periods[d] = (int)(job_random(random) % 2) * 3;
    }
    return drawn;
}

static int box_size(void)
{
    int size = 1;
    for (int d = 0; d < box.ndims; d++) {
        size *= box.dims[d];
    }
    return size;
}

static int box_rank(const int *coords)
{
    int rank = 0;
    for (int d = 0; d < box.ndims; d++) {
        int at = coords[d];
        if (box.periods[d]) {
            while (at < 0) {
                at += box.dims[d];
            }
            while (at >= box.dims[d]) {
                at -= box.dims[d];
            }
        }
        if (at < 0 || at >= box.dims[d]) {
            return CATENA_PROC_NULL;
        }
        rank = rank * box.dims[d] + at;
    }
    return rank;
}

static void box_coords(int rank, int *coords)
{
    int ranks = box_size();
    for (int d = 0; d < box.ndims; d++) {
        ranks /= box.dims[d];
        coords[d] = rank / ranks;
        rank %= ranks;
    }
}

static void check_places(job_t *job, const catena_neighborhood_t *cart)
{
    int dims[MOST_DIMS], periods[MOST_DIMS], coords[MOST_DIMS], ndims, found;
    int own = catena_group_rank(catena_neighborhood_group(cart));
    int expected[MOST_DIMS];
    JOB_CHECK(job, catena_cart_ndims(cart, &ndims) == CATENA_OK);
    JOB_CHECK(job, ndims == box.ndims);
    JOB_CHECK(job, catena_cart_get(cart, MOST_DIMS, dims, periods, coords) ==
                       CATENA_OK);
    box_coords(own, expected);
    for (int d = 0; d < ndims; d++) {
        JOB_CHECK(job, dims[d] == box.dims[d] && coords[d] == expected[d]);
        JOB_CHECK(job, periods[d] == (box.periods[d] != 0));
    }
    for (int rank = 0; rank < box_size(); rank++) {
        box_coords(rank, expected);
        JOB_CHECK(job, catena_cart_coords(cart, rank, MOST_DIMS, coords) ==
                           CATENA_OK);
        JOB_CHECK(job, ndims == 0 || memcmp(coords, expected,
                                            (size_t)ndims * sizeof(int)) == 0);
        JOB_CHECK(job, catena_cart_rank(cart, coords, &found) == CATENA_OK &&
                           found == rank);
    }
    JOB_CHECK(job, catena_cart_coords(cart, box_size(), MOST_DIMS, coords) ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_coords(cart, -1, MOST_DIMS, coords) ==
                       CATENA_ERR_ARG);
}

/** Who is so far along one dimension. */
static int away(int rank, int dimension, int distance)
{
    int coords[MOST_DIMS];
    box_coords(rank, coords);
    coords[dimension] += distance;
    return box_rank(coords);
}

static void check_shifts(job_t *job, const catena_neighborhood_t *cart)
{
    int own = catena_group_rank(catena_neighborhood_group(cart));
    int coords[MOST_DIMS], source, target, rank;
    for (int d = 0; d < box.ndims; d++) {
        for (int by = -5; by <= 5; by++) {
            JOB_CHECK(job, catena_cart_shift(cart, d, by, &source, &target) ==
                               CATENA_OK);
            JOB_CHECK(job, source == away(own, d, -by));
            JOB_CHECK(job, target == away(own, d, by));
            box_coords(own, coords);
            coords[d] += by;
            int expected = box_rank(coords);
            catena_status_t status = catena_cart_rank(cart, coords, &rank);
            JOB_CHECK(job, expected == CATENA_PROC_NULL
                               ? status == CATENA_ERR_ARG
                               : status == CATENA_OK && rank == expected);
        }
    }
    JOB_CHECK(job, catena_cart_shift(cart, box.ndims, 1, &source, &target) ==
                       CATENA_ERR_ARG);
}

/** What is sent in one direction is received from the other side. */
static void check_pairs(job_t *job, const catena_neighborhood_t *cart)
{
    int own = catena_group_rank(catena_neighborhood_group(cart));
    int sources[2 * MOST_DIMS], targets[2 * MOST_DIMS], count[2];
    JOB_CHECK(job, catena_neighborhood_counts(cart, &count[0], &count[1]) ==
                       CATENA_OK);
    JOB_CHECK(job, count[0] == 2 * box.ndims && count[1] == 2 * box.ndims);
    JOB_CHECK(job, catena_neighborhood_neighbors(cart, 2 * MOST_DIMS, sources,
                                                 NULL, 2 * MOST_DIMS, targets,
                                                 NULL) == CATENA_OK);
    for (int d = 0; d < box.ndims; d++) {
        int lower = away(own, d, -1);
        int upper = away(own, d, 1);
        JOB_CHECK(job, sources[2 * d] == lower && targets[2 * d] == lower);
        JOB_CHECK(job,
                  sources[2 * d + 1] == upper && targets[2 * d + 1] == upper);
        if (upper != CATENA_PROC_NULL) {
            JOB_CHECK(job,
                      cart->target[2 * d + 1].peer_index == 2 * (uint32_t)d);
            JOB_CHECK(job,
                      cart->source[2 * d + 1].peer_index == 2 * (uint32_t)d);
        }
    }
}

/* ---- derived graphs ---- */

typedef struct vectors {
    int count;
    int value[MOST_DIRECTIONS][MOST_DIMS];
    int weight[MOST_DIRECTIONS];
    bool weighted;
} vectors_t;

static vectors_t draw_vectors(uint64_t *random)
{
    vectors_t drawn = {.count = (int)(job_random(random) % MOST_DIRECTIONS),
                       .weighted = job_random(random) % 2 == 0};
    for (int i = 0; i < drawn.count; i++) {
        bool again = i > 0 && job_random(random) % 4 == 0;
        for (int d = 0; d < MOST_DIMS; d++) {
            drawn.value[i][d] = again ? drawn.value[i - 1][d]
                                      : (int)(job_random(random) % 7) - 3;
        }
        drawn.weight[i] = (int)(job_random(random) % 5);
    }
    return drawn;
}

static int along(int rank, const int *vector, int sign)
{
    int coords[MOST_DIMS];
    box_coords(rank, coords);
    for (int d = 0; d < box.ndims; d++) {
        coords[d] += sign * vector[d];
    }
    return box_rank(coords);
}

static void check_derived(job_t *job, const catena_neighborhood_t *graph,
                          const vectors_t *vectors)
{
    int own = catena_group_rank(catena_neighborhood_group(graph));
    JOB_CHECK(job, graph->sources == (uint32_t)vectors->count);
    JOB_CHECK(job, graph->targets == (uint32_t)vectors->count);
    for (int i = 0; i < vectors->count; i++) {
        const int *vector = vectors->value[i];
        const ctn_edge_t *source = &graph->source[i];
        const ctn_edge_t *target = &graph->target[i];
        int weight = vectors->weighted ? vectors->weight[i] : 1;
        JOB_CHECK(job, source->rank == along(own, vector, -1));
        JOB_CHECK(job, target->rank == along(own, vector, 1));
        JOB_CHECK(job, source->weight == weight && target->weight == weight);
        JOB_CHECK(job, source->rank == CATENA_PROC_NULL ||
                           source->peer_index == (uint32_t)i);
        JOB_CHECK(job, target->rank == CATENA_PROC_NULL ||
                           target->peer_index == (uint32_t)i);
    }
}

static void derive(job_t *job, catena_neighborhood_t *cart)
{
    uint64_t random = job->seed;
    catena_neighborhood_t *graph;
    vectors_t vectors = draw_vectors(&random);
    int flat[MOST_DIRECTIONS * MOST_DIMS];
    for (int i = 0; i < vectors.count; i++) {
        memcpy(flat + i * box.ndims, vectors.value[i],
               (size_t)box.ndims * sizeof(int));
    }
    catena_status_t status = catena_cart_derive_graph(
        cart, vectors.count, flat,
        vectors.weighted ? vectors.weight : CATENA_UNWEIGHTED,
        job->seed % 3 == 0, NULL, &graph);
    JOB_CHECK(job, status == CATENA_OK);
    if (status == CATENA_OK) {
        check_derived(job, graph, &vectors);
        check_places(job, graph);
        check_shifts(job, graph);
        JOB_CHECK(job, catena_neighborhood_free(graph) == CATENA_OK);
    }
}

/* ---- parts ---- */

static void take_part(job_t *job, catena_neighborhood_t *cart)
{
    uint64_t random = job->seed + 1;
    int remain[MOST_DIMS], ndims = 0, kept[MOST_DIMS];
    for (int d = 0; d < box.ndims; d++) {
        remain[d] = (int)(job_random(&random) % 2);
        kept[ndims] = d;
        ndims += remain[d];
    }
    catena_neighborhood_t *part;
    catena_status_t status = catena_cart_sub(cart, remain, &part);
    JOB_CHECK(job, status == CATENA_OK);
    if (status != CATENA_OK) {
        return;
    }
    int dims[MOST_DIMS], periods[MOST_DIMS], coords[MOST_DIMS], found;
    int whole[MOST_DIMS];
    box_coords(catena_group_rank(catena_neighborhood_group(cart)), whole);
    JOB_CHECK(job, catena_cart_ndims(part, &found) == CATENA_OK);
    JOB_CHECK(job, found == ndims);
    JOB_CHECK(job, catena_cart_get(part, MOST_DIMS, dims, periods, coords) ==
                       CATENA_OK);
    for (int i = 0; i < ndims; i++) {
        JOB_CHECK(job, dims[i] == box.dims[kept[i]]);
        JOB_CHECK(job, periods[i] == (box.periods[kept[i]] != 0));
        JOB_CHECK(job, coords[i] == whole[kept[i]]);
    }
    /* Neighbors in it are those in the whole. */
    for (int i = 0; i < ndims; i++) {
        const ctn_edge_t *edge = &part->target[2 * i + 1];
        const ctn_edge_t *same = &cart->target[2 * kept[i] + 1];
        JOB_CHECK(job, (edge->rank == CATENA_PROC_NULL) ==
                           (same->rank == CATENA_PROC_NULL));
        if (edge->rank != CATENA_PROC_NULL && edge->link != CTN_NO_LINK) {
            JOB_CHECK(job, part->out[edge->link].peer.process ==
                               cart->out[same->link].peer.process);
        }
    }
    JOB_CHECK(job, catena_neighborhood_free(part) == CATENA_OK);
}

static void make_box(job_t *job)
{
    catena_neighborhood_t *cart = NULL;
    bool inside = (int)job->rank < box_size();
    JOB_CHECK(job,
              catena_cart_create(job->context->world, box.ndims, box.dims,
                                 box.periods, 0, NULL, &cart) == CATENA_OK);
    JOB_CHECK(job, (cart != NULL) == inside);
    if (cart == NULL) {
        return;
    }
    JOB_CHECK(job,
              catena_group_size(catena_neighborhood_group(cart)) == box_size());
    check_places(job, cart);
    check_shifts(job, cart);
    check_pairs(job, cart);
    derive(job, cart);
    take_part(job, cart);
    JOB_CHECK(job, catena_neighborhood_free(cart) == CATENA_OK);
}

START_TEST(grids)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        uint64_t random = seed;
        uint32_t ranks = 1 + (uint32_t)(job_random(&random) % 20);
        box = draw_box(&random, (int)ranks);
        int failed = job_simulate(ranks, seed, make_box);
        ck_assert_msg(failed == 0, "seed %d: %d of %u failed", (int)seed,
                      failed, ranks);
    }
}
END_TEST

/* ---- what is refused ---- */

static void refuse(job_t *job)
{
    catena_group_t *world = job->context->world;
    catena_neighborhood_t *cart = NULL;
    int own = (int)job->rank;
    int one = 1;
    int dims[2] = {2, 3};
    int periods[2] = {1, 0};
    int differs[2] = {own == 1 ? 3 : 2, own == 1 ? 2 : 3};
    int zero[2] = {2, own == 2 ? 0 : 3};
    int larger[2] = {2, own == 3 ? 4 : 3};
    int huge[2] = {1 << 20, 1 << 20};
    JOB_CHECK(job, catena_cart_create(NULL, 2, dims, periods, 0, NULL, &cart) ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_create(world, 2, differs, periods, 0, NULL,
                                      &cart) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_create(world, 2, zero, periods, 0, NULL,
                                      &cart) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_create(world, 2, larger, periods, 0, NULL,
                                      &cart) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_create(world, 2, huge, periods, 0, NULL,
                                      &cart) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_create(world, own == 4 ? -1 : 2, dims, periods,
                                      0, NULL, &cart) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_create(world, 2, dims, own == 5 ? NULL : periods,
                                      0, NULL, &cart) == CATENA_ERR_ARG);
    JOB_CHECK(job, cart == NULL);
    JOB_CHECK(job, catena_cart_create(world, 2, dims, periods, 0, NULL,
                                      &cart) == CATENA_OK);
    int vector[2] = {own == 2, 1};
    int negative[1] = {own == 2 ? -1 : 1};
    int remain[2] = {own == 0, 1};
    catena_neighborhood_t *graph = NULL;
    JOB_CHECK(job, catena_cart_derive_graph(cart, 1, vector, CATENA_UNWEIGHTED,
                                            0, NULL, &graph) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_derive_graph(cart, 1, dims, negative, 0, NULL,
                                            &graph) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_derive_graph(cart, 1, dims,
                                            own == 1 ? CATENA_UNWEIGHTED : &one,
                                            0, NULL, &graph) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_derive_graph(cart, own == 3 ? -1 : 1, dims,
                                            CATENA_UNWEIGHTED, 0, NULL,
                                            &graph) == CATENA_ERR_ARG);
    if (catena_cart_sub(cart, remain, &graph) == CATENA_OK) { /* for some */
        JOB_CHECK(job, catena_neighborhood_free(graph) == CATENA_OK);
    }
    JOB_CHECK(job, catena_neighborhood_free(cart) == CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_create(world, 0, NULL, NULL, 0, NULL,
                                              NULL, NULL, &cart) == CATENA_OK);
    JOB_CHECK(job, catena_cart_ndims(cart, &own) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_sub(cart, remain, &graph) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_neighborhood_free(cart) == CATENA_OK);
}

START_TEST(refused)
{
    capture_t said;
    said_by(&said, 6, refuse);
    said_has(&said, "the grid");
    said_has(&said, "dimension 1 is 0");
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, dims_are_even);
    tcase_add_test(tcase, dims_that_are_kept);
    tcase_add_test(tcase, dims_of_large_numbers);
    tcase_add_test(tcase, grids);
    tcase_add_test(tcase, refused);
}

int main(void)
{
    return unit_main("cart", 100, add_cases);
}
