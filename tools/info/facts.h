#ifndef INFO_FACTS_H
#define INFO_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/** Writes facts in parts: as text at once, "key: value" a line below the title
 * of each part; or as one JSON object at the end, with an object for each part.
 * Keys of JSON are in lower case with '_' between words. */
typedef struct facts facts_t;

/** A number without limit, for the next functions. */
#define FACTS_UNLIMITED UINT64_MAX

/** @param json write JSON
 * @return never NULL: the program ends if there is no memory */
facts_t *facts_open(bool json);
/** Write what is left, and free. @return false: standard output has an error */
bool facts_close(facts_t *facts);

/** Begin a part. */
void facts_part(facts_t *facts, const char *title);
/** A line of text without a key; JSON ignores it. */
void facts_line(const facts_t *facts, const char *text);
__attribute__((format(printf, 3, 4))) void
facts_text(facts_t *facts, const char *key, const char *format, ...);
void facts_count(facts_t *facts, const char *key, uint64_t count);
/** Text: with a unit. JSON: a number, whose key ends in _bytes. */
void facts_bytes(facts_t *facts, const char *key, uint64_t bytes);
/** A list. @param words separated by ", " or " or "; JSON: an array */
void facts_words(facts_t *facts, const char *key, const char *words);

enum { FACTS_SIZE_BYTES = 32 };
/** Write a number of bytes with a unit, such as "1.5 GiB". @return `text` */
const char *facts_size(uint64_t bytes, char text[FACTS_SIZE_BYTES]);

#endif
