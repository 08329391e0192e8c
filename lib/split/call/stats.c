/* What a group keeps about its last split: statistics and an explanation. */

#include <stdio.h>
#include <stdlib.h>

#include "core/entry.h"
#include "core/refuse.h"
#include "core/sized.h"
#include "split/call/call.h"

typedef struct last_split {
    ctn_attachment_t attachment;
    ctn_split_choice_t choice;
    ctn_tally_t tally; /* costs of that split alone */
} last_split_t;

static const char last_key;

static const last_split_t *last_of(const catena_group_t *group)
{
    return (const last_split_t *)ctn_group_find(group, &last_key);
}

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    free(attachment);
}

void ctn_split_remember(catena_group_t *group, const ctn_split_choice_t *choice,
                        const ctn_tally_t *before)
{
    last_split_t *last = (last_split_t *)ctn_group_find(group, &last_key);
    if (last == NULL) {
        last = calloc(1, sizeof(*last));
        if (last == NULL) {
            return;
        }
        last->attachment.key = &last_key;
        last->attachment.release = release;
        ctn_group_attach(group, &last->attachment);
    }
    const ctn_tally_t *now = &group->exec->tally;
    last->choice = *choice;
    last->tally = (ctn_tally_t){
        .rounds = now->rounds - before->rounds,
        .messages = now->messages - before->messages,
        .bytes = now->bytes - before->bytes,
        .most_memory = now->most_memory - before->memory,
    };
}

catena_status_t catena_group_get_stats(const catena_group_t *group,
                                       catena_group_stats_t *stats)
{
    CTN_ENTRY;
    static const ctn_sized_t sized =
        CTN_SIZED(catena_group_stats_t, split_memory);
    if (CTN_UNUSABLE(group, CTN_GROUP) || stats == NULL) {
        return CTN_REFUSE_NULL(ctn_group_log(group), group, stats);
    }
    const last_split_t *last = last_of(group);
    catena_group_stats_t own = {.handle_bytes = sizeof(catena_group_t),
                                .block_bytes = sizeof(ctn_control_block_t)};
    if (last != NULL) {
        own.split_algorithm = last->choice.name;
        own.split_rounds = last->tally.rounds;
        own.split_messages = last->tally.messages;
        own.split_bytes = last->tally.bytes;
        own.split_memory = last->tally.most_memory;
    }
    return ctn_sized_write(__func__, group->exec->log, &sized, &own, stats);
}

void ctn_split_explain(const catena_group_t *group, char *text, size_t bytes)
{
    const last_split_t *last = last_of(group);
    if (last == NULL) {
        snprintf(text, bytes, "algorithm=none reason=\"has not run yet\"");
        return;
    }
    char reason[80] = "as asked for";
    if (last->choice.rule != NULL) {
        ctn_rule_describe(last->choice.rule, reason, sizeof(reason));
    }
    snprintf(text, bytes,
             "algorithm=%s rounds=%llu messages=%llu reason=\"%s\"",
             last->choice.name, (unsigned long long)last->tally.rounds,
             (unsigned long long)last->tally.messages, reason);
}
