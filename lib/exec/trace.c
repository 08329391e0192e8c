#include "exec/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "exec/observe.h"

enum {
    LINE = 512,               /* the longest event */
    FIRST_BYTES = 4096,       /* of the buffer, which doubles */
    MOST_BYTES = 1024 * 1024, /* then it is written */
};

struct ctn_trace {
    ctn_exec_t *exec;
    const char *path; /* the setting's */
    uint64_t zero_ns; /* added to the time of exec */
    char *text;       /* events, each ends with a comma and a newline */
    size_t used;
    size_t bytes;
    bool failed; /* nothing more is written */
};

/* ---- the file ---- */

static bool write_all(int file, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(file, text, bytes);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        text += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* The list of events: its end is replaced when more are appended. */
static const char no_events[] = "[\n]\n", list_end[] = "\n]\n";
enum { NONE = sizeof(no_events) - 1, END = sizeof(list_end) - 1 };

/** Make the file, which is locked, a list without events; of a device nothing
 * can be dropped. */
static bool clear(int file)
{
    struct stat is;
    return fstat(file, &is) == 0 &&
           (!S_ISREG(is.st_mode) ||
            (ftruncate(file, 0) == 0 && write_all(file, no_events, NONE)));
}

/** Append the events to the list in the file, which is locked. */
static bool append(const ctn_trace_t *trace, int file)
{
    struct stat is;
    if (fstat(file, &is) != 0 || (is.st_size < NONE && !clear(file))) {
        return false;
    }
    bool first = is.st_size <= NONE;
    off_t at = !S_ISREG(is.st_mode) ? 0 : (first ? NONE : is.st_size) - END;
    if (lseek(file, at, SEEK_SET) != at) {
        return false;
    }
    if ((first || write_all(file, ",", 1)) && write_all(file, "\n", 1) &&
        write_all(file, trace->text, trace->used - 2) &&
        write_all(file, list_end, END)) {
        return true;
    }
    int error = errno; /* no room: the list ends where it did */
    if (ftruncate(file, at) == 0 && lseek(file, at, SEEK_SET) == at) {
        (void)write_all(file, list_end, END);
    }
    errno = error;
    return false;
}

/** Warn that the file cannot be written; there is no trace of this rank. */
static void give_up(ctn_trace_t *trace)
{
    ctn_warn(trace->exec->log,
             "CATENA_TRACE: '%s' cannot be written (%s), so events of this "
             "rank are missing there; name a file in a directory that exists, "
             "with room",
             trace->path, strerror(errno));
    trace->failed = true;
}

/** Signals of the application do not end the wait. */
static bool lock(int file)
{
    int result;
    do {
        result = flock(file, LOCK_EX);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/** @param clears clear the file; else append the events */
static void change_file(ctn_trace_t *trace, bool clears)
{
    int file = open(trace->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || !lock(file) ||
        !(clears ? clear(file) : append(trace, file))) {
        give_up(trace);
    }
    if (file >= 0) {
        close(file); /* unlocks it */
    }
    if (!clears) {
        trace->used = 0;
    }
}

/* ---- events ---- */

static uint64_t now_of(const ctn_trace_t *trace)
{
    return ctn_observe_time(trace->exec);
}

/** Room for another event; NULL: there is none. */
static char *room(ctn_trace_t *trace)
{
    if (trace->failed) {
        return NULL;
    }
    if (trace->bytes - trace->used < LINE && trace->bytes < MOST_BYTES) {
        size_t bytes = trace->bytes > 0 ? 2 * trace->bytes : FIRST_BYTES;
        char *text = realloc(trace->text, bytes);
        trace->bytes = text != NULL ? bytes : trace->bytes;
        trace->text = text != NULL ? text : trace->text;
    }
    if (trace->bytes - trace->used < LINE && trace->used > 0) {
        uint64_t began = now_of(trace);
        change_file(trace, false);
        ctn_trace_work(trace, began, "trace written", NULL, 0);
    }
    return trace->bytes - trace->used < LINE ? NULL : trace->text + trace->used;
}

/** Add an event. `format` is its text in Chrome's format after the number of
 * the rank. */
__attribute__((format(printf, 2, 3))) static void add(ctn_trace_t *trace,
                                                      const char *format, ...)
{
    char *text = room(trace);
    if (text == NULL) {
        return;
    }
    int head = snprintf(text, LINE, "{\"pid\":%u,",
                        (unsigned)trace->exec->locality->process);
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text + head, LINE - (size_t)head, format, list);
    va_end(list);
    size_t used = (size_t)head + (n > 0 ? (size_t)n : 0);
    if (n > 0 && used + 3 < LINE) { /* else it is left out */
        memcpy(text + used, "},\n", 4);
        trace->used += used + 3;
    }
}

/* A time or a duration: microseconds in Chrome's format. */
#define US "%llu.%03u"
#define AS_US(ns) (unsigned long long)((ns) / 1000), (unsigned)((ns) % 1000)

/** Write the group and the length of a call, for Chrome's arguments. */
static void describe_call(const ctn_recorded_call_t *call, char text[LINE / 2])
{
    int used = snprintf(text, LINE / 2, "\"bytes\":%llu,\"number\":%u",
                        (unsigned long long)call->bytes, call->number);
    if (call->root >= 0) {
        used += snprintf(text + used, LINE / 2 - (size_t)used, ",\"root\":%d",
                         call->root);
    }
    if (call->scope == CTN_SCOPE_WORLD) {
        snprintf(text + used, LINE / 2 - (size_t)used, ",\"group\":\"world\"");
    } else {
        snprintf(text + used, LINE / 2 - (size_t)used, ",\"group\":\"%06llx\"",
                 (unsigned long long)(call->scope & 0xffffff));
    }
}

void ctn_trace_work(ctn_trace_t *trace, uint64_t began, const char *what,
                    const ctn_recorded_call_t *call, uint64_t bytes)
{
    char about[LINE / 2] = "";
    uint64_t ns = now_of(trace) - began;
    if (call != NULL) {
        describe_call(call, about);
    } else if (bytes > 0) {
        snprintf(about, sizeof(about), "\"bytes\":%llu",
                 (unsigned long long)bytes);
    }
    add(trace,
        "\"tid\":0,\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"ts\":" US
        ",\"dur\":" US ",\"args\":{%s}",
        what, call != NULL ? "call" : "work", AS_US(began + trace->zero_ns),
        AS_US(ns), about);
}

/** An event of a track.
 * @param about in Chrome's form; may be empty */
static void add_tracked(ctn_trace_t *trace, const char *kind, char phase,
                        uint64_t id, uint64_t ns, const char *what,
                        const char *about)
{
    add(trace,
        "\"tid\":0,\"ph\":\"%c\",\"cat\":\"%s\",\"id2\":{\"local\":\"%s%llu\"},"
        "\"name\":\"%s\",\"ts\":" US "%s",
        phase, kind, kind, (unsigned long long)id, what,
        AS_US(ns + trace->zero_ns), about);
}

void ctn_trace_begin(ctn_trace_t *trace, const char *kind, uint64_t id,
                     const char *what)
{
    add_tracked(trace, kind, 'b', id, now_of(trace), what, "");
}

void ctn_trace_end(ctn_trace_t *trace, const char *kind, uint64_t id,
                   const char *what)
{
    add_tracked(trace, kind, 'e', id, now_of(trace), what, "");
}

void ctn_trace_put(ctn_trace_t *trace, uint64_t id, uint64_t began,
                   uint64_t process, uint64_t bytes)
{
    char about[LINE / 4];
    snprintf(about, sizeof(about), ",\"args\":{\"to\":%llu,\"bytes\":%llu}",
             (unsigned long long)process, (unsigned long long)bytes);
    add_tracked(trace, "put", 'b', id, began, "put", about);
    add_tracked(trace, "put", 'e', id, now_of(trace), "put", "");
}

/* ---- lifetime ---- */

/** A name for JSON: '?' for what would need an escape. */
static const char *plain(const char *name, char text[65])
{
    size_t n = 0;
    for (; n < 64 && name[n] != '\0'; n++) {
        bool fits = name[n] >= ' ' && name[n] <= '~' && name[n] != '"' &&
                    name[n] != '\\';
        text[n] = '?';
        if (fits) {
            text[n] = name[n];
        }
    }
    text[n] = '\0';
    return text;
}

/** Between the time of exec and that of the file: ranks of several nodes have
 * the time of day in common. Its first digits are left out. */
static uint64_t zero_of(const ctn_exec_t *exec)
{
    enum { TRIES = 5 };
    static const uint64_t LAST_NS = UINT64_C(1000000000000000);
    uint64_t zero = 0, least = UINT64_MAX;
    for (int i = 0; i < TRIES && !exec->virtual_time; i++) {
        uint64_t before = ctn_clock_now_ns();
        uint64_t day = ctn_clock_ns(CLOCK_REALTIME);
        uint64_t ns = ctn_clock_now_ns() - before;
        if (ns < least) { /* not interrupted in between */
            least = ns;
            zero = day % LAST_NS - before - ns / 2;
        }
    }
    return zero;
}

ctn_trace_t *ctn_trace_open(ctn_exec_t *exec, const char *path,
                            const char *node, bool clears)
{
    ctn_trace_t *trace = calloc(1, sizeof(*trace));
    if (trace == NULL) {
        return NULL;
    }
    trace->exec = exec;
    trace->path = path;
    trace->zero_ns = zero_of(exec);
    unsigned rank = (unsigned)exec->locality->process;
    char name[65];
    add(trace,
        "\"ph\":\"M\",\"name\":\"process_name\",\"args\":{\"name\":"
        "\"rank %u on %s\"}",
        rank, plain(node, name));
    add(trace,
        "\"ph\":\"M\",\"name\":\"process_sort_index\",\"args\":{"
        "\"sort_index\":%u}",
        rank);
    add(trace, "\"tid\":0,\"ph\":\"M\",\"name\":\"thread_name\",\"args\":{"
               "\"name\":\"calls\"}");
    if (clears) { /* from now on the file is complete JSON */
        change_file(trace, true);
    }
    return trace;
}

void ctn_trace_flush(ctn_trace_t *trace)
{
    if (!trace->failed && trace->used > 0) {
        change_file(trace, false);
    }
}

void ctn_trace_close(ctn_trace_t *trace)
{
    ctn_trace_flush(trace);
    free(trace->text);
    free(trace);
}
