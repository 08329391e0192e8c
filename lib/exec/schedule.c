#include "exec/schedule.h"

#include "exec/slot.h"

/** Send message i of the round. WAIT: the network has no buffer for it. */
static ctn_step_t send_message(ctn_op_t *op, ctn_rounds_t *rounds, unsigned i)
{
    ctn_address_t to = rounds->send[i].to;
    unsigned slot = rounds->send[i].slot;
    const void *data = rounds->send[i].data;
    size_t bytes = rounds->send[i].bytes;
    size_t tail_bytes = rounds->send[i].tail_bytes;
    if (tail_bytes > 0) {
        ctn_span_t spans[] = {
            {(void *)(uintptr_t)data, bytes, NULL},
            {(void *)(uintptr_t)rounds->send[i].tail, tail_bytes, NULL}};
        int sent = ctn_message_send_spans(op, to, slot, rounds->turn, spans,
                                          bytes + tail_bytes);
        return sent > 0    ? CTN_STEP_MOVED
               : sent == 0 ? CTN_STEP_WAIT
                           : ctn_op_fail(op, (catena_status_t)sent);
    }
    if (bytes > ctn_slot_capacity(op->sequence, slot) &&
        bytes != CTN_MESSAGE_MISMATCH) {
        assert(slot < CTN_ROUND_SLOTS);
        rounds->unread[slot / 64] |= UINT64_C(1) << slot % 64;
        rounds->any_unread = true;
    }
    catena_status_t status =
        ctn_message_send_zcopy(op, to, slot, rounds->turn, data, bytes);
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** Whether all rendezvous messages have been read. */
static bool all_acknowledged(const ctn_op_t *op, ctn_rounds_t *rounds)
{
    for (unsigned i = 0; i < CTN_ROUND_SLOTS / 64; i++) {
        for (uint64_t *left = &rounds->unread[i]; *left != 0;
             *left &= *left - 1) {
            unsigned slot = 64 * i + (unsigned)__builtin_ctzll(*left);
            if (!ctn_message_acknowledged(op, slot, rounds->turn)) {
                return false;
            }
        }
    }
    rounds->any_unread = false;
    return true;
}

bool ctn_rounds_all_read(const ctn_op_t *op, ctn_rounds_t *rounds)
{
    return op->pending == 0 &&
           (!rounds->any_unread || all_acknowledged(op, rounds));
}

/** Receive message i of the round. */
static ctn_step_t receive_message(ctn_op_t *op, ctn_rounds_t *rounds,
                                  const ctn_rounds_schedule_t *schedule,
                                  unsigned i)
{
    if (schedule->receive != NULL) {
        return schedule->receive(op, i);
    }
    ctn_step_t step = ctn_message_receive(op, rounds->receive[i].from,
                                          rounds->receive[i].slot, rounds->turn,
                                          &rounds->handle[i]);
    if (step == CTN_STEP_WAIT) {
        op->waits_for = rounds->receive[i].rank;
    }
    return step;
}

/** Set the next round. NEXT: there are no more, and all rendezvous messages
 * have been read. */
static ctn_step_t begin_round(ctn_op_t *op, ctn_rounds_t *rounds,
                              const ctn_rounds_schedule_t *schedule)
{
    rounds->sends = rounds->awaited = 0;
    rounds->overwrites = false;
    if (!schedule->round(op, rounds->index)) {
        return !rounds->any_unread || all_acknowledged(op, rounds)
                   ? CTN_STEP_NEXT
                   : CTN_STEP_WAIT;
    }
    rounds->begun = true;
    op->exec->tally.rounds += (rounds->sends | rounds->awaited) != 0;
    return op->status == CATENA_OK ? CTN_STEP_MOVED : CTN_STEP_FAIL;
}

/** Send the messages of a round. Not part of what each poll runs. */
__attribute__((noinline)) static ctn_step_t
send_messages(ctn_op_t *op, ctn_rounds_t *rounds,
              const ctn_rounds_schedule_t *schedule)
{
    ctn_step_t step =
        rounds->begun ? CTN_STEP_MOVED : begin_round(op, rounds, schedule);
    for (unsigned i = 0; step == CTN_STEP_MOVED && rounds->sends >> i != 0;
         i++) {
        if (rounds->sends >> i & 1u) {
            step = send_message(op, rounds, i);
            rounds->sends &= (uint8_t) ~((step == CTN_STEP_MOVED) << i);
        }
    }
    return step;
}

/** Receive the messages of a round. MOVED: all have arrived. */
static inline ctn_step_t receive_messages(ctn_op_t *op, ctn_rounds_t *rounds,
                                          const ctn_rounds_schedule_t *schedule)
{
    for (unsigned left = rounds->awaited; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        ctn_step_t step = receive_message(op, rounds, schedule, i);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        rounds->awaited &= (uint8_t) ~((step == CTN_STEP_NEXT) << i);
    }
    return rounds->awaited == 0 ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

/** Take the messages of the round, which have arrived. */
static ctn_step_t end_round(ctn_op_t *op, ctn_rounds_t *rounds,
                            const ctn_rounds_schedule_t *schedule)
{
    if (rounds->overwrites && !ctn_rounds_all_read(op, rounds)) {
        return CTN_STEP_WAIT;
    }
    catena_status_t status = schedule->take(op, rounds->index);
    ctn_rounds_release(op, rounds);
    rounds->begun = false;
    rounds->index++;
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

ctn_step_t ctn_rounds_run(ctn_op_t *op, ctn_rounds_t *rounds,
                          const ctn_rounds_schedule_t *schedule)
{
    ctn_step_t step = CTN_STEP_MOVED;
    while (step == CTN_STEP_MOVED) {
        if (!rounds->begun || rounds->sends != 0) {
            step = send_messages(op, rounds, schedule);
        }
        if (step == CTN_STEP_MOVED) {
            step = receive_messages(op, rounds, schedule);
        }
        if (step == CTN_STEP_MOVED) {
            step = end_round(op, rounds, schedule);
        }
    }
    return step;
}

void ctn_rounds_release(ctn_op_t *op, ctn_rounds_t *rounds)
{
    for (unsigned i = 0; i < CTN_ROUND_MESSAGES; i++) {
        if (rounds->handle[i].data != NULL || rounds->handle[i].fetching) {
            ctn_receive_handle_release(op, &rounds->handle[i]);
        }
    }
}
