#ifndef BENCH_TUNE_H
#define BENCH_TUNE_H

#include "bench.h"

/* Shared by the files of --tune. */

struct json_t;

/* A tuning rule: the algorithm for blocks of up to bytes_to that no rule before
 * it covers. */
struct tune_rule {
    size_t bytes_to;       /* BENCH_AUTO: no limit */
    const char *algorithm; /* a value of "alltoall_algorithm" */
    int leaders;           /* per node; 0: the algorithm has none */
};

/* The rules for one layout, by increasing size. */
struct tune_result {
    const char *path; /* of the tuning file */
    const char *network;
    int nodes;
    int ppn; /* ranks on the largest node */
    struct tune_rule *rules;
    size_t count;
};

/** Read a tuning file; a new document if there is no file. NULL: failed, and an
 * error has been printed. */
struct json_t *tune_load(const char *path);
/** Replace the rules for this layout in a document of tune_load, write the file
 * and print the new rules. Releases the document. Returns an exit code. */
int tune_save(struct json_t *document, const struct tune_result *result);

#endif
