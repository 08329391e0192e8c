#ifndef CTN_CORE_ATOMIC_H
#define CTN_CORE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* A word: 8 aligned bytes in the shared heap with one writer at a time. Store
 * is a release and load an acquire: a rank that has read the word sees all that
 * its writer wrote before it. */

static inline void ctn_word_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline uint64_t ctn_word_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/** For words with two writers: compare and swap. True: this writer succeeded.
 */
static inline bool ctn_word_replace(uint64_t *word, uint64_t was,
                                    uint64_t value)
{
    return __atomic_compare_exchange_n(word, &was, value, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline void ctn_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/** Pause between two loads of a word: a rank that loads it all the time takes
 * the cache line from its writer. A barrier of two ranks with a core each, in
 * us: no pause 0.19, one 0.17, four 0.156; the raw exchange takes 0.139. */
static inline void ctn_word_rest(void)
{
    for (int i = 0; i < 4; i++) {
        ctn_pause();
    }
}

/** Whether an increasing word reaches `value` within so many loads (> 0). */
static inline bool ctn_word_reaches(const uint64_t *word, uint64_t value,
                                    uint32_t loads)
{
    while (ctn_word_load(word) < value) {
        if (--loads == 0) {
            return false;
        }
        ctn_word_rest();
    }
    return true;
}

/** Whether a word becomes `value` within so many loads (> 0). */
static inline bool ctn_word_becomes(const uint64_t *word, uint64_t value,
                                    uint32_t loads)
{
    while (ctn_word_load(word) != value) {
        if (--loads == 0) {
            return false;
        }
        ctn_word_rest();
    }
    return true;
}

#endif
