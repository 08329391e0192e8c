/* A member of another node sends after this rank has returned the error: the
 * buffer of the call that has failed stays as the caller has left it.
 *
 *   late allgather | alltoall     one of three ranks, each on its own node
 *
 * Rank 0 begins to send its block to rank 1, and then makes no call. Rank 2
 * dies. Rank 1 waits half a second for rank 0 and returns the error; rank 0
 * sends the rest of its block afterwards.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <catena/catena.h>

enum {
    RANKS = 3,
    BYTES = 16 << 20, /* of a block: more than the sockets hold */
    MARK = 0xab
};

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static void poll_ms(catena_context_t *context, long ms)
{
    double end = catena_time(context) + (double)ms / 1000;
    while (catena_time(context) < end) {
        (void)catena_progress(context);
    }
}

/** Start the call. */
static catena_request_t *start(catena_group_t *world, int is_alltoall,
                               unsigned char *in, unsigned char *out)
{
    catena_request_t *request = NULL;
    catena_status_t status =
        is_alltoall ? catena_ialltoall(in, BYTES, CATENA_UINT8, out, BYTES,
                                       CATENA_UINT8, world, &request)
                    : catena_iallgather(in, BYTES, CATENA_UINT8, out, BYTES,
                                        CATENA_UINT8, world, &request);
    return status == CATENA_OK ? request : NULL;
}

static size_t changed(const unsigned char *data, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += data[i] != MARK;
    }
    return count;
}

int main(int argc, char **argv)
{
    static const char *const settings[] = {"FAILURES=return", NULL};
    const size_t bytes = (size_t)RANKS * BYTES;
    int is_alltoall = argc > 1 && strcmp(argv[1], "alltoall") == 0;
    catena_config_t config = {.size = sizeof(config), .settings = settings};
    catena_context_t *context;
    if (catena_init(&config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int me = catena_group_rank(world);
    unsigned char *in = catena_malloc(context, bytes);
    unsigned char *out = catena_malloc(context, bytes);
    if (in == NULL || out == NULL || catena_group_size(world) != RANKS) {
        return 1;
    }
    memset(in, me, bytes);
    memset(out, 0, bytes);
    for (int i = 0; i < 2; i++) { /* all connections are made */
        catena_request_t *first = start(world, is_alltoall, in, out);
        if (first == NULL || catena_request_wait(&first) != CATENA_OK ||
            catena_barrier(world) != CATENA_OK) {
            return 1;
        }
    }
    if (me == 2) {
        pause_ms(200);
        (void)raise(SIGKILL);
    }
    catena_request_t *request = start(world, is_alltoall, in, out);
    if (request == NULL) {
        return 1;
    }
    if (me == 0) {
        poll_ms(context, 100);
        pause_ms(2000);
    } else {
        pause_ms(300);
    }
    double began = catena_time(context);
    catena_status_t status = catena_request_wait(&request);
    double took = catena_time(context) - began;
    memset(out, MARK, bytes);
    poll_ms(context, me == 0 ? 2000 : 4000);
    size_t wrong = changed(out, bytes);
    printf("%s - rank %d, %s: status %d after %.1f s, then %zu bytes changed\n",
           status == CATENA_ERR_PROC_FAILED && wrong == 0 ? "ok" : "not ok", me,
           is_alltoall ? "alltoall" : "allgather", (int)status, took, wrong);
    catena_free(context, in);
    catena_free(context, out);
    return status == CATENA_ERR_PROC_FAILED && wrong == 0 &&
                   catena_finalize(&context) == CATENA_OK
               ? 0
               : 1;
}
