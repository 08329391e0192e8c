/* SPL-1: split by an allgather of all records. Moody, Ahn, de Supinski:
 * Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 3.1
 * (AllgatherGroup), the algorithm of MPI libraries. Rounds: ceil(log2 N).
 * Messages: two per member and round. Memory: O(N) at each member. Time: O(N)
 * to find the n records of the own color, and O(n log n) to sort them. */

#include "group/chain_coll.h"
#include "split/algorithms.h"
#include "split/shared_table.h"
#include "split/verify.h"

typedef struct split_allgather {
    ctn_split_args_t args; /* argument */
    /* working */
    ctn_rank_blocks_t blocks;   /* the records of all members */
    ctn_shared_table_t *shared; /* in their place in simulations without data;
                                   else NULL */
    ctn_chain_place_t place;    /* of this member in its new chain */
    ctn_split_verify_t verify;
} split_allgather_t;

static ctn_step_t gather(ctn_op_t *op)
{
    split_allgather_t *a = ctn_op_state(op);
    const ctn_split_args_t *s = &a->args;
    if (!op->exec->drop_tables) {
        return ctn_op_call(
            op, ctn_chain_allgather(
                    op->exec, s->parent,
                    (ctn_rank_block_t){s->record, ctn_record_bytes(s->record)},
                    &a->blocks));
    }
    a->shared = ctn_shared_table_open(s);
    return ctn_op_call(op, a->shared != NULL
                               ? ctn_shared_table_allgather(a->shared, s)
                               : NULL);
}

static ctn_step_t sort(ctn_op_t *op)
{
    split_allgather_t *a = ctn_op_state(op);
    const ctn_split_args_t *s = &a->args;
    if (a->shared != NULL) {
        a->place = ctn_shared_table_place(a->shared, s);
        return CTN_STEP_NEXT;
    }
    uint32_t n = a->blocks.count;
    size_t bytes = 2 * (size_t)n * sizeof(const ctn_record_t *);
    const ctn_record_t **list = ctn_scratch_alloc(op->exec, bytes);
    if (list == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    for (uint32_t i = 0; i < n; i++) {
        list[i] = a->blocks.block[i].data;
    }
    uint32_t own_color = ctn_records_own_part(&s->by, s->record, list, n);
    a->place = ctn_records_place(s->record, list, own_color);
    ctn_scratch_free(op->exec, list, bytes);
    return CTN_STEP_NEXT;
}

/** Check that neighbors in a new chain have found each other. The library's own
 * comparators need no check. */
static ctn_step_t compare_links(ctn_op_t *op)
{
    split_allgather_t *a = ctn_op_state(op);
    return ctn_split_may_be_inconsistent(&a->args)
               ? ctn_op_call(op,
                             ctn_split_verify_create(op->exec, a->args.parent,
                                                     &a->verify, &a->place, 0))
               : CTN_STEP_NEXT;
}

static ctn_step_t link(ctn_op_t *op)
{
    split_allgather_t *a = ctn_op_state(op);
    if (!ctn_split_verified(&a->verify)) {
        return ctn_op_fail(op, CATENA_ERR_ARG);
    }
    ctn_chain_set_place(a->args.chain, a->place);
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    split_allgather_t *a = ctn_op_state(op);
    ctn_rank_blocks_release(op->exec, &a->blocks);
    ctn_shared_table_close(a->shared);
}

static const ctn_phase_t phases[] = {{"gather", gather},
                                     {"sort", sort},
                                     {"compare links", compare_links},
                                     {"link", link},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "split/allgather",
    .state_bytes = sizeof(split_allgather_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_split_allgather(const ctn_split_args_t *args)
{
    ctn_op_t *op = ctn_op_create(args->by.exec, &algorithm, NULL);
    if (op != NULL) {
        ((split_allgather_t *)ctn_op_state(op))->args = *args;
    }
    return op;
}
