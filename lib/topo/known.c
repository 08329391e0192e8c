/* The topology of a group whose members are all known, as they are after a
 * split by gathering: what topo.c asks the others for, it says. Messages: none.
 * Memory: as in topo.c, and a table of the node at each member. */

#include "topo/topo.h"

#include <stdlib.h>

/** Whether member `i` is the first of its node. */
static bool is_first(const ctn_known_t *member, uint32_t i)
{
    for (uint32_t j = i; j-- > 0;) {
        if (member[j].node == member[i].node) {
            return false;
        }
    }
    return true;
}

static uint32_t count_on(const ctn_known_t *member, uint32_t n, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += member[i].node == node;
    }
    return count;
}

bool ctn_topo_knowable(const ctn_known_t *member, uint32_t n)
{
    for (uint32_t i = 0; n > CTN_BOARD_MEMBERS && i < n; i++) {
        if (is_first(member, i) &&
            count_on(member, n, member[i].node) > CTN_BOARD_MEMBERS) {
            return false;
        }
    }
    return true;
}

/* ---- the node ---- */

/** The node's members, in a table of this member's own: the root's may not be
 * ready yet. Sets the node's chain. */
static bool list_node(ctn_topo_t *topo, const ctn_known_t *member)
{
    const ctn_chain_t *all = &topo->group->lane.chain;
    ctn_chain_t *chain = &topo->node.chain;
    uint32_t node = member[all->rank].node;
    uint32_t n = count_on(member, all->size, node);
    uint32_t local = 0;
    topo->known = calloc(n, sizeof(*topo->known));
    for (uint32_t i = 0; topo->known != NULL && i < all->size; i++) {
        if (member[i].node != node) {
            continue;
        }
        if (i == all->rank) {
            chain->rank = local;
        }
        topo->known[local++].member = (ctn_member_t){
            .address = member[i].address, .rank = i, .numa = member[i].numa};
    }
    if (topo->known == NULL) {
        return false;
    }
    uint32_t me = chain->rank;
    chain->size = n;
    chain->left = me > 0 ? topo->known[me - 1].member.address : CTN_NO_ADDRESS;
    chain->right =
        me + 1 < n ? topo->known[me + 1].member.address : CTN_NO_ADDRESS;
    return true;
}

/** The root's own table is the one that others complete (see members.c): what
 * is theirs to write stays as it is. */
static void fill_board(ctn_topo_t *topo)
{
    ctn_local_t *local = topo->shared;
    for (uint32_t i = 0; i < ctn_topo_local_size(topo); i++) {
        const ctn_member_t *member = &topo->known[i].member;
        local[i].member.address = member->address;
        local[i].member.rank = member->rank;
        local[i].member.numa = member->numa;
    }
    topo->local = local;
}

static catena_status_t link_node(ctn_topo_t *topo, const ctn_known_t *member,
                                 bool crowded)
{
    if (!list_node(topo, member)) {
        return CATENA_ERR_NO_MEMORY;
    }
    topo->local = topo->known;
    catena_status_t status = ctn_topo_reach(topo);
    if (status != CATENA_OK) {
        return status;
    }
    topo->crowded = crowded;
    ctn_address_t root = topo->known[0].member.address;
    uint32_t board = ctn_group_layout(topo->group)->board;
    unsigned char *memory = ctn_pointer(topo->peer[0], root.offset + board);
    if (memory == NULL) {
        return CATENA_ERR_LAUNCHER; /* as in topo.c, which has said so */
    }
    ctn_board_find(topo, memory, crowded);
    topo->local = topo->known;
    if (topo->node.chain.rank == 0) {
        topo->shared = ctn_group_part(topo->group, board);
        fill_board(topo);
    }
    return CATENA_OK;
}

/* ---- the roots ---- */

static ctn_root_t root_at(const ctn_topo_t *topo, const ctn_known_t *member,
                          const uint32_t *root, uint32_t node)
{
    uint32_t rank = root[node % topo->nodes];
    return (ctn_root_t){.address = member[rank].address, .rank = rank};
}

/** The chain of roots and whom this one meets. */
static bool link_roots(ctn_topo_t *topo, const ctn_known_t *member,
                       const uint32_t *root)
{
    ctn_chain_t *chain = &topo->leaders.chain;
    uint32_t nodes = topo->nodes;
    uint32_t me = topo->node_index;
    chain->size = nodes;
    chain->rank = me;
    chain->left = me > 0 ? member[root[me - 1]].address : CTN_NO_ADDRESS;
    chain->right =
        me + 1 < nodes ? member[root[me + 1]].address : CTN_NO_ADDRESS;
    if (nodes == 1) {
        return true;
    }
    topo->ring = calloc(ctn_rounds(nodes), sizeof(*topo->ring));
    for (unsigned d = 0; topo->ring != NULL && d < ctn_rounds(nodes); d++) {
        uint32_t hop = UINT32_C(1) << d;
        topo->ring[d].to = root_at(topo, member, root, me + hop);
        topo->ring[d].from = root_at(topo, member, root, me + nodes - hop);
    }
    return topo->ring != NULL;
}

/** Number the nodes by their first members, who are their roots. */
static bool find_nodes(ctn_topo_t *topo, const ctn_known_t *member)
{
    const ctn_chain_t *all = &topo->group->lane.chain;
    uint32_t *root = malloc(all->size * sizeof(*root));
    if (root == NULL) {
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
        root[topo->nodes++] = i;
    }
    bool linked = topo->node.chain.rank != 0 || link_roots(topo, member, root);
    free(root);
    return linked;
}

catena_status_t ctn_topo_link(catena_group_t *group, const ctn_known_t *member,
                              bool crowded)
{
    ctn_topo_t *topo = ctn_topo_of(group);
    if (topo == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = link_node(topo, member, crowded);
    if (status == CATENA_OK && !find_nodes(topo, member)) {
        status = CATENA_ERR_NO_MEMORY;
    }
    if (status == CATENA_OK) {
        topo->state = CTN_BUILT;
    }
    return status;
}
