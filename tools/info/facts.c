/* Output of catena-info: text, or JSON. */

#include "facts.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct facts {
    json_t *all;  /* NULL: text */
    json_t *part; /* borrowed from `all` */
    bool begun;   /* a part has been written */
};

/** End the program: there is no memory. */
static _Noreturn void out_of_memory(void)
{
    fprintf(stderr, "catena-info: out of memory\n");
    exit(EXIT_FAILURE);
}

facts_t *facts_open(bool json)
{
    facts_t *facts = calloc(1, sizeof(*facts));
    if (facts == NULL || (json && (facts->all = json_object()) == NULL)) {
        out_of_memory();
    }
    return facts;
}

bool facts_close(facts_t *facts)
{
    if (facts->all != NULL) {
        json_dumpf(facts->all, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(facts->all);
    }
    free(facts);
    return fflush(stdout) == 0 && !ferror(stdout);
}

/** Add a value, whose reference is taken.
 * @param suffix of the key */
static void add(json_t *to, const char *key, const char *suffix, json_t *value)
{
    char name[96];
    snprintf(name, sizeof(name), "%s%s", key, suffix);
    for (char *c = name; *c != '\0'; c++) {
        *c = isalnum((unsigned char)*c) || *c == '/'
                 ? (char)tolower((unsigned char)*c)
                 : '_';
    }
    if (value == NULL || json_object_set_new(to, name, value) != 0) {
        out_of_memory();
    }
}

/** A text as JSON, which is UTF-8: what is not ASCII is replaced if the whole
 * is not valid. */
static json_t *text_of(char *text)
{
    json_t *made = json_string(text);
    for (char *c = text; made == NULL && *c != '\0'; c++) {
        *c = (unsigned char)*c < 128 ? *c : '?';
    }
    return made != NULL ? made : json_string(text);
}

void facts_part(facts_t *facts, const char *title)
{
    if (facts->all != NULL) {
        facts->part = json_object();
        add(facts->all, title, "", facts->part);
        return;
    }
    printf("%s%s\n", facts->begun ? "\n" : "", title);
    facts->begun = true;
}

void facts_line(const facts_t *facts, const char *text)
{
    if (facts->all == NULL) {
        printf("  %s\n", text);
    }
}

void facts_text(facts_t *facts, const char *key, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (facts->all != NULL) {
        add(facts->part, key, "", text_of(text));
    } else {
        printf("  %s: %s\n", key, text);
    }
}

void facts_count(facts_t *facts, const char *key, uint64_t count)
{
    if (facts->all == NULL) {
        if (count == FACTS_UNLIMITED) {
            printf("  %s: unlimited\n", key);
        } else {
            printf("  %s: %" PRIu64 "\n", key, count);
        }
    } else {
        add(facts->part, key, "",
            count == FACTS_UNLIMITED ? json_string("unlimited")
                                     : json_integer((json_int_t)count));
    }
}

const char *facts_size(uint64_t bytes, char text[FACTS_SIZE_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes / 1024;
    size_t i = 0;
    if (bytes == FACTS_UNLIMITED) {
        snprintf(text, FACTS_SIZE_BYTES, "unlimited");
    } else if (bytes < 1024) {
        snprintf(text, FACTS_SIZE_BYTES, "%" PRIu64 " bytes", bytes);
    } else {
        for (; value >= 1024 && i + 1 < sizeof(units) / sizeof(units[0]); i++) {
            value /= 1024;
        }
        snprintf(text, FACTS_SIZE_BYTES, "%.1f %s", value, units[i]);
    }
    return text;
}

void facts_bytes(facts_t *facts, const char *key, uint64_t bytes)
{
    char text[FACTS_SIZE_BYTES];
    if (facts->all == NULL) {
        printf("  %s: %s\n", key, facts_size(bytes, text));
    } else {
        add(facts->part, key, " bytes",
            bytes == FACTS_UNLIMITED ? json_string("unlimited")
                                     : json_integer((json_int_t)bytes));
    }
}

void facts_words(facts_t *facts, const char *key, const char *words)
{
    if (facts->all == NULL) {
        printf("  %s: %s\n", key, words);
        return;
    }
    json_t *list = json_array();
    add(facts->part, key, "", list);
    while (*words != '\0') {
        size_t length = strcspn(words, ", ");
        bool is_or = length == 2 && strncmp(words, "or", 2) == 0;
        if (length > 0 && !is_or &&
            json_array_append_new(list, json_stringn(words, length)) != 0) {
            out_of_memory();
        }
        words += length;
        words += strspn(words, ", ");
    }
}
