/* Agreement of all ranks of a neighborhood: one double scan of the group's
 * chain. Rounds: ceil(log2 p). */

#include <assert.h>
#include <string.h>

#include "group/chain_coll.h"
#include "neighbor/create/create.h"

enum { MOST_WORDS = 32 };

/** Layout of the words that are reduced: first the status, negated, of which
 * the maximum is the worst; then this many sums, then this many maxima. */
typedef struct neighbor_shape {
    size_t sums;
    size_t maxima;
} neighbor_shape_t;

/** The operator of the double scan: local = local combined with remote. */
static void combine(void *local, const void *remote, size_t bytes,
                    bool remote_is_left, void *argument)
{
    const neighbor_shape_t *shape = argument;
    uint64_t *a = local;
    const uint64_t *b = remote;
    (void)bytes;
    (void)remote_is_left;
    for (size_t i = 0; i < 1 + shape->sums + shape->maxima; i++) {
        if (i > 0 && i <= shape->sums) {
            a[i] += b[i];
        } else {
            a[i] = a[i] > b[i] ? a[i] : b[i];
        }
    }
}

catena_status_t ctn_neighbor_agree(catena_group_t *group,
                                   catena_status_t status, size_t count,
                                   uint64_t sums[], size_t max_count,
                                   uint64_t maxima[])
{
    uint64_t word[MOST_WORDS];
    neighbor_shape_t shape = {count, max_count};
    assert(1 + count + max_count <= MOST_WORDS);
    word[0] = (uint64_t) - (int64_t)status;
    if (count > 0) {
        memcpy(word + 1, sums, count * sizeof(*word));
    }
    if (max_count > 0) {
        memcpy(word + 1 + count, maxima, max_count * sizeof(*word));
    }
    catena_status_t ran = ctn_group_run(
        group,
        ctn_chain_allreduce(group->exec, &group->chain,
                            (ctn_operator_t){combine, &shape}, word,
                            (1 + count + max_count) * sizeof(*word), word));
    if (ran != CATENA_OK) {
        return ran;
    }
    if (count > 0) {
        memcpy(sums, word + 1, count * sizeof(*word));
    }
    if (max_count > 0) {
        memcpy(maxima, word + 1 + count, max_count * sizeof(*word));
    }
    if (status == CATENA_OK && word[0] != 0) {
        ctn_error(ctn_log_kept(), "neighborhood: another rank cannot take part "
                                  "in the call; it has logged the reason");
    }
    return (catena_status_t) - (int64_t)word[0];
}

catena_status_t ctn_neighbor_agree_status(catena_group_t *group,
                                          catena_status_t status)
{
    return ctn_neighbor_agree(group, status, 0, NULL, 0, NULL);
}

catena_status_t ctn_neighbor_agree_maxima(catena_group_t *group,
                                          catena_status_t status, size_t count,
                                          uint64_t maxima[])
{
    uint64_t none[MOST_WORDS] = {0};
    size_t done = 0;
    do {
        size_t now = count - done;
        now = now < MOST_WORDS ? now : MOST_WORDS - 1;
        status = ctn_neighbor_agree(group, status, 0, NULL, now,
                                    maxima != NULL ? maxima + done : none);
        done += now;
    } while (status == CATENA_OK && done < count);
    return status;
}

catena_status_t ctn_neighbor_agree_same(const char *function,
                                        catena_group_t *group,
                                        catena_status_t status, size_t count,
                                        const uint64_t own[],
                                        const char *const names[])
{
    uint64_t most[2 * CTN_SAMES_MOST]; /* of the values and their complements */
    for (size_t i = 0; i < count; i++) {
        most[i] = own[i];
        most[count + i] = ~own[i];
    }
    status = ctn_neighbor_agree_maxima(group, status, 2 * count, most);
    for (size_t i = 0; status == CATENA_OK && i < count; i++) {
        if (most[i] != ~most[count + i]) {
            status = ctn_refuse(
                ctn_group_log_once(group), CATENA_ERR_ARG, function,
                "%s must be the same on all ranks, and differ", names[i]);
        }
    }
    return status;
}

catena_status_t ctn_neighbor_agree_weights(catena_group_t *group,
                                           catena_status_t status, bool any,
                                           bool weighted, bool *all_weighted)
{
    uint64_t ranks[2] = {any && weighted, any && !weighted};
    status = ctn_neighbor_agree(group, status, 2, ranks, 0, NULL);
    if (status == CATENA_OK && ranks[0] > 0 && ranks[1] > 0) {
        ctn_error(ctn_group_log_once(group),
                  "neighborhood: %llu ranks give their edges weights and %llu "
                  "do not; all or none must",
                  (unsigned long long)ranks[0], (unsigned long long)ranks[1]);
        return CATENA_ERR_ARG;
    }
    *all_weighted = ranks[0] > 0;
    return status;
}
