/* Cases of splits; see split.h. */

#include <stdio.h>
#include <string.h>

#include "oracle/cover.h"
#include "oracle/split/split.h"

enum {
    ALGORITHM,
    COLOR,
    KEY,
    COLORS_BY,
    KEYS_BY,
    OUT,
    FLAGS,
    LIES,
    LIAR,
    CALL,
    FACTORS
};

enum { OF_COLORS = 1, OF_KEYS, LIES_ALL = 4 };

static oracle_split_t split_of(const oracle_case_t *c)
{
    const uint8_t *v = c->value;
    return (oracle_split_t){.algorithm = oracle_split_algorithms[v[ALGORITHM]],
                            .color = v[COLOR],
                            .key = v[KEY],
                            .color_order = v[COLORS_BY],
                            .key_order = v[KEYS_BY],
                            .left_out = v[OUT],
                            .flags =
                                (v[FLAGS] & 1 ? CATENA_SPLIT_NO_SPLIT : 0) |
                                (v[FLAGS] & 2 ? CATENA_SPLIT_NO_REORDER : 0)};
}

/** An inconsistent comparator takes the place of a user's comparator. */
static bool valid(const oracle_case_t *c)
{
    const uint8_t *v = c->value;
    oracle_split_t split = split_of(c);
    return oracle_split_fits(&split) && (v[LIES] != 0 || v[LIAR] == 0) &&
           (!(v[LIES] & OF_COLORS) || v[COLORS_BY] == ORACLE_ORDER_BYTES) &&
           (!(v[LIES] & OF_KEYS) || v[KEYS_BY] == ORACLE_ORDER_BYTES) &&
           /* the argument belongs to the inconsistent comparator */
           (v[LIES] != OF_COLORS || v[KEYS_BY] < ORACLE_ORDER_BYTES) &&
           (v[LIES] != OF_KEYS || v[COLORS_BY] < ORACLE_ORDER_BYTES);
}

static oracle_case_t *make_bases(size_t *count)
{
    enum {
        ORDERS = ORACLE_ORDERS * ORACLE_ORDERS,
        ALL = ORACLE_SPLIT_ALGORITHMS * ORDERS * LIES_ALL
    };
    oracle_case_t *bases = oracle_zeros(ALL, sizeof(*bases));
    for (unsigned i = 0; i < ALL; i++) {
        unsigned orders = i / LIES_ALL % ORDERS;
        oracle_case_t *c = &bases[*count];
        *c = (oracle_case_t){
            .value = {[ALGORITHM] = (uint8_t)(i / LIES_ALL / ORDERS),
                      [COLORS_BY] = (uint8_t)(orders % ORACLE_ORDERS),
                      [KEYS_BY] = (uint8_t)(orders / ORACLE_ORDERS),
                      [LIES] = (uint8_t)(i % LIES_ALL)}};
        *count += valid(c);
    }
    return bases;
}

const oracle_space_t *oracle_split_space(void)
{
    static oracle_space_t space = {
        .factors = FACTORS,
        .values = {ORACLE_SPLIT_ALGORITHMS, ORACLE_COLORS, ORACLE_KEYS,
                   ORACLE_ORDERS, ORACLE_ORDERS, ORACLE_OUTS, 4, LIES_ALL,
                   ORACLE_LIARS, 2},
        .valid = valid};
    if (space.base == NULL) {
        space.base = make_bases(&space.bases);
    }
    return &space;
}

void oracle_split_case_describe(const oracle_case_t *c, char *text,
                                size_t bytes)
{
    static const char *const lies[LIES_ALL] = {"", "colors ", "keys ",
                                               "colors and keys "};
    const uint8_t *v = c->value;
    oracle_split_t split = split_of(c);
    char words[200];
    oracle_split_describe(&split, words, sizeof(words));
    snprintf(text, bytes, "%s%s%s%s%s", v[CALL] ? "i" : "", words,
             v[LIES] ? ", compared " : "", v[LIES] ? lies[v[LIES]] : "",
             v[LIES] ? oracle_liars[v[LIAR]] : "");
}

void oracle_split_case_run(const oracle_t *oracle, const oracle_case_t *c,
                           uint64_t seed, size_t most_bytes)
{
    const uint8_t *v = c->value;
    oracle_split_t split = split_of(c);
    /* Two bits of it select the form of the call. */
    split.seed = seed * 6 + (v[CALL] ? 3 : 2);
    split.most_bytes = most_bytes;
    if (v[LIES] == 0) {
        oracle_split_world(oracle, &split);
        return;
    }
    oracle_split_open(&split, catena_group_size(catena_world(oracle->context)));
    oracle_split_lie(oracle, &split, v[LIAR], v[LIES] & OF_COLORS,
                     v[LIES] & OF_KEYS);
    oracle_split_close(&split);
}
