/* HIER-13: reproducible scans of vectors of some length. Every rank reduces one
 * block of the vector for all ranks: an alltoallv sends block j of each rank to
 * rank j, which replaces each operand by its sum with all operands before it,
 * in the order of ranks; a second alltoallv returns to each rank its partial
 * result of each block. So a scan costs as much as the reduce-scatter and
 * allgather of Rabenseifner's allreduce (see P2P-4), in one round each.
 *
 * Bytes sent by a rank: at most twice its vector. Scratch: one vector; two if
 * the receive buffer has gaps, three if both have. */

#include <stdlib.h>

#include "coll/alltoall/alltoall.h"
#include "coll/call/exchange.h"
#include "coll/call/reproducible.h"

/** What a scan uses while it runs. */
typedef struct transposition {
    const ctn_call_t *call;
    uint32_t ranks;
    size_t each;           /* bytes of this rank's block */
    bool receives;         /* this rank has a result */
    unsigned char *data;   /* [ranks] operands of that block */
    unsigned char *packed; /* see ctn_exchange_pack */
    unsigned char *result; /* without gaps; NULL: the receive buffer has none */
    size_t *counts; /* [2 * ranks]; of an alltoallv: sent, then received */
    ptrdiff_t *displacements; /* likewise; in the same memory; elements */
} transposition_t;

static bool is_exclusive(const ctn_call_t *call)
{
    return call->composition->single_level_kind == CTN_EXSCAN;
}

/** Where a rank's block begins, in elements. */
static size_t begin_of(const transposition_t *it, uint32_t rank)
{
    size_t elements = it->call->in.bytes / it->call->by.type->bytes;
    return elements / it->ranks * rank +
           elements % it->ranks * rank / it->ranks;
}

static size_t elements_of(const transposition_t *it, uint32_t rank)
{
    return begin_of(it, rank + 1) - begin_of(it, rank);
}

static bool take_memory(transposition_t *it)
{
    const ctn_call_t *call = it->call;
    ctn_exec_t *exec = call->group->exec;
    size_t entries = 2 * (size_t)it->ranks;
    it->counts = malloc(entries * (sizeof(size_t) + sizeof(ptrdiff_t)));
    if (it->counts == NULL || !ctn_exchange_pack(exec, call, &it->packed)) {
        return false;
    }
    it->displacements = (ptrdiff_t *)(it->counts + entries);
    if (call->out.type != NULL) {
        it->result = ctn_scratch_alloc(exec, call->out.bytes);
        if (it->result == NULL) {
            return false;
        }
    }
    it->data = ctn_scratch_alloc(exec, it->ranks * it->each);
    return it->data != NULL;
}

static void free_memory(const transposition_t *it)
{
    ctn_reproducible_free(it->call, it->data, it->ranks * it->each);
    ctn_reproducible_free(it->call, it->packed, it->call->in.bytes);
    ctn_reproducible_free(it->call, it->result, it->call->out.bytes);
    free(it->counts);
}

/** This rank's vector, without gaps. */
static unsigned char *sent_vector(const transposition_t *it)
{
    return it->packed != NULL ? it->packed : it->call->in.base;
}

static unsigned char *received_vector(const transposition_t *it)
{
    return it->result != NULL ? it->result : it->call->out.base;
}

/** Block j to rank j, the operands of this rank's block from all ranks. */
static void set_blocks(const transposition_t *it)
{
    size_t own = elements_of(it, it->call->group->chain.place.rank);
    for (uint32_t i = 0; i < it->ranks; i++) {
        it->counts[i] = elements_of(it, i);
        it->displacements[i] = (ptrdiff_t)begin_of(it, i);
        it->counts[it->ranks + i] = own;
        it->displacements[it->ranks + i] = (ptrdiff_t)(i * own);
    }
}

/** To each rank the last operand of its result, which is by now the reduction
 * of all of them. */
static void set_results(const transposition_t *it)
{
    size_t own = elements_of(it, it->call->group->chain.place.rank);
    bool exclusive = is_exclusive(it->call);
    for (uint32_t i = 0; i < it->ranks; i++) {
        uint32_t operands = i + (exclusive ? 0 : 1);
        bool has_result = operands > 0;
        it->counts[i] = has_result ? own : 0;
        it->displacements[i] =
            has_result ? (ptrdiff_t)((operands - 1) * own) : 0;
        it->counts[it->ranks + i] = it->receives ? elements_of(it, i) : 0;
        it->displacements[it->ranks + i] = (ptrdiff_t)begin_of(it, i);
    }
}

static catena_status_t run_alltoallv(const transposition_t *it, void *from,
                                     void *to)
{
    const ctn_type_t *type = it->call->by.type;
    const ctn_blocks_t sent = {.base = from,
                               .type = type,
                               .counts = it->counts,
                               .displacements = it->displacements};
    const ctn_blocks_t received = {.base = to,
                                   .type = type,
                                   .counts = it->counts + it->ranks,
                                   .displacements =
                                       it->displacements + it->ranks};
    catena_group_t *group = it->call->group;
    return ctn_group_run(group,
                         ctn_alltoallv_create(group, &sent, &received, NULL));
}

/** Ranks that have received their operands wait for the results of this one. So
 * if its own are invalid, since the lengths of the vectors differ, it gives up.
 */
static catena_status_t transpose(const transposition_t *it)
{
    const ctn_call_t *call = it->call;
    set_blocks(it);
    catena_status_t status = run_alltoallv(it, sent_vector(it), it->data);
    if (status != CATENA_OK) {
        return ctn_group_give_up(call->group, status);
    }
    ctn_exchange_fold(call->group->exec, call, it->data, it->ranks, it->each);
    set_results(it);
    return run_alltoallv(it, it->data, received_vector(it));
}

catena_status_t ctn_reproducible_transpose(const ctn_call_t *call)
{
    const ctn_chain_place_t *place = &call->group->chain.place;
    transposition_t it = {.call = call,
                          .ranks = place->size,
                          .receives = place->rank > 0 || !is_exclusive(call)};
    it.each = elements_of(&it, place->rank) * call->by.type->bytes;
    catena_status_t status =
        take_memory(&it) ? transpose(&it)
                         : ctn_group_give_up(call->group, CATENA_ERR_NO_MEMORY);
    if (status == CATENA_OK && it.result != NULL && it.receives) {
        ctn_span_write(call->group->exec, &call->out, 0, call->out.bytes,
                       it.result);
    }
    free_memory(&it);
    return status;
}
