#include "wire.h"
#include "core/clock.h"

#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "oracle/content.h"

const wire_variant_t wire_variants[VARIANTS] =
    {
        {"tcp,self", CTN_PUT_AM},   {"tcp,self", CTN_PUT_RMA},
        {NULL, CTN_PUT_AUTO},       {NULL, CTN_PUT_RMA},
        {"posix,self", CTN_PUT_AM}, /* UCX reports no deaths here */
};

static catena_status_t lookup(void *context, uint64_t process,
                              void **ep_address, size_t *bytes)
{
    meeting_t *meeting = context;
    *bytes = meeting->ep_address_bytes[process];
    *ep_address = malloc(*bytes);
    memcpy(*ep_address, meeting->ep_addresses[process], *bytes);
    return CATENA_OK;
}

void meet(rank_t *r)
{
    uint64_t *arrived = &r->meeting->arrived[r->barriers++];
    uint64_t end = ctn_clock_now_ns() + DEADLINE_NS;
    __atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL);
    while (ctn_word_load(arrived) < (uint64_t)r->size) {
        NEED(r->transport->ops->progress(r->transport) >= 0);
        NEED(ctn_clock_now_ns() < end);
        sched_yield();
    }
}

void step(rank_t *r, uint64_t end)
{
    int progress = r->transport->ops->progress(r->transport);
    NEED(progress >= 0);
    NEED(ctn_clock_now_ns() < end);
    if (progress == 0)
        sched_yield();
}

void wait_word(rank_t *r, uint64_t offset, uint64_t value)
{
    uint64_t end = ctn_clock_now_ns() + DEADLINE_NS;
    while (ctn_word_load((uint64_t *)(void *)(r->arena + offset)) != value)
        step(r, end);
}

void wait_pending(rank_t *r, const uint64_t *pending)
{
    uint64_t end = ctn_clock_now_ns() + DEADLINE_NS;
    while (*pending > 0)
        step(r, end);
}

ctn_endpoint_t *connect_to(rank_t *r, int peer)
{
    ctn_endpoint_t *endpoint = NULL, *again = NULL;
    NEED(r->transport->ops->connect(r->transport, (uint64_t)peer, &endpoint) ==
         CATENA_OK);
    NEED(r->transport->ops->connect(r->transport, (uint64_t)peer, &again) ==
         CATENA_OK);
    NEED(endpoint == again && endpoint->process == (uint64_t)peer);
    return endpoint;
}

static void open_rank(rank_t *r)
{
    int fd = memfd_create("arena", 0);
    NEED(fd >= 0 && ftruncate(fd, (off_t)r->arena_bytes) == 0);
    r->arena = mmap(NULL, r->arena_bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd, 0);
    NEED(r->arena != MAP_FAILED);
    close(fd);
    static ctn_setting_tables_t tables = {&ctn_ucx_settings, NULL};
    ctn_config_t config;
    NEED(ctn_config_read(&config, tables, NULL, &r->log) == CATENA_OK);
    ((ctn_ucx_config_t *)ctn_config_values(&config, &ctn_ucx_settings))->put =
        r->mode;
    ctn_transport_params_t params = {
        .log = &r->log,
        .process = (uint64_t)r->rank,
        .arena = r->arena,
        .arena_bytes = r->arena_bytes,
        .config = &config,
        .lookup = lookup,
        .lookup_context = r->meeting,
    };
    NEED(ctn_ucx_ops.create(&params, &r->transport) == CATENA_OK);
    ctn_config_release(&config);
    const void *ep_address;
    size_t bytes;
    r->transport->ops->ep_address(r->transport, &ep_address, &bytes);
    NEED(bytes <= CARD_MAX);
    memcpy(r->meeting->ep_addresses[r->rank], ep_address, bytes);
    r->meeting->ep_address_bytes[r->rank] = bytes;
    meet(r);
}

static void close_rank(rank_t *r)
{
    r->transport->ops->destroy(r->transport);
    munmap(r->arena, r->arena_bytes);
}

void run_ranks(int size, int variant, size_t arena_bytes, int victim,
               void (*body)(rank_t *r))
{
    meeting_t *meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(meeting, MAP_FAILED);
    if (wire_variants[variant].tls != NULL)
        setenv("UCX_TLS", wire_variants[variant].tls, 1);
    else
        unsetenv("UCX_TLS");
    for (int i = 0; i < size; i++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            rank_t r = {
                .meeting = meeting,
                .log = {.level = CATENA_LOG_ERROR, .rank = i, .host = "test"},
                .rank = i,
                .size = size,
                .mode = wire_variants[variant].mode,
                .arena_bytes = arena_bytes,
            };
            meeting->pids[i] = getpid();
            open_rank(&r);
            body(&r);
            close_rank(&r);
            _exit(0);
        }
    }
    int bad = 0;
    for (int i = 0; i < size; i++) {
        int status;
        pid_t pid = wait(&status);
        if (status != 0 && (victim < 0 || pid != meeting->pids[victim]))
            bad++;
    }
    ck_assert_int_eq(bad, 0);
    munmap(meeting, sizeof(*meeting));
}

void fill(unsigned char *at, size_t bytes, uint64_t seed)
{
    oracle_stream(seed, 0, 0, 0, bytes, at);
}

bool filled(const unsigned char *at, size_t bytes, uint64_t seed)
{
    return oracle_stream_differs(seed, 0, 0, bytes, at) == bytes;
}
