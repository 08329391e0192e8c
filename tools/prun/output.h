#ifndef PRUN_OUTPUT_H
#define PRUN_OUTPUT_H

#include "prun.h"

/** Take over one of prun's own descriptors. Never blocks on it if the system
 * permits. */
void prun_sink_open(struct prun_sink *sink, int fd);
void prun_sink_close(struct prun_sink *sink);
void prun_sink_append(struct prun_sink *sink, const void *data, size_t bytes);
bool prun_sink_pending(const struct prun_sink *sink);
/** Too much output waits: do not read from ranks for now. */
bool prun_sink_full(const struct prun_sink *sink);
/** Write as much as possible without blocking. */
void prun_sink_flush(struct prun_sink *sink);

/** Read once from a rank's pipe and forward whole lines. Closes the stream at
 * its end.
 * @return whether it was readable */
bool prun_stream_read(struct prun_stream *stream, bool tag);
/** Forward an unfinished line that has waited long enough. */
void prun_stream_age(struct prun_stream *stream, bool tag, uint64_t now_ns);
/** Read what is in the pipe now and close it, even if another process holds it.
 */
void prun_stream_drain(struct prun_stream *stream, bool tag);

#endif
