#include "coll/bcol/bcol.h"

const ctn_bcol_t *const ctn_bcols[] = {&ctn_bcol_shm, &ctn_bcol_p2p,
                                       &ctn_bcol_ucx, NULL};

catena_status_t ctn_block_mismatch(const ctn_module_t *module, const char *what,
                                   uint32_t sender, uint64_t found,
                                   uint64_t expected)
{
    ctn_error(module->exec->log,
              "%s: the block from rank %u has %llu bytes; expected %llu; give "
              "the same length where it is sent and where it is received",
              what, module->sbgp->member[sender].rank,
              (unsigned long long)found, (unsigned long long)expected);
    return CATENA_ERR_ARG;
}
