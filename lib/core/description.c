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
