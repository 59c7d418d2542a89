// SPDX-License-Identifier: Apache-2.0
// Generates data: numbers of ordinary size, or special values among them.
#include "core/measure/data.h"

#include <math.h>
#include <string.h>

#include "core/ir/element.h"

// One element in so many has a special value.
enum { WILD_DISTANCE = 29 };

// splitmix64
static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

void byoc_measure_fill(uint32_t dtype, void *data, size_t size_bytes, uint64_t *state) {
  uint8_t *bytes = data;
  switch (dtype) {
  case BYOC_DTYPE_F32:
  case BYOC_DTYPE_C64:
    for (size_t i = 0; i + 4 <= size_bytes; i += 4) {
      float value = (float)(int64_t)(next_random(state) >> 40) / (float)(1 << 23) - 1.0f;
      memcpy(bytes + i, &value, 4);
    }
    return;
  case BYOC_DTYPE_F64:
  case BYOC_DTYPE_C128:
    for (size_t i = 0; i + 8 <= size_bytes; i += 8) {
      double value = (double)(int64_t)(next_random(state) >> 40) / (double)(1 << 23) - 1.0;
      memcpy(bytes + i, &value, 8);
    }
    return;
  case BYOC_DTYPE_F16:
  case BYOC_DTYPE_BF16:
    // Both signs, magnitudes from 1/8 to 1.
    for (size_t i = 0; i + 2 <= size_bytes; i += 2) {
      uint64_t r = next_random(state);
      uint16_t half = (uint16_t)(0x3000u | (r & 0x0bffu)), brain = (uint16_t)(0x3e00u | (r & 0x017fu));
      uint16_t value = (uint16_t)((dtype == BYOC_DTYPE_F16 ? half : brain) | (r >> 16 & 0x8000u));
      memcpy(bytes + i, &value, 2);
    }
    return;
  case BYOC_DTYPE_I8:
  case BYOC_DTYPE_U8:
    for (size_t i = 0; i < size_bytes; ++i) bytes[i] = (uint8_t)(next_random(state) >> 32);
    return;
  default: {
    size_t width = byoc_dtype_bits(dtype) / 8;
    if (width == 0) width = 1;
    memset(bytes, 0, size_bytes);
    for (size_t i = 0; i < size_bytes; i += width) bytes[i] = (uint8_t)(next_random(state) & 1);
    return;
  }
  }
}

void byoc_measure_fill_special(uint32_t dtype, void *data, size_t size_bytes, uint64_t *state) {
  static const double special[] = {(double)NAN, 0.0, (double)INFINITY, 1e-40, -(double)INFINITY, -0.0, -1e-40};
  byoc_measure_fill(dtype, data, size_bytes, state);
  const size_t bits = byoc_dtype_bits(dtype);
  if (!byoc_dtype_is_any_float(dtype) || bits < 8) return;
  const size_t count = size_bytes * 8 / bits, first = count > 0 ? next_random(state) % WILD_DISTANCE % count : 0;
  for (size_t i = first, k = 0; i < count; i += WILD_DISTANCE, ++k) {
    byoc_element_set_f64(dtype, data, i, special[(k + first) % (sizeof(special) / sizeof(special[0]))]);
  }
}
