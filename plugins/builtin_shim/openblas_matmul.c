// SPDX-License-Identifier: Apache-2.0
// Products whose sizes each run brings, by the packed convention: the shapes of a call say how many rows, columns and
// matrices there are.
#include <string.h>

#include "openblas_products.h"

// One matrix product, or several of one size.
typedef struct sizes_t {
  const byoc_runtime_t *runtime;
  int64_t m, n, k;
  int32_t is_f64, b_turned;
} sizes_t;

static int64_t element_bytes(const sizes_t *s) {
  return s->is_f64 ? 8 : 4;
}

// ---- products ----

// A row times a matrix, or a matrix times a column.
static int32_t multiply_vector(const sizes_t *s, const void *a, const void *b, void *c) {
  const int is_row = s->n != 1;
  const int32_t turned = is_row && !s->b_turned;
  const int64_t rows = !is_row ? s->m : s->b_turned ? s->n : s->k, columns = is_row && !s->b_turned ? s->n : s->k;
  const void *matrix = is_row ? b : a, *vector = is_row ? a : b;
  return s->is_f64 ? byoc_openblas_dgemv(s->runtime, turned, (int32_t)rows, (int32_t)columns, 1.0, matrix, vector, c)
                   : byoc_openblas_sgemv(s->runtime, turned, (int32_t)rows, (int32_t)columns, 1.0f, matrix, vector, c);
}

// `count` products, none of whose sizes is 0; the steps are in elements.
static int32_t multiply(const sizes_t *s, int64_t count, const void *a, int64_t a_step, const void *b, int64_t b_step,
                        void *c) {
  if (s->m > INT32_MAX || s->n > INT32_MAX || s->k > INT32_MAX) {
    if (s->runtime->set_error != NULL) {
      s->runtime->set_error(s->runtime->self, "a matrix has more rows or columns than OpenBLAS counts (2^31)");
    }
    return BYOC_UNSUPPORTED;
  }
  if (count == 1 && (s->m == 1 || s->n == 1)) return multiply_vector(s, a, b, c);
  const int32_t m = (int32_t)s->m, n = (int32_t)s->n, k = (int32_t)s->k;
  const int64_t c_step = s->m * s->n;
  return s->is_f64
             ? byoc_openblas_dgemm(s->runtime, count, 0, s->b_turned, m, n, k, 1.0, a, a_step, b, b_step, c, c_step)
             : byoc_openblas_sgemm(s->runtime, count, 0, s->b_turned, m, n, k, 1.0f, a, a_step, b, b_step, c, c_step);
}

// ---- MatMul ----

static int64_t lead_count(const DLTensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim - 2; ++d) count *= tensor->shape[d];
  return count;
}

// The matrix of `tensor` that takes part in product `index` of the result's: axes of size 1 stay where they are.
static int64_t matrix_of(const DLTensor *tensor, const int64_t *shape, int32_t rank, int64_t index) {
  int64_t at = 0, stride = 1;
  for (int32_t d = rank - 1, own = tensor->ndim - 3; own >= 0; --d, --own) {
    const int64_t place = index % shape[d];
    index /= shape[d];
    if (tensor->shape[own] != 1) at += place * stride;
    stride *= tensor->shape[own];
  }
  return at;
}

int32_t byoc_openblas_matmul(const byoc_call_t *call) {
  const DLTensor *a = &call->tensors[0], *b = &call->tensors[1], *c = &call->tensors[2];
  sizes_t s = {.runtime = call->runtime,
               .m = a->ndim == 1 ? 1 : a->shape[a->ndim - 2],
               .n = b->ndim == 1 ? 1 : b->shape[b->ndim - 1],
               .k = a->shape[a->ndim - 1],
               .is_f64 = a->dtype.bits == 64};
  const int32_t batch_rank = c->ndim - (a->ndim > 1) - (b->ndim > 1);
  const int64_t a_count = lead_count(a), b_count = lead_count(b), size = element_bytes(&s);
  int64_t count = 1;
  for (int32_t d = 0; d < batch_rank; ++d) count *= c->shape[d];
  if (count == 0 || s.m == 0 || s.n == 0) return BYOC_OK;
  if (s.k == 0) {
    memset(c->data, 0, (size_t)(count * s.m * s.n * size));
    return BYOC_OK;
  }
  if (b_count == 1) { // the rows of all matrices are those of one
    s.m *= count;
    return multiply(&s, 1, a->data, 0, b->data, 0, c->data);
  }
  const int64_t a_step = s.m * s.k, b_step = s.k * s.n;
  if (b_count == count && (a_count == 1 || a_count == count)) {
    return multiply(&s, count, a->data, a_count == 1 ? 0 : a_step, b->data, b_step, c->data);
  }
  int32_t status = BYOC_OK;
  for (int64_t i = 0; i < count && status == BYOC_OK; ++i) {
    status = multiply(&s, 1, (const char *)a->data + matrix_of(a, c->shape, batch_rank, i) * a_step * size, 0,
                      (const char *)b->data + matrix_of(b, c->shape, batch_rank, i) * b_step * size, 0,
                      (char *)c->data + i * s.m * s.n * size);
  }
  return status;
}

// ---- Gemm ----

// Adds what may be broadcast to each of m x n elements.
static void add(const sizes_t *s, const DLTensor *summand, void *result) {
  const int64_t columns = summand->ndim > 0 ? summand->shape[summand->ndim - 1] : 1;
  const int64_t row_step = summand->ndim > 1 && summand->shape[0] != 1 ? columns : 0, step = columns != 1;
  for (int64_t row = 0; row < s->m; ++row) {
    if (s->is_f64) {
      const double *from = (const double *)summand->data + row * row_step;
      double *to = (double *)result + row * s->n;
      for (int64_t i = 0; i < s->n; ++i) to[i] += from[i * step];
    } else {
      const float *from = (const float *)summand->data + row * row_step;
      float *to = (float *)result + row * s->n;
      for (int64_t i = 0; i < s->n; ++i) to[i] += from[i * step];
    }
  }
}

static int32_t run_gemm(const byoc_call_t *call, int32_t b_turned) {
  const DLTensor *a = &call->tensors[0], *b = &call->tensors[1], *c = &call->tensors[call->input_count];
  const sizes_t s = {.runtime = call->runtime,
                     .m = c->shape[0],
                     .n = c->shape[1],
                     .k = a->shape[1],
                     .is_f64 = a->dtype.bits == 64,
                     .b_turned = b_turned};
  int32_t status = BYOC_OK;
  if (s.m == 0 || s.n == 0) return BYOC_OK;
  if (s.k == 0) memset(c->data, 0, (size_t)(s.m * s.n * element_bytes(&s)));
  if (s.k > 0) status = multiply(&s, 1, a->data, 0, b->data, 0, c->data);
  if (status == BYOC_OK && call->input_count > 2) add(&s, &call->tensors[2], c->data);
  return status;
}

int32_t byoc_openblas_gemm(const byoc_call_t *call) {
  return run_gemm(call, 0);
}

int32_t byoc_openblas_gemm_turned(const byoc_call_t *call) {
  return run_gemm(call, 1);
}
