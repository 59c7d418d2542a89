// SPDX-License-Identifier: Apache-2.0
// abacus.c - a backend with an engine: sub-graphs of elementwise operators become command streams, which engine.c runs
// inside the artifact.
#include <byoc/engine.h>
#include <byoc/plugin.h>
#include <string.h>

#include "stream.h"

BYOC_PLUGIN_IDENTITY_NEEDS("abacus", "1.0", "abacus", "Elementwise operators as command streams", 5);

extern BYOC_PACKED const byoc_engine_t abacus_engine;
// The archive that artifacts link to; byoc_add_engine, or the Makefile, embeds it.
extern const unsigned char abacus_engine_code_archive[], abacus_engine_code_archive_end[];
// Its sources, for other machines and for artifacts that are C source.
extern const byoc_runtime_code_t abacus_engine_code_code[1];

static const byoc_host_t *host; // lives until the plugin is unloaded

// ---- what it takes ----

static const char *const operators[] = {"Add", "Sub", "Mul", "Max", "Relu"}; // in the order of ABACUS_ADD and so on

static int32_t operation_of(const byoc_node_t *node) {
  for (int32_t i = 0; i < ABACUS_OPERATION_COUNT; ++i) {
    if (strcmp(host->graph->node_operator(node), operators[i]) == 0) return i;
  }
  return -1;
}

// The host asks about one node at a time, and joins neighbours that were taken (BYOC_RULE_MERGE).
static int32_t accept(void *self, byoc_region_t *region) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_node_t *node = host->region->node_at(region, 0);
  const byoc_value_t *y = graph->node_result(node, 0);
  (void)self;
  if (graph->value_dtype(y) != BYOC_DTYPE_F32) return host->region->decline(region, "its elements are not f32");
  if (graph->value_element_count(y) < 0) return host->region->decline(region, "its shape is not static");
  if (graph->operand_count(node) > 2) return host->region->decline(region, "it has more than two operands");
  for (uint64_t i = 0; i < graph->operand_count(node); ++i) {
    const byoc_value_t *x = graph->operand(node, i);
    byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
    const int is_number = graph->value_constant(x, &data) && graph->value_element_count(x) == 1;
    if (!is_number && graph->value_element_count(x) != graph->value_element_count(y)) {
      return host->region->decline(region, "an operand is broadcast");
    }
  }
  return 1;
}

// ---- what it makes ----

typedef struct draft_t {
  abacus_stream_t stream;
  const byoc_value_t *values[ABACUS_MOST_VALUES];       // by number
  byoc_tensor_data_t constants[1 + ABACUS_MOST_VALUES]; // the stream, then those of the function
  int32_t count;
} draft_t;

static int32_t number_of(const draft_t *draft, const byoc_value_t *value) {
  for (int32_t i = 0; i < draft->count; ++i) {
    if (draft->values[i] == value) return i;
  }
  return -1;
}

static void add_constants(draft_t *draft, const byoc_node_t *node) {
  for (uint64_t i = 0; i < host->graph->operand_count(node); ++i) {
    const byoc_value_t *x = host->graph->operand(node, i);
    byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
    if (number_of(draft, x) >= 0 || !host->graph->value_constant(x, &data)) continue;
    draft->constants[1 + draft->stream.constant_count++] = data;
    draft->values[draft->count++] = x;
  }
}

static void add_step(draft_t *draft, const byoc_node_t *node) {
  const byoc_graph_api_t *graph = host->graph;
  const int32_t left = number_of(draft, graph->operand(node, 0));
  const int32_t right = graph->operand_count(node) > 1 ? number_of(draft, graph->operand(node, 1)) : left;
  draft->stream.steps[draft->stream.step_count++] = (abacus_step_t){operation_of(node), left, right};
  draft->values[draft->count++] = graph->node_result(node, 0);
}

static void write_stream(draft_t *draft, const byoc_function_t *function) {
  const byoc_graph_api_t *graph = host->graph;
  abacus_stream_t *stream = &draft->stream;
  stream->input_count = (int32_t)graph->parameter_count(function);
  stream->output_count = (int32_t)graph->result_count(function);
  stream->element_count = graph->value_element_count(graph->result(function, 0));
  for (int32_t i = 0; i < stream->input_count; ++i)
    draft->values[draft->count++] = graph->parameter(function, (uint64_t)i);
  for (uint64_t i = 0; i < graph->node_count(function); ++i) add_constants(draft, graph->node_at(function, i));
  for (uint64_t i = 0; i < graph->node_count(function); ++i) add_step(draft, graph->node_at(function, i));
  for (int32_t i = 0; i < stream->output_count; ++i)
    stream->outputs[i] = number_of(draft, graph->result(function, (uint64_t)i));
}

static int32_t answer(byoc_codegen_t *codegen, byoc_function_t *function) {
  draft_t draft = {.count = 0};
  // Each node adds its result and at most two constants.
  if (host->graph->parameter_count(function) + 3 * host->graph->node_count(function) > ABACUS_MOST_VALUES) {
    return host->codegen->decline(codegen, function, "it has more values than a stream");
  }
  write_stream(&draft, function);
  const int64_t size = sizeof(draft.stream);
  draft.constants[0] = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                            .dtype = BYOC_DTYPE_U8,
                                            .rank = 1,
                                            .dims = &size,
                                            .data = &draft.stream,
                                            .size_bytes = (uint64_t)size};
  const byoc_json_module_t module = {.header = BYOC_HEADER(byoc_json_module_t, 1),
                                     .engine = abacus_engine.name,
                                     .json = "{}", // the stream says everything
                                     .constants = draft.constants,
                                     .constant_count = 1 + (uint32_t)draft.stream.constant_count,
                                     .constant_stride = sizeof(draft.constants[0]),
                                     .fits = ABACUS_STREAM};
  return host->codegen->add_json(codegen, function, &module);
}

static int32_t add_engine(byoc_codegen_t *codegen) {
  const byoc_file_content_t archive = {.header = BYOC_HEADER(byoc_file_content_t, 1),
                                       .name = "libabacus_engine_code.a",
                                       .data = abacus_engine_code_archive,
                                       .size_bytes =
                                           (uint64_t)(abacus_engine_code_archive_end - abacus_engine_code_archive)};
  const byoc_engine_module_t module = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                       .name = abacus_engine.name,
                                       .symbol = "abacus_engine",
                                       .files = &archive,
                                       .file_count = 1,
                                       .file_stride = sizeof(archive),
                                       .in_process = &abacus_engine};
  return host->codegen->add_engine(codegen, &module);
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  int32_t status = add_engine(codegen);
  (void)self;
  for (uint64_t i = 0; i < host->codegen->function_count(codegen) && status == BYOC_OK; ++i) {
    status = answer(codegen, host->codegen->function_at(codegen, i));
  }
  return status;
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_rule_t rule = {.header = BYOC_HEADER(byoc_rule_t, 1),
                                   .name = "abacus.group",
                                   .operators = {operators, ABACUS_OPERATION_COUNT},
                                   .flags = BYOC_RULE_MERGE,
                                   .accept = accept};
  static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                         .target = "abacus",
                                         .description = "Elementwise operators as command streams",
                                         .rules = &rule,
                                         .rule_count = 1,
                                         .rule_stride = sizeof(rule),
                                         .generate = generate,
                                         .runtime_code = abacus_engine_code_code,
                                         .runtime_code_count = 1,
                                         .runtime_code_stride = sizeof(abacus_engine_code_code[0])};
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host, out_plugin->backends = backends, out_plugin->backend_count = 1;
  return BYOC_OK;
}
