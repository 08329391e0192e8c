/* Builds the topology of a group without messages, on a rank that knows all its
 * members with their nodes: as after a split by allgather-fast. Memory: as in
 * topo.c, and at each member a table of the members of its node. */

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

/** List the node's members in a table of this member (topo->known), because the
 * node leader's table may not be ready yet; set the place in the node's chain.
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
    topo->known = calloc(n, sizeof(*topo->known));
    for (uint32_t i = 0; topo->known != NULL && i < all->size; i++) {
        if (member[i].node != node) {
            continue;
        }
        if (i == all->rank) {
            place->rank = local;
        }
        topo->known[local++].member = (ctn_member_t){
            .address = member[i].address, .rank = i, .numa = member[i].numa};
    }
    if (topo->known == NULL) {
        return false;
    }
    uint32_t me = place->rank;
    place->size = n;
    place->left = me > 0 ? topo->known[me - 1].member.address : CTN_NO_ADDRESS;
    place->right =
        me + 1 < n ? topo->known[me + 1].member.address : CTN_NO_ADDRESS;
    return true;
}

/** At the node leader: fill in its table. The members themselves write `ready`
 * and `cts_table` of their entries later (members.c), maybe even now, so these
 * are not touched. */
static void fill_node_area(ctn_topo_t *topo)
{
    ctn_local_member_t *local = topo->shared;
    for (uint32_t i = 0; i < ctn_topo_local_size(topo); i++) {
        const ctn_member_t *member = &topo->known[i].member;
        local[i].member.address = member->address;
        local[i].member.rank = member->rank;
        local[i].member.numa = member->numa;
    }
    topo->local = local;
}

/** Set what concerns this node: its chain, endpoints and node area. */
static catena_status_t link_node(ctn_topo_t *topo,
                                 const ctn_known_member_t *member,
                                 bool oversubscribed)
{
    if (!list_node(topo, member)) {
        return CATENA_ERR_NO_MEMORY;
    }
    topo->local = topo->known;
    catena_status_t status = ctn_topo_connect(topo);
    if (status != CATENA_OK) {
        return status;
    }
    topo->oversubscribed = oversubscribed;
    ctn_address_t leader = topo->known[0].member.address;
    unsigned char *memory = ctn_pointer(
        topo->peer[0], leader.offset + offsetof(ctn_control_block_t, shared));
    if (memory == NULL) {
        return CATENA_ERR_LAUNCHER; /* topo.c has logged it for the parent */
    }
    ctn_topo_map_shared(topo, memory);
    topo->local = topo->known;
    if (topo->node.place.rank == 0) {
        size_t bytes =
            ctn_topo_shared_bytes(ctn_topo_local_size(topo), oversubscribed);
        if (!ctn_heap_take(topo->group->exec->heap, memory, bytes)) {
            return CATENA_ERR_NO_MEMORY;
        }
        topo->shared = memory;
        fill_node_area(topo);
    }
    return CATENA_OK;
}

/* ---- node leaders ---- */

/** Return the leader of a node, whose number is taken modulo that of nodes. */
static ctn_node_leader_t leader_at(const ctn_topo_t *topo,
                                   const ctn_known_member_t *member,
                                   const ctn_known_nodes_t *nodes,
                                   uint32_t node)
{
    uint32_t rank = nodes->first[node % topo->nodes];
    return (ctn_node_leader_t){.address = member[rank].address, .rank = rank};
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
    topo->leader_ring = calloc(ctn_rounds(nodes), sizeof(*topo->leader_ring));
    for (unsigned d = 0; topo->leader_ring != NULL && d < ctn_rounds(nodes);
         d++) {
        uint32_t hop = UINT32_C(1) << d;
        topo->leader_ring[d].to = leader_at(topo, member, known, me + hop);
        topo->leader_ring[d].from =
            leader_at(topo, member, known, me + nodes - hop);
    }
    return topo->leader_ring != NULL;
}

/** Set what concerns all nodes: their number, and at a node leader the chain of
 * leaders. @return false: no memory */
static bool link_nodes(ctn_topo_t *topo, const ctn_known_member_t *member,
                       const ctn_known_nodes_t *nodes)
{
    uint32_t own = member[topo->group->chain.place.rank].node;
    topo->nodes = nodes->count;
    topo->node_index = 0;
    while (member[nodes->first[topo->node_index]].node != own) {
        topo->node_index++;
    }
    return topo->node.place.rank != 0 || link_leaders(topo, member, nodes);
}

/** Set all of the topology. */
static catena_status_t link_all(catena_group_t *group,
                                const ctn_known_member_t *member,
                                const ctn_known_nodes_t *nodes,
                                bool oversubscribed)
{
    ctn_topo_t *topo = ctn_topo_of(group);
    if (topo == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = link_node(topo, member, oversubscribed);
    if (status == CATENA_OK && !link_nodes(topo, member, nodes)) {
        status = CATENA_ERR_NO_MEMORY;
    }
    if (status == CATENA_OK) {
        topo->state = CTN_BUILT;
    }
    return status;
}

catena_status_t ctn_topo_link(catena_group_t *group,
                              const ctn_known_member_t *member,
                              uint32_t parent_nodes, uint32_t *memory,
                              bool oversubscribed)
{
    ctn_known_nodes_t nodes = ctn_known_nodes_find(
        member, group->chain.place.size, parent_nodes, memory);
    return nodes.most <= CTN_NODE_AREA_MEMBERS
               ? link_all(group, member, &nodes, oversubscribed)
               : CATENA_OK;
}
