// SPDX-License-Identifier: Apache-2.0
// Samples of a model's inputs, that errors are measured on.
#ifndef BYOC_CORE_MEASURE_SAMPLES_H_
#define BYOC_CORE_MEASURE_SAMPLES_H_

#include <stdbool.h>
#include <stddef.h>

// Tensors, in the order of the inputs, each as large as its type says.
typedef struct byoc_error_samples_t {
  const void *const *const *inputs; // [sample][input]
  size_t count;
  bool is_generated;
} byoc_error_samples_t;

#endif // BYOC_CORE_MEASURE_SAMPLES_H_
