#ifndef CTN_MODEL_TUNINGS_H
#define CTN_MODEL_TUNINGS_H

#include <stddef.h>

/** The built-in tunings: the files of lib/model/tuning, embedded by embed.py.
 */
typedef struct ctn_builtin_tuning {
    const char *name;
    const char *text; /* JSON */
} ctn_builtin_tuning_t;

extern const ctn_builtin_tuning_t ctn_builtin_tuning[];
extern const size_t ctn_builtin_tunings; /* length of ctn_builtin_tuning */

#endif
