// SPDX-License-Identifier: Apache-2.0
// The constants of a large model lie in a file, as far as they are large.
#include "core/ir/graph.h"
#include "tests/support/support.h"

#include <string.h>

// What a module has in memory before it takes a file is set here instead of filled.
#define MUCH_BYTES ((uint64_t)1 << 30)

static byoc_constant_t *make(byoc_graph_module_t *module, int64_t bytes, uint8_t value) {
  void *data = NULL;
  const int64_t dims[] = {bytes};
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_U8, 1, dims);
  byoc_constant_t *constant = byoc_constant_allocate(module, "c", type, &data);
  assert_non_null(constant);
  memset(data, value, (size_t)bytes);
  return constant;
}

static void test_large_constants_of_large_models_lie_in_a_file(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &module), &diag);
  (void)make(module, 2 << 20, 1);
  assert_null(module->file_memory);
  assert_int_equal(module->constant_bytes, 2 << 20);
  module->constant_bytes = MUCH_BYTES;
  (void)make(module, 1 << 10, 2);
  assert_null(module->file_memory);
  assert_int_equal(module->constant_bytes, MUCH_BYTES + (1 << 10));
  byoc_constant_t *a = make(module, 1 << 20, 3), *b = make(module, 1 << 20, 3);
  assert_non_null(module->file_memory);
  assert_int_equal(module->constant_bytes, MUCH_BYTES + (1 << 10));
  assert_int_equal((uintptr_t)a->data % 4096, 0);
  byoc_graph_module_forget_pages(module);
  assert_true(byoc_constant_equal(a, b));
  for (size_t i = 0; i < a->size_bytes; ++i) assert_int_equal(((const uint8_t *)a->data)[i], 3);

  // Going through 64 MiB forgets them.
  assert_true(module->touched_bytes > 0);
  byoc_graph_module_touched(module, ((uint64_t)64 << 20) - module->touched_bytes - 1);
  assert_int_equal(module->touched_bytes, ((uint64_t)64 << 20) - 1);
  byoc_graph_module_touched(module, 1 << 10); // small: not counted
  assert_int_equal(module->touched_bytes, ((uint64_t)64 << 20) - 1);
  byoc_graph_module_touched(module, 1 << 20);
  assert_int_equal(module->touched_bytes, 0);
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_large_constants_of_large_models_lie_in_a_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
