#ifndef UNIT_WIRE_H
#define UNIT_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "transports/transport.h"
#include "transports/ucx/settings.h"

/* The network between processes of this host. Each test forks ranks that
 * exchange endpoint addresses in shared memory. A rank that detects an error
 * reports it and exits with nonzero status. */

#define RANKS_MAX 4
#define CARD_MAX 4096
#define ARENA_BYTES ((size_t)32 << 20)
#define DEADLINE_NS UINT64_C(20000000000)

/** Memory shared by the ranks of one test. */
typedef struct meeting {
    uint64_t arrived[16]; /* one counter per barrier */
    uint64_t ep_address_bytes[RANKS_MAX];
    unsigned char ep_addresses[RANKS_MAX][CARD_MAX];
    pid_t pids[RANKS_MAX];
} meeting_t;

typedef struct rank {
    meeting_t *meeting;
    ctn_log_t log;
    int rank, size;
    ctn_put_mode_t mode;
    size_t arena_bytes;
    unsigned char *arena;
    ctn_transport_t *transport;
    int barriers;
} rank_t;

#define NEED(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "rank %d: line %d: %s\n", r->rank, __LINE__,       \
                    #condition);                                               \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

/** The transports of UCX, and how puts are done. */
typedef struct wire_variant {
    const char *tls; /* NULL: UCX's choice */
    ctn_put_mode_t mode;
} wire_variant_t;

#define VARIANTS 5
#define VARIANTS_NETWORK (VARIANTS - 1)
extern const wire_variant_t wire_variants[VARIANTS];

/** A barrier of all ranks that progresses the network. */
void meet(rank_t *r);

/** Progress, or yield the core; aborts after `end`. */
void step(rank_t *r, uint64_t end);

/** Wait until the word at `offset` of the arena has that value. */
void wait_word(rank_t *r, uint64_t offset, uint64_t value);

/** Wait until nothing is pending. */
void wait_pending(rank_t *r, const uint64_t *pending);

/** The endpoint to a peer, which must be the same in each call. */
ctn_endpoint_t *connect_to(rank_t *r, int peer);

/** Fork `size` ranks that run `body`; `victim` (-1: none) may be killed. */
void run_ranks(int size, int variant, size_t arena_bytes, int victim,
               void (*body)(rank_t *r));

/** A pattern that depends on `seed`. */
void fill(unsigned char *at, size_t bytes, uint64_t seed);
bool filled(const unsigned char *at, size_t bytes, uint64_t seed);

#endif
