// SPDX-License-Identifier: Apache-2.0
// Compiles a model with values inside of it as further outputs, and runs it.
#include "core/quantise/probe.h"

#include <string.h>

#include "core/base/map.h"
#include "core/loader/loader.h"

struct byoc_probe_t {
  byoc_arena_t arena;
  byoc_setup_t setup;
  byoc_setup_options_t options;
  byoc_build_temporary_t temporary;
  byoc_loaded_artifact_t artifact;
  byoc_context_t *context;
  byoc_build_evaluation_t evaluation; // instead of the artifact
  byoc_argument_t *outputs;           // of the artifact
  byoc_argument_t *values;            // one for each name
  uint32_t *places;                   // the output of each name
  size_t count;
};

static byoc_value_t *find_value(byoc_function_t *main, const char *name) {
  for (size_t i = 0; i < main->body->parameters.count; i++) {
    byoc_value_t *value = main->body->parameters.data[i];
    if (value->name != NULL && strcmp(value->name, name) == 0) return value;
  }
  BYOC_FOR_EACH_NODE(node, main->body) {
    for (uint32_t i = 0; i < node->result_count; i++) {
      byoc_value_t *value = node->results[i];
      if (value->name != NULL && strcmp(value->name, name) == 0) return value;
    }
  }
  return NULL;
}

// The index of a result that is this value; the number of results if there is none.
static size_t find_result(const byoc_block_t *block, const byoc_value_t *value) {
  size_t i = 0;
  while (i < block->results.count && block->results.data[i] != value) i++;
  return i;
}

// Makes each named value a result of the model.
static byoc_status_t add_results(byoc_probe_t *probe, const char *const *names, byoc_diag_t *diag) {
  byoc_function_t *main = byoc_graph_module_main(probe->setup.build.module);
  for (size_t i = 0; i < probe->count; i++) {
    byoc_value_t *value = find_value(main, names[i]);
    if (value == NULL) return byoc_diag_error(diag, BYOC_INTERNAL, "the graph has no value '%s'", names[i]);
    const size_t index = find_result(main->body, value);
    if (index == main->body->results.count && !byoc_block_add_result(main->body, names[i], value)) {
      return byoc_diag_out_of_memory(diag);
    }
    probe->places[i] = (uint32_t)index;
  }
  return BYOC_OK;
}

static byoc_status_t compile(byoc_probe_t *probe, const byoc_probe_options_t *options, byoc_onnx_model_t *model,
                             const char *const *names, byoc_diag_t *diag) {
  static const char *const targets[] = {"c"};
  probe->options = (byoc_setup_options_t){.targets = targets,
                                          .target_count = 1,
                                          .plan = "greedy",
                                          .dims = options->dims,
                                          .dim_count = options->dim_count,
                                          .data_folder = options->folder,
                                          .check_budget_s = -1,
                                          .thread_count = options->thread_count};
  uint8_t *bytes = NULL;
  size_t size = 0;
  BYOC_RETURN_IF_ERROR(
      byoc_setup_open(&probe->setup, &probe->options, options->registry, byoc_allocator_system(), diag));
  BYOC_RETURN_IF_ERROR(byoc_setup_parse_targets(&probe->setup, &probe->options, diag));
  BYOC_RETURN_IF_ERROR(byoc_onnx_model_pack(model, diag, &bytes, &size));
  byoc_status_t status = byoc_setup_read_memory(&probe->setup, &probe->options, bytes, size, diag);
  byoc_free(byoc_allocator_system(), bytes);
  if (status == BYOC_OK) status = add_results(probe, names, diag);
  if (status == BYOC_OK) status = byoc_setup_compile(&probe->setup, BYOC_BUILD_ALL, diag);
  return status;
}

static byoc_status_t make_outputs(byoc_probe_t *probe, size_t count, byoc_diag_t *diag) {
  probe->outputs = BYOC_ARENA_ARRAY(&probe->arena, byoc_argument_t, count + 1);
  return probe->outputs != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t interpret(byoc_probe_t *probe, byoc_diag_t *diag) {
  const byoc_host_program_t *program = probe->setup.build.result.program;
  BYOC_RETURN_IF_ERROR(make_outputs(probe, program->outputs.count, diag));
  return byoc_build_evaluate(&probe->setup.build, 1, diag, &probe->evaluation);
}

static byoc_status_t load(byoc_probe_t *probe, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_build_compose_temporary(&probe->setup.build, diag, &probe->temporary));
  BYOC_RETURN_IF_ERROR(byoc_artifact_load(probe->temporary.path, diag, &probe->artifact));
  const byoc_artifact_t *table = probe->artifact.table;
  BYOC_RETURN_IF_ERROR(make_outputs(probe, table->output_count, diag));
  const byoc_context_options_t options = {.struct_size = sizeof(options),
                                          .thread_count = (int32_t)probe->options.thread_count};
  const int32_t status = table->create(&options, &probe->context);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(diag, (byoc_status_t)status, "the compiled model cannot be set up: %s",
                         table->last_error(NULL));
}

byoc_status_t byoc_probe_open(const byoc_probe_options_t *options, byoc_onnx_model_t *model, const char *const *names,
                              size_t count, byoc_diag_t *diag, byoc_probe_t **out_probe) {
  *out_probe = NULL;
  byoc_probe_t *probe = byoc_allocate(byoc_allocator_system(), 1, sizeof(*probe));
  if (probe == NULL) return byoc_diag_out_of_memory(diag);
  byoc_arena_init(&probe->arena, byoc_allocator_system());
  probe->count = count;
  probe->values = BYOC_ARENA_ARRAY(&probe->arena, byoc_argument_t, count + 1);
  probe->places = BYOC_ARENA_ARRAY(&probe->arena, uint32_t, count + 1);
  byoc_status_t status = probe->values != NULL && probe->places != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = compile(probe, options, model, names, diag);
  if (status == BYOC_OK) status = options->evaluates ? interpret(probe, diag) : load(probe, diag);
  if (status == BYOC_OK) {
    *out_probe = probe;
  } else {
    byoc_probe_close(probe);
  }
  return status;
}

byoc_status_t byoc_probe_run(byoc_probe_t *probe, const byoc_argument_t *inputs, byoc_diag_t *diag,
                             const byoc_argument_t **out_values) {
  const byoc_artifact_t *table = probe->artifact.table;
  if (table == NULL) {
    BYOC_RETURN_IF_ERROR(byoc_evaluator_run_arguments(probe->evaluation.evaluator, inputs, probe->outputs, diag));
  } else {
    const int32_t status = table->run_arguments(probe->context, inputs, probe->outputs);
    if (status != BYOC_OK) {
      return byoc_diag_error(diag, (byoc_status_t)status, "the run failed: %s", table->last_error(probe->context));
    }
  }
  for (size_t i = 0; i < probe->count; i++) probe->values[i] = probe->outputs[probe->places[i]];
  *out_values = probe->values;
  return BYOC_OK;
}

void byoc_probe_close(byoc_probe_t *probe) {
  if (probe == NULL) return;
  if (probe->artifact.table != NULL) {
    if (probe->context != NULL) probe->artifact.table->destroy(probe->context);
    byoc_artifact_unload(&probe->artifact);
  }
  byoc_build_evaluation_end(&probe->evaluation);
  byoc_build_temporary_remove(&probe->temporary);
  byoc_setup_close(&probe->setup);
  byoc_arena_deinit(&probe->arena);
  byoc_free(byoc_allocator_system(), probe);
}
