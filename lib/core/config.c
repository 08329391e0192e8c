/* Reading and printing of settings. */

#include "core/config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/suggest.h"
#include "core/units.h"

#define PREFIX "CATENA_"

_Static_assert(sizeof(ctn_setting_kind_t) == sizeof(unsigned),
               "keywords are written as unsigned, and read as an enum");

const ctn_setting_type_t ctn_setting_bytes = {
    CTN_SETTING_SIZE, CTN_ACCEPT_AUTO, NULL,
    "a size above 0 (bytes, or with unit: 64k, 2m, 1g) or auto"};
const ctn_setting_type_t ctn_setting_count = {
    CTN_SETTING_SIZE, CTN_ACCEPT_AUTO, NULL, "a number above 0, or auto"};
const ctn_setting_type_t ctn_setting_number = {
    CTN_SETTING_SIZE, CTN_ACCEPT_AUTO | CTN_ACCEPT_INF | CTN_ACCEPT_ZERO, NULL,
    "a number (64k is allowed), auto or inf"};
const ctn_setting_type_t ctn_setting_milliseconds = {
    CTN_SETTING_SIZE, CTN_ACCEPT_AUTO | CTN_ACCEPT_INF | CTN_ACCEPT_ZERO, NULL,
    "a number of milliseconds, auto or inf"};
const ctn_setting_type_t ctn_setting_switch = {
    CTN_SETTING_SWITCH, CTN_ACCEPT_AUTO, NULL, "y, n or auto"};
const ctn_setting_type_t ctn_setting_on = {CTN_SETTING_SWITCH, 0, NULL,
                                           "on or off (y or n)"};
const ctn_setting_type_t ctn_setting_text = {CTN_SETTING_TEXT, 0, NULL,
                                             "any text"};
const ctn_setting_type_t ctn_setting_secret = {CTN_SETTING_TEXT, 0, NULL,
                                               "any text; it is not printed"};

/* ---- tables ---- */

/** A position in the list of all settings of all tables. */
typedef struct config_cursor {
    const ctn_setting_table_t *const *table; /* in the list of tables */
    size_t index;                            /* of the setting in the table */
    size_t offset; /* of the table's struct of values in all values */
} config_cursor_t;

/** The bytes of a struct of values, so that the next one is aligned. */
static size_t padded_bytes(const ctn_setting_table_t *table)
{
    const size_t align = _Alignof(max_align_t);
    return (table->bytes + align - 1) / align * align;
}

/** The setting at the cursor; NULL: there are no more. */
static const ctn_setting_t *setting_at(config_cursor_t *at)
{
    while (*at->table != NULL && at->index == (*at->table)->count) {
        at->offset += padded_bytes(*at->table);
        at->table++;
        at->index = 0;
    }
    return *at->table != NULL ? &(*at->table)->setting[at->index] : NULL;
}

/** A loop over all settings of `tables`. It declares `at`, the cursor, and
 * `row`, the setting at the cursor. (The outer loop runs once.) */
#define FOR_EACH_SETTING(tables, at, row)                                      \
    for (config_cursor_t at = {(tables), 0, 0}; at.table != NULL;              \
         at.table = NULL)                                                      \
        for (const ctn_setting_t *row; (row = setting_at(&at)) != NULL;        \
             at.index++)

void *ctn_config_values(const ctn_config_t *config,
                        const ctn_setting_table_t *table)
{
    unsigned char *values = config->values;
    const ctn_setting_table_t *const *at = config->tables;
    while (*at != table) {
        assert(*at != NULL);
        values += padded_bytes(*at++);
    }
    return values;
}

/* ---- values ---- */

/** The index of a keyword; -1: it is none of them. */
static int find_word(const char *const *words, const char *text)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcasecmp(words[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

static bool parse_size(const ctn_setting_type_t *type, const char *text,
                       size_t *out)
{
    size_t number;
    if (!ctn_units_bytes(text, &number) || number >= CTN_CONFIG_INF ||
        (number == 0 && !(type->accepts & CTN_ACCEPT_ZERO))) {
        return false;
    }
    *out = number;
    return true;
}

bool ctn_setting_read_switch(const char *text, size_t *out)
{
    static const char *const words[] = {"n",   "y",  "no",    "yes",  "0", "1",
                                        "off", "on", "false", "true", NULL};
    int found = find_word(words, text);
    *out = (size_t)(found % 2);
    return found >= 0;
}

static bool parse_word(const ctn_setting_type_t *type, const char *text,
                       void *field)
{
    int found = find_word(type->words, text);
    unsigned value = (unsigned)found;
    memcpy(field, &value, sizeof(value));
    return found >= 0;
}

static catena_status_t parse_text(const char *text, char **out)
{
    char *copy = strdup(text);
    if (copy == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    free(*out);
    *out = copy;
    return CATENA_OK;
}

/** Store the value of a text. @return ERR_ARG: the type does not accept it */
static catena_status_t parse(const ctn_setting_type_t *type, const char *text,
                             void *field)
{
    bool accepted = false;
    if ((type->accepts & CTN_ACCEPT_AUTO) && strcasecmp(text, "auto") == 0) {
        *(size_t *)field = CTN_CONFIG_AUTO;
        return CATENA_OK;
    }
    if ((type->accepts & CTN_ACCEPT_INF) && strcasecmp(text, "inf") == 0) {
        *(size_t *)field = CTN_CONFIG_INF;
        return CATENA_OK;
    }
    switch (type->kind) {
    case CTN_SETTING_SIZE:
        accepted = parse_size(type, text, field);
        break;
    case CTN_SETTING_SWITCH:
        accepted = ctn_setting_read_switch(text, field);
        break;
    case CTN_SETTING_WORD:
        accepted = parse_word(type, text, field);
        break;
    case CTN_SETTING_TEXT:
        return parse_text(text, field);
    }
    return accepted ? CATENA_OK : CATENA_ERR_ARG;
}

enum { EXPECTED_BYTES = 256 };

/** The values that a type accepts, for messages: "auto, spin, yield or sleep".
 */
static const char *expected_of(const ctn_setting_type_t *type,
                               char text[EXPECTED_BYTES])
{
    size_t used = 0;
    if (type->expected != NULL) {
        return type->expected;
    }
    for (size_t i = 0; type->words[i] != NULL && used < EXPECTED_BYTES; i++) {
        const char *before = i == 0                       ? ""
                             : type->words[i + 1] == NULL ? " or "
                                                          : ", ";
        int n = snprintf(text + used, EXPECTED_BYTES - used, "%s%s", before,
                         type->words[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

/** Set the setting at a cursor.
 * @param where it was set, for messages: precedes the name */
static catena_status_t set(unsigned char *values, const config_cursor_t *at,
                           const char *text, const char *where,
                           const ctn_log_t *log)
{
    const ctn_setting_t *row = &(*at->table)->setting[at->index];
    catena_status_t status =
        parse(row->type, text, values + at->offset + row->offset);
    if (status == CATENA_ERR_ARG) {
        char expected[EXPECTED_BYTES];
        ctn_error(log, "%s%s: expected %s, found \"%s\"", where, row->name,
                  expected_of(row->type, expected), text);
    } else if (status != CATENA_OK) {
        ctn_error(log, "%s%s: %s", where, row->name,
                  catena_status_string(status));
    }
    return status;
}

/* ---- names ---- */

/** Set the cursor to the setting of a name. @return whether there is one */
static bool find_setting(ctn_setting_tables_t tables, const char *name,
                         size_t length, config_cursor_t *found)
{
    FOR_EACH_SETTING(tables, at, row)
    {
        if (strlen(row->name) == length &&
            memcmp(row->name, name, length) == 0) {
            *found = at;
            return true;
        }
    }
    return false;
}

/** Write the name of the setting that is most similar to an unknown name, as a
 * part of a message; "": no name is similar.
 * @param prefix of all names where it was found */
static void suggest_name(ctn_setting_tables_t tables, const char *prefix,
                         const char *name, size_t length,
                         char text[2 * CTN_NAME_BYTES])
{
    ctn_nearest_t nearest = {name, length, length / 2 + 1, NULL};
    FOR_EACH_SETTING(tables, at, row)
    {
        ctn_nearest_try(&nearest, row->name);
    }
    text[0] = '\0';
    if (nearest.name != NULL) {
        snprintf(text, 2 * CTN_NAME_BYTES, "; the nearest name is %s%s", prefix,
                 nearest.name);
    }
}

size_t ctn_config_warn_unknown(ctn_setting_tables_t tables,
                               const ctn_log_t *log)
{
    const size_t prefix = strlen(PREFIX);
    size_t unknown = 0;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const char *name = *entry + prefix;
        config_cursor_t found;
        if (strncmp(*entry, PREFIX, prefix) != 0) {
            continue;
        }
        size_t length = strcspn(name, "=");
        /* CATENA_MPI and CATENA_MPI_* are those of tools/mpi. */
        bool others =
            strncmp(name, "MPI", 3) == 0 && (length == 3 || name[3] == '_');
        if (others || find_setting(tables, name, length, &found)) {
            continue;
        }
        unknown++;
        char nearest[2 * CTN_NAME_BYTES];
        suggest_name(tables, PREFIX, name, length, nearest);
        ctn_warn(log,
                 PREFIX "%.*s is not a setting of catena and has no effect%s "
                        "(catena-info -c lists all)",
                 (int)length, name, nearest);
    }
    return unknown;
}

/** The value of a setting in the environment; NULL: it is not set. */
static const char *in_environment(const ctn_setting_t *row)
{
    char name[sizeof(PREFIX) + CTN_NAME_BYTES];
    snprintf(name, sizeof(name), PREFIX "%s", row->name);
    return secure_getenv(name);
}

/* ---- reading ---- */

/** Set all settings to their default values or to those of the environment. */
static catena_status_t read_environment(unsigned char *values,
                                        ctn_setting_tables_t tables,
                                        const ctn_log_t *log)
{
    catena_status_t status = CATENA_OK;
    FOR_EACH_SETTING(tables, at, row)
    {
        const char *text = in_environment(row);
        if (status == CATENA_OK) {
            status = set(values, &at, row->initial, "default ", log);
        }
        if (status == CATENA_OK && text != NULL) {
            status = set(values, &at, text, PREFIX, log);
        }
    }
    return status;
}

/** Set the setting of a text "NAME=VALUE". */
static catena_status_t read_setting(unsigned char *values,
                                    ctn_setting_tables_t tables,
                                    const char *setting, const ctn_log_t *log)
{
    size_t length = strcspn(setting, "=");
    config_cursor_t found;
    if (setting[length] != '=') {
        ctn_error(log, "setting \"%s\": expected NAME=VALUE", setting);
        return CATENA_ERR_ARG;
    }
    if (!find_setting(tables, setting, length, &found)) {
        char nearest[2 * CTN_NAME_BYTES];
        suggest_name(tables, "", setting, length, nearest);
        ctn_error(log,
                  "setting \"%.*s\": no such name%s (catena-info -c lists all)",
                  (int)length, setting, nearest);
        return CATENA_ERR_ARG;
    }
    return set(values, &found, setting + length + 1, "setting ", log);
}

catena_status_t ctn_config_read(ctn_config_t *config,
                                ctn_setting_tables_t tables,
                                const char *const *settings,
                                const ctn_log_t *log)
{
    size_t bytes = 0;
    for (size_t i = 0; tables[i] != NULL; i++) {
        bytes += padded_bytes(tables[i]);
    }
    ctn_config_t read = {.tables = tables, .values = calloc(1, bytes)};
    if (read.values == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = read_environment(read.values, tables, log);
    for (size_t i = 0;
         settings != NULL && settings[i] != NULL && status == CATENA_OK; i++) {
        status = read_setting(read.values, tables, settings[i], log);
    }
    if (status != CATENA_OK) {
        ctn_config_release(&read);
        return status;
    }
    *config = read;
    return CATENA_OK;
}

void ctn_config_release(ctn_config_t *config)
{
    if (config->values == NULL) {
        return;
    }
    FOR_EACH_SETTING(config->tables, at, row)
    {
        if (row->type->kind == CTN_SETTING_TEXT) {
            void *field = config->values + at.offset + row->offset;
            free(*(char **)field);
        }
    }
    free(config->values);
    config->values = NULL;
}

/* ---- listing ---- */

static void print_help(FILE *stream, const ctn_setting_t *row)
{
    char expected[EXPECTED_BYTES];
    const char *line = row->help;
    fputs("#\n", stream);
    while (*line != '\0') {
        size_t length = strcspn(line, "\n");
        fprintf(stream, "# %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    fprintf(stream, "#\n# expects: %s\n# default: %s\n#\n",
            expected_of(row->type, expected),
            row->initial[0] != '\0' ? row->initial : "(empty)");
}

catena_status_t ctn_config_print(ctn_setting_tables_t tables, FILE *stream,
                                 bool help)
{
    FOR_EACH_SETTING(tables, at, row)
    {
        const char *text = in_environment(row);
        if (text != NULL && row->type == &ctn_setting_secret) {
            text = "********";
        }
        if (help) {
            print_help(stream, row);
        }
        fprintf(stream, PREFIX "%s=%s\n%s", row->name,
                text != NULL ? text : row->initial, help ? "\n" : "");
    }
    return ferror(stream) ? CATENA_ERR_SYSTEM : CATENA_OK;
}
