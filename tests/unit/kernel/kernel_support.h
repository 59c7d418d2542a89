// SPDX-License-Identifier: Apache-2.0
// What the kernel tests share: tensors, calls, and emitted C compiled and loaded.
#ifndef BYOC_TESTS_UNIT_KERNEL_KERNEL_SUPPORT_H_
#define BYOC_TESTS_UNIT_KERNEL_KERNEL_SUPPORT_H_

#include "tests/support/support.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "byoc/call.h"
#include "core/base/file.h"
#include "core/base/process.h"
#include "core/kernel/emit_c.h"
#include "core/kernel/interpret.h"

// A runtime without threads that splits every loop into uneven shares, so that shares are tested too.
static inline void test_parallel_for(void *self, byoc_parallel_body_t body, void *argument, int64_t count,
                                     int64_t grain) {
  (void)self;
  (void)grain;
  int64_t middle = count / 3;
  if (middle > 0) body(argument, 0, middle, 0);
  if (middle < count) body(argument, middle, count, 0);
}

static char test_error_text[512];
static inline void test_set_error(void *self, const char *message) {
  (void)self;
  snprintf(test_error_text, sizeof(test_error_text), "%s", message);
}

static const byoc_runtime_t test_runtime = {.struct_size = sizeof(byoc_runtime_t),
                                            .thread_count = 1,
                                            .parallel_for = test_parallel_for,
                                            .set_error = test_set_error};

static inline int64_t test_element_count(const DLTensor *tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->ndim; ++i) count *= tensor->shape[i];
  return count;
}

static inline size_t test_bytes(byoc_dtype_t dtype, int64_t count) {
  return (size_t)((count * byoc_dtype_bits(dtype) + 7) / 8);
}

static inline int32_t test_call(byoc_packed_function_t function, byoc_interpreter_t *interpreter,
                                const DLTensor *tensors, uint32_t inputs, uint32_t outputs) {
  byoc_call_t call = {.struct_size = sizeof(call),
                      .input_count = inputs,
                      .output_count = outputs,
                      .tensors = tensors,
                      .runtime = &test_runtime};
  return function ? function(&call) : byoc_interpreter_run(interpreter, &call);
}

// Compiles the kernels' C with `compiler`, with warnings as errors, and loads it. If that fails, the test fails.
// Functions of libm are called, not folded: a compiler may round them in another way than the library.
static inline void *test_load_kernels(const byoc_loop_kernel_t *const *kernels, size_t count, const char *compiler,
                                      const char *optimisation) {
  byoc_diag_t diag = {0};
  byoc_string_t text, output;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_init(&output, byoc_allocator_system());
  byoc_test_ok(byoc_kernel_emit_c(kernels, count, &text), &diag);
  // The functions are hidden in an artifact, but are looked up here.
  byoc_string_t source;
  byoc_string_init(&source, byoc_allocator_system());
  byoc_string_append(&source, "#include \"byoc/call.h\"\n#undef BYOC_PACKED\n#define BYOC_PACKED "
                              "__attribute__((visibility(\"default\")))\n");
  for (size_t i = 0; i < count; ++i)
    byoc_string_appendf(&source, "BYOC_PACKED int32_t %s(const byoc_call_t *call);\n", kernels[i]->name);
  byoc_string_append(&source, text.data);
  char *folder = byoc_test_folder();
  char *file = byoc_path_join(byoc_allocator_system(), folder, "kernels.c");
  char *object = byoc_path_join(byoc_allocator_system(), folder, "kernels.so");
  byoc_test_ok(byoc_file_write(file, source.data, source.size, &diag), &diag);
  const char *argv[] = {compiler,
                        "-std=c11",
                        optimisation,
                        "-ffp-contract=off",
                        "-fno-builtin",
                        "-fopenmp-simd",
                        "-fPIC",
                        "-shared",
                        "-Wall",
                        "-Wextra",
                        "-Werror",
                        "-I" BYOC_TEST_SOURCE_DIR "/include",
                        file,
                        "-o",
                        object,
                        "-lm",
                        NULL};
  byoc_process_result_t result;
  byoc_test_ok(byoc_process_run(argv, NULL, &output, &diag, &result), &diag);
  if (result.exit_code != 0) fail_msg("%s: %s\n%s", compiler, output.data, source.data);
  void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail_msg("%s", dlerror());
  byoc_string_deinit(&text);
  byoc_string_deinit(&output);
  byoc_string_deinit(&source);
  byoc_free(byoc_allocator_system(), file);
  byoc_free(byoc_allocator_system(), object);
  free(folder);
  return library;
}

static inline byoc_packed_function_t test_find(void *library, const char *name) {
  byoc_packed_function_t function;
  void *symbol = dlsym(library, name);
  assert_non_null(symbol);
  memcpy(&function, &symbol, sizeof(function));
  return function;
}

#endif // BYOC_TESTS_UNIT_KERNEL_KERNEL_SUPPORT_H_
