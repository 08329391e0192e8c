/* Files of rules (CATENA_TUNING). Every question to an accepted one is
 * answered.
 */

#include "fuzz.h"

#include "model/tuning.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const ctn_tuning_t *tuning;
    if (ctn_tuning_open(&fuzz_log, fuzz_file(data, bytes), &tuning) !=
        CATENA_OK) {
        return 0;
    }
    (void)ctn_tuning_name(tuning);
    (void)ctn_tuning_machine(tuning);
    ctn_tuning_close(tuning);
    return 0;
}
