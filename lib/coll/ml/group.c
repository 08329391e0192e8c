/* The state that hierarchical collectives keep with a group: configurations,
 * and memory for chunks. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "coll/barrier.h"
#include "coll/hierarchy/settings.h"
#include "coll/ml/ml.h"

typedef struct group_state {
    ctn_attachment_t attachment; /* first */
    ctn_ml_config_t config[CTN_COLL_COUNT];
    ctn_pool_t chunks; /* ctn_chunk_t that no operation uses */
    /** Of a hidden duplicate: ctn_duplicates_t.changes when it last resolved
     * its configurations. */
    uint32_t changes;
} group_state_t;

/* Its address is the attachment's key. */
static const char key;

static void free_scratch(void *object, void *exec)
{
    ctn_chunk_t *chunk = object;
    ctn_scratch_free(exec, chunk->scratch, chunk->scratch_bytes);
}

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    group_state_t *kept = (group_state_t *)attachment;
    ctn_pool_visit(&kept->chunks, free_scratch, exec);
    ctn_pool_drop(&kept->chunks);
    for (size_t i = 0; i < CTN_COLL_COUNT; i++) {
        free(kept->config[i].block_offsets);
        free(kept->config[i].last_run.explanation);
    }
    free(kept);
}

CTN_COLD static group_state_t *make_group_state(catena_group_t *group)
{
    group_state_t *kept = calloc(1, sizeof(*kept));
    if (kept != NULL) {
        kept->attachment.key = &key;
        kept->attachment.release = release;
        ctn_group_attach(group, &kept->attachment);
    }
    return kept;
}

/** @return NULL: no memory */
static inline group_state_t *group_state_of(catena_group_t *group)
{
    ctn_attachment_t *found = ctn_group_find(group, &key);
    return found != NULL ? (group_state_t *)found : make_group_state(group);
}

/* ---- chunks ---- */

ctn_chunk_t *ctn_chunk_take(catena_group_t *group)
{
    return ctn_pool_get(&group_state_of(group)->chunks, sizeof(ctn_chunk_t), 1);
}

void ctn_chunk_give(catena_group_t *group, ctn_chunk_t *chunk)
{
    chunk->scratch = NULL;
    ctn_pool_put(&group_state_of(group)->chunks, chunk);
}

/* ---- algorithms ---- */

static const ctn_composition_t *const compositions[] = {
#define CTN_CALL(NAME, name, send, recv, traits) &ctn_ml_##name,
#define CTN_VARIANT(NAME, name, OF, send, recv, traits) &ctn_ml_##name,
#include "core/calls.def"
    &ctn_ml_alltoall,
};

enum { COMPOSITIONS = sizeof(compositions) / sizeof(compositions[0]) };

#define ALLTOALL(NAME, text) CTN_ALGORITHM_BIT(NAME) |
#define ALL_ALLTOALLS (CTN_EACH_ALLTOALL(ALLTOALL) 0)

/** The algorithms of the basic collectives that the compositions with the
 * settings of `of` use. */
static ctn_algorithm_set_t algorithms_of(ctn_coll_t of)
{
    uint32_t kinds = 0;
    ctn_algorithm_set_t algorithms = 0;
    if (of == CTN_COLL_ALLTOALL) { /* also those without levels */
        return ALL_ALLTOALLS;
    }
    for (size_t i = 0; i < COMPOSITIONS; i++) {
        kinds |= compositions[i]->of == of ? compositions[i]->kinds : 0;
    }
    for (const ctn_bcol_t *const *bcol = ctn_bcols; *bcol != NULL; bcol++) {
        for (int kind = 0; kind < CTN_BASICS; kind++) {
            algorithms |=
                (kinds >> kind & 1) != 0 ? (*bcol)->algorithms[kind] : 0;
        }
    }
    return algorithms;
}

/** Find an algorithm by its name.
 * @param setting that has the name, for the message */
static catena_status_t find_algorithm(const ctn_log_t *log, const char *setting,
                                      ctn_coll_t of, const char *name,
                                      ctn_algorithm_name_t *found)
{
    char names[256] = "auto";
    *found = CTN_ALGORITHM_AUTO;
    if (strcasecmp(name, names) == 0) {
        return CATENA_OK;
    }
    ctn_algorithm_set_t known = algorithms_of(of);
    for (unsigned i = 1; i < CTN_ALGORITHMS; i++) {
        size_t used = strlen(names);
        if (!ctn_algorithm_in(known, i)) {
            continue;
        }
        if (strcmp(name, ctn_algorithm_names[i]) == 0) {
            *found = (ctn_algorithm_name_t)i;
            return CATENA_OK;
        }
        snprintf(names + used, sizeof(names) - used, ", %s",
                 ctn_algorithm_names[i]);
    }
    ctn_error(log, "%s is '%s'; expected one of %s", setting, name, names);
    return CATENA_ERR_ARG;
}

catena_status_t ctn_ml_check(const ctn_log_t *log, const ctn_config_t *config)
{
    catena_status_t status = CATENA_OK;
    for (int i = 0; i < CTN_COLL_ALLTOALL && status == CATENA_OK; i++) {
        char name[CTN_HIERARCHY_NAME_BYTES];
        ctn_algorithm_name_t found;
        snprintf(name, sizeof(name), "CATENA_%s_ALGORITHM",
                 ctn_collective_names[i]);
        for (char *c = name; *c != '\0'; c++) {
            *c = (char)toupper((unsigned char)*c);
        }
        status = find_algorithm(log, name, (ctn_coll_t)i,
                                ctn_hierarchy_config(config)->of[i].algorithm,
                                &found);
    }
    return status;
}

/* ---- configurations ---- */

/** A hidden duplicate resolves its configuration again when the settings of its
 * group have changed. */
void ctn_ml_follow_settings(catena_group_t *group)
{
    group_state_t *kept = group_state_of(group);
    const ctn_duplicates_t *requests = ((ctn_hidden_t *)group)->requests;
    if (kept == NULL) {
        (void)ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    } else if (kept->changes != requests->changes) {
        kept->changes = requests->changes;
        ctn_hierarchy_forget(group);
        ctn_ml_forget(group);
    }
}

/** Resolve the settings of a configuration, and request its hierarchy. */
CTN_COLD static catena_status_t resolve(catena_group_t *group, ctn_coll_t of,
                                        ctn_ml_config_t *config)
{
    catena_status_t status =
        find_algorithm(group->exec->log, ctn_collective_names[of], of,
                       ctn_hierarchy_algorithm(group, of), &config->algorithm);
    config->reproducible = ctn_hierarchy_reproducible(group);
    return status == CATENA_OK
               ? ctn_hierarchy_of(group, ctn_collective_names[of],
                                  &config->hierarchy)
               : status;
}

catena_status_t ctn_ml_config_find(catena_group_t *group, ctn_coll_t of,
                                   ctn_ml_config_t **config)
{
    group_state_t *kept = group_state_of(group);
    if (kept == NULL) {
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    *config = &kept->config[of];
    return (*config)->hierarchy != NULL ? CATENA_OK
                                        : resolve(group, of, *config);
}

void ctn_ml_forget(catena_group_t *group)
{
    group_state_t *kept = (group_state_t *)ctn_group_find(group, &key);
    group->barrier = CTN_BARRIER_UNKNOWN;
    for (size_t i = 0; kept != NULL && i < CTN_COLL_COUNT; i++) {
        kept->config[i].hierarchy = NULL;
        kept->config[i].flat = NULL;
    }
}

/* ---- settings ---- */

bool ctn_ml_set(catena_group_t *group, const char *name, const char *value,
                catena_status_t *status)
{
    ctn_coll_t of = ctn_collective_of_setting(name, "_algorithm");
    if (of == CTN_COLL_COUNT) {
        return false;
    }
    /* Also after an invalid value: then the hierarchy is requested again on
     * this rank, too, as on the ranks whose value was valid. */
    ctn_algorithm_name_t found;
    char setting[80];
    snprintf(setting, sizeof(setting), "catena_group_set: %s", name);
    *status = find_algorithm(group->exec->log, setting, of, value, &found);
    catena_status_t set = ctn_hierarchy_set_algorithm(
        group, of, *status == CATENA_OK ? value : NULL);
    *status = *status == CATENA_OK ? set : *status;
    group_state_t *kept = (group_state_t *)ctn_group_find(group, &key);
    if (kept != NULL) {
        kept->config[of].hierarchy = NULL;
    }
    group->barrier = CTN_BARRIER_UNKNOWN;
    return true;
}

/* ---- explaining ---- */

void ctn_ml_record_run(ctn_ml_t *ml)
{
    catena_group_t *group = ml->call.group;
    group_state_t *kept = group_state_of(ctn_group_original(group));
    if (kept == NULL) {
        return;
    }
    ctn_ml_run_t *run = &kept->config[ml->call.composition->of].last_run;
    free(run->explanation);
    *run = (ctn_ml_run_t){
        .composition = ml->call.composition,
        .through = ml->hierarchy,
        .algorithm = ml->algorithm,
        .chunk_bytes = ml->chunk_bytes,
        .fell_back = ml->hierarchy != ml->main,
        .serial = ml->call.serial,
        .chunks = ml->chunks,
        .number = run->number + 1,
        .on = group->hidden ? group : NULL,
    };
    ml->record = run;
    ml->run = run->number;
    ml->messages = ml->exec->tally.messages;
}

void ctn_ml_record_exchange(const ctn_call_t *call, const char *exchange,
                            uint64_t messages)
{
    group_state_t *kept = group_state_of(ctn_group_original(call->group));
    if (kept != NULL) {
        ctn_ml_run_t *run = &kept->config[call->composition->of].last_run;
        free(run->explanation);
        *run = (ctn_ml_run_t){.composition = call->composition,
                              .number = run->number + 1,
                              .reproducible = call->reproducible,
                              .exchange = exchange,
                              .messages = messages};
    }
}

/** Add the text of a basic collective: "reduce on node: flat (rule 1 of tuning
 * default)". */
static void describe_basic(const ctn_ml_basic_run_t *basic, char *text,
                           size_t bytes)
{
    static const char *const kinds[CTN_BASICS] = {
        [CTN_BARRIER] = "barrier",     [CTN_FANIN] = "fan-in",
        [CTN_FANOUT] = "fan-out",      [CTN_BCAST] = "bcast",
        [CTN_REDUCE] = "reduce",       [CTN_ALLREDUCE] = "allreduce",
        [CTN_SCAN] = "scan",           [CTN_EXSCAN] = "exscan",
        [CTN_GATHER] = "gather",       [CTN_SCATTER] = "scatter",
        [CTN_ALLGATHER] = "allgather", [CTN_REDUCE_SCATTER] = "reduce_scatter",
        [CTN_ALLTOALL] = "alltoall",
    };
    size_t used = strlen(text);
    char reason[80] = "as asked for";
    if (basic->rule != NULL) {
        ctn_rule_describe(basic->rule, reason, sizeof(reason));
    }
    if (basic->algorithm != CTN_ALGORITHM_AUTO) {
        snprintf(text + used, bytes - used, "%s%s on %s: %s (%s)",
                 used > 0 ? ", " : "", kinds[basic->kind],
                 basic->module->sbgp->rule->name,
                 ctn_algorithm_names[basic->algorithm], reason);
    }
}

/** Write the explanation of the last run. */
static void describe(const ctn_ml_run_t *run, char *text, size_t bytes)
{
    char levels[160];
    char ran[400] = "";
    if (run->through == NULL) {
        snprintf(text, bytes, "algorithm=%s messages=%llu reason=\"%s\"",
                 run->exchange, (unsigned long long)run->messages,
                 run->reproducible ? "reproducible: the levels add in another "
                                     "order, or take longer"
                                   : "an element does not fit a chunk");
        return;
    }
    ctn_hierarchy_describe(run->through, levels, sizeof(levels));
    for (uint32_t i = 0; i < run->selected; i++) {
        describe_basic(&run->basic[i], ran, sizeof(ran));
    }
    snprintf(text, bytes,
             "algorithm=%s hierarchy=\"%s\" levels=\"%s\" ran=\"%s\" "
             "chunks=%llu chunk_bytes=%zu messages=%llu reason=\"%s\"",
             ctn_algorithm_names[run->algorithm], run->through->text, levels,
             ran, run->ran_inline ? 1 : (unsigned long long)run->chunks,
             run->chunk_bytes,
             run->ran_inline ? 0 : (unsigned long long)run->messages,
             run->fell_back && run->serial
                 ? "a long or reproducible scan goes from rank to rank"
             : run->fell_back ? "the order of operands matters, and not all "
                                "subgroups of the hierarchy keep it"
             : run->algorithm != CTN_ALGORITHM_AUTO ? "as asked for"
                                                    : "rules of each subgroup");
}

void ctn_ml_keep_explanation(const catena_group_t *hidden)
{
    const catena_group_t *group = ctn_group_original(hidden);
    group_state_t *kept = (group_state_t *)ctn_group_find(group, &key);
    char explanation[1024];
    for (size_t i = 0; kept != NULL && i < CTN_COLL_COUNT; i++) {
        ctn_ml_run_t *run = &kept->config[i].last_run;
        if (run->on == hidden && !run->ran_inline) {
            describe(run, explanation, sizeof(explanation));
            run->explanation = strdup(explanation);
            if (run->explanation == NULL) {
                run->composition = NULL;
            }
        }
        run->on = run->on == hidden ? NULL : run->on;
    }
}

bool ctn_ml_explain(const catena_group_t *group, const char *collective,
                    char *text, size_t bytes)
{
    const ctn_composition_t *composition = NULL;
    for (size_t i = 0; i < COMPOSITIONS; i++) {
        if (strcmp(compositions[i]->collective->name, collective) == 0) {
            composition = compositions[i];
        }
    }
    if (composition == NULL) {
        return false;
    }
    group_state_t *kept = (group_state_t *)ctn_group_find(group, &key);
    const ctn_ml_run_t *run =
        kept != NULL ? &kept->config[composition->of].last_run : NULL;
    if (run == NULL || run->composition != composition) {
        snprintf(text, bytes, "algorithm=none reason=\"has not run yet\"");
    } else if (run->explanation != NULL && !run->ran_inline) {
        snprintf(text, bytes, "%s", run->explanation);
    } else {
        describe(run, text, bytes);
    }
    return true;
}
