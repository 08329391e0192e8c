/* Reads explanations of the library: which algorithm ran on which level. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune.h"

size_t tune_levels(const char *explanation, struct tune_level *levels)
{
    static const char key[] = "levels=\"";
    const char *at = strstr(explanation, key);
    size_t count = 0;
    char component[16];
    int used = 0;

    levels[0] = (struct tune_level){.name = ""};
    if (at == NULL)
        return 1;
    at += sizeof(key) - 1;
    while (count < TUNE_MOST_LEVELS &&
           sscanf(at, " %15[a-z0-9]:%15[a-z0-9](%d)%n", levels[count].name,
                  component, &levels[count].ranks, &used) == 3) {
        levels[count++].shm = strcmp(component, "shm") == 0;
        at += used;
    }
    return count;
}

/* Copy the word at `from`. */
static void copy_word(const char *from, char *name)
{
    snprintf(name, TUNE_NAME_BYTES, "%.*s", (int)strcspn(from, " (\""), from);
}

/* The text behind "LIST on LEVEL: ", which begins a word; NULL: not there. */
static const char *find_basic(const char *explanation, const char *list,
                              const struct tune_level *level)
{
    char wanted[64];
    const char *at = explanation;
    int length =
        snprintf(wanted, sizeof(wanted), "%s on %s: ", list, level->name);

    while ((at = strstr(at, wanted)) != NULL) {
        if (at > explanation && strchr(" \"", at[-1]) != NULL)
            return at + length;
        at += length;
    }
    return NULL;
}

bool tune_ran(const char *explanation, const char *list,
              const struct tune_level *level, char *name)
{
    static const char key[] = "algorithm=";
    const char *at = NULL;

    if (level->name[0] != '\0')
        at = find_basic(explanation, list, level);
    else if (strncmp(explanation, key, sizeof(key) - 1) == 0)
        at = explanation + sizeof(key) - 1;
    if (at == NULL && strcmp(list, "scan") == 0) /* has the rules of exscan */
        at = find_basic(explanation, "exscan", level);
    if (at != NULL)
        copy_word(at, name);
    return at != NULL;
}
