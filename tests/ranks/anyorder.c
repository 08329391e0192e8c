#include "anyorder.h"

#include "oracle/random.h"

/* ---- an order of this rank's own ---- */

static void shuffle(size_t count, size_t order[], uint64_t *own)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = oracle_below(own, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

static uint64_t own_random(const rank_test_t *test, uint64_t seed)
{
    return oracle_hash(seed, (uint64_t)test->place.rank, 1);
}

/* ---- freeing ---- */

enum { FREED = 7 };

typedef struct freed {
    catena_group_t *group; /* the neighborhood's own, if it is one */
    catena_neighborhood_t *ring;
} freed_t;

/** Whether the sum over a group is right. */
static void add_up(rank_test_t *test, catena_group_t *group)
{
    int64_t own = catena_group_rank(group);
    int64_t size = catena_group_size(group);
    int64_t sum = -1;
    RANK_CHECK(test, catena_allreduce(&own, &sum, 1, CATENA_INT64, CATENA_SUM,
                                      group) == CATENA_OK);
    RANK_CHECK(test, sum == size * (size - 1) / 2);
}

static void use(rank_test_t *test, freed_t *f, uint64_t what)
{
    int64_t own = catena_group_rank(f->group);
    int64_t size = catena_group_size(f->group);
    int64_t come[2] = {-1, -1};
    switch (what % 4) {
    case 0:
        add_up(test, f->group);
        break;
    case 1:
        come[0] = own == size - 1 ? own : -1;
        RANK_CHECK(test, catena_bcast(come, 1, CATENA_INT64, (int)size - 1,
                                      f->group) == CATENA_OK);
        RANK_CHECK(test, come[0] == size - 1);
        break;
    case 2:
        RANK_CHECK(test, catena_barrier(f->group) == CATENA_OK);
        break;
    default:
        if (f->ring != NULL) {
            RANK_CHECK(test, catena_neighbor_gather(&own, 1, CATENA_INT64, come,
                                                    1, CATENA_INT64,
                                                    f->ring) == CATENA_OK);
            RANK_CHECK(test, come[0] == (own + size - 1) % size &&
                                 come[1] == (own + 1) % size);
        }
    }
}

static void make(rank_test_t *test, freed_t *f, uint64_t what)
{
    static const int periods[] = {1};
    int rank = test->place.rank;
    catena_group_t *part = NULL;
    *f = (freed_t){NULL, NULL};
    RANK_CHECK(test,
               catena_group_split(test->world,
                                  what % 3 == 0 ? 0 : rank % (int)(what % 3),
                                  rank, &part) == CATENA_OK);
    f->group = part;
    if (what % 2 == 0 && part != NULL) {
        const int dims[] = {catena_group_size(part)};
        RANK_CHECK(test, catena_cart_create(part, 1, dims, periods, 0, NULL,
                                            &f->ring) == CATENA_OK);
        f->group = catena_neighborhood_group(f->ring);
        RANK_CHECK(test, catena_group_free(part) == CATENA_OK);
    }
}

static catena_status_t give_back(freed_t *f)
{
    return f->ring != NULL ? catena_neighborhood_free(f->ring)
                           : catena_group_free(f->group);
}

/** One member has begun a barrier, and is refused alone: it needs nobody for
 * that, and the others do not hear of it. */
static void too_early(rank_test_t *test, freed_t *f)
{
    catena_request_t *request = NULL;
    int size = catena_group_size(f->group);
    bool early = catena_group_rank(f->group) == size - 1;
    for (int turn = 0; turn < 2; turn++) {
        if (early == (turn == 0)) {
            RANK_CHECK(test, catena_ibarrier(f->group, &request) == CATENA_OK);
        }
        if (turn == 0 && early && size > 1) {
            RANK_CHECK(test, give_back(f) == CATENA_ERR_STATE);
            RANK_CHECK(test, give_back(f) == CATENA_ERR_STATE);
        }
        add_up(test, test->world);
    }
    RANK_CHECK(test, catena_wait(&request) == CATENA_OK);
}

void freed_in_any_order(rank_test_t *test, uint64_t seed)
{
    freed_t freed[FREED];
    freed_t fresh;
    size_t order[FREED];
    uint64_t shared = seed;
    uint64_t own = own_random(test, seed);
    for (size_t i = 0; i < FREED; i++) {
        make(test, &freed[i], oracle_random(&shared));
    }
    for (size_t i = 0; i < 2 * FREED; i++) {
        use(test, &freed[i % FREED], oracle_random(&shared));
    }
    too_early(test, &freed[oracle_below(&shared, FREED)]);
    shuffle(FREED, order, &own);
    for (size_t i = 0; i < FREED; i++) {
        RANK_CHECK(test, give_back(&freed[order[i]]) == CATENA_OK);
        switch (oracle_random(&shared) % 4) {
        case 0:
            add_up(test, test->world);
            break;
        case 1:
            make(test, &fresh, oracle_random(&shared));
            use(test, &fresh, oracle_random(&shared));
            RANK_CHECK(test, give_back(&fresh) == CATENA_OK);
            break;
        default:
            break;
        }
    }
}
