#ifndef ORACLE_SPLIT_H
#define ORACLE_SPLIT_H

#include "oracle/cover.h"
#include "oracle/oracle.h"

/* Splits by any data, and what has to come of them. Each rank knows what all
 * ranks bring: it follows from patterns, a seed, and the rank. Which ranks
 * belong together, and in which order, is worked out by comparing all with
 * all. */

/** Colors. Those up to ORACLE_COLOR_INTS are int64_t. */
typedef enum oracle_color {
    ORACLE_COLOR_SAME,
    ORACLE_COLOR_DIFFERENT,
    ORACLE_COLOR_FEW,
    ORACLE_COLOR_MANY,
    ORACLE_COLOR_EXTREME,    /* the largest and the smallest, and near zero */
    ORACLE_COLOR_OR_NOTHING, /* or of no bytes */
    ORACLE_COLOR_INTS = ORACLE_COLOR_OR_NOTHING,
    ORACLE_COLOR_WORDS, /* of different lengths, large and small letters */
    ORACLE_COLOR_LONG,  /* alike but for the length or the end */
    ORACLE_COLOR_TINY,  /* none or one byte */
    /* With one Jenkins one-at-a-time hash each: */
    ORACLE_COLOR_ZEROS,    /* none and more; whatever bytes are rotated */
    ORACLE_COLOR_REPEATED, /* pairs, whatever bytes are rotated */
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
    ORACLE_KEY_OR_NOTHING, /* or of no bytes */
    ORACLE_KEY_INTS = ORACLE_KEY_OR_NOTHING,
    ORACLE_KEY_WORDS,   /* prefixes of each other among them */
    ORACLE_KEY_LENGTHS, /* some of them of 8 bytes */
    ORACLE_KEY_LONG,    /* different beyond byte 112, or only in length */
    ORACLE_KEY_HUGE,
    ORACLE_KEYS
} oracle_key_t;

/** Comparators. The last three turn around when their argument says so. */
typedef enum oracle_order {
    ORACLE_ORDER_NULL,
    ORACLE_ORDER_INT64,
    ORACLE_ORDER_BYTES,
    ORACLE_ORDER_CASELESS,
    ORACLE_ORDER_LENGTH,
    ORACLE_ORDERS
} oracle_order_t;

/** Which ranks are in no group. */
typedef enum oracle_left_out {
    ORACLE_OUT_NONE,
    ORACLE_OUT_ONE,
    ORACLE_OUT_HALF,
    ORACLE_OUT_MOST, /* all but one */
    ORACLE_OUT_ALL,
    ORACLE_OUTS
} oracle_left_out_t;

/** What one rank brings. */
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
    unsigned flags; /* but for CATENA_SPLIT_UNDEFINED */
    uint64_t seed;
    size_t most_bytes; /* of a color or key */
    /* Filled by oracle_split_open. */
    int ranks;
    oracle_item_t *item; /* [ranks] of the world */
} oracle_split_t;

/** All that a split can be asked for by name. */
enum { ORACLE_SPLIT_ALGORITHMS = 12 };
extern const char *const oracle_split_algorithms[ORACLE_SPLIT_ALGORITHMS];

/** Whether the algorithm is made for such comparators. */
bool oracle_split_fits(const oracle_split_t *split);
/** Whatever fits, by `random`; the algorithm stays if it is set. */
void oracle_split_draw(oracle_split_t *split, uint64_t *random,
                       size_t most_bytes);
/** Write down what each of the world's ranks brings. */
void oracle_split_open(oracle_split_t *split, int ranks);
void oracle_split_close(oracle_split_t *split);
/** The call that `rank` makes. It refers to `split`. */
catena_split_t oracle_split_call(const oracle_split_t *split, int rank);
/** A split in words. */
void oracle_split_describe(const oracle_split_t *split, char *text,
                           size_t bytes);

/** The members of a group, as ranks of the world, in order. */
typedef struct oracle_members {
    int size;
    int *rank;
} oracle_members_t;

oracle_members_t oracle_members_world(int ranks);
void oracle_members_free(oracle_members_t *members);

/** Whether two ranks get into one group. */
bool oracle_split_together(const oracle_split_t *split, int a, int b);
/** The members of the group that `rank` gets when `parent` is split; none when
 * it is left out. The caller frees them. */
oracle_members_t oracle_split_expect(const oracle_split_t *split,
                                     const oracle_members_t *parent, int rank);

/** What each member of a group says, by rank in it. The caller frees it. */
int32_t *oracle_tell(const oracle_t *oracle, catena_group_t *group,
                     int32_t value);
/** Hold a group against its members, with a barrier and an exchange. */
void oracle_group_check(const oracle_t *oracle, catena_group_t *group,
                        const oracle_members_t *members, const char *what);
/** NULL: nothing to do. */
void oracle_group_free(const oracle_t *oracle, catena_group_t *group);

/** Split `parent`, whose members are known, blocking or not as the seed has it,
 * and check what comes of it.
 * @param[out] made  the members of the new group; may be NULL
 * @return the new group; NULL: in none, or it failed */
catena_group_t *oracle_split_run(const oracle_t *oracle,
                                 const oracle_split_t *split,
                                 catena_group_t *parent,
                                 const oracle_members_t *members,
                                 oracle_members_t *made);
/** Split the world, check, and free what came of it. */
void oracle_split_world(const oracle_t *oracle, oracle_split_t *split);

/** A split under way. */
typedef struct oracle_flight {
    oracle_split_t split; /* set before it starts */
    oracle_members_t expected;
    catena_group_t *made;
    catena_request_t *request;
} oracle_flight_t;

/** Begin it; the call is wiped at once, as it may be released. */
void oracle_split_start(const oracle_t *oracle, catena_group_t *group,
                        const oracle_members_t *members,
                        oracle_flight_t *flight);
/** Check what came of it when the request is complete, and free it. */
void oracle_split_end(const oracle_t *oracle, oracle_flight_t *flight);

/** Split the world, the group made of it, and so on, ORACLE_DEPTH times; then
 * free them in one of four orders, and check each time that the others work.
 * `random` and `order` are the same on all ranks; algorithm may be NULL. */
enum { ORACLE_DEPTH = 4 };
void oracle_split_deep(const oracle_t *oracle, const char *algorithm,
                       uint64_t *random, size_t most_bytes, int order);

/* ---- comparators that are no order ---- */

enum { ORACLE_LIARS = 5 };
extern const char *const oracle_liars[ORACLE_LIARS];

/** One rank's comparator. */
typedef struct oracle_liar {
    int way; /* of oracle_liars */
    uint64_t random;
    bool turned; /* this rank answers the opposite of others */
} oracle_liar_t;

/** A comparator; the argument is an oracle_liar_t. */
int oracle_lie(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
               void *argument);
/** Split the world with them: all ranks get ERR_ARG, or groups that fit
 * together. `liar` follows from the split and the rank. */
void oracle_split_lie(const oracle_t *oracle, const oracle_split_t *split,
                      int way, bool color, bool key);

/* ---- cases ---- */

/** Which values the factors have, and which go together. */
const oracle_space_t *oracle_split_space(void);
void oracle_split_case_describe(const oracle_case_t *c, char *text,
                                size_t bytes);
/** Split the world as a case has it. */
void oracle_split_case_run(const oracle_t *oracle, const oracle_case_t *c,
                           uint64_t seed, size_t most_bytes);

#endif
