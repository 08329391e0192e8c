#ifndef CTN_CORE_LIST_H
#define CTN_CORE_LIST_H

#include <stddef.h>

/* Intrusive doubly linked lists. A list is a pointer to its first item, NULL if
 * it is empty. The items are structs of any type with members `next` and
 * `previous`, which are NULL at the ends. Any type requires macros; these
 * evaluate their arguments several times. */

/** Insert an item at the front of the list `*list`. */
#define CTN_LIST_PUSH(list, item)                                              \
    do {                                                                       \
        (item)->previous = NULL;                                               \
        (item)->next = *(list);                                                \
        if ((item)->next != NULL) {                                            \
            (item)->next->previous = (item);                                   \
        }                                                                      \
        *(list) = (item);                                                      \
    } while (0)

/** Remove an item from the list `*list`, which contains it. */
#define CTN_LIST_REMOVE(list, item)                                            \
    do {                                                                       \
        if ((item)->next != NULL) {                                            \
            (item)->next->previous = (item)->previous;                         \
        }                                                                      \
        if ((item)->previous != NULL) {                                        \
            (item)->previous->next = (item)->next;                             \
        } else {                                                               \
            *(list) = (item)->next;                                            \
        }                                                                      \
        (item)->next = (item)->previous = NULL;                                \
    } while (0)

#endif
