/* Copies between processes of a node from and to any memory: cross-memory
 * attach (process_vm_writev, process_vm_readv). Containers and Yama
 * (kernel.yama.ptrace_scope) may deny it, to some peers or to all, so each
 * process tries it once on each other one of its node. */

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transports/shm/endpoints.h"

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

static const ctn_attach_t *entry_of(const ctn_endpoint_t *endpoint)
{
    uint64_t offset = ((const shm_transport_t *)endpoint->transport)->attach;
    return (const void *)(endpoint->arena + offset);
}

void ctn_shm_publish(ctn_transport_t *transport, ctn_attach_t *own,
                     uint64_t offset)
{
    shm_transport_t *shm = (shm_transport_t *)transport;
    struct stat space;
    if (stat("/proc/self/ns/pid", &space) != 0) {
        return;
    }
#ifdef PR_SET_PTRACER
    /* Yama: other children of the launcher, the ranks among them, may attach.
     */
    (void)prctl(PR_SET_PTRACER, (unsigned long)getppid(), 0, 0, 0);
#endif
    shm->attach = offset;
    shm->own = own;
    own->space = space.st_ino;
    own->probe = (uintptr_t)&own->pid;
    ctn_word_store(&own->pid, (uint64_t)getpid());
}

int ctn_shm_probe(ctn_transport_t *transport)
{
    shm_transport_t *shm = (shm_transport_t *)transport;
    bool tried = false;
    int wrong = 0;
    for (size_t i = 0; shm->own != NULL && wrong == 0 && i < shm->count; i++) {
        const ctn_attach_t *peer = entry_of(&shm->endpoint[i]);
        uint64_t found = 0;
        if (peer == shm->own || peer->space != shm->own->space) {
            continue;
        }
        wrong = transfer(process_vm_readv, peer, &found, peer->probe,
                         sizeof(found));
        if (wrong == 0 && found != peer->pid) {
            wrong = ESRCH;
        }
        tried = true;
    }
    if (tried) {
        ctn_word_store(&shm->own->can, wrong == 0);
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
                  transfer(process_vm_writev, entry_of(endpoint),
                           (void *)(uintptr_t)source, address, bytes),
                  "writing to");
}

catena_status_t shm_read(ctn_endpoint_t *endpoint, void *target, size_t bytes,
                         uint64_t address)
{
    return report(
        endpoint,
        transfer(process_vm_readv, entry_of(endpoint), target, address, bytes),
        "reading from");
}

bool shm_may_access(ctn_endpoint_t *endpoint)
{
    const shm_transport_t *shm = (const shm_transport_t *)endpoint->transport;
    const ctn_attach_t *peer = entry_of(endpoint);
    return shm->own != NULL && ctn_word_load(&peer->can) != 0 &&
           peer->space == shm->own->space;
}
