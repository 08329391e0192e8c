#include "rank_split.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rank_split_algorithms[RANK_SPLIT_ALGORITHMS] = {
    "allgather",   "allgather-fast", "gather-scatter", "cheng:128",
    "cheng",       "cheng:8192",     "bitonic",        "radix",
    "radix-plain", "hash",           "hash64",         "auto"};

/* ---- contents ---- */

/** A value that `rank` has in this split, for a purpose. */
static uint64_t value_of(const rank_split_t *split, int rank, uint64_t purpose)
{
    uint64_t state = split->seed * 64 + purpose;
    state = rank_random(&state) + (uint64_t)rank;
    return rank_random(&state);
}

static void set_bytes(unsigned char **data, size_t *bytes, size_t length)
{
    *data = calloc(1, length + 1);
    *bytes = length;
}

static void set_int(unsigned char **data, size_t *bytes, int64_t value)
{
    set_bytes(data, bytes, sizeof(value));
    memcpy(*data, &value, sizeof(value));
}

static int64_t extreme(uint64_t which)
{
    static const int64_t values[] = {
        INT64_MIN, INT64_MAX,          0,   -1, 1, INT64_MIN + 1, INT32_MIN,
        INT32_MAX, INT64_C(255) << 32, -256};
    return values[which % (sizeof(values) / sizeof(values[0]))];
}

/** The same bytes whatever the length, so that shorter ones are prefixes; but
 * for the last. None is zero. */
static void set_long(unsigned char **data, size_t *bytes, size_t length,
                     unsigned end)
{
    set_bytes(data, bytes, length);
    for (size_t i = 0; i < length; i++) {
        size_t byte = i * 31 + (i >> 8) + (i + 1 == length ? end : 0);
        (*data)[i] = (unsigned char)(byte % 255 + 1);
    }
}

/** Lengths about slots, messages, pages and more. */
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

/* ---- colors that one hash does not tell apart ---- */

uint32_t rank_one_at_a_time(const unsigned char *data, size_t bytes)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < bytes; i++) {
        hash += data[i];
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    return hash + (hash << 15);
}

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
    set_bytes(data, bytes, strings[which].count);
    memset(*data, strings[which].byte, *bytes);
}

static void set_rotated(unsigned char **data, size_t *bytes, uint64_t which)
{
    static const unsigned char word[] = {1, 2, 3, 4, 5, 6, 7, 8};
    set_bytes(data, bytes, sizeof(word));
    for (size_t i = 0; i < sizeof(word); i++) {
        (*data)[i] = word[(i + which) % sizeof(word)];
    }
}

/** Four blocks; each leaves the hash's state at zero where it began there. */
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

/* ---- what a rank brings ---- */

static int64_t color_number(const rank_split_t *split, int rank)
{
    uint64_t value = value_of(split, rank, 1);
    switch (split->color) {
    case RANK_COLOR_SAME:
        return 3;
    case RANK_COLOR_DIFFERENT:
        return (int64_t)((uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15));
    case RANK_COLOR_FEW:
        return (int64_t)(value % 3) - 1;
    case RANK_COLOR_MANY:
        return (int64_t)(value % ((uint64_t)split->ranks + 1));
    default:
        return extreme(value);
    }
}

static void set_color(const rank_split_t *split, int rank, rank_item_t *item)
{
    uint64_t value = value_of(split, rank, 2);
    uint64_t some = value % ((uint64_t)split->ranks / 3 + 2);
    unsigned char **data = &item->color;
    size_t *bytes = &item->color_bytes;
    switch (split->color) {
    case RANK_COLOR_WORDS:
        set_word(data, bytes, (unsigned)some * 3, (value >> 32 & 1) != 0);
        break;
    case RANK_COLOR_LONG:
        set_long(data, bytes,
                 long_length(some + split->seed, split->most_bytes),
                 some % 7 == 3);
        break;
    case RANK_COLOR_TINY:
        set_bytes(data, bytes, some % 4 != 0);
        (*data)[0] = (unsigned char)(some % 4 != 0 ? some : 0);
        break;
    case RANK_COLOR_ZEROS:
        set_bytes(data, bytes, some);
        break;
    case RANK_COLOR_REPEATED:
        set_repeated(data, bytes, some);
        break;
    case RANK_COLOR_ROTATED:
        set_rotated(data, bytes, some);
        break;
    case RANK_COLOR_BLOCKS:
        set_blocks(data, bytes, some);
        break;
    default:
        set_int(data, bytes, color_number(split, rank));
    }
}

static int64_t key_number(const rank_split_t *split, int rank)
{
    uint64_t value = value_of(split, rank, 3);
    switch (split->key) {
    case RANK_KEY_EQUAL:
        return 12;
    case RANK_KEY_RISING:
        return rank;
    case RANK_KEY_FALLING:
        return -rank;
    case RANK_KEY_RANDOM:
        return (int64_t)(value % ((uint64_t)split->ranks + 2)) -
               split->ranks / 2;
    default:
        return extreme(value);
    }
}

static void set_key(const rank_split_t *split, int rank, rank_item_t *item)
{
    uint64_t value = value_of(split, rank, 4);
    unsigned char **data = &item->key;
    size_t *bytes = &item->key_bytes;
    switch (split->key) {
    case RANK_KEY_WORDS:
        if (value % 8 == 0) {
            set_bytes(data, bytes, 0);
        } else {
            set_word(data, bytes, (unsigned)(value >> 8 & 127),
                     (value >> 32 & 1) != 0);
        }
        break;
    case RANK_KEY_LONG:
        set_long(data, bytes, 113 + value % 4, (unsigned)(value >> 8 & 3));
        break;
    case RANK_KEY_HUGE:
        set_long(data, bytes, long_length(value, split->most_bytes),
                 (unsigned)(value >> 8 & 1));
        break;
    default:
        set_int(data, bytes, key_number(split, rank));
    }
}

static bool is_left_out(const rank_split_t *split, int rank)
{
    int one = (int)(value_of(split, 0, 5) % (uint64_t)split->ranks);
    switch (split->left_out) {
    case RANK_OUT_NONE:
        return false;
    case RANK_OUT_ONE:
        return rank == one;
    case RANK_OUT_HALF:
        return value_of(split, rank, 6) % 2 == 0;
    case RANK_OUT_MOST:
        return rank != one;
    default:
        return true;
    }
}

void rank_split_open(rank_split_t *split, int ranks)
{
    split->ranks = ranks;
    split->item = calloc((size_t)ranks, sizeof(*split->item));
    for (int r = 0; r < ranks; r++) {
        set_color(split, r, &split->item[r]);
        set_key(split, r, &split->item[r]);
        split->item[r].left_out = is_left_out(split, r);
    }
}

void rank_split_close(rank_split_t *split)
{
    for (int r = 0; r < split->ranks; r++) {
        free(split->item[r].color);
        free(split->item[r].key);
    }
    free(split->item);
    split->item = NULL;
}

/* ---- comparators ---- */

int rank_compare_bytes(const unsigned char *a, size_t a_bytes,
                       const unsigned char *b, size_t b_bytes)
{
    size_t both = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = both > 0 ? memcmp(a, b, both) : 0;
    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int by_letters(const unsigned char *a, size_t a_bytes,
                      const unsigned char *b, size_t b_bytes)
{
    for (size_t i = 0; i < a_bytes && i < b_bytes; i++) {
        if (tolower(a[i]) != tolower(b[i])) {
            return tolower(a[i]) - tolower(b[i]);
        }
    }
    return (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int compare_bytes(const void *a, size_t a_bytes, const void *b,
                         size_t b_bytes, void *argument)
{
    return *(const int *)argument * rank_compare_bytes(a, a_bytes, b, b_bytes);
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
    return *(const int *)argument * ((a_bytes > b_bytes) - (a_bytes < b_bytes));
}

static const int upwards = 1;
static const int downwards = -1;

static const int *direction(const rank_split_t *split)
{
    return split->seed % 2 == 0 ? &upwards : &downwards;
}

/** The order as it is defined, without the library's help. */
static int compare(const rank_split_t *split, rank_order_t order,
                   const unsigned char *a, size_t a_bytes,
                   const unsigned char *b, size_t b_bytes)
{
    int64_t x;
    int64_t y;
    switch (order) {
    case RANK_ORDER_NULL:
        return rank_compare_bytes(a, a_bytes, b, b_bytes);
    case RANK_ORDER_INT64:
        memcpy(&x, a, sizeof(x));
        memcpy(&y, b, sizeof(y));
        return (x > y) - (x < y);
    case RANK_ORDER_BYTES:
        return *direction(split) * rank_compare_bytes(a, a_bytes, b, b_bytes);
    case RANK_ORDER_CASELESS:
        return *direction(split) * by_letters(a, a_bytes, b, b_bytes);
    default:
        return *direction(split) * ((a_bytes > b_bytes) - (a_bytes < b_bytes));
    }
}

/* ---- the call ---- */

static catena_compare_t comparator(rank_order_t order)
{
    static const catena_compare_t all[RANK_ORDERS] = {
        NULL, catena_compare_int64, compare_bytes, compare_caseless,
        compare_length};
    return all[order];
}

bool rank_split_fits(const rank_split_t *split)
{
    if ((split->color_order == RANK_ORDER_INT64 &&
         split->color > RANK_COLOR_INTS) ||
        (split->key_order == RANK_ORDER_INT64 && split->key > RANK_KEY_INTS)) {
        return false;
    }
    if (strncmp(split->algorithm, "radix", 5) == 0) {
        return split->color_order == RANK_ORDER_INT64 &&
               split->key_order == RANK_ORDER_INT64;
    }
    return strncmp(split->algorithm, "hash", 4) != 0 ||
           split->color_order <= RANK_ORDER_INT64;
}

void rank_split_draw(rank_split_t *split, uint64_t *random, size_t most_bytes)
{
    const char *algorithm = split->algorithm;
    do {
        uint64_t what = rank_random(random);
        *split = (rank_split_t){
            .algorithm =
                algorithm != NULL
                    ? algorithm
                    : rank_split_algorithms[what % RANK_SPLIT_ALGORITHMS],
            .color = (rank_color_t)((what >> 8) % RANK_COLORS),
            .key = (rank_key_t)((what >> 16) % RANK_KEYS),
            .color_order = (rank_order_t)((what >> 24) % RANK_ORDERS),
            .key_order = (rank_order_t)((what >> 32) % RANK_ORDERS),
            .left_out = (what >> 40) % 2 == 0
                            ? RANK_OUT_NONE
                            : (rank_left_out_t)((what >> 41) % RANK_OUTS),
            .flags = ((what >> 48) % 8 == 0 ? CATENA_SPLIT_NO_SPLIT : 0) |
                     ((what >> 51) % 4 == 0 ? CATENA_SPLIT_NO_REORDER : 0),
            .seed = rank_random(random),
            .most_bytes = most_bytes,
        };
    } while (!rank_split_fits(split));
}

catena_split_t rank_split_call(const rank_split_t *split, int rank)
{
    const rank_item_t *item = &split->item[rank];
    catena_split_t call = {
        .color_compare = comparator(split->color_order),
        .key_compare = comparator(split->key_order),
        .argument = (void *)(uintptr_t)direction(split),
        .flags = split->flags,
        .algorithm = split->algorithm,
    };
    if (item->left_out) {
        call.flags |= CATENA_SPLIT_UNDEFINED;
        if (split->seed % 4 < 2) {
            return call; /* nothing but that */
        }
    }
    bool null = rank % 2 == 0; /* what has no bytes needs no address */
    call.color = null && item->color_bytes == 0 ? NULL : item->color;
    call.color_bytes = item->color_bytes;
    call.key = null && item->key_bytes == 0 ? NULL : item->key;
    call.key_bytes = item->key_bytes;
    return call;
}

bool rank_split_together(const rank_split_t *split, int a, int b)
{
    const rank_item_t *x = &split->item[a];
    const rank_item_t *y = &split->item[b];
    return !x->left_out && !y->left_out &&
           ((split->flags & CATENA_SPLIT_NO_SPLIT) != 0 ||
            compare(split, split->color_order, x->color, x->color_bytes,
                    y->color, y->color_bytes) == 0);
}

bool rank_split_after(const rank_split_t *split, int a, int b)
{
    const rank_item_t *x = &split->item[a];
    const rank_item_t *y = &split->item[b];
    return (split->flags & CATENA_SPLIT_NO_REORDER) == 0 &&
           compare(split, split->key_order, x->key, x->key_bytes, y->key,
                   y->key_bytes) > 0;
}
