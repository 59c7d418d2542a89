// SPDX-License-Identifier: Apache-2.0
// Matrix products by OpenBLAS on one thread each, spread over the artifact's own workers.
//
// This file stands in for OpenBLAS' memory.o, blas_server.o and threaded drivers: no thread is started, no lock
// acquired and nothing allocated during a run. Each worker of a context has a buffer that the context keeps; the worker
// lends it to OpenBLAS for a call by a pointer of its thread.
#include "openblas_products.h"

#include <stddef.h>
#include <stdlib.h>

// ---- functions that OpenBLAS calls ----

enum { ROW_MAJOR = 101, PLAIN = 111, TURNED = 112 };

void cblas_sgemm(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(int order, int turn_a, int turn_b, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);
void cblas_sgemv(int order, int turn_a, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                 float beta, float *y, int incy);
void cblas_dgemv(int order, int turn_a, int m, int n, double alpha, const double *a, int lda, const double *x, int incx,
                 double beta, double *y, int incy);

// OpenBLAS packs a panel of the first matrix (at most 2 MB, by its sizes of blocks for caches) and one of the second
// (at most 512 rows of MOST_COLUMNS, 4 MB). Pages that a product does not touch are never made.
// Its kernels for small products (at most a million multiplications) pack as many doubles at most, without a panel.
enum { BUFFER_BYTES = 8 << 20, BUFFER_ALIGNMENT = 4096, MOST_COLUMNS = 1024, MOST_VECTOR = 1 << 16 };
// Below so many multiplications a second worker costs more than it saves; as in OpenBLAS.
static const int64_t least_work = 1 << 18;

int blas_cpu_number = 1, blas_num_threads = 1, blas_server_avail = 1, hugetlb_allocated = 0;
void *gotoblas = NULL; // the table of kernels, that gotoblas_dynamic_init chooses

// initial-exec: never made by an allocation that could fail.
static _Thread_local void *lent __attribute__((tls_model("initial-exec")));

void *blas_memory_alloc(int position);
void blas_memory_free(void *buffer);

void *blas_memory_alloc(int position) {
  (void)position;
  return lent;
}

void blas_memory_free(void *buffer) {
  (void)buffer;
}

// The kernels for small products call malloc without looking at its answer. The build links them with --wrap.
void *__real_malloc(size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size) {
  if (lent == NULL) return __real_malloc(size);
  if (size > BUFFER_BYTES) abort();
  return lent;
}

void __wrap_free(void *memory) {
  if (lent == NULL) __real_free(memory);
}

// Entries to threads. With one processor OpenBLAS calls none of them.
#define NEVER(name)                                                                                                    \
  void name(void);                                                                                                     \
  void name(void) {                                                                                                    \
    abort();                                                                                                           \
  }
NEVER(exec_blas)
NEVER(sgemm_thread_nn)
NEVER(sgemm_thread_nt)
NEVER(sgemm_thread_tn)
NEVER(sgemm_thread_tt)
NEVER(dgemm_thread_nn)
NEVER(dgemm_thread_nt)
NEVER(dgemm_thread_tn)
NEVER(dgemm_thread_tt)
NEVER(sgemv_thread_n)
NEVER(sgemv_thread_t)
NEVER(dgemv_thread_n)
NEVER(dgemv_thread_t)
NEVER(blas_level1_thread)
NEVER(blas_level1_thread_with_return_value)

// ---- buffers ----

static const char key; // its address

static uint64_t buffers_bytes(const byoc_runtime_t *runtime) {
  return (uint64_t)runtime->thread_count * BUFFER_BYTES + BUFFER_ALIGNMENT;
}

static int can_keep(const byoc_runtime_t *runtime) {
  return runtime->struct_size >= offsetof(byoc_runtime_t, keep) + sizeof(runtime->keep) && runtime->keep != NULL;
}

static int32_t out_of_memory(const byoc_runtime_t *runtime) {
  if (runtime->set_error != NULL) runtime->set_error(runtime->self, "out of memory: no room for OpenBLAS' panels");
  return BYOC_OUT_OF_MEMORY;
}

int32_t byoc_openblas_reserve(const byoc_runtime_t *runtime) {
  if (!can_keep(runtime) || runtime->keep(runtime->self, &key, buffers_bytes(runtime)) != NULL) return BYOC_OK;
  return out_of_memory(runtime);
}

// ---- products ----

typedef struct product_t {
  int is_f64, a_turned, b_turned;
  int64_t m, n, k;
  double alpha;
  const char *a, *b;
  char *c;
  int64_t a_step, b_step, c_step;    // elements from one product to the next
  int64_t row_blocks, column_blocks; // of each product
  char *buffers;                     // of the workers
} product_t;

static void multiply(const product_t *p, const char *a, const char *b, char *c, int64_t rows, int64_t columns) {
  const int turn_a = p->a_turned ? TURNED : PLAIN, turn_b = p->b_turned ? TURNED : PLAIN;
  const int m = (int)rows, n = (int)columns, k = (int)p->k, ldc = (int)p->n;
  const int lda = (int)(p->a_turned ? p->m : p->k), ldb = (int)(p->b_turned ? p->k : p->n);
  if (p->is_f64) {
    cblas_dgemm(ROW_MAJOR, turn_a, turn_b, m, n, k, p->alpha, (const double *)(const void *)a, lda,
                (const double *)(const void *)b, ldb, 0, (double *)(void *)c, ldc);
  } else {
    cblas_sgemm(ROW_MAJOR, turn_a, turn_b, m, n, k, (float)p->alpha, (const float *)(const void *)a, lda,
                (const float *)(const void *)b, ldb, 0, (float *)(void *)c, ldc);
  }
}

static char *buffer_of(char *buffers, int32_t worker) {
  const uintptr_t at = ((uintptr_t)buffers + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
  return buffers + (at - (uintptr_t)buffers) + (uint64_t)worker * BUFFER_BYTES;
}

// Blocks [begin, end) of all products, row by row.
static void multiply_blocks(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const product_t *p = argument;
  const int64_t size = p->is_f64 ? 8 : 4, blocks = p->row_blocks * p->column_blocks;
  lent = buffer_of(p->buffers, worker);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t turn = i / blocks, row_block = i % blocks / p->column_blocks, column_block = i % p->column_blocks;
    const int64_t row = p->m * row_block / p->row_blocks, row_end = p->m * (row_block + 1) / p->row_blocks;
    const int64_t column = p->n * column_block / p->column_blocks;
    const int64_t column_end = p->n * (column_block + 1) / p->column_blocks;
    const char *a = p->a + (turn * p->a_step + row * (p->a_turned ? 1 : p->k)) * size;
    const char *b = p->b + turn * p->b_step * size;
    char *c = p->c + (turn * p->c_step + row * p->n) * size;
    for (int64_t at = column; at < column_end; at += MOST_COLUMNS) {
      const int64_t width = column_end - at < MOST_COLUMNS ? column_end - at : MOST_COLUMNS;
      multiply(p, a, b + at * (p->b_turned ? p->k : 1) * size, c + at * size, row_end - row, width);
    }
  }
  lent = NULL;
}

// Cuts each product so that all of them make work for `workers`: blocks as square as can be, for each packs its own
// rows of the first matrix and columns of the second.
static void cut(product_t *p, int64_t count, int64_t workers) {
  const int64_t work = p->m * p->n > INT64_MAX / p->k / count ? INT64_MAX : p->m * p->n * p->k * count;
  if (workers > work / least_work) workers = work / least_work;
  const int64_t wanted = count >= workers ? 1 : (workers + count - 1) / count;
  p->row_blocks = p->column_blocks = 1;
  double least = -1;
  for (int64_t rows = 1; rows <= wanted && rows <= p->m; ++rows) {
    const int64_t columns = wanted / rows < p->n ? wanted / rows : p->n;
    if (rows * columns < wanted && rows * columns * 8 < wanted * 7) continue;
    const double edge = (double)p->m / (double)rows + (double)p->n / (double)columns;
    if (least >= 0 && edge >= least) continue;
    least = edge;
    p->row_blocks = rows;
    p->column_blocks = columns;
  }
}

static int32_t run_products(const byoc_runtime_t *runtime, product_t *p, int64_t count) {
  char *own = NULL;
  p->buffers = can_keep(runtime) ? runtime->keep(runtime->self, &key, buffers_bytes(runtime)) : NULL;
  if (p->buffers == NULL) p->buffers = own = malloc(buffers_bytes(runtime)); // in the evaluator
  if (p->buffers == NULL) return out_of_memory(runtime);
  cut(p, count, runtime->thread_count);
  const int64_t blocks = count * p->row_blocks * p->column_blocks;
  const int64_t share = p->m * p->n / (p->row_blocks * p->column_blocks) * p->k; // work in a block
  const int64_t grain = share > 0 && share < least_work ? (least_work + share - 1) / share : 1;
  if (blocks <= grain || runtime->thread_count == 1) {
    multiply_blocks(p, 0, blocks, 0);
  } else {
    runtime->parallel_for(runtime->self, multiply_blocks, p, blocks, grain);
  }
  free(own);
  return BYOC_OK;
}

int32_t byoc_openblas_sgemm(const byoc_runtime_t *runtime, int64_t count, int32_t a_turned, int32_t b_turned, int32_t m,
                            int32_t n, int32_t k, float alpha, const void *a, int64_t a_step, const void *b,
                            int64_t b_step, void *c, int64_t c_step) {
  product_t p = {0, a_turned, b_turned, m, n, k, alpha, a, b, c, a_step, b_step, c_step, 1, 1, NULL};
  return run_products(runtime, &p, count);
}

int32_t byoc_openblas_dgemm(const byoc_runtime_t *runtime, int64_t count, int32_t a_turned, int32_t b_turned, int32_t m,
                            int32_t n, int32_t k, double alpha, const void *a, int64_t a_step, const void *b,
                            int64_t b_step, void *c, int64_t c_step) {
  product_t p = {1, a_turned, b_turned, m, n, k, alpha, a, b, c, a_step, b_step, c_step, 1, 1, NULL};
  return run_products(runtime, &p, count);
}

// ---- a matrix and a vector ----

typedef struct vector_product_t {
  int is_f64, turned;
  int64_t rows, columns; // of the matrix as it lies in memory
  double alpha;
  const char *a, *x;
  char *y;
  char *buffers;
} vector_product_t;

static void multiply_vector(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const vector_product_t *p = argument;
  const int64_t size = p->is_f64 ? 8 : 4, terms = p->turned ? p->rows : p->columns;
  const int turn = p->turned ? TURNED : PLAIN, lda = (int)p->columns;
  lent = buffer_of(p->buffers, worker);
  for (int64_t at = begin; at < end; at += MOST_VECTOR) {
    const int results = (int)(end - at < MOST_VECTOR ? end - at : MOST_VECTOR);
    for (int64_t term = 0; term < terms; term += MOST_VECTOR) {
      const int taken = (int)(terms - term < MOST_VECTOR ? terms - term : MOST_VECTOR);
      const char *a = p->a + (p->turned ? term * p->columns + at : at * p->columns + term) * size;
      const char *x = p->x + term * size;
      char *y = p->y + at * size;
      const int m = p->turned ? taken : results, n = p->turned ? results : taken;
      if (p->is_f64) {
        cblas_dgemv(ROW_MAJOR, turn, m, n, p->alpha, (const double *)(const void *)a, lda,
                    (const double *)(const void *)x, 1, term > 0, (double *)(void *)y, 1);
      } else {
        cblas_sgemv(ROW_MAJOR, turn, m, n, (float)p->alpha, (const float *)(const void *)a, lda,
                    (const float *)(const void *)x, 1, (float)(term > 0), (float *)(void *)y, 1);
      }
    }
  }
  lent = NULL;
}

static int32_t run_vector_product(const byoc_runtime_t *runtime, vector_product_t *p) {
  char *own = NULL;
  p->buffers = can_keep(runtime) ? runtime->keep(runtime->self, &key, buffers_bytes(runtime)) : NULL;
  if (p->buffers == NULL) p->buffers = own = malloc(buffers_bytes(runtime)); // in the evaluator
  if (p->buffers == NULL) return out_of_memory(runtime);
  const int64_t terms = p->turned ? p->rows : p->columns, results = p->turned ? p->columns : p->rows;
  const int64_t grain = (least_work + terms - 1) / terms;
  if (results <= grain || runtime->thread_count == 1) {
    multiply_vector(p, 0, results, 0);
  } else {
    runtime->parallel_for(runtime->self, multiply_vector, p, results, grain);
  }
  free(own);
  return BYOC_OK;
}

int32_t byoc_openblas_sgemv(const byoc_runtime_t *runtime, int32_t turned, int32_t rows, int32_t columns, float alpha,
                            const void *a, const void *x, void *y) {
  vector_product_t p = {0, turned, rows, columns, alpha, a, x, y, NULL};
  return run_vector_product(runtime, &p);
}

int32_t byoc_openblas_dgemv(const byoc_runtime_t *runtime, int32_t turned, int32_t rows, int32_t columns, double alpha,
                            const void *a, const void *x, void *y) {
  vector_product_t p = {1, turned, rows, columns, alpha, a, x, y, NULL};
  return run_vector_product(runtime, &p);
}
