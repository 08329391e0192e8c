/* Block streams, and lists of blocks by rank. */

#include "group/stream.h"

#include <string.h>

catena_status_t ctn_stream_reserve(ctn_exec_t *exec, ctn_stream_t *stream,
                                   size_t bytes)
{
    size_t needed = stream->bytes + bytes;
    if (needed <= stream->capacity) {
        return CATENA_OK;
    }
    size_t capacity = stream->capacity + stream->capacity / 2;
    capacity = capacity < needed ? needed : capacity;
    unsigned char *memory = ctn_scratch_alloc(exec, capacity);
    if (memory == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    if (stream->bytes > 0) {
        memcpy(memory, stream->memory, stream->bytes);
        ctn_exec_charge(exec, CTN_WORK_COPY, stream->bytes);
    }
    ctn_scratch_free(exec, stream->memory, stream->capacity);
    stream->memory = memory;
    stream->capacity = capacity;
    return CATENA_OK;
}

catena_status_t ctn_stream_put(ctn_exec_t *exec, ctn_stream_t *stream,
                               ctn_rank_block_t block)
{
    size_t bytes = ctn_stream_bytes(block.bytes);
    catena_status_t status = ctn_stream_reserve(exec, stream, bytes);
    if (status != CATENA_OK) {
        return status;
    }
    unsigned char *at = stream->memory + stream->bytes;
    uint64_t length = block.bytes;
    memset(at + bytes - sizeof(uint64_t), 0, sizeof(uint64_t)); /* padding */
    memcpy(at, &length, sizeof(length));
    if (block.bytes > 0) {
        memcpy(at + sizeof(length), block.data, block.bytes);
        ctn_exec_charge(exec, CTN_WORK_COPY, block.bytes);
    }
    stream->bytes += bytes;
    return CATENA_OK;
}

catena_status_t ctn_stream_append(ctn_exec_t *exec, ctn_stream_t *stream,
                                  const void *blocks, size_t bytes)
{
    catena_status_t status = ctn_stream_reserve(exec, stream, bytes);
    if (status == CATENA_OK && bytes > 0) {
        memcpy(stream->memory + stream->bytes, blocks, bytes);
        ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
        stream->bytes += bytes;
    }
    return status;
}

void ctn_stream_release(ctn_exec_t *exec, ctn_stream_t *stream)
{
    ctn_scratch_free(exec, stream->memory, stream->capacity);
    *stream = (ctn_stream_t){NULL, 0, 0};
}

ctn_rank_block_t ctn_stream_next(const unsigned char *memory, size_t *at)
{
    uint64_t length;
    memcpy(&length, memory + *at, sizeof(length));
    ctn_rank_block_t block = {memory + *at + sizeof(length), (size_t)length};
    *at += ctn_stream_bytes(block.bytes);
    return block;
}

catena_status_t ctn_rank_blocks_take(ctn_exec_t *exec,
                                     ctn_rank_blocks_t *blocks,
                                     ctn_stream_t *stream, size_t head,
                                     uint32_t rank, uint32_t count)
{
    size_t bytes = count * sizeof(ctn_rank_block_t);
    ctn_rank_block_t *list = ctn_scratch_alloc(exec, bytes);
    if (list == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
    size_t at = head;
    for (uint32_t i = rank; i < count; i++) {
        list[i] = ctn_stream_next(stream[CTN_RIGHT].memory, &at);
    }
    at = head;
    for (uint32_t i = 0; rank > 0 && i <= rank; i++) {
        list[rank - i] = ctn_stream_next(stream[CTN_LEFT].memory, &at);
    }
    *blocks = (ctn_rank_blocks_t){list, count, {stream[0], stream[1]}};
    stream[CTN_LEFT] = stream[CTN_RIGHT] = (ctn_stream_t){NULL, 0, 0};
    return CATENA_OK;
}

void ctn_rank_blocks_release(ctn_exec_t *exec, ctn_rank_blocks_t *blocks)
{
    ctn_scratch_free(exec, blocks->block,
                     blocks->count * sizeof(ctn_rank_block_t));
    ctn_stream_release(exec, &blocks->stream[CTN_LEFT]);
    ctn_stream_release(exec, &blocks->stream[CTN_RIGHT]);
    *blocks = (ctn_rank_blocks_t){.block = NULL};
}
