// SPDX-License-Identifier: Apache-2.0
// The code generator of the dnnl target.
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocked.h"
#include "deploy.h"
#include "draft.h"
#include "engine/library/library.h"
#include "pack.h"
#include "translate.h"

extern const byoc_engine_t byoc_engine_dnnl;

// The archives that artifacts link to (byoc_embed in CMakeLists.txt).
extern const unsigned char byoc_embed_dnnl_engine[];
extern const unsigned long long byoc_embed_dnnl_engine_size;
extern const unsigned char byoc_embed_dnnl_jansson[];
extern const unsigned long long byoc_embed_dnnl_jansson_size;

// The draft's values of the function's parameters and results.
typedef struct boundary_t {
  int32_t *inputs, *outputs;
  uint32_t input_count, output_count;
} boundary_t;

// Changes of layout fill blocks up with zeros, but still count as data movement.
static int moves_elements_only(const byoc_graph_api_t *graph, const byoc_node_t *node) {
  return graph->node_has_trait(node, "moves") || graph->node_has_trait(node, "injective");
}

// Translates every node. Returns NULL, or why the function is declined.
static const char *draft_nodes(const byoc_graph_api_t *graph, const byoc_function_t *function,
                               byoc_dnnl_draft_t *draft) {
  int computes = 0;
  const uint64_t count = graph->node_count(function);
  if (strcmp(graph->function_string(function, BYOC_ATTRIBUTE_COMPOSITE, ""), BYOC_DNNL_RECURRENT_RULE) == 0) {
    byoc_dnnl_source_t source = {graph, graph->node_at(function, count - 1), &draft->sizes};
    return byoc_dnnl_translate_recurrent(&source, draft);
  }
  for (uint64_t i = 0; i < count; ++i) {
    byoc_dnnl_source_t source = {graph, graph->node_at(function, i), &draft->sizes};
    if (graph->node_callee(source.node) != NULL) return "it calls another function";
    const char *reason = byoc_dnnl_translate(&source, draft);
    if (reason != NULL) return reason;
    if (!moves_elements_only(graph, source.node)) computes = 1;
  }
  return computes ? NULL : "it only moves elements, which costs less where they are used";
}

// Returns NULL, or why the function is declined; so does the next function.
static const char *draft_boundary(const byoc_graph_api_t *graph, const byoc_function_t *function,
                                  byoc_dnnl_draft_t *draft, boundary_t *boundary) {
  boundary->input_count = (uint32_t)graph->parameter_count(function);
  boundary->output_count = (uint32_t)graph->result_count(function);
  boundary->inputs = calloc((size_t)boundary->input_count + 1, sizeof(int32_t));
  boundary->outputs = calloc((size_t)boundary->output_count + 1, sizeof(int32_t));
  if (boundary->inputs == NULL || boundary->outputs == NULL) {
    draft->failed = 1;
    return NULL;
  }
  const char *reason = NULL;
  for (uint32_t i = 0; reason == NULL && i < boundary->input_count; ++i) {
    const byoc_value_t *parameter = graph->parameter(function, i);
    boundary->inputs[i] = byoc_dnnl_draft_value(draft, parameter);
    reason = byoc_dnnl_draft_blocked_input(draft, parameter, boundary->inputs[i]);
  }
  return reason;
}

static const char *draft_outputs(const byoc_graph_api_t *graph, const byoc_function_t *function,
                                 byoc_dnnl_draft_t *draft, boundary_t *boundary) {
  for (uint32_t i = 0; !draft->failed && i < boundary->output_count; ++i) {
    int32_t value = byoc_dnnl_draft_value(draft, graph->result(function, i));
    const char *reason = byoc_dnnl_draft_blocked_output(draft, graph->result(function, i), value);
    if (reason != NULL) return reason;
    // A value may be an output once; further ones are copies of it.
    for (uint32_t j = 0; j < i && value >= 0; ++j) {
      if (boundary->outputs[j] != value) continue;
      if (draft->values[value].layout != NULL) return "an output that is needed in two layouts";
      byoc_dnnl_shape_t shape = draft->values[value].shape;
      value = byoc_dnnl_draft_reshape(draft, "copy", value, &shape);
    }
    boundary->outputs[i] = value;
  }
  return NULL;
}

static void mark_known(const byoc_dnnl_draft_t *draft, int32_t value, char *known) {
  const byoc_dnnl_shape_t *shape = &draft->values[value].shape;
  for (int32_t i = 0; i < shape->rank; ++i)
    if (shape->dims[i] < 0) known[-1 - shape->dims[i]] = 1;
}

// Whether dimension `axis` of a node's result follows from its operands: the conditions of infer_size in
// engine/graph/open_sizes.c.
static int can_infer(const byoc_dnnl_draft_t *draft, const byoc_dnnl_draft_node_t *node, int32_t axis) {
  const int32_t rank = draft->values[node->output].shape.rank;
  if (strcmp(node->op, "convolution") == 0 || strcmp(node->op, "pooling") == 0) return axis >= 2;
  if (strcmp(node->op, "concat") == 0) return json_integer_value(json_object_get(node->attributes, "axis")) == axis;
  if (strcmp(node->op, "slice") == 0) return draft->values[node->inputs[0]].shape.rank == rank;
  return strcmp(node->op, "reshape") == 0;
}

// Whether the engine can work out the sizes of a node's result from those known before.
static int has_known_sizes(const byoc_dnnl_draft_t *draft, const byoc_dnnl_draft_node_t *node, const char *known) {
  const byoc_dnnl_shape_t *shape = &draft->values[node->output].shape;
  int32_t unknown = 0;
  for (int32_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] >= 0 || known[-1 - shape->dims[i]]) continue;
    if (!can_infer(draft, node, i)) return 0;
    ++unknown;
  }
  return unknown <= 1 || strcmp(node->op, "reshape") != 0;
}

// The tensors of a call have most sizes; returns NULL if the others follow from them.
static const char *check_open_sizes(byoc_dnnl_draft_t *draft, const boundary_t *boundary) {
  if (draft->failed || draft->sizes.count == 0) return NULL;
  char *known = calloc(draft->sizes.count, 1);
  if (known == NULL) {
    draft->failed = 1;
    return NULL;
  }
  const char *reason = NULL;
  for (uint32_t i = 0; i < boundary->input_count; ++i) mark_known(draft, boundary->inputs[i], known);
  for (uint32_t i = 0; i < boundary->output_count; ++i) mark_known(draft, boundary->outputs[i], known);
  for (uint32_t i = 0; reason == NULL && i < draft->node_count; ++i) {
    if (draft->nodes[i].op == NULL) continue;
    if (!has_known_sizes(draft, &draft->nodes[i], known)) reason = "a dynamic size that no input or output has";
    mark_known(draft, draft->nodes[i].output, known);
  }
  free(known);
  return reason;
}

// Parameters are f32 tensors that the nodes read; the engine cannot take others (a shape that became a parameter).
static const char *check_parameters(const byoc_graph_api_t *graph, const byoc_function_t *function) {
  for (uint64_t i = 0; i < graph->parameter_count(function); ++i)
    if (graph->value_dtype(graph->parameter(function, i)) != BYOC_DTYPE_F32) return "a parameter that is not f32";
  return NULL;
}

static int32_t add_json(const byoc_host_t *host, byoc_codegen_t *codegen, byoc_function_t *function,
                        const byoc_dnnl_draft_t *draft, const char *json) {
  byoc_tensor_data_t *constants = calloc((size_t)draft->constant_count + 1, sizeof(*constants));
  int64_t *counts = calloc((size_t)draft->constant_count + 1, sizeof(*counts));
  int32_t status = BYOC_OUT_OF_MEMORY;
  if (constants == NULL || counts == NULL) {
    status = host->codegen->error(codegen, BYOC_OUT_OF_MEMORY, "out of memory");
    goto cleanup;
  }
  for (uint32_t i = 0; i < draft->constant_count; ++i) {
    counts[i] = (int64_t)(draft->constants[i].size_bytes / sizeof(float));
    constants[i] = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                        .dtype = BYOC_DTYPE_F32,
                                        .rank = 1,
                                        .dims = &counts[i],
                                        .data = draft->constants[i].data,
                                        .size_bytes = draft->constants[i].size_bytes};
  }
  byoc_json_module_t module = {.header = BYOC_HEADER(byoc_json_module_t, 1),
                               .engine = BYOC_DNNL_ENGINE_NAME,
                               .json = json,
                               .constants = constants,
                               .constant_count = draft->constant_count,
                               .constant_stride = sizeof(constants[0])};
  status = host->codegen->add_json(codegen, function, &module);
cleanup:
  free(counts);
  free(constants);
  return status;
}

// If memory runs out the build ends, because the artifact would differ from one that is built with enough memory.
static int32_t pack_constants(const byoc_host_t *host, byoc_codegen_t *codegen, const char *symbol,
                              byoc_dnnl_draft_t *draft, const boundary_t *boundary) {
  char line[768];
  byoc_dnnl_error_t error = {""};
  const int32_t status = byoc_dnnl_pack_constants(draft, symbol, boundary->inputs, boundary->input_count,
                                                  boundary->outputs, boundary->output_count, &error);
  if (status == BYOC_OUT_OF_MEMORY) {
    (void)snprintf(line, sizeof(line), "the constants of %s cannot be packed: %s; -pack=0 leaves them as they are",
                   symbol, error.text);
    return host->codegen->error(codegen, status, line);
  }
  if (status != BYOC_OK) {
    (void)snprintf(line, sizeof(line), "dnnl: %s keeps its constants unpacked: %s", symbol, error.text);
    host->codegen->log(codegen, line);
  }
  return BYOC_OK;
}

// Weights are packed, and libraries travel along, for this machine only. Another one has its own oneDNN.
static int is_for_this_machine(const byoc_host_t *host, byoc_codegen_t *codegen) {
  return host->abi_minor < 5 || host->codegen->triple(codegen) == NULL;
}

// Answers one function: with a JSON module, or by declining it.
static int32_t generate_function(const byoc_host_t *host, byoc_codegen_t *codegen, byoc_function_t *function,
                                 int *out_taken) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_target_t *target = host->codegen->target(codegen);
  const char *symbol = graph->function_symbol(function);
  byoc_dnnl_draft_t draft;
  boundary_t boundary = {NULL, NULL, 0, 0};
  char *json = NULL;
  uint64_t size = 0;
  int32_t status = BYOC_OK;
  byoc_dnnl_draft_init(graph, &draft);
  if (host->target->option_int(target, BYOC_DNNL_OPTION_WINOGRAD) != 0) draft.convolution_algorithm = "auto";
  draft.shape_limit = host->target->option_int(target, BYOC_DNNL_OPTION_SHAPES);

  const char *reason = check_parameters(graph, function);
  if (reason == NULL) {
    reason = draft_boundary(graph, function, &draft, &boundary);
    if (reason == NULL) reason = draft_nodes(graph, function, &draft);
    if (reason == NULL) reason = draft_outputs(graph, function, &draft, &boundary);
    if (reason == NULL) reason = check_open_sizes(&draft, &boundary);
  }
  if (reason != NULL && !draft.failed) {
    status = host->codegen->decline(codegen, function, reason);
    goto cleanup;
  }
  byoc_dnnl_draft_prune(&draft, boundary.outputs, boundary.output_count);
  const int packs = host->target->option_int(target, BYOC_DNNL_OPTION_PACK) != 0 && is_for_this_machine(host, codegen);
  if (!draft.failed && packs) {
    status = pack_constants(host, codegen, symbol, &draft, &boundary);
    if (status != BYOC_OK) goto cleanup;
  }
  json = byoc_dnnl_draft_emit(&draft, boundary.inputs, boundary.input_count, boundary.outputs, boundary.output_count,
                              &size);
  if (json == NULL) {
    status = host->codegen->error(codegen, BYOC_OUT_OF_MEMORY, "out of memory");
    goto cleanup;
  }
  status = add_json(host, codegen, function, &draft, json);
  *out_taken = status == BYOC_OK;
cleanup:
  free(json);
  free(boundary.inputs);
  free(boundary.outputs);
  byoc_dnnl_draft_deinit(&draft);
  return status;
}

static int32_t add_engine(const byoc_host_t *host, byoc_codegen_t *codegen, const byoc_dnnl_blobs_t *blobs,
                          const char *no_blobs_reason) {
  const byoc_target_t *target = host->codegen->target(codegen);
  byoc_file_content_t archives[] = {
      {.header = BYOC_HEADER(byoc_file_content_t, 1),
       .name = "libbyoc_dnnl_engine.a",
       .data = byoc_embed_dnnl_engine,
       .size_bytes = byoc_embed_dnnl_engine_size},
      {.header = BYOC_HEADER(byoc_file_content_t, 1),
       .name = "libjansson.a",
       .data = byoc_embed_dnnl_jansson,
       .size_bytes = byoc_embed_dnnl_jansson_size},
  };
  static const char *const needed[] = {BYOC_DNNL_SONAME};
  byoc_engine_module_t module = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                 .name = BYOC_DNNL_ENGINE_NAME,
                                 .symbol = "byoc_engine_dnnl",
                                 .files = archives,
                                 .file_count = sizeof(archives) / sizeof(archives[0]),
                                 .file_stride = sizeof(archives[0]),
                                 .in_process = &byoc_engine_dnnl};
  if (strcmp(host->target->option_string(target, BYOC_DNNL_OPTION_DEPLOY), "system") == 0) {
    module.needed = (byoc_text_list_t){needed, 1};
  } else if (is_for_this_machine(host, codegen)) {
    if (no_blobs_reason != NULL) return host->codegen->error(codegen, BYOC_NOT_FOUND, no_blobs_reason);
    module.blobs = blobs->files;
    module.blob_count = blobs->count;
    module.blob_stride = sizeof(blobs->files[0]);
  }
  return host->codegen->add_engine(codegen, &module);
}

int32_t byoc_dnnl_generate(const byoc_host_t *host, byoc_codegen_t *codegen) {
  uint64_t count = host->codegen->function_count(codegen);
  int any_taken = 0;
  // This comes first, because packing constants needs the library in this process.
  byoc_dnnl_blobs_t blobs;
  char message[512] = "";
  const char *reason = byoc_dnnl_collect_blobs(&blobs, message);
  for (uint64_t i = 0; i < count; ++i) {
    int taken = 0;
    int32_t status = generate_function(host, codegen, host->codegen->function_at(codegen, i), &taken);
    if (status != BYOC_OK) return status;
    any_taken |= taken;
  }
  return any_taken ? add_engine(host, codegen, &blobs, reason) : BYOC_OK;
}
