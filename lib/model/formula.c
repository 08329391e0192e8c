/* The cost formulas of Peng, Liu, Xie: GLEX-Alltoall, section 6. The cost
 * between nodes is modeled by LogGP, that within a node by tau-Lop
 * (Rico-Gallego, Diaz-Martin: tau-Lop: modeling performance of shared memory
 * MPI, Parallel Computing 46, 2015). The formulas are as printed, except that
 * sums are not approximated.
 *
 * The code computes the second line of equation 6:
 * ppn (p - ppn) (L + G (sz - 1)) + (p - 1)(o + g). In equations 7 to 10 the
 * number of messages that compete in one NUMA domain is the term before the ||:
 * ppn, ppn * ln, or ppn + (ln - 1) * n1, with n1 = ppn / nn, where nn is the
 * number of NUMA domains. The paper's o is the overhead of a message, so here
 * it is that of the sender plus that of the receiver. */

#include <string.h>

#include <catena/model.h>

#include "model/machine.h"

/* The terms of the formulas, with the paper's names. Times are in ns. */
typedef struct terms {
    /* nodes; ranks; ranks per node; ranks per NUMA domain; leaders per node;
     * bytes of a block */
    double M, p, ppn, n1, ln, sz;
    double n, k; /* copies of a message within a node; segments of it */
    double om;   /* o(m): until the first copy of such a message begins */
    /* latency; overhead; gap; gap per byte; b': transposition per byte */
    double L, o, g, G, b;
} terms_t;

/** L(m, a), in ns: the time of `a` copies of m bytes each at once in a NUMA
 * domain. Each copy has a start-up time, so more segments cost more. */
static double transfer(const catena_machine_t *machine, double m, double a)
{
    double shared = a * machine->domain_per_byte_ns;
    double each =
        shared > machine->copy_per_byte_ns ? shared : machine->copy_per_byte_ns;
    return machine->copy_start_ns + m * each;
}

/** a || T(m), in ns: the time of `a` messages of m bytes at once, equation 4.
 * With a = 1 it is equation 2; with a = 1 and n = 2 it is equation 3.
 *
 * The n copies of k segments form a pipeline of k + n - 1 steps. In step j all
 * segments under way are copied, tau_j of them: 1, 2, ... up to min(n, k), and
 * down to 1 again at the end. With n = 2, as in equation 3, tau_j is 1, then 2
 * for k - 1 steps, then 1. Equation 4 prints L_j(m, a tau_j); here it is
 * L_j(m / k, a tau_j), so that it is equation 2 with a = 1. */
static double concurrent(const catena_machine_t *machine, const terms_t *t,
                         double a, double m)
{
    double segment = m / t->k;
    double most = t->n < t->k ? t->n : t->k;
    double ns =
        (t->k + t->n + 1 - 2 * most) * transfer(machine, segment, a * most);
    for (double under_way = 1; under_way < most; under_way++) {
        ns += 2 * transfer(machine, segment, a * under_way);
    }
    return t->om + ns;
}

/** Equation 6, in ns. */
static double direct(const catena_machine_t *machine, const terms_t *t)
{
    (void)machine;
    return t->ppn * (t->p - t->ppn) * (t->L + t->G * (t->sz - 1)) +
           (t->p - 1) * (t->o + t->g);
}

/** The leaders' messages to the other M - 1 nodes: a term of equations 7 to 10.
 */
static double inter_node(const terms_t *t)
{
    double size = t->sz * t->ppn * t->ppn;
    return (t->M - 1) *
           (t->L + t->o / t->ln + (size - 1) * t->G + t->g / t->ln);
}

/** A leader's transposition of the blocks for one node: a term of the same. */
static double transpose(const terms_t *t)
{
    return t->b * t->sz * t->ppn * t->ppn;
}

/** Equation 7. Its inter-node term is that of equations 8 to 10 with ln = 1. */
static double one_leader(const catena_machine_t *machine, const terms_t *t)
{
    double gather = concurrent(machine, t, t->ppn, t->sz * t->ppn);
    return 2 * t->M * gather + t->M * transpose(t) + inter_node(t);
}

/** Equations 8 and 9: `a` messages compete. */
static double several_leaders(const catena_machine_t *machine, const terms_t *t,
                              double a)
{
    double gather = concurrent(machine, t, a, t->sz * t->ppn);
    return t->M / t->ln * (2 * gather + transpose(t)) + inter_node(t);
}

static double mpml(const catena_machine_t *machine, const terms_t *t)
{
    return several_leaders(machine, t, t->ppn * t->ln);
}

/** How many messages compete in a NUMA domain if leaders are spread over the
 * domains. */
static double spread(const terms_t *t)
{
    return t->ppn + (t->ln - 1) * t->n1;
}

static double nmpml(const catena_machine_t *machine, const terms_t *t)
{
    return several_leaders(machine, t, spread(t));
}

/** Equation 10: the first gather and the last transposition and scatter overlap
 * with nothing; between them the work within nodes overlaps with the messages
 * between nodes. */
static double onmpml(const catena_machine_t *machine, const terms_t *t)
{
    double start = concurrent(machine, t, spread(t), t->sz * t->ppn);
    double end = start + transpose(t);
    double inter = inter_node(t);
    double rounds = t->M / t->ln;
    double intra = (2 * rounds - 1) * start + (rounds - 1) * transpose(t);
    /* Negative if there are more leaders than nodes: nothing overlaps then. */
    intra = intra > 0 ? intra : 0;
    return start + (inter > intra ? inter : intra) + end;
}

/** Equations 2 to 4: a scatter from one rank to all others. */
static double scatter(const catena_machine_t *machine, const terms_t *t)
{
    return concurrent(machine, t, t->ppn - 1, t->sz);
}

/** Equations 2 and 4: each leader copies a block. */
static double gather(const catena_machine_t *machine, const terms_t *t)
{
    return concurrent(machine, t, t->ln, t->sz);
}

/** What catena copies in fragments. */
typedef enum fragments {
    WHOLE,    /* nothing: whole messages */
    OF_BLOCK, /* a block */
    OF_NODES  /* what a node sends to another one */
} fragments_t;

/** A formula. */
typedef struct formula {
    const char *name;      /* of the algorithm */
    bool one_leader;       /* ln is always 1 */
    int moves;             /* n in catena */
    fragments_t fragments; /* k in catena */
    double (*ns)(const catena_machine_t *machine, const terms_t *t);
} formula_t;

static const formula_t alltoalls[] = {
    {"direct", true, 1, WHOLE, direct},
    {"l-a2a", true, 1, OF_NODES, one_leader},
    {"mpml", false, 1, OF_NODES, mpml},
    {"nmpml", false, 1, OF_NODES, nmpml},
    {"onmpml", false, 1, OF_NODES, onmpml},
    {"l-a2a-plain", true, 1, WHOLE, one_leader},
    {"mpml-plain", false, 1, WHOLE, mpml},
    {"nmpml-plain", false, 1, WHOLE, nmpml},
    {NULL, false, 0, WHOLE, NULL},
};

static const formula_t on_node[] = {
    {"zero-copy", true, 1, WHOLE, scatter},
    {"staged", true, 2, OF_BLOCK, scatter},
    {"gather", false, 1, WHOLE, gather},
    {NULL, false, 0, WHOLE, NULL},
};

enum { MOVES_MOST = 16 };

/** The formula of a list for an algorithm. NULL: there is none. */
static const formula_t *find(const formula_t *list, const char *algorithm)
{
    for (; algorithm != NULL && list->name != NULL; list++) {
        if (strcmp(list->name, algorithm) == 0) {
            return list;
        }
    }
    return NULL;
}

/** Whether the numbers of a point are in range. */
static bool valid(const catena_model_point_t *point)
{
    return point->nodes >= 1 && point->ppn >= 1 && point->leaders >= 1 &&
           point->bytes >= 1 && point->moves >= 0 && point->moves <= MOVES_MOST;
}

/** k in catena: the number of fragments. */
static size_t segments(const formula_t *formula,
                       const catena_model_point_t *point)
{
    double ppn = point->ppn;
    double bytes =
        (double)point->bytes * (formula->fragments == OF_NODES ? ppn * ppn : 1);
    double fragments = (bytes - 1) / CTN_MODEL_FRAGMENT_BYTES;
    return formula->fragments == WHOLE ? 1
           : fragments < 0x1p63        ? (size_t)fragments + 1
                                       : SIZE_MAX;
}

catena_status_t ctn_model_path(const catena_model_point_t *point, int *moves,
                               size_t *k)
{
    const formula_t *formula = find(alltoalls, point->algorithm);
    if (formula == NULL) {
        formula = find(on_node, point->algorithm);
    }
    if (formula == NULL || !valid(point)) {
        return CATENA_ERR_ARG;
    }
    *moves = formula->moves;
    *k = segments(formula, point);
    return CATENA_OK;
}

static terms_t terms_of(const catena_machine_t *machine,
                        const catena_model_point_t *point,
                        const formula_t *formula)
{
    return (terms_t){
        .M = point->nodes,
        .p = (double)point->nodes * point->ppn,
        .ppn = point->ppn,
        .n1 = (double)point->ppn / machine->numa_domains,
        .ln = formula->one_leader ? 1 : point->leaders,
        .sz = (double)point->bytes,
        .n = point->moves > 0 ? point->moves : formula->moves,
        .k = (double)(point->segments > 0 ? point->segments
                                          : segments(formula, point)),
        .L = machine->latency_ns,
        .o = machine->send_overhead_ns + machine->receive_overhead_ns,
        .g = machine->gap_ns,
        .G = machine->gap_per_byte_ns,
        .b = machine->transpose_per_byte_ns,
        /* One flag publishes the data. Leaders are notified once a call. */
        .om = formula->ns == scatter ? machine->call_ns + machine->poll_ns +
                                           machine->signal_ns[CTN_DISTANCE_L3]
                                     : 0,
    };
}

/** Evaluate the formula of a list. */
static catena_status_t evaluate(const catena_machine_t *machine,
                                const formula_t *list,
                                const catena_model_point_t *point,
                                double *seconds)
{
    const formula_t *formula = find(list, point->algorithm);
    if (formula == NULL || !valid(point) ||
        (formula->ns == scatter && point->ppn < 2)) {
        return CATENA_ERR_ARG;
    }
    terms_t terms = terms_of(machine, point, formula);
    *seconds = formula->ns(machine, &terms) * 1e-9;
    return CATENA_OK;
}

catena_status_t ctn_model_alltoall(const catena_machine_t *machine,
                                   const catena_model_point_t *point,
                                   double *seconds)
{
    return evaluate(machine, alltoalls, point, seconds);
}

catena_status_t ctn_model_node(const catena_machine_t *machine,
                               const catena_model_point_t *point,
                               double *seconds)
{
    return evaluate(machine, on_node, point, seconds);
}
