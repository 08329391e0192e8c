/* Finds out which ranks share memory: they are the ranks of a node. */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "boot/ops.h"
#include "core/hash.h"
#include "core/process.h"

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) {
        hash = ctn_hash_mix(hash ^ (unsigned char)*text);
    }
    return hash;
}

/** The boot of this machine, the same for all its containers. */
static uint64_t find_host(void)
{
    char text[64] = "";
    struct utsname host;
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t bytes = read(file, text, sizeof(text) - 1);
        text[bytes > 0 ? bytes : 0] = '\0';
        close(file);
    }
    if (text[0] == '\0' && uname(&host) == 0) {
        return hash_text(1, host.nodename);
    }
    return hash_text(1, text);
}

ctn_boot_identity_t ctn_boot_identify(const ctn_boot_t *boot, const char *node)
{
    ctn_boot_identity_t identity = {.host = find_host(),
                                    .memory = hash_text(1, node),
                                    .space = ctn_pid_space()};
    struct stat found;
    if (stat("/dev/shm", &found) == 0) {
        identity.memory ^= ctn_hash_mix(found.st_dev ^ (uint64_t)found.st_ino);
    }
    if (stat("/proc/self/ns/net", &found) == 0) { /* of the doorbells */
        identity.memory = ctn_hash_add(identity.memory, found.st_ino);
    }
    if (boot->one_space) {
        identity.memory = ctn_hash_add(identity.memory, identity.space);
    }
    return identity;
}

/** Say once for a host that its ranks are in several PID namespaces.
 * @param split whether these are also several nodes */
static void say_spaces(const ctn_boot_t *boot, bool split)
{
    if (!split) {
        ctn_info(boot->log,
                 "the ranks of this host are in several PID namespaces: their "
                 "heap is a file in /dev/shm, and long messages are copied "
                 "twice; to avoid that, give their containers one PID "
                 "namespace (podman: --pid=host)");
    } else if (boot->one_space) {
        ctn_warn(boot->log,
                 "the ranks of this host are in several PID namespaces, so "
                 "with CATENA_FAILURES=return they are several nodes, which "
                 "communicate over the network; to share memory, give their "
                 "containers one PID namespace (podman: --pid=host)");
    } else {
        ctn_warn(boot->log,
                 "the ranks of this host are in several PID namespaces and do "
                 "not share /dev/shm and the network, so they are several "
                 "nodes, which communicate over the network; to share memory, "
                 "give their containers one /dev/shm and one network namespace "
                 "(podman: --ipc=host --network=host)");
    }
}

catena_status_t ctn_boot_form_node(ctn_boot_t *boot,
                                   const ctn_boot_identity_t *all,
                                   const uint32_t *ranks, uint32_t count)
{
    const ctn_boot_identity_t *own = NULL, *first = NULL;
    bool several = false, split = false;
    uint32_t *local = calloc(count, sizeof(*local));
    if (local == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        own = ranks[i] == boot->rank ? &all[i] : own;
    }
    boot->local_size = boot->host_ranks = 0;
    for (uint32_t i = 0; own != NULL && i < count; i++) {
        if (all[i].host != own->host) {
            continue;
        }
        first = first == NULL ? &all[i] : first;
        boot->host_ranks++;
        several |= all[i].space != own->space;
        if (all[i].memory == own->memory) {
            local[boot->local_size++] = ranks[i];
            boot->several_spaces |= all[i].space != own->space;
        } else {
            split |= all[i].space != own->space;
        }
    }
    free(boot->local_ranks);
    boot->local_ranks = local;
    if (several && own == first) {
        say_spaces(boot, split);
    }
    return ctn_boot_find_local_rank(boot);
}
