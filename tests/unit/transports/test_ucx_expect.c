#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"
#include "wire.h"

/* Posted receives: the data go where the target says instead of where the
 * sender does. */

#define FROM ((size_t)8 << 20) /* source of puts */
#define AT ((size_t)1 << 20)   /* target of the sender */
#define WORD 1024u
#define BYTES ((size_t)16384)

static const uint64_t *word_of(const rank_t *r, uint64_t offset)
{
    return (const void *)(r->arena + offset);
}

static void handler(void *context, const void *data, size_t bytes)
{
    memcpy(context, data, bytes);
}

static bool post_receive(rank_t *r, uint64_t value, unsigned char *aside)
{
    return r->transport->ops->post_receive(r->transport, word_of(r, WORD),
                                           value, BYTES, handler, aside);
}

/** Put data of `seed` to the right neighbor, wait for the left one's. */
static void put_right(rank_t *r, size_t bytes, uint64_t value)
{
    ctn_endpoint_t *right = connect_to(r, (r->rank + 1) % r->size);
    uint64_t pending = 0;

    meet(r); /* all ranks have posted their receives */
    fill(r->arena + FROM, bytes, value);
    NEED(r->transport->ops->put_signal(right, r->arena + FROM, bytes, AT, WORD,
                                       value, &pending) == CATENA_OK);
    wait_pending(r, &pending);
    wait_word(r, WORD, value);
}

/** The data of each posted receive, and no other data, go aside. */
static void body_posted(rank_t *r)
{
    unsigned char *aside = calloc(1, BYTES);
    bool by_put =
        r->mode == CTN_PUT_RMA || (r->transport->caps & CTN_CAP_RDMA) != 0;

    for (uint64_t value = 1; value <= 3; value++) {
        fill(r->arena + AT, BYTES, 99);
        bool posted = post_receive(r, value, aside);
        /* put, fence, put ignores posted receives */
        NEED(posted != by_put);
        put_right(r, BYTES, value);
        NEED(filled(posted ? aside : r->arena + AT, BYTES, value));
        NEED(!posted || filled(r->arena + AT, BYTES, 99));
    }
    put_right(r, BYTES, 4); /* no receive is posted any more */
    NEED(filled(r->arena + AT, BYTES, 4));
    free(aside);
    meet(r);
}

/** Another value, another length, a cancelled receive: no data go aside. */
static void body_other(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    unsigned char *aside = malloc(BYTES);

    fill(aside, BYTES, 7);
    NEED(post_receive(r, 2, aside));
    NEED(!post_receive(r, 3, aside)); /* one per word */
    put_right(r, BYTES, 1);
    NEED(filled(r->arena + AT, BYTES, 1) && filled(aside, BYTES, 7));
    put_right(r, BYTES / 2, 2); /* does not match, and ends it */
    NEED(filled(r->arena + AT, BYTES / 2, 2) && filled(aside, BYTES, 7));
    NEED(post_receive(r, 3, aside));
    ops->cancel_receive(r->transport, word_of(r, WORD + 128));
    NEED(!post_receive(r, 3, aside));
    ops->cancel_receive(r->transport, word_of(r, WORD));
    put_right(r, BYTES, 3);
    NEED(filled(r->arena + AT, BYTES, 3) && filled(aside, BYTES, 7));
    free(aside);
    meet(r);
}

START_TEST(test_posted)
{
    run_ranks(2, _i, ARENA_BYTES, -1, body_posted);
}
END_TEST

START_TEST(test_other)
{
    run_ranks(3, 0, ARENA_BYTES, -1, body_other);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_posted, 0, VARIANTS);
    tcase_add_test(tcase, test_other);
}

int main(void)
{
    return unit_main("ucx_expect", 60, add_cases);
}
