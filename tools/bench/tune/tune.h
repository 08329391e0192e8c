#ifndef BENCH_TUNE_H
#define BENCH_TUNE_H

#include "bench.h"

/* What the files of --tune share. */

struct json_t;

struct tune_rule {
    size_t bytes_to;       /* BENCH_AUTO: any */
    const char *algorithm; /* as catena_group_set takes it */
    int leaders;           /* 0: it has none to choose */
};

/* What was found for one layout: rules that follow each other. */
struct tune_result {
    const char *path;
    const char *network;
    int nodes;
    int ppn;
    struct tune_rule *rules;
    size_t count;
};

/** What is in the file, or a new document when there is none; NULL: a line has
 * been printed. For tune_save. */
struct json_t *tune_load(const char *path);
/** Put the rules in the place of those for the same layout, write the file and
 * print the rules. The document is released. Returns an exit code. */
int tune_save(struct json_t *document, const struct tune_result *result);

#endif
