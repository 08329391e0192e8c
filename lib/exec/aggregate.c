#include "exec/aggregate.h"

/** The word of one contribution. */
static uint64_t contribution(uint64_t number, size_t bytes)
{
    uint64_t length = bytes <= CTN_AGGREGATE_BLOCK_BYTES
                          ? (uint64_t)bytes
                          : CTN_AGGREGATE_DIFFERS;
    return ctn_flag(number,
                    CTN_AGGREGATE_FLAG | CTN_AGGREGATE_CONTRIBUTION | length);
}

/** Add a contribution to the word of an area.
 * @param own the word of this contribution alone
 * @return the word after it */
static uint64_t add_contribution(uint64_t *word, uint64_t number, uint64_t own)
{
    uint64_t old = ctn_word_load(word);
    uint64_t joined;
    do {
        joined = own;
        if (ctn_aggregate_matches(old, number)) {
            joined = old + CTN_AGGREGATE_CONTRIBUTION;
            if (ctn_aggregate_bytes(old) != ctn_aggregate_bytes(own)) {
                joined |= CTN_AGGREGATE_DIFFERS;
            }
        }
    } while (!__atomic_compare_exchange_n(word, &old, joined, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return joined;
}

/** Count a message. @return how many bytes it has */
static size_t count_message(ctn_op_t *op, const ctn_aggregate_t *aggregate)
{
    uint32_t bytes = ctn_aggregate_bytes(aggregate->to.value);
    size_t all =
        bytes != CTN_AGGREGATE_MISMATCH ? (size_t)bytes * aggregate->blocks : 0;
    op->exec->tally.messages++;
    op->exec->tally.bytes += all;
    return all;
}

catena_status_t ctn_aggregate_join(ctn_op_t *op, ctn_aggregate_t *aggregate,
                                   size_t bytes)
{
    ctn_put_t *to = &aggregate->to;
    to->value = add_contribution(aggregate->word, aggregate->number,
                                 contribution(aggregate->number, bytes));
    if (ctn_aggregate_contributions(to->value) != aggregate->contributors) {
        return CATENA_OK;
    }
    size_t all = count_message(op, aggregate);
    catena_status_t status =
        ctn_put_signal(to->endpoint, ctn_exec_data(op->exec, aggregate->data),
                       all, to->offset, to->word, to->value, &op->pending);
    if (op->pending != 0) {
        ctn_op_set_network(op, true);
    }
    return status;
}

int ctn_aggregate_send_alone(ctn_op_t *op, ctn_aggregate_t *aggregate,
                             const ctn_span_t *blocks, size_t bytes)
{
    ctn_span_cursor_t cursor = {blocks, 0};
    aggregate->to.value = contribution(aggregate->number, bytes);
    int sent =
        ctn_put_spans(op, &aggregate->to, &cursor, bytes * aggregate->blocks);
    if (sent > 0) {
        (void)count_message(op, aggregate);
    }
    return sent;
}
