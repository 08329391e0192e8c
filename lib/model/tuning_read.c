/* Reads the rules of a tuning from JSON. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/units.h"
#include "model/tuning_parts.h"

const char *const ctn_collective_name[CTN_COLLECTIVES] = {"alltoall",
                                                          "alltoallv"};

/* ---- the keys of a rule ---- */

struct field;

/** Reads the value of a key into a member of a rule. Returns false if `value`
 * is invalid. */
typedef bool (*reader_t)(const struct field *key, const json_t *value,
                         ctn_collective_t collective, void *field);

/* A key of a rule. */
typedef struct field {
    const char *name;
    reader_t read;
    size_t offset;  /* of its member in ctn_rule_t */
    uint32_t least; /* accepted numbers, if it is read by read_number */
    uint32_t most;
    unsigned of;          /* bit mask of the collectives whose rules have it */
    const char *expected; /* for messages; NULL: the names of algorithms */
} field_t;

static bool read_number(const struct field *key, const json_t *value,
                        uint32_t *number)
{
    json_int_t given = json_integer_value(value);
    if (!json_is_integer(value) || given < key->least || given > key->most) {
        return false;
    }
    *number = (uint32_t)given;
    return true;
}

/** Read a number, or [from, to], where null leaves a bound unchanged. */
static bool read_range(const struct field *key, const json_t *value,
                       ctn_collective_t collective, void *field)
{
    uint32_t *bound = field; /* from, to */
    (void)collective;
    if (!json_is_array(value)) {
        bool good = read_number(key, value, &bound[0]);
        bound[1] = bound[0];
        return good;
    }
    for (size_t i = 0; i < 2; i++) {
        const json_t *end = json_array_get(value, i);
        if (!json_is_null(end) && !read_number(key, end, &bound[i])) {
            return false;
        }
    }
    return json_array_size(value) == 2 && bound[0] <= bound[1];
}

_Static_assert(offsetof(ctn_rule_t, nodes_to) ==
                       offsetof(ctn_rule_t, nodes_from) + sizeof(uint32_t) &&
                   offsetof(ctn_rule_t, ppn_to) ==
                       offsetof(ctn_rule_t, ppn_from) + sizeof(uint32_t),
               "read_range writes both bounds");

/** Read a number of bytes, or a text with a unit: "64k". */
static bool read_bytes(const struct field *key, const json_t *value,
                       ctn_collective_t collective, void *field)
{
    size_t *bytes = field;
    const char *text = json_string_value(value);
    (void)key;
    (void)collective;
    if (text != NULL) {
        return ctn_units_bytes(text, bytes);
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        return false;
    }
    *bytes = (size_t)json_integer_value(value);
    return true;
}

/** Read a number, or "auto", which leaves the member 0. */
static bool read_count(const struct field *key, const json_t *value,
                       ctn_collective_t collective, void *field)
{
    const char *text = json_string_value(value);
    (void)collective;
    return (text != NULL && strcmp(text, "auto") == 0) ||
           read_number(key, value, field);
}

/** Whether rules for a collective may select an algorithm. */
static bool has_algorithm(ctn_collective_t collective,
                          const ctn_tuned_algorithm_t *algorithm)
{
    return collective != CTN_ALLTOALLV || algorithm->vector;
}

static bool read_algorithm(const struct field *key, const json_t *value,
                           ctn_collective_t collective, void *field)
{
    const char *text = json_string_value(value);
    (void)key;
    for (size_t i = 0; text != NULL && i < CTN_TUNED_ALGORITHMS; i++) {
        if (strcmp(text, ctn_tuned_algorithm[i].name) == 0 &&
            has_algorithm(collective, &ctn_tuned_algorithm[i])) {
            memcpy(field, text, strlen(text) + 1);
            return true;
        }
    }
    return false;
}

enum {
    ALLTOALL = 1 << CTN_ALLTOALL,
    ALLTOALLV = 1 << CTN_ALLTOALLV,
    ALL = ALLTOALL | ALLTOALLV
};

#define FIELD(member) offsetof(ctn_rule_t, member)
#define BYTES "a size (bytes, or with unit: \"64k\")"
#define RANGE "a number from 1, or [from, to] with null for no bound"

/* The members of a group do not all know the lengths of an alltoallv's blocks,
 * so its rules cannot depend on them: direct_above decides for each block. In
 * an alltoallw leaders cannot copy blocks of derived types, which members copy
 * first instead, so direct_above_w may be less. */
static const field_t keys[] = {
    {"nodes", read_range, FIELD(nodes_from), 1, UINT32_MAX, ALL, RANGE},
    {"ppn", read_range, FIELD(ppn_from), 1, UINT32_MAX, ALL, RANGE},
    {"bytes_to", read_bytes, FIELD(bytes_to), 0, 0, ALLTOALL, BYTES},
    {"algorithm", read_algorithm, FIELD(algorithm), 0, 0, ALL, NULL},
    {"leaders", read_count, FIELD(leaders), 1, CTN_TUNING_LEADERS, ALL,
     "a number from 1 to 64, or \"auto\""},
    {"radix", read_count, FIELD(radix), 2, 65536, ALL,
     "a number from 2 to 65536, or \"auto\""},
    {"window", read_count, FIELD(window), 1, CTN_TUNING_WINDOW, ALL,
     "a number from 1 to 32, or \"auto\""},
    {"direct_above", read_bytes, FIELD(direct_above), 0, 0, ALLTOALLV, BYTES},
    {"direct_above_w", read_bytes, FIELD(direct_above_w), 0, 0, ALLTOALLV,
     BYTES},
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

_Static_assert(CTN_TUNING_LEADERS == 64 && CTN_TUNING_WINDOW == 32,
               "the texts of keys say so");

/** Whether rules for a collective have a key. */
static bool has_key(ctn_collective_t collective, const field_t *key)
{
    return (key->of & 1u << collective) != 0;
}

/* ---- reading ---- */

/* The reading of one document. */
typedef struct tuning_reading {
    const ctn_log_t *log;
    const char *where;    /* file, or name of a built-in tuning, for messages */
    ctn_tuning_t *tuning; /* to be filled */
    ctn_collective_t collective; /* of the current rule */
    size_t number;               /* of the current rule, from 1; 0: none yet */
} tuning_reading_t;

/* Most names in a list of a message. */
enum { NAMES = 16 };

_Static_assert((int)KEYS <= NAMES && (int)CTN_TUNED_ALGORITHMS <= NAMES,
               "names have room");

/** Write a list of names: "a, b or c". */
static void join_names(const char *const *name, size_t count, char *text,
                       size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < count && used < bytes; i++) {
        const char *between = i == 0 ? "" : i + 1 < count ? ", " : " or ";
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", between,
                                 name[i]);
    }
}

static void list_algorithms(ctn_collective_t collective, char *text,
                            size_t bytes)
{
    const char *name[NAMES];
    size_t count = 0;
    for (size_t i = 0; i < CTN_TUNED_ALGORITHMS; i++) {
        if (has_algorithm(collective, &ctn_tuned_algorithm[i])) {
            name[count++] = ctn_tuned_algorithm[i].name;
        }
    }
    join_names(name, count, text, bytes);
}

static void list_keys(ctn_collective_t collective, char *text, size_t bytes)
{
    const char *name[NAMES];
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++) {
        if (has_key(collective, &keys[i])) {
            name[count++] = keys[i].name;
        }
    }
    join_names(name, count, text, bytes);
}

/** Report what was expected and found; returns ERR_ARG. */
static catena_status_t report_found(const tuning_reading_t *reading,
                                    const char *key, const char *expected,
                                    const json_t *value)
{
    char *found = value != NULL
                      ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY)
                      : NULL;
    char rule[64] = "";
    if (reading->number > 0) {
        snprintf(rule, sizeof(rule),
                 "%s, rule %zu: ", ctn_collective_name[reading->collective],
                 reading->number);
    }
    ctn_error(reading->log, "tuning %s: %s%s%sexpected %s, found %.100s",
              reading->where, rule, key, key[0] != '\0' ? ": " : "", expected,
              found != NULL ? found : "nothing");
    free(found);
    return CATENA_ERR_ARG;
}

/** Read one key of a rule; NULL as value: the key is missing. */
static catena_status_t read_key(const tuning_reading_t *reading,
                                const char *name, const json_t *value,
                                ctn_rule_t *rule)
{
    char names[160];
    ctn_collective_t collective = reading->collective;
    for (size_t i = 0; i < KEYS; i++) {
        const field_t *key = &keys[i];
        if (!has_key(collective, key) || strcmp(name, key->name) != 0) {
            continue;
        }
        if (key->read(key, value, collective,
                      (unsigned char *)rule + key->offset)) {
            return CATENA_OK;
        }
        list_algorithms(collective, names, sizeof(names));
        return report_found(reading, name,
                            key->expected != NULL ? key->expected : names,
                            value);
    }
    list_keys(collective, names, sizeof(names));
    ctn_error(reading->log,
              "tuning %s: %s, rule %zu: there is no key \"%s\"; expected %s",
              reading->where, ctn_collective_name[collective], reading->number,
              name, names);
    return CATENA_ERR_ARG;
}

static catena_status_t read_rule(const tuning_reading_t *reading, json_t *value,
                                 ctn_rule_t *rule)
{
    const char *name;
    json_t *inner;
    if (!json_is_object(value)) {
        return report_found(reading, "",
                            "an object such as {\"algorithm\": \"direct\"}",
                            value);
    }
    *rule = ctn_rule_anywhere;
    rule->tuning = reading->tuning->name;
    rule->number = (uint32_t)reading->number;
    json_object_foreach(value, name, inner)
    {
        catena_status_t status = read_key(reading, name, inner, rule);
        if (status != CATENA_OK) {
            return status;
        }
    }
    return rule->algorithm[0] != '\0'
               ? CATENA_OK
               : read_key(reading, "algorithm", NULL, rule);
}

/** Read the rules for reading->collective; NULL as value: there are none. */
static catena_status_t read_list(tuning_reading_t *reading, json_t *value)
{
    const char *name = ctn_collective_name[reading->collective];
    ctn_rules_t *list = &reading->tuning->list[reading->collective];
    size_t count = json_array_size(value);
    reading->number = 0;
    if (value == NULL) {
        return CATENA_OK;
    }
    if (!json_is_array(value)) {
        return report_found(reading, name, "a list of rules", value);
    }
    list->rule = calloc(count > 0 ? count : 1, sizeof(*list->rule));
    if (list->rule == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    list->count = count;
    for (size_t i = 0; i < count; i++) {
        reading->number = i + 1;
        catena_status_t status =
            read_rule(reading, json_array_get(value, i), &list->rule[i]);
        if (status != CATENA_OK) {
            return status;
        }
    }
    return CATENA_OK;
}

/** Read name and source; other keys are errors. */
static catena_status_t read_head(const tuning_reading_t *reading, json_t *root)
{
    static const char *const texts[] = {"name", "source"};
    const char *name;
    json_t *ignored;
    if (!json_is_object(root)) {
        return report_found(reading, "", "an object", root);
    }
    json_object_foreach(root, name, ignored)
    {
        if (strcmp(name, "name") != 0 && strcmp(name, "source") != 0 &&
            strcmp(name, ctn_collective_name[CTN_ALLTOALL]) != 0 &&
            strcmp(name, ctn_collective_name[CTN_ALLTOALLV]) != 0) {
            ctn_error(reading->log,
                      "tuning %s: there is no key \"%s\"; expected name, "
                      "source, alltoall and alltoallv",
                      reading->where, name);
            return CATENA_ERR_ARG;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        json_t *value = json_object_get(root, texts[i]);
        if (json_string_length(value) == 0) {
            return report_found(reading, texts[i],
                                i == 0
                                    ? "a text"
                                    : "a text that says how and where it was "
                                      "measured",
                                value);
        }
    }
    snprintf(reading->tuning->name, sizeof(reading->tuning->name), "%s",
             json_string_value(json_object_get(root, "name")));
    return CATENA_OK;
}

catena_status_t ctn_tuning_read(const ctn_log_t *log, const char *where,
                                json_t *root, ctn_tuning_t *tuning)
{
    tuning_reading_t reading = {.log = log, .where = where, .tuning = tuning};
    catena_status_t status = read_head(&reading, root);
    for (int i = 0; status == CATENA_OK && i < CTN_COLLECTIVES; i++) {
        reading.collective = (ctn_collective_t)i;
        status =
            read_list(&reading, json_object_get(root, ctn_collective_name[i]));
    }
    return status;
}
