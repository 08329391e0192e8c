/* What the variables of launchers say. */

#include <stdlib.h>

#include "boot/ops.h"

static const struct {
    const char *name;
    const char *rank;
    const char *size;
} launchers[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"Hydra (mpiexec) or srun --mpi=pmi2", "PMI_RANK", "PMI_SIZE"},
    /* Not SLURM_NTASKS, which a batch script has, too. */
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    {"PALS", "PALS_RANKID", "PALS_NRANKS"},
    {"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"torchrun or the like", "RANK", "WORLD_SIZE"},
};

/** Read a variable that is a number. @return false: it is not set, or none */
static bool read_number(const char *variable, uint32_t *number)
{
    const char *text = secure_getenv(variable);
    char *end;
    if (text == NULL || *text < '0' || *text > '9') {
        return false;
    }
    unsigned long long value = strtoull(text, &end, 10);
    *number = (uint32_t)value;
    return *end == '\0' && value <= INT32_MAX;
}

enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]) };

static ctn_launched_t read_launcher(size_t i)
{
    ctn_launched_t found = {launchers[i].name, launchers[i].size, 0, 0};
    return read_number(launchers[i].rank, &found.rank) &&
                   read_number(launchers[i].size, &found.size) &&
                   found.rank < found.size
               ? found
               : (ctn_launched_t){.launcher = NULL};
}

ctn_launched_t ctn_boot_launched(void)
{
    ctn_launched_t first = {.launcher = NULL};
    for (size_t i = 0; i < LAUNCHERS; i++) {
        ctn_launched_t found = read_launcher(i);
        if (found.size > 1) {
            return found;
        }
        first = first.launcher == NULL ? found : first;
    }
    return first;
}

ctn_launched_t ctn_boot_launched_env(void)
{
    return read_launcher(LAUNCHERS - 1);
}
