// SPDX-License-Identifier: Apache-2.0
// The peak speed of this machine's processor and memory, for one thread, measured in a tenth of a second.
#ifndef BYOC_CORE_COLLAGE_CALIBRATE_H_
#define BYOC_CORE_COLLAGE_CALIBRATE_H_

#include "core/collage/cost_database.h"

// Measures fused multiply-adds in f32, and products of bytes and of bf16 if there are instructions for them, by the
// widest registers available, the bandwidth of reading and writing memory
// well beyond the caches, and a call through an address with its arguments.
byoc_status_t byoc_calibrate(byoc_allocator_t allocator, byoc_diag_t *diag, byoc_calibration_t *out_calibration);

#endif // BYOC_CORE_COLLAGE_CALIBRATE_H_
