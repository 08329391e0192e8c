#include "naive_levels.h"

#include <stdlib.h>
#include <string.h>

#include "coll/barrier.h"
#include "coll/hierarchy/levels.h"

/* The resources that the ranks of a group share, by rule; each rank writes its
 * own before a barrier. Concurrent groups are distinguished by their first rank
 * in the world. */
static char shared_name[NAIVE_RANKS][8][NAIVE_RANKS][CTN_SBGP_NAME_BYTES];

typedef struct expected {
    ctn_hierarchy_t hierarchy; /* levels, top, in_order, balanced */
    const ctn_sbgp_rule_t *rule[CTN_MOST_LEVELS];
    uint32_t size[CTN_MOST_LEVELS];
    uint32_t nodes[CTN_MOST_LEVELS];
    uint32_t ppn[CTN_MOST_LEVELS];
    uint32_t member[CTN_MOST_LEVELS][NAIVE_RANKS]; /* their ranks */
    bool in_order[CTN_MOST_LEVELS];
    bool balanced[CTN_MOST_LEVELS];
    uint32_t stands[CTN_MOST_LEVELS]
                   [NAIVE_RANKS]; /* member that represents each rank */
    uint32_t ends;                /* subgroups that no level joins */
} expected_t;

static unsigned rule_index(const ctn_sbgp_rule_t *rule)
{
    unsigned i = 0;
    while (ctn_sbgp_rules[i] != rule) {
        i++;
    }
    return i;
}

/** Whether the members' ranks are consecutive. */
static bool naive_in_order(uint32_t n, const uint32_t *stands, uint32_t members)
{
    uint32_t last = 0;
    bool begun = false;
    uint32_t seen[NAIVE_RANKS] = {0};
    for (uint32_t r = 0; r < n; r++) {
        if (stands[r] == members) {
            if (begun && last + 1 < members) {
                return false; /* a gap */
            }
            if (begun) {
                /* after the last member no other may follow */
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

/** Whether all members stand for the same number of ranks: 1, 2, 4, 8... */
static bool naive_even(uint32_t n, const uint32_t *stands, uint32_t members)
{
    uint32_t ranks[NAIVE_RANKS] = {0};
    bool even = false;
    for (uint32_t r = 0; r < n; r++) {
        ranks[stands[r]]++;
    }
    for (uint32_t power = 1; power <= n; power *= 2) {
        even |= ranks[0] == power;
    }
    for (uint32_t i = 0; i < members; i++) {
        even &= ranks[i] == ranks[0];
    }
    return even;
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

/** The number of nodes of a subgroup's members, and most members of a node. */
static void naive_nodes(uint32_t slot, const uint32_t *member, uint32_t size,
                        uint32_t *nodes, uint32_t *ppn)
{
    char(*name)[CTN_SBGP_NAME_BYTES] =
        shared_name[slot][rule_index(&ctn_sbgp_node)];
    for (uint32_t i = 0; i < size; i++) {
        uint32_t before = 0, all = 0;
        for (uint32_t k = 0; k < size; k++) {
            bool same = strcmp(name[member[i]], name[member[k]]) == 0;
            before += same && k < i;
            all += same;
        }
        *nodes += before == 0;
        *ppn = all > *ppn ? all : *ppn;
    }
}

static void naive(uint32_t n, uint32_t me, uint32_t slot,
                  const ctn_hierarchy_levels_t *levels, expected_t *e)
{
    uint32_t owner[NAIVE_RANKS];
    uint32_t left = n;
    memset(e, 0, sizeof(*e));
    e->hierarchy.in_order = e->hierarchy.balanced = true;
    for (uint32_t r = 0; r < n; r++) {
        owner[r] = r;
    }
    for (unsigned level = 0; level < levels->count && left > 1; level++) {
        char(*name)[CTN_SBGP_NAME_BYTES] =
            shared_name[slot][rule_index(levels->level[level].rule)];
        uint32_t next[NAIVE_RANKS];
        uint32_t size, member[NAIVE_RANKS], stands[NAIVE_RANKS];
        for (uint32_t r = 0; r < n; r++) {
            naive_subgroup(n, name, owner, owner[r], &size, member, stands);
            next[r] = member[0];
            bool ordered = naive_in_order(n, stands, size);
            bool balanced = ordered && naive_even(n, stands, size);
            e->hierarchy.in_order &= size == 1 || ordered;
            e->hierarchy.balanced &= size == 1 || balanced;
            if (r == me && owner[me] == me && size > 1) {
                unsigned at = e->hierarchy.levels++;
                e->rule[at] = levels->level[level].rule;
                e->size[at] = size;
                naive_nodes(slot, member, size, &e->nodes[at], &e->ppn[at]);
                e->in_order[at] = ordered;
                e->balanced[at] = balanced;
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

static void check_sbgp(job_t *job, const ctn_sbgp_t *sbgp, const expected_t *e,
                       unsigned level, uint32_t n, uint32_t me)
{
    JOB_CHECK(job, sbgp->rule == e->rule[level]);
    JOB_CHECK(job, sbgp->size == e->size[level]);
    JOB_CHECK(job, sbgp->in_order == e->in_order[level]);
    JOB_CHECK(job, sbgp->balanced == e->balanced[level]);
    if (sbgp->size != e->size[level]) {
        return;
    }
    JOB_CHECK(job, sbgp->nodes == e->nodes[level]);
    JOB_CHECK(job, sbgp->ppn == e->ppn[level]);
    JOB_CHECK(job, sbgp->member[sbgp->me].rank == me);
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
        JOB_CHECK(job, in_ranges == ranks);
    }
    for (uint32_t r = 0; r < n; r++) {
        JOB_CHECK(job, ctn_sbgp_find(sbgp, r) == e->stands[level][r]);
    }
    JOB_CHECK(job, ctn_sbgp_find(sbgp, n) == sbgp->size);
}

/** Take the value of the farthest member (ctn_fold_t): from the left that of
 * rank 0. */
static void fold_farthest(void *inout, const void *in, int in_is_left)
{
    (void)in_is_left;
    memcpy(inout, in, sizeof(ctn_words_t));
}

/** Publish what each rank of a group shares, for the naive computation. */
static uint32_t share_names(job_t *job, catena_group_t *group)
{
    ctn_words_t own = {{0}}, left, right;
    own.word[0] = job->rank;
    JOB_CHECK(job, ctn_op_run(group->exec,
                              ctn_scan_create(
                                  job->exec, &group->chain, fold_farthest, &own,
                                  &left, &right, sizeof(own))) == CATENA_OK);
    uint32_t slot =
        (uint32_t)(group->chain.place.rank == 0 ? own.word[0] : left.word[0]);
    for (unsigned i = 0; ctn_sbgp_rules[i] != NULL; i++) {
        if (ctn_sbgp_rules[i] == &ctn_sbgp_switch) {
            continue; /* which takes a file */
        }
        JOB_CHECK(
            job, ctn_sbgp_name(ctn_sbgp_rules[i], group,
                               shared_name[slot][i][group->chain.place.rank]) ==
                     CATENA_OK);
    }
    /* Not hierarchical: the test components have no collectives. */
    JOB_CHECK(job,
              ctn_op_run(group->exec, ctn_barrier_create(group)) == CATENA_OK);
    return slot;
}

void naive_await(job_t *job, const ctn_hierarchy_t *hierarchy)
{
    while (hierarchy->state != CTN_BUILT &&
           ctn_exec_progress(job->exec) == CATENA_OK) {
    }
}

void naive_check(job_t *job, catena_group_t *group,
                 const ctn_hierarchy_t *hierarchy, const char *levels_text)
{
    expected_t *e = malloc(sizeof(*e));
    ctn_hierarchy_levels_t levels;
    uint32_t n = group->chain.place.size;
    uint32_t me = group->chain.place.rank;
    naive_await(job,
                hierarchy); /* it uses the group's chain while it is built */
    uint32_t slot = share_names(job, group);
    JOB_CHECK(job, ctn_hierarchy_levels_read(NULL, "test", levels_text,
                                             &levels) == CATENA_OK);
    naive(n, me, slot, &levels, e);
    JOB_CHECK(job, e->ends == 1 && hierarchy->status == CATENA_OK);
    JOB_CHECK(job, hierarchy->levels == e->hierarchy.levels);
    JOB_CHECK(job, hierarchy->top == e->hierarchy.top);
    JOB_CHECK(job, hierarchy->in_order == e->hierarchy.in_order);
    JOB_CHECK(job, hierarchy->balanced == e->hierarchy.balanced);
    if (hierarchy->levels == e->hierarchy.levels) {
        for (unsigned i = 0; i < hierarchy->levels; i++) {
            check_sbgp(job, hierarchy->level[i]->sbgp, e, i, n, me);
        }
    }
    JOB_CHECK(job, ctn_op_run(group->exec, ctn_barrier_create(group)) ==
                       CATENA_OK); /* names are valid until here */
    free(e);
}
