/* What groups cost on this machine, as lines "what,groups,ranks,value".
 * Run by prun:
 *   groups alive N    N duplicates of the world at once
 *   groups used N     the same, each used for a barrier, an allreduce and an
 *                     alltoall of 8 bytes
 *   groups first N    the time of the first allreduce of N duplicates, and of N
 *                     groups that a split makes of all ranks
 *   groups free N     the time to free a duplicate while N are alive
 * Times are those of the slowest rank, medians of the groups; memory is that of
 * a rank and group. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <catena/catena.h>

static catena_group_t *world;

static void check(catena_status_t status, const char *what)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "groups: %s: %s\n", what, catena_last_error());
        exit(1);
    }
}

static double now_us(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/** A number of KiB in a file of /proc/self. */
static double kib(const char *file, const char *name)
{
    char line[256];
    double value = 0;
    FILE *stream = fopen(file, "r");
    while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = strtod(line + strlen(name), NULL);
        }
    }
    if (stream != NULL) {
        (void)fclose(stream);
    }
    return value;
}

/** This process's share of the memory it uses: pages that several processes map
 * count in part. */
static double share_kib(void)
{
    return kib("/proc/self/smaps_rollup", "Pss:");
}

static double page_tables_kib(void)
{
    return kib("/proc/self/status", "VmPTE:");
}

/** The mean of all ranks. */
static double mean(double value)
{
    double sum = 0;
    check(catena_allreduce(&value, &sum, 1, CATENA_DOUBLE, CATENA_SUM, world),
          "allreduce");
    return sum / catena_group_size(world);
}

static double slowest(double value)
{
    double most = 0;
    check(catena_allreduce(&value, &most, 1, CATENA_DOUBLE, CATENA_MAX, world),
          "allreduce");
    return most;
}

static void print(const char *what, const char *unit, int groups, double value)
{
    if (catena_group_rank(world) == 0) {
        printf("%s %s,%d,%d,%.2f\n", what, unit, groups,
               catena_group_size(world), value);
        fflush(stdout);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), by_value);
    return values[count / 2];
}

static void use(catena_group_t *group)
{
    static int64_t to[4096];
    static int64_t from[4096];
    int64_t one = 1;
    int64_t sum = 0;
    check(catena_barrier(group), "barrier");
    check(catena_allreduce(&one, &sum, 1, CATENA_INT64, CATENA_SUM, group),
          "allreduce");
    if (sum != catena_group_size(group)) {
        fprintf(stderr, "groups: a wrong sum\n");
        exit(1);
    }
    check(catena_alltoall(to, 1, CATENA_INT64, from, 1, CATENA_INT64, group),
          "alltoall");
}

static void memory(int count, catena_group_t **groups, bool used)
{
    const char *what = used ? "used" : "alive";
    double share = share_kib();
    double tables = page_tables_kib();
    for (int i = 0; i < count; i++) {
        check(catena_group_dup(world, &groups[i]), "dup");
        if (used) {
            use(groups[i]);
        }
    }
    check(catena_barrier(world), "barrier");
    share = mean(share_kib() - share) / count;
    tables = mean(page_tables_kib() - tables) / count;
    print(what, "KiB", count, share);
    print(what, "KiB of page tables", count, tables);
    for (int i = 0; i < count; i++) {
        check(catena_group_free(&groups[i]), "free");
    }
}

/** The first allreduce of a group, and a later one. */
static void first(int count, catena_group_t **groups, double *us, bool split)
{
    double *later = calloc((size_t)count, sizeof(*later));
    int rank = catena_group_rank(world);
    for (int i = 0; later != NULL && i < count; i++) {
        int64_t one = 1;
        int64_t sum = 0;
        if (split) {
            check(catena_group_split(world, 0, rank, &groups[i]), "split");
        } else {
            check(catena_group_dup(world, &groups[i]), "dup");
        }
        for (int call = 0; call < 2; call++) {
            check(catena_barrier(world), "barrier");
            double start = now_us();
            check(catena_allreduce(&one, &sum, 1, CATENA_INT64, CATENA_SUM,
                                   groups[i]),
                  "allreduce");
            double took = slowest(now_us() - start);
            *(call == 0 ? &us[i] : &later[i]) = took;
        }
    }
    print(split ? "first allreduce after split" : "first allreduce after dup",
          "us", count, median(us, count));
    print(split ? "second allreduce after split" : "second allreduce after dup",
          "us", count, median(later, count));
    for (int i = 0; i < count; i++) {
        check(catena_group_free(&groups[i]), "free");
    }
    free(later);
}

/** Free what was used, or not. */
static void frees(int count, catena_group_t **groups, double *us, bool used)
{
    for (int i = 0; i < count; i++) {
        check(catena_group_dup(world, &groups[i]), "dup");
        if (used) {
            use(groups[i]);
        }
    }
    enum { FREED = 300 };
    for (int i = 0; i < FREED && i < count; i++) {
        check(catena_barrier(world), "barrier");
        double start = now_us();
        check(catena_group_free(&groups[i]), "free");
        us[i] = slowest(now_us() - start);
    }
    int freed = count < FREED ? count : FREED;
    print(used ? "free of a used group" : "free", "us", count,
          median(us, freed));
    for (int i = freed; i < count; i++) {
        check(catena_group_free(&groups[i]), "free");
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 0;
    catena_context_t *context;
    catena_group_t **groups = calloc((size_t)count, sizeof(catena_group_t *));
    double *us = calloc((size_t)count, sizeof(*us));
    if (count < 1 || groups == NULL || us == NULL) {
        fprintf(stderr, "usage: groups alive|used|first|free N\n");
        return 2;
    }
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    world = catena_world(context);
    if (strcmp(what, "first") == 0) {
        first(count, groups, us, false);
        first(count, groups, us, true);
    } else if (strcmp(what, "free") == 0) {
        frees(count, groups, us, false);
        frees(count, groups, us, true);
    } else {
        memory(count, groups, strcmp(what, "used") == 0);
    }
    check(catena_finalize(&context), "finalize");
    free(groups);
    free(us);
    return 0;
}
