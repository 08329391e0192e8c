#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "core/log.h"

/* Programs that hand bytes to what reads bytes of others: files, settings,
 * messages. Each has the entry point of libFuzzer, so that clang's
 * -fsanitize=fuzzer makes a fuzzer of it (-Dfuzz=true); else replay.c runs it
 * on its corpus and on mutations of that. A run fails by a crash, a sanitizer's
 * report, or abort(). */

/** Handle one input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/** A log that writes nothing. */
extern const ctn_log_t fuzz_log;
/** A path that reads as a file with these bytes, until the next call. */
const char *fuzz_file(const uint8_t *data, size_t bytes);

#endif
