#ifndef BENCH_FILE_H
#define BENCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Written files: a new file beside the old one replaces it when complete, so
 * that no reader sees a partial file. */
struct bench_file {
    const char *option; /* option of the file, for messages */
    const char *path;
    char *name; /* of the new file */
    FILE *stream;
};

/** false: a line has been printed. */
bool bench_file_open(struct bench_file *file, const char *option,
                     const char *path);
/** Put the file in its place, or remove it if not all was `written`. Returns an
 * exit code; a line has been printed unless it is BENCH_OK. */
int bench_file_close(struct bench_file *file, bool written);
/** Whether a file can be written there; leaves nothing behind. Returns an exit
 * code. */
int bench_file_try(const char *option, const char *path);

/** The text that follows `label` and a colon in a file such as /proc/cpuinfo;
 * `text` stays unchanged if there is none. */
void bench_read_field(const char *path, const char *label, char *text,
                      size_t bytes);

#endif
