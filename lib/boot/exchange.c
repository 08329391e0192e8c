/* Exchanges values by an allgather among all ranks, which a program supplies or
 * boot/tcp.c. All ranks make the same calls in the same order. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/ops.h"

/** The values of all ranks of one exchange: each rank's records, one after the
 * other. */
typedef struct boot_round {
    struct boot_round *before;
    size_t stride;        /* bytes between ranks */
    uint64_t *bytes;      /* [ranks] of records */
    unsigned char data[]; /* [ranks][stride] */
} boot_round_t;

/** A value, followed by its data. */
typedef struct boot_value {
    char key[48];
    uint64_t bytes;
} boot_value_t;

/** Instead of a length: this rank has failed. */
#define FAILED UINT64_MAX

typedef struct boot_exchange {
    catena_oob_t oob;
    bool over; /* there are no more exchanges: one has failed, or all are ready
                */
    unsigned char *own; /* records that are not exchanged yet */
    size_t own_bytes;
    boot_round_t *last;
} boot_exchange_t;

static catena_status_t gather_all(ctn_boot_t *boot, const void *own,
                                  size_t bytes, void *all)
{
    boot_exchange_t *exchange = boot->state;
    const catena_oob_t *oob = &exchange->oob;
    int failed = oob->allgather(oob->argument, own, all, bytes);
    if (failed != 0 && boot->link == NULL) { /* boot/tcp says it itself */
        ctn_error(boot->log,
                  "catena_init: the program's allgather of %zu bytes by %u "
                  "ranks returned %d; expected 0",
                  bytes, boot->size, failed);
    }
    exchange->over |= failed != 0;
    return failed == 0 ? CATENA_OK : CATENA_ERR_LAUNCHER;
}

/** Another rank has said that it has failed. */
static catena_status_t end_with(ctn_boot_t *boot, uint32_t rank)
{
    boot_exchange_t *exchange = boot->state;
    exchange->over = true;
    ctn_log_write(boot->rank == 0 ? boot->log : ctn_log_kept(),
                  CATENA_LOG_ERROR,
                  "catena_init: rank %u does not join, see its message", rank);
    return CATENA_ERR_PEER;
}

/** Find the ranks of this node, and its number: that of its first rank. */
static catena_status_t find_node(ctn_boot_t *boot, const char *node)
{
    ctn_boot_identity_t own = ctn_boot_identify(boot, node);
    ctn_boot_identity_t *all = calloc(boot->size, sizeof(*all));
    uint32_t *ranks = calloc(boot->size, sizeof(*ranks));
    if (all == NULL || ranks == NULL) {
        free(all);
        free(ranks);
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = gather_all(boot, &own, sizeof(own), all);
    for (uint32_t i = 0; status == CATENA_OK && i < boot->size; i++) {
        ranks[i] = i;
        if (all[i].failed != 0) {
            status = end_with(boot, i);
        }
    }
    if (status == CATENA_OK) {
        status = ctn_boot_form_node(boot, all, ranks, boot->size);
    }
    free(all);
    free(ranks);
    if (status == CATENA_OK) {
        ctn_boot_name_node(boot, strcmp(node, "auto") != 0 ? node : NULL,
                           boot->local_ranks[0]);
    }
    return status;
}

catena_status_t ctn_boot_exchange_open(ctn_boot_t *boot, const char *node,
                                       const catena_oob_t *oob)
{
    boot_exchange_t *exchange = calloc(1, sizeof(*exchange));
    if (exchange == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    exchange->oob = *oob;
    boot->state = exchange;
    return find_node(boot, node);
}

catena_status_t ctn_boot_exchange_put(ctn_boot_t *boot, const char *key,
                                      const void *data, size_t bytes)
{
    boot_exchange_t *exchange = boot->state;
    boot_value_t record = {.bytes = bytes};
    unsigned char *own =
        realloc(exchange->own, exchange->own_bytes + sizeof(record) + bytes);
    if (own == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    snprintf(record.key, sizeof(record.key), "%s", key);
    memcpy(own + exchange->own_bytes, &record, sizeof(record));
    memcpy(own + exchange->own_bytes + sizeof(record), data, bytes);
    exchange->own = own;
    exchange->own_bytes += sizeof(record) + bytes;
    return CATENA_OK;
}

static size_t most_of(const uint64_t *bytes, uint32_t count)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        most = bytes[i] > most ? bytes[i] : most;
    }
    return most;
}

/** Exchange records; `bytes` has the lengths of all. Takes the round that it
 * makes. */
static catena_status_t exchange_records(ctn_boot_t *boot, uint64_t *bytes)
{
    boot_exchange_t *exchange = boot->state;
    size_t stride = most_of(bytes, boot->size);
    stride = exchange->own_bytes > stride ? exchange->own_bytes : stride;
    if (stride == 0) {
        free(bytes);
        return CATENA_OK;
    }
    boot_round_t *round = NULL;
    unsigned char *padded = NULL;
    if (stride <= (SIZE_MAX / 2 - sizeof(*round)) / boot->size) {
        round = calloc(1, sizeof(*round) + boot->size * stride);
        padded = calloc(1, stride);
    }
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (round != NULL && padded != NULL) {
        if (exchange->own_bytes > 0) {
            memcpy(padded, exchange->own, exchange->own_bytes);
        }
        status = gather_all(boot, padded, stride, round->data);
    }
    free(padded);
    if (status != CATENA_OK) {
        free(round);
        free(bytes);
        return status;
    }
    *round = (boot_round_t){exchange->last, stride, bytes};
    exchange->last = round;
    exchange->own_bytes = 0;
    return CATENA_OK;
}

catena_status_t ctn_boot_exchange_all(ctn_boot_t *boot)
{
    boot_exchange_t *exchange = boot->state;
    uint64_t own = exchange->own_bytes;
    uint64_t *bytes = calloc(boot->size, sizeof(*bytes));
    if (bytes == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = gather_all(boot, &own, sizeof(own), bytes);
    if (status == CATENA_OK && bytes[boot->rank] != own) {
        ctn_error(boot->log,
                  "catena_init: the allgather returned another value for rank "
                  "%u than it sent; expected the ranks in their order",
                  boot->rank);
        exchange->over = true;
        status = CATENA_ERR_LAUNCHER;
    }
    for (uint32_t i = 0; status == CATENA_OK && i < boot->size; i++) {
        if (bytes[i] == FAILED) {
            status = end_with(boot, i);
        }
    }
    if (status != CATENA_OK) {
        free(bytes);
        return status;
    }
    return exchange_records(boot, bytes);
}

/** Find a record of a rank in a round; NULL: it has none. */
static const unsigned char *find_record(const boot_round_t *round,
                                        uint32_t rank, const char *key,
                                        boot_value_t *record)
{
    const unsigned char *at = round->data + rank * round->stride;
    const unsigned char *end =
        at + (round->bytes[rank] < round->stride ? round->bytes[rank]
                                                 : round->stride);
    while ((size_t)(end - at) >= sizeof(*record)) {
        memcpy(record, at, sizeof(*record));
        at += sizeof(*record);
        if (record->bytes > (uint64_t)(end - at)) {
            return NULL;
        }
        if (strncmp(record->key, key, sizeof(record->key)) == 0) {
            return at;
        }
        at += record->bytes;
    }
    return NULL;
}

catena_status_t ctn_boot_exchange_lookup(ctn_boot_t *boot, uint32_t rank,
                                         const char *key, void **data,
                                         size_t *bytes)
{
    const boot_exchange_t *exchange = boot->state;
    const unsigned char *found = NULL;
    boot_value_t record;
    for (const boot_round_t *round = exchange->last;
         round != NULL && found == NULL; round = round->before) {
        found = find_record(round, rank, key, &record);
    }
    if (found == NULL) {
        ctn_error(boot->log, "rank %u has published no %s", rank, key);
        return CATENA_ERR_LAUNCHER;
    }
    *data = malloc(record.bytes > 0 ? record.bytes : 1);
    if (*data == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    memcpy(*data, found, record.bytes);
    *bytes = record.bytes;
    return CATENA_OK;
}

void ctn_boot_exchange_close(ctn_boot_t *boot)
{
    boot_exchange_t *exchange = boot->state;
    if (exchange == NULL) {
        return;
    }
    while (exchange->last != NULL) {
        boot_round_t *before = exchange->last->before;
        free(exchange->last->bytes);
        free(exchange->last);
        exchange->last = before;
    }
    free(exchange->own);
    free(exchange);
    boot->state = NULL;
}

/* ---- by the program ---- */

static void end_job(ctn_boot_t *boot, int code, const char *message)
{
    const boot_exchange_t *exchange = boot->state;
    if (exchange != NULL && exchange->oob.abort != NULL) {
        exchange->oob.abort(exchange->oob.argument, code, message);
    }
}

/** All ranks are ready: none of them fails the exchanges any more. */
static catena_status_t agree(ctn_boot_t *boot)
{
    catena_status_t status = ctn_boot_exchange_all(boot);
    ((boot_exchange_t *)boot->state)->over = true;
    return status;
}

/** A rank that fails while others may still exchange tells them so in place of
 * its next length. */
static void leave(ctn_boot_t *boot)
{
    boot_exchange_t *exchange = boot->state;
    if (exchange != NULL && !exchange->over) {
        uint64_t own = FAILED;
        uint64_t *bytes = calloc(boot->size, sizeof(*bytes));
        if (bytes != NULL) {
            (void)exchange->oob.allgather(exchange->oob.argument, &own, bytes,
                                          sizeof(own));
        }
        free(bytes);
    }
    ctn_boot_exchange_close(boot);
}

void ctn_boot_decline(const catena_oob_t *oob)
{
    ctn_boot_identity_t own = {.failed = 1};
    ctn_boot_identity_t *all = oob->allgather != NULL && oob->ranks > 0
                                   ? calloc((size_t)oob->ranks, sizeof(*all))
                                   : NULL;
    if (all != NULL) {
        (void)oob->allgather(oob->argument, &own, all, sizeof(own));
    }
    free(all);
}

static const ctn_boot_ops_t oob_ops = {.name = "oob",
                                       .put = ctn_boot_exchange_put,
                                       .share = ctn_boot_exchange_all,
                                       .publish = ctn_boot_exchange_all,
                                       .lookup = ctn_boot_exchange_lookup,
                                       .agree = agree,
                                       .end_job = end_job,
                                       .leave = leave};

catena_status_t ctn_boot_join_oob(ctn_boot_t *boot, const char *node,
                                  const catena_oob_t *oob)
{
    if (oob->allgather == NULL || oob->ranks < 1 || oob->rank < 0 ||
        oob->rank >= oob->ranks) {
        ctn_error(boot->log,
                  "catena_init: oob: rank %d of %d%s; expected ranks of at "
                  "least 1, a rank below it, and an allgather",
                  oob->rank, oob->ranks,
                  oob->allgather == NULL ? ", no allgather" : "");
        return CATENA_ERR_ARG;
    }
    boot->ops = &oob_ops;
    boot->rank = (uint32_t)oob->rank;
    boot->size = (uint32_t)oob->ranks;
    return ctn_boot_exchange_open(boot, node, oob);
}
