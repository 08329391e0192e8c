#ifndef CTN_COLL_CALL_DESCRIPTION_H
#define CTN_COLL_CALL_DESCRIPTION_H

#include <stdbool.h>

/* What a collective's arguments are. Depends on nothing of the library, so
 * tests and tools use it, too. calls.def lists all of them. */

/** The blocks of one side, and the arguments that describe them. A peer of a
 * group is each of its ranks, of a neighborhood each target (send) or source
 * (recv). */
typedef enum ctn_side_shape {
    CTN_SIDE_NONE,
    CTN_SIDE_ONE,     /* one block: buffer, count, type */
    CTN_SIDE_UNIFORM, /* a block for each peer, of one length: the same */
    CTN_SIDE_VECTOR,  /* of individual lengths: buffer, counts, displacements,
                         type */
    CTN_SIDE_TYPED,   /* and types; displacements are in bytes */
    CTN_SIDE_PACKED,  /* of individual lengths, contiguous: buffer, counts,
                         type */
    CTN_SIDE_OWN      /* this rank's one of these */
} ctn_side_shape_t;

/** The rest, as a mask. */
typedef enum ctn_trait {
    CTN_ROOT_ARGUMENT = 1u << 0,
    CTN_SEND_ROOT_ONLY = 1u << 1, /* the side is significant at the root only */
    CTN_RECV_ROOT_ONLY = 1u << 2,
    CTN_REDUCES = 1u << 3,       /* there is an operation */
    CTN_SEND_IN_PLACE = 1u << 4, /* send may be CATENA_IN_PLACE where recv is
                                    significant: its data are in recv */
    CTN_RECV_IN_PLACE = 1u << 5, /* and the other way round */
    CTN_ONE_LENGTH = 1u << 6     /* blocks of both sides have equal bytes */
} ctn_trait_t;

#define CTN_ROOTED CTN_ROOT_ARGUMENT
#define CTN_SEND_AT_ROOT (CTN_ROOT_ARGUMENT | CTN_SEND_ROOT_ONLY)
#define CTN_RECV_AT_ROOT (CTN_ROOT_ARGUMENT | CTN_RECV_ROOT_ONLY)

typedef struct ctn_description {
    const char *name; /* of catena_<name> */
    ctn_side_shape_t send;
    ctn_side_shape_t recv;
    unsigned traits;
} ctn_description_t;

/** An initializer, from a row of calls.def. */
#define CTN_DESCRIPTION(its_name, its_send, its_recv, its_traits)              \
    {                                                                          \
        .name = #its_name, .send = CTN_SIDE_##its_send,                        \
        .recv = CTN_SIDE_##its_recv, .traits = (its_traits)                    \
    }

static inline bool ctn_has_trait(const ctn_description_t *collective,
                                 ctn_trait_t trait)
{
    return (collective->traits & (unsigned)trait) != 0;
}

/** Whether a side has a block for each peer. */
static inline bool ctn_has_blocks(ctn_side_shape_t shape)
{
    return shape >= CTN_SIDE_UNIFORM && shape <= CTN_SIDE_PACKED;
}

/** Whether blocks have individual lengths. */
static inline bool ctn_has_lengths(const ctn_description_t *collective)
{
    return collective->send >= CTN_SIDE_VECTOR ||
           collective->recv >= CTN_SIDE_VECTOR;
}

#endif
