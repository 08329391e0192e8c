#ifndef CTN_CORE_DESCRIPTION_H
#define CTN_CORE_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptions of collectives: what their arguments are. calls.def has one row
 * for each collective. This header depends on nothing in the library, so that
 * tests and tools can use it, too. */

/** The blocks of one side, send or recv, and the arguments that describe them.
 * The peers are the ranks of a group; in a neighborhood the targets (send) or
 * the sources (recv). */
typedef enum ctn_side_shape {
    CTN_SIDE_NONE,
    CTN_SIDE_ONE,     /* one block: buffer, count, type */
    CTN_SIDE_UNIFORM, /* a block for each peer, all of one length: buffer,
                         count, type */
    CTN_SIDE_VECTOR,  /* a block for each peer, of individual lengths: buffer,
                         counts, displacements, type */
    CTN_SIDE_TYPED,   /* a block for each peer, of individual types: buffer,
                         counts, displacements in bytes, types */
    CTN_SIDE_PACKED,  /* a block for each peer, of individual lengths, one after
                         the other: buffer, counts, type */
    CTN_SIDE_OWN      /* one block: this rank's of CTN_SIDE_PACKED */
} ctn_side_shape_t;

/** Other properties of a collective; a description has a mask of them. */
typedef enum ctn_trait {
    CTN_ROOT_ARGUMENT = 1u << 0,  /* there is a root */
    CTN_SEND_ROOT_ONLY = 1u << 1, /* send is significant at the root only */
    CTN_RECV_ROOT_ONLY = 1u << 2, /* recv is significant at the root only */
    CTN_REDUCES = 1u << 3,        /* there is a reduction operation */
    CTN_SEND_IN_PLACE = 1u << 4,  /* send may be CATENA_IN_PLACE where recv is
                                     significant: its data are in recv */
    CTN_RECV_IN_PLACE = 1u << 5,  /* the same with send and recv exchanged */
    CTN_ONE_LENGTH = 1u << 6      /* the blocks of both sides have one length */
} ctn_trait_t;

/* The traits of rooted collectives: both sides are significant on all ranks, or
 * one at the root only. */
#define CTN_ROOTED CTN_ROOT_ARGUMENT
#define CTN_SEND_AT_ROOT (CTN_ROOT_ARGUMENT | CTN_SEND_ROOT_ONLY)
#define CTN_RECV_AT_ROOT (CTN_ROOT_ARGUMENT | CTN_RECV_ROOT_ONLY)

/** The calls of groups: the collectives, and others that all members make.
 * Their order is part of the recorder's version (exec/recorder.h). */
typedef enum ctn_call_code {
#define CTN_OTHER(NAME, name) CTN_CODE_##NAME,
#define CTN_ANY(NAME, ...) CTN_CODE_##NAME,
#include "core/calls.def"
    CTN_CODES
} ctn_call_code_t;

_Static_assert(CTN_CODES <= UINT8_MAX, "a recorded call has a byte for it");

/** The name of a call, without catena_; of other numbers "no call". */
const char *ctn_call_name(unsigned code);

/** Whether the call sends and receives blocks of individual lengths. */
bool ctn_call_has_lengths(unsigned code);

/** A collective: its row of calls.def. */
typedef struct ctn_description {
    const char *name; /* of catena_<name> */
    ctn_call_code_t code;
    ctn_side_shape_t send;
    ctn_side_shape_t recv;
    unsigned traits; /* mask of ctn_trait_t */
} ctn_description_t;

/** An initializer, from a row of calls.def. */
#define CTN_DESCRIPTION(NAME, its_name, its_send, its_recv, its_traits)        \
    {                                                                          \
        .name = #its_name, .code = CTN_CODE_##NAME,                            \
        .send = CTN_SIDE_##its_send, .recv = CTN_SIDE_##its_recv,              \
        .traits = (its_traits)                                                 \
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

/** Whether the blocks of a side have individual lengths. */
static inline bool ctn_has_lengths(const ctn_description_t *collective)
{
    return collective->send >= CTN_SIDE_VECTOR ||
           collective->recv >= CTN_SIDE_VECTOR;
}

#endif
