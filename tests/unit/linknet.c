#include "linknet.h"

#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"

/** Where the ends of a link are: each told by the rank that has it. */
typedef struct place {
    uint64_t slots, wide, wide_bytes;
    uint64_t cell;
} place_t;

/** Some pairs have links both ways, some several. */
static void draw_links(linknet_t *net)
{
    uint64_t n = net->job->seed * 77 + net->job->size;
    uint32_t size = net->job->size;
    uint32_t wanted =
        size > 1 ? (uint32_t)(job_random(&n) % (LINKNET_MOST - 1)) + 1 : 0;
    while (net->links < wanted) {
        uint32_t from = (uint32_t)(job_random(&n) % size);
        uint32_t to =
            (from + 1 + (uint32_t)(job_random(&n) % (size - 1))) % size;
        net->link[net->links++] = (linknet_link_t){.from = from, .to = to};
        if (job_random(&n) % 2 == 0 && net->links < wanted) {
            net->link[net->links++] = (linknet_link_t){.from = to, .to = from};
        }
    }
    for (uint32_t i = 0; i < net->links; i++) {
        if (net->link[i].from == net->job->rank) {
            net->sends[net->outs++] = i;
        }
        if (net->link[i].to == net->job->rank) {
            net->receives[net->ins++] = i;
        }
    }
}

static void set_peer(linknet_t *net, ctn_link_peer_t *peer, uint32_t rank)
{
    ctn_endpoint_t *endpoint;
    JOB_CHECK(net->job,
              ctn_exec_connect(net->job->exec, rank, &endpoint) == CATENA_OK);
    *peer = (ctn_link_peer_t){.rank = rank,
                              .process = rank,
                              .near = ctn_pointer(endpoint, 0) != NULL};
    if (peer->near) {
        peer->endpoint = endpoint;
    }
}

static uint64_t offset_of(const linknet_t *net, const void *memory)
{
    uint64_t offset = UINT64_MAX;
    JOB_CHECK(net->job,
              ctn_heap_contains(net->job->exec->heap, memory, 1, &offset));
    return offset;
}

/** What all ranks say of their ends. */
static void exchange_places(linknet_t *net, place_t *place)
{
    ctn_pieces_t all;
    ctn_piece_t own = {place, LINKNET_MOST * sizeof(*place)};
    catena_status_t status = ctn_op_run(
        ctn_chain_allgather(net->job->exec, net->job->lane, own, &all));
    JOB_CHECK(net->job, status == CATENA_OK);
    if (status != CATENA_OK) {
        return;
    }
    for (uint32_t i = 0; i < net->outs; i++) {
        const linknet_link_t *link = &net->link[net->sends[i]];
        const place_t *at =
            (const place_t *)all.piece[link->to].data + net->sends[i];
        net->out[i].slots = at->slots;
        net->out[i].wide = at->wide;
        net->out[i].wide_bytes = (uint32_t)at->wide_bytes;
    }
    for (uint32_t i = 0; i < net->ins; i++) {
        const linknet_link_t *link = &net->link[net->receives[i]];
        const place_t *at =
            (const place_t *)all.piece[link->from].data + net->receives[i];
        net->in[i].cell = at->cell;
    }
    ctn_pieces_release(net->job->exec, &all);
}

static void take_memory(linknet_t *net)
{
    size_t zero;
    size_t bytes = ctn_link_memory(net->outs, net->in, net->ins, &zero);
    JOB_CHECK(net->job, zero <= bytes);
    net->memory = ctn_heap_alloc(net->job->exec->heap, 4096, bytes + 1);
    JOB_CHECK(net->job, net->memory != NULL);
    memset(net->memory, 0xaa, bytes);
    memset(net->memory, 0, zero);
    ctn_link_place(net->memory, net->out, net->outs, net->in, net->ins,
                   net->channel.started);
    for (uint32_t i = 0; i < net->ins; i++) {
        const ctn_link_in_t *in = &net->in[i];
        JOB_CHECK(net->job, in->wide + CTN_LINK_RINGS * in->wide_bytes <=
                                (unsigned char *)net->memory + bytes);
        JOB_CHECK(net->job, (uintptr_t)in->wide % 64 == 0);
    }
}

static void connect_links(linknet_t *net)
{
    place_t place[LINKNET_MOST] = {{0}};
    for (uint32_t i = 0; i < net->outs; i++) {
        set_peer(net, &net->out[i].peer, net->link[net->sends[i]].to);
    }
    for (uint32_t i = 0; i < net->ins; i++) {
        ctn_link_in_t *in = &net->in[i];
        set_peer(net, &in->peer, net->link[net->receives[i]].from);
        in->wide_bytes = (uint32_t)ctn_link_wide_bytes(
            net->job->seed % 2 == 0 ? 1 : 500, !in->peer.near ? CTN_LINK_FAR
                                               : net->job->seed % 3 == 0
                                                   ? CTN_LINK_CROWDED
                                                   : CTN_LINK_NEAR);
        for (uint32_t k = 0; k < net->outs && in->reverse == NULL; k++) {
            if (net->out[k].peer.rank == in->peer.rank) {
                in->reverse = &net->out[k];
            }
        }
    }
    take_memory(net);
    for (uint32_t i = 0; i < net->outs; i++) {
        place[net->sends[i]].cell = offset_of(net, net->out[i].cell);
    }
    for (uint32_t i = 0; i < net->ins; i++) {
        place_t *at = &place[net->receives[i]];
        at->slots = offset_of(net, net->in[i].slots);
        at->wide = offset_of(net, net->in[i].wide);
        at->wide_bytes = net->in[i].wide_bytes;
    }
    exchange_places(net, place);
}

linknet_t *linknet_open(job_t *job)
{
    linknet_t *net = calloc(1, sizeof(*net));
    net->job = job;
    net->random = job->seed * 1000 + job->rank;
    net->sizes = job->exec->drop_data;
    draw_links(net);
    net->out = calloc(net->outs + 1, sizeof(*net->out));
    net->in = calloc(net->ins + 1, sizeof(*net->in));
    ctn_channel_set(&net->channel, NULL, CTN_LINK_RINGS, CTN_LINK_FLIGHT);
    net->channel.ringless = true;
    connect_links(net);
    return net;
}

catena_status_t linknet_close(linknet_t *net)
{
    job_t *job = net->job;
    catena_status_t status = ctn_link_settle(job->exec);
    if (status == CATENA_OK) {
        status = ctn_op_run(ctn_chain_barrier(job->exec, job->lane));
    }
    if (status == CATENA_OK) { /* else something may still come */
        memset(net->memory, 0xbb, 4096 * (net->outs + net->ins > 0));
        ctn_heap_free(job->exec->heap, net->memory);
    }
    free(net->out);
    free(net->in);
    free(net);
    return status;
}
