/* Reads and writes the file of --tune; docs/man has its format
 * (catena-tuning.5). */

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "tune/tune.h"

/* Print an error; returns NULL. */
static json_t *report_wrong(const char *path, const char *expected)
{
    fprintf(stderr, "catena-bench: --tune: %s: %s\n", path, expected);
    return NULL;
}

/* ---- existing contents ---- */

/* A document without rules. Its name is that of the file, because
 * catena_group_explain shows the name. */
static json_t *new_document(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    size_t length = strlen(base);
    json_t *document;

    if (length > 5 && strcmp(base + length - 5, ".json") == 0)
        length -= 5;
    document = json_pack("{s:s%, s:s}", "name", base, length, "source", "");
    return document != NULL ? document : report_wrong(path, "no UTF-8 name");
}

/* Whether a document has the members of a tuning: name, source, and lists of
 * rules. The rules themselves are checked by the library when it reads the
 * file. */
static bool is_tuning(json_t *document)
{
    const char *name;
    json_t *value;

    json_object_foreach(document, name, value)
    {
        bool text = strcmp(name, "name") == 0 || strcmp(name, "source") == 0;

        if (text ? !json_is_string(value) : !json_is_array(value))
            return false;
    }
    return json_object_get(document, "name") != NULL;
}

json_t *tune_load(const char *path)
{
    json_t *document;
    json_error_t error;
    char text[JSON_ERROR_TEXT_LENGTH + 32];

    errno = 0;
    document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL &&
        json_error_code(&error) == json_error_cannot_open_file)
        return errno == ENOENT ? new_document(path)
                               : report_wrong(path, strerror(errno));
    if (document == NULL) {
        snprintf(text, sizeof(text), "line %d: %s", error.line, error.text);
        return report_wrong(path, text);
    }
    if (is_tuning(document))
        return document;
    json_decref(document);
    return report_wrong(path,
                        "expected a tuning, with name, source and lists of "
                        "rules, found something else");
}

/* ---- results ---- */

/* Whether a condition of a rule is this number, or a range [number, number]; 0:
 * the rule does not have it. */
static bool is_only(const json_t *value, int number)
{
    if (json_is_array(value) && json_array_size(value) == 2)
        return is_only(json_array_get(value, 0), number) &&
               is_only(json_array_get(value, 1), number);
    return value == NULL
               ? number == 0
               : json_is_integer(value) && json_integer_value(value) == number;
}

/* Remove the rules of a list for this layout. */
static void drop_old(json_t *list, const struct tune_rules *rules)
{
    for (size_t i = json_array_size(list); i > 0; i--) {
        const json_t *rule = json_array_get(list, i - 1);

        if (is_only(json_object_get(rule, "ranks"), rules->ranks) &&
            is_only(json_object_get(rule, "nodes"), rules->nodes) &&
            is_only(json_object_get(rule, "ppn"), rules->ppn))
            json_array_remove(list, i - 1);
    }
}

static void put_number(json_t *rule, const char *key, int number)
{
    if (number > 0)
        json_object_set_new(rule, key, json_integer(number));
}

static json_t *make_rule(const struct tune_rules *rules,
                         const struct tune_rule *rule)
{
    json_t *made = json_object();

    put_number(made, "ranks", rules->ranks);
    put_number(made, "nodes", rules->nodes);
    put_number(made, "ppn", rules->ppn);
    if (rule->bytes_to != BENCH_AUTO)
        json_object_set_new(made, "bytes_to",
                            json_integer((json_int_t)rule->bytes_to));
    json_object_set_new(made, "algorithm", json_string(rule->algorithm));
    put_number(made, "leaders", rule->leaders);
    return made;
}

/* Add the processor and the network to "source", unless they are there. */
static void add_source(json_t *document, const char *network)
{
    const char *old = json_string_value(json_object_get(document, "source"));
    char model[100] = "unknown processor", text[256];
    json_t *source;

    bench_read_field("/proc/cpuinfo", "model name", model, sizeof(model));
    snprintf(text, sizeof(text), "%s, network %s", model, network);
    if (old != NULL && strstr(old, text) != NULL)
        return;
    if (old != NULL && old[0] != '\0')
        source = json_sprintf("%s; %s", old, text);
    else
        source = json_sprintf("measured by catena-bench --tune: %s", text);
    json_object_set_new(document, "source", source);
}

/* ---- writing ---- */

static bool put_value(FILE *stream, const json_t *value)
{
    return json_dumpf(value, stream, JSON_ENCODE_ANY) == 0;
}

/* Rules are written as a table: one per line. */
static bool put_rules(FILE *stream, const json_t *rules)
{
    size_t count = json_array_size(rules);
    bool good = fputs("[", stream) >= 0;

    for (size_t i = 0; i < count && good; i++)
        good = fputs(i > 0 ? ",\n    " : "\n    ", stream) >= 0 &&
               put_value(stream, json_array_get(rules, i));
    return good && fputs(count > 0 ? "\n  ]" : "]", stream) >= 0;
}

static bool put_document(FILE *stream, json_t *document)
{
    const char *before = "{\n";
    const char *name;
    json_t *value;
    bool good = true;

    json_object_foreach(document, name, value)
    {
        good = good && fprintf(stream, "%s  \"%s\": ", before, name) >= 0 &&
               (json_is_array(value) ? put_rules(stream, value)
                                     : put_value(stream, value));
        before = ",\n";
    }
    return good && fputs("\n}\n", stream) >= 0;
}

void tune_update(json_t *document, const struct tune_rules *rules)
{
    json_t *list = json_object_get(document, rules->list);

    if (list == NULL) {
        list = json_array();
        json_object_set_new(document, rules->list, list);
    }
    drop_old(list, rules);
    for (size_t i = rules->count; i > 0; i--)
        json_array_insert_new(list, 0, make_rule(rules, &rules->rule[i - 1]));
    printf("# %s, rules for this layout:\n", rules->list);
    for (size_t i = 0; i < rules->count; i++) {
        put_value(stdout, json_array_get(list, i));
        putchar('\n');
    }
}

int tune_save(json_t *document, const char *path, const char *network)
{
    struct bench_file file;
    int code = BENCH_FAILED;

    add_source(document, network);
    if (bench_file_open(&file, "--tune", path))
        code = bench_file_close(&file, put_document(file.stream, document));
    if (code == BENCH_OK)
        printf("# written to %s (CATENA_TUNING=%s)\n", path, path);
    json_decref(document);
    return code;
}
