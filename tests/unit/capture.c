#include "capture.h"

#include <stdlib.h>
#include <unistd.h>

void capture_start(capture_t *capture)
{
    capture->file = tmpfile();
    if (capture->file == NULL) {
        abort();
    }
    capture->saved = dup(STDERR_FILENO);
    dup2(fileno(capture->file), STDERR_FILENO);
}

void capture_stop(capture_t *capture)
{
    dup2(capture->saved, STDERR_FILENO);
    close(capture->saved);
    rewind(capture->file);
    size_t length =
        fread(capture->text, 1, sizeof(capture->text) - 1, capture->file);
    capture->text[length] = '\0';
    fclose(capture->file);
}
