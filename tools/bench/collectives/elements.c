/* Types and operations of reductions. */

#include "collectives/elements.h"

#include <stdio.h>
#include <string.h>

#include "oracle/content.h"
#include "oracle/elements.h"

/* The oracle numbers types and operations in the order of its lists; its
 * operation 0 is "none". */
#define TYPE_NUMBER(name, handle, ctype) NUMBER_OF_##name,
enum { ORACLE_EACH_TYPE(TYPE_NUMBER) TYPES };
#define OP_NUMBER(name, handle) OP_NUMBER_OF_##name,
enum { OP_NUMBER_OF_none, ORACLE_EACH_OP(OP_NUMBER) };

#define TYPE_ROW(shown, handle, ctype)                                         \
    {.name = #shown,                                                           \
     .type = handle,                                                           \
     .bytes = sizeof(ctype),                                                   \
     .oracle = NUMBER_OF_##shown},
static const struct bench_type types[] = {ORACLE_EACH_TYPE(TYPE_ROW)};

#define OP_ROW(shown, handle)                                                  \
    {.name = #shown, .op = handle, .oracle = OP_NUMBER_OF_##shown},
static const struct bench_op ops[] = {ORACLE_EACH_OP(OP_ROW)};

enum { OPS = sizeof(ops) / sizeof(ops[0]) };

const struct bench_type *bench_find_type(const char *name)
{
    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

const struct bench_op *bench_find_op(const char *name)
{
    for (size_t i = 0; i < OPS; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

bool bench_takes(const struct bench_op *op, const struct bench_type *type)
{
    return oracle_op_takes(op->oracle, type->oracle);
}

static void append(char *text, size_t bytes, const char *name)
{
    size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", name);
}

void bench_list_types(char *text, size_t bytes, const struct bench_op *taking)
{
    text[0] = '\0';
    for (size_t i = 0; i < TYPES; i++)
        if (taking == NULL || bench_takes(taking, &types[i]))
            append(text, bytes, types[i].name);
}

void bench_list_ops(char *text, size_t bytes)
{
    text[0] = '\0';
    for (size_t i = 0; i < OPS; i++)
        append(text, bytes, ops[i].name);
}
