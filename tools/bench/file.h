#ifndef BENCH_FILE_H
#define BENCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writing and reading of small files. */

/* A file that is being written: a temporary file in the same folder, which is
 * renamed when complete, so that no reader sees a partial file. */
struct bench_file {
    const char *option; /* that names the file on the command line */
    const char *path;   /* the final path */
    char *name;         /* path of the temporary file */
    FILE *stream;
};

/** Create the temporary file. false: failed, and an error has been printed. */
bool bench_file_open(struct bench_file *file, const char *option,
                     const char *path);
/** Close the file and rename it to its path, or remove it if not everything was
 * `written`. Returns an exit code; prints an error unless it is BENCH_OK. */
int bench_file_close(struct bench_file *file, bool written);
/** Test whether a file can be written at `path`: create a temporary file and
 * remove it. Returns an exit code. */
int bench_file_try(const char *option, const char *path);

/** Read the text that follows `label` and a colon in a file such as
 * /proc/cpuinfo; `text` stays unchanged if there is none. */
void bench_read_field(const char *path, const char *label, char *text,
                      size_t bytes);

#endif
