#include "words.h"

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>

#include "affine.h"

bool words_draw_bool(uint64_t *random)
{
    return job_random(random) % 2 == 0;
}

uint64_t words_mix(uint64_t salt, uint64_t a, uint64_t b)
{
    uint64_t state = salt * 1000003 + a * UINT64_C(65537) + b;
    return job_random(&state);
}

size_t words_length(uint64_t random, size_t most)
{
    return random % 4 == 0 ? 0 : random / 4 % (most + 1);
}

uint64_t *words_take(job_t *job, bool shared, size_t count)
{
    size_t bytes = count * sizeof(uint64_t);
    uint64_t *words =
        shared ? catena_malloc(job->context, bytes) : malloc(bytes);
    JOB_CHECK(job, words != NULL);
    return words;
}

void words_give(job_t *job, bool shared, uint64_t *words)
{
    if (shared) {
        catena_free(job->context, words);
    } else {
        free(words);
    }
}

void words_untouch(uint64_t *words, size_t count)
{
    memset(words, 0x5a, count * sizeof(uint64_t));
}

size_t words_alike(const uint64_t *words, const uint64_t *expected,
                   size_t count)
{
    size_t i = 0;
    while (i < count && words[i] == expected[i]) {
        i++;
    }
    return i;
}

catena_datatype_t words_type(job_t *job, bool spread)
{
    catena_datatype_t type;
    JOB_CHECK(job, catena_type_resized(CATENA_UINT64, 0,
                                       (spread ? 2 : 1) * sizeof(uint64_t),
                                       &type) == CATENA_OK);
    return type;
}

catena_op_t words_op(job_t *job, bool sum)
{
    catena_op_t op = CATENA_SUM;
    if (!sum) {
        JOB_CHECK(job,
                  catena_op_create(affine_apply, NULL, 0, &op) == CATENA_OK);
    }
    return op;
}

void words_op_drop(job_t *job, bool sum, catena_op_t op)
{
    if (!sum) {
        JOB_CHECK(job, catena_op_free(&op) == CATENA_OK);
    }
}

uint64_t words_combine(bool sum, uint64_t left, uint64_t right)
{
    return sum ? left + right : affine_after(left, right);
}
