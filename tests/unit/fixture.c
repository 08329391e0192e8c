#include "fixture.h"

#include "matrix.h"

uint32_t fixture_pick(uint64_t *random, uint32_t below)
{
    return (uint32_t)(job_random(random) % below);
}

static catena_status_t set_up(fixture_t *f, job_t *job, const ctn_bcol_t *bcol)
{
    *f = (fixture_t){.job = job, .random = job->seed * 89};
    f->own = f->random + job->rank + 1;
    catena_status_t status = subgroup_open(&f->subgroup, job, job->lane, bcol);
    if (status == CATENA_OK) {
        JOB_CHECK(job, catena_type_contiguous(4, CATENA_UINT32, &f->matrix) ==
                           CATENA_OK);
        JOB_CHECK(job, catena_op_create(matrix_multiply, NULL, 0,
                                        &f->product) == CATENA_OK);
    }
    return status;
}

static void tear_down(fixture_t *f)
{
    subgroup_close(&f->subgroup);
    JOB_CHECK(f->job, catena_type_free(&f->matrix) == CATENA_OK);
    JOB_CHECK(f->job, catena_op_free(&f->product) == CATENA_OK);
}

void fixture_run(job_t *job, const ctn_bcol_t *bcol, void (*body)(fixture_t *f))
{
    fixture_t f;
    uint64_t memory = job->exec->tally.memory;
    catena_status_t status = set_up(&f, job, bcol);
    if (bcol == &ctn_bcol_ucx && job->exec->network == NULL) {
        JOB_CHECK(job, status == CATENA_ERR_ARG);
        return;
    }
    JOB_CHECK(job, status == CATENA_OK);
    body(&f);
    tear_down(&f);
    JOB_CHECK(job, job->exec->tally.memory == memory);
}

void fixture_run_until_death(job_t *job, catena_status_t (*call)(fixture_t *f,
                                                                 uint32_t turn))
{
    fixture_t f;
    if (set_up(&f, job, &ctn_bcol_p2p) != CATENA_OK) {
        return;
    }
    for (uint32_t turn = 0; call(&f, turn) == CATENA_OK; turn++) {
    }
    tear_down(&f);
}

void fixture_run_held(fixture_t *f, ctn_op_t *const op[], unsigned count)
{
    unsigned order[16];
    for (unsigned i = 0; i < count; i++) {
        ctn_op_start_held(op[i]);
        unsigned at = fixture_pick(&f->own, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (unsigned i = 0; i < count; i++) {
        JOB_CHECK(f->job, op[order[i]]->state != CTN_OP_DONE);
        ctn_op_let_go(op[order[i]]);
        if (fixture_pick(&f->own, 2) == 0) {
            JOB_CHECK(f->job, catena_progress(f->job->context) == CATENA_OK);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        JOB_CHECK(f->job, ctn_op_wait(op[i]) == CATENA_OK);
        ctn_op_release(op[i]);
    }
}
