/* Shared by the parts of prun: options, the map of virtual nodes, ranks, the
 * job. The main thread owns all of it; what the PMIx progress thread accesses
 * is marked. */
#ifndef PRUN_H
#define PRUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PRUN_EXIT_INTERNAL = 1,
    PRUN_EXIT_USAGE = 2,
    PRUN_EXIT_TIMEOUT = 124,
    PRUN_EXIT_NOT_EXECUTABLE = 126,
    PRUN_EXIT_NOT_FOUND = 127,
};

/* Values of options.stdin_rank that are not a rank. */
enum { PRUN_STDIN_ALL = -1, PRUN_STDIN_NONE = -2 };

enum prun_binding {
    PRUN_BIND_AUTO, /* core if each rank can have one, else none */
    PRUN_BIND_NONE,
    PRUN_BIND_CORE,
    PRUN_BIND_NUMA,
};

struct prun_options {
    uint32_t np;
    uint32_t ppn; /* ranks per virtual node; 0: all on the one real node */
    bool by_node; /* deal ranks round-robin over the nodes */
    bool tag;     /* prefix each line of output with its rank */
    bool report_bindings;
    enum prun_binding binding;
    int stdin_rank;
    uint64_t timeout_ns; /* 0: none */
    const char *timeout_text;
    const char *wdir; /* absolute, or NULL */
    char **exports;   /* NAME=VALUE, from -x */
    size_t export_count;
    char **argv; /* of the program, NULL terminated */
    char *program;
};

struct prun_node {
    char *name;
    uint32_t size;
    uint32_t *ranks; /* ascending */
};

/* Which rank is on which (virtual) node. */
struct prun_layout {
    uint32_t np;
    uint32_t node_count;
    struct prun_node *nodes;
    uint32_t *node_of;
    uint32_t *local_of; /* position among the ranks of its node */
};

struct prun_buffer {
    char *data;
    size_t used;
    size_t capacity;
};

/* prun's own stdout or stderr. */
struct prun_sink {
    int fd;
    bool broken; /* the reader is gone: drop the rest */
    size_t sent; /* bytes at the front of queue already written */
    struct prun_buffer queue;
};

/* One output pipe of one rank. */
struct prun_stream {
    int fd; /* -1 once closed */
    uint32_t rank;
    uint64_t held_since_ns; /* when the unfinished line was last added to */
    struct prun_buffer line;
    struct prun_sink *sink;
};

struct prun_rank {
    pid_t pid;       /* and process group; 0 until forked */
    bool ended;      /* the rank's own process has been reaped */
    int status;      /* from wait, once ended */
    bool group_gone; /* its process group is empty too */
    int stdin_fd;    /* -1: no input */
    size_t stdin_sent;
    struct prun_stream streams[2]; /* stdout, stderr */
    /* Written by the PMIx progress thread, read by the main thread. */
    atomic_bool connected;
    atomic_bool finalized;
};

enum prun_phase {
    PRUN_RUNNING,
    PRUN_ENDING, /* ranks received TERM; KILL follows at kill_at_ns */
    PRUN_KILLED, /* ranks received KILL */
};

struct prun_server;
struct prun_bindings;

struct prun_job {
    const struct prun_options *options;
    const struct prun_layout *layout;
    struct prun_server *server;
    struct prun_bindings *bindings;
    struct prun_rank *ranks;
    uint32_t started; /* ranks forked so far */
    uint32_t ended;   /* of those, ranks reaped */
    int64_t suspect;  /* a rank whose end was a failure, -1: none */
    enum prun_phase phase;
    bool failed;
    int exit_code;
    uint64_t timeout_at_ns;
    uint64_t kill_at_ns;
    uint32_t interrupts; /* INT, TERM, HUP received */
    struct prun_sink sinks[2];
    struct prun_buffer input; /* from prun's stdin, not yet taken by all readers
                               */
    bool input_open;
    int signal_fd;
    int status_read_fd, status_write_fd; /* exec errors of the children */
    int guardian_fd;
    pid_t guardian_pid;
    char host[256];
    char name_space[128];
    char *directory; /* private, removed at the end */
};

/* util.c */

/** One line on stderr, "prun: ..."; for use before the ranks run. */
void prun_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** prun_error and exit. */
_Noreturn void prun_die(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Allocate zeroed memory or end prun: it cannot continue without. */
void *prun_alloc(size_t count, size_t size);
void *prun_grow(void *old, size_t bytes);
char *prun_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void prun_buffer_append(struct prun_buffer *buffer, const void *data,
                        size_t bytes);
void prun_buffer_consume(struct prun_buffer *buffer, size_t bytes);
void prun_buffer_free(struct prun_buffer *buffer);
/** Remove a directory tree; never follows links. */
void prun_remove_tree(const char *path);

#endif
