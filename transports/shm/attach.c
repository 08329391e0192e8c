/* Copies between processes of a node from and to any memory: cross-memory
 * attach (process_vm_writev, process_vm_readv). Containers and Yama
 * (kernel.yama.ptrace_scope) may deny it, to some peers or to all, so each
 * process tries it once on each other one of its node. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/process.h"
#include "transports/shm/endpoints.h"

enum {
    PROBES = 16,
    COPY_BYTES = 64 << 10, /* of a copy that is timed */
    MOST_BYTES = 1 << 20
};

/** Read or write bytes of another process. @return 0, or an errno */
static int
transfer(ssize_t (*call)(pid_t, const struct iovec *, unsigned long,
                         const struct iovec *, unsigned long, unsigned long),
         const ctn_attach_t *peer, void *here, uint64_t there, size_t bytes)
{
    while (bytes > 0) {
        struct iovec local = {here, bytes};
        struct iovec remote = {(void *)(uintptr_t)there, bytes};
        ssize_t done = call((pid_t)peer->pid, &local, 1, &remote, 1, 0);
        if (done <= 0) {
            return done < 0 ? errno : EFAULT;
        }
        here = (unsigned char *)here + done;
        there += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return 0;
}

void ctn_shm_publish(ctn_transport_t *transport, ctn_attach_t *own,
                     uint64_t offset, bool accessible)
{
    shm_transport_t *shm = (shm_transport_t *)transport;
    uint64_t space = ctn_pid_space();
    if (space == 0) {
        return;
    }
#ifdef PR_SET_PTRACER
    /* Yama: other children of the launcher, the ranks among them, may attach.
     */
    if (accessible) {
        (void)prctl(PR_SET_PTRACER, (unsigned long)getppid(), 0, 0, 0);
    }
#else
    (void)accessible;
#endif
    shm->attach = offset;
    shm->own = own;
    own->space = space;
    own->probe = (uintptr_t)&own->pid;
    ctn_word_store(&own->pid, (uint64_t)getpid());
}

static uint64_t least_of(const uint64_t ns[PROBES])
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < PROBES; i++) {
        least = ns[i] < least ? ns[i] : least;
    }
    return least > 0 ? least : 1;
}

/** The fewest bytes for which a call of the system, which has moved a word in
 * the least of these times, is faster than a second copy. That comes from the
 * cache of another core, at 0.4 of the rate of a copy within the own one (seen
 * where a call takes 1.8 us: 16 to 64 KiB are 1.3 to 2.4 times as fast by two
 * copies). */
static uint64_t fewest_bytes(const uint64_t ns[PROBES])
{
    uint64_t copy_ns[PROBES];
    unsigned char *memory = malloc((size_t)2 * COPY_BYTES);
    if (memory == NULL) {
        return MOST_BYTES;
    }
    memset(memory, 0, (size_t)2 * COPY_BYTES);
    for (size_t i = 0; i < PROBES; i++) {
        uint64_t since = ctn_clock_now_ns();
        memcpy(memory + i % 2 * COPY_BYTES, memory + (i + 1) % 2 * COPY_BYTES,
               COPY_BYTES);
        copy_ns[i] = ctn_clock_now_ns() - since;
    }
    free(memory);
    uint64_t enough = 2 * COPY_BYTES * least_of(ns) / (5 * least_of(copy_ns));
    uint64_t bytes = 1;
    while (bytes < enough && bytes < MOST_BYTES) {
        bytes *= 2;
    }
    return bytes;
}

int ctn_shm_probe(ctn_transport_t *transport)
{
    shm_transport_t *shm = (shm_transport_t *)transport;
    uint64_t ns[PROBES];
    size_t tried = 0;
    int wrong = 0;
    for (size_t i = 0; shm->own != NULL && wrong == 0 && i < shm->count; i++) {
        const ctn_attach_t *peer = shm_entry_of(&shm->endpoint[i]);
        if (peer == shm->own || peer->space != shm->own->space) {
            continue;
        }
        /* all peers, and the first one often enough to know the time */
        do {
            uint64_t found = 0;
            uint64_t since = ctn_clock_now_ns();
            wrong = transfer(process_vm_readv, peer, &found, peer->probe,
                             sizeof(found));
            ns[tried % PROBES] = ctn_clock_now_ns() - since;
            if (wrong == 0 && found != peer->pid) {
                wrong = ESRCH;
            }
        } while (++tried < PROBES && wrong == 0);
    }
    if (tried > 0) {
        ctn_word_store(&shm->own->can, wrong == 0 ? fewest_bytes(ns) : 0);
    }
    return wrong;
}

/** The status of an access to the memory of a peer. @param wrong 0 or an errno
 */
static catena_status_t report(const ctn_endpoint_t *endpoint, int wrong,
                              const char *doing)
{
    if (wrong == 0) {
        return CATENA_OK;
    }
    if (wrong == ESRCH &&
        ((const shm_transport_t *)endpoint->transport)->died != NULL) {
        return CATENA_ERR_PEER; /* reported by shm_check */
    }
    ctn_error(NULL, "%s memory of rank %llu failed: %s%s", doing,
              (unsigned long long)endpoint->process, strerror(wrong),
              wrong == EFAULT ? "; the buffer must stay until the call has "
                                "ended there"
                              : "; CATENA_SINGLE_COPY=off avoids this");
    return wrong == ESRCH ? CATENA_ERR_PEER : CATENA_ERR_SYSTEM;
}

catena_status_t shm_write(ctn_endpoint_t *endpoint, const void *source,
                          size_t bytes, uint64_t address)
{
    return report(endpoint,
                  transfer(process_vm_writev, shm_entry_of(endpoint),
                           (void *)(uintptr_t)source, address, bytes),
                  "writing to");
}

catena_status_t shm_read(ctn_endpoint_t *endpoint, void *target, size_t bytes,
                         uint64_t address)
{
    return report(endpoint,
                  transfer(process_vm_readv, shm_entry_of(endpoint), target,
                           address, bytes),
                  "reading from");
}

bool shm_may_access(ctn_endpoint_t *endpoint, size_t bytes)
{
    const shm_transport_t *shm = (const shm_transport_t *)endpoint->transport;
    const ctn_attach_t *peer = shm_entry_of(endpoint);
    uint64_t fewest = ctn_word_load(&peer->can);
    return shm->own != NULL && fewest != 0 && bytes >= fewest &&
           peer->space == shm->own->space;
}
