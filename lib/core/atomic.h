#ifndef CTN_CORE_ATOMIC_H
#define CTN_CORE_ATOMIC_H

#include <stdint.h>

/* A word: 8 aligned bytes in the shared heap with one writer at a time.
 * Release on store and acquire on load make everything that the writer wrote
 * before the word visible to whoever has seen the word. */

static inline void ctn_word_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline uint64_t ctn_word_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void ctn_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

#endif
