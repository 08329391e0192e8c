/* Spans: copies between a span and contiguous memory, and puts of spans. */

#include "exec/span.h"

#include <string.h>

#include "exec/attach.h"

/* A copy between two non-contiguous spans goes through this much stack. */
enum { STACK_BYTES = 2048 };

void ctn_span_read(ctn_exec_t *exec, const ctn_span_t *span, size_t from,
                   size_t bytes, void *out)
{
    if (span->type == NULL) {
        ctn_exec_copy(exec, out, span->base + from, bytes);
        return;
    }
    if (!exec->drop_data) {
        (void)ctn_type_pack(span->type, span->base, from, bytes, out);
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
}

void ctn_span_write(ctn_exec_t *exec, const ctn_span_t *span, size_t from,
                    size_t bytes, const void *in)
{
    if (span->type == NULL) {
        ctn_exec_copy(exec, span->base + from, in, bytes);
        return;
    }
    if (!exec->drop_data) {
        (void)ctn_type_unpack(span->type, span->base, from, bytes, in);
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
}

void ctn_span_copy(ctn_exec_t *exec, const ctn_span_t *target,
                   const ctn_span_t *source)
{
    size_t bytes =
        target->bytes < source->bytes ? target->bytes : source->bytes;
    if (target->type == NULL) {
        ctn_span_read(exec, source, 0, bytes, target->base);
        return;
    }
    if (source->type == NULL) {
        ctn_span_write(exec, target, 0, bytes, source->base);
        return;
    }
    unsigned char staging[STACK_BYTES];
    for (size_t at = 0; at < bytes; at += STACK_BYTES) {
        size_t chunk = bytes - at < STACK_BYTES ? bytes - at : STACK_BYTES;
        ctn_span_read(exec, source, at, chunk, staging);
        ctn_span_write(exec, target, at, chunk, staging);
    }
}

uint64_t ctn_span_offset(const ctn_exec_t *exec, const ctn_span_t *span)
{
    uint64_t offset;
    return span->type == NULL && ctn_heap_contains(exec->heap, span->base,
                                                   span->bytes, &offset)
               ? offset
               : CTN_STAGED;
}

/** Copy the next `bytes` of the stream to `out`, and advance the cursor. */
static void read_next(ctn_exec_t *exec, ctn_span_cursor_t *cursor, size_t bytes,
                      unsigned char *out)
{
    for (;;) {
        size_t left = cursor->span->bytes - cursor->from;
        size_t now = left < bytes ? left : bytes;
        if (now > 0) {
            ctn_span_read(exec, cursor->span, cursor->from, now, out);
        }
        cursor->from += now;
        out += now;
        bytes -= now;
        if (bytes == 0) {
            return;
        }
        cursor->span++;
        cursor->from = 0;
    }
}

/** Advance the cursor by `bytes` if these are contiguous, in one span or in
 * adjoining ones. */
static bool skip_contiguous(ctn_span_cursor_t *cursor, size_t bytes)
{
    const ctn_span_t *span = cursor->span;
    size_t from = cursor->from;
    size_t left = bytes;
    while (span->type == NULL && span->bytes - from < left) {
        const unsigned char *end = span->base + span->bytes;
        left -= span->bytes - from;
        from = 0;
        span++;
        if (span->base != end) {
            return false;
        }
    }
    if (span->type != NULL) {
        return false;
    }
    *cursor = (ctn_span_cursor_t){span, from + left};
    return true;
}

/** Put `data`, which are contiguous. */
static int put_from(const ctn_op_t *op, const ctn_put_t *put, const void *data,
                    size_t bytes, uint64_t *pending)
{
    const void *source = ctn_exec_data(op->exec, data);
    catena_status_t status;
    if (put->address) {
        status =
            ctn_attach_write(op->exec, put->endpoint, data, bytes, put->offset);
        status = status == CATENA_OK
                     ? ctn_signal(put->endpoint, put->word, put->value)
                     : status;
    } else {
        status = ctn_put_signal(put->endpoint, source, bytes, put->offset,
                                put->word, put->value, pending);
    }
    return status == CATENA_OK ? 1 : status;
}

/** Put data that are not contiguous. */
static int put_packed(ctn_op_t *op, const ctn_put_t *put,
                      ctn_span_cursor_t *cursor, size_t bytes)
{
    unsigned char *there =
        put->address ? NULL : ctn_pointer(put->endpoint, put->offset);
    if (there != NULL) {
        read_next(op->exec, cursor, bytes, there);
        catena_status_t status =
            ctn_signal(put->endpoint, put->word, put->value);
        return status == CATENA_OK ? 1 : status;
    }
    if (bytes <= CTN_INLINE_BYTES) {
        unsigned char inlined[CTN_INLINE_BYTES];
        read_next(op->exec, cursor, bytes, inlined);
        return put_from(op, put, inlined, bytes, &op->pending);
    }
    ctn_staging_t *staging;
    catena_status_t status = ctn_staging_get(op, &staging);
    if (status != CATENA_OK || staging == NULL) {
        return status;
    }
    read_next(op->exec, cursor, bytes, staging->data);
    return put_from(op, put, staging->data, bytes, &staging->pending);
}

int ctn_put_spans(ctn_op_t *op, const ctn_put_t *put, ctn_span_cursor_t *cursor,
                  size_t bytes)
{
    if (bytes == 0) {
        catena_status_t status =
            ctn_signal(put->endpoint, put->word, put->value);
        return status == CATENA_OK ? 1 : status;
    }
    while (cursor->span->bytes == cursor->from) {
        cursor->span++;
        cursor->from = 0;
    }
    const unsigned char *data = cursor->span->base + cursor->from;
    return skip_contiguous(cursor, bytes)
               ? put_from(op, put, data, bytes, &op->pending)
               : put_packed(op, put, cursor, bytes);
}
