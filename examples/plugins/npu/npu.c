// SPDX-License-Identifier: Apache-2.0
// npu.c - the plugin of an invented NPU for integers of 8 bits: what it takes, what it costs, and the command streams.
#include <byoc/engine.h>
#include <byoc/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"

BYOC_PLUGIN_IDENTITY_NEEDS("npu", "1.0", "npu", "An invented NPU for integers of 8 bits", 5);

extern BYOC_PACKED const byoc_engine_t npu_engine;
// The archive that artifacts link to; byoc_add_engine, or the Makefile, embeds it.
extern const unsigned char npu_engine_code_archive[], npu_engine_code_archive_end[];
// Its sources, for other machines and for artifacts that are C source.
extern const byoc_runtime_code_t npu_engine_code_code[1];

static const byoc_host_t *host; // lives until the plugin is unloaded

static int64_t memory_bytes(const byoc_target_t *target) {
  return 1024 * host->target->option_int(target, "memory_kib");
}
static int64_t clock_mhz(const byoc_target_t *target) {
  return host->target->option_int(target, "clock_mhz");
}

// ---- what it takes ----

static int32_t accept(void *self, byoc_region_t *region) {
  npu_layer_t layer;
  const char *reason = npu_layer_read(host->graph, host->region->node_at(region, 0), &layer);
  (void)self;
  return reason == NULL ? 1 : host->region->decline(region, reason);
}

// The compiler for a function, whose parameters and results are its borders.
static int compile_function(const byoc_function_t *function, const byoc_target_t *target, npu_program_t *program) {
  const byoc_graph_api_t *graph = host->graph;
  const uint64_t nodes = graph->node_count(function), inputs = graph->parameter_count(function);
  const uint64_t results = graph->result_count(function);
  byoc_node_t **node = calloc(nodes + 1, sizeof(*node));
  const byoc_value_t **value = calloc(inputs + results + 1, sizeof(*value));
  *program = (npu_program_t){.reason = "out of memory"};
  int ok = node != NULL && value != NULL;
  for (uint64_t i = 0; i < nodes && ok; ++i) node[i] = graph->node_at(function, i);
  for (uint64_t i = 0; i < inputs && ok; ++i) value[i] = graph->parameter(function, i);
  for (uint64_t i = 0; i < results && ok; ++i) value[inputs + i] = graph->result(function, i);
  if (ok) {
    ok = npu_compile(graph, node, nodes, value, inputs, value + inputs, results, memory_bytes(target),
                     clock_mhz(target), program);
  }
  free(node);
  free((void *)value);
  return ok;
}

// ---- claims: chains whose values fit into the chip's memory ----

static int is_listed(const byoc_node_t *node, byoc_node_t *const *nodes, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (nodes[i] == node) return 1;
  }
  return 0;
}

// Is the value of such nodes read elsewhere?
static int leaves(const byoc_value_t *value, byoc_node_t *const *nodes, uint64_t count) {
  for (uint64_t u = 0; u < host->graph->value_use_count(value); ++u) {
    if (!is_listed(host->graph->value_user(value, u), nodes, count)) return 1;
  }
  return 0;
}

// Do the nodes make one program? Their inputs and results follow from them.
static int is_program(byoc_node_t *const *nodes, uint64_t count, const byoc_target_t *target) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_value_t *inputs[NPU_MOST_PORTS], *results[NPU_MOST_PORTS];
  uint64_t input_count = 0, result_count = 0;
  for (uint64_t i = 0; i < count; ++i) {
    npu_layer_t layer;
    if (npu_layer_read(graph, nodes[i], &layer) != NULL) return 0;
    for (int32_t k = 0; k < layer.input_count; ++k) {
      int known = is_listed(graph->value_producer(layer.inputs[k]), nodes, count);
      for (uint64_t j = 0; j < input_count; ++j) known |= inputs[j] == layer.inputs[k];
      if (!known && input_count == NPU_MOST_PORTS) return 0;
      if (!known) inputs[input_count++] = layer.inputs[k];
    }
    if (!leaves(layer.result, nodes, count)) continue;
    if (result_count == NPU_MOST_PORTS) return 0;
    results[result_count++] = layer.result;
  }
  npu_program_t program;
  const int ok = npu_compile(graph, nodes, count, inputs, input_count, results, result_count, memory_bytes(target),
                             clock_mhz(target), &program);
  npu_program_free(&program);
  return ok;
}

// Layers one after the other, as long as all of them fit: neighbours of the order, so that no path leaves a claim and
// comes back.
static int32_t partition(void *self, const byoc_partition_query_t *query) {
  uint64_t begin = 0, count = 0;
  int32_t status = BYOC_OK;
  (void)self;
  for (uint64_t i = 0; i <= query->node_count && status == BYOC_OK; ++i) {
    npu_layer_t layer;
    byoc_node_t *node = i < query->node_count ? query->nodes[i] : NULL;
    const int is_layer =
        node != NULL && query->may_take(query, node) && npu_layer_read(host->graph, node, &layer) == NULL;
    if (is_layer && is_program(&query->nodes[begin], count + 1, query->target)) {
      ++count;
      continue;
    }
    if (count > 1) status = query->claim(query, "npu.chain", 0, &query->nodes[begin], count);
    begin = is_layer ? i : i + 1;
    count = is_layer && is_program(&query->nodes[i], 1, query->target) ? 1 : 0;
    if (count == 0) begin = i + 1;
  }
  return status;
}

// ---- what it costs: the chip is not in the machine that builds ----

static int32_t state_costs(void *self, const byoc_cost_query_t *query) {
  const double mhz = (double)clock_mhz(query->target);
  int32_t status = BYOC_OK;
  (void)self;
  for (uint32_t i = 0; i < query->function_count && status == BYOC_OK; ++i) {
    npu_program_t program;
    if (compile_function(query->functions[i], query->target, &program)) {
      const byoc_stated_cost_t cost = {.header = BYOC_HEADER(byoc_stated_cost_t, 1),
                                       .stated = BYOC_STATED_TIME | BYOC_STATED_MOVED_BYTES,
                                       .time_ns = 1000 * (double)program.cycles / mhz,
                                       .moved_bytes = (double)program.record_bytes};
      status = query->state(query, i, &cost);
    } else {
      status = query->decline(query, i, program.reason);
    }
    npu_program_free(&program);
  }
  return status;
}

// Each tensor that enters or leaves is copied at 4 GB/s, which takes a microsecond to start.
static int32_t state_target_costs(void *self, const byoc_target_t *target, byoc_target_costs_t *out_costs) {
  (void)self, (void)target;
  out_costs->stated = BYOC_STATED_BOUNDARY;
  out_costs->enter_ns = out_costs->leave_ns = 1000;
  out_costs->enter_ns_per_byte = out_costs->leave_ns_per_byte = 0.25;
  return BYOC_OK;
}

// ---- what it makes ----

static byoc_tensor_data_t bytes_of(const void *data, const int64_t *count) {
  return (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                              .dtype = BYOC_DTYPE_U8,
                              .rank = 1,
                              .dims = count,
                              .data = data,
                              .size_bytes = (uint64_t)*count};
}

// The commands, for `byoc inspect --report commands` and for pages.
static int32_t add_report(byoc_codegen_t *codegen, const byoc_function_t *function, const npu_program_t *program) {
  const npu_stream_t *stream = program->stream;
  const size_t line_bytes = 64, most = 64 + line_bytes * (size_t)stream->command_count;
  char *text = malloc(most);
  if (text == NULL) return host->codegen->error(codegen, BYOC_OUT_OF_MEMORY, "out of memory");
  int size =
      snprintf(text, most, "%d bytes of memory, %lld cycles\n", (int)stream->memory_bytes, (long long)program->cycles);
  for (int32_t c = 0; c < stream->command_count; ++c) {
    const npu_command_t *command = &stream->commands[c];
    size += snprintf(text + size, most - (size_t)size, "%-8s at %8d: %10lld cycles\n", npu_name(command->operation),
                     (int)command->result, (long long)npu_cycles(command));
  }
  const byoc_report_t report = {.header = BYOC_HEADER(byoc_report_t, 1),
                                .name = "commands",
                                .kind = BYOC_REPORT_TEXT,
                                .content = text,
                                .size_bytes = (uint64_t)size};
  const int32_t status = host->codegen->add_report(codegen, function, &report);
  free(text);
  return status;
}

static int32_t answer(byoc_codegen_t *codegen, byoc_function_t *function) {
  static const int64_t none = 0;
  npu_program_t program;
  int32_t status;
  if (compile_function(function, host->codegen->target(codegen), &program)) {
    const byoc_tensor_data_t constants[] = {
        bytes_of(program.stream, &program.stream_bytes),
        bytes_of(program.records, program.records != NULL ? &program.record_bytes : &none)};
    const byoc_json_module_t module = {.header = BYOC_HEADER(byoc_json_module_t, 1),
                                       .engine = npu_engine.name,
                                       .json = "{}", // the stream says everything
                                       .constants = constants,
                                       .constant_count = 2,
                                       .constant_stride = sizeof(constants[0]),
                                       .fits = NPU_FITS};
    status = host->codegen->add_json(codegen, function, &module);
    if (status == BYOC_OK) status = add_report(codegen, function, &program);
  } else {
    status = host->codegen->decline(codegen, function, program.reason);
  }
  npu_program_free(&program);
  return status;
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  const byoc_file_content_t archive = {.header = BYOC_HEADER(byoc_file_content_t, 1),
                                       .name = "libnpu_engine_code.a",
                                       .data = npu_engine_code_archive,
                                       .size_bytes = (uint64_t)(npu_engine_code_archive_end - npu_engine_code_archive)};
  const byoc_engine_module_t engine = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                       .name = npu_engine.name,
                                       .symbol = "npu_engine",
                                       .files = &archive,
                                       .file_count = 1,
                                       .file_stride = sizeof(archive),
                                       .in_process = &npu_engine};
  int32_t status = host->codegen->add_engine(codegen, &engine);
  (void)self;
  for (uint64_t i = 0; i < host->codegen->function_count(codegen) && status == BYOC_OK; ++i) {
    status = answer(codegen, host->codegen->function_at(codegen, i));
  }
  return status;
}

// ---- the plugin ----

static const char *const operators[] = {NPU_OPERATORS};
static const byoc_rule_t rules[] = {{.header = BYOC_HEADER(byoc_rule_t, 1),
                                     .name = "npu.layer",
                                     .operators = {operators, sizeof(operators) / sizeof(operators[0])},
                                     .accept = accept}};
static const byoc_option_t options[] = {{.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "clock_mhz",
                                         .type = BYOC_OPTION_INT,
                                         .default_value = "800",
                                         .minimum = 1,
                                         .maximum = 10000,
                                         .help = "the chip's clock"},
                                        {.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "memory_kib",
                                         .type = BYOC_OPTION_INT,
                                         .default_value = "2048",
                                         .minimum = 1,
                                         .maximum = 1 << 20,
                                         .help = "the chip's memory for values"}};
static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "npu",
                                       .description = "An invented NPU for integers of 8 bits",
                                       .flags = BYOC_BACKEND_REENTRANT,
                                       .options = options,
                                       .option_count = sizeof(options) / sizeof(options[0]),
                                       .option_stride = sizeof(options[0]),
                                       .rules = rules,
                                       .rule_count = 1,
                                       .rule_stride = sizeof(rules[0]),
                                       .generate = generate,
                                       .state_costs = state_costs,
                                       .state_target_costs = state_target_costs,
                                       .partition = partition,
                                       .runtime_code = npu_engine_code_code,
                                       .runtime_code_count = 1,
                                       .runtime_code_stride = sizeof(npu_engine_code_code[0])};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host, out_plugin->backends = backends, out_plugin->backend_count = 1;
  return BYOC_OK;
}
