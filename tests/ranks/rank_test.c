#include "rank_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GUARD_BYTES = 64, GUARD = 0xa5 };

void rank_fail(rank_test_t *test, const char *format, ...)
{
    if (test->errors++ > 0) {
        return;
    }
    va_list arguments;
    fprintf(stderr, "# rank %d: ", test->place.rank);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static void fail(void *owner, const char *text)
{
    rank_fail(owner, "%s", text);
}

void rank_test_open(rank_test_t *test)
{
    test->world = catena_world(test->context);
    catena_place(test->context, &test->place);
    test->oracle = (oracle_t){test->context, fail, test};
}

/** Errors of all ranks: each tells each. */
static unsigned long all_errors(rank_test_t *test)
{
    size_t p = (size_t)test->place.size;
    uint64_t *send = calloc(p, sizeof(uint64_t));
    uint64_t *receive = calloc(p, sizeof(uint64_t));
    unsigned long sum = 0;
    for (size_t i = 0; i < p; i++) {
        send[i] = test->errors;
    }
    if (catena_alltoall(send, receive, 1, CATENA_UINT64, test->world) !=
        CATENA_OK) {
        sum = 1;
    }
    for (size_t i = 0; i < p; i++) {
        sum += receive[i];
    }
    free(send);
    free(receive);
    return sum;
}

typedef struct program {
    const rank_case_t *cases;
    const char *only; /* NULL: all */
} program_t;

void rank_conclude(rank_test_t *test, const char *name)
{
    unsigned long errors = all_errors(test);
    test->failed += errors > 0;
    test->errors = 0;
    if (test->place.rank == 0) {
        printf("%s - %s, %d ranks on %d nodes\n", errors == 0 ? "ok" : "not ok",
               name, test->place.size, test->place.nodes);
        fflush(stdout);
    }
}

static void run_case(rank_test_t *test, const rank_case_t *c)
{
    test->errors = 0;
    test->name = c->name;
    c->run(test);
    catena_group_set(test->world, "alltoall_algorithm", "auto");
    rank_conclude(test, c->name);
}

static int run_rank(const catena_config_t *config, void *argument)
{
    const program_t *program = argument;
    rank_test_t test = {.simulated = config != NULL};
    if (catena_init(config, &test.context) != CATENA_OK) {
        fprintf(stderr, "not ok - catena_init\n");
        return 1;
    }
    rank_test_open(&test);
    for (const rank_case_t *c = program->cases; c->name != NULL; c++) {
        if (program->only == NULL || strcmp(program->only, c->name) == 0) {
            run_case(&test, c);
        }
    }
    if (catena_finalize(test.context) != CATENA_OK) {
        fprintf(stderr, "not ok - catena_finalize\n");
        test.failed++;
    }
    return test.failed > 0;
}

void rank_pause(rank_test_t *test, double microseconds)
{
    if (test->simulated) {
        catena_compute(test->context, microseconds * 1e-6);
    } else {
        usleep((useconds_t)microseconds);
    }
}

void rank_complete(rank_test_t *test, catena_request_t **requests, size_t count,
                   int way)
{
    int done = 0;
    size_t index;
    switch (way) {
    case 0:
        RANK_CHECK(test, catena_waitall(count, requests) == CATENA_OK);
        break;
    case 1:
        while (!done) {
            RANK_CHECK(test,
                       catena_testall(count, requests, &done) == CATENA_OK);
        }
        break;
    case 2:
        do {
            RANK_CHECK(test,
                       catena_waitany(count, requests, &index) == CATENA_OK);
        } while (index < count);
        break;
    default: /* the last started first */
        for (size_t i = count; i-- > 0;) {
            for (done = 0; !done;) {
                RANK_CHECK(test, catena_test(&requests[i], &done) == CATENA_OK);
            }
        }
    }
}

unsigned char *rank_take(rank_test_t *test, rank_memory_t memory, size_t bytes)
{
    unsigned char *block = memory == RANK_HEAP
                               ? catena_malloc(test->context, bytes)
                               : malloc(bytes);
    if (block == NULL) {
        fprintf(stderr, "not ok - no memory for %zu bytes\n", bytes);
        catena_abort(test->context, 3);
    }
    return block;
}

void rank_give(rank_test_t *test, rank_memory_t memory, unsigned char *block)
{
    if (memory == RANK_HEAP) {
        catena_free(test->context, block);
    } else {
        free(block);
    }
}

/* ---- simulated ---- */

enum { MOST_NODES = 64 };

/** Where each rank is, by "3+1+5". The caller frees it. */
static int *read_layout(const char *text, catena_sim_params_t *params)
{
    int left[MOST_NODES] = {0};
    bool deal = text[0] == ':';
    char *at = (char *)(uintptr_t)(text + deal);
    do {
        left[params->nodes] = (int)strtol(at, &at, 10);
        params->ranks += left[params->nodes++];
    } while (*at++ == '+' && params->nodes < MOST_NODES);
    int *node_of = calloc((size_t)params->ranks + 1, sizeof(int));
    for (int r = 0, node = 0; r < params->ranks; r++) {
        while (left[node] == 0) {
            node = (node + 1) % params->nodes;
        }
        node_of[r] = node;
        left[node]--;
        node = deal ? (node + 1) % params->nodes : node;
    }
    params->node_of = node_of;
    return node_of;
}

static int simulate(const char *layout, program_t *program)
{
    const char *seed = getenv("RANK_TEST_SEED");
    static const char *const settings[] = {"HEAP_SIZE=4g", NULL};
    catena_sim_params_t params = {
        .machine = "hpc-b",
        .seed = seed != NULL ? strtoull(seed, NULL, 0) : 1,
        .jitter = 0.5,
        .reorder = 1,
        .settings = settings,
    };
    catena_sim_report_t report = {0};
    int *node_of = read_layout(layout, &params);
    catena_status_t status =
        catena_sim_run(&params, run_rank, program, &report);
    free(node_of);
    if (status != CATENA_OK) {
        printf("not ok - simulating %s: %s\n", layout,
               catena_status_string(status));
        return 1;
    }
    return report.failed_ranks > 0;
}

int rank_main(int argc, char **argv, const rank_case_t *cases)
{
    program_t program = {.cases = cases};
    bool simulated = argc > 2 && strcmp(argv[1], "--sim") == 0;
    int at = simulated ? 3 : 1;
    if (argc > at) {
        program.only = argv[at];
    }
    return simulated ? simulate(argv[2], &program) : run_rank(NULL, &program);
}

/* ---- an alltoall ---- */

static size_t block_bytes(const rank_exchange_t *x)
{
    return x->count * catena_datatype_size(x->type);
}

static size_t buffer_bytes(const rank_exchange_t *x)
{
    return block_bytes(x) * (size_t)catena_group_size(x->group);
}

/** What rank `from` sends to rank `to`, from a multiple of 8 on. */
static void write_content(unsigned char *out, size_t bytes, uint64_t seed,
                          size_t from, size_t to, size_t at)
{
    uint64_t start = seed * 0x9e3779b97f4a7c15u + from * 0xff51afd7ed558ccdu +
                     to * 0xc4ceb9fe1a85ec53u;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = start + (at + i) / 8 * 0x2545f4914f6cdd1du;
        word ^= word >> 29;
        word *= 0xbf58476d1ce4e5b9u;
        if (bytes - i >= 8) {
            memcpy(out + i, &word, 8);
        } else {
            memcpy(out + i, &word, bytes - i);
        }
    }
}

/** Where a block differs: `bytes` if it does not, else what should be there. */
static size_t compare_block(const unsigned char *block, size_t bytes,
                            uint64_t seed, size_t from, size_t to,
                            unsigned char *expected)
{
    unsigned char want[512];
    for (size_t at = 0; at < bytes; at += sizeof(want)) {
        size_t part = bytes - at < sizeof(want) ? bytes - at : sizeof(want);
        write_content(want, part, seed, from, to, at);
        if (memcmp(block + at, want, part) != 0) {
            size_t i = 0;
            while (block[at + i] == want[i]) {
                i++;
            }
            *expected = want[i];
            return at + i;
        }
    }
    return bytes;
}

const void *rank_exchange_source(const rank_exchange_t *x)
{
    return x->in_place ? CATENA_IN_PLACE : x->send;
}

void rank_exchange_open(rank_test_t *test, rank_exchange_t *x)
{
    x->send = rank_take(test, x->send_memory, buffer_bytes(x) + GUARD_BYTES);
    x->receive =
        rank_take(test, x->receive_memory, buffer_bytes(x) + GUARD_BYTES);
}

void rank_exchange_close(rank_test_t *test, rank_exchange_t *x)
{
    rank_give(test, x->send_memory, x->send);
    rank_give(test, x->receive_memory, x->receive);
}

void rank_exchange_fill(rank_test_t *test, rank_exchange_t *x, uint64_t seed)
{
    (void)test;
    size_t rank = (size_t)catena_group_rank(x->group);
    size_t block = block_bytes(x);
    x->seed = seed;
    memset(x->receive, 0xee, buffer_bytes(x));
    for (size_t to = 0; to < (size_t)catena_group_size(x->group); to++) {
        write_content(x->send + to * block, block, seed, rank, to, 0);
    }
    if (x->in_place) {
        memcpy(x->receive, x->send, buffer_bytes(x));
    }
    memset(x->receive + buffer_bytes(x), GUARD, GUARD_BYTES);
}

void rank_exchange_check(rank_test_t *test, const rank_exchange_t *x,
                         const char *what)
{
    size_t rank = (size_t)catena_group_rank(x->group);
    size_t block = block_bytes(x);
    for (size_t from = 0; from < (size_t)catena_group_size(x->group); from++) {
        const unsigned char *found = x->receive + from * block;
        unsigned char expected;
        size_t at = compare_block(found, block, x->seed, from, rank, &expected);
        if (at < block) {
            rank_fail(test,
                      "%s: %zu bytes: block of %zu, byte %zu: expected "
                      "%02x, found %02x",
                      what, block, from, at, expected, found[at]);
            return;
        }
    }
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (x->receive[buffer_bytes(x) + i] != GUARD) {
            rank_fail(test, "%s: written beyond the receive buffer", what);
            return;
        }
    }
    for (size_t to = 0; to < (size_t)catena_group_size(x->group); to++) {
        unsigned char expected;
        if (compare_block(x->send + to * block, block, x->seed, rank, to,
                          &expected) < block) {
            rank_fail(test, "%s: the send buffer was changed", what);
            return;
        }
    }
}
