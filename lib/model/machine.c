/* Reads, checks and prints machines. */

#include "model/machine.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/document.h"
#include "model/machines.h"

/* ---- the parameters ---- */

/* What a parameter is in the file, and how catena_machine_t stores it. */
typedef enum kind {
    COUNT, /* a whole number, stored as uint32_t */
    TIME,  /* nanoseconds, stored as double */
    RATE   /* MB/s, stored as nanoseconds per byte in a double */
} kind_t;

/* A parameter of a machine file. */
typedef struct parameter {
    const char *section; /* object of the file that it is in */
    const char *name;
    kind_t kind;
    double least; /* accepted values, in the file's unit */
    double most;
    size_t offset; /* of its member in catena_machine_t */
    bool optional; /* may be left out of the file: then it is zero */
} parameter_t;

#define FIELD(member) offsetof(catena_machine_t, member)

static const parameter_t parameters[CTN_MACHINE_PARAMETERS] = {
    {"node", "cores", COUNT, 1, 4096, FIELD(cores), false},
    {"node", "sockets", COUNT, 1, 4096, FIELD(sockets), false},
    {"node", "numa_domains", COUNT, 1, 4096, FIELD(numa_domains), false},
    {"node", "l3_caches", COUNT, 1, 4096, FIELD(l3_caches), false},
    {"node", "shared_cores", COUNT, 0, 4096, FIELD(shared_cores), false},
    {"node", "switch_ns", TIME, 0, 1e9, FIELD(switch_ns), false},
    {"node", "cold_ns", TIME, 0, 1e9, FIELD(cold_ns), false},
    {"network", "ports", COUNT, 1, 1024, FIELD(ports), false},
    {"network", "latency_ns", TIME, 0, 1e9, FIELD(latency_ns), false},
    {"network", "send_overhead_ns", TIME, 0, 1e9, FIELD(send_overhead_ns),
     false},
    {"network", "receive_overhead_ns", TIME, 0, 1e9, FIELD(receive_overhead_ns),
     false},
    {"network", "idle_poll_ns", TIME, 0, 1e9, FIELD(idle_poll_ns), false},
    {"network", "gap_ns", TIME, 0, 1e9, FIELD(gap_ns), false},
    {"network", "port_MBps", RATE, 1e-3, 1e9, FIELD(gap_per_byte_ns), false},
    {"network", "node_MBps", RATE, 1e-3, 1e9, FIELD(node_per_byte_ns), false},
    {"network", "buffer_bytes", COUNT, 1, 1e9, FIELD(buffer_bytes), true},
    {"network", "leaf_nodes", COUNT, 1, 1e6, FIELD(leaf_nodes), true},
    {"network", "leaf_uplinks", COUNT, 1, 1e6, FIELD(leaf_uplinks), true},
    {"memory", "copy_start_ns", TIME, 0, 1e9, FIELD(copy_start_ns), false},
    {"memory", "copy_MBps", RATE, 1e-3, 1e9, FIELD(copy_per_byte_ns), false},
    {"memory", "cold_MBps", RATE, 1e-3, 1e9, FIELD(cold_per_byte_ns), false},
    {"memory", "domain_MBps", RATE, 1e-3, 1e9, FIELD(domain_per_byte_ns),
     false},
    {"memory", "signal_l3_ns", TIME, 0, 1e9, FIELD(signal_ns[0]), false},
    {"memory", "signal_socket_ns", TIME, 0, 1e9, FIELD(signal_ns[1]), false},
    {"memory", "signal_node_ns", TIME, 0, 1e9, FIELD(signal_ns[2]), false},
    {"memory", "poll_ns", TIME, 0, 1e9, FIELD(poll_ns), false},
    {"work", "transpose_MBps", RATE, 1e-3, 1e9, FIELD(transpose_per_byte_ns),
     false},
    {"work", "reduce_MBps", RATE, 1e-3, 1e9, FIELD(reduce_per_byte_ns), false},
    {"work", "hash_MBps", RATE, 1e-3, 1e9, FIELD(hash_per_byte_ns), false},
    {"work", "call_ns", TIME, 0, 1e9, FIELD(call_ns), false},
    {"work", "compare_ns", TIME, 0, 1e9, FIELD(compare_ns), false},
    {"work", "flag_overhead_ns", TIME, 0, 1e6, FIELD(flag_overhead_ns), true},
    {"work", "message_overhead_ns", TIME, 0, 1e6, FIELD(message_overhead_ns),
     true},
};

/* MB/s of a time per byte. */
static double rate_of(double ns_per_byte)
{
    return 1e3 / ns_per_byte; /* also converts MB/s to ns per byte */
}

/* ---- reading ---- */

/* The reading of one document. */
typedef struct machine_reading {
    const ctn_log_t *log;
    const char *where; /* file, or name of a built-in machine, for messages */
    catena_machine_t *machine; /* to be filled */
} machine_reading_t;

/** Read a text of at most `bytes` - 1 characters. */
static catena_status_t read_text(const machine_reading_t *reading, json_t *root,
                                 const char *name, char *text, size_t bytes)
{
    json_t *found = json_object_get(root, name);
    const char *string = json_string_value(found);
    if (string == NULL || string[0] == '\0' || strlen(string) >= bytes) {
        ctn_error(reading->log,
                  "machine %s: \"%s\" is %s; expected a text of 1 to %zu "
                  "characters",
                  reading->where, name,
                  found == NULL    ? "missing"
                  : string == NULL ? "not a text"
                                   : "too long or empty",
                  bytes - 1);
        return CATENA_ERR_ARG;
    }
    memcpy(text, string, strlen(string) + 1);
    return CATENA_OK;
}

static void store(catena_machine_t *machine, const parameter_t *p, double value)
{
    void *field = (char *)machine + p->offset;
    if (p->kind == COUNT) {
        *(uint32_t *)field = (uint32_t)value;
    } else {
        *(double *)field = p->kind == RATE ? rate_of(value) : value;
    }
}

/** Read one parameter: { "value": number, "source": text }. */
static catena_status_t read_parameter(const machine_reading_t *reading,
                                      json_t *section, size_t index)
{
    const parameter_t *p = &parameters[index];
    json_t *entry = json_object_get(section, p->name);
    json_t *value = json_object_get(entry, "value");
    const char *source = json_string_value(json_object_get(entry, "source"));
    double number = json_number_value(value);
    bool whole = p->kind != COUNT || json_is_integer(value);
    if (entry == NULL && p->optional) {
        return CATENA_OK;
    }
    if (!json_is_number(value) || !whole || number < p->least ||
        number > p->most) {
        char *found = entry != NULL
                          ? json_dumps(entry, JSON_COMPACT | JSON_ENCODE_ANY)
                          : NULL;
        ctn_error(reading->log,
                  "machine %s: %s.%s: expected { \"value\": a %snumber from "
                  "%g to %g, \"source\": text }, found %s",
                  reading->where, p->section, p->name,
                  p->kind == COUNT ? "whole " : "", p->least, p->most,
                  found != NULL ? found : "nothing");
        free(found);
        return CATENA_ERR_ARG;
    }
    if (source == NULL || source[0] == '\0') {
        ctn_error(reading->log,
                  "machine %s: %s.%s: expected a \"source\" that says where "
                  "the value comes from, found none",
                  reading->where, p->section, p->name);
        return CATENA_ERR_ARG;
    }
    store(reading->machine, p, number);
    reading->machine->source[index] = strdup(source);
    return reading->machine->source[index] != NULL ? CATENA_OK
                                                   : CATENA_ERR_NO_MEMORY;
}

/** Whether a parameter has this section, and this name; NULL: any name. */
static bool known(const char *section, const char *name)
{
    for (size_t i = 0; i < CTN_MACHINE_PARAMETERS; i++) {
        if (strcmp(parameters[i].section, section) == 0 &&
            (name == NULL || strcmp(parameters[i].name, name) == 0)) {
            return true;
        }
    }
    return false;
}

/** Report a name that no parameter has: it may be misspelt. */
static catena_status_t refuse_unknown(const machine_reading_t *reading,
                                      json_t *root)
{
    const char *name;
    const char *inner;
    json_t *section;
    json_t *ignored;
    json_object_foreach(root, name, section)
    {
        if (!known(name, NULL) && strcmp(name, "name") != 0 &&
            strcmp(name, "description") != 0) {
            ctn_error(reading->log,
                      "machine %s: there is no \"%s\"; expected name, "
                      "description, node, network, memory and work",
                      reading->where, name);
            return CATENA_ERR_ARG;
        }
        json_object_foreach(section, inner, ignored)
        {
            if (!known(name, inner)) {
                ctn_error(reading->log,
                          "machine %s: there is no parameter %s.%s; "
                          "catena-machine(5) lists them",
                          reading->where, name, inner);
                return CATENA_ERR_ARG;
            }
        }
    }
    return CATENA_OK;
}

/** Check that the sockets, NUMA domains and L3 caches of a node have the same
 * number of cores each: ctn_machine_domain and _distance rely on it. */
static catena_status_t check_shape(const machine_reading_t *reading)
{
    const catena_machine_t *m = reading->machine;
    const struct {
        const char *name;
        uint32_t count;
    } parts[] = {{"sockets", m->sockets},
                 {"numa_domains", m->numa_domains},
                 {"l3_caches", m->l3_caches}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (m->cores % parts[i].count != 0) {
            ctn_error(reading->log,
                      "machine %s: %u cores do not divide into %u %s; "
                      "expected parts of one size",
                      reading->where, m->cores, parts[i].count, parts[i].name);
            return CATENA_ERR_ARG;
        }
    }
    if (m->shared_cores > m->cores) {
        ctn_error(reading->log,
                  "machine %s: node.shared_cores is %u; expected at most the "
                  "%u cores of a node",
                  reading->where, m->shared_cores, m->cores);
        return CATENA_ERR_ARG;
    }
    if ((m->leaf_nodes == 0) != (m->leaf_uplinks == 0)) {
        ctn_error(reading->log,
                  "machine %s: network.%s is missing; a fat tree needs "
                  "leaf_nodes and leaf_uplinks",
                  reading->where,
                  m->leaf_nodes == 0 ? "leaf_nodes" : "leaf_uplinks");
        return CATENA_ERR_ARG;
    }
    if (m->leaf_nodes > 0 && m->shared_cores > 0) {
        ctn_error(reading->log,
                  "machine %s: emulated nodes (node.shared_cores is %u) have "
                  "no wire; expected neither network.leaf_nodes nor "
                  "leaf_uplinks",
                  reading->where, m->shared_cores);
        return CATENA_ERR_ARG;
    }
    return CATENA_OK;
}

static catena_status_t read_root(const machine_reading_t *reading, json_t *root)
{
    catena_machine_t *machine = reading->machine;
    if (!json_is_object(root)) {
        ctn_error(reading->log, "machine %s: expected a JSON object",
                  reading->where);
        return CATENA_ERR_ARG;
    }
    catena_status_t status = refuse_unknown(reading, root);
    if (status == CATENA_OK) {
        status = read_text(reading, root, "name", machine->name,
                           sizeof(machine->name));
    }
    if (status == CATENA_OK) {
        status = read_text(reading, root, "description", machine->description,
                           sizeof(machine->description));
    }
    for (size_t i = 0; status == CATENA_OK && i < CTN_MACHINE_PARAMETERS; i++) {
        status = read_parameter(
            reading, json_object_get(root, parameters[i].section), i);
    }
    return status == CATENA_OK ? check_shape(reading) : status;
}

/* ---- lookup ---- */

/** The document of a built-in machine. NULL: *status is set, and an unknown
 * name is logged. */
static json_t *load_builtin(const ctn_log_t *log, const char *name,
                            catena_status_t *status)
{
    char names[256] = "";
    for (size_t i = 0; i < ctn_builtin_machines; i++) {
        if (strcmp(ctn_builtin_machine[i].name, name) == 0) {
            json_error_t error;
            json_t *root = json_loads(ctn_builtin_machine[i].text, 0, &error);
            *status = root != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
            return root;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                 ctn_builtin_machine[i].name);
    }
    ctn_error(log,
              "there is no machine '%s'; expected %s, or the path of a file "
              "(with a '/', or ending in .json)",
              name, names);
    *status = CATENA_ERR_ARG;
    return NULL;
}

catena_status_t ctn_machine_read(const ctn_log_t *log, const char *name,
                                 catena_machine_t **out)
{
    catena_status_t status = CATENA_OK;
    json_t *root = ctn_document_is_path(name)
                       ? ctn_document_load(log, "machine", name, &status)
                       : load_builtin(log, name, &status);
    if (root == NULL) {
        return status;
    }
    catena_machine_t *machine = calloc(1, sizeof(*machine));
    machine_reading_t reading = {log, name, machine};
    status = machine != NULL ? read_root(&reading, root) : CATENA_ERR_NO_MEMORY;
    json_decref(root);
    if (status != CATENA_OK) {
        ctn_machine_free(machine);
        return status;
    }
    *out = machine;
    return CATENA_OK;
}

void ctn_machine_free(catena_machine_t *machine)
{
    if (machine == NULL) {
        return;
    }
    for (size_t i = 0; i < CTN_MACHINE_PARAMETERS; i++) {
        free(machine->source[i]);
    }
    free(machine);
}

/* ---- cores ---- */

uint32_t ctn_machine_core(const catena_machine_t *machine, uint32_t i,
                          uint32_t n)
{
    return n <= machine->cores ? (uint32_t)((uint64_t)i * machine->cores / n)
                               : i % machine->cores;
}

uint32_t ctn_machine_domain(const catena_machine_t *machine, uint32_t core)
{
    return core / (machine->cores / machine->numa_domains);
}

ctn_distance_t ctn_machine_distance(const catena_machine_t *machine,
                                    uint32_t core, uint32_t other)
{
    uint32_t l3 = machine->cores / machine->l3_caches;
    uint32_t socket = machine->cores / machine->sockets;
    if (core == other || core / l3 == other / l3) {
        return CTN_DISTANCE_L3;
    }
    return core / socket == other / socket ? CTN_DISTANCE_SOCKET
                                           : CTN_DISTANCE_NODE;
}

/* ---- printing ---- */

ctn_machine_value_t ctn_machine_value(const catena_machine_t *machine,
                                      size_t index)
{
    const parameter_t *p = &parameters[index];
    const void *field = (const char *)machine + p->offset;
    return (ctn_machine_value_t){
        .section = p->section,
        .name = p->name,
        .value = p->kind == COUNT  ? *(const uint32_t *)field
                 : p->kind == RATE ? rate_of(*(const double *)field)
                                   : *(const double *)field,
        .source = machine->source[index],
    };
}
