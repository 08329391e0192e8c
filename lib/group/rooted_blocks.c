/* Results of gather, allgather and scatter on a chain. */

#include "group/rooted_tree.h"

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
