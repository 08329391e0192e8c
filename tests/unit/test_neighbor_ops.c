/* Operations on neighbors: all of them, in all forms, on random graphs of
 * simulated ranks, against what every rank is known to send. Also with several
 * under way, with lengths that do not fit, and with arguments that are wrong.
 */

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "neighbor/neighborhood.h"
#include "neighbor_call.h"
#include "unit.h"

enum { CALLS = 12, AT_ONCE = 5 };

static const size_t most_words[] = {0, 1, 6, 14, 200, 600, 5000, 20000};

static size_t draw_most(uint64_t *random)
{
    return most_words[job_random(random) % 8];
}

/* ---- what they do ---- */

/** More than once: then it may go a shorter way. */
static void run_blocking(neighbor_call_t *call)
{
    for (int i = 0; i < 3; i++) {
        neighbor_fill(call);
        JOB_CHECK(call->job, neighbor_run(call, BLOCKING) == CATENA_OK);
        neighbor_check(call);
    }
}

static void run_persistent(neighbor_call_t *call)
{
    JOB_CHECK(call->job, neighbor_run(call, PERSISTENT) == CATENA_OK);
    for (int i = 0; i < 3; i++) {
        neighbor_fill(call);
        JOB_CHECK(call->job, catena_start(call->request) == CATENA_OK);
        JOB_CHECK(call->job, catena_wait(&call->request) == CATENA_OK);
        neighbor_check(call);
    }
    JOB_CHECK(call->job, catena_request_free(&call->request) == CATENA_OK);
}

/** Several at once, of different kinds, some of them persistent. */
static void run_together(neighbor_call_t *call, uint64_t *random)
{
    catena_request_t *requests[AT_ONCE];
    bool persistent[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
        persistent[i] = job_random(random) % 2 == 0;
        neighbor_fill(&call[i]);
        JOB_CHECK(
            call->job,
            neighbor_run(&call[i], persistent[i] ? PERSISTENT : NONBLOCKING) ==
                CATENA_OK);
        requests[i] = call[i].request;
        JOB_CHECK(call->job,
                  !persistent[i] || catena_start(requests[i]) == CATENA_OK);
    }
    JOB_CHECK(call->job, catena_waitall(AT_ONCE, requests) == CATENA_OK);
    for (int i = 0; i < AT_ONCE; i++) {
        neighbor_check(&call[i]);
        JOB_CHECK(call->job, !persistent[i] || catena_request_free(
                                                   &requests[i]) == CATENA_OK);
    }
}

static void run_calls(job_t *job, const graph_t *graph,
                      catena_neighborhood_t *neighborhood, bool balanced,
                      uint64_t *random)
{
    for (int i = 0; i < CALLS; i++) {
        neighbor_call_t call[AT_ONCE];
        uint64_t form = job_random(random) % 3;
        int count = form == 2 ? AT_ONCE : 1;
        for (int k = 0; k < count; k++) {
            neighbor_draw(&call[k], job, graph, neighborhood, balanced,
                          draw_most(random), random);
        }
        if (form == 0) {
            run_blocking(call);
        } else if (form == 1) {
            run_persistent(call);
        } else {
            run_together(call, random);
        }
        for (int k = 0; k < count; k++) {
            neighbor_release(&call[k]);
        }
    }
}

static void all_kinds(job_t *job)
{
    static const char *const algorithms[] = {NULL, "direct", "colored",
                                             "combining", "aggregated"};
    uint64_t random = job->seed;
    graph_t graph;
    bool is_grid = job_random(&random) % 2 == 0;
    bool balanced = is_grid || job_random(&random) % 2 == 0;
    catena_neighborhood_info_t info = {.algorithm =
                                           algorithms[job_random(&random) % 5]};
    if (is_grid) {
        graph_draw_grid(&graph, job->size, &random);
    } else {
        graph_draw(&graph, job->size, balanced, &random);
    }
    catena_neighborhood_t *neighborhood =
        graph_neighborhood(&graph, job, &info);
    run_calls(job, &graph, neighborhood, balanced, &random);
    JOB_CHECK(job, catena_neighborhood_free(neighborhood) == CATENA_OK);
    graph_release(&graph);
}

START_TEST(any_ranks)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        uint64_t random = seed + 100 * (uint64_t)_i;
        uint32_t ranks = (uint32_t)(job_random(&random) % 12) + 1;
        ck_assert_int_eq(job_simulate(ranks, random, all_kinds), 0);
    }
}
END_TEST

START_TEST(many_ranks)
{
    ck_assert_int_eq(job_simulate(60, 7, all_kinds), 0);
}
END_TEST

/* ---- lengths that do not fit ---- */

enum { WRONG_WORDS = 6000 };

/** A ring in which rank 1 receives from rank 0 what it does not expect. All
 * that are between others go on; after it, too. */
static void wrong_lengths(job_t *job)
{
    static const size_t sent[] = {9, 3000, 0, 5000, 40};
    static const size_t expected[] = {8, 2000, 4, 6000, 0};
    int left = (int)((job->rank + job->size - 1) % job->size);
    int right = (int)((job->rank + 1) % job->size);
    uint64_t *send = calloc(2 * WRONG_WORDS, sizeof(*send));
    uint64_t *recv = send + WRONG_WORDS;
    const ptrdiff_t zero = 0;
    catena_neighborhood_t *ring;
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, 1, &left, CATENA_UNWEIGHTED, 1,
                       &right, CATENA_UNWEIGHTED, NULL, &ring) == CATENA_OK);
    ring->check = true;
    send[0] = job->rank;
    for (int i = 0; i < 5; i++) {
        size_t send_count = job->rank == 0 ? sent[i] : 7;
        size_t recv_count = job->rank == 1 ? expected[i] : 7;
        catena_status_t status = catena_neighbor_alltoallv(
            send, &send_count, &zero, CATENA_UINT64, recv, &recv_count, &zero,
            CATENA_UINT64, ring);
        JOB_CHECK(job, status == (job->rank == 1 ? CATENA_ERR_ARG : CATENA_OK));
        JOB_CHECK(job, job->rank == 1 || recv[0] == (uint64_t)left);
        status = catena_neighbor_gather(send, 1, CATENA_UINT64, recv, 1,
                                        CATENA_UINT64, ring);
        JOB_CHECK(job, status == CATENA_OK && recv[0] == (uint64_t)left);
    }
    /* The others' operands fit; rank 2 gets nothing, and rank 1 too much. */
    JOB_CHECK(job, catena_neighbor_reduce(send, recv, job->rank == 1 ? 0 : 1,
                                          CATENA_UINT64, CATENA_SUM, ring) ==
                       (job->rank == 1 || job->rank == 2 ? CATENA_ERR_ARG
                                                         : CATENA_OK));
    JOB_CHECK(job, catena_neighborhood_free(ring) == CATENA_OK);
    free(send);
}

/** A ring both ways, in which rank 0 suddenly sends more than all did before.
 * What its neighbors send is wrong for it, and the other way round. */
static void longer_than_usual(job_t *job)
{
    bool checked = job->seed % 2 == 0;
    static const size_t longer[] = {2, 5, 500, 5000};
    int ends[] = {(int)((job->rank + job->size - 1) % job->size),
                  (int)((job->rank + 1) % job->size)};
    bool concerned = job->rank < 2 || job->rank == job->size - 1;
    /* Else the algorithm is chosen by a length that is not that of all. */
    catena_neighborhood_info_t info = {.algorithm = checked ? NULL : "direct"};
    uint64_t *send = calloc(3 * WRONG_WORDS, sizeof(*send));
    uint64_t *recv = send + WRONG_WORDS;
    catena_neighborhood_t *ring;
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, 2, ends, CATENA_UNWEIGHTED, 2, ends,
                       CATENA_UNWEIGHTED, &info, &ring) == CATENA_OK);
    ring->check = checked;
    for (size_t i = 0; i < 4 * 4; i++) {
        size_t count = i % 4 == 3 && job->rank == 0 ? longer[i / 4] : 1;
        send[0] = job->rank + i;
        catena_status_t status = catena_neighbor_gather(
            send, count, CATENA_UINT64, recv, count, CATENA_UINT64, ring);
        bool wrong = i % 4 == 3 && concerned;
        JOB_CHECK(job, status == (wrong ? CATENA_ERR_ARG : CATENA_OK));
        JOB_CHECK(job, wrong || (recv[0] == (uint64_t)ends[0] + i &&
                                 recv[1] == (uint64_t)ends[1] + i));
    }
    JOB_CHECK(job, catena_neighborhood_free(ring) == CATENA_OK);
    free(send);
}

enum { BUNDLED_WORDS = 2000 };

/** Each rank with all others, with blocks of `count` words. */
static catena_status_t exchange_all(const job_t *job, catena_neighborhood_t *n,
                                    bool gathers, size_t count, uint64_t *send,
                                    uint64_t *recv)
{
    size_t blocks = job->size - 1;
    for (size_t k = 0; k < blocks; k++) {
        uint64_t to = gathers ? 0 : k + (k >= job->rank);
        for (size_t w = 0; w < count; w++) {
            send[k * count + w] = job->rank * 1000000 + to * 10000 + w;
        }
    }
    catena_status_t status =
        gathers ? catena_neighbor_gather(send, count, CATENA_UINT64, recv,
                                         count, CATENA_UINT64, n)
                : catena_neighbor_alltoall(send, count, CATENA_UINT64, recv,
                                           count, CATENA_UINT64, n);
    uint64_t own = gathers ? 0 : job->rank;
    bool good = true;
    for (size_t i = 0; status == CATENA_OK && i < blocks * count; i++) {
        uint64_t from = i / count + (i / count >= job->rank);
        good = good && recv[i] == from * 1000000 + own * 10000 + i % count;
    }
    return good ? status : CATENA_ERR_STATE;
}

/** What all ranks have sent in an operation is what they tell that they send,
 * and in bundles there is one message for each two nodes, and another round. */
static void check_sent(job_t *job, const catena_neighborhood_t *n,
                       uint64_t sent, bool in_bundles)
{
    catena_neighborhood_stats_t stats;
    uint64_t on_node = 0;
    for (uint32_t i = 0; i < n->targets; i++) {
        on_node += n->target[i].node == n->node;
    }
    JOB_CHECK(job, catena_neighborhood_get_stats(n, &stats) == CATENA_OK);
    JOB_CHECK(job, !in_bundles || stats.rounds == 2);
    uint64_t nodes = n->census.nodes;
    uint64_t mine[] = {stats.messages, sent, on_node};
    uint64_t all[3] = {0};
    JOB_CHECK(job, catena_allreduce(mine, all, 3, CATENA_UINT64, CATENA_SUM,
                                    job->context->world) == CATENA_OK);
    JOB_CHECK(job, !in_bundles || all[0] == all[1]);
    JOB_CHECK(job, !in_bundles || all[0] == all[2] + nodes * (nodes - 1));
}

/** Edges between all ranks: between nodes they share bundles. In one of four
 * exchanges rank 0 has longer blocks, which spoils its bundles for all who read
 * them. Blocks that are too long for bundles go another way. */
static void bundled(job_t *job)
{
    static const size_t words[] = {1, 40, 500, BUNDLED_WORDS};
    catena_neighborhood_info_t info = {.algorithm = "aggregated"};
    catena_neighborhood_t *n;
    int peers = (int)job->size - 1;
    int *peer = calloc(job->size, sizeof(*peer));
    uint64_t *send = calloc(2 * job->size * BUNDLED_WORDS, sizeof(*send));
    for (int k = 0; k < peers; k++) {
        peer[k] = k + (k >= (int)job->rank);
    }
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, peers, peer, CATENA_UNWEIGHTED,
                       peers, peer, CATENA_UNWEIGHTED, &info, &n) == CATENA_OK);
    for (size_t i = 0; i < 4 * 8; i++) {
        size_t count = words[i / 8];
        char text[2000];
        JOB_CHECK(job, catena_neighborhood_explain(n, CATENA_NEIGHBOR_ALLTOALL,
                                                   8 * count, text,
                                                   sizeof(text)) == CATENA_OK);
        bool in_bundles = strstr(text, "bundles=") != NULL;
        JOB_CHECK(job,
                  count > 1 || n->check || in_bundles == (n->census.nodes > 1));
        bool wrong = i % 4 == 2 && (in_bundles || n->census.nodes == 1);
        uint64_t before = n->exec->tally.messages;
        catena_status_t status =
            exchange_all(job, n, i % 8 < 4, count + (wrong && job->rank == 0),
                         send, send + job->size * BUNDLED_WORDS);
        JOB_CHECK(job, status == (wrong ? CATENA_ERR_ARG : CATENA_OK));
        check_sent(job, n, n->exec->tally.messages - before, in_bundles);
    }
    JOB_CHECK(job, catena_neighborhood_free(n) == CATENA_OK);
    free(peer);
    free(send);
}

START_TEST(lengths)
{
    static const char *const said[] = {
        "neighbor_alltoallv: rank 0 sent 72 bytes for source 0 of rank 1, "
        "which expects 64",
        "sent 0 bytes for source 0 of rank 1, which expects 32",
        "sent 320 bytes for source 0 of rank 1, which expects 0",
        "neighbor_reduce: rank 1 sent 0 bytes for source 0 of rank 2, which "
        "expects 8"};
    for (uint64_t seed = 1; seed <= 8; seed++) {
        capture_t capture;
        capture_start(&capture);
        int failed = job_simulate(5, seed, wrong_lengths);
        capture_stop(&capture);
        ck_assert_msg(failed == 0, "%s", capture.text);
        capture_t unused;
        capture_start(&unused);
        failed = job_simulate(5, seed, longer_than_usual);
        capture_stop(&unused);
        ck_assert_msg(failed == 0, "%s", unused.text);
        for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
            ck_assert_msg(strstr(capture.text, said[i]) != NULL, "%s in %s",
                          said[i], capture.text);
        }
    }
}
END_TEST

/* ---- arguments that are wrong ---- */

#define REFUSED(call, text_of_it)                                              \
    do {                                                                       \
        capture_t capture;                                                     \
        capture_start(&capture);                                               \
        catena_status_t status = call;                                         \
        capture_stop(&capture);                                                \
        JOB_CHECK(job, status == CATENA_ERR_ARG);                              \
        JOB_CHECK(job, strstr(capture.text, text_of_it) != NULL);              \
    } while (0)

static void refuse_blocks(job_t *job, catena_neighborhood_t *n)
{
    uint64_t data[4] = {0};
    size_t counts[2] = {1, 1};
    ptrdiff_t at[2] = {0, 1};
    catena_datatype_t type = CATENA_UINT64;
    catena_datatype_t types[2] = {NULL, type};
    REFUSED(catena_neighbor_gather(NULL, 1, type, data, 1, type, n),
            "neighbor_gather: send is NULL");
    REFUSED(catena_neighbor_gather(data, 1, type, data, 1, NULL, n),
            "a type of recv is NULL");
    REFUSED(catena_neighbor_gather(CATENA_IN_PLACE, 1, type, data, 1, type, n),
            "send is CATENA_IN_PLACE");
    REFUSED(
        catena_neighbor_alltoall(data, 1, type, CATENA_IN_PLACE, 1, type, n),
        "recv is CATENA_IN_PLACE");
    REFUSED(
        catena_neighbor_alltoall(CATENA_IN_PLACE, 1, type, data, 1, type, n),
        "in place takes as many sources as targets; there are 1 and 2");
    REFUSED(
        catena_neighbor_alltoall(data, SIZE_MAX / 8, type, data, 1, type, n),
        "does not fit the address space");
    REFUSED(catena_neighbor_alltoallv(data, NULL, at, type, data, counts, at,
                                      type, n),
            "the counts of send are NULL");
    REFUSED(catena_neighbor_gatherv(data, 1, type, data, counts, NULL, type, n),
            "the displacements of recv are NULL");
    REFUSED(catena_neighbor_alltoallw(data, counts, at, types, data, counts, at,
                                      types, n),
            "a type of recv is NULL");
}

static void refuse_reductions(job_t *job, catena_neighborhood_t *n)
{
    uint64_t data[4] = {0};
    size_t counts[2] = {1, 1};
    ptrdiff_t at[2] = {0, 1};
    catena_datatype_t type = CATENA_UINT64;
    REFUSED(catena_neighbor_reduce(data, data, 1, type, NULL, n),
            "neighbor_reduce: the operation is NULL");
    REFUSED(
        catena_neighbor_reduce(data, data, 1, CATENA_DOUBLE, CATENA_BAND, n),
        "neighbor_reduce: ");
    REFUSED(catena_neighbor_reducev(CATENA_IN_PLACE, counts, at, data, 1, type,
                                    CATENA_SUM, n),
            "send is CATENA_IN_PLACE");
}

static void refusals(job_t *job)
{
    int sources[] = {0};
    int targets[] = {0, CATENA_PROC_NULL};
    uint64_t data[2] = {0};
    catena_group_t *world = job->context->world;
    catena_neighborhood_t *n;
    catena_neighborhood_t *gathers;
    JOB_CHECK(job, catena_neighborhood_create(
                       world, 1, sources, CATENA_UNWEIGHTED, 2, targets,
                       CATENA_UNWEIGHTED, NULL, &n) == CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_create_for(CATENA_NEIGHBOR_GATHER, world,
                                                  1, sources, CATENA_UNWEIGHTED,
                                                  2, targets, CATENA_UNWEIGHTED,
                                                  NULL, &gathers) == CATENA_OK);
    refuse_blocks(job, n);
    refuse_reductions(job, n);
    REFUSED(catena_neighbor_alltoall(data, 1, CATENA_UINT64, data, 1,
                                     CATENA_UINT64, gathers),
            "made for other operations");
    JOB_CHECK(job,
              catena_neighbor_gather(data, 1, CATENA_UINT64, data + 1, 1,
                                     CATENA_UINT64, NULL) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_ineighbor_gather(data, 1, CATENA_UINT64, data + 1, 1,
                                           CATENA_UINT64, n,
                                           NULL) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_neighborhood_free(n) == CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_free(gathers) == CATENA_OK);
}

START_TEST(arguments)
{
    ck_assert_int_eq(job_simulate(1, 5, refusals), 0);
}
END_TEST

/* ---- operations that end while others do not ---- */

/** Pairs that exchange at their own pace, and a rank without neighbors. */
static void apart(job_t *job)
{
    int peer = (int)(job->rank ^ 1u);
    bool alone = (uint32_t)peer >= job->size;
    uint64_t random = job->seed + job->rank / 2;
    uint64_t rounds = job_random(&random) % 20;
    catena_neighborhood_t *n;
    JOB_CHECK(job, catena_neighborhood_create(job->context->world, !alone,
                                              &peer, CATENA_UNWEIGHTED, !alone,
                                              &peer, CATENA_UNWEIGHTED, NULL,
                                              &n) == CATENA_OK);
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t send = job->rank + 100 * i;
        uint64_t recv = 0;
        JOB_CHECK(job, catena_neighbor_gather(&send, 1, CATENA_UINT64, &recv, 1,
                                              CATENA_UINT64, n) == CATENA_OK);
        JOB_CHECK(job, alone || recv == (uint64_t)peer + 100 * i);
    }
    JOB_CHECK(job, catena_neighborhood_free(n) == CATENA_OK);
}

/** Ranks of 4 nodes that send to the next 6: the first has nobody before it,
 * and nothing to say of what it receives. */
static void from_nobody(job_t *job)
{
    enum { FAR = 6 };
    int rank = (int)job->rank;
    int sources[FAR + 1] = {CATENA_PROC_NULL};
    int targets[FAR];
    int source_count = 1;
    int target_count = 0;
    for (int i = 1; i <= FAR; i++) {
        if (rank >= i) {
            sources[source_count++] = rank - i;
        }
        if (rank + i < (int)job->size) {
            targets[target_count++] = rank + i;
        }
    }
    const catena_neighborhood_info_t info = {.bytes = (size_t)1 << 20};
    catena_neighborhood_t *n;
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, source_count, sources,
                       CATENA_UNWEIGHTED, target_count, targets,
                       CATENA_UNWEIGHTED, &info, &n) == CATENA_OK);
    /* Else this would show nothing. */
    JOB_CHECK(job, ctn_neighbor_choose(n, CTN_PATTERN_GATHER, 0, false) !=
                       ctn_neighbor_choose(n, CTN_PATTERN_GATHER, 8, false));
    uint64_t send = job->rank;
    uint64_t recv[FAR + 1];
    JOB_CHECK(job, catena_neighbor_gather(&send, 1, CATENA_UINT64, recv,
                                          rank == 0 ? 0 : 1, CATENA_UINT64,
                                          n) == CATENA_OK);
    for (int i = 1; i < source_count; i++) {
        JOB_CHECK(job, recv[i] == (uint64_t)sources[i]);
    }
    JOB_CHECK(job, catena_neighborhood_free(n) == CATENA_OK);
}

START_TEST(nobody)
{
    ck_assert_int_eq(job_simulate_nodes(16, 4, 1, from_nobody), 0);
}
END_TEST

START_TEST(components)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        ck_assert_int_eq(job_simulate(7, seed, apart), 0);
    }
}
END_TEST

/* ---- ranks that die ---- */

/** Both ways round a ring, in all forms, until something fails. */
static void until_death(job_t *job)
{
    int ends[] = {(int)((job->rank + job->size - 1) % job->size),
                  (int)((job->rank + 1) % job->size)};
    uint64_t random = job->seed;
    size_t count = draw_most(&random) + 1;
    uint64_t *send = calloc(6 * count, sizeof(*send));
    uint64_t *recv = send + 2 * count;
    uint64_t *result = recv + 2 * count;
    catena_neighborhood_t *ring = NULL;
    catena_request_t *requests[2] = {NULL, NULL};
    catena_status_t status = catena_neighborhood_create(
        job->context->world, 2, ends, CATENA_UNWEIGHTED, 2, ends,
        CATENA_UNWEIGHTED, NULL, &ring);
    for (int i = 0; i < 20 && status == CATENA_OK; i++) {
        status =
            catena_ineighbor_alltoall(send, count, CATENA_UINT64, recv, count,
                                      CATENA_UINT64, ring, &requests[0]);
        JOB_CHECK(job, status == CATENA_OK);
        status = catena_ineighbor_reduce(send, result, count, CATENA_UINT64,
                                         CATENA_SUM, ring, &requests[1]);
        JOB_CHECK(job, status == CATENA_OK);
        status = catena_waitall(2, requests);
        if (status == CATENA_OK) {
            status = catena_neighbor_alltoall(CATENA_IN_PLACE, 0, NULL, recv,
                                              count, CATENA_UINT64, ring);
        }
    }
    (void)catena_neighborhood_free(ring); /* NULL, or the death is known */
    free(send);
}

START_TEST(deaths)
{
    for (uint64_t event = 1; event < 3000; event += 37) {
        job_simulate_death(5, event, event, until_death);
    }
}
END_TEST

/** On ranks that are processes, where short messages go another way. */
static void everything(job_t *job)
{
    for (job->seed = 1; job->seed <= 30; job->seed++) {
        all_kinds(job);
    }
    if (job->size > 1) {
        bundled(job);
    }
    if (job->size > 3) {
        wrong_lengths(job);
        longer_than_usual(job);
        job->seed++;
        longer_than_usual(job);
    }
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, any_ranks, 0, 20);
    tcase_add_test(tcase, many_ranks);
    tcase_add_test(tcase, lengths);
    tcase_add_test(tcase, arguments);
    tcase_add_test(tcase, components);
    tcase_add_test(tcase, nobody);
    tcase_add_test(tcase, deaths);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv) ? job_rank(1, everything)
                                   : unit_main("neighbor_ops", 100, add_cases);
}
