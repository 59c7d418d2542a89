// SPDX-License-Identifier: Apache-2.0
// Generates, compiles and opens kernels of cutlass_like for its tests.
#include "kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/ir/element.h"
#include "core/targets/cpu.h"

void kernels_begin(kernels_t *kernels, byoc_cutlass_isa_t isa) {
  *kernels = (kernels_t){.isa = isa, .half = ""};
  byoc_cutlass_emit_prelude(&kernels->text, isa);
}

void kernels_add(kernels_t *kernels, const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  char symbol[32];
  snprintf(symbol, sizeof(symbol), "kernel_%zu", kernels->count++);
  byoc_cutlass_emit(&kernels->text, problem, plan, symbol);
}

static void run_compiler(const char *source, const char *object, const kernels_t *kernels, const char *flags) {
  const char *compiler = getenv("BYOC_TEST_CC");
  const char *argv[48] = {
      compiler ? compiler : "cc", "-std=gnu11",        "-fPIC", "-shared", "-I" BYOC_TEST_SOURCE_DIR "/include",
      "-fno-math-errno",          "-ffp-contract=fast"};
  size_t n = 7;
  char words[256];
  byoc_cutlass_isa_flags(kernels->isa, kernels->dot, kernels->half, words, sizeof(words));
  size_t used = strlen(words);
  snprintf(words + used, sizeof(words) - used, " %s", flags);
  for (char *save = NULL, *flag = strtok_r(words, " ", &save); flag; flag = strtok_r(NULL, " ", &save)) {
    argv[n++] = flag;
  }
  argv[n++] = "-o", argv[n++] = object, argv[n++] = source;
  byoc_diag_t diag = {0};
  byoc_string_t output;
  byoc_process_result_t result;
  byoc_string_init(&output, byoc_allocator_system());
  byoc_test_ok(byoc_process_run(argv, NULL, &output, &diag, &result), &diag);
  if (result.exit_code != 0) fail_msg("%s", output.data);
  byoc_string_deinit(&output);
}

void kernels_compile(kernels_t *kernels, const char *flags) {
  byoc_plugin_string_t *text = &kernels->text;
  byoc_plugin_string_add(text, "\n__attribute__((visibility(\"default\"))) byoc_packed_function_t const kernels[] = {");
  for (size_t i = 0; i < kernels->count; ++i) byoc_plugin_string_add(text, "kernel_%zu, ", i);
  byoc_plugin_string_add(text, "};\n");
  assert_true(byoc_plugin_string_ok(text));
  char source[512], object[512], *folder = byoc_test_folder();
  snprintf(source, sizeof(source), "%s/kernels.c", folder);
  snprintf(object, sizeof(object), "%s/kernels.so", folder);
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(source, text->data, text->length, &diag), &diag);
  byoc_plugin_string_deinit(text);
  run_compiler(source, object, kernels, flags);
  // Opened lazily: nothing of it runs yet.
  kernels->library = dlopen(object, RTLD_LAZY | RTLD_LOCAL);
  if (!kernels->library) fail_msg("%s", dlerror());
  byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  free(folder);
  kernels->functions = (const byoc_packed_function_t *)dlsym(kernels->library, "kernels");
  assert_non_null(kernels->functions);
}

void kernels_end(kernels_t *kernels) {
  if (kernels->library) dlclose(kernels->library);
  byoc_plugin_string_deinit(&kernels->text);
  *kernels = (kernels_t){0};
}

void kernels_run_shares(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  (void)self, (void)grain;
  for (int64_t i = count; i-- > 0;) body(argument, i, i + 1, 0);
}

void kernels_call(byoc_packed_function_t function, const DLTensor *tensors, uint32_t input_count, uint32_t output_count,
                  int32_t threads, void *workspace, uint64_t workspace_bytes) {
  const byoc_runtime_t runtime = {
      .struct_size = sizeof(runtime), .thread_count = threads, .parallel_for = kernels_run_shares};
  const byoc_call_t call = {.struct_size = sizeof(call),
                            .input_count = input_count,
                            .output_count = output_count,
                            .tensors = tensors,
                            .runtime = &runtime,
                            .workspace = workspace,
                            .workspace_size_bytes = workspace_bytes};
  assert_int_equal(function(&call), BYOC_OK);
}

bool kernels_run_here(byoc_cutlass_isa_t isa, uint32_t dot) {
  byoc_diag_t diag = {0};
  uint64_t needed = 0, more = 0;
  const char *feature = byoc_cutlass_dot_feature(isa, dot);
  byoc_test_ok(byoc_cpu_parse_list(byoc_cutlass_isa_features(isa), &diag, &needed), &diag);
  if (feature) byoc_test_ok(byoc_cpu_parse_list(feature, &diag, &more), &diag);
  return feature && ((needed | more) & ~byoc_cpu_detect()) == 0;
}

bool kernels_try_here(byoc_cutlass_isa_t isa) {
  if (!kernels_run_here(isa, BYOC_CUTLASS_DOT_F32)) return false;
  for (byoc_cutlass_isa_t better = isa + 1; better < BYOC_CUTLASS_ISA_COUNT; ++better) {
    if (!byoc_test_is_long() && kernels_run_here(better, BYOC_CUTLASS_DOT_F32)) return false;
  }
  return true;
}

guarded_t guarded_create(size_t size_bytes, size_t alignment) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), taken = (size_bytes + alignment - 1) / alignment * alignment;
  size_t whole = (taken + page - 1) / page * page;
  guarded_t memory = {.size_bytes = whole + page};
  memory.pages = mmap(NULL, memory.size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory.pages != MAP_FAILED);
  assert_int_equal(mprotect((char *)memory.pages + whole, page, PROT_NONE), 0);
  memory.data = (float *)(void *)((char *)memory.pages + whole - taken);
  memset(memory.data, 0xff, taken); // NaN
  return memory;
}

void guarded_destroy(guarded_t *memory) {
  if (memory->pages) munmap(memory->pages, memory->size_bytes);
  *memory = (guarded_t){0};
}

static uint32_t dtype_of(uint32_t type) {
  return type ? type : BYOC_DTYPE_F32;
}

float kernels_round(uint32_t type, float value) {
  float bits = 0;
  byoc_element_set_f64(dtype_of(type), &bits, 0, value);
  return kernels_element(type, &bits, 0);
}

guarded_t kernels_narrow(uint32_t type, const float *values, int64_t count) {
  guarded_t tensor = guarded_create((size_t)(count * byoc_cutlass_type_bytes(type)), 2);
  for (int64_t i = 0; i < count; ++i) byoc_element_set_f64(dtype_of(type), tensor.data, (size_t)i, values[i]);
  return tensor;
}

float kernels_element(uint32_t type, const void *data, int64_t i) {
  return (float)byoc_element_f64(dtype_of(type), data, (size_t)i);
}
