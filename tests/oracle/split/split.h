#ifndef ORACLE_SPLIT_H
#define ORACLE_SPLIT_H

#include "oracle/cover.h"
#include "oracle/oracle.h"

/* Splits by any data, and their expected results. Each rank computes the data
 * of all ranks: they follow from patterns, a seed, and the rank. Groups and
 * orders are found by comparing all with all. */

/** Colors. Those up to ORACLE_COLOR_INTS are int64_t. */
typedef enum oracle_color {
    ORACLE_COLOR_SAME,
    ORACLE_COLOR_DIFFERENT,
    ORACLE_COLOR_FEW,
    ORACLE_COLOR_MANY,
    ORACLE_COLOR_EXTREME,    /* the largest and the smallest, and near zero */
    ORACLE_COLOR_OR_NOTHING, /* or without bytes */
    ORACLE_COLOR_INTS = ORACLE_COLOR_OR_NOTHING,
    ORACLE_COLOR_WORDS, /* of different lengths, with large and small letters */
    ORACLE_COLOR_LONG,  /* equal except for the length or the end */
    ORACLE_COLOR_TINY,  /* none or one byte */
    /* With one Jenkins one-at-a-time hash each: */
    ORACLE_COLOR_ZEROS,    /* zero or more; for any rotation of bytes */
    ORACLE_COLOR_REPEATED, /* pairs, for any rotation of bytes */
    ORACLE_COLOR_ROTATED,  /* the bytes of one word; mostly rotated */
    ORACLE_COLOR_BLOCKS,   /* all 16, in four rotations of 24 */
    ORACLE_COLORS
} oracle_color_t;

/** Keys. Those up to ORACLE_KEY_INTS are int64_t. */
typedef enum oracle_key {
    ORACLE_KEY_EQUAL,
    ORACLE_KEY_RISING,
    ORACLE_KEY_FALLING,
    ORACLE_KEY_RANDOM, /* with ties */
    ORACLE_KEY_EXTREME,
    ORACLE_KEY_OR_NOTHING, /* or without bytes */
    ORACLE_KEY_INTS = ORACLE_KEY_OR_NOTHING,
    ORACLE_KEY_WORDS,   /* including prefixes of each other */
    ORACLE_KEY_LENGTHS, /* some of them of 8 bytes */
    ORACLE_KEY_LONG,    /* different beyond byte 112, or only in length */
    ORACLE_KEY_HUGE,
    ORACLE_KEYS
} oracle_key_t;

/** Comparators. The last three reverse the order if their argument is set. */
typedef enum oracle_order {
    ORACLE_ORDER_NULL,
    ORACLE_ORDER_INT64,
    ORACLE_ORDER_BYTES,
    ORACLE_ORDER_CASELESS,
    ORACLE_ORDER_LENGTH,
    ORACLE_ORDERS
} oracle_order_t;

/** The ranks in no group. */
typedef enum oracle_left_out {
    ORACLE_OUT_NONE,
    ORACLE_OUT_ONE,
    ORACLE_OUT_HALF,
    ORACLE_OUT_MOST, /* all except one */
    ORACLE_OUT_ALL,
    ORACLE_OUTS
} oracle_left_out_t;

/** The data of one rank. */
typedef struct oracle_item {
    unsigned char *color;
    size_t color_bytes;
    unsigned char *key;
    size_t key_bytes;
    bool left_out;
} oracle_item_t;

/** A split: the same on all ranks. */
typedef struct oracle_split {
    const char *algorithm;
    oracle_color_t color;
    oracle_key_t key;
    oracle_order_t color_order;
    oracle_order_t key_order;
    oracle_left_out_t left_out;
    unsigned flags; /* except CATENA_SPLIT_UNDEFINED */
    uint64_t seed;
    size_t most_bytes; /* of a color or key */
    /* Filled by oracle_split_open. */
    int ranks;
    oracle_item_t *item; /* [ranks] of the world */
} oracle_split_t;

/** The names of all split algorithms. */
enum { ORACLE_SPLIT_ALGORITHMS = 13 };
extern const char *const oracle_split_algorithms[ORACLE_SPLIT_ALGORITHMS];

/** Whether the algorithm supports such comparators. */
bool oracle_split_fits(const oracle_split_t *split);
/** Draw any valid split by `random`; a set algorithm stays. */
void oracle_split_draw(oracle_split_t *split, uint64_t *random,
                       size_t most_bytes);
/** Compute the data of each of the world's ranks. */
void oracle_split_open(oracle_split_t *split, int ranks);
void oracle_split_close(oracle_split_t *split);
/** The call that `rank` makes. It refers to `split`. */
catena_split_t oracle_split_call(const oracle_split_t *split, int rank);
/** Describe a split in words. */
void oracle_split_describe(const oracle_split_t *split, char *text,
                           size_t bytes);

/** The members of a group in order, as ranks of the world. */
typedef struct oracle_members {
    int size;
    int *rank;
} oracle_members_t;

oracle_members_t oracle_members_world(int ranks);
void oracle_members_free(oracle_members_t *members);

/** Whether two ranks belong to one group. */
bool oracle_split_together(const oracle_split_t *split, int a, int b);
/** The members of `rank`'s group after a split of `parent`; empty if the rank
 * is in none. The caller frees them. */
oracle_members_t oracle_split_expect(const oracle_split_t *split,
                                     const oracle_members_t *parent, int rank);

/** Allgather of a value over a group, by rank. The caller frees it. */
int32_t *oracle_gather_value(const oracle_t *oracle, catena_group_t *group,
                             int32_t value);
/** Compare a group with its members, by a barrier and an exchange. */
void oracle_group_check(const oracle_t *oracle, catena_group_t *group,
                        const oracle_members_t *members, const char *what);
/** NULL: nothing to do. */
void oracle_group_free(const oracle_t *oracle, catena_group_t *group);

/** Split `parent`, whose members are known, blocking or not depending on the
 * seed, and check the result.
 * @param[out] made the members of the new group; may be NULL
 * @return the new group; NULL: none, or failure */
catena_group_t *oracle_split_run(const oracle_t *oracle,
                                 const oracle_split_t *split,
                                 catena_group_t *parent,
                                 const oracle_members_t *members,
                                 oracle_members_t *made);
/** Split the world, check, and free the result. */
void oracle_split_world(const oracle_t *oracle, oracle_split_t *split);

/** A split in flight. */
typedef struct oracle_flight {
    oracle_split_t split; /* set before the start */
    oracle_members_t expected;
    catena_group_t *made;
    catena_request_t *request;
} oracle_flight_t;

/** Start it; the call structure is overwritten at once, as the caller may
 * release it. */
void oracle_split_start(const oracle_t *oracle, catena_group_t *group,
                        const oracle_members_t *members,
                        oracle_flight_t *flight);
/** Check the result of the complete request, and free it. */
void oracle_split_end(const oracle_t *oracle, oracle_flight_t *flight);

/** Split the world, the resulting group, and so on, ORACLE_DEPTH times. Then
 * free the groups in one of four orders, and check the remaining ones each
 * time. `random` and `order` are the same on all ranks; algorithm may be NULL.
 */
enum { ORACLE_DEPTH = 4 };
void oracle_split_deep(const oracle_t *oracle, const char *algorithm,
                       uint64_t *random, size_t most_bytes, int order);

/* ---- inconsistent comparators ---- */

enum { ORACLE_LIARS = 5 };
extern const char *const oracle_liars[ORACLE_LIARS];

/** One rank's comparator. */
typedef struct oracle_liar {
    int way; /* of oracle_liars */
    uint64_t random;
    bool turned; /* this rank reverses the answers of others */
} oracle_liar_t;

/** A comparator; the argument is an oracle_liar_t. */
int oracle_lie(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
               void *argument);
/** Split the world with them: all ranks get ERR_ARG, or consistent groups.
 * `liar` follows from the split and the rank. */
void oracle_split_lie(const oracle_t *oracle, const oracle_split_t *split,
                      int way, bool color, bool key);

/* ---- cases ---- */

/** The values of the factors, and their valid combinations. */
const oracle_space_t *oracle_split_space(void);
void oracle_split_case_describe(const oracle_case_t *c, char *text,
                                size_t bytes);
/** Split the world for a case. */
void oracle_split_case_run(const oracle_t *oracle, const oracle_case_t *c,
                           uint64_t seed, size_t most_bytes);

#endif
