/* The public collectives: from the arguments to an operation that runs, or to a
 * request. */

#include <string.h>

#include <catena/neighbor.h>

#include "coll/call/publish.h"
#include "core/refuse.h"
#include "group/recovery.h"
#include "neighbor/call/executor.h"

/** Creates the operation of a validated call. NULL: no memory. */
static ctn_op_t *make(const ctn_exchange_t *x, ctn_mode_t mode)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    ctn_op_t *op = ctn_op_take(neighborhood->exec, &x->collective->algorithm,
                               &neighborhood->sequence);
    if (op == NULL) {
        return NULL;
    }
    ctn_exchange_t *made = ctn_op_state(op);
    *made = *x;
    made->blocking = mode == CTN_BLOCKING;
    if ((mode != CTN_BLOCKING && ctn_neighbor_hold(made) != CATENA_OK) ||
        (mode == CTN_PERSISTENT ? ctn_neighbor_own_links(op)
                                : ctn_exchange_prepare(made)) != CATENA_OK) {
        ctn_op_release(op);
        return NULL;
    }
    return op;
}

/** Runs the operation of a blocking call, and keeps it for the next one if that
 * may then run inline. */
static catena_status_t run_blocking(ctn_op_t *op, const ctn_arguments_t *args)
{
    if (!ctn_inline_keep(op, args)) {
        return ctn_op_run(op->exec, op);
    }
    ctn_inline_request(op);
    ctn_op_start(op);
    return ctn_op_wait(op);
}

/** Runs a call that ctn_inline_call did not run: checks the arguments,
 * then runs the operation or makes a request. */
CTN_COLD static catena_status_t
run_usual(const ctn_neighbor_collective_t *collective,
          const ctn_arguments_t *args, catena_neighborhood_t *neighborhood,
          ctn_mode_t mode, catena_request_t **request,
          ctn_recorded_call_t *record)
{
    ctn_exchange_t x = {.collective = collective};
    catena_status_t status =
        ctn_neighbor_validate(collective, args, neighborhood, record, &x);
    if (status != CATENA_OK) {
        ctn_call_refused(neighborhood->group, record);
        return status;
    }
    if (mode == CTN_PERSISTENT) {
        status = ctn_group_explain_status(neighborhood->group);
        if (status != CATENA_OK) {
            return status;
        }
    }
    bool has_memory = x.by.op == NULL ||
                      ctn_reducer_reserve(&x.by, &neighborhood->exec->copies);
    ctn_op_t *op = has_memory ? make(&x, mode) : NULL;
    if (op == NULL) {
        return ctn_group_give_up(neighborhood->group, CATENA_ERR_NO_MEMORY);
    }
    if (mode == CTN_BLOCKING) {
        return run_blocking(op, args);
    }
    if (mode == CTN_PERSISTENT) {
        op->persistent = true;
    } else {
        ctn_op_start_request(op);
    }
    *request = op;
    return CATENA_OK;
}

/** Runs a call. Blocking ones that are in the call cache run inline. */
static inline catena_status_t run(const ctn_neighbor_collective_t *collective,
                                  const ctn_arguments_t *args,
                                  catena_neighborhood_t *neighborhood,
                                  ctn_mode_t mode, catena_request_t **request)
{
    ctn_recorded_call_t *record;
    if (CTN_UNUSABLE(neighborhood, CTN_NEIGHBORHOOD)) {
        return ctn_refuse_handle(args->collective->name, "neighborhood",
                                 neighborhood);
    }
    catena_status_t status =
        ctn_arguments_begin(args, neighborhood->group, mode, request, &record);
    if (status != CATENA_OK) {
        return status;
    }
    if (mode != CTN_BLOCKING ||
        !ctn_inline_call(collective, args, neighborhood, record, &status)) {
        status =
            run_usual(collective, args, neighborhood, mode, request, record);
    }
    ctn_arguments_returns(args, neighborhood->group, record, mode, status,
                          request);
    return status;
}

/* ---- public ---- */

enum {
#define CTN_NEIGHBOR(NAME, its_name, PATTERN, send, recv, traits) NAME,
#include "core/calls.def"
    COLLECTIVES
};
_Static_assert((int)COLLECTIVES == (int)CTN_NEIGHBOR_COLLECTIVES,
               "last_of has one for each");

#define CTN_NEIGHBOR(NAME, its_name, PATTERN, send, recv, traits)              \
    static const ctn_neighbor_collective_t its_name = {                        \
        .algorithm = CTN_EXCHANGE_ALGORITHM(#its_name),                        \
        .call = &ctn_call_##its_name,                                          \
        .index = NAME,                                                         \
        .operation = CATENA_NEIGHBOR_##PATTERN,                                \
    };
#include "core/calls.def"

#define RUN(name, args, mode, request)                                         \
    run(&name, args, neighborhood, mode, request)
#define PUBLISH(name, parameters, ...)                                         \
    CTN_PUBLISH(name, catena_neighborhood_t *neighborhood, RUN, parameters,    \
                __VA_ARGS__)

PUBLISH(neighbor_allgather, (CTN_SEND_UNIFORM, CTN_RECV_UNIFORM),
        CTN_UNIFORM(send, send_count, send_type),
        CTN_UNIFORM(recv, recv_count, recv_type))
PUBLISH(neighbor_allgatherv,
        (CTN_SEND_UNIFORM, CTN_RECV_LENGTHS, catena_type_t recv_type),
        CTN_UNIFORM(send, send_count, send_type), CTN_VECTOR(recv, recv_type))
PUBLISH(neighbor_alltoall, (CTN_SEND_UNIFORM, CTN_RECV_UNIFORM),
        CTN_UNIFORM(send, send_count, send_type),
        CTN_UNIFORM(recv, recv_count, recv_type))
PUBLISH(neighbor_alltoallv,
        (CTN_SEND_LENGTHS, catena_type_t send_type, CTN_RECV_LENGTHS,
         catena_type_t recv_type),
        CTN_VECTOR(send, send_type), CTN_VECTOR(recv, recv_type))
PUBLISH(neighbor_alltoallw,
        (CTN_SEND_LENGTHS, const catena_type_t send_types[], CTN_RECV_LENGTHS,
         const catena_type_t recv_types[]),
        CTN_TYPED(send), CTN_TYPED(recv))
PUBLISH(neighbor_reduce,
        (const void *send, void *recv, size_t count, catena_type_t type,
         catena_op_t op),
        CTN_UNIFORM(send, count, type), CTN_UNIFORM(recv, count, type),
        .op = ctn_reduce_op_of(op))
PUBLISH(neighbor_reducev,
        (CTN_SEND_LENGTHS, void *recv, size_t recv_count, catena_type_t type,
         catena_op_t op),
        CTN_VECTOR(send, type), CTN_UNIFORM(recv, recv_count, type),
        .op = ctn_reduce_op_of(op))

const ctn_neighbor_collective_t *
ctn_neighbor_collective_named(const char *function, const ctn_log_t *log,
                              const char *name)
{
    static const ctn_neighbor_collective_t *const all[] = {
#define CTN_NEIGHBOR(NAME, its_name, PATTERN, send, recv, traits) &its_name,
#include "core/calls.def"
    };
    for (size_t i = 0; i < COLLECTIVES; i++) {
        if (strcmp(name, all[i]->algorithm.name) == 0) {
            return all[i];
        }
    }
    (void)ctn_refuse(
        log, CATENA_ERR_ARG, function,
        "a neighborhood has no collective '%s'; expected neighbor_allgather, "
        "neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, "
        "neighbor_alltoallw, neighbor_reduce or neighbor_reducev",
        name);
    return NULL;
}
