#include "said.h"

#include <check.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static bool has_word(const char *text, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        bool begins = at == text || !isalnum((unsigned char)at[-1]);
        if (begins && !isalnum((unsigned char)at[bytes])) {
            return true;
        }
    }
    return false;
}

void said_facts(const capture_t *said, ...)
{
    va_list facts;
    const char *fact;
    va_start(facts, said);
    while ((fact = va_arg(facts, const char *)) != NULL) {
        ck_assert_msg(has_word(said->text, fact), "'%s': %s", fact, said->text);
    }
    va_end(facts);
}
