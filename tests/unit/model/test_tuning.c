/* Tunings: files and their errors, the matching rule, formulas. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <catena/model.h>

#include "coll/bcol/bcol.h"
#include "model/machine.h"
#include "model/tuning_parts.h"

#include "unit/said.h"
#include "unit/unit.h"

static const ctn_log_t log_errors = {.level = CATENA_LOG_ERROR, .rank = -1};

/** Read `text` as a file. */
static catena_status_t read_text(const char *text, const ctn_tuning_t **tuning,
                                 capture_t *said)
{
    char path[] = "/tmp/catena-tuning-XXXXXX.json";
    int fd = mkstemps(path, 5);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    capture_start(said);
    catena_status_t status = ctn_tuning_open(&log_errors, path, tuning);
    capture_stop(said);
    unlink(path);
    return status;
}

/** Open a file with these rules for alltoall. */
static const ctn_tuning_t *with_rules(const char *rules)
{
    char text[2048];
    capture_t said;
    const ctn_tuning_t *tuning = NULL;
    snprintf(text, sizeof(text),
             "{\"name\": \"test\", \"source\": \"made up\", \"alltoall\": "
             "[%s]}",
             rules);
    ck_assert_msg(read_text(text, &tuning, &said) == CATENA_OK, "%s: %s", text,
                  said.text);
    ck_assert_str_eq(said.text, "");
    return tuning;
}

#define ANY UINT64_MAX
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/** The rule for an alltoall (or alltoallv) among nodes of as many ranks. */
static ctn_rule_t find(const ctn_tuning_t *tuning, bool vector, uint32_t nodes,
                       uint32_t ppn, size_t bytes)
{
    ctn_choice_t choice;
    ctn_rules_of_t list = vector ? CTN_RULES_ALLTOALLV : CTN_RULES_ALLTOALL;
    if (ctn_tuning_machine(tuning) != NULL) {
        return ctn_tuning_by_formulas(tuning, list, nodes, ppn, bytes);
    }
    const ctn_rule_facts_t facts = {
        .ranks = nodes <= UINT32_MAX / ppn ? nodes * ppn : UINT32_MAX,
        .nodes = nodes,
        .ppn = ppn};
    ctn_tuning_find(tuning, list, ANY, &facts, bytes, &choice);
    ck_assert_ptr_nonnull(choice.rule);
    ck_assert(ctn_choice_holds(&choice, ANY, false, bytes));
    return *choice.rule;
}

static const char *name_of(const ctn_rule_t *rule)
{
    return ctn_algorithm_names[rule->algorithm];
}

/* ---- rules ---- */

START_TEST(every_key)
{
    capture_t said;
    const ctn_tuning_t *t = NULL;
    ck_assert_int_eq(
        read_text("{\"name\": \"n\", \"source\": \"s\", \"alltoall\": ["
                  "{\"nodes\": [2, 5], \"ppn\": 3, \"bytes_to\": \"64k\","
                  " \"ranks\": [6, 15], \"bytes_to_by_rank\": \"1m\","
                  " \"oversubscribed\": false, \"blocking\": false,"
                  " \"algorithm\": \"bruck\", \"leaders\": 64,"
                  " \"radix\": 4, \"window\": 32}], \"alltoallv\": ["
                  "{\"nodes\": [null, 7], \"ppn\": [2, null],"
                  " \"algorithm\": \"onmpml\", \"leaders\": \"auto\","
                  " \"direct_above\": 100, \"direct_above_w\": \"1k\"}]}",
                  &t, &said),
        CATENA_OK);
    ck_assert_str_eq(ctn_tuning_name(t), "n");
    ctn_rule_t a = find(t, false, 5, 3, 65536);
    ck_assert_str_eq(name_of(&a), "bruck");
    ck_assert_uint_eq(a.nodes.from, 2);
    ck_assert_uint_eq(a.nodes.to, 5);
    ck_assert_uint_eq(a.ppn.from, 3);
    ck_assert_uint_eq(a.ppn.to, 3);
    ck_assert_uint_eq(a.ranks.from, 6);
    ck_assert_uint_eq(a.ranks.to, 15);
    ck_assert_uint_eq(a.bytes_to, 65536);
    ck_assert_uint_eq(a.bytes_to_by_rank, 1 << 20);
    ck_assert_uint_eq(a.oversubscribed, CTN_ACCEPTS_FALSE);
    ck_assert_uint_eq(a.blocking, CTN_ACCEPTS_FALSE);
    ck_assert_uint_eq(a.leaders, 64);
    ck_assert_uint_eq(a.radix, 4);
    ck_assert_uint_eq(a.window, 32);
    ck_assert_uint_eq(a.direct_above, SIZE_MAX);
    ck_assert_str_eq(a.tuning, "n");
    ck_assert_uint_eq(a.number, 1);
    ctn_rule_t v = find(t, true, 1, 1000, SIZE_MAX);
    ck_assert_str_eq(name_of(&v), "onmpml");
    ck_assert_uint_eq(v.nodes.to, 7);
    ck_assert_uint_eq(v.ppn.from, 2);
    ck_assert_uint_eq(v.ppn.to, UINT32_MAX);
    ck_assert_uint_eq(v.bytes_to, SIZE_MAX);
    ck_assert_uint_eq(v.leaders, 0);
    ck_assert_uint_eq(v.direct_above, 100);
    ck_assert_uint_eq(v.direct_above_w, 1024);
    v = find(t, true, 8, 2, 0);
    ck_assert_str_eq(v.tuning, "default");
    ctn_tuning_close(t);
}
END_TEST

START_TEST(first_match)
{
    const ctn_tuning_t *t =
        with_rules("{\"nodes\": 4, \"bytes_to\": 64, \"algorithm\": \"bruck\"},"
                   "{\"nodes\": 4, \"bytes_to\": 512, \"algorithm\": \"mpml\"},"
                   "{\"algorithm\": \"shift\"},"
                   "{\"nodes\": 4, \"algorithm\": \"morton\"}");
    static const struct {
        uint32_t nodes;
        size_t bytes;
        const char *algorithm;
        uint32_t number;
    } cases[] = {{4, 0, "bruck", 1},   {4, 64, "bruck", 1},
                 {4, 65, "mpml", 2},   {4, 512, "mpml", 2},
                 {4, 513, "shift", 3}, {4, SIZE_MAX, "shift", 3},
                 {3, 1, "shift", 3},   {5, 1, "shift", 3},
                 {1, 1, "shift", 3},   {4, 1000, "shift", 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ctn_rule_t rule = find(t, false, cases[i].nodes, 2, cases[i].bytes);
        ck_assert_str_eq(name_of(&rule), cases[i].algorithm);
        ck_assert_uint_eq(rule.number, cases[i].number);
        ck_assert_str_eq(rule.tuning, "test");
    }
    ctn_tuning_close(t);
}
END_TEST

/** A condition, and which of the facts below it accepts. */
static const struct {
    const char *condition;
    unsigned accepted; /* bits */
} conditions[] = {
    {"\"ranks\": 4", 0x00f00},
    {"\"ranks\": [null, 3]", 0x000ff},
    {"\"ranks\": [5, 8]", 0x0f000},
    {"\"oversubscribed\": true", 0xaaaaa},
    {"\"oversubscribed\": false", 0x55555},
    {"\"blocking\": true", 0xccccc},
    {"\"blocking\": false", 0x33333},
    {"\"bytes_to_by_rank\": 2", 0xff000},
    {"\"bytes_to\": 15", 0},
    {"\"bytes_to\": 16", 0xfffff},
};

/** 1, 2, 4, 8 and 16 ranks, oversubscribed or not, blocking or not, all with
 * blocks of 16 bytes. */
START_TEST(every_condition)
{
    static const uint32_t ranks[] = {1, 2, 4, 8, 16};
    char rule[128];
    snprintf(rule, sizeof(rule), "{%s, \"algorithm\": \"shift\"}",
             conditions[_i].condition);
    const ctn_tuning_t *t = with_rules(rule);
    for (unsigned i = 0; i < 20; i++) {
        ctn_choice_t choice;
        const ctn_rule_facts_t facts = {.ranks = ranks[i / 4],
                                        .nodes = ranks[i / 4],
                                        .ppn = 1,
                                        .oversubscribed = i % 2 > 0,
                                        .blocking = i / 2 % 2 > 0};
        ctn_tuning_find(t, CTN_RULES_ALLTOALL, ANY, &facts, 16, &choice);
        bool accepted = (conditions[_i].accepted >> i & 1) != 0;
        ck_assert_str_eq(choice.rule->tuning, accepted ? "test" : "default");
        ck_assert(choice.by_mode == (strstr(rule, "blocking") != NULL));
        ck_assert(ctn_choice_holds(&choice, ANY, facts.blocking, 16));
        ck_assert(ctn_choice_holds(&choice, ANY, !facts.blocking, 16) !=
                  choice.by_mode);
    }
    ctn_tuning_close(t);
}
END_TEST

/** A choice says for which lengths it holds. */
START_TEST(ranges_of_choices)
{
    const ctn_tuning_t *t =
        with_rules("{\"bytes_to\": 64, \"algorithm\": \"bruck\"},"
                   "{\"bytes_to\": 32, \"algorithm\": \"mpml\"},"
                   "{\"bytes_to\": 512, \"algorithm\": \"shift\"},"
                   "{\"algorithm\": \"direct\"}");
    static const size_t ends[][2] = {{0, 64}, {65, 512}, {513, SIZE_MAX}};
    const ctn_rule_facts_t facts = {.ranks = 4, .nodes = 2, .ppn = 2};
    for (int i = 0; i < 6; i++) {
        ctn_choice_t choice;
        ctn_tuning_find(t, CTN_RULES_ALLTOALL, ANY, &facts, ends[i / 2][i % 2],
                        &choice);
        ck_assert_uint_eq(choice.from, ends[i / 2][0]);
        ck_assert_uint_eq(choice.to, ends[i / 2][1]);
    }
    ctn_choice_t choice;
    ctn_tuning_find(t, CTN_RULES_ALLTOALL, ANY & ~CTN_ALGORITHM_BIT(BRUCK),
                    &facts, 8, &choice);
    ck_assert_str_eq(name_of(choice.rule), "mpml");
    ctn_tuning_close(t);
}
END_TEST

static const struct {
    const char *range;
    uint32_t from;
    uint32_t to;
} ranges[] = {
    {"1", 1, 1},
    {"7", 7, 7},
    {"[1, 1]", 1, 1},
    {"[2, 5]", 2, 5},
    {"[2, null]", 2, UINT32_MAX},
    {"[null, 5]", 1, 5},
    {"[null, null]", 1, UINT32_MAX},
    {"4294967295", UINT32_MAX, UINT32_MAX},
};

START_TEST(bounds)
{
    static const uint32_t tried[] = {1, 2, 3, 4, 5, 6, 7, 8, UINT32_MAX};
    static const char *const keys[] = {"nodes", "ppn"};
    for (int k = 0; k < 2; k++) {
        char rule[128];
        snprintf(rule, sizeof(rule), "{\"%s\": %s, \"algorithm\": \"shift\"}",
                 keys[k], ranges[_i].range);
        const ctn_tuning_t *t = with_rules(rule);
        for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
            uint32_t n = tried[i];
            ctn_rule_t found =
                find(t, false, k == 0 ? n : 3, k == 1 ? n : 3, 8);
            bool inside = n >= ranges[_i].from && n <= ranges[_i].to;
            ck_assert_str_eq(found.tuning, inside ? "test" : "default");
        }
        ctn_tuning_close(t);
    }
}
END_TEST

static const struct {
    const char *size;
    size_t bytes;
} sizes[] = {{"0", 0},         {"8", 8},
             {"8192", 8192},   {"\"8k\"", 8192},
             {"\"100\"", 100}, {"\"2mb\"", (size_t)2 << 20},
             {"\"0\"", 0},     {"\"1G\"", 1u << 30}};

START_TEST(units)
{
    char rule[128];
    snprintf(rule, sizeof(rule), "{\"bytes_to\": %s, \"algorithm\": \"shift\"}",
             sizes[_i].size);
    const ctn_tuning_t *t = with_rules(rule);
    ctn_rule_t found = find(t, false, 2, 2, sizes[_i].bytes);
    ck_assert_str_eq(found.tuning, "test");
    ck_assert_uint_eq(found.bytes_to, sizes[_i].bytes);
    found = find(t, false, 2, 2, sizes[_i].bytes + 1);
    ck_assert_str_eq(found.tuning, "default");
    ctn_tuning_close(t);
}
END_TEST

/** If a file has no rules for a collective, the built-in ones decide. */
START_TEST(what_a_file_leaves_open)
{
    const ctn_tuning_t *t = with_rules("");
    ctn_rule_t rule = find(t, false, 1, 4, 8);
    ck_assert_str_eq(name_of(&rule), "direct");
    ck_assert_str_eq(rule.tuning, "default");
    rule = find(t, true, 2, 4, 8);
    ck_assert_str_eq(name_of(&rule), "onmpml");
    ck_assert_uint_eq(rule.direct_above, 16384);
    ck_assert_uint_eq(rule.direct_above_w, 8192);
    rule = find(t, true, 2, 8, 8);
    ck_assert_uint_eq(rule.direct_above, 8192);
    ctn_tuning_close(t);
    ctn_tuning_close(NULL);
}
END_TEST

/* ---- faults ---- */

#define HEAD "{\"name\": \"n\", \"source\": \"s\", "
#define RULE(text) HEAD "\"alltoall\": [{\"algorithm\": \"shift\"}, " text "]}"
#define VECTOR(text) HEAD "\"alltoallv\": [" text "]}"
#define ALGORITHM "\"algorithm\": \"shift\""

static const struct {
    const char *text;
    const char *fact[3]; /* its place, what is expected, what was found */
} faults[] = {
    {"[]", {"object"}},
    {"{", {"1"}},
    {"{\"name\": \"n\", \"name\": \"n\"}", {"duplicate"}},
    {"{\"source\": \"s\"}", {"name"}},
    {"{\"name\": \"\", \"source\": \"s\"}", {"name"}},
    {"{\"name\": 5, \"source\": \"s\"}", {"name", "5"}},
    {"{\"name\": \"n\"}", {"source"}},
    {HEAD "\"alltoal\": []}", {"alltoal"}},
    {HEAD "\"alltoallw\": []}", {"alltoallw"}},
    {HEAD "\"alltoal\": []}", {"alltoal\"; nearest alltoall", "one of name"}},
    {HEAD "\"alltoall\": {}}", {"alltoall", "list"}},
    {HEAD "\"alltoall\": [5]}", {"rule 1", "5"}},
    {RULE("{}"), {"rule 2", "algorithm"}},
    {RULE("{\"algorithm\": \"brook\"}"),
     {"rule 2", "brook", "one of direct, shift, bruck,"}},
    {RULE("{\"algorithm\": \"brook\"}"), {"nearest bruck"}},
    {RULE("{" ALGORITHM ", \"ranks\": 0}"), {"ranks", "from 1", "found 0"}},
    {RULE("{" ALGORITHM ", \"blocking\": 1}"), {"true or false", "found 1"}},
    {RULE("{" ALGORITHM ", \"oversubscribed\": null}"), {"true or false"}},
    {RULE("{" ALGORITHM ", \"bytes_to_by_rank\": -1}"), {"bytes_to_by_rank"}},
    {RULE("{\"algorithm\": \"auto\"}"), {"rule 2", "auto"}},
    {RULE("{\"algorithm\": 5}"), {"rule 2", "5"}},
    {RULE("{" ALGORITHM ", \"nodez\": 1}"),
     {"rule 2", "nodez", "nearest nodes"}},
    {RULE("{" ALGORITHM ", \"direct_above\": 1}"), {"rule 2", "direct_above"}},
    {VECTOR("{" ALGORITHM ", \"bytes_to\": 1}"), {"rule 1", "bytes_to"}},
    {RULE("{" ALGORITHM ", \"keys\": true}"), {"rule 2", "keys"}},
    {HEAD "\"split\": [{\"nodes\": 1, \"algorithm\": \"hash\"}]}",
     {"split, rule 1", "nodes", "expected one of ranks, keys, algorithm"}},
    {VECTOR("{\"algorithm\": \"bruck\"}"), {"rule 1", "bruck"}},
    {VECTOR("{\"algorithm\": \"morton\"}"), {"rule 1", "morton"}},
    {RULE("{" ALGORITHM ", \"nodes\": 0}"), {"nodes", "0"}},
    {RULE("{" ALGORITHM ", \"nodes\": 4294967296}"), {"nodes", "4294967296"}},
    {RULE("{" ALGORITHM ", \"nodes\": -1}"), {"nodes", "1"}},
    {RULE("{" ALGORITHM ", \"nodes\": 1.5}"), {"nodes", "1.5"}},
    {RULE("{" ALGORITHM ", \"nodes\": \"4\"}"), {"nodes", "4"}},
    {RULE("{" ALGORITHM ", \"nodes\": null}"), {"nodes", "null"}},
    {RULE("{" ALGORITHM ", \"ppn\": []}"), {"ppn"}},
    {RULE("{" ALGORITHM ", \"ppn\": [1]}"), {"ppn", "1"}},
    {RULE("{" ALGORITHM ", \"ppn\": [1, 2, 3]}"), {"ppn", "3"}},
    {RULE("{" ALGORITHM ", \"ppn\": [3, 2]}"), {"ppn", "3", "2"}},
    {RULE("{" ALGORITHM ", \"ppn\": [0, 2]}"), {"ppn", "0", "2"}},
    {RULE("{" ALGORITHM ", \"ppn\": [1, \"2\"]}"), {"ppn", "2"}},
    {RULE("{" ALGORITHM ", \"bytes_to\": -1}"), {"bytes_to", "1"}},
    {RULE("{" ALGORITHM ", \"bytes_to\": 1.5}"), {"bytes_to", "1.5"}},
    {RULE("{" ALGORITHM ", \"bytes_to\": \"64q\"}"), {"bytes_to", "64q"}},
    {RULE("{" ALGORITHM ", \"bytes_to\": \"\"}"), {"bytes_to"}},
    {RULE("{" ALGORITHM ", \"bytes_to\": null}"), {"bytes_to", "null"}},
    {VECTOR("{" ALGORITHM ", \"direct_above\": \"all\"}"),
     {"direct_above", "all"}},
    {VECTOR("{" ALGORITHM ", \"direct_above_w\": -1}"),
     {"direct_above_w", "1"}},
    {RULE("{" ALGORITHM ", \"leaders\": 0}"), {"leaders", "64", "0"}},
    {RULE("{" ALGORITHM ", \"leaders\": 65}"), {"leaders", "64", "65"}},
    {RULE("{" ALGORITHM ", \"leaders\": \"all\"}"), {"leaders", "all"}},
    {RULE("{" ALGORITHM ", \"radix\": 1}"), {"radix", "65536", "1"}},
    {RULE("{" ALGORITHM ", \"window\": 33}"), {"window", "32", "33"}},
};

START_TEST(every_fault_is_named)
{
    capture_t said;
    const ctn_tuning_t *tuning = NULL;
    ck_assert_int_eq(read_text(faults[_i].text, &tuning, &said),
                     CATENA_ERR_ARG);
    ck_assert_ptr_null(tuning);
    const char *const *fact = faults[_i].fact;
    said_facts(&said, "json", fact[0], fact[1], fact[2], NULL);
}
END_TEST

START_TEST(missing_tunings)
{
    static const ctn_log_t quiet = {.level = CATENA_LOG_FATAL, .rank = -1};
    const ctn_tuning_t *tuning = NULL;
    ck_assert_int_eq(ctn_tuning_open(&quiet, "best", &tuning), CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_tuning_open(&quiet, "", &tuning), CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_tuning_open(&quiet, "machine:", &tuning),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_tuning_open(&quiet, "machine:hpc-c", &tuning),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_tuning_open(&quiet, "/nowhere/x", &tuning),
                     CATENA_ERR_SYSTEM);
    ck_assert_int_eq(ctn_tuning_open(&quiet, "machine:/nowhere/x", &tuning),
                     CATENA_ERR_SYSTEM);
    ck_assert_ptr_null(tuning);
}
END_TEST

/* ---- the one that ships ---- */

static const size_t some_sizes[] = {0,    1,    8,    64,    65,      512,
                                    4096, 8192, 8193, 65536, 1 << 20, SIZE_MAX};

enum { SIZES = sizeof(some_sizes) / sizeof(some_sizes[0]) };

START_TEST(default_always_finds)
{
    static const uint32_t counts[] = {1,  2,  3,   4,   7,     8,         15,
                                      16, 17, 100, 500, 65536, UINT32_MAX};
    static const char *const names[] = {NULL, "auto", "default"};
    const size_t n = sizeof(counts) / sizeof(counts[0]);
    const ctn_tuning_t *t = NULL;
    ck_assert_int_eq(ctn_tuning_open(&log_errors, names[_i], &t), CATENA_OK);
    ck_assert_str_eq(ctn_tuning_name(t), "default");
    for (size_t i = 0; i < n * n * SIZES * 2; i++) {
        uint32_t nodes = counts[i % n];
        ctn_rule_t rule =
            find(t, i / n / n / SIZES == 1, nodes, counts[i / n % n],
                 some_sizes[i / n / n % SIZES]);
        ck_assert(rule.number > 0 && rule.algorithm < CTN_ALGORITHMS);
        if (nodes == 1) {
            ck_assert_str_eq(name_of(&rule), "direct");
        }
    }
    ctn_tuning_close(t);
}
END_TEST

#define BIT CTN_ALGORITHM_BIT
#define SHM                                                                    \
    (BIT(FLAT) | BIT(ROOT) | BIT(STAGED) | BIT(ZERO_COPY) | BIT(SHARED) |      \
     BIT(LAST) | BIT(CHAIN))
#define TREES (BIT(BINOMIAL) | BIT(CHAIN) | BIT(LINEAR))
#define P2P (~SHM & ~BIT(DIRECT))

/** Where the rules that ship change their mind, and what they say up to there
 * and above. */
static const struct {
    ctn_rules_of_t list;
    ctn_algorithm_set_t possible;
    uint32_t ranks;
    bool oversubscribed;
    size_t bytes;
    const char *upto;
    const char *above;
} limits[] = {
    {CTN_RULES_BARRIER, SHM, 8, true, 0, "flat", "flat"},
    {CTN_RULES_BARRIER, SHM, 8, false, 0, "flat", "flat"},
    {CTN_RULES_BARRIER, SHM, 9, false, 0, "root", "root"},
    {CTN_RULES_BARRIER, P2P, 9, false, 0, "dissemination", "dissemination"},
    {CTN_RULES_BARRIER, P2P, 2, true, 0, "tree", "tree"},
    {CTN_RULES_BCAST, SHM, 2, false, 32767, "staged", "zero-copy"},
    {CTN_RULES_BCAST, SHM, 2, true, 8191, "staged", "staged"},
    {CTN_RULES_BCAST, SHM, 3, false, 32768, "staged", "staged"},
    {CTN_RULES_BCAST, TREES, 8, false, 256, "linear", "binomial"},
    {CTN_RULES_BCAST, TREES, 9, false, 256, "binomial", "binomial"},
    {CTN_RULES_BCAST, TREES, 8, false, 32767, "binomial", "chain"},
    {CTN_RULES_BCAST, TREES, 9, false, 32767, "binomial", "binomial"},
    {CTN_RULES_BCAST, TREES, 8, true, 32767, "linear", "linear"},
    {CTN_RULES_BCAST, TREES, 9, true, 32767, "binomial", "binomial"},
    {CTN_RULES_REDUCE, SHM, 4, false, 1023, "flat", "shared"},
    {CTN_RULES_REDUCE, SHM, 11, false, 511, "flat", "shared"},
    {CTN_RULES_REDUCE, SHM, 12, false, 255, "flat", "shared"},
    {CTN_RULES_REDUCE, SHM, 3, false, 16383, "flat", "flat"},
    {CTN_RULES_REDUCE, SHM, 4, true, 16383, "flat", "flat"},
    {CTN_RULES_REDUCE, TREES, 4, false, 32767, "linear", "chain"},
    {CTN_RULES_REDUCE, TREES, 8, false, 256, "linear", "binomial"},
    {CTN_RULES_REDUCE, TREES, 9, false, 256, "binomial", "binomial"},
    {CTN_RULES_REDUCE, TREES, 8, false, 32767, "binomial", "chain"},
    {CTN_RULES_REDUCE, TREES, 9, false, 32767, "binomial", "binomial"},
    {CTN_RULES_REDUCE, TREES, 8, true, 32767, "linear", "linear"},
    {CTN_RULES_REDUCE, TREES, 9, true, 32767, "binomial", "binomial"},
    {CTN_RULES_ALLREDUCE, SHM, 2, false, 2048, "flat", "flat"},
    {CTN_RULES_ALLREDUCE, SHM, 3, false, 2048, "flat", "shared"},
    {CTN_RULES_ALLREDUCE, SHM, 5, false, 1023, "flat", "shared"},
    {CTN_RULES_ALLREDUCE, SHM, 11, false, 511, "flat", "shared"},
    {CTN_RULES_ALLREDUCE, SHM, 12, false, 255, "flat", "shared"},
    {CTN_RULES_ALLREDUCE, SHM, 2, true, 48, "flat", "last"},
    {CTN_RULES_ALLREDUCE, SHM, 2, true, 2048, "last", "shared"},
    {CTN_RULES_ALLREDUCE, SHM, 7, true, 7168, "last", "shared"},
    {CTN_RULES_ALLREDUCE, P2P, 3, false, 8192, "recursive-doubling",
     "recursive-doubling"},
    {CTN_RULES_ALLREDUCE, P2P, 4, false, 8192, "recursive-doubling",
     "rabenseifner"},
    {CTN_RULES_ALLREDUCE, P2P, 4, true, 8192, "tree", "tree"},
    {CTN_RULES_ALLREDUCE, P2P, 3, true, 64, "tree", "tree"},
    {CTN_RULES_ALLREDUCE, P2P, 2, true, 64, "recursive-doubling", "tree"},
    {CTN_RULES_GATHER, SHM, 2, false, 16383, "staged", "zero-copy"},
    {CTN_RULES_GATHER, SHM, 3, false, 8191, "staged", "zero-copy"},
    {CTN_RULES_GATHER, SHM, 2, true, 131072, "staged", "zero-copy"},
    {CTN_RULES_GATHER, P2P, 8, true, 0, "linear", "linear"},
    {CTN_RULES_GATHER, P2P, 9, true, 0, "tree", "tree"},
    {CTN_RULES_SCATTER, SHM, 2, false, 16383, "staged", "zero-copy"},
    {CTN_RULES_SCATTER, SHM, 3, false, 2047, "staged", "zero-copy"},
    {CTN_RULES_SCATTER, SHM, 2, true, 2047, "staged", "zero-copy"},
    {CTN_RULES_SCATTER, P2P, 8, false, 0, "linear", "linear"},
    {CTN_RULES_SCATTER, P2P, 9, false, 0, "tree", "tree"},
    {CTN_RULES_ALLGATHER, SHM, 2, false, 4095, "staged", "zero-copy"},
    {CTN_RULES_ALLGATHER, SHM, 2, true, 131072, "staged", "zero-copy"},
    {CTN_RULES_ALLGATHER, P2P, 9, true, 4095, "bruck", "bruck"},
    {CTN_RULES_ALLGATHER, BIT(RING), 9, true, 4095, "ring", "ring"},
    {CTN_RULES_REDUCE_SCATTER, SHM, 2, false, 4095, "staged", "zero-copy"},
    {CTN_RULES_REDUCE_SCATTER, SHM, 2, true, 131071, "staged", "zero-copy"},
    {CTN_RULES_REDUCE_SCATTER, P2P, 2, false, 131072, "recursive-halving",
     "ring"},
    {CTN_RULES_REDUCE_SCATTER, BIT(RECURSIVE_HALVING), 2, true, 131072,
     "recursive-halving", "recursive-halving"},
    {CTN_RULES_SCAN, SHM, 5, false, 16384, "flat", "chain"},
    {CTN_RULES_SCAN, SHM, 5, true, 16384, "flat", "chain"},
    {CTN_RULES_SCAN, P2P, 5, false, 16384, "recursive-doubling",
     "recursive-doubling"},
    {CTN_RULES_SCAN, BIT(CHAIN), 5, false, 512, "chain", "chain"},
};

START_TEST(limits_that_ship)
{
    const ctn_rule_facts_t facts = {.ranks = limits[_i].ranks,
                                    .nodes = 1,
                                    .ppn = limits[_i].ranks,
                                    .oversubscribed =
                                        limits[_i].oversubscribed};
    for (size_t more = 0; more < 2; more++) {
        ctn_choice_t choice;
        ctn_tuning_find(&ctn_tuning_default, limits[_i].list,
                        limits[_i].possible, &facts, limits[_i].bytes + more,
                        &choice);
        ck_assert_str_eq(name_of(choice.rule),
                         more ? limits[_i].above : limits[_i].upto);
    }
}
END_TEST

/** Allreduces between nodes: by the members that share a node, too. */
START_TEST(limits_between_nodes)
{
    static const struct {
        uint32_t nodes, ppn;
        bool oversubscribed;
        size_t bytes;
        const char *name;
    } calls[] = {{4, 1, false, 3073, "recursive-doubling"},
                 {4, 1, false, 8193, "rabenseifner"},
                 {2, 2, false, 3072, "recursive-doubling"},
                 {2, 2, false, 3073, "rabenseifner"},
                 {2, 8, false, 3072, "recursive-doubling"},
                 {2, 9, false, 3072, "tree"},
                 {2, 9, false, 3073, "rabenseifner"},
                 {2, 9, true, 3073, "tree"}};
    for (int i = 0; i < COUNT(calls); i++) {
        ctn_choice_t choice;
        const ctn_rule_facts_t facts = {.ranks = calls[i].nodes * calls[i].ppn,
                                        .nodes = calls[i].nodes,
                                        .ppn = calls[i].ppn,
                                        .oversubscribed =
                                            calls[i].oversubscribed};
        ctn_tuning_find(&ctn_tuning_default, CTN_RULES_ALLREDUCE, P2P, &facts,
                        calls[i].bytes, &choice);
        ck_assert_str_eq(name_of(choice.rule), calls[i].name);
    }
}
END_TEST

/** Splits: by the size of the group, by keys, and by what can run. */
START_TEST(limits_of_splits)
{
    static const struct {
        uint32_t ranks;
        bool keys;
        ctn_algorithm_set_t possible;
        const char *name;
    } splits[] = {{1024, true, ANY, "allgather-fast"},
                  {1024, false, ANY, "allgather-fast"},
                  {1025, true, ANY, "bitonic"},
                  {1025, false, ANY, "hash64"},
                  {1025, false, ANY & ~BIT(HASH64), "bitonic"}};
    for (int i = 0; i < COUNT(splits); i++) {
        ctn_choice_t choice;
        const ctn_rule_facts_t facts = {.ranks = splits[i].ranks,
                                        .nodes = 1,
                                        .ppn = splits[i].ranks,
                                        .keys = splits[i].keys};
        ctn_tuning_find(&ctn_tuning_default, CTN_RULES_SPLIT,
                        splits[i].possible, &facts, 0, &choice);
        ck_assert_str_eq(name_of(choice.rule), splits[i].name);
    }
}
END_TEST

/** Each component finds a rule for each of its collectives, whatever the facts
 * and whichever one of its algorithms can run. */
START_TEST(rules_for_all)
{
    static const ctn_bcol_t *const bcols[] = {&ctn_bcol_shm, &ctn_bcol_p2p,
                                              &ctn_bcol_ucx};
    for (int i = 0; i < CTN_BASICS * 3 * 64; i++) {
        ctn_basic_kind_t kind = (ctn_basic_kind_t)(i % CTN_BASICS);
        const ctn_bcol_t *bcol = bcols[i / CTN_BASICS % 3];
        unsigned bits = (unsigned)(i / CTN_BASICS / 3);
        const ctn_sbgp_t sbgp = {.size = 1 + bits % 16,
                                 .nodes = 1,
                                 .ppn = 1 + bits % 16,
                                 .oversubscribed = bits / 16 % 2 > 0};
        ctn_exec_t exec = {.tuning = &ctn_tuning_default};
        ctn_module_t module = {.bcol = bcol, .exec = &exec, .sbgp = &sbgp};
        ctn_basic_coll_t basic = {.blocking = bits / 32 > 0};
        for (size_t bytes = 0; bytes < 300000 && bcol->algorithms[kind] != 0;
             bytes = 2 * bytes + 1) {
            ctn_algorithm_name_t name = ctn_basic_choose(
                &module, kind, bcol->algorithms[kind], &basic, bytes);
            ck_assert(ctn_algorithm_in(bcol->algorithms[kind], name));
        }
    }
}
END_TEST

/** embed.py and the reader make the same rules of the file. */
START_TEST(built_in_is_as_read)
{
    const ctn_tuning_t *t = NULL;
    ck_assert_int_eq(ctn_tuning_open(&log_errors,
                                     TEST_DATA
                                     "/../../../lib/model/tuning/default.json",
                                     &t),
                     CATENA_OK);
    ck_assert_ptr_ne(t, &ctn_tuning_default);
    ck_assert_str_eq(t->name, ctn_tuning_default.name);
    for (int list = 0; list < CTN_RULES_LISTS; list++) {
        ck_assert_uint_eq(t->list[list].count,
                          ctn_tuning_default.list[list].count);
        for (size_t i = 0; i < t->list[list].count; i++) {
            ctn_rule_t read = t->list[list].rule[i];
            ctn_rule_t made = ctn_tuning_default.list[list].rule[i];
            ck_assert_str_eq(read.tuning, made.tuning);
            read.tuning = made.tuning;
            ck_assert_mem_eq(&read, &made, sizeof(read));
        }
    }
    ctn_tuning_close(t);
}
END_TEST

/* ---- formulas ---- */

static double seconds(const catena_machine_t *machine, const char *algorithm,
                      uint32_t nodes, uint32_t ppn, uint32_t leaders,
                      size_t bytes)
{
    catena_model_point_t point = {.size = sizeof(point),
                                  .algorithm = algorithm,
                                  .nodes = (int)nodes,
                                  .ppn = (int)ppn,
                                  .leaders = (int)leaders,
                                  .bytes = bytes > 0 ? bytes : 1};
    double result = -1;
    ck_assert_int_eq(catena_model_alltoall(machine, &point, &result),
                     CATENA_OK);
    return result;
}

/** Check that the selection is possible, and none is faster. */
static void check_choice(const ctn_tuning_t *t, const catena_machine_t *m,
                         uint32_t nodes, uint32_t ppn, size_t bytes)
{
    static const char *const families[] = {"mpml", "nmpml", "onmpml"};
    ctn_rule_t rule = find(t, false, nodes, ppn, bytes);
    uint32_t leaders = rule.leaders > 0 ? rule.leaders : 1;
    double chosen = seconds(m, name_of(&rule), nodes, ppn, leaders, bytes);
    ck_assert_uint_eq(rule.number, 0);
    ck_assert_str_eq(rule.tuning, ctn_tuning_name(t));
    ck_assert_uint_le(leaders, m->ports);
    ck_assert_uint_le(leaders, ppn);
    if (nodes == 1) {
        ck_assert_str_eq(name_of(&rule), "direct");
        return;
    }
    ck_assert(chosen <= seconds(m, "direct", nodes, ppn, 1, bytes));
    ck_assert(chosen <= seconds(m, "l-a2a", nodes, ppn, 1, bytes));
    for (uint32_t n = 1; n <= ppn && n <= m->ports && n <= 64; n *= 2) {
        for (int i = 0; i < 3; i++) {
            ck_assert(chosen <= seconds(m, families[i], nodes, ppn, n, bytes));
        }
    }
    /* For blocks of different lengths: leaders up to the length from which
     * direct is faster. */
    ctn_rule_t v = find(t, true, nodes, ppn, bytes);
    ck_assert_str_eq(name_of(&v), name_of(&rule));
    if (v.direct_above != SIZE_MAX) {
        size_t above = 2 * v.direct_above;
        ck_assert(seconds(m, "direct", nodes, ppn, 1, above) <
                  seconds(m, name_of(&v), nodes, ppn, leaders, above));
    }
}

START_TEST(formulas_decide)
{
    static const char *const machines[] = {"hpc-a",  "hpc-b",  "dawn",
                                           "sierra", "jaguar", "smoky"};
    static const uint32_t counts[] = {1, 2, 4, 7, 16, 24, 100, 4096};
    char name[32];
    catena_machine_t *m;
    const ctn_tuning_t *t = NULL;
    snprintf(name, sizeof(name), "machine:%s", machines[_i]);
    ck_assert_int_eq(ctn_tuning_open(&log_errors, name, &t), CATENA_OK);
    ck_assert_str_eq(ctn_tuning_name(t), name);
    ck_assert_int_eq(ctn_machine_read(&log_errors, machines[_i], &m),
                     CATENA_OK);
    for (int a = 0; a < 8; a++) {
        for (int b = 0; b < 8; b++) {
            for (int c = 0; c < SIZES - 1; c++) {
                check_choice(t, m, counts[a], counts[b], some_sizes[c]);
            }
        }
    }
    ctn_machine_free(m);
    ctn_tuning_close(t);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, every_key);
    tcase_add_test(tcase, first_match);
    tcase_add_loop_test(tcase, every_condition, 0, COUNT(conditions));
    tcase_add_test(tcase, ranges_of_choices);
    tcase_add_test(tcase, built_in_is_as_read);
    tcase_add_loop_test(tcase, limits_that_ship, 0, COUNT(limits));
    tcase_add_test(tcase, limits_between_nodes);
    tcase_add_test(tcase, limits_of_splits);
    tcase_add_test(tcase, rules_for_all);
    tcase_add_loop_test(tcase, bounds, 0, COUNT(ranges));
    tcase_add_loop_test(tcase, units, 0, COUNT(sizes));
    tcase_add_test(tcase, what_a_file_leaves_open);
    tcase_add_loop_test(tcase, every_fault_is_named, 0, COUNT(faults));
    tcase_add_test(tcase, missing_tunings);
    tcase_add_loop_test(tcase, default_always_finds, 0, 3);
    tcase_add_loop_test(tcase, formulas_decide, 0, 6);
}

UNIT_TEST(tuning)
{
    return unit_main("tuning", 60, add_cases);
}
