/* Tables of subgroups: who stands for whom; part of HIER-11. */

#include "coll/hierarchy/levels.h"

#include <stdlib.h>
#include <string.h>

static ctn_claim_t *new_claim(uint32_t rank, uint32_t ranges)
{
    ctn_claim_t *claim = malloc(ctn_claim_bytes(ranges));
    if (claim != NULL) {
        *claim = (ctn_claim_t){.rank = rank, .ranges = ranges};
    }
    return claim;
}

ctn_claim_t *ctn_claim_of_one(uint32_t rank)
{
    ctn_claim_t *claim = new_claim(rank, 1);
    if (claim != NULL) {
        claim->range[0] = (ctn_range_t){rank, 1};
    }
    return claim;
}

static const ctn_claim_t *claim_of(const ctn_pieces_t *claims, uint32_t member)
{
    return claims->piece[member].data;
}

catena_status_t ctn_claims_status(const ctn_pieces_t *claims)
{
    int32_t worst = CATENA_OK;
    for (uint32_t i = 0; i < claims->count; i++) {
        int32_t status = claim_of(claims, i)->status;
        worst = status < worst ? status : worst;
    }
    return (catena_status_t)worst;
}

static void fill_member(const ctn_claim_t *claim, uint32_t before,
                        ctn_range_t *ranges, ctn_sbgp_member_t *member)
{
    *member = (ctn_sbgp_member_t){
        .memory = claim->memory,
        .rank = claim->rank,
        .before = before,
        .ranges = claim->ranges,
        .range = ranges,
    };
    for (uint32_t i = 0; i < claim->ranges; i++) {
        ranges[i] = claim->range[i];
        member->ranks += ranges[i].count;
    }
}

static bool follows(const ctn_sbgp_member_t *member,
                    const ctn_sbgp_member_t *before)
{
    return member->ranges == 1 &&
           (before == NULL || member->range->first ==
                                  before->range->first + before->range->count);
}

ctn_serving_t *ctn_serving_create(const ctn_pieces_t *claims,
                                  const ctn_sbgp_rule_t *rule, uint32_t me,
                                  bool crowded)
{
    uint32_t size = claims->count;
    size_t ranges = 0;
    for (uint32_t i = 0; i < size; i++) {
        ranges += claim_of(claims, i)->ranges;
    }
    ctn_serving_t *serving =
        calloc(1, sizeof(*serving) + size * sizeof(ctn_sbgp_member_t) +
                      ranges * sizeof(ctn_range_t));
    if (serving == NULL) {
        return NULL;
    }
    ctn_sbgp_member_t *member = serving->member;
    ctn_range_t *range = (ctn_range_t *)(void *)(member + size);
    ctn_sbgp_t *sbgp = &serving->sbgp;
    *sbgp = (ctn_sbgp_t){
        .rule = rule,
        .size = size,
        .me = me,
        .in_order = true,
        .crowded = crowded,
        .member = member,
    };
    for (uint32_t i = 0; i < size; i++) {
        fill_member(claim_of(claims, i), sbgp->ranks, range, &member[i]);
        range += member[i].ranges;
        sbgp->ranks += member[i].ranks;
        sbgp->in_order &= follows(&member[i], i > 0 ? &member[i - 1] : NULL);
    }
    return serving;
}

void ctn_servings_end(ctn_serving_t **list)
{
    while (*list != NULL) {
        ctn_serving_t *serving = *list;
        *list = serving->next;
        serving->module->bcol->destroy(serving->module);
        free(serving);
    }
}

void ctn_servings_move(ctn_serving_t **to, ctn_serving_t **from)
{
    while (*from != NULL) {
        ctn_serving_t *serving = *from;
        *from = serving->next;
        serving->next = *to;
        *to = serving;
    }
}

static int compare_ranges(const void *a, const void *b)
{
    uint32_t x = ((const ctn_range_t *)a)->first;
    uint32_t y = ((const ctn_range_t *)b)->first;
    return (x > y) - (x < y);
}

ctn_claim_t *ctn_claim_of_all(const ctn_sbgp_t *sbgp)
{
    uint32_t ranges = 0;
    for (uint32_t i = 0; i < sbgp->size; i++) {
        ranges += sbgp->member[i].ranges;
    }
    ctn_claim_t *claim = new_claim(sbgp->member->rank, ranges);
    if (claim == NULL) {
        return NULL;
    }
    /* Members' ranges lie one after the other. */
    ctn_range_t *range = claim->range;
    memcpy(range, sbgp->member->range, ranges * sizeof(*range));
    qsort(range, ranges, sizeof(*range), compare_ranges);
    ctn_range_t *last = range;
    for (uint32_t i = 1; i < ranges; i++) {
        if (range[i].first == last->first + last->count) {
            last->count += range[i].count;
        } else {
            *++last = range[i];
        }
    }
    claim->ranges = (uint32_t)(last - range) + 1;
    return claim;
}
