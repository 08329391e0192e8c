/* What the recorder knows of groups. */

#include "core/hash.h"
#include "group/group.h"

uint64_t ctn_group_next_id(const catena_group_t *parent, const void *data,
                           size_t bytes)
{
    const unsigned char *byte = data;
    const ctn_recorded_scope_t *entry = parent->recorded;
    if (entry == NULL || entry->id == CTN_SCOPE_UNKNOWN) {
        return CTN_SCOPE_UNKNOWN;
    }
    uint64_t id = ctn_hash_add(entry->id, entry->calls);
    for (size_t i = 0; i < bytes; i++) {
        id = ctn_hash_add(id, byte[i]);
    }
    return id < CTN_SCOPE_FIRST ? CTN_SCOPE_FIRST : id;
}

void ctn_call_ends(const catena_group_t *group, ctn_call_code_t code)
{
    const ctn_recorder_t *recorder = group->exec->recorder;
    if (group->recorded == NULL) {
        return;
    }
    for (uint64_t i = 1; i <= recorder->records && i <= recorder->calls; i++) {
        ctn_recorded_call_t *call =
            ctn_recorder_records(recorder) +
            ((recorder->calls - i) & (recorder->records - 1));
        if (call->scope == group->recorded->id && call->code == code &&
            call->state == CTN_RECORD_INSIDE) {
            call->state = CTN_RECORD_OVER;
            return;
        }
    }
}

void ctn_group_record(catena_group_t *group, uint64_t id)
{
    if (group->exec->recorder != NULL) {
        group->recorded = ctn_recorder_add_scope(group->exec, id);
    }
}
