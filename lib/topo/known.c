/* Builds the topology of a group without messages, on a rank that knows all its
 * members with their nodes: as after a split by allgather-fast. Memory: as in
 * topo.c. */

#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

ctn_known_nodes_t ctn_known_nodes_find(const ctn_known_member_t *member,
                                       uint32_t n, uint32_t parent_nodes,
                                       uint32_t *memory)
{
    ctn_known_nodes_t nodes = {.first = memory};
    uint32_t *members = memory + parent_nodes; /* of each node of the parent */
    memset(members, 0, parent_nodes * sizeof(*members));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t count = ++members[member[i].node];
        if (count == 1) {
            nodes.first[nodes.count++] = i;
        }
        nodes.most = count > nodes.most ? count : nodes.most;
    }
    return nodes;
}

/* ---- the node ---- */

/** List the node's members; set the place in the node's chain.
 * @return false: no memory */
static bool list_node(ctn_topo_t *topo, const ctn_known_member_t *member)
{
    const ctn_chain_place_t *all = &topo->group->chain.place;
    ctn_chain_place_t *place = &topo->node.place;
    uint32_t node = member[all->rank].node;
    uint32_t n = 0;
    uint32_t local = 0;
    for (uint32_t i = 0; i < all->size; i++) {
        n += member[i].node == node;
    }
    topo->local = malloc(n * sizeof(*topo->local));
    for (uint32_t i = 0; topo->local != NULL && i < all->size; i++) {
        if (member[i].node != node) {
            continue;
        }
        if (i == all->rank) {
            place->rank = local;
        }
        topo->local[local++] = (ctn_member_t){
            .address = member[i].address, .rank = i, .numa = member[i].numa};
    }
    if (topo->local == NULL) {
        return false;
    }
    uint32_t me = place->rank;
    place->size = n;
    place->left = me > 0 ? topo->local[me - 1].address : CTN_NO_ADDRESS;
    place->right = me + 1 < n ? topo->local[me + 1].address : CTN_NO_ADDRESS;
    return true;
}

/* ---- node leaders ---- */

/** Return the leader of a node, whose number is taken modulo that of nodes. */
static ctn_partner_t leader_at(const ctn_topo_t *topo,
                               const ctn_known_member_t *member,
                               const ctn_known_nodes_t *nodes, uint32_t node)
{
    uint32_t rank = nodes->first[node % topo->nodes];
    return (ctn_partner_t){.address = member[rank].address, .rank = rank};
}

/** At a node leader: set its place in the chain of leaders and its partners in
 * the leader ring. @return false: no memory */
static bool link_leaders(ctn_topo_t *topo, const ctn_known_member_t *member,
                         const ctn_known_nodes_t *known)
{
    ctn_chain_place_t *place = &topo->leaders.place;
    uint32_t nodes = topo->nodes;
    uint32_t me = topo->node_index;
    place->size = nodes;
    place->rank = me;
    place->left =
        me > 0 ? member[known->first[me - 1]].address : CTN_NO_ADDRESS;
    place->right =
        me + 1 < nodes ? member[known->first[me + 1]].address : CTN_NO_ADDRESS;
    if (nodes == 1) {
        return true;
    }
    ctn_log_chain_t *log = ctn_log_chain_alloc(topo->group->exec, nodes);
    for (unsigned d = 0; log != NULL && d < log->rounds; d++) {
        uint32_t hop = UINT32_C(1) << d;
        log->round[d].side[CTN_RIGHT] =
            leader_at(topo, member, known, me + hop);
        log->round[d].side[CTN_LEFT] =
            leader_at(topo, member, known, me + nodes - hop);
    }
    topo->leaders.log = log;
    return log != NULL;
}

/** Set the number of nodes, and which one this is. */
static void count_nodes(ctn_topo_t *topo, const ctn_known_member_t *member,
                        const ctn_known_nodes_t *nodes)
{
    uint32_t own = member[topo->group->chain.place.rank].node;
    topo->nodes = nodes->count;
    topo->node_index = 0;
    while (member[nodes->first[topo->node_index]].node != own) {
        topo->node_index++;
    }
}

catena_status_t ctn_topo_link(catena_group_t *group,
                              const ctn_known_member_t *member,
                              uint32_t parent_nodes, uint32_t *memory,
                              bool oversubscribed)
{
    ctn_known_nodes_t nodes = ctn_known_nodes_find(
        member, group->chain.place.size, parent_nodes, memory);
    if (nodes.most > CTN_NODE_AREA_MEMBERS) {
        return CATENA_OK;
    }
    ctn_topo_t *topo = ctn_topo_of(group);
    if (topo == NULL || !list_node(topo, member)) {
        return CATENA_ERR_NO_MEMORY;
    }
    topo->oversubscribed = oversubscribed;
    count_nodes(topo, member, &nodes);
    if (ctn_topo_local_rank(topo) == 0 &&
        (!ctn_topo_take_shared(topo) || !link_leaders(topo, member, &nodes))) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status =
        ctn_topo_connect(topo, topo->local->address.offset +
                                   offsetof(ctn_control_block_t, shared));
    if (status == CATENA_OK) {
        topo->state = CTN_BUILT;
    }
    return status;
}
