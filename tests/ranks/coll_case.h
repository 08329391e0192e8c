#ifndef COLL_CASE_H
#define COLL_CASE_H

#include "rank_test.h"

/* Collectives against a naive reference. A case is a value for each factor;
 * which values go together is known here, and a small set of cases can be found
 * in which every two values that go together meet. */

typedef enum coll_kind {
    COLL_BARRIER,
    COLL_BCAST,
    COLL_REDUCE,
    COLL_ALLREDUCE,
    COLL_GATHER,
    COLL_GATHERV,
    COLL_SCATTER,
    COLL_SCATTERV,
    COLL_ALLGATHER,
    COLL_ALLGATHERV,
    COLL_REDUCE_SCATTER,
    COLL_REDUCE_SCATTER_BLOCK,
    COLL_SCAN,
    COLL_EXSCAN,
    COLL_KINDS
} coll_kind_t;

typedef enum coll_factor {
    COLL_KIND,
    COLL_ALGORITHM,
    COLL_HIERARCHY,
    COLL_GROUP,
    COLL_MODE,
    COLL_PLACE,
    COLL_TYPE,
    COLL_OP,
    COLL_SIZE,
    COLL_ROOT,
    COLL_MEMORY,
    COLL_FACTORS
} coll_factor_t;

typedef struct coll_case {
    uint8_t value[COLL_FACTORS];
} coll_case_t;

/* Values of some factors. */
/* All; three of four, the other way round; all, dealt out. */
enum { COLL_WORLD, COLL_TURNED, COLL_DEALT, COLL_GROUPS };
enum { COLL_BLOCKING, COLL_NONBLOCKING, COLL_PERSISTENT, COLL_MODES };
enum { COLL_APART, COLL_IN_PLACE, COLL_PLACES };
enum { COLL_FIRST, COLL_LAST, COLL_MIDDLE, COLL_ROOTS };
/* Sizes from COLL_LONG on are for vectors only, not for blocks. */
enum { COLL_LONG = 13, COLL_SIZES = 15 };
/* Heap, malloc, one of each, both by rank; from COLL_ODD on at odd addresses,
 * not for reductions. */
enum { COLL_ODD = 5, COLL_MEMORIES = 7 };

/* ---- coll_value.c: elements and operations ---- */

/* Fixed types, then: several uint64; from COLL_VECTOR on with gaps, or
 * different types of the same data on both sides, not for reductions. */
enum {
    COLL_FIXED = 20,
    COLL_PAIR = COLL_FIXED,
    COLL_TRIPLE, /* segments are no whole number of these */
    COLL_VECTOR,
    COLL_INDEXED,
    COLL_RESIZED,
    COLL_TO_BYTES,
    COLL_TYPES
};
enum { COLL_ELEMENT_BYTES = 24 }; /* of data, at most */

/** Operations: none, the predefined ones, users' that commutes or not. */
enum { COLL_NO_OP, COLL_COMMUTING = 13, COLL_ORDERED, COLL_OPS };

/** An element type, as the test knows it. */
typedef struct coll_type {
    const char *name;
    catena_datatype_t type;
    size_t bytes;  /* of data */
    size_t extent; /* of memory */
    size_t runs;   /* data that lie together: */
    struct {
        size_t at;
        size_t bytes;
    } run[3];
} coll_type_t;

/** Types and operations of this process. The receiving side of a type may
 * differ from the sending one. */
typedef struct coll_table {
    coll_type_t send[COLL_TYPES];
    coll_type_t receive[COLL_TYPES];
    catena_op_t op[COLL_OPS];
} coll_table_t;

void coll_table_open(rank_test_t *test, coll_table_t *table);
void coll_table_close(rank_test_t *test, coll_table_t *table);

const char *coll_type_name(unsigned type);
const char *coll_op_name(unsigned op);

/** Single bytes, and an operation for them. */
enum { COLL_BYTE = 0, COLL_BXOR = 10 };

/** Whether an operation takes a type. */
bool coll_op_takes(unsigned op, unsigned type);

/** Element `index` of what `rank` gives, of `seed`: data, without gaps. What
 * is reduced by `op` comes out exactly in any order. */
void coll_element(unsigned type, unsigned op, uint64_t seed, size_t rank,
                  size_t index, void *element);

/** left op right, data without gaps; `out` may be either. */
void coll_combine(unsigned type, unsigned op, const void *left,
                  const void *right, void *out);

/** Zeros have one sign afterwards. */
void coll_normalize(unsigned type, void *data, size_t elements);

/* ---- coll_cover.c: which cases there are ---- */

unsigned coll_values(coll_factor_t factor);
bool coll_valid(const coll_case_t *c);
bool coll_reduces(unsigned kind);
bool coll_rooted(unsigned kind);
bool coll_vector_counts(unsigned kind);

/** Fill in what follows from the other factors, or does not matter. */
void coll_repair(coll_case_t *c);

/** Draw a valid case of a kind. */
void coll_draw(coll_case_t *c, unsigned kind, bool network, uint64_t *random);

/** A set in which every two values that go together meet, and every collective
 * goes by every algorithm in every hierarchy. The caller frees it. */
coll_case_t *coll_cover(size_t *count);
/** How many pairs of values that go together meet nowhere in a set, and how
 * many of collective, algorithm and hierarchy. */
size_t coll_uncovered(const coll_case_t *set, size_t count);

const char *coll_kind_name(unsigned kind);
/** As catena_group_set takes it: v variants go with theirs. */
const char *coll_setting_name(unsigned kind);
/** How many there are, with auto. */
unsigned coll_algorithms(unsigned kind);
const char *coll_algorithm_name(unsigned kind, unsigned algorithm);
const char *coll_hierarchy_name(unsigned hierarchy);
/** Whether its hierarchy takes a network, which one node need not have. */
bool coll_by_network(const coll_case_t *c);
void coll_describe(const coll_case_t *c, char *text, size_t bytes);

/* ---- coll_call.c: one call ---- */

/** A buffer with what is to be in it. */
typedef struct coll_side {
    rank_memory_t memory;
    unsigned char *block; /* guard, elements, guard */
    unsigned char *image;
    size_t bytes;
    unsigned char *base;
    size_t *counts;
    ptrdiff_t *displacements;
} coll_side_t;

typedef struct coll_call {
    coll_case_t c;
    catena_group_t *group;
    const coll_table_t *table;
    size_t exactly; /* elements, whatever the case says; 0: as it says */
    size_t size;
    size_t rank;
    size_t root;
    size_t count;  /* elements, of a block or of all */
    size_t *share; /* [size]: of each rank where lengths differ */
    uint64_t seed;
    coll_side_t send;
    coll_side_t receive;
    catena_request_t *request;
} coll_call_t;

/** The setting of a case for its group's operations from now on. */
void coll_choose_hierarchy(rank_test_t *test, const coll_case_t *c,
                           catena_group_t *group);
void coll_choose_algorithm(rank_test_t *test, const coll_case_t *c,
                           catena_group_t *group);
/** Take the buffers; c, group, table, seed and maybe exactly are set. */
void coll_open(rank_test_t *test, coll_call_t *call);
/** Other contents. */
void coll_fill(coll_call_t *call, uint64_t seed);
/** Blocking, or make the request, started or not, as the mode is. */
catena_status_t coll_run(coll_call_t *call);
/** Hold buffers against the definition. */
void coll_check(rank_test_t *test, coll_call_t *call, const char *what);
void coll_close(rank_test_t *test, coll_call_t *call);

#endif
