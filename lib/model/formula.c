/* The cost formulas of Peng, Liu, Xie: GLEX-Alltoall, section 6. The cost
 * between nodes is modeled by LogGP, that within a node by tau-Lop. The
 * formulas are as printed, except that sums are not approximated.
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
    /* latency; overhead; gap; gap per byte; b': transposition per byte */
    double L, o, g, G, b;
} terms_t;

/** The time in ns of `a` simultaneous copies of m bytes each in a NUMA domain:
 * tau-Lop, equation 4 with n = 1 (one copy moves a message, through the shared
 * heap) and k = 1: T = o(m) + L(m, A), where A is `a`. */
static double concurrent(const catena_machine_t *machine, double a, double m)
{
    double shared = a * machine->domain_per_byte_ns;
    double each =
        shared > machine->copy_per_byte_ns ? shared : machine->copy_per_byte_ns;
    return machine->copy_start_ns + m * each;
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
    double gather = concurrent(machine, t->ppn, t->sz * t->ppn);
    return 2 * t->M * gather + t->M * transpose(t) + inter_node(t);
}

/** Equations 8 and 9: `a` messages compete. */
static double several_leaders(const catena_machine_t *machine, const terms_t *t,
                              double a)
{
    double gather = concurrent(machine, a, t->sz * t->ppn);
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
    double start = concurrent(machine, spread(t), t->sz * t->ppn);
    double end = start + transpose(t);
    double inter = inter_node(t);
    double rounds = t->M / t->ln;
    double intra = (2 * rounds - 1) * start + (rounds - 1) * transpose(t);
    /* Negative if there are more leaders than nodes: nothing overlaps then. */
    intra = intra > 0 ? intra : 0;
    return start + (inter > intra ? inter : intra) + end;
}

static const struct {
    const char *name; /* of the algorithm */
    bool one_leader;  /* ln is always 1 */
    double (*ns)(const catena_machine_t *machine, const terms_t *t);
} formulas[] = {
    {"direct", true, direct},  {"l-a2a", true, one_leader},
    {"mpml", false, mpml},     {"nmpml", false, nmpml},
    {"onmpml", false, onmpml},
};

catena_status_t ctn_model_alltoall(const catena_machine_t *machine,
                                   const catena_model_point_t *point,
                                   double *seconds)
{
    if (point->algorithm == NULL || point->nodes < 1 || point->ppn < 1 ||
        point->leaders < 1 || point->bytes < 1) {
        return CATENA_ERR_ARG;
    }
    terms_t terms = {
        .M = point->nodes,
        .p = (double)point->nodes * point->ppn,
        .ppn = point->ppn,
        .n1 = (double)point->ppn / machine->numa_domains,
        .ln = point->leaders,
        .sz = (double)point->bytes,
        .L = machine->latency_ns,
        .o = machine->send_overhead_ns + machine->receive_overhead_ns,
        .g = machine->gap_ns,
        .G = machine->gap_per_byte_ns,
        .b = machine->transpose_per_byte_ns,
    };
    for (size_t i = 0; i < sizeof(formulas) / sizeof(formulas[0]); i++) {
        if (strcmp(formulas[i].name, point->algorithm) == 0) {
            terms.ln = formulas[i].one_leader ? 1 : terms.ln;
            *seconds = formulas[i].ns(machine, &terms) * 1e-9;
            return CATENA_OK;
        }
    }
    return CATENA_ERR_ARG;
}
