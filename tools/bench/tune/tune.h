#ifndef BENCH_TUNE_H
#define BENCH_TUNE_H

#include "bench.h"

/* Shared by the files of --tune. */

struct json_t;

struct tune_rule {
    size_t bytes_to;       /* BENCH_AUTO: any */
    const char *algorithm; /* in the syntax of catena_group_set */
    int leaders;           /* 0: no leaders */
};

/* Results for one layout: consecutive rules. */
struct tune_result {
    const char *path;
    const char *network;
    int nodes;
    int ppn;
    struct tune_rule *rules;
    size_t count;
};

/** The contents of the file, or a new document if there is none; NULL: a line
 * has been printed. For tune_save. */
struct json_t *tune_load(const char *path);
/** Replace the rules for the same layout, write the file and print the rules.
 * Releases the document. Returns an exit code. */
int tune_save(struct json_t *document, const struct tune_result *result);

#endif
