/* The list of the settings of all layers, and the settings of the job. */

#include "settings.h"

#include <catena/context.h>

#include "boot/boot.h"
#include "coll/hierarchy/settings.h"
#include "coll/select/select.h"
#include "core/refuse.h"
#include "exec/exec.h"
#include "heap/heap.h"
#include "model/tuning.h"
#include "neighbor/neighborhood.h"
#include "topo/locality.h"
#include "transports/ucx/settings.h"

/* In the order of catena_log_level_t. */
static const char *const log_levels[] = {"fatal", "error", "warn", "info",
                                         "debug", "trace", NULL};
_Static_assert(CATENA_LOG_TRACE == 5, "log_levels follows catena_log_level_t");

static const ctn_setting_type_t level_type = {.kind = CTN_SETTING_WORD,
                                              .words = log_levels};

static const ctn_setting_t settings[] = {
    {"LOG_LEVEL", "warn", "Messages up to this level are written to stderr.",
     offsetof(ctn_job_config_t, log_level), &level_type},
    {"NETWORK", "auto",
     "Whether a job of one node also opens the network, for component ucx.\n"
     "auto: if a hierarchy in the environment names it. Jobs of several\n"
     "nodes always open it.",
     offsetof(ctn_job_config_t, network), &ctn_setting_switch},
};

const ctn_setting_table_t ctn_job_settings =
    CTN_SETTING_TABLE(settings, ctn_job_config_t);

ctn_setting_tables_t ctn_settings = {&ctn_job_settings,
                                     &ctn_boot_settings,
                                     &ctn_heap_settings,
                                     &ctn_topo_settings,
                                     &ctn_exec_settings,
                                     &ctn_ucx_settings,
                                     &ctn_model_settings,
                                     &ctn_select_settings,
                                     &ctn_neighbor_settings,
                                     &ctn_hierarchy_settings,
                                     NULL};

catena_status_t ctn_settings_check(const ctn_log_t *log,
                                   const ctn_config_t *config)
{
    catena_status_t status = ctn_select_check(log, config);
    return status == CATENA_OK ? ctn_hierarchy_check(log, config) : status;
}

catena_status_t catena_config_print(FILE *stream, int help)
{
    ctn_config_t checked;
    if (stream == NULL) {
        return CTN_REFUSE_NULL(NULL, stream);
    }
    /* Print the values only if catena_init would accept them. */
    catena_status_t status =
        ctn_config_read(&checked, ctn_settings, NULL, NULL);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_config_release(&checked);
    return ctn_config_print(ctn_settings, stream, help != 0);
}
