// SPDX-License-Identifier: Apache-2.0
// The computation of the engine, in a file of its own.
#include "port/negate.h"

void port_negate(const float *x, float *y, int64_t count, float sign) {
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] * sign;
}
