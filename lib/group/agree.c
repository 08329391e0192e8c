/* Agreement among the living members of a group ([Bland], MPIX_Comm_agree), and
 * groups of the survivors (MPIX_Comm_shrink). Its parts are the same for both:
 * each member votes, and all living ones get the same result.
 *
 * The coordinator is the first living member. Members send it their votes; when
 * it has those of all living ones, it makes the result in its area, tells all,
 * and they get it from there. A member that knows a result keeps it until the
 * second next agreement, and answers who asks for it.
 *
 * If the coordinator dies, the next living member is the coordinator. It asks
 * all living members. One that has the result says so, and the coordinator
 * fetches it. So all living members have one result:
 * - one that has a result is asked before there can be another;
 * - one that has voted for a new coordinator takes no result of a former one.
 * Deaths are never revoked, and all learn of them (exec/deaths.h), so every
 * member follows every coordinator that it needs. No member is more than one
 * agreement behind: results need all votes. So two votes and two results, by
 * the parity of the agreement, suffice.
 * [Bland]: W. Bland, A. Bouteiller, T. Herault, G. Bosilca, J. Dongarra,
 * Post-failure recovery of MPI communication capability, International Journal
 * of High Performance Computing Applications 27(3), 2013. */

#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/refuse.h"
#include "group/recovery.h"
#include "group/world_ranks.h"

/** What a vote says. */
typedef enum saying {
    VOTE,    /* this is how its sender votes */
    DECIDED, /* its sender has the result */
    ASK,     /* its sender, a coordinator, wants to know whether the receiver
                has the result */
    OVER     /* all living members leave the job: there is no result */
} saying_t;

#define LEAVES 1u /* as `area` of a vote: its member leaves the job */

/* A result: a hash of the number of its agreement and of the rest, since a get
 * from a member that dies may complete without data; the flags of all votes
 * combined by AND; the number of living members; a bit for each dead member;
 * then for each member the two offsets of its vote. */
enum { SEAL, FLAG, LIVING, DEAD_BITS };

static size_t bit_words(uint32_t most)
{
    return (most + 63) / 64;
}

size_t ctn_result_bytes(uint32_t most)
{
    return (DEAD_BITS + bit_words(most) + (size_t)most * 2) * sizeof(uint64_t);
}

uint64_t ctn_result_flag(const uint64_t *result)
{
    return result[FLAG];
}

static bool is_dead_in(const uint64_t *result, uint32_t i)
{
    return (result[DEAD_BITS + i / 64] >> i % 64 & 1) != 0;
}

static uint64_t *offsets_in(const ctn_recovery_t *r, uint64_t *result,
                            uint32_t i)
{
    return result + DEAD_BITS + bit_words(r->most) + (size_t)i * 2;
}

static uint64_t seal_of(const ctn_recovery_t *r, const uint64_t *result)
{
    uint64_t hash = r->asked;
    for (size_t i = SEAL + 1; i < ctn_result_bytes(r->most) / sizeof(*result);
         i++) {
        hash = ctn_hash_add(hash, result[i]);
    }
    return hash;
}

static uint64_t word_of(uint64_t number, saying_t saying)
{
    return number << 2 | saying;
}

/** The vote of a member in agreement `number`. @return whether it has come */
static bool has_vote(const ctn_recovery_t *r, uint32_t i, uint64_t number,
                     saying_t *saying)
{
    uint64_t word = ctn_word_load(&r->vote[2 * i + (number & 1)].word);
    *saying = (saying_t)(word & 3);
    return word >> 2 == number;
}

/** A vote was not sent. If its receiver has died, that is reported; else the
 * members would wait for it. */
static void lost(const ctn_recovery_t *r, catena_status_t status)
{
    if (status != CATENA_OK && status != CATENA_ERR_PEER) {
        (void)ctn_exec_abort(r->exec, status);
    }
}

/** Store a vote at a member. */
static void send(ctn_recovery_t *r, uint32_t to, uint64_t number,
                 saying_t saying, const ctn_vote_t *vote)
{
    ctn_endpoint_t *endpoint;
    uint64_t at = r->offset[to] + r->most * sizeof(*r->word) +
                  (2 * r->me + (number & 1)) * sizeof(*vote);
    if (to == r->me || ctn_member_is_dead(r, to)) {
        return;
    }
    catena_status_t status =
        ctn_exec_connect(r->exec, r->member[to], &endpoint);
    if (status != CATENA_OK) {
        lost(r, status);
        return;
    }
    if (vote != NULL) {
        lost(r, ctn_put_signal(endpoint, vote, offsetof(ctn_vote_t, word), at,
                               at + offsetof(ctn_vote_t, word),
                               word_of(number, saying), NULL));
    }
    lost(r, ctn_deaths_notify(r->exec, r->member[to], true,
                              at + offsetof(ctn_vote_t, word),
                              word_of(number, saying)));
}

static void send_all(ctn_recovery_t *r, uint64_t number, saying_t saying)
{
    for (uint32_t i = 0; i < r->size; i++) {
        send(r, i, number, saying, NULL);
    }
}

static uint32_t first_living(const ctn_recovery_t *r)
{
    uint32_t i = 0;
    while (i < r->me && ctn_member_is_dead(r, i)) {
        i++;
    }
    return i;
}

void ctn_agree_died(ctn_recovery_t *r)
{
    uint32_t first = first_living(r);
    if (first != r->first) {
        r->first = first;
        r->answered = false;
        if (first == r->me && r->asked > r->decided) {
            send_all(r, r->asked, ASK);
        }
    }
}

void ctn_agree_news(ctn_recovery_t *r)
{
    saying_t saying;
    for (uint32_t i = 0; r->decided > 0 && i < r->size; i++) {
        if (r->replied[i] == 0 && has_vote(r, i, r->decided, &saying) &&
            (saying == VOTE || saying == ASK)) {
            r->replied[i] = 1;
            send(r, i, r->decided, r->over ? OVER : DECIDED, NULL);
        }
    }
}

/** The result of the current agreement is in place, or it is over. */
static void decide(ctn_recovery_t *r)
{
    r->decided = r->asked;
    memset(r->replied, r->first == r->me, r->size);
    if (r->first == r->me) {
        send_all(r, r->decided, r->over ? OVER : DECIDED);
        return;
    }
    /* The coordinator waits for all. If it dies before it has told all, they
     * ask this member, which leaves; ranks of the node see only that its
     * process lives on. */
    for (uint32_t i = 0; r->over && i < r->size; i++) {
        if (i == r->first || ctn_exec_is_local(r->exec, r->member[i])) {
            send(r, i, r->asked, OVER, NULL);
        }
    }
    ctn_agree_news(r);
}

/** Begin to get the result from a member that has it. */
static void fetch(ctn_recovery_t *r, uint32_t from)
{
    uint64_t *result = r->result[r->asked & 1];
    uint64_t at =
        r->offset[from] + (uint64_t)((unsigned char *)result - r->area);
    size_t bytes = ctn_result_bytes(r->most);
    ctn_endpoint_t *endpoint;
    r->fetching = false;
    if (ctn_exec_connect(r->exec, r->member[from], &endpoint) != CATENA_OK) {
        return;
    }
    const void *mapped = ctn_pointer(endpoint, at);
    r->pending = 0;
    if (mapped != NULL) {
        memcpy(result, mapped, bytes);
    } else if (endpoint->transport->ops->get(endpoint, result, bytes, at,
                                             &r->pending) != CATENA_OK) {
        return;
    }
    r->fetching = true;
}

/** A member has said that there is a result, or that it is over. */
static void learn(ctn_recovery_t *r, uint32_t from, saying_t saying)
{
    if (saying == OVER) {
        ctn_deaths_news(r->exec); /* what its sender knew */
        r->over = true;
        decide(r);
    } else {
        fetch(r, from);
    }
}

/** Make the result from all votes. It is over if all of them leave. */
static void make_result(ctn_recovery_t *r)
{
    uint64_t *result = r->result[r->asked & 1];
    memset(result, 0, ctn_result_bytes(r->most));
    result[FLAG] = UINT64_MAX;
    r->over = true;
    for (uint32_t i = 0; i < r->size; i++) {
        if (ctn_member_is_dead(r, i)) {
            result[DEAD_BITS + i / 64] |= UINT64_C(1) << i % 64;
            continue;
        }
        const ctn_vote_t *vote =
            i == r->me ? &r->own : &r->vote[2 * i + (r->asked & 1)];
        r->over = r->over && vote->area == LEAVES;
        result[FLAG] &= vote->flag;
        result[LIVING]++;
        offsets_in(r, result, i)[0] = vote->block;
        offsets_in(r, result, i)[1] = vote->area;
    }
    result[SEAL] = seal_of(r, result);
}

/** The coordinator's part: wait for the votes of all living members. */
static void coordinate(ctn_recovery_t *r)
{
    saying_t saying;
    for (uint32_t i = 0; i < r->size; i++) {
        if (i == r->me || ctn_member_is_dead(r, i)) {
            continue;
        }
        if (!has_vote(r, i, r->asked, &saying) || saying == ASK) {
            return;
        }
        if (saying != VOTE) {
            learn(r, i, saying);
            return;
        }
    }
    make_result(r);
    decide(r);
}

/** The part of another member. */
static void follow(ctn_recovery_t *r)
{
    saying_t saying;
    bool told = has_vote(r, r->first, r->asked, &saying);
    if (told && (saying == DECIDED || saying == OVER)) {
        learn(r, r->first, saying);
    } else if (!r->answered) {
        r->answered = true;
        send(r, r->first, r->asked, VOTE, &r->own);
    }
}

/** Go on with the current agreement. */
static void advance(ctn_recovery_t *r)
{
    if (r->fetching && r->pending > 0) {
        return;
    }
    const uint64_t *result = r->result[r->asked & 1];
    if (r->fetching && result[SEAL] == seal_of(r, result)) {
        r->fetching = false;
        decide(r);
        return;
    }
    r->fetching = false; /* nothing has come */
    if (r->first == r->me) {
        coordinate(r);
    } else {
        follow(r);
    }
}

catena_status_t ctn_agree(ctn_recovery_t *r, ctn_vote_t own, uint64_t **result)
{
    ctn_exec_t *exec = r->exec;
    ctn_backoff_t backoff = {0};
    r->asked++;
    r->own = own;
    r->answered = false;
    if (r->first == r->me && r->me > 0) { /* the others may have a result */
        send_all(r, r->asked, ASK);
    }
    while (exec->status == CATENA_OK && r->decided < r->asked) {
        advance(r);
        ctn_exec_wake(exec);
        if (r->decided < r->asked) {
            ctn_exec_poll_or_idle(exec, &backoff);
        }
    }
    ctn_exec_wake(exec);
    *result = r->result[r->asked & 1];
    return exec->status;
}

/** Whether a member may not know yet that the last agreement is over. */
static bool is_awaited(const ctn_recovery_t *r)
{
    saying_t saying;
    for (uint32_t i = 0; i < r->size; i++) {
        if (i != r->me && !ctn_member_is_dead(r, i) &&
            has_vote(r, i, r->asked, &saying) && saying == VOTE) {
            return true;
        }
    }
    return false;
}

catena_status_t ctn_recovery_leave(catena_group_t *world)
{
    ctn_recovery_t *r = world->recovery;
    ctn_exec_t *exec = world->exec;
    ctn_backoff_t backoff = {0};
    uint64_t *result;
    exec->deaths->leaving = true;
    catena_status_t status;
    /* Others may agree or shrink first. */
    do {
        status = ctn_agree(r, (ctn_vote_t){.flag = UINT64_MAX, .area = LEAVES},
                           &result);
    } while (status == CATENA_OK && !r->over);
    exec->deaths->over = true;
    /* If the coordinator left first, a member might see the end of its
     * connection before the result, and take it for dead. */
    while (r->first == r->me && exec->status == CATENA_OK && is_awaited(r)) {
        ctn_exec_poll_or_idle(exec, &backoff);
    }
    return status;
}

/* ---- shrink ---- */

/** Link the new group: its members are the living ones of the result. */
static catena_status_t link_survivors(const ctn_recovery_t *r, uint64_t *result,
                                      catena_group_t *made)
{
    uint32_t size = (uint32_t)result[LIVING];
    uint32_t *member = malloc(size * sizeof(*member));
    uint64_t *offset = malloc(size * sizeof(*offset));
    int *world = malloc(size * sizeof(*world));
    ctn_chain_place_t *place = &made->chain.place;
    place->size = size;
    place->left = place->right = CTN_NO_ADDRESS;
    uint32_t next = 0;
    bool usable = member != NULL && offset != NULL && world != NULL;
    for (uint32_t i = 0; i < r->size; i++) {
        const uint64_t *there = offsets_in(r, result, i);
        if (is_dead_in(result, i)) {
            continue;
        }
        ctn_address_t address = {r->member[i], there[0]};
        if (i < r->me) {
            place->left = address;
        } else if (i == r->me) {
            place->rank = next;
        } else if (place->right.process == CTN_NO_ADDRESS.process) {
            place->right = address;
        }
        if (usable) {
            member[next] = r->member[i];
            offset[next] = there[1];
            world[next] = (int)r->member[i];
        }
        next++;
    }
    if (!usable) {
        free(member);
        free(offset);
        free(world);
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status =
        size > 1 ? ctn_world_ranks_set(made, world) : CATENA_OK;
    if (size == 1 || status != CATENA_OK) {
        free(world);
    }
    catena_status_t set =
        ctn_recovery_set(made->recovery, size, place->rank, member, offset);
    return status == CATENA_OK ? set : status;
}

/** The id of the new group, for the recorder. */
static uint64_t id_of(const ctn_recovery_t *r, const catena_group_t *group)
{
    const ctn_recorded_scope_t *entry = group->recorded;
    return entry == NULL || entry->id == CTN_SCOPE_UNKNOWN
               ? CTN_SCOPE_UNKNOWN
               : ctn_hash_add(entry->id, ~r->asked);
}

/** Whether all living members have made a new group. */
static catena_status_t check_result(const ctn_recovery_t *r, uint64_t *result)
{
    for (uint32_t i = 0; i < r->size; i++) {
        if (!is_dead_in(result, i) && offsets_in(r, result, i)[0] == 0) {
            return ctn_refuse(
                r->exec->log, CATENA_ERR_ARG, "catena_group_shrink",
                "rank %u has no memory for the new group, or calls "
                "catena_group_agree or catena_finalize; expected "
                "catena_group_shrink on all "
                "living ranks of the group",
                i);
        }
    }
    return CATENA_OK;
}

catena_status_t ctn_shrink(catena_group_t *group, catena_group_t *made)
{
    ctn_recovery_t *r = group->recovery;
    uint64_t *result;
    ctn_vote_t own = {.flag = 0};
    if (made != NULL) {
        own.block = made->chain.place.self.offset;
        own.area = ctn_heap_offset(group->exec->heap, made->recovery->area);
    }
    catena_status_t status = ctn_agree(r, own, &result);
    if (status == CATENA_OK) {
        status = check_result(r, result);
    }
    if (status != CATENA_OK) {
        return status;
    }
    ctn_group_record(made, id_of(r, group));
    status = link_survivors(r, result, made);
    made->recovery->linked = true;
    if (status != CATENA_OK) {
        ctn_recovery_give_up(made);
        return ctn_refuse(group->exec->log, status, "catena_group_shrink",
                          "no memory for the new group, so it fails on the "
                          "other ranks; free memory, or raise the limit of "
                          "the process, and shrink again");
    }
    return CATENA_OK;
}
