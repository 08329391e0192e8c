/* Cases of neighborhood collectives; see case.h. */

#include "oracle/neighborhood/case.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    GRAPH,
    ALGORITHM,
    KIND,
    FORM,
    TYPE,
    OP,
    SIZE,
    EVEN, /* v variants: all blocks have one length */
    PLACE,
    MEMORY,
    REORDER,
    ELEMENT,
    FACTORS
};

enum { COMBINING = 3, MEMORIES = 4 };

/* Graphs: all shapes from lists, some from edges, grids. */
static const oracle_shape_t of_edges[] = {
    ORACLE_SHAPE_HUB, ORACLE_SHAPE_COMPONENTS, ORACLE_SHAPE_DENSE,
    ORACLE_SHAPE_SYMMETRIC};
enum {
    EDGES = ORACLE_GRAPH_SHAPES,
    CART = EDGES + sizeof(of_edges) / sizeof(of_edges[0]),
    DERIVED,
    GRAPHS
};

static const size_t counts[] = {0, 1, 14, 37, 150, 700, 3000, 9000};
enum { SIZES = sizeof(counts) / sizeof(counts[0]) };
/** Graphs with more edges have shorter blocks. */
enum { MANY_EDGES = 400 };

/** Whether ranks have as many sources as targets. */
static bool is_balanced(unsigned graph)
{
    return graph == ORACLE_SHAPE_DOUBLE || graph == ORACLE_SHAPE_SYMMETRIC ||
           graph >= CART;
}

static bool valid(const oracle_case_t *c)
{
    const uint8_t *v = c->value;
    unsigned kind = v[KIND];
    bool reduces = ctn_has_trait(oracle_nbr_kind(kind), CTN_REDUCES);
    bool varies = ctn_has_lengths(oracle_nbr_kind(kind));
    bool exchanges = kind == ORACLE_NEIGHBOR_ALLTOALL ||
                     (v[EVEN] && (kind == ORACLE_NEIGHBOR_ALLTOALLV ||
                                  kind == ORACLE_NEIGHBOR_ALLTOALLW));
    if (reduces ? v[TYPE] >= ORACLE_VECTOR || !oracle_op_takes(v[OP], v[TYPE])
                : v[OP] != ORACLE_NO_OP) {
        return false;
    }
    return (reduces || v[ELEMENT] == ORACLE_PLAIN) &&
           (v[ALGORITHM] != COMBINING || v[GRAPH] >= CART) &&
           (!v[EVEN] || varies) &&
           (!v[PLACE] || kind == ORACLE_NEIGHBOR_REDUCE ||
            (exchanges && is_balanced(v[GRAPH])));
}

/** All valid combinations of dependent factors: kinds, types, operations and
 * elements, on a grid, even or not. */
static oracle_case_t *make_bases(size_t *count)
{
    enum {
        ALL = ORACLE_NBR_KINDS * ORACLE_TYPES * ORACLE_OPS * 2 *
              ORACLE_ELEMENT_VALUES
    };
    oracle_case_t *bases = oracle_zeros(ALL, sizeof(*bases));
    for (unsigned i = 0; i < ALL; i++) {
        oracle_case_t *c = &bases[*count];
        unsigned rest = i / 2 / ORACLE_ELEMENT_VALUES;
        *c = (oracle_case_t){
            .value = {[GRAPH] = DERIVED,
                      [EVEN] = i % 2,
                      [ELEMENT] = (uint8_t)(i / 2 % ORACLE_ELEMENT_VALUES),
                      [OP] = (uint8_t)(rest % ORACLE_OPS),
                      [TYPE] = (uint8_t)(rest / ORACLE_OPS % ORACLE_TYPES),
                      [KIND] = (uint8_t)(rest / ORACLE_OPS / ORACLE_TYPES)}};
        *count += valid(c);
    }
    return bases;
}

const oracle_space_t *oracle_nbr_space(void)
{
    static oracle_space_t space = {
        .factors = FACTORS,
        .values = {GRAPHS, ORACLE_NBR_ALGORITHMS, ORACLE_NBR_KINDS,
                   ORACLE_FORMS, ORACLE_TYPES, ORACLE_OPS, SIZES, 2, 2,
                   MEMORIES, 2, ORACLE_ELEMENT_VALUES},
        .valid = valid};
    if (space.base == NULL) {
        space.base = make_bases(&space.bases);
    }
    return &space;
}

const char *oracle_nbr_case_algorithm(const oracle_case_t *c)
{
    return oracle_nbr_algorithms[c->value[ALGORITHM]];
}

bool oracle_nbr_case_reorders(const oracle_case_t *c)
{
    return c->value[REORDER] != 0;
}

void oracle_nbr_case_graph(const oracle_case_t *c, int ranks, uint64_t seed,
                           oracle_graph_t *graph)
{
    unsigned g = c->value[GRAPH];
    oracle_graph_draw(graph,
                      g == DERIVED ? ORACLE_WAY_DERIVED
                      : g == CART  ? ORACLE_WAY_CART
                      : g >= EDGES ? ORACLE_WAY_DIST
                                   : ORACLE_WAY_ADJACENT,
                      g >= CART    ? ORACLE_SHAPE_EMPTY
                      : g >= EDGES ? of_edges[g - EDGES]
                                   : (oracle_shape_t)g,
                      ranks, seed);
}

oracle_nbr_call_t oracle_nbr_case_call(const oracle_case_t *c,
                                       const oracle_graph_t *graph,
                                       catena_neighborhood_t *neighborhood,
                                       const oracle_table_t *table,
                                       uint64_t seed)
{
    const uint8_t *v = c->value;
    oracle_nbr_call_t call = {
        .graph = graph,
        .neighborhood = neighborhood,
        .table = table,
        .kind = v[KIND],
        .type = v[TYPE],
        .op = v[OP],
        .element = v[ELEMENT],
        .count = counts[v[SIZE]] / (graph->edges > MANY_EDGES ? 9 : 1),
        .shape = seed,
        .uniform = v[EVEN],
        .form = v[FORM],
        .in_place = v[PLACE],
        .as_words = seed % 2 == 0,
        .send_memory = v[MEMORY] % 2,
        .receive_memory = v[MEMORY] / 2,
    };
    oracle_nbr_repair(&call);
    return call;
}

void oracle_nbr_case_describe(const oracle_case_t *c, char *text, size_t bytes)
{
    static const char *const graphs[GRAPHS] = {"empty",
                                               "self",
                                               "ring",
                                               "double",
                                               "fan-in",
                                               "fan-out",
                                               "hub",
                                               "complete",
                                               "pairs",
                                               "lonely",
                                               "components",
                                               "sparse",
                                               "dense",
                                               "symmetric",
                                               "edges of a hub",
                                               "edges of components",
                                               "dense edges",
                                               "symmetric edges",
                                               "grid",
                                               "from a grid"};
    const uint8_t *v = c->value;
    static const char *const forms[] = {"", "i", "init "};
    snprintf(text, bytes,
             "%s%s on %s%s algorithm=%s%s type=\"%s\"%s op=%s "
             "count=%zu%s memory=%u",
             forms[v[FORM]], oracle_nbr_kind(v[KIND])->name, graphs[v[GRAPH]],
             v[REORDER] ? " reordered" : "", oracle_nbr_case_algorithm(c),
             v[PLACE] ? " in-place" : "", oracle_type_name(v[TYPE]),
             oracle_element_name(v[ELEMENT]), oracle_op_name(v[OP]),
             counts[v[SIZE]], v[EVEN] ? " even" : "", v[MEMORY]);
}
