// SPDX-License-Identifier: Apache-2.0
// reference.h - plain loops over the engine's JSON, to compare its results with.
#ifndef BYOC_DNNL_TEST_REFERENCE_H_
#define BYOC_DNNL_TEST_REFERENCE_H_

#include "byoc/engine.h"

// Runs the function on row-major data: inputs and constants in their order, outputs into buffers of the right size.
// Exits on a description that it does not understand.
void reference_run(const char *json, const float *const *inputs, const float *const *constants, float *const *outputs);

// The number of elements and the dimensions of a boundary value or constant ("inputs", "outputs", "constant").
int64_t reference_count(const char *json, const char *what, uint32_t index);

#endif // BYOC_DNNL_TEST_REFERENCE_H_
