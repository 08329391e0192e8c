/* Selects the algorithm of a split. */

#include <stdlib.h>
#include <string.h>

#include "core/refuse.h"
#include "core/units.h"
#include "split/call/call.h"

/** An algorithm, and the colors and keys to which it is applicable. */
typedef struct split_row {
    const char *name;
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
    {"allgather", ctn_split_allgather, false, false, false, false},
    {"allgather-fast", NULL, false, false, false, false},
    {"gather-scatter", ctn_split_gather_scatter, false, false, false, false},
    {"cheng", ctn_split_cheng, false, false, true, false},
    {"bitonic", ctn_split_bitonic, false, false, false, false},
    {"radix", ctn_split_radix, true, false, false, false},
    {"radix-plain", ctn_split_radix, true, false, false, true},
    {"hash", ctn_split_hash, false, true, false, false},
    {"hash64", ctn_split_hash64, false, true, false, false},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
/* Records at a sorter of cheng: smallest number that a name may give, number
 * without one, largest number. */
enum { CHENG_LEAST = 128, CHENG_USUAL = 1024, CHENG_MOST = 8192 };

static const char names[] =
    "auto, allgather, allgather-fast, gather-scatter, cheng, cheng:128 to "
    "cheng:8192, bitonic, radix, radix-plain, hash, hash64";

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

static const split_row_t *find(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == length &&
            memcmp(rows[i].name, name, length) == 0) {
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

static bool is_auto(const char *name)
{
    return name == NULL || strcmp(name, "auto") == 0;
}

catena_status_t ctn_split_named(const char *function, const ctn_log_t *log,
                                const catena_split_t *split,
                                ctn_split_choice_t *choice)
{
    const char *name = split->algorithm;
    *choice =
        (ctn_split_choice_t){.most = CHENG_USUAL, .reason = "selected by name"};
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
                          row->name, why);
    }
    choice->name = row->name;
    choice->make = row->make;
    choice->every_bit = row->every_bit;
    return CATENA_OK;
}

/** Size of the group up to which allgather-fast is selected; docs/tuning.md has
 * the measurements. */
enum { GATHER_TO = 1024 };

bool ctn_split_can_report(const catena_group_t *group,
                          const catena_split_t *split)
{
    const char *name = split != NULL ? split->algorithm : NULL;
    return is_auto(name) ? group->chain.place.size <= GATHER_TO
                         : strcmp(name, "allgather-fast") == 0;
}

/** Set the choice to the algorithm `name`. */
static void take(ctn_split_choice_t *choice, const char *name,
                 const char *reason)
{
    const split_row_t *row = find(name, strlen(name));
    choice->name = row->name;
    choice->make = row->make;
    choice->reason = reason;
}

void ctn_split_choose(const catena_group_t *group, const catena_split_t *split,
                      ctn_split_choice_t *choice)
{
    bool order = (split->flags & CATENA_SPLIT_NO_REORDER) == 0;
    bool color_is_known = split->color_compare == NULL ||
                          split->color_compare == catena_compare_int64;
    if (group->chain.place.size <= GATHER_TO) {
        take(choice, "allgather-fast", "few members");
    } else if (order || !color_is_known) {
        take(choice, "bitonic",
             order ? "many members, in order of keys"
                   : "many members, colors with a "
                     "comparator");
    } else {
        take(choice, "hash64", "many members, in order of ranks");
    }
}
