/* The module: its memory, and how algorithms become operations. */

#include "coll/bcol/shm/shm.h"
#include "exec/inline.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/** Stride of descriptors unless oversubscribed. Data in a descriptor arrive
 * with its word or soon after; longer descriptors gain less. An odd number of
 * cache lines, for the reason below. 2 ranks with a core each, 128 B: allreduce
 * 0.29 us, 0.42 with a stride of 64; bcast 0.19 and 0.23. */
enum { DESCRIPTOR_BYTES = 320 };

static size_t page_up(size_t bytes)
{
    return (bytes + CTN_MEMBER_ALIGNMENT - 1) &
           ~(size_t)(CTN_MEMBER_ALIGNMENT - 1);
}

/** Set the layout of the memory of a member. At member 0 the counters of "last"
 * come first, then the node area. The staging buffers are at the end.
 * @param memory   of the member; NULL: only the sizes are meaningful
 * @param[out] words   bytes up to the eager rows
 * @param[out] staging offset of the staging buffers
 * @return its bytes */
static size_t lay_out(const shm_t *shm, bool leader, unsigned char *memory,
                      ctn_node_area_t *area, size_t *words, size_t *staging)
{
    unsigned generations = shm->sequence.generations;
    size_t last = generations * sizeof(shm_last_t);
    size_t bytes = 0;
    *words = 0;
    if (leader) {
        bytes = last + ctn_node_area_map(
                           area, (void *)((uintptr_t)memory + last), words);
        *words += last;
    }
    *staging = page_up(bytes);
    return *staging + (size_t)generations * CTN_CHUNK_BYTES;
}

/* ---- flags and data ---- */

/** Wait for words of all members. */
static bool all_set(shm_call_t *call, const ctn_node_entries_t *words)
{
    return ctn_node_all_set(&call->shm->area, words, call->seq, &call->next,
                            call->loads);
}

bool shm_all_arrived(shm_call_t *call)
{
    return all_set(call, &call->shm->area.arrived);
}

bool shm_all_descriptors(shm_call_t *call)
{
    return all_set(call, &call->shm->area.descriptor);
}

void shm_reduce(shm_call_t *call, const void *left, const void *right,
                void *out, size_t bytes)
{
    ctn_exec_t *exec = call->shm->module.exec;
    if (!exec->drop_data && !call->mismatch) {
        ctn_reduce(&call->basic->by, left, right, out, bytes);
    }
    ctn_exec_charge(exec, CTN_WORK_REDUCE, bytes);
}

/* ---- algorithms as operations ---- */

size_t shm_longest_block(const shm_t *shm, const ctn_basic_coll_t *basic)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < shm->size; i++) {
        size_t bytes = basic->at[i + 1] - basic->at[i];
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

/** The length that eager rows must take: all members agree on it. */
static size_t longest_row(const shm_call_t *call)
{
    size_t most = shm_row_data(call->shm, call->kind);
    size_t longest = most;
    if (call->algorithm->vector) {
        longest = call->basic->bytes;
    } else if (call->kind == CTN_ALLGATHER) {
        longest = shm_longest_block(call->shm, call->basic);
    }
    return longest < most ? longest : most;
}

void shm_call_begin(shm_call_t *call, uint64_t seq)
{
    call->seq = seq;
    call->step = 0;
    call->next = 0;
    call->end = call->shm->size;
    call->loads = 1;
    call->zcopy = false;
    call->acknowledge = false;
    call->mismatch = call->basic->mismatch;
    call->status = call->mismatch ? CATENA_ERR_ARG : CATENA_OK;
    call->peer_checks = call->shm->module.exec->peer_checks;
    call->longest = longest_row(call);
    call->copy_area = (shm_copy_area_t){.memory = NULL};
    call->arrival = 0;
    call->digest = 0;
    call->taken = 0;
    ctn_node_report_cpu(call->shm->module.exec, &call->shm->area);
}

/** Run steps as far as possible. @return true: all have ended */
static bool advance(shm_call_t *call)
{
    while (call->algorithm->step[call->step] != NULL) {
        if (!call->algorithm->step[call->step](call)) {
            return false;
        }
        call->step++;
        call->next = 0;
        call->end = call->shm->size;
    }
    return true;
}

uint16_t shm_spins_for(const shm_t *shm, uint32_t first, uint32_t end)
{
    const ctn_node_area_t *area = &shm->area;
    if (!area->oversubscribed || first >= end) {
        return 0;
    }
    for (uint32_t i = first; i < end; i++) {
        if (i != shm->me && !ctn_node_elsewhere(area, i)) {
            return 0;
        }
    }
    return end - first == 1 ? CTN_SPIN_FOR_ONE : CTN_SPIN_FOR_SOME;
}

static ctn_step_t run_begin(ctn_op_t *op)
{
    shm_call_begin(ctn_op_state(op), op->seq);
    return CTN_STEP_NEXT;
}

static ctn_step_t run_steps(ctn_op_t *op)
{
    shm_call_t *call = ctn_op_state(op);
    if (advance(call)) {
        return call->status != CATENA_OK ? ctn_op_fail(op, call->status)
                                         : CTN_STEP_NEXT;
    }
    const ctn_sbgp_t *sbgp = call->shm->module.sbgp;
    op->waits_for =
        call->next < sbgp->size ? (int64_t)sbgp->member[call->next].rank : -1;
    /* Not only the members that this step waits for: the others may wait for
     * the network, and need a core then. */
    op->exec->spin_polls =
        shm_spins_for(call->shm, call->next, call->shm->size);
    return CTN_STEP_WAIT;
}

enum { PHASE_EXCHANGE = 1, PHASE_COLLECT = 3 };

/** The first phase of an operation whose first step, which publishes, has run
 * inline. */
static ctn_step_t run_collect(ctn_op_t *op)
{
    shm_call_t *call = ctn_op_state(op);
    shm_call_begin(call, op->seq);
    call->own = shm_in_stays(call->shm, call->basic)
                    ? call->basic->in
                    : shm_place_of(call, call->shm->me, call->basic->bytes);
    call->step = 1;
    return ctn_op_jump(op, PHASE_EXCHANGE);
}

const ctn_phase_t shm_phases[] = {{"begin", run_begin},
                                  [PHASE_EXCHANGE] = {"exchange", run_steps},
                                  {NULL, NULL},
                                  [PHASE_COLLECT] = {"collect", run_collect}};

/** Set the arguments; the first phase sets the rest of the state. */
static void set(ctn_op_t *op, ctn_module_t *module, ctn_basic_kind_t kind,
                const ctn_basic_coll_t *basic)
{
    shm_call_t *call = ctn_op_state(op);
    call->shm = (shm_t *)module;
    call->kind = kind;
    call->basic = basic;
    call->algorithm = (const shm_algorithm_t *)op->algorithm;
    call->zcopy_bytes = shm_zcopy_bytes(call->shm, kind, call->algorithm);
}

/* ---- the basic collectives ---- */

/** Whether an algorithm may use eager rows and staging buffers. */
static inline bool needs_buffers(const shm_t *shm,
                                 const ctn_basic_coll_t *basic,
                                 const shm_algorithm_t *algorithm)
{
    return algorithm->stages ||
           (algorithm->vector ? basic->bytes > shm->descriptor_data
                              : algorithm->by_rule);
}

/** Take the pages of the eager rows and staging buffers.
 * @return false: no memory */
CTN_COLD static bool take_buffers(shm_t *shm)
{
    shm->has_buffers =
        ctn_heap_take(shm->module.exec->heap, shm->memory, shm->bytes);
    if (shm->has_buffers) {
        ctn_word_store(&shm->last->rows, 1);
    }
    return shm->has_buffers;
}

/** Take them if an algorithm may use them and that was not done yet. */
static inline bool has_buffers_for(shm_t *shm, const ctn_basic_coll_t *basic,
                                   const shm_algorithm_t *algorithm)
{
    return shm->has_buffers || !needs_buffers(shm, basic, algorithm) ||
           take_buffers(shm);
}

static const ctn_algorithm_t *choose(ctn_module_t *module,
                                     ctn_basic_kind_t kind,
                                     const ctn_basic_coll_t *basic)
{
    shm_t *shm = (shm_t *)module;
    const shm_algorithm_t *algorithm = shm_choose(shm, kind, basic);
    return has_buffers_for(shm, basic, algorithm) ? &algorithm->base : NULL;
}

/* Arguments of generation barriers. */
static const ctn_basic_coll_t nothing = {.root = 0};

static ctn_op_t *make_generation_barrier(ctn_exec_t *exec,
                                         ctn_sequence_t *sequence)
{
    shm_t *shm =
        (void *)((unsigned char *)sequence - offsetof(shm_t, sequence));
    ctn_op_t *op = ctn_op_take(exec, &shm_flat_barrier.base, sequence);
    if (op != NULL) {
        set(op, &shm->module, CTN_BARRIER, &nothing);
    }
    return op;
}

static const ctn_sequence_hooks_t hooks = {.make_barrier =
                                               make_generation_barrier};

/* ---- inline execution ---- */

/** Whether shm_run_inline can run a basic collective.
 * @param[out] longest bytes of the longest data of a member */
static inline bool is_short(shm_t *shm, ctn_basic_kind_t kind,
                            const ctn_basic_coll_t *basic,
                            const shm_algorithm_t *algorithm, size_t *longest)
{
    if (!algorithm->runs_inline) {
        return false;
    }
    *longest =
        kind == CTN_ALLGATHER ? shm_longest_block(shm, basic) : basic->bytes;
    if (*longest <= shm->descriptor_data) {
        return true;
    }
    if (*longest > shm_row_data(shm, kind) ||
        basic->bytes >= shm_zcopy_bytes(shm, kind, algorithm)) {
        return false;
    }
    if (!shm->has_rows) {
        shm_touch_rows(shm);
    }
    return true;
}

static inline bool inline_begin(shm_t *shm, bool synchronizing, uint64_t *seq)
{
    ctn_exec_t *exec = shm->module.exec;
    return synchronizing
               ? ctn_inline_begin(exec, &shm->sequence, seq)
               : ctn_inline_begin_unsynchronized(exec, &shm->sequence, seq);
}

static catena_status_t run_algorithm_inline(shm_t *shm, ctn_basic_kind_t kind,
                                            const ctn_basic_coll_t *basic,
                                            const shm_algorithm_t *algorithm,
                                            uint64_t seq)
{
    ctn_exec_t *exec = shm->module.exec;
    ctn_backoff_t backoff = {0};
    shm_call_t call; /* shm_call_begin sets the rest */
    call.shm = shm;
    call.kind = kind;
    call.basic = basic;
    call.algorithm = algorithm;
    call.zcopy_bytes = shm_zcopy_bytes(shm, kind, algorithm);
    shm_call_begin(&call, seq);
    call.loads = exec->wait_policy.loads;
    while (!advance(&call)) {
        call.loads = 1;
        exec->spin_polls = shm_spins_for(shm, call.next, call.end);
        if (!ctn_inline_wait(exec, &backoff)) {
            break;
        }
    }
    catena_status_t status = ctn_inline_end(exec, &shm->sequence);
    return status == CATENA_OK ? call.status : status;
}

/** Wait until all members have entered the last generation barrier that this
 * member entered without waiting; or, if the call does not block, check whether
 * they have. @param status NULL: the call does not block */
static bool end_generation_barrier(shm_t *shm, catena_status_t *status)
{
    ctn_sequence_t *sequence = &shm->sequence;
    uint64_t seq = shm->generation_barrier - 1;
    uint32_t arrived = 0;
    if (shm->generation_barrier <= sequence->synchronized) {
        return true;
    }
    if (!ctn_node_all_arrived(&shm->area, seq, &arrived, 1)) {
        if (status == NULL) {
            return false;
        }
        *status = run_algorithm_inline(shm, CTN_BARRIER, &nothing,
                                       &shm_generation_barrier_end, seq);
    }
    sequence->synchronized = shm->generation_barrier;
    return status == NULL || *status == CATENA_OK;
}

/** Before an operation that does not synchronize, if a generation barrier is
 * due: set this member's flag in it, and wait for all flags of the previous
 * generation barrier. So only a member that is far ahead waits. The generations
 * up to the next generation barrier are free then. That one may run as an
 * operation, which waits for all members.
 * @param status NULL: the call does not block
 * @return false: a call cannot run inline now */
static bool pass_generation_barrier(shm_t *shm, catena_status_t *status)
{
    ctn_sequence_t *sequence = &shm->sequence;
    uint64_t seq;
    if (!ctn_inline_possible(shm->module.exec, sequence) ||
        !end_generation_barrier(shm, status) ||
        !inline_begin(shm, true, &seq)) {
        return false;
    }
    ctn_node_arrive(shm->module.exec, &shm->area, seq);
    shm->generation_barrier = sequence->started;
    sequence->complete = sequence->started;
    return true;
}

/** Take the number of an inline call, after the generation barrier if one is
 * due. @param status as in pass_generation_barrier */
static inline bool begin_number(shm_t *shm, bool synchronizing,
                                catena_status_t *status, uint64_t *seq)
{
    return (synchronizing || !ctn_sequence_barrier_due(&shm->sequence) ||
            pass_generation_barrier(shm, status)) &&
           inline_begin(shm, synchronizing, seq);
}

static bool run_inline(ctn_module_t *module, ctn_basic_kind_t kind,
                       const ctn_basic_coll_t *basic, catena_status_t *status)
{
    shm_t *shm = (shm_t *)module;
    const shm_algorithm_t *algorithm = shm_choose(shm, kind, basic);
    bool synchronizing = algorithm->base.synchronizing;
    size_t longest;
    uint64_t seq;
    *status = CATENA_OK;
    if (!has_buffers_for(shm, basic, algorithm)) {
        return false;
    }
    if (!begin_number(shm, synchronizing, status, &seq)) {
        return *status != CATENA_OK;
    }
    if (is_short(shm, kind, basic, algorithm, &longest)) {
        ctn_node_report_cpu(shm->module.exec, &shm->area);
        *status = shm_run_inline(shm, kind, basic, longest, seq);
    } else {
        *status = run_algorithm_inline(shm, kind, basic, algorithm, seq);
    }
    return true;
}

/* ---- operations that begin inline ---- */

/** op->wait: complete an operation that began inline. */
static bool wait(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec;
    shm_call_t *call = ctn_op_state(op);
    ctn_backoff_t backoff = {0};
    if (!ctn_op_is_sole(op)) {
        return false;
    }
    if (op->phase == PHASE_COLLECT) {
        catena_status_t status =
            shm_collect_inline(call, call->longest, op->seq);
        if (exec->status != CATENA_OK) {
            return false;
        }
        ctn_exec_wake(exec);
        ctn_op_end(op, status);
        return true;
    }
    call->loads = exec->wait_policy.loads;
    while (!advance(call)) {
        call->loads = 1;
        exec->spin_polls = shm_spins_for(call->shm, call->next, call->end);
        if (!ctn_inline_wait(exec, &backoff)) {
            return false;
        }
    }
    ctn_exec_wake(exec);
    ctn_op_end(op, call->status);
    return true;
}

/** Publish the data. @return whether the operation is complete */
static bool begin_exchange(ctn_op_t *op, unsigned *phase)
{
    shm_call_t *call = ctn_op_state(op);
    size_t longest;
    if (is_short(call->shm, call->kind, call->basic, call->algorithm,
                 &longest)) {
        ctn_node_report_cpu(op->exec, &call->shm->area);
        call->status = CATENA_OK;
        call->longest = longest;
        *phase = PHASE_COLLECT;
        return !shm_publish_inline(call, longest, op->seq);
    }
    shm_call_begin(call, op->seq);
    *phase = PHASE_EXCHANGE;
    return advance(call);
}

static bool begin(ctn_op_t *op)
{
    shm_call_t *call = ctn_op_state(op);
    bool synchronizing = op->algorithm->synchronizing;
    unsigned phase;
    if (!begin_number(call->shm, synchronizing, NULL, &op->seq)) {
        return false;
    }
    if (begin_exchange(op, &phase)) {
        ctn_exec_wake(op->exec);
        ctn_op_end(op, call->status);
    } else {
        op->wait = wait;
        ctn_op_began(op, phase);
    }
    return true;
}

/* ---- the module ---- */

/** Read each page of some memory, so that later calls find it mapped.
 * Two members that touch a new page at the same time wait for each other in the
 * kernel, 30 us for each of the first pages instead of 2. */
static void touch_pages(const unsigned char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 4096) {
        (void)*(const volatile unsigned char *)(memory + at);
    }
}

void shm_touch_rows(shm_t *shm)
{
    const ctn_node_area_t *area = &shm->area;
    touch_pages(area->row.first, area->generations * area->row.generation);
    shm->has_rows = true;
}

void shm_touch_staging(shm_t *shm)
{
    touch_pages(shm->peer[shm->me].staging,
                shm->sequence.generations * (size_t)CTN_CHUNK_BYTES);
    shm->has_staging = true;
}

/** Allocate the memory of this member. It is a sparse block, of which only the
 * words are needed now, unless it is longer than such a block, or there are no
 * more.
 * @return false: no memory */
static bool allocate(shm_t *shm)
{
    ctn_exec_t *exec = shm->module.exec;
    size_t staging;
    ctn_node_area_t area = shm->area;
    shm->bytes = lay_out(shm, shm->me == 0, NULL, &area, &shm->words, &staging);
    if (shm->bytes <= ctn_heap_sparse_bytes(exec->heap)) {
        shm->memory = ctn_heap_alloc_sparse(exec->heap, CTN_ZERO_BLOCKS);
    }
    shm->has_buffers = shm->memory == NULL;
    if (shm->memory == NULL) {
        shm->memory =
            ctn_heap_calloc(exec->heap, CTN_MEMBER_ALIGNMENT, shm->bytes);
    }
    if (shm->memory == NULL ||
        !ctn_heap_take(exec->heap, shm->memory, shm->words)) {
        return false;
    }
    /* So other members find the pages that hold the words. */
    touch_pages(shm->memory, shm->words);
    return true;
}

/** Whether the memory of this member may contain data besides words. After a
 * length mismatch other members may have written to the eager rows of member 0,
 * which has not used them itself. */
static bool has_data(const shm_t *shm)
{
    return shm->has_buffers ||
           (shm->me == 0 && shm->last != NULL && shm->last->rows != 0);
}

static void release(shm_t *shm)
{
    ctn_exec_t *exec = shm->module.exec;
    if (shm->memory != NULL && ctn_exec_may_free(exec)) {
        bool data = has_data(shm);
        /* Clearing a few words costs less than returning their pages. */
        if (!data) {
            memset(shm->memory, 0, shm->words);
        }
        ctn_heap_free_sparse(exec->heap, shm->memory,
                             data ? CTN_SPARSE_USES : CTN_ZERO_BLOCKS);
    }
    free(shm->peer);
    free(shm);
}

static catena_status_t shm_create(const ctn_bcol_t *bcol, ctn_exec_t *exec,
                                  uint32_t size, uint32_t me,
                                  bool oversubscribed, ctn_module_t **module,
                                  uint64_t *offset)
{
    shm_t *shm = calloc(1, sizeof(*shm));
    if (shm == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    shm->module =
        (ctn_module_t){.bcol = bcol, .exec = exec, .sequence = &shm->sequence};
    shm->size = size;
    shm->me = me;
    ctn_sequence_set(&shm->sequence, NULL, SHM_GENERATIONS, SHM_FLIGHT);
    shm->sequence.ahead = true;
    shm->sequence.hooks = &hooks;
    shm->area = (ctn_node_area_t){
        .members = size,
        .generations = shm->sequence.generations,
        .oversubscribed = oversubscribed,
        .descriptor_bytes = oversubscribed ? 64 : DESCRIPTOR_BYTES,
        .row_bytes = shm_eager_row_stride(SHM_EAGER_ROW_BYTES),
        .me = me};
    shm->descriptor_data =
        shm->area.descriptor_bytes - sizeof(shm_descriptor_t);
    shm->peer = calloc(size, sizeof(shm_peer_t));
    if (shm->peer == NULL || !allocate(shm) ||
        !ctn_heap_contains(exec->heap, shm->memory, shm->bytes, offset)) {
        release(shm);
        return CATENA_ERR_NO_MEMORY;
    }
    *module = &shm->module;
    return CATENA_OK;
}

/** Connect to all members, and set the pointers into their memory. @return
 * ERR_ARG: a member does not share this rank's heap */
static catena_status_t shm_link(ctn_module_t *module, const ctn_sbgp_t *sbgp)
{
    shm_t *shm = (shm_t *)module;
    ctn_exec_t *exec = module->exec;
    module->sbgp = sbgp;
    for (uint32_t i = 0; i < sbgp->size; i++) {
        const ctn_sbgp_member_t *member = &sbgp->member[i];
        shm_peer_t *peer = &shm->peer[i];
        catena_status_t status =
            ctn_exec_connect(exec, member->memory.process, &peer->endpoint);
        if (status != CATENA_OK) {
            return status;
        }
        unsigned char *memory =
            ctn_pointer(peer->endpoint, member->memory.offset);
        if (memory == NULL) {
            ctn_error(exec->log,
                      "level %s cannot be served by shm: ranks %u and %u share "
                      "no heap; use ucx or p2p",
                      sbgp->rule->name, sbgp->member[shm->me].rank,
                      member->rank);
            return CATENA_ERR_ARG;
        }
        size_t words, staging;
        (void)lay_out(shm, i == 0, memory, &shm->area, &words, &staging);
        peer->staging = memory + staging;
        if (i == 0) {
            shm->last = (void *)memory;
            touch_pages(memory, words);
        }
    }
    return CATENA_OK;
}

static void shm_destroy(ctn_module_t *module)
{
    shm_t *shm = (shm_t *)module;
    shm_release_kept(shm);
    release(shm);
}

const ctn_bcol_t ctn_bcol_shm = {
    .name = "shm",
    .help = "flags and the shared heap: members on one node",
    .create = shm_create,
    .link = shm_link,
    .destroy = shm_destroy,
    .choose = choose,
    .set = set,
    .begin = begin,
    .run_inline = run_inline,
    .algorithms = {[CTN_BARRIER] = SHM_BARRIERS,
                   [CTN_BCAST] = SHM_STORAGE,
                   [CTN_REDUCE] = SHM_REDUCES,
                   [CTN_ALLREDUCE] = SHM_ALLREDUCES,
                   [CTN_SCAN] = SHM_SCANS,
                   [CTN_EXSCAN] = SHM_SCANS,
                   [CTN_GATHER] = SHM_STORAGE,
                   [CTN_SCATTER] = SHM_STORAGE,
                   [CTN_ALLGATHER] = SHM_STORAGE,
                   [CTN_REDUCE_SCATTER] = SHM_STORAGE},
    .longest = {[CTN_BCAST] = SHM_BCAST_BYTES},
};
