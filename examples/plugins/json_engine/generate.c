// SPDX-License-Identifier: Apache-2.0
// Each function becomes a JSON text with its constants; the engine travels once.
#include "generate.h"

#include <stdlib.h>
#include <string.h>

#include "deploy.h"
#include "translate.h"

extern const byoc_engine_t xnnpack_engine;

// The archive that artifacts link to; byoc_add_engine embeds it.
extern const unsigned char xnnpack_engine_archive[], xnnpack_engine_archive_end[];

// Values of the function's parameters and results.
typedef struct boundary_t {
  int32_t *inputs, *outputs;
  uint32_t input_count, output_count;
} boundary_t;

static const char *translate_nodes(const byoc_graph_api_t *graph, const byoc_function_t *function,
                                   xnnpack_draft_t *draft) {
  int computes = 0;
  for (uint64_t i = 0; i < graph->node_count(function); ++i) {
    const xnnpack_source_t source = {graph, graph->node_at(function, i), draft};
    const char *reason = xnnpack_translate(&source);
    if (reason != NULL) return reason;
    if (!graph->node_has_trait(source.node, "moves")) computes = 1;
  }
  return computes ? NULL : "it only moves elements, which costs less where they are used";
}

static const char *translate_inputs(const byoc_graph_api_t *graph, const byoc_function_t *function,
                                    xnnpack_draft_t *draft, boundary_t *boundary) {
  for (uint32_t i = 0; i < boundary->input_count; ++i) {
    const byoc_value_t *parameter = graph->parameter(function, i);
    if (graph->value_dtype(parameter) != BYOC_DTYPE_F32) return "a parameter that is not f32";
    boundary->inputs[i] = xnnpack_draft_value(draft, parameter);
  }
  return NULL;
}

// An output of XNNPACK is a value that nothing else is: an input or an earlier output is copied.
static const char *translate_outputs(const byoc_graph_api_t *graph, const byoc_function_t *function,
                                     xnnpack_draft_t *draft, boundary_t *boundary) {
  for (uint32_t i = 0; i < boundary->output_count; ++i) {
    const byoc_value_t *result = graph->result(function, i);
    byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
    if (graph->value_constant(result, &data)) return "a result that is a constant";
    int32_t value = xnnpack_draft_value(draft, result), is_taken = graph->value_producer(result) == NULL;
    for (uint32_t k = 0; k < i; ++k) is_taken |= boundary->outputs[k] == value;
    if (is_taken) {
      const xnnpack_shape_t shape = xnnpack_shape_of(graph, result);
      const int32_t copy = xnnpack_draft_temporary(draft, &shape);
      xnnpack_draft_node(draft, "reshape", &value, 1, copy);
      value = copy;
    }
    boundary->outputs[i] = value;
  }
  return NULL;
}

static int32_t add_json(const byoc_host_t *host, byoc_codegen_t *codegen, byoc_function_t *function,
                        const xnnpack_draft_t *draft, const char *json) {
  byoc_tensor_data_t *constants = calloc((size_t)draft->constant_count + 1, sizeof(*constants));
  if (constants == NULL) return host->codegen->error(codegen, BYOC_OUT_OF_MEMORY, "out of memory");
  for (uint32_t i = 0; i < draft->constant_count; ++i) {
    const xnnpack_constant_t *constant = &draft->constants[i];
    constants[i] = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                        .dtype = BYOC_DTYPE_F32,
                                        .rank = 1,
                                        .dims = &constant->count,
                                        .data = constant->data,
                                        .size_bytes = (uint64_t)constant->count * sizeof(float)};
  }
  const byoc_json_module_t module = {.header = BYOC_HEADER(byoc_json_module_t, 1),
                                     .engine = xnnpack_engine.name,
                                     .json = json,
                                     .constants = constants,
                                     .constant_count = (uint32_t)draft->constant_count,
                                     .constant_stride = sizeof(constants[0])};
  const int32_t status = host->codegen->add_json(codegen, function, &module);
  free(constants);
  return status;
}

// What people can look at: byoc inspect --report graph.
static int32_t report_graph(const byoc_host_t *host, byoc_codegen_t *codegen, const byoc_function_t *function,
                            const char *json) {
  enum { MOST_BYTES = 1 << 20 };
  const byoc_report_t report = {.header = BYOC_HEADER(byoc_report_t, 1),
                                .name = "graph",
                                .kind = BYOC_REPORT_JSON,
                                .content = json,
                                .size_bytes = strlen(json)};
  if (host->abi_minor < 5 || report.size_bytes > MOST_BYTES) return BYOC_OK;
  return host->codegen->add_report(codegen, function, &report);
}

// Answers one function: with a JSON text, or by declining it.
static int32_t answer(const byoc_host_t *host, byoc_codegen_t *codegen, byoc_function_t *function, int *out_is_taken) {
  const byoc_graph_api_t *graph = host->graph;
  boundary_t boundary = {.input_count = (uint32_t)graph->parameter_count(function),
                         .output_count = (uint32_t)graph->result_count(function)};
  int32_t status = BYOC_OK;
  char *json = NULL;
  xnnpack_draft_t draft;
  xnnpack_draft_init(graph, &draft);
  boundary.inputs = calloc((size_t)boundary.input_count + 1, sizeof(int32_t));
  boundary.outputs = calloc((size_t)boundary.output_count + 1, sizeof(int32_t));
  if (boundary.inputs != NULL && boundary.outputs != NULL) {
    const char *reason = translate_inputs(graph, function, &draft, &boundary);
    if (reason == NULL) reason = translate_nodes(graph, function, &draft);
    if (reason == NULL) reason = translate_outputs(graph, function, &draft, &boundary);
    if (reason != NULL) {
      status = host->codegen->decline(codegen, function, reason);
      goto cleanup;
    }
    json = xnnpack_draft_emit(&draft, boundary.inputs, boundary.input_count, boundary.outputs, boundary.output_count);
  }
  status = json == NULL ? host->codegen->error(codegen, BYOC_OUT_OF_MEMORY, "out of memory")
                        : add_json(host, codegen, function, &draft, json);
  if (status == BYOC_OK) status = report_graph(host, codegen, function, json);
  *out_is_taken = status == BYOC_OK;
cleanup:
  free(json);
  free(boundary.inputs);
  free(boundary.outputs);
  xnnpack_draft_deinit(&draft);
  return status;
}

// The libraries here are for this machine. Other machines have their own, which the engine finds there.
static int is_for_this_machine(const byoc_host_t *host, byoc_codegen_t *codegen) {
  if (host->abi_minor < 5) return 1;
  return host->codegen->triple(codegen) == NULL && !host->codegen->wants_source(codegen);
}

static int32_t add_engine(const byoc_host_t *host, byoc_codegen_t *codegen) {
  static const char *const needed[XNNPACK_LIBRARY_COUNT] = XNNPACK_LIBRARIES;
  const byoc_file_content_t archive = {.header = BYOC_HEADER(byoc_file_content_t, 1),
                                       .name = "libxnnpack_engine.a",
                                       .data = xnnpack_engine_archive,
                                       .size_bytes = (uint64_t)(xnnpack_engine_archive_end - xnnpack_engine_archive)};
  byoc_engine_module_t module = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                 .name = xnnpack_engine.name,
                                 .symbol = "xnnpack_engine",
                                 .files = &archive,
                                 .file_count = 1,
                                 .file_stride = sizeof(archive),
                                 .in_process = &xnnpack_engine};
  xnnpack_libraries_t libraries;
  char message[512];
  if (strcmp(host->target->option_string(host->codegen->target(codegen), "deploy"), "system") == 0) {
    module.needed = (byoc_text_list_t){&needed[XNNPACK_LIBRARY_COUNT - 1], 1}; // it needs the others
  } else if (is_for_this_machine(host, codegen)) {
    const int32_t status = xnnpack_find_libraries(&libraries, message, sizeof(message));
    if (status != BYOC_OK) return host->codegen->error(codegen, status, message);
    module.blobs = libraries.files;
    module.blob_count = XNNPACK_LIBRARY_COUNT;
    module.blob_stride = sizeof(libraries.files[0]);
  }
  return host->codegen->add_engine(codegen, &module);
}

int32_t xnnpack_generate(const byoc_host_t *host, byoc_codegen_t *codegen) {
  int any_is_taken = 0;
  for (uint64_t i = 0; i < host->codegen->function_count(codegen); ++i) {
    int is_taken = 0;
    const int32_t status = answer(host, codegen, host->codegen->function_at(codegen, i), &is_taken);
    if (status != BYOC_OK) return status;
    any_is_taken |= is_taken;
  }
  return any_is_taken ? add_engine(host, codegen) : BYOC_OK;
}
