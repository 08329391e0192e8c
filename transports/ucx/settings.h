#ifndef CTN_TRANSPORTS_UCX_SETTINGS_H
#define CTN_TRANSPORTS_UCX_SETTINGS_H

#include "core/config.h"

typedef enum ctn_put_mode { /* CATENA_UCX_PUT */
                            CTN_PUT_AUTO,
                            CTN_PUT_AM, /* one active message carries data and
                                           flag */
                            CTN_PUT_RMA /* put, fence, put */
} ctn_put_mode_t;

/** Values of the settings of this transport. */
typedef struct ctn_ucx_config {
    ctn_put_mode_t put; /* UCX_PUT: auto, am, rma */
} ctn_ucx_config_t;

extern const ctn_setting_table_t ctn_ucx_settings;

#endif
