/* What the components share: the choice by rules, messages, the balanced tree.
 */

#include "coll/bcol/bcol.h"

void ctn_basic_find_rule(ctn_module_t *module, ctn_basic_kind_t kind,
                         ctn_algorithm_set_t possible, bool blocking,
                         size_t bytes)
{
    static const ctn_rules_of_t lists[CTN_BASICS] = {
        [CTN_BARRIER] = CTN_RULES_BARRIER,
        [CTN_FANIN] = CTN_RULES_REDUCE,
        [CTN_FANOUT] = CTN_RULES_BCAST,
        [CTN_BCAST] = CTN_RULES_BCAST,
        [CTN_REDUCE] = CTN_RULES_REDUCE,
        [CTN_ALLREDUCE] = CTN_RULES_ALLREDUCE,
        [CTN_SCAN] = CTN_RULES_SCAN,
        [CTN_EXSCAN] = CTN_RULES_SCAN,
        [CTN_GATHER] = CTN_RULES_GATHER,
        [CTN_SCATTER] = CTN_RULES_SCATTER,
        [CTN_ALLGATHER] = CTN_RULES_ALLGATHER,
        [CTN_REDUCE_SCATTER] = CTN_RULES_REDUCE_SCATTER,
        [CTN_ALLTOALL] = CTN_RULES_ALLTOALL};
    const ctn_sbgp_t *sbgp = module->sbgp;
    const ctn_rule_facts_t facts = {.ranks = sbgp->size,
                                    .nodes = sbgp->nodes,
                                    .ppn = sbgp->ppn,
                                    .oversubscribed = sbgp->oversubscribed,
                                    .blocking = blocking};
    ctn_tuning_find(module->exec->tuning, lists[kind], possible, &facts, bytes,
                    &module->choice[kind].kept);
}

ctn_op_t *ctn_basic_make(ctn_module_t *module, ctn_basic_kind_t kind,
                         const ctn_basic_coll_t *basic)
{
    const ctn_bcol_t *bcol = module->bcol;
    const ctn_algorithm_t *algorithm = bcol->choose(module, kind, basic);
    ctn_op_t *op = algorithm != NULL
                       ? ctn_op_take(module->exec, algorithm, module->sequence)
                       : NULL;
    if (op != NULL) {
        bcol->set(op, module, kind, basic);
    }
    return op;
}

void ctn_basic_report_counts(const ctn_module_t *module,
                             const ctn_basic_coll_t *basic, uint32_t member)
{
    const ctn_sbgp_t *sbgp = module->sbgp;
    ctn_error(module->exec->log,
              "%s: rank %u and rank %u have different counts; give the same "
              "counts on all ranks",
              basic->call, sbgp->member[member].rank,
              sbgp->member[sbgp->me].rank);
}

void ctn_basic_reduce(const ctn_module_t *module, const ctn_basic_coll_t *basic,
                      ctn_operand_t operand, void *from, size_t bytes,
                      void *out)
{
    uint32_t size = module->sbgp->size;
    if (!module->exec->drop_data) {
        ctn_balanced_reduce(&basic->by, size, operand, from, bytes, out);
    }
    ctn_exec_charge(module->exec, CTN_WORK_REDUCE, (size - 1) * bytes);
}
