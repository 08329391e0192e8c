#include "token.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SECONDS = 300 }; /* that one side may hold the token */

/* Contents of the file; all 0 at first. */
struct shared {
    _Atomic uint32_t ready; /* sides that have started */
    _Atomic uint32_t round; /* of all sides; side round % sides holds it */
};

static struct shared *shared;
static uint32_t index_here, sides = 1, own_round;
static bool passes; /* this process is rank 0 */

/* Sleep until *word is no longer `seen`. @return false: it took too long */
static bool sleep_while(_Atomic uint32_t *word, uint32_t seen)
{
    struct timespec step = {.tv_sec = 1};

    for (int i = 0; atomic_load(word) == seen; i++) {
        if (i == MOST_SECONDS)
            return false;
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &step, NULL, 0);
    }
    return true;
}

static void advance(_Atomic uint32_t *word)
{
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* @return false: *word did not reach `value` in time */
static bool reach(_Atomic uint32_t *word, uint32_t value)
{
    uint32_t seen;

    while ((seen = atomic_load(word)) < value)
        if (!sleep_while(word, seen))
            return false;
    return true;
}

static struct shared *map(const char *path)
{
    int file = open(path, O_RDWR);
    void *there = MAP_FAILED;

    if (file >= 0 && ftruncate(file, sizeof(struct shared)) == 0)
        there = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                     MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    return there == MAP_FAILED ? NULL : there;
}

const char *token_open(int rank)
{
    const char *text = getenv("PEER_TOKEN");
    char path[4096];

    if (text == NULL)
        return NULL;
    if (sscanf(text, "%4095[^:]:%u:%u", path, &index_here, &sides) != 3 ||
        index_here >= sides)
        return "PEER_TOKEN is not FILE:INDEX:SIDES";
    shared = map(path);
    if (shared == NULL)
        return "the file of PEER_TOKEN cannot be mapped";
    own_round = index_here;
    passes = rank == 0;
    if (passes)
        advance(&shared->ready);
    return reach(&shared->ready, sides) ? NULL : "another side did not start";
}

const char *token_wait(void)
{
    return shared == NULL || reach(&shared->round, own_round)
               ? NULL
               : "another side did not hand on the token";
}

void token_pass(void)
{
    if (shared == NULL)
        return;
    own_round += sides;
    if (passes)
        advance(&shared->round);
}
