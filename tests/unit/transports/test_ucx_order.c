/* The order of flags of one endpoint: the calls of UCX that ensure it, and the
 * order of arrival. */

#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#include "core/clock.h"
#include "unit/unit.h"
#include "wire.h"

enum {
    WORDS = 4096,
    DATA = 1 << 20,
    LONG = 100000,
    FRAGMENTED = 300000,
    MESSAGES = 2000
};

/* ---- these stand before UCX's ---- */

static char config_text[1 << 16];

ucs_status_t __real_ucp_init_version(unsigned major, unsigned minor,
                                     const ucp_params_t *params,
                                     const ucp_config_t *config,
                                     ucp_context_h *context);
ucs_status_t __wrap_ucp_init_version(unsigned major, unsigned minor,
                                     const ucp_params_t *params,
                                     const ucp_config_t *config,
                                     ucp_context_h *context);
ucs_status_t __wrap_ucp_init_version(unsigned major, unsigned minor,
                                     const ucp_params_t *params,
                                     const ucp_config_t *config,
                                     ucp_context_h *context)
{
    FILE *text = fmemopen(config_text, sizeof(config_text), "w");
    ucp_config_print(config, text, NULL, UCS_CONFIG_PRINT_CONFIG);
    fclose(text);
    return __real_ucp_init_version(major, minor, params, config, context);
}

/** The puts so far, a letter each: f a fence, w a flag, d data, which may take
 * two attempts. */
static char puts_text[64];

static void note(char what)
{
    size_t at = strlen(puts_text);
    bool again = what == 'd' && at > 0 && puts_text[at - 1] == what;
    if (at + 1 < sizeof(puts_text) && !again) {
        puts_text[at] = what;
    }
}

ucs_status_t __real_ucp_worker_fence(ucp_worker_h worker);
ucs_status_t __wrap_ucp_worker_fence(ucp_worker_h worker);
ucs_status_t __wrap_ucp_worker_fence(ucp_worker_h worker)
{
    note('f');
    return __real_ucp_worker_fence(worker);
}

ucs_status_ptr_t __real_ucp_put_nbx(ucp_ep_h ep, const void *buffer,
                                    size_t count, uint64_t remote,
                                    ucp_rkey_h rkey,
                                    const ucp_request_param_t *param);
ucs_status_ptr_t __wrap_ucp_put_nbx(ucp_ep_h ep, const void *buffer,
                                    size_t count, uint64_t remote,
                                    ucp_rkey_h rkey,
                                    const ucp_request_param_t *param);
ucs_status_ptr_t __wrap_ucp_put_nbx(ucp_ep_h ep, const void *buffer,
                                    size_t count, uint64_t remote,
                                    ucp_rkey_h rkey,
                                    const ucp_request_param_t *param)
{
    note(count == sizeof(uint64_t) ? 'w' : 'd');
    return __real_ucp_put_nbx(ep, buffer, count, remote, rkey, param);
}

/* ---- what is asked for ---- */

static void body_config(rank_t *r)
{
    NEED(strstr(config_text, "UCX_MAX_EAGER_RAILS=1\n") != NULL);
}

START_TEST(one_lane_for_messages)
{
    setenv("UCX_MAX_EAGER_RAILS", "2", 1);
    setenv("UCX_MAX_EAGER_LANES", "2", 1);
    run_ranks(1, 0, ARENA_BYTES, -1, body_config);
}
END_TEST

/** One fence between any two flags of a peer, and no more. */
static void body_fences(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    uint64_t pending = 0;
    if (r->rank == 0) {
        ctn_endpoint_t *one = connect_to(r, 1);
        ctn_endpoint_t *two = connect_to(r, 2);
        puts_text[0] = '\0';
        NEED(ctn_signal(one, WORDS, 1) == CATENA_OK);
        NEED(ctn_signal(two, WORDS, 1) == CATENA_OK);
        NEED(ctn_signal(one, WORDS + 8, 1) == CATENA_OK);
        NEED(ctn_signal(two, WORDS + 8, 1) == CATENA_OK);
        NEED(ops->put_signal(one, r->arena + DATA, 100, DATA, WORDS, 2,
                             &pending) == CATENA_OK);
        NEED(ops->put_signal(one, NULL, 0, DATA, WORDS + 16, 3, &pending) ==
             CATENA_OK);
        NEED(ctn_signal(two, WORDS + 16, 3) == CATENA_OK);
        NEED(strcmp(puts_text, "wwfwwdfwfww") == 0);
        wait_pending(r, &pending);
    } else {
        wait_word(r, WORDS + 16, 3);
    }
    meet(r);
}

START_TEST(fences_between_words)
{
    run_ranks(3, 1, ARENA_BYTES, -1, body_fences);
}
END_TEST

/* ---- what comes ---- */

/** The bytes of a message: in one part, or in fragments. */
static size_t bytes_of(uint64_t i)
{
    return i % 2 == 0 ? LONG : FRAGMENTED;
}

/** Long messages with a flag each, each followed by a short one. The words of
 * message i are i, i + 1, and so on. */
static void body_order(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    uint64_t end = ctn_clock_now_ns() + DEADLINE_NS;
    uint64_t pending = 0;
    uint64_t *word = (uint64_t *)(void *)(r->arena + WORDS);
    uint64_t *data = (uint64_t *)(void *)(r->arena + DATA);
    uint64_t seen = 0;

    if (r->rank == 0) {
        ctn_endpoint_t *peer = connect_to(r, 1);
        for (uint64_t i = 0; i < MESSAGES + FRAGMENTED / sizeof(*data); i++) {
            data[i] = i;
        }
        for (uint64_t i = 1; i <= MESSAGES; i++) {
            NEED(ops->put_signal(peer, &data[i], bytes_of(i), DATA, WORDS, i,
                                 &pending) == CATENA_OK);
            NEED(ctn_signal(peer, WORDS + 8, i) == CATENA_OK);
            step(r, end);
        }
        wait_pending(r, &pending);
    }
    while (r->rank == 1 && seen < MESSAGES) {
        seen = ctn_word_load(&word[1]);
        NEED(ctn_word_load(&word[0]) >= seen);
        size_t last = bytes_of(seen) / sizeof(*data) - 1;
        NEED(seen == 0 || (data[0] >= seen && data[last] >= seen + last));
        step(r, end);
    }
    meet(r);
}

START_TEST(words_come_in_order)
{
    setenv("UCX_MAX_EAGER_RAILS", "2", 1);
    setenv("UCX_TCP_RX_SEG_SIZE", "8k", 1); /* fragments, for all lanes */
    run_ranks(2, _i, ARENA_BYTES, -1, body_order);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, one_lane_for_messages);
    tcase_add_test(tcase, fences_between_words);
    tcase_add_loop_test(tcase, words_come_in_order, 0, VARIANTS);
}

UNIT_TEST(ucx_order)
{
    return unit_main("ucx_order", 60, add_cases);
}
