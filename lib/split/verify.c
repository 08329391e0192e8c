/* Whether chains that members found by themselves fit together, and whatever
 * else the members of a chain must have found alike. Every link is seen from
 * both its ends; each adds what it takes it for, one with the opposite sign,
 * and the sum over all members is 0 when both mean the same. Rounds: ceil(log2
 * N), a double scan. Memory: O(1). */

#include "split/algorithms.h"

typedef struct agree {
    ctn_chain_t *parent; /* arguments */
    ctn_chain_place_t place;
    uint64_t digest;
    ctn_words_t own, left, right;
} agree_t;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    /* Two rounds of the finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA
     * 2014) hold values apart that differ in few bits. */
    hash = (hash ^ value) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 30) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

uint64_t ctn_agree_digest(uint64_t digest, ctn_address_t member)
{
    return mix(mix(digest, member.process), member.offset);
}

/** The link from the member of rank `left_rank` to the next. */
static uint64_t link_hash(const agree_t *agree, ctn_address_t left,
                          ctn_address_t right, uint32_t left_rank)
{
    uint64_t hash = mix(mix(agree->digest, left_rank), agree->place.size);
    return ctn_agree_digest(ctn_agree_digest(hash, left), right);
}

static ctn_step_t compare(ctn_op_t *op)
{
    agree_t *agree = ctn_op_state(op);
    const ctn_chain_place_t *place = &agree->place;
    if (ctn_address_exists(place->right)) {
        agree->own.word[0] +=
            link_hash(agree, place->self, place->right, place->rank);
    }
    if (ctn_address_exists(place->left)) {
        agree->own.word[0] -=
            link_hash(agree, place->left, place->self, place->rank - 1);
    }
    return ctn_op_call(
        op, ctn_scan_create(op->exec, agree->parent, ctn_fold_sum, &agree->own,
                            &agree->left, &agree->right, sizeof(ctn_words_t)));
}

static ctn_step_t judge(ctn_op_t *op)
{
    agree_t *agree = ctn_op_state(op);
    uint64_t sum =
        agree->own.word[0] + agree->left.word[0] + agree->right.word[0];
    return sum == 0 ? CTN_STEP_NEXT : ctn_op_fail(op, CATENA_ERR_ARG);
}

static const ctn_phase_t phases[] = {
    {"compare", compare}, {"judge", judge}, {NULL, NULL}};

static const ctn_algorithm_t agree_algorithm = {
    .name = "split/agree",
    .state_bytes = sizeof(agree_t),
    .phases = phases,
};

ctn_op_t *ctn_agree_create(const ctn_splitting_t *splitting,
                           ctn_chain_place_t place, uint64_t digest)
{
    ctn_op_t *op = ctn_op_create(splitting->by.exec, &agree_algorithm, NULL);
    if (op != NULL) {
        agree_t *agree = ctn_op_state(op);
        agree->parent = splitting->parent;
        agree->place = place;
        agree->digest = digest;
    }
    return op;
}
