// SPDX-License-Identifier: Apache-2.0
// The steps of quantising a model, in order.
#include "core/quantise/quantise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/string.h"
#include "core/op/op.h"
#include "core/quantise/prepare.h"
#include "core/quantise/quantise_internal.h"
#include "core/quantise/upgrade.h"

const byoc_graph_module_t *byoc_quantise_module(const byoc_quantise_t *quantise) {
  return quantise->setup.build.module;
}

const byoc_quantise_report_t *byoc_quantise_report(const byoc_quantise_t *quantise) {
  return &quantise->report;
}

// ---- opening ----

// Operators that a quantised model has.
static const char *const quantised[] = {"QuantizeLinear", "DequantizeLinear",      "QLinearConv", "QLinearMatMul",
                                        "MatMulInteger",  "ConvInteger",           "MatMulNBits", "QGemm",
                                        "QLinearAdd",     "DynamicQuantizeLinear", "QAttention"};

static byoc_status_t check_floats(const byoc_quantise_t *q, byoc_diag_t *diag) {
  const Onnx__GraphProto *graph = byoc_onnx_model_message(q->model)->graph;
  for (size_t n = 0; n < graph->n_node; n++) {
    for (size_t i = 0; i < sizeof(quantised) / sizeof(quantised[0]); i++) {
      if (strcmp(graph->node[n]->op_type, quantised[i]) != 0) continue;
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the model is quantised already: it has %s '%s'", quantised[i],
                      byoc_qnode_name(graph->node[n]));
      byoc_diag_hint(diag, "give the model of floats that it was made of");
      return BYOC_INVALID_ARGUMENT;
    }
  }
  return BYOC_OK;
}

// The steps rely on the order that ONNX asks for. The reader takes models without it, too.
static byoc_status_t check_order(const byoc_quantise_t *q, byoc_diag_t *diag) {
  byoc_qgraph_t graph;
  BYOC_RETURN_IF_ERROR(byoc_qgraph_open(&graph, q->model, q->setup.build.module, diag));
  byoc_status_t status = BYOC_OK;
  for (size_t n = 0; status == BYOC_OK && n < graph.message->n_node; n++) {
    const Onnx__NodeProto *node = graph.message->node[n];
    for (size_t i = 0; status == BYOC_OK && i < node->n_input; i++) {
      const byoc_qvalue_t *value = byoc_qgraph_operand(&graph, node, i);
      if (value == NULL || value->producer < (int32_t)n) continue;
      status = byoc_diag_error(diag, BYOC_INVALID_DATA, "%s '%s' stands in front of the node that makes its input '%s'",
                               node->op_type, byoc_qnode_name(node), value->name);
      byoc_diag_hint(diag, "nodes of an ONNX model are sorted by their inputs; export it again, or sort them");
    }
  }
  byoc_qgraph_close(&graph);
  return status;
}

static byoc_status_t open_model(byoc_quantise_t *q, const char *path, byoc_diag_t *diag) {
  static const char *const targets[] = {"c"};
  q->setup_options = (byoc_setup_options_t){.targets = targets,
                                            .target_count = 1,
                                            .plan = "greedy",
                                            .dims = q->options.dims,
                                            .dim_count = q->options.dim_count};
  BYOC_RETURN_IF_ERROR(byoc_setup_open(&q->setup, &q->setup_options, q->registry, byoc_allocator_system(), diag));
  BYOC_RETURN_IF_ERROR(byoc_setup_parse_targets(&q->setup, &q->setup_options, diag));
  BYOC_RETURN_IF_ERROR(byoc_setup_read_file(&q->setup, &q->setup_options, path, diag));
  if (q->setup.build.result.program != NULL || q->setup.build.module == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is not an ONNX model", path);
  }
  q->folder = byoc_path_directory(byoc_allocator_system(), path);
  if (q->folder == NULL) return byoc_diag_out_of_memory(diag);
  q->setup_options.data_folder = q->folder;
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_onnx_model_open(path, byoc_allocator_system(), diag, &q->model), "reading %s",
                          path);
  BYOC_RETURN_IF_ERROR(byoc_onnx_model_take_external(q->model, q->folder, q->setup.build.module, diag));
  BYOC_RETURN_IF_ERROR(check_floats(q, diag));
  return check_order(q, diag);
}

byoc_status_t byoc_quantise_open(const char *path, const byoc_quantise_options_t *options,
                                 byoc_plugin_registry_t *registry, byoc_diag_t *diag, byoc_quantise_t **out) {
  *out = NULL;
  byoc_quantise_t *q = byoc_allocate(byoc_allocator_system(), 1, sizeof(*q));
  if (q == NULL) return byoc_diag_out_of_memory(diag);
  q->path = path;
  q->registry = registry;
  q->options = *options;
  byoc_arena_init(&q->arena, byoc_allocator_system());
  byoc_string_map_init(&q->observers, byoc_allocator_system());
  byoc_string_map_init(&q->rounded, byoc_allocator_system());
  const byoc_status_t status = open_model(q, path, diag);
  if (status == BYOC_OK) {
    *out = q;
  } else {
    byoc_quantise_close(q);
  }
  return status;
}

void byoc_quantise_close(byoc_quantise_t *quantise) {
  if (quantise == NULL) return;
  byoc_qplan_close(&quantise->plan);
  byoc_qgraph_close(&quantise->graph);
  byoc_onnx_model_destroy(quantise->result);
  byoc_onnx_model_destroy(quantise->model);
  byoc_setup_close(&quantise->smoothed);
  byoc_setup_close(&quantise->setup);
  byoc_map_deinit(&quantise->observers);
  byoc_map_deinit(&quantise->rounded);
  byoc_free(byoc_allocator_system(), quantise->folder);
  byoc_arena_deinit(&quantise->arena);
  byoc_free(byoc_allocator_system(), quantise);
}

// ---- dimensions ----

// The value of a symbol in all samples; -1: they differ, or it is in none.
static int64_t common_value(const byoc_quantise_t *q, size_t input, int32_t axis) {
  int64_t value = -1;
  for (size_t s = 0; s < q->options.sample_count; s++) {
    const byoc_argument_t *argument = &q->options.samples[s][input];
    if (argument->kind != BYOC_ARGUMENT_TENSOR || (int32_t)argument->rank <= axis) return -1;
    if (s > 0 && argument->dims[axis] != value) return -1;
    value = argument->dims[axis];
  }
  return value;
}

static bool has_dim(const byoc_quantise_t *q, const char *name) {
  for (size_t i = 0; i < q->dim_count; i++) {
    if (strcmp(q->dims[i].name, name) == 0) return true;
  }
  return false;
}

// Models of known shapes run faster than others, so symbols with one value get it.
static byoc_status_t bind_dims(byoc_quantise_t *q, byoc_diag_t *diag) {
  const byoc_block_t *body = byoc_graph_module_main(q->setup.build.module)->body;
  const size_t most = q->options.dim_count + body->parameters.count * BYOC_MAX_RANK;
  q->dims = BYOC_ARENA_ARRAY(&q->arena, byoc_onnx_dim_binding_t, most + 1);
  if (q->dims == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < q->options.dim_count; i++) q->dims[q->dim_count++] = q->options.dims[i];
  for (size_t i = 0; i < body->parameters.count; i++) {
    const byoc_type_t *type = body->parameters.data[i]->type;
    for (int32_t d = 0; byoc_type_is_tensor(type) && d < type->rank; d++) {
      const byoc_dim_expr_t *expr = type->dims[d].expr;
      if (expr == NULL || expr->kind != BYOC_DIM_SYMBOL || has_dim(q, expr->symbol)) continue;
      const int64_t value = common_value(q, i, d);
      if (value >= 0) q->dims[q->dim_count++] = (byoc_onnx_dim_binding_t){expr->symbol, value};
    }
  }
  return BYOC_OK;
}

// The elements of a value in a run; symbols that have no value count as 64.
static double element_count(const byoc_quantise_t *q, const byoc_type_t *type) {
  double count = 1;
  for (int32_t d = 0; byoc_type_is_tensor(type) && d < type->rank; d++) {
    const byoc_dim_expr_t *expr = type->dims[d].expr;
    double size = expr == NULL ? (double)type->dims[d].constant : 64;
    for (size_t i = 0; expr != NULL && expr->kind == BYOC_DIM_SYMBOL && i < q->dim_count; i++) {
      if (strcmp(q->dims[i].name, expr->symbol) == 0) size = (double)q->dims[i].value;
    }
    count *= size;
  }
  return count;
}

// Is so little computed that interpreting it is faster than compiling it? Products have a term for each element of a
// filter or column; that is at most all elements of the second operand.
static bool is_small(const byoc_quantise_t *q) {
  const double most = 2e7; // multiplications that the evaluator does in about the time of a compilation
  double work = 0;
  const byoc_block_t *body = byoc_graph_module_main(q->setup.build.module)->body;
  BYOC_FOR_EACH_NODE(node, body) {
    if (node->block_count > 0 || node->callee != NULL) work += 1e6; // loops and functions: not looked into
    for (uint32_t i = 0; i < node->result_count; i++) work += element_count(q, node->results[i]->type);
    if (node->operand_count < 2 || node->operands[1] == NULL || node->result_count == 0) continue;
    const byoc_op_t *op = byoc_op_of(node);
    const double results = element_count(q, node->results[0]->type);
    const byoc_type_t *factor = node->operands[1]->type;
    if (op == NULL || op->work == BYOC_WORK_USUAL || op->work == BYOC_WORK_TRANSCENDENTAL) continue;
    const double columns = factor->rank > 0 && factor->dims[0].expr == NULL ? (double)factor->dims[0].constant : 64;
    const bool is_convolution = op->work == BYOC_WORK_CONVOLUTION;
    work += results * (is_convolution && columns > 0 ? element_count(q, factor) / columns : element_count(q, factor));
  }
  return work * (double)(q->options.sample_count > 0 ? q->options.sample_count : 1) < most;
}

// ---- steps ----

static int64_t needed_opset(const byoc_quantise_t *q) {
  const byoc_quantise_options_t *options = &q->options;
  switch (options->scheme) {
  case BYOC_QUANTISE_INT8:
    return byoc_dtype_bits(options->activations) == 16 ? 21 : 13; // QuantizeLinear of 16 bits; by channels
  case BYOC_QUANTISE_INT8_WEIGHTS:
  case BYOC_QUANTISE_INT4_WEIGHTS:
    return options->is_dequantise ? 21 : 7; // DequantizeLinear with blocks
  case BYOC_QUANTISE_BF16_WEIGHTS:
    return 13; // Cast of bf16
  default:
    return 7;
  }
}

static uint64_t constant_bytes(byoc_onnx_model_t *model) {
  const Onnx__GraphProto *graph = byoc_onnx_model_message(model)->graph;
  uint64_t bytes = 0;
  for (size_t i = 0; i < graph->n_initializer; i++) {
    const int64_t count = byoc_onnx_tensor_count(graph->initializer[i]);
    const uint64_t bits = byoc_dtype_bits(byoc_onnx_tensor_dtype(graph->initializer[i]));
    bytes += count > 0 ? ((uint64_t)count * bits + 7) / 8 : 0;
  }
  return bytes;
}

static byoc_status_t open_plan(byoc_quantise_t *q, const char *const *excluded, size_t excluded_count,
                               byoc_diag_t *diag) {
  const byoc_qlayer_options_t options = {
      .excluded = excluded, .excluded_count = excluded_count, .only_weights = byoc_quantise_is_of_groups(q)};
  byoc_qplan_close(&q->plan);
  byoc_qgraph_close(&q->graph);
  BYOC_RETURN_IF_ERROR(byoc_qgraph_open(&q->graph, q->model, byoc_quantise_current_module(q), diag));
  return byoc_qplan_open(&q->plan, &q->graph, &options, diag);
}

static size_t count_products(const byoc_quantise_t *q) {
  size_t count = 0;
  for (size_t l = 0; l < q->plan.layer_count; l++) count += q->plan.layers[l].is_product;
  return count;
}

static byoc_status_t nothing_to_do(const byoc_quantise_t *q, byoc_diag_t *diag) {
  if (byoc_quantise_is_of_halves(q)) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                    "the model has no constant of f32 from 1 KiB on that could be stored "
                    "in 16 bits");
  } else if (byoc_quantise_is_of_groups(q)) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                    "the model has nothing to quantise: no MatMul or Gemm of f32 by a "
                    "constant matrix");
  } else {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the model has nothing to quantise: no Conv, Gemm or MatMul of f32");
  }
  if (q->options.excluded_count > 0) byoc_diag_hint(diag, "--exclude may have left all of them out");
  return BYOC_INVALID_ARGUMENT;
}

static byoc_status_t choose_scales(byoc_quantise_t *q, byoc_diag_t *diag) {
  const byoc_map_t *params = &q->plan.params;
  for (size_t i = 0; i < params->count; i++) {
    byoc_qparams_t *one = params->entries[i].value;
    const byoc_observer_t *observer = byoc_string_map_get(&q->observers, one->value->name);
    if (observer == NULL) return byoc_diag_error(diag, BYOC_INTERNAL, "'%s' was not watched", one->value->name);
    one->range = byoc_observer_range(observer, &q->options.range);
  }
  for (size_t i = 0; i < params->count; i++) { // what shares a scale needs one for all
    byoc_qparams_t *one = params->entries[i].value, *root = byoc_qparams_root(one);
    root->range = byoc_range_union(root->range, one->range);
  }
  for (size_t i = 0; i < params->count; i++) {
    byoc_qparams_t *one = params->entries[i].value;
    one->scale = byoc_range_scale(one->range, q->form.activations, q->form.is_symmetric);
  }
  return BYOC_OK;
}

// Layers below the threshold go into `excluded`, which has room for all; the plan is made anew.
static byoc_status_t leave_out(byoc_quantise_t *q, byoc_diag_t *diag) {
  const size_t given = q->options.excluded_count;
  const char **excluded = BYOC_ARENA_ARRAY(&q->arena, const char *, given + q->report.layer_count + 1);
  const double least = q->options.least_db > 0         ? q->options.least_db
                       : byoc_quantise_is_of_groups(q) ? BYOC_QUANTISE_PROPOSED_GROUPS_DB
                                                       : BYOC_QUANTISE_PROPOSED_DB;
  size_t count = 0;
  if (excluded == NULL) return byoc_diag_out_of_memory(diag);
  for (; count < given; count++) excluded[count] = q->options.excluded[count];
  for (size_t i = 0; i < q->report.layer_count; i++) {
    byoc_quantise_layer_t *layer = &q->report.layers[i];
    const double db = isnan(layer->alone_db) ? layer->weights_db : layer->alone_db;
    layer->is_proposed = db < least;
    layer->is_left_out = layer->is_proposed && q->options.least_db > 0;
    if (layer->is_left_out) excluded[count++] = layer->result;
  }
  if (count == given) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(open_plan(q, excluded, count, diag));
  return choose_scales(q, diag);
}

static byoc_status_t write_layers(byoc_quantise_t *q, byoc_diag_t *diag) {
  byoc_qwriter_t writer;
  BYOC_RETURN_IF_ERROR(byoc_qwriter_open(&writer, &q->graph, &q->plan, &q->form, diag));
  const byoc_status_t status = byoc_qwriter_quantise(&writer);
  if (status == BYOC_OK) q->result = byoc_qwriter_release(&writer);
  byoc_qwriter_close(&writer);
  return status;
}

static size_t count_all_products(byoc_quantise_t *q, byoc_diag_t *diag) {
  const byoc_qlayer_options_t options = {.only_weights = byoc_quantise_is_of_groups(q)};
  byoc_qplan_t plan;
  size_t count = 0;
  if (byoc_qplan_open(&plan, &q->graph, &options, diag) != BYOC_OK) return 0;
  for (size_t l = 0; l < plan.layer_count; l++) count += plan.layers[l].is_product;
  byoc_qplan_close(&plan);
  return count;
}

static byoc_status_t quantise_layers(byoc_quantise_t *q, byoc_diag_t *diag) {
  const byoc_quantise_options_t *options = &q->options;
  BYOC_RETURN_IF_ERROR(byoc_qprepare(q->model, q->setup.build.module, diag));
  BYOC_RETURN_IF_ERROR(open_plan(q, options->excluded, options->excluded_count, diag));
  if (count_products(q) == 0) return nothing_to_do(q, diag);
  if (options->smoothing > 0) {
    BYOC_RETURN_IF_ERROR(byoc_quantise_smooth(q, diag));
    BYOC_RETURN_IF_ERROR(open_plan(q, options->excluded, options->excluded_count, diag));
  }
  if (byoc_quantise_is_of_groups(q)) {
    BYOC_RETURN_IF_ERROR(byoc_quantise_round(q, diag));
  } else {
    BYOC_RETURN_IF_ERROR(byoc_quantise_observe(q, diag));
    BYOC_RETURN_IF_ERROR(choose_scales(q, diag));
  }
  if (!options->no_report || options->least_db > 0) {
    BYOC_RETURN_IF_ERROR(byoc_quantise_compare_layers(q, diag));
    BYOC_RETURN_IF_ERROR(leave_out(q, diag));
  }
  q->report.product_count = count_products(q);
  if (q->report.product_count == 0) return nothing_to_do(q, diag);
  const size_t all = count_all_products(q, diag);
  q->report.float_count = all > q->report.product_count ? all - q->report.product_count : 0;
  return write_layers(q, diag);
}

static byoc_status_t store_halves(byoc_quantise_t *q, byoc_diag_t *diag) {
  const byoc_dtype_t dtype = q->options.scheme == BYOC_QUANTISE_F16_WEIGHTS ? BYOC_DTYPE_F16 : BYOC_DTYPE_BF16;
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_qgraph_open(&q->graph, q->model, byoc_quantise_current_module(q), diag));
  const byoc_qlayer_options_t names = {q->options.excluded, q->options.excluded_count, .only_weights = true};
  BYOC_RETURN_IF_ERROR(byoc_qplan_open(&q->plan, &q->graph, &names, diag)); // refuses names that are not known
  q->plan.layer_count = 0;
  BYOC_RETURN_IF_ERROR(byoc_onnx_model_fork(q->model, diag, &q->result));
  BYOC_RETURN_IF_ERROR(
      byoc_qstore_half(q->result, dtype, q->options.excluded, q->options.excluded_count, diag, &count));
  q->report.product_count = count;
  return count > 0 ? BYOC_OK : nothing_to_do(q, diag);
}

byoc_status_t byoc_quantise_run(byoc_quantise_t *q, const byoc_quantise_options_t *options, byoc_diag_t *diag) {
  q->options = *options;
  q->form = (byoc_qform_t){.activations = options->activations,
                           .is_symmetric = options->is_symmetric,
                           .per_tensor = options->per_tensor,
                           .group = options->group,
                           .is_dequantise = options->is_dequantise,
                           .rounded = &q->rounded};
  if (byoc_quantise_is_of_groups(q)) q->form.bits = options->scheme == BYOC_QUANTISE_INT4_WEIGHTS ? 4 : 8;
  int32_t least, most;
  byoc_integer_limits(options->activations, &least, &most);
  q->options.range.levels = most - least;
  const int64_t opset = byoc_onnx_model_opset(q->model, ""), needed = needed_opset(q);
  q->report.bytes_before = constant_bytes(q->model);
  BYOC_RETURN_IF_ERROR(byoc_onnx_upgrade(q->model, opset > needed ? opset : needed, diag));
  BYOC_RETURN_IF_ERROR(bind_dims(q, diag));
  q->is_small = is_small(q);
  BYOC_RETURN_IF_ERROR(byoc_quantise_is_of_halves(q) ? store_halves(q, diag) : quantise_layers(q, diag));
  if (!options->no_report) BYOC_RETURN_IF_ERROR(byoc_quantise_compare_result(q, diag));
  q->report.opset = byoc_onnx_model_opset(q->result, "");
  q->report.bytes_after = constant_bytes(q->result);
  return BYOC_OK;
}

// ---- writing ----

byoc_status_t byoc_quantise_write(byoc_quantise_t *q, const char *path, byoc_diag_t *diag) {
  const uint64_t most = UINT64_C(3) << 29; // a file of ONNX has at most 2 GiB
  if (constant_bytes(q->result) > most) {
    if (byoc_file_is_special(path)) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                             "the constants take more than 1.5 GiB and go into a file beside the model, and '%s' is a "
                             "device or a pipe",
                             path);
    }
    const char *data = byoc_arena_format(&q->arena, "%s.data", path);
    if (data == NULL) return byoc_diag_out_of_memory(diag);
    return byoc_onnx_model_write_apart(q->result, path, data, diag);
  }
  return byoc_onnx_model_write(q->result, path, diag);
}
