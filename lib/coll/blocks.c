#include "coll/blocks.h"

#include "topo/topo.h"

uint64_t ctn_blocks_base(const ctn_exec_t *exec, const ctn_blocks_t *blocks,
                         uint32_t n)
{
    if (blocks->counts == NULL) {
        ctn_span_t all = ctn_blocks_at(blocks, 0);
        all.bytes *= n;
        return ctn_span_offset(exec, &all);
    }
    for (uint32_t i = 0; i < n; i++) {
        ctn_span_t block = ctn_blocks_at(blocks, i);
        if (block.bytes > 0 && ctn_span_offset(exec, &block) == CTN_STAGED) {
            return CTN_STAGED;
        }
    }
    return 0;
}
