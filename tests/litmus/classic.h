#ifndef LITMUS_CLASSIC_H
#define LITMUS_CLASSIC_H

#include "litmus/memory.h"

/** A litmus test. Outcome 1 is the one that RC11 allows or forbids. */
typedef struct classic {
    litmus_t program;
    bool allowed;
} classic_t;

extern const classic_t classics[];
extern const int classics_count;

#endif
