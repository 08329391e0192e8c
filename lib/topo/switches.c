/* Reads which switch a node is at, from a file of the format of Slurm's
 * topology.conf (https://slurm.schedmd.com/topology.conf.html). */

#include "topo/switches.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 256, MOST_DIGITS = 9 };

/* ---- host lists ---- */

/** The length of the first entry of a list: up to a comma outside of brackets.
 */
static size_t entry_length(const char *list)
{
    size_t length = 0;
    for (bool inside = false;
         list[length] != '\0' && (inside || list[length] != ','); length++) {
        inside = list[length] == '[' || (inside && list[length] != ']');
    }
    return length;
}

static size_t digits_in(const char *text)
{
    return strspn(text, "0123456789");
}

/** Whether a number of `digits` digits is in a range "007-12" or "3". A range
 * with leading zeros has numbers of its width, others none with leading zeros.
 */
static bool range_has(const char *range, const char *number, size_t digits)
{
    size_t width = digits_in(range);
    unsigned long low = strtoul(range, NULL, 10);
    unsigned long high =
        range[width] == '-' ? strtoul(range + width + 1, NULL, 10) : low;
    char text[MOST_DIGITS + 1];
    snprintf(text, sizeof(text), "%.*s", (int)digits, number);
    unsigned long value = strtoul(text, NULL, 10);
    bool padded = width > 1 && range[0] == '0';
    return low <= value && value <= high &&
           (padded && digits <= width ? digits == width
                                      : digits == 1 || number[0] != '0');
}

/** Whether a number is in the ranges up to a ']'. */
static bool ranges_have(const char *ranges, const char *number, size_t digits)
{
    while (!range_has(ranges, number, digits)) {
        ranges += strcspn(ranges, ",]");
        if (*ranges++ == ']') {
            return false;
        }
    }
    return true;
}

/** Whether an entry, such as "rack[1-2]n[01-16]", matches a name. */
static bool matches(const char *entry, size_t length, const char *name)
{
    while (length > 0 && *entry != '[') {
        if (*entry != *name) {
            return false;
        }
        entry++, name++, length--;
    }
    if (length == 0) {
        return *name == '\0';
    }
    size_t bracket = strcspn(entry, "]") + 1;
    size_t digits = digits_in(name);
    for (size_t d = 1; d <= digits && d <= MOST_DIGITS; d++) {
        if (ranges_have(entry + 1, name, d) &&
            matches(entry + bracket, length - bracket, name + d)) {
            return true;
        }
    }
    return false;
}

bool ctn_hostlist_has(const char *list, const char *name)
{
    for (;;) {
        size_t length = entry_length(list);
        if (matches(list, length, name)) {
            return true;
        }
        if (list[length] == '\0') {
            return false;
        }
        list += length + 1;
    }
}

/** What is wrong with the ranges that follow a '['; NULL: nothing.
 * @param[out] length up to the ']' */
static const char *check_ranges(const char *ranges, size_t *length)
{
    const char *at = ranges;
    for (;;) {
        size_t width = digits_in(at);
        unsigned long low = strtoul(at, NULL, 10);
        if (width == 0 || width > MOST_DIGITS) {
            return "expected a number of up to 9 digits in brackets";
        }
        at += width;
        if (*at == '-') {
            width = digits_in(++at);
            if (width == 0 || width > MOST_DIGITS ||
                strtoul(at, NULL, 10) < low) {
                return "expected a range FIRST-LAST that ascends";
            }
            at += width;
        }
        if (*at == ']') {
            *length = (size_t)(at - ranges);
            return NULL;
        }
        if (*at++ != ',') {
            return "expected ',' or ']' after a number in brackets";
        }
    }
}

/** What is wrong with a host list; NULL: nothing. */
static const char *check_list(const char *list)
{
    bool empty = true; /* the current entry */
    for (const char *at = list; *at != '\0'; at++) {
        if (*at == ',' && empty) {
            return "a name in a list is empty";
        }
        if (*at == ']') {
            return "']' without '['";
        }
        empty = *at == ',';
        if (*at == '[') {
            size_t length;
            const char *wrong = check_ranges(at + 1, &length);
            if (wrong != NULL) {
                return wrong;
            }
            at += length + 1;
        }
    }
    return empty ? "a name in a list is empty" : NULL;
}

/* ---- the file ---- */

/** The state of reading. */
typedef struct reading {
    const ctn_log_t *log;
    const char *path;
    const char *node;
    unsigned line;
    char name[NAME_BYTES]; /* of the node's switch; empty: not found yet */
    unsigned found;        /* line that has it */
} reading_t;

static catena_status_t refuse(const reading_t *reading, const char *wrong,
                              const char *text)
{
    ctn_error(reading->log,
              "%s:%u: %s: '%s'; expected SwitchName=NAME Nodes=HOSTLIST or "
              "SwitchName=NAME Switches=LIST",
              reading->path, reading->line, wrong, text);
    return CATENA_ERR_ARG;
}

/** A line of the file: its values. */
typedef struct switch_line {
    char *switch_name;
    char *nodes;
    char *switches;
    char *speed; /* not used */
} switch_line_t;

/** Read one KEY=VALUE. */
static catena_status_t read_pair(const reading_t *reading, char *pair,
                                 switch_line_t *entry)
{
    static const struct {
        const char *key;
        size_t offset;
    } keys[] = {{"SwitchName", offsetof(switch_line_t, switch_name)},
                {"Nodes", offsetof(switch_line_t, nodes)},
                {"Switches", offsetof(switch_line_t, switches)},
                {"LinkSpeed", offsetof(switch_line_t, speed)}};
    char *value = strchr(pair, '=');
    if (value == NULL) {
        return refuse(reading, "a word without '='", pair);
    }
    size_t length = (size_t)(value++ - pair);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char **to = (char **)(void *)((char *)entry + keys[i].offset);
        if (strlen(keys[i].key) == length &&
            strncasecmp(keys[i].key, pair, length) == 0) {
            if (*to != NULL || *value == '\0') {
                return refuse(reading,
                              *to != NULL ? "a key appears twice"
                                          : "a key has no value",
                              pair);
            }
            *to = value;
            return CATENA_OK;
        }
    }
    return refuse(reading, "an unknown key", pair);
}

/** The node is at the switch of this line. */
static catena_status_t keep(reading_t *reading, const char *name)
{
    if (reading->found != 0) {
        ctn_error(reading->log,
                  "%s:%u: node %s is at switch %s, and at %s by line %u; "
                  "expected one leaf switch for each node",
                  reading->path, reading->line, reading->node, name,
                  reading->name, reading->found);
        return CATENA_ERR_ARG;
    }
    snprintf(reading->name, sizeof(reading->name), "%s", name);
    reading->found = reading->line;
    return CATENA_OK;
}

/** Whether a host list has the node, with its domain or without. */
static bool has_node(const reading_t *reading, const char *list)
{
    char host[NAME_BYTES];
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(reading->node, "."),
             reading->node);
    return ctn_hostlist_has(list, reading->node) ||
           ctn_hostlist_has(list, host);
}

/** Read a line without its comment. */
static catena_status_t read_line(reading_t *reading, char *line)
{
    switch_line_t entry = {NULL, NULL, NULL, NULL};
    catena_status_t status = CATENA_OK;
    char *rest;
    bool any = false;
    for (char *pair = strtok_r(line, " \t\r\n", &rest);
         pair != NULL && status == CATENA_OK;
         pair = strtok_r(NULL, " \t\r\n", &rest)) {
        any = true;
        status = read_pair(reading, pair, &entry);
    }
    if (!any || status != CATENA_OK) {
        return status;
    }
    const char *list = entry.nodes != NULL ? entry.nodes : entry.switches;
    if (entry.switch_name == NULL || list == NULL ||
        (entry.nodes != NULL && entry.switches != NULL)) {
        return refuse(reading,
                      entry.switch_name == NULL ? "no SwitchName"
                      : list == NULL            ? "no Nodes and no Switches"
                                                : "Nodes and Switches",
                      entry.switch_name != NULL ? entry.switch_name
                      : list != NULL            ? list
                                                : "");
    }
    if (strlen(entry.switch_name) >= NAME_BYTES) {
        return refuse(reading, "a name of 256 bytes or more",
                      entry.switch_name);
    }
    const char *wrong = check_list(list);
    if (wrong != NULL) {
        return refuse(reading, wrong, list);
    }
    return entry.nodes != NULL && has_node(reading, list)
               ? keep(reading, entry.switch_name)
               : CATENA_OK;
}

/** Read all lines. */
static catena_status_t read_file(reading_t *reading, FILE *file)
{
    char *line = NULL;
    size_t bytes = 0;
    catena_status_t status = CATENA_OK;
    while (status == CATENA_OK && getline(&line, &bytes, file) >= 0) {
        reading->line++;
        line[strcspn(line, "#")] = '\0';
        status = read_line(reading, line);
    }
    free(line);
    return status;
}

/** Open a file, but no pipe or device, which might not end.
 * @return NULL, with errno 0 if it is no regular file */
static FILE *open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat found;
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode)) {
        return fdopen(fd, "r");
    }
    close(fd);
    errno = 0;
    return NULL;
}

catena_status_t ctn_switch_of(const ctn_log_t *log, const char *path,
                              const char *node, char *name, size_t bytes)
{
    reading_t reading = {.log = log, .path = path, .node = node};
    FILE *file = open_regular(path);
    if (file == NULL) {
        ctn_error(log, "CATENA_SWITCHES is '%s', which cannot be opened: %s",
                  path, errno != 0 ? strerror(errno) : "it is no regular file");
        return CATENA_ERR_ARG;
    }
    catena_status_t status = read_file(&reading, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) {
        ctn_error(log, "CATENA_SWITCHES is '%s', which cannot be read", path);
        return CATENA_ERR_ARG;
    }
    if (status == CATENA_OK && reading.found == 0) {
        ctn_error(
            log,
            "%s: node %s is at no switch; expected a line SwitchName=NAME "
            "Nodes=HOSTLIST with it",
            path, node);
        status = CATENA_ERR_ARG;
    }
    if (status == CATENA_OK) {
        snprintf(name, bytes, "%s", reading.name);
    }
    return status;
}
