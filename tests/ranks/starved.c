/* A rank whose heap is exhausted, so it cannot do its part of a hierarchical
 * collective, of a split (STARVED=split), or of an exchange with neighbors
 * (STARVED=neighbor), or of a sparse exchange (STARVED=sparse). All operations
 * end, there and on every rank that waits for it, even in another group.
 * STARVED=flat: a rank without memory for the flat hierarchy of a long scan,
 * which then runs through levels. Runs as processes on two nodes or more.
 * Prints "ok - " for each rank. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <catena/catena.h>

enum { ELEMENTS = 20000, BLOCKS = 4096, CRUMB = 16384, MOST = 16 };

/** Allocate all that is left of the heap, except crumbs; it is released with
 * the context. */
static void take_heap(catena_context_t *context)
{
    int left = BLOCKS;
    for (size_t bytes = (size_t)1 << 40; bytes >= CRUMB; bytes /= 2) {
        while (left > 0 && catena_malloc(context, bytes) != NULL) {
            left--;
        }
    }
}

/** All to all: every rank waits for every other. */
static catena_status_t make_complete(catena_group_t *group,
                                     catena_neighborhood_t **complete)
{
    int size = catena_group_size(group);
    int all[MOST];
    for (int i = 0; i < size; i++) {
        all[i] = i;
    }
    return catena_neighborhood_create(group, size, all, CATENA_UNWEIGHTED, size,
                                      all, CATENA_UNWEIGHTED, NULL, complete);
}

/** Send blocks to all until that fails. The ranks that miss blocks of the one
 * without memory may hear that first. */
static catena_status_t send_sparse(catena_group_t *group, const double *in)
{
    enum { EACH = 8, BYTES = 4000 };
    int targets[EACH * MOST];
    size_t bytes[EACH * MOST];
    int count = EACH * catena_group_size(group);
    catena_status_t status;
    for (int i = 0; i < count; i++) {
        targets[i] = i / EACH;
        bytes[i] = BYTES;
    }
    do {
        catena_received_t *received = NULL;
        size_t same[EACH * MOST] = {0};
        status = catena_sparse_exchange(group, count, targets, in, bytes, same,
                                        &received);
        (void)catena_received_free(&received);
    } while (status == CATENA_OK || status == CATENA_ERR_NO_MEMORY);
    return status;
}

/** The last rank is in no such group, and waits in the world's barrier. */
static catena_status_t run(catena_context_t *context, const double *in,
                           double *out, catena_group_t **group,
                           catena_neighborhood_t **complete)
{
    catena_group_t *world = catena_world(context);
    bool last = catena_group_rank(world) + 1 == catena_group_size(world);
    if (catena_group_split(world, last ? CATENA_UNDEFINED : 0, 0, group) !=
            CATENA_OK ||
        (*group != NULL &&
         (catena_group_set(*group, "hierarchy", "node:shm,network:p2p") !=
              CATENA_OK ||
          catena_scan(in, out, 1, CATENA_DOUBLE, CATENA_SUM, *group) !=
              CATENA_OK ||
          make_complete(*group, complete) != CATENA_OK))) {
        return CATENA_ERR_STATE;
    }
    if (catena_group_rank(world) == 0) {
        take_heap(context);
    }
    catena_status_t status = catena_barrier(world);
    if (status != CATENA_OK) { /* rank 0 may be further by now */
        return status;
    }
    if (last) {
        return catena_barrier(world);
    }
    const char *what = getenv("STARVED");
    catena_group_t *again;
    if (what != NULL && strcmp(what, "neighbor") == 0) {
        return catena_neighbor_allgather(in, ELEMENTS, CATENA_DOUBLE, out,
                                         ELEMENTS, CATENA_DOUBLE, *complete);
    }
    if (what != NULL && strcmp(what, "sparse") == 0) {
        return send_sparse(*group, in);
    }
    if (what == NULL || strcmp(what, "split") != 0) {
        return catena_scan(in, out, ELEMENTS, CATENA_DOUBLE, CATENA_SUM,
                           *group);
    }
    /* A rank that does not wait for the one without memory gets its group. */
    do {
        status = catena_group_dup(*group, &again);
    } while (status == CATENA_OK);
    return status;
}

/** A long scan when rank 0 has memory for it, but not for the flat hierarchy.
 */
static catena_status_t scan_through_levels(catena_context_t *context,
                                           double *in, double *out)
{
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    /* of both ranks of a node less than a flat hierarchy takes, 4 MiB */
    void *enough = catena_malloc(context, (size_t)3 << 19);
    catena_status_t status = /* the levels then have their buffers */
        catena_scan(in, out, ELEMENTS / 5, CATENA_DOUBLE, CATENA_SUM, world);
    if (rank == 0) {
        take_heap(context);
    }
    catena_free(context, enough);
    for (int i = 0; i < ELEMENTS; i++) {
        in[i] = rank + i;
    }
    if (status == CATENA_OK) {
        status =
            catena_scan(in, out, ELEMENTS, CATENA_DOUBLE, CATENA_SUM, world);
    }
    for (int i = 0; i < ELEMENTS && status == CATENA_OK; i++) {
        if (out[i] != rank * (rank + 1) / 2 + (rank + 1.0) * i) {
            status = CATENA_ERR_STATE;
        }
    }
    return status;
}

/** As the comment at the top says. @return the exit status */
static int run_through_levels(catena_context_t *context, double *in,
                              double *out)
{
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    catena_status_t status = scan_through_levels(context, in, out);
    char text[512];
    (void)catena_group_explain(world, "scan", text, sizeof(text));
    bool right =
        status == CATENA_OK && strstr(text, "levels=\"node:shm(") != NULL;
    printf("%s - rank %d scans without a flat hierarchy: %s, %s\n",
           right ? "ok" : "not ok", rank, catena_status_string(status), text);
    return catena_finalize(&context) != CATENA_OK;
}

int main(void)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    double *in = calloc(ELEMENTS, sizeof(*in));
    double *out = calloc(MOST * ELEMENTS, sizeof(*out));
    int rank = catena_group_rank(catena_world(context));
    const char *what = getenv("STARVED");
    if (what != NULL && strcmp(what, "flat") == 0) {
        int end = run_through_levels(context, in, out);
        free(in);
        free(out);
        return end;
    }
    catena_group_t *group = NULL;
    catena_neighborhood_t *complete = NULL;
    catena_status_t status = run(context, in, out, &group, &complete);
    printf("%s - rank %d hears of a rank without memory: %s\n",
           status == CATENA_ERR_ENDED ? "ok" : "not ok", rank,
           catena_status_string(status));
    status = catena_barrier(catena_world(context));
    printf("%s - rank %d: the context has ended: %s\n",
           status == CATENA_ERR_ENDED || status == CATENA_ERR_PEER ? "ok"
                                                                   : "not ok",
           rank, catena_status_string(status));
    fflush(stdout);
    usleep(300000); /* a failed send to a rank that is gone is detected first */
    if (complete != NULL) {
        (void)catena_neighborhood_free(&complete);
    }
    if (group != NULL) {
        (void)catena_group_free(&group);
    }
    (void)catena_finalize(&context); /* they fail, but end */
    free(in);
    free(out);
    return 0;
}
