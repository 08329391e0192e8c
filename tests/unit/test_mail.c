/* Messages of any length between neighbours, in both directions, and the
 * log-chain. usage: test_mail, or as a rank under a launcher: test_mail --rank
 */

#include <stdlib.h>
#include <string.h>

#include "exec/mail.h"
#include "job.h"
#include "unit.h"

enum { LEFT, RIGHT };

static const size_t long_lengths[] = {8192, 1 << 20, 0, 113, 112, 255, 65537};
#define LONG_LENGTHS (sizeof(long_lengths) / sizeof(long_lengths[0]))

enum { SHORT_TURNS = 301, TURNS = SHORT_TURNS + LONG_LENGTHS };

static unsigned char content(uint32_t from, unsigned side, uint32_t turn,
                             size_t i)
{
    return (unsigned char)(from * 31 + side * 7 + turn * 131 + i + (i >> 8));
}

/** Every turn a message each way; slots in alternation. */
typedef struct exchange {
    job_t *job;
    uint32_t turns;
    uint32_t turn;
    bool sent;
    bool here[2];
    ctn_parcel_t parcel[2][2];
    ctn_letter_t letter[2];
} exchange_t;

/** The first turns have all lengths; from both sides different ones. */
static size_t length_of(uint32_t turn, uint32_t from, unsigned side)
{
    return turn < SHORT_TURNS
               ? (turn + from + side * 150) % SHORT_TURNS
               : long_lengths[(turn - SHORT_TURNS + from + side) %
                              LONG_LENGTHS];
}

static ctn_address_t neighbour(const exchange_t *x, unsigned side)
{
    const ctn_chain_t *chain = &x->job->lane->chain;
    return side == LEFT ? chain->left : chain->right;
}

static ctn_step_t send(ctn_op_t *op, exchange_t *x, unsigned side)
{
    ctn_parcel_t *parcel = &x->parcel[side][x->turn & 1];
    if (!ctn_address_exists(neighbour(x, side))) {
        return CTN_STEP_NEXT;
    }
    size_t bytes = length_of(x->turn, x->job->rank, side);
    unsigned char *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = content(x->job->rank, side, x->turn, i);
    }
    catena_status_t status =
        ctn_mail_send(op, neighbour(x, side), 2 * !side + (x->turn & 1),
                      x->turn, data, bytes, parcel);
    memset(data, 0xee, bytes); /* it is free on return */
    free(data);
    if (ctn_mail_taken(op, parcel)) { /* and so is the copy now */
        void *reused = ctn_scratch_alloc(op->exec, bytes);
        memset(reused, 0xdd, bytes);
        ctn_scratch_free(op->exec, reused, bytes);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static void check(exchange_t *x, unsigned side)
{
    const ctn_letter_t *letter = &x->letter[side];
    uint32_t from = side == LEFT ? x->job->rank - 1 : x->job->rank + 1;
    size_t bytes = length_of(x->turn, from, !side);
    size_t same = 0;
    JOB_CHECK(x->job, letter->bytes == bytes);
    while (same < bytes && same < letter->bytes &&
           letter->data[same] == content(from, !side, x->turn, same)) {
        same++;
    }
    JOB_CHECK(x->job, same == bytes);
    JOB_CHECK(x->job, (uintptr_t)letter->data % 8 == 0);
}

static ctn_step_t receive(ctn_op_t *op, exchange_t *x, unsigned side)
{
    if (!ctn_address_exists(neighbour(x, side)) || x->here[side]) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step =
        ctn_mail_receive(op, neighbour(x, side), 2 * side + (x->turn & 1),
                         x->turn, &x->letter[side]);
    if (step == CTN_STEP_NEXT) {
        check(x, side);
        ctn_letter_release(op, &x->letter[side]);
        x->here[side] = true;
    }
    return step;
}

static ctn_step_t send_both(ctn_op_t *op, exchange_t *x)
{
    for (unsigned side = LEFT; side <= RIGHT; side++) {
        if (!ctn_mail_taken(op, &x->parcel[side][x->turn & 1])) {
            return CTN_STEP_WAIT;
        }
    }
    for (unsigned side = LEFT; side <= RIGHT; side++) {
        if (send(op, x, side) == CTN_STEP_FAIL) {
            return CTN_STEP_FAIL;
        }
    }
    x->sent = true;
    return CTN_STEP_MOVED;
}

static ctn_step_t turns(ctn_op_t *op)
{
    exchange_t *x = ctn_op_state(op);
    if (x->turn == x->turns) {
        return CTN_STEP_NEXT;
    }
    if (!x->sent) {
        return send_both(op, x);
    }
    ctn_step_t left = receive(op, x, LEFT);
    ctn_step_t right = left != CTN_STEP_FAIL ? receive(op, x, RIGHT) : left;
    if (left != CTN_STEP_NEXT || right != CTN_STEP_NEXT) {
        return left == CTN_STEP_FAIL    ? left
               : right != CTN_STEP_NEXT ? right
                                        : left;
    }
    x->turn++;
    x->sent = x->here[LEFT] = x->here[RIGHT] = false;
    return CTN_STEP_MOVED;
}

static ctn_step_t end(ctn_op_t *op)
{
    exchange_t *x = ctn_op_state(op);
    bool taken = true;
    for (unsigned i = 0; i < 4; i++) {
        taken &= ctn_mail_taken(op, &x->parcel[i / 2][i % 2]);
    }
    return taken ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

static void finish(ctn_op_t *op)
{
    exchange_t *x = ctn_op_state(op);
    for (unsigned i = 0; i < 4; i++) {
        ctn_parcel_drop(op, &x->parcel[i / 2][i % 2]);
    }
    ctn_letter_release(op, &x->letter[LEFT]);
    ctn_letter_release(op, &x->letter[RIGHT]);
}

static const ctn_phase_t phases[] = {
    {"turns", turns}, {"end", end}, {NULL, NULL}};

/* Between two of them the test has a scan. */
static const ctn_algorithm_t algorithm = {
    .name = "test/exchange",
    .state_bytes = sizeof(exchange_t),
    .phases = phases,
    .finish = finish,
};

static catena_status_t meet(job_t *job)
{
    ctn_words_t own = {{1}};
    ctn_words_t left;
    ctn_words_t right;
    catena_status_t status = ctn_op_run(ctn_scan_create(
        job->exec, job->lane, ctn_fold_sum, &own, &left, &right, sizeof(own)));
    JOB_CHECK(job, status != CATENA_OK || (left.word[0] == job->rank));
    return status;
}

static catena_status_t exchange(job_t *job, uint32_t turns_wanted)
{
    ctn_op_t *op = ctn_op_create(job->exec, &algorithm, &job->lane->channel);
    exchange_t *x = ctn_op_state(op);
    x->job = job;
    x->turns = turns_wanted;
    catena_status_t status = ctn_op_run(op);
    return status == CATENA_OK ? meet(job) : status;
}

static void mail(job_t *job)
{
    uint64_t memory = job->exec->tally.memory;
    uint64_t messages = job->exec->tally.messages;
    uint64_t bytes = job->exec->tally.bytes;
    for (int i = 0; i < 6; i++) {
        JOB_CHECK(job, exchange(job, i == 3 ? TURNS : SHORT_TURNS / 10) ==
                           CATENA_OK);
    }
    const ctn_tally_t *tally = &job->exec->tally;
    JOB_CHECK(job, tally->memory == memory);
    if (job->size > 1) {
        JOB_CHECK(job, tally->messages - messages > TURNS);
        JOB_CHECK(job, tally->bytes - bytes > 1 << 20);
        JOB_CHECK(job, tally->most_memory - memory >= 1 << 20);
    }
}

/** A rank dies somewhere in between: the others see it, nothing crashes. */
static void mail_until_death(job_t *job)
{
    while (exchange(job, TURNS) == CATENA_OK) {
    }
}

/* ---- the log-chain ---- */

static void log_chain(job_t *job)
{
    uint64_t memory = job->exec->tally.memory;
    for (int i = 0; i < 3; i++) {
        JOB_CHECK(job, ctn_op_run(ctn_logchain_create(job->exec, job->lane)) ==
                           CATENA_OK);
    }
    const ctn_logchain_t *log = job->lane->log;
    unsigned round = 0;
    for (; UINT64_C(1) << round < job->size; round++) {
        uint32_t away = UINT32_C(1) << round;
        for (unsigned side = LEFT; side <= RIGHT; side++) {
            ctn_address_t member = log->round[round].side[side];
            uint32_t rank = side == LEFT ? job->rank - away : job->rank + away;
            JOB_CHECK(job, ctn_address_exists(member) == (rank < job->size));
            if (rank < job->size) { /* the world's blocks lie alike */
                JOB_CHECK(job, member.process == rank);
                JOB_CHECK(job, member.offset == job->lane->chain.self.offset);
            }
        }
    }
    JOB_CHECK(job, log->rounds == round);
    JOB_CHECK(job, job->exec->tally.memory > memory);
    ctn_logchain_drop(job->lane);
    JOB_CHECK(job, job->lane->log == NULL);
    JOB_CHECK(job, job->exec->tally.memory == memory);
    JOB_CHECK(job, ctn_op_run(ctn_logchain_create(job->exec, job->lane)) ==
                       CATENA_OK); /* goes with the group */
}

/* ---- all of it ---- */

START_TEST(test_mail)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        ck_assert_int_eq(job_simulate((uint32_t)_i, seed, mail), 0);
    }
}
END_TEST

START_TEST(test_death)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        job_simulate_death(5, seed, 500 + seed * seed * 53, mail_until_death);
    }
}
END_TEST

START_TEST(test_log_chain)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        ck_assert_int_eq(job_simulate((uint32_t)_i, seed, log_chain), 0);
    }
}
END_TEST

static void everything(job_t *job)
{
    mail(job);
    log_chain(job);
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_mail, 1, 7);
    tcase_add_test(tcase, test_death);
    tcase_add_loop_test(tcase, test_log_chain, 1, 34);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv) ? job_rank(1, everything)
                                   : unit_main("mail", 60, add_cases);
}
