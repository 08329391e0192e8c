/* Writes the results as a machine file (docs/man, catena-machine.5) and prints
 * them as a table. */

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrate/parts.h"
#include "file.h"

/* The members of the machine file that hold the parameters. */
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
    [COLD] = {"node", "cold_ns"},
    [PORTS] = {"network", "ports"},
    [LATENCY] = {"network", "latency_ns"},
    [SEND_OVERHEAD] = {"network", "send_overhead_ns"},
    [RECEIVE_OVERHEAD] = {"network", "receive_overhead_ns"},
    [IDLE_POLL] = {"network", "idle_poll_ns"},
    [GAP] = {"network", "gap_ns"},
    [PORT_RATE] = {"network", "port_MBps"},
    [NODE_RATE] = {"network", "node_MBps"},
    [COPY_START] = {"memory", "copy_start_ns"},
    [COPY_RATE] = {"memory", "copy_MBps"},
    [COLD_RATE] = {"memory", "cold_MBps"},
    [DOMAIN_RATE] = {"memory", "domain_MBps"},
    [SIGNAL_L3] = {"memory", "signal_l3_ns"},
    [SIGNAL_SOCKET] = {"memory", "signal_socket_ns"},
    [SIGNAL_NODE] = {"memory", "signal_node_ns"},
    [POLL] = {"memory", "poll_ns"},
    [TRANSPOSE_RATE] = {"work", "transpose_MBps"},
    [REDUCE_RATE] = {"work", "reduce_MBps"},
    [HASH_RATE] = {"work", "hash_MBps"},
    [CALL] = {"work", "call_ns"},
    [COMPARE] = {"work", "compare_ns"},
};

/* ---- the file ---- */

/* A number of four significant digits, or a whole number: more would exceed the
 * precision of the measurement. */
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
    bench_read_field("/proc/cpuinfo", "model name", model, sizeof(model));
    snprintf(description, sizeof(description),
             "%s; network: %s; measured by catena-bench --calibrate with %d "
             "ranks on %d %s",
             model, place->network, place->ranks, place->nodes,
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

static int write_document(const json_t *document, const char *path)
{
    struct bench_file file;
    bool written;

    if (!bench_file_open(&file, "--calibrate", path))
        return BENCH_FAILED;
    written = json_dumpf(document, file.stream,
                         JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0;
    written &= fputc('\n', file.stream) != EOF;
    return bench_file_close(&file, written);
}

/* Called before time is spent on measuring, to find errors early. */
int calibrate_try_path(const char *path)
{
    return bench_file_try("--calibrate", path);
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
        const struct measurement *result = &c->result[i];
        bool whole = result->value == floor(result->value);
        int digits = whole || result->value >= 1000 ? 0 : 2;

        printf("  %-8s %-22s %12.*f %12.*f %12.*f\n", names[i].section,
               names[i].name, digits, result->value, digits, result->lowest,
               digits, result->highest);
    }
    printf("# written to %s, with where each comes from\n", path);
    return BENCH_OK;
}
