#ifndef BENCH_TUNE_H
#define BENCH_TUNE_H

#include "bench.h"

/* Shared by the files of --tune. */

struct json_t;

enum { TUNE_NAME_BYTES = 24, TUNE_MOST_RULES = 64 };

/* A tuning rule: the algorithm for lengths of up to bytes_to that no rule
 * before it covers. */
struct tune_rule {
    size_t bytes_to; /* BENCH_AUTO: no limit */
    char algorithm[TUNE_NAME_BYTES];
    int leaders; /* per node; 0: the algorithm has none */
};

/* The rules of one list for one layout, by increasing length. */
struct tune_rules {
    const char *list; /* its key in the file */
    /* The layout, as conditions of the rules; 0: no such condition. */
    int ranks;
    int nodes;
    int ppn; /* ranks on the largest node */
    struct tune_rule rule[TUNE_MOST_RULES];
    size_t count;
};

/* tune/file.c */

/** Read a tuning file; a new document if there is no file. NULL: failed, and an
 * error has been printed. */
struct json_t *tune_load(const char *path);
/** Replace the rules for this layout in a document of tune_load, and print the
 * new ones. */
void tune_update(struct json_t *document, const struct tune_rules *rules);
/** Write the file, and release the document. Returns an exit code. */
int tune_save(struct json_t *document, const char *path, const char *network);

/* tune/level.c */

/* A level of the hierarchy, or a whole collective that has no levels. */
struct tune_level {
    char name[16]; /* rule of SBGP, such as "node"; "": no levels */
    bool shm;      /* its component is shm */
    int ranks;     /* of the subgroup that rank 0 is in */
};

enum { TUNE_MOST_LEVELS = 6 };

/** Read the levels from an explanation. Returns their number, 1 for a
 * collective that has none. */
size_t tune_levels(const char *explanation, struct tune_level *levels);
/** Find the algorithm that ran on a level.
 * @param[out] name [TUNE_NAME_BYTES]
 * @return false: the collective of the list did not run there */
bool tune_ran(const char *explanation, const char *list,
              const struct tune_level *level, char *name);

#endif
