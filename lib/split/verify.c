/* Verifies that places which members found locally fit together, and that the
 * members of each new chain agree on a digest of other data. Two neighbors of a
 * chain both hash the link between them: ranks, size, addresses and digest, as
 * each knows them. The left one adds its hash to a sum over all members, the
 * right one subtracts its own: the sum is 0 if they agree on every link.
 * Rounds: ceil(log2 N), a double scan. Memory: O(1). */

#include "core/hash.h"
#include "split/algorithms.h"

typedef struct verify {
    /* arguments */
    ctn_chain_t *parent;
    ctn_chain_place_t place; /* to verify, in the new chain */
    uint64_t digest;
    /* working */
    ctn_words_t own, left, right; /* of the scan; word 0 is the sum */
} verify_t;

uint64_t ctn_split_verify_digest(uint64_t digest, ctn_address_t member)
{
    return ctn_hash_add(ctn_hash_add(digest, member.process), member.offset);
}

/** Hash the link from the member of rank `left_rank` to the next. */
static uint64_t link_hash(const verify_t *verify, ctn_address_t left,
                          ctn_address_t right, uint32_t left_rank)
{
    uint64_t hash = ctn_hash_add(ctn_hash_add(verify->digest, left_rank),
                                 verify->place.size);
    return ctn_split_verify_digest(ctn_split_verify_digest(hash, left), right);
}

/** Sum up the hashes of this member's links over all members. */
static ctn_step_t compare(ctn_op_t *op)
{
    verify_t *verify = ctn_op_state(op);
    const ctn_chain_place_t *place = &verify->place;
    if (ctn_address_exists(place->right)) {
        verify->own.word[0] +=
            link_hash(verify, place->self, place->right, place->rank);
    }
    if (ctn_address_exists(place->left)) {
        verify->own.word[0] -=
            link_hash(verify, place->left, place->self, place->rank - 1);
    }
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, verify->parent, ctn_fold_sum,
                                       &verify->own, &verify->left,
                                       &verify->right, sizeof(ctn_words_t)));
}

static ctn_step_t check_sum(ctn_op_t *op)
{
    verify_t *verify = ctn_op_state(op);
    uint64_t sum =
        verify->own.word[0] + verify->left.word[0] + verify->right.word[0];
    return sum == 0 ? CTN_STEP_NEXT : ctn_op_fail(op, CATENA_ERR_ARG);
}

static const ctn_phase_t phases[] = {
    {"compare", compare}, {"check sum", check_sum}, {NULL, NULL}};

static const ctn_algorithm_t verify_algorithm = {
    .name = "split/verify",
    .state_bytes = sizeof(verify_t),
    .phases = phases,
};

ctn_op_t *ctn_split_verify_create(const ctn_split_args_t *args,
                                  ctn_chain_place_t place, uint64_t digest)
{
    ctn_op_t *op = ctn_op_create(args->by.exec, &verify_algorithm, NULL);
    if (op != NULL) {
        verify_t *verify = ctn_op_state(op);
        verify->parent = args->parent;
        verify->place = place;
        verify->digest = digest;
    }
    return op;
}
