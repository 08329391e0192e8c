#ifndef CTN_MODEL_MACHINES_H
#define CTN_MODEL_MACHINES_H

#include <stddef.h>

/** The built-in machines: the files of lib/model/machines, embedded by
 * embed.py. */
typedef struct ctn_builtin_machine {
    const char *name;
    const char *text; /* JSON */
} ctn_builtin_machine_t;

extern const ctn_builtin_machine_t ctn_builtin_machine[];
extern const size_t ctn_builtin_machines; /* length of ctn_builtin_machine */

#endif
