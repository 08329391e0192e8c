#ifndef CTN_NEIGHBOR_LINK_QUICK_H
#define CTN_NEIGHBOR_LINK_QUICK_H

#include "neighbor/link_way.h"

/* Short messages on a node for blocking calls that are alone (ctn_alone_begin),
 * which have no operation: what ctn_link_send, _receive and _complete come to
 * for them, inline. On the links they look the same, so each rank decides for
 * itself. Links must be connected and lead to ranks of this node. */

/** Send plain memory, at most CTN_INLINE_BYTES. False: no credit yet. */
static inline bool ctn_link_quick_send(ctn_link_out_t *out, uint64_t seq,
                                       const void *data, size_t bytes)
{
    if (!ctn_link_has_credit(out, seq)) {
        return false;
    }
    (void)ctn_put_signal(out->peer.endpoint, data, bytes,
                         ctn_link_data_at(out, seq),
                         ctn_link_word_at(out, seq, 0), ctn_tag(seq, bytes),
                         NULL); /* a copy and a store */
    ctn_link_has_sent(out, seq);
    return true;
}

/** What has come; NULL: nothing yet.
 * @param[out] bytes more than CTN_INLINE_BYTES: no short message; receive it
 *                   with ctn_link_receive */
static inline const unsigned char *
ctn_link_quick_receive(ctn_link_in_t *in, uint64_t seq, size_t *bytes)
{
    const ctn_slot_t *slot = &in->slots[ctn_link_ring(seq)];
    uint64_t word = ctn_word_load(&slot->word[0]);
    if (!ctn_tag_matches(word, seq)) {
        return NULL;
    }
    ctn_link_peer_is_in(in->reverse, seq);
    *bytes = ctn_tag_count(word);
    return slot->data;
}

/** Whether the sender must be told that all operations below `complete` are
 * complete here: then call ctn_link_complete. */
static inline bool ctn_link_must_tell(ctn_link_in_t *in, uint64_t complete)
{
    ctn_link_note_sent(in);
    return complete >= in->told + CTN_LINK_FLIGHT;
}

#endif
