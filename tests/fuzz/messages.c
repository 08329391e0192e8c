/* Active messages of the network, as anybody who reaches a rank's port can send
 * them: handed to the handlers that the transport gives to UCX. An input is a
 * sequence of messages: a kind, flags, the number of bytes of header and of
 * data, and these. The header gets the secret of the process, unless the flags
 * are 254: then a message has no effect. Nothing outside the arena is written,
 * and no message is answered here, since that needs UCX. */

#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "transports/ucx/ucx.h"

enum { ARENA_BYTES = 4096, GUARD_BYTES = 64, HEAD_BYTES = 4 };

static ucp_am_recv_callback_t callback[CTN_UCX_AM_COUNT];
static void *argument[CTN_UCX_AM_COUNT];

/* The linker puts this in place of UCP's function (tests/fuzz/meson.build). */
ucs_status_t
__wrap_ucp_worker_set_am_recv_handler(ucp_worker_h worker,
                                      const ucp_am_handler_param_t *param);
ucs_status_t
__wrap_ucp_worker_set_am_recv_handler(ucp_worker_h worker,
                                      const ucp_am_handler_param_t *param)
{
    (void)worker;
    callback[param->id] = param->cb;
    argument[param->id] = param->arg;
    return UCS_OK;
}

static const uint64_t secret = UINT64_C(0x123456789abcdef0);

/* A posted receive: reads all that it gets. */
static void take(void *context, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) {
        *(unsigned *)context += byte[i];
    }
}

/* Handle the message at `data`; returns its length. The copies have their exact
 * size, so that a sanitizer sees what reads beyond. */
static size_t handle(const uint8_t *data, size_t bytes)
{
    size_t header_bytes = data[2] % 64;
    size_t data_bytes = data[3];
    size_t left = bytes - HEAD_BYTES;
    header_bytes = header_bytes < left ? header_bytes : left;
    left -= header_bytes;
    data_bytes = data_bytes < left ? data_bytes : left;
    size_t secret_bytes = data[1] == 254 ? 0 : sizeof(secret);
    unsigned char *header = malloc(header_bytes + secret_bytes + 1);
    unsigned char *body = malloc(data_bytes + 1);
    ucp_am_recv_param_t param = {
        .recv_attr = data[1] == 255 ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0};
    unsigned id = data[0] % CTN_UCX_AM_COUNT;
    if (header == NULL || body == NULL) {
        abort();
    }
    memcpy(header, data + HEAD_BYTES, header_bytes);
    memcpy(header + header_bytes, &secret, secret_bytes);
    memcpy(body, data + HEAD_BYTES + header_bytes, data_bytes);
    size_t all = header_bytes + secret_bytes;
    header = realloc(header, all > 0 ? all : 1);
    body = realloc(body, data_bytes > 0 ? data_bytes : 1);
    (void)callback[id](argument[id], header, all, body, data_bytes, &param);
    free(header);
    free(body);
    return HEAD_BYTES + header_bytes + data_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    ctn_ucx_t *transport = calloc(1, sizeof(*transport));
    unsigned char *memory = aligned_alloc(64, ARENA_BYTES + 2 * GUARD_BYTES);
    unsigned sum = 0;
    if (transport == NULL || memory == NULL) {
        abort();
    }
    memset(memory, 0xa5, ARENA_BYTES + 2 * GUARD_BYTES);
    transport->secret = secret;
    transport->params.log = &fuzz_log;
    transport->params.arena = memory + GUARD_BYTES;
    transport->params.arena_bytes = ARENA_BYTES;
    transport->deferred_end = &transport->deferred_list;
    if (ctn_ucx_set_handlers(transport) != CATENA_OK) {
        abort();
    }
    (void)ctn_ucx_post_receive(
        &transport->base,
        (const uint64_t *)(const void *)transport->params.arena, 1, 16, take,
        &sum);
    while (bytes > HEAD_BYTES) {
        size_t used = handle(data, bytes);
        data += used;
        bytes -= used;
    }
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (memory[i] != 0xa5 ||
            memory[GUARD_BYTES + ARENA_BYTES + i] != 0xa5) {
            abort();
        }
    }
    ctn_ucx_free_arrivals(transport);
    ctn_ucx_free_syncs(transport);
    free(memory);
    free(transport);
    return 0;
}
