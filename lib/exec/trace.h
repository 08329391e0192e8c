#ifndef CTN_EXEC_TRACE_H
#define CTN_EXEC_TRACE_H

#include "exec/exec.h"

/* The trace of a rank, in Chrome's format (Trace Event Format, JSON), which
 * Perfetto reads. A rank is a process there: its calls and its work are a
 * thread, its operations with their phases and its puts have tracks of their
 * own. All ranks of a node append to one file, which is complete JSON whenever
 * no rank is writing. */

typedef struct ctn_trace ctn_trace_t;

/** Events of a rank; see ctn_observer_open. */
ctn_trace_t *ctn_trace_open(ctn_exec_t *exec, const char *path,
                            const char *node, bool clears);
/** Write what is left. Nothing is added afterwards, except by `close`. */
void ctn_trace_flush(ctn_trace_t *trace);
void ctn_trace_close(ctn_trace_t *trace);

/** What the thread of the rank has done from `began` until now.
 * @param call NULL: no call of the interface */
void ctn_trace_work(ctn_trace_t *trace, uint64_t began, const char *what,
                    const ctn_recorded_call_t *call, uint64_t bytes);

/** Something begins or ends that may overlap with others of its kind; a thing
 * that begins in another has the same id.
 * @param kind a word for all things that have these ids */
void ctn_trace_begin(ctn_trace_t *trace, const char *kind, uint64_t id,
                     const char *what);
void ctn_trace_end(ctn_trace_t *trace, const char *kind, uint64_t id,
                   const char *what);
/** The same of a put, of which source and target are known. */
void ctn_trace_put(ctn_trace_t *trace, uint64_t id, uint64_t began,
                   uint64_t process, uint64_t bytes);

#endif
