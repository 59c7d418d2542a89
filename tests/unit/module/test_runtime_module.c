// SPDX-License-Identifier: Apache-2.0
// Runtime modules: content, imports, names, properties.
#include "tests/support/support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/module/runtime_module.h"
#include "core/module/runtime_options.h"

static byoc_runtime_module_t *make(byoc_runtime_module_kind_t kind, const char *name) {
  byoc_diag_t diag = {0};
  byoc_runtime_module_t *module = NULL;
  byoc_test_ok(byoc_runtime_module_create(kind, name, "t -x=1", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

static void test_properties(void **state) {
  (void)state;
  byoc_runtime_module_t *source = make(BYOC_RUNTIME_MODULE_C_SOURCE, "s");
  byoc_runtime_module_t *engine = make(BYOC_RUNTIME_MODULE_ENGINE, "e");
  assert_string_equal(byoc_runtime_module_kind_name(source->kind), "c_source");
  assert_string_equal(byoc_runtime_module_kind_name(BYOC_RUNTIME_MODULE_METADATA), "metadata");
  assert_int_equal(byoc_runtime_module_properties(source), BYOC_MODULE_SERIALISABLE | BYOC_MODULE_LINKABLE);
  assert_int_equal(byoc_runtime_module_properties(engine), BYOC_MODULE_LINKABLE);
  static const byoc_engine_t table = {.struct_size = sizeof(table)};
  engine->in_process = &table;
  assert_int_equal(byoc_runtime_module_properties(engine), BYOC_MODULE_LINKABLE | BYOC_MODULE_RUNNABLE);
  byoc_runtime_module_release(source);
  byoc_runtime_module_release(engine);
  byoc_runtime_module_release(NULL);
}

static void test_imports(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_runtime_module_t *a = make(BYOC_RUNTIME_MODULE_JSON, "a"), *b = make(BYOC_RUNTIME_MODULE_JSON, "b"),
                        *c = make(BYOC_RUNTIME_MODULE_ENGINE, "c");
  byoc_test_ok(byoc_runtime_module_import(a, b, &diag), &diag);
  byoc_test_ok(byoc_runtime_module_import(a, b, &diag), &diag); // once
  byoc_test_ok(byoc_runtime_module_import(b, c, &diag), &diag);
  assert_int_equal(a->imports.count, 1);
  assert_int_equal(b->reference_count, 2);
  byoc_test_error(byoc_runtime_module_import(c, a, &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "'c' cannot import 'a': that closes a cycle");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_runtime_module_import(c, c, &diag), BYOC_INVALID_ARGUMENT, &diag, "cycle");
  byoc_runtime_module_release(c);
  byoc_runtime_module_release(b);
  assert_string_equal(a->imports.data[0]->imports.data[0]->name, "c");
  byoc_runtime_module_release(a);
}

static void test_files(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_runtime_module_t *module = make(BYOC_RUNTIME_MODULE_STATIC_LIBRARY, "m");
  char bytes[] = "some bytes";
  byoc_file_content_t content = {.name = "x.o", .data = bytes, .size_bytes = 4};
  byoc_test_ok(byoc_runtime_module_add_file(module, &content, false, &diag), &diag);
  bytes[0] = 'X';
  assert_memory_equal(module->files.data[0].data, "some", 4);
  assert_int_equal((uintptr_t)module->files.data[0].data % 64, 0);
  char *folder = byoc_test_folder(), *path = byoc_path_join(byoc_allocator_system(), folder, "blob.so");
  byoc_test_ok(byoc_file_write(path, "from disk", 9, &diag), &diag);
  byoc_test_ok(byoc_runtime_module_add_file(module, &(byoc_file_content_t){.path = path}, true, &diag), &diag);
  assert_string_equal(module->blobs.data[0].name, "blob.so");
  assert_int_equal(module->blobs.data[0].size_bytes, 9);
  byoc_remove_tree(folder, NULL);
  byoc_test_error(byoc_runtime_module_add_file(module, &(byoc_file_content_t){.path = path}, true, &diag),
                  BYOC_NOT_FOUND, &diag, "reading a file of runtime module 'm'");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_runtime_module_add_file(module, &(byoc_file_content_t){.name = "n"}, true, &diag),
                  BYOC_INVALID_ARGUMENT, &diag, "either bytes or a path");
  free(path);
  free(folder);
  byoc_runtime_module_release(module);
}

static void test_symbols_and_constants(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_runtime_module_t *module = make(BYOC_RUNTIME_MODULE_PACKED, "m");
  byoc_test_ok(byoc_runtime_module_add_symbol(module, "f_1", &diag), &diag);
  byoc_test_ok(byoc_runtime_module_add_symbol(module, "f_1", &diag), &diag);
  assert_int_equal(module->symbols.count, 1);
  byoc_test_error(byoc_runtime_module_add_symbol(module, "f; global", &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "not a C identifier");
  byoc_diag_clear(&diag);
  const int64_t dims[] = {2, 3};
  float values[6] = {1, 2, 3, 4, 5, 6};
  byoc_tensor_data_t data = {BYOC_HEADER(byoc_tensor_data_t, 1), BYOC_DTYPE_F32, 2, dims, values, sizeof(values)};
  byoc_test_ok(byoc_runtime_module_add_constant(module, NULL, &data, &diag), &diag);
  assert_int_equal((uintptr_t)module->constants.data[0].data % 64, 0);
  assert_memory_equal(module->constants.data[0].data, values, sizeof(values));
  data.size_bytes = 20;
  byoc_test_error(byoc_runtime_module_add_constant(module, NULL, &data, &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "20 bytes where its type needs 24");
  byoc_diag_clear(&diag);
  data.dtype = 99;
  byoc_test_error(byoc_runtime_module_add_constant(module, NULL, &data, &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "unusable");
  byoc_runtime_module_release(module);
}

// A large constant that is added for a large model lies in the model's file, which stays as long as it is needed.
static void test_large_constants_lie_in_the_file_of_the_model(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *graph = NULL;
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &graph), &diag);
  byoc_runtime_module_t *module = make(BYOC_RUNTIME_MODULE_PACKED, "m"), *other = make(BYOC_RUNTIME_MODULE_JSON, "n");
  const int64_t dims[] = {1 << 20};
  uint8_t *values = calloc(1, 1 << 20);
  assert_non_null(values);
  values[5] = 6;
  byoc_tensor_data_t data = {BYOC_HEADER(byoc_tensor_data_t, 1), BYOC_DTYPE_U8, 1, dims, values, 1 << 20};
  byoc_test_ok(byoc_runtime_module_add_constant(module, graph, &data, &diag), &diag);
  assert_null(module->file_memory);
  graph->constant_bytes = (uint64_t)1 << 30; // as if it had many
  byoc_test_ok(byoc_runtime_module_add_constant(module, graph, &data, &diag), &diag);
  byoc_test_ok(byoc_runtime_module_add_constant(other, graph, &data, &diag), &diag);
  assert_non_null(module->file_memory);
  assert_ptr_equal(module->file_memory, other->file_memory);
  byoc_graph_module_destroy(graph);
  for (size_t i = 0; i < 2; ++i) assert_memory_equal(module->constants.data[i].data, values, 1 << 20);
  byoc_runtime_module_release(module);
  assert_memory_equal(other->constants.data[0].data, values, 1 << 20);
  byoc_runtime_module_release(other);
  free(values);
}

static void test_graph_module(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *graph = NULL;
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &graph), &diag);
  byoc_runtime_module_t *a = make(BYOC_RUNTIME_MODULE_JSON, "a"), *again = make(BYOC_RUNTIME_MODULE_JSON, "a");
  byoc_test_ok(byoc_graph_module_add_runtime_module(graph, a, &diag), &diag);
  assert_ptr_equal(byoc_graph_module_find_runtime_module(graph, "a"), a);
  assert_null(byoc_graph_module_find_runtime_module(graph, "b"));
  byoc_test_error(byoc_graph_module_add_runtime_module(graph, again, &diag), BYOC_ALREADY_EXISTS, &diag, "'a'");
  byoc_runtime_module_release(a);
  byoc_runtime_module_release(again);
  byoc_graph_module_destroy(graph);
}

static byoc_status_t build(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  byoc_runtime_module_t *module = NULL;
  byoc_status_t status =
      byoc_runtime_module_create(BYOC_RUNTIME_MODULE_STATIC_LIBRARY, "m", "t", allocator, &diag, &module);
  byoc_file_content_t content = {.name = "x.o", .data = "bytes", .size_bytes = 5};
  const int64_t dims[] = {1};
  float value = 1;
  byoc_tensor_data_t data = {BYOC_HEADER(byoc_tensor_data_t, 1), BYOC_DTYPE_F32, 1, dims, &value, 4};
  if (status == BYOC_OK) status = byoc_runtime_module_add_file(module, &content, false, &diag);
  if (status == BYOC_OK) status = byoc_runtime_module_add_symbol(module, "s", &diag);
  if (status == BYOC_OK) status = byoc_runtime_module_add_constant(module, NULL, &data, &diag);
  byoc_runtime_module_release(module);
  return status;
}

static void test_allocations_fail(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(build, NULL, false);
}

// JSON has no infinity; every number that an option may have is below the largest double.
static void test_a_range_of_a_runtime_option_may_be_open(void **state) {
  (void)state;
  static const byoc_option_t options[] = {
      {.name = "any",
       .type = BYOC_OPTION_FLOAT,
       .default_value = "1",
       .minimum_f64 = -INFINITY,
       .maximum_f64 = INFINITY},
      {.name = "half", .type = BYOC_OPTION_FLOAT, .default_value = "1", .minimum_f64 = 0.25, .maximum_f64 = INFINITY}};
  byoc_diag_t diag = {0};
  byoc_runtime_module_t *engine = make(BYOC_RUNTIME_MODULE_ENGINE, "e");
  json_t *array = byoc_runtime_options_json(options, 2);
  assert_non_null(array);
  engine->runtime_options = byoc_json_dump(array, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(array);
  byoc_runtime_schema_t schema;
  byoc_test_ok(byoc_runtime_module_read_options(engine, &engine->arena, &diag, &schema), &diag);
  assert_int_equal(schema.count, 2);
  assert_true(schema.rows[0].minimum_f64 == -DBL_MAX && schema.rows[0].maximum_f64 == DBL_MAX);
  assert_true(schema.rows[1].minimum_f64 == 0.25 && schema.rows[1].maximum_f64 == DBL_MAX);
  free((void *)(uintptr_t)engine->runtime_options);
  byoc_runtime_module_release(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_properties),
      cmocka_unit_test(test_imports),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_symbols_and_constants),
      cmocka_unit_test(test_graph_module),
      cmocka_unit_test(test_a_range_of_a_runtime_option_may_be_open),
      cmocka_unit_test(test_large_constants_lie_in_the_file_of_the_model),
      cmocka_unit_test(test_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
