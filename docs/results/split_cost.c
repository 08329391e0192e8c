/* What a split costs, counted: the passes and rounds of bitonic, hash and
 * hash-plain (docs/algorithms.md, SPL-5 and SPL-7) are gone through for all
 * ranks, without running them. So it counts for more ranks than the simulator
 * has memory for. Counts are those of the first split of a group without keys,
 * with the colors of `catena-bench split --color string:LEN`; catena-bench
 * finds the same (--check of reproduce compares them).
 * usage: split_cost ALGORITHM RANKS GROUPS COLOR_BYTES
 * Prints "rounds,messages,bytes,memory": each the most of a rank; bytes and
 * memory as catena_group_get_stats has them. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/core/hash.h"

enum {
    ADDRESS = 8, /* bytes before the value of a scan's message */
    RECORD = 24, /* of a record, before color and key */
    PLACE = 56,
    PARTNER = 24, /* of a log-chain */
    LETTERS = 26,
    NUMBER_LETTERS = 5,
    LONGEST_COLOR = 80,       /* that the messages of hash have room for */
    WASTE_MOST = 24,          /* then hash leaves a chain to bitonic, ... */
    PLAIN_WASTE_MOST = 3 * 32 /* ... and hash-plain */
};

/** What a rank has done. */
typedef struct count {
    uint64_t rounds, messages, bytes;
} count_t;

/** The algorithm hash, or hash-plain. */
typedef struct form {
    bool plain;
    unsigned bits;    /* of the number of a bin */
    uint64_t message; /* bytes of a scan's message */
    uint64_t opening; /* of one of the first round */
} form_t;

static uint64_t ranks, groups, color_bytes;
static count_t *counts;       /* [ranks] */
static uint32_t *group;       /* [ranks] of each rank */
static unsigned char *colors; /* [groups][color_bytes] */
static uint32_t *hashes;      /* [groups] in this pass */
static uint64_t memory_bytes; /* of a rank */

static void *allocate(uint64_t number, size_t bytes)
{
    void *made = calloc(number, bytes);
    if (made == NULL) {
        fprintf(stderr, "split_cost: no memory for %llu times %zu bytes\n",
                (unsigned long long)number, bytes);
        exit(1);
    }
    return made;
}

/* ---- colors, as those of catena-bench ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 29);
}

static uint64_t seed_of(uint64_t stamp, unsigned source, unsigned target)
{
    uint64_t x = mix(stamp * CTN_HASH_STEP + 1);
    x = mix(x + source * CTN_HASH_STEP);
    return mix(x + target * CTN_HASH_STEP + 1);
}

/** A permutation of 0 to n - 1. */
static uint64_t permute(uint64_t value, uint64_t n, uint64_t seed)
{
    unsigned half = 1;
    while (UINT64_C(1) << 2 * half < n) {
        half++;
    }
    uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        for (unsigned round = 0; round < 4; round++) {
            uint64_t right = value & mask;
            uint64_t mixed = seed_of(seed, round, (unsigned)right) >> 32;
            value = right << half | ((value >> half ^ mixed) & mask);
        }
    } while (value >= n);
    return value;
}

static void spell(unsigned char *text, uint64_t number)
{
    enum { STRINGS = 2 };
    uint64_t i = 0;
    uint64_t numbers = 1;
    for (int letter = 0; letter < NUMBER_LETTERS; letter++) {
        numbers *= LETTERS;
    }
    uint64_t code = permute(number, numbers, STRINGS);
    for (; i < color_bytes - NUMBER_LETTERS; i++) {
        uint64_t random = seed_of(STRINGS, (unsigned)number, (unsigned)i);
        text[i] = (unsigned char)('a' + random / 3 % LETTERS);
    }
    for (; i < color_bytes; i++, code /= LETTERS) {
        text[i] = (unsigned char)('a' + code % LETTERS);
    }
}

static void color_ranks(void)
{
    group = allocate(ranks, sizeof(*group));
    colors = allocate(groups, color_bytes);
    hashes = allocate(groups, sizeof(*hashes));
    for (uint64_t i = 0; i < groups; i++) {
        spell(&colors[i * color_bytes], i);
    }
    for (uint64_t i = 0; i < ranks; i++) {
        group[i] = (uint32_t)(permute(i, ranks, seed_of(0, 0, 0)) % groups);
    }
}

/* ---- rounds ---- */

/** Add a double scan to what the member at `place` of a chain has done.
 * @param first bytes of a message of the first round; others have `later` */
static void scan(count_t *count, uint64_t place, uint64_t members,
                 uint64_t first, uint64_t later)
{
    for (uint64_t away = 1; away < members; away *= 2) {
        unsigned partners = (place >= away) + (place + away < members);
        count->rounds += partners > 0;
        count->messages += partners;
        count->bytes += partners * (away == 1 ? first : later);
    }
}

static uint64_t record_bytes(void)
{
    return RECORD + ((color_bytes + 7) & ~UINT64_C(7));
}

/** Add a record that each member sends to the next one. */
static void shift(count_t *count, uint64_t place, uint64_t members)
{
    count->rounds++;
    if (place + 1 < members) {
        count->messages++;
        count->bytes += record_bytes();
    }
}

/* ---- bitonic, of a power of two of ranks ---- */

static void bitonic(void)
{
    enum { PART = 40 };
    uint64_t log = 0;
    while (UINT64_C(1) << log < ranks) {
        log++;
    }
    uint64_t steps = log * (log + 1) / 2;
    for (uint64_t i = 0; i < ranks; i++) {
        scan(&counts[i], i, ranks, 2 * ADDRESS, 2 * ADDRESS); /* log-chain */
        counts[i].rounds += steps;
        counts[i].messages += steps;
        counts[i].bytes += steps * record_bytes();
        shift(&counts[i], i, ranks);
        scan(&counts[i], i, ranks, ADDRESS + PART, ADDRESS + PART);
        counts[i].rounds++; /* the place, to the owner of the record */
        counts[i].messages++;
        counts[i].bytes += PLACE;
    }
    memory_bytes = 16 + log * 2 * PARTNER + record_bytes();
}

/* ---- hash ---- */

static void hash_colors(unsigned pass)
{
    uint64_t start = pass % color_bytes;
    for (uint64_t i = 0; i < groups; i++) {
        const unsigned char *color = &colors[i * color_bytes];
        uint32_t hash = ctn_hash_jenkins(0, color + start, color_bytes - start);
        hashes[i] = ctn_hash_jenkins_end(ctn_hash_jenkins(hash, color, start));
    }
}

/** A chain: its members are consecutive in the list of all ranks. */
typedef struct chain {
    uint64_t first, members;
    uint64_t wasted;
} chain_t;

/** Return whether the members of a chain have one color. */
static bool has_one_color(const uint32_t *member, uint64_t members)
{
    uint64_t i = 1;
    while (i < members && group[member[i]] == group[member[0]]) {
        i++;
    }
    return i == members;
}

/** Add what the members do to learn whether they have one color, where they do
 * not learn it in the scan of the bins. */
static void compare(const form_t *form, const uint32_t *member,
                    uint64_t members)
{
    for (uint64_t i = 0; i < members; i++) {
        shift(&counts[member[i]], i, members);
        scan(&counts[member[i]], i, members, form->message, form->message);
    }
}

/** Return whether a chain needs another pass. @param before its members before
 * this one */
static bool goes_on(const form_t *form, chain_t *chain, uint64_t before,
                    const uint32_t *member)
{
    if (chain->members == 1 || (before == 2 && !form->plain)) {
        return false;
    }
    if (form->plain && chain->members == before) {
        compare(form, member, chain->members);
        if (has_one_color(member, chain->members)) {
            return false;
        }
    }
    chain->wasted += chain->members == before      ? 3
                     : chain->members > before / 2 ? 1
                                                   : 0;
    if (chain->wasted >= (form->plain ? PLAIN_WASTE_MOST : WASTE_MOST)) {
        fprintf(stderr, "split_cost: bitonic would take over\n");
        exit(1);
    }
    return true;
}

/** One pass over a chain. Its members are sorted by bin, in their order.
 * @param[out] next the chains that need another pass; its end is returned */
static chain_t *pass(const form_t *form, unsigned number, const chain_t *chain,
                     uint32_t *member, uint32_t *sorted, chain_t *next)
{
    unsigned bins = 1u << form->bits;
    unsigned low = form->bits * (number % (32 / form->bits));
    uint64_t at = 0;
    member += chain->first;
    for (uint64_t i = 0; i < chain->members; i++) {
        scan(&counts[member[i]], i, chain->members, form->opening,
             form->message);
    }
    if (!form->plain && has_one_color(member, chain->members)) {
        return next;
    }
    for (unsigned bin = 0; bin < bins; bin++) {
        chain_t part = {chain->first + at, 0, chain->wasted};
        for (uint64_t i = 0; i < chain->members; i++) {
            if ((hashes[group[member[i]]] >> low & (bins - 1)) == bin) {
                sorted[at++] = member[i];
                part.members++;
            }
        }
        if (part.members > 0 &&
            goes_on(form, &part, chain->members, &sorted[at - part.members])) {
            *next++ = part;
        }
    }
    memcpy(member, sorted, chain->members * sizeof(*member));
    return next;
}

static void hash(bool plain)
{
    form_t form = {plain, plain ? 2 : 3, ADDRESS + 8 + (plain ? 4 : 8) * 12, 0};
    form.opening = plain ? form.message : ADDRESS + 16 + color_bytes;
    uint32_t *member = allocate(ranks, sizeof(*member));
    uint32_t *sorted = allocate(ranks, sizeof(*sorted));
    chain_t *now = allocate(ranks, sizeof(*now));
    chain_t *next = allocate(ranks, sizeof(*next));
    uint64_t chains = 1;
    for (uint64_t i = 0; i < ranks; i++) {
        member[i] = (uint32_t)i;
    }
    now[0] = (chain_t){0, ranks, 0};
    for (unsigned number = 0; chains > 0; number++) {
        chain_t *end = next;
        hash_colors(number);
        for (uint64_t i = 0; i < chains; i++) {
            end = pass(&form, number, &now[i], member, sorted, end);
        }
        chains = (uint64_t)(end - next);
        chain_t *old = now;
        now = next;
        next = old;
    }
    free(member);
    free(sorted);
    free(now);
    free(next);
}

int main(int argc, char **argv)
{
    const char *algorithm = argc == 5 ? argv[1] : "";
    bool plain = strcmp(algorithm, "hash-plain") == 0;
    bool sorts = strcmp(algorithm, "bitonic") == 0;
    ranks = argc == 5 ? strtoull(argv[2], NULL, 10) : 0;
    groups = argc == 5 ? strtoull(argv[3], NULL, 10) : 0;
    color_bytes = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
    if ((!plain && !sorts && strcmp(algorithm, "hash") != 0) || ranks < 2 ||
        ranks > UINT32_MAX || (sorts && (ranks & (ranks - 1)) != 0) ||
        groups < 1 || groups > ranks || color_bytes < NUMBER_LETTERS ||
        color_bytes > LONGEST_COLOR) {
        fprintf(stderr,
                "usage: split_cost bitonic|hash|hash-plain RANKS GROUPS "
                "COLOR_BYTES\n  bitonic: a power of two of ranks; "
                "colors of 5 to 80 bytes\n");
        return 2;
    }
    counts = allocate(ranks, sizeof(*counts));
    color_ranks();
    if (sorts) {
        bitonic();
    } else {
        hash(plain);
    }
    count_t most = {0, 0, 0};
    for (uint64_t i = 0; i < ranks; i++) {
        most.rounds =
            counts[i].rounds > most.rounds ? counts[i].rounds : most.rounds;
        most.messages = counts[i].messages > most.messages ? counts[i].messages
                                                           : most.messages;
        most.bytes =
            counts[i].bytes > most.bytes ? counts[i].bytes : most.bytes;
    }
    printf("%llu,%llu,%llu,%llu\n", (unsigned long long)most.rounds,
           (unsigned long long)most.messages, (unsigned long long)most.bytes,
           (unsigned long long)memory_bytes);
    free(counts);
    free(group);
    free(colors);
    free(hashes);
    return 0;
}
