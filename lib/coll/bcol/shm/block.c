#include "coll/bcol/shm/block.h"

#include <assert.h>
#include <string.h>

const char *const shm_block_names[] = {"staged", "lent", NULL};

typedef enum how {
    LENT,    /* the owner waits until they have been read */
    KEPT,    /* they stay until all members are through */
    MISSING, /* there was no memory */
    UNFIT    /* their owner has no valid data */
} how_t;

/** In a line whose data lie elsewhere: what about them. */
typedef struct elsewhere {
    uint64_t bytes;
    uint64_t how; /* how_t */
} elsewhere_t;

/* ---- room for copies ---- */

/** Whether all members are known to be through with operation `seq`: it used
 * the same ring, or is so long ago that all have ended it before they started
 * the last one that synchronizes (exec/control_block.h). */
static bool is_over(const shm_call_t *call, uint64_t seq)
{
    const ctn_sequence_t *sequence = &call->shm->sequence;
    return seq + sequence->generations <= call->seq ||
           seq + sequence->flight < sequence->synchronized;
}

/** The first that is free: so few are used, and those are still in the cache.
 * There are as many as rings, so one is. */
static shm_kept_t *find_kept(const shm_call_t *call)
{
    shm_kept_t *kept = call->shm->kept;
    while (kept->memory != NULL && !is_over(call, kept->seq)) {
        kept++;
        assert(kept < call->shm->kept + SHM_RINGS);
    }
    return kept;
}

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
    for (unsigned k = 0; k < SHM_RINGS; k++) {
        ctn_scratch_free(shm->module.exec, shm->kept[k].memory,
                         shm->kept[k].bytes);
    }
}

void shm_take_room(shm_call_t *call, size_t bytes)
{
    bool kept = bytes <= SHM_KEPT_BYTES;
    unsigned char *memory =
        kept ? take_kept(call, bytes)
             : ctn_scratch_alloc(call->shm->module.exec, bytes);
    call->room = (shm_room_t){memory, memory != NULL ? bytes : 0, 0, kept};
}

void shm_leave_room(shm_call_t *call)
{
    if (!call->room.kept) {
        ctn_scratch_free(call->shm->module.exec, call->room.memory,
                         call->room.bytes);
    }
    call->room = (shm_room_t){.memory = NULL};
}

/* ---- showing ---- */

/** Whether a part is to be lent, and where it lies then. */
static bool lends_at(const shm_call_t *call, const void *data, size_t bytes,
                     uint64_t *offset)
{
    const shm_block_way_t *way = (const void *)call->way;
    return bytes >= way->lend_from && bytes > call->shm->line_data &&
           ctn_heap_contains(call->shm->module.exec->heap, data, bytes, offset);
}

bool shm_lends(const shm_call_t *call, const void *data, size_t bytes)
{
    uint64_t offset;
    return lends_at(call, data, bytes, &offset);
}

/** Where the block in the line of member i is put that is not lent; up to a
 * segment. */
static void *place_of(const shm_call_t *call, uint32_t i, size_t bytes)
{
    return bytes > call->shm->line_data && bytes <= SHM_ROW_BYTES
               ? shm_row_of(call, i, call->longest)
               : shm_place_of(call, i, bytes);
}

/** A copy where there is room. */
static how_t copy_to_room(shm_call_t *call, const void *data, size_t bytes,
                          uint64_t *offset)
{
    shm_room_t *room = &call->room;
    unsigned char *to = room->memory + room->used;
    if (room->bytes - room->used < bytes ||
        !ctn_heap_contains(call->shm->module.exec->heap, to, bytes, offset)) {
        *offset = 0;
        return MISSING;
    }
    shm_copy(call, to, data, bytes);
    room->used += bytes;
    return room->kept ? KEPT : LENT;
}

void shm_show_block(shm_call_t *call, uint32_t i, const void *data,
                    size_t bytes)
{
    shm_line_t *line = shm_post_of(call, i);
    uint64_t offset;
    bool lends = !call->differs && lends_at(call, data, bytes, &offset);
    if (call->differs) {
        elsewhere_t about = {bytes, UNFIT};
        memcpy(line->data, &about, sizeof(about));
        offset = 0;
    } else if (!lends && bytes <= CTN_CHUNK_BYTES) {
        offset = shm_staged_block(bytes);
        shm_copy(call, place_of(call, i, bytes), data, bytes);
    } else {
        how_t how = lends ? LENT : copy_to_room(call, data, bytes, &offset);
        elsewhere_t about = {bytes, how};
        memcpy(line->data, &about, sizeof(about));
        call->lent |= how == LENT;
        call->status = how == MISSING ? CATENA_ERR_NO_MEMORY : call->status;
    }
    line->offset = offset;
    shm_say(call, &line->word);
}

/** What a line says of its block, which is at its offset if it is not staged.
 */
static elsewhere_t read_line(const shm_line_t *line, bool *staged)
{
    elsewhere_t about = {.how = KEPT};
    *staged = line->offset >= shm_staged_block(CTN_CHUNK_BYTES);
    if (*staged) {
        about.bytes = SHM_STAGED - line->offset;
    } else {
        memcpy(&about, line->data, sizeof(about));
    }
    return about;
}

bool shm_has_lent(const shm_call_t *call, uint32_t i)
{
    bool staged;
    return read_line(shm_post_of(call, i), &staged).how == LENT;
}

/** The call fails; the first reason counts. */
static const void *refuse(shm_call_t *call, uint32_t owner, size_t found,
                          size_t expected)
{
    const shm_block_way_t *way = (const void *)call->way;
    if (call->status == CATENA_OK) {
        call->status = ctn_block_mismatch(&call->shm->module, way->what, owner,
                                          found, expected);
    }
    return NULL;
}

const void *shm_block_shown(shm_call_t *call, uint32_t i, uint32_t owner,
                            size_t bytes)
{
    const shm_line_t *line = shm_post_of(call, i);
    bool staged;
    elsewhere_t about = read_line(line, &staged);
    call->thanks |= about.how == LENT;
    if (about.how == UNFIT) {
        call->status =
            call->status == CATENA_OK ? CATENA_ERR_ARG : call->status;
        return NULL;
    }
    if (about.bytes != bytes) {
        return refuse(call, owner, about.bytes, bytes);
    }
    if (staged) {
        return place_of(call, i, bytes);
    }
    if (about.how == MISSING) {
        call->status = CATENA_ERR_NO_MEMORY;
        return NULL;
    }
    return ctn_pointer(call->shm->peer[owner].endpoint, line->offset);
}

const void *shm_own_block(shm_call_t *call, const void *data, size_t bytes,
                          size_t expected)
{
    return bytes == expected ? data
                             : refuse(call, call->shm->me, bytes, expected);
}

void shm_show_in(shm_call_t *call, size_t bytes)
{
    const void *in = call->basic->in;
    if (bytes > CTN_CHUNK_BYTES && !shm_lends(call, in, bytes)) {
        shm_take_room(call, bytes);
    }
    shm_show_block(call, call->shm->me, in, bytes);
}

/* ---- steps ---- */

bool shm_show_own(shm_call_t *call)
{
    shm_show_in(call, call->basic->bytes);
    return true;
}

bool shm_thank(shm_call_t *call)
{
    if (call->thanks) {
        shm_say(call, shm_flag_of(call, call->shm->me));
    }
    return true;
}

bool shm_await_thanks(shm_call_t *call)
{
    if (call->lent && !shm_all_flags(call)) {
        return false;
    }
    shm_leave_room(call);
    return true;
}
