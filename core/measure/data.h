// SPDX-License-Identifier: Apache-2.0
// Generated data for measuring. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_DATA_H_
#define BYOC_CORE_MEASURE_DATA_H_

#include <stddef.h>
#include <stdint.h>

#define BYOC_MEASURE_SEED UINT64_C(1) // a fixed one, so that candidates meet the same data

// Random data of ordinary size: numbers in [-1, 1), bytes of any value, larger integers 0 and 1 (they may be indices).
// Denormals and huge values would distort the times. `state` carries on from tensor to tensor.
void byoc_measure_fill(uint32_t dtype, void *data, size_t size_bytes, uint64_t *state);
// The same with NaN, infinities, zeros and subnormal numbers among the floats: few, so that sums of many elements are
// not all NaN.
void byoc_measure_fill_special(uint32_t dtype, void *data, size_t size_bytes, uint64_t *state);

#endif // BYOC_CORE_MEASURE_DATA_H_
