#include "coll/bcol/shm/block.h"

#include <assert.h>
#include <string.h>

#include "exec/message.h"

const char *const shm_block_names[] = {"staged", "lent", NULL};

/** Where a published block is that is not staged. */
typedef enum storage {
    ZCOPY,   /* the owner waits until it has been read */
    KEPT,    /* in memory that stays until all members have ended */
    MISSING, /* there was no memory */
    MISMATCH /* the owner has no valid data */
} storage_t;

/** Data of a descriptor whose block is not staged. */
typedef struct location {
    uint64_t bytes;   /* of the block */
    uint64_t storage; /* storage_t */
} location_t;

/* ---- copy areas ---- */

/** Whether all members are known to have ended operation `seq`: the current
 * operation uses its generation or a later one, or all ended `seq` before they
 * started the last synchronizing operation (exec/generations.h). */
static bool is_over(const shm_call_t *call, uint64_t seq)
{
    const ctn_sequence_t *sequence = &call->shm->sequence;
    return seq + sequence->generations <= call->seq ||
           seq + sequence->flight < sequence->synchronized;
}

/** The first entry of shm->kept that is free: so few entries are used, and
 * these stay in the cache. There are as many as generations, so one is free. */
static shm_kept_t *find_kept(const shm_call_t *call)
{
    shm_kept_t *kept = call->shm->kept;
    while (kept->memory != NULL && !is_over(call, kept->seq)) {
        kept++;
        assert(kept < call->shm->kept + SHM_GENERATIONS);
    }
    return kept;
}

/** Memory of `bytes` that stays when the call ends. NULL: none. */
static unsigned char *take_kept(const shm_call_t *call, size_t bytes)
{
    ctn_exec_t *exec = call->shm->module.exec;
    shm_kept_t *kept = find_kept(call);
    if (kept->bytes < bytes) {
        ctn_scratch_free(exec, kept->memory, kept->bytes);
        kept->bytes =
            bytes <= SHM_KEPT_BYTES / 2 ? SHM_KEPT_BYTES / 2 : SHM_KEPT_BYTES;
        kept->memory = ctn_scratch_alloc(exec, kept->bytes);
    }
    if (kept->memory == NULL) {
        kept->bytes = 0;
    }
    kept->seq = call->seq;
    return kept->memory;
}

void shm_release_kept(shm_t *shm)
{
    for (unsigned k = 0; k < SHM_GENERATIONS; k++) {
        ctn_scratch_free(shm->module.exec, shm->kept[k].memory,
                         shm->kept[k].bytes);
    }
}

void shm_copy_area_take(shm_call_t *call, size_t bytes)
{
    bool kept = bytes <= SHM_KEPT_BYTES;
    unsigned char *memory =
        kept ? take_kept(call, bytes)
             : ctn_scratch_alloc(call->shm->module.exec, bytes);
    call->copy_area =
        (shm_copy_area_t){memory, memory != NULL ? bytes : 0, 0, kept};
}

void shm_copy_area_release(shm_call_t *call)
{
    if (!call->copy_area.kept) {
        ctn_scratch_free(call->shm->module.exec, call->copy_area.memory,
                         call->copy_area.bytes);
    }
    call->copy_area = (shm_copy_area_t){.memory = NULL};
}

/* ---- publishing ---- */

/** Whether a block is to be zcopy. @param[out] offset of the block then */
static bool zcopy_at(const shm_call_t *call, const void *data, size_t bytes,
                     uint64_t *offset)
{
    const shm_block_algorithm_t *algorithm = (const void *)call->algorithm;
    return bytes >= algorithm->zcopy_bytes &&
           bytes > call->shm->descriptor_data &&
           ctn_heap_contains(call->shm->module.exec->heap, data, bytes, offset);
}

bool shm_may_zcopy(const shm_call_t *call, const void *data, size_t bytes)
{
    uint64_t offset;
    return zcopy_at(call, data, bytes, &offset);
}

/** Where the staged block of the descriptor of member i lies: in the
 * descriptor, in an eager row, or in a staging buffer. */
static void *place_of(const shm_call_t *call, uint32_t i, size_t bytes)
{
    return bytes > call->shm->descriptor_data && bytes <= SHM_EAGER_ROW_BYTES
               ? shm_eager_row_of(call, i, call->longest)
               : shm_place_of(call, i, bytes);
}

/** Copy a block to the copy area. @param[out] offset of the copy */
static storage_t copy_to_area(shm_call_t *call, const void *data, size_t bytes,
                              uint64_t *offset)
{
    shm_copy_area_t *copy_area = &call->copy_area;
    unsigned char *to = copy_area->memory + copy_area->used;
    if (copy_area->bytes - copy_area->used < bytes ||
        !ctn_heap_contains(call->shm->module.exec->heap, to, bytes, offset)) {
        *offset = 0;
        return MISSING;
    }
    shm_copy(call, to, data, bytes);
    copy_area->used += bytes;
    return copy_area->kept ? KEPT : ZCOPY;
}

void shm_publish_block(shm_call_t *call, uint32_t i, const void *data,
                       size_t bytes)
{
    shm_descriptor_t *descriptor = shm_descriptor_of(call, i);
    uint64_t offset;
    bool may_zcopy = !call->mismatch && zcopy_at(call, data, bytes, &offset);
    if (call->mismatch) {
        location_t location = {bytes, MISMATCH};
        memcpy(descriptor->data, &location, sizeof(location));
        offset = 0;
    } else if (!may_zcopy && bytes <= CTN_CHUNK_BYTES) {
        offset = shm_staged_block(bytes);
        shm_copy(call, place_of(call, i, bytes), data, bytes);
    } else {
        storage_t storage =
            may_zcopy ? ZCOPY : copy_to_area(call, data, bytes, &offset);
        location_t location = {bytes, storage};
        memcpy(descriptor->data, &location, sizeof(location));
        call->zcopy |= storage == ZCOPY;
        call->status = storage == MISSING ? CATENA_ERR_NO_MEMORY : call->status;
    }
    descriptor->offset = offset;
    shm_set(call, &descriptor->word);
}

/** The length of a descriptor's block, and where the block is.
 * @param[out] staged the block is staged; else it is at descriptor->offset */
static location_t read_descriptor(const shm_descriptor_t *descriptor,
                                  bool *staged)
{
    location_t location = {.storage = KEPT};
    *staged = descriptor->offset >= shm_staged_block(CTN_CHUNK_BYTES);
    if (*staged) {
        location.bytes = SHM_STAGED - descriptor->offset;
    } else {
        memcpy(&location, descriptor->data, sizeof(location));
    }
    return location;
}

bool shm_has_zcopy(const shm_call_t *call, uint32_t i)
{
    bool staged;
    return read_descriptor(shm_descriptor_of(call, i), &staged).storage ==
           ZCOPY;
}

/** A block has another length: log it unless the call has failed already, and
 * let the call fail. */
static const void *refuse(shm_call_t *call, uint32_t owner, size_t found,
                          size_t expected)
{
    const shm_block_algorithm_t *algorithm = (const void *)call->algorithm;
    if (call->status == CATENA_OK) {
        const ctn_sbgp_t *sbgp = call->shm->module.sbgp;
        call->status = ctn_message_report_length(
            call->shm->module.exec, algorithm->what, sbgp->member[owner].rank,
            sbgp->member[sbgp->me].rank, found, expected);
    }
    return NULL;
}

const void *shm_published_block(shm_call_t *call, uint32_t i, uint32_t owner,
                                size_t bytes)
{
    const shm_descriptor_t *descriptor = shm_descriptor_of(call, i);
    bool staged;
    location_t location = read_descriptor(descriptor, &staged);
    call->acknowledge |= location.storage == ZCOPY;
    if (location.storage == MISMATCH) {
        call->status =
            call->status == CATENA_OK ? CATENA_ERR_ARG : call->status;
        return NULL;
    }
    if (location.bytes != bytes) {
        return refuse(call, owner, location.bytes, bytes);
    }
    if (staged) {
        return place_of(call, i, bytes);
    }
    if (location.storage == MISSING) {
        call->status = CATENA_ERR_NO_MEMORY;
        return NULL;
    }
    return ctn_pointer(call->shm->peer[owner].endpoint, descriptor->offset);
}

const void *shm_own_block(shm_call_t *call, const void *data, size_t bytes,
                          size_t expected)
{
    return bytes == expected ? data
                             : refuse(call, call->shm->me, bytes, expected);
}

void shm_publish_in(shm_call_t *call, size_t bytes)
{
    const void *in = call->basic->in;
    if (bytes > CTN_CHUNK_BYTES && !shm_may_zcopy(call, in, bytes)) {
        shm_copy_area_take(call, bytes);
    }
    shm_publish_block(call, call->shm->me, in, bytes);
}

/* ---- steps ---- */

bool shm_publish_own(shm_call_t *call)
{
    shm_publish_in(call, call->basic->bytes);
    return true;
}

bool shm_acknowledge(shm_call_t *call)
{
    if (call->acknowledge) {
        shm_depart(call);
    }
    return true;
}

bool shm_await_acknowledgments(shm_call_t *call)
{
    if (call->zcopy && !shm_all_departed(call)) {
        return false;
    }
    shm_copy_area_release(call);
    return true;
}
