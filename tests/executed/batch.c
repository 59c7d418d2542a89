// SPDX-License-Identifier: Apache-2.0
// Writes modules, builds them, and runs their artifacts.
#include "batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/loader/loader.h"
#include "tests/support/support.h"

// ---- texts ----

char *batch_text(const case_t *const *cases, size_t count) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {\n  constant @tensor : f32[2] = [1.0, 2.0]\n"
                            "  constant @bytes : u8[2] = [0, 4]\n");
  for (size_t i = 0; i < count; ++i) byoc_string_append(&text, cases[i]->constants);
  byoc_string_append(&text, "  func @main(");
  bool is_first = true;
  for (size_t i = 0; i < count; ++i) {
    if (!cases[i]->parameters[0]) continue;
    byoc_string_appendf(&text, "%s%s", is_first ? "" : ", ", cases[i]->parameters);
    is_first = false;
  }
  byoc_string_append(&text, ") -> (");
  is_first = true;
  for (size_t i = 0; i < count; ++i) {
    if (!cases[i]->results[0]) continue;
    byoc_string_appendf(&text, "%s%s", is_first ? "" : ", ", cases[i]->results);
    is_first = false;
  }
  byoc_string_append(&text, ") {\n");
  for (size_t i = 0; i < count; ++i) byoc_string_append(&text, cases[i]->node);
  byoc_string_append(&text, "    return");
  is_first = true;
  for (size_t i = 0; i < count; ++i) {
    if (!cases[i]->names[0]) continue;
    byoc_string_appendf(&text, "%s%s", is_first ? " " : ", ", cases[i]->names);
    is_first = false;
  }
  byoc_string_append(&text, "\n  }\n}\n");
  assert_false(text.failed);
  char *copy = strdup(text.data);
  byoc_string_deinit(&text);
  return copy;
}

static byoc_status_t parse(const case_t *const *cases, size_t count, byoc_diag_t *diag, byoc_graph_module_t **out) {
  char *text = batch_text(cases, count);
  const byoc_status_t status = byoc_graph_parse(text, "test", byoc_allocator_system(), diag, out);
  free(text);
  return status;
}

// ---- the reference ----

static byoc_status_t copy_results(case_t *item, const byoc_argument_t *results, byoc_arena_t *arena,
                                  byoc_diag_t *diag) {
  for (size_t i = 0; i < item->result_count; ++i) {
    if (!argument_copy(arena, &results[i], &item->expected[i])) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

static byoc_status_t evaluate(byoc_graph_module_t *module, case_t *item, byoc_arena_t *arena, byoc_diag_t *diag) {
  byoc_host_program_t *program = NULL;
  byoc_resolver_t *resolver = NULL;
  byoc_evaluator_t *evaluator = NULL;
  byoc_runtime_t runtime = byoc_serial_runtime(1);
  byoc_argument_t results[BATCH_MOST_RESULTS];
  const byoc_allocator_t allocator = byoc_allocator_system();
  byoc_status_t status = byoc_kernel_lower_module(module, NULL, diag);
  if (status == BYOC_OK) status = byoc_host_lower(module, allocator, diag, &program);
  if (status == BYOC_OK) status = byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, program, NULL, diag);
  if (status == BYOC_OK) status = byoc_resolver_create(program, NULL, &runtime, allocator, diag, &resolver);
  if (status == BYOC_OK) {
    const byoc_symbol_resolver_t symbols = byoc_resolver_interface(resolver);
    status = byoc_evaluator_create(program, &symbols, 1, allocator, diag, &evaluator);
  }
  if (status == BYOC_OK) byoc_evaluator_set_max_iterations(evaluator, 1000);
  if (status == BYOC_OK) status = byoc_evaluator_run_arguments(evaluator, item->inputs, results, diag);
  if (status == BYOC_OK) item->result_count = program->outputs.count;
  if (status == BYOC_OK) status = copy_results(item, results, arena, diag);
  byoc_evaluator_destroy(evaluator);
  byoc_resolver_destroy(resolver);
  byoc_host_program_destroy(program);
  return status;
}

byoc_status_t batch_evaluate(case_t *item, byoc_arena_t *arena, byoc_diag_t *diag) {
  byoc_graph_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(parse((const case_t *[]){item}, 1, diag, &module));
  byoc_status_t status = byoc_infer_module(module, diag);
  if (status == BYOC_OK) status = evaluate(module, item, arena, diag);
  byoc_graph_module_destroy(module);
  return status;
}

// ---- the artifact ----

typedef struct artifact_t {
  byoc_graph_module_t *module;
  byoc_build_t build;
} artifact_t;

static void artifact_close(artifact_t *artifact) {
  byoc_build_deinit(&artifact->build);
  byoc_graph_module_destroy(artifact->module);
}

static byoc_status_t artifact_build(const batch_t *batch, const case_t *const *cases, size_t count, byoc_diag_t *diag,
                                    artifact_t *out) {
  *out = (artifact_t){0};
  BYOC_RETURN_IF_ERROR(parse(cases, count, diag, &out->module));
  const byoc_build_options_t options = {.targets = batch->targets, .switches = &batch->switches};
  byoc_build_init(&out->build, &options, byoc_allocator_system());
  byoc_build_lend(&out->build, out->module, false);
  byoc_status_t status = byoc_infer_module(out->module, diag);
  if (status == BYOC_OK) status = byoc_build_compile(&out->build, BYOC_BUILD_ALL, diag);
  if (status != BYOC_OK) artifact_close(out);
  return status;
}

byoc_status_t batch_add(batch_t *batch, const case_t *item, byoc_diag_t *diag) {
  artifact_t artifact;
  BYOC_RETURN_IF_ERROR(artifact_build(batch, &item, 1, diag, &artifact));
  artifact_close(&artifact);
  batch->cases[batch->count++] = *item;
  return BYOC_OK;
}

typedef struct run_t {
  const case_t *const *cases;
  size_t count;
  byoc_argument_t *inputs, *results;
  void **memory; // of the results
  const char *faults[BATCH_CASES];
  char texts[BATCH_CASES][400];
} run_t;

static void *allocate_output(void *self, uint32_t output, const byoc_argument_t *tensor, uint64_t size_bytes) {
  (void)tensor;
  void **memory = self;
  memory[output] = aligned_alloc(64, (size_bytes / 64 + 1) * 64);
  return memory[output];
}

static void compare(run_t *run) {
  const byoc_argument_t *result = run->results;
  for (size_t k = 0; k < run->count; ++k) {
    const case_t *item = run->cases[k];
    for (size_t i = 0; i < item->result_count; ++i, ++result) {
      const bool is_ignored = (item->ignored >> i & 1) != 0;
      const char *fault = is_ignored ? NULL : argument_difference(result, &item->expected[i]);
      if (fault == NULL || run->faults[k] != NULL) continue;
      snprintf(run->texts[k], sizeof run->texts[k], "%s", fault);
      run->faults[k] = run->texts[k];
    }
  }
}

// Runs twice: the second run must not see what the first one left behind.
static byoc_status_t run_table(const byoc_artifact_t *table, run_t *run, byoc_diag_t *diag) {
  byoc_context_t *context = NULL;
  const byoc_context_options_t options = {.struct_size = sizeof options, .thread_count = 1};
  byoc_status_t status = table->create(&options, &context);
  for (int i = 0; i < 2 && status == BYOC_OK; ++i) {
    const byoc_run_options_t how = {.struct_size = sizeof how, .self = run->memory, .allocate = allocate_output};
    status = table->run_with(context, run->inputs, run->results, &how);
    if (status == BYOC_OK) compare(run);
    for (size_t k = 0; k < BATCH_CASES * BATCH_MOST_RESULTS; ++k) free(run->memory[k]), run->memory[k] = NULL;
  }
  if (status != BYOC_OK) status = byoc_diag_error(diag, status, "the run failed: %s", table->last_error(context));
  table->destroy(context);
  return status;
}

static byoc_status_t run_file(const char *path, run_t *run, byoc_diag_t *diag) {
  byoc_loaded_artifact_t artifact;
  BYOC_RETURN_IF_ERROR(byoc_artifact_load(path, diag, &artifact));
  size_t count = 0;
  run->inputs = calloc(BATCH_CASES * BATCH_MOST_INPUTS, sizeof *run->inputs);
  run->results = calloc(BATCH_CASES * BATCH_MOST_RESULTS, sizeof *run->results);
  run->memory = calloc(BATCH_CASES * BATCH_MOST_RESULTS, sizeof *run->memory);
  assert_true(run->inputs != NULL && run->results != NULL && run->memory != NULL);
  for (size_t k = 0; k < run->count; ++k) {
    for (size_t i = 0; i < run->cases[k]->input_count; ++i) run->inputs[count++] = run->cases[k]->inputs[i];
  }
  const byoc_status_t status = run_table(artifact.table, run, diag);
  free(run->inputs), free(run->results), free(run->memory);
  byoc_artifact_unload(&artifact);
  return status;
}

// Builds and runs the cases in one artifact; *out_run has the faults of each.
static byoc_status_t run_cases(const batch_t *batch, const case_t *const *cases, size_t count, run_t *run,
                               byoc_diag_t *diag) {
  char path[512];
  static int number;
  artifact_t artifact;
  *run = (run_t){.cases = cases, .count = count};
  snprintf(path, sizeof path, "%s/batch%d.so", batch->folder, number++);
  BYOC_RETURN_IF_ERROR(artifact_build(batch, cases, count, diag, &artifact));
  const byoc_compose_options_t options = {.output = path, .model_name = "executed"};
  byoc_status_t status = byoc_build_compose(&artifact.build, &options, diag);
  if (status == BYOC_OK) status = run_file(path, run, diag);
  artifact_close(&artifact);
  remove(path);
  return status;
}

// Programs that can be built one by one can be built together.
static void tell_failure(const case_t *const *cases, size_t count, const byoc_diag_t *diag) {
  char *text = batch_text(cases, count);
  printf("together they fail: %s\n%s", diag->message, text);
  free(text);
}

void batch_run(batch_t *batch, void (*report)(const case_t *item, const char *fault)) {
  const case_t *cases[BATCH_CASES];
  static run_t run;
  byoc_diag_t diag = {0};
  for (size_t i = 0; i < batch->count; ++i) cases[i] = &batch->cases[i];
  const bool is_fine = batch->count == 0 || run_cases(batch, cases, batch->count, &run, &diag) == BYOC_OK;
  if (!is_fine) tell_failure(cases, batch->count, &diag);
  if (!is_fine) batch->failures += 1;
  for (size_t i = 0; i < batch->count && is_fine; ++i) report(cases[i], run.faults[i]);
  for (size_t i = 0; i < batch->count && !is_fine; ++i) {
    diag = (byoc_diag_t){0};
    const byoc_status_t status = run_cases(batch, &cases[i], 1, &run, &diag);
    report(cases[i], status != BYOC_OK ? diag.message : run.faults[0]);
  }
  batch->count = 0;
}
