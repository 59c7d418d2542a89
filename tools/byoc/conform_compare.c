// SPDX-License-Identifier: Apache-2.0
// Compares results with expectations, element by element.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "conform.h"
#include "elements.h"

static bool elements_agree(const byoc_constant_t *got, const byoc_constant_t *expected, int64_t index,
                           const byoc_conform_options_t *options) {
  byoc_dtype_t dtype = expected->type->dtype;
  // ONNX up to 1.12 truncated numbers to bf16 where others round: neighbouring numbers count as equal.
  double rtol = dtype == BYOC_DTYPE_BF16 ? fmax(options->rtol, 0x1p-7) : options->rtol;
  return byoc_element_compare(dtype, got->data, expected->data, (size_t)index, rtol, options->atol).agrees;
}

static byoc_status_t compare_elements(const byoc_conform_options_t *options, const char *name,
                                      const byoc_constant_t *got, const byoc_constant_t *expected, byoc_diag_t *diag) {
  int64_t count = byoc_type_element_count(got->type), wrong = 0, first = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!elements_agree(got, expected, i, options) && wrong++ == 0) first = i;
  }
  if (wrong == 0) return BYOC_OK;
  char at[160], want[96], have[96];
  byoc_element_format_index(expected->type->rank, expected->dims, (uint64_t)first, at, sizeof(at));
  byoc_element_format(got->type->dtype, expected->data, (size_t)first, 9, want, sizeof(want));
  byoc_element_format(got->type->dtype, got->data, (size_t)first, 9, have, sizeof(have));
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
