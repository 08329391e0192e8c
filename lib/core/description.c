#include "core/description.h"

const char *ctn_call_name(unsigned code)
{
    static const char *const names[CTN_CODES] = {
#define CTN_OTHER(NAME, name) [CTN_CODE_##NAME] = #name,
#define CTN_ANY(NAME, name, ...) CTN_OTHER(NAME, name)
#include "core/calls.def"
    };
    return code < CTN_CODES ? names[code] : "no call";
}

bool ctn_call_has_lengths(unsigned code)
{
    switch (code) {
#define CTN_ANY(NAME, name, send, recv, traits)                                \
    case CTN_CODE_##NAME:                                                      \
        return CTN_SIDE_##send >= CTN_SIDE_VECTOR &&                           \
               CTN_SIDE_##recv >= CTN_SIDE_VECTOR &&                           \
               CTN_SIDE_##recv <= CTN_SIDE_TYPED;
#include "core/calls.def"
    default:
        return false;
    }
}
