/* The calls of survivors, whose results are checked: right, or an error, and
 * then the buffers stay as the caller leaves them. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/random.h"
#include "survive.h"

enum {
    LEFT = 0xA5, /* what a caller leaves in the buffers of a failed call */
    MOST_BYTES = 1 << 19
};

void wrong(rank_t *r, const char *what, long found, long expected)
{
    if (!r->draw->killed[r->rank] && r->errors++ < 3) {
        fprintf(stderr,
                "survive: seed %" PRIu64 ", world rank %d, call %" PRIu64
                ": %s: found %ld, expected %ld\n",
                r->draw->seed, r->rank, r->call, what, found, expected);
    }
}

bool has_failed(catena_status_t status)
{
    return status == CATENA_ERR_PROC_FAILED || status == CATENA_ERR_REVOKED;
}

/* ---- buffers ---- */

static void *get(rank_t *r, size_t bytes, bool heap)
{
    bytes = bytes > 0 ? bytes : 1;
    return heap ? catena_malloc(r->context, bytes) : malloc(bytes);
}

static void put(rank_t *r, void *block, bool heap)
{
    if (heap) {
        catena_free(r->context, block);
    } else {
        free(block);
    }
}

static bool make(rank_t *r, buffers_t *b, size_t send, size_t recv)
{
    *b = (buffers_t){.send_bytes = send,
                     .recv_bytes = recv,
                     .heap = ctn_random(&r->random) % 2 == 0};
    b->send = get(r, send, b->heap);
    b->recv = get(r, recv, b->heap);
    if (b->send == NULL || b->recv == NULL) {
        wrong(r, "memory", 0, 1);
        return false;
    }
    memset(b->recv, 0, recv);
    return true;
}

/** The call is over. If it has failed the caller fills its buffers, and looks
 * at them later. */
static void done(rank_t *r, buffers_t *b, catena_status_t status)
{
    if (status != CATENA_OK && status != CATENA_ERR_PEER &&
        r->kept_count < KEPT) {
        memset(b->send, LEFT, b->send_bytes);
        memset(b->recv, LEFT, b->recv_bytes);
        r->kept[r->kept_count++] = *b;
        return;
    }
    put(r, b->send, b->heap);
    put(r, b->recv, b->heap);
}

static long first_changed(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != LEFT) {
            return (long)i;
        }
    }
    return -1;
}

void look_again(rank_t *r)
{
    for (int i = 0; i < r->kept_count; i++) {
        buffers_t *b = &r->kept[i];
        long send = first_changed(b->send, b->send_bytes);
        long recv = first_changed(b->recv, b->recv_bytes);
        if (send >= 0 || recv >= 0) {
            wrong(r, "a buffer of a failed call was written at", send, recv);
        }
        put(r, b->send, b->heap);
        put(r, b->recv, b->heap);
    }
    r->kept_count = 0;
}

/* ---- calls ---- */

enum { PERIOD = 256 };

/** The byte i of a block is 7 * (i + place). */
static size_t place_of(uint64_t call, int from, int to)
{
    return (size_t)(call * 131 + (unsigned)from * 31 + (unsigned)to * 17) %
           PERIOD;
}

/** Blocks of all places; filled at once, since a simulated job spends most of
 * its time with the content of blocks otherwise. */
static const unsigned char *pattern(void)
{
    static unsigned char bytes[PERIOD * 65];
    for (size_t i = 0; bytes[1] == 0 && i < sizeof(bytes); i++) {
        bytes[sizeof(bytes) - 1 - i] =
            (unsigned char)(7 * (sizeof(bytes) - 1 - i));
    }
    return bytes;
}

enum { PIECE = PERIOD * 64 };

static void fill(unsigned char *block, size_t bytes, size_t place)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        memcpy(block + at, pattern() + place,
               bytes - at < PIECE ? bytes - at : PIECE);
    }
}

/** Whether a block is right; else an error of the call is noted. */
static bool holds(rank_t *r, const char *call, const unsigned char *block,
                  size_t bytes, size_t place)
{
    size_t at = 0;
    while (at + PIECE < bytes &&
           memcmp(block + at, pattern() + place, PIECE) == 0) {
        at += PIECE;
    }
    if (memcmp(block + at, pattern() + place,
               bytes - at < PIECE ? bytes - at : PIECE) == 0) {
        return true;
    }
    while (block[at] == pattern()[place + at % PERIOD]) {
        at++;
    }
    wrong(r, call, block[at], pattern()[place + at % PERIOD]);
    return false;
}

bool is_large(const rank_t *r)
{
    return r->draw->large && r->shrinks == 0 && r->call % 2 == 1;
}

static size_t draw_bytes(rank_t *r, int ranks)
{
    if (is_large(r)) {
        size_t block = (size_t)16 << 20 >> ctn_random(&r->random) % 2;
        return block - ctn_random(&r->random) % 1000;
    }
    static const size_t most[] = {16,   200,  200,   5000,
                                  5000, 5000, 40000, 300000};
    size_t bytes = ctn_random(&r->random) % most[ctn_random(&r->random) % 8];
    size_t limit = MOST_BYTES / (size_t)ranks;
    limit = ranks > 16 ? limit * 16 / (size_t)ranks : limit;
    return bytes < limit ? bytes : limit;
}

static catena_status_t wait_all(catena_status_t status, size_t count,
                                catena_request_t *requests[])
{
    catena_status_t waited = catena_request_waitall(count, requests);
    return status == CATENA_OK ? waited : status;
}

/** How a call is made. */
typedef enum mode { BLOCKING, NONBLOCKING, PERSISTENT, MODES } mode_t_;

catena_status_t alltoall(rank_t *r, catena_group_t *group)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    size_t bytes = draw_bytes(r, n);
    mode_t_ mode = (mode_t_)(ctn_random(&r->random) % MODES);
    mode = is_large(r) && mode == BLOCKING ? NONBLOCKING : mode;
    buffers_t b[3];
    int count = mode == BLOCKING || is_large(r)
                    ? 1
                    : 1 + (int)(ctn_random(&r->random) % 3);
    catena_request_t *request[3] = {NULL};
    catena_status_t status = CATENA_OK;
    int made = 0;
    for (; made < count && status == CATENA_OK; made++) {
        buffers_t *x = &b[made];
        if (!make(r, x, bytes * (size_t)n, bytes * (size_t)n)) {
            catena_abort(r->context, 1);
        }
        for (int to = 0; to < n; to++) {
            fill(x->send + (size_t)to * bytes, bytes,
                 place_of(r->call, me, to));
        }
        status =
            mode == BLOCKING
                ? catena_alltoall(x->send, bytes, CATENA_BYTE, x->recv, bytes,
                                  CATENA_BYTE, group)
            : mode == NONBLOCKING
                ? catena_ialltoall(x->send, bytes, CATENA_BYTE, x->recv, bytes,
                                   CATENA_BYTE, group, &request[made])
                : catena_alltoall_init(x->send, bytes, CATENA_BYTE, x->recv,
                                       bytes, CATENA_BYTE, group,
                                       &request[made]);
        if (mode == PERSISTENT && status == CATENA_OK) {
            status = catena_request_start(request[made]);
        }
    }
    if (status == CATENA_OK) {
        pause_amid(r, b[0].recv + (size_t)(me + 1) % (size_t)n * bytes, bytes);
    }
    status =
        mode != BLOCKING ? wait_all(status, (size_t)made, request) : status;
    for (int i = 0; i < made; i++) {
        for (int from = 0; from < n && status == CATENA_OK; from++) {
            (void)holds(r, "alltoall", b[i].recv + (size_t)from * bytes, bytes,
                        place_of(r->call, from, me));
        }
        if (mode == PERSISTENT && request[i] != NULL) {
            (void)catena_request_free(&request[i]);
        }
        done(r, &b[i], status);
    }
    return status;
}

static catena_status_t bcast(rank_t *r, catena_group_t *group)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    size_t bytes = draw_bytes(r, 1);
    int root = (int)(ctn_random(&r->random) % (unsigned)n);
    buffers_t b;
    if (!make(r, &b, 1, bytes)) {
        catena_abort(r->context, 1);
    }
    fill(b.recv, me == root ? bytes : 0, place_of(r->call, root, 0));
    catena_status_t status =
        catena_bcast(b.recv, bytes, CATENA_BYTE, root, group);
    if (status == CATENA_OK) {
        (void)holds(r, "bcast", b.recv, bytes, place_of(r->call, root, 0));
    }
    done(r, &b, status);
    return status;
}

static catena_status_t allreduce(rank_t *r, catena_group_t *group)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    size_t count = 1 + draw_bytes(r, 1) / 8;
    bool scatter = ctn_random(&r->random) % 2 == 0;
    buffers_t b;
    size_t own = scatter ? (count + (size_t)n - 1) / (size_t)n : count;
    count = scatter ? own * (size_t)n : count;
    if (!make(r, &b, count * 8, own * 8)) {
        catena_abort(r->context, 1);
    }
    int64_t *in = (void *)b.send, *out = (void *)b.recv;
    for (size_t i = 0; i < count; i++) {
        in[i] = me + (int64_t)i;
    }
    catena_status_t status =
        scatter
            ? catena_reduce_scatter_block(in, out, own, CATENA_INT64,
                                          CATENA_SUM, group)
            : catena_allreduce(in, out, count, CATENA_INT64, CATENA_SUM, group);
    size_t first = scatter ? own * (size_t)me : 0;
    for (size_t i = 0; status == CATENA_OK && i < own; i++) {
        int64_t expected =
            (int64_t)n * (n - 1) / 2 + (int64_t)n * (int64_t)(first + i);
        if (out[i] != expected) {
            wrong(r, "allreduce", (long)out[i], (long)expected);
            break;
        }
    }
    done(r, &b, status);
    return status;
}

static catena_status_t gather_scatter(rank_t *r, catena_group_t *group)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    size_t bytes = draw_bytes(r, n);
    int root = (int)(ctn_random(&r->random) % (unsigned)n);
    bool gathers = ctn_random(&r->random) % 2 == 0;
    bool all = ctn_random(&r->random) % 2 == 0;
    size_t table = bytes * (size_t)n;
    buffers_t b;
    if (!make(r, &b, gathers ? bytes : table, gathers ? table : bytes)) {
        catena_abort(r->context, 1);
    }
    for (int to = 0; to < (gathers ? 1 : n); to++) {
        fill(b.send + (size_t)to * bytes, bytes,
             place_of(r->call, gathers ? me : 0, to));
    }
    catena_status_t status =
        !gathers ? catena_scatter(b.send, bytes, CATENA_BYTE, b.recv, bytes,
                                  CATENA_BYTE, root, group)
        : all    ? catena_allgather(b.send, bytes, CATENA_BYTE, b.recv, bytes,
                                    CATENA_BYTE, group)
                 : catena_gather(b.send, bytes, CATENA_BYTE, b.recv, bytes,
                                 CATENA_BYTE, root, group);
    bool receives = !gathers || all || me == root;
    bool good = status == CATENA_OK && receives;
    for (int from = 0; good && from < (gathers ? n : 1); from++) {
        good = holds(r, gathers ? "gather" : "scatter",
                     b.recv + (size_t)from * bytes, bytes,
                     place_of(r->call, from, gathers ? 0 : me));
    }
    done(r, &b, status);
    return status;
}

static catena_status_t barrier(rank_t *r, catena_group_t *group)
{
    (void)r;
    return catena_barrier(group);
}

/** A new group or neighborhood may exist on some ranks only: then no rank uses
 * it. @return whether all ranks have it, or why not */
static catena_status_t all_have(catena_group_t *group, catena_status_t status)
{
    uint64_t made = status == CATENA_OK;
    catena_status_t agreed = catena_group_agree(group, &made);
    return agreed != CATENA_OK   ? agreed
           : status != CATENA_OK ? status
           : made                ? CATENA_OK
                                 : CATENA_ERR_PROC_FAILED;
}

/** Split, use the part, free it. */
static catena_status_t split(rank_t *r, catena_group_t *group)
{
    int me = catena_group_rank(group);
    int parts = 1 + (int)(ctn_random(&r->random) % 3);
    catena_group_t *part = NULL;
    catena_status_t status =
        all_have(group, catena_group_split(group, me % parts, -me, &part));
    if (status == CATENA_OK) {
        status = catena_barrier(part);
    }
    catena_status_t freed = catena_group_free(&part);
    return status == CATENA_OK ? freed : status;
}

static catena_status_t split_by_algorithm(rank_t *r, catena_group_t *group)
{
    static const char *const algorithms[] = {"allgather", "bitonic", "radix",
                                             "hash"};
    int64_t color = catena_group_rank(group) % 2, key = 0;
    catena_split_t by = {.size = sizeof(by),
                         .color = &color,
                         .color_bytes = 8,
                         .color_compare = catena_compare_int64,
                         .key = &key,
                         .key_bytes = 8,
                         .key_compare = catena_compare_int64,
                         .algorithm = algorithms[ctn_random(&r->random) % 4]};
    catena_group_t *part = NULL;
    catena_status_t status =
        all_have(group, catena_group_split_by(group, &by, &part));
    if (status == CATENA_OK) {
        status = alltoall(r, part);
    }
    catena_status_t freed = catena_group_free(&part);
    return status == CATENA_OK ? freed : status;
}

/** A group of a list: all ranks but the last one, backwards. */
static catena_status_t listed(rank_t *r, catena_group_t *group)
{
    int n = catena_group_size(group), list[MOST_RANKS];
    const int *world;
    catena_status_t status = catena_group_world_ranks(group, &world);
    if (status != CATENA_OK || n == 1) {
        return status;
    }
    for (int i = 0; i < n - 1; i++) {
        list[i] = n - 2 - i;
    }
    catena_group_t *made = NULL;
    status =
        all_have(group, catena_group_create(group, (size_t)n - 1, list, &made));
    if (status == CATENA_OK && made != NULL) {
        status = bcast(r, made);
    }
    catena_status_t freed = catena_group_free(&made);
    return status == CATENA_OK ? freed : status;
}

/** The rings of the rows of a grid of two rows. */
static catena_status_t make_rows(catena_group_t *group,
                                 catena_neighborhood_t **ring)
{
    int dims[] = {2, catena_group_size(group) / 2}, periodic[] = {1, 1};
    catena_neighborhood_t *grid = NULL;
    catena_status_t status = all_have(
        group, catena_cart_create(group, 2, dims, periodic, 0, NULL, &grid));
    if (status == CATENA_OK) {
        status =
            all_have(group, catena_cart_sub(grid, (const int[]){0, 1}, ring));
    }
    catena_status_t freed = catena_neighborhood_free(&grid);
    return status == CATENA_OK ? freed : status;
}

/** Rings of all ranks, of all but the last one, or of each half, and an
 * exchange on them. */
static catena_status_t neighbors(rank_t *r, catena_group_t *group)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    uint64_t drawn = ctn_random(&r->random) % 3;
    bool rows = drawn == 0 && n % 2 == 0;
    int members = rows ? n / 2 : drawn == 1 && n > 1 ? n - 1 : n;
    int periodic = 1;
    catena_neighborhood_t *ring = NULL;
    catena_status_t status =
        rows ? make_rows(group, &ring)
             : all_have(group, catena_cart_create(group, 1, &members, &periodic,
                                                  0, NULL, &ring));
    if (status != CATENA_OK || ring == NULL) {
        (void)catena_neighborhood_free(&ring);
        return status;
    }
    size_t bytes = draw_bytes(r, 2);
    buffers_t b;
    if (!make(r, &b, 2 * bytes, 2 * bytes)) {
        catena_abort(r->context, 1);
    }
    fill(b.send, bytes, place_of(r->call, me, 0));
    fill(b.send + bytes, bytes, place_of(r->call, me, 1));
    for (int turn = 0; turn < 3 && status == CATENA_OK; turn++) {
        status = catena_neighbor_alltoall(b.send, bytes, CATENA_BYTE, b.recv,
                                          bytes, CATENA_BYTE, ring);
    }
    int left = me - me % members + (me + members - 1) % members;
    if (status == CATENA_OK) {
        (void)holds(r, "neighbor", b.recv, bytes, place_of(r->call, left, 1));
    }
    done(r, &b, status);
    catena_status_t freed = catena_neighborhood_free(&ring);
    return status == CATENA_OK ? freed : status;
}

/** One rank revokes a duplicate of the group. */
static catena_status_t revoked(rank_t *r, catena_group_t *group)
{
    int n = catena_group_size(group);
    int who = (int)(ctn_random(&r->random) % (unsigned)n);
    catena_group_t *copy = NULL;
    catena_status_t status =
        all_have(group, catena_group_split(group, 0, 0, &copy));
    if (status != CATENA_OK) {
        (void)catena_group_free(&copy);
        return status;
    }
    if (catena_group_rank(copy) == who) {
        status = catena_group_revoke(copy);
        if (status != CATENA_OK) {
            wrong(r, "revoke", status, CATENA_OK);
        }
    }
    status = catena_barrier(copy);
    if (!has_failed(status) && status != CATENA_ERR_PEER &&
        (n > 1 || status != CATENA_OK)) {
        wrong(r, "a revoked group's barrier", status, CATENA_ERR_REVOKED);
    }
    uint64_t flags = UINT64_C(1) << catena_group_rank(copy) % 64;
    status = catena_group_agree(copy, &flags);
    if (status == CATENA_OK && n > 1 && flags != 0) {
        size_t dead;
        (void)catena_group_failed(copy, &dead, NULL);
        if ((int)dead < n - 1) {
            wrong(r, "agree", (long)flags, 0);
        }
    }
    catena_status_t freed = catena_group_free(&copy);
    return status == CATENA_OK ? freed : status;
}

const kind_t kinds[KINDS] = {{"alltoall", alltoall},
                             {"bcast", bcast},
                             {"allreduce, reduce_scatter", allreduce},
                             {"gather, scatter, allgather", gather_scatter},
                             {"barrier", barrier},
                             {"split", split},
                             {"split by an algorithm", split_by_algorithm},
                             {"group of a list", listed},
                             {"neighborhood", neighbors},
                             {"revoke", revoked}};
