#ifndef CTN_CORE_CONFIG_H
#define CTN_CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <catena/status.h>

#include "core/log.h"

/* Settings: finding a name, turning a text into a value, printing the list.
 * Each layer describes its own settings in a table, and has a struct of their
 * values. lib/settings.c lists the tables. catena_init reads all settings once.
 */

#define CTN_CONFIG_AUTO ((size_t)-1) /* "auto": catena chooses the value */
#define CTN_CONFIG_INF ((size_t)-2)  /* "inf": no limit */

/** How the text of a setting is read, and the type of its field in the struct
 * of values. */
typedef enum ctn_setting_kind {
    CTN_SETTING_SIZE,   /* size_t: a number, with or without a unit (64k) */
    CTN_SETTING_SWITCH, /* size_t: 0 or 1 */
    CTN_SETTING_WORD,   /* an enum or unsigned: index of a keyword */
    CTN_SETTING_TEXT    /* char *: never NULL, released with the values */
} ctn_setting_kind_t;

/* Special values that a size or a switch may accept; `accepts` combines them.
 */
enum {
    CTN_ACCEPT_AUTO = 1, /* CTN_CONFIG_AUTO */
    CTN_ACCEPT_INF = 2,  /* CTN_CONFIG_INF */
    CTN_ACCEPT_ZERO = 4
};

/** The values that a setting may have. */
typedef struct ctn_setting_type {
    ctn_setting_kind_t kind;
    unsigned accepts;
    const char *const *words; /* the keywords of a WORD; NULL-terminated */
    const char *expected;     /* for messages and help; NULL: the keywords */
} ctn_setting_type_t;

extern const ctn_setting_type_t ctn_setting_bytes;        /* above 0, or auto */
extern const ctn_setting_type_t ctn_setting_count;        /* above 0, or auto */
extern const ctn_setting_type_t ctn_setting_number;       /* or auto or inf */
extern const ctn_setting_type_t ctn_setting_milliseconds; /* or auto or inf */
extern const ctn_setting_type_t ctn_setting_switch;       /* y, n or auto */
extern const ctn_setting_type_t ctn_setting_on;           /* on or off */
extern const ctn_setting_type_t ctn_setting_text;
extern const ctn_setting_type_t ctn_setting_secret; /* text; not printed */

/** Read a text as a switch: on, off, y, n, yes, no, true, false, 1 or 0.
 * @param[out] out 0 or 1
 * @return false: it is none of these */
bool ctn_setting_read_switch(const char *text, size_t *out);

/** A setting. */
typedef struct ctn_setting {
    const char *name;    /* of the environment variable, without CATENA_ */
    const char *initial; /* default value, as text */
    const char *help;    /* lines, without the last newline */
    size_t offset;       /* of its field in the struct of values */
    const ctn_setting_type_t *type;
} ctn_setting_t;

/** The settings of a layer. The address of the table identifies the layer's
 * values. */
typedef struct ctn_setting_table {
    const ctn_setting_t *setting; /* [count] */
    size_t count;
    size_t bytes; /* of the struct of values */
} ctn_setting_table_t;

/** The initializer of a table.
 * @param settings an array of settings
 * @param values   the type of the struct of their values */
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
    unsigned char *values; /* the structs of values, in the order of `tables` */
} ctn_config_t;

/** Read the environment (CATENA_*) and then `settings`, which take precedence.
 * An invalid value, or an unknown name in `settings`, is an error and is
 * logged. For unknown names in the environment see ctn_config_warn_unknown.
 * @param[out] config set only on CATENA_OK; released with ctn_config_release
 * @param[in]  tables   have to exist as long as the values
 * @param[in]  settings "NAME=VALUE" each, NULL-terminated; may be NULL
 * @param[in]  log      may be NULL, its rank may be -1
 * @return CATENA_OK, ERR_ARG, ERR_NO_MEMORY */
catena_status_t ctn_config_read(ctn_config_t *config,
                                ctn_setting_tables_t tables,
                                const char *const *settings,
                                const ctn_log_t *log);
/** Free the values. A second call has no effect. */
void ctn_config_release(ctn_config_t *config);

/** The values of a layer: its struct of values. The table must be one of those
 * read. Takes time linear in the number of tables, so it is not for calls that
 * are repeated often. */
void *ctn_config_values(const ctn_config_t *config,
                        const ctn_setting_table_t *table);

/** Warn about each CATENA_ variable of the environment that is no setting, and
 * name the most similar setting. This is separate from ctn_config_read so that
 * one rank can do it for the whole job.
 * @return the number of such variables */
size_t ctn_config_warn_unknown(ctn_setting_tables_t tables,
                               const ctn_log_t *log);

/** Write all settings with their values: those of the environment, or else the
 * default values.
 * @param help whether to write the help text of each
 * @return OK, or ERR_SYSTEM: the stream has an error */
catena_status_t ctn_config_print(ctn_setting_tables_t tables, FILE *stream,
                                 bool help);

#endif
