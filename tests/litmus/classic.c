/* Tests of the checker itself: litmus tests of the literature, each with an
 * outcome that RC11 allows or forbids. */

#include "litmus/classic.h"

#include <string.h>

#include "litmus/atomics.h"

enum {
    RLX = __ATOMIC_RELAXED,
    ACQ = __ATOMIC_ACQUIRE,
    REL = __ATOMIC_RELEASE,
    SC = __ATOMIC_SEQ_CST
};

static uint64_t x, y, r[4];
static int stores, loads; /* the orders of a variant */

static uint64_t get(uint64_t *from)
{
    return __atomic_load_n(from, loads);
}

static void set(uint64_t *to, uint64_t value)
{
    __atomic_store_n(to, value, stores);
}

static void begin(int store, int load)
{
    x = y = 0;
    memset(r, 0, sizeof(r));
    stores = store;
    loads = load;
}

static void relaxed(void)
{
    begin(RLX, RLX);
}

static void release_acquire(void)
{
    begin(REL, ACQ);
}

static void seq_cst(void)
{
    begin(SC, SC);
}

/* Store buffering: both loads read the old value. */
static void sb_0(void)
{
    set(&x, 1);
    r[0] = get(&y);
}

static void sb_1(void)
{
    set(&y, 1);
    r[1] = get(&x);
}

static void sb_fence_0(void)
{
    set(&x, 1);
    __atomic_thread_fence(SC);
    r[0] = get(&y);
}

static void sb_fence_1(void)
{
    set(&y, 1);
    __atomic_thread_fence(SC);
    r[1] = get(&x);
}

static void both_old(void)
{
    litmus_saw(r[0] == 0 && r[1] == 0);
}

/* Message passing: the flag is seen, the data are not. */
static void mp_0(void)
{
    __atomic_store_n(&x, 1, RLX);
    set(&y, 1);
}

static void mp_1(void)
{
    r[0] = get(&y);
    r[1] = __atomic_load_n(&x, RLX);
}

static void mp_fence_0(void)
{
    __atomic_store_n(&x, 1, RLX);
    __atomic_thread_fence(REL);
    set(&y, 1);
}

static void mp_fence_1(void)
{
    r[0] = get(&y);
    __atomic_thread_fence(ACQ);
    r[1] = __atomic_load_n(&x, RLX);
}

static void flag_only(void)
{
    litmus_saw(r[0] == 1 && r[1] == 0);
}

/* The flag is raised once more: by a store, which is not in the release
 * sequence of the first one, or by a read-modify-write operation, which is. */
static void raise_by_store(void)
{
    if (__atomic_load_n(&y, RLX) == 1) {
        __atomic_store_n(&y, 2, RLX);
    }
}

static void raise_by_add(void)
{
    if (__atomic_load_n(&y, RLX) == 1) {
        (void)__atomic_fetch_add(&y, 1, RLX);
    }
}

static void second_flag_only(void)
{
    litmus_saw(r[0] == 2 && r[1] == 0);
}

/* Load buffering: each load reads the store that follows the other load. C11
 * allows it, RC11 does not. */
static void lb_0(void)
{
    r[0] = get(&x);
    set(&y, 1);
}

static void lb_1(void)
{
    r[1] = get(&y);
    set(&x, 1);
}

static void both_new(void)
{
    litmus_saw(r[0] == 1 && r[1] == 1);
}

/* Coherence: two loads of one object read a newer and then an older value. */
static void write_twice(void)
{
    set(&x, 1);
    set(&x, 2);
}

static void read_twice(void)
{
    r[0] = get(&x);
    r[1] = get(&x);
}

static void newer_first(void)
{
    litmus_saw(r[0] > r[1]);
}

/* 2 + 2 writes: each thread stores to both objects, in opposite orders. In both
 * objects the first store of a thread is last in the modification order. */
static void w22_0(void)
{
    set(&x, 1);
    set(&y, 2);
}

static void w22_1(void)
{
    set(&y, 1);
    set(&x, 2);
}

static void both_first(void)
{
    litmus_saw(x == 1 && y == 1);
}

/* Independent reads of independent writes: two threads see them in opposite
 * orders. */
static void write_x(void)
{
    set(&x, 1);
}

static void write_y(void)
{
    set(&y, 1);
}

static void iriw_2(void)
{
    r[0] = get(&x);
    r[1] = get(&y);
}

static void iriw_3(void)
{
    r[2] = get(&y);
    r[3] = get(&x);
}

static void opposite(void)
{
    litmus_saw(r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0);
}

/* A count loses an addition. */
static void count(void)
{
    (void)__atomic_fetch_add(&x, 1, RLX);
}

static void lost(void)
{
    litmus_saw(x != 2);
}

const classic_t classics[] = {
    {{"store buffering, relaxed", relaxed, {sb_0, sb_1}, both_old}, true},
    {{"store buffering, release and acquire",
      release_acquire,
      {sb_0, sb_1},
      both_old},
     true},
    {{"store buffering, seq_cst", seq_cst, {sb_0, sb_1}, both_old}, false},
    {{"store buffering, fences", relaxed, {sb_fence_0, sb_fence_1}, both_old},
     false},
    {{"store buffering, one fence", relaxed, {sb_fence_0, sb_1}, both_old},
     true},
    {{"message passing, relaxed", relaxed, {mp_0, mp_1}, flag_only}, true},
    {{"message passing", release_acquire, {mp_0, mp_1}, flag_only}, false},
    {{"message passing, fences", relaxed, {mp_fence_0, mp_fence_1}, flag_only},
     false},
    {{"message passing, one fence", relaxed, {mp_fence_0, mp_1}, flag_only},
     true},
    {{"release sequence, a store",
      release_acquire,
      {mp_0, raise_by_store, mp_1},
      second_flag_only},
     true},
    {{"release sequence, an addition",
      release_acquire,
      {mp_0, raise_by_add, mp_1},
      second_flag_only},
     false},
    {{"load buffering", relaxed, {lb_0, lb_1}, both_new}, false},
    {{"coherence of loads", relaxed, {write_twice, read_twice}, newer_first},
     false},
    {{"2 + 2 writes, relaxed", relaxed, {w22_0, w22_1}, both_first}, true},
    {{"2 + 2 writes, seq_cst", seq_cst, {w22_0, w22_1}, both_first}, false},
    {{"independent reads, acquire",
      release_acquire,
      {write_x, write_y, iriw_2, iriw_3},
      opposite},
     true},
    {{"independent reads, seq_cst",
      seq_cst,
      {write_x, write_y, iriw_2, iriw_3},
      opposite},
     false},
    {{"two additions", relaxed, {count, count}, lost}, false},
};
const int classics_count = sizeof(classics) / sizeof(classics[0]);
