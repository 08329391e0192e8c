/* Machine files, and the formulas compared with a transcription of the paper.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/machine.h"
#include "model/machines.h"

#include "unit/unit.h"

static const ctn_log_t quiet = {.level = CATENA_LOG_FATAL, .rank = -1};

/** Read `text` as a file. */
static catena_status_t read_text(const char *text, catena_machine_t **machine)
{
    char path[] = "/tmp/catena-machine-XXXXXX.json";
    int fd = mkstemps(path, 5);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    catena_status_t status = ctn_machine_read(&quiet, path, machine);
    unlink(path);
    return status;
}

/** A built-in machine with part of its text replaced. */
static char *changed(const char *name, const char *from, const char *to)
{
    for (size_t i = 0; i < ctn_builtin_machines; i++) {
        const char *text = ctn_builtin_machine[i].text;
        const char *at = strstr(text, from);
        if (strcmp(ctn_builtin_machine[i].name, name) == 0) {
            ck_assert_msg(at != NULL, "no '%s' in %s", from, name);
            char *copy = malloc(strlen(text) + strlen(to) + 1);
            ck_assert_ptr_nonnull(copy);
            sprintf(copy, "%.*s%s%s", (int)(at - text), text, to,
                    at + strlen(from));
            return copy;
        }
    }
    ck_abort();
    return NULL;
}

START_TEST(all_that_ship)
{
    ck_assert_uint_eq(ctn_builtin_machines, 6);
    for (size_t i = 0; i < ctn_builtin_machines; i++) {
        catena_machine_t *machine;
        ck_assert_int_eq(
            ctn_machine_read(&quiet, ctn_builtin_machine[i].name, &machine),
            CATENA_OK);
        ck_assert_str_eq(machine->name, ctn_builtin_machine[i].name);
        for (int p = 0; p < CTN_MACHINE_PARAMETERS; p++) {
            bool optional = ctn_machine_value(machine, (size_t)p).value == 0;
            ck_assert(machine->source[p] != NULL
                          ? strlen(machine->source[p]) > 5
                          : optional);
        }
        /* Equation 1: a single copy is not slower than concurrent ones. */
        ck_assert(machine->domain_per_byte_ns <= machine->copy_per_byte_ns);
        /* The machines of [Graham] have its overheads of software. */
        bool graham = strcmp(machine->name, "jaguar") == 0 ||
                      strcmp(machine->name, "smoky") == 0;
        ck_assert_int_eq(machine->flag_overhead_ns > 0, graham);
        ck_assert_int_eq(machine->message_overhead_ns > 0, graham);
        ctn_machine_free(machine);
    }
}
END_TEST

START_TEST(values_and_units)
{
    catena_machine_t *machine;
    ck_assert_int_eq(ctn_machine_read(&quiet, "hpc-b", &machine), CATENA_OK);
    ck_assert_uint_eq(machine->cores, 24);
    ck_assert(fabs(machine->gap_per_byte_ns - 1000.0 / 7089) < 1e-12);
    ck_assert(machine->latency_ns == 1570);
    ctn_machine_free(machine);
}
END_TEST

static const struct {
    const char *from;
    const char *to;
} faults[] = {
    {"\"cores\"", "\"coers\""},
    {"\"network\"", "\"netwrok\""},
    {"\"value\": 24", "\"value\": 0"},
    {"\"value\": 24", "\"value\": 24.5"},
    {"\"value\": 24", "\"value\": \"24\""},
    {"\"value\": 24", "\"value\": 23"}, /* sockets of unequal size */
    {"\"value\": 1570", "\"value\": -1"},
    {"\"value\": 7089", "\"value\": 0"},
    {"\"value\": 24", "\"valeu\": 24"},
    {"\"source\": \"Peng", "\"sauce\": \"Peng"},
    {"\"name\": \"hpc-b\"", "\"name\": \"\""},
    {"\"name\": \"hpc-b\",", ""},
    {"{", "["},
};

START_TEST(every_fault_is_refused)
{
    char *text = changed("hpc-b", faults[_i].from, faults[_i].to);
    catena_machine_t *machine = NULL;
    ck_assert_int_eq(read_text(text, &machine), CATENA_ERR_ARG);
    ck_assert_ptr_null(machine);
    free(text);
}
END_TEST

/** A fat tree needs two parameters, and nodes that are not emulated. */
START_TEST(leaf_switches)
{
    static const char *const entries[] = {
        ("\"leaf_nodes\": { \"value\": 4, \"source\": \"made up\" },"
         "\"leaf_uplinks\": { \"value\": 2, \"source\": \"made up\" },"),
        "\"leaf_nodes\": { \"value\": 4, \"source\": \"made up\" },",
        "\"leaf_uplinks\": { \"value\": 4, \"source\": \"made up\" },"};
    for (int i = 0; i < 3; i++) {
        char network[256];
        catena_machine_t *machine = NULL;
        snprintf(network, sizeof(network), "\"network\": { %s", entries[i]);
        char *text = changed("hpc-b", "\"network\": {", network);
        ck_assert_int_eq(read_text(text, &machine),
                         i == 0 ? CATENA_OK : CATENA_ERR_ARG);
        if (i == 0) {
            ck_assert_uint_eq(machine->leaf_nodes, 4);
            ck_assert_uint_eq(machine->leaf_uplinks, 2);
            ctn_machine_free(machine);
        }
        free(text);
    }
}
END_TEST

START_TEST(optional_parameters)
{
    static const char *const values[] = {"4096, \"source\": \"made up\"",
                                         "4096", "0, \"source\": \"made up\""};
    for (int i = 0; i < 3; i++) {
        char entry[128];
        catena_machine_t *machine = NULL;
        snprintf(entry, sizeof(entry),
                 "\"network\": { \"buffer_bytes\": { \"value\": %s },",
                 values[i]);
        char *text = changed("hpc-b", "\"network\": {", entry);
        ck_assert_int_eq(read_text(text, &machine),
                         i == 0 ? CATENA_OK : CATENA_ERR_ARG);
        if (i == 0) {
            ck_assert_uint_eq(machine->buffer_bytes, 4096);
            ctn_machine_free(machine);
        }
        free(text);
    }
    catena_machine_t *machine = NULL;
    ck_assert_int_eq(ctn_machine_read(&quiet, "hpc-b", &machine), CATENA_OK);
    ck_assert_uint_eq(machine->buffer_bytes, 0);
    ctn_machine_free(machine);
}
END_TEST

START_TEST(missing_machines)
{
    catena_machine_t *machine = NULL;
    ck_assert_int_eq(ctn_machine_read(&quiet, "hpc-c", &machine),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_machine_read(&quiet, "/nowhere/x.json", &machine),
                     CATENA_ERR_SYSTEM);
    ck_assert_int_eq(catena_machine_open(NULL, &machine), CATENA_ERR_ARG);
    ck_assert_ptr_null(machine);
}
END_TEST

START_TEST(places)
{
    catena_machine_t m = {
        .cores = 12, .sockets = 2, .numa_domains = 4, .l3_caches = 6};
    for (uint32_t n = 1; n <= 12; n++) {
        uint32_t last = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t core = ctn_machine_core(&m, i, n);
            ck_assert_uint_lt(core, 12);
            ck_assert(i == 0 || core > last);
            last = core;
        }
    }
    ck_assert_uint_eq(ctn_machine_core(&m, 13, 20), 1);
    ck_assert_uint_eq(ctn_machine_domain(&m, 2), 0);
    ck_assert_uint_eq(ctn_machine_domain(&m, 3), 1);
    ck_assert_uint_eq(ctn_machine_domain(&m, 11), 3);
    ck_assert_int_eq(ctn_machine_distance(&m, 4, 4), CTN_DISTANCE_L3);
    ck_assert_int_eq(ctn_machine_distance(&m, 4, 5), CTN_DISTANCE_L3);
    ck_assert_int_eq(ctn_machine_distance(&m, 3, 4), CTN_DISTANCE_SOCKET);
    ck_assert_int_eq(ctn_machine_distance(&m, 5, 6), CTN_DISTANCE_NODE);
}
END_TEST

/** catena_machine_get returns the values of the file. */
START_TEST(parameters_by_name)
{
    catena_machine_t *m;
    double value = -1;
    ck_assert_int_eq(catena_machine_open("jaguar", &m), CATENA_OK);
    ck_assert_int_eq(catena_machine_get(m, "memory", "copy_MBps", &value),
                     CATENA_OK);
    ck_assert(fabs(value - 2800) < 1e-6);
    ck_assert_int_eq(catena_machine_get(m, "work", "flag_overhead_ns", &value),
                     CATENA_OK);
    ck_assert(value == 100);
    ck_assert_int_eq(catena_machine_get(m, "network", "buffer_bytes", &value),
                     CATENA_OK);
    ck_assert(value == 0);
    ck_assert_int_eq(catena_machine_get(m, "work", "copy_MBps", &value),
                     CATENA_ERR_ARG);
    ck_assert(value == 0);
    catena_machine_close(&m);
}
END_TEST

/* ---- formulas ---- */

static const catena_model_point_t a_point = {.size = sizeof(a_point),
                                             .algorithm = "direct",
                                             .nodes = 2,
                                             .ppn = 2,
                                             .leaders = 1,
                                             .bytes = 8};

/** The time of an alltoall in ns.
 * @param n, k 0: as in catena */
static double nanoseconds(const catena_machine_t *m, const char *algorithm,
                          int M, int ppn, int ln, size_t sz, int n, size_t k)
{
    catena_model_point_t point = {
        sizeof(point), algorithm, M, ppn, ln, sz, n, k};
    double result = -1;
    ck_assert_int_eq(catena_model_alltoall(m, &point, &result), CATENA_OK);
    return result * 1e9;
}

/** L(m, A), with the machine's parameters. */
static double transfer(const catena_machine_t *m, double bytes, double A)
{
    return m->copy_start_ns +
           bytes * fmax(m->copy_per_byte_ns, A * m->domain_per_byte_ns);
}

/** A || T(m) - o(m), equation 4: the sum over the steps of a pipeline; segment
 * s is copied for the i-th time in step s + i. */
static double A_T(const catena_machine_t *m, double A, double bytes, int n,
                  size_t k)
{
    double sum = 0;
    for (size_t j = 0; j + 1 < k + (size_t)n; j++) {
        int tau = 0;
        for (int i = 0; i < n; i++) {
            tau += j >= (size_t)i && j - (size_t)i < k;
        }
        sum += transfer(m, bytes / (double)k, A * tau);
    }
    return sum;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/** Check equations 6 to 10. @param n, k 0: as in catena, n = 1 and fragments */
static void check_point(const catena_machine_t *m, int M, int ppn, int ln,
                        size_t bytes, int n, size_t k)
{
    double sz = (double)bytes, p = (double)M * ppn;
    double L = m->latency_ns, G = m->gap_per_byte_ns, g = m->gap_ns;
    double o = m->send_overhead_ns + m->receive_overhead_ns;
    double b = m->transpose_per_byte_ns * sz * ppn * ppn;
    double n1 = (double)ppn / m->numa_domains;
    double big = sz * ppn * ppn;
    int n_ = n > 0 ? n : 1;
    size_t k_ = k > 0 ? k : (size_t)ceil(big / 65536);
    double eq6 = ppn * (p - ppn) * (L + G * (sz - 1)) + (p - 1) * (o + g);
    double eq7 = M * A_T(m, ppn, sz * ppn, n_, k_) + M * b +
                 (M - 1) * (L + o + (big - 1) * G + g) +
                 M * A_T(m, ppn, sz * ppn, n_, k_);
    double inter = (M - 1) * (L + o / ln + (big - 1) * G + g / ln);
    double eq8 = 2.0 * M / ln * A_T(m, (double)ppn * ln, sz * ppn, n_, k_) +
                 (double)M / ln * b + inter;
    double spread = ppn + (ln - 1) * n1;
    double one = A_T(m, spread, sz * ppn, n_, k_);
    double eq9 = 2.0 * M / ln * one + (double)M / ln * b + inter;
    double intra = (2.0 * M / ln - 1) * one + ((double)M / ln - 1) * b;
    double eq10 = one + fmax(inter, intra) + one + b;
    ck_assert(close_to(nanoseconds(m, "direct", M, ppn, ln, bytes, n, k), eq6));
    ck_assert(close_to(nanoseconds(m, "l-a2a", M, ppn, ln, bytes, n, k), eq7));
    ck_assert(close_to(nanoseconds(m, "mpml", M, ppn, ln, bytes, n, k), eq8));
    ck_assert(close_to(nanoseconds(m, "nmpml", M, ppn, ln, bytes, n, k), eq9));
    ck_assert(
        close_to(nanoseconds(m, "onmpml", M, ppn, ln, bytes, n, k), eq10));
    /* The conclusions of section 6. */
    ck_assert(eq9 <= eq8 * (1 + 1e-12));
    ck_assert(eq10 <= eq9 * (1 + 1e-12));
}

START_TEST(formulas_as_printed)
{
    static const int nodes[] = {8, 50, 256};
    static const int ppns[] = {4, 12, 24, 32};
    static const size_t sizes[] = {1, 8, 100, 512, 65536};
    catena_machine_t *m;
    ck_assert_int_eq(ctn_machine_read(&quiet, ctn_builtin_machine[_i].name, &m),
                     CATENA_OK);
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 4; b++) {
            for (int c = 0; c < 5; c++) {
                for (int ln = 1; ln <= (int)m->numa_domains; ln *= 2) {
                    check_point(m, nodes[a], ppns[b], ln, sizes[c], 0, 0);
                    check_point(m, nodes[a], ppns[b], ln, sizes[c], 1, 1);
                    check_point(m, nodes[a], ppns[b], ln, sizes[c], 2, 1);
                    check_point(m, nodes[a], ppns[b], ln, sizes[c], 2, 5);
                    check_point(m, nodes[a], ppns[b], ln, sizes[c], 3, 2);
                }
            }
        }
    }
    ctn_machine_free(m);
}
END_TEST

/** The algorithms as printed move whole messages. */
START_TEST(plain_algorithms)
{
    static const char *const names[] = {"l-a2a", "mpml", "nmpml"};
    catena_machine_t *m;
    ck_assert_int_eq(ctn_machine_read(&quiet, "hpc-b", &m), CATENA_OK);
    for (int i = 0; i < 3; i++) {
        char plain[32];
        snprintf(plain, sizeof(plain), "%s-plain", names[i]);
        ck_assert(close_to(nanoseconds(m, plain, 50, 24, 4, 4096, 0, 0),
                           nanoseconds(m, names[i], 50, 24, 4, 4096, 1, 1)));
        ck_assert(nanoseconds(m, plain, 50, 24, 4, 4096, 0, 0) <
                  nanoseconds(m, names[i], 50, 24, 4, 4096, 0, 0));
    }
    ctn_machine_free(m);
}
END_TEST

static double on_node(const catena_machine_t *m, const char *algorithm, int ppn,
                      int leaders, size_t bytes, int n, size_t k)
{
    catena_model_point_t point = {sizeof(point), algorithm, 1, ppn,
                                  leaders,       bytes,     n, k};
    double result = -1;
    ck_assert_int_eq(catena_model_node(m, &point, &result), CATENA_OK);
    return result * 1e9;
}

/** Equations 2 to 5. */
START_TEST(messages_within_a_node)
{
    static const size_t sizes[] = {1, 4096, 65536, 65537, 1 << 20};
    catena_machine_t *m;
    ck_assert_int_eq(ctn_machine_read(&quiet, ctn_builtin_machine[_i].name, &m),
                     CATENA_OK);
    double o = m->call_ns + m->signal_ns[CTN_DISTANCE_L3] + m->poll_ns;
    for (int i = 0; i < 5; i++) {
        size_t k = (sizes[i] + 65535) / 65536;
        double sz = (double)sizes[i], S = sz / (double)k;
        double eq2 = o + transfer(m, sz, 1);
        double eq3 =
            o + 2 * transfer(m, S, 1) + (double)(k - 1) * transfer(m, S, 2);
        ck_assert(close_to(on_node(m, "zero-copy", 2, 1, sizes[i], 0, 0), eq2));
        ck_assert(close_to(on_node(m, "staged", 2, 1, sizes[i], 0, 0), eq3));
        for (int A = 1; A < 9; A++) {
            double copies = on_node(m, "zero-copy", A + 1, 1, sizes[i], 0, 0);
            double staged = on_node(m, "staged", A + 1, 1, sizes[i], 0, 0);
            ck_assert(close_to(copies, o + A_T(m, A, sz, 1, 1)));
            ck_assert(close_to(staged, o + A_T(m, A, sz, 2, k)));
            ck_assert(close_to(on_node(m, "gather", 1, A, sizes[i], 0, 0),
                               transfer(m, sz, A)));
            ck_assert(close_to(on_node(m, "gather", 1, A, sizes[i], 2, 3),
                               A_T(m, A, sz, 2, 3)));
            /* Equation 5. */
            ck_assert(copies <= A * eq2 * (1 + 1e-12));
            ck_assert(staged <= A * eq3 * (1 + 1e-12));
        }
    }
    ctn_machine_free(m);
}
END_TEST

/** n and k as in catena. */
START_TEST(paths)
{
    static const struct {
        const char *algorithm;
        size_t bytes;
        int moves;
        size_t segments;
    } cases[] = {
        {"direct", 4096, 1, 1},    {"l-a2a", 113, 1, 1},
        {"l-a2a", 114, 1, 2},      {"onmpml", 4096, 1, 36},
        {"mpml", 4096, 1, 36},     {"nmpml-plain", 4096, 1, 1},
        {"gather", 1 << 20, 1, 1}, {"zero-copy", 1 << 20, 1, 1},
        {"staged", 65536, 2, 1},   {"staged", 65537, 2, 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        catena_model_point_t point = a_point;
        int n = 0;
        size_t k = 0;
        point.algorithm = cases[i].algorithm;
        point.ppn = 24;
        point.bytes = cases[i].bytes;
        ck_assert_int_eq(catena_model_path(&point, &n, &k), CATENA_OK);
        ck_assert_int_eq(n, cases[i].moves);
        ck_assert_uint_eq(k, cases[i].segments);
        point.algorithm = "magic";
        ck_assert_int_eq(catena_model_path(&point, &n, &k), CATENA_ERR_ARG);
    }
}
END_TEST

START_TEST(bad_points)
{
    catena_machine_t *m;
    double result = 0;
    ck_assert_int_eq(ctn_machine_read(&quiet, "dawn", &m), CATENA_OK);
    catena_model_point_t bad[8];
    for (int i = 0; i < 8; i++) {
        bad[i] = a_point;
    }
    bad[0].algorithm = "magic";
    bad[1].nodes = 0;
    bad[2].ppn = 0;
    bad[3].leaders = 0;
    bad[4].bytes = 0;
    bad[5].moves = 17;
    bad[6].moves = -1;
    bad[7].algorithm = "staged";
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(catena_model_alltoall(m, &bad[i], &result),
                         CATENA_ERR_ARG);
        bad[i].algorithm = i == 0 ? "direct" : "zero-copy";
        bad[i].ppn = i == 7 ? 1 : bad[i].ppn; /* no other rank */
        ck_assert_int_eq(catena_model_node(m, &bad[i], &result),
                         CATENA_ERR_ARG);
    }
    ck_assert(result == 0);
    ctn_machine_free(m);
}
END_TEST

UNIT_TEST(model)
{
    Suite *suite = suite_create("model");
    TCase *machines = tcase_create("machines");
    TCase *formulas = tcase_create("formulas");
    tcase_add_test(machines, all_that_ship);
    tcase_add_test(machines, values_and_units);
    tcase_add_loop_test(machines, every_fault_is_refused, 0,
                        sizeof(faults) / sizeof(faults[0]));
    tcase_add_test(machines, optional_parameters);
    tcase_add_test(machines, leaf_switches);
    tcase_add_test(machines, missing_machines);
    tcase_add_test(machines, places);
    tcase_add_test(machines, parameters_by_name);
    tcase_add_loop_test(formulas, formulas_as_printed, 0, 6);
    tcase_add_test(formulas, plain_algorithms);
    tcase_add_loop_test(formulas, messages_within_a_node, 0, 6);
    tcase_add_test(formulas, paths);
    tcase_add_test(formulas, bad_points);
    suite_add_tcase(suite, machines);
    suite_add_tcase(suite, formulas);
    return unit_run(suite);
}
