/* The values of prun's options. */
#include "parse.h"
#include "core/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint32_t prun_parse_count(const char *option, const char *text)
{
    uint64_t value = 0;
    if (!ctn_units_count(text, PRUN_MAX_RANKS, &value) || value < 1)
        prun_die(PRUN_EXIT_USAGE,
                 "%s wants a whole number from 1 to %d, got '%s'; "
                 "say for example %s 4",
                 option, PRUN_MAX_RANKS, text, option);
    return (uint32_t)value;
}

void prun_set_ppn(struct prun_options *options, const char *option,
                  const char *text)
{
    char *list = prun_format("%s", text);
    char *rest = list;
    if (options->ppn_text && strcmp(options->ppn_text, text) != 0)
        prun_die(PRUN_EXIT_USAGE,
                 "%s asks for %s ranks per node, an earlier option for %s; "
                 "give one of them",
                 option, text, options->ppn_text);
    options->ppn_count = 0;
    for (char *item; (item = strsep(&rest, "+"));) {
        options->ppn = prun_grow(options->ppn, (options->ppn_count + 1) *
                                                   sizeof *options->ppn);
        options->ppn[options->ppn_count++] = prun_parse_count(option, item);
    }
    options->ppn_text = prun_format("%s", text);
    free(list);
}

/* The level of a name, which ends at `end`. @return NONE: no level */
static enum prun_level prun_level_of(const char *name, const char *end)
{
    static const struct {
        const char *name;
        enum prun_level level;
    } known[] = {
        {"hwthread", PRUN_LEVEL_HWTHREAD},
        {"core", PRUN_LEVEL_CORE},
        {"l3", PRUN_LEVEL_L3},
        {"l3cache", PRUN_LEVEL_L3},
        {"numa", PRUN_LEVEL_NUMA},
        {"socket", PRUN_LEVEL_SOCKET},
        {"package", PRUN_LEVEL_SOCKET},
    };
    size_t length = (size_t)(end - name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length &&
            strncmp(known[i].name, name, length) == 0)
            return known[i].level;
    return PRUN_LEVEL_NONE;
}

/* Parse ppr:N:RESOURCE. @return false: it is something else */
static bool prun_parse_ppr(struct prun_options *options, const char *text)
{
    const char *resource = strrchr(text, ':');
    if (strncmp(text, "ppr:", 4) != 0 || resource <= text + 3)
        return false;
    enum prun_level level =
        prun_level_of(resource + 1, resource + strlen(resource));
    bool node = strcmp(resource, ":node") == 0;
    if (!node && level == PRUN_LEVEL_NONE)
        return false;
    char *count = strndup(text + 4, (size_t)(resource - text - 4));
    if (node)
        prun_set_ppn(options, "--map-by ppr:N:node: N", count ? count : "");
    else
        options->per_object =
            prun_parse_count("--map-by ppr:N:RESOURCE: N", count ? count : "");
    free(count);
    options->map_level = level;
    return true;
}

void prun_parse_map_by(struct prun_options *options, const char *text)
{
    options->by_node = strcmp(text, "node") == 0;
    options->per_object = 0;
    options->map_level = prun_level_of(text, text + strlen(text));
    if (!options->by_node && strcmp(text, "slot") != 0 &&
        options->map_level == PRUN_LEVEL_NONE && !prun_parse_ppr(options, text))
        prun_die(PRUN_EXIT_USAGE,
                 "--map-by wants slot, node, hwthread, core, l3, numa, socket "
                 "or ppr:N:RESOURCE with one of these but slot, got '%s'; say "
                 "for example --map-by numa or --map-by ppr:2:l3",
                 text);
}

void prun_parse_rank_by(struct prun_options *options, const char *text)
{
    if (strcmp(text, "slot") == 0 || strcmp(text, "fill") == 0)
        options->rank_by = PRUN_RANK_FILL;
    else if (strcmp(text, "node") == 0 || strcmp(text, "span") == 0)
        options->rank_by = PRUN_RANK_SPAN;
    else
        prun_die(PRUN_EXIT_USAGE,
                 "--rank-by wants fill (or slot), or span (or node), got "
                 "'%s'; leave it out for the order of --map-by",
                 text);
}

void prun_parse_bind_to(struct prun_options *options, const char *text)
{
    const char *end = strchrnul(text, ':');
    options->bind_level = prun_level_of(text, end);
    options->overload = strcmp(end, ":overload-allowed") == 0;
    options->bind_given = true;
    if ((*end && !options->overload) ||
        (options->bind_level == PRUN_LEVEL_NONE && strcmp(text, "none") != 0))
        prun_die(PRUN_EXIT_USAGE,
                 "--bind-to wants none, hwthread, core, l3, numa or socket, "
                 "also with :overload-allowed, got '%s'; leave it out for the "
                 "default",
                 text);
}

void prun_parse_timeout(struct prun_options *options, const char *text)
{
    double seconds = 0;
    if (!ctn_units_real(text, 1e9, &seconds) || seconds <= 0)
        prun_die(PRUN_EXIT_USAGE,
                 "--timeout wants seconds above 0, got '%s'; "
                 "say for example --timeout 60",
                 text);
    options->timeout_ns = (uint64_t)(seconds * 1e9) + 1;
    options->timeout_text = text;
}

void prun_parse_stdin(struct prun_options *options, const char *text)
{
    uint64_t value;
    if (strcmp(text, "all") == 0)
        options->stdin_rank = PRUN_STDIN_ALL;
    else if (strcmp(text, "none") == 0)
        options->stdin_rank = PRUN_STDIN_NONE;
    else if (ctn_units_count(text, PRUN_MAX_RANKS - 1, &value))
        options->stdin_rank = (int)value;
    else
        prun_die(PRUN_EXIT_USAGE,
                 "--stdin wants a rank, all or none, got '%s'; "
                 "say for example --stdin 0",
                 text);
}

/* Take one item of --output. */
static void prun_parse_output_item(struct prun_options *options,
                                   const char *item)
{
    struct stat info;
    bool is_path = strchr(item, '/') || stat(item, &info) == 0;
    if (strcmp(item, "tag") == 0)
        options->prefix |= PRUN_PREFIX_RANK;
    else if (strcmp(item, "timestamp") == 0)
        options->prefix |= PRUN_PREFIX_TIME;
    else if (options->output_dir)
        prun_die(PRUN_EXIT_USAGE,
                 "--output wants one directory, got '%s' and '%s'; name one",
                 options->output_dir, item);
    else if (strncmp(item, "dir=", 4) == 0 && item[4])
        options->output_dir = prun_format("%s", item + 4);
    else if (is_path)
        options->output_dir = prun_format("%s", item);
    else
        prun_die(PRUN_EXIT_USAGE,
                 "--output wants tag, timestamp or a directory for the ranks' "
                 "output, got '%s', which is not there; for a new directory "
                 "say --output dir=%s",
                 item, *item ? item : "DIR");
}

void prun_parse_output(struct prun_options *options, const char *text)
{
    char *list = prun_format("%s", text);
    char *rest = list;
    for (char *item; (item = strsep(&rest, ","));)
        prun_parse_output_item(options, item);
    free(list);
}

void prun_parse_display(struct prun_options *options, const char *text)
{
    if (strcmp(text, "map") == 0)
        options->display_map = true;
    else if (strcmp(text, "bind") == 0)
        options->report_bindings = true;
    else
        prun_die(PRUN_EXIT_USAGE,
                 "--display wants map (ranks, nodes, programs, bindings) or "
                 "bind (bindings), got '%s'; say for example --display map",
                 text);
}

void prun_parse_export(struct prun_app *app, const char *text)
{
    size_t name = strcspn(text, "=");
    bool valid = name > 0 && !isdigit((unsigned char)text[0]);
    for (size_t i = 0; i < name; i++)
        valid &= isalnum((unsigned char)text[i]) || text[i] == '_';
    if (!valid)
        prun_die(PRUN_EXIT_USAGE,
                 "-x wants NAME or NAME=VALUE, got '%s'; "
                 "say for example -x UCX_TLS=tcp,self",
                 text);
    /* The whole environment is inherited anyway: only a value changes it. */
    if (!text[name]) {
        if (!getenv(text))
            prun_error("-x %s: no such variable in the environment; the ranks "
                       "start without it, give one with -x %s=VALUE",
                       text, text);
        return;
    }
    app->exports =
        prun_grow(app->exports, (app->export_count + 1) * sizeof *app->exports);
    app->exports[app->export_count++] = prun_format("%s", text);
}

void prun_parse_wdir(struct prun_app *app, const char *text)
{
    struct stat info;
    char *path = realpath(text, NULL);
    if (!path || stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        prun_die(PRUN_EXIT_USAGE,
                 "--wdir wants a directory, got '%s' (%s); make it first or "
                 "name another",
                 text, path ? "not a directory" : strerror(errno));
    app->wdir = path;
}
