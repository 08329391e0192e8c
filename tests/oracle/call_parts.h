#ifndef ORACLE_CALL_PARTS_H
#define ORACLE_CALL_PARTS_H

#include "oracle/call.h"

/* What the parts of a call share: call.c has its buffers and their contents,
 * call_run.c runs it. */

static inline unsigned oracle_value(const oracle_call_t *call, unsigned factor)
{
    return call->c.value[factor];
}

static inline bool oracle_is_scatter(unsigned kind)
{
    return kind == ORACLE_SCATTER || kind == ORACLE_SCATTERV;
}

static inline bool oracle_scatters_result(unsigned kind)
{
    return oracle_reduces(kind) && oracle_has_blocks(kind);
}

/** Whether this rank's data are in the receive buffer before the call (for a
 * scatter: stay in the send buffer). */
static inline bool oracle_in_place(const oracle_call_t *call)
{
    return oracle_value(call, ORACLE_PLACE) == ORACLE_IN_PLACE &&
           (!oracle_rooted(call->view.kind) ||
            call->view.rank == call->view.root);
}

/** Whether the side has a buffer; if not, the call gets CATENA_IN_PLACE. */
static inline bool oracle_is_there(const oracle_call_t *call,
                                   const oracle_side_t *side)
{
    return !oracle_in_place(call) ||
           (side == &call->receive) != oracle_is_scatter(call->view.kind);
}

/** Free the operation, as a caller may before the call completes. */
void oracle_call_release_op(const oracle_t *oracle, oracle_call_t *call);

#endif
