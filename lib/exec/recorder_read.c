/* What the ranks of a node do, from their recorders: printed by a rank that has
 * waited for long, and by catena-info from outside. And what all ranks of a
 * simulated job do that cannot go on. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <catena/context.h>

#include "core/clock.h"
#include "core/process.h"
#include "core/refuse.h"
#include "exec/recorder.h"
#include "heap/heap.h"
#include "type/op.h"

enum {
    LINE = 256,
    MOST_RANKS = 256, /* that are listed */
    MOST_CALLS = 16,  /* that ranks are stuck in, and that are listed */
    MOST_RANGES = 24, /* of ranks that do the same */
    MOST_SHARES = 6   /* of what ranks do in a call */
};

/** A rank of the node as a reader sees it. */
typedef struct rank {
    const ctn_recorder_t *recorder; /* NULL: it is not there */
    const ctn_recorded_scope_t *scope;
    const ctn_recorded_call_t *call;
    uint32_t scopes, calls; /* of these arrays; not read again, since the
                               process may write anything */
    uint64_t entered;       /* calls */
    const ctn_recorded_call_t *last;    /* NULL: no call yet */
    const ctn_recorded_call_t *inside;  /* the oldest that it is in, which may
                                           have made others; NULL: none */
    const ctn_recorded_call_t *started; /* the oldest whose request is not
                                           complete; NULL: none */
    char state; /* of its process, as in /proc; 0: gone; '-': simulated; '?':
                   in another PID namespace */
    bool waits;
    double waited_s;
} rank_t;

/** The ranks of a node, or of all nodes of a simulated job. */
typedef struct ranks {
    size_t size;
    rank_t *rank; /* [size] */
} ranks_t;

static const char *process_does(const rank_t *rank)
{
    switch (rank->state) {
    case 0:
        return "dead";
    case 'T':
    case 't':
        return "stopped";
    case 'R':
        return "running";
    case '?':
        return "of another PID namespace";
    default:
        return "asleep";
    }
}

/** The group of an id as a rank knows it; NULL: it does not. */
static const ctn_recorded_scope_t *scope_of(const rank_t *rank, uint64_t id)
{
    for (uint32_t i = 0; i < rank->scopes; i++) {
        if (rank->scope[i].id == id) {
            return &rank->scope[i];
        }
    }
    return NULL;
}

/** How many calls of a rank have records. */
static uint64_t kept(const rank_t *rank)
{
    return rank->entered < rank->calls ? rank->entered : rank->calls;
}

/** A rank's record of a call. @param age 1: the last one, up to `kept` */
static const ctn_recorded_call_t *record_at(const rank_t *rank, uint64_t age)
{
    return &rank->call[(rank->entered - age) & (rank->calls - 1)];
}

/** What all ranks know a call by, or a start of a request. */
typedef struct call_id {
    uint64_t scope;
    uint32_t number;
    uint32_t start;
} call_id_t;

static call_id_t id_of(const ctn_recorded_call_t *record)
{
    return (call_id_t){__atomic_load_n(&record->scope, __ATOMIC_RELAXED),
                       __atomic_load_n(&record->number, __ATOMIC_RELAXED),
                       __atomic_load_n(&record->start, __ATOMIC_RELAXED)};
}

/** A rank's record of a call, or of its last start of the same request up to
 * this one; NULL: not there, or no longer. */
static const ctn_recorded_call_t *record_of(const rank_t *rank, call_id_t id)
{
    for (uint64_t age = 1; age <= kept(rank); age++) {
        const ctn_recorded_call_t *record = record_at(rank, age);
        call_id_t one = id_of(record);
        if (one.scope == id.scope && one.number == id.number &&
            (one.start > 0) == (id.start > 0) && one.start <= id.start) {
            return record;
        }
    }
    return NULL;
}

/** Find the recorder at an offset of the segment. Without one, or if its sizes
 * are wrong, the rank has none. */
static void find(rank_t *rank, const void *segment, size_t bytes,
                 uint64_t offset)
{
    *rank = (rank_t){.recorder = NULL};
    const ctn_recorder_t *recorder =
        (const void *)((const unsigned char *)segment + offset);
    uint64_t room = offset < bytes ? bytes - offset : 0;
    if (offset == 0 || offset % 64 != 0 || room < CTN_RECORDER_BYTES ||
        __atomic_load_n(&recorder->version, __ATOMIC_ACQUIRE) !=
            CTN_RECORDER_VERSION) {
        return;
    }
    uint32_t calls = __atomic_load_n(&recorder->records, __ATOMIC_RELAXED);
    uint32_t scopes = __atomic_load_n(&recorder->scopes, __ATOMIC_ACQUIRE);
    if (calls == 0 || calls > CTN_RECORDS || (calls & (calls - 1)) != 0 ||
        scopes > CTN_RECORDED_SCOPES ||
        room < ctn_recorder_bytes(scopes, calls)) {
        return;
    }
    rank->recorder = recorder;
    rank->scopes = scopes;
    rank->calls = calls;
    rank->call = ctn_recorder_records(recorder);
    rank->scope = ctn_recorder_scopes(recorder, calls);
}

static uint8_t state_of(const ctn_recorded_call_t *record)
{
    return __atomic_load_n(&record->state, __ATOMIC_RELAXED);
}

static void look(rank_t *rank)
{
    const ctn_recorder_t *recorder = rank->recorder;
    if (recorder == NULL) {
        return;
    }
    rank->state = recorder->pid == 0 ? '-'
                  : recorder->space != ctn_pid_space()
                      ? '?'
                      : ctn_process_state(recorder->pid);
    uint64_t calls = __atomic_load_n(&recorder->calls, __ATOMIC_ACQUIRE);
    rank->entered = calls;
    for (uint64_t age = kept(rank); age > 0; age--) {
        rank->last = record_at(rank, age);
        uint8_t state = state_of(rank->last);
        if (state == CTN_RECORD_INSIDE && rank->inside == NULL) {
            rank->inside = rank->last;
        } else if (state == CTN_RECORD_STARTED && rank->started == NULL) {
            rank->started = rank->last;
        }
    }
    /* A wait is noted every 50 ms, and sleeps are shorter than 200. What a rank
     * that does not run waited for, it waits for still. */
    enum { RECENT_NS = 400000000 };
    uint64_t now = ctn_clock_now_ns();
    uint64_t seen = __atomic_load_n(&recorder->seen_ns, __ATOMIC_ACQUIRE);
    bool frozen = rank->state == 0 || rank->state == 'T' ||
                  rank->state == 't' || rank->state == '-';
    rank->waits = seen != 0 && recorder->waited_in == calls &&
                  (frozen || now - seen < RECENT_NS);
    rank->waited_s = (double)(now - recorder->since_ns) * 1e-9;
}

static void name_scope(const rank_t *rank, uint64_t id, char text[LINE])
{
    const ctn_recorded_scope_t *scope = scope_of(rank, id);
    if (id == CTN_SCOPE_WORLD) {
        snprintf(text, LINE, "the world");
    } else if (id == CTN_SCOPE_UNKNOWN || scope == NULL) {
        snprintf(text, LINE, "a group");
    } else {
        snprintf(text, LINE, "group %06llx (%u ranks)",
                 (unsigned long long)(id & 0xffffff), scope->size);
    }
}

/** A text that another process has written, for a terminal. */
static void copy_text(char to[LINE], const char *from, size_t bytes)
{
    size_t i = 0;
    for (; i < bytes && from[i] != '\0'; i++) {
        to[i] = from[i];
        if (!isprint((unsigned char)to[i])) {
            to[i] = '?';
        }
    }
    to[i] = '\0';
}

static void describe(const ctn_recorded_call_t *record, char text[LINE])
{
    uint8_t code = __atomic_load_n(&record->code, __ATOMIC_RELAXED);
    int used = snprintf(text, LINE, "%s", ctn_call_name(code));
    /* Ranks may differ in lengths for each peer, and agree. */
    if (record->bytes > 0 && !ctn_call_has_lengths(code)) {
        used += snprintf(text + used, (size_t)(LINE - used), ", %llu B",
                         (unsigned long long)record->bytes);
    }
    if (record->op > 0) {
        char by[64];
        used += snprintf(
            text + used, (size_t)(LINE - used), ", %s",
            ctn_reducer_describe(record->op, record->type, by, sizeof(by)));
    }
    if (record->root >= 0) {
        snprintf(text + used, (size_t)(LINE - used), ", root %d", record->root);
    }
}

/** The call that a rank is in or, if it waits, whose request it most likely
 * waits for; NULL: none. */
static const ctn_recorded_call_t *call_of(const rank_t *rank)
{
    return rank->inside != NULL ? rank->inside
           : rank->waits        ? rank->started
                                : NULL;
}

/** Name a call, or a start, of a group. */
static void name_call(call_id_t id, const char *scope, char text[2 * LINE])
{
    int used = 0;
    if (id.start > 0) {
        used = snprintf(text, 2 * LINE, "start %u of ", id.start);
    }
    snprintf(text + used, (size_t)(2 * LINE - used), "call %u of %s", id.number,
             scope);
}

static void print_rank(FILE *stream, const rank_t *rank)
{
    char call[LINE];
    char scope[LINE];
    char name[2 * LINE];
    char waits[LINE];
    const ctn_recorder_t *recorder = rank->recorder;
    fprintf(stream, "rank %u", recorder->rank);
    if (recorder->pid != 0) {
        fprintf(stream, ", process %llu, %s", (unsigned long long)recorder->pid,
                process_does(rank));
    }
    fprintf(stream, ": %s",
            rank->state == 0 ? "has ended without catena_finalize; " : "");
    if (rank->last == NULL) {
        fprintf(stream, "no call%s\n", rank->state == 0 ? "" : " yet");
        return;
    }
    const ctn_recorded_call_t *record =
        call_of(rank) != NULL ? call_of(rank) : rank->last;
    describe(record, call);
    call_id_t id = id_of(record);
    name_scope(rank, id.scope, scope);
    name_call(id, scope, name);
    uint8_t state = state_of(record);
    const char *how = state == CTN_RECORD_INSIDE    ? "in"
                      : state == CTN_RECORD_STARTED ? "started"
                      : id.start > 0                ? "completed"
                                                    : "returned from";
    if (state == CTN_RECORD_REFUSED) {
        fprintf(stream, "was refused %s of %s", call, scope);
    } else {
        fprintf(stream, "%s %s, %s", how, call, name);
    }
    if (rank->waits) {
        fprintf(stream, "; waits");
        if (recorder->pid != 0) {
            fprintf(stream, " for %.1f s", rank->waited_s);
        }
        copy_text(waits, recorder->waits, CTN_WAITS_BYTES);
        if (waits[0] != '\0') {
            fprintf(stream, " (%s)", waits);
        }
    }
    fprintf(stream, "\n");
}

/** What a rank that has not entered a call does. */
static const char *does_instead(const rank_t *rank)
{
    return rank->state == 0                           ? ", dead"
           : rank->state == 'T' || rank->state == 't' ? ", stopped"
           : rank->last == NULL                       ? ""
           : call_of(rank) != NULL                    ? ", in another call"
                                                      : ", in no call";
}

/** Whether a rank has no record of a start, nor of a later one. */
static bool lacks_start(const rank_t *rank, call_id_t id)
{
    const call_id_t any = {id.scope, id.number, UINT32_MAX};
    const ctn_recorded_call_t *record = record_of(rank, any);
    return id.start > 0 && (record == NULL || id_of(record).start < id.start);
}

/** What a rank has to do with a call of a group: text, the same for ranks that
 * do the same. @return whether the rank belongs to the group */
static bool part_in(const rank_t *rank, call_id_t id, char text[LINE])
{
    const ctn_recorded_scope_t *scope = scope_of(rank, id.scope);
    if (scope == NULL) {
        return false;
    }
    if (scope->calls < id.number) {
        snprintf(text, LINE, "not there yet%s", does_instead(rank));
        return true;
    }
    const ctn_recorded_call_t *record = record_of(rank, id);
    if (lacks_start(rank, id)) {
        char lately[64] = "";
        if (record == NULL && rank->entered > rank->calls) {
            snprintf(lately, sizeof(lately), " in its last %u calls",
                     rank->calls);
        }
        snprintf(text, LINE, "not started%s%s", lately, does_instead(rank));
        return true;
    }
    if (record == NULL) {
        snprintf(text, LINE, "past it");
        return true;
    }
    describe(record, text);
    size_t used = strlen(text);
    snprintf(text + used, LINE - used, "%s",
             state_of(record) == CTN_RECORD_OVER        ? " (returned)"
             : rank->state == 0                         ? " (dead)"
             : rank->state == 'T' || rank->state == 't' ? " (stopped)"
                                                        : "");
    return true;
}

/** Print numbers in ascending order: " 0 2-5", and the count of the last ones
 * if there are too many ranges. */
typedef struct ranges {
    FILE *stream;
    uint32_t first, last;
    uint32_t printed; /* ranges */
    uint32_t more;    /* numbers that are only counted */
    bool open;
} ranges_t;

static void ranges_close(ranges_t *ranges)
{
    if (!ranges->open) {
        return;
    }
    ranges->open = false;
    if (ranges->printed++ >= MOST_RANGES) {
        ranges->more += ranges->last - ranges->first + 1;
    } else if (ranges->first < ranges->last) {
        fprintf(ranges->stream, " %u-%u", ranges->first, ranges->last);
    } else {
        fprintf(ranges->stream, " %u", ranges->first);
    }
}

static void ranges_add(ranges_t *ranges, uint32_t number)
{
    if (ranges->open && number == ranges->last + 1) {
        ranges->last = number;
        return;
    }
    ranges_close(ranges);
    ranges->first = ranges->last = number;
    ranges->open = true;
}

static void ranges_end(ranges_t *ranges)
{
    ranges_close(ranges);
    if (ranges->more > 0) {
        fprintf(ranges->stream, " and %u more", ranges->more);
    }
    *ranges = (ranges_t){.stream = ranges->stream};
}

/** Ranks whose part in a call is the same. */
typedef struct share {
    char *text;
    uint32_t rank;  /* in the world */
    uint32_t first; /* of those with this text */
} share_t;

static int by_text(const void *a, const void *b)
{
    const share_t *left = a, *right = b;
    int order = strcmp(left->text, right->text);
    return order != 0                 ? order
           : left->rank < right->rank ? -1
                                      : left->rank > right->rank;
}

static int by_first(const void *a, const void *b)
{
    const share_t *left = a, *right = b;
    uint32_t x = left->first != right->first ? left->first : left->rank;
    uint32_t y = left->first != right->first ? right->first : right->rank;
    return x < y ? -1 : x > y;
}

/** Find the part of each rank that belongs to the group of a call, those with
 * the same part together. @return how many they are */
static uint32_t find_shares(const ranks_t *ranks, call_id_t id, share_t *part)
{
    uint32_t count = 0;
    for (size_t i = 0; i < ranks->size; i++) {
        char text[LINE];
        if (part_in(&ranks->rank[i], id, text) &&
            (part[count].text = strdup(text)) != NULL) {
            part[count++].rank = ranks->rank[i].recorder->rank;
        }
    }
    qsort(part, count, sizeof(*part), by_text);
    for (uint32_t i = 0; i < count; i++) {
        part[i].first = i > 0 && strcmp(part[i].text, part[i - 1].text) == 0
                            ? part[i - 1].first
                            : part[i].rank;
    }
    qsort(part, count, sizeof(*part), by_first);
    return count;
}

/** Print which ranks do what in a call, those that do the same together.
 * @param one a rank that is in it */
static void print_call(FILE *stream, const ranks_t *ranks, const rank_t *one,
                       call_id_t id)
{
    char scope_name[LINE];
    char name[2 * LINE];
    share_t *part = calloc(ranks->size, sizeof(*part));
    if (part == NULL) {
        return;
    }
    name_scope(one, id.scope, scope_name);
    name_call(id, scope_name, name);
    fprintf(stream, "%s:", name);
    uint32_t here = find_shares(ranks, id, part);
    ranges_t same = {.stream = stream};
    uint32_t shares = 0;
    for (uint32_t i = 0; i < here; i++) {
        if (i == 0 || part[i].first != part[i - 1].first) {
            ranges_end(&same);
            if (++shares > MOST_SHARES) {
                fprintf(stream, "; and %u ranks", here - i);
                break;
            }
            fprintf(stream, "%s %s:", i > 0 ? ";" : "", part[i].text);
        }
        ranges_add(&same, part[i].rank);
    }
    ranges_end(&same);
    const ctn_recorded_scope_t *scope = scope_of(one, id.scope);
    uint32_t size = scope != NULL ? scope->size : 0;
    if (here < size) {
        fprintf(stream,
                "; %u ranks are on other nodes or do not know the group",
                size - here);
    }
    fprintf(stream, "\n");
    for (uint32_t i = 0; i < here; i++) {
        free(part[i].text);
    }
    free(part);
}

/** Calls that are printed. */
typedef struct printed {
    call_id_t call[MOST_CALLS];
    size_t count;
    bool others; /* not listed: of groups without an id */
} printed_t;

/** Print a call, unless it is printed. False: there are too many. */
static bool list_call(FILE *stream, const ranks_t *ranks, const rank_t *one,
                      const ctn_recorded_call_t *record, printed_t *printed)
{
    call_id_t id = id_of(record);
    if (id.scope <= CTN_SCOPE_UNKNOWN || scope_of(one, id.scope) == NULL) {
        printed->others |= id.scope == CTN_SCOPE_UNKNOWN;
        return true;
    }
    for (size_t k = 0; k < printed->count; k++) {
        const call_id_t *call = &printed->call[k];
        if (call->scope == id.scope && call->number == id.number &&
            call->start == id.start) {
            return true;
        }
    }
    if (printed->count == MOST_CALLS) {
        fprintf(stream, "ranks are stuck in further calls\n");
        return false;
    }
    printed->call[printed->count++] = id;
    print_call(stream, ranks, one, id);
    return true;
}

/** Print the calls that ranks are in, each once; then those that have requests
 * which are not complete, of ranks that wait. */
static void print_calls(FILE *stream, const ranks_t *ranks)
{
    static const uint8_t states[] = {CTN_RECORD_INSIDE, CTN_RECORD_STARTED};
    printed_t printed = {.count = 0};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < ranks->size; i++) {
            const rank_t *one = &ranks->rank[i];
            bool any = states[k] == CTN_RECORD_INSIDE
                           ? one->inside != NULL
                           : one->waits && one->started != NULL;
            for (uint64_t age = kept(one); any && age > 0; age--) {
                const ctn_recorded_call_t *record = record_at(one, age);
                if (state_of(record) == states[k] &&
                    !list_call(stream, ranks, one, record, &printed)) {
                    return;
                }
            }
        }
    }
    if (printed.others) {
        fprintf(stream, "ranks are in calls of groups without ids, which are "
                        "not listed: those beyond what a rank records, those "
                        "of comparators or catena_chain_create, and groups "
                        "made from these\n");
    }
}

void ctn_recorder_print(FILE *stream, const void *segments, size_t bytes,
                        size_t nodes)
{
    ranks_t ranks = {.size = 0};
    const uint64_t *offset;
    for (size_t n = 0; n < nodes; n++) {
        const unsigned char *segment =
            (const unsigned char *)segments + n * bytes;
        ranks.size += (size_t)ctn_segment_shown(segment, bytes, &offset);
    }
    ranks.rank = calloc(ranks.size > 0 ? ranks.size : 1, sizeof(*ranks.rank));
    if (ranks.rank == NULL) {
        return;
    }
    rank_t *rank = ranks.rank;
    for (size_t n = 0; n < nodes; n++) {
        const unsigned char *segment =
            (const unsigned char *)segments + n * bytes;
        int size = ctn_segment_shown(segment, bytes, &offset);
        for (int i = 0; i < size && rank < ranks.rank + ranks.size;
             i++, rank++) {
            find(rank, segment, bytes,
                 __atomic_load_n(&offset[i], __ATOMIC_ACQUIRE));
            look(rank);
            if (rank - ranks.rank >= MOST_RANKS) {
                continue;
            }
            if (rank->recorder != NULL) {
                print_rank(stream, rank);
            } else if (nodes == 1) {
                fprintf(stream,
                        "local rank %d: has not begun, or has finalized\n", i);
            }
        }
    }
    ranks.size = (size_t)(rank - ranks.rank);
    if (ranks.size > MOST_RANKS) {
        fprintf(stream, "and %zu more ranks\n", ranks.size - MOST_RANKS);
    }
    print_calls(stream, &ranks);
    free(ranks.rank);
}

void ctn_recorder_log(const ctn_log_t *log, const void *segments, size_t bytes,
                      size_t nodes)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL) {
        return;
    }
    ctn_log_t each =
        log != NULL ? *log : (ctn_log_t){.level = CATENA_LOG_WARN, .rank = -1};
    each.each = true; /* a later report has lines of this one */
    ctn_recorder_print(stream, segments, bytes, nodes);
    if (fclose(stream) == 0) { /* a line at a time: the log cuts long texts */
        char *rest = NULL;
        for (char *line = strtok_r(text, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            ctn_warn(&each, "%s", line);
        }
    }
    free(text);
}

catena_status_t catena_job_print(FILE *stream, int process)
{
    size_t bytes;
    const uint64_t *offsets;
    if (stream == NULL) {
        return CTN_REFUSE_NULL(NULL, stream);
    }
    void *segment = ctn_segment_copy(
        process, ctn_recorder_bytes(CTN_RECORDED_SCOPES, CTN_RECORDS), &bytes);
    if (segment == NULL && errno == ENXIO) {
        return ctn_refuse(
            NULL, CATENA_ERR_SYSTEM, __func__,
            "process %d: it is no rank of a catena job; if it is a "
            "launcher, give one of its ranks (pgrep -P %d); if "
            "it is prun, kill -USR2 %d prints all its nodes",
            process, process, process);
    }
    if (segment == NULL) {
        return ctn_refuse(
            NULL, CATENA_ERR_SYSTEM, __func__, "process %d: %s", process,
            errno == ENOENT ? "there is no such process" : strerror(errno));
    }
    catena_status_t status = CATENA_OK;
    if (ctn_segment_shown(segment, bytes, &offsets) > 0) {
        ctn_recorder_print(stream, segment, bytes, 1);
    } else {
        status =
            ctn_refuse(NULL, CATENA_ERR_SYSTEM, __func__,
                       "process %d: its catena is of another version", process);
    }
    free(segment);
    return status;
}
