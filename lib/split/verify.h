#ifndef CTN_SPLIT_VERIFY_H
#define CTN_SPLIT_VERIFY_H

#include "split/algorithms.h"

/* Verifies that places which members found locally fit together, and that the
 * members of each new chain agree on a digest of other data. Two neighbors of a
 * chain both hash the link between them: ranks, size, addresses and digest, as
 * each knows them. The left one adds its hash to a sum over all members, the
 * right one subtracts its own: the sum is 0 if they agree on every link.
 * Rounds: ceil(log2 N), a double scan. Memory: O(1). */

typedef struct ctn_split_verify {
    ctn_words_t own, left, right; /* of the scan; word 0 is the sum */
} ctn_split_verify_t;

/** Create the scan over `parent`.
 * @param verify must stay valid
 * @param place  of this member, in the new chain
 * @param digest 0: of no data */
ctn_op_t *ctn_split_verify_create(ctn_exec_t *exec, ctn_chain_t *parent,
                                  ctn_split_verify_t *verify,
                                  const ctn_chain_place_t *place,
                                  uint64_t digest);
/** After the scan: return whether the places fit, the same on all members. */
static inline bool ctn_split_verified(const ctn_split_verify_t *verify)
{
    return verify->own.word[0] + verify->left.word[0] + verify->right.word[0] ==
           0;
}

/** Return the digest of a list of members that is extended by `member`; an
 * empty list has digest 0. */
uint64_t ctn_split_verify_digest(uint64_t digest, ctn_address_t member);

#endif
