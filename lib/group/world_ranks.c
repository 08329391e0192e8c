/* World ranks: the table of a group, how it is gathered, and translation. */

#include "group/world_ranks.h"
#include "core/entry.h"

#include <stdlib.h>
#include <string.h>

#include "core/refuse.h"
#include "group/chain_coll.h"

/** A member, for the search by world rank. */
typedef struct ranked {
    int world, rank;
} ranked_t;

typedef struct world_ranks {
    ctn_attachment_t attachment; /* first */
    int *rank;                   /* [size] */
    ranked_t *sorted;            /* [size] by world rank; NULL: not made yet */
} world_ranks_t;

static const char world_ranks_key;

static world_ranks_t *table_of(const catena_group_t *group)
{
    return (world_ranks_t *)ctn_group_find(group, &world_ranks_key);
}

/** Return whether the world ranks follow from the handle without a table. */
static bool is_implied(const catena_group_t *group)
{
    return group->permanent || group->chain.place.size == 1;
}

bool ctn_world_ranks_known(const catena_group_t *group)
{
    return is_implied(group) || table_of(group) != NULL;
}

int ctn_world_rank(const catena_group_t *group, int rank)
{
    const ctn_chain_place_t *place = &group->chain.place;
    return !is_implied(group) ? table_of(group)->rank[rank]
           : place->size == 1 ? (int)place->self.process
                              : rank;
}

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    world_ranks_t *table = (world_ranks_t *)attachment;
    free(table->rank);
    free(table->sorted);
    free(table);
}

catena_status_t ctn_world_ranks_set(catena_group_t *group, int *ranks)
{
    world_ranks_t *table = calloc(1, sizeof(*table));
    if (table == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    table->attachment.key = &world_ranks_key;
    table->attachment.release = release;
    table->rank = ranks;
    ctn_group_attach(group, &table->attachment);
    return CATENA_OK;
}

/* ---- gathering ---- */

typedef struct fetch {
    catena_group_t *group; /* argument */
    int *gathered;         /* [size] in the shared heap, by rank */
} fetch_t;

static size_t table_bytes(const catena_group_t *group)
{
    return group->chain.place.size * sizeof(int);
}

/** Wait for earlier operations of the group: the allgather runs on the group's
 * chain, where all members must start the same operations in the same order. */
static ctn_step_t wait_until_oldest(ctn_op_t *op)
{
    return ctn_op_is_oldest(op) ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

static ctn_step_t gather(ctn_op_t *op)
{
    fetch_t *fetch = ctn_op_state(op);
    ctn_chain_t *chain = &fetch->group->chain;
    fetch->gathered = ctn_scratch_alloc(op->exec, table_bytes(fetch->group));
    if (fetch->gathered == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    int *own = &fetch->gathered[chain->place.rank];
    *own = (int)chain->place.self.process;
    return ctn_op_call(op, ctn_chain_allgather_table(op->exec, chain, own,
                                                     sizeof(*own),
                                                     fetch->gathered));
}

static ctn_step_t keep(ctn_op_t *op)
{
    fetch_t *fetch = ctn_op_state(op);
    int *ranks = malloc(table_bytes(fetch->group));
    if (ranks == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    memcpy(ranks, fetch->gathered, table_bytes(fetch->group));
    catena_status_t status = ctn_world_ranks_set(fetch->group, ranks);
    if (status != CATENA_OK) {
        free(ranks);
        return ctn_op_fail(op, status);
    }
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    fetch_t *fetch = ctn_op_state(op);
    if (op->status == CATENA_ERR_NO_MEMORY) { /* other members wait for this */
        op->status = ctn_op_give_up(op, op->status);
    }
    ctn_scratch_free(op->exec, fetch->gathered, table_bytes(fetch->group));
}

static const ctn_phase_t phases[] = {{"wait", wait_until_oldest},
                                     {"gather", gather},
                                     {"keep", keep},
                                     {NULL, NULL}};

static const ctn_algorithm_t fetch_algorithm = {
    .name = "world ranks",
    .state_bytes = sizeof(fetch_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

static catena_status_t fetch_all(catena_group_t *group)
{
    ctn_op_t *op =
        ctn_op_create(group->exec, &fetch_algorithm, &group->sequence);
    if (op != NULL) {
        ((fetch_t *)ctn_op_state(op))->group = group;
    }
    return ctn_group_run(group, op);
}

/** Make the table of a group whose world ranks follow from the handle. */
static catena_status_t list_implied(catena_group_t *group)
{
    int *ranks = malloc(table_bytes(group));
    for (uint32_t i = 0; ranks != NULL && i < group->chain.place.size; i++) {
        ranks[i] = ctn_world_rank(group, (int)i);
    }
    catena_status_t status = ranks != NULL ? ctn_world_ranks_set(group, ranks)
                                           : CATENA_ERR_NO_MEMORY;
    if (status != CATENA_OK) {
        free(ranks);
    }
    return status;
}

catena_status_t catena_group_world_ranks(catena_group_t *group,
                                         const int **ranks)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP) || ranks == NULL) {
        return CTN_REFUSE_NULL(ctn_group_log(group), group, ranks);
    }
    catena_status_t status = CATENA_OK;
    if (table_of(group) == NULL) {
        status = is_implied(group) ? list_implied(group) : fetch_all(group);
    }
    if (status == CATENA_OK) {
        *ranks = table_of(group)->rank;
    }
    return status;
}

/* ---- translation ---- */

static int compare_ranked(const void *a, const void *b)
{
    int x = ((const ranked_t *)a)->world;
    int y = ((const ranked_t *)b)->world;
    return (x > y) - (x < y);
}

/** Sort the table of a group, unless it is sorted or needs no search. */
static catena_status_t prepare_search(const catena_group_t *group)
{
    world_ranks_t *table = table_of(group);
    uint32_t size = group->chain.place.size;
    if (is_implied(group) || table->sorted != NULL) {
        return CATENA_OK;
    }
    table->sorted = malloc(size * sizeof(*table->sorted));
    if (table->sorted == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < size; i++) {
        table->sorted[i] = (ranked_t){table->rank[i], (int)i};
    }
    qsort(table->sorted, size, sizeof(*table->sorted), compare_ranked);
    return CATENA_OK;
}

/** Return the rank of a process in a group, or CATENA_UNDEFINED. */
static int rank_of(const catena_group_t *group, int world)
{
    if (group->chain.place.size == 1) {
        return ctn_world_rank(group, 0) == world ? 0 : CATENA_UNDEFINED;
    }
    if (is_implied(group)) {
        return world;
    }
    ranked_t key = {world, 0};
    const ranked_t *found =
        bsearch(&key, table_of(group)->sorted, group->chain.place.size,
                sizeof(key), compare_ranked);
    return found != NULL ? found->rank : CATENA_UNDEFINED;
}

static bool is_rank_of(const catena_group_t *group, int rank)
{
    return rank == CATENA_PROC_NULL ||
           (rank >= 0 && rank < (int)group->chain.place.size);
}

catena_status_t catena_group_translate_ranks(const catena_group_t *from,
                                             size_t count, const int ranks[],
                                             const catena_group_t *to,
                                             int translated[])
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(from, CTN_GROUP)) {
        return ctn_refuse_handle(__func__, "from", from);
    }
    if (CTN_UNUSABLE(to, CTN_GROUP)) {
        return ctn_refuse_handle(__func__, "to", to);
    }
    if (count > 0 && (ranks == NULL || translated == NULL)) {
        return CTN_REFUSE_NULL(from->exec->log, ranks, translated);
    }
    if (!ctn_world_ranks_known(from) || !ctn_world_ranks_known(to)) {
        return ctn_refuse(from->exec->log, CATENA_ERR_STATE, __func__,
                          "the world ranks of a group are not known; call "
                          "catena_group_world_ranks on all its ranks before");
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_rank_of(from, ranks[i])) {
            return ctn_refuse(from->exec->log, CATENA_ERR_ARG, __func__,
                              "rank %d; expected 0 to %u, or CATENA_PROC_NULL",
                              ranks[i], from->chain.place.size - 1);
        }
    }
    catena_status_t status = prepare_search(to);
    for (size_t i = 0; status == CATENA_OK && i < count; i++) {
        translated[i] = ranks[i] == CATENA_PROC_NULL
                            ? CATENA_PROC_NULL
                            : rank_of(to, ctn_world_rank(from, ranks[i]));
    }
    return status;
}
