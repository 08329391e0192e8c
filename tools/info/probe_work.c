/* What the ranks of probes do. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

/* The collectives whose algorithm is a setting. */
static const char *const collectives[] = {
#define CTN_CALL(NAME, name, send, recv, traits) #name,
#include "core/calls.def"
    "alltoall"};
enum { COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]) };

catena_status_t probe_say_network(catena_context_t *context, int to)
{
    catena_place_t place = {.size = sizeof(place)};
    catena_status_t status = catena_get_place(context, &place);
    if (status == CATENA_OK) {
        probe_say(to, PROBE_NETWORK, "%s", place.network);
    }
    return status;
}

/** Copy a text of help, whose lines begin with "# ", up to an empty line or the
 * default, without a last period. */
static void join_lines(const char *help, char *text, size_t bytes)
{
    size_t used = 0;
    for (; *help != '\0' && used + 1 < bytes; help++) {
        if (*help != '\n') {
            text[used++] = *help;
        } else if (help[1] == '#' && help[2] == ' ' &&
                   strncmp(help + 3, "default: ", 9) != 0) {
            text[used++] = ' ';
            help += 2;
        } else {
            break;
        }
    }
    used -= used > 0 && text[used - 1] == '.';
    text[used] = '\0';
}

/** Report a part of the help of a setting, from the last `from` in it on. */
static void say_help(int to, char *help, const char *name, const char *from,
                     int kind, const char *before)
{
    char text[512];
    char *setting = strstr(help, name);
    if (setting == NULL) {
        return;
    }
    char kept = *setting;
    *setting = '\0';
    const char *found = NULL;
    for (const char *at = help; (at = strstr(at, from)) != NULL; at++) {
        found = at + strlen(from);
    }
    if (found != NULL) {
        join_lines(found, text, sizeof(text));
        probe_say(to, kind, "%s%s", before, text);
    }
    *setting = kept;
}

/** The help of settings has what no function returns. */
static void describe_settings(int to)
{
    char *help = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&help, &bytes);
    if (stream == NULL) {
        return;
    }
    catena_status_t status = catena_config_print(stream, 1);
    fclose(stream);
    if (status == CATENA_OK) {
        say_help(to, help,
                 "\nCATENA_NEIGHBOR_ALGORITHM=", "# expects: ", PROBE_ALGORITHM,
                 "neighborhoods ");
        say_help(to, help, "\nCATENA_HIERARCHY=", " auto: ", PROBE_HIERARCHY,
                 "");
        say_help(to, help,
                 "\nCATENA_HIERARCHY=", " components: ", PROBE_COMPONENTS, "");
    }
    free(help);
}

/** The library lists the algorithms of a collective when it refuses one. */
static void say_algorithms(int to, const char *collective)
{
    static const char expected[] = "; expected ";
    const char *names = strstr(catena_last_error(), expected);
    if (names != NULL) {
        names += strlen(expected);
        names += strncmp(names, "one of ", 7) == 0 ? 7 : 0;
        probe_say(to, PROBE_ALGORITHM, "%s %s", collective, names);
    }
}

catena_status_t probe_describe(catena_context_t *context, int to)
{
    const catena_split_t split = {.size = sizeof(split), .algorithm = "?"};
    catena_group_t *none = NULL;
    for (size_t i = 0; i < COLLECTIVES; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s_algorithm", collectives[i]);
        (void)catena_group_set(catena_world(context), name, "?");
        say_algorithms(to, collectives[i]);
    }
    (void)catena_group_split_by(catena_world(context), &split, &none);
    say_algorithms(to, "split");
    describe_settings(to);
    return probe_say_network(context, to);
}

catena_status_t probe_alltoall(catena_context_t *context, int to)
{
    enum { COUNT = 512, RANKS = 2 };
    int64_t send[RANKS][COUNT];
    int64_t recv[RANKS][COUNT];
    catena_place_t place = {.size = sizeof(place)};
    catena_status_t status = catena_get_place(context, &place);
    if (status != CATENA_OK) {
        return status;
    }
    for (int peer = 0; peer < RANKS; peer++) {
        for (int i = 0; i < COUNT; i++) {
            send[peer][i] = (place.rank * RANKS + peer) * COUNT + i;
            recv[peer][i] = -1;
        }
    }
    status = catena_alltoall(send, COUNT, CATENA_INT64, recv, COUNT,
                             CATENA_INT64, catena_world(context));
    for (int peer = 0; status == CATENA_OK && peer < RANKS; peer++) {
        for (int i = 0; i < COUNT; i++) {
            int64_t wanted = (peer * RANKS + place.rank) * COUNT + i;
            if (recv[peer][i] != wanted) {
                probe_say(to, PROBE_BAD,
                          "rank %d: element %d of rank %d is %lld; expected "
                          "%lld",
                          place.rank, i, peer, (long long)recv[peer][i],
                          (long long)wanted);
                return CATENA_OK;
            }
        }
    }
    return status == CATENA_OK ? probe_say_network(context, to) : status;
}
