#ifndef SIM_EXPLORE_ORDERS_H
#define SIM_EXPLORE_ORDERS_H

#include <stdbool.h>
#include <stddef.h>

#include <catena/sim.h>

/* All orders of the steps of a job that can differ, one by one. */

/** The tree of the orders, as far as it is known. */
typedef struct orders orders_t;

/** Begin with the first order.
 * @param node_of [ranks] valid until orders_free; NULL: no steps commute
 * @return NULL: no memory */
orders_t *orders_create(const int *node_of);

void orders_free(orders_t *orders);

/** A job begins, with the present order. */
void orders_start(orders_t *orders);

/** The step that the last orders_choose has chosen is over, before the next one
 * begins. May be called again. */
void orders_stepped(orders_t *orders);

/** Choose the next step.
 * @return its index; -1: what follows was run already, the job may end in any
 * order; -2: the job does not repeat the last one */
int orders_choose(orders_t *orders, size_t count,
                  const catena_sim_step_t steps[]);

/** Go to the next order. @return false: there is none */
bool orders_next(orders_t *orders);

/** Whether the job is in a state in which it was before, after some of its
 * present choices. */
bool orders_repeat(const orders_t *orders);

/** Print the choices of the last job. */
void orders_print(const orders_t *orders);

static inline bool is_same_step(const catena_sim_step_t *a,
                                const catena_sim_step_t *b)
{
    return a->kind == b->kind && a->source == b->source && a->rank == b->rank &&
           a->number == b->number;
}

#endif
