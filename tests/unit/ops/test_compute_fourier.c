// SPDX-License-Identifier: Apache-2.0
// DFT and STFT against the sum that defines them: lengths of small factors, of large ones, and primes; known and open;
// forwards, backwards, and half spectra; in f32 and f64.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/element.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "tests/support/support.h"

enum { LINES = 2, RESULTS = 5 };

typedef struct {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_evaluator_t *evaluator;
} program_t;

// `size` is the length of the signals as text: a number, or a name.
static program_t program_open(const char *dtype, const char *size) {
  char text[2048];
  snprintf(text, sizeof text,
           "module {\n  constant @axis : i64[] = [1]\n  constant @longer : i64[] = [11]\n"
           "  func @main(%%x : %s[2,%s,2], %%r : %s[2,%s,1]) -> (%%a : ?, %%b : ?, %%c : ?, %%d : ?, %%e : ?) {\n"
           "    %%a = DFT@20(%%x, _, @axis) : ?\n    %%b = DFT@20(%%x, _, @axis) {inverse = 1} : ?\n"
           "    %%c = DFT@20(%%r, _, @axis) {onesided = 1} : ?\n"
           "    %%d = DFT@20(%%x, _, @axis) {inverse = 1, onesided = 1} : ?\n"
           "    %%e = DFT@17(%%x, @longer) {axis = 1} : ?\n    return %%a, %%b, %%c, %%d, %%e\n  }\n}\n",
           dtype, size, dtype, size);
  program_t p = {0};
  byoc_diag_t diag = {0};
  const byoc_allocator_t allocator = byoc_allocator_system();
  byoc_status_t status = byoc_graph_parse(text, "test", allocator, &diag, &p.module);
  if (status == BYOC_OK) status = byoc_infer_module(p.module, &diag);
  if (status == BYOC_OK) status = byoc_kernel_lower_module(p.module, NULL, &diag);
  if (status == BYOC_OK) status = byoc_host_lower(p.module, allocator, &diag, &p.program);
  if (status == BYOC_OK) status = byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, p.program, NULL, &diag);
  if (status == BYOC_OK) status = byoc_evaluator_create(p.program, NULL, 1, allocator, &diag, &p.evaluator);
  byoc_test_ok(status, &diag);
  return p;
}

static void program_close(program_t *p) {
  byoc_evaluator_destroy(p->evaluator);
  byoc_host_program_destroy(p->program);
  byoc_graph_module_destroy(p->module);
}

// Point k of `line` as the transforms see it: complex, real, or mirrored from the half that is given.
typedef enum { PAIRS, REAL, HALF } signal_t;

static void point_of(const double *x, signal_t signal, int64_t length, int64_t count, int64_t k, double out[2]) {
  const int64_t at = signal == HALF && 2 * k > length ? length - k : k;
  out[0] = out[1] = 0;
  if (at >= count) return;
  out[0] = x[2 * at];
  if (signal != REAL) out[1] = at == k ? x[2 * at + 1] : -x[2 * at + 1];
}

// Bin `bin` of the transform of `length` points.
static void transform(const double *x, signal_t signal, int64_t length, int64_t count, int64_t bin, bool is_inverse,
                      double out[2]) {
  out[0] = out[1] = 0;
  for (int64_t k = 0; k < length; ++k) {
    double point[2];
    point_of(x, signal, length, count, k, point);
    const double angle = (is_inverse ? 2 : -2) * M_PI * (double)(k * bin % length) / (double)length;
    out[0] += point[0] * cos(angle) - point[1] * sin(angle);
    out[1] += point[0] * sin(angle) + point[1] * cos(angle);
  }
  for (int i = 0; i < 2 && is_inverse; ++i) out[i] /= (double)length;
}

// The error of a result over the largest number that it may have.
static void check(const byoc_argument_t *result, const double *x, signal_t signal, int64_t length, int64_t count,
                  int64_t bins, bool is_inverse) {
  const int parts = signal == HALF ? 1 : 2;
  assert_int_equal(result->rank, 3);
  assert_int_equal(result->dims[1], bins);
  assert_int_equal(result->dims[2], parts);
  const double scale = is_inverse ? 1 : sqrt((double)count), limit = result->dtype == BYOC_DTYPE_F64 ? 1e-13 : 2e-7;
  for (int64_t i = 0; i < LINES * bins; ++i) {
    double wanted[2];
    transform(x + i / bins * 2 * count, signal, length, count, i % bins, is_inverse, wanted);
    for (int part = 0; part < parts; ++part) {
      const double got = byoc_element_f64(result->dtype, result->data, (size_t)(i * parts + part));
      if (fabs(got - wanted[part]) <= limit * (scale + fabs(wanted[part]))) continue;
      fail_msg("%lld points, signal %d, %s: bin %lld, part %d is %.17g, expected %.17g", (long long)length, (int)signal,
               is_inverse ? "backwards" : "forwards", (long long)i, part, got, wanted[part]);
    }
  }
}

static void run_length(const program_t *p, byoc_dtype_t dtype, int64_t n) {
  byoc_diag_t diag = {0};
  byoc_test_random_t random = {.state = (uint64_t)n};
  const size_t size = byoc_dtype_bits(dtype) / 8, count = (size_t)(LINES * n * 2);
  double *x = calloc(count, sizeof *x);
  char *pairs = calloc(count, size), *reals = calloc(count, size);
  assert_true(x != NULL && pairs != NULL && reals != NULL);
  for (size_t i = 0; i < count; ++i) {
    x[i] = (double)byoc_test_float(&random);
    byoc_element_set_f64(dtype, pairs, i, x[i]);
    if (i % 2 == 0) byoc_element_set_f64(dtype, reals, i / 2, x[i]);
  }
  const int64_t dims[] = {LINES, n, 2}, real_dims[] = {LINES, n, 1};
  const byoc_argument_t inputs[] = {{.dtype = dtype, .rank = 3, .dims = dims, .data = pairs},
                                    {.dtype = dtype, .rank = 3, .dims = real_dims, .data = reals}};
  byoc_argument_t results[RESULTS];
  byoc_test_ok(byoc_evaluator_run_arguments(p->evaluator, inputs, results, &diag), &diag);
  check(&results[0], x, PAIRS, n, n, n, false);
  check(&results[1], x, PAIRS, n, n, n, true);
  check(&results[2], x, REAL, n, n, n / 2 + 1, false);
  check(&results[3], x, HALF, 2 * (n - 1), n, 2 * (n - 1), true);
  check(&results[4], x, PAIRS, 11, n, 11, false); // padded, or cut
  free(x), free(pairs), free(reals);
}

static void test_lengths_that_are_open(void **state) {
  (void)state;
  static const int64_t more[] = {67, 74, 81, 97, 101, 121, 125, 128, 143, 169, 210, 256, 257, 289, 400};
  program_t wide = program_open("f64", "N"), narrow = program_open("f32", "N");
  for (int64_t n = 1; n <= 64; ++n) {
    run_length(&wide, BYOC_DTYPE_F64, n);
    run_length(&narrow, BYOC_DTYPE_F32, n);
  }
  for (size_t i = 0; i < sizeof more / sizeof *more; ++i) run_length(&wide, BYOC_DTYPE_F64, more[i]);
  program_close(&wide);
  program_close(&narrow);
}

static void test_lengths_that_are_known(void **state) {
  (void)state;
  static const int64_t lengths[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,   12,  15, 16,
                                    31, 32, 37, 38, 60, 64, 77, 101, 125, 210, 400};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    char size[16];
    snprintf(size, sizeof size, "%lld", (long long)lengths[i]);
    program_t p = program_open(i % 2 ? "f32" : "f64", size);
    run_length(&p, i % 2 ? BYOC_DTYPE_F32 : BYOC_DTYPE_F64, lengths[i]);
    program_close(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths_that_are_open),
                                     cmocka_unit_test(test_lengths_that_are_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
