/* Cross-memory attach: a process writes to and reads from memory of another one
 * that is not shared. */

#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transports/shm/shm.h"
#include "unit/unit.h"

enum { BYTES = 100000, ARENA = 4096, OFFSET = 64 };

/* What both processes see. */
struct pair {
    _Atomic int ready; /* 1: the child has published; 2: it may look */
    _Atomic uint64_t address;
    _Alignas(ARENA) unsigned char arena[2][ARENA];
};

static struct pair *pair;

static ctn_transport_t *open_transport(int me)
{
    static const uint32_t processes[] = {0, 1};
    unsigned char *arenas[] = {pair->arena[0], pair->arena[1]};
    ctn_transport_t *transport = ctn_shm_create(2, processes, arenas);
    ctn_shm_publish(transport, (void *)(pair->arena[me] + OFFSET), OFFSET,
                    true);
    return transport;
}

static void until(int ready)
{
    while (pair->ready < ready) {
        sched_yield();
    }
}

/* The child: its buffer holds 1, 2, 3 ... and gets these numbers less 1. */
static int be_written(void)
{
    ctn_transport_t *transport = open_transport(1);
    unsigned char *buffer = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++) {
        buffer[i] = (unsigned char)(i + 1);
    }
    pair->address = (uintptr_t)buffer;
    pair->ready = 1;
    until(2);
    int wrong = 0;
    for (size_t i = 0; i < BYTES; i++) {
        wrong |= buffer[i] != (unsigned char)i;
    }
    free(buffer);
    transport->ops->destroy(transport);
    return wrong;
}

START_TEST(memory_of_another_process)
{
    int status;
    pair = mmap(NULL, sizeof(*pair), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ctn_transport_t *transport = open_transport(0);
    pid_t child = fork();
    if (child == 0) {
        _exit(be_written());
    }
    until(1);
    ctn_endpoint_t *peer = ctn_shm_endpoint(transport, 1);
    const ctn_transport_ops_t *ops = transport->ops;
    ck_assert(!ops->may_access(peer, BYTES)); /* the child has not tried */
    bool allowed = ctn_shm_probe(transport) == 0;
    if (allowed) {
        unsigned char *here = malloc(BYTES);
        ck_assert_int_eq(ops->read(peer, here, BYTES, pair->address),
                         CATENA_OK);
        for (size_t i = 0; i < BYTES; i++) {
            ck_assert_uint_eq(here[i], (unsigned char)(i + 1));
            here[i]--;
        }
        ck_assert_int_eq(ops->write(peer, here, BYTES, pair->address),
                         CATENA_OK);
        ck_assert_int_eq(ops->write(peer, here, BYTES, 8), CATENA_ERR_SYSTEM);
        free(here);
    }
    pair->ready = 2;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(!allowed || status == 0);
    transport->ops->destroy(transport);
    munmap(pair, sizeof(*pair));
}
END_TEST

/* A process whose numbers mean other processes is not asked. */
START_TEST(another_namespace)
{
    pair = mmap(NULL, sizeof(*pair), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ctn_transport_t *transport = open_transport(0);
    ctn_endpoint_t *peer = ctn_shm_endpoint(transport, 1);
    ctn_attach_t *own = (void *)(pair->arena[0] + OFFSET);
    ctn_attach_t *other = (void *)(pair->arena[1] + OFFSET);
    *other = *own;
    other->can = 1;
    ck_assert(transport->ops->may_access(peer, BYTES));
    other->can = BYTES + 1; /* it takes longer than a copy */
    ck_assert(!transport->ops->may_access(peer, BYTES));
    ck_assert(transport->ops->may_access(peer, BYTES + 1));
    other->space++;
    ck_assert(!transport->ops->may_access(peer, BYTES + 1));
    ck_assert_int_eq(ctn_shm_probe(transport), 0);
    ck_assert_uint_eq(own->can, 0);
    transport->ops->destroy(transport);
    munmap(pair, sizeof(*pair));
}
END_TEST

UNIT_TEST(attach)
{
    Suite *suite = suite_create("attach");
    TCase *attach = tcase_create("attach");
    tcase_add_test(attach, memory_of_another_process);
    tcase_add_test(attach, another_namespace);
    suite_add_tcase(suite, attach);
    return unit_run(suite);
}
