// SPDX-License-Identifier: Apache-2.0
// Remembers the code that this machine has found right, with the cache of objects, by content. Wrong code is not
// remembered, so that the next build looks again.
#ifndef BYOC_CORE_MEASURE_VERDICT_H_
#define BYOC_CORE_MEASURE_VERDICT_H_

#include "core/base/sha256.h"
#include "core/collage/cost_key.h"
#include "core/compose/artifact/compose.h"

// The key of a verdict. Of a region: its structure, shapes and small constants, the target with its options, the
// plugin, the compiler and the machine. Of a kernel: its C, the flags, the compiler and the machine.
byoc_status_t byoc_verdict_of_region(const byoc_function_t *function, const byoc_target_t *target,
                                     const byoc_target_t *native, const char *compiler_version, byoc_diag_t *diag,
                                     byoc_digest_t *out_key);
byoc_status_t byoc_verdict_of_kernel(const byoc_loop_kernel_t *kernel, const byoc_compose_kernels_t *unit,
                                     byoc_diag_t *diag, byoc_digest_t *out_key);

// Was it found right?
bool byoc_verdict_is_right(const byoc_digest_t *key);
void byoc_verdict_note_right(const byoc_digest_t *key);

#endif // BYOC_CORE_MEASURE_VERDICT_H_
