// SPDX-License-Identifier: Apache-2.0
// Seeded weights that are the same bytes on every machine: integers from SplitMix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", 2014), made floats by exact steps and one rounded multiplication.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "modelgen.h"

static uint64_t next_random(modelgen_t *gen) {
  uint64_t z = gen->random += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

// Uniform in [-1, 1), a multiple of 2^-23.
static float next_signed(modelgen_t *gen) {
  const int32_t integer = (int32_t)(next_random(gen) >> 40) - (1 << 23);
  return (float)integer * 0x1p-23f;
}

const char *modelgen_text(modelgen_t *gen, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, arguments);
  char *text = length >= 0 ? byoc_onnx_model_allocate(gen->model, (size_t)length + 1) : NULL;
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(arguments);
  return text ? text : "";
}

void modelgen_weights(modelgen_t *gen, const char *name, size_t rank, const int64_t *dims, int64_t fan_in, float gain) {
  float *data = byoc_onnx_graph_initialiser(gen->graph, name, BYOC_DTYPE_F32, rank, dims);
  if (!data) return;
  int64_t count = 1;
  for (size_t i = 0; i < rank; i++) count *= dims[i];
  // A uniform distribution over [-a, a) has variance a² / 3.
  const float limit = gain * sqrtf(3.0f / (float)fan_in);
  for (int64_t i = 0; i < count; i++) data[i] = next_signed(gen) * limit;
}

void modelgen_bytes(modelgen_t *gen, const char *name, byoc_dtype_t dtype, size_t rank, const int64_t *dims) {
  uint8_t *data = byoc_onnx_graph_initialiser(gen->graph, name, dtype, rank, dims);
  int64_t count = 1;
  for (size_t i = 0; i < rank; i++) count *= dims[i];
  if (dtype == BYOC_DTYPE_I4) count /= 2;
  for (int64_t i = 0; data && i < count; i++) data[i] = (uint8_t)(next_random(gen) >> 56);
}

void modelgen_range(modelgen_t *gen, const char *name, int64_t count, float low, float high) {
  float *data = byoc_onnx_graph_initialiser(gen->graph, name, BYOC_DTYPE_F32, 1, &count);
  const float middle = (low + high) * 0.5f, half = (high - low) * 0.5f;
  for (int64_t i = 0; data && i < count; i++) {
    // Two statements, so that no compiler fuses them into one rounding.
    const volatile float offset = next_signed(gen) * half;
    data[i] = middle + offset;
  }
}

void modelgen_scalar(modelgen_t *gen, const char *name, float value) {
  byoc_onnx_graph_initialiser_data(gen->graph, name, BYOC_DTYPE_F32, 0, NULL, &value);
}

void modelgen_indices(modelgen_t *gen, const char *name, size_t count, const int64_t *values) {
  const int64_t dims[1] = {(int64_t)count};
  byoc_onnx_graph_initialiser_data(gen->graph, name, BYOC_DTYPE_I64, 1, dims, values);
}
