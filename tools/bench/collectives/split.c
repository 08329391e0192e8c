/* catena-bench split: splits of the world by colors and keys ([Moody],
 * section 4). The timed part is a split and the first barrier of the new group,
 * which waits for work that the split may have deferred. Groups are freed
 * outside the timed part.
 *
 * The sizes of the new groups differ by at most one rank. Their members are
 * chosen by a random permutation of the ranks of the world; keys are another
 * one. With -c every call has other colors and keys. Each variant splits a
 * duplicate of the world of its own, so that none finds what another built. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "report.h"

enum {
    DEFAULT_GROUPS = 2,
    LETTERS = 26,
    NUMBER_LETTERS = 5, /* of a string, encode a group: 26^5 groups */
    STRING_MOST = 65536,
    CHENG_LEAST = 128, /* limits of M in the algorithm cheng:M */
    CHENG_MOST = 8192
};

/* Arguments of bench_seed: random numbers for different purposes. */
enum purpose { COLORS, KEYS, STRINGS };

/* For messages. */
#define ALGORITHMS                                                             \
    "auto, allgather, allgather-fast, gather-scatter, cheng, cheng:M (128 to " \
    "8192), bitonic, radix, radix-plain, hash, hash-plain or hash64"

/* The split to measure, from the options. */
struct choice {
    size_t groups;       /* BENCH_AUTO: one per rank */
    size_t string_bytes; /* of colors; 0: they are int64_t */
    bool split;          /* into groups by color; false: --no-split */
    bool reorder;        /* members are ordered by key; false: --no-reorder */
};

/* call->state */
struct split {
    struct choice choice;
    size_t groups;     /* number of new groups */
    uint64_t stamp;    /* colors and keys depend on it */
    int64_t number;    /* of this rank's new group: the color, if no string */
    int64_t key;       /* of this rank */
    catena_split_t by; /* arguments of catena_group_split_by */
    catena_group_t *made; /* the new group */
    double cold_s;        /* time of the group's first split, which builds what
                           * later ones find; without the barrier */
    double split_s;       /* of the last split */
    char string[];        /* this rank's color, if it is a string */
};

/* ---- options ---- */

/* Whether the name is "cheng:M". M has no unit such as "k", because the library
 * takes none here. */
static bool is_cheng(const char *name)
{
    static const char prefix[] = "cheng:";
    const char *number = name + sizeof(prefix) - 1;
    size_t items;

    return strncmp(name, prefix, sizeof(prefix) - 1) == 0 &&
           number[strspn(number, "0123456789")] == '\0' &&
           bench_parse_size(number, &items) && items >= CHENG_LEAST &&
           items <= CHENG_MOST;
}

static bool is_algorithm(const char *name)
{
    static const char *const known[] = {
        "auto",  "allgather",  "allgather-fast", "gather-scatter",
        "cheng", "bitonic",    "radix",          "radix-plain",
        "hash",  "hash-plain", "hash64",
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return is_cheng(name);
}

/* Read "int" or "string:LEN". */
static bool read_color(const char *text, size_t *string_bytes)
{
    static const char prefix[] = "string:";

    *string_bytes = 0;
    if (strcmp(text, "int") == 0)
        return true;
    return strncmp(text, prefix, sizeof(prefix) - 1) == 0 &&
           bench_parse_size(text + sizeof(prefix) - 1, string_bytes) &&
           *string_bytes >= NUMBER_LETTERS && *string_bytes <= STRING_MOST;
}

/* Read the options. Returns the error and sets `found` to the wrong value;
 * NULL: no error. */
static const char *read_choice(const struct bench_split_options *options,
                               struct choice *choice, const char **found)
{
    const char *key = options->key != NULL ? options->key : "int";
    const char *color = options->color != NULL ? options->color : "int";

    *choice = (struct choice){.groups = options->no_split ? 1 : DEFAULT_GROUPS,
                              .split = !options->no_split,
                              .reorder = !options->no_reorder &&
                                         strcmp(key, "none") != 0};
    *found = options->groups != NULL ? options->groups : options->color;
    if (options->no_split && *found != NULL)
        return "--no-split: expected neither --groups nor --color with it";
    *found = options->groups;
    if (*found != NULL && strcmp(*found, "N") == 0)
        choice->groups = BENCH_AUTO;
    else if (*found != NULL && (!bench_parse_size(*found, &choice->groups) ||
                                choice->groups == 0))
        return "--groups: expected a number from 1, or N: as many as ranks";
    *found = color;
    if (!read_color(color, &choice->string_bytes))
        return "--color: expected int, or string:LEN with LEN from 5 to 64k";
    *found = key;
    if (strcmp(key, "int") != 0 && strcmp(key, "none") != 0)
        return "--key: expected int or none";
    if (options->no_reorder && options->key != NULL && key[0] != 'n')
        return "--no-reorder: expected no --key with it";
    return NULL;
}

static const char *check(const struct bench_options *options,
                         const char **found)
{
    struct choice choice;
    const char *wrong = read_choice(&options->split, &choice, found);

    for (size_t i = 0; i < options->algorithm_count && wrong == NULL; i++) {
        *found = options->algorithms[i];
        if (!is_algorithm(*found))
            return "-a: expected " ALGORITHMS;
        if (strncmp(*found, "radix", 5) == 0 && choice.string_bytes > 0)
            return "-a: expected one that takes strings (--color)";
    }
    return wrong;
}

static const char *refuse(const struct bench *bench)
{
    const struct bench_split_options *options = &bench->options->split;
    const char *found;
    struct choice choice;

    (void)read_choice(options, &choice, &found);
    if (options->groups != NULL && choice.groups != BENCH_AUTO &&
        choice.groups > (size_t)bench->place.ranks)
        return "--groups: expected at least as many ranks as groups";
    return NULL;
}

/* ---- colors and keys ---- */

/* The number of a rank's new group. The ranks are permuted, so that the members
 * of a group are not those of one node. */
static int64_t group_of(const struct split *split, int rank, int size)
{
    uint64_t seed = bench_seed(split->stamp, COLORS, 0);

    return (int64_t)(bench_permute((uint64_t)rank, (uint64_t)size, seed) %
                     split->groups);
}

static int64_t key_of(const struct split *split, int rank, int size)
{
    uint64_t seed = bench_seed(split->stamp, KEYS, 0);

    if (!split->choice.reorder)
        return 0;
    return (int64_t)bench_permute((uint64_t)rank, (uint64_t)size, seed);
}

/* Write letters that only this group has: the last ones encode its number, the
 * others are random. */
static void spell(char *text, size_t bytes, int64_t group)
{
    uint64_t number, numbers = 1; /* of groups */
    size_t i = 0;

    for (int letter = 0; letter < NUMBER_LETTERS; letter++)
        numbers *= LETTERS;
    number = bench_permute((uint64_t)group, numbers, STRINGS);
    for (; i < bytes - NUMBER_LETTERS; i++)
        text[i] =
            (char)('a' + bench_seed(STRINGS, (int)group, (int)i) / 3 % LETTERS);
    for (; i < bytes; i++, number /= LETTERS)
        text[i] = (char)('a' + number % LETTERS);
}

static void fill(struct bench_call *call, uint64_t stamp)
{
    struct split *split = call->state;

    split->stamp = stamp;
    split->number = group_of(split, call->rank, call->size);
    split->key = key_of(split, call->rank, call->size);
    if (split->choice.string_bytes > 0)
        spell(split->string, split->choice.string_bytes, split->number);
}

static catena_status_t prepare(struct bench_call *call)
{
    const char *found;
    struct choice choice;
    struct split *split;

    (void)read_choice(&call->bench->options->split, &choice, &found);
    split = bench_alloc(call->bench, 1, sizeof(*split) + choice.string_bytes);
    split->choice = choice;
    split->groups = (size_t)call->size;
    if (choice.groups < split->groups) /* the default also suits one rank */
        split->groups = choice.groups;
    split->by.size = sizeof(split->by);
    split->by.algorithm = call->algorithm;
    split->by.flags = (choice.split ? 0 : CATENA_SPLIT_NO_SPLIT) |
                      (choice.reorder ? 0 : CATENA_SPLIT_NO_REORDER);
    if (choice.split && choice.string_bytes > 0) {
        split->by.color = split->string;
        split->by.color_bytes = choice.string_bytes;
    } else if (choice.split) {
        split->by.color = &split->number;
        split->by.color_bytes = sizeof(split->number);
        split->by.color_compare = catena_compare_int64;
    }
    if (choice.reorder) {
        split->by.key = &split->key;
        split->by.key_bytes = sizeof(split->key);
        split->by.key_compare = catena_compare_int64;
    }
    call->state = split;
    fill(call, 0);
    return catena_group_dup(call->bench->world, &call->group);
}

static void release(struct bench_call *call)
{
    catena_status_t status = catena_group_free(&call->group);

    if (status != CATENA_OK)
        bench_die(call->bench, "freeing a group", status);
    free(call->state);
    call->state = NULL;
}

/* ---- the call ---- */

static catena_status_t blocking(struct bench_call *call)
{
    catena_context_t *context = call->bench->context;
    struct split *split = call->state;
    double begin = catena_time(context);
    catena_status_t status;

    status = catena_group_split_by(call->group, &split->by, &split->made);
    split->split_s = catena_time(context) - begin;
    if (split->cold_s == 0)
        split->cold_s = split->split_s;
    return status == CATENA_OK ? catena_barrier(split->made) : status;
}

static catena_status_t finish(struct bench_call *call, uint64_t *metrics)
{
    struct split *split = call->state;
    catena_group_stats_t stats = {.size = sizeof(stats)};
    catena_status_t status;

    status = catena_group_get_stats(call->group, &stats);
    if (status != CATENA_OK)
        return status;
    metrics[0] = split->groups;
    metrics[1] = split->by.color_bytes;
    metrics[2] = split->by.key_bytes;
    metrics[3] = stats.split_rounds;
    metrics[4] = stats.split_messages;
    metrics[5] = stats.split_bytes;
    metrics[6] = stats.split_memory;
    metrics[7] = (uint64_t)(split->split_s * 1e9);
    metrics[8] = (uint64_t)(split->cold_s * 1e9);
    status = catena_group_free(&split->made);
    split->made = NULL;
    return status;
}

static void describe(const struct bench_call *call, struct bench_report *report)
{
    const struct split *split = call->state;
    catena_group_stats_t stats = {.size = sizeof(stats)};
    char order[64] = "keys are a permutation of the ranks (int64)";
    char colors[64] = "colors are int64";
    catena_status_t status = catena_group_get_stats(call->group, &stats);

    if (status != CATENA_OK)
        bench_die(call->bench, "size of a group", status);
    if (split->choice.string_bytes > 0)
        snprintf(colors, sizeof(colors), "colors are strings of %zu letters",
                 split->choice.string_bytes);
    if (!split->choice.split)
        snprintf(colors, sizeof(colors), "no colors");
    if (!split->choice.reorder)
        snprintf(order, sizeof(order), "no keys");
    bench_report_note(report, "split: %zu group%s; %s; %s", split->groups,
                      split->groups == 1 ? "" : "s", colors, order);
    bench_report_note(report,
                      "a group takes %zu B, and %zu B of the shared heap "
                      "(addresses)",
                      stats.handle_bytes, stats.block_bytes);
    bench_report_note(report,
                      "calls: the split and a barrier of the new group; Rounds "
                      "to Split(ns): of the last split alone, most of a rank; "
                      "Cold(ns): of the first one");
}

/* ---- checks ---- */

/* A member of the new group. */
struct member {
    int64_t key;
    int rank; /* in the parent */
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* List the expected members of this rank's new group, ordered by key, and by
 * rank where keys are equal. Returns their number. */
static int list_members(const struct bench_call *call, struct member *members)
{
    const struct split *split = call->state;
    int count = 0;

    for (int rank = 0; rank < call->size; rank++)
        if (group_of(split, rank, call->size) == split->number)
            members[count++] =
                (struct member){key_of(split, rank, call->size), rank};
    qsort(members, (size_t)count, sizeof(*members), compare_members);
    return count;
}

/* Returns 1 and sets `first`, unless it is set, if a number is not as expected;
 * else 0. `where` and `which`: for struct bench_mismatch. */
static uint64_t differs(struct bench_mismatch *first, const char *where,
                        int which, int expected, int found)
{
    if (expected == found)
        return 0;
    if (first->where == NULL)
        *first = (struct bench_mismatch){.where = where,
                                         .source = which,
                                         .expected = (unsigned)expected,
                                         .found = (unsigned)found};
    return 1;
}

/* Check the order of the members: each sends its rank in the parent to all. */
static uint64_t compare_order(struct bench_call *call,
                              const struct member *members, int count,
                              struct bench_mismatch *first)
{
    struct split *split = call->state;
    size_t n = (size_t)count;
    int32_t *send = bench_alloc(call->bench, 2 * n, sizeof(*send));
    int32_t *recv = send + n;
    uint64_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        send[i] = call->rank;
    bench_exchange(call->bench, split->made, send, recv, sizeof(*send));
    for (int i = 0; i < count; i++)
        wrong +=
            differs(first, "old rank of new rank", i, members[i].rank, recv[i]);
    free(send);
    return wrong;
}

static uint64_t verify(struct bench_call *call, uint64_t stamp,
                       struct bench_mismatch *first)
{
    struct split *split = call->state;
    struct member *members =
        bench_alloc(call->bench, (size_t)call->size, sizeof(*members));
    int count = list_members(call, members), new_rank = 0;
    uint64_t wrong;

    (void)stamp; /* split->stamp */
    while (members[new_rank].rank != call->rank)
        new_rank++;
    wrong = differs(first, "size of the group of rank", call->rank, count,
                    catena_group_size(split->made));
    wrong += differs(first, "new rank of rank", call->rank, new_rank,
                     catena_group_rank(split->made));
    /* Members that disagree on size or ranks cannot exchange anything. */
    if (bench_max(call->bench, wrong) == 0)
        wrong += compare_order(call, members, count, first);
    free(members);
    return wrong;
}

static const struct bench_metric metrics[] = {
    {"groups", NULL},
    {"color_bytes", NULL},
    {"key_bytes", NULL},
    {"split_rounds", "Rounds"},
    {"split_messages", "Sent"},
    {"split_bytes", "Sent Bytes"},
    {"split_memory", "Memory"},
    {"split_ns", "Split(ns)"},
    {"split_cold_ns", "Cold(ns)"},
    {NULL, NULL},
};

const struct bench_collective bench_split = {
    .name = "split",
    .help = "groups by colors and keys, and their first barrier",
    .synced = true,
    .algorithm_names = ALGORITHMS,
    .metrics = metrics,
    .check = check,
    .refuse = refuse,
    .prepare = prepare,
    .release = release,
    .describe = describe,
    .blocking = blocking,
    .finish = finish,
    .fill = fill,
    .verify = verify,
};
