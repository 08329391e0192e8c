/* The public functions for machines and formulas, which are a part of
 * libcatena-sim. libcatena also reads machines, for CATENA_TUNING=machine:NAME,
 * but through ctn_machine_read. */

#include <catena/model.h>
#include <string.h>

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

catena_status_t catena_machine_get(const catena_machine_t *machine,
                                   const char *section, const char *name,
                                   double *value)
{
    if (machine == NULL || section == NULL || name == NULL || value == NULL) {
        return CTN_REFUSE_NULL(NULL, machine, section, name, value);
    }
    for (size_t i = 0; i < CTN_MACHINE_PARAMETERS; i++) {
        ctn_machine_value_t p = ctn_machine_value(machine, i);
        if (strcmp(p.section, section) == 0 && strcmp(p.name, name) == 0) {
            *value = p.source != NULL ? p.value : 0;
            return CATENA_OK;
        }
    }
    return ctn_refuse(NULL, CATENA_ERR_ARG, __func__,
                      "there is no parameter %s.%s; catena-machine(5) lists "
                      "them",
                      section, name);
}

static const ctn_sized_t point_struct = CTN_SIZED(catena_model_point_t, bytes);

#define NUMBERS                                                                \
    "algorithm %s, nodes %d, ppn %d, leaders %d, bytes %zu, moves %d; "        \
    "expected %s, numbers of 1 or more, and 0 to 16 moves"

/** Log that a formula has refused a point. */
static catena_status_t refuse_point(const char *function,
                                    const catena_model_point_t *point,
                                    const char *algorithms)
{
    return ctn_refuse(NULL, CATENA_ERR_ARG, function, NUMBERS,
                      point->algorithm != NULL ? point->algorithm : "NULL",
                      point->nodes, point->ppn, point->leaders, point->bytes,
                      point->moves, algorithms);
}

catena_status_t catena_model_path(const catena_model_point_t *point, int *moves,
                                  size_t *segments)
{
    if (point == NULL || moves == NULL || segments == NULL) {
        return CTN_REFUSE_NULL(NULL, point, moves, segments);
    }
    catena_model_point_t own;
    catena_status_t status =
        ctn_sized_read(__func__, NULL, &point_struct, point, &own);
    if (status == CATENA_OK &&
        ctn_model_path(&own, moves, segments) != CATENA_OK) {
        status =
            refuse_point(__func__, &own, "an algorithm that has a formula");
    }
    return status;
}

/** Evaluate the formula of a point.
 * @param expected the algorithms that have one */
static catena_status_t
evaluate(const char *call,
         catena_status_t (*formula)(const catena_machine_t *,
                                    const catena_model_point_t *, double *),
         const catena_machine_t *machine, const catena_model_point_t *point,
         double *seconds, const char *expected)
{
    catena_model_point_t own;
    catena_status_t status =
        ctn_sized_read(call, NULL, &point_struct, point, &own);
    if (status == CATENA_OK && formula(machine, &own, seconds) != CATENA_OK) {
        status = refuse_point(call, &own, expected);
    }
    return status;
}

catena_status_t catena_model_alltoall(const catena_machine_t *machine,
                                      const catena_model_point_t *point,
                                      double *seconds)
{
    if (machine == NULL || point == NULL || seconds == NULL) {
        return CTN_REFUSE_NULL(NULL, machine, point, seconds);
    }
    return evaluate(__func__, ctn_model_alltoall, machine, point, seconds,
                    "direct, l-a2a, mpml, nmpml, onmpml, l-a2a-plain, "
                    "mpml-plain or nmpml-plain");
}

catena_status_t catena_model_node(const catena_machine_t *machine,
                                  const catena_model_point_t *point,
                                  double *seconds)
{
    if (machine == NULL || point == NULL || seconds == NULL) {
        return CTN_REFUSE_NULL(NULL, machine, point, seconds);
    }
    return evaluate(__func__, ctn_model_node, machine, point, seconds,
                    "gather, or zero-copy or staged with a ppn of 2 or more");
}
