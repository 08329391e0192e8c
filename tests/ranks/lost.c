/* The connections of one rank end during an operation of all ranks, as if the
 * rank had died. Ranks without a connection to it, which wait for others of
 * their node, must detect that soon too. Runs as processes on two nodes or
 * more, with a network of sockets. LOST: alltoall, or neighbor. Prints "ok - "
 * for each rank. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catena/catena.h>

enum {
    BYTES = 100,
    MOST = 16,
    CALLS = 200,
    SOON = 3,
    LONG = 5,
    SOCKETS = 4096
};

/** Whether a socket leads to the launcher: it stays open. */
static bool is_launcher(int fd)
{
    struct sockaddr_in peer = {.sin_port = 0};
    socklen_t bytes = sizeof(peer);
    const char *uri = getenv("PMIX_SERVER_URI2");
    const char *port = uri != NULL ? strrchr(uri, ':') : NULL;
    return port != NULL &&
           getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
           ntohs(peer.sin_port) == atoi(port + 1);
}

static void end_connections(void)
{
    struct sockaddr_storage name;
    for (int fd = 3; fd < SOCKETS; fd++) {
        socklen_t bytes = sizeof(name);
        if (getsockname(fd, (struct sockaddr *)&name, &bytes) == 0 &&
            name.ss_family == AF_INET && !is_launcher(fd)) {
            (void)shutdown(fd, SHUT_RDWR);
        }
    }
}

/** All to all, between nodes by leaders. */
static catena_neighborhood_t *make_complete(catena_group_t *group)
{
    catena_neighborhood_t *complete = NULL;
    int size = catena_group_size(group);
    int all[MOST];
    for (int i = 0; i < size; i++) {
        all[i] = i;
    }
    if (catena_neighborhood_create(group, size, all, CATENA_UNWEIGHTED, size,
                                   all, CATENA_UNWEIGHTED, NULL,
                                   &complete) != CATENA_OK ||
        catena_neighborhood_set(complete, "algorithm", "aggregated") !=
            CATENA_OK) {
        exit(1);
    }
    return complete;
}

static catena_status_t call(catena_group_t *world,
                            catena_neighborhood_t *complete)
{
    static char in[MOST * BYTES];
    static char out[MOST * BYTES];
    return complete != NULL
               ? catena_neighbor_alltoall(in, BYTES, CATENA_BYTE, out, BYTES,
                                          CATENA_BYTE, complete)
               : catena_alltoall(in, BYTES, CATENA_BYTE, out, BYTES,
                                 CATENA_BYTE, world);
}

int main(void)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    int size = catena_group_size(world);
    const char *what = getenv("LOST");
    bool neighbor = what != NULL && strcmp(what, "neighbor") == 0;
    catena_neighborhood_t *complete = neighbor ? make_complete(world) : NULL;
    catena_status_t status = CATENA_OK;
    if (!neighbor) {
        status = catena_group_set(world, "alltoall_algorithm", "direct");
    }
    for (int i = 0; i < CALLS && status == CATENA_OK; i++) {
        status = call(world, complete);
    }
    double begun = catena_time(context);
    if (rank == size / 2) {
        end_connections();
    } else {
        status = status == CATENA_OK ? call(world, complete) : status;
        double took = catena_time(context) - begun;
        printf("%s - rank %d hears of a rank that is gone: %s after %.1f s\n",
               status == CATENA_ERR_PEER && took < SOON ? "ok" : "not ok", rank,
               catena_status_string(status), took);
        fflush(stdout);
    }
    sleep(LONG); /* ranks that end do not announce it */
    if (complete != NULL) {
        (void)catena_neighborhood_free(&complete);
    }
    (void)catena_finalize(&context); /* they fail, but end */
    return 0;
}
