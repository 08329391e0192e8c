/* Selects the algorithm of a split. */

#include <stdlib.h>
#include <string.h>

#include "core/refuse.h"
#include "core/units.h"
#include "split/call/call.h"

/** An algorithm, and the colors and keys to which it is applicable. */
typedef struct split_row {
    ctn_algorithm_name_t name;
    ctn_op_t *(*make)(const ctn_split_args_t *args); /* NULL: ctn_split_fast */
    bool integers;   /* needs colors and keys that catena_compare_int64
                        compares, or none */
    bool same_bytes; /* needs colors that are equal if and only if their bytes
                        are */
    bool takes_most; /* a number may follow the name, as in cheng:1024: see
                        ctn_split_args_t.most */
    bool every_bit;  /* see ctn_split_args_t.every_bit */
} split_row_t;

static const split_row_t rows[] = {
    {CTN_ALGORITHM_ALLGATHER, ctn_split_allgather, false, false, false, false},
    {CTN_ALGORITHM_ALLGATHER_FAST, NULL, false, false, false, false},
    {CTN_ALGORITHM_GATHER_SCATTER, ctn_split_gather_scatter, false, false,
     false, false},
    {CTN_ALGORITHM_CHENG, ctn_split_cheng, false, false, true, false},
    {CTN_ALGORITHM_BITONIC, ctn_split_bitonic, false, false, false, false},
    {CTN_ALGORITHM_RADIX, ctn_split_radix, true, false, false, false},
    {CTN_ALGORITHM_RADIX_PLAIN, ctn_split_radix, true, false, false, true},
    {CTN_ALGORITHM_HASH, ctn_split_hash, false, true, false, false},
    {CTN_ALGORITHM_HASH_PLAIN, ctn_split_hash_plain, false, true, false, false},
    {CTN_ALGORITHM_HASH64, ctn_split_hash64, false, true, false, false},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
/* Records at a sorter of cheng: smallest number that a name may give, number
 * without one, largest number. */
enum { CHENG_LEAST = 128, CHENG_USUAL = 1024, CHENG_MOST = 8192 };

static const char names[] =
    "auto, allgather, allgather-fast, gather-scatter, cheng, cheng:128 to "
    "cheng:8192, bitonic, radix, radix-plain, hash, hash-plain, hash64";

/** Return whether colors (or keys) are integers, or absent. The length of an
 * integer is not checked here: it may be wrong on this rank only, and radix
 * detects that on all ranks. */
static bool is_integer(catena_compare_t compare, size_t bytes)
{
    return compare == catena_compare_int64 || (compare == NULL && bytes == 0);
}

/** Return why an algorithm is not applicable to such colors and keys; NULL: it
 * is. */
static const char *mismatch(const split_row_t *row, const catena_split_t *split)
{
    bool color_is_known = split->color_compare == NULL ||
                          split->color_compare == catena_compare_int64;
    if (row->integers &&
        !(is_integer(split->color_compare, split->color_bytes) &&
          is_integer(split->key_compare, split->key_bytes))) {
        return "needs colors and keys of 8 bytes, compared by "
               "catena_compare_int64";
    }
    if (row->same_bytes && !color_is_known) {
        return "needs colors compared bytewise or by catena_compare_int64, "
               "because others may be equal with different bytes";
    }
    return NULL;
}

static const char *name_of(const split_row_t *row)
{
    return ctn_algorithm_names[row->name];
}

static const split_row_t *find(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(name_of(&rows[i])) == length &&
            memcmp(name_of(&rows[i]), name, length) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/** Parse the number after the name of cheng. @return whether it is valid */
static bool read_most(const char *text, uint32_t *most)
{
    uint64_t value = 0;
    bool valid =
        ctn_units_count(text, CHENG_MOST, &value) && value >= CHENG_LEAST;
    *most = (uint32_t)value;
    return valid;
}

/** Set the choice to an algorithm. */
static void take(ctn_split_choice_t *choice, const split_row_t *row)
{
    choice->name = name_of(row);
    choice->make = row->make;
    choice->every_bit = row->every_bit;
}

static bool is_auto(const char *name)
{
    return name == NULL || strcmp(name, "auto") == 0;
}

catena_status_t ctn_split_named(const char *function, const ctn_log_t *log,
                                const catena_split_t *split,
                                ctn_split_choice_t *choice)
{
    const char *name = split->algorithm;
    *choice = (ctn_split_choice_t){.most = CHENG_USUAL};
    if (is_auto(name)) {
        return CATENA_OK;
    }
    const char *colon = strchr(name, ':');
    const split_row_t *row =
        find(name, colon != NULL ? (size_t)(colon - name) : strlen(name));
    if (row == NULL ||
        (colon != NULL &&
         (!row->takes_most || !read_most(colon + 1, &choice->most)))) {
        return ctn_refuse(log, CATENA_ERR_ARG, function,
                          "unknown algorithm '%s'; expected one of %s", name,
                          names);
    }
    const char *why = mismatch(row, split);
    if (why != NULL) {
        return ctn_refuse(log, CATENA_ERR_ARG, function,
                          "%s %s; auto selects an applicable algorithm",
                          name_of(row), why);
    }
    take(choice, row);
    return CATENA_OK;
}

/** The rule for a split. @param keys whether keys order the ranks */
static const ctn_rule_t *find_rule(const catena_group_t *group,
                                   ctn_algorithm_set_t possible, bool keys)
{
    ctn_choice_t choice;
    uint32_t ranks = group->chain.place.size;
    const ctn_rule_facts_t facts = {
        .ranks = ranks, .nodes = 1, .ppn = ranks, .keys = keys};
    ctn_tuning_find(group->exec->tuning, CTN_RULES_SPLIT, possible, &facts, 0,
                    &choice);
    return choice.rule;
}

bool ctn_split_can_report(const catena_group_t *group, const char *name)
{
    if (!is_auto(name)) {
        return strcmp(name, "allgather-fast") == 0;
    }
    for (int keys = 0; keys < 2; keys++) {
        if (find_rule(group, UINT64_MAX, keys > 0)->algorithm !=
            CTN_ALGORITHM_ALLGATHER_FAST) {
            return false;
        }
    }
    return true;
}

void ctn_split_choose(const catena_group_t *group, const catena_split_t *split,
                      ctn_split_choice_t *choice)
{
    /* Other members need not have the lengths of this one. */
    catena_split_t known = *split;
    known.color_bytes = (split->flags & CATENA_SPLIT_NO_SPLIT) == 0;
    known.key_bytes = (split->flags & CATENA_SPLIT_NO_REORDER) == 0;
    ctn_algorithm_set_t possible = 0;
    for (size_t i = 0; i < ROWS; i++) {
        possible |= (ctn_algorithm_set_t)(mismatch(&rows[i], &known) == NULL)
                    << rows[i].name;
    }
    choice->rule = find_rule(group, possible, known.key_bytes > 0);
    const split_row_t *row = rows;
    while (row->name != choice->rule->algorithm) {
        row++;
    }
    take(choice, row);
}
