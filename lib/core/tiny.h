#ifndef CTN_CORE_TINY_H
#define CTN_CORE_TINY_H

#include "build_constants.h"

/** A size or threshold, and its value in a build with -Dtiny. In such a build
 * few ranks and short messages reach code paths that otherwise take thousands
 * of operations, blocks of many KiB or more ranks than a machine has cores. */
#if CTN_TINY
#define CTN_PICK(usual, tiny) (tiny)
#else
#define CTN_PICK(usual, tiny) (usual)
#endif

#endif
