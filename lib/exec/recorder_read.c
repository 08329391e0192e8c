/* What the ranks of a node do, from their recorders: printed by a rank that has
 * waited for long, and by catena-info from outside. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <catena/context.h>

#include "core/clock.h"
#include "core/refuse.h"
#include "exec/recorder.h"
#include "heap/heap.h"

enum { LINE = 256 };

/** Of ctn_call_code_t. */
static const char *const names[CTN_CODES] = {
    [CTN_CODE_GROUP_SPLIT] = "group_split",
    [CTN_CODE_FINALIZE] = "finalize",
#define CTN_ANY(NAME, name, ...) [CTN_CODE_##NAME] = #name,
#include "core/calls.def"
};

/** A rank of the node as a reader sees it. */
typedef struct rank {
    const ctn_recorder_t *recorder; /* NULL: it is not there */
    const ctn_recorded_scope_t *scope;
    const ctn_recorded_call_t *call;
    uint32_t scopes, calls; /* of these arrays; not read again, since the
                               process may write anything */
    const ctn_recorded_call_t *last; /* NULL: no call yet */
    char state;                      /* of its process, as in /proc; 0: gone */
    bool waits;
    double waited_s;
} rank_t;

typedef struct node {
    int size;
    rank_t *rank;
} node_t;

/** The letter of a process's state; 0: there is none. */
static char state_of(uint64_t pid)
{
    char path[64];
    char line[LINE];
    char state = 0;
    snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        const char *end =
            fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
        state = end != NULL ? end[2] : 0;
        (void)fclose(file);
    }
    return state == 'Z' || state == 'X' ? 0 : state;
}

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

/** A rank's record of a call; NULL: not there, or no longer. */
static const ctn_recorded_call_t *record_of(const rank_t *rank, uint64_t id,
                                            uint32_t number)
{
    uint64_t calls = __atomic_load_n(&rank->recorder->calls, __ATOMIC_ACQUIRE);
    uint64_t kept = calls < rank->calls ? calls : rank->calls;
    for (uint64_t i = 1; i <= kept; i++) {
        const ctn_recorded_call_t *one =
            &rank->call[(calls - i) & (rank->calls - 1)];
        if (one->scope == id && one->number == number) {
            return one;
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
    uint32_t scopes = __atomic_load_n(&recorder->scopes, __ATOMIC_RELAXED);
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

static void look(rank_t *rank)
{
    const ctn_recorder_t *recorder = rank->recorder;
    if (recorder == NULL) {
        return;
    }
    rank->state = state_of(recorder->pid);
    uint64_t calls = __atomic_load_n(&recorder->calls, __ATOMIC_ACQUIRE);
    if (calls > 0) {
        rank->last = &rank->call[(calls - 1) & (rank->calls - 1)];
    }
    /* A wait is noted every 50 ms, and sleeps are shorter than 200. What a rank
     * that does not run waited for, it waits for still. */
    enum { RECENT_NS = 400000000 };
    uint64_t now = ctn_clock_now_ns();
    uint64_t seen = __atomic_load_n(&recorder->seen_ns, __ATOMIC_ACQUIRE);
    bool frozen = rank->state == 0 || rank->state == 'T' || rank->state == 't';
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
    uint8_t code = record->code; /* read once */
    int used =
        snprintf(text, LINE, "%s", code < CTN_CODES ? names[code] : "no call");
    if (record->bytes > 0) {
        used += snprintf(text + used, (size_t)(LINE - used), ", %llu B",
                         (unsigned long long)record->bytes);
    }
    if (record->root >= 0) {
        snprintf(text + used, (size_t)(LINE - used), ", root %d", record->root);
    }
}

static void print_rank(FILE *stream, const rank_t *rank)
{
    char call[LINE];
    char scope[LINE];
    char waits[LINE];
    const ctn_recorder_t *recorder = rank->recorder;
    fprintf(stream, "rank %u, process %llu, %s: ", recorder->rank,
            (unsigned long long)recorder->pid, process_does(rank));
    if (rank->last == NULL) {
        fprintf(stream, "no call yet\n");
        return;
    }
    describe(rank->last, call);
    name_scope(rank, rank->last->scope, scope);
    const char *how = rank->last->state == CTN_RECORD_INSIDE ? "in"
                      : rank->last->state == CTN_RECORD_STARTED
                          ? "started"
                          : "returned from";
    if (rank->last->state == CTN_RECORD_REFUSED) {
        fprintf(stream, "was refused %s of %s", call, scope);
    } else {
        fprintf(stream, "%s %s, call %u of %s", how, call, rank->last->number,
                scope);
    }
    if (rank->waits) {
        fprintf(stream, "; waits for %.1f s", rank->waited_s);
        copy_text(waits, recorder->waits, CTN_WAITS_BYTES);
        if (waits[0] != '\0') {
            fprintf(stream, " (%s)", waits);
        }
    }
    fprintf(stream, "\n");
}

/** What a rank has to do with a call of a group: text, the same for ranks that
 * do the same. @return whether the rank belongs to the group */
static bool part_in(const rank_t *rank, uint64_t id, uint32_t number,
                    char text[LINE])
{
    const ctn_recorded_scope_t *scope = scope_of(rank, id);
    if (scope == NULL) {
        return false;
    }
    if (scope->calls < number) {
        snprintf(text, LINE, "not there yet%s",
                 rank->state == 0                           ? ", dead"
                 : rank->state == 'T' || rank->state == 't' ? ", stopped"
                 : rank->last == NULL                       ? ""
                 : rank->last->state == CTN_RECORD_INSIDE ? ", in another call"
                                                          : ", in no call");
        return true;
    }
    const ctn_recorded_call_t *record = record_of(rank, id, number);
    if (record == NULL) {
        snprintf(text, LINE, "past it");
        return true;
    }
    describe(record, text);
    size_t used = strlen(text);
    snprintf(text + used, LINE - used, "%s",
             record->state == CTN_RECORD_OVER           ? " (returned)"
             : rank->state == 0                         ? " (dead)"
             : rank->state == 'T' || rank->state == 't' ? " (stopped)"
                                                        : "");
    return true;
}

/** Print numbers in ascending order: " 0 2-5". */
typedef struct ranges {
    FILE *stream;
    uint32_t first, last;
    bool open;
} ranges_t;

static void ranges_end(ranges_t *ranges)
{
    if (ranges->open && ranges->first < ranges->last) {
        fprintf(ranges->stream, " %u-%u", ranges->first, ranges->last);
    } else if (ranges->open) {
        fprintf(ranges->stream, " %u", ranges->first);
    }
    ranges->open = false;
}

static void ranges_add(ranges_t *ranges, uint32_t number)
{
    if (ranges->open && number == ranges->last + 1) {
        ranges->last = number;
        return;
    }
    ranges_end(ranges);
    ranges->first = ranges->last = number;
    ranges->open = true;
}

/** Print which ranks do what in a call, those that do the same together. */
static void print_call(FILE *stream, const node_t *node, const rank_t *one)
{
    char name[LINE];
    uint64_t id = one->last->scope;
    uint32_t number = one->last->number;
    uint32_t here = 0;
    bool *told = calloc((size_t)node->size, sizeof(*told));
    name_scope(one, id, name);
    fprintf(stream, "call %u of %s:", number, name);
    for (int i = 0; told != NULL && i < node->size; i++) {
        char first[LINE];
        if (told[i] || !part_in(&node->rank[i], id, number, first)) {
            continue;
        }
        ranges_t same = {.stream = stream};
        fprintf(stream, "%s %s:", here > 0 ? ";" : "", first);
        for (int k = i; k < node->size; k++) {
            char other[LINE];
            if (!told[k] && part_in(&node->rank[k], id, number, other) &&
                strcmp(first, other) == 0) {
                told[k] = true;
                here++;
                ranges_add(&same, node->rank[k].recorder->rank);
            }
        }
        ranges_end(&same);
    }
    const ctn_recorded_scope_t *scope = scope_of(one, id);
    uint32_t size = scope != NULL ? scope->size : 0;
    if (here < size) {
        fprintf(stream,
                "; %u ranks are on other nodes or do not know the group",
                size - here);
    }
    fprintf(stream, "\n");
    free(told);
}

/** Whether a rank is stuck in its last call. */
static bool is_in(const rank_t *rank)
{
    return rank->last != NULL && rank->last->scope > CTN_SCOPE_UNKNOWN &&
           scope_of(rank, rank->last->scope) != NULL &&
           (rank->last->state == CTN_RECORD_INSIDE ||
            (rank->last->state == CTN_RECORD_STARTED && rank->waits));
}

void ctn_recorder_print(FILE *stream, const void *segment, size_t bytes)
{
    const uint64_t *offsets;
    node_t node = {.size = ctn_segment_shown(segment, bytes, &offsets)};
    node.rank =
        calloc((size_t)(node.size > 0 ? node.size : 1), sizeof(*node.rank));
    for (int i = 0; node.rank != NULL && i < node.size; i++) {
        find(&node.rank[i], segment, bytes,
             __atomic_load_n(&offsets[i], __ATOMIC_ACQUIRE));
        look(&node.rank[i]);
    }
    for (int i = 0; node.rank != NULL && i < node.size; i++) {
        if (node.rank[i].recorder != NULL) {
            print_rank(stream, &node.rank[i]);
        } else {
            fprintf(stream, "local rank %d: has not begun, or has finalized\n",
                    i);
        }
    }
    for (int i = 0; node.rank != NULL && i < node.size; i++) {
        const rank_t *one = &node.rank[i];
        bool told = false;
        for (int k = 0; is_in(one) && k < i && !told; k++) {
            const rank_t *other = &node.rank[k];
            told = is_in(other) && other->last->scope == one->last->scope &&
                   other->last->number == one->last->number;
        }
        if (is_in(one) && !told) {
            print_call(stream, &node, one);
        }
    }
    free(node.rank);
}

catena_status_t catena_job_print(FILE *stream, int process)
{
    size_t bytes;
    const uint64_t *offsets;
    if (stream == NULL) {
        return CTN_REFUSE_NULL(NULL, stream);
    }
    const void *segment = ctn_segment_map(process, &bytes);
    if (segment == NULL) {
        return ctn_refuse(NULL, CATENA_ERR_SYSTEM, __func__, "process %d: %s",
                          process,
                          errno == ENXIO    ? "it is no rank of a catena job"
                          : errno == ENOENT ? "there is no such process"
                                            : strerror(errno));
    }
    catena_status_t status = CATENA_OK;
    if (ctn_segment_shown(segment, bytes, &offsets) > 0) {
        ctn_recorder_print(stream, segment, bytes);
    } else {
        status =
            ctn_refuse(NULL, CATENA_ERR_SYSTEM, __func__,
                       "process %d: its catena is of another version", process);
    }
    munmap((void *)(uintptr_t)segment, bytes);
    return status;
}
