/* The data of ranks in a split, and their order; see split.h. */

#include "oracle/split/split.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/random.h"

const char *const oracle_split_algorithms[ORACLE_SPLIT_ALGORITHMS] = {
    "allgather",   "allgather-fast", "gather-scatter", "cheng:128",
    "cheng",       "cheng:8192",     "bitonic",        "radix",
    "radix-plain", "hash",           "hash-plain",     "hash64",
    "auto"};

void oracle_split_describe(const oracle_split_t *split, char *text,
                           size_t bytes)
{
    static const char *const colors[ORACLE_COLORS] = {
        "one",  "different", "few",  "many",  "extreme", "some",  "words",
        "long", "tiny",      "zero", "equal", "rotated", "blocks"};
    static const char *const keys[ORACLE_KEYS] = {
        "equal", "rising", "falling", "random", "extreme",
        "some",  "words",  "uneven",  "long",   "huge"};
    static const char *const orders[ORACLE_ORDERS] = {"bytes", "int64", "users",
                                                      "letters", "length"};
    static const char *const outs[ORACLE_OUTS] = {"none", "one", "half", "most",
                                                  "all"};
    snprintf(
        text, bytes,
        "split algorithm=%s %s colors by %s, %s keys by %s, %s left out%s%s",
        split->algorithm, colors[split->color], orders[split->color_order],
        keys[split->key], orders[split->key_order], outs[split->left_out],
        split->flags & CATENA_SPLIT_NO_SPLIT ? ", no split" : "",
        split->flags & CATENA_SPLIT_NO_REORDER ? ", no reorder" : "");
}

/* ---- contents ---- */

/** The value of `rank` in this split, for a purpose. */
static uint64_t value_of(const oracle_split_t *split, int rank,
                         uint64_t purpose)
{
    return oracle_hash(split->seed, (uint64_t)rank, purpose);
}

static unsigned char *set_bytes(unsigned char **data, size_t *bytes,
                                size_t length)
{
    *data = oracle_zeros(length, 1);
    *bytes = length;
    return *data;
}

static void set_int(unsigned char **data, size_t *bytes, int64_t value)
{
    memcpy(set_bytes(data, bytes, sizeof(value)), &value, sizeof(value));
}

static int64_t extreme(uint64_t which)
{
    static const int64_t values[] = {
        INT64_MIN, INT64_MAX,          0,   -1, 1, INT64_MIN + 1, INT32_MIN,
        INT32_MAX, INT64_C(255) << 32, -256};
    return values[which % (sizeof(values) / sizeof(values[0]))];
}

/** The same bytes for any length, so that shorter ones are prefixes, except for
 * the last byte. None is zero. */
static void set_long(unsigned char **data, size_t *bytes, size_t length,
                     unsigned end)
{
    set_bytes(data, bytes, length);
    for (size_t i = 0; i < length; i++) {
        size_t byte = i * 31 + (i >> 8) + (i + 1 == length ? end : 0);
        (*data)[i] = (unsigned char)(byte % 255 + 1);
    }
}

/** Lengths around slots, messages, pages and more. */
static size_t long_length(uint64_t which, size_t most)
{
    static const size_t lengths[] = {1,   3,   33,   112,  113,   114,
                                     400, 976, 4097, 8193, 65537, 100000};
    size_t length = lengths[which % (sizeof(lengths) / sizeof(lengths[0]))];
    return length < most ? length : most;
}

static void set_word(unsigned char **data, size_t *bytes, unsigned number,
                     bool large)
{
    set_bytes(data, bytes, 16);
    *bytes = (size_t)snprintf((char *)*data, 16, "%s%u",
                              large ? "RACK-" : "Rack-", number);
}

/* ---- colors with equal hashes ---- */

/** Pairs of strings of one repeated byte with the same hash. */
static void set_repeated(unsigned char **data, size_t *bytes, uint64_t which)
{
    static const struct {
        unsigned char byte;
        unsigned short count;
    } strings[] = {{134, 227}, {121, 115}, {157, 227}, {133, 282},
                   {198, 237}, {116, 751}, {209, 443}, {197, 189},
                   {178, 403}, {70, 156},  {51, 495},  {45, 83}};
    which %= sizeof(strings) / sizeof(strings[0]);
    memset(set_bytes(data, bytes, strings[which].count), strings[which].byte,
           strings[which].count);
}

/** Four blocks; each preserves the zero state of the hash. */
static void set_blocks(unsigned char **data, size_t *bytes, uint64_t which)
{
    static const unsigned char block[] = {0x26, 0x62, 0x22, 0x4d, 0x25, 0x21};
    set_bytes(data, bytes, 4 * sizeof(block));
    for (size_t i = 0; i < 4; i++) {
        if ((which >> i & 1) != 0) {
            memcpy(*data + i * sizeof(block), block, sizeof(block));
        }
    }
}

/* ---- data of a rank ---- */

static int64_t color_number(const oracle_split_t *split, int rank)
{
    uint64_t value = value_of(split, rank, 1);
    switch (split->color) {
    case ORACLE_COLOR_SAME:
        return 3;
    case ORACLE_COLOR_DIFFERENT:
        return (int64_t)((uint64_t)rank * CTN_RANDOM_STEP);
    case ORACLE_COLOR_FEW:
    case ORACLE_COLOR_OR_NOTHING:
        return (int64_t)(value % 3) - 1;
    case ORACLE_COLOR_MANY:
        return (int64_t)(value % ((uint64_t)split->ranks + 1));
    default:
        return extreme(value);
    }
}

static void set_color(const oracle_split_t *split, int rank,
                      oracle_item_t *item)
{
    uint64_t value = value_of(split, rank, 2);
    uint64_t some = value % ((uint64_t)split->ranks / 3 + 2);
    unsigned char **data = &item->color;
    size_t *bytes = &item->color_bytes;
    switch (split->color) {
    case ORACLE_COLOR_WORDS:
        set_word(data, bytes, (unsigned)some * 3, (value >> 32 & 1) != 0);
        break;
    case ORACLE_COLOR_LONG:
        set_long(data, bytes,
                 long_length(some + split->seed, split->most_bytes),
                 some % 7 == 3);
        break;
    case ORACLE_COLOR_TINY:
        *set_bytes(data, bytes, some % 4 != 0) = (unsigned char)some;
        break;
    case ORACLE_COLOR_ZEROS:
        set_bytes(data, bytes, some);
        break;
    case ORACLE_COLOR_REPEATED:
        set_repeated(data, bytes, some);
        break;
    case ORACLE_COLOR_ROTATED:
        set_bytes(data, bytes, 8);
        for (size_t i = 0; i < 8; i++) {
            (*data)[i] = (unsigned char)(1 + (i + some) % 8);
        }
        break;
    case ORACLE_COLOR_BLOCKS:
        set_blocks(data, bytes, some);
        break;
    default:
        set_int(data, bytes, color_number(split, rank));
        if (split->color == ORACLE_COLOR_OR_NOTHING && value % 4 == 0) {
            *bytes = 0;
        }
    }
}

static int64_t key_number(const oracle_split_t *split, int rank)
{
    uint64_t value = value_of(split, rank, 3);
    switch (split->key) {
    case ORACLE_KEY_EQUAL:
        return 12;
    case ORACLE_KEY_RISING:
        return rank;
    case ORACLE_KEY_FALLING:
        return -rank;
    case ORACLE_KEY_EXTREME:
        return extreme(value);
    default:
        return (int64_t)(value % ((uint64_t)split->ranks + 2)) -
               split->ranks / 2;
    }
}

static void set_key(const oracle_split_t *split, int rank, oracle_item_t *item)
{
    uint64_t value = value_of(split, rank, 4);
    unsigned char **data = &item->key;
    size_t *bytes = &item->key_bytes;
    switch (split->key) {
    case ORACLE_KEY_WORDS:
        if (value % 8 == 0) {
            set_bytes(data, bytes, 0);
        } else {
            set_word(data, bytes, (unsigned)(value >> 8 & 127),
                     (value >> 32 & 1) != 0);
        }
        break;
    case ORACLE_KEY_LENGTHS: /* byte for byte, 0 5 0 is between 256 and 1 */
        if (value % 3 == 0) {
            set_bytes(data, bytes, value % 2 == 0 ? 3 : 9)[1] = 5;
        } else {
            set_int(data, bytes, value % 3 == 1 ? 256 : 1);
        }
        break;
    case ORACLE_KEY_LONG:
        set_long(data, bytes, 113 + value % 4, (unsigned)(value >> 8 & 3));
        break;
    case ORACLE_KEY_HUGE:
        set_long(data, bytes, long_length(value, split->most_bytes),
                 (unsigned)(value >> 8 & 1));
        break;
    default:
        set_int(data, bytes, key_number(split, rank));
        if (split->key == ORACLE_KEY_OR_NOTHING && value % 4 == 0) {
            *bytes = 0;
        }
    }
}

static bool is_left_out(const oracle_split_t *split, int rank)
{
    int one = (int)(value_of(split, 0, 5) % (uint64_t)split->ranks);
    switch (split->left_out) {
    case ORACLE_OUT_NONE:
        return false;
    case ORACLE_OUT_ONE:
        return rank == one;
    case ORACLE_OUT_HALF:
        return value_of(split, rank, 6) % 2 == 0;
    case ORACLE_OUT_MOST:
        return rank != one;
    default:
        return true;
    }
}

void oracle_split_open(oracle_split_t *split, int ranks)
{
    split->ranks = ranks;
    split->item = oracle_zeros((size_t)ranks, sizeof(*split->item));
    for (int r = 0; r < ranks; r++) {
        set_color(split, r, &split->item[r]);
        set_key(split, r, &split->item[r]);
        split->item[r].left_out = is_left_out(split, r);
    }
}

void oracle_split_close(oracle_split_t *split)
{
    for (int r = 0; r < split->ranks; r++) {
        free(split->item[r].color);
        free(split->item[r].key);
    }
    free(split->item);
    split->item = NULL;
}

/* ---- comparators ---- */

static int compare_lengths(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int by_bytes(const unsigned char *a, size_t a_bytes,
                    const unsigned char *b, size_t b_bytes)
{
    size_t both = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = both > 0 ? memcmp(a, b, both) : 0;
    return order != 0 ? order : compare_lengths(a_bytes, b_bytes);
}

static int by_letters(const unsigned char *a, size_t a_bytes,
                      const unsigned char *b, size_t b_bytes)
{
    for (size_t i = 0; i < a_bytes && i < b_bytes; i++) {
        if (tolower(a[i]) != tolower(b[i])) {
            return tolower(a[i]) - tolower(b[i]);
        }
    }
    return compare_lengths(a_bytes, b_bytes);
}

/** Below 8 bytes, numbers, above. */
static int by_number(const unsigned char *a, size_t a_bytes,
                     const unsigned char *b, size_t b_bytes)
{
    int64_t x;
    int64_t y;
    int a_length = compare_lengths(a_bytes, sizeof(x));
    int b_length = compare_lengths(b_bytes, sizeof(y));
    if (a_length != 0 || b_length != 0) {
        return a_length != b_length ? a_length - b_length
                                    : by_bytes(a, a_bytes, b, b_bytes);
    }
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static int compare_bytes(const void *a, size_t a_bytes, const void *b,
                         size_t b_bytes, void *argument)
{
    return *(const int *)argument * by_bytes(a, a_bytes, b, b_bytes);
}

static int compare_caseless(const void *a, size_t a_bytes, const void *b,
                            size_t b_bytes, void *argument)
{
    return *(const int *)argument * by_letters(a, a_bytes, b, b_bytes);
}

static int compare_length(const void *a, size_t a_bytes, const void *b,
                          size_t b_bytes, void *argument)
{
    (void)a;
    (void)b;
    return *(const int *)argument * compare_lengths(a_bytes, b_bytes);
}

static const catena_compare_t comparators[ORACLE_ORDERS] = {
    NULL, catena_compare_int64, compare_bytes, compare_caseless,
    compare_length};

static int *direction(const oracle_split_t *split)
{
    static int directions[] = {1, -1};
    return &directions[split->seed % 2];
}

/** The order by its definition, without the library. */
static int compare(const oracle_split_t *split, oracle_order_t order,
                   const unsigned char *a, size_t a_bytes,
                   const unsigned char *b, size_t b_bytes)
{
    return order == ORACLE_ORDER_NULL ? by_bytes(a, a_bytes, b, b_bytes)
           : order == ORACLE_ORDER_INT64
               ? by_number(a, a_bytes, b, b_bytes)
               : comparators[order](a, a_bytes, b, b_bytes, direction(split));
}

bool oracle_split_together(const oracle_split_t *split, int a, int b)
{
    const oracle_item_t *x = &split->item[a];
    const oracle_item_t *y = &split->item[b];
    return !x->left_out && !y->left_out &&
           ((split->flags & CATENA_SPLIT_NO_SPLIT) != 0 ||
            compare(split, split->color_order, x->color, x->color_bytes,
                    y->color, y->color_bytes) == 0);
}

/** Whether the key of `a` places it after `b`. */
static bool is_after(const oracle_split_t *split, int a, int b)
{
    const oracle_item_t *x = &split->item[a];
    const oracle_item_t *y = &split->item[b];
    return (split->flags & CATENA_SPLIT_NO_REORDER) == 0 &&
           compare(split, split->key_order, x->key, x->key_bytes, y->key,
                   y->key_bytes) > 0;
}

oracle_members_t oracle_split_expect(const oracle_split_t *split,
                                     const oracle_members_t *parent, int rank)
{
    oracle_members_t made = {0,
                             oracle_zeros((size_t)parent->size, sizeof(int))};
    for (int i = 0; i < parent->size; i++) {
        int next = parent->rank[i];
        int low = 0;
        int high = made.size;
        if (!oracle_split_together(split, rank, next)) {
            continue;
        }
        while (low < high) { /* the first that belongs after it */
            int middle = (low + high) / 2;
            if (is_after(split, made.rank[middle], next)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        memmove(&made.rank[low + 1], &made.rank[low],
                (size_t)(made.size++ - low) * sizeof(int));
        made.rank[low] = next;
    }
    return made;
}

/* ---- the call ---- */

bool oracle_split_fits(const oracle_split_t *split)
{
    if (strncmp(split->algorithm, "radix", 5) == 0) {
        return split->color_order == ORACLE_ORDER_INT64 &&
               split->key_order == ORACLE_ORDER_INT64 &&
               split->color <= ORACLE_COLOR_INTS &&
               split->key <= ORACLE_KEY_INTS;
    }
    return strncmp(split->algorithm, "hash", 4) != 0 ||
           split->color_order <= ORACLE_ORDER_INT64;
}

void oracle_split_draw(oracle_split_t *split, uint64_t *random,
                       size_t most_bytes)
{
    const char *algorithm = split->algorithm;
    do {
        uint64_t what = ctn_random(random);
        *split = (oracle_split_t){
            .algorithm =
                algorithm != NULL
                    ? algorithm
                    : oracle_split_algorithms[what % ORACLE_SPLIT_ALGORITHMS],
            .color = (oracle_color_t)((what >> 8) % ORACLE_COLORS),
            .key = (oracle_key_t)((what >> 16) % ORACLE_KEYS),
            .color_order = (oracle_order_t)((what >> 24) % ORACLE_ORDERS),
            .key_order = (oracle_order_t)((what >> 32) % ORACLE_ORDERS),
            .left_out = (what >> 40) % 2 == 0
                            ? ORACLE_OUT_NONE
                            : (oracle_left_out_t)((what >> 41) % ORACLE_OUTS),
            .flags = ((what >> 48) % 8 == 0 ? CATENA_SPLIT_NO_SPLIT : 0) |
                     ((what >> 51) % 4 == 0 ? CATENA_SPLIT_NO_REORDER : 0),
            .seed = ctn_random(random),
            .most_bytes = most_bytes,
        };
    } while (!oracle_split_fits(split));
}

catena_split_t oracle_split_call(const oracle_split_t *split, int rank)
{
    const oracle_item_t *item = &split->item[rank];
    catena_split_t call = {
        .size = sizeof(call),
        .color_compare = comparators[split->color_order],
        .key_compare = comparators[split->key_order],
        .argument = direction(split),
        .flags = split->flags,
        .algorithm = split->algorithm,
    };
    if (item->left_out) {
        call.flags |= CATENA_SPLIT_UNDEFINED;
        if (split->seed % 4 < 2) {
            return call; /* nothing else */
        }
    }
    bool null = rank % 2 == 0; /* data without bytes need no address */
    call.color = null && item->color_bytes == 0 ? NULL : item->color;
    call.color_bytes = item->color_bytes;
    call.key = null && item->key_bytes == 0 ? NULL : item->key;
    call.key_bytes = item->key_bytes;
    return call;
}
