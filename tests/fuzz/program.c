// SPDX-License-Identifier: Apache-2.0
// Takes builds of fuzz targets to their ends: host programs, their texts, C, results.
#include "tests/fuzz/program.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/hostir/text/program_text.h"
#include "core/kernel/work.h"
#include "core/plugin/registry.h"
#include "tests/fuzz/fuzz.h"

enum { BYTES_AT_MOST = 64 << 10, WORK_AT_MOST = 1 << 18 }; // of a program that is evaluated

const byoc_target_list_t *fuzz_targets(void) {
  static byoc_plugin_registry_t *registry; // lives as long as the targets
  static byoc_target_list_t targets;
  const byoc_plugin_options_t options = {.environment = "/nonexistent"};
  const char *text = "c";
  byoc_diag_t diag = {0};
  byoc_log_set_level(BYOC_LOG_ERROR);
  byoc_status_t status = byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry);
  fuzz_check_ok(status, &diag, "finding plugins");
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(registry);
  fuzz_check_ok(byoc_target_list_parse(&text, 1, &kinds, byoc_allocator_system(), &diag, &targets), &diag, text);
  return &targets;
}

// ---- evaluating ----

static bool add_bytes(byoc_host_buffer_t *const *buffers, size_t count, uint64_t *bytes) {
  for (size_t i = 0; i < count; ++i) {
    const byoc_type_t *type = buffers[i]->type;
    if (type->kind != BYOC_TYPE_TENSOR || !byoc_type_is_static(type) || type->dtype == BYOC_DTYPE_STRING) return false;
    *bytes += byoc_type_size_bytes(type);
    if (*bytes > BYTES_AT_MOST) return false;
  }
  return true;
}

static bool is_small(const byoc_host_program_t *program) {
  uint64_t bytes = 0;
  int64_t work = 0;
  BYOC_HOST_FOR_EACH(instruction, program) {
    if (instruction->op == BYOC_HOST_LOOP) return false;
    if (instruction->op == BYOC_HOST_KERNEL) work += byoc_work_of(instruction->kernel->body);
    if (work > WORK_AT_MOST) return false;
  }
  return !program->is_dynamic && add_bytes(program->inputs.data, program->inputs.count, &bytes) &&
         add_bytes(program->outputs.data, program->outputs.count, &bytes) &&
         add_bytes(program->buffers.data, program->buffers.count, &bytes);
}

// Memory for each, of small numbers, as indices and lengths have them.
static void **make_buffers(byoc_host_buffer_t *const *buffers, size_t count) {
  void **memory = calloc(count + 1, sizeof(*memory));
  if (memory == NULL) fuzz_fail("out of memory");
  for (size_t i = 0; i < count; ++i) {
    size_t size = (size_t)byoc_type_size_bytes(buffers[i]->type);
    size_t step = byoc_dtype_bits(buffers[i]->type->dtype) / 8;
    uint8_t *bytes = calloc(size > 0 ? size : 1, 1);
    if (bytes == NULL) fuzz_fail("out of memory");
    for (size_t at = 0; at<size; at += step> 0 ? step : 1) bytes[at] = (uint8_t)((at * 7 + i) & 3);
    memory[i] = bytes;
  }
  return memory;
}

static void free_buffers(void **memory, size_t count) {
  for (size_t i = 0; i < count; ++i) free(memory[i]);
  free(memory);
}

void fuzz_evaluate(const byoc_build_t *build) {
  const byoc_host_program_t *program = build->result.program;
  if (!is_small(program)) return;
  byoc_diag_t diag = {0};
  byoc_build_evaluation_t evaluation;
  byoc_status_t status = byoc_build_evaluate(build, 1, &diag, &evaluation);
  fuzz_check(status, &diag);
  if (status == BYOC_OK) {
    void **inputs = make_buffers(program->inputs.data, program->inputs.count);
    void **outputs = make_buffers(program->outputs.data, program->outputs.count);
    status = byoc_evaluator_run(evaluation.evaluator, (const void *const *)inputs, outputs, &diag);
    fuzz_check(status, &diag);
    free_buffers(outputs, program->outputs.count);
    free_buffers(inputs, program->inputs.count);
  }
  byoc_build_evaluation_end(&evaluation);
}

// ---- the pipeline ----

static void print(const byoc_build_t *build) {
  const byoc_compose_options_t output = {.output = "fuzz.so", .model_name = "fuzz"};
  const byoc_compose_entry_t entry = {.program = build->result.program, .options = output};
  byoc_diag_t diag = {0};
  byoc_string_t text;
  byoc_string_init(&text, fuzz_allocator());
  fuzz_check_ok(byoc_host_text_check(build->result.program, &diag), &diag, "the text of the host program");
  fuzz_check(byoc_build_emit_c(build, &output, &text, &diag), &diag);
  fuzz_check(byoc_compose_emit_header(&entry, 1, &text, &diag), &diag);
  byoc_string_deinit(&text);
}

bool fuzz_compile(byoc_build_t *build) {
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_build_compile(build, BYOC_BUILD_ALL, &diag);
  fuzz_check(status, &diag);
  if (status == BYOC_OK) print(build);
  return status == BYOC_OK;
}
