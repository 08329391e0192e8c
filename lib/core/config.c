#include "core/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/suggest.h"

#define PREFIX "CATENA_"

/* A parser of values. `flags`: which special values it accepts. */
enum { ALLOW_AUTO = 1, ALLOW_INF = 2, ALLOW_ZERO = 4 };

struct core_row;

struct parser {
    const char *expected; /* for messages and help */
    unsigned flags;
    const char *const *choices; /* NULL-terminated, for parse_choice */
    catena_status_t (*parse)(const struct core_row *row, const char *text,
                             void *field);
};

struct core_row {
    const char *name;    /* without prefix */
    const char *initial; /* default value, as text */
    const char *help;
    size_t offset;
    const struct parser *parser;
};

static catena_status_t parse_size(const struct core_row *row, const char *text,
                                  void *field);
static catena_status_t parse_switch(const struct core_row *row,
                                    const char *text, void *field);
static catena_status_t parse_choice(const struct core_row *row,
                                    const char *text, void *field);
static catena_status_t parse_algorithm(const struct core_row *row,
                                       const char *text, void *field);
static catena_status_t parse_string(const struct core_row *row,
                                    const char *text, void *field);

/* In the order of ctn_log_level_t, ctn_put_mode_t and ctn_wait_t. */
static const char *const log_levels[] = {"fatal", "error", "warn", "info",
                                         "debug", "trace", NULL};
static const char *const put_modes[] = {"auto", "am", "rma", NULL};
static const char *const waits[] = {"auto", "spin", "yield", "sleep", NULL};
static const char *const algorithms[] = {"auto",   "direct", "shift", "bruck",
                                         "morton", "l-a2a",  "mpml",  "nmpml",
                                         "onmpml", NULL};
/* 1 + ctn_neighbor_algorithm_t. */
static const char *const neighbor_algorithms[] = {
    "auto", "direct", "colored", "combining", "aggregated", NULL};

_Static_assert(CTN_LOG_TRACE == 5, "log_levels follows ctn_log_level_t");
_Static_assert(CTN_PUT_RMA == 2, "put_modes follows ctn_put_mode_t");
_Static_assert(CTN_WAIT_SLEEP == 3, "waits follows ctn_wait_t");
_Static_assert(sizeof(ctn_log_level_t) == sizeof(unsigned) &&
                   sizeof(ctn_put_mode_t) == sizeof(unsigned) &&
                   sizeof(ctn_wait_t) == sizeof(unsigned),
               "parse_choice writes enums as unsigned");

static const struct parser level_parser = {
    "fatal, error, warn, info, debug or trace", 0, log_levels, parse_choice};
static const struct parser bytes_parser = {
    "a size above 0 (bytes, or with unit: 64k, 2m, 1g) or auto", ALLOW_AUTO,
    NULL, parse_size};
static const struct parser count_parser = {"a number above 0, or auto",
                                           ALLOW_AUTO, NULL, parse_size};
static const struct parser spin_parser = {
    "a number (64k is allowed), auto or inf",
    ALLOW_AUTO | ALLOW_INF | ALLOW_ZERO, NULL, parse_size};
static const struct parser time_parser = {
    "a number of milliseconds, auto or inf",
    ALLOW_AUTO | ALLOW_INF | ALLOW_ZERO, NULL, parse_size};
static const struct parser wait_parser = {"auto, spin, yield or sleep", 0,
                                          waits, parse_choice};
static const struct parser switch_parser = {"y, n or auto", ALLOW_AUTO, NULL,
                                            parse_switch};
static const struct parser on_parser = {"on or off (y or n)", 0, NULL,
                                        parse_switch};
static const struct parser put_parser = {"auto, am or rma", 0, put_modes,
                                         parse_choice};
static const struct parser algorithm_parser = {
    "auto, direct, shift, bruck, morton, l-a2a, mpml, nmpml or onmpml", 0,
    algorithms, parse_algorithm};
static const struct parser neighbor_parser = {
    "auto, direct, colored, combining or aggregated", 0, neighbor_algorithms,
    parse_choice};
static const struct parser levels_parser = {
    "auto, or levels from the lowest up: rule:component,rule:component,...", 0,
    NULL, parse_string};
static const struct parser name_parser = {"auto, or an algorithm's name", 0,
                                          NULL, parse_string};
static const struct parser string_parser = {"any text", 0, NULL, parse_string};

#define FIELD(name) offsetof(ctn_config_t, name)

#define ROWS_OF_COLLECTIVE(NAME, name)                                         \
    {#NAME "_HIERARCHY", "auto",                                               \
     "Levels of " name "; auto: the value of CATENA_HIERARCHY.",               \
     FIELD(coll_config[CTN_COLL_##NAME].hierarchy), &levels_parser},           \
        {#NAME "_ALGORITHM", "auto",                                           \
         "Algorithm of " name                                                  \
         ", for the components of its hierarchy that have it.",                \
         FIELD(coll_config[CTN_COLL_##NAME].algorithm), &name_parser},

static const struct core_row rows[] = {
    {"LOG_LEVEL", "warn", "Messages up to this level are written to stderr.",
     FIELD(log_level), &level_parser},
    {"HEAP_SIZE", "auto",
     "Shared heap of a node, for all its ranks together. Memory is allocated\n"
     "on use. auto: half of the memory that this process may use.",
     FIELD(heap_size), &bytes_parser},
    {"HEAP_HUGE_PAGES", "auto", "Ask for huge pages in the shared heap.",
     FIELD(heap_huge), &switch_parser},
    {"HOST_RANKS", "auto",
     "Ranks that share this host's cores; set by the launcher. With more\n"
     "ranks than cores, waiting ranks yield their core early.",
     FIELD(host_ranks), &count_parser},
    {"WAIT", "auto",
     "How a rank waits. spin: it keeps its core; yield: it yields the core\n"
     "after a while, but never sleeps; sleep: it sleeps soon. auto: it spins\n"
     "if each rank has a core, then yields, and sleeps after 20 ms. SPIN and\n"
     "SLEEP, if set, take precedence.",
     FIELD(wait), &wait_parser},
    {"SPIN", "auto",
     "Polls of a waiting rank before it yields its core. inf: never.\n"
     "auto: set by WAIT.",
     FIELD(spin), &spin_parser},
    {"SLEEP", "auto",
     "Milliseconds of waiting after which a rank sleeps. inf: never. auto:\n"
     "set by WAIT.",
     FIELD(sleep_ms), &time_parser},
    {"ALLTOALL_LEADERS", "auto", "Leaders on every node for alltoall.",
     FIELD(leaders), &count_parser},
    {"ALLTOALL_ALGORITHM", "auto", "Algorithm of alltoall.", FIELD(alltoall),
     &algorithm_parser},
    {"NEIGHBOR_ALGORITHM", "auto",
     "Algorithm of neighborhoods that are created without one. auto: selected\n"
     "for each neighborhood. The same on all ranks.",
     FIELD(neighbor), &neighbor_parser},
    {"TUNING", "auto",
     "Rules that select an algorithm where none is requested. auto: the\n"
     "built-in rules; machine:NAME: the formulas of the models, with that\n"
     "machine's parameters; with a '/' or ending in .json: a file written by\n"
     "catena-bench --tune, the same for all ranks.",
     FIELD(tuning), &string_parser},
    {"TOPOLOGY", "",
     "hwloc synthetic description to use instead of the real machine, such\n"
     "as \"numa:2 core:4 pu:1\", or the path of an hwloc XML file (*.xml).\n"
     "Empty: the real machine.",
     FIELD(topology), &string_parser},
    {"NET_DEVICES", "auto",
     "Network devices of a rank. auto: RDMA devices near its NUMA domain if\n"
     "there are several devices; all; or lists as for UCX_NET_DEVICES,\n"
     "separated by '/', assigned to the ranks of a node round-robin.",
     FIELD(net_devices), &string_parser},
    {"UCX_PUT", "auto",
     "How data and their flag are sent between nodes. am: one active message;\n"
     "rma: put, fence, put. auto: rma if the network has RDMA.",
     FIELD(ucx_put), &put_parser},
    {"NETWORK", "auto",
     "Whether a job of one node also opens the network, for component ucx.\n"
     "auto: if a hierarchy in the environment names it. Jobs of several\n"
     "nodes always open it.",
     FIELD(network), &switch_parser},
    {"CHECK", "off",
     "Check all calls of neighborhoods for mismatches among neighbors, also\n"
     "where a rank sends data that its neighbor does not expect. The same on\n"
     "all ranks.",
     FIELD(check), &on_parser},
    {"HIERARCHY", "auto",
     "Levels of collectives. Rules: core, l3, numa, socket, node, network,\n"
     "user; components: shm, p2p, ucx. auto: numa:shm,node:shm,network:ucx,\n"
     "without numa if a host has more ranks than cores.",
     FIELD(hierarchy), &levels_parser},
    {"SUBGROUP", "", "Name of the subgroup of this rank for the rule \"user\".",
     FIELD(subgroup), &string_parser},
    CTN_EACH_COLLECTIVE(ROWS_OF_COLLECTIVE)};

#undef ROWS_OF_COLLECTIVE

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

#define NAME_OF_COLLECTIVE(NAME, name) name,
const char *const ctn_collective_names[] = {
    CTN_EACH_COLLECTIVE(NAME_OF_COLLECTIVE) NULL};
#undef NAME_OF_COLLECTIVE

/* -- values ---------------------------------------------------------- */

/* Shift of a unit: "", k, m, g, t, each with an optional b; -1: none. */
static int unit_shift(const char *unit)
{
    static const char letters[] = "kmgt";
    const char *at;
    int shift = 0;

    if (*unit != '\0') {
        at = strchr(letters, tolower((unsigned char)*unit));
        if (at != NULL) {
            shift = 10 * (int)(at - letters + 1);
            unit++;
        }
        if (tolower((unsigned char)*unit) == 'b')
            unit++;
    }
    return *unit == '\0' ? shift : -1;
}

bool ctn_config_bytes(const char *text, size_t *bytes)
{
    unsigned long long number;
    char *end;
    int shift;

    if (!isdigit((unsigned char)text[0])) /* strtoull takes "-1" and " 1" */
        return false;
    errno = 0;
    number = strtoull(text, &end, 10);
    shift = unit_shift(end);
    if (errno != 0 || shift < 0 || number > (SIZE_MAX >> shift))
        return false;
    number <<= shift;
    if (number >= CTN_CONFIG_INF)
        return false;
    *bytes = (size_t)number;
    return true;
}

static catena_status_t parse_size(const struct core_row *row, const char *text,
                                  void *field)
{
    unsigned flags = row->parser->flags;
    size_t *out = field;
    size_t number;

    if ((flags & ALLOW_AUTO) && strcasecmp(text, "auto") == 0) {
        *out = CTN_CONFIG_AUTO;
        return CATENA_OK;
    }
    if ((flags & ALLOW_INF) && strcasecmp(text, "inf") == 0) {
        *out = CTN_CONFIG_INF;
        return CATENA_OK;
    }
    if (!ctn_config_bytes(text, &number) ||
        (number == 0 && !(flags & ALLOW_ZERO)))
        return CATENA_ERR_ARG;
    *out = number;
    return CATENA_OK;
}

static int find_word(const char *const *words, const char *text)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcasecmp(words[i], text) == 0)
            return i;
    return -1;
}

static catena_status_t parse_switch(const struct core_row *row,
                                    const char *text, void *field)
{
    static const char *const yes[] = {"y", "yes", "1", "on", "true", NULL};
    static const char *const no[] = {"n", "no", "0", "off", "false", NULL};
    size_t *out = field;

    if (find_word(yes, text) >= 0)
        *out = 1;
    else if (find_word(no, text) >= 0)
        *out = 0;
    else if ((row->parser->flags & ALLOW_AUTO) && strcasecmp(text, "auto") == 0)
        *out = CTN_CONFIG_AUTO;
    else
        return CATENA_ERR_ARG;
    return CATENA_OK;
}

static catena_status_t parse_choice(const struct core_row *row,
                                    const char *text, void *field)
{
    int found = find_word(row->parser->choices, text);
    unsigned value = (unsigned)found;

    if (found < 0)
        return CATENA_ERR_ARG;
    memcpy(field, &value, sizeof(value));
    return CATENA_OK;
}

static catena_status_t parse_string(const struct core_row *row,
                                    const char *text, void *field)
{
    char **out = field;
    char *copy = strdup(text);

    (void)row;
    if (copy == NULL)
        return CATENA_ERR_NO_MEMORY;
    free(*out);
    *out = copy;
    return CATENA_OK;
}

/* Stored in the spelling of the list, so strcmp suffices later. */
static catena_status_t parse_algorithm(const struct core_row *row,
                                       const char *text, void *field)
{
    int found = find_word(row->parser->choices, text);

    if (found < 0)
        return CATENA_ERR_ARG;
    return parse_string(row, row->parser->choices[found], field);
}

static catena_status_t set_row(ctn_config_t *config, const struct core_row *row,
                               const char *text, const char *where,
                               const ctn_log_t *log)
{
    catena_status_t status;

    status = row->parser->parse(row, text, (char *)config + row->offset);
    if (status == CATENA_ERR_ARG)
        ctn_error(log, "%s%s: expected %s, found \"%s\"", where, row->name,
                  row->parser->expected, text);
    else if (status != CATENA_OK)
        ctn_error(log, "%s%s: %s", where, row->name,
                  catena_status_string(status));
    return status;
}

/* -- names ----------------------------------------------------------- */

static const struct core_row *find_row(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == length &&
            memcmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

static const struct core_row *nearest_row(const char *name, size_t length)
{
    const struct core_row *nearest = &rows[0];
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < ROWS; i++) {
        size_t distance = ctn_name_distance(name, length, rows[i].name);

        if (distance < least) {
            least = distance;
            nearest = &rows[i];
        }
    }
    return nearest;
}

size_t ctn_config_warn_unknown(const ctn_log_t *log)
{
    const size_t prefix = strlen(PREFIX);
    size_t unknown = 0;

    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const char *name = *entry + prefix;
        size_t length;

        if (strncmp(*entry, PREFIX, prefix) != 0)
            continue;
        length = strcspn(name, "=");
        if (find_row(name, length) != NULL)
            continue;
        unknown++;
        ctn_warn(log,
                 PREFIX
                 "%.*s is not a setting of catena and has no effect; the "
                 "nearest name is " PREFIX "%s (catena-info -c lists all)",
                 (int)length, name, nearest_row(name, length)->name);
    }
    return unknown;
}

/* -- reading --------------------------------------------------------- */

static catena_status_t read_environment(ctn_config_t *config,
                                        const ctn_log_t *log)
{
    char name[sizeof(PREFIX) + CTN_NAME_BYTES];
    catena_status_t status = CATENA_OK;

    for (size_t i = 0; i < ROWS && status == CATENA_OK; i++) {
        const char *text;

        snprintf(name, sizeof(name), PREFIX "%s", rows[i].name);
        text = getenv(name);
        if (text != NULL)
            status = set_row(config, &rows[i], text, PREFIX, log);
    }
    return status;
}

static catena_status_t read_setting(ctn_config_t *config, const char *setting,
                                    const ctn_log_t *log)
{
    size_t length = strcspn(setting, "=");
    const struct core_row *row;

    if (setting[length] != '=') {
        ctn_error(log, "setting \"%s\": expected NAME=VALUE", setting);
        return CATENA_ERR_ARG;
    }
    row = find_row(setting, length);
    if (row == NULL) {
        ctn_error(log, "setting \"%s\": no such name, the nearest is %s",
                  setting, nearest_row(setting, length)->name);
        return CATENA_ERR_ARG;
    }
    return set_row(config, row, setting + length + 1, "setting ", log);
}

static catena_status_t read_defaults(ctn_config_t *config, const ctn_log_t *log)
{
    catena_status_t status = CATENA_OK;

    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < ROWS && status == CATENA_OK; i++)
        status = set_row(config, &rows[i], rows[i].initial, "default ", log);
    return status;
}

catena_status_t ctn_config_read(ctn_config_t *config,
                                const catena_config_t *settings,
                                const ctn_log_t *log)
{
    ctn_config_t read;
    catena_status_t status;

    status = read_defaults(&read, log);
    if (status == CATENA_OK)
        status = read_environment(&read, log);
    if (settings != NULL && settings->settings != NULL)
        for (size_t i = 0; settings->settings[i] != NULL && status == CATENA_OK;
             i++)
            status = read_setting(&read, settings->settings[i], log);
    if (status != CATENA_OK) {
        ctn_config_release(&read);
        return status;
    }
    *config = read;
    return CATENA_OK;
}

void ctn_config_release(ctn_config_t *config)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].parser->parse == parse_string ||
            rows[i].parser->parse == parse_algorithm) {
            char **text = (void *)((char *)config + rows[i].offset);

            free(*text);
            *text = NULL;
        }
}

/* -- listing --------------------------------------------------------- */

static void print_help(FILE *stream, const struct core_row *row)
{
    const char *line = row->help;

    fputs("#\n", stream);
    while (*line != '\0') {
        size_t length = strcspn(line, "\n");

        fprintf(stream, "# %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    fprintf(stream, "#\n# expects: %s\n# default: %s\n#\n",
            row->parser->expected,
            row->initial[0] != '\0' ? row->initial : "(empty)");
}

catena_status_t catena_config_print(FILE *stream, int help)
{
    ctn_config_t checked;
    catena_status_t status;

    if (stream == NULL)
        return CATENA_ERR_ARG;
    /* Print the values only if catena_init would accept them. */
    status = ctn_config_read(&checked, NULL, NULL);
    if (status != CATENA_OK)
        return status;
    ctn_config_release(&checked);

    for (size_t i = 0; i < ROWS; i++) {
        char name[sizeof(PREFIX) + CTN_NAME_BYTES];
        const char *text;

        snprintf(name, sizeof(name), PREFIX "%s", rows[i].name);
        text = getenv(name);
        if (help)
            print_help(stream, &rows[i]);
        fprintf(stream, "%s=%s\n%s", name,
                text != NULL ? text : rows[i].initial, help ? "\n" : "");
    }
    return ferror(stream) ? CATENA_ERR_SYSTEM : CATENA_OK;
}
