/* Messages that hold each other up at ports: their times, a simulated network
 * whose buffer is bounded, and what is selected for it. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/tiny.h"
#include "model/machines.h"
#include "model/tuning.h"
#include "neighbor/schedule/port_time.h"
#include "oracle/random.h"
#include "unit/job.h"
#include "unit/unit.h"

/* ---- times of ports ---- */

enum { RANKS = 20, MOST_EDGES = 200, GRAPHS = 200 };

static ctn_bipartite_edge_t edge[MOST_EDGES];

/** Edges in the order of their senders, some of which have none. */
static size_t draw_edges(uint64_t *random)
{
    size_t count = 0;
    for (uint32_t from = 0; from < RANKS; from++) {
        size_t sends = ctn_random_below(random, 10);
        for (size_t i = 0; i < sends; i++) {
            edge[count++] = (ctn_bipartite_edge_t){
                from, (uint32_t)ctn_random_below(random, RANKS),
                (uint32_t)ctn_random_below(random, 9),
                (uint32_t)ctn_random_below(random, 12)};
        }
    }
    return count;
}

/** The same by trying all senders for each message. */
static uint64_t at_once(size_t count, bool weighed)
{
    uint64_t sender[RANKS] = {0}, receiver[RANKS] = {0}, last = 0;
    bool sent[MOST_EDGES] = {false};
    for (size_t done = 0; done < count; done++) {
        size_t best = count;
        for (size_t i = 0; i < count; i++) {
            bool turn = !sent[i] && (i == 0 || sent[i - 1] ||
                                     edge[i - 1].from != edge[i].from);
            if (turn && (best == count ||
                         sender[edge[i].from] < sender[edge[best].from])) {
                best = i;
            }
        }
        uint64_t *from = &sender[edge[best].from];
        uint64_t *to = &receiver[edge[best].to];
        *from = *to =
            (*from > *to ? *from : *to) + (weighed ? edge[best].weight : 1);
        last = *to > last ? *to : last;
        sent[best] = true;
    }
    return last;
}

START_TEST(messages_wait_for_ports)
{
    uint64_t random = 1;
    uint64_t found;
    for (int graph = 0; graph < GRAPHS; graph++) {
        size_t count = draw_edges(&random);
        for (int weighed = 0; weighed < 2; weighed++) {
            uint64_t rounds = 0;
            ck_assert_int_eq(
                ctn_port_time_at_once(RANKS, edge, count, weighed > 0, &found),
                CATENA_OK);
            ck_assert_uint_eq(found, at_once(count, weighed > 0));
            for (uint32_t color = 0; color < 12; color++) {
                uint64_t longest = 0;
                for (size_t i = 0; i < count; i++) {
                    uint64_t length = weighed > 0 ? edge[i].weight : 1;
                    longest = edge[i].color == color && length > longest
                                  ? length
                                  : longest;
                }
                rounds += longest;
            }
            ck_assert_int_eq(
                ctn_port_time_rounds(edge, count, 12, weighed > 0, &found),
                CATENA_OK);
            ck_assert_uint_eq(found, rounds);
        }
    }
}
END_TEST

/** A message for a busy port holds up the next one, for a free port. */
START_TEST(the_first_message_blocks_the_second)
{
    static const ctn_bipartite_edge_t blocked[] = {
        {0, 2, 10, 0}, {1, 2, 1, 1}, {1, 3, 10, 0}};
    uint64_t found;
    ck_assert_int_eq(ctn_port_time_at_once(4, blocked, 3, true, &found),
                     CATENA_OK);
    ck_assert_uint_eq(found, 10 + 1 + 10);
    ck_assert_int_eq(ctn_port_time_rounds(blocked, 3, 2, true, &found),
                     CATENA_OK);
    ck_assert_uint_eq(found, 10 + 1);
}
END_TEST

/* ---- selection ---- */

enum { ROWS = 5, COLUMNS = 6, NEIGHBORS = 4, HEAVY = 16, CALLS = 3 };

/** A mesh, and what becomes of it. */
static struct mesh {
    int heavy;
    size_t light;
    const char *algorithm;
    double slowest;
    const char *selected;
} mesh;

/* hpc-b with a buffer. */
static char machine_path[] = "/tmp/catena-machine-XXXXXX.json";

/** Has each rank learn the machine, and create the mesh: pairs of heavy
 * neighbors lie side by side in two quarters, above each other in the others.
 */
static void make_mesh(job_t *job, size_t counts[NEIGHBORS],
                      catena_neighborhood_t **out)
{
    static const int dims[] = {ROWS, COLUMNS};
    static const int periods[] = {0, 0};
    int row = (int)job->rank / COLUMNS;
    int column = (int)job->rank % COLUMNS;
    int weights[NEIGHBORS] = {1, 1, 1, 1};
    if ((row < 2) == (column < 2)) {
        weights[2 + (column + 1) % 2] = mesh.heavy;
    } else {
        weights[(row + 1) % 2] = mesh.heavy;
    }
    for (int i = 0; i < NEIGHBORS; i++) {
        counts[i] = mesh.light * (size_t)weights[i];
    }
    const catena_neighborhood_info_t info = {.size = sizeof(info),
                                             .algorithm = mesh.algorithm,
                                             .bytes = mesh.light,
                                             .weights = weights};
    JOB_CHECK(job, catena_cart_create(job->context->world, 2, dims, periods, 0,
                                      &info, out) == CATENA_OK);
}

static void exchange(job_t *job)
{
    char tuning[64];
    size_t counts[NEIGHBORS];
    ptrdiff_t at[NEIGHBORS];
    catena_neighborhood_t *own = NULL;
    catena_neighborhood_stats_t stats = {.size = sizeof(stats)};
    const ctn_tuning_t *before = job->exec->tuning;
    snprintf(tuning, sizeof(tuning), "machine:%s", machine_path);
    JOB_CHECK(job, ctn_tuning_open(job->exec->log, tuning,
                                   &job->exec->tuning) == CATENA_OK);
    make_mesh(job, counts, &own);
    size_t most = mesh.light * (size_t)mesh.heavy;
    unsigned char *blocks = calloc(2 * NEIGHBORS, most); /* never touched */
    for (int i = 0; i < NEIGHBORS; i++) {
        at[i] = (ptrdiff_t)most * i;
    }
    for (int call = 0; call < CALLS; call++) {
        JOB_CHECK(job, catena_barrier(job->context->world) == CATENA_OK);
        double begin = catena_time(job->context);
        JOB_CHECK(job,
                  catena_neighbor_alltoallv(blocks, counts, at, CATENA_BYTE,
                                            blocks + NEIGHBORS * most, counts,
                                            at, CATENA_BYTE, own) == CATENA_OK);
        double seconds = catena_time(job->context) - begin;
        mesh.slowest = call == CALLS - 1 && seconds > mesh.slowest
                           ? seconds
                           : mesh.slowest;
    }
    JOB_CHECK(job, catena_neighborhood_get_stats(own, &stats) == CATENA_OK);
    mesh.selected = stats.algorithm;
    JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
    free(blocks);
    ctn_tuning_close(job->exec->tuning);
    job->exec->tuning = before;
}

/** The time of an exchange in a mesh of one rank a node. */
static double simulate_mesh(const char *machine, int heavy, size_t light,
                            const char *algorithm)
{
    const catena_sim_params_t params = {.size = sizeof(params),
                                        .machine = machine,
                                        .nodes = ROWS * COLUMNS,
                                        .ppn = 1,
                                        .ports = 1,
                                        .seed = 1,
                                        .payload = CATENA_SIM_SIZES,
                                        .stack_bytes = JOB_STACK_BYTES};
    mesh = (struct mesh){heavy, light, algorithm, 0, NULL};
    ck_assert_int_eq(job_simulate_on(&params, exchange), 0);
    return mesh.slowest;
}

/** Writes hpc-b with a buffer of 16 KiB. */
static void write_machine(void)
{
    const char *text = NULL;
    for (size_t i = 0; i < ctn_builtin_machines; i++) {
        if (strcmp(ctn_builtin_machine[i].name, "hpc-b") == 0) {
            text = ctn_builtin_machine[i].text;
        }
    }
    static const char from[] = "\"network\": {";
    const char *at = strstr(text, from);
    ck_assert_ptr_nonnull(at);
    int fd = mkstemps(machine_path, 5);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "w");
    fprintf(file,
            "%.*s%s \"buffer_bytes\": {\"value\": 16384, "
            "\"source\": \"made up\"},%s",
            (int)(at - text), text, from, at + strlen(from));
    ck_assert_int_eq(fclose(file), 0);
}

static void drop_machine(void)
{
    unlink(machine_path);
}

/** Colored schedules are selected where they win, and where they lose they are
 * not. */
START_TEST(colored_where_it_wins)
{
    static const struct {
        int heavy;
        size_t light;
        bool wins;
    } meshes[] = {{HEAVY, 65536, true}, {HEAVY, 16384, true},
                  {HEAVY, 4096, false}, {1, 65536, false},
                  {1, 16384, false},    {1, 8, false}};
    for (size_t i = 0; i < sizeof(meshes) / sizeof(*meshes); i++) {
        int heavy = meshes[i].heavy;
        size_t light = meshes[i].light;
        double direct = simulate_mesh(machine_path, heavy, light, "direct");
        double colored = simulate_mesh(machine_path, heavy, light, "colored");
        double selected = simulate_mesh(machine_path, heavy, light, "auto");
        if (meshes[i].wins) {
            ck_assert_str_eq(mesh.selected, "colored");
            /* Builds with tiny limits cut messages. */
            ck_assert_double_ge(direct, CTN_PICK(1.2, 1.1) * colored);
            ck_assert_double_eq_tol(selected, colored, 0.05 * colored);
        } else {
            ck_assert_str_eq(mesh.selected, "direct");
            ck_assert_double_gt(colored, 0.95 * direct);
        }
    }
}
END_TEST

/* ---- the simulated network ---- */

/** Long blocks, each of which is different. */
static void exchange_all(job_t *job)
{
    enum { WORDS = 5000 };
    size_t count = (size_t)WORDS * job->size;
    uint32_t *send = malloc(count * sizeof(*send));
    uint32_t *recv = calloc(count, sizeof(*recv));
    for (size_t i = 0; i < count; i++) {
        send[i] = (uint32_t)(i * 1000 + job->rank);
    }
    for (int call = 0; call < CALLS; call++) {
        JOB_CHECK(job, catena_alltoall(send, WORDS, CATENA_UINT32, recv, WORDS,
                                       CATENA_UINT32,
                                       job->context->world) == CATENA_OK);
    }
    size_t first = (size_t)WORDS * job->rank;
    for (size_t i = 0; i < count; i++) {
        JOB_CHECK(job, recv[i] ==
                           (uint32_t)((first + i % WORDS) * 1000 + i / WORDS));
    }
    free(send);
    free(recv);
}

START_TEST(data_arrive_through_a_full_buffer)
{
    for (int ports = 1; ports <= 2; ports++) {
        for (uint64_t seed = 1; seed <= 10; seed++) {
            const catena_sim_params_t params = {.size = sizeof(params),
                                                .machine = machine_path,
                                                .nodes = 3,
                                                .ppn = 3,
                                                .ports = ports,
                                                .seed = seed,
                                                .reorder = seed > 1,
                                                .stack_bytes = JOB_STACK_BYTES};
            ck_assert_int_eq(job_simulate_on(&params, exchange_all), 0);
        }
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_unchecked_fixture(tcase, write_machine, drop_machine);
    tcase_add_test(tcase, messages_wait_for_ports);
    tcase_add_test(tcase, the_first_message_blocks_the_second);
    tcase_add_test(tcase, colored_where_it_wins);
    tcase_add_test(tcase, data_arrive_through_a_full_buffer);
}

UNIT_TEST(contention)
{
    return unit_main("contention", 100, add_cases);
}
