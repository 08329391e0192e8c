#ifndef CTN_SETTINGS_H
#define CTN_SETTINGS_H

#include "core/config.h"

/** The settings of all layers; the only place that lists them. */
extern ctn_setting_tables_t ctn_settings;

/** Values of the settings of a job and its context, which belong to no layer.
 */
typedef struct ctn_job_config {
    catena_log_level_t log_level; /* LOG_LEVEL: fatal..trace, warn */
    size_t network;               /* NETWORK: 0, 1 or auto */
} ctn_job_config_t;

extern const ctn_setting_table_t ctn_job_settings;

static inline const ctn_job_config_t *ctn_job_config(const ctn_config_t *config)
{
    return ctn_config_values(config, &ctn_job_settings);
}

/** Check the settings whose values are valid only in relation to others, or to
 * a file.
 * @return ERR_ARG, ERR_SYSTEM, ERR_NO_MEMORY; logged */
catena_status_t ctn_settings_check(const ctn_log_t *log,
                                   const ctn_config_t *config);

#endif
