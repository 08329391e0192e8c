#ifndef FAULT_SURVIVE_H
#define FAULT_SURVIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

/* The calls that survivors make (tests/fault/survive.c). */

enum {
    MOST_RANKS = 64,
    KEPT = 16 /* failed calls whose buffers are looked at again */
};

/** What all ranks of a job share. */
typedef struct draw {
    uint64_t seed;
    int kind;  /* of all calls; -1: any */
    int calls; /* 0: until the time is over */
    double seconds;
    unsigned deaths;         /* of real ranks */
    bool joining;            /* a rank died while they joined */
    bool killed[MOST_RANKS]; /* simulated ranks, which run on when all others
                                have ended: what they see does not matter */
    uint64_t errors_of[MOST_RANKS];
    uint64_t failures;
} draw_t;

/** The buffers of a call. */
typedef struct buffers {
    unsigned char *send, *recv;
    size_t send_bytes, recv_bytes;
    bool heap;
} buffers_t;

/** One rank. */
typedef struct rank {
    draw_t *draw;
    catena_context_t *context;
    int rank;              /* in the world */
    catena_group_t *group; /* of the living */
    uint64_t random;       /* the same on all ranks of `group` */
    uint64_t call;
    int errors;
    buffers_t kept[KEPT];
    int kept_count;
    uint64_t shrinks; /* so far */
    double longest;   /* seconds of a recovery */
} rank_t;

/** Report what is wrong: the first three times of a rank. */
void wrong(rank_t *r, const char *what, long found, long expected);

/** Whether a call has failed since a rank is dead, or the group revoked. */
bool has_failed(catena_status_t status);

/** Look at the buffers of calls that have failed, and free them. */
void look_again(rank_t *r);

/** A checked alltoall. */
catena_status_t alltoall(rank_t *r, catena_group_t *group);

/** All kinds of calls. */
typedef struct kind {
    const char *name;
    catena_status_t (*call)(rank_t *r, catena_group_t *group);
} kind_t;

enum { KINDS = 10 };

extern const kind_t kinds[KINDS];

#endif
