#ifndef CTN_CORE_CONFIG_H
#define CTN_CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <catena/status.h>

#include "core/log.h"

/* Settings: how their names are found, how their texts become values, how they
 * are listed. Each layer describes its own settings in a table and has a struct
 * of their values; lib/settings.c lists the tables. catena_init reads all of
 * them once. */

#define CTN_CONFIG_AUTO ((size_t)-1) /* a size or count that catena chooses */
#define CTN_CONFIG_INF ((size_t)-2)

/** What the text of a setting stands for: its field in the struct of values. */
typedef enum ctn_setting_kind {
    CTN_SETTING_SIZE,   /* size_t: a number, or with a unit (64k) */
    CTN_SETTING_SWITCH, /* size_t: 0 or 1 */
    CTN_SETTING_WORD,   /* an enum or unsigned: index of the word */
    CTN_SETTING_TEXT    /* char *: never NULL, released with the values */
} ctn_setting_kind_t;

/* Special values that a size or a switch accepts. */
enum {
    CTN_ACCEPT_AUTO = 1, /* CTN_CONFIG_AUTO */
    CTN_ACCEPT_INF = 2,  /* CTN_CONFIG_INF */
    CTN_ACCEPT_ZERO = 4
};

typedef struct ctn_setting_type {
    ctn_setting_kind_t kind;
    unsigned accepts;
    const char *const *words; /* of a word; NULL-terminated */
    const char *expected; /* for messages and help; NULL: one of the words */
} ctn_setting_type_t;

extern const ctn_setting_type_t ctn_setting_bytes;        /* above 0, or auto */
extern const ctn_setting_type_t ctn_setting_count;        /* above 0, or auto */
extern const ctn_setting_type_t ctn_setting_number;       /* or auto or inf */
extern const ctn_setting_type_t ctn_setting_milliseconds; /* or auto or inf */
extern const ctn_setting_type_t ctn_setting_switch;       /* y, n or auto */
extern const ctn_setting_type_t ctn_setting_on;           /* on or off */
extern const ctn_setting_type_t ctn_setting_text;

/** A setting. */
typedef struct ctn_setting {
    const char *name;    /* of the variable, without CATENA_ */
    const char *initial; /* default value, as text */
    const char *help;    /* lines, without the last newline */
    size_t offset;       /* of its field */
    const ctn_setting_type_t *type;
} ctn_setting_t;

/** The settings of a layer. Its address identifies the layer's values. */
typedef struct ctn_setting_table {
    const ctn_setting_t *setting;
    size_t count;
    size_t bytes; /* of the struct of values */
} ctn_setting_table_t;

/** The initializer of a table: an array of settings, and their struct. */
#define CTN_SETTING_TABLE(settings, values)                                    \
    {                                                                          \
        .setting = (settings),                                                 \
        .count = sizeof(settings) / sizeof(*(settings)),                       \
        .bytes = sizeof(values)                                                \
    }

/** A list of tables, NULL-terminated. The first table is not empty. */
typedef const ctn_setting_table_t *const ctn_setting_tables_t[];

/** The values of all tables. */
typedef struct ctn_config {
    const ctn_setting_table_t *const *tables;
    unsigned char *values; /* of one table after the other */
} ctn_config_t;

/** Read the environment (CATENA_*) and then `settings` ("NAME=VALUE",
 * NULL-terminated), which take precedence. An invalid value, or an unknown name
 * in `settings`, is an error and is logged; ctn_config_warn_unknown handles
 * unknown names in the environment.
 * @param[out] config set only on CATENA_OK; released with ctn_config_release
 * @param[in]  tables   used as long as the values
 * @param[in]  settings may be NULL
 * @param[in]  log      may be NULL, its rank may be -1
 * @return CATENA_OK, ERR_ARG, ERR_NO_MEMORY */
catena_status_t ctn_config_read(ctn_config_t *config,
                                ctn_setting_tables_t tables,
                                const char *const *settings,
                                const ctn_log_t *log);
/** A second call has no effect. */
void ctn_config_release(ctn_config_t *config);

/** The values of a layer, which are in the layer's struct; the table must be
 * one of those read. Linear in the number of tables: not for calls that are
 * repeated often. */
void *ctn_config_values(const ctn_config_t *config,
                        const ctn_setting_table_t *table);

/** Warn about each CATENA_ variable of the environment that is no setting, with
 * the nearest known name. Separate from ctn_config_read so that one rank can do
 * it for the whole job.
 * @return the number of such variables */
size_t ctn_config_warn_unknown(ctn_setting_tables_t tables,
                               const ctn_log_t *log);

/** Write all settings and their values in the environment.
 * @param help with the text of each
 * @return ERR_SYSTEM: the stream has an error */
catena_status_t ctn_config_print(ctn_setting_tables_t tables, FILE *stream,
                                 bool help);

#endif
