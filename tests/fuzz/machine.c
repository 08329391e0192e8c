/* Machine files (--sim FILE). What is accepted has sensible values: the
 * formulas give finite times. */

#include "fuzz.h"

#include <math.h>
#include <stdlib.h>

#include "model/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    catena_machine_t *machine;
    catena_model_point_t point = {.size = sizeof(point),
                                  .algorithm = "onmpml",
                                  .nodes = 4,
                                  .ppn = 4,
                                  .leaders = 2,
                                  .bytes = 64};
    double seconds;
    if (ctn_machine_read(&fuzz_log, fuzz_file(data, bytes), &machine) !=
        CATENA_OK) {
        return 0;
    }
    if (ctn_model_alltoall(machine, &point, &seconds) != CATENA_OK ||
        !isfinite(seconds) || seconds < 0) {
        abort();
    }
    ctn_machine_free(machine);
    return 0;
}
