/* The data that all parts of prun share: options, the layout of ranks on
 * (virtual) nodes, ranks, and the job. Only the main thread uses them, except
 * for members with a comment that names the PMIx progress thread. */
#ifndef PRUN_H
#define PRUN_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Exit codes of prun itself. */
enum {
    PRUN_EXIT_INTERNAL = 1,
    PRUN_EXIT_USAGE = 2,
    PRUN_EXIT_TIMEOUT = 124,
    PRUN_EXIT_NOT_EXECUTABLE = 126,
    PRUN_EXIT_NOT_FOUND = 127,
};

/* Values of options.stdin_rank that are not a rank. */
enum { PRUN_STDIN_ALL = -1, PRUN_STDIN_NONE = -2 };

/* Resources of this machine, for --map-by and --bind-to: from small to large.
 */
enum prun_level {
    PRUN_LEVEL_NONE,
    PRUN_LEVEL_HWTHREAD,
    PRUN_LEVEL_CORE,
    PRUN_LEVEL_L3,
    PRUN_LEVEL_NUMA,
    PRUN_LEVEL_SOCKET,
    PRUN_LEVELS,
};

/* The order of ranks among the bins (nodes, or objects of the machine) that
 * --map-by fills. */
enum prun_rank_by {
    PRUN_RANK_DEFAULT, /* as they were mapped */
    PRUN_RANK_FILL,    /* consecutive ranks fill one bin after the other */
    PRUN_RANK_SPAN,    /* consecutive ranks are in successive bins */
};

/* What precedes each line of output. */
enum prun_prefix { PRUN_PREFIX_RANK = 1, PRUN_PREFIX_TIME = 2 };

/* A program of the job, with the options before it. */
struct prun_app {
    uint32_t first; /* its first rank */
    uint32_t np;    /* number of its ranks */
    bool np_given;
    const char *wdir; /* the ranks' directory: absolute, or NULL */
    char **exports;   /* [export_count] NAME=VALUE, from -x */
    size_t export_count;
    char **argv;   /* of the program, NULL terminated */
    char *program; /* argv[0] */
};

/* The command line. */
struct prun_options {
    uint32_t np; /* number of ranks of all programs */
    uint32_t app_count;
    struct prun_app *apps; /* [app_count] in the order of their ranks */
    const char *ppn_text;  /* of --ppn; NULL: no virtual nodes */
    uint32_t *ppn; /* [ppn_count] ranks of each virtual node; one number:
                      of every node */
    uint32_t ppn_count;
    bool by_node;              /* assign ranks to the nodes round-robin */
    enum prun_level map_level; /* objects to map ranks to; NONE: nodes */
    uint32_t per_object;       /* ppr:N: ranks per object; 0: round-robin */
    enum prun_rank_by rank_by;
    bool bind_given; /* else: see bind.c */
    enum prun_level bind_level;
    bool overload;          /* several ranks may be bound to a core */
    unsigned prefix;        /* of lines of output: enum prun_prefix */
    const char *output_dir; /* for a file of each stream; NULL: none */
    bool continuous;        /* the job goes on when a rank dies */
    bool report_bindings;   /* print each rank's binding */
    bool display_map;       /* print the map of the job */
    bool verbose;           /* report starts and ends of ranks */
    int stdin_rank; /* the rank that reads prun's stdin, or PRUN_STDIN_... */
    uint64_t timeout_ns;      /* of the job; 0: none */
    const char *timeout_text; /* as the user wrote it, for messages */
    const char *host_option;  /* an option that names hosts; NULL: none */
    const char *host_text;    /* its value */
};

/* A node: this machine, or a virtual one. */
struct prun_node {
    char *name;
    uint32_t size;   /* number of its ranks */
    uint32_t *ranks; /* [size] ascending */
};

/* Which rank is on which (virtual) node. */
struct prun_layout {
    uint32_t np; /* number of ranks */
    uint32_t node_count;
    struct prun_node *nodes; /* [node_count] */
    uint32_t *node_of;       /* [np] index of each rank's node */
    uint32_t *local_of;      /* [np] position among the ranks of its node */
};

/* Bytes in memory that grows: `used` of `capacity`. */
struct prun_buffer {
    char *data;
    size_t used;
    size_t capacity;
};

/* prun's own stdout or stderr, or the file of one stream. */
struct prun_sink {
    int fd;
    char *path;  /* of a file; else NULL */
    bool kept;   /* the file has what was in it before the job */
    bool broken; /* writing failed: the reader is gone, so output is dropped */
    size_t sent; /* bytes at the front of `queue` that are written already */
    struct prun_buffer queue; /* output of all ranks and of prun */
    /* The stream whose unfinished line was written last; NULL: none. */
    const struct prun_stream *open;
};

/* One output pipe of one rank. */
struct prun_stream {
    int fd; /* -1 once closed */
    uint32_t rank;
    uint64_t held_since_ns;  /* time of the last addition to `line` */
    struct prun_buffer line; /* an unfinished line, or what has to wait for that
                                of another rank */
    struct prun_sink *sink;  /* where whole lines go */
};

/* A rank: its first process, and the process group that this process leads. */
struct prun_rank {
    pid_t pid;         /* of process and group; 0 until forked */
    bool ended;        /* the process has been reaped */
    int status;        /* from waitpid, once ended */
    bool group_gone;   /* the group is empty, too */
    int stdin_fd;      /* prun's end of its stdin; -1: closed, or not a pipe */
    size_t stdin_sent; /* bytes of job->input that were written to it */
    struct prun_stream streams[2]; /* stdout, stderr */
    struct prun_sink files[2];     /* where they go with --output DIR */
    uint64_t started_ns;
    /* Whether it has called PMIx_Init, and PMIx_Finalize. Written by the PMIx
     * progress thread, read by the main thread. */
    atomic_bool connected;
    atomic_bool finalized;
};

enum prun_phase {
    PRUN_RUNNING,
    PRUN_ENDING, /* TERM, or the user's signal, was sent to the ranks; KILL
                    follows at kill_at_ns */
    PRUN_KILLED, /* KILL was sent to the ranks; again at kill_at_ns */
};

struct prun_server;
struct prun_bindings;

/* The job, and the state of prun. */
struct prun_job {
    const struct prun_options *options;
    const struct prun_layout *layout;
    struct prun_server *server;     /* server.c; NULL: not running */
    struct prun_bindings *bindings; /* bind.c */
    struct prun_rank *ranks;        /* [options->np] */
    uint32_t started;               /* ranks forked so far */
    uint32_t ended;                 /* ranks whose process was reaped */
    uint32_t lost;   /* those of them that failed, and the job went on */
    int64_t suspect; /* the rank whose failure probably caused the others; -1:
                        no rank has failed */
    enum prun_phase phase;
    bool failed;            /* also: ended by a signal to prun */
    bool unstarted;         /* a program could not be started */
    int exit_code;          /* of prun */
    uint64_t timeout_at_ns; /* 0: no timeout */
    uint64_t kill_at_ns;
    uint32_t interrupts;       /* INT, TERM, HUP received */
    struct prun_sink sinks[2]; /* stdout, stderr */
    struct prun_buffer input;  /* read from prun's stdin; not all ranks that
                                  read it have it */
    bool input_open;           /* prun's stdin has not ended */
    int signal_fd;             /* signalfd */
    int status_read_fd, status_write_fd; /* a pipe for struct prun_exec_error */
    int guardian_fd;                     /* a pipe to the guardian; -1: none */
    pid_t guardian_pid;                  /* 0: it has ended */
    char host[256];                      /* name of this machine */
    char name_space[128];                /* the job's PMIx namespace */
    char *directory; /* for PMIx's files; removed at the end */
};

/* util.c */

enum { PRUN_LINE_BYTES = 1024 };
/** Make one line "prun: ...", with '?' for control characters.
 * @return its length */
size_t prun_line(char line[PRUN_LINE_BYTES], const char *format, va_list list);
/** Write one line "prun: ..." to stderr at once. For use before ranks run;
 * after that use prun_job_report. */
void prun_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** prun_error, then exit with `code`. */
_Noreturn void prun_die(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The functions that allocate end prun if there is no memory. */

/** The program of a rank. */
const struct prun_app *prun_app_of(const struct prun_options *options,
                                   uint32_t rank);

/** As calloc. */
void *prun_alloc(size_t count, size_t size);
/** As realloc. */
void *prun_grow(void *old, size_t bytes);
/** As asprintf. */
char *prun_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void prun_buffer_append(struct prun_buffer *buffer, const void *data,
                        size_t bytes);
/** Remove bytes from the front. */
void prun_buffer_consume(struct prun_buffer *buffer, size_t bytes);
void prun_buffer_free(struct prun_buffer *buffer);
/** Remove a directory tree; never follows links. */
void prun_remove_tree(const char *path);

#endif
