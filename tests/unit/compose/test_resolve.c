// SPDX-License-Identifier: Apache-2.0
// Code of backends in this process.
#include "tests/unit/compose/demo.h"

#include <dlfcn.h>

#include "core/compose/artifact/resolve.h"

static void set_error(void *self, const char *message) {
  (void)self;
  (void)message;
}
static void parallel_for(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  (void)self;
  (void)grain;
  body(argument, 0, count, 0);
}
static const byoc_runtime_t runtime = {sizeof(byoc_runtime_t), 1, NULL, parallel_for, set_error};

static void test_linked(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {0};
  demo_init(&demo);
  byoc_resolver_t *resolver = NULL;
  byoc_test_ok(byoc_resolver_create(demo.program, NULL, &runtime, byoc_allocator_system(), &diag, &resolver), &diag);
  byoc_symbol_resolver_t symbols = byoc_resolver_interface(resolver);
  void *address = NULL;

  // Hidden in its object, and found all the same.
  byoc_packed_function_t scale = NULL;
  byoc_test_ok(symbols.resolve(symbols.self, "demo_scale", &diag, &address), &diag);
  memcpy(&scale, &address, sizeof(scale));
  float x[4] = {1, 2, 3, 4}, y[4], scratch[4];
  DLTensor tensors[2] = {{.data = x}, {.data = y}};
  byoc_call_t call = {sizeof(call), 1, 1, 0, tensors, &runtime, scratch, sizeof(scratch)};
  assert_int_equal(scale(&call), BYOC_OK);
  assert_true(y[3] == 8);

  // The library was set up, or its function would refuse.
  int32_t (*add)(int32_t, float, int64_t, double, const float *, float *, void *) = NULL;
  byoc_test_ok(symbols.resolve(symbols.self, "demo_add", &diag, &address), &diag);
  memcpy(&add, &address, sizeof(add));
  assert_int_equal(add(4, 0.5f, 1, 0, x, y, NULL), BYOC_OK);
  assert_true(y[0] == 1.5f);

  byoc_test_error(symbols.resolve(symbols.self, "demo_nowhere", &diag, &address), BYOC_NOT_FOUND, &diag,
                  "no runtime module defines the function 'demo_nowhere'");
  assert_null(address);
  byoc_resolver_destroy(resolver);
  byoc_resolver_destroy(NULL);
  demo_deinit(&demo);
}

static int32_t open_libm(void *self, const byoc_runtime_t *given, void **out_handle) {
  assert_ptr_equal(given, &runtime);
  if (self != NULL) return BYOC_UNSUPPORTED;
  *out_handle = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  return *out_handle != NULL ? BYOC_OK : BYOC_NOT_FOUND;
}

// No compiler is needed where libraries open by themselves.
static void test_in_process(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  byoc_host_program_t *program = NULL;
  byoc_test_ok(byoc_host_program_create(NULL, "p", system, &diag, &program), &diag);
  byoc_runtime_module_t *library = demo_module(BYOC_RUNTIME_MODULE_STATIC_LIBRARY, "libm");
  library->open_in_process = open_libm;
  byoc_test_ok(byoc_runtime_module_add_symbol(library, "cos", &diag), &diag);
  assert_true(byoc_vector_push(&program->libraries, system, library));
  char *path = strdup(getenv("PATH"));
  setenv("PATH", "/nowhere", 1);
  byoc_resolver_t *resolver = NULL;
  byoc_status_t status = byoc_resolver_create(program, NULL, &runtime, system, &diag, &resolver);
  setenv("PATH", path, 1);
  byoc_test_ok(status, &diag);
  byoc_symbol_resolver_t symbols = byoc_resolver_interface(resolver);
  void *address = NULL;
  byoc_test_ok(symbols.resolve(symbols.self, "cos", &diag, &address), &diag);
  byoc_test_ok(symbols.resolve(symbols.self, "sin", &diag, &address), &diag); // not listed, but there
  byoc_resolver_destroy(resolver);

  byoc_test_ok(byoc_runtime_module_add_symbol(library, "cosinus", &diag), &diag);
  byoc_test_error(byoc_resolver_create(program, NULL, &runtime, system, &diag, &resolver), BYOC_NOT_FOUND, &diag,
                  "lacks 'cosinus'");
  byoc_diag_clear(&diag);
  library->open_self = &diag;
  byoc_test_error(byoc_resolver_create(program, NULL, &runtime, system, &diag, &resolver), BYOC_UNSUPPORTED, &diag,
                  "the library 'libm' of target 'demo' cannot be opened in this process");
  assert_null(resolver);
  free(path);
  byoc_runtime_module_release(library);
  byoc_host_program_destroy(program);
}

static int opened;

static int32_t open_libm_often(void *self, const byoc_runtime_t *given, void **out_handle) {
  (void)self;
  ++opened;
  return open_libm(NULL, given, out_handle);
}

// A backend opens one copy in a process. A second library of the same backend is linked from its files, one of another
// backend is opened, though both open in the same way.
static void test_one_copy_of_a_backend_in_process(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  byoc_host_program_t *program = NULL;
  byoc_test_ok(byoc_host_program_create(NULL, "p", system, &diag, &program), &diag);
  static int backends[2];
  byoc_runtime_module_t *libraries[2];
  for (int i = 0; i < 2; ++i) {
    libraries[i] = demo_module(BYOC_RUNTIME_MODULE_STATIC_LIBRARY, i == 0 ? "first" : "second");
    libraries[i]->open_in_process = open_libm_often;
    libraries[i]->open_self = &backends[i];
    const byoc_file_content_t content = {.name = "x.o", .data = "no object", .size_bytes = 9};
    byoc_test_ok(byoc_runtime_module_add_file(libraries[i], &content, false, &diag), &diag);
    assert_true(byoc_vector_push(&program->libraries, system, libraries[i]));
  }
  byoc_resolver_t *resolver = NULL;
  byoc_test_ok(byoc_resolver_create(program, NULL, &runtime, system, &diag, &resolver), &diag);
  assert_int_equal(opened, 2);
  byoc_resolver_destroy(resolver);
  libraries[1]->open_self = &backends[0];
  assert_int_not_equal(byoc_resolver_create(program, NULL, &runtime, system, &diag, &resolver), BYOC_OK);
  assert_null(resolver);
  byoc_diag_clear(&diag);
  for (int i = 0; i < 2; ++i) byoc_runtime_module_release(libraries[i]);
  byoc_host_program_destroy(program);
}

static void test_undefined(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {.packed_source = "#include \"byoc/call.h\"\nint32_t nowhere(void);\n"
                                  "int32_t demo_scale(const byoc_call_t *call) { (void)call; return nowhere(); }\n"};
  demo_init(&demo);
  byoc_resolver_t *resolver = NULL;
  byoc_test_error(byoc_resolver_create(demo.program, NULL, &runtime, byoc_allocator_system(), &diag, &resolver),
                  BYOC_TOOL, &diag, "undefined symbol: nowhere");
  demo_deinit(&demo);
}

static void test_listed_symbols_are_checked(void **state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    byoc_diag_t diag = {0};
    demo_t demo = {0};
    demo_init(&demo);
    byoc_test_ok(byoc_runtime_module_add_symbol(i ? demo.library : demo.source, "demo_absent", &diag), &diag);
    byoc_resolver_t *resolver = NULL;
    byoc_test_error(byoc_resolver_create(demo.program, NULL, &runtime, byoc_allocator_system(), &diag, &resolver),
                    BYOC_INVALID_DATA, &diag, "lists the symbol 'demo_absent', but none of its objects");
    demo_deinit(&demo);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listed_symbols_are_checked),
      cmocka_unit_test(test_linked),
      cmocka_unit_test(test_in_process),
      cmocka_unit_test(test_one_copy_of_a_backend_in_process),
      cmocka_unit_test(test_undefined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
