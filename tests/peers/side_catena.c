/* The calls of catena. PEER_BUFFERS=malloc: buffers outside its heap. */

#include "peer.h"

#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const peer_name = "catena";

static catena_context_t *context;
static catena_group_t *world;
static bool from_malloc;

static void demand(catena_status_t status, const char *what)
{
    if (status == CATENA_OK)
        return;
    fprintf(stderr, "measure: %s: %s\n", what, catena_status_string(status));
    exit(1);
}

void peer_start(int *argc, char ***argv, int *rank, int *size)
{
    const char *buffers = getenv("PEER_BUFFERS");

    (void)argc;
    (void)argv;
    from_malloc = buffers != NULL && strcmp(buffers, "malloc") == 0;
    demand(catena_init(NULL, &context), "catena_init");
    world = catena_world(context);
    *rank = catena_group_rank(world);
    *size = catena_group_size(world);
}

void peer_stop(void)
{
    demand(catena_finalize(context), "catena_finalize");
}

void peer_abort(const char *what)
{
    fprintf(stderr, "measure: %s\n", what);
    catena_abort(context, 1);
}

void peer_barrier(void)
{
    demand(catena_barrier(world), "catena_barrier");
}

void peer_gather(double value, double *all, int size)
{
    double *send = calloc((size_t)size, sizeof(*send));

    if (send == NULL)
        peer_abort("no memory");
    for (int i = 0; i < size; i++)
        send[i] = value;
    demand(catena_alltoall(send, all, 1, CATENA_DOUBLE, world), "gathering");
    free(send);
}

void *peer_alloc(size_t bytes)
{
    size_t pages = (bytes + 4095) / 4096 * 4096;
    void *block = from_malloc ? aligned_alloc(4096, pages)
                              : catena_aligned_alloc(context, 4096, pages);

    if (block == NULL)
        peer_abort("no memory for buffers");
    memset(block, 0, pages);
    return block;
}

void peer_free(void *block)
{
    if (from_malloc)
        free(block);
    else
        catena_free(context, block);
}

bool peer_prepare(struct peer_call *call)
{
    return strcmp(call->collective, "alltoall") == 0;
}

void peer_run(struct peer_call *call)
{
    demand(catena_alltoall(call->send, call->recv, call->bytes, CATENA_BYTE,
                           world),
           "catena_alltoall");
}

void peer_release(struct peer_call *call)
{
    (void)call;
}
