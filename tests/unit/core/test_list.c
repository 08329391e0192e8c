/* Intrusive lists. */

#include "core/list.h"

#include "unit/unit.h"

typedef struct item {
    struct item *next;
    struct item *previous;
} item_t;

/** The list holds these items in this order, and the links match. */
static void check_list(const item_t *list, const item_t *const *expected,
                       size_t count)
{
    const item_t *previous = NULL;
    for (size_t i = 0; i < count; i++) {
        ck_assert_ptr_eq(list, expected[i]);
        ck_assert_ptr_eq(list->previous, previous);
        previous = list;
        list = list->next;
    }
    ck_assert_ptr_null(list);
}

/* An item is removed from the front, the middle or the end. */
START_TEST(any_item_is_removed)
{
    item_t item[3];
    item_t *list = NULL;
    for (size_t i = 3; i-- > 0;) {
        CTN_LIST_PUSH(&list, &item[i]);
    }
    check_list(list, (const item_t *[]){&item[0], &item[1], &item[2]}, 3);
    size_t out = (size_t)_i;
    CTN_LIST_REMOVE(&list, &item[out]);
    ck_assert_ptr_null(item[out].next);
    ck_assert_ptr_null(item[out].previous);
    item_t *a = &item[out == 0], *b = &item[out == 2 ? 1 : 2];
    check_list(list, (const item_t *[]){a, b}, 2);
    CTN_LIST_REMOVE(&list, b);
    check_list(list, (const item_t *[]){a}, 1);
    CTN_LIST_REMOVE(&list, a);
    ck_assert_ptr_null(list);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, any_item_is_removed, 0, 3);
}

UNIT_TEST(list)
{
    return unit_main("list", 60, add_cases);
}
