/* Control groups of Linux. */

#include "core/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/** The arguments of ctn_cgroup_each. */
typedef struct cgroup_walk {
    const char *root;
    const char *controller;
    void (*visit)(const char *directory, int version, void *argument);
    void *argument;
} cgroup_walk_t;

/** Whether a list, separated by commas, contains a name. */
static bool contains(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 &&
            (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/** Visit the directory of `group`, and those of its ancestors up to the root of
 * its tree.
 * @param mount of the tree, below /sys/fs/cgroup
 * @param group path of the control group in the tree */
static void visit_ancestors(const cgroup_walk_t *walk, int version,
                            const char *mount, const char *group)
{
    char path[PATH_BYTES];
    size_t length = strlen(group);
    for (;;) {
        while (length > 0 && group[length - 1] == '/') {
            length--;
        }
        int n = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%.*s",
                         walk->root, mount, (int)length, group);
        if (n > 0 && (size_t)n < sizeof(path)) {
            walk->visit(path, version, walk->argument);
        }
        if (length == 0) {
            return;
        }
        while (length > 0 && group[length - 1] != '/') {
            length--;
        }
    }
}

/** Visit the control group that a line of /proc/self/cgroup names, if it has
 * the controller. The line is "ID:CONTROLLERS:PATH"; in version 2 the list of
 * controllers is empty. */
static void visit_line(const cgroup_walk_t *walk, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *list = strchr(line, ':');
    char *path = list != NULL ? strchr(list + 1, ':') : NULL;
    if (path == NULL) {
        return;
    }
    *list++ = '\0';
    *path++ = '\0';
    if (*list == '\0') {
        visit_ancestors(walk, 2, "", path);
    } else if (contains(list, walk->controller)) {
        char mount[64];
        snprintf(mount, sizeof(mount), "/%s", walk->controller);
        visit_ancestors(walk, 1, mount, path);
    }
}

void ctn_cgroup_each(const char *root, const char *controller,
                     void (*visit)(const char *directory, int version,
                                   void *argument),
                     void *argument)
{
    cgroup_walk_t walk = {root, controller, visit, argument};
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen(path, "re");
    while (file != NULL && getline(&line, &capacity, file) > 0) {
        visit_line(&walk, line);
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
}

char *ctn_cgroup_line(const char *directory, const char *file)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/%s", directory, file);
    FILE *stream = n > 0 && (size_t)n < sizeof(path) ? fopen(path, "re") : NULL;
    if (stream == NULL) {
        return NULL;
    }
    char *line = NULL;
    size_t capacity = 0;
    if (getline(&line, &capacity, stream) < 0) {
        free(line);
        line = NULL;
    }
    fclose(stream);
    return line;
}
