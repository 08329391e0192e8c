#include "litmus/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transports/sim/fiber.h"

enum {
    OBJECTS = 16,
    MESSAGES = 24, /* of an object */
    CHOICES = 512, /* of an execution */
    STACK_BYTES = 64 << 10
};

#define TOO_LONG "too many choices in an execution"
#define APART (UINT64_C(1) << 40) /* between two messages, at first */

/** What a thread knows: the time of a message of each object, and of each
 * thread how many of its steps happened before. */
typedef struct view {
    uint64_t time[OBJECTS];
    uint32_t steps[LITMUS_THREADS];
} view_t;

typedef struct message {
    uint64_t time; /* its place in the modification order */
    uint64_t value;
    view_t view;
    bool taken; /* a read-modify-write operation follows directly */
} message_t;

typedef struct object {
    void *address;
    size_t bytes;
    message_t message[MESSAGES]; /* by time */
    uint32_t messages;
    /* of accesses that are not atomic */
    bool plain;
    int writer; /* -1: none */
    uint32_t written;
    uint32_t read[LITMUS_THREADS];
} object_t;

typedef enum kind { BEGINS, LOADS, STORES, FENCES, EVERYWHERE } kind_t;

typedef struct thread {
    ctn_fiber_t fiber;
    view_t now;      /* what its accesses see */
    view_t acquired; /* what an acquire fence would add */
    view_t released; /* by the last release fence */
    bool ended;
    /* its next access */
    kind_t kind;
    int object;   /* or -1 */
    bool ordered; /* it is sequentially consistent */
    /* its last load, and whether it waits for a newer message */
    int loaded;
    uint64_t loaded_time;
    bool waits;
} thread_t;

/** A choice that was made. */
typedef struct choice {
    uint32_t count, chosen;
    bool of_thread;
    uint32_t asleep; /* threads whose next access was run first already */
} choice_t;

static struct {
    const litmus_t *program;
    litmus_weaker_t weaker;
    object_t object[OBJECTS];
    int objects;
    thread_t thread[LITMUS_THREADS];
    int threads, running;
    ctn_fiber_t main;
    view_t common; /* of sequentially consistent accesses */
    choice_t choice[CHOICES];
    uint32_t depth, at;
    uint32_t asleep;
    const char *failure;
    bool blocked;
    unsigned seen;
    unsigned char *stacks;
} m;

/* ---- choices ---- */

/** End the execution. */
static void fail(const char *what)
{
    if (m.failure == NULL) {
        m.failure = what;
    }
    ctn_fiber_switch(&m.thread[m.running].fiber, &m.main, 0);
}

/** Choose one of `count`. */
static uint32_t choose(uint32_t count)
{
    if (count == 1) {
        return 0;
    }
    if (m.at == CHOICES) {
        fail(TOO_LONG);
    }
    choice_t *choice = &m.choice[m.at++];
    if (m.at > m.depth) {
        *choice = (choice_t){.count = count};
        m.depth = m.at;
    }
    return choice->chosen;
}

static bool can_run(int t)
{
    const thread_t *thread = &m.thread[t];
    if (thread->ended || !thread->waits) {
        return !thread->ended;
    }
    const object_t *object = &m.object[thread->loaded];
    return object->message[object->messages - 1].time > thread->loaded_time;
}

/** Whether the next accesses of two threads may be exchanged. */
static bool commute(int a, int b)
{
    const thread_t *x = &m.thread[a], *y = &m.thread[b];
    if (x->kind == EVERYWHERE || y->kind == EVERYWHERE ||
        (x->ordered && y->ordered)) {
        return false;
    }
    return x->object != y->object || x->object < 0 ||
           (x->kind == LOADS && y->kind == LOADS);
}

/** Choose the thread that makes its next access. @return -1: none can */
static int choose_thread(void)
{
    uint32_t able = 0;
    for (int t = 0; t < m.threads; t++) {
        able |= can_run(t) ? 1u << t : 0;
    }
    if (able == 0) {
        return -1;
    }
    if (m.at == CHOICES) {
        m.failure = TOO_LONG;
        return -1;
    }
    choice_t *choice = &m.choice[m.at++];
    if (m.at > m.depth) {
        *choice = (choice_t){.of_thread = true, .asleep = m.asleep};
        uint32_t awake = able & ~m.asleep;
        if (awake == 0) {
            m.at--;
            m.blocked = true;
            return -1;
        }
        choice->chosen = (uint32_t)__builtin_ctz(awake);
        choice->count = able;
        m.depth = m.at;
    }
    int t = (int)choice->chosen;
    m.asleep = choice->asleep;
    for (int u = 0; u < m.threads; u++) {
        if ((m.asleep >> u & 1) != 0 && !commute(u, t)) {
            m.asleep &= ~(1u << u);
        }
    }
    return t;
}

/** Go to the next execution. @return false: there is none */
static bool next_execution(void)
{
    while (m.depth > 0) {
        choice_t *choice = &m.choice[m.depth - 1];
        if (choice->of_thread) {
            choice->asleep |= 1u << choice->chosen;
            uint32_t awake = choice->count & ~choice->asleep;
            if (awake != 0) {
                choice->chosen = (uint32_t)__builtin_ctz(awake);
                return true;
            }
        } else if (++choice->chosen < choice->count) {
            return true;
        }
        m.depth--;
    }
    return false;
}

/* ---- views ---- */

static void join(view_t *to, const view_t *from)
{
    for (int i = 0; i < OBJECTS; i++) {
        to->time[i] = from->time[i] > to->time[i] ? from->time[i] : to->time[i];
    }
    for (int i = 0; i < LITMUS_THREADS; i++) {
        to->steps[i] =
            from->steps[i] > to->steps[i] ? from->steps[i] : to->steps[i];
    }
}

static int find(const void *address, size_t bytes)
{
    for (int i = 0; i < m.objects; i++) {
        if (m.object[i].address == address) {
            return i;
        }
    }
    if (m.objects == OBJECTS) {
        fprintf(stderr, "litmus: more than %d objects\n", OBJECTS);
        abort();
    }
    object_t *object = &m.object[m.objects];
    *object = (object_t){.address = (void *)(uintptr_t)address,
                         .bytes = bytes,
                         .messages = 1,
                         .writer = -1};
    object->message[0].time = APART;
    memcpy(&object->message[0].value, address, bytes);
    return m.objects++;
}

/** The object in memory has the value of the last message. */
static void update(const object_t *object)
{
    memcpy(object->address, &object->message[object->messages - 1].value,
           object->bytes);
}

static bool is_release(int order)
{
    return order == __ATOMIC_SEQ_CST ||
           ((order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL) &&
            m.weaker != LITMUS_NO_RELEASE);
}

static bool is_acquire(int order)
{
    return order == __ATOMIC_SEQ_CST ||
           ((order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL) &&
            m.weaker != LITMUS_NO_ACQUIRE);
}

static bool is_ordered(int order)
{
    return order == __ATOMIC_SEQ_CST && m.weaker != LITMUS_NO_SEQ_CST;
}

/* ---- accesses ---- */

/** Before an access: another thread may come first. */
static thread_t *begin(kind_t kind, int object, bool ordered)
{
    thread_t *thread = &m.thread[m.running];
    thread->kind = kind;
    thread->object = object;
    thread->ordered = ordered;
    ctn_fiber_switch(&thread->fiber, &m.main, 0);
    thread->now.steps[m.running]++;
    return thread;
}

/** The oldest message that a load may read, or after which a store may come. */
static uint32_t oldest(const thread_t *thread, int i, bool ordered)
{
    uint64_t time = thread->now.time[i];
    if (ordered && m.common.time[i] > time) {
        time = m.common.time[i];
    }
    uint32_t first = 0;
    while (m.object[i].message[first].time < time) {
        first++;
    }
    return first;
}

/** Read a message. */
static void read_message(thread_t *thread, int i, uint32_t which, int order)
{
    const message_t *message = &m.object[i].message[which];
    thread->now.time[i] = message->time;
    if (is_ordered(order) && message->time > m.common.time[i]) {
        m.common.time[i] = message->time;
    }
    join(&thread->acquired, &message->view);
    if (is_acquire(order)) {
        join(&thread->now, &message->view);
    }
    thread->loaded = i;
    thread->loaded_time = message->time;
}

/** Add a message directly after the one before. */
static void write_message(thread_t *thread, int i, uint32_t before,
                          uint64_t value, int order, const view_t *also)
{
    object_t *object = &m.object[i];
    if (object->messages == MESSAGES) {
        fail("too many stores of an object");
    }
    message_t *to = &object->message[before + 1];
    memmove(to + 1, to, (object->messages - before - 1) * sizeof(*to));
    object->messages++;
    if (object->bytes < sizeof(value)) {
        value &= (UINT64_C(1) << 8 * object->bytes) - 1;
    }
    uint64_t time = before + 2 == object->messages
                        ? to[-1].time + APART
                        : to[-1].time + (to[1].time - to[-1].time) / 2;
    *to = (message_t){.time = time, .value = value};
    thread->now.time[i] = time;
    thread->acquired.time[i] = time;
    to->view = is_release(order) ? thread->now : thread->released;
    to->view.time[i] = time;
    if (also != NULL) {
        join(&to->view, also);
    }
    if (is_ordered(order) && time > m.common.time[i]) {
        m.common.time[i] = time;
    }
    update(object);
}

uint64_t litmus_load(const void *address, size_t bytes, int order)
{
    int i = find(address, bytes);
    thread_t *thread = begin(LOADS, i, is_ordered(order));
    const object_t *object = &m.object[i];
    uint32_t first = oldest(thread, i, is_ordered(order));
    if (thread->waits) { /* for a newer one */
        thread->waits = false;
        while (thread->loaded == i &&
               object->message[first].time <= thread->loaded_time) {
            first++;
        }
    }
    uint32_t which = object->messages - 1 - choose(object->messages - first);
    read_message(thread, i, which, order);
    return object->message[which].value;
}

void litmus_store(void *address, size_t bytes, uint64_t value, int order)
{
    int i = find(address, bytes);
    thread_t *thread = begin(STORES, i, is_ordered(order));
    const object_t *object = &m.object[i];
    uint32_t places[MESSAGES], count = 0;
    uint32_t first = oldest(thread, i, is_ordered(order));
    for (uint32_t k = object->messages; k-- > first;) {
        if (!object->message[k].taken) {
            places[count++] = k;
        }
    }
    write_message(thread, i, places[choose(count)], value, order, NULL);
}

/** Make a read-modify-write operation.
 * @param expected NULL: any value
 * @return whether it wrote */
static bool modify(void *address, size_t bytes, uint64_t *expected,
                   uint64_t value, bool adds, int order, int failure,
                   uint64_t *found)
{
    int i = find(address, bytes);
    thread_t *thread = begin(STORES, i, is_ordered(order));
    object_t *object = &m.object[i];
    uint32_t places[MESSAGES], count = 0;
    uint32_t first = oldest(thread, i, is_ordered(order));
    thread->waits = false;
    for (uint32_t k = object->messages; k-- > first;) {
        bool differs =
            expected != NULL && object->message[k].value != *expected;
        if (differs || !object->message[k].taken) {
            places[count++] = k;
        }
    }
    uint32_t which = places[choose(count)];
    *found = object->message[which].value;
    if (expected != NULL && *found != *expected) {
        read_message(thread, i, which, failure);
        *expected = *found;
        return false;
    }
    read_message(thread, i, which, order);
    object->message[which].taken = true;
    view_t view = object->message[which].view;
    write_message(thread, i, which, adds ? *found + value : value, order,
                  &view);
    return true;
}

uint64_t litmus_exchange(void *address, size_t bytes, uint64_t value, int order)
{
    uint64_t found;
    modify(address, bytes, NULL, value, false, order, order, &found);
    return found;
}

uint64_t litmus_add(void *address, size_t bytes, uint64_t value, int order)
{
    uint64_t found;
    modify(address, bytes, NULL, value, true, order, order, &found);
    return found;
}

bool litmus_compare_exchange(void *address, size_t bytes, uint64_t *expected,
                             uint64_t value, int order, int failure)
{
    uint64_t found;
    return modify(address, bytes, expected, value, false, order, failure,
                  &found);
}

static void fence(thread_t *thread)
{
    join(&thread->now, &thread->acquired);
    join(&thread->now, &m.common); /* which has no steps */
    memcpy(m.common.time, thread->now.time, sizeof(m.common.time));
    thread->released = thread->acquired = thread->now;
}

void litmus_fence(int order)
{
    if (m.weaker == LITMUS_NO_SEQ_CST) {
        return;
    }
    thread_t *thread = begin(FENCES, -1, order == __ATOMIC_SEQ_CST);
    if (order == __ATOMIC_SEQ_CST) {
        fence(thread);
        return;
    }
    if (is_acquire(order)) {
        join(&thread->now, &thread->acquired);
    }
    if (is_release(order)) {
        thread->released = thread->now;
    }
}

void litmus_membarrier(void)
{
    if (m.weaker == LITMUS_NO_SEQ_CST) {
        return;
    }
    thread_t *thread = begin(EVERYWHERE, -1, true);
    fence(thread);
    for (int t = 0; t < m.threads; t++) {
        fence(&m.thread[t]);
    }
    fence(thread);
}

void litmus_yield(void)
{
    m.thread[m.running].waits = true;
}

int litmus_thread(void)
{
    return m.running;
}

/* ---- memory that is not atomic ---- */

static object_t *plain(void *address, const char *what)
{
    object_t *object = &m.object[find(address, sizeof(uint64_t))];
    const thread_t *thread = &m.thread[m.running];
    object->plain = true;
    if (object->writer >= 0 &&
        thread->now.steps[object->writer] < object->written) {
        fail(what);
    }
    return object;
}

/* A step of its own, so that what another thread knows of this one does not
 * include it by chance. */
static uint32_t step(void)
{
    return ++m.thread[m.running].now.steps[m.running];
}

void litmus_plain_write(void *address, uint64_t value, const char *what)
{
    object_t *object = plain(address, what);
    const thread_t *thread = &m.thread[m.running];
    for (int t = 0; t < m.threads; t++) {
        if (thread->now.steps[t] < object->read[t]) {
            fail(what);
        }
    }
    object->writer = m.running;
    object->written = step();
    memcpy(address, &value, sizeof(value));
}

uint64_t litmus_plain_read(void *address, const char *what)
{
    object_t *object = plain(address, what);
    uint64_t value;
    object->read[m.running] = step();
    memcpy(&value, address, sizeof(value));
    return value;
}

void litmus_saw(unsigned outcome)
{
    m.seen |= outcome;
}

void litmus_require(bool condition, const char *what)
{
    if (!condition) {
        if (m.running < 0) { /* after the execution */
            m.failure = m.failure != NULL ? m.failure : what;
        } else {
            fail(what);
        }
    }
}

/* ---- executions ---- */

static void run_thread(void *argument)
{
    thread_t *thread = argument;
    ctn_fiber_begin(&thread->fiber, &m.main);
    m.program->thread[thread - m.thread]();
    thread->ended = true;
    ctn_fiber_switch(&thread->fiber, &m.main, 1);
}

static void resume(int t)
{
    m.running = t;
    ctn_fiber_switch(&m.main, &m.thread[t].fiber, 0);
    m.running = -1;
}

static void execute(void)
{
    m.objects = 0;
    m.at = 0;
    m.asleep = 0;
    m.blocked = false;
    m.running = -1;
    memset(&m.common, 0, sizeof(m.common));
    m.program->begin();
    for (int t = 0; t < m.threads; t++) {
        unsigned char *stack = m.stacks + (size_t)t * STACK_BYTES;
        memset(stack, 0, 1024);
        m.thread[t] = (thread_t){.object = -1};
        ctn_fiber_make(&m.thread[t].fiber, stack, STACK_BYTES, run_thread,
                       &m.thread[t]);
        resume(t); /* to its first access */
    }
    int next;
    while (m.failure == NULL && (next = choose_thread()) >= 0) {
        resume(next);
    }
    for (int t = 0; t < m.threads && m.failure == NULL && !m.blocked; t++) {
        if (!m.thread[t].ended) {
            m.failure = "deadlock: a thread waits, and none can run";
        }
    }
    if (m.failure == NULL && !m.blocked && m.program->end != NULL) {
        m.program->end();
    }
}

litmus_result_t litmus_run(const litmus_t *program, litmus_weaker_t weaker,
                           uint64_t limit)
{
    litmus_result_t result = {0};
    memset(&m, 0, sizeof(m));
    m.program = program;
    m.weaker = weaker;
    while (m.threads < LITMUS_THREADS && program->thread[m.threads] != NULL) {
        m.threads++;
    }
    m.stacks = malloc((size_t)LITMUS_THREADS * STACK_BYTES);
    if (m.stacks == NULL) {
        abort();
    }
    for (uint64_t runs = 0; !result.all && runs < limit; runs++) {
        execute();
        result.executions += !m.blocked;
        if (m.failure != NULL) {
            break;
        }
        result.all = !next_execution();
    }
    free(m.stacks);
    result.failure = m.failure;
    result.seen = m.seen;
    return result;
}
