// SPDX-License-Identifier: Apache-2.0
// Lies in a folder of headers.
#ifndef PORT_NEGATE_H_
#define PORT_NEGATE_H_

#include <stdint.h>

void port_negate(const float *x, float *y, int64_t count, float sign);

#endif // PORT_NEGATE_H_
