/* The text of a hierarchy (CATENA_HIERARCHY). What is accepted can be written,
 * and read again with the same meaning. */

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "coll/hierarchy/levels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    char written[CTN_HIERARCHY_LEVELS_BYTES];
    ctn_hierarchy_levels_t levels;
    ctn_hierarchy_levels_t again;
    if (text == NULL) {
        abort();
    }
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (ctn_hierarchy_levels_read(&fuzz_log, "levels", text, &levels) ==
        CATENA_OK) {
        ctn_hierarchy_levels_write(&levels, written);
        if (ctn_hierarchy_levels_read(&fuzz_log, "levels", written, &again) !=
                CATENA_OK ||
            again.count != levels.count) {
            abort();
        }
    }
    free(text);
    return 0;
}
