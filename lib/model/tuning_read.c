/* Reads the rules of a tuning from JSON. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/suggest.h"
#include "core/units.h"
#include "model/tuning_parts.h"

/* ---- the keys of a rule ---- */

struct field;

/** Reads the value of a key into a member of a rule. Returns false if `value`
 * is invalid. */
typedef bool (*reader_t)(const struct field *key, const json_t *value,
                         void *field);

/* A key of a rule. */
typedef struct field {
    const char *name;
    reader_t read;  /* NULL: it is the algorithm */
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
                       void *field)
{
    ctn_rule_range_t *bounds = field;
    uint32_t *bound[] = {&bounds->from, &bounds->to};
    if (!json_is_array(value)) {
        bool good = read_number(key, value, &bounds->from);
        bounds->to = bounds->from;
        return good;
    }
    for (size_t i = 0; i < 2; i++) {
        const json_t *end = json_array_get(value, i);
        if (!json_is_null(end) && !read_number(key, end, bound[i])) {
            return false;
        }
    }
    return json_array_size(value) == 2 && bounds->from <= bounds->to;
}

static bool read_case(const struct field *key, const json_t *value, void *field)
{
    uint8_t *accepts = field;
    (void)key;
    *accepts = json_is_true(value) ? CTN_ACCEPTS_TRUE : CTN_ACCEPTS_FALSE;
    return json_is_boolean(value);
}

/** Read a number of bytes, or a text with a unit: "64k". */
static bool read_bytes(const struct field *key, const json_t *value,
                       void *field)
{
    size_t *bytes = field;
    const char *text = json_string_value(value);
    (void)key;
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
                       void *field)
{
    const char *text = json_string_value(value);
    return (text != NULL && strcmp(text, "auto") == 0) ||
           read_number(key, value, field);
}

/** Read an algorithm that rules of the list may select. */
static bool read_algorithm(ctn_rules_of_t list, const json_t *value,
                           ctn_algorithm_name_t *algorithm)
{
    const char *text = json_string_value(value);
    for (unsigned i = 0; text != NULL && i < CTN_ALGORITHMS; i++) {
        if (strcmp(text, ctn_algorithm_names[i]) == 0 &&
            ctn_algorithm_in(ctn_tuned[list].algorithms, i)) {
            *algorithm = (ctn_algorithm_name_t)i;
            return true;
        }
    }
    return false;
}

/* The lists whose rules have a key, as bits. */
enum {
    ALL = (1 << CTN_RULES_LISTS) - 1,
    ALLTOALLV = 1 << CTN_RULES_ALLTOALLV,
    ALLTOALLS = 1 << CTN_RULES_ALLTOALL | ALLTOALLV,
    SPLIT = 1 << CTN_RULES_SPLIT,
    PLACED = ALL & ~SPLIT,
    SIZED = PLACED & ~(ALLTOALLV | 1 << CTN_RULES_BARRIER)
};

#define FIELD(member) offsetof(ctn_rule_t, member)
#define BYTES "a size (bytes, or with unit: \"64k\")"
#define CASE "true or false"
#define RANGE "a number from 1, or [from, to] with null for no bound"

/* The members of a group do not all know the lengths of an alltoallv's blocks,
 * so its rules cannot depend on them: direct_above decides for each block. In
 * an alltoallw leaders cannot copy blocks of derived types, which members copy
 * first instead, so direct_above_w may be less. */
static const field_t keys[] = {
    {"ranks", read_range, FIELD(ranks), 1, UINT32_MAX, ALL, RANGE},
    {"nodes", read_range, FIELD(nodes), 1, UINT32_MAX, PLACED, RANGE},
    {"ppn", read_range, FIELD(ppn), 1, UINT32_MAX, PLACED, RANGE},
    {"oversubscribed", read_case, FIELD(oversubscribed), 0, 0, PLACED, CASE},
    {"blocking", read_case, FIELD(blocking), 0, 0, PLACED, CASE},
    {"keys", read_case, FIELD(keys), 0, 0, SPLIT, CASE},
    {"bytes_to", read_bytes, FIELD(bytes_to), 0, 0, SIZED, BYTES},
    {"bytes_to_by_rank", read_bytes, FIELD(bytes_to_by_rank), 0, 0, SIZED,
     BYTES},
    {"algorithm", NULL, FIELD(algorithm), 0, 0, ALL, NULL},
    {"leaders", read_count, FIELD(leaders), 1, CTN_TUNING_LEADERS, ALLTOALLS,
     "a number from 1 to 64, or \"auto\""},
    {"radix", read_count, FIELD(radix), 2, 65536, ALLTOALLS,
     "a number from 2 to 65536, or \"auto\""},
    {"window", read_count, FIELD(window), 1, CTN_TUNING_WINDOW, ALLTOALLS,
     "a number from 1 to 32, or \"auto\""},
    {"direct_above", read_bytes, FIELD(direct_above), 0, 0, ALLTOALLV, BYTES},
    {"direct_above_w", read_bytes, FIELD(direct_above_w), 0, 0, ALLTOALLV,
     BYTES},
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

_Static_assert(CTN_TUNING_LEADERS == 64 && CTN_TUNING_WINDOW == 32,
               "the texts of keys say so");

/* ---- reading ---- */

/* The reading of one document. */
typedef struct tuning_reading {
    const ctn_log_t *log;
    const char *where;    /* file, or name of a built-in tuning, for messages */
    ctn_tuning_t *tuning; /* to be filled */
    ctn_rules_of_t list;  /* of the current rule */
    size_t number;        /* of the current rule, from 1; 0: none yet */
} tuning_reading_t;

/* Names that a message lists, and the one that is most similar to what was
 * found. */
typedef struct names {
    char text[256]; /* "a, b, c" */
    ctn_nearest_t nearest;
} names_t;

static names_t names_for(const char *typed)
{
    const char *name = typed != NULL ? typed : "";
    return (names_t){.nearest = {name, strlen(name), SIZE_MAX, NULL}};
}

static void add_name(names_t *names, const char *name)
{
    size_t used = strlen(names->text);
    snprintf(names->text + used, sizeof(names->text) - used, "%s%s",
             used > 0 ? ", " : "", name);
    ctn_nearest_try(&names->nearest, name);
}

/** What rules of this list may have as algorithm. */
static names_t algorithm_names(ctn_rules_of_t list, const char *typed)
{
    names_t names = names_for(typed);
    for (unsigned i = 0; i < CTN_ALGORITHMS; i++) {
        if (ctn_algorithm_in(ctn_tuned[list].algorithms, i)) {
            add_name(&names, ctn_algorithm_names[i]);
        }
    }
    return names;
}

/** Where the reading is, for messages: "tuning FILE: alltoall, rule 3". */
typedef char place_t[512];

static const char *place_of(const tuning_reading_t *reading, place_t place)
{
    int used =
        snprintf(place, sizeof(place_t), "tuning %.400s", reading->where);
    if (reading->number > 0) {
        snprintf(place + used, sizeof(place_t) - (size_t)used, ": %s, rule %zu",
                 ctn_tuned[reading->list].name, reading->number);
    }
    return place;
}

/** Report what was expected and found; returns ERR_ARG. */
static catena_status_t report_found(const tuning_reading_t *reading,
                                    const char *key, const char *expected,
                                    const json_t *value)
{
    place_t place;
    char *found = value != NULL
                      ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY)
                      : NULL;
    ctn_error(reading->log, "%s: %s%sexpected %s, found %.100s",
              place_of(reading, place), key, key[0] != '\0' ? ": " : "",
              expected, found != NULL ? found : "nothing");
    free(found);
    return CATENA_ERR_ARG;
}

/** Refuse a key that is none of these. */
static catena_status_t refuse_key(const tuning_reading_t *reading,
                                  const names_t *names)
{
    place_t place;
    ctn_error(reading->log,
              "%s: there is no key \"%.64s\"; nearest %s; expected one of %s",
              place_of(reading, place), names->nearest.typed,
              names->nearest.name, names->text);
    return CATENA_ERR_ARG;
}

/** Read one key of a rule; NULL as value: the key is missing. */
static catena_status_t read_key(const tuning_reading_t *reading,
                                const char *name, const json_t *value,
                                ctn_rule_t *rule)
{
    char expected[320];
    names_t names = names_for(name);
    for (size_t i = 0; i < KEYS; i++) {
        const field_t *key = &keys[i];
        if ((key->of >> reading->list & 1) == 0) {
            continue;
        }
        add_name(&names, key->name);
        if (strcmp(name, key->name) != 0) {
            continue;
        }
        if (key->read != NULL
                ? key->read(key, value, (unsigned char *)rule + key->offset)
                : read_algorithm(reading->list, value, &rule->algorithm)) {
            return CATENA_OK;
        }
        names = algorithm_names(reading->list, json_string_value(value));
        snprintf(expected, sizeof(expected), "one of %s (nearest %s)",
                 names.text, names.nearest.name);
        return report_found(reading, name,
                            key->expected != NULL ? key->expected : expected,
                            value);
    }
    return refuse_key(reading, &names);
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
    return json_object_get(value, "algorithm") != NULL
               ? CATENA_OK
               : read_key(reading, "algorithm", NULL, rule);
}

/** Read the rules for reading->list; NULL as value: there are none. */
static catena_status_t read_list(tuning_reading_t *reading, json_t *value)
{
    const char *name = ctn_tuned[reading->list].name;
    ctn_rules_t *list = &reading->tuning->list[reading->list];
    ctn_rule_t *rule;
    size_t count = json_array_size(value);
    reading->number = 0;
    if (value == NULL) {
        return CATENA_OK;
    }
    if (!json_is_array(value)) {
        return report_found(reading, name, "a list of rules", value);
    }
    list->rule = rule = calloc(count > 0 ? count : 1, sizeof(*rule));
    if (rule == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    list->count = count;
    for (size_t i = 0; i < count; i++) {
        reading->number = i + 1;
        catena_status_t status =
            read_rule(reading, json_array_get(value, i), &rule[i]);
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
        names_t names = names_for(name);
        for (size_t i = 0; i < 2; i++) {
            add_name(&names, texts[i]);
        }
        for (size_t i = 0; i < CTN_RULES_LISTS; i++) {
            add_name(&names, ctn_tuned[i].name);
        }
        if (strcmp(name, names.nearest.name) != 0) {
            return refuse_key(reading, &names);
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
    for (int i = 0; status == CATENA_OK && i < CTN_RULES_LISTS; i++) {
        reading.list = (ctn_rules_of_t)i;
        status = read_list(&reading, json_object_get(root, ctn_tuned[i].name));
    }
    return status;
}
