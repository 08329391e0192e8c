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
    document = json_pack("{s:s%, s:s, s:[]}", "name", base, length, "source",
                         "", "alltoall");
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
        if (strncmp(name, "alltoall", 8) == 0
                ? !json_is_array(value)
                : (strcmp(name, "name") != 0 && strcmp(name, "source") != 0) ||
                      !json_is_string(value))
            return false;
    }
    if (json_object_get(document, "alltoall") == NULL &&
        json_object_set_new(document, "alltoall", json_array()) != 0)
        return false;
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

/* Whether a value of a rule is this number, or a range [number, number]. */
static bool is_only(const json_t *value, int number)
{
    if (json_is_array(value) && json_array_size(value) == 2)
        return is_only(json_array_get(value, 0), number) &&
               is_only(json_array_get(value, 1), number);
    return json_is_integer(value) && json_integer_value(value) == number;
}

/* Remove the rules for the layout of `result`. */
static void drop_old(json_t *rules, const struct tune_result *result)
{
    for (size_t i = json_array_size(rules); i > 0; i--) {
        const json_t *rule = json_array_get(rules, i - 1);

        if (is_only(json_object_get(rule, "nodes"), result->nodes) &&
            is_only(json_object_get(rule, "ppn"), result->ppn))
            json_array_remove(rules, i - 1);
    }
}

static json_t *make_rule(const struct tune_result *result,
                         const struct tune_rule *rule)
{
    json_t *made =
        json_pack("{s:i, s:i}", "nodes", result->nodes, "ppn", result->ppn);

    if (rule->bytes_to != BENCH_AUTO)
        json_object_set_new(made, "bytes_to",
                            json_integer((json_int_t)rule->bytes_to));
    json_object_set_new(made, "algorithm", json_string(rule->algorithm));
    if (rule->leaders > 0)
        json_object_set_new(made, "leaders", json_integer(rule->leaders));
    return made;
}

/* Add the processor and the network to "source", unless they are there. */
static void add_source(json_t *document, const struct tune_result *result)
{
    const char *old = json_string_value(json_object_get(document, "source"));
    char model[100] = "unknown processor", text[256];
    json_t *source;

    bench_read_field("/proc/cpuinfo", "model name", model, sizeof(model));
    snprintf(text, sizeof(text), "%s, network %s", model, result->network);
    if (old != NULL && strstr(old, text) != NULL)
        return;
    if (old != NULL && old[0] != '\0')
        source = json_sprintf("%s; %s", old, text);
    else
        source = json_sprintf("measured by catena-bench --tune: %s", text);
    json_object_set_new(document, "source", source);
}

/* Replace the rules for the layout of `result`. */
static void update(json_t *document, const struct tune_result *result)
{
    json_t *rules = json_object_get(document, "alltoall");

    drop_old(rules, result);
    for (size_t i = result->count; i > 0; i--)
        json_array_insert_new(rules, 0,
                              make_rule(result, &result->rules[i - 1]));
    add_source(document, result);
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

int tune_save(json_t *document, const struct tune_result *result)
{
    const json_t *rules = json_object_get(document, "alltoall");
    struct bench_file file;
    int code = BENCH_FAILED;

    update(document, result);
    if (bench_file_open(&file, "--tune", result->path))
        code = bench_file_close(&file, put_document(file.stream, document));
    if (code == BENCH_OK) {
        printf("# written to %s (CATENA_TUNING=%s), for this layout:\n",
               result->path, result->path);
        for (size_t i = 0; i < result->count; i++) {
            put_value(stdout, json_array_get(rules, i));
            putchar('\n');
        }
    }
    json_decref(document);
    return code;
}
