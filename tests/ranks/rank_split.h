#ifndef RANK_SPLIT_H
#define RANK_SPLIT_H

#include "rank_test.h"

/* Splits by any data, and what has to come of them. Each rank knows what all
 * ranks bring, as it follows from a pattern, a seed, and the rank; who belongs
 * together, and in which order, is worked out by comparing all with all. */

/** Colors. Those up to RANK_COLOR_INTS are int64_t. */
typedef enum rank_color {
    RANK_COLOR_SAME,
    RANK_COLOR_DIFFERENT,
    RANK_COLOR_FEW,
    RANK_COLOR_MANY,
    RANK_COLOR_EXTREME, /* the largest and the smallest, and near zero */
    RANK_COLOR_INTS = RANK_COLOR_EXTREME,
    RANK_COLOR_WORDS, /* of different lengths, large and small letters */
    RANK_COLOR_LONG, /* up to most_bytes, alike but for the length or the end */
    RANK_COLOR_TINY, /* none or one byte */
    /* With one Jenkins one-at-a-time hash each: */
    RANK_COLOR_ZEROS,    /* none and more; whatever bytes are rotated */
    RANK_COLOR_REPEATED, /* pairs, whatever bytes are rotated */
    RANK_COLOR_ROTATED,  /* the bytes of one word; as often as not rotated */
    RANK_COLOR_BLOCKS,   /* all 16, in four rotations of 24 */
    RANK_COLORS
} rank_color_t;

/** Keys. Those up to RANK_KEY_INTS are int64_t. */
typedef enum rank_key {
    RANK_KEY_EQUAL,
    RANK_KEY_RISING,
    RANK_KEY_FALLING,
    RANK_KEY_RANDOM, /* with ties */
    RANK_KEY_EXTREME,
    RANK_KEY_INTS = RANK_KEY_EXTREME,
    RANK_KEY_WORDS, /* prefixes of each other among them */
    RANK_KEY_LONG,  /* different beyond byte 112, or only in length */
    RANK_KEY_HUGE,  /* up to most_bytes */
    RANK_KEYS
} rank_key_t;

/** Comparators. The last three turn around when their argument says so. */
typedef enum rank_order {
    RANK_ORDER_NULL,
    RANK_ORDER_INT64,
    RANK_ORDER_BYTES,
    RANK_ORDER_CASELESS,
    RANK_ORDER_LENGTH,
    RANK_ORDERS
} rank_order_t;

/** Who is in no group. */
typedef enum rank_left_out {
    RANK_OUT_NONE,
    RANK_OUT_ONE,
    RANK_OUT_HALF,
    RANK_OUT_MOST, /* all but one */
    RANK_OUT_ALL,
    RANK_OUTS
} rank_left_out_t;

/** What one rank brings. */
typedef struct rank_item {
    unsigned char *color;
    size_t color_bytes;
    unsigned char *key;
    size_t key_bytes;
    bool left_out;
} rank_item_t;

/** A split: the same on all ranks. */
typedef struct rank_split {
    const char *algorithm;
    rank_color_t color;
    rank_key_t key;
    rank_order_t color_order;
    rank_order_t key_order;
    rank_left_out_t left_out;
    unsigned flags; /* but for CATENA_SPLIT_UNDEFINED */
    uint64_t seed;
    size_t most_bytes; /* of a color or key */
    /* Filled by rank_split_open. */
    int ranks;
    rank_item_t *item; /* [ranks] of the world */
} rank_split_t;

/** Whether two ranks get into one group, and whether the keys of one, `a`, put
 * it after the other. */
bool rank_split_together(const rank_split_t *split, int a, int b);
bool rank_split_after(const rank_split_t *split, int a, int b);

/** The members of a group, as ranks of the world, in order. */
typedef struct rank_members {
    int size;
    int *rank;
} rank_members_t;

/** All that a split can be asked for by name. */
enum { RANK_SPLIT_ALGORITHMS = 12 };
extern const char *const rank_split_algorithms[RANK_SPLIT_ALGORITHMS];

/** Whether the algorithm is made for such comparators. */
bool rank_split_fits(const rank_split_t *split);

/** Whatever fits, by `random`; the algorithm stays if it is set. */
void rank_split_draw(rank_split_t *split, uint64_t *random, size_t most_bytes);

/** Write down what each of the world's ranks brings. */
void rank_split_open(rank_split_t *split, int ranks);
void rank_split_close(rank_split_t *split);

/** The call that `rank` makes. It refers to `split`. */
catena_split_t rank_split_call(const rank_split_t *split, int rank);

rank_members_t rank_members_world(int ranks);
void rank_members_free(rank_members_t *members);

/** The members of the group that `rank` gets when `parent` is split; none when
 * it is left out. The caller frees them. */
rank_members_t rank_split_expect(const rank_split_t *split,
                                 const rank_members_t *parent, int rank);

/** Hold a group against its members, with a barrier and an exchange. */
void rank_split_check(rank_test_t *test, catena_group_t *group,
                      const rank_members_t *members, const char *what);

/** Split `parent`, whose members are known, and check what comes of it.
 * @param[out] made  the members of the new group; may be NULL
 * @return the new group; NULL: in none, or it failed */
catena_group_t *rank_split_run(rank_test_t *test, const rank_split_t *split,
                               catena_group_t *parent,
                               const rank_members_t *members,
                               rank_members_t *made);

/** NULL: nothing to do. */
void rank_group_free(rank_test_t *test, catena_group_t *group);

/** Split the world, check, and free what came of it. */
void rank_split_world(rank_test_t *test, rank_split_t *split);

/** A split under way. */
typedef struct rank_flight {
    rank_split_t split; /* set before it starts */
    rank_members_t expected;
    catena_group_t *made;
    catena_request_t *request;
} rank_flight_t;

/** Begin it; the call is wiped at once, as it may be released. */
void rank_split_start(rank_test_t *test, catena_group_t *group,
                      const rank_members_t *members, rank_flight_t *flight);
/** Check what came of it when the request is complete; the caller frees it. */
catena_group_t *rank_split_end(rank_test_t *test, rank_flight_t *flight);

/** Split the world, the group made of it, and so on, RANK_DEPTH times; then
 * free them in one of four orders, and check each time that the others work.
 * `random` and `order` are the same on all ranks; algorithm may be NULL. */
enum { RANK_DEPTH = 4 };
void rank_split_deep(rank_test_t *test, const char *algorithm, uint64_t *random,
                     size_t most_bytes, int order);

/** A split in words. */
void rank_split_describe(const rank_split_t *split, char *text, size_t bytes);

/** One-at-a-time: Jenkins, Algorithm Alley, Dr. Dobb's Journal 22(9), 1997. */
uint32_t rank_one_at_a_time(const unsigned char *data, size_t bytes);

/** Order of two values byte for byte, a prefix first. */
int rank_compare_bytes(const unsigned char *a, size_t a_bytes,
                       const unsigned char *b, size_t b_bytes);

/** What each member of a group says, by rank in it. The caller frees it. */
int32_t *rank_tell_members(rank_test_t *test, catena_group_t *group,
                           int32_t value);

#endif
