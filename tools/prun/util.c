/* Messages, memory that ends prun if there is none, and removal of files. */
#include "prun.h"

#include <ctype.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t prun_line(char line[PRUN_LINE_BYTES], const char *format, va_list list)
{
    size_t length = strlen(strcpy(line, "prun: "));
    int more =
        vsnprintf(line + length, PRUN_LINE_BYTES - length - 1, format, list);
    length += more > 0 ? (size_t)more : 0;
    if (length > PRUN_LINE_BYTES - 2)
        length = PRUN_LINE_BYTES - 2;
    for (size_t i = 0; i < length; i++) /* such as newlines of arguments */
        if (iscntrl((unsigned char)line[i]))
            line[i] = '?';
    line[length++] = '\n';
    return length;
}

static void prun_error_list(const char *format, va_list list)
{
    char line[PRUN_LINE_BYTES];
    size_t length = prun_line(line, format, list);
    /* One write, so that lines of several processes do not mix. */
    if (write(STDERR_FILENO, line, length) < 0)
        return;
}

void prun_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    prun_error_list(format, list);
    va_end(list);
}

void prun_die(int code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    prun_error_list(format, list);
    va_end(list);
    exit(code);
}

const struct prun_app *prun_app_of(const struct prun_options *options,
                                   uint32_t rank)
{
    uint32_t app = options->app_count - 1;
    while (app > 0 && options->apps[app].first > rank)
        app--;
    return &options->apps[app];
}

void *prun_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        prun_die(PRUN_EXIT_INTERNAL,
                 "out of memory for %zu x %zu bytes; start fewer ranks", count,
                 size);
    return memory;
}

void *prun_grow(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);
    if (!memory)
        prun_die(PRUN_EXIT_INTERNAL,
                 "out of memory for %zu bytes; start fewer ranks", bytes);
    return memory;
}

char *prun_format(const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    int length = vasprintf(&text, format, list);
    va_end(list);
    if (length < 0)
        prun_die(PRUN_EXIT_INTERNAL, "out of memory; start fewer ranks");
    return text;
}

void prun_buffer_append(struct prun_buffer *buffer, const void *data,
                        size_t bytes)
{
    if (bytes == 0)
        return;
    if (buffer->capacity - buffer->used < bytes) {
        size_t capacity = buffer->capacity ? buffer->capacity : 256;
        while (capacity - buffer->used < bytes)
            capacity *= 2;
        buffer->data = prun_grow(buffer->data, capacity);
        buffer->capacity = capacity;
    }
    memcpy(buffer->data + buffer->used, data, bytes);
    buffer->used += bytes;
}

void prun_buffer_consume(struct prun_buffer *buffer, size_t bytes)
{
    buffer->used -= bytes;
    if (buffer->used > 0)
        memmove(buffer->data, buffer->data + bytes, buffer->used);
}

void prun_buffer_free(struct prun_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct prun_buffer){0};
}

static int prun_remove_entry(const char *path, const struct stat *info,
                             int kind, struct FTW *position)
{
    (void)info;
    (void)kind;
    (void)position;
    /* A rank may be removing the same files. A file that stays is harmless. */
    remove(path);
    return 0;
}

void prun_remove_tree(const char *path)
{
    if (path)
        nftw(path, prun_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
