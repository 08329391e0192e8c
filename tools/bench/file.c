/* Writing and reading of small files; see file.h. */

#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

static void report_wrong(const struct bench_file *file, const char *doing,
                         const char *path)
{
    fprintf(stderr, "catena-bench: %s: %s %s: %s\n", file->option, doing, path,
            strerror(errno));
}

/* Create the temporary file. The name is the caller's to free. */
static bool create(struct bench_file *file)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    fd = mkstemp(file->name);
    if (fd < 0) {
        report_wrong(file, "creating a file beside", file->path);
        return false;
    }
    (void)fchmod(fd, 0666 & ~mask);
    file->stream = fdopen(fd, "w");
    if (file->stream == NULL) {
        report_wrong(file, "opening", file->name);
        close(fd);
        unlink(file->name);
    }
    return file->stream != NULL;
}

bool bench_file_open(struct bench_file *file, const char *option,
                     const char *path)
{
    size_t bytes = strlen(path) + sizeof(".XXXXXX");

    *file = (struct bench_file){.option = option, .path = path};
    file->name = malloc(bytes);
    if (file->name == NULL) {
        report_wrong(file, "writing", path);
        return false;
    }
    snprintf(file->name, bytes, "%s.XXXXXX", path);
    if (create(file))
        return true;
    free(file->name);
    return false;
}

int bench_file_close(struct bench_file *file, bool written)
{
    int code = BENCH_FAILED;

    written &= fclose(file->stream) == 0;
    if (!written)
        report_wrong(file, "writing", file->name);
    else if (rename(file->name, file->path) != 0)
        report_wrong(file, "renaming to", file->path);
    else
        code = BENCH_OK;
    if (code != BENCH_OK)
        unlink(file->name);
    free(file->name);
    return code;
}

int bench_file_try(const char *option, const char *path)
{
    struct bench_file file;

    if (!bench_file_open(&file, option, path))
        return BENCH_FAILED;
    fclose(file.stream);
    unlink(file.name);
    free(file.name);
    return BENCH_OK;
}

void bench_read_field(const char *path, const char *label, char *text,
                      size_t bytes)
{
    char line[512];
    FILE *stream = fopen(path, "r");

    while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, label, strlen(label)) != 0 || colon == NULL)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(text, bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (stream != NULL)
        fclose(stream);
}
