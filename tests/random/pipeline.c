// SPDX-License-Identifier: Apache-2.0
// Takes a model in memory along the whole pipeline, and runs the result with both executors.
#include "tests/random/pipeline.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/process.h"
#include "core/loader/loader.h"

static byoc_status_t begin(pipeline_t *pipeline, const char *targets, byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  *pipeline = (pipeline_t){0};
  const byoc_plugin_options_t plugins = {.environment = BYOC_TEST_PLUGIN_DIR};
  BYOC_RETURN_IF_ERROR(byoc_plugin_registry_create(&plugins, allocator, diag, &pipeline->registry));
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(pipeline->registry);
  BYOC_RETURN_IF_ERROR(byoc_target_list_parse(&targets, 1, &kinds, allocator, diag, &pipeline->targets));
  const byoc_build_options_t options = {.targets = &pipeline->targets};
  byoc_build_init(&pipeline->build, &options, allocator);
  return BYOC_OK;
}

byoc_status_t pipeline_open(pipeline_t *pipeline, const void *model, size_t size_bytes, const char *targets,
                            byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(begin(pipeline, targets, diag));
  BYOC_RETURN_IF_ERROR(byoc_build_read_memory(&pipeline->build, model, size_bytes, "random.onnx", NULL, diag));
  return byoc_build_compile(&pipeline->build, BYOC_BUILD_ALL, diag);
}

// "x.1:2"; false if the input has no dimension to cut.
static bool draw_axis(const byoc_value_t *input, byoc_test_random_t *random, char *out, size_t size) {
  const byoc_type_t *type = input->type;
  if (!byoc_type_is_tensor(type) || !byoc_type_is_static(type) || type->rank == 0) return false;
  const int32_t d = (int32_t)byoc_test_below(random, (uint64_t)type->rank);
  const int64_t extent = type->dims[d].constant;
  if (extent < 2) return false;
  int64_t parts = 2 + (int64_t)byoc_test_below(random, (uint64_t)extent - 1);
  while (extent % parts != 0) --parts;
  snprintf(out, size, "%s.%d:%lld", input->name, (int)d, (long long)parts);
  return parts > 1;
}

byoc_status_t pipeline_open_cut(pipeline_t *pipeline, const void *model, size_t size_bytes, const char *targets,
                                byoc_test_random_t *random, byoc_diag_t *diag, size_t *out_cuts) {
  char axis[128];
  *out_cuts = 0;
  BYOC_RETURN_IF_ERROR(begin(pipeline, targets, diag));
  BYOC_RETURN_IF_ERROR(byoc_build_read_memory(&pipeline->build, model, size_bytes, "random.onnx", NULL, diag));
  const byoc_block_t *body = byoc_graph_module_main(pipeline->build.module)->body;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    if (!draw_axis(body->parameters.data[i], random, axis, sizeof(axis))) continue;
    const byoc_pass_options_t options = {.stream_axis = axis};
    byoc_diag_t refusal = {0};
    byoc_status_t status =
        byoc_pass_run(byoc_pass_find("stream-axis"), pipeline->build.module, &options, &refusal, NULL);
    *out_cuts += status == BYOC_OK;
    if (status != BYOC_OK && status != BYOC_UNSUPPORTED) return byoc_diag_adopt(diag, &refusal);
  }
  return byoc_build_compile(&pipeline->build, BYOC_BUILD_ALL, diag);
}

byoc_status_t pipeline_open_file(pipeline_t *pipeline, const char *path, const char *targets, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(begin(pipeline, targets, diag));
  BYOC_RETURN_IF_ERROR(byoc_build_read(&pipeline->build, path, NULL, diag));
  return byoc_build_compile(&pipeline->build, BYOC_BUILD_ALL, diag);
}

void pipeline_close(pipeline_t *pipeline) {
  byoc_build_deinit(&pipeline->build);
  byoc_target_list_deinit(&pipeline->targets);
  byoc_plugin_registry_destroy(pipeline->registry);
}

// ---- memory ----

static void free_all(void **buffers, size_t count) {
  for (size_t i = 0; buffers != NULL && i < count; ++i) free(buffers[i]);
  free(buffers);
}

static void **allocate_all(byoc_host_buffer_t *const *buffers, size_t count) {
  void **memory = calloc(count + 1, sizeof(*memory));
  for (size_t i = 0; memory != NULL && i < count; ++i) {
    size_t size = (size_t)byoc_type_size_bytes(buffers[i]->type);
    memory[i] = calloc(1, size + 64);
    if (memory[i] != NULL) continue;
    free_all(memory, i);
    return NULL;
  }
  return memory;
}

byoc_status_t pipeline_buffers_init(const pipeline_t *pipeline, pipeline_buffers_t *buffers, byoc_diag_t *diag) {
  const byoc_host_program_t *program = pipeline->build.result.program;
  buffers->inputs = allocate_all(program->inputs.data, program->inputs.count);
  buffers->outputs = allocate_all(program->outputs.data, program->outputs.count);
  if (buffers->inputs != NULL && buffers->outputs != NULL) return BYOC_OK;
  pipeline_buffers_deinit(pipeline, buffers);
  return byoc_diag_out_of_memory(diag);
}

void pipeline_buffers_deinit(const pipeline_t *pipeline, pipeline_buffers_t *buffers) {
  if (pipeline->build.result.program == NULL) return;
  free_all(buffers->inputs, pipeline->build.result.program->inputs.count);
  free_all(buffers->outputs, pipeline->build.result.program->outputs.count);
  *buffers = (pipeline_buffers_t){0};
}

// ---- the two executors ----

byoc_status_t pipeline_run_compiled(const pipeline_t *pipeline, const char *path, int32_t thread_count,
                                    const pipeline_buffers_t *buffers, byoc_diag_t *diag) {
  const byoc_compose_options_t compose = {.output = path, .model_name = "random"};
  BYOC_RETURN_IF_ERROR(byoc_build_compose(&pipeline->build, &compose, diag));
  byoc_loaded_artifact_t artifact;
  BYOC_RETURN_IF_ERROR(byoc_artifact_load(path, diag, &artifact));
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = thread_count};
  byoc_context_t *context = NULL;
  byoc_status_t status = artifact.table->create(&options, &context);
  // Runs twice: the second run must not see what the first one left behind.
  for (int i = 0; i < 2 && status == BYOC_OK; ++i) {
    status = artifact.table->run(context, (const void *const *)buffers->inputs, buffers->outputs);
  }
  if (status != BYOC_OK) status = byoc_diag_error(diag, status, "%s", artifact.table->last_error(context));
  artifact.table->destroy(context);
  byoc_artifact_unload(&artifact);
  return status;
}

byoc_status_t pipeline_run_evaluated(const pipeline_t *pipeline, const pipeline_buffers_t *buffers, byoc_diag_t *diag) {
  byoc_build_evaluation_t evaluation;
  byoc_status_t status = byoc_build_evaluate(&pipeline->build, 1, diag, &evaluation);
  for (int i = 0; i < 2 && status == BYOC_OK; ++i) {
    status = byoc_evaluator_run(evaluation.evaluator, (const void *const *)buffers->inputs, buffers->outputs, diag);
  }
  byoc_build_evaluation_end(&evaluation);
  return status;
}

// ---- shapes that are known at run time ----

enum { ROUNDS = 2 }; // the second one must not see what the first one left behind

static byoc_argument_t *new_outputs(const pipeline_call_t *call) {
  return calloc(call->output_count + 1, sizeof(byoc_argument_t));
}

static byoc_status_t call_table(const byoc_artifact_t *table, int32_t thread_count, const pipeline_call_t *calls,
                                size_t call_count, byoc_diag_t *diag) {
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = thread_count};
  byoc_context_t *context = NULL;
  byoc_argument_t *outputs = new_outputs(&calls[0]);
  if (outputs == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = table->create(&options, &context);
  for (size_t i = 0; i < ROUNDS * call_count && status == BYOC_OK; ++i) {
    const pipeline_call_t *call = &calls[i % call_count];
    status = table->run_arguments(context, call->inputs, outputs);
    if (status == BYOC_OK && i >= (ROUNDS - 1) * call_count) call->look(call->self, outputs);
  }
  if (status != BYOC_OK) status = byoc_diag_error(diag, status, "%s", table->last_error(context));
  table->destroy(context);
  free(outputs);
  return status;
}

byoc_status_t pipeline_call_compiled(const pipeline_t *pipeline, const char *path, int32_t thread_count,
                                     const pipeline_call_t *calls, size_t call_count, byoc_diag_t *diag) {
  const byoc_compose_options_t compose = {.output = path, .model_name = "random"};
  BYOC_RETURN_IF_ERROR(byoc_build_compose(&pipeline->build, &compose, diag));
  byoc_loaded_artifact_t artifact;
  BYOC_RETURN_IF_ERROR(byoc_artifact_load(path, diag, &artifact));
  byoc_status_t status = call_table(artifact.table, thread_count, calls, call_count, diag);
  byoc_artifact_unload(&artifact);
  return status;
}

byoc_status_t pipeline_call_evaluated(const pipeline_t *pipeline, const pipeline_call_t *calls, size_t call_count,
                                      byoc_diag_t *diag) {
  byoc_build_evaluation_t evaluation;
  byoc_argument_t *outputs = new_outputs(&calls[0]);
  if (outputs == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_build_evaluate(&pipeline->build, 1, diag, &evaluation);
  for (size_t i = 0; i < call_count && status == BYOC_OK; ++i) {
    status = byoc_evaluator_run_arguments(evaluation.evaluator, calls[i].inputs, outputs, diag);
    if (status == BYOC_OK) calls[i].look(calls[i].self, outputs);
  }
  byoc_build_evaluation_end(&evaluation);
  free(outputs);
  return status;
}

// Warnings that tell of two things of one name are errors here, as they are where byoc compiles (BYOC_CHECK_C).
static byoc_status_t make_library(const char *folder, byoc_diag_t *diag) {
  static const char command[] =
      "make -s -j2 CC=cc CFLAGS='-O1 -fPIC -Wshadow -Wtautological-compare -Werror "
      "-Wno-stringop-overflow -Wno-stringop-overread' && cc -shared -Wl,--whole-archive librandom.a "
      "-Wl,--no-whole-archive -lm -o random.so";
  const char *const words[] = {"sh", "-c", command, NULL};
  const byoc_process_options_t options = {.directory = folder};
  byoc_string_t output;
  byoc_string_init(&output, byoc_allocator_system());
  byoc_process_result_t result;
  byoc_status_t status = byoc_process_run(words, &options, &output, diag, &result);
  if (status == BYOC_OK && (result.exit_code != 0 || result.signal != 0)) {
    status = byoc_diag_error(diag, BYOC_TOOL, "%s", output.data);
  }
  byoc_string_deinit(&output);
  return status;
}

byoc_status_t pipeline_call_source(const pipeline_t *pipeline, const char *path, const pipeline_call_t *calls,
                                   size_t call_count, byoc_diag_t *diag) {
  const byoc_compose_options_t compose = {.output = path, .model_name = "random", .keep_header = true};
  BYOC_RETURN_IF_ERROR(byoc_build_compose(&pipeline->build, &compose, diag));
  BYOC_RETURN_IF_ERROR(make_library(path, diag));
  char file[600];
  snprintf(file, sizeof(file), "%s/random.so", path);
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return byoc_diag_error(diag, BYOC_TOOL, "%s", dlerror());
  byoc_artifact_entry_t entry = NULL;
  void *symbol = dlsym(library, "random_artifact_entry");
  memcpy(&entry, &symbol, sizeof(entry)); // C has no cast from an object's address to a function's
  byoc_status_t status = entry != NULL ? call_table(entry(BYOC_ARTIFACT_ABI), 1, calls, call_count, diag)
                                       : byoc_diag_error(diag, BYOC_TOOL, "%s has no entry", file);
  (void)dlclose(library);
  return status;
}
