// SPDX-License-Identifier: Apache-2.0
// Rounds packed weights to f16 and bf16.
#include "pack/pack_half.h"

#include <string.h>

static uint16_t narrow_f16(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (magnitude < 0x33000000) return (uint16_t)sign; // below half of the smallest number
  uint32_t shift = 13, whole = magnitude - (112u << 23);
  if (magnitude < 0x38800000) { // subnormal: multiples of 2^-24
    shift = 126 - (magnitude >> 23);
    whole = (magnitude & 0x7fffff) | 0x800000;
  }
  return (uint16_t)(sign | ((whole + (1u << (shift - 1)) - 1 + (whole >> shift & 1)) >> shift));
}

static uint16_t narrow_bf16(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 64);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void byoc_cutlass_narrow(uint32_t type, const float *from, int64_t count, uint16_t *to) {
  const char *source = (const char *)from;
  char *target = (char *)to;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, source + i * 4, sizeof bits);
    const uint16_t half = type == BYOC_DTYPE_F16 ? narrow_f16(bits) : narrow_bf16(bits);
    memcpy(target + i * 2, &half, sizeof half);
  }
}
