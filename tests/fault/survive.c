/* Survivors: ranks of a job in which failures are returned make all kinds of
 * calls while some of them die. The others go on with a group of the living
 * ones, whose alltoall is right, and the buffers of a call that has failed stay
 * as the caller has left them.
 *
 *   survive --sim FIRST COUNT RANKS      simulated jobs, a seed each
 *   survive --every RANKS                a simulated job for each event of each
 *                                        kind of calls
 *   survive SEED DEATHS [MILLISECONDS]   one rank of a real job
 *   survive --leave CODE                 one of a job whose rank 1 dies at once
 *   survive --cut                        one of a job whose rank 1 loses a
 *                                        connection
 */

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <catena/catena.h>
#include <catena/sim.h>

#include "oracle/random.h"

enum {
    MOST_RANKS = 64,
    CALLS = 12,  /* of a simulated job */
    LEFT = 0xA5, /* what a caller leaves in the buffers of a failed call */
    MOST_BYTES = 1 << 20,
    KEPT = 16 /* failed calls whose buffers are looked at again */
};

/** What all ranks of a job share. */
typedef struct draw {
    uint64_t seed;
    int kind;  /* of all calls; -1: any */
    int calls; /* 0: until the time is over */
    double seconds;
    unsigned deaths; /* of real ranks */
    bool joining;    /* a rank died while they joined */
    uint64_t errors_of[MOST_RANKS];
    uint64_t failures;
} draw_t;

/** The buffers of a call. */
typedef struct buffers {
    unsigned char *send, *recv;
    size_t send_bytes, recv_bytes;
    bool heap;
} buffers_t;

/** One rank. */
typedef struct rank {
    draw_t *draw;
    catena_context_t *context;
    catena_group_t *group; /* of the living */
    uint64_t random;       /* the same on all ranks of `group` */
    uint64_t call;
    int errors;
    buffers_t kept[KEPT];
    int kept_count;
    uint64_t shrinks; /* so far */
    double longest;   /* seconds of a recovery */
} rank_t;

static void wrong(rank_t *r, const char *what, long found, long expected)
{
    if (r->errors++ < 3) {
        fprintf(stderr,
                "survive: seed %" PRIu64 ", world rank %d, call %" PRIu64
                ": %s: found %ld, expected %ld\n",
                r->draw->seed, catena_group_rank(catena_world(r->context)),
                r->call, what, found, expected);
    }
}

static bool has_failed(catena_status_t status)
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

static void look_again(rank_t *r)
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

static unsigned char byte_of(uint64_t call, int from, int to, size_t i)
{
    return (unsigned char)(call * 131 + (unsigned)from * 31 +
                           (unsigned)to * 17 + i * 7);
}

static size_t draw_bytes(rank_t *r, int ranks)
{
    static const size_t most[] = {16, 200, 5000, 40000, 300000};
    size_t bytes = ctn_random(&r->random) % most[ctn_random(&r->random) % 5];
    size_t limit = MOST_BYTES / (size_t)ranks;
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

static catena_status_t alltoall(rank_t *r, catena_group_t *group)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    size_t bytes = draw_bytes(r, n);
    mode_t_ mode = (mode_t_)(ctn_random(&r->random) % MODES);
    buffers_t b[3];
    int count = mode == BLOCKING ? 1 : 1 + (int)(ctn_random(&r->random) % 3);
    catena_request_t *request[3] = {NULL};
    catena_status_t status = CATENA_OK;
    int made = 0;
    for (; made < count && status == CATENA_OK; made++) {
        buffers_t *x = &b[made];
        if (!make(r, x, bytes * (size_t)n, bytes * (size_t)n)) {
            catena_abort(r->context, 1);
        }
        for (int to = 0; to < n; to++) {
            for (size_t i = 0; i < bytes; i++) {
                x->send[(size_t)to * bytes + i] = byte_of(r->call, me, to, i);
            }
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
    status =
        mode != BLOCKING ? wait_all(status, (size_t)made, request) : status;
    for (int i = 0; i < made; i++) {
        for (int from = 0; from < n && status == CATENA_OK; from++) {
            for (size_t k = 0; k < bytes; k++) {
                int found = b[i].recv[(size_t)from * bytes + k];
                int expected = byte_of(r->call, from, me, k);
                if (found != expected) {
                    wrong(r, "alltoall", found, expected);
                    break;
                }
            }
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
    for (size_t i = 0; me == root && i < bytes; i++) {
        b.recv[i] = byte_of(r->call, root, 0, i);
    }
    catena_status_t status =
        catena_bcast(b.recv, bytes, CATENA_BYTE, root, group);
    for (size_t i = 0; status == CATENA_OK && i < bytes; i++) {
        if (b.recv[i] != byte_of(r->call, root, 0, i)) {
            wrong(r, "bcast", b.recv[i], byte_of(r->call, root, 0, i));
            break;
        }
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
    for (size_t i = 0; i < b.send_bytes; i++) {
        b.send[i] = gathers ? byte_of(r->call, me, 0, i)
                            : byte_of(r->call, 0, (int)(i / bytes), i % bytes);
    }
    catena_status_t status =
        !gathers ? catena_scatter(b.send, bytes, CATENA_BYTE, b.recv, bytes,
                                  CATENA_BYTE, root, group)
        : all    ? catena_allgather(b.send, bytes, CATENA_BYTE, b.recv, bytes,
                                    CATENA_BYTE, group)
                 : catena_gather(b.send, bytes, CATENA_BYTE, b.recv, bytes,
                                 CATENA_BYTE, root, group);
    bool receives = !gathers || all || me == root;
    for (size_t i = 0; status == CATENA_OK && receives && i < b.recv_bytes;
         i++) {
        int expected = gathers
                           ? byte_of(r->call, (int)(i / bytes), 0, i % bytes)
                           : byte_of(r->call, 0, me, i);
        if (b.recv[i] != expected) {
            wrong(r, gathers ? "gather" : "scatter", b.recv[i], expected);
            break;
        }
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

/** A ring, and an exchange on it. */
static catena_status_t neighbors(rank_t *r, catena_group_t *group)
{
    int n = catena_group_size(group), me = catena_group_rank(group);
    int periodic = 1;
    catena_neighborhood_t *ring = NULL;
    catena_status_t status = all_have(
        group, catena_cart_create(group, 1, &n, &periodic, 0, NULL, &ring));
    if (status != CATENA_OK) {
        (void)catena_neighborhood_free(&ring);
        return status;
    }
    size_t bytes = draw_bytes(r, 2);
    buffers_t b;
    if (!make(r, &b, 2 * bytes, 2 * bytes)) {
        catena_abort(r->context, 1);
    }
    for (size_t i = 0; i < 2 * bytes; i++) {
        b.send[i] = byte_of(r->call, me, (int)(i / bytes), i % bytes);
    }
    for (int turn = 0; turn < 3 && status == CATENA_OK; turn++) {
        status = catena_neighbor_alltoall(b.send, bytes, CATENA_BYTE, b.recv,
                                          bytes, CATENA_BYTE, ring);
    }
    int left = (me + n - 1) % n;
    for (size_t i = 0; status == CATENA_OK && i < bytes; i++) {
        if (b.recv[i] != byte_of(r->call, left, 1, i)) {
            wrong(r, "neighbor", b.recv[i], byte_of(r->call, left, 1, i));
            break;
        }
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

typedef catena_status_t call_t(rank_t *r, catena_group_t *group);

static const struct {
    const char *name;
    call_t *call;
} kinds[] = {{"alltoall", alltoall},
             {"bcast", bcast},
             {"allreduce, reduce_scatter", allreduce},
             {"gather, scatter, allgather", gather_scatter},
             {"barrier", barrier},
             {"split", split},
             {"split by an algorithm", split_by_algorithm},
             {"group of a list", listed},
             {"neighborhood", neighbors},
             {"revoke", revoked}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- recovery ---- */

static double now(const rank_t *r)
{
    return catena_time(r->context);
}

/** Go on with a group of the living ranks, whose alltoall is right.
 * @return false: this rank is the one that has died, of a simulated job */
static bool recover(rank_t *r)
{
    for (;;) {
        catena_group_t *next = NULL;
        catena_status_t status = catena_group_shrink(r->group, &next);
        if (status == CATENA_ERR_PEER) {
            return false;
        }
        if (status != CATENA_OK) {
            wrong(r, "shrink", status, CATENA_OK);
            return false;
        }
        if (r->group != catena_world(r->context)) {
            status = catena_group_free(&r->group);
            if (status != CATENA_OK && status != CATENA_ERR_PEER) {
                wrong(r, "free of a failed group", status, CATENA_OK);
            }
        }
        r->group = next;
        /* Ranks may have failed at different calls: begin with one number. */
        r->call = 1000 * (uint64_t)(1 + r->shrinks++);
        r->random = oracle_hash(r->draw->seed, r->call, 1);
        status = alltoall(r, next);
        r->call++;
        uint64_t good = status == CATENA_OK;
        if (status == CATENA_ERR_PEER) {
            return false;
        }
        if (status != CATENA_OK && !has_failed(status)) {
            wrong(r, "alltoall of survivors", status, CATENA_OK);
        }
        /* Some may have completed it when another one died. */
        status = catena_group_agree(next, &good);
        if (status != CATENA_OK) {
            return false;
        }
        if (good) {
            return true;
        }
    }
}

static void body(rank_t *r)
{
    double end = now(r) + r->draw->seconds;
    for (int i = 0; r->draw->calls == 0 || i < r->draw->calls; i++) {
        /* Members may have left the last call at different points. */
        r->random = oracle_hash(r->draw->seed, r->call, 0);
        uint64_t drawn = ctn_random(&r->random);
        call_t *call =
            kinds[r->draw->kind >= 0 ? (uint64_t)r->draw->kind : drawn % KINDS]
                .call;
        catena_status_t status = call(r, r->group);
        r->call++;
        /* All have done it, or none: else some would be a call behind. */
        uint64_t good = (status == CATENA_OK) | (uint64_t)(now(r) < end) << 1;
        if (status != CATENA_OK && !has_failed(status)) {
            if (status != CATENA_ERR_PEER) {
                wrong(r, "a call", status, CATENA_ERR_PROC_FAILED);
            }
            return;
        }
        if (r->draw->calls > 0) {
            good |= 2;
        }
        catena_status_t agreed = catena_group_agree(r->group, &good);
        if (agreed != CATENA_OK) {
            if (agreed != CATENA_ERR_PEER) {
                wrong(r, "agree", agreed, CATENA_OK);
            }
            return;
        }
        if ((good & 1) == 0) {
            double begun = now(r);
            r->draw->failures++;
            if (!recover(r)) {
                return;
            }
            double took = now(r) - begun;
            r->longest = took > r->longest ? took : r->longest;
            if (r->draw->calls == 0 && took > 2) {
                wrong(r, "milliseconds to recover", (long)(took * 1000), 2000);
            }
        }
        if ((good & 2) == 0) {
            return;
        }
    }
}

static void die(int signal)
{
    (void)signal;
    (void)kill(getpid(), SIGKILL);
}

/** Kill this rank after a random time, if it is one of `deaths`. */
static void draw_death(rank_t *r, unsigned deaths, double seconds)
{
    catena_group_t *world = catena_world(r->context);
    unsigned n = (unsigned)catena_group_size(world);
    uint64_t random = r->draw->seed;
    uint64_t doomed = 0;
    for (unsigned i = 0; i < deaths && i + 1 < n; i++) {
        doomed |= UINT64_C(1) << ctn_random(&random) % n;
    }
    if ((doomed >> catena_group_rank(world) & 1) == 0) {
        return;
    }
    random += (unsigned)catena_group_rank(world);
    double at = seconds * 0.7 * ctn_random_real(&random) + 0.01;
    struct itimerval timer = {
        .it_value = {(time_t)at, (suseconds_t)((at - (long)at) * 1e6)}};
    signal(SIGALRM, die);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static int run(const catena_config_t *config, void *argument)
{
    draw_t *draw = argument;
    rank_t r = {.draw = draw, .random = draw->seed};
    catena_status_t status = catena_init(config, &r.context);
    if (status != CATENA_OK) {
        draw->joining = true;
        return 3; /* a rank died while they joined, which ends the job */
    }
    r.group = catena_world(r.context);
    int world_rank = catena_group_rank(r.group);
    if (draw->calls == 0) {
        draw_death(&r, draw->deaths, draw->seconds);
    }
    body(&r);
    if (draw->calls == 0) { /* real ranks: time for what comes late */
        double end = now(&r) + (r.kept_count > 0 ? 2 : 0);
        while (now(&r) < end) { /* others may ask for the last result */
            (void)catena_progress(r.context);
            (void)usleep(1000);
        }
    }
    look_again(&r);
    bool first = catena_group_rank(r.group) == 0;
    int left = catena_group_size(r.group);
    int all = catena_group_size(catena_world(r.context));
    if (r.group != catena_world(r.context)) {
        (void)catena_group_free(&r.group);
    }
    status = catena_finalize(&r.context);
    if (status != CATENA_OK && status != CATENA_ERR_PEER) {
        wrong(&r, "finalize", status, CATENA_OK);
    }
    draw->errors_of[world_rank] += (unsigned)r.errors;
    if (draw->calls == 0 && first) {
        printf("%sok - seed %" PRIu64 ": %d of %d ranks are left, %" PRIu64
               " recoveries in at most %.0f ms, %" PRIu64
               " calls in the last group\n",
               r.errors > 0 ? "not " : "", draw->seed, left, all,
               draw->failures, r.longest * 1000, r.call % 1000);
    }
    return r.errors > 0 ? 1 : status != CATENA_OK ? 2 : 0;
}

/* ---- simulated jobs ---- */

static uint64_t running_seed;

static void give_up(int signal)
{
    (void)signal;
    fprintf(stderr, "survive: seed %" PRIu64 " does not end\n", running_seed);
    _exit(1);
}

static const char *const settings[] = {"FAILURES=return", "HEAP_SIZE=1g",
                                       "LOG_LEVEL=fatal", NULL};

/** @return whether it was right */
static bool simulate(catena_sim_params_t *params, draw_t *draw, size_t deaths,
                     catena_sim_report_t *report)
{
    running_seed = draw->seed;
    alarm(60);
    params->size = sizeof(*params);
    params->settings = settings;
    params->machine = "hpc-a";
#if defined(__SANITIZE_ADDRESS__)
    params->stack_bytes = (size_t)512 << 10;
#endif
    *report = (catena_sim_report_t){.size = sizeof(*report)};
    catena_status_t status = catena_sim_run(params, run, draw, report);
    /* Ranks that have died run on when all others have ended; what they see
     * then does not matter. */
    uint64_t errors = 0;
    for (int i = 0; i < params->ranks; i++) {
        bool killed = false;
        for (size_t k = 0; k < params->kill_count; k++) {
            killed |= params->kills[k].rank == i;
        }
        errors += killed ? 0 : draw->errors_of[i];
    }
    bool good =
        (status == CATENA_OK || (deaths > 0 && status == CATENA_ERR_PEER)) &&
        errors == 0;
    /* A death while ranks join ends the job. */
    good = good && (draw->joining || report->failed_ranks <= (int)deaths);
    if (!good) {
        printf("not ok - seed %" PRIu64
               " kind %d: %s, %d ranks failed, %" PRIu64 " errors\n",
               draw->seed, draw->kind, catena_status_string(status),
               report->failed_ranks, errors);
    }
    return good;
}

static bool simulate_seed(uint64_t seed, int most, uint64_t *recoveries)
{
    uint64_t random = seed;
    int node_of[MOST_RANKS];
    catena_sim_kill_t kills[3];
    int ranks = 2 + (int)(ctn_random(&random) % (unsigned)(most - 1));
    int nodes = 1 + (int)(ctn_random(&random) % (unsigned)ranks);
    bool dealt = ctn_random(&random) % 2 == 0;
    for (int i = 0; i < ranks; i++) {
        node_of[i] = dealt ? i % nodes : (int)((long)i * nodes / ranks);
    }
    draw_t draw = {.seed = seed,
                   .kind = ctn_random(&random) % 3 == 0
                               ? (int)(ctn_random(&random) % KINDS)
                               : -1,
                   .calls = CALLS};
    catena_sim_params_t params = {.nodes = nodes,
                                  .ranks = ranks,
                                  .node_of = node_of,
                                  .seed = seed,
                                  .jitter = 0.7,
                                  .reorder = ctn_random(&random) % 4 != 0,
                                  .kills = kills,
                                  .kill_count = 1 + ctn_random(&random) % 3};
    for (size_t i = 0; i < params.kill_count; i++) {
        kills[i] = (catena_sim_kill_t){
            (int)(ctn_random(&random) % (unsigned)ranks),
            1 + ctn_random(&random) % ((uint64_t)ranks * 1500)};
    }
    catena_sim_report_t report;
    bool good = simulate(&params, &draw, params.kill_count, &report);
    *recoveries += draw.failures;
    return good;
}

/** A job for each event, one after the other killing each rank.
 * @return how many were wrong */
static uint64_t every_event(int ranks, int nodes, int kind, uint64_t *runs)
{
    uint64_t events = UINT64_MAX, bad = 0;
    int node_of[MOST_RANKS];
    for (int i = 0; i < ranks; i++) {
        node_of[i] = i % nodes;
    }
    for (uint64_t event = 1; event <= events; event++) {
        catena_sim_kill_t kill = {(int)(event % (unsigned)ranks), event};
        draw_t draw = {.seed = event, .kind = kind, .calls = 2};
        catena_sim_params_t params = {.nodes = nodes,
                                      .ranks = ranks,
                                      .node_of = node_of,
                                      .seed = event,
                                      .reorder = 1,
                                      .kills = &kill,
                                      .kill_count = 1};
        catena_sim_report_t report;
        bad += !simulate(&params, &draw, 1, &report);
        events = report.events;
        ++*runs;
    }
    return bad;
}

static int every(int most)
{
    uint64_t all = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        uint64_t runs = 0, bad = 0;
        for (int ranks = 2; ranks <= most; ranks++) {
            for (int nodes = 1; nodes <= ranks; nodes += ranks > 4 ? 2 : 1) {
                bad += every_event(ranks, nodes, kind, &runs);
            }
        }
        printf("%sok - %s, 2 to %d ranks: a death at each of %" PRIu64
               " events\n",
               bad > 0 ? "not " : "", kinds[kind].name, most, runs);
        fflush(stdout);
        all += bad;
    }
    return all > 0;
}

/* ---- a real rank ---- */

static const char *const real_settings[] = {"FAILURES=return", NULL};
static const catena_config_t real_config = {.size = sizeof(real_config),
                                            .settings = real_settings};

/** See the beginning of the file. */
static int real_rank(uint64_t seed, unsigned deaths, double seconds)
{
    draw_t draw = {
        .seed = seed, .kind = -1, .seconds = seconds, .deaths = deaths};
    return run(&real_config, &draw);
}

/** Rank 1 dies; the others go on, and end with a code. */
static int leave(int code)
{
    catena_context_t *context;
    catena_group_t *living = NULL;
    if (catena_init(&real_config, &context) != CATENA_OK) {
        return 1;
    }
    /* After it all have joined. */
    (void)catena_barrier(catena_world(context));
    if (catena_group_rank(catena_world(context)) == 1) {
        die(0);
    }
    while (catena_barrier(catena_world(context)) == CATENA_OK) {
    }
    size_t dead = 0;
    int ranks[MOST_RANKS];
    bool good =
        catena_group_shrink(catena_world(context), &living) == CATENA_OK &&
        catena_barrier(living) == CATENA_OK &&
        catena_group_failed(catena_world(context), &dead, ranks) == CATENA_OK &&
        dead == 1 && ranks[0] == 1 && catena_group_free(&living) == CATENA_OK;
    return catena_finalize(&context) == CATENA_OK && good ? code : 1;
}

/** Break a connection of this process: shut down one TCP socket that has a
 * peer. */
static void cut(void)
{
    for (int fd = 255; fd > 2; fd--) { /* not that of the launcher */
        struct sockaddr_storage peer;
        socklen_t bytes = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)(void *)&peer, &bytes) == 0 &&
            peer.ss_family == AF_INET && shutdown(fd, SHUT_RDWR) == 0) {
            return;
        }
    }
}

/** A connection of rank 1 breaks: it, or its peer, or both end, and the others
 * go on. */
static int lose_connection(void)
{
    catena_context_t *context;
    catena_group_t *living = NULL;
    if (catena_init(&real_config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int64_t one = 1, sum = 0;
    bool good = catena_barrier(world) == CATENA_OK;
    if (catena_group_rank(world) == 1) {
        (void)usleep(100000); /* the others have left the barrier */
        cut();
    }
    catena_status_t status;
    while ((status = catena_barrier(world)) == CATENA_OK) {
    }
    if (status != CATENA_ERR_PEER) {
        status = catena_group_shrink(world, &living);
    }
    if (status == CATENA_OK) { /* not one of the two */
        status =
            catena_allreduce(&one, &sum, 1, CATENA_INT64, CATENA_SUM, living);
        good = good && status == CATENA_OK &&
               sum == catena_group_size(living) &&
               sum >= catena_group_size(world) - 2;
        good = catena_group_free(&living) == CATENA_OK && good;
        printf("%s - %d ranks are left\n", good ? "ok" : "not ok", (int)sum);
    } else {
        good = good && status == CATENA_ERR_PEER;
    }
    status = catena_finalize(&context);
    return good && (status == CATENA_OK || status == CATENA_ERR_PEER) ? 0 : 1;
}

int main(int argc, char **argv)
{
    signal(SIGALRM, give_up);
    if (argc > 3 && strcmp(argv[1], "--sim") == 0) {
        uint64_t first = strtoull(argv[2], NULL, 0);
        uint64_t count = strtoull(argv[3], NULL, 0);
        int most = argc > 4 ? atoi(argv[4]) : 8;
        uint64_t bad = 0, recoveries = 0;
        for (uint64_t seed = first; seed < first + count; seed++) {
            bad += !simulate_seed(seed, most, &recoveries);
        }
        printf("%sok - %" PRIu64 " seeds from %" PRIu64 ", %" PRIu64
               " wrong; %" PRIu64 " recoveries of a rank\n",
               bad > 0 ? "not " : "", count, first, bad, recoveries);
        return bad > 0;
    }
    if (argc > 2 && strcmp(argv[1], "--every") == 0) {
        return every(atoi(argv[2]));
    }
    if (argc > 1 && strcmp(argv[1], "--cut") == 0) {
        return lose_connection();
    }
    if (argc > 2 && strcmp(argv[1], "--leave") == 0) {
        return leave(atoi(argv[2]));
    }
    if (argc > 2 && argv[1][0] != '-') {
        return real_rank(strtoull(argv[1], NULL, 0),
                         (unsigned)strtoul(argv[2], NULL, 0),
                         argc > 3 ? atof(argv[3]) * 1e-3 : 1);
    }
    return 2;
}
