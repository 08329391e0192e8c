#ifndef CTN_EXEC_RECORDER_H
#define CTN_EXEC_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/description.h"
#include "core/log.h"

/* The recorder of a rank: its last calls, in the node's shared memory, so that
 * the ranks of the node, and catena-info, can tell why a job hangs: also when a
 * rank is stopped, spins, or is dead. It is written in each call and has no
 * clock; recorder_read.c reads it. A reader may see a record that is being
 * written. */

enum {
    CTN_RECORDER_VERSION = 6 << 16 | CTN_CODES,
    CTN_RECORDS = 256,          /* of a rank; a power of two */
    CTN_RECORDED_SCOPES = 1024, /* of a rank at once; the first is for unknown
                                   groups */
    CTN_RECORDS_SIMULATED = 8,
    CTN_RECORDED_SCOPES_SIMULATED = 8,
    CTN_WAITS_BYTES = 152
};

/** Ids of scopes, which are groups: the same on all members, and those of
 * different groups differ. Others are a hash of how the group was made. */
enum {
    CTN_SCOPE_NONE,    /* an entry that is free */
    CTN_SCOPE_UNKNOWN, /* members may differ in what they know of it */
    CTN_SCOPE_WORLD,
    CTN_SCOPE_FIRST /* of all others */
};

typedef enum ctn_recorded_state {
    CTN_RECORD_INSIDE,  /* the call has not returned */
    CTN_RECORD_STARTED, /* it has returned a request that is not complete */
    CTN_RECORD_REFUSED, /* by this rank alone: the call did not begin */
    CTN_RECORD_OVER
} ctn_recorded_state_t;

/** A scope of calls: a group as a member knows it. */
typedef struct ctn_recorded_scope {
    uint64_t id;
    uint32_t size;
    uint32_t calls; /* that this member has entered */
} ctn_recorded_scope_t;

/** A call, or a start of a persistent request: that has what the initialization
 * of the request has, and the number of the start. */
typedef struct ctn_recorded_call {
    uint64_t scope;  /* id */
    uint64_t bytes;  /* of this rank's block or vector; with lengths for each
                        peer (ctn_call_has_lengths) of all that it sends; 0:
                        not known yet */
    uint32_t number; /* of the group's calls, from 1; 0: refused */
    int32_t root;    /* -1: none */
    uint8_t code;    /* ctn_call_code_t */
    uint8_t state;   /* ctn_recorded_state_t */
    uint8_t op;      /* of a reduction: ctn_reducer_op_code; 0: none */
    uint8_t type;    /* of a reduction: ctn_reducer_type_code */
    uint32_t start;  /* of the request, from 1; 0: a call */
} ctn_recorded_call_t;

_Static_assert(sizeof(ctn_recorded_call_t) == 32, "half a cache line");
_Static_assert(CTN_RECORD_INSIDE == 0 &&
                   __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "see ctn_recorder_begin");

typedef struct ctn_recorder {
    uint32_t version;  /* CTN_RECORDER_VERSION, written last; 0: not in use */
    uint32_t records;  /* a power of two */
    uint32_t scopes;   /* that are in use, or were */
    uint32_t rank;     /* in the world */
    uint64_t pid;      /* 0: simulated */
    uint64_t space;    /* of this process number: ctn_pid_space */
    uint64_t calls;    /* entered; the last one is record calls - 1 */
    uint64_t since_ns; /* the last long wait: begin, and when it was seen last,
                          by CLOCK_MONOTONIC; simulated: seen_ns is not 0 */
    uint64_t seen_ns;
    uint64_t waited_in;          /* `calls` then */
    char waits[CTN_WAITS_BYTES]; /* the operation that it waits for */
} ctn_recorder_t;

/** Where the records begin; the scopes follow. */
#define CTN_RECORDER_BYTES 256u

static inline size_t ctn_recorder_bytes(uint32_t scopes, uint32_t records)
{
    return CTN_RECORDER_BYTES + scopes * sizeof(ctn_recorded_scope_t) +
           records * sizeof(ctn_recorded_call_t);
}

static inline ctn_recorded_call_t *
ctn_recorder_records(const ctn_recorder_t *recorder)
{
    return (ctn_recorded_call_t *)((uintptr_t)recorder + CTN_RECORDER_BYTES);
}

/** @param records of the recorder */
static inline ctn_recorded_scope_t *
ctn_recorder_scopes(const ctn_recorder_t *recorder, uint32_t records)
{
    return (ctn_recorded_scope_t *)(ctn_recorder_records(recorder) + records);
}

_Static_assert(sizeof(ctn_recorder_t) <= CTN_RECORDER_BYTES &&
                   CTN_RECORDER_BYTES % 64 == 0,
               "two records are a cache line");

struct ctn_exec;

/** Make the recorder of a rank, and let others find it. Without memory there is
 * none, which is no error. */
void ctn_recorder_open(struct ctn_exec *exec);
void ctn_recorder_close(struct ctn_exec *exec);

/** An entry for a group; an entry of unknown groups if there are too many. */
ctn_recorded_scope_t *ctn_recorder_add_scope(struct ctn_exec *exec,
                                             uint64_t id);

/** The record of the next call. */
static inline ctn_recorded_call_t *
ctn_recorder_next(const ctn_recorder_t *recorder)
{
    return ctn_recorder_records(recorder) +
           (recorder->calls & (recorder->records - 1));
}

/** Note a call. It makes four stores, since the data of a call follow them:
 * with eight, in paired runs of 8 B and 2 ranks, bcast took 6 ns longer than
 * without a record, with four 1 to 4 ns.
 * @return its record; it is OVER or STARTED when it returns */
static inline ctn_recorded_call_t *
ctn_recorder_begin(ctn_recorder_t *recorder, ctn_recorded_scope_t *scope,
                   ctn_call_code_t code, int32_t root)
{
    ctn_recorded_call_t *record = ctn_recorder_next(recorder);
    uint64_t number_root = ++scope->calls | (uint64_t)(uint32_t)root << 32;
    uint64_t code_others = code; /* INSIDE, op, type and start are 0 */
    record->scope = scope->id;
    record->bytes = 0;
    memcpy(&record->number, &number_root, 8);
    memcpy(&record->code, &code_others, 8);
    __atomic_store_n(&recorder->calls, recorder->calls + 1, __ATOMIC_RELEASE);
    return record;
}

/** The name of a call that has a record, for ctn_recorder_call. */
static inline uint16_t ctn_recorder_name(const ctn_recorder_t *recorder,
                                         const ctn_recorded_call_t *call)
{
    uint64_t last = recorder->calls - 1;
    uint64_t index = (uint64_t)(call - ctn_recorder_records(recorder));
    uint64_t later = (last - index) & (recorder->records - 1);
    return (uint16_t)(0x8000u | ((last - later) & 0x7fffu));
}

/** Note a start of a persistent request.
 * @param initialized the record of its initialization, but with the state
 *                    STARTED and the number of the last start
 * @return the name of the start */
static inline uint16_t ctn_recorder_start(ctn_recorder_t *recorder,
                                          ctn_recorded_call_t *initialized)
{
    ctn_recorded_call_t *record = ctn_recorder_next(recorder);
    *record = *initialized; /* before a store, which a wide load waits for */
    record->start = ++initialized->start;
    __atomic_store_n(&recorder->calls, recorder->calls + 1, __ATOMIC_RELEASE);
    return ctn_recorder_name(recorder, record);
}

/** The record of a call with a name; NULL: it is no longer there. Names are
 * used again after 32,768 calls. */
static inline ctn_recorded_call_t *
ctn_recorder_call(const ctn_recorder_t *recorder, uint16_t name)
{
    uint64_t last = recorder->calls - 1;
    uint64_t later = (last - name) & 0x7fffu;
    return later < recorder->records
               ? ctn_recorder_records(recorder) +
                     ((last - later) & (recorder->records - 1))
               : NULL;
}

struct catena_request;

/** The operation of a nonblocking call has ended: so has the call. */
void ctn_recorder_op_ended(struct catena_request *op);

/** The operation that a wait most likely is for: the oldest active one; NULL:
 * there is none. */
const struct catena_request *ctn_recorder_oldest(const struct ctn_exec *exec);

/** A long wait goes on. */
void ctn_recorder_waits(struct ctn_exec *exec, uint64_t since_ns, uint64_t now);

/** This rank has waited for too long: print what the ranks of this node do, and
 * tell other nodes, unless that was done since the wait or the call began. */
void ctn_recorder_report(struct ctn_exec *exec, uint64_t now, uint64_t began);
/** A rank has waited for too long: pass that on, and print what the ranks of
 * this node do, unless one of them has heard of it before.
 * @param word the flag of this rank (ctn_exec_flags_t) */
void ctn_recorder_hear(struct ctn_exec *exec, uint64_t now, uint64_t word);

/** Print what the ranks of nodes do.
 * @param segments those of the nodes, one after the other, each from its header
 *                 on; what is in them is not believed
 * @param bytes    of each */
void ctn_recorder_print(FILE *stream, const void *segments, size_t bytes,
                        size_t nodes);
/** The same as warnings of a log. */
void ctn_recorder_log(const ctn_log_t *log, const void *segments, size_t bytes,
                      size_t nodes);

#endif
