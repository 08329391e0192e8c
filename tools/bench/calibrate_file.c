/* What was measured, as a machine file and as a table. */

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrate_parts.h"

static const struct {
    const char *section;
    const char *name;
} names[PARAMETERS] = {
    [CORES] = {"node", "cores"},
    [SOCKETS] = {"node", "sockets"},
    [NUMA_DOMAINS] = {"node", "numa_domains"},
    [L3_CACHES] = {"node", "l3_caches"},
    [SHARED_CORES] = {"node", "shared_cores"},
    [SWITCH] = {"node", "switch_ns"},
    [PORTS] = {"network", "ports"},
    [LATENCY] = {"network", "latency_ns"},
    [SEND_OVERHEAD] = {"network", "send_overhead_ns"},
    [RECEIVE_OVERHEAD] = {"network", "receive_overhead_ns"},
    [GAP] = {"network", "gap_ns"},
    [PORT_RATE] = {"network", "port_MBps"},
    [NODE_RATE] = {"network", "node_MBps"},
    [COPY_START] = {"memory", "copy_start_ns"},
    [COPY_RATE] = {"memory", "copy_MBps"},
    [DOMAIN_RATE] = {"memory", "domain_MBps"},
    [SIGNAL_L3] = {"memory", "signal_l3_ns"},
    [SIGNAL_SOCKET] = {"memory", "signal_socket_ns"},
    [SIGNAL_NODE] = {"memory", "signal_node_ns"},
    [POLL] = {"memory", "poll_ns"},
    [TRANSPOSE_RATE] = {"work", "transpose_MBps"},
    [REDUCE_RATE] = {"work", "reduce_MBps"},
    [HASH_RATE] = {"work", "hash_MBps"},
    [COMPARE] = {"work", "compare_ns"},
};

/* ---- the file ---- */

/* Text that follows `label` and a colon in a file such as /proc/cpuinfo. */
static void read_field(const char *path, const char *label, char *text,
                       size_t bytes)
{
    char line[512];
    FILE *stream = fopen(path, "r");

    while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, label, strlen(label)) != 0 || colon == NULL)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(text, bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (stream != NULL)
        fclose(stream);
}

/* Four digits are more than was measured. */
static json_t *number(double value)
{
    char text[32];

    if (value == floor(value) && fabs(value) < 1e15)
        return json_integer((json_int_t)value);
    if (value >= 1000)
        return json_integer((json_int_t)(value + 0.5));
    snprintf(text, sizeof(text), "%.4g", value);
    return json_real(strtod(text, NULL));
}

static json_t *make_document(const struct calibration *c)
{
    char host[64] = "here", model[100] = "unknown processor", description[256];
    const catena_place_t *place = &c->bench.place;
    json_t *document;

    gethostname(host, sizeof(host) - 1);
    read_field("/proc/cpuinfo", "model name", model, sizeof(model));
    snprintf(description, sizeof(description),
             "%s; network: %s; measured by catena-bench --calibrate with %d "
             "ranks on %d %s",
             model, place->network, place->size, place->nodes,
             c->emulated ? "virtual nodes" : "nodes");
    document =
        json_pack("{s:s, s:s}", "name", host, "description", description);
    for (int i = 0; i < PARAMETERS && document != NULL; i++) {
        json_t *section = json_object_get(document, names[i].section);

        if (section == NULL) {
            section = json_object();
            json_object_set_new(document, names[i].section, section);
        }
        json_object_set_new(section, names[i].name,
                            json_pack("{s:o, s:s}", "value",
                                      number(c->result[i].value), "source",
                                      c->result[i].source));
    }
    return document;
}

static int complain(const char *doing, const char *path)
{
    fprintf(stderr, "catena-bench: --calibrate: %s %s: %s\n", doing, path,
            strerror(errno));
    return BENCH_FAILED;
}

/* A new file beside `path`; NULL: a line has been printed. */
static FILE *open_beside(const char *path, char *name, size_t bytes)
{
    mode_t mask = umask(0);
    FILE *stream;
    int fd;

    umask(mask);
    snprintf(name, bytes, "%s.XXXXXX", path);
    fd = mkstemp(name);
    if (fd < 0) {
        complain("creating a file beside", path);
        return NULL;
    }
    (void)fchmod(fd, 0666 & ~mask);
    stream = fdopen(fd, "w");
    if (stream == NULL) {
        complain("opening", name);
        close(fd);
        unlink(name);
    }
    return stream;
}

static int write_document(const json_t *document, const char *path)
{
    size_t bytes = strlen(path) + sizeof(".XXXXXX");
    char *name = malloc(bytes);
    FILE *stream = name != NULL ? open_beside(path, name, bytes) : NULL;
    int code = BENCH_FAILED;
    bool written;

    if (stream != NULL) {
        written = json_dumpf(document, stream,
                             JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0;
        written &= fputc('\n', stream) != EOF;
        written &= fclose(stream) == 0;
        if (!written)
            complain("writing", name);
        else if (rename(name, path) != 0)
            complain("renaming to", path);
        else
            code = BENCH_OK;
        if (code != BENCH_OK)
            unlink(name);
    }
    free(name);
    return code;
}

/* Before time is spent on measuring. */
int calibrate_try_path(const char *path)
{
    size_t bytes = strlen(path) + sizeof(".XXXXXX");
    char *name = malloc(bytes);
    FILE *stream = name != NULL ? open_beside(path, name, bytes) : NULL;
    int code = stream != NULL ? BENCH_OK : BENCH_FAILED;

    if (stream != NULL) {
        fclose(stream);
        unlink(name);
    }
    free(name);
    return code;
}

int calibrate_report(const struct calibration *c, const char *path)
{
    json_t *document = make_document(c);
    int code;

    if (document == NULL) {
        fprintf(stderr, "catena-bench: --calibrate: no memory for the file\n");
        return BENCH_FAILED;
    }
    code = write_document(document, path);
    json_decref(document);
    if (code != BENCH_OK)
        return code;
    printf("# %-8s %-22s %12s %12s %12s\n", "Section", "Parameter", "Value",
           "Lowest", "Highest");
    for (int i = 0; i < PARAMETERS; i++) {
        const struct figure *result = &c->result[i];
        bool whole = result->value == floor(result->value);
        int digits = whole || result->value >= 1000 ? 0 : 2;

        printf("  %-8s %-22s %12.*f %12.*f %12.*f\n", names[i].section,
               names[i].name, digits, result->value, digits, result->lowest,
               digits, result->highest);
    }
    printf("# written to %s, with where each comes from\n", path);
    return BENCH_OK;
}
