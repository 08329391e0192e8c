#include "statistics.h"

#include <catena/coll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/observe.h"
#include "group/group.h"

/** The calls of a collective in a group: those of all its ranks together. */
typedef struct sum {
    ctn_observed_calls_t all; /* `calls`: the most of a rank */
    uint64_t ranks;           /* that have called it */
    uint64_t least_ns, most_ns;
} sum_t;

static int compare(const void *a, const void *b)
{
    const ctn_observed_calls_t *x = a, *y = b;
    return x->scope != y->scope ? (x->scope > y->scope) - (x->scope < y->scope)
                                : (x->code > y->code) - (x->code < y->code);
}

/** Add the counts of a rank to those before it of the same calls. */
static void add(sum_t *sum, const ctn_observed_calls_t *one)
{
    if (sum->ranks == 0) {
        *sum = (sum_t){.all = *one, .least_ns = one->time_ns};
    } else {
        sum->all.calls =
            one->calls > sum->all.calls ? one->calls : sum->all.calls;
        sum->all.bytes += one->bytes;
        sum->all.time_ns += one->time_ns;
        sum->all.wait_ns += one->wait_ns;
    }
    sum->ranks++;
    sum->least_ns = one->time_ns < sum->least_ns ? one->time_ns : sum->least_ns;
    sum->most_ns = one->time_ns > sum->most_ns ? one->time_ns : sum->most_ns;
}

static void print_line(const sum_t *sum)
{
    const ctn_observed_calls_t *all = &sum->all;
    char group[32] = "world";
    char size[16] = "";
    if (all->scope == CTN_SCOPE_UNKNOWN) {
        snprintf(group, sizeof(group), "others");
    } else {
        snprintf(size, sizeof(size), "%u", all->size);
    }
    if (all->scope != CTN_SCOPE_UNKNOWN && all->scope != CTN_SCOPE_WORLD) {
        snprintf(group, sizeof(group), "%06llx",
                 (unsigned long long)(all->scope & 0xffffff));
    }
    double mean_ns = (double)all->time_ns / (double)sum->ranks;
    fprintf(
        stderr, "%-7s %6s  %-22s %10llu %15llu %11.3f%11.3f%11.3f %5.0f\n",
        group, size, ctn_call_name(all->code), (unsigned long long)all->calls,
        (unsigned long long)all->bytes, (double)sum->least_ns * 1e-6,
        mean_ns * 1e-6, (double)sum->most_ns * 1e-6,
        all->time_ns > 0 ? 100.0 * (double)all->wait_ns / (double)all->time_ns
                         : 0.0);
}

/** @param each counts of all ranks; those without calls are empty */
static void print(ctn_observed_calls_t *each, size_t count, uint32_t ranks)
{
    qsort(each, count, sizeof(*each), compare);
    fprintf(stderr,
            "catena: calls of %u ranks (CATENA_STATS)\n"
            "%-7s %6s  %-22s %10s %15s %33s %5s\n"
            "%-7s %6s  %-22s %10s %15s %11s%11s%11s %5s\n",
            ranks, "group", "ranks", "collective", "calls", "bytes",
            "ms in calls and waits, of a rank", "wait%", "", "", "", "most",
            "of all ranks", "least", "mean", "most", "");
    sum_t sum = {.ranks = 0};
    for (size_t i = 0; i < count; i++) {
        if (sum.ranks > 0 && compare(&sum.all, &each[i]) != 0) {
            print_line(&sum);
            sum.ranks = 0;
        }
        if (each[i].calls > 0) {
            add(&sum, &each[i]);
        }
    }
    if (sum.ranks > 0) {
        print_line(&sum);
    }
}

/** Gather the counts at rank 0. */
static void collect(const catena_context_t *context,
                    const ctn_observed_calls_t *own, size_t count)
{
    catena_group_t *world = context->world;
    uint32_t ranks = world->chain.place.size;
    int64_t most = (int64_t)count;
    if (catena_allreduce(CATENA_IN_PLACE, &most, 1, CATENA_INT64, CATENA_MAX,
                         world) != CATENA_OK) {
        return;
    }
    size_t bytes = (size_t)most * sizeof(*own);
    ctn_observed_calls_t *padded = calloc(1, bytes + 1);
    ctn_observed_calls_t *all =
        context->log.rank == 0 ? calloc(ranks, bytes + 1) : NULL;
    int32_t lacks = padded == NULL || (context->log.rank == 0 && all == NULL);
    catena_status_t status = catena_allreduce(CATENA_IN_PLACE, &lacks, 1,
                                              CATENA_INT32, CATENA_MAX, world);
    if (status == CATENA_OK && lacks == 0) {
        if (count > 0) {
            memcpy(padded, own, count * sizeof(*own));
        }
        status = catena_gather(padded, bytes, CATENA_BYTE, all, bytes,
                               CATENA_BYTE, 0, world);
    }
    if (all != NULL && status == CATENA_OK && lacks == 0) {
        print(all, ranks * (size_t)most, ranks);
    }
    free(padded);
    free(all);
}

void ctn_statistics_print(const catena_context_t *context)
{
    const ctn_exec_config_t *config =
        ctn_config_values(&context->config, &ctn_exec_settings);
    if (config->stats == 0) {
        return;
    }
    if (context->exec->drop_data) {
        ctn_warn(ctn_group_log_once(context->world),
                 "CATENA_STATS: no statistics, since this simulation moves no "
                 "data");
        return;
    }
    /* A rank without memory for an observer has counted nothing. */
    size_t count = 0;
    const ctn_observed_calls_t *own = ctn_observed(context->exec, &count);
    collect(context, own, count);
}
