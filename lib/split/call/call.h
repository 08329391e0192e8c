#ifndef CTN_SPLIT_CALL_CALL_H
#define CTN_SPLIT_CALL_CALL_H

#include "group/check.h"
#include "model/tuning.h"
#include "split/algorithms.h"
#include "topo/topo.h"

/** Log that a split has failed since the comparators are inconsistent. */
void ctn_split_log_inconsistent(const catena_group_t *group);

/** Create a hidden duplicate of a group for a persistent request. A detached
 * operation of the group sets its place in its chain. That operation is
 * numbered with the others of the group, so all members combine the duplicates
 * of the same request if they initialize requests in the same order. Without
 * memory the context is aborted.
 * @param signature for ctn_call_start_detached; or NULL */
catena_status_t ctn_hidden_make(catena_group_t *group,
                                const ctn_signature_t *signature,
                                ctn_hidden_t **hidden);
/** catena_group_dup as a part of another call that all ranks make. If it
 * succeeds, the rank is in that call until ctn_call_ends. */
catena_status_t ctn_group_dup_for(ctn_call_code_t code, const char *function,
                                  catena_group_t *group, catena_group_t **out);
/** The same of catena_group_split_int64. */
catena_status_t ctn_group_split_for(ctn_call_code_t code, const char *function,
                                    catena_group_t *group, int64_t color,
                                    int64_t key, catena_group_t **out);
/** Make a request the owner of a hidden duplicate, which is freed with it. */
void ctn_hidden_own(ctn_op_t *op, ctn_hidden_t *hidden);

/** The selected algorithm, and the reason. */
typedef struct ctn_split_choice {
    const char *name; /* NULL: not selected yet */
    /** Creates its operation; NULL: allgather-fast, see ctn_split_fast */
    ctn_op_t *(*make)(const ctn_split_args_t *args);
    uint32_t most;          /* of cheng, see ctn_split_args_t */
    bool every_bit;         /* of radix, likewise */
    const ctn_rule_t *rule; /* that selected it; NULL: it was asked for */
} ctn_split_choice_t;

/** State of the operation of a split call. */
typedef struct ctn_split_call {
    /* arguments */
    catena_group_t *parent;    /* the group that is split */
    catena_split_t by;         /* the significant arguments of the call */
    ctn_split_choice_t choice; /* of the algorithm */
    catena_group_t **out;      /* where the caller wants the new group */
    bool wrong;  /* the arguments are invalid: this member takes part only to
                    report it to the others; its record is empty */
    uint64_t id; /* of the new group */
    ctn_hidden_t *hidden; /* the hidden duplicate to make, or NULL */
    /* working */
    catena_group_t *made;  /* the new group; NULL once handed over */
    bool known;            /* other members may know the address of its block */
    ctn_split_args_t args; /* of the algorithm */
    ctn_record_t *record;  /* this member's */
    size_t record_bytes;   /* of its memory; 0: it is in inline_record */
    ctn_tally_t before;    /* the tally when the split started */
    ctn_words_t own, left, right; /* of the scan of members without a color */
    /* Longer records are in the heap. */
    _Alignas(8) unsigned char inline_record[CTN_INLINE_BYTES];
} ctn_split_call_t;

/** Continue as allgather-fast (SPL-2), with these phases of the call at the
 * end. Like the algorithms of split/algorithms.h, it sets the place of the
 * chain of the new group. If possible it also builds the topology of that. It
 * fails with CATENA_ERR_ARG on all members if their comparators are of
 * different kinds (none, catena_compare_int64, another one), or if one member
 * had invalid arguments. */
ctn_step_t ctn_split_fast(ctn_op_t *op);
/** Phase: members without a color have formed a chain as well; release it when
 * all of them have arrived. */
ctn_step_t ctn_split_drop_undefined(ctn_op_t *op);
/** Where failures are returned: let the members of the new group know each
 * other. */
ctn_step_t ctn_split_gather_members(ctn_op_t *op);
/** The `finish` of the operation. */
void ctn_split_finish(ctn_op_t *op);

/** Look up the algorithm that split->algorithm names. "auto" or NULL:
 * choice->name stays NULL, for ctn_split_choose. Logs errors.
 * @return ERR_ARG: unknown, or not applicable to such colors and keys */
catena_status_t ctn_split_named(const char *function, const ctn_log_t *log,
                                const catena_split_t *split,
                                ctn_split_choice_t *choice);

/** Return whether a member with invalid arguments can report them to the other
 * members. It can if these run allgather-fast, which carries such reports, as
 * far as this member's group and arguments tell.
 * @param name of the algorithm, in the arguments of this member; may be NULL */
bool ctn_split_can_report(const catena_group_t *group, const char *name);

/** Select an algorithm by rules, which match what all members know: the size of
 * the group, the flags and the comparators. */
void ctn_split_choose(const catena_group_t *group, const catena_split_t *split,
                      ctn_split_choice_t *choice);

/** Record what a split of this group has cost. Without memory nothing is
 * recorded.
 * @param before the tally when the split started */
void ctn_split_remember(catena_group_t *group, const ctn_split_choice_t *choice,
                        const ctn_tally_t *before);
/** Describe the last split of this group, for catena_group_explain. */
void ctn_split_explain(const catena_group_t *group, char *text, size_t bytes);

#endif
