// Results against expectations, element by element.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conform.h"
#include "core/ir/element.h"

static void print_element(const byoc_constant_t *tensor, int64_t index, char *buffer, size_t size) {
  byoc_dtype_t dtype = tensor->type->dtype;
  if (dtype == BYOC_DTYPE_STRING) {
    snprintf(buffer, size, "'%s'", ((const char *const *)tensor->data)[index]);
  } else if (byoc_dtype_is_complex(dtype)) {
    snprintf(buffer, size, "%.9g%+.9gi", byoc_constant_element_f64(tensor, index),
             byoc_element_imaginary(dtype, tensor->data, (size_t)index));
  } else if (byoc_dtype_is_float(dtype)) {
    snprintf(buffer, size, "%.9g", byoc_constant_element_f64(tensor, index));
  } else {
    snprintf(buffer, size, "%" PRId64, byoc_constant_element_i64(tensor, index));
  }
}

// As numpy.testing.assert_allclose: |got - expected| <= atol + rtol * |expected|, NaN equals NaN.
static bool numbers_agree(double got, double expected, double rtol, double atol) {
  if (got == expected || (isnan(got) && isnan(expected))) return true;
  return isfinite(expected) && fabs(got - expected) <= atol + rtol * fabs(expected);
}

static bool elements_agree(const byoc_constant_t *got, const byoc_constant_t *expected, int64_t index,
                           const byoc_conform_options_t *options) {
  byoc_dtype_t dtype = expected->type->dtype;
  if (dtype == BYOC_DTYPE_STRING) {
    return strcmp(((const char *const *)got->data)[index], ((const char *const *)expected->data)[index]) == 0;
  }
  bool exact = !byoc_dtype_is_float(dtype) && !byoc_dtype_is_complex(dtype) &&
               byoc_constant_element_i64(got, index) == byoc_constant_element_i64(expected, index);
  if (exact) return true;
  // ONNX up to 1.12 cut numbers to bf16 where everybody else rounds: neighbours count as equal.
  double rtol = dtype == BYOC_DTYPE_BF16 ? fmax(options->rtol, 0x1p-7) : options->rtol, atol = options->atol;
  return numbers_agree(byoc_constant_element_f64(got, index), byoc_constant_element_f64(expected, index), rtol, atol) &&
         numbers_agree(byoc_element_imaginary(dtype, got->data, (size_t)index),
                       byoc_element_imaginary(dtype, expected->data, (size_t)index), rtol, atol);
}

// "[1,0,2]"
static void print_index(const byoc_constant_t *tensor, int64_t index, char *buffer, size_t size) {
  size_t used = (size_t)snprintf(buffer, size, "[");
  int64_t stride = byoc_type_element_count(tensor->type);
  for (int32_t d = 0; d < tensor->type->rank && used < size; ++d) {
    stride /= tensor->dims[d];
    used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, d ? "," : "", index / stride % tensor->dims[d]);
  }
  if (used < size) snprintf(buffer + used, size - used, "]");
}

static byoc_status_t compare_elements(const byoc_conform_options_t *options, const char *name,
                                      const byoc_constant_t *got, const byoc_constant_t *expected, byoc_diag_t *diag) {
  int64_t count = byoc_type_element_count(got->type), wrong = 0, first = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!elements_agree(got, expected, i, options) && wrong++ == 0) first = i;
  }
  if (wrong == 0) return BYOC_OK;
  char at[160], want[96], have[96];
  print_index(expected, first, at, sizeof(at));
  print_element(expected, first, want, sizeof(want));
  print_element(got, first, have, sizeof(have));
  return byoc_diag_error(diag, BYOC_MISMATCH,
                         "output '%s' differs in %" PRId64 " of %" PRId64 " elements, first at %s: expected %s, got %s",
                         name, wrong, count, at, want, have);
}

static byoc_status_t compare_tensor(const byoc_conform_options_t *options, const char *name,
                                    const byoc_argument_t *result, const byoc_constant_t *expected, byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  byoc_string_t want, have;
  byoc_string_init(&want, allocator);
  byoc_string_init(&have, allocator);
  const byoc_constant_t got = {.type =
                                   byoc_type_tensor_static(&arena, result->dtype, (int32_t)result->rank, result->dims),
                               .data = result->data};
  byoc_status_t status = BYOC_OK;
  if (got.type == NULL) {
    status = byoc_diag_out_of_memory(diag);
  } else if (byoc_type_equal(got.type, expected->type)) {
    status = compare_elements(options, name, &got, expected, diag);
  } else {
    byoc_type_print(expected->type, &want);
    byoc_type_print(got.type, &have);
    status = byoc_diag_error(diag, BYOC_MISMATCH, "output '%s' is %s, expected %s", name, have.data, want.data);
  }
  byoc_string_deinit(&want);
  byoc_string_deinit(&have);
  byoc_arena_deinit(&arena);
  return status;
}

byoc_status_t byoc_conform_compare(const byoc_conform_options_t *options, const char *name,
                                   const byoc_argument_t *result, const byoc_onnx_value_t *expected,
                                   byoc_diag_t *diag) {
  static const char *const kinds[] = {"tensor", "sequence", "optional"};
  uint32_t kind = expected->kind == BYOC_TYPE_SEQUENCE   ? BYOC_ARGUMENT_SEQUENCE
                  : expected->kind == BYOC_TYPE_OPTIONAL ? BYOC_ARGUMENT_OPTIONAL
                                                         : BYOC_ARGUMENT_TENSOR;
  if (result->kind != kind) {
    return byoc_diag_error(diag, BYOC_MISMATCH, "output '%s' is a %s, expected a %s", name, kinds[result->kind],
                           kinds[kind]);
  }
  if (kind == BYOC_ARGUMENT_TENSOR) return compare_tensor(options, name, result, expected->constant, diag);
  if (result->count != expected->count) {
    return byoc_diag_error(diag, BYOC_MISMATCH, "output '%s' has %" PRIu64 " items, expected %zu", name, result->count,
                           expected->count);
  }
  for (size_t i = 0; i < expected->count; ++i) {
    char item[256];
    snprintf(item, sizeof(item), "%s[%zu]", name, i);
    BYOC_RETURN_IF_ERROR(byoc_conform_compare(options, item, &result->items[i], &expected->items[i], diag));
  }
  return BYOC_OK;
}
