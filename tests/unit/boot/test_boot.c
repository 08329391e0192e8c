/* Jobs without PMIx: by an allgather of the program, by a rendezvous over TCP.
 * Each case forks its ranks. */

#include <arpa/inet.h>
#include <catena/catena.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/capture.h"
#include "unit/unit.h"

enum { MOST_RANKS = 16, SHARED_BYTES = 1 << 20, FAILED = 99 };

/* What the ranks of a case share. */
static struct shared {
    atomic_int arrived;
    atomic_int calls;
    unsigned char data[SHARED_BYTES];
} * shared;

static int ranks;
static char boot[64];

/* ---- ranks ---- */

/* An allgather in shared memory. */
static int gather_shared(void *argument, const void *send, void *receive,
                         size_t bytes)
{
    const int *rank = argument;
    memcpy(shared->data + (size_t)*rank * bytes, send, bytes);
    for (int phase = 0; phase < 2; phase++) {
        int round = atomic_fetch_add(&shared->arrived, 1) / ranks;
        while (atomic_load(&shared->arrived) < (round + 1) * ranks) {
            sched_yield();
        }
        if (phase == 0) {
            memcpy(receive, shared->data, (size_t)ranks * bytes);
        }
    }
    shared->calls++;
    return 0;
}

static int gather_nothing(void *argument, const void *send, void *receive,
                          size_t bytes)
{
    (void)argument, (void)send, (void)receive, (void)bytes;
    return 7;
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", value);
    setenv(name, text, 1);
}

/* Calls that all ranks take part in, and check. */
static int use(catena_context_t *context, int rank, const char *launcher)
{
    catena_group_t *world = catena_world(context);
    catena_place_t place = {.size = sizeof(place)};
    int send[MOST_RANKS];
    int receive[MOST_RANKS] = {0};
    int sum = 0;
    int wrong = catena_group_rank(world) != rank ||
                catena_group_size(world) != ranks ||
                catena_get_place(context, &place) != CATENA_OK ||
                strcmp(place.launcher, launcher) != 0;
    for (int i = 0; i < ranks; i++) {
        send[i] = 100 * rank + i;
    }
    wrong |= catena_alltoall(send, 1, CATENA_INT32, receive, 1, CATENA_INT32,
                             world) != CATENA_OK;
    wrong |= catena_allreduce(&rank, &sum, 1, CATENA_INT32, CATENA_SUM,
                              world) != CATENA_OK;
    for (int i = 0; i < ranks; i++) {
        wrong |= receive[i] != 100 * i + rank;
    }
    return wrong || sum != ranks * (ranks - 1) / 2;
}

/* Two lives of a rank. */
static int live(int rank, const catena_config_t *config, const char *launcher)
{
    for (int life = 0; life < 2; life++) {
        catena_context_t *context;
        catena_status_t status = catena_init(config, &context);
        if (status != CATENA_OK) {
            return FAILED;
        }
        int wrong = use(context, rank, launcher);
        if (wrong != 0 || catena_finalize(&context) != CATENA_OK) {
            return 1;
        }
    }
    return 0;
}

/* The exchange of a rank, which stays where it is. */
static catena_oob_t shared_oob(int *rank)
{
    return (catena_oob_t){.size = sizeof(catena_oob_t),
                          .rank = *rank,
                          .ranks = ranks,
                          .allgather = gather_shared,
                          .argument = rank};
}

static int by_oob(int rank)
{
    catena_oob_t oob = shared_oob(&rank);
    catena_config_t config = {.size = sizeof(config), .oob = &oob};
    return live(rank, &config, "oob");
}

static int by_tcp(int rank)
{
    setenv("CATENA_BOOT", boot, 1);
    set_number("CATENA_BOOT_RANK", rank);
    set_number("CATENA_BOOT_SIZE", ranks);
    return live(rank, NULL, "tcp");
}

/* The same, two ranks a node. */
static int on_nodes(int rank)
{
    char node[16];
    snprintf(node, sizeof(node), "node%d", rank / 2);
    setenv("CATENA_BOOT_NODE", node, 1);
    return by_tcp(rank);
}

static int nodes_by_oob(int rank)
{
    char node[16];
    snprintf(node, sizeof(node), "node%d", rank % 3);
    setenv("CATENA_BOOT_NODE", node, 1);
    return by_oob(rank);
}

/* ---- running them ---- */

/* Fork a rank. */
static pid_t start(int rank, int (*body)(int rank))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(body(rank));
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

/* The exit code of a rank; -1: a signal ended it. */
static int code_of(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) != pid) {
        ck_assert_int_eq(errno, EINTR);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Run all ranks; returns how many ended with another code than 0. */
static int run(int count, int (*body)(int rank))
{
    pid_t pid[MOST_RANKS];
    int wrong = 0;
    ranks = count;
    for (int i = 0; i < count; i++) {
        pid[i] = start(i, body);
    }
    for (int i = 0; i < count; i++) {
        wrong += code_of(pid[i]) != 0;
    }
    return wrong;
}

/* A port that was free just now. */
static int free_port(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(any);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(made, (struct sockaddr *)&any, length), 0);
    ck_assert_int_eq(getsockname(made, (struct sockaddr *)&any, &length), 0);
    close(made);
    return ntohs(any.sin_port);
}

static void setup(void)
{
    static const char *const starts[] = {"CATENA_", "PMI",   "RANK=", "WORLD_",
                                         "MASTER_", "SLURM", "OMPI_", "FLUX_"};
    for (size_t i = 0; environ[i] != NULL;) {
        size_t k = 0;
        while (k < 8 &&
               strncmp(environ[i], starts[k], strlen(starts[k])) != 0) {
            k++;
        }
        char name[256];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(environ[i], "="),
                 environ[i]);
        i = k == 8 || unsetenv(name) != 0 ? i + 1 : 0;
    }
    setenv("CATENA_BOOT_TIMEOUT", "20", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    snprintf(boot, sizeof(boot), "tcp://127.0.0.1:%d", free_port());
}

static const int counts[] = {1, 2, 3, 7, 12};

START_TEST(oob_allgather)
{
    ck_assert_int_eq(run(counts[_i], by_oob), 0);
    /* Two lives: identities; lengths of what is shared and, where there are
     * several ranks, that; lengths of what is published; all are ready. */
    ck_assert_int_eq(shared->calls, counts[_i] * 2 * (counts[_i] > 1 ? 5 : 4));
}
END_TEST

/* One rank fails in catena_init, for a reason of its own; the others learn it
 * from the exchanges, wherever they are. */
static const char *const failures[] = {
    "CATENA_WAIT=idle", /* before the first exchange */
    "CATENA_HEAP_SIZE=1000t"};
enum { FAILURES = sizeof(failures) / sizeof(failures[0]) };
static const char *failure;

static int failing(int rank)
{
    char name[64];
    catena_oob_t oob = shared_oob(&rank);
    catena_config_t config = {.size = sizeof(config), .oob = &oob};
    catena_context_t *context;
    snprintf(name, sizeof(name), "node%d", rank / 2);
    setenv("CATENA_BOOT_NODE", name, 1);
    if (rank == 2) { /* the first of its node */
        snprintf(name, sizeof(name), "%s", failure);
        char *value = strchr(name, '=');
        *value = '\0';
        setenv(name, value + 1, 1);
    }
    return catena_init(&config, &context) == CATENA_OK ? 1 : FAILED;
}

START_TEST(oob_failure)
{
    failure = failures[_i];
    ranks = 5;
    pid_t pid[MOST_RANKS];
    for (int i = 0; i < ranks; i++) {
        pid[i] = start(i, failing);
    }
    for (int i = 0; i < ranks; i++) {
        ck_assert_int_eq(code_of(pid[i]), FAILED);
    }
}
END_TEST

START_TEST(oob_nodes)
{
    ck_assert_int_eq(run(7, nodes_by_oob), 0);
}
END_TEST

START_TEST(tcp_ranks)
{
    ck_assert_int_eq(run(counts[_i], by_tcp), 0);
}
END_TEST

START_TEST(tcp_nodes)
{
    ck_assert_int_eq(run(5, on_nodes), 0);
}
END_TEST

/* By host name, and by the variables of other launchers. */
static int by_env(int rank)
{
    setenv("CATENA_BOOT", "env", 1);
    set_number("RANK", rank);
    set_number("WORLD_SIZE", ranks);
    setenv("MASTER_ADDR", "localhost", 1);
    return live(rank, NULL, "tcp");
}

START_TEST(env_variables)
{
    set_number("MASTER_PORT", free_port() - 1); /* it takes the one after */
    ck_assert_int_eq(run(3, by_env), 0);
}
END_TEST

/* ---- what goes wrong ---- */

static catena_status_t try_init(const catena_config_t *config, capture_t *said)
{
    catena_context_t *context = NULL;
    capture_start(said);
    catena_status_t status = catena_init(config, &context);
    if (status == CATENA_OK) {
        status = catena_group_size(catena_world(context)) == 1
                     ? catena_finalize(&context)
                     : CATENA_ERR_STATE;
    }
    capture_stop(said);
    return status;
}

START_TEST(oob_refused)
{
    catena_oob_t oob = {
        .size = sizeof(oob), .ranks = 1, .allgather = gather_nothing};
    catena_config_t config = {.size = sizeof(config), .oob = &oob};
    capture_t said;
    ck_assert_int_eq(try_init(&config, &said), CATENA_ERR_LAUNCHER);
    ck_assert_ptr_nonnull(strstr(said.text, "returned 7"));
    oob.rank = 1;
    ck_assert_int_eq(try_init(&config, &said), CATENA_ERR_ARG);
    oob.rank = 0;
    oob.allgather = NULL;
    ck_assert_int_eq(try_init(&config, &said), CATENA_ERR_ARG);
    oob.size = 0;
    ck_assert_int_eq(try_init(&config, &said), CATENA_ERR_ARG);
}
END_TEST

static const struct {
    const char *rank_variable;
    const char *size_variable;
    const char *name;
} others[] = {{"PMI_RANK", "PMI_SIZE", "Hydra"},
              {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun"},
              {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun"},
              {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "flux"},
              {"RANK", "WORLD_SIZE", "torchrun"}};

START_TEST(other_launchers)
{
    capture_t said;
    setenv(others[_i].rank_variable, "0", 1);
    setenv(others[_i].size_variable, "4", 1);
    ck_assert_int_eq(try_init(NULL, &said), CATENA_ERR_LAUNCHER);
    ck_assert_ptr_nonnull(strstr(said.text, others[_i].name));
    ck_assert_ptr_nonnull(strstr(said.text, "CATENA_BOOT=tcp://HOST:PORT"));
    ck_assert_ptr_eq(strchr(said.text, '\n'), strrchr(said.text, '\n'));
    /* Rank 0 speaks for all. */
    setenv(others[_i].rank_variable, "2", 1);
    ck_assert_int_eq(try_init(NULL, &said), CATENA_ERR_LAUNCHER);
    ck_assert_str_eq(said.text, "");
    ck_assert_ptr_nonnull(strstr(catena_last_error(), others[_i].name));
    setenv("CATENA_BOOT", "singleton", 1);
    ck_assert_int_eq(try_init(NULL, &said), CATENA_OK);
    setenv("CATENA_BOOT", "auto", 1);
    setenv(others[_i].rank_variable, "0", 1);
    setenv(others[_i].size_variable, "1", 1);
    ck_assert_int_eq(try_init(NULL, &said), CATENA_OK);
    ck_assert_str_eq(said.text, "");
}
END_TEST

/* A launcher of one process that starts another launcher. */
static int by_env_in_srun(int rank)
{
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    return by_env(rank);
}

START_TEST(nested_launchers)
{
    capture_t said;
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    setenv("RANK", "0", 1);
    setenv("WORLD_SIZE", "4", 1);
    ck_assert_int_eq(try_init(NULL, &said), CATENA_ERR_LAUNCHER);
    ck_assert_ptr_nonnull(strstr(said.text, "torchrun"));
    set_number("MASTER_PORT", free_port() - 1); /* it takes the one after */
    ck_assert_int_eq(run(3, by_env_in_srun), 0);
}
END_TEST

/* The struct of a program that was built before it grew. */
START_TEST(older_config)
{
    capture_t said;
    catena_config_t config = {.size = offsetof(catena_config_t, oob)};
    ck_assert_int_eq(try_init(&config, &said), CATENA_OK);
    config.size = offsetof(catena_config_t, log_argument);
    ck_assert_int_eq(try_init(&config, &said), CATENA_ERR_ARG);
}
END_TEST

static const char *const bad[] = {"tcp://",
                                  "tcp://host",
                                  "tcp://:80",
                                  "tcp://host:0",
                                  "tcp://host:70000",
                                  "tcp://host:8x",
                                  "tcp://[::1]",
                                  "tcp://nohost.invalid:80",
                                  "udp://host:80",
                                  "pmix",
                                  "env",
                                  ""};

START_TEST(bad_addresses)
{
    capture_t said;
    setenv("CATENA_BOOT", bad[_i], 1);
    setenv("CATENA_BOOT_RANK", "1", 1);
    setenv("CATENA_BOOT_SIZE", "2", 1);
    catena_status_t status = try_init(NULL, &said);
    ck_assert(status == CATENA_ERR_ARG || status == CATENA_ERR_LAUNCHER);
    ck_assert_ptr_nonnull(strstr(said.text, "expected"));
}
END_TEST

START_TEST(no_numbers)
{
    static const char *const pairs[][2] = {
        {"auto", "auto"}, {"0", "auto"}, {"auto", "2"}, {"2", "2"}};
    capture_t said;
    setenv("CATENA_BOOT", boot, 1);
    for (size_t i = 0; i < 4; i++) {
        setenv("CATENA_BOOT_RANK", pairs[i][0], 1);
        setenv("CATENA_BOOT_SIZE", pairs[i][1], 1);
        ck_assert_int_eq(try_init(NULL, &said), CATENA_ERR_LAUNCHER);
        ck_assert_ptr_nonnull(strstr(said.text, "CATENA_BOOT_SIZE"));
    }
    /* env does not read the variables of Hydra. */
    unsetenv("CATENA_BOOT_RANK");
    unsetenv("CATENA_BOOT_SIZE");
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "2", 1);
    setenv("MASTER_ADDR", "localhost", 1);
    setenv("CATENA_BOOT", "env", 1);
    ck_assert_int_eq(try_init(NULL, &said), CATENA_ERR_LAUNCHER);
    ck_assert_ptr_nonnull(strstr(said.text, "or RANK below WORLD_SIZE"));
}
END_TEST

/* Ranks that are missing, there twice, or of another job. */
static int joins(int rank)
{
    int code = by_tcp(rank);
    return code == FAILED ? 0 : 1;
}

START_TEST(missing_ranks)
{
    ranks = 4;
    setenv("CATENA_BOOT_TIMEOUT", "1", 1);
    pid_t first = start(0, joins);
    pid_t third = start(2, joins);
    ck_assert_int_eq(code_of(first), 0);
    ck_assert_int_eq(code_of(third), 0);
}
END_TEST

START_TEST(rank_zero_missing)
{
    ranks = 2;
    setenv("CATENA_BOOT_TIMEOUT", "1", 1);
    ck_assert_int_eq(code_of(start(1, joins)), 0);
}
END_TEST

START_TEST(two_of_a_rank)
{
    ranks = 3;
    pid_t pid[] = {start(0, joins), start(1, joins), start(1, joins)};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(code_of(pid[i]), 0);
    }
}
END_TEST

START_TEST(another_size)
{
    ranks = 3;
    pid_t first = start(0, joins);
    ranks = 4;
    pid_t second = start(1, joins);
    ck_assert_int_eq(code_of(first), 0);
    ck_assert_int_eq(code_of(second), 0);
}
END_TEST

/* A process without the secret is refused; the job starts without it. */
START_TEST(secrets)
{
    ranks = 3;
    setenv("CATENA_BOOT_SECRET", "one", 1);
    pid_t first = start(0, by_tcp);
    setenv("CATENA_BOOT_SECRET", "another", 1);
    ck_assert_int_eq(code_of(start(1, joins)), 0);
    setenv("CATENA_BOOT_SECRET", "one", 1);
    pid_t second = start(1, by_tcp);
    pid_t third = start(2, by_tcp);
    ck_assert_int_eq(code_of(first), 0);
    ck_assert_int_eq(code_of(second), 0);
    ck_assert_int_eq(code_of(third), 0);
}
END_TEST

/* Connections that say nothing, or something else, do not hold up the job. */
START_TEST(strangers)
{
    int made[80];
    struct sockaddr_in there = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    there.sin_port = htons((uint16_t)strtol(strrchr(boot, ':') + 1, NULL, 10));
    ranks = 3;
    pid_t first = start(0, by_tcp);
    for (int i = 0; i < 80; i++) {
        made[i] = socket(AF_INET, SOCK_STREAM, 0);
        while (connect(made[i], (struct sockaddr *)&there, sizeof(there)) !=
               0) {
            poll(NULL, 0, 5);
        }
        char text[300] = "GET / HTTP/1.0\r\n\r\n";
        ssize_t sent = send(made[i], text, (size_t)(i % 4) * 90, MSG_NOSIGNAL);
        ck_assert(sent >= 0 || errno == EPIPE || errno == ECONNRESET);
    }
    pid_t second = start(1, by_tcp);
    pid_t third = start(2, by_tcp);
    /* The second life's rank 0 opens the port again. */
    for (int i = 0; i < 80; i++) {
        close(made[i]);
    }
    ck_assert_int_eq(code_of(first), 0);
    ck_assert_int_eq(code_of(second), 0);
    ck_assert_int_eq(code_of(third), 0);
}
END_TEST

/* ---- the end of others ---- */

/* A rank that ends without leaving: the others wait for it in a barrier. */
static int barriers(int rank)
{
    catena_context_t *context;
    setenv("CATENA_BOOT", boot, 1);
    set_number("CATENA_BOOT_RANK", rank);
    set_number("CATENA_BOOT_SIZE", ranks);
    if (catena_init(NULL, &context) != CATENA_OK) {
        return FAILED;
    }
    shared->arrived++;
    while (shared->arrived < ranks) {
        sched_yield();
    }
    if (rank == 2) {
        if (shared->calls == 1) {
            catena_abort(context, 37);
        }
        raise(SIGKILL);
    }
    (void)catena_barrier(catena_world(context));
    return FAILED;
}

START_TEST(lost_rank)
{
    pid_t pid[6];
    ranks = 6;
    shared->calls = _i; /* killed, or it aborts the job */
    for (int i = 0; i < ranks; i++) {
        pid[i] = start(i, barriers);
    }
    for (int i = 0; i < ranks; i++) {
        int code = code_of(pid[i]);
        ck_assert_int_eq(code, _i == 1 ? 37 : i == 2 ? -1 : 1);
    }
}
END_TEST

/* A rank whose catena_init fails after it was connected. */
static int with_bad_heap(int rank)
{
    if (rank == 1) {
        setenv("CATENA_HEAP_SIZE", "100t", 1);
    }
    setenv("CATENA_BOOT_NODE", rank == 1 ? "b" : "a", 1);
    return by_tcp(rank) != 0 ? 0 : 1;
}

START_TEST(init_fails_on_one)
{
    ck_assert_int_eq(run(4, with_bad_heap), 0);
}
END_TEST

UNIT_TEST(boot)
{
    Suite *suite = suite_create("boot");
    TCase *jobs = tcase_create("jobs");
    tcase_add_checked_fixture(jobs, setup, NULL);
    tcase_set_timeout(jobs, 60);
    tcase_add_loop_test(jobs, oob_allgather, 0, 5);
    tcase_add_loop_test(jobs, oob_failure, 0, FAILURES);
    tcase_add_test(jobs, oob_nodes);
    tcase_add_loop_test(jobs, tcp_ranks, 0, 5);
    tcase_add_test(jobs, tcp_nodes);
    tcase_add_test(jobs, env_variables);
    suite_add_tcase(suite, jobs);
    TCase *wrong = tcase_create("wrong");
    tcase_add_checked_fixture(wrong, setup, NULL);
    tcase_set_timeout(wrong, 60);
    tcase_add_test(wrong, oob_refused);
    tcase_add_loop_test(wrong, other_launchers, 0, 5);
    tcase_add_test(wrong, nested_launchers);
    tcase_add_test(wrong, older_config);
    tcase_add_loop_test(wrong, bad_addresses, 0, sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(wrong, no_numbers);
    tcase_add_test(wrong, missing_ranks);
    tcase_add_test(wrong, rank_zero_missing);
    tcase_add_test(wrong, two_of_a_rank);
    tcase_add_test(wrong, another_size);
    tcase_add_test(wrong, secrets);
    tcase_add_test(wrong, strangers);
    tcase_add_loop_test(wrong, lost_rank, 0, 2);
    tcase_add_test(wrong, init_fails_on_one);
    suite_add_tcase(suite, wrong);
    return unit_run(suite);
}
