// SPDX-License-Identifier: Apache-2.0
// Compares the elements of results, and writes them as text.
#include "elements.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/ir/element.h"
#include "core/ir/type.h"

// ---- comparing ----

static const byoc_element_difference_t same = {.agrees = true};

static byoc_element_difference_t difference_of(double distance, double expected, double rtol, double atol) {
  byoc_element_difference_t difference = {.distance = distance, .excess = distance - (atol + rtol * fabs(expected))};
  difference.agrees = isfinite(expected) && difference.excess <= 0;
  return difference;
}

static byoc_element_difference_t compare_numbers(double got, double expected, double rtol, double atol) {
  if (got == expected || (isnan(got) && isnan(expected))) return same;
  return difference_of(fabs(got - expected), expected, rtol, atol);
}

// Integers are compared as such beyond 2^53 too, where neighbours are the same double.
static byoc_element_difference_t compare_integers(byoc_dtype_t dtype, const void *got, const void *expected,
                                                  size_t index, double rtol, double atol) {
  int64_t a = byoc_element_i64(dtype, got, index), b = byoc_element_i64(dtype, expected, index);
  if (a == b) return same;
  bool is_less = dtype == BYOC_DTYPE_U64 ? (uint64_t)a < (uint64_t)b : a < b;
  uint64_t distance = is_less ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
  return difference_of((double)distance, byoc_element_f64(dtype, expected, index), rtol, atol);
}

// NULL is an empty text.
static const char *text_at(const void *data, size_t index) {
  const char *text = ((const char *const *)data)[index];
  return text != NULL ? text : "";
}

static byoc_element_difference_t compare_texts(const char *got, const char *expected) {
  if (strcmp(got, expected) == 0) return same;
  return (byoc_element_difference_t){.distance = INFINITY, .excess = INFINITY};
}

byoc_element_difference_t byoc_element_compare(byoc_dtype_t dtype, const void *got, const void *expected, size_t index,
                                               double rtol, double atol) {
  if (dtype == BYOC_DTYPE_STRING) {
    return compare_texts(text_at(got, index), text_at(expected, index));
  }
  if (!byoc_dtype_is_any_float(dtype) && !byoc_dtype_is_complex(dtype)) {
    return compare_integers(dtype, got, expected, index, rtol, atol);
  }
  byoc_element_difference_t real =
      compare_numbers(byoc_element_f64(dtype, got, index), byoc_element_f64(dtype, expected, index), rtol, atol);
  if (!byoc_dtype_is_complex(dtype)) return real;
  byoc_element_difference_t imaginary = compare_numbers(byoc_element_imaginary(dtype, got, index),
                                                        byoc_element_imaginary(dtype, expected, index), rtol, atol);
  if (real.agrees != imaginary.agrees) return real.agrees ? imaginary : real;
  return !(imaginary.distance <= real.distance) ? imaginary : real;
}

// ---- as text ----

void byoc_element_format(byoc_dtype_t dtype, const void *data, size_t index, int digits, char *buffer, size_t size) {
  double value = byoc_element_f64(dtype, data, index);
  if (dtype == BYOC_DTYPE_STRING) {
    snprintf(buffer, size, "'%s'", text_at(data, index));
  } else if (byoc_dtype_is_complex(dtype)) {
    snprintf(buffer, size, "%.*g%+.*gi", digits, value, digits, byoc_element_imaginary(dtype, data, index));
  } else if (byoc_dtype_is_any_float(dtype)) {
    snprintf(buffer, size, "%.*g", digits, value);
  } else if (dtype == BYOC_DTYPE_U64) {
    snprintf(buffer, size, "%" PRIu64, (uint64_t)byoc_element_i64(dtype, data, index));
  } else {
    snprintf(buffer, size, "%" PRId64, byoc_element_i64(dtype, data, index));
  }
}

void byoc_element_format_index(int32_t rank, const int64_t *dims, uint64_t index, char *buffer, size_t size) {
  int64_t at[BYOC_MAX_RANK];
  for (int32_t d = rank - 1; d >= 0; --d) {
    at[d] = (int64_t)(index % (uint64_t)dims[d]);
    index /= (uint64_t)dims[d];
  }
  size_t used = (size_t)snprintf(buffer, size, "[");
  for (int32_t d = 0; d < rank && used < size; ++d) {
    used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, d ? "," : "", at[d]);
  }
  if (used < size) snprintf(buffer + used, size - used, "]");
}
