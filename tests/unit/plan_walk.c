#include "plan_walk.h"

#include <stdlib.h>
#include <string.h>

/** What is in a place: 1 + rank and block that it comes from; 0: nothing. */
typedef uint64_t token_t;

typedef struct place {
    token_t *recv;  /* [source] */
    token_t *stage; /* [stages] */
    bool *in_used;  /* [link]: a message has come through it */
} place_t;

typedef struct walk {
    job_t *job;
    catena_neighborhood_t *const *made;
    ctn_scheme_t scheme;
    ctn_pattern_t pattern;
    place_t place[PLAN_WALK_RANKS];
    uint64_t received[PLAN_WALK_RANKS]; /* messages */
} walk_t;

static const ctn_plan_t *plan_of(const walk_t *w, uint32_t rank)
{
    return w->made[rank]->plan[w->scheme][w->pattern];
}

static token_t token(const walk_t *w, uint32_t rank, uint32_t block)
{
    uint32_t index = w->pattern == CTN_PATTERN_GATHER ? 0 : block;
    return ((uint64_t)rank << 32 | index) + 1;
}

static token_t read_part(walk_t *w, uint32_t rank, ctn_part_t part)
{
    const catena_neighborhood_t *own = w->made[rank];
    token_t found = 0;
    if (part.of == CTN_OF_SEND) {
        uint32_t blocks = w->pattern == CTN_PATTERN_GATHER ? 1 : own->targets;
        JOB_CHECK(w->job, part.index < blocks);
        return token(w, rank, part.index);
    }
    bool is_recv = part.of == CTN_OF_RECV;
    uint32_t room = is_recv ? own->sources : plan_of(w, rank)->stages;
    JOB_CHECK(w->job, part.index < room);
    if (part.index < room) {
        found = is_recv ? w->place[rank].recv[part.index]
                        : w->place[rank].stage[part.index];
    }
    JOB_CHECK(w->job, found != 0);
    return found;
}

static void write_part(walk_t *w, uint32_t rank, ctn_part_t part, token_t what)
{
    bool is_recv = part.of == CTN_OF_RECV;
    uint32_t room = is_recv ? w->made[rank]->sources : plan_of(w, rank)->stages;
    JOB_CHECK(w->job, part.of != CTN_OF_SEND && part.index < room);
    if (part.of == CTN_OF_SEND || part.index >= room) {
        return;
    }
    token_t *at = is_recv ? &w->place[rank].recv[part.index]
                          : &w->place[rank].stage[part.index];
    JOB_CHECK(w->job, *at == 0);
    *at = what;
}

/** The other end of a link: where its messages go. */
static uint32_t other_end(walk_t *w, uint32_t rank, uint32_t link)
{
    const ctn_link_out_t *out = &plan_of(w, rank)->out[link];
    uint32_t to = out->peer.rank;
    const ctn_plan_t *there = plan_of(w, to);
    for (uint32_t i = 0; i < there->ins; i++) {
        uint64_t slots = 0;
        (void)ctn_heap_contains(w->made[to]->exec->heap, there->in[i].slots, 1,
                                &slots);
        if (there->in[i].peer.rank == rank && slots == out->slots) {
            return i;
        }
    }
    JOB_CHECK(w->job, !"a link with two ends");
    return UINT32_MAX;
}

static const ctn_message_t *find_receive(const ctn_plan_t *plan, uint32_t link)
{
    for (uint32_t i = 0; i < plan->receives; i++) {
        if (plan->receive[i].link == link) {
            return &plan->receive[i];
        }
    }
    return NULL;
}

/** A message arrives: what it is made of was looked at when it was sent. */
static void deliver(walk_t *w, uint32_t from, const ctn_message_t *sent,
                    const token_t *what)
{
    uint32_t link = other_end(w, from, sent->link);
    uint32_t to = plan_of(w, from)->out[sent->link].peer.rank;
    const ctn_plan_t *plan = plan_of(w, to);
    const ctn_message_t *message = find_receive(plan, link);
    JOB_CHECK(w->job, message != NULL && sent->count > 0);
    if (message == NULL) {
        return;
    }
    JOB_CHECK(w->job, !w->place[to].in_used[link]);
    JOB_CHECK(w->job, message->round == sent->round);
    JOB_CHECK(w->job, message->count == sent->count);
    w->place[to].in_used[link] = true;
    w->received[to]++;
    for (uint32_t i = 0; i < message->count && i < sent->count; i++) {
        write_part(w, to, plan->part[message->first + i], what[i]);
    }
}

static void run_transfers(walk_t *w, uint32_t round)
{
    for (uint32_t rank = 0; rank < w->job->size; rank++) {
        const ctn_plan_t *plan = plan_of(w, rank);
        for (uint32_t i = 0; i < plan->transfers; i++) {
            const ctn_transfer_t *transfer = &plan->transfer[i];
            JOB_CHECK(w->job, i == 0 || transfer->round >= transfer[-1].round);
            JOB_CHECK(w->job, transfer->round <= plan->rounds);
            if (transfer->round == round) {
                write_part(w, rank, transfer->to,
                           read_part(w, rank, transfer->from));
            }
        }
    }
}

/** All messages of a round: first all are made, then all arrive. */
static void run_round(walk_t *w, uint32_t round)
{
    token_t **made = calloc(w->job->size, sizeof(*made));
    for (int arrive = 0; arrive < 2; arrive++) {
        for (uint32_t rank = 0; rank < w->job->size; rank++) {
            const ctn_plan_t *plan = plan_of(w, rank);
            if (!arrive) {
                made[rank] = calloc(plan->parts + 1, sizeof(token_t));
            }
            for (uint32_t i = 0; i < plan->sends; i++) {
                const ctn_message_t *sent = &plan->send[i];
                if (sent->round != round) {
                    continue;
                }
                for (uint32_t k = 0; !arrive && k < sent->count; k++) {
                    made[rank][sent->first + k] =
                        read_part(w, rank, plan->part[sent->first + k]);
                }
                if (arrive) {
                    deliver(w, rank, sent, &made[rank][sent->first]);
                }
            }
        }
    }
    for (uint32_t rank = 0; rank < w->job->size; rank++) {
        free(made[rank]);
    }
    free(made);
}

/** Every source's block is where it belongs. */
static void check_end(walk_t *w, uint32_t rank)
{
    const catena_neighborhood_t *own = w->made[rank];
    JOB_CHECK(w->job, w->received[rank] == plan_of(w, rank)->receives);
    for (uint32_t i = 0; i < own->sources; i++) {
        const ctn_edge_t *source = &own->source[i];
        token_t expected =
            source->rank == CATENA_PROC_NULL
                ? 0
                : token(w, (uint32_t)source->rank, source->peer_index);
        JOB_CHECK(w->job, w->place[rank].recv[i] == expected);
    }
}

static void check_facts(walk_t *w)
{
    const ctn_plan_facts_t *facts = &plan_of(w, 0)->facts;
    uint64_t messages[CTN_REACHES] = {0};
    uint64_t blocks[CTN_REACHES] = {0};
    for (uint32_t rank = 0; rank < w->job->size; rank++) {
        const ctn_plan_t *plan = plan_of(w, rank);
        uint64_t own[CTN_REACHES] = {0};
        JOB_CHECK(w->job, plan->rounds == plan_of(w, 0)->rounds);
        JOB_CHECK(w->job, plan->heavy_rounds == plan_of(w, 0)->heavy_rounds);
        JOB_CHECK(w->job, memcmp(&plan->facts, facts, sizeof(*facts)) == 0);
        for (uint32_t i = 0; i < plan->sends; i++) {
            JOB_CHECK(w->job, plan->send[i].round < plan->rounds);
            int far = !plan->out[plan->send[i].link].peer.near;
            own[far]++;
            blocks[far] += plan->send[i].count;
        }
        for (int reach = 0; reach < CTN_REACHES; reach++) {
            JOB_CHECK(w->job, own[reach] <= facts->most_messages[reach]);
            messages[reach] += own[reach];
        }
    }
    for (int reach = 0; reach < CTN_REACHES; reach++) {
        JOB_CHECK(w->job, messages[reach] == facts->messages[reach]);
        JOB_CHECK(w->job, blocks[reach] == facts->blocks[reach]);
    }
}

void plan_walk(job_t *job, catena_neighborhood_t *const made[],
               ctn_scheme_t scheme, ctn_pattern_t pattern)
{
    static walk_t w;
    w = (walk_t){
        .job = job, .made = made, .scheme = scheme, .pattern = pattern};
    for (uint32_t rank = 0; rank < job->size; rank++) {
        const ctn_plan_t *plan = plan_of(&w, rank);
        w.place[rank] = (place_t){
            .recv = calloc(made[rank]->sources + 1u, sizeof(token_t)),
            .stage = calloc(plan->stages + 1u, sizeof(token_t)),
            .in_used = calloc(plan->ins + 1u, sizeof(bool)),
        };
    }
    uint32_t rounds = plan_of(&w, 0)->rounds;
    for (uint32_t round = 0; round <= rounds; round++) {
        run_transfers(&w, round);
        run_round(&w, round);
    }
    check_facts(&w);
    for (uint32_t rank = 0; rank < job->size; rank++) {
        check_end(&w, rank);
        free(w.place[rank].recv);
        free(w.place[rank].stage);
        free(w.place[rank].in_used);
    }
}
