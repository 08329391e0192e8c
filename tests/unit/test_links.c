/* Links between random ranks, in both directions or one: lengths around all
 * that limits something, parts that are types and parts that are none, several
 * operations at once, everything in any order. usage: test_links, or as a rank
 * under a launcher: test_links --rank */

#include <stdlib.h>
#include <string.h>

#include "linknet.h"
#include "unit.h"

enum {
    MOST_PARTS = 4,
    PARTIES = 3, /* operations started at once: more than run at once */
    OPERATIONS = 24
};

/* What decides about a length is drawn from these, once for all ranks. */
enum { CARRIES, LENGTH, PARTS_OUT, PARTS_IN, EXPECTS, HOLDS, PLAINS, DRAWS };

static uint64_t draw(const linknet_t *net, uint64_t seq, uint32_t link,
                     unsigned what)
{
    uint64_t state = net->job->seed * 7919 + seq * 104729 +
                     (link * (uint64_t)DRAWS + what) * 1299709;
    return job_random(&state);
}

static unsigned char content(uint64_t seq, uint32_t link, size_t i)
{
    return (unsigned char)(seq * 31 + link * 7 + i * 3 + (i >> 8) + 1);
}

static bool carries(const linknet_t *net, uint64_t seq, uint32_t link)
{
    return draw(net, seq, link, CARRIES) % 5 != 0;
}

static size_t length_of(const linknet_t *net, uint64_t seq, uint32_t link,
                        size_t wide_bytes)
{
    static const size_t lengths[] = {0,     1,     8,      48,     49,
                                     64,    112,   113,    500,    8192,
                                     65536, 65537, 130048, 130049, 300000};
    uint64_t n = draw(net, seq, link, LENGTH);
    unsigned kinds = sizeof(lengths) / sizeof(lengths[0]);
    unsigned kind = (unsigned)(n >> 8) % (kinds + 6);
    return kind < kinds        ? lengths[kind]
           : kind < kinds + 3  ? wide_bytes + kind - kinds - 1
           : kind == kinds + 3 ? (n >> 16) % 2000
                               : (n >> 16) % (4 * wide_bytes);
}

/* ---- buffers ---- */

/** A message as its parts lie in memory. */
typedef struct buffer {
    unsigned char *memory;
    size_t bytes; /* of the message */
    bool in_heap;
    uint32_t count;
    ctn_span_t part[MOST_PARTS];
    catena_datatype_t type[MOST_PARTS]; /* to be freed, or NULL */
} buffer_t;

static void drop_type(catena_datatype_t *type)
{
    if (*type != NULL) {
        (void)catena_type_free(type);
    }
}

/** Types whose run divides the length: a strided one, one with two levels, one
 * element or several, of short runs and of long ones. */
static catena_datatype_t draw_type(uint64_t n, size_t bytes)
{
    static const size_t runs[] = {1, 3, 8, 256, 1024};
    size_t run = runs[n % 5];
    catena_datatype_t type = NULL;
    catena_datatype_t one = NULL;
    if (bytes == 0 || bytes % run != 0) {
        return NULL;
    }
    size_t count = bytes / run;
    bool ok = true;
    switch ((n >> 8) % 3) {
    case 0: /* one element */
        ok = catena_type_vector(count, run, (ptrdiff_t)run * 2, CATENA_BYTE,
                                &type) == CATENA_OK;
        break;
    case 1: /* elements that go on evenly */
        ok =
            catena_type_contiguous(run, CATENA_BYTE, &one) == CATENA_OK &&
            catena_type_resized(one, 0, (ptrdiff_t)run * 2, &type) == CATENA_OK;
        break;
    default: /* those that do not, each a few runs */
        count = count % 4 == 0 ? 4 : count % 3 == 0 ? 3 : 1;
        ok = catena_type_vector(count, run, (ptrdiff_t)run + 1, CATENA_BYTE,
                                &type) == CATENA_OK;
        break;
    }
    drop_type(&one);
    return ok ? type : NULL;
}

/** Parts of a message of `bytes`, of any lengths, some of no bytes; or of one
 * length, side by side or with gaps. */
static void make_buffer(linknet_t *net, buffer_t *b, size_t bytes, uint64_t n)
{
    b->bytes = bytes;
    b->count = (uint32_t)(n % MOST_PARTS) + 1;
    b->in_heap = (n >> 8) % 4 != 0;
    size_t room = 3 * bytes + 64 * MOST_PARTS + 4096;
    b->memory = b->in_heap ? ctn_heap_alloc(net->job->exec->heap, 64, room)
                           : malloc(room);
    JOB_CHECK(net->job, b->memory != NULL);
    memset(b->memory, 0xee, room);
    bool even = (n >> 12) % 2 == 0 && bytes % b->count == 0;
    size_t at = (n >> 16) % 8;
    size_t gap = (n >> 20) % 2 == 0 ? 0 : 16;
    size_t left = bytes;
    for (uint32_t i = 0; i < b->count; i++) {
        uint64_t mine = job_random(&n);
        size_t part = i + 1 == b->count ? left
                      : even            ? bytes / b->count
                                        : mine % (left + 1);
        b->type[i] =
            !even && mine >> 40 & 1 ? draw_type(mine >> 8, part) : NULL;
        b->part[i] = (ctn_span_t){b->memory + at, part, b->type[i]};
        at += b->type[i] != NULL ? 2 * part + 64 : part + gap;
        left -= part;
    }
    JOB_CHECK(net->job, at <= room && left == 0);
}

static void drop_buffer(linknet_t *net, buffer_t *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        drop_type(&b->type[i]);
    }
    if (b->memory != NULL && b->in_heap) {
        ctn_heap_free(net->job->exec->heap, b->memory);
    } else {
        free(b->memory);
    }
    *b = (buffer_t){.memory = NULL};
}

static unsigned char *expected(uint64_t seq, uint32_t link, size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = content(seq, link, i);
    }
    return data;
}

static void fill_buffer(linknet_t *net, buffer_t *b, uint64_t seq,
                        uint32_t link)
{
    if (net->sizes) {
        return;
    }
    unsigned char *data = expected(seq, link, b->bytes);
    size_t at = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        ctn_span_write(net->job->exec, &b->part[i], 0, b->part[i].bytes,
                       data + at);
        at += b->part[i].bytes;
    }
    free(data);
}

static void check_buffer(linknet_t *net, const buffer_t *b, uint64_t seq,
                         uint32_t link)
{
    unsigned char *data = expected(seq, link, b->bytes);
    unsigned char *here = malloc(b->bytes + 1);
    size_t at = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        ctn_span_read(net->job->exec, &b->part[i], 0, b->part[i].bytes,
                      here + at);
        at += b->part[i].bytes;
    }
    JOB_CHECK(net->job,
              net->sizes || net->mortal || memcmp(data, here, b->bytes) == 0);
    free(data);
    free(here);
}

/* ---- an operation ---- */

typedef struct outgoing {
    bool done;
    buffer_t buffer;
    ctn_sending_t sending;
} outgoing_t;

typedef struct incoming {
    bool done;
    bool expected;
    unsigned holds; /* looks at it before it is taken */
    buffer_t buffer;
    ctn_receiving_t receiving;
} incoming_t;

typedef struct exchange {
    linknet_t *net;
    outgoing_t *out; /* [outs] */
    incoming_t *in;  /* [ins] */
} exchange_t;

/** Some know the length, some say a wrong one, some want it in place. */
static catena_status_t expect(ctn_op_t *op, linknet_t *net, uint32_t i,
                              incoming_t *in)
{
    uint64_t n = draw(net, op->seq, net->receives[i], EXPECTS);
    ctn_link_in_t *link = &net->in[i];
    size_t bytes = in->buffer.bytes;
    in->expected = true;
    switch (n % 5) {
    case 0:
        return CATENA_OK;
    case 1:
        return ctn_link_expect(op, link, (n >> 8) % (2 * link->wide_bytes + 9),
                               NULL, &in->receiving);
    case 2:
        return ctn_link_expect(op, link, bytes, NULL, &in->receiving);
    default:
        return ctn_link_expect(op, link, bytes,
                               in->buffer.part[0].type == NULL &&
                                       in->buffer.part[0].bytes == bytes
                                   ? in->buffer.part[0].base
                                   : NULL,
                               &in->receiving);
    }
}

static ctn_step_t send_one(ctn_op_t *op, linknet_t *net, uint32_t i,
                           outgoing_t *out)
{
    if (out->done) {
        return CTN_STEP_NEXT;
    }
    buffer_t *b = &out->buffer;
    ctn_step_t step = ctn_link_send(op, &net->out[i], b->part, b->count,
                                    b->bytes, &out->sending);
    out->done = step == CTN_STEP_NEXT;
    return step;
}

static catena_status_t take(ctn_op_t *op, linknet_t *net, uint32_t i,
                            incoming_t *in)
{
    ctn_receiving_t *r = &in->receiving;
    uint32_t link = net->receives[i];
    JOB_CHECK(net->job, r->bytes == in->buffer.bytes);
    catena_status_t status = CATENA_OK;
    if (draw(net, op->seq, link, PLAINS) % 3 == 0) {
        status = ctn_link_plain(op, r);
        JOB_CHECK(net->job, r->layout.run == 0);
    }
    if (status == CATENA_OK && r->bytes == in->buffer.bytes) {
        ctn_link_copy(op, r, in->buffer.part, in->buffer.count);
        check_buffer(net, &in->buffer, op->seq, link);
    }
    in->done = true;
    return status == CATENA_OK ? ctn_link_done(op, &net->in[i], r) : status;
}

static ctn_step_t receive_one(ctn_op_t *op, linknet_t *net, uint32_t i,
                              incoming_t *in)
{
    if (in->done) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = CATENA_OK;
    if (!in->expected) {
        status = expect(op, net, i, in);
    }
    ctn_step_t step = status == CATENA_OK
                          ? ctn_link_receive(op, &net->in[i], &in->receiving)
                          : ctn_op_fail(op, status);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    if (in->holds > 0) {
        in->holds--;
        return CTN_STEP_MOVED;
    }
    status = take(op, net, i, in);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Everything that is left, once, in any order. */
static ctn_step_t run(ctn_op_t *op)
{
    exchange_t *x = ctn_op_state(op);
    linknet_t *net = x->net;
    uint32_t all = net->outs + net->ins;
    uint32_t first = (uint32_t)(job_random(&net->random) % (all + 1));
    uint32_t step = job_random(&net->random) % 2 == 0 ? 1 : all - 1;
    ctn_step_t result = CTN_STEP_NEXT;
    for (uint32_t k = 0; k < all; k++) {
        uint32_t i = (first + k * step) % all;
        ctn_step_t one = i < net->outs ? send_one(op, net, i, &x->out[i])
                                       : receive_one(op, net, i - net->outs,
                                                     &x->in[i - net->outs]);
        if (one == CTN_STEP_FAIL) {
            return one;
        }
        if (one != CTN_STEP_NEXT && result != CTN_STEP_MOVED) {
            result = one;
        }
    }
    return result;
}

static void finish(ctn_op_t *op)
{
    exchange_t *x = ctn_op_state(op);
    linknet_t *net = x->net;
    for (uint32_t i = 0; i < net->outs; i++) {
        ctn_sending_drop(op, &x->out[i].sending);
        buffer_t *b = &x->out[i].buffer;
        if (b->memory != NULL) {
            memset(b->memory, 0xdd, b->bytes); /* it is free now */
        }
    }
    for (uint32_t i = 0; i < net->ins; i++) {
        ctn_receiving_drop(op, &x->in[i].receiving);
    }
    if (op->status != CATENA_OK) {
        return;
    }
    /* All below are complete when this one is, too. */
    uint64_t complete = net->channel.complete;
    uint32_t mask = net->channel.done_mask | 1u << (op->seq - complete);
    for (; mask & 1u; mask >>= 1) {
        complete++;
    }
    for (uint32_t i = 0; i < net->ins; i++) {
        JOB_CHECK(net->job, ctn_link_complete(op->exec, &net->in[i],
                                              complete) == CATENA_OK);
    }
}

static void release(ctn_op_t *op)
{
    exchange_t *x = ctn_op_state(op);
    for (uint32_t i = 0; i < x->net->outs; i++) {
        drop_buffer(x->net, &x->out[i].buffer);
    }
    for (uint32_t i = 0; i < x->net->ins; i++) {
        drop_buffer(x->net, &x->in[i].buffer);
    }
    free(x->out);
    free(x->in);
}

static const ctn_phase_t phases[] = {{"run", run}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "test/links",
    .state_bytes = sizeof(exchange_t),
    .phases = phases,
    .finish = finish,
    .release = release,
};

static ctn_op_t *make_exchange(linknet_t *net, uint64_t seq)
{
    ctn_op_t *op = ctn_op_create(net->job->exec, &algorithm, &net->channel);
    exchange_t *x = ctn_op_state(op);
    x->net = net;
    x->out = calloc(net->outs + 1, sizeof(*x->out));
    x->in = calloc(net->ins + 1, sizeof(*x->in));
    for (uint32_t i = 0; i < net->outs; i++) {
        uint32_t link = net->sends[i];
        x->out[i].done = !carries(net, seq, link);
        if (!x->out[i].done) {
            make_buffer(net, &x->out[i].buffer,
                        length_of(net, seq, link, net->out[i].wide_bytes),
                        draw(net, seq, link, PARTS_OUT));
            fill_buffer(net, &x->out[i].buffer, seq, link);
        }
    }
    for (uint32_t i = 0; i < net->ins; i++) {
        uint32_t link = net->receives[i];
        x->in[i].done = !carries(net, seq, link);
        x->in[i].holds = (unsigned)(draw(net, seq, link, HOLDS) % 8) / 5;
        if (!x->in[i].done) {
            make_buffer(net, &x->in[i].buffer,
                        length_of(net, seq, link, net->in[i].wide_bytes),
                        draw(net, seq, link, PARTS_IN));
        }
    }
    return op;
}

/* ---- the tests ---- */

static catena_status_t run_operations(linknet_t *net, uint64_t count)
{
    catena_status_t status = CATENA_OK;
    uint64_t end = net->channel.started + count;
    for (uint64_t seq = end - count; seq < end && status == CATENA_OK;) {
        ctn_op_t *op[PARTIES];
        uint64_t start = seq;
        uint64_t parties = job_random(&net->random) % PARTIES + 1;
        while (seq < end && seq - start < parties) {
            op[seq - start] = make_exchange(net, seq);
            ctn_op_start(op[seq - start]);
            seq++;
        }
        for (uint64_t k = seq; k > start; k--) {
            catena_status_t one = ctn_op_wait(op[k - 1 - start]);
            status = one != CATENA_OK ? one : status;
        }
        for (uint64_t k = start; k < seq; k++) {
            ctn_op_release(op[k - start]);
        }
    }
    return status;
}

static void links(job_t *job)
{
    uint64_t memory = job->exec->tally.memory;
    linknet_t *net = linknet_open(job);
    JOB_CHECK(job, run_operations(net, OPERATIONS) == CATENA_OK);
    JOB_CHECK(job, linknet_close(net) == CATENA_OK);
    JOB_CHECK(job, job->exec->tally.memory == memory);
}

/** A rank dies somewhere in between: the others see it, nothing crashes. */
static void links_until_death(job_t *job)
{
    linknet_t *net = linknet_open(job);
    net->mortal = true;
    if (job->exec->status == CATENA_OK) {
        (void)run_operations(net, 1000);
    }
    (void)linknet_close(net);
    job->errors = 0;
}

START_TEST(test_links)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        ck_assert_int_eq(job_simulate((uint32_t)_i, seed, links), 0);
    }
}
END_TEST

START_TEST(test_node)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        ck_assert_int_eq(job_simulate_node((uint32_t)_i, seed, links), 0);
    }
}
END_TEST

START_TEST(test_sizes)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        catena_sim_params_t params = {.machine = "dawn",
                                      .nodes = 3,
                                      .ppn = 2,
                                      .seed = seed,
                                      .stack_bytes = JOB_STACK_BYTES,
                                      .payload = CATENA_SIM_SIZES};
        ck_assert_int_eq(job_simulate_on(&params, links), 0);
    }
}
END_TEST

START_TEST(test_death)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        job_simulate_death(5, seed, 500 + seed * seed * 53, links_until_death);
    }
}
END_TEST

START_TEST(test_wide)
{
    ck_assert_uint_eq(ctn_link_wide_bytes(1, CTN_LINK_FAR), 65536);
    for (uint32_t links_here = 1; links_here < 100000; links_here *= 3) {
        size_t bytes = ctn_link_wide_bytes(links_here, CTN_LINK_FAR);
        ck_assert_uint_ge(bytes, 1024);
        ck_assert(bytes == 1024 ||
                  bytes * links_here * CTN_LINK_RINGS <= (size_t)4 << 20);
    }
}
END_TEST

static void everything(job_t *job)
{
    for (job->seed = 1; job->seed <= 20; job->seed++) {
        links(job);
    }
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_links, 1, 9);
    tcase_add_loop_test(tcase, test_node, 2, 5);
    tcase_add_test(tcase, test_sizes);
    tcase_add_test(tcase, test_death);
    tcase_add_test(tcase, test_wide);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv) ? job_rank(1, everything)
                                   : unit_main("links", 60, add_cases);
}
