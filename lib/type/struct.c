/* The constructor of struct types. Members that are contiguous memory become
 * bytes, adjacent members of one type become one, and a struct in a struct is
 * replaced by its members. If all members then have one type, the struct is
 * built as blocks of that type (indexed.c). Otherwise it gets a level with a
 * type for each member. */

#include <stdlib.h>

#include "core/refuse.h"
#include "type/builder.h"

/** A member of a struct: consecutive elements of one type. */
typedef struct member {
    const ctn_type_t *type;
    size_t length;          /* number of elements */
    ptrdiff_t displacement; /* bytes from the base */
} member_t;

/** The members of a struct under construction. */
typedef struct members {
    /* The caller's members: arrays [given]. */
    size_t given;
    const size_t *lengths;
    const ptrdiff_t *displacements;
    const catena_type_t *types;
    /* The members after replacing and merging: arrays [count]. */
    size_t count;
    size_t *length;
    ptrdiff_t *displacement;
    const ctn_type_t **type;
    bool overflow;        /* a length or displacement does not fit its type */
    ctn_fixed_t element;  /* fixed type of all data; or mixed */
    bool any;             /* `element` is set */
    bool one_type;        /* all members have the same type */
    size_t bytes;         /* of the stream */
    bool bounded;         /* `markers` are set */
    bool has_data;        /* `data` are set */
    ctn_bounds_t markers; /* MPI's lower and upper bound of the struct */
    ctn_bounds_t data;    /* its true bounds */
} members_t;

/** Whether a type is a struct that one level of members describes, so that
 * these can replace an element of it. */
static bool is_struct(const ctn_type_t *type)
{
    return type->depth == 1 && type->level[0].kind == CTN_LEVEL_MEMBERS;
}

/** Replace elements that are contiguous memory by their bytes. */
static bool to_bytes(member_t *member)
{
    const ctn_type_t *type = member->type;
    bool contiguous =
        type->depth == 0 &&
        (member->length == 1 || type->extent == (ptrdiff_t)type->bytes);
    if (contiguous) {
        member->type = ctn_type_fixed[CTN_FIXED_byte];
        return !__builtin_mul_overflow(member->length, type->bytes,
                                       &member->length) &&
               !__builtin_add_overflow(member->displacement, type->shift,
                                       &member->displacement);
    }
    return true;
}

/** Append a member, or extend the last one if it continues that.
 * @return false on overflow */
static bool append(members_t *m, member_t member)
{
    if (!to_bytes(&member)) {
        return false;
    }
    size_t last = m->count - 1;
    ptrdiff_t end;
    if (m->count > 0 && m->type[last] == member.type &&
        !__builtin_mul_overflow(m->length[last], member.type->extent, &end) &&
        !__builtin_add_overflow(m->displacement[last], end, &end) &&
        end == member.displacement) {
        return !__builtin_add_overflow(m->length[last], member.length,
                                       &m->length[last]);
    }
    m->one_type = m->count == 0 || (m->one_type && m->type[0] == member.type);
    m->type[m->count] = member.type;
    m->length[m->count] = member.length;
    m->displacement[m->count] = member.displacement;
    m->count++;
    return true;
}

/** Append the members of one element of a struct. */
static bool append_struct(members_t *m, const ctn_type_t *type,
                          ptrdiff_t displacement)
{
    const ctn_level_t *level = &type->level[0];
    for (size_t i = 0; i < level->count; i++) {
        const ctn_type_t *of = level->member[i];
        member_t member = {.type = of,
                           .length = (level->start[i + 1] - level->start[i]) /
                                     of->bytes};
        ptrdiff_t first = type->shift + level->displacement[i];
        if (__builtin_sub_overflow(first, of->shift, &first) ||
            __builtin_add_overflow(displacement, first, &member.displacement) ||
            !append(m, member)) {
            return false;
        }
    }
    return true;
}

/** Extend the bounds to the caller's member i, which is not empty.
 * @return false on overflow */
static bool extend_bounds(members_t *m, size_t i, const ctn_type_t *type)
{
    ctn_bounds_t markers = {type->lower, type->lower + type->extent};
    ctn_bounds_t data = {type->true_low, type->true_high};
    bool fit = ctn_bounds_add(&m->markers, !m->bounded, markers,
                              m->displacements[i], m->lengths[i], type->extent);
    m->bounded = true;
    if (type->bytes > 0) {
        fit &= ctn_bounds_add(&m->data, !m->has_data, data, m->displacements[i],
                              m->lengths[i], type->extent);
        m->has_data = true;
    }
    return fit;
}

/** Read the caller's member i, which is not empty. @return false on overflow */
static bool read_member(members_t *m, size_t i)
{
    const ctn_type_t *type = ctn_type_of(m->types[i]);
    size_t bytes;
    if (!extend_bounds(m, i, type)) {
        return false;
    }
    if (type->bytes == 0) {
        return true;
    }
    m->element =
        m->any && m->element != type->element ? CTN_FIXED_mixed : type->element;
    m->any = true;
    if (__builtin_mul_overflow(type->bytes, m->lengths[i], &bytes) ||
        __builtin_add_overflow(m->bytes, bytes, &m->bytes)) {
        return false;
    }
    return is_struct(type) && m->lengths[i] == 1
               ? append_struct(m, type, m->displacements[i])
               : append(m,
                        (member_t){type, m->lengths[i], m->displacements[i]});
}

/** Check the types of the caller's members.
 * @param[out] most upper limit of the members after replacing and merging */
static catena_status_t count_members(const members_t *m, size_t *most)
{
    *most = 1;
    for (size_t i = 0; i < m->given; i++) {
        const ctn_type_t *type = ctn_type_of(m->types[i]);
        if (type == NULL) {
            return ctn_refuse(NULL, CATENA_ERR_ARG, "catena_type_struct",
                              "types[%zu] " CTN_NO_TYPE, i);
        }
        *most += is_struct(type) ? type->level[0].count : 1;
    }
    return CATENA_OK;
}

/** Add the level of the members. */
static void add_level(ctn_type_builder_t *builder, const members_t *m)
{
    ctn_type_t *type = builder->type;
    ptrdiff_t *displacement =
        ctn_type_builder_arrays(builder, ctn_type_fixed[CTN_FIXED_byte], 1);
    size_t *start = (size_t *)(void *)(displacement + m->count);
    const ctn_type_t **member =
        (const ctn_type_t **)(void *)(start + m->count + 1);
    start[0] = 0;
    for (size_t i = 0; i < m->count; i++) {
        const ctn_type_t *of = m->type[i];
        start[i + 1] = start[i] + m->length[i] * of->bytes;
        /* No overflow: both are within the bounds of the data. */
        displacement[i] = m->displacement[i] + of->shift;
        member[i] = ctn_type_hold(of);
    }
    type->shift = displacement[0];
    for (size_t i = m->count; i > 0; i--) {
        displacement[i - 1] -= displacement[0];
    }
    type->run = 1;
    type->depth = 1;
    type->members = m->count;
    type->level[0] = (ctn_level_t){.kind = CTN_LEVEL_MEMBERS,
                                   .bytes = m->bytes,
                                   .count = m->count,
                                   .displacement = displacement,
                                   .start = start,
                                   .member = member};
}

/** Build the type of the members. */
static ctn_type_builder_t build(const members_t *m)
{
    static const char name[] = "struct";
    const ctn_type_t *byte = ctn_type_fixed[CTN_FIXED_byte];
    ptrdiff_t unused;
    ctn_type_builder_t builder;
    if (m->one_type || m->count == 0) {
        ctn_type_blocks_t blocks = {.count = m->count,
                                    .lengths = m->length,
                                    .displacements = m->displacement,
                                    .unit = 1};
        builder = ctn_type_builder_indexed(name, &blocks,
                                           m->count > 0 ? m->type[0] : byte);
    } else {
        builder = ctn_type_builder_begin(
            name, byte, 1, m->count * 3 * sizeof(size_t) + sizeof(size_t));
    }
    if (builder.status != CATENA_OK) {
        return builder;
    }
    ctn_type_t *type = builder.type;
    if (m->overflow ||
        __builtin_sub_overflow(m->data.high, m->data.low, &unused) ||
        __builtin_sub_overflow(m->markers.high, m->markers.low,
                               &type->extent)) {
        builder.status = CATENA_ERR_ARG;
        return builder;
    }
    type->lower = m->markers.low;
    type->true_low = m->data.low;
    type->true_high = m->data.high;
    type->bytes = m->bytes;
    type->element = m->any ? m->element : CTN_FIXED_byte;
    if (!m->one_type && m->count > 0) {
        add_level(&builder, m);
    }
    return builder;
}

catena_status_t catena_type_struct(size_t count, const size_t blocklengths[],
                                   const ptrdiff_t displacements[],
                                   const catena_type_t types[],
                                   catena_type_t *out)
{
    if (out == NULL ||
        (count > 0 &&
         (blocklengths == NULL || displacements == NULL || types == NULL))) {
        return CTN_REFUSE_NULL(NULL, out, blocklengths, displacements, types);
    }
    members_t m = {.given = count,
                   .lengths = blocklengths,
                   .displacements = displacements,
                   .types = types};
    size_t most;
    catena_status_t status = count_members(&m, &most);
    if (status != CATENA_OK) {
        return status;
    }
    m.length = calloc(most, sizeof(*m.length));
    m.displacement = calloc(most, sizeof(*m.displacement));
    m.type = calloc(most, sizeof(*m.type));
    status = CATENA_ERR_NO_MEMORY;
    if (m.length != NULL && m.displacement != NULL && m.type != NULL) {
        for (size_t i = 0; i < count && !m.overflow; i++) {
            m.overflow = blocklengths[i] > 0 && !read_member(&m, i);
        }
        ctn_type_builder_t builder = build(&m);
        status = ctn_type_builder_finish(&builder, out);
    }
    free(m.length);
    free(m.displacement);
    free(m.type);
    return status;
}
