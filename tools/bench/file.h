#ifndef BENCH_FILE_H
#define BENCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Files that are written: a new one beside the old, which takes its place when
 * all is in it, so that nobody ever sees a part. */
struct bench_file {
    const char *option; /* whose file it is, for messages */
    const char *path;
    char *name; /* of the new one */
    FILE *stream;
};

/** false: a line has been printed. */
bool bench_file_open(struct bench_file *file, const char *option,
                     const char *path);
/** Put it in its place, or, when not all was `written`, away. Returns an exit
 * code; a line has been printed when it is not BENCH_OK. */
int bench_file_close(struct bench_file *file, bool written);
/** Whether a file can be written there; nothing stays. Returns an exit code. */
int bench_file_try(const char *option, const char *path);

/** Text that follows `label` and a colon in a file such as /proc/cpuinfo;
 * `text` is left as it is when there is none. */
void bench_read_field(const char *path, const char *label, char *text,
                      size_t bytes);

#endif
