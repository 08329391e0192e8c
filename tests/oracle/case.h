#ifndef ORACLE_CASE_H
#define ORACLE_CASE_H

#include "oracle/content.h"
#include "oracle/cover.h"
#include "oracle/element.h"

/* Cases of collectives: the values of the factors, and their valid
 * combinations. */

enum {
    ORACLE_KIND,
    ORACLE_ALGORITHM,
    ORACLE_HIERARCHY, /* of alltoalls also their parameters */
    ORACLE_GROUP,
    ORACLE_MODE,
    ORACLE_PLACE,
    ORACLE_TYPE,
    ORACLE_OP,
    ORACLE_SIZE,
    ORACLE_COUNTS,
    ORACLE_ROOT,
    ORACLE_MEMORY,
    ORACLE_ELEMENT, /* oracle_element_t; of reductions */
    ORACLE_COLL_FACTORS
};

/* Values of some factors. */
/* All; three of four, in reverse order; all, dealt out. */
enum { ORACLE_WORLD, ORACLE_TURNED, ORACLE_DEALT, ORACLE_GROUPS };
enum { ORACLE_BLOCKING, ORACLE_NONBLOCKING, ORACLE_PERSISTENT, ORACLE_MODES };
enum { ORACLE_APART, ORACLE_IN_PLACE, ORACLE_PLACES };
enum { ORACLE_FIRST, ORACLE_LAST, ORACLE_MIDDLE, ORACLE_ROOTS };
/* Sizes from ORACLE_LONG on are for vectors only, not for blocks. */
enum { ORACLE_LONG = 13, ORACLE_SIZES = 15 };
/* Distributions of unequal lengths: a quarter are 0; most are 0; one rank has
 * much, the others have little; only one rank has any. */
enum {
    ORACLE_MIXED,
    ORACLE_SPARSE,
    ORACLE_HUB,
    ORACLE_ONE,
    ORACLE_COUNTS_VALUES
};
/* Heap, malloc, one of each, both by rank; from ORACLE_ODD on at odd addresses,
 * not for reductions. */
enum { ORACLE_ODD = 5, ORACLE_MEMORIES = 7 };

/** Of all collectives. */
const oracle_space_t *oracle_space(void);

/** Set the factors that follow from others, or have no effect. */
void oracle_repair(oracle_case_t *c);
/** Draw a valid case of a kind. Hierarchies that need a network are drawn only
 * if there is one. */
void oracle_draw(oracle_case_t *c, unsigned kind, bool network,
                 uint64_t *random);

/** The name for catena_group_set: v variants share a setting. */
const char *oracle_setting_name(unsigned kind);
/** The number of algorithms, including auto. */
unsigned oracle_algorithms(unsigned kind);
const char *oracle_algorithm_name(unsigned kind, unsigned algorithm);
const char *oracle_hierarchy_name(unsigned hierarchy);
/** Parameters of an alltoall: leaders, radix, window. */
enum { ORACLE_PARAMETERS = 3 };
const char *oracle_parameter_name(unsigned parameter);
const char *oracle_parameter_value(unsigned parameter, unsigned hierarchy);
/** Whether a collective runs through the levels of a hierarchy, unless an
 * algorithm without levels is chosen. */
bool oracle_has_levels(unsigned kind);
/** Whether its hierarchy uses a network, which a single node may lack. */
bool oracle_by_network(const oracle_case_t *c);
void oracle_describe(const oracle_case_t *c, char *text, size_t bytes);
/** Elements of a block, or of all. */
size_t oracle_elements_of(const oracle_case_t *c);

#endif
