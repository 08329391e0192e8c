/* NBR-5. Connects links: each rank takes memory for its link ends, and tells
 * the ranks at the other ends where that is, in one sparse exchange of a record
 * for each end. Endpoints on the node are connected now, those to other nodes
 * by the first message. */

#include <stdlib.h>
#include <string.h>

#include "exec/deaths.h"
#include "neighbor/create/create.h"
#include "neighbor/create/sparse_exchange.h"

/** What one end of a link sends to the other. */
typedef struct link_record {
    uint32_t to, from;    /* for ctn_sparse_exchange */
    uint32_t is_receiver; /* the origin is the receiver of the link */
    uint64_t process;     /* of the origin, for ctn_exec_connect */
    /* Offsets in the arena of the origin. */
    uint64_t offset; /* of the receiver's slots, or of the sender's link
                        control */
    uint64_t eager;  /* of the receiver's eager buffers */
    uint64_t eager_bytes;
} link_record_t;

/** The link ends of this rank that are being connected. */
typedef struct links {
    catena_neighborhood_t *neighborhood;
    uint32_t outs, ins;
    const ctn_edge_key_t *to;   /* [outs] in order; key.index: index in `out` */
    const ctn_edge_key_t *from; /* [ins] in order; key.index: index in `in` */
    ctn_link_out_t *out;
    ctn_link_in_t *in;
    void *memory; /* slots, link controls and eager buffers, in the heap */
} links_t;

/* ---- memory ---- */

/** Sets the length of the eager buffers of each link. */
static void set_eager_bytes(links_t *links)
{
    uint32_t local = 0;
    for (uint32_t i = 0; i < links->ins; i++) {
        ctn_link_in_t *in = &links->in[links->from[i].index];
        in->peer.local = ctn_neighbor_is_local(links->neighborhood->group,
                                               links->from[i].rank);
        local += in->peer.local;
    }
    for (uint32_t i = 0; i < links->ins; i++) {
        bool is_local = links->in[i].peer.local;
        links->in[i].eager_bytes = ctn_link_eager_bytes(
            is_local ? local : links->ins - local,
            ctn_link_most_eager(is_local,
                                links->neighborhood->exec->oversubscribed),
            is_local ? CTN_LINK_EAGER_NODE : CTN_LINK_EAGER_ALL);
    }
}

/** Takes the memory of the link ends. */
static catena_status_t take_memory(links_t *links)
{
    links->out = calloc(links->outs + 1u, sizeof(*links->out));
    links->in = calloc(links->ins + 1u, sizeof(*links->in));
    if (links->out == NULL || links->in == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    set_eager_bytes(links);
    links->memory = ctn_link_take(links->neighborhood->exec, links->out,
                                  links->outs, links->in, links->ins,
                                  links->neighborhood->sequence.started);
    return links->memory != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

/** Frees what take_memory has taken. */
static void free_memory(links_t *links)
{
    free(links->out);
    free(links->in);
    ctn_failure_free(links->neighborhood->exec,
                     links->neighborhood->sequence.failure, links->memory);
}

/* ---- records ---- */

/** Writes a record for each link end. */
static void fill_records(const links_t *links, link_record_t *record)
{
    link_record_t common = {
        .process = links->neighborhood->group->exec->locality->process};
    for (uint32_t i = 0; i < links->outs; i++) {
        *record = common;
        record->to = links->to[i].rank;
        record->offset = ctn_link_offset(
            links->neighborhood->exec, links->out[links->to[i].index].control);
        record++;
    }
    for (uint32_t i = 0; i < links->ins; i++) {
        const ctn_link_in_t *in = &links->in[links->from[i].index];
        *record = common;
        record->to = links->from[i].rank;
        record->is_receiver = 1;
        record->eager_bytes = in->eager_bytes;
        record->offset = ctn_link_offset(links->neighborhood->exec, in->slots);
        record->eager = ctn_link_offset(links->neighborhood->exec, in->eager);
        record++;
    }
}

/** Sets what a link end knows of its other end; connects it on this node. */
static catena_status_t set_peer(const links_t *links, ctn_link_peer_t *peer,
                                const link_record_t *record)
{
    peer->rank = record->from;
    peer->process = record->process;
    peer->local =
        ctn_neighbor_is_local(links->neighborhood->group, record->from);
    return peer->local ? ctn_exec_connect(links->neighborhood->exec,
                                          record->process, &peer->endpoint)
                       : CATENA_OK;
}

/** Sets the link ends from the received records. These are in the order of the
 * keys: by rank, then as that rank listed them. */
static catena_status_t take_records(links_t *links, const link_record_t *record,
                                    size_t count)
{
    uint32_t outs = 0;
    uint32_t ins = 0;
    catena_status_t status = CATENA_OK;
    for (size_t i = 0; i < count && status == CATENA_OK; i++, record++) {
        if (record->is_receiver && outs < links->outs &&
            links->to[outs].rank == record->from) {
            ctn_link_out_t *out = &links->out[links->to[outs++].index];
            out->slots = record->offset;
            out->eager = record->eager;
            out->eager_bytes = (uint32_t)record->eager_bytes;
            status = set_peer(links, &out->peer, record);
        } else if (!record->is_receiver && ins < links->ins &&
                   links->from[ins].rank == record->from) {
            ctn_link_in_t *in = &links->in[links->from[ins++].index];
            in->control = record->offset;
            status = set_peer(links, &in->peer, record);
        } else {
            status = CATENA_ERR_ARG;
        }
    }
    return status == CATENA_OK && (outs < links->outs || ins < links->ins)
               ? CATENA_ERR_ARG
               : status;
}

/** Sets in[].reverse: pairs the k-th link from a peer with the k-th link to it.
 * Both ends find the same pairs. */
static void pair(links_t *links)
{
    uint32_t i = 0;
    uint32_t o = 0;
    while (i < links->ins && o < links->outs) {
        uint32_t from = links->from[i].rank;
        uint32_t to = links->to[o].rank;
        if (from == to) {
            links->in[links->from[i].index].reverse =
                &links->out[links->to[o].index];
        }
        i += from <= to;
        o += to <= from;
    }
}

/** Connects the links. @return a status that is the same on all ranks */
static catena_status_t connect(links_t *links, catena_status_t status)
{
    catena_group_t *group = links->neighborhood->group;
    size_t count = (size_t)links->outs + links->ins;
    ctn_vector_t records = {0};
    if (status == CATENA_OK) {
        status = ctn_vector_reserve(&records, count + 1, sizeof(link_record_t))
                     ? take_memory(links)
                     : CATENA_ERR_NO_MEMORY;
    }
    if (status == CATENA_OK) {
        fill_records(links, records.item);
        records.count = count;
    }
    status =
        ctn_sparse_exchange(group, status, &records, sizeof(link_record_t));
    if (status == CATENA_OK) {
        status = take_records(links, records.item, records.count);
    }
    ctn_vector_drop(&records);
    status = ctn_neighbor_agree_status(group, status);
    if (status == CATENA_OK) {
        pair(links);
    } else {
        free_memory(links);
    }
    return status;
}

/* ---- links of edges and of schedules ---- */

/** Connects the links of these keys, which are sorted. */
static catena_status_t connect_keys(links_t *links, catena_status_t status,
                                    ctn_vector_t *to, ctn_vector_t *from)
{
    ctn_edge_keys_sort(to);
    ctn_edge_keys_sort(from);
    links->outs = (uint32_t)to->count;
    links->ins = (uint32_t)from->count;
    links->to = to->item;
    links->from = from->item;
    return connect(links, status);
}

/** Adds the keys of the edges that have a link; key.index is that of the link.
 */
static void add_keys(const ctn_edge_t *edge, uint32_t count, ctn_vector_t *keys,
                     catena_status_t *status)
{
    for (; count > 0; count--, edge++) {
        if (edge->link != CTN_NO_LINK) {
            ctn_vector_put(keys,
                           &(ctn_edge_key_t){(uint32_t)edge->rank, edge->label,
                                             edge->link},
                           sizeof(ctn_edge_key_t), status);
        }
    }
}

catena_status_t ctn_neighbor_connect(catena_neighborhood_t *neighborhood)
{
    ctn_vector_t to = {0};
    ctn_vector_t from = {0};
    links_t links = {.neighborhood = neighborhood};
    catena_status_t status = CATENA_OK;
    add_keys(neighborhood->target, neighborhood->targets, &to, &status);
    add_keys(neighborhood->source, neighborhood->sources, &from, &status);
    status = connect_keys(&links, status, &to, &from);
    ctn_vector_drop(&to);
    ctn_vector_drop(&from);
    if (status == CATENA_OK) {
        neighborhood->outs = links.outs;
        neighborhood->ins = links.ins;
        neighborhood->out = links.out;
        neighborhood->in = links.in;
        neighborhood->memory = links.memory;
    }
    return status;
}

catena_status_t ctn_schedule_connect(catena_neighborhood_t *neighborhood,
                                     ctn_vector_t *to, ctn_vector_t *from,
                                     ctn_schedule_t *schedule)
{
    links_t links = {.neighborhood = neighborhood};
    catena_status_t status = connect_keys(&links, CATENA_OK, to, from);
    if (status == CATENA_OK) {
        schedule->outs = links.outs;
        schedule->ins = links.ins;
        schedule->out = links.out;
        schedule->in = links.in;
        schedule->owns_links = true;
        schedule->memory = links.memory;
    }
    return status;
}
