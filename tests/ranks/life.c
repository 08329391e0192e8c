/* The life of a process: contexts in sequence and two at a time. The process
 * keeps its place among the cores. Runs as processes; rank 0 prints "ok - ", or
 * "not ok - ". */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catena/catena.h>

enum { LIVES = 3, CALLS = 1500, BYTES = 3000 };

/* These override the C library's functions. */

static int moves;

/** This rank always appears to run on another core. */
int sched_getcpu(void)
{
    return 1000;
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
    moves++;
    return (int)syscall(SYS_sched_setaffinity, pid, bytes, set);
}

static catena_status_t init(catena_context_t **context)
{
    /* More ranks than cores: they yield. */
    static const char *const settings[] = {"HOST_RANKS=4096", NULL};
    catena_config_t config = {.size = sizeof(config), .settings = settings};
    return catena_init(&config, context);
}

/** The errors of all ranks; printed by the first. */
static bool conclude(catena_group_t *world, bool good, const char *what,
                     int life)
{
    int32_t bad = !good;
    int32_t any = 1;
    good = catena_allreduce(&bad, &any, 1, CATENA_INT32, CATENA_MAX, world) ==
               CATENA_OK &&
           any == 0;
    if (catena_group_rank(world) == 0) {
        printf("%s - %s, life %d\n", good ? "ok" : "not ok", what, life);
        fflush(stdout);
    }
    return good;
}

/** Barriers, and blocks that identify their ranks and this life. */
static bool works(catena_group_t *world, int life)
{
    static unsigned char send[64][BYTES];
    static unsigned char recv[64][BYTES];
    int rank = catena_group_rank(world);
    int size = catena_group_size(world);
    bool good = true;
    for (int i = 0; i < CALLS && good; i++) {
        good = catena_barrier(world) == CATENA_OK;
    }
    for (int r = 0; r < size; r++) {
        for (int b = 0; b < BYTES; b++) {
            send[r][b] = (unsigned char)(life * 16 + rank * 3 + r + b);
        }
    }
    good = good && catena_alltoall(send, BYTES, CATENA_BYTE, recv, BYTES,
                                   CATENA_BYTE, world) == CATENA_OK;
    for (int r = 0; r < size; r++) {
        for (int b = 0; b < BYTES; b++) {
            good = good &&
                   recv[r][b] == (unsigned char)(life * 16 + r * 3 + rank + b);
        }
    }
    return good;
}

/** Refused with one line. */
static bool second(void)
{
    catena_context_t *context = NULL;
    char text[1000];
    FILE *captured = tmpfile();
    int stderr_fd = dup(STDERR_FILENO);
    dup2(fileno(captured), STDERR_FILENO);
    bool good = init(&context) == CATENA_ERR_STATE && context == NULL;
    dup2(stderr_fd, STDERR_FILENO);
    close(stderr_fd);
    rewind(captured);
    int lines = 0;
    while (fgets(text, sizeof(text), captured) != NULL) {
        lines++;
    }
    fclose(captured);
    return good && lines == 1;
}

/** A persistent request is active: the context remains. */
static bool active(catena_context_t *context)
{
    catena_request_t *request = NULL;
    int sent = 1;
    bool good =
        catena_bcast_init(&sent, 1, CATENA_INT32, 0, catena_world(context),
                          &request) == CATENA_OK &&
        catena_request_start(request) == CATENA_OK &&
        catena_finalize(&context) == CATENA_ERR_STATE &&
        catena_request_wait(&request) == CATENA_OK;
    return catena_request_free(&request) == CATENA_OK && good;
}

/** Rank 0 starts an operation of another group first, so it is under way: the
 * context remains. */
static bool under_way(catena_context_t *context)
{
    catena_group_t *world = catena_world(context);
    catena_group_t *group = NULL;
    catena_request_t *request = NULL;
    bool first = catena_group_rank(world) == 0;
    bool good = catena_group_dup(world, &group) == CATENA_OK &&
                (!first || catena_ibarrier(group, &request) == CATENA_OK) &&
                (!first || catena_group_size(world) == 1 ||
                 catena_finalize(&context) == CATENA_ERR_STATE) &&
                catena_barrier(world) == CATENA_OK &&
                (first || catena_ibarrier(group, &request) == CATENA_OK) &&
                catena_request_wait(&request) == CATENA_OK;
    return catena_group_free(&group) == CATENA_OK && good;
}

int main(void)
{
    bool good = true;
    for (int life = 1; life <= LIVES && good; life++) {
        catena_context_t *context;
        if (init(&context) != CATENA_OK) {
            return 1;
        }
        catena_group_t *world = catena_world(context);
        moves = 0;
        good = conclude(world, works(world, life), "collectives", life);
        good &= conclude(world, moves == 0, "affinity stays", life);
        good &= conclude(world, second(), "no second context", life);
        good &= conclude(world, active(context), "active at the end", life);
        good &=
            conclude(world, under_way(context), "under way at the end", life);
        if (catena_finalize(&context) != CATENA_OK) {
            printf("not ok - finalize, life %d\n", life);
            return 1;
        }
        good &= context == NULL;
    }
    return !good;
}
