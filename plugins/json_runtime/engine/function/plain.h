// SPDX-License-Identifier: Apache-2.0
// plain.h - plain loops for the operators by which oneDNN loses NaN: NaN in, NaN out. Careful functions use them, for
// runs in which there is a NaN (watch.h). All tensors are row-major.
#ifndef BYOC_DNNL_PLAIN_H_
#define BYOC_DNNL_PLAIN_H_

#include <dnnl.h>

typedef enum byoc_dnnl_plain_kind_t {
  BYOC_DNNL_PLAIN_NONE,
  BYOC_DNNL_PLAIN_ELTWISE,   // y = f(x)
  BYOC_DNNL_PLAIN_BINARY,    // y = f(x, z), where z broadcasts to x
  BYOC_DNNL_PLAIN_REDUCTION, // y = f of x over the dimensions that y lacks
  BYOC_DNNL_PLAIN_POOLING,   // the largest in each window
  BYOC_DNNL_PLAIN_SOFTMAX,   // or its logarithm, along `axis`
} byoc_dnnl_plain_kind_t;

typedef struct byoc_dnnl_plain_t {
  byoc_dnnl_plain_kind_t kind;
  dnnl_alg_kind_t algorithm;
  float alpha, beta; // of elementwise functions
  int32_t rank;
  dnnl_dims_t x, y, z; // dimensions
  int32_t axis;
  dnnl_dims_t kernel, strides, dilations, pads; // of windows; 1 is dense, and pads are those in front
} byoc_dnnl_plain_t;

// Whether oneDNN's own kernels may drop a NaN.
int byoc_dnnl_loses_nan(dnnl_alg_kind_t algorithm, float alpha);

// `z` may be NULL where the kind has no such operand; y may be x for elementwise functions and binary ones.
void byoc_dnnl_plain_run(const byoc_dnnl_plain_t *plain, const float *x, const float *z, float *y);

#endif // BYOC_DNNL_PLAIN_H_
