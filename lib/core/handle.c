#include "core/handle.h"

#include <pthread.h>
#include <stdlib.h>

#ifdef NDEBUG

void ctn_handle_free(void *memory)
{
    free(memory);
}

#else

enum { KEPT = 256 };

static struct {
    pthread_mutex_t mutex;
    void *memory[KEPT];
    unsigned next;
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void ctn_handle_free(void *memory)
{
    pthread_mutex_lock(&kept.mutex);
    void **at = &kept.memory[kept.next++ % KEPT];
    void *oldest = *at;
    *at = memory;
    pthread_mutex_unlock(&kept.mutex);
    free(oldest);
}

#endif

catena_status_t ctn_refuse_handle(const char *function, const char *name,
                                  const void *handle)
{
    return handle == NULL ? ctn_refuse_null(NULL, function, name)
                          : ctn_refuse(NULL, CATENA_ERR_ARG, function,
                                       "%s " CTN_WAS_FREED, name);
}
