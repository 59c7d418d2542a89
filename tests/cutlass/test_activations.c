// SPDX-License-Identifier: Apache-2.0
// The activations of templates/vector/vec_math.h, compared with libm in double precision on each instruction set: their
// errors are at most what that header says.
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

// An activation of `count` values in place.
typedef void (*activation_t)(float *values, int64_t count);

enum { COUNT = 1 << 18 };

static const char text[] = "\n#define ALL(name) \\\n"
                           "  static void all_##name(float *x, int64_t n) { \\\n"
                           "    for (int64_t i = 0; i < n; i += LANES) v_store(x + i, v_##name(v_load(x + i))); \\\n"
                           "  }\n"
                           "ALL(exp) ALL(tanh) ALL(erf)\n"
                           "__attribute__((visibility(\"default\"))) void (*const activations[])(float *, int64_t) =\n"
                           "    {all_exp, all_tanh, all_erf};\n";

static const struct {
  const char *name;
  double (*definition)(double);
  double low, high;          // where it is tried
  double relative, absolute; // error allowed
} rows[] = {
    {"exp", exp, -87.0, 88.0, 2e-7, 0.0},
    {"tanh near zero", tanh, -0.625, 0.625, 2e-7, 0.0},
    {"tanh", tanh, -20.0, 20.0, 2e-7, 0.0},
    {"erf", erf, -5.0, 5.0, 0.0, 6e-7},
};
static const size_t function_of[] = {0, 1, 1, 2};

static void check_row(size_t r, activation_t activation, byoc_cutlass_isa_t isa) {
  float *x = malloc(COUNT * sizeof(*x)), *y = malloc(COUNT * sizeof(*y));
  double relative = 0, absolute = 0;
  assert_true(x && y);
  for (int64_t i = 0; i < COUNT; ++i)
    x[i] = y[i] = (float)(rows[r].low + (rows[r].high - rows[r].low) * (double)i / (COUNT - 1));
  activation(y, COUNT);
  for (int64_t i = 0; i < COUNT; ++i) {
    double expected = rows[r].definition(x[i]), error = fabs(y[i] - expected);
    absolute = fmax(absolute, error);
    if (expected != 0) relative = fmax(relative, error / fabs(expected));
  }
  free(x), free(y);
  if (rows[r].relative > 0 ? !(relative <= rows[r].relative) : !(absolute <= rows[r].absolute))
    fail_msg("%s, isa %u: off by %.3g relative, %.3g absolute", rows[r].name, isa, relative, absolute);
}

static void test_errors(void **state) {
  (void)state;
  for (byoc_cutlass_isa_t isa = 0; isa < BYOC_CUTLASS_ISA_COUNT; ++isa) {
    if (!kernels_try_here(isa)) continue;
    kernels_t kernels;
    kernels_begin(&kernels, isa);
    byoc_plugin_string_add(&kernels.text, "%s", text);
    kernels_compile(&kernels, "-O1");
    activation_t const *activations = (activation_t const *)dlsym(kernels.library, "activations");
    assert_non_null(activations);
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); ++r) check_row(r, activations[function_of[r]], isa);
    kernels_end(&kernels);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
