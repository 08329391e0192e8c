#ifndef CTN_EXEC_SPAN_H
#define CTN_EXEC_SPAN_H

#include "exec/exec.h"
#include "type/datatype.h"

/* Spans: pieces of a caller's data. Lengths and positions within a span count
 * the bytes of its stream, its data without gaps; only these functions know the
 * memory layout. */

/** A block, or other data of one rank. Its stream is the memory at `base`,
 * unless `type` describes the layout. */
typedef struct ctn_span {
    unsigned char *base;
    size_t bytes;           /* of its stream */
    const ctn_type_t *type; /* NULL: contiguous memory */
} ctn_span_t;

/** In place of the offset of a buffer: it is not in the arena, or other ranks
 * must not access it, so the data go through an eager or staging buffer. */
#define CTN_STAGED UINT64_MAX

/** Copy `bytes` of the span's stream, from position `from` on, to `out`; or
 * write them from `in`. */
void ctn_span_read(ctn_exec_t *exec, const ctn_span_t *span, size_t from,
                   size_t bytes, void *out);
void ctn_span_write(ctn_exec_t *exec, const ctn_span_t *span, size_t from,
                    size_t bytes, const void *in);
/** Copy a span to another one of the same length. They do not overlap. */
void ctn_span_copy(ctn_exec_t *exec, const ctn_span_t *target,
                   const ctn_span_t *source);

/** The offset of a span in this rank's arena; CTN_STAGED: it is not contiguous,
 * or not entirely in the arena. */
uint64_t ctn_span_offset(const ctn_exec_t *exec, const ctn_span_t *span);

/** A position in the stream of consecutive spans. */
typedef struct ctn_span_cursor {
    const ctn_span_t *span; /* the current one */
    size_t from;            /* position in its stream */
} ctn_span_cursor_t;

/** Where a put goes, and the word that signals it. */
typedef struct ctn_put {
    ctn_endpoint_t *endpoint;
    uint64_t offset; /* of the data, in the peer's arena; or their address */
    uint64_t word;   /* offset of the word in the peer's arena */
    uint64_t value;  /* of the word */
    bool address;    /* `offset` is one, for the transport's `write` */
} ctn_put_t;

/** Put the next `bytes` of a stream of spans, and advance the cursor. The data
 * are put from where they lie if they are contiguous there. Else they are
 * packed: into the peer's memory if this process can write there, on the stack
 * if they are few, or into a staging buffer; then `bytes` is at most
 * CTN_STAGING_BYTES unless the peer's memory is mapped. The sources may change
 * when op->pending is 0.
 * @return 1: sent, 0: the network uses all staging buffers, < 0: status */
int ctn_put_spans(ctn_op_t *op, const ctn_put_t *put, ctn_span_cursor_t *cursor,
                  size_t bytes);

#endif
