/* Between nodes: LogGP (Alexandrov, Ionescu, Schauser, Scheiman: LogGP, SPAA
 * 1995) with endpoints and ports. A rank's endpoint takes one message at a
 * time. Each message occupies one of the node's ports for max(g, bytes * G),
 * and all ports together share the node's bandwidth. L later the first byte
 * reaches the receiving node, where each sender has one port that takes its
 * messages as soon as the port is free. So messages of one pair stay in order.
 *
 * Without `buffer_bytes` a message that waits for its receiving port has left
 * the sending one. With it, as on networks with credits and one queue for a
 * port, a longer message stays in the sending port until all of it but
 * buffer_bytes is accepted, and the messages behind it wait, wherever they go
 * (Karol, Hluchyj, Morgan: Input versus Output Queueing on a Space-Division
 * Packet Switch, IEEE Trans. Communications 35, 1987). Then a rank has one
 * port, and its messages leave in order.
 *
 * Between leaf switches of a fat tree a message takes a link up before L, and
 * a link down before the receiving port (transports/sim/fat_tree.c).
 *
 * Emulated nodes, which share the cores of one host (shared_cores), have no
 * wire: g and G are the time of cores, half of the sender's, half of the
 * receiver's. */

#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "transports/sim/engine.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/** The bytes of a message and its flag on the network. */
static size_t wire_bytes(const sim_event_t *message)
{
    return message->bytes + sizeof(uint64_t);
}

/** Occupation of the wire by a message: its bytes, and at least g. */
static uint64_t transfer_ps(ctn_sim_t *sim, size_t bytes)
{
    return sim->core != NULL ? 0
                             : sim_ps(sim, sim->machine->gap_per_byte_ns * PS *
                                               (double)bytes);
}

static uint64_t gap_ps(const ctn_sim_t *sim)
{
    return sim->core != NULL ? 0 : (uint64_t)(sim->machine->gap_ns * PS);
}

/** The core time of a message at one end. */
static double end_ps(const ctn_sim_t *sim, double overhead_ns, size_t bytes)
{
    double shared = sim->core != NULL ? sim->machine->gap_per_byte_ns / 2 : 0;
    return (overhead_ns + shared * (double)bytes) * PS;
}

/** When a message that is ready at `time` gets its share of the bandwidth of
 * all ports of a node together. It takes the share even while its port is busy,
 * and other messages may overtake it on other ports.
 * @param wire send_wire or receive_wire of the node */
static uint64_t on_wire(ctn_sim_t *sim, uint64_t *wire, uint64_t time,
                        size_t bytes)
{
    uint64_t start = later(time, *wire);
    if (sim->core != NULL) {
        return time;
    }
    *wire = start +
            sim_ps(sim, sim->machine->node_per_byte_ns * PS * (double)bytes);
    return start;
}

/** The port that is free first. */
static uint64_t *first_free(uint64_t *port, uint32_t count)
{
    uint64_t *best = port;
    for (uint32_t i = 1; i < count; i++) {
        if (port[i] < *best) {
            best = &port[i];
        }
    }
    return best;
}

/* ---- orders ---- */

enum { PAIRS = 1 << 18 }; /* entries of sim->pair, at most */

/** @return whether each pair of ranks has its own entry of sim->pair */
static bool every_pair(const ctn_sim_t *sim)
{
    return (uint64_t)sim->ranks * sim->ranks <= PAIRS;
}

/** When a message may arrive: with random delays the flags of a pair of ranks
 * must stay in order. Pairs with the same hash are kept in one order, too,
 * which is allowed. */
static uint64_t in_order(ctn_sim_t *sim, const sim_event_t *message,
                         uint64_t arrival)
{
    if (sim->pair == NULL ||
        (sim->params.breaks & CATENA_SIM_BREAK_WORDS) != 0) {
        return arrival;
    }
    uint64_t hash =
        ctn_hash_fibonacci((uint64_t)message->source << 32 | message->target);
    size_t own = (size_t)message->source * sim->ranks + message->target;
    uint64_t *last = &sim->pair[every_pair(sim) ? own : hash >> 46];
    *last = later(*last + 1, arrival);
    return *last;
}

_Static_assert(PAIRS == 1 << (64 - 46), "a pair's hash has 18 bits");

/** The latency of a message: with `reorder` 0 to 8 times L, and the caller's
 * additional delay. */
static uint64_t random_latency(ctn_sim_rank_t *rank, sim_event_t *message)
{
    ctn_sim_t *sim = rank->sim;
    double latency = sim->machine->latency_ns * PS;
    if (sim->params.reorder) {
        latency *= (double)(ctn_random(&rank->random) % 64) / 8;
    }
    if (sim->params.delay != NULL) {
        catena_sim_message_t description = {
            .source = (int)rank->rank,
            .target = (int)message->target,
            .bytes = message->bytes,
            .number = sim->messages,
            .departed_s = (double)rank->clock * 1e-12,
        };
        double more =
            sim->params.delay(sim->params.delay_argument, &description);
        latency += more > 0 ? more * 1e12 : 0;
    }
    return sim_jitter(rank, latency);
}

/* ---- data ---- */

/** Write the data where the put says; dropped if that is concealed memory. */
static void put_data(const ctn_sim_t *sim, const sim_event_t *message,
                     const unsigned char *data)
{
    unsigned char *to = message->to;
    bool found =
        to != NULL || ctn_exposed_find(&sim->rank[message->target].exposed,
                                       message->number, message->bytes, &to);
    if (found && to != NULL) {
        memcpy(to, data, message->bytes);
    }
}

/** Small data travel in the event. Large data are usually written at once,
 * since no rank reads them before the flag. With `reorder` they are left at the
 * source: sim_hold reads them when the source becomes free, which finds ranks
 * that reuse a source too early; sim_write writes them with the flag, which
 * finds ranks that read data too early. */
void sim_take_data(const ctn_sim_t *sim, sim_event_t *message)
{
    bool small = message->bytes <= CTN_INJECT_BYTES;
    if (message->from == NULL || message->bytes == 0) {
        message->from = NULL;
    } else if (small) {
        memcpy(message->small, message->from, message->bytes);
        message->carried = true;
        message->from = NULL;
    } else if (!sim->params.reorder) {
        put_data(sim, message, message->from);
        message->from = NULL;
    }
}

void sim_hold(ctn_sim_t *sim, sim_event_t *message)
{
    if (message->held != NULL || message->from == NULL) {
        return;
    }
    message->held = malloc(message->bytes);
    if (message->held == NULL) {
        sim_no_memory(sim);
        return;
    }
    memcpy(message->held, message->from, message->bytes);
    message->from = NULL;
}

const unsigned char *sim_data(const sim_event_t *message)
{
    return message->carried        ? message->small
           : message->held != NULL ? message->held
                                   : message->from;
}

void sim_write(const ctn_sim_t *sim, sim_event_t *message)
{
    const unsigned char *data = sim_data(message);
    if (data != NULL && message->bytes > 0) {
        put_data(sim, message, data);
    }
    if (message->word != NULL) {
        ctn_word_store(message->word, message->value);
    }
}

uint64_t sim_leave_data(ctn_sim_t *sim, sim_event_t *message, uint64_t time,
                        double ps)
{
    if ((sim->params.breaks & CATENA_SIM_BREAK_DATA) == 0 ||
        message->word == NULL || message->bytes == 0) {
        return time;
    }
    sim_event_t *word =
        sim_event(sim, (sim_kind_t)message->kind, message->target);
    word->source = message->source;
    word->word = message->word;
    word->value = message->value;
    message->word = NULL;
    sim->in_flight[message->source]++;
    sim_push(sim, time, word);
    return time + sim_ps(sim, ps * (double)(ctn_random(&sim->random) % 64) / 8);
}

/** Drop data that are still at the source if their sender has failed or ended:
 * it may have freed the source. */
static void lose_data(ctn_sim_t *sim, sim_event_t *message)
{
    const ctn_sim_rank_t *source = &sim->rank[message->source];
    if (message->from != NULL &&
        (source->status != CATENA_OK || source->state == SIM_ENDED)) {
        message->from = NULL;
        message->word = NULL;
        sim_cut(sim, &sim->rank[message->target], message->source);
    }
}

/* ---- a message ---- */

/** Sends a message that is ready at `time` through a port.
 * @param held its last byte leaves when sim_head says so */
static void leave(ctn_sim_rank_t *rank, sim_event_t *message, uint64_t *port,
                  uint64_t time, bool held)
{
    ctn_sim_t *sim = rank->sim;
    sim_node_t *node = &sim->node[rank->node];
    size_t bytes = wire_bytes(message);
    uint64_t start = later(later(rank->endpoint_free, *port),
                           on_wire(sim, &node->send_wire, time, bytes));
    uint64_t busy = later(transfer_ps(sim, bytes), gap_ps(sim));
    *port = rank->endpoint_free = message->left = start + busy;
    if (message->sent != NULL && !held) {
        sim_push(sim, start + busy, message->sent);
    }
    uint64_t latency = random_latency(rank, message);
    sim->messages++;
    if (sim_leaves_leaf(sim, rank->node, message->node)) {
        message->kind = SIM_LEAF;
        message->latency = latency;
        sim_push(sim, start, message);
    } else {
        sim_push(sim, in_order(sim, message, start + latency), message);
    }
}

static bool holds(const ctn_sim_t *sim, const sim_event_t *message)
{
    return wire_bytes(message) > sim->machine->buffer_bytes;
}

/** The sending port of a rank where the network's buffer is bounded. */
static uint32_t line_of(const ctn_sim_rank_t *rank)
{
    return rank->node * rank->sim->ports + rank->local % rank->sim->ports;
}

/** Sends what waits for a port, up to the next message that holds it. */
static void advance_line(ctn_sim_t *sim, uint32_t port)
{
    sim_line_t *line = &sim->line[port];
    while (!line->held && line->first != NULL) {
        sim_event_t *message = line->first;
        line->first = message->next;
        line->held = holds(sim, message);
        leave(&sim->rank[message->source], message, &sim->send_port[port],
              message->left, line->held);
    }
}

static void wait_in_line(ctn_sim_rank_t *rank, sim_event_t *message)
{
    ctn_sim_t *sim = rank->sim;
    sim_line_t *line = &sim->line[line_of(rank)];
    message->left = rank->clock;
    if (line->first == NULL) {
        line->end = &line->first;
    }
    *line->end = message;
    line->end = &message->next;
    advance_line(sim, line_of(rank));
}

/** A message that holds its sending port is accepted from `start` on: frees the
 * port when all of it but what the network's buffer takes is accepted. */
static void release_line(ctn_sim_t *sim, sim_event_t *message, uint64_t start)
{
    ctn_sim_rank_t *rank = &sim->rank[message->source];
    uint32_t port = line_of(rank);
    size_t rest = wire_bytes(message) - sim->machine->buffer_bytes;
    uint64_t freed = later(message->left, start + transfer_ps(sim, rest));
    sim->send_port[port] = rank->endpoint_free = freed;
    if (message->sent != NULL) {
        sim_push(sim, later(freed, sim->now), message->sent);
    }
    sim->line[port].held = false;
    advance_line(sim, port);
}

void sim_send(ctn_sim_rank_t *rank, sim_event_t *message)
{
    ctn_sim_t *sim = rank->sim;
    size_t bytes = wire_bytes(message);
    rank->clock +=
        sim_jitter(rank, end_ps(sim, sim->machine->send_overhead_ns, bytes));
    sim_take_data(sim, message);
    if (message->bytes > CTN_INJECT_BYTES) {
        sim_event_t *sent = sim_event(sim, SIM_SENT, rank->rank);
        sent->pending = message->pending;
        ++*sent->pending;
        if (message->from != NULL) {
            sent->other = message;
            message->other = sent;
        }
        message->sent = sent;
    }
    message->node = sim->rank[message->target].node;
    message->port =
        message->node * sim->ports + (rank->local + rank->node) % sim->ports;
    rank->stats.messages++;
    rank->stats.bytes += bytes;
    sim->in_flight[rank->rank]++;
    if (sim->line != NULL) {
        wait_in_line(rank, message);
        return;
    }
    uint64_t *port =
        first_free(&sim->send_port[rank->node * sim->ports], sim->ports);
    leave(rank, message, port, rank->clock, false);
}

void sim_leaf(ctn_sim_t *sim, sim_event_t *message)
{
    uint64_t start =
        sim_pass_up(sim, sim->rank[message->source].node, message->node,
                    transfer_ps(sim, wire_bytes(message)));
    message->kind = SIM_HEAD;
    sim_push(sim, in_order(sim, message, start + message->latency), message);
}

void sim_head(ctn_sim_t *sim, sim_event_t *message)
{
    const catena_machine_t *machine = sim->machine;
    sim_node_t *node = &sim->node[message->node];
    size_t bytes = wire_bytes(message);
    uint64_t *port = &sim->receive_port[message->port];
    uint64_t transfer = transfer_ps(sim, bytes);
    uint64_t here = sim_pass_down(sim, sim->rank[message->source].node,
                                  message->node, transfer);
    uint64_t start =
        later(*port, on_wire(sim, &node->receive_wire, here, bytes));
    *port = start + later(transfer, gap_ps(sim));
    if (sim->line != NULL && holds(sim, message)) {
        release_line(sim, message, start);
    }
    message->kind = SIM_ARRIVE;
    uint64_t end = start + transfer + (uint64_t)(machine->poll_ns * PS);
    sim_push(sim, sim_leave_data(sim, message, end, machine->latency_ns * PS),
             message);
}

static void complete_flushes(ctn_sim_rank_t *rank)
{
    bool any = rank->flushes != NULL && rank->status == CATENA_OK;
    while (any && rank->flushes != NULL) {
        sim_flush_t *flush = rank->flushes;
        rank->flushes = flush->next;
        rank->sim->flushing--;
        --*flush->pending;
        free(flush);
    }
    if (any) {
        sim_notify(rank->sim, rank);
    }
}

void sim_delivered(ctn_sim_t *sim, ctn_sim_rank_t *source)
{
    if (--sim->in_flight[source->rank] == 0 && sim->flushing > 0) {
        complete_flushes(source);
    }
}

void sim_arrive(ctn_sim_t *sim, sim_event_t *message)
{
    ctn_sim_rank_t *target = &sim->rank[message->target];
    if (message->other != NULL) {
        message->other->other = NULL; /* SENT comes later: nothing to hold */
    }
    bool dropped = target->killed || target->state == SIM_ENDED ||
                   sim_is_cut(target, message->source);
    if (!dropped) {
        lose_data(sim, message);
        uint64_t work = (uint64_t)end_ps(sim, sim->machine->receive_overhead_ns,
                                         wire_bytes(message));
        if (sim->core != NULL) {
            target->due += work;
        } else if (work > 0) {
            target->clock = later(target->clock, sim->now) + work;
        }
        if (sim_defer(sim, target, message)) {
            sim_notify(sim, target);
            return;
        }
        sim_write(sim, message);
    }
    sim_delivered(sim, &sim->rank[message->source]);
    sim_recycle(sim, message);
    if (!dropped) {
        sim_notify(sim, target);
    }
}

void sim_sent(ctn_sim_t *sim, sim_event_t *event)
{
    ctn_sim_rank_t *rank = &sim->rank[event->target];
    if (event->other != NULL) {
        lose_data(sim, event->other);
        sim_hold(sim, event->other);
        event->other->other = NULL;
    }
    if (event->to != NULL && rank->state != SIM_ENDED && !rank->left) {
        /* a get */
        memcpy(event->to, event->from, event->bytes);
    }
    /* If the rank has failed, the counter may have been freed. */
    if (rank->status != CATENA_OK || rank->state == SIM_ENDED || rank->left) {
        return;
    }
    --*event->pending;
    if (rank->base.freed != NULL) {
        rank->base.freed(&rank->base, event->pending);
    }
    sim_notify(sim, rank);
}

void sim_network_create(ctn_sim_t *sim)
{
    size_t ports = (size_t)sim->nodes * sim->ports;
    ctn_region_t *tables = &sim->tables;
    sim->send_port = ctn_region_take(tables, ports, sizeof(uint64_t));
    sim->receive_port = ctn_region_take(tables, ports, sizeof(uint64_t));
    sim->in_flight = ctn_region_take(tables, sim->ranks, sizeof(uint32_t));
    sim_fat_tree_create(sim);
    if (sim->machine->buffer_bytes > 0) {
        sim->line = ctn_region_take(tables, ports, sizeof(sim_line_t));
    }
    if (sim->params.jitter > 0 || sim->params.reorder ||
        sim->params.delay != NULL) {
        sim->pair = ctn_region_take(
            tables, every_pair(sim) ? (size_t)sim->ranks * sim->ranks : PAIRS,
            sizeof(uint64_t));
    }
}

uint32_t sim_drop_flushes(ctn_sim_rank_t *rank)
{
    uint32_t count = 0;
    while (rank->flushes != NULL) {
        sim_flush_t *flush = rank->flushes;
        rank->flushes = flush->next;
        free(flush);
        count++;
    }
    return count;
}
