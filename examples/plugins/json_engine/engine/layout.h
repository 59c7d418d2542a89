// SPDX-License-Identifier: Apache-2.0
// layout.h - between [batch, channels, pixels], as the artifact has its tensors, and [batch, pixels, channels].
#ifndef XNNPACK_ENGINE_LAYOUT_H_
#define XNNPACK_ENGINE_LAYOUT_H_

#include <stdint.h>

#include "byoc/call.h"

// to[b][column][row] = from[b][row][column], on the threads of the artifact.
void xnnpack_transpose(const byoc_runtime_t *runtime, const float *from, float *to, int64_t batch, int64_t rows,
                       int64_t columns);

#endif // XNNPACK_ENGINE_LAYOUT_H_
