/* Levels of hierarchies as text. */

#include "coll/hierarchy/levels.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/suggest.h"

enum {
    LIST_BYTES = 256
}; /* of a list of names, or another part of a message */

/** What messages about a text say. */
typedef struct hierarchy_reading {
    const ctn_log_t *log;
    const char *what; /* name of the setting */
    const char *text; /* all of it */
} hierarchy_reading_t;

/** Refuse the text: log the reason, which the caller has composed. */
static catena_status_t refuse(const hierarchy_reading_t *reading,
                              const char *reason)
{
    ctn_error(reading->log, "%s is '%s': %s", reading->what, reading->text,
              reason);
    return CATENA_ERR_ARG;
}

/* Names by index; NULL: there are no more. */

static const char *rule_name(size_t i)
{
    return ctn_sbgp_rules[i] != NULL ? ctn_sbgp_rules[i]->name : NULL;
}

static const char *component_name(size_t i)
{
    return ctn_bcols[i] != NULL ? ctn_bcols[i]->name : NULL;
}

/** Index of the name that equals the first `length` characters of `typed`; -1:
 * there is none.
 * @param name returns the name with an index */
static int find(const char *(*name)(size_t i), const char *typed, size_t length)
{
    for (int i = 0; name((size_t)i) != NULL; i++) {
        const char *known = name((size_t)i);
        if (strlen(known) == length && strncasecmp(known, typed, length) == 0) {
            return i;
        }
    }
    return -1;
}

/** Refuse a name that is not among the names of this kind. */
static catena_status_t unknown(const hierarchy_reading_t *reading,
                               const char *kind, const char *(*name)(size_t i),
                               const char *typed, size_t length)
{
    char list[LIST_BYTES] = "";
    char reason[2 * LIST_BYTES];
    ctn_nearest_t nearest = {typed, length, SIZE_MAX, "none"};
    for (size_t i = 0; name(i) != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", i > 0 ? ", " : "",
                 name(i));
        ctn_nearest_try(&nearest, name(i));
    }
    snprintf(reason, sizeof(reason),
             "no %s is called '%.*s'; nearest %s; expected one of %s", kind,
             (int)(length < CTN_NAME_BYTES ? length : CTN_NAME_BYTES), typed,
             nearest.name, list);
    return refuse(reading, reason);
}

/** Check that the next level, of rule number `rule`, may join more ranks than
 * the levels below it. */
static catena_status_t check_order(const hierarchy_reading_t *reading,
                                   const ctn_hierarchy_levels_t *levels,
                                   int rule)
{
    char reason[LIST_BYTES];
    const ctn_sbgp_rule_t *next = ctn_sbgp_rules[rule];
    for (unsigned i = 0; i < levels->count; i++) {
        const ctn_sbgp_rule_t *below = levels->level[i].rule;
        int place = find(rule_name, below->name, strlen(below->name));
        if (place == rule) {
            snprintf(reason, sizeof(reason),
                     "rule %s appears twice; expected once", next->name);
            return refuse(reading, reason);
        }
        if (below == &ctn_sbgp_network ||
            (place > rule && below != &ctn_sbgp_user)) {
            snprintf(
                reason, sizeof(reason),
                "%s above %s joins no more ranks; expected, from the lowest "
                "level up, core, l3, numa, socket, node, switch, network",
                next->name, below->name);
            return refuse(reading, reason);
        }
    }
    return CATENA_OK;
}

/** Parse the first `length` characters of `text`, "rule:component", and append
 * the level. */
static catena_status_t read_level(const hierarchy_reading_t *reading,
                                  const char *text, size_t length,
                                  ctn_hierarchy_levels_t *levels)
{
    char reason[LIST_BYTES];
    const char *colon = memchr(text, ':', length);
    if (length == 0) {
        return refuse(reading, "a level is empty; expected "
                               "rule:component,rule:component,...");
    }
    size_t rule_length = colon != NULL ? (size_t)(colon - text) : length;
    if (colon == NULL || rule_length == 0 || rule_length + 1 == length) {
        snprintf(reason, sizeof(reason),
                 "level '%.*s' lacks a %s; expected rule:component",
                 (int)(length < CTN_NAME_BYTES ? length : CTN_NAME_BYTES), text,
                 rule_length == 0 ? "rule" : "component");
        return refuse(reading, reason);
    }
    const char *component = colon + 1;
    size_t component_length = length - rule_length - 1;
    int rule = find(rule_name, text, rule_length);
    if (rule < 0) {
        return unknown(reading, "rule", rule_name, text, rule_length);
    }
    int bcol = find(component_name, component, component_length);
    if (bcol < 0) {
        return unknown(reading, "component", component_name, component,
                       component_length);
    }
    catena_status_t status = check_order(reading, levels, rule);
    if (status == CATENA_OK) {
        levels->level[levels->count].rule = ctn_sbgp_rules[rule];
        levels->level[levels->count].bcol = ctn_bcols[bcol];
        levels->count++;
    }
    return status;
}

catena_status_t ctn_hierarchy_levels_read(const ctn_log_t *log,
                                          const char *what, const char *text,
                                          ctn_hierarchy_levels_t *levels)
{
    hierarchy_reading_t reading = {log, what, text};
    catena_status_t status = CATENA_OK;
    memset(levels, 0, sizeof(*levels));
    for (const char *at = text; status == CATENA_OK; at++) {
        size_t length = strcspn(at, ",");
        if (levels->count == CTN_MOST_LEVELS) {
            char reason[LIST_BYTES];
            snprintf(reason, sizeof(reason),
                     "too many levels; expected %u at most", CTN_MOST_LEVELS);
            return refuse(&reading, reason);
        }
        status = read_level(&reading, at, length, levels);
        at += length;
        if (*at == '\0') {
            break;
        }
    }
    return status;
}

void ctn_hierarchy_levels_write(const ctn_hierarchy_levels_t *levels,
                                char text[CTN_HIERARCHY_LEVELS_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < levels->count; i++) {
        int n =
            snprintf(text + used, CTN_HIERARCHY_LEVELS_BYTES - used, "%s%s:%s",
                     i > 0 ? "," : "", levels->level[i].rule->name,
                     levels->level[i].bcol->name);
        used += n > 0 ? (size_t)n : 0;
        assert(used < CTN_HIERARCHY_LEVELS_BYTES); /* names are short */
    }
}
