// SPDX-License-Identifier: Apache-2.0
// Compares a candidate's results with the reference, element by element.
#include "core/measure/compare.h"

#include <math.h>
#include <stdlib.h>

#include "core/ir/element.h"

static double relative_tolerance(uint32_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_F64:
  case BYOC_DTYPE_C128:
    return 1e-6;
  case BYOC_DTYPE_F32:
  case BYOC_DTYPE_C64:
    return 1e-3;
  case BYOC_DTYPE_F16:
  case BYOC_DTYPE_BF16:
    return 2e-2;
  default:
    return 0.25;
  }
}

static double mean_magnitude(uint32_t dtype, const void *data, size_t count) {
  double sum = 0;
  size_t finite = 0;
  for (size_t i = 0; i < count; ++i) {
    double value = byoc_element_f64(dtype, data, i);
    if (!isfinite(value)) continue;
    sum += fabs(value);
    finite += 1;
  }
  return finite > 0 ? sum / (double)finite : 0;
}

// The error of a value, in multiples of the allowed error.
static double excess(double expected, double actual, double tolerance) {
  if (isnan(expected) && isnan(actual)) return 0;
  if (expected == actual) return 0;
  if (!isfinite(expected) || !isfinite(actual)) return INFINITY;
  double distance = fabs(expected - actual);
  return tolerance > 0 ? distance / tolerance : INFINITY;
}

// QuantizeLinear makes these types: sums of floats in another order may round to the neighbour. Code that quantises
// several times in a row may go on with the neighbour of a coarse step, which is several fine ones.
static int64_t rounding_of(uint32_t dtype) {
  enum { OF_BYTES = 1, OF_WORDS = 16 };
  if (dtype == BYOC_DTYPE_I8 || dtype == BYOC_DTYPE_U8) return OF_BYTES;
  return dtype == BYOC_DTYPE_I16 || dtype == BYOC_DTYPE_U16 ? OF_WORDS : 0;
}

byoc_status_t byoc_cost_check(uint32_t dtype, const void *expected, const void *actual, size_t count, const char *name,
                              byoc_diag_t *diag) {
  return byoc_cost_check_within(0, dtype, expected, actual, count, name, diag);
}

static byoc_status_t check(double relative_error, bool may_spread, uint32_t dtype, const void *expected,
                           const void *actual, size_t count, const char *name, byoc_diag_t *diag) {
  double relative = relative_tolerance(dtype) > relative_error ? relative_tolerance(dtype) : relative_error;
  bool is_float = byoc_dtype_is_any_float(dtype) || byoc_dtype_is_complex(dtype);
  double mean = is_float ? mean_magnitude(dtype, expected, count) : 0, worst = 0;
  size_t worst_at = 0;
  for (size_t i = 0; i < count; ++i) {
    double off;
    if (is_float) {
      double e = byoc_element_f64(dtype, expected, i), a = byoc_element_f64(dtype, actual, i);
      double tolerance = relative * (fabs(e) + mean) + 1e-30;
      off = may_spread && isnan(a) ? 0 : excess(e, a, tolerance);
      if (byoc_dtype_is_complex(dtype)) {
        double imaginary =
            excess(byoc_element_imaginary(dtype, expected, i), byoc_element_imaginary(dtype, actual, i), tolerance);
        off = imaginary > off ? imaginary : off;
      }
    } else {
      int64_t e = byoc_element_i64(dtype, expected, i), a = byoc_element_i64(dtype, actual, i);
      const int64_t rounding = rounding_of(dtype);
      off = e == a || (rounding > 0 && llabs(e - a) <= rounding) ? 0 : INFINITY;
    }
    if (off <= worst) continue;
    worst = off;
    worst_at = i;
  }
  if (worst <= 1) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_MISMATCH, "wrong result: element %zu of %s is %g, not %g", worst_at, name,
                         byoc_element_f64(dtype, actual, worst_at), byoc_element_f64(dtype, expected, worst_at));
}

byoc_status_t byoc_cost_check_within(double relative_error, uint32_t dtype, const void *expected, const void *actual,
                                     size_t count, const char *name, byoc_diag_t *diag) {
  return check(relative_error, false, dtype, expected, actual, count, name, diag);
}

byoc_status_t byoc_cost_check_spread(double relative_error, uint32_t dtype, const void *expected, const void *actual,
                                     size_t count, const char *name, byoc_diag_t *diag) {
  return check(relative_error, true, dtype, expected, actual, count, name, diag);
}
