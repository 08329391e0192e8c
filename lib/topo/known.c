/* Builds the topology of a group without messages, on a rank that knows all its
 * members with their nodes: as after a split by allgather-fast. Memory: as in
 * topo.c, and at each member a table of the members of its node. */

#include "topo/topo.h"

#include <stdlib.h>

/** Return whether member `i` is the first of its node. */
static bool is_first(const ctn_known_member_t *member, uint32_t i)
{
    for (uint32_t j = i; j-- > 0;) {
        if (member[j].node == member[i].node) {
            return false;
        }
    }
    return true;
}

/** Return how many of the `n` members are on a node. */
static uint32_t count_on(const ctn_known_member_t *member, uint32_t n,
                         uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += member[i].node == node;
    }
    return count;
}

bool ctn_topo_linkable(const ctn_known_member_t *member, uint32_t n)
{
    for (uint32_t i = 0; n > CTN_NODE_AREA_MEMBERS && i < n; i++) {
        if (is_first(member, i) &&
            count_on(member, n, member[i].node) > CTN_NODE_AREA_MEMBERS) {
            return false;
        }
    }
    return true;
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
    uint32_t n = count_on(member, all->size, node);
    uint32_t local = 0;
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
    uint32_t node_area = ctn_group_layout(topo->group)->shared;
    unsigned char *memory =
        ctn_pointer(topo->peer[0], leader.offset + node_area);
    if (memory == NULL) {
        return CATENA_ERR_LAUNCHER; /* topo.c has logged it for the parent */
    }
    ctn_node_area_map(topo, memory, oversubscribed);
    topo->local = topo->known;
    if (topo->node.place.rank == 0) {
        topo->shared = ctn_group_block_at(topo->group, node_area);
        fill_node_area(topo);
    }
    return CATENA_OK;
}

/* ---- node leaders ---- */

/* leader[]: the group ranks of the node leaders, by number of the node. */

/** Return the leader of a node, whose number is taken modulo that of nodes. */
static ctn_node_leader_t leader_at(const ctn_topo_t *topo,
                                   const ctn_known_member_t *member,
                                   const uint32_t *leader, uint32_t node)
{
    uint32_t rank = leader[node % topo->nodes];
    return (ctn_node_leader_t){.address = member[rank].address, .rank = rank};
}

/** At a node leader: set its place in the chain of leaders and its partners in
 * the leader ring. @return false: no memory */
static bool link_leaders(ctn_topo_t *topo, const ctn_known_member_t *member,
                         const uint32_t *leader)
{
    ctn_chain_place_t *place = &topo->leaders.place;
    uint32_t nodes = topo->nodes;
    uint32_t me = topo->node_index;
    place->size = nodes;
    place->rank = me;
    place->left = me > 0 ? member[leader[me - 1]].address : CTN_NO_ADDRESS;
    place->right =
        me + 1 < nodes ? member[leader[me + 1]].address : CTN_NO_ADDRESS;
    if (nodes == 1) {
        return true;
    }
    topo->leader_ring = calloc(ctn_rounds(nodes), sizeof(*topo->leader_ring));
    for (unsigned d = 0; topo->leader_ring != NULL && d < ctn_rounds(nodes);
         d++) {
        uint32_t hop = UINT32_C(1) << d;
        topo->leader_ring[d].to = leader_at(topo, member, leader, me + hop);
        topo->leader_ring[d].from =
            leader_at(topo, member, leader, me + nodes - hop);
    }
    return topo->leader_ring != NULL;
}

/** Number the nodes in the order of their first members, which are the node
 * leaders. @return false: no memory */
static bool find_nodes(ctn_topo_t *topo, const ctn_known_member_t *member)
{
    const ctn_chain_place_t *all = &topo->group->chain.place;
    uint32_t *leader = malloc(all->size * sizeof(*leader));
    if (leader == NULL) {
        return false;
    }
    topo->nodes = 0;
    for (uint32_t i = 0; i < all->size; i++) {
        if (!is_first(member, i)) {
            continue;
        }
        if (member[i].node == member[all->rank].node) {
            topo->node_index = topo->nodes;
        }
        leader[topo->nodes++] = i;
    }
    bool linked =
        topo->node.place.rank != 0 || link_leaders(topo, member, leader);
    free(leader);
    return linked;
}

catena_status_t ctn_topo_link(catena_group_t *group,
                              const ctn_known_member_t *member,
                              bool oversubscribed)
{
    ctn_topo_t *topo = ctn_topo_of(group);
    if (topo == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = link_node(topo, member, oversubscribed);
    if (status == CATENA_OK && !find_nodes(topo, member)) {
        status = CATENA_ERR_NO_MEMORY;
    }
    if (status == CATENA_OK) {
        topo->state = CTN_BUILT;
    }
    return status;
}
