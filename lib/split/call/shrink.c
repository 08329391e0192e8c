/* catena_group_shrink: a group of the living members. */

#include <catena/group.h>

#include "coll/barrier.h"
#include "core/entry.h"
#include "core/refuse.h"
#include "group/check.h"
#include "group/recovery.h"

catena_status_t catena_group_shrink(catena_group_t *group, catena_group_t **out)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP) || out == NULL) {
        if (!CTN_UNUSABLE(group, CTN_GROUP)) {
            (void)ctn_check_recovery_call(group, CTN_CODE_GROUP_SHRINK, true);
        }
        return CTN_REFUSE_NULL(ctn_group_log(group), group, out);
    }
    catena_status_t status = ctn_recovery_check(group, __func__);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_recorded_call_t *record =
        ctn_call_enters(group, CTN_CODE_GROUP_SHRINK, -1);
    status = ctn_check_recovery_call(group, CTN_CODE_GROUP_SHRINK, false);
    if (status != CATENA_OK) {
        ctn_call_returns(group->exec, record, CTN_RECORD_OVER, NULL);
        return status;
    }
    catena_group_t *made = NULL;
    if (ctn_group_create(group->exec, group->chain.place.size, &made) ==
        CATENA_OK) {
        ctn_barrier_set_hooks(made);
    }
    status = ctn_shrink(group, made);
    if (status == CATENA_OK) {
        *out = made;
    } else if (made != NULL) {
        made->stays = true;
        ctn_group_release(made);
    }
    ctn_call_returns(group->exec, record, CTN_RECORD_OVER, NULL);
    return status;
}
