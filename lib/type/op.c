#include "type/op.h"
#include "core/entry.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/refuse.h"
#include "type/kernels.h"

#define DEFINE_OP(op_name, handle)                                             \
    static const ctn_reduce_op_t op_##op_name = {.name = #op_name,             \
                                                 .number =                     \
                                                     CTN_PREDEFINED_##op_name, \
                                                 .commutes = true};
CTN_EACH_PREDEFINED_OP(DEFINE_OP)

const ctn_reduce_op_t *const ctn_reduce_op_table[CTN_HANDLES] = {
#define ENTRY(name, handle) [handle - CTN_FIRST_OP] = &op_##name,
    CTN_EACH_PREDEFINED_OP(ENTRY)
#undef ENTRY
};

catena_status_t catena_op_create(catena_op_function_t function, void *argument,
                                 int commute, catena_op_t *out)
{
    CTN_ENTRY;
    if (function == NULL || out == NULL) {
        return ctn_refuse_null(NULL, __func__,
                               function == NULL ? "function" : "out");
    }
    ctn_reduce_op_t *op = malloc(sizeof(*op));
    if (op == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    *op = (ctn_reduce_op_t){.name = "of a function",
                            .function = function,
                            .argument = argument,
                            .commutes = commute != 0,
                            .references = 1};
    CTN_MARK_SET(op, CTN_REDUCE_OP);
    *out = (catena_op_t)op;
    return CATENA_OK;
}

/** An operation with a function is allocated memory, so const can be cast
 * away. */
static ctn_reduce_op_t *writable(const ctn_reduce_op_t *op)
{
    return (ctn_reduce_op_t *)op;
}

catena_status_t catena_op_free(catena_op_t *handle)
{
    CTN_ENTRY;
    if (handle == NULL) {
        return ctn_refuse_null(NULL, __func__, "op");
    }
    const ctn_reduce_op_t *op = ctn_reduce_op_of(*handle);
    if (*handle != NULL && (op == NULL || op->function == NULL)) {
        return ctn_refuse(NULL, CATENA_ERR_ARG, __func__,
                          "found %s; expected an operation of "
                          "catena_op_create; predefined ones are not freed",
                          op != NULL ? op->name : "no operation");
    }
    if (op != NULL) {
        CTN_MARK_SET(writable(op), CTN_FREED);
        ctn_reduce_op_drop(op);
    }
    *handle = NULL;
    return CATENA_OK;
}

const ctn_reduce_op_t *ctn_reduce_op_hold(const ctn_reduce_op_t *op)
{
    if (op->function != NULL) {
        /* Relaxed: the caller's own reference keeps the operation alive. */
        __atomic_fetch_add(&writable(op)->references, 1, __ATOMIC_RELAXED);
    }
    return op;
}

void ctn_reduce_op_drop(const ctn_reduce_op_t *op)
{
    /* Release and acquire: all reads of the operation, by this thread and by
     * others, must come before free. */
    if (op != NULL && op->function != NULL &&
        __atomic_sub_fetch(&writable(op)->references, 1, __ATOMIC_ACQ_REL) ==
            0) {
        ctn_handle_free(writable(op));
    }
}

bool ctn_reduce_op_commutes(const ctn_reduce_op_t *op)
{
    return op->commutes;
}

const ctn_kernels_t *ctn_kernels(size_t nth)
{
    const ctn_kernels_t *usable[3];
    size_t count = 0;
#ifdef __x86_64__
    /* These read flags that the compiler's runtime sets before main. */
    if (__builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        usable[count++] = &ctn_kernels_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        usable[count++] = &ctn_kernels_avx2;
    }
#endif
    usable[count++] = &ctn_kernels_any;
    return nth < count ? usable[nth] : NULL;
}

bool ctn_reduce_op_valid(const ctn_reduce_op_t *op, const ctn_type_t *type)
{
    return op->function != NULL ||
           ctn_kernels_any[op->number][type->element] != NULL;
}

const ctn_type_t *ctn_reduce_op_unit(const ctn_reduce_op_t *op,
                                     const ctn_type_t *type)
{
    return op->function == NULL ? ctn_type_fixed[type->element] : type;
}

const char *ctn_reduce_op_mismatch(const ctn_reduce_op_t *op,
                                   const ctn_type_t *type, char *text,
                                   size_t bytes)
{
    if (type->element == CTN_FIXED_mixed) {
        snprintf(text, bytes,
                 "type %s has elements of several fixed types; operation %s "
                 "takes one; user-defined operations take any",
                 type->name, op->name);
        return text;
    }
    size_t at = (size_t)snprintf(text, bytes,
                                 "operation %s does not take elements of type "
                                 "%s, but of",
                                 op->name, ctn_type_fixed[type->element]->name);
    for (int i = 0; i < CTN_FIXED_TYPES && at < bytes; i++) {
        if (ctn_kernels_any[op->number][i] != NULL) {
            at += (size_t)snprintf(text + at, bytes - at, " %s",
                                   ctn_type_fixed[i]->name);
        }
    }
    return text;
}

void ctn_reduce(const ctn_reducer_t *by, const void *left, const void *right,
                void *out, size_t bytes)
{
    if (bytes == 0) { /* a barrier has no operation */
        return;
    }
    assert(ctn_reduce_op_valid(by->op, by->type));
    assert(bytes % by->type->bytes == 0);
    if (by->op->function != NULL) {
        ctn_apply(by, left, right, out, bytes);
        return;
    }
    ctn_fixed_t element = by->type->element;
    ctn_kernel_t kernel = (*ctn_kernels(0))[by->op->number][element];
    kernel(left, right, out, bytes / ctn_type_fixed[element]->bytes);
}

static const char *name_of_code(uint8_t code)
{
    for (size_t i = 0; i < CTN_HANDLES; i++) {
        const ctn_reduce_op_t *op = ctn_reduce_op_table[i];
        if (op != NULL && op->number + 1u == code) {
            return op->name;
        }
    }
    return "a function";
}

const char *ctn_reducer_describe(uint8_t op, uint8_t type, char *text,
                                 size_t bytes)
{
    bool fixed = type > 0 && type <= CTN_FIXED_TYPES;
    snprintf(text, bytes, "%s of %s", name_of_code(op),
             fixed ? ctn_type_fixed[type - 1]->name : "several types");
    return text;
}
