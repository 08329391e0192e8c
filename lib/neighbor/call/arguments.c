/* Checks the arguments of neighborhood collectives, and stores them in an
 * exchange. */

#include <stdlib.h>

#include "neighbor/call/executor.h"

/** For ctn_peers_t: whether target or source i is CATENA_PROC_NULL. */
static bool is_null(const void *of, bool target, uint32_t i)
{
    const catena_neighborhood_t *n = of;
    return (target ? n->target : n->source)[i].rank == CATENA_PROC_NULL;
}

catena_status_t
ctn_neighbor_validate(const ctn_neighbor_collective_t *collective,
                      const ctn_arguments_t *args,
                      catena_neighborhood_t *neighborhood,
                      ctn_recorded_call_t *record, ctn_exchange_t *x)
{
    ctn_operands_t operands;
    const ctn_peers_t peers = {.exec = neighborhood->exec,
                               .targets = neighborhood->targets,
                               .sources = neighborhood->sources,
                               .is_null = is_null,
                               .of = neighborhood};
    if ((neighborhood->operations & collective->operation) == 0) {
        ctn_error(neighborhood->exec->log,
                  "%s: the neighborhood is made for other operations (%#x)",
                  args->collective->name, neighborhood->operations);
        return CATENA_ERR_ARG;
    }
    catena_status_t status = ctn_arguments_check(args, &peers, &operands);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_arguments_note(record, &peers, &operands);
    x->collective = collective;
    x->neighborhood = neighborhood;
    x->send = operands.send;
    x->recv = operands.recv;
    x->by = operands.by;
    x->in_place = operands.in_place;
    return CATENA_OK;
}

/* ---- for requests ---- */

/** Holds the types of the send blocks or of the receive blocks. */
static void hold_side(ctn_exchange_t *x, const ctn_blocks_t *blocks,
                      const ctn_edge_t *edge, uint32_t count)
{
    if (blocks->types == NULL && blocks->type != NULL) {
        x->held[x->held_count++] = ctn_type_hold(blocks->type);
    }
    for (uint32_t i = 0; i < count && blocks->types != NULL; i++) {
        if (edge[i].rank != CATENA_PROC_NULL) {
            x->held[x->held_count++] =
                ctn_type_hold(ctn_type_of(blocks->types[i]));
        }
    }
}

catena_status_t ctn_neighbor_hold(ctn_exchange_t *x)
{
    const catena_neighborhood_t *n = x->neighborhood;
    size_t most = x->collective->call->send == CTN_SIDE_TYPED /* alltoallw */
                      ? (size_t)n->sources + n->targets
                      : 2;
    x->held = malloc((most + 1) * sizeof(*x->held));
    if (x->held == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    hold_side(x, &x->send, n->target, n->targets);
    hold_side(x, &x->recv, n->source, n->sources);
    if (x->by.op != NULL) {
        x->held[x->held_count++] = ctn_type_hold(x->by.type);
        (void)ctn_reduce_op_hold(x->by.op);
        x->holds_op = true;
    }
    return CATENA_OK;
}
