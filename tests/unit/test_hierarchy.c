/* Hierarchies: their text, and building them in simulated jobs, against a
 * naive computation by what each rank shares. The components here do nothing
 * but check who is told what. */

#include <catena/coll.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "coll/barrier.h"
#include "coll/levels.h"
#include "job.h"

enum { RANKS = 64 };

/* ---- components ---- */

/** What a module shows the others. */
typedef struct shown {
    uint64_t magic;
    uint64_t me;
    uint64_t size;
    uint64_t crowded;
} shown_t;

enum { MAGIC = 0x5a5a1234 };

typedef struct module {
    ctn_module_t base; /* first */
    ctn_channel_t channel;
    shown_t *shown;
} module_t;

/* How many there are, and what the next runs are to see. */
static struct {
    int modules;
    int refuse_create; /* world rank; -1: none */
    int refuse_link;
} world;

static bool is_rank(const ctn_exec_t *exec, int rank)
{
    return exec->log->rank == rank;
}

static catena_status_t create(const ctn_bcol_t *bcol, ctn_exec_t *exec,
                              uint32_t size, uint32_t me, bool crowded,
                              ctn_module_t **out, uint64_t *offset)
{
    if (is_rank(exec, world.refuse_create)) {
        return CATENA_ERR_NO_MEMORY;
    }
    module_t *module = calloc(1, sizeof(*module));
    module->base = (ctn_module_t){bcol, exec, NULL, &module->channel};
    module->shown = ctn_heap_calloc(exec->heap, 64, sizeof(shown_t));
    *module->shown = (shown_t){MAGIC, me, size, crowded};
    *offset = ctn_offset_of(exec, module->shown);
    *out = &module->base;
    world.modules++;
    return CATENA_OK;
}

/** All are there, and as the table has it. */
static catena_status_t link(ctn_module_t *base, const ctn_sbgp_t *sbgp)
{
    const module_t *module = (const module_t *)base;
    base->sbgp = sbgp;
    if (is_rank(base->exec, world.refuse_link) ||
        module->shown->size != sbgp->size || module->shown->me != sbgp->me ||
        (module->shown->crowded != 0) != sbgp->crowded) {
        return CATENA_ERR_ARG;
    }
    for (uint32_t i = 0; i < sbgp->size; i++) {
        ctn_endpoint_t *endpoint;
        ctn_address_t memory = sbgp->member[i].memory;
        if (ctn_exec_connect(base->exec, memory.process, &endpoint) !=
            CATENA_OK) {
            return CATENA_ERR_PEER;
        }
        const shown_t *shown = ctn_pointer(endpoint, memory.offset);
        bool far = shown == NULL;
        if (far && strcmp(base->bcol->name, "shm") == 0) {
            return CATENA_ERR_ARG;
        }
        if (!far && (shown->magic != MAGIC || shown->me != i ||
                     shown->size != sbgp->size)) {
            return CATENA_ERR_STATE;
        }
    }
    return CATENA_OK;
}

static void destroy(ctn_module_t *base)
{
    module_t *module = (module_t *)base;
    ctn_heap_free(base->exec->heap, module->shown);
    free(module);
    world.modules--;
}

static catena_status_t create_shm(ctn_exec_t *exec, uint32_t size, uint32_t me,
                                  bool crowded, ctn_module_t **module,
                                  uint64_t *offset);
static catena_status_t create_p2p(ctn_exec_t *exec, uint32_t size, uint32_t me,
                                  bool crowded, ctn_module_t **module,
                                  uint64_t *offset);
static catena_status_t create_ucx(ctn_exec_t *exec, uint32_t size, uint32_t me,
                                  bool crowded, ctn_module_t **module,
                                  uint64_t *offset);

static const ctn_bcol_t shm = {
    .name = "shm", .create = create_shm, .link = link, .destroy = destroy};
static const ctn_bcol_t p2p = {
    .name = "p2p", .create = create_p2p, .link = link, .destroy = destroy};
static const ctn_bcol_t ucx = {
    .name = "ucx", .create = create_ucx, .link = link, .destroy = destroy};

/* In place of the library's. */
const ctn_bcol_t *const ctn_bcols[] = {&shm, &p2p, &ucx, NULL};

static catena_status_t create_shm(ctn_exec_t *exec, uint32_t size, uint32_t me,
                                  bool crowded, ctn_module_t **module,
                                  uint64_t *offset)
{
    return create(&shm, exec, size, me, crowded, module, offset);
}

static catena_status_t create_p2p(ctn_exec_t *exec, uint32_t size, uint32_t me,
                                  bool crowded, ctn_module_t **module,
                                  uint64_t *offset)
{
    return create(&p2p, exec, size, me, crowded, module, offset);
}

static catena_status_t create_ucx(ctn_exec_t *exec, uint32_t size, uint32_t me,
                                  bool crowded, ctn_module_t **module,
                                  uint64_t *offset)
{
    return create(&ucx, exec, size, me, crowded, module, offset);
}

/* ---- texts ---- */

static const struct {
    const char *text;
    const char *said;
} nonsense[] = {
    {"", "a level is empty"},
    {"node:shm,", "a level is empty"},
    {",node:shm", "a level is empty"},
    {"node:shm,,network:ucx", "a level is empty"},
    {"node", "'node' lacks a component; expected rule:component"},
    {"node:", "lacks a component"},
    {":shm", "lacks a rule"},
    {"nod:shm", "no rule 'nod', the nearest is node; there are core, l3, numa, "
                "socket, node, network, user"},
    {"sockets:shm", "the nearest is socket"},
    {"node:shn", "no component 'shn', the nearest is shm; there are shm, p2p, "
                 "ucx"},
    {"node:shm ", "no component 'shm '"},
    {"node:shm:ucx", "no component 'shm:ucx'"},
    {"node:shm,node:ucx", "rule node is there twice"},
    {"user:shm,node:shm,USER:p2p", "rule user is there twice"},
    {"node:shm,numa:shm", "numa above node joins nothing"},
    {"node:shm,user:shm,core:shm", "core above node joins nothing"},
    {"network:p2p,user:p2p", "user above network joins nothing"},
    {"core:p2p,l3:p2p,numa:p2p,socket:p2p,user:p2p,node:p2p,network:p2p,"
     "network:p2p",
     "rule network is there twice"},
};

START_TEST(texts_that_are_nonsense)
{
    ctn_levels_t levels;
    capture_t capture;
    capture_start(&capture);
    catena_status_t status =
        ctn_levels_read(NULL, "HERE", nonsense[_i].text, &levels);
    capture_stop(&capture);
    ck_assert_int_eq(status, CATENA_ERR_ARG);
    ck_assert_msg(strstr(capture.text, nonsense[_i].said) != NULL, "%s: %s",
                  nonsense[_i].text, capture.text);
    ck_assert_ptr_nonnull(strstr(capture.text, "HERE is '"));
    ck_assert_ptr_eq(strchr(capture.text, '\n'),
                     capture.text + strlen(capture.text) - 1);
}
END_TEST

START_TEST(texts_that_are_not)
{
    static const char *const texts[][2] = {
        {"node:shm", "node:shm"},
        {"Node:SHM,network:Ucx", "node:shm,network:ucx"},
        {"user:p2p,core:shm", "user:p2p,core:shm"},
        {"core:p2p,l3:p2p,numa:p2p,socket:p2p,user:p2p,node:p2p,network:p2p",
         "core:p2p,l3:p2p,numa:p2p,socket:p2p,user:p2p,node:p2p,network:p2p"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ctn_levels_t levels;
        char text[CTN_LEVELS_BYTES];
        ck_assert_int_eq(ctn_levels_read(NULL, "HERE", texts[i][0], &levels),
                         CATENA_OK);
        ctn_levels_write(&levels, text);
        ck_assert_str_eq(text, texts[i][1]);
    }
}
END_TEST

START_TEST(settings_of_the_environment)
{
    const char *list[] = {"SUBGROUP=row", "SCAN_HIERARCHY=node:shm,network:ucx",
                          NULL};
    catena_config_t settings = {.settings = list};
    ctn_config_t config;
    capture_t capture;
    ck_assert_int_eq(ctn_config_read(&config, &settings, NULL), CATENA_OK);
    ck_assert_int_eq(ctn_hierarchy_check(NULL, &config), CATENA_OK);
    ck_assert(ctn_hierarchy_names(&config, "ucx"));
    ck_assert(!ctn_hierarchy_names(&config, "p2p"));
    ctn_config_release(&config);

    list[1] = "REDUCE_SCATTER_HIERARCHY=node:shm,numa:shm";
    ck_assert_int_eq(ctn_config_read(&config, &settings, NULL), CATENA_OK);
    capture_start(&capture);
    ck_assert_int_eq(ctn_hierarchy_check(NULL, &config), CATENA_ERR_ARG);
    capture_stop(&capture);
    ck_assert_ptr_nonnull(
        strstr(capture.text, "CATENA_REDUCE_SCATTER_HIERARCHY is 'node:shm,"));
    ck_assert(!ctn_hierarchy_names(&config, "ucx"));
    ctn_config_release(&config);
}
END_TEST

/* ---- the naive computation ---- */

/* What ranks of the group in question share; written by each before a
 * barrier. Several groups at once: by the first rank of each in the world. */
static char shared_name[RANKS][7][RANKS][CTN_SBGP_NAME_BYTES];

typedef struct expected {
    ctn_hierarchy_t hierarchy; /* levels, top, in_order */
    const ctn_sbgp_rule_t *rule[CTN_MOST_LEVELS];
    uint32_t size[CTN_MOST_LEVELS];
    uint32_t member[CTN_MOST_LEVELS][RANKS]; /* their ranks */
    bool in_order[CTN_MOST_LEVELS];
    uint32_t stands[CTN_MOST_LEVELS][RANKS]; /* member for each rank */
    uint32_t ends;                           /* subgroups that nothing joins */
} expected_t;

static unsigned rule_index(const ctn_sbgp_rule_t *rule)
{
    unsigned i = 0;
    while (ctn_sbgp_rules[i] != rule) {
        i++;
    }
    return i;
}

/** Whether the members' ranks follow each other without a gap. */
static bool naive_in_order(uint32_t n, const uint32_t *stands, uint32_t members)
{
    uint32_t last = 0;
    bool begun = false;
    uint32_t seen[RANKS] = {0};
    for (uint32_t r = 0; r < n; r++) {
        if (stands[r] == members) {
            if (begun && last + 1 < members) {
                return false; /* a hole */
            }
            if (begun) {
                /* after the last member nothing may come any more */
                for (uint32_t s = r; s < n; s++) {
                    if (stands[s] != members) {
                        return false;
                    }
                }
            }
            continue;
        }
        if (begun && stands[r] != last && stands[r] != last + 1) {
            return false;
        }
        last = stands[r];
        begun = true;
        seen[last]++;
    }
    return true;
}

/** Subgroup of the participant `leader` on a level. */
static void naive_subgroup(uint32_t n, char (*name)[CTN_SBGP_NAME_BYTES],
                           const uint32_t *owner, uint32_t leader,
                           uint32_t *size, uint32_t *member, uint32_t *stands)
{
    *size = 0;
    for (uint32_t r = 0; r < n; r++) {
        if (owner[r] == r && strcmp(name[r], name[leader]) == 0) {
            member[(*size)++] = r;
        }
    }
    for (uint32_t r = 0; r < n; r++) {
        stands[r] = *size;
        for (uint32_t i = 0; i < *size; i++) {
            if (owner[r] == member[i]) {
                stands[r] = i;
            }
        }
    }
}

static void naive(uint32_t n, uint32_t me, uint32_t slot,
                  const ctn_levels_t *levels, expected_t *e)
{
    uint32_t owner[RANKS];
    uint32_t left = n;
    memset(e, 0, sizeof(*e));
    e->hierarchy.in_order = true;
    for (uint32_t r = 0; r < n; r++) {
        owner[r] = r;
    }
    for (unsigned level = 0; level < levels->count && left > 1; level++) {
        char(*name)[CTN_SBGP_NAME_BYTES] =
            shared_name[slot][rule_index(levels->level[level].rule)];
        uint32_t next[RANKS];
        uint32_t size, member[RANKS], stands[RANKS];
        for (uint32_t r = 0; r < n; r++) {
            naive_subgroup(n, name, owner, owner[r], &size, member, stands);
            next[r] = member[0];
            bool ordered = naive_in_order(n, stands, size);
            e->hierarchy.in_order &= size == 1 || ordered;
            if (r == me && owner[me] == me && size > 1) {
                unsigned at = e->hierarchy.levels++;
                e->rule[at] = levels->level[level].rule;
                e->size[at] = size;
                e->in_order[at] = ordered;
                memcpy(e->member[at], member, sizeof(member));
                memcpy(e->stands[at], stands, sizeof(stands));
                e->hierarchy.top = size == left;
            }
        }
        memcpy(owner, next, sizeof(owner));
        left = 0;
        for (uint32_t r = 0; r < n; r++) {
            left += owner[r] == r;
        }
    }
    e->ends = left;
}

/* ---- checking ---- */

static void check_sbgp(job_t *job, const ctn_sbgp_t *sbgp, const expected_t *e,
                       unsigned level, uint32_t n, uint32_t me)
{
    JOB_CHECK(job, sbgp->rule == e->rule[level]);
    JOB_CHECK(job, sbgp->size == e->size[level]);
    JOB_CHECK(job, sbgp->in_order == e->in_order[level]);
    if (sbgp->size != e->size[level]) {
        return;
    }
    JOB_CHECK(job, sbgp->member[sbgp->me].rank == me);
    uint32_t before = 0;
    for (uint32_t i = 0; i < sbgp->size; i++) {
        const ctn_sbgp_member_t *member = &sbgp->member[i];
        uint32_t ranks = 0;
        uint32_t in_ranges = 0;
        for (uint32_t r = 0; r < n; r++) {
            ranks += e->stands[level][r] == i;
        }
        for (uint32_t k = 0; k < member->ranges; k++) {
            in_ranges += member->range[k].count;
            JOB_CHECK(job, k == 0 || member->range[k].first >
                                         member->range[k - 1].first +
                                             member->range[k - 1].count);
        }
        JOB_CHECK(job, member->rank == e->member[level][i]);
        JOB_CHECK(job, member->ranks == ranks && in_ranges == ranks);
        JOB_CHECK(job, member->before == before);
        before += ranks;
    }
    JOB_CHECK(job, sbgp->ranks == before);
    for (uint32_t r = 0; r < n; r++) {
        JOB_CHECK(job, ctn_sbgp_find(sbgp, r) == e->stands[level][r]);
    }
    JOB_CHECK(job, ctn_sbgp_find(sbgp, n) == sbgp->size);
}

/** What each rank of a group shares, for the naive computation. */
static uint32_t tell_names(job_t *job, catena_group_t *group)
{
    ctn_words_t own = {{0}}, left, right;
    own.word[0] = job->rank;
    JOB_CHECK(job, ctn_op_run(ctn_scan_create(job->exec, &group->lane,
                                              ctn_fold_far, &own, &left, &right,
                                              sizeof(own))) == CATENA_OK);
    uint32_t slot =
        (uint32_t)(group->lane.chain.rank == 0 ? own.word[0] : left.word[0]);
    for (unsigned i = 0; ctn_sbgp_rules[i] != NULL; i++) {
        JOB_CHECK(job,
                  ctn_sbgp_rules[i]->find(
                      group, shared_name[slot][i][group->lane.chain.rank]) ==
                      CATENA_OK);
    }
    JOB_CHECK(job, catena_barrier(group) == CATENA_OK);
    return slot;
}

static void await(job_t *job, const ctn_hierarchy_t *hierarchy)
{
    while (hierarchy->state != CTN_BUILT &&
           ctn_exec_progress(job->exec) == CATENA_OK) {
    }
}

static ctn_hierarchy_t *ask(job_t *job, catena_group_t *group,
                            const char *collective)
{
    ctn_hierarchy_t *hierarchy = NULL;
    JOB_CHECK(job,
              ctn_hierarchy_of(group, collective, &hierarchy) == CATENA_OK);
    return hierarchy;
}

static void check_hierarchy(job_t *job, catena_group_t *group,
                            const ctn_hierarchy_t *hierarchy,
                            const char *levels_text)
{
    expected_t *e = malloc(sizeof(*e));
    ctn_levels_t levels;
    uint32_t n = group->lane.chain.size;
    uint32_t me = group->lane.chain.rank;
    await(job, hierarchy); /* building uses the group's chain */
    uint32_t slot = tell_names(job, group);
    JOB_CHECK(job,
              ctn_levels_read(NULL, "test", levels_text, &levels) == CATENA_OK);
    naive(n, me, slot, &levels, e);
    JOB_CHECK(job, e->ends == 1 && hierarchy->status == CATENA_OK);
    JOB_CHECK(job, hierarchy->levels == e->hierarchy.levels);
    JOB_CHECK(job, hierarchy->top == e->hierarchy.top);
    JOB_CHECK(job, hierarchy->in_order == e->hierarchy.in_order);
    if (hierarchy->levels == e->hierarchy.levels) {
        for (unsigned i = 0; i < hierarchy->levels; i++) {
            check_sbgp(job, hierarchy->level[i]->sbgp, e, i, n, me);
        }
    }
    JOB_CHECK(job, catena_barrier(group) == CATENA_OK); /* names stay so long */
    free(e);
}

/* ---- shapes ---- */

static const int round_robin[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1};
static const int uneven[] = {0, 0, 0, 1, 2, 2, 2, 2, 2};
static const int mixed[] = {2, 0, 0, 2, 1, 1, 0, 2, 1, 0, 0, 2, 1};

static const struct shape {
    const char *name;
    int nodes;
    int ranks;          /* of node_of, or on each node */
    const int *node_of; /* NULL: in blocks */
    const char *topology;
} shapes[] = {
    {"alone", 1, 1, NULL, ""},
    {"a node", 1, 6, NULL, ""},
    {"one each", 5, 1, NULL, ""},
    {"uneven", 3, 9, uneven, ""},
    {"round-robin", 3, 11, round_robin, ""},
    {"mixed", 3, 13, mixed, "numa:2 core:2 pu:1"},
    {"domains", 2, 6, NULL, "numa:2 core:3 pu:1"},
    {"deep", 3, 16, NULL, "package:2 numa:2 l3:2 core:2 pu:1"},
    {"four domains", 4, 12, NULL, "package:2 numa:2 core:4 pu:1"},
};

static const char *const hierarchies[] = {
    "network:p2p",
    "node:shm,network:ucx",
    "numa:shm,node:shm,network:ucx",
    "numa:shm,network:p2p",
    "socket:shm,network:p2p",
    "core:shm,l3:shm,numa:shm,socket:shm,user:p2p,node:shm,network:ucx",
    "user:p2p,network:p2p",
    "node:shm,user:p2p,network:ucx",
    "user:p2p,node:p2p,network:p2p",
};

enum {
    SHAPES = sizeof(shapes) / sizeof(shapes[0]),
    HIERARCHIES = sizeof(hierarchies) / sizeof(hierarchies[0])
};

static int run_with(const struct shape *shape, const char *hierarchy,
                    uint64_t seed, job_body_t body)
{
    char levels[CTN_LEVELS_BYTES];
    char topology[128];
    snprintf(levels, sizeof(levels), "HIERARCHY=%s", hierarchy);
    snprintf(topology, sizeof(topology), "TOPOLOGY=%s", shape->topology);
    const char *settings[] = {levels, topology, NULL};
    catena_sim_params_t params = {
        .machine = "hpc-a",
        .nodes = shape->nodes,
        .ppn = shape->ranks,
        .ranks = shape->ranks,
        .node_of = shape->node_of,
        .seed = seed,
        .jitter = 0.5,
        .reorder = seed % 3 != 0,
        .stack_bytes = JOB_STACK_BYTES,
        .settings = settings,
    };
    int failed = job_simulate_on(&params, body);
    ck_assert_int_eq(world.modules, 0);
    return failed;
}

/* What the bodies are to work with. */
static const char *asked;

static void split_users(job_t *job)
{
    char name[32];
    snprintf(name, sizeof(name), "part %u", job->rank * 7 / 3 % 3);
    JOB_CHECK(job, catena_group_set(job->context->world, "subgroup", name) ==
                       CATENA_OK);
}

static void build_on_world(job_t *job)
{
    catena_group_t *group = job->context->world;
    split_users(job);
    check_hierarchy(job, group, ask(job, group, "bcast"), asked);
}

START_TEST(shapes_of_jobs)
{
    for (int i = 0; i < HIERARCHIES; i++) {
        asked = hierarchies[i];
        for (uint64_t seed = 1; seed <= 3; seed++) {
            int failed = run_with(&shapes[_i], asked, seed, build_on_world);
            ck_assert_msg(failed == 0, "%s, %s: %d ranks", shapes[_i].name,
                          asked, failed);
        }
    }
}
END_TEST

/* ---- the default ---- */

static void build_default(job_t *job)
{
    catena_group_t *group = job->context->world;
    const ctn_hierarchy_t *hierarchy = ask(job, group, "barrier");
    check_hierarchy(job, group, hierarchy, asked);
    char text[128];
    ctn_hierarchy_describe(hierarchy, text, sizeof(text));
    JOB_CHECK(job, (strstr(text, "numa:") == NULL) == hierarchy->crowded);
    JOB_CHECK(job, strcmp(hierarchy->text, "auto") == 0);
}

/* A described machine of 4 domains, on a host whose cores suffice or do not on
 * one node only. */
START_TEST(default_levels)
{
    static int one_large[45];
    for (int r = 0; r < 45; r++) {
        one_large[r] = r < 40 ? 1 : 0; /* 32 cores */
    }
    struct shape shape = shapes[6];
    asked = "numa:shm,node:shm,network:ucx";
    ck_assert_int_eq(run_with(&shape, "auto", 1, build_default), 0);
    shape.ranks = 45;
    shape.node_of = one_large;
    asked = "node:shm,network:ucx";
    ck_assert_int_eq(run_with(&shape, "AUTO", 1, build_default), 0);
}
END_TEST

static void describe(job_t *job)
{
    char text[64];
    const ctn_hierarchy_t *hierarchy = ask(job, job->context->world, "scan");
    await(job, hierarchy);
    ctn_hierarchy_describe(hierarchy, text, sizeof(text));
    JOB_CHECK(job, strcmp(text, job->rank == 0   ? "numa:shm(3) node:shm(2) "
                                                   "network:ucx(2)"
                                : job->rank == 3 ? "numa:shm(3) node:shm(2)"
                                : job->rank == 6 ? "numa:shm(3) node:shm(2) "
                                                   "network:ucx(2)"
                                : job->rank == 9 ? "numa:shm(3) node:shm(2)"
                                                 : "numa:shm(3)") == 0);
    JOB_CHECK(job, !hierarchy->one_node && !hierarchy->crowded);
    JOB_CHECK(job, hierarchy->in_order);
    char little[5];
    ctn_hierarchy_describe(hierarchy, little, sizeof(little));
    JOB_CHECK(job, strcmp(little, "numa") == 0);
}

START_TEST(in_words)
{
    ck_assert_int_eq(run_with(&shapes[6], "auto", 1, describe), 0);
}
END_TEST

/* ---- what is refused ---- */

static catena_status_t refusal; /* all ranks are to see */

static void see_refusal(job_t *job)
{
    ctn_hierarchy_t *hierarchy = ask(job, job->context->world, "reduce");
    ctn_hierarchy_t *again = ask(job, job->context->world, "allreduce");
    await(job, hierarchy);
    await(job, again);
    JOB_CHECK(job, hierarchy->status == refusal && again->status == refusal);
    JOB_CHECK(job, hierarchy->levels == 0 && !hierarchy->top);
    /* Another one can be had. */
    world.refuse_create = world.refuse_link = -1;
    JOB_CHECK(job, catena_group_set(job->context->world, "hierarchy",
                                    "l3:p2p,network:p2p") == CATENA_OK);
    check_hierarchy(job, job->context->world,
                    ask(job, job->context->world, "reduce"),
                    "l3:p2p,network:p2p");
}

static void refused(int shape, const char *hierarchy, catena_status_t status,
                    const char *said)
{
    capture_t capture;
    refusal = status;
    capture_start(&capture);
    int failed = run_with(&shapes[shape], hierarchy, 1, see_refusal);
    capture_stop(&capture);
    ck_assert_msg(failed == 0, "%s", capture.text);
    ck_assert_msg(strstr(capture.text, said) != NULL, "%s", capture.text);
}

START_TEST(refused_by_the_job)
{
    refused(4, "node:shm", CATENA_ERR_ARG,
            "hierarchy 'node:shm' ends with 3 subgroups, which nothing joins; "
            "append network:ucx");
    refused(8, "numa:shm,socket:shm", CATENA_ERR_ARG, "ends with 8 subgroups");
    refused(3, "network:shm", CATENA_ERR_ARG, "");
    for (int rank = 0; rank < 9; rank++) {
        world.refuse_create = rank;
        refused(3, "network:p2p", CATENA_ERR_NO_MEMORY, "");
        world.refuse_link = rank;
        refused(3, "user:p2p,network:p2p", CATENA_ERR_ARG, "");
    }
    world.refuse_create = world.refuse_link = 8;
    refused(3, "node:shm,network:p2p", CATENA_ERR_NO_MEMORY, "");
}
END_TEST

static void differ(job_t *job)
{
    catena_group_t *group = job->context->world;
    ctn_hierarchy_t *before = ask(job, group, "gather");
    JOB_CHECK(job, catena_group_set(group, "scan_hierarchy",
                                    job->rank < job->size / 2
                                        ? "node:shm,network:p2p"
                                        : "node:p2p,network:p2p") == CATENA_OK);
    ctn_hierarchy_t *one = ask(job, group, "gather");
    ctn_hierarchy_t *two = ask(job, group, "scan");
    await(job, one);
    await(job, two);
    JOB_CHECK(job, one->status == CATENA_ERR_ARG);
    JOB_CHECK(job, two->status == CATENA_ERR_ARG);
    JOB_CHECK(job, before->status == CATENA_OK);
    JOB_CHECK(job,
              catena_group_set(group, "scan_hierarchy", "auto") == CATENA_OK);
    two = ask(job, group, "scan");
    JOB_CHECK(job, catena_barrier(group) == CATENA_OK);
    await(job, two);
    /* What failed is not tried again. */
    JOB_CHECK(job, two->status == CATENA_OK || two->text == one->text ||
                       two->status == CATENA_ERR_ARG);
}

START_TEST(settings_that_differ)
{
    capture_t capture;
    capture_start(&capture);
    int failed = run_with(&shapes[4], "auto", 1, differ);
    capture_stop(&capture);
    ck_assert_int_eq(failed, 0);
    ck_assert_msg(strstr(capture.text,
                         "ranks 4 and 5 of a group have not the same "
                         "hierarchies") != NULL,
                  "%s", capture.text);
    ck_assert_ptr_nonnull(strstr(capture.text, "scan=node:p2p,network:p2p"));
}
END_TEST

/* ---- settings of a group ---- */

static void set_and_ask(job_t *job)
{
    catena_group_t *group = job->context->world;
    ctn_hierarchy_t *first = ask(job, group, "bcast");
    JOB_CHECK(job, ask(job, group, "bcast") == first);
    JOB_CHECK(job, catena_group_set(group, "bcast_hierarchy",
                                    "node:p2p,network:p2p") == CATENA_OK);
    ctn_hierarchy_t *second = ask(job, group, "bcast");
    ctn_hierarchy_t *other = ask(job, group, "reduce");
    JOB_CHECK(job,
              catena_group_set(group, "bcast_hierarchy", "auto") == CATENA_OK);
    ctn_hierarchy_t *third = ask(job, group, "bcast");
    await(job, third);
    check_hierarchy(job, group, third, "node:shm,network:ucx");
    check_hierarchy(job, group, second, "node:p2p,network:p2p");
    check_hierarchy(job, group, other, "node:shm,network:ucx");
    check_hierarchy(job, group, first, "node:shm,network:ucx");
    /* The same levels: the same modules, which take turns together. */
    JOB_CHECK(job, first->turns == third->turns &&
                       first->turns == other->turns &&
                       first->turns != second->turns);
    JOB_CHECK(job,
              memcmp(first->level, third->level, sizeof(first->level)) == 0);
    JOB_CHECK(job, first->levels == 0 || first->level[0] != second->level[0]);
}

START_TEST(settings_of_groups)
{
    ck_assert_int_eq(
        run_with(&shapes[3], "node:shm,network:ucx", 1, set_and_ask), 0);
}
END_TEST

static void set_nonsense(job_t *job)
{
    catena_group_t *group = job->context->world;
    char text[600];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    JOB_CHECK(job, catena_group_set(group, "hierarchy", "nude:shm") ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_group_set(group, "subgroup", text) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_group_set(group, "hierachy", "node:shm") ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_group_set(group, "alltoall_hierarchy", "node:shm") ==
                       CATENA_ERR_ARG);
    check_hierarchy(job, group, ask(job, group, "gather"), "network:p2p");
    ctn_hierarchy_t *hierarchy;
    JOB_CHECK(job, ctn_hierarchy_of(group, "alltoall", &hierarchy) ==
                       CATENA_ERR_ARG);
}

START_TEST(nonsense_of_groups)
{
    capture_t capture;
    capture_start(&capture);
    int failed = run_with(&shapes[0], "network:p2p", 1, set_nonsense);
    capture_stop(&capture);
    ck_assert_int_eq(failed, 0);
    ck_assert_ptr_nonnull(strstr(capture.text, "hierarchy is 'nude:shm': there "
                                               "is no rule 'nude'"));
    ck_assert_ptr_nonnull(strstr(capture.text, "subgroup has 599 bytes"));
    ck_assert_ptr_nonnull(
        strstr(capture.text, "a group has no setting 'hierachy'"));
    ck_assert_ptr_nonnull(strstr(capture.text, "COLLECTIVE_hierarchy for"));
    ck_assert_ptr_nonnull(strstr(capture.text, "'alltoall' has no hierarchy"));
}
END_TEST

static void change_subgroups(job_t *job)
{
    catena_group_t *group = job->context->world;
    JOB_CHECK(job,
              catena_group_set(group, "subgroup",
                               job->rank % 2 ? "odd" : "even") == CATENA_OK);
    ctn_hierarchy_t *first = ask(job, group, "bcast");
    check_hierarchy(job, group, first, "user:p2p,network:p2p");
    split_users(job);
    ctn_hierarchy_t *second = ask(job, group, "bcast");
    check_hierarchy(job, group, second, "user:p2p,network:p2p");
    JOB_CHECK(job, first->turns != second->turns);
}

START_TEST(subgroups_change)
{
    ck_assert_int_eq(
        run_with(&shapes[5], "user:p2p,network:p2p", 2, change_subgroups), 0);
}
END_TEST

/* ---- groups ---- */

/** Groups of groups, in reverse; asked while other operations are under way;
 * and some that are freed at once. */
static void build_on_groups(job_t *job)
{
    catena_group_t *groups[3] = {NULL, NULL, NULL};
    uint64_t send[RANKS], receive[RANKS];
    catena_request_t *request[2];
    catena_group_t *parent = job->context->world;
    JOB_CHECK(job,
              catena_group_split(parent, (int)(job->rank % 2), -(int)job->rank,
                                 &groups[0]) == CATENA_OK);
    JOB_CHECK(job, catena_group_split(groups[0], (int)(job->rank / 4), 0,
                                      &groups[1]) == CATENA_OK);
    JOB_CHECK(job, catena_group_dup(parent, &groups[2]) == CATENA_OK);
    for (uint32_t r = 0; r < job->size; r++) {
        send[r] = job->rank * 1000 + r;
    }
    for (int i = 0; i < 3; i++) {
        uint32_t n = groups[i]->lane.chain.size;
        JOB_CHECK(job, catena_ialltoall(send, receive, 1, CATENA_UINT64,
                                        groups[i], &request[0]) == CATENA_OK);
        ctn_hierarchy_t *hierarchy = ask(job, groups[i], "reduce_scatter");
        ctn_hierarchy_t *flat = NULL;
        JOB_CHECK(job, ctn_hierarchy_flat(groups[i], &flat) == CATENA_OK);
        JOB_CHECK(job, catena_ibarrier(groups[i], &request[1]) == CATENA_OK);
        JOB_CHECK(job, catena_wait(&request[1]) == CATENA_OK);
        JOB_CHECK(job, catena_wait(&request[0]) == CATENA_OK);
        JOB_CHECK(job, receive[0] % 1000 == groups[i]->lane.chain.rank);
        JOB_CHECK(job, n > 1 || receive[0] == send[0]);
        await(job, flat);
        if (i < 2) {
            check_hierarchy(job, groups[i], hierarchy,
                            "numa:shm,node:shm,network:ucx");
            check_hierarchy(job, groups[i], flat, "network:p2p");
            JOB_CHECK(job, flat->in_order);
        }
        JOB_CHECK(job, i > 0 || hierarchy->levels > 0 || n == 1);
    }
    ctn_hierarchy_t *late = ask(job, groups[2], "scan"); /* under way */
    JOB_CHECK(job, late != NULL);
    for (int i = 2; i >= 0; i--) {
        JOB_CHECK(job, catena_group_free(groups[i]) == CATENA_OK);
    }
}

START_TEST(groups_of_groups)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        ck_assert_int_eq(run_with(&shapes[_i], "numa:shm,node:shm,network:ucx",
                                  seed, build_on_groups),
                         0);
    }
}
END_TEST

/** Nobody asks twice the same memory: a group after the other. */
static void one_after_the_other(job_t *job)
{
    for (int i = 0; i < 12; i++) {
        catena_group_t *group;
        JOB_CHECK(job,
                  catena_group_dup(job->context->world, &group) == CATENA_OK);
        ctn_hierarchy_t *hierarchy = ask(job, group, "bcast");
        if (i % 2 == 0) {
            check_hierarchy(job, group, hierarchy, asked);
        }
        JOB_CHECK(job, catena_group_free(group) == CATENA_OK);
    }
}

START_TEST(many_groups)
{
    asked = "numa:shm,node:shm,network:p2p";
    for (uint64_t seed = 1; seed <= 6; seed++) {
        ck_assert_int_eq(run_with(&shapes[7], asked, seed, one_after_the_other),
                         0);
    }
}
END_TEST

/** What comes of it is that it comes to an end. */
static void until_death(job_t *job)
{
    for (int i = 0; i < 8 && job->exec->status == CATENA_OK; i++) {
        catena_group_t *group;
        ctn_hierarchy_t *hierarchy;
        if (catena_group_dup(job->context->world, &group) == CATENA_OK &&
            ctn_hierarchy_of(group, "bcast", &hierarchy) == CATENA_OK) {
            await(job, hierarchy);
            (void)catena_group_free(group);
        }
    }
}

START_TEST(deaths)
{
    job_simulate_death(11, (uint64_t)_i, 500 + (uint64_t)(_i * _i) * 41,
                       until_death);
}
END_TEST

static void prepare(void)
{
    world.modules = 0;
    world.refuse_create = world.refuse_link = -1;
}

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("hierarchy");
    TCase *tcase = tcase_create("hierarchy");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, prepare, NULL);
    tcase_add_loop_test(tcase, texts_that_are_nonsense, 0, COUNT(nonsense));
    tcase_add_test(tcase, texts_that_are_not);
    tcase_add_test(tcase, settings_of_the_environment);
    tcase_add_loop_test(tcase, shapes_of_jobs, 0, SHAPES);
    tcase_add_test(tcase, default_levels);
    tcase_add_test(tcase, in_words);
    tcase_add_test(tcase, refused_by_the_job);
    tcase_add_test(tcase, settings_that_differ);
    tcase_add_test(tcase, settings_of_groups);
    tcase_add_test(tcase, nonsense_of_groups);
    tcase_add_test(tcase, subgroups_change);
    tcase_add_loop_test(tcase, groups_of_groups, 0, SHAPES);
    tcase_add_test(tcase, many_groups);
    tcase_add_loop_test(tcase, deaths, 1, 25);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
