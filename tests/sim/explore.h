#ifndef SIM_EXPLORE_H
#define SIM_EXPLORE_H

#include <catena/catena.h>

/* The calls that tests/sim/explore makes, in jobs of a few ranks. */

enum {
    MOST_RANKS = 4,
    TURNS = 3, /* of each call */
    AGAIN = 3, /* turns after a rank has died */
    EXPLORED_BLOCKS = 2 * MOST_RANKS,
    EXPLORED_LONG = 4200 /* numbers in a long block */
};

/** How a call ends. */
typedef enum result { WRONG, RIGHT, FAILED } result_t;

/** A collective and an algorithm. */
typedef struct explored {
    char name[64];
    /** Call, and look at the results. `turn` is from 0 on.
     * @param memory [EXPLORED_BLOCKS * count] of the shared heap */
    result_t (*call)(const struct explored *of, catena_group_t *group,
                     int32_t memory[], int turn);
    const char *algorithm;
    int count;           /* numbers in a block */
    char setting[2][48]; /* NAME=value; or empty */
} explored_t;

/** All of them.
 * @return how many there are */
int explored_all(const explored_t **all);

/** A run begins. */
void explored_begin(void);

#endif
