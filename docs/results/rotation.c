/* What it costs to write where another process has just read: two processes
 * with a core each share memory. One writes a message there and sets a flag,
 * the other one copies it, reads the copy, and sets another flag. Messages
 * rotate through PLACES places, APART bytes from one to the next. rotation
 * BYTES PLACES APART: prints the microseconds of one message. */

#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 20000, MOST = 64 << 20 };

typedef struct shared {
    _Atomic long written;
    char line[4096];
    _Atomic long read;
    char other[4096];
    volatile long sum;
} shared_t;

static size_t bytes, places, apart;
static unsigned char *data; /* the places */
static shared_t *shared;

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("rotation: mmap");
        exit(1);
    }
    memset(memory, 0, size);
    return memory;
}

static void run_on(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)core, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        perror("turns: two cores are needed");
        exit(1);
    }
}

static double now_us(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void read_all(long *copy)
{
    for (long i = 1; i <= MESSAGES; i++) {
        long sum = 0;
        while (atomic_load_explicit(&shared->written, memory_order_acquire) !=
               i) {
        }
        memcpy(copy, data + (size_t)i % places * apart, bytes);
        for (size_t k = 0; k < bytes / sizeof(long); k++) {
            sum += copy[k];
        }
        shared->sum = sum;
        atomic_store_explicit(&shared->read, i, memory_order_release);
    }
}

static double write_all(long *source)
{
    double begin = now_us();
    for (long i = 1; i <= MESSAGES; i++) {
        for (size_t k = 0; k < bytes / sizeof(long); k++) {
            source[k] = i;
        }
        memcpy(data + (size_t)i % places * apart, source, bytes);
        atomic_store_explicit(&shared->written, i, memory_order_release);
        while (atomic_load_explicit(&shared->read, memory_order_acquire) != i) {
        }
    }
    return (now_us() - begin) / MESSAGES;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: turns BYTES PLACES APART\n");
        return 2;
    }
    bytes = strtoul(argv[1], NULL, 10);
    places = strtoul(argv[2], NULL, 10);
    apart = strtoul(argv[3], NULL, 10);
    if (bytes == 0 || places == 0 || apart < bytes || apart > MOST / places) {
        fprintf(stderr,
                "rotation: expected 1 byte and 1 place or more, at least as "
                "far apart as they are long, in %d bytes\n",
                MOST);
        return 2;
    }
    data = map(places * apart);
    shared = map(sizeof(*shared));
    long *own = calloc(bytes / sizeof(long) + 1, sizeof(long));
    run_on(1);
    pid_t reader = own != NULL ? fork() : -1;
    if (reader < 0) {
        perror("rotation");
        return 1;
    }
    if (reader == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        read_all(own);
        _exit(0);
    }
    run_on(0);
    double us = write_all(own);
    free(own);
    (void)waitpid(reader, NULL, 0);
    printf("%.3f\n", us);
    return 0;
}
