#ifndef PRUN_OUTPUT_H
#define PRUN_OUTPUT_H

#include "prun.h"

/** Set up a sink that writes to `fd`, prun's own stdout or stderr. Writes to it
 * do not block if the system permits. */
void prun_sink_open(struct prun_sink *sink, int fd);
void prun_sink_close(struct prun_sink *sink);
/** Queue output. */
void prun_sink_append(struct prun_sink *sink, const void *data, size_t bytes);
/** Whether queued output is not written yet. */
bool prun_sink_pending(const struct prun_sink *sink);
/** Whether so much output is queued that prun should not read more from ranks.
 */
bool prun_sink_full(const struct prun_sink *sink);
/** Write as much queued output as possible without blocking. */
void prun_sink_flush(struct prun_sink *sink);

/** With --output DIR: make the directory, and open a file for each stream. Ends
 * prun with exit code 2 if this is impossible. */
void prun_files_open(struct prun_job *job);
void prun_files_close(struct prun_job *job);

/** Read once from a rank's pipe and queue all whole lines. Closes the stream at
 * its end.
 * @param prefix of each line; here and below options->prefix
 * @return whether there was something to read */
bool prun_stream_read(struct prun_stream *stream, unsigned prefix);
/** Without a prefix: queue what had to wait for another rank's unfinished line,
 * and an unfinished line that was held for 30 ms, such as a prompt. */
void prun_stream_age(struct prun_stream *stream, unsigned prefix,
                     uint64_t now_ns);
/** Read what is in the pipe now and close it, also if another process still has
 * its other end open. */
void prun_stream_drain(struct prun_stream *stream, unsigned prefix);

#endif
