#ifndef INFO_BUILD_H
#define INFO_BUILD_H

#include <stdbool.h>
#include <stddef.h>

/* How this program, and so the library, was built. */

static inline const char *build_compiler(void)
{
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "not known";
#endif
}

static inline const char *build_machine(void)
{
#if defined(__x86_64__)
    return "x86_64";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return sizeof(void *) == 8 ? "other, 64-bit" : "other, 32-bit";
#endif
}

static inline bool build_optimized(void)
{
#if defined(__OPTIMIZE__)
    return true;
#else
    return false;
#endif
}

static inline bool build_assertions(void)
{
#if defined(NDEBUG)
    return false;
#else
    return true;
#endif
}

/** @return "": none */
static inline const char *build_sanitizer(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return "address";
#elif defined(__SANITIZE_THREAD__)
    return "thread";
#else
    return "";
#endif
}

#endif
