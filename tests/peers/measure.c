/* measure COLLECTIVE[,COLLECTIVE][:...] MIN:MAX[:STEP] [MILLISECONDS [kept]]:
 * time collectives, one after the other or two in turns, over block sizes, STEP
 * times larger each (2), each for about so many milliseconds, in slices that
 * sides which hold a token take in turn (token.h). As in the OSU benchmarks, a
 * value is the time of one call on each rank between two barriers, averaged
 * over calls and ranks. The contents are new in every call, and the time
 * includes reading all received data once: so no library profits from data left
 * in place, or in the cache of another core. With "kept" the contents are new
 * only in the calls that are checked, and received data are not read, as in the
 * OSU benchmarks. No rank writes them while others are in the call, which on a
 * shared core would delay those. The first and last calls
 * are checked. Vectors are sums of doubles; the root is rank 0; neighbors are
 * those of a two-dimensional mesh with open borders. "barrier" and "split" have
 * no sizes. A split makes groups of every other rank, different in every call,
 * and includes their first barrier; freeing them is not timed. Rank 0 prints
 * for each slice: name,collective,ranks,bytes,avg_us,max_us,calls,errors,slice
 * A library that lacks the collective takes its turns and prints nothing. */

#include "pattern.h"
#include "token.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_CALLS = 5, MOST_CALLS = 8000, CHECKED_CALLS = 2 };
enum { MOST_TESTS = 2, SLICES = 8, TURNS = 4 };

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- the loop ---- */

struct result {
    double avg_us, max_us;
    double errors;
    unsigned calls;
};

static bool kept; /* timed calls leave the contents as they are */

/* Read all that was received, as a program does that uses it. */
static void read_received(const struct peer_call *call)
{
    const uint64_t *words = (const void *)call->recv;
    size_t count = pattern_extent(call->recvs, call->partners) / sizeof(*words);
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++)
        all += words[i];
    __asm__ volatile("" : : "r"(all)); /* nothing else uses the sum */
}

static double timed_call(struct peer_call *call, unsigned number, bool checked)
{
    double begin, end;

    if (!kept || checked)
        pattern_fill(call, number);
    peer_barrier();
    begin = now_us();
    peer_run(call);
    if (!kept)
        read_received(call);
    end = now_us();
    peer_barrier();
    if (call->kind == PEER_SPLIT)
        peer_finish(call);
    return end - begin;
}

static double largest(const double *values, int n)
{
    double most = values[0];

    for (int i = 1; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static double sum(const double *values, int n)
{
    double all = 0;

    for (int i = 0; i < n; i++)
        all += values[i];
    return all;
}

/* The number of calls that take about `budget_us`, with all overhead. */
static unsigned plan(struct peer_call *call, double budget_us, double *all,
                     unsigned *number, double *errors)
{
    double begin = now_us(), calls;

    for (int i = 0; i < CHECKED_CALLS; i++) {
        timed_call(call, ++*number, true);
        *errors += (double)pattern_errors(call, *number);
    }
    for (int i = 0; i < LEAST_CALLS; i++) {
        if (i == 1)
            begin = now_us();
        timed_call(call, ++*number, false);
    }
    peer_gather(now_us() - begin, all, call->size);
    calls = budget_us * (LEAST_CALLS - 1) / largest(all, call->size);
    if (calls > MOST_CALLS)
        return MOST_CALLS;
    return calls < LEAST_CALLS ? LEAST_CALLS : (unsigned)calls;
}

/* One of the collectives measured in turns. */
struct test {
    struct peer_call call;
    struct peer_block *blocks;
    unsigned calls; /* in a slice */
    double time_us[SLICES], errors;
};

static bool open_test(const char *collective, size_t bytes, int rank, int size,
                      struct test *test)
{
    struct peer_call *call = &test->call;

    *test = (struct test){.call = {.collective = collective,
                                   .kind = pattern_kind(collective),
                                   .rank = rank,
                                   .size = size,
                                   .bytes = bytes}};
    peer_choose_dims(size, call->dims);
    call->partners = pattern_partners(call->kind, size);
    test->blocks = calloc(2 * (size_t)call->partners, sizeof(*test->blocks));
    if (test->blocks == NULL)
        peer_abort("no memory");
    pattern_lay_out(call, test->blocks);
    call->send = peer_alloc(pattern_extent(call->sends, call->partners));
    call->recv = peer_alloc(pattern_extent(call->recvs, call->partners));
    return peer_prepare(call);
}

static void close_test(struct test *test)
{
    peer_release(&test->call);
    peer_free(test->call.send);
    peer_free(test->call.recv);
    free(test->blocks);
}

/* The part of one turn of the tests in a slice. A call that is not timed
 * precedes it: the other test, or another side, had the caches. */
static void take_turn(struct test *test, unsigned slice, unsigned calls,
                      unsigned *number)
{
    timed_call(&test->call, ++*number, false);
    for (unsigned i = 0; i < calls; i++)
        test->time_us[slice] += timed_call(&test->call, ++*number, false);
}

static struct result result_of(struct test *test, unsigned slice)
{
    struct peer_call *call = &test->call;
    double *all = calloc((size_t)call->size, sizeof(*all));
    struct result result = {.calls = test->calls};

    if (all == NULL)
        peer_abort("no memory");
    peer_gather(test->time_us[slice] / test->calls, all, call->size);
    result.avg_us = sum(all, call->size) / call->size;
    result.max_us = largest(all, call->size);
    peer_gather(slice == 0 ? test->errors : 0, all, call->size);
    result.errors = sum(all, call->size);
    free(all);
    return result;
}

static void take_token(void)
{
    const char *wrong = token_wait();

    if (wrong != NULL)
        peer_abort(wrong);
}

/* All slices of a size. The token is held at the beginning, and again at the
 * end.
 */
static void measure(struct test *tests, int count, double budget_us)
{
    static unsigned number;
    double *all = calloc((size_t)tests[0].call.size, sizeof(*all));
    unsigned turns = count == 1 ? 1 : TURNS;

    if (all == NULL)
        peer_abort("no memory");
    for (int i = 0; i < count; i++) {
        unsigned calls =
            plan(&tests[i].call, budget_us, all, &number, &tests[i].errors);

        tests[i].calls =
            (calls + SLICES * turns - 1) / (SLICES * turns) * turns;
    }
    peer_barrier();
    for (unsigned slice = 0; slice < SLICES; slice++) {
        token_pass();
        take_token();
        for (unsigned turn = 0; turn < turns; turn++)
            for (int i = 0; i < count; i++)
                take_turn(&tests[i], slice, tests[i].calls / turns, &number);
        peer_barrier();
    }
    for (int i = 0; i < count; i++) {
        timed_call(&tests[i].call, ++number, true);
        tests[i].errors += (double)pattern_errors(&tests[i].call, number);
    }
    free(all);
}

static bool print_results(struct test *test)
{
    bool good = true;

    for (unsigned slice = 0; slice < SLICES; slice++) {
        struct result result = result_of(test, slice);

        if (test->call.rank == 0)
            printf("%s,%s,%d,%zu,%.4f,%.4f,%u,%.0f,%u\n", peer_name,
                   test->call.collective, test->call.size, test->call.bytes,
                   result.avg_us, result.max_us, result.calls, result.errors,
                   slice);
        good &= result.errors == 0;
    }
    return good;
}

/* Leave the slices of a size to the other sides. */
static void stand_by(void)
{
    for (unsigned slice = 0; slice <= SLICES; slice++) {
        peer_barrier();
        token_pass();
        if (slice < SLICES)
            take_token();
    }
}

static bool run_size(char *const *collectives, int count, size_t bytes,
                     double budget_us, int rank, int size)
{
    struct test tests[MOST_TESTS];
    bool good = true;

    take_token();
    for (int i = 0; i < count; i++)
        if (!open_test(collectives[i], bytes, rank, size, &tests[i])) {
            stand_by();
            return true;
        }
    measure(tests, count, budget_us);
    for (int i = 0; i < count; i++)
        good &= print_results(&tests[i]);
    for (int i = count; i-- > 0;)
        close_test(&tests[i]);
    peer_barrier();
    token_pass();
    return good;
}

/* The names in a list; 0: one is unknown, or there are too many. */
static int find_names(char *list, char **names)
{
    int count = 0;

    for (char *name = strtok(list, ","); name != NULL; name = strtok(NULL, ","))
        if (count == MOST_TESTS || pattern_kind(name) == PEER_KINDS)
            return 0;
        else
            names[count++] = name;
    return count;
}

/* What the command line says. */
struct request {
    char *tests; /* names, those of one test after the other by colons */
    size_t min, max, step;
    double budget_us;
};

static bool read_request(int argc, char **argv, struct request *request)
{
    *request = (struct request){.tests = argv[1], .step = 2, .budget_us = 30e3};
    return argc >= 3 &&
           sscanf(argv[2], "%zu:%zu:%zu", &request->min, &request->max,
                  &request->step) >= 2 &&
           request->min > 0 && request->step >= 2 &&
           (argc == 3 || (request->budget_us = 1e3 * atof(argv[3])) > 0) &&
           (argc <= 4 || (kept = strcmp(argv[4], "kept") == 0));
}

/* All sizes of one collective, or of two in turns. */
static bool run_test(char *test, const struct request *request, int rank,
                     int size, bool *good)
{
    char *names[MOST_TESTS];
    int count = find_names(test, names);
    size_t min = request->min, max = request->max;

    if (count == 0)
        return false;
    if (!pattern_has_sizes(pattern_kind(names[0])))
        min = max = 0;
    for (size_t bytes = min; bytes <= max; bytes *= request->step) {
        *good &= run_size(names, count, bytes, request->budget_us, rank, size);
        if (bytes == 0)
            break;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct request request;
    bool good = true, known;
    int rank, size;
    const char *wrong;
    char *next = NULL;

    peer_start(&argc, &argv, &rank, &size);
    if ((wrong = token_open(rank)) != NULL)
        peer_abort(wrong);
    known = read_request(argc, argv, &request);
    if (known)
        next = request.tests;
    while (known && next != NULL)
        known = run_test(strsep(&next, ":"), &request, rank, size, &good);
    if (!known) {
        if (rank == 0)
            fprintf(stderr,
                    "usage: %s COLLECTIVE[,COLLECTIVE][:...] MIN:MAX[:STEP] "
                    "[MILLISECONDS [kept]]\n",
                    argv[0]);
        peer_stop();
        return 2;
    }
    take_token(); /* when the last slices of all sides are over */
    token_pass();
    peer_stop();
    return good ? 0 : 1;
}
