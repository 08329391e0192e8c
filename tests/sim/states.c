/* The state of a simulated job: see states.h. */

#include "states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "areas.h"
#include "checkpoint.h"
#include "transports/sim/engine.h"

enum {
    LINE = 64,
    MOST_EVENTS = 256,
    MOST_WRITTEN = 1 << 22, /* lines */
    GROWN = 512 /* events and entries that a rank need not allocate */
};

/** Jobs begin at this time, so that no other word is like a time. */
static const uint64_t BEGIN_PS = UINT64_C(1) << 52;
static const uint64_t MOST_PS = UINT64_C(1) << 48; /* 281 s */

static const ctn_sim_t *job; /* NULL: none */

/* ---- hashes ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide_t;
    wide_t product = (wide_t)(a ^ UINT64_C(0x9E3779B97F4A7C15)) *
                     (b ^ UINT64_C(0xD1B54A32D192ED03));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void put(state_t *hash, uint64_t value)
{
    hash->half[0] = mix(hash->half[0], value);
    hash->half[1] = mix(hash->half[1] + 1, value + hash->half[0]);
}

static void put_bytes(state_t *hash, const void *memory, size_t bytes)
{
    const unsigned char *at = memory;
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, at + i,
               bytes - i < sizeof(word) ? bytes - i : sizeof(word));
        put(hash, word);
    }
}

static void add(state_t *sum, const state_t *hash)
{
    sum->half[0] += hash->half[0];
    sum->half[1] += hash->half[1];
}

/* ---- memory that was written ---- */

/** What may be written. */
typedef struct range {
    uintptr_t from, to;
    size_t line;         /* bytes that are recorded together */
    unsigned char *mark; /* of each line: whether it was written */
} range_t;

/** The areas, heaps, static variables. Those of this program itself, which are
 * not part of a job, may be next to them: there a line is a byte. */
enum { OF_AREAS, OF_HEAPS, OF_STATICS, RANGES };
static range_t range[RANGES];
bool states_differ;

/** Lines that were written, and what they were before. */
static struct written {
    uintptr_t at;
    const range_t *in;
    unsigned char content[LINE];
} * written;
static size_t written_count;

/** The hash of a line: sums of products that do not wait for each other. */
static state_t hash_line(uintptr_t at, const unsigned char *content,
                         size_t bytes)
{
    static const uint64_t key[] = {
        UINT64_C(0x243F6A8885A308D3), UINT64_C(0x13198A2E03707344),
        UINT64_C(0xA4093822299F31D0), UINT64_C(0x082EFA98EC4E6C89),
        UINT64_C(0x452821E638D01377), UINT64_C(0xBE5466CF34E90C6C),
        UINT64_C(0xC0AC29B7C97C50DD), UINT64_C(0x3F84D5B5B5470917)};
    enum { WORDS = LINE / sizeof(uint64_t) };
    uint64_t word[WORDS] = {0};
    memcpy(word, content, bytes);
    state_t sum = {{at, ~at}};
    for (int i = 0; i < WORDS; i += 2) {
        uint64_t a = word[i] ^ key[i], b = word[i + 1] ^ key[i + 1];
        sum.half[0] += mix(a, b);
        sum.half[1] += mix(b, a);
    }
    put(&sum, at);
    return sum;
}

static void mark_line(const range_t *in, uintptr_t at)
{
    if (written_count == MOST_WRITTEN) {
        areas_end_at_limit("lines written", MOST_WRITTEN);
    }
    struct written *line = &written[written_count++];
    line->at = at;
    line->in = in;
    memcpy(line->content, (const void *)at, in->line);
}

void states_write(uintptr_t memory, size_t bytes)
{
    for (int i = 0; states_differ && i < RANGES; i++) {
        range_t *r = &range[i];
        if (memory < r->from || memory >= r->to) {
            continue;
        }
        for (uintptr_t at = memory & ~(uintptr_t)(r->line - 1);
             at < memory + bytes; at += r->line) {
            unsigned char *mark = &r->mark[(at - r->from) / r->line];
            if (!*mark) {
                *mark = 1;
                mark_line(r, at);
            }
        }
        return;
    }
}

static void set_range(int which, size_t line, uintptr_t from, uintptr_t to)
{
    range_t *r = &range[which];
    from &= ~(uintptr_t)(line - 1);
    if (r->mark == NULL || to - from > r->to - r->from) {
        r->mark = areas_map((to - from) / line + 1);
    }
    *r = (range_t){from, to, line, r->mark};
}

static void forget_lines(void)
{
    for (size_t i = 0; i < written_count; i++) {
        const range_t *in = written[i].in;
        in->mark[(written[i].at - in->from) / in->line] = 0;
    }
    written_count = 0;
}

void states_restore_lines(void)
{
    for (size_t i = 0; i < written_count; i++) {
        if (written[i].in != &range[OF_AREAS]) {
            memcpy((void *)written[i].at, written[i].content,
                   written[i].in->line);
        }
    }
    forget_lines();
}

static state_t hash_written(void)
{
    state_t sum = {{0, 0}};
    for (size_t i = 0; i < written_count; i++) {
        const struct written *line = &written[i];
        const void *content = (const void *)line->at;
        size_t bytes = line->in->line;
        if (memcmp(content, line->content, bytes) != 0) {
            state_t now = hash_line(line->at, content, bytes);
            state_t before = hash_line(line->at, line->content, bytes);
            sum.half[0] += now.half[0] - before.half[0];
            sum.half[1] += now.half[1] - before.half[1];
        }
    }
    return sum;
}

/* ---- what the simulator knows ---- */

/** Events of one kind, source and target come in the order of their times. */
static int compare_events(const void *a, const void *b)
{
    const ctn_queue_entry_t *x = *(const ctn_queue_entry_t *const *)a;
    const ctn_queue_entry_t *y = *(const ctn_queue_entry_t *const *)b;
    const sim_event_t *e = x->event, *f = y->event;
    if (e->kind != f->kind) {
        return e->kind < f->kind ? -1 : 1;
    }
    if (e->target != f->target) {
        return e->target < f->target ? -1 : 1;
    }
    if (e->source != f->source) {
        return e->source < f->source ? -1 : 1;
    }
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

static size_t sort_events(const ctn_queue_entry_t **sorted)
{
    const ctn_queue_entry_t *entry = job->queue.item;
    if (job->queue.count > MOST_EVENTS) {
        areas_end_at_limit("events", MOST_EVENTS);
    }
    for (size_t i = 0; i < job->queue.count; i++) {
        sorted[i] = &entry[i];
    }
    qsort(sorted, job->queue.count, sizeof(*sorted), compare_events);
    return job->queue.count;
}

static void put_event(state_t *hash, const sim_event_t *event)
{
    put(hash, (uint64_t)event->kind << 32 | (uint64_t)event->to_node << 16 |
                  event->carried);
    put(hash, (uint64_t)event->source << 32 | event->target);
    put(hash, event->node);
    put(hash, (uintptr_t)event->word);
    put(hash, event->value);
    put(hash, (uintptr_t)event->to);
    put(hash, event->bytes);
    put(hash, (uintptr_t)event->pending);
    put(hash, (uintptr_t)event->from);
    put(hash, event->other != NULL);
    put(hash, event->kind == SIM_TIMER
                  ? job->rank[event->target].turns - event->number
                  : event->number);
    const unsigned char *data = sim_data(event);
    if (data != NULL && data != event->from) {
        put_bytes(hash, data, event->bytes);
    }
}

/** The addresses of the events that grow_tables allocates. */
static uintptr_t events_begin, events_end;

/** Add the stack of a rank. Words that functions of the simulator leave there
 * do not count: pointers to events, since any free event may have been taken,
 * and times. */
static void put_stack(state_t *hash, const ctn_fiber_t *fiber)
{
    const uintptr_t *top = (void *)(fiber->stack + fiber->stack_bytes);
    for (const uintptr_t *at = fiber->stack_pointer; at < top; at++) {
        bool is_event = *at >= events_begin && *at < events_end;
        bool is_time = *at >= BEGIN_PS && *at - BEGIN_PS <= MOST_PS;
        put(hash, is_event || is_time ? 0 : *at);
    }
}

static void put_rank(state_t *hash, const ctn_sim_rank_t *rank)
{
    put(hash, (uint64_t)rank->state | (uint64_t)rank->notified << 8 |
                  (uint64_t)rank->killed << 16 | (uint64_t)rank->asks << 24 |
                  (uint64_t)rank->stalls << 32 | (uint64_t)rank->frozen << 40 |
                  (uint64_t)rank->left << 48 | (uint64_t)rank->deaths << 56);
    put(hash,
        (uint64_t)(uint32_t)rank->status << 32 | job->in_flight[rank->rank]);
    put(hash, (uintptr_t)rank->died);
    put(hash, (uintptr_t)rank->died_argument);
    for (const sim_flush_t *flush = rank->flushes; flush != NULL;
         flush = flush->next) {
        put(hash, (uintptr_t)flush->pending);
    }
    for (const sim_event_t *event = rank->arrived; event != NULL;
         event = event->other) {
        put_event(hash, event);
    }
    put(hash, rank->exposed.count);
    for (size_t i = 0; i < rank->exposed.count; i++) {
        put(hash, (uintptr_t)rank->exposed.region[i].base);
        put(hash, rank->exposed.region[i].bytes);
    }
    if (rank->ends != NULL) {
        put_bytes(hash, rank->ends, job->ranks);
    }
    if (rank->state != SIM_ENDED) {
        put_stack(hash, &rank->fiber);
    }
}

static state_t hash_state(void)
{
    const ctn_queue_entry_t *sorted[MOST_EVENTS];
    size_t events = sort_events(sorted);
    state_t hash = {{events, job->ranks}};
    for (size_t i = 0; i < events; i++) {
        put_event(&hash, sorted[i]->event);
    }
    for (uint32_t r = 0; r < job->ranks; r++) {
        put_rank(&hash, &job->rank[r]);
    }
    put(&hash, (uint64_t)job->deaths << 32 | job->stalls);
    put(&hash, (uint64_t)job->ended << 32 | job->frozen);
    put(&hash, (uint64_t)job->aborted << 32 | (uint32_t)job->status);
    state_t lines = hash_written();
    add(&hash, &lines);
    return hash;
}

/* ---- the states that were found ---- */

static struct found {
    state_t hash;   /* of a state, or of one and a step; 0, 0: free */
    uint64_t value; /* steps asleep; or half of the hash of the next state */
} * found;
static size_t found_count, found_steps, found_space; /* a power of 2, or 0 */

static state_t last;       /* the state that was looked up last */
static state_t from;       /* it, and the step after it */
static bool from_known;    /* no other step has followed */
static bool contradiction; /* a step led from one state to two */

static bool is_used(const struct found *at)
{
    return (at->hash.half[0] | at->hash.half[1]) != 0;
}

static struct found *place(const state_t *hash)
{
    size_t i = hash->half[0] & (found_space - 1);
    while (is_used(&found[i]) &&
           memcmp(&found[i].hash, hash, sizeof(*hash)) != 0) {
        i = (i + 1) & (found_space - 1);
    }
    return &found[i];
}

static void grow(void)
{
    struct found *old = found;
    size_t old_space = found_space;
    found_space = old_space == 0 ? (size_t)1 << 16 : 4 * old_space;
    found = areas_need(__real_calloc(found_space, sizeof(*found)));
    for (size_t i = 0; i < old_space; i++) {
        if (is_used(&old[i])) {
            *place(&old[i].hash) = old[i];
        }
    }
    __real_free(old);
}

/** Compare the present state with the one to which the last step led when it
 * was made from the same state before. */
static void compare_next(const state_t *hash)
{
    if (!from_known) {
        return;
    }
    struct found *at = place(&from);
    if (!is_used(at)) {
        *at = (struct found){from, hash->half[0]};
        found_steps++;
    } else if (at->value != hash->half[0]) {
        contradiction = true;
    }
    from_known = false;
}

/** @return the place of the present state */
static struct found *place_now(state_t *hash)
{
    if (2 * (found_count + found_steps + 1) >= found_space) {
        grow();
    }
    *hash = last = hash_state();
    compare_next(hash);
    return place(hash);
}

uint64_t *states_find(uint64_t asleep)
{
    state_t hash;
    struct found *at = place_now(&hash);
    if (is_used(at)) {
        return &at->value;
    }
    *at = (struct found){hash, asleep};
    found_count++;
    return NULL;
}

bool states_known(void)
{
    state_t hash;
    return is_used(place_now(&hash));
}

state_t states_last(void)
{
    return last;
}

void states_step(const state_t *state, const catena_sim_step_t *step)
{
    from = *state;
    put(&from, (uint64_t)step->kind << 32 | (uint32_t)step->rank);
    put(&from, (uint32_t)step->source);
    from_known = true;
}

bool states_contradict(void)
{
    return contradiction;
}

size_t states_count(void)
{
    return found_count;
}

void states_clear(void)
{
    __real_free(found);
    found = NULL;
    found_count = found_steps = found_space = 0;
    contradiction = false;
}

bool states_keep(void)
{
    states_differ = true;
    checkpoint_keep();
    return true;
}

void states_return(void)
{
    from_known = false;
    checkpoint_return();
}

/* ---- functions that the linker wraps ---- */

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

extern char __data_start[], _end[];

/** Space for events and their queue that ranks use later. */
static void grow_tables(ctn_sim_t *sim)
{
    sim_event_t *event[GROWN];
    for (int i = 0; i < GROWN; i++) {
        event[i] = areas_need(sim_event(sim, SIM_SENT, 0));
        sim_push(sim, 0, event[i]);
        uintptr_t at = (uintptr_t)event[i];
        events_begin = i == 0 || at < events_begin ? at : events_begin;
        events_end = i == 0 || at >= events_end ? at + 1 : events_end;
    }
    for (int i = 0; i < GROWN; i++) {
        sim_recycle(sim, ctn_queue_pop(&sim->queue).event);
    }
}

void states_job_begins(ctn_sim_t *sim, uintptr_t heaps, uintptr_t heaps_end)
{
    set_range(OF_HEAPS, LINE, heaps, heaps_end);
    grow_tables(sim);
    sim->now = BEGIN_PS;
    job = sim;
    areas_serve(sim);
}

void states_job_ends(void)
{
    job = NULL;
    areas_serve(NULL);
}

static void set_ranges(void)
{
    uintptr_t end, begin = areas_of_ranks(&end);
    written = areas_map(MOST_WRITTEN * sizeof(*written));
    set_range(OF_AREAS, LINE, begin, end);
    set_range(OF_STATICS, 1, (uintptr_t)__data_start, (uintptr_t)_end);
}

catena_status_t __real_catena_sim_run(const catena_sim_params_t *params,
                                      catena_sim_program_t program,
                                      void *argument,
                                      catena_sim_report_t *report);

catena_status_t __wrap_catena_sim_run(const catena_sim_params_t *params,
                                      catena_sim_program_t program,
                                      void *argument,
                                      catena_sim_report_t *report)
{
    areas_begin();
    if (written == NULL) {
        set_ranges();
    }
    from_known = false;
    catena_status_t status =
        __real_catena_sim_run(params, program, argument, report);
    states_differ = false;
    forget_lines();
    areas_end();
    return status;
}
