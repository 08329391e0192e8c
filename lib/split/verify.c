#include "split/verify.h"

#include "core/hash.h"

uint64_t ctn_split_verify_digest(uint64_t digest, ctn_address_t member)
{
    return ctn_hash_add(ctn_hash_add(digest, member.process), member.offset);
}

/** Hash the link from the member of rank `left_rank` to the next. */
static uint64_t link_hash(uint64_t digest, uint32_t size, uint32_t left_rank,
                          ctn_address_t left, ctn_address_t right)
{
    uint64_t hash = ctn_hash_add(ctn_hash_add(digest, left_rank), size);
    return ctn_split_verify_digest(ctn_split_verify_digest(hash, left), right);
}

ctn_op_t *ctn_split_verify_create(ctn_exec_t *exec, ctn_chain_t *parent,
                                  ctn_split_verify_t *verify,
                                  const ctn_chain_place_t *place,
                                  uint64_t digest)
{
    verify->own = (ctn_words_t){{0}};
    if (ctn_address_exists(place->right)) {
        verify->own.word[0] += link_hash(digest, place->size, place->rank,
                                         place->self, place->right);
    }
    if (ctn_address_exists(place->left)) {
        verify->own.word[0] -= link_hash(digest, place->size, place->rank - 1,
                                         place->left, place->self);
    }
    return ctn_scan_create(exec, parent, ctn_fold_sum, &verify->own,
                           &verify->left, &verify->right, sizeof(ctn_words_t));
}
