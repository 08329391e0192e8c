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
    bool large;              /* every other call has blocks of 8 or 16 MiB until
                                a rank dies in one of them */
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
    double latest;    /* seconds from a death to an error */
    uint64_t dies_at; /* the large call in which this rank dies; 0: none */
} rank_t;

/** Report what is wrong: the first three times of a rank. */
void wrong(rank_t *r, const char *what, long found, long expected);

/** Whether a call has failed since a rank is dead, or the group revoked. */
bool has_failed(catena_status_t status);

/** Whether the call under way has large blocks. */
bool is_large(const rank_t *r);

/** A large call is under way: make progress until some of these data have come,
 * which are 0 before, and then none for a while, so that the sockets are full.
 * The rank that dies in this call does so then: the others find much data to
 * read, and messages that are sent in part. */
void pause_amid(rank_t *r, const unsigned char *data, size_t bytes);

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
