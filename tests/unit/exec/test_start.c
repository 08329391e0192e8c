/* An operation that cannot start. */

#include "exec/exec.h"
#include "transports/shm/shm.h"
#include "unit/unit.h"

static unsigned ends;

static void ended(ctn_op_t *op)
{
    ck_assert_int_eq(op->state, CTN_OP_DONE);
    ends++;
}

static ctn_op_t *no_barrier(ctn_exec_t *exec, ctn_sequence_t *sequence)
{
    (void)exec;
    (void)sequence;
    return NULL;
}

/** There is no memory for a barrier before it. It ends all the same, and leaves
 * nothing behind for the next operation in its memory. */
START_TEST(it_ends_once)
{
    static const ctn_phase_t phases[] = {{NULL, NULL}};
    static const ctn_algorithm_t algorithm = {.name = "test", .phases = phases};
    static const ctn_sequence_hooks_t hooks = {.make_barrier = no_barrier};
    ctn_exec_t exec = {.local = ctn_shm_create(0, NULL, NULL),
                       .doorbell = {.fd = -1}};
    ctn_sequence_t sequence;
    ctn_exec_init(&exec);
    ctn_sequence_set(&sequence, NULL, 4, 2);
    sequence.hooks = &hooks;
    sequence.unsynchronized = 3; /* a generation barrier is due */
    ctn_op_t *op = ctn_op_take(&exec, &algorithm, &sequence);
    ck_assert_ptr_nonnull(op);
    op->ended = ended;
    ctn_op_start(op);
    ck_assert_int_eq(op->state, CTN_OP_DONE);
    ck_assert_int_eq(op->status, CATENA_ERR_ENDED);
    ck_assert_uint_eq(ends, 1);
    ctn_op_release(op);
    ctn_op_t *again = NULL; /* with assertions not the first one */
    for (int i = 0; again != op && i < 64; i++) {
        again = ctn_op_take(&exec, &algorithm, NULL);
    }
    ck_assert_ptr_eq(again, op);
    ck_assert(op->ended == NULL);
    ctn_exec_release(&exec);
    exec.local->ops->destroy(exec.local);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, it_ends_once);
}

UNIT_TEST(start)
{
    return unit_main("starts", 10, add_cases);
}
