#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <argp.h>

#include "bench.h"

/* The command line while it is read. */
struct parse {
    struct bench_options *options;
    bool refused; /* a line has been printed */
    bool sized;   /* -m was given */
    bool typed;   /* --type or --op */
    bool rooted;  /* --root */
    bool tested;  /* --test */
    bool placed;  /* an option that only simulated jobs have */
    int next;     /* index of the argument after the last one taken */
};

/** Print what is wrong, once, on one rank; returns EINVAL. */
error_t bench_refuse(struct parse *parse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** options_check.c: whether all that was given makes sense together. */
error_t bench_check_options(struct parse *parse);

#endif
