/* All orders that can differ: sleep sets (P. Godefroid, Partial-Order Methods
 * for the Verification of Concurrent Systems, 1996). A step is asleep where all
 * orders that begin with it were run already, until a step is chosen that does
 * not commute with it. */

#include "explore_orders.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accesses.h"
#include "states.h"

enum {
    MOST_STEPS = 32,  /* that may come next */
    MOST_DEPTH = 4096 /* steps of the call */
};

/** A point at which a step was chosen. */
typedef struct point {
    catena_sim_step_t step[MOST_STEPS];
    /** What each step accesses from here on; NULL: it was not run. */
    const accesses_t *accesses[MOST_STEPS];
    bool asleep[MOST_STEPS];
    bool passed[MOST_STEPS]; /* run from this state in another order */
    size_t count;
    size_t chosen;
    state_t state;
} point_t;

struct orders {
    const int *node_of; /* NULL: no steps commute */
    size_t depth;       /* points whose choice is fixed */
    size_t at;          /* the next point of the job */
    point_t point[MOST_DEPTH];
};

orders_t *orders_create(const int *node_of)
{
    orders_t *orders = calloc(1, sizeof(*orders));
    if (orders != NULL) {
        orders->node_of = node_of;
    }
    return orders;
}

void orders_free(orders_t *orders)
{
    free(orders);
    accesses_release();
    states_clear();
}

void orders_start(orders_t *orders)
{
    orders->at = 0;
}

void orders_stepped(orders_t *orders)
{
    accesses_t *accesses = accesses_end();
    if (accesses != NULL) {
        point_t *point = &orders->point[orders->at - 1];
        point->accesses[point->chosen] = accesses;
    }
}

static bool is_arrival(const catena_sim_step_t *step)
{
    return step->kind == CATENA_SIM_ARRIVES;
}

/** Whether the rank of `step` sees what arrives. It then runs once more, and
 * even a poll that finds nothing may change what the rank polls next. */
static bool wakes(const orders_t *orders, const catena_sim_step_t *arrival,
                  const catena_sim_step_t *step)
{
    return is_arrival(arrival) &&
           (arrival->wide
                ? orders->node_of[arrival->rank] == orders->node_of[step->rank]
                : arrival->rank == step->rank);
}

/** Whether steps commute if they access different memory. What arrives from one
 * rank stays in order. */
static bool are_apart(const orders_t *orders, const catena_sim_step_t *a,
                      const catena_sim_step_t *b)
{
    if (is_arrival(a) && is_arrival(b)) {
        return a->source != b->source || a->rank != b->rank;
    }
    return a->rank != b->rank && !wakes(orders, a, b) && !wakes(orders, b, a);
}

/** Whether steps commute if all that is known is where they happen. */
static bool are_far(const orders_t *orders, const catena_sim_step_t *a,
                    const catena_sim_step_t *b)
{
    bool run = a->kind == CATENA_SIM_RUNS && b->kind == CATENA_SIM_RUNS;
    bool together = run && orders->node_of[a->rank] == orders->node_of[b->rank];
    /* A rank may wait until what it sent has arrived. */
    bool own = (is_arrival(a) && a->source == b->rank) ||
               (is_arrival(b) && b->source == a->rank);
    return a->rank != b->rank && !a->wide && !b->wide && !together && !own;
}

/** Whether a death commutes with another step: a message of another rank that
 * arrives on another node. Ranks of a node see at once that another rank is
 * dead. */
static bool is_apart_from_death(const orders_t *orders,
                                const catena_sim_step_t *death,
                                const catena_sim_step_t *step)
{
    return is_arrival(step) && step->source != death->rank &&
           orders->node_of[step->rank] != orders->node_of[death->rank];
}

/** Whether two steps that may both come next commute.
 * @param of_a,of_b what they access; NULL: it was not recorded */
static bool commute(const orders_t *orders, const catena_sim_step_t *a,
                    const accesses_t *of_a, const catena_sim_step_t *b,
                    const accesses_t *of_b)
{
    if (orders->node_of == NULL) {
        return false;
    }
    if (a->kind == CATENA_SIM_DIES || b->kind == CATENA_SIM_DIES) {
        return is_apart_from_death(orders, a, b) ||
               is_apart_from_death(orders, b, a);
    }
    if (of_a != NULL && of_b != NULL) {
        return are_apart(orders, a, b) && !accesses_meet(of_a, of_b);
    }
    return are_far(orders, a, b);
}

/** Add the next point. The steps that were asleep before still are if they
 * commute with the chosen one; then they access the same as there. */
static point_t *add_point(orders_t *orders, size_t count,
                          const catena_sim_step_t steps[])
{
    point_t *point = &orders->point[orders->at];
    const point_t *before = orders->at > 0 ? point - 1 : NULL;
    point->count = count;
    memcpy(point->step, steps, count * sizeof(*steps));
    memset(point->asleep, 0, sizeof(point->asleep));
    memset(point->passed, 0, sizeof(point->passed));
    memset(point->accesses, 0, sizeof(point->accesses));
    for (size_t k = 0; before != NULL && k < before->count; k++) {
        size_t i = 0;
        while (i < count && !is_same_step(&steps[i], &before->step[k])) {
            i++;
        }
        if (i < count && before->asleep[k] &&
            commute(orders, &before->step[before->chosen],
                    before->accesses[before->chosen], &before->step[k],
                    before->accesses[k])) {
            point->asleep[i] = true;
            point->accesses[i] = before->accesses[k];
        }
    }
    return point;
}

static bool is_lower(const catena_sim_step_t *a, const catena_sim_step_t *b)
{
    return a->kind != b->kind       ? a->kind < b->kind
           : a->source != b->source ? a->source < b->source
                                    : a->rank < b->rank;
}

/** The bit of a step, which does not follow from the order before. */
static uint64_t bit_of(const point_t *point, size_t i)
{
    unsigned lower = 0;
    for (size_t k = 0; k < point->count; k++) {
        lower += is_lower(&point->step[k], &point->step[i]);
    }
    return UINT64_C(1) << lower;
}

/** If the state is known, only those steps remain that were asleep whenever it
 * was found (Godefroid, section 5.3). */
static void match_state(point_t *point)
{
    uint64_t asleep = 0;
    for (size_t i = 0; i < point->count; i++) {
        asleep |= point->asleep[i] ? bit_of(point, i) : 0;
    }
    uint64_t *before = states_find(asleep);
    if (before == NULL) {
        return;
    }
    for (size_t i = 0; i < point->count; i++) {
        uint64_t bit = bit_of(point, i);
        point->passed[i] = (*before & bit) == 0 || point->asleep[i];
        point->asleep[i] = point->asleep[i] && (*before & bit) != 0;
    }
    *before &= asleep;
}

/** Choose the first step that is to be run. */
static bool advance(point_t *point)
{
    point->chosen = 0;
    while (point->chosen < point->count &&
           (point->asleep[point->chosen] || point->passed[point->chosen])) {
        point->chosen++;
    }
    return point->chosen < point->count;
}

int orders_choose(orders_t *orders, size_t count,
                  const catena_sim_step_t steps[])
{
    if (orders->at == MOST_DEPTH || count > MOST_STEPS) {
        return -2;
    }
    if (orders->at == orders->depth) {
        point_t *next = add_point(orders, count, steps);
        match_state(next);
        next->state = states_last();
        if (!advance(next)) {
            return -1;
        }
        orders->depth++;
    }
    point_t *point = &orders->point[orders->at++];
    if (point->count != count ||
        !is_same_step(&point->step[point->chosen], &steps[point->chosen])) {
        return -2;
    }
    if (orders->at == orders->depth) { /* the next state is looked up */
        states_step(&point->state, &steps[point->chosen]);
    }
    if (point->accesses[point->chosen] == NULL) {
        accesses_begin();
    }
    return (int)point->chosen;
}

bool orders_repeat(const orders_t *orders)
{
    state_t now = states_last();
    size_t i = 0;
    while (i < orders->at &&
           memcmp(&orders->point[i].state, &now, sizeof(now)) != 0) {
        i++;
    }
    return i < orders->at;
}

bool orders_next(orders_t *orders)
{
    while (orders->depth > 0) {
        point_t *point = &orders->point[orders->depth - 1];
        point->asleep[point->chosen] = true;
        if (advance(point)) {
            return true;
        }
        orders->depth--;
    }
    return false;
}

void orders_print(const orders_t *orders)
{
    for (size_t i = 0; i < orders->at; i++) {
        printf(" %zu", orders->point[i].chosen);
    }
}
