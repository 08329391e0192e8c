/* The public functions for machines and formulas, which are a part of
 * libcatena-sim. libcatena also reads machines, for CATENA_TUNING=machine:NAME,
 * but through ctn_machine_read. */

#include <catena/model.h>

#include "core/refuse.h"
#include "core/sized.h"
#include "model/machine.h"
#include "model/machines.h"

catena_status_t catena_machine_open(const char *name,
                                    catena_machine_t **machine)
{
    if (name == NULL || machine == NULL) {
        return CTN_REFUSE_NULL(NULL, name, machine);
    }
    return ctn_machine_read(NULL, name, machine);
}

catena_status_t catena_machine_close(catena_machine_t **machine)
{
    if (machine == NULL) {
        return CTN_REFUSE_NULL(NULL, machine);
    }
    ctn_machine_free(*machine);
    *machine = NULL;
    return CATENA_OK;
}

catena_status_t catena_machine_list(FILE *stream)
{
    if (stream == NULL) {
        return CTN_REFUSE_NULL(NULL, stream);
    }
    for (size_t i = 0; i < ctn_builtin_machines; i++) {
        catena_machine_t *machine;
        catena_status_t status =
            catena_machine_open(ctn_builtin_machine[i].name, &machine);
        if (status != CATENA_OK) {
            return status;
        }
        fprintf(stream, "%-8s %s\n", machine->name, machine->description);
        ctn_machine_free(machine);
    }
    return CATENA_OK;
}

catena_status_t catena_machine_print(const catena_machine_t *machine,
                                     FILE *stream)
{
    if (machine == NULL || stream == NULL) {
        return CTN_REFUSE_NULL(NULL, machine, stream);
    }
    fprintf(stream, "# %s: %s\n", machine->name, machine->description);
    for (size_t i = 0; i < CTN_MACHINE_PARAMETERS; i++) {
        ctn_machine_value_t p = ctn_machine_value(machine, i);
        if (p.source == NULL) {
            continue;
        }
        fprintf(stream, "%s.%s = %g  # %s\n", p.section, p.name, p.value,
                p.source);
    }
    return CATENA_OK;
}

static const ctn_sized_t point_struct = CTN_SIZED(catena_model_point_t, bytes);

catena_status_t catena_model_alltoall(const catena_machine_t *machine,
                                      const catena_model_point_t *point,
                                      double *seconds)
{
    if (machine == NULL || point == NULL || seconds == NULL) {
        return CTN_REFUSE_NULL(NULL, machine, point, seconds);
    }
    catena_model_point_t own;
    catena_status_t status =
        ctn_sized_read(__func__, NULL, &point_struct, point, &own);
    if (status != CATENA_OK) {
        return status;
    }
    status = ctn_model_alltoall(machine, &own, seconds);
    if (status != CATENA_OK) {
        return ctn_refuse(
            NULL, status, __func__,
            "algorithm %s, nodes %d, ppn %d, leaders %d, bytes %zu; expected "
            "direct, l-a2a, mpml, nmpml or onmpml, and numbers of 1 or more",
            own.algorithm != NULL ? own.algorithm : "NULL", own.nodes, own.ppn,
            own.leaders, own.bytes);
    }
    return CATENA_OK;
}
