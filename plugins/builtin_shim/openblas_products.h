// SPDX-License-Identifier: Apache-2.0
// The functions that tables/openblas.json calls: matrix products of dense rows, over the workers of a context.
#ifndef BYOC_PLUGINS_BUILTIN_SHIM_OPENBLAS_PRODUCTS_H_
#define BYOC_PLUGINS_BUILTIN_SHIM_OPENBLAS_PRODUCTS_H_

#include "byoc/call.h"

// Visible for the shared object that the evaluator opens; artifacts hide them.
#define BYOC_OPENBLAS_ENTRY __attribute__((visibility("default")))

// Makes the buffers of a context, when it is created. May return BYOC_OUT_OF_MEMORY.
int32_t byoc_openblas_reserve(const byoc_runtime_t *runtime);

// `count` products c[m,n] = alpha * a[m,k] * b[k,n], the steps are the elements between two
// products. A matrix that is turned is stored transposed. No size is 0. Returns BYOC_OUT_OF_MEMORY if the context has
// no buffers and none can be made.
BYOC_OPENBLAS_ENTRY int32_t byoc_openblas_sgemm(const byoc_runtime_t *runtime, int64_t count, int32_t a_turned,
                                                int32_t b_turned, int32_t m, int32_t n, int32_t k, float alpha,
                                                const void *a, int64_t a_step, const void *b, int64_t b_step, void *c,
                                                int64_t c_step);
BYOC_OPENBLAS_ENTRY int32_t byoc_openblas_dgemm(const byoc_runtime_t *runtime, int64_t count, int32_t a_turned,
                                                int32_t b_turned, int32_t m, int32_t n, int32_t k, double alpha,
                                                const void *a, int64_t a_step, const void *b, int64_t b_step, void *c,
                                                int64_t c_step);
// y = alpha * a[rows,columns] * x, or with the transpose of a where it is turned.
BYOC_OPENBLAS_ENTRY int32_t byoc_openblas_sgemv(const byoc_runtime_t *runtime, int32_t turned, int32_t rows,
                                                int32_t columns, float alpha, const void *a, const void *x, void *y);
BYOC_OPENBLAS_ENTRY int32_t byoc_openblas_dgemv(const byoc_runtime_t *runtime, int32_t turned, int32_t rows,
                                                int32_t columns, double alpha, const void *a, const void *x, void *y);

// By the packed convention, with the sizes that a call brings (0 too), for f32 and f64. MatMul of two tensors:
BYOC_OPENBLAS_ENTRY int32_t byoc_openblas_matmul(const byoc_call_t *call);
// a[m,k] * b[k,n], or with the transpose of b[n,k], plus a third tensor, if there is one, that may be broadcast:
BYOC_OPENBLAS_ENTRY int32_t byoc_openblas_gemm(const byoc_call_t *call);
BYOC_OPENBLAS_ENTRY int32_t byoc_openblas_gemm_turned(const byoc_call_t *call);

#endif // BYOC_PLUGINS_BUILTIN_SHIM_OPENBLAS_PRODUCTS_H_
