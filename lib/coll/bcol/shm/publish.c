/* How members publish data: staged, zero-copy or in a copy area (shm.h). */

#include "coll/bcol/shm/shm.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "exec/attach.h"
#include "exec/message.h"
#include "exec/transfer.h"

/* ---- copy areas ---- */

/** Whether no member reads that memory any more: the current operation uses the
 * generation of its operation or a later one, all ended that operation before
 * they started the last synchronizing one (exec/generations.h), or its readers
 * have told so. */
static bool is_over(const shm_call_t *call, const shm_kept_t *kept)
{
    const shm_t *shm = call->shm;
    const ctn_sequence_t *sequence = &shm->sequence;
    bool over = kept->seq + sequence->generations <= call->seq ||
                kept->seq + sequence->flight < sequence->synchronized;
    uint32_t i = kept->first_reader;
    while (!over && i <= kept->last_reader &&
           (i == shm->me ||
            ctn_node_is_set(ctn_node_departed(&shm->area, kept->seq, i),
                            kept->seq, 1))) {
        i++;
    }
    return over || i > kept->last_reader;
}

static bool is_free(const shm_call_t *call, const shm_kept_t *kept)
{
    return kept->memory == NULL || is_over(call, kept);
}

/** The memory of an entry for so many bytes. */
static size_t kept_size(size_t bytes)
{
    size_t size = SHM_KEPT_LEAST;
    while (size < bytes) {
        size *= 2;
    }
    return size;
}

/** Of the first entries of shm->kept, which together have SHM_KEPT_ROTATED, the
 * free one that was used longest ago; else the first free one. There are as
 * many entries as generations, so one is free. */
static shm_kept_t *next_kept(const shm_call_t *call, size_t bytes)
{
    size_t places = SHM_KEPT_ROTATED / kept_size(bytes);
    shm_kept_t *found = NULL;
    for (size_t k = 0; k < SHM_GENERATIONS && (found == NULL || k < places);
         k++) {
        shm_kept_t *kept = &call->shm->kept[k];
        if ((found == NULL || kept->seq < found->seq) && is_free(call, kept)) {
            found = kept;
        }
    }
    assert(found != NULL);
    return found;
}

/** The first free entry that has so many bytes; NULL: none. */
static shm_kept_t *ample_kept(const shm_call_t *call, size_t bytes)
{
    for (unsigned k = 0; k < SHM_GENERATIONS; k++) {
        shm_kept_t *kept = &call->shm->kept[k];
        if (kept->bytes >= bytes && is_free(call, kept)) {
            return kept;
        }
    }
    return NULL;
}

static void release_kept(shm_t *shm, shm_kept_t *kept)
{
    ctn_scratch_free(shm->module.exec, kept->memory, kept->bytes);
    shm->kept_bytes -= kept->bytes;
    *kept = (shm_kept_t){.memory = NULL};
}

/** Let a free entry have memory for `bytes`; if all entries together have too
 * much then, release others that are free. @return false: no memory */
static bool enlarge(const shm_call_t *call, shm_kept_t *kept, size_t bytes)
{
    shm_t *shm = call->shm;
    size_t size = kept_size(bytes);
    release_kept(shm, kept);
    for (unsigned k = 0;
         k < SHM_GENERATIONS && shm->kept_bytes + size > SHM_KEPT_ALL; k++) {
        if (shm->kept[k].memory != NULL && is_over(call, &shm->kept[k])) {
            release_kept(shm, &shm->kept[k]);
        }
    }
    if (shm->kept_bytes + size <= SHM_KEPT_ALL) {
        kept->memory = ctn_scratch_alloc(shm->module.exec, size);
        kept->bytes = kept->memory != NULL ? size : 0;
        shm->kept_bytes += kept->bytes;
    }
    return kept->memory != NULL;
}

/** The entry for a copy, with its memory: the next one in turn. If it must be
 * enlarged, and that fails or would release others, a free one that has
 * enough. NULL: no memory */
static shm_kept_t *find_kept(const shm_call_t *call, size_t bytes)
{
    shm_kept_t *kept = next_kept(call, bytes);
    if (kept->bytes >= bytes) {
        return kept;
    }
    shm_kept_t *ample = ample_kept(call, bytes);
    bool room =
        call->shm->kept_bytes - kept->bytes + kept_size(bytes) <= SHM_KEPT_ALL;
    return (room || ample == NULL) && enlarge(call, kept, bytes) ? kept : ample;
}

/** Memory of `bytes` that stays when the call ends. NULL: none. */
static unsigned char *take_kept(const shm_call_t *call, size_t bytes)
{
    bool synchronizing = call->algorithm->base.synchronizing;
    if (bytes > (synchronizing ? SHM_KEPT_SYNCHRONIZING : SHM_KEPT_MOST)) {
        return NULL;
    }
    shm_kept_t *kept = find_kept(call, bytes);
    if (kept == NULL) {
        return NULL;
    }
    bool one = call->kind == CTN_GATHER;
    kept->seq = call->seq;
    kept->first_reader = one ? call->basic->root : 0;
    kept->last_reader = one ? call->basic->root : call->shm->size - 1;
    return kept->memory;
}

void shm_release_kept(shm_t *shm)
{
    for (unsigned k = 0; k < SHM_GENERATIONS; k++) {
        release_kept(shm, &shm->kept[k]);
    }
}

void shm_copy_area_take(shm_call_t *call, size_t bytes)
{
    unsigned char *memory = take_kept(call, bytes);
    bool kept = memory != NULL;
    if (!kept) {
        memory = ctn_scratch_alloc(call->shm->module.exec, bytes);
    }
    call->copy_area =
        (shm_copy_area_t){memory, memory != NULL ? bytes : 0, 0, kept};
}

/** Release it at the end of the call. */
static void copy_area_release(shm_call_t *call)
{
    if (!call->copy_area.kept) {
        ctn_scratch_free(call->shm->module.exec, call->copy_area.memory,
                         call->copy_area.bytes);
    }
    call->copy_area = (shm_copy_area_t){.memory = NULL};
}

/* ---- publishing ---- */

void *shm_place_of(const shm_call_t *call, uint32_t i, size_t bytes)
{
    const ctn_node_area_t *area = &call->shm->area;
    if (bytes <= call->shm->descriptor_data) {
        return shm_descriptor_of(call, i)->data;
    }
    if (bytes > shm_row_data(call->shm, call->kind)) {
        return shm_staging_of(call, i, bytes);
    }
    /* The rows of a generation lie side by side. */
    unsigned char *first = ctn_node_entry(area, &area->row, call->seq, 0);
    return first + i * shm_eager_row_stride(call->longest);
}

/** Whether member `reader` reads what this member publishes for member i. */
static bool is_reader(const shm_call_t *call, uint32_t i, uint32_t reader)
{
    return reader != call->shm->me &&
           (call->kind == CTN_GATHER    ? reader == call->basic->root
            : call->kind == CTN_SCATTER ? reader == i
                                        : true);
}

/** Whether copies of the blocks of a scatter, of so many bytes each, stay: then
 * the root does not wait (scatter of 256 KiB, 4 ranks on 2 cores: 28 us, not
 * 48). */
static bool are_kept(const shm_call_t *call, size_t bytes)
{
    return call->kind == CTN_SCATTER &&
           bytes <= SHM_KEPT_MOST / (call->shm->size - 1);
}

/** Whether data outside the heap are read there: by one reader, which can.
 * Several readers are faster with a copy for all, since each access to another
 * process takes longer than a copy (allgather of 512 KiB by 4 ranks on 2 cores:
 * 829 us, not 632); so are two members with a core each, where both copy at
 * once (scatter of 1 MiB, written anew: 87 us, not 74). */
static bool can_attach(const shm_call_t *call, uint32_t i, size_t bytes)
{
    const shm_t *shm = call->shm;
    uint32_t readers = 0;
    bool can = call->algorithm->by_address &&
               bytes >= shm_attach_bytes(shm, SHM_ATTACH_BYTES, SIZE_MAX) &&
               !(shm->area.oversubscribed && are_kept(call, bytes));
    for (uint32_t reader = 0; can && reader < shm->size; reader++) {
        if (is_reader(call, i, reader)) {
            can = ++readers == 1 &&
                  ctn_may_attach(shm->module.exec, shm->peer[reader].endpoint,
                                 bytes);
        }
    }
    return can;
}

bool shm_may_zcopy(const shm_call_t *call, uint32_t i, const void *data,
                   size_t bytes, uint64_t *offset)
{
    if (call->mismatch || bytes < call->zcopy_bytes ||
        bytes <= call->shm->descriptor_data) {
        return false;
    }
    if (ctn_heap_contains(call->shm->module.exec->heap, data, bytes, offset)) {
        return true;
    }
    *offset = (uintptr_t)data | CTN_BY_ADDRESS;
    return (uintptr_t)data <= CTN_PLACE_MOST && can_attach(call, i, bytes);
}

/** Take a part of the copy area.
 * @param[out] offset of it @return where its data are */
static shm_storage_t take_copy(shm_call_t *call, size_t bytes, uint64_t *offset)
{
    shm_copy_area_t *copy_area = &call->copy_area;
    const unsigned char *to = copy_area->memory + copy_area->used;
    if (call->mismatch) {
        return SHM_MISMATCH;
    }
    if (copy_area->bytes - copy_area->used < bytes ||
        !ctn_heap_contains(call->shm->module.exec->heap, to, bytes, offset)) {
        call->status = CATENA_ERR_NO_MEMORY;
        return SHM_MISSING;
    }
    copy_area->used += bytes;
    return copy_area->kept ? SHM_KEPT : SHM_ZCOPY;
}

static uint64_t mark_of(const shm_call_t *call, size_t bytes)
{
    return call->algorithm->vector ? shm_vector_mark(call->basic)
                                   : bytes ^ call->digest;
}

/** Copy published data to the copy area, and tell how far. */
static void fill_copy(const shm_call_t *call, shm_descriptor_t *descriptor,
                      void *copy, const void *data, size_t bytes)
{
    shm_location_t *location = (void *)descriptor->data;
    for (size_t at = 0; at < bytes;) {
        size_t part =
            bytes - at < CTN_FRAGMENT_BYTES ? bytes - at : CTN_FRAGMENT_BYTES;
        shm_copy(call, (unsigned char *)copy + at,
                 (const unsigned char *)data + at, part);
        at += part;
        ctn_exec_post(call->shm->module.exec, &location->filled, at);
        ctn_exec_wake(call->shm->module.exec); /* they copy meanwhile */
    }
}

/** Publish data that are not staged: zero-copy at `offset`, if `zcopy`, or in
 * the copy area. */
static void publish_location(shm_call_t *call, uint32_t i, const void *data,
                             size_t bytes, bool zcopy, uint64_t offset)
{
    shm_descriptor_t *descriptor = shm_descriptor_of(call, i);
    shm_location_t location = {mark_of(call, bytes), SHM_ZCOPY, bytes};
    unsigned char *copy = NULL;
    bool copies = false;
    if (!zcopy) {
        copy = call->copy_area.memory + call->copy_area.used;
        location.storage = take_copy(call, bytes, &offset);
        copies = location.storage <= SHM_KEPT;
    }
    if (copies &&
        (bytes <= CTN_FRAGMENT_BYTES || call->kind == CTN_REDUCE_SCATTER ||
         call->kind == CTN_ALLTOALL)) {
        shm_copy(call, copy, data, bytes);
        copies = false;
    }
    location.filled = copies ? 0 : bytes;
    call->own = data;
    call->zcopy |= location.storage == SHM_ZCOPY;
    memcpy(descriptor->data, &location, sizeof(location));
    descriptor->offset = offset;
    shm_set(call, &descriptor->word);
    if (copies) {
        fill_copy(call, descriptor, copy, data, bytes);
    }
}

void shm_publish_mark(const shm_t *shm, const ctn_basic_coll_t *basic,
                      uint64_t seq)
{
    const ctn_node_area_t *area = &shm->area;
    shm_descriptor_t *descriptor =
        ctn_node_entry(area, &area->descriptor, seq, shm->me);
    descriptor->offset = SHM_STAGED - shm_vector_mark(basic);
    ctn_node_set(shm->module.exec, &descriptor->word, seq);
}

void shm_publish_placed(shm_call_t *call, size_t bytes)
{
    shm_descriptor_t *descriptor = shm_descriptor_of(call, call->shm->me);
    shm_location_t location = {mark_of(call, bytes), SHM_PLACED, bytes};
    memcpy(descriptor->data, &location, sizeof(location));
    descriptor->offset = 0;
    shm_set(call, &descriptor->word);
}

/* Staged data have a path of their own: with it, 512 B in an eager row are
 * there 0.08 us earlier (2 ranks with a core each). */
void shm_publish(shm_call_t *call, uint32_t i, const void *data, size_t bytes)
{
    uint64_t offset = 0;
    bool zcopy = shm_may_zcopy(call, i, data, bytes, &offset);
    if (zcopy || call->mismatch || bytes > CTN_CHUNK_BYTES) {
        publish_location(call, i, data, bytes, zcopy, offset);
        return;
    }
    if (!call->shm->has_rows && bytes > call->shm->descriptor_data) {
        shm_touch_rows(call->shm);
    }
    if (!call->shm->has_staging && bytes > CTN_ROTATE_ABOVE &&
        shm_rotates(call->shm, call->kind)) {
        shm_touch_staging(call->shm);
    }
    shm_descriptor_t *descriptor = shm_descriptor_of(call, i);
    void *place = shm_place_of(call, i, bytes);
    call->own = place;
    if (place != data) {
        shm_copy(call, place, data, bytes);
    }
    descriptor->offset = SHM_STAGED - mark_of(call, bytes);
    shm_set(call, &descriptor->word);
}

void shm_publish_own(shm_call_t *call, const void *data, size_t bytes)
{
    uint32_t me = call->shm->me;
    uint64_t offset;
    if (bytes > CTN_CHUNK_BYTES &&
        !shm_may_zcopy(call, me, data, bytes, &offset)) {
        shm_copy_area_take(call, bytes);
    }
    shm_publish(call, me, data, bytes);
}

bool shm_publish_in(shm_call_t *call)
{
    shm_publish_own(call, call->basic->in, call->basic->bytes);
    return true;
}

/* ---- reading ---- */

/** What a descriptor says. @param[out] staged the data are staged; else they
 * are at descriptor->offset */
static shm_location_t read_descriptor(const shm_descriptor_t *descriptor,
                                      bool *staged)
{
    shm_location_t location = {SHM_STAGED - descriptor->offset, SHM_KEPT, 0};
    *staged = location.mark < SHM_MARKS;
    if (!*staged) {
        memcpy(&location, descriptor->data, offsetof(shm_location_t, filled));
    }
    return location;
}

bool shm_is_zcopy(const shm_call_t *call, uint32_t i)
{
    bool staged;
    return read_descriptor(shm_descriptor_of(call, i), &staged).storage ==
           SHM_ZCOPY;
}

/** Write the length of a vector: "8 bytes", "32 chunks of 16384 bytes". */
CTN_COLD static void write_length(char text[64], unsigned chunks, size_t bytes)
{
    size_t used = 0;
    if (chunks != 1) {
        used = (size_t)snprintf(text, 64, "%u chunks of ", chunks);
    }
    snprintf(text + used, 64 - used, "%zu bytes", bytes);
}

/** The vector of a member has another length, or no valid data. */
CTN_COLD static void refuse_vector(shm_call_t *call, uint32_t owner,
                                   const shm_location_t *found)
{
    const ctn_module_t *module = &call->shm->module;
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t chunks = basic->chunks % SHM_MARK_CHUNKS;
    bool other_chunks = found->mark >> 32 != chunks;
    call->mismatch = true;
    /* A mismatch has been logged. */
    if (call->status == CATENA_OK &&
        (found->storage != SHM_MISMATCH || other_chunks)) {
        char length[64];
        char expected[64];
        write_length(length, (unsigned)(found->mark >> 32),
                     found->mark & UINT32_MAX);
        write_length(expected, chunks, basic->bytes);
        ctn_error(module->exec->log,
                  "%s: the vector of rank %u has %s; expected %s; give the "
                  "same count on all ranks",
                  basic->call, module->sbgp->member[owner].rank, length,
                  expected);
    }
    if (other_chunks) {
        (void)ctn_exec_give_up(module->exec, module->sequence->failure,
                               CATENA_ERR_ARG);
    }
}

/** The data of a member have another length than this one expects, or are not
 * valid: log it unless that was done, and let the call fail. */
CTN_COLD static void refuse(shm_call_t *call, uint32_t owner,
                            const shm_location_t *found, size_t expected)
{
    if (call->algorithm->vector) {
        refuse_vector(call, owner, found);
    } else if (call->status == CATENA_OK && found->storage != SHM_MISMATCH) {
        const ctn_sbgp_t *sbgp = call->shm->module.sbgp;
        if (call->kind == CTN_REDUCE_SCATTER) {
            ctn_basic_report_counts(&call->shm->module, call->basic, owner);
            call->status = CATENA_ERR_ARG;
            return;
        }
        (void)ctn_message_report_length(
            call->shm->module.exec, call->basic->call, sbgp->member[owner].rank,
            sbgp->member[sbgp->me].rank, found->mark, expected);
    }
    call->status = call->status == CATENA_OK ? CATENA_ERR_ARG : call->status;
}

/** Whether member `owner` has published valid data of `bytes` in the descriptor
 * of member i; otherwise the call fails. @param[out] location of the data
 * @param[out] staged see read_descriptor */
static bool check_published(shm_call_t *call, uint32_t i, uint32_t owner,
                            size_t bytes, shm_location_t *location,
                            bool *staged)
{
    *location = read_descriptor(shm_descriptor_of(call, i), staged);
    call->acknowledge |= location->storage == SHM_ZCOPY ||
                         (location->storage == SHM_KEPT && !*staged &&
                          !call->algorithm->base.synchronizing);
    if (location->storage == SHM_MISMATCH ||
        location->mark != mark_of(call, bytes)) {
        refuse(call, owner, location, bytes);
        return false;
    }
    if (location->storage == SHM_MISSING) {
        call->status = CATENA_ERR_NO_MEMORY;
        return false;
    }
    return true;
}

const void *shm_published(shm_call_t *call, uint32_t i, uint32_t owner,
                          size_t bytes)
{
    shm_location_t location;
    bool staged;
    if (!check_published(call, i, owner, bytes, &location, &staged)) {
        return NULL;
    }
    return staged ? shm_place_of(call, i, bytes)
                  : ctn_pointer(call->shm->peer[owner].endpoint,
                                shm_descriptor_of(call, i)->offset);
}

/** Copy what is there of a copy. @return whether all of it is copied */
static bool take_parts(shm_call_t *call, const shm_descriptor_t *descriptor,
                       unsigned char *to, const unsigned char *copy,
                       size_t bytes)
{
    const shm_location_t *location = (const void *)descriptor->data;
    size_t filled = ctn_word_load(&location->filled);
    shm_copy(call, to + call->taken, copy + call->taken, filled - call->taken);
    call->taken = filled < bytes ? filled : 0;
    return filled == bytes;
}

bool shm_take(shm_call_t *call, uint32_t i, uint32_t owner, void *to,
              size_t bytes)
{
    const shm_descriptor_t *descriptor = shm_descriptor_of(call, i);
    uint64_t offset = descriptor->offset;
    ctn_endpoint_t *peer = call->shm->peer[owner].endpoint;
    shm_location_t location;
    bool staged;
    if (!check_published(call, i, owner, bytes, &location, &staged) ||
        location.storage == SHM_PLACED) {
        return true;
    }
    if (staged) {
        shm_copy(call, to, shm_place_of(call, i, bytes), bytes);
    } else if ((offset & CTN_BY_ADDRESS) == 0) {
        return take_parts(call, descriptor, to, ctn_pointer(peer, offset),
                          bytes);
    } else {
        (void)ctn_attach_read(call->shm->module.exec, peer, to, bytes,
                              offset & ~CTN_BY_ADDRESS);
    }
    return true;
}

bool shm_check_own(shm_call_t *call, size_t bytes, size_t expected)
{
    if (bytes != expected) {
        refuse(call, call->shm->me, &(shm_location_t){bytes, SHM_KEPT, bytes},
               expected);
    }
    return bytes == expected;
}

/* ---- steps ---- */

void shm_acknowledge(shm_call_t *call)
{
    if (call->acknowledge) {
        call->acknowledge = false;
        ctn_node_set(
            call->shm->module.exec,
            ctn_node_departed(&call->shm->area, call->seq, call->shm->me),
            call->seq);
    }
}

/** Whether member i reads zero-copy data of this member. */
static bool reads_zcopy(const shm_call_t *call, uint32_t i)
{
    return is_reader(call, i, i) &&
           (call->kind != CTN_SCATTER || shm_is_zcopy(call, i));
}

bool shm_finish(shm_call_t *call)
{
    shm_acknowledge(call);
    bool waits = call->zcopy && !call->mismatch;
    for (; waits && call->next < call->shm->size; call->next++) {
        if (reads_zcopy(call, call->next) &&
            !shm_is_set(call, ctn_node_departed(&call->shm->area, call->seq,
                                                call->next))) {
            return false;
        }
    }
    if (call->copy_area.memory != NULL) {
        copy_area_release(call);
    }
    return true;
}
