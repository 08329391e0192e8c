/* replay NAME CORPUS [MUTATIONS]: run each file of a corpus, and mutations of
 * it: bytes changed, removed, inserted and copied, the same ones in each run.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "fuzz.h"

enum { MOST_BYTES = 1 << 16, MUTATIONS = 300 };

/* Change the input in place; returns its new length. */
static size_t mutate(uint8_t *data, size_t bytes, uint64_t *random)
{
    for (uint64_t n = 1 + ctn_random(random) % 4; n > 0; n--) {
        size_t at = bytes > 0 ? ctn_random(random) % bytes : 0;
        size_t length = bytes > 0 ? 1 + ctn_random(random) % 16 : 0;
        length = length < bytes - at ? length : bytes - at;
        switch (ctn_random(random) % 5) {
        case 0:
            data[at] = (uint8_t)ctn_random(random);
            break;
        case 1:
            data[at] ^= (uint8_t)(1u << ctn_random(random) % 8);
            break;
        case 2: /* remove */
            memmove(data + at, data + at + length, bytes - at - length);
            bytes -= length;
            break;
        case 3: /* repeat */
            if (bytes + length <= MOST_BYTES) {
                memmove(data + at + length, data + at, bytes - at);
                bytes += length;
            }
            break;
        default: /* end early */
            bytes = at;
            break;
        }
    }
    return bytes;
}

static size_t read_file(const char *folder, const char *name, uint8_t *data)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    size_t bytes = file != NULL ? fread(data, 1, MOST_BYTES, file) : 0;
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    static uint8_t original[MOST_BYTES + 1], data[MOST_BYTES + 1];
    DIR *folder = argc > 2 ? opendir(argv[2]) : NULL;
    int mutations = argc > 3 ? atoi(argv[3]) : MUTATIONS;
    if (folder == NULL) {
        fprintf(stderr, "usage: replay NAME CORPUS [MUTATIONS]\n");
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        size_t bytes = read_file(argv[2], entry->d_name, original);
        uint64_t random = bytes;
        (void)LLVMFuzzerTestOneInput(original, bytes);
        for (int i = 0; i < mutations; i++) {
            memcpy(data, original, bytes);
            (void)LLVMFuzzerTestOneInput(data, mutate(data, bytes, &random));
        }
        printf("ok - %s: %s and %d mutations\n", argv[1], entry->d_name,
               mutations);
    }
    closedir(folder);
    return 0;
}
