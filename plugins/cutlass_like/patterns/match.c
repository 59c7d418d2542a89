// SPDX-License-Identifier: Apache-2.0
// From nodes of the graph to a problem: reads the chain of nodes one by one.
#include "patterns/match.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "patterns/match_attention.h"
#include "patterns/match_bits.h"
#include "patterns/match_gelu.h"
#include "patterns/match_words.h"

enum { MOST_CASTS = 2 };

// The chain as far as it was read.
typedef struct chain_t {
  const byoc_graph_api_t *graph;
  byoc_cutlass_match_t *match;
  byoc_value_t *value;  // the last node's result
  byoc_value_t *before; // the activation's operand
  bool activated;
  uint32_t dtype;                 // of the product, and of everything behind it
  byoc_node_t *casts[MOST_CASTS]; // of the product's operands, to f32
  size_t cast_count;
} chain_t;

static bool refuse(chain_t *chain, const char *reason) {
  chain->match->reason = reason;
  return false;
}

// The product computes in f32, f16 or bf16; its first operand says which.
static bool start_floats(chain_t *chain, const byoc_value_t *operand) {
  chain->dtype = operand ? chain->graph->value_dtype(operand) : 0;
  return chain->dtype == BYOC_DTYPE_F32 || byoc_cutlass_is_half(chain->dtype) ||
         refuse(chain, "only f32, f16 and bf16 are supported");
}

static bool is_known(const chain_t *chain, const byoc_value_t *value, bool *is_open) {
  return value && chain->graph->value_dtype(value) == chain->dtype &&
         byoc_cutlass_match_known(chain->graph, value, is_open);
}

static bool is_static(const chain_t *chain, const byoc_value_t *value) {
  return value && chain->graph->value_dtype(value) == chain->dtype && chain->graph->value_element_count(value) > 0;
}

// What a Cast in front of the product reads; any other value itself.
static byoc_value_t *uncast(const chain_t *chain, byoc_value_t *value) {
  for (size_t i = 0; i < chain->cast_count; ++i)
    if (chain->graph->node_result(chain->casts[i], 0) == value) return chain->graph->operand(chain->casts[i], 0);
  return value;
}

// How a problem names the type of a value.
static uint32_t type_of(const chain_t *chain, const byoc_value_t *value) {
  const uint32_t dtype = chain->graph->value_dtype(value);
  return byoc_cutlass_is_half(dtype) ? dtype : 0;
}

static void set_operands(chain_t *chain, byoc_value_t *data, byoc_value_t *weights) {
  byoc_cutlass_match_t *match = chain->match;
  match->data = uncast(chain, data);
  match->weights = uncast(chain, weights);
  match->problem.types.data = type_of(chain, match->data);
  match->problem.types.weights = type_of(chain, match->weights);
}

static void set_residual(chain_t *chain, byoc_value_t *residual) {
  chain->match->residual = residual;
  chain->match->problem.types.residual = type_of(chain, residual);
  chain->match->problem.epilogue.has_residual = true;
}

static bool same_dims(const byoc_graph_api_t *graph, const byoc_value_t *a, const byoc_value_t *b) {
  int32_t rank = graph->value_rank(a);
  if (rank != graph->value_rank(b)) return false;
  for (int32_t i = 0; i < rank; ++i)
    if (!graph->value_dims_equal(a, i, b, i)) return false;
  return true;
}

// True if the value is a constant of the product's type; byoc_cutlass_match_element reads it.
static bool is_constant(const chain_t *chain, const byoc_value_t *value, byoc_tensor_data_t *data) {
  *data = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  return value && chain->graph->value_constant(value, data) && data->dtype == chain->dtype;
}

static bool start_channels(chain_t *chain, int64_t channels) {
  return byoc_cutlass_match_start(chain->match, channels);
}

// Of both, only the number of images, which is the same, and the sizes of the images may be dynamic.
static bool open_images(chain_t *chain, const byoc_value_t *x, const byoc_value_t *y) {
  const byoc_graph_api_t *graph = chain->graph;
  byoc_cutlass_conv_t *conv = &chain->match->problem.conv;
  if (graph->value_dim(x, 1) < 0 || graph->value_dim(y, 1) < 0)
    return refuse(chain, "the number of channels is dynamic");
  if (!graph->value_dims_equal(x, 0, y, 0)) return refuse(chain, "the result has another number of images");
  conv->open_batch = true;
  conv->batch = 1;
  return true;
}

// Conv over one or two spatial axes; a single axis counts as an image of height 1.
static bool read_conv(chain_t *chain, byoc_node_t *node) {
  const byoc_graph_api_t *graph = chain->graph;
  byoc_cutlass_match_t *match = chain->match;
  byoc_value_t *x = graph->operand(node, 0), *w = graph->operand(node, 1), *y = graph->node_result(node, 0);
  byoc_value_t *bias = graph->operand_count(node) > 2 ? graph->operand(node, 2) : NULL;
  bool is_open = false;
  if (!start_floats(chain, x)) return false;
  if (!is_known(chain, x, &is_open) || !is_static(chain, w) || !is_known(chain, y, &is_open))
    return refuse(chain, "only weights of the data's type and of a known shape are supported");
  byoc_tensor_data_t data;
  if (!is_constant(chain, w, &data)) return refuse(chain, "the weights are not constant");
  if (!byoc_cutlass_match_conv_shape(graph, node, x, w, y, match)) return false;
  if (is_open && !open_images(chain, x, y)) return false;
  set_operands(chain, x, w);
  if (!start_channels(chain, match->problem.conv.groups * match->problem.conv.out)) return false;
  if (bias) {
    if (!is_constant(chain, bias, &data) || byoc_cutlass_match_elements(&data) != match->channels)
      return refuse(chain, "the bias is not constant");
    for (int64_t i = 0; i < match->channels; ++i) match->shift[i] = byoc_cutlass_match_element(&data, i);
  }
  return true;
}

static int spread(const chain_t *chain, const byoc_tensor_data_t *data) {
  return byoc_cutlass_match_spread(chain->graph, chain->match, chain->value, data);
}

// Takes the product with a number of rows that each call brings: those of all open axes together.
static bool open_rows(chain_t *chain) {
  byoc_cutlass_gemm_t *gemm = &chain->match->problem.gemm;
  if (!gemm->constant_b) return refuse(chain, "dynamic shapes are supported with constant weights only");
  if (gemm->transpose_a || gemm->batch_rank > 0 || gemm->n < 0 || gemm->k < 0)
    return refuse(chain, "a size other than the number of rows is dynamic");
  gemm->open_rows = true;
  gemm->m = BYOC_CUTLASS_OPEN_ROWS;
  return true;
}

// beta * C of a Gemm.
static bool read_gemm_c(chain_t *chain, byoc_value_t *c, float beta) {
  byoc_cutlass_match_t *match = chain->match;
  byoc_tensor_data_t data;
  const bool constant = is_constant(chain, c, &data);
  if (beta == 0.0f) return true;
  int kind = constant ? spread(chain, &data) : 0;
  if (kind != 0) {
    for (int64_t i = 0; i < match->channels; ++i)
      match->shift[i] += (double)beta * byoc_cutlass_match_element(&data, kind == 2 ? i : 0);
    return true;
  }
  bool is_open = false;
  if (constant || !is_known(chain, c, &is_open) || !same_dims(chain->graph, c, chain->value))
    return refuse(chain, "C is neither one value per column nor a matrix like the result");
  set_residual(chain, c);
  match->problem.epilogue.beta = beta;
  return true;
}

static bool read_gemm(chain_t *chain, byoc_node_t *node) {
  const byoc_graph_api_t *graph = chain->graph;
  byoc_cutlass_match_t *match = chain->match;
  byoc_value_t *a = graph->operand(node, 0), *b = graph->operand(node, 1), *y = graph->node_result(node, 0);
  byoc_value_t *c = graph->operand_count(node) > 2 ? graph->operand(node, 2) : NULL;
  bool is_open = false;
  if (!start_floats(chain, a)) return false;
  if (!is_known(chain, a, &is_open) || !is_static(chain, b) || !is_known(chain, y, &is_open))
    return refuse(chain, "only weights of the data's type and of a known shape are supported");
  byoc_tensor_data_t data;
  byoc_cutlass_gemm_t *gemm = &match->problem.gemm;
  match->problem.kind = BYOC_CUTLASS_GEMM;
  *gemm = (byoc_cutlass_gemm_t){.m = graph->value_dim(y, 0),
                                .n = graph->value_dim(y, 1),
                                .transpose_a = graph->node_int(node, "transA") != 0,
                                .transpose_b = graph->node_int(node, "transB") != 0,
                                .constant_b = is_constant(chain, b, &data)};
  gemm->k = graph->value_dim(a, gemm->transpose_a ? 0 : 1);
  if (is_open && !open_rows(chain)) return false;
  match->problem.epilogue.alpha = (float)graph->node_float(node, "alpha");
  set_operands(chain, a, b);
  chain->value = y;
  return start_channels(chain, gemm->n) && (!c || read_gemm_c(chain, c, (float)graph->node_float(node, "beta")));
}

// MatMul of two or more axes each.
static bool read_matmul(chain_t *chain, byoc_node_t *node) {
  const byoc_graph_api_t *graph = chain->graph;
  byoc_cutlass_match_t *match = chain->match;
  byoc_value_t *a = graph->operand(node, 0), *b = graph->operand(node, 1), *y = graph->node_result(node, 0);
  bool is_open = false;
  if (!start_floats(chain, a)) return false;
  if (!is_known(chain, a, &is_open) || !is_static(chain, b) || !is_known(chain, y, &is_open))
    return refuse(chain, "only weights of the data's type and of a known shape are supported");
  byoc_tensor_data_t data;
  if (!byoc_cutlass_match_matmul_shape(graph, a, b, y, match)) return false;
  match->problem.gemm.constant_b = is_constant(chain, b, &data);
  if (is_open && !open_rows(chain)) return false;
  set_operands(chain, a, b);
  return start_channels(chain, match->problem.gemm.n);
}

// BatchNormalization of constants: y = (x - mean) / sqrt(variance + epsilon) * scale + shift.
static bool read_batch_norm(chain_t *chain, byoc_node_t *node) {
  const byoc_graph_api_t *graph = chain->graph;
  byoc_cutlass_match_t *match = chain->match;
  byoc_tensor_data_t parameter[4];
  if (match->problem.kind != BYOC_CUTLASS_CONV || chain->activated || match->residual)
    return refuse(chain, "a batch normalisation is supported only right after a convolution");
  if (graph->node_int(node, "training_mode") != 0) return refuse(chain, "batch normalisation in training mode");
  for (uint64_t i = 0; i < 4; ++i) {
    if (!is_constant(chain, graph->operand(node, i + 1), &parameter[i]) ||
        byoc_cutlass_match_elements(&parameter[i]) != match->channels)
      return refuse(chain, "the batch normalisation's parameters are not constant");
  }
  double epsilon = graph->node_float(node, "epsilon");
  for (int64_t i = 0; i < match->channels; ++i) {
    double factor =
        byoc_cutlass_match_element(&parameter[0], i) / sqrt(byoc_cutlass_match_element(&parameter[3], i) + epsilon);
    match->scale[i] *= factor;
    match->shift[i] = (match->shift[i] - byoc_cutlass_match_element(&parameter[2], i)) * factor +
                      byoc_cutlass_match_element(&parameter[1], i);
  }
  return true;
}

// x * Sigmoid(x) → Silu(x); x * HardSigmoid(x) with slope 1/6 and offset 1/2 → HardSwish(x)
static bool read_gate(chain_t *chain, const char *op) {
  byoc_cutlass_epilogue_t *epilogue = &chain->match->problem.epilogue;
  bool sigmoid = epilogue->activation == BYOC_CUTLASS_ACT_SIGMOID;
  bool hard = epilogue->activation == BYOC_CUTLASS_ACT_HARD_SIGMOID && fabsf(epilogue->p0 - 1.0f / 6.0f) < 1e-6f &&
              epilogue->p1 == 0.5f;
  if (strcmp(op, "Mul") != 0 || epilogue->residual_last || (!sigmoid && !hard))
    return refuse(chain, "the product of this activation and its operand is not supported");
  epilogue->activation = sigmoid ? BYOC_CUTLASS_ACT_SILU : BYOC_CUTLASS_ACT_HARD_SWISH;
  return true;
}

// Add, Mul or Div of the chain and something else.
static bool read_binary(chain_t *chain, byoc_node_t *node, const char *op) {
  const byoc_graph_api_t *graph = chain->graph;
  byoc_cutlass_match_t *match = chain->match;
  byoc_cutlass_epilogue_t *epilogue = &match->problem.epilogue;
  bool second = graph->operand(node, 0) != chain->value; // the chain is the second operand
  byoc_value_t *other = graph->operand(node, second ? 0 : 1);
  byoc_tensor_data_t data;
  const bool constant = is_constant(chain, other, &data);
  if (other == chain->value) return refuse(chain, "both operands are the product");
  if (chain->activated && other == chain->before) return read_gate(chain, op);
  int kind = constant ? spread(chain, &data) : 0;
  if (kind != 0) {
    if (chain->activated || match->residual) return refuse(chain, "a constant comes after the residual or activation");
    bool add = strcmp(op, "Add") == 0, multiply = strcmp(op, "Mul") == 0;
    if (second && !add && !multiply) return refuse(chain, "a constant divided by the product");
    for (int64_t i = 0; i < match->channels; ++i) {
      double c = byoc_cutlass_match_element(&data, kind == 2 ? i : 0);
      if (add) {
        match->shift[i] += c;
      } else {
        if (!multiply) c = 1.0 / c;
        match->scale[i] *= c, match->shift[i] *= c;
      }
    }
    return true;
  }
  if (strcmp(op, "Add") != 0) return refuse(chain, "not a constant for each channel");
  bool is_open = false;
  if (constant || !is_known(chain, other, &is_open) || !same_dims(graph, other, chain->value))
    return refuse(chain, "the other summand is neither one constant per channel nor shaped like the product");
  if (match->residual) return refuse(chain, "a second residual");
  set_residual(chain, other);
  epilogue->beta = 1.0f;
  epilogue->residual_last = chain->activated;
  return true;
}

static bool read_clip(chain_t *chain, byoc_node_t *node, byoc_cutlass_epilogue_t *epilogue) {
  const byoc_graph_api_t *graph = chain->graph;
  uint64_t operands = graph->operand_count(node);
  epilogue->p0 = (float)graph->attribute_float(node, "min", -(double)FLT_MAX);
  epilogue->p1 = (float)graph->attribute_float(node, "max", (double)FLT_MAX);
  if (operands > 1 && graph->operand(node, 1) &&
      !byoc_cutlass_scalar_f32(graph, graph->operand(node, 1), &epilogue->p0))
    return refuse(chain, "the clip's lower bound is not constant");
  if (operands > 2 && graph->operand(node, 2) &&
      !byoc_cutlass_scalar_f32(graph, graph->operand(node, 2), &epilogue->p1))
    return refuse(chain, "the clip's upper bound is not constant");
  if (isnan(epilogue->p0) || isnan(epilogue->p1)) return refuse(chain, "a clip's bound that is NaN");
  return true;
}

static bool read_activation(chain_t *chain, byoc_node_t *node, const char *op) {
  static const struct {
    const char *op;
    uint32_t activation;
  } table[] = {{"Relu", BYOC_CUTLASS_ACT_RELU}, {"LeakyRelu", BYOC_CUTLASS_ACT_LEAKY_RELU},
               {"Clip", BYOC_CUTLASS_ACT_CLIP}, {"Sigmoid", BYOC_CUTLASS_ACT_SIGMOID},
               {"Tanh", BYOC_CUTLASS_ACT_TANH}, {"HardSigmoid", BYOC_CUTLASS_ACT_HARD_SIGMOID},
               {"Gelu", BYOC_CUTLASS_ACT_GELU}, {"HardSwish", BYOC_CUTLASS_ACT_HARD_SWISH},
               {"Swish", BYOC_CUTLASS_ACT_SILU}};
  const byoc_graph_api_t *graph = chain->graph;
  byoc_cutlass_epilogue_t *epilogue = &chain->match->problem.epilogue;
  size_t i = 0, count = sizeof table / sizeof *table;
  while (i < count && strcmp(table[i].op, op) != 0) ++i;
  if (i == count) return refuse(chain, "an operator that is not supported behind a product");
  if (chain->activated || epilogue->residual_last) return refuse(chain, "a second activation");
  chain->activated = true;
  chain->before = chain->value;
  epilogue->activation = table[i].activation;
  if (epilogue->activation == BYOC_CUTLASS_ACT_CLIP) return read_clip(chain, node, epilogue);
  if (epilogue->activation == BYOC_CUTLASS_ACT_LEAKY_RELU) epilogue->p0 = (float)graph->node_float(node, "alpha");
  if (epilogue->activation == BYOC_CUTLASS_ACT_HARD_SIGMOID) {
    epilogue->p0 = (float)graph->node_float(node, "alpha");
    epilogue->p1 = (float)graph->node_float(node, "beta");
  }
  if (epilogue->activation == BYOC_CUTLASS_ACT_SILU && graph->node_float(node, "alpha") != 1.0)
    return refuse(chain, "a Swish of another slope");
  if (epilogue->activation == BYOC_CUTLASS_ACT_GELU && strcmp(graph->node_text(node, "approximate"), "tanh") == 0)
    epilogue->activation = BYOC_CUTLASS_ACT_GELU_TANH;
  return true;
}

// True if the last `left` nodes are a Gelu written out.
static bool read_gelu(chain_t *chain, byoc_node_t *last, size_t left) {
  uint32_t activation = BYOC_CUTLASS_ACT_NONE;
  if (chain->activated || byoc_cutlass_find_gelu(chain->graph, last, chain->value, &activation) != left) return false;
  if (!same_dims(chain->graph, chain->value, chain->graph->node_result(last, 0))) return false;
  chain->activated = true;
  chain->match->problem.epilogue.activation = activation;
  return true;
}

// The last operator may round f32 to f16 or bf16, which a store does.
static bool read_cast(chain_t *chain, const byoc_node_t *node) {
  const uint32_t made = chain->graph->value_dtype(chain->graph->node_result(node, 0));
  if (chain->match->bytes || chain->dtype != BYOC_DTYPE_F32 || !byoc_cutlass_is_half(made))
    return refuse(chain, "a Cast that does not make f16 or bf16 of f32");
  chain->dtype = made; // nothing but the end fits now
  return true;
}

static bool read_node(chain_t *chain, byoc_node_t *node, bool first) {
  const byoc_graph_api_t *graph = chain->graph;
  const char *op = graph->node_operator(node);
  if (first && byoc_cutlass_is_bits_product(graph, node)) return byoc_cutlass_match_bits(graph, node, chain->match);
  if (graph->node_domain(node)[0] != '\0') return refuse(chain, "an operator of another domain");
  if (first) {
    if (strcmp(op, "Conv") == 0) return read_conv(chain, node);
    if (strcmp(op, "Gemm") == 0) return read_gemm(chain, node);
    if (strcmp(op, "MatMul") == 0) return read_matmul(chain, node);
    if (byoc_cutlass_is_words_product(op)) return byoc_cutlass_read_words_product(graph, node, chain->match);
    return refuse(chain, "does not start with Conv, Gemm or MatMul");
  }
  bool reads = false;
  for (uint64_t i = 0; i < graph->operand_count(node); ++i) reads = reads || graph->operand(node, i) == chain->value;
  if (!reads) return refuse(chain, "the operators are not a chain");
  if (!same_dims(graph, chain->value, graph->node_result(node, 0)))
    return refuse(chain, "an epilogue that changes the shape");
  if (chain->match->bytes && byoc_cutlass_is_words_step(graph, node, chain->value, chain->match))
    return byoc_cutlass_read_words_step(graph, node, chain->value, chain->match);
  if (strcmp(op, "Cast") == 0) return read_cast(chain, node);
  if (strcmp(op, "BatchNormalization") == 0) return read_batch_norm(chain, node);
  if (strcmp(op, "Add") == 0 || strcmp(op, "Mul") == 0 || strcmp(op, "Div") == 0) return read_binary(chain, node, op);
  return read_activation(chain, node, op);
}

// Hands on what was gathered for each channel, as bias and factors. Factors go into constant weights, otherwise into
// alpha.
static bool settle(chain_t *chain) {
  byoc_cutlass_match_t *match = chain->match;
  byoc_cutlass_epilogue_t *epilogue = &match->problem.epilogue;
  if (match->bytes) return byoc_cutlass_settle_words(chain->graph, chain->value, match);
  match->problem.types.result = type_of(chain, chain->value);
  for (int64_t i = 0; i < match->channels; ++i) epilogue->has_bias = epilogue->has_bias || match->shift[i] != 0.0;
  if (match->problem.kind == BYOC_CUTLASS_CONV || match->problem.gemm.constant_b) {
    for (int64_t i = 0; i < match->channels; ++i) match->scale[i] *= epilogue->alpha;
    epilogue->alpha = 1.0f;
    if (!byoc_cutlass_scaled_weights_fit(chain->graph, match)) match->problem.types.weights = 0;
    return true;
  }
  for (int64_t i = 1; i < match->channels; ++i)
    if (match->scale[i] != match->scale[0]) return refuse(chain, "a computed matrix has a factor for each column");
  epilogue->alpha = (float)(epilogue->alpha * match->scale[0]);
  match->scale[0] = 1.0;
  return true;
}

// True for byoc::ToBlocked or byoc::FromBlocked, as `op` says, in the layout that the templates know.
static bool is_layout_change(const byoc_graph_api_t *graph, const byoc_node_t *node, const char *op) {
  return strcmp(graph->node_domain(node), "byoc") == 0 && strcmp(graph->node_operator(node), op) == 0 &&
         graph->node_int(node, "axis") == 1 && graph->node_int(node, "block") == BYOC_CUTLASS_BLOCK;
}

// If a FromBlocked among `nodes` makes `*value`, its operand is read instead.
static bool read_blocked(const byoc_graph_api_t *graph, byoc_node_t *const *nodes, size_t count, byoc_value_t **value) {
  for (size_t i = 0; i < count; ++i)
    if (is_layout_change(graph, nodes[i], "FromBlocked") && graph->node_result(nodes[i], 0) == *value) {
      *value = graph->operand(nodes[i], 0);
      return true;
    }
  return false;
}

// Handles layout changes among the nodes, `to_blocked` being that of the result: the problem's tensors become blocked.
static bool settle_layouts(chain_t *chain, byoc_node_t *const *nodes, size_t count, bool to_blocked) {
  byoc_cutlass_match_t *match = chain->match;
  byoc_cutlass_conv_t *conv = &match->problem.conv;
  bool data = read_blocked(chain->graph, nodes, count, &match->data);
  bool residual = match->residual && read_blocked(chain->graph, nodes, count, &match->residual);
  if (!data && !residual && !to_blocked) return true;
  if (match->problem.kind != BYOC_CUTLASS_CONV) return refuse(chain, "a matrix product of blocked tensors");
  if (byoc_cutlass_has_half(&match->problem)) return refuse(chain, "tensors of f16 or bf16 in blocks");
  conv->in_blocked = data;
  conv->out_blocked = to_blocked;
  if (match->residual && residual != to_blocked) return refuse(chain, "residual and result in different layouts");
  return byoc_cutlass_takes_layouts(conv) ||
         refuse(chain, "there is no template for this number of channels in blocks");
}

// True for a Cast of f16 or bf16 to f32, which a load does.
static bool is_widening(const byoc_graph_api_t *graph, const byoc_node_t *node) {
  return graph->node_domain(node)[0] == '\0' && strcmp(graph->node_operator(node), "Cast") == 0 &&
         byoc_cutlass_is_half(graph->value_dtype(graph->operand(node, 0))) &&
         graph->value_dtype(graph->node_result(node, 0)) == BYOC_DTYPE_F32;
}

static bool match_nodes(const byoc_graph_api_t *graph, byoc_node_t *const *nodes, size_t count,
                        byoc_cutlass_match_t *out_match) {
  out_match->problem.epilogue = (byoc_cutlass_epilogue_t){.alpha = 1.0f, .beta = 1.0f};
  chain_t chain = {.graph = graph, .match = out_match, .dtype = BYOC_DTYPE_F32};
  byoc_node_t *own[BYOC_CUTLASS_MOST_NODES]; // the nodes without layout changes
  size_t own_count = 0;
  if (count > BYOC_CUTLASS_MOST_NODES) return refuse(&chain, "too many operators");
  for (size_t i = 0; i < count; ++i)
    if (!is_layout_change(graph, nodes[i], "FromBlocked")) own[own_count++] = nodes[i];
  bool to_blocked = own_count > 0 && is_layout_change(graph, own[own_count - 1], "ToBlocked");
  if (to_blocked) --own_count;
  if (own_count == 0) return refuse(&chain, "no operator");
  if (count == 1 && graph->node_domain(own[0])[0] == '\0' && strcmp(graph->node_operator(own[0]), "Attention") == 0)
    return byoc_cutlass_match_attention(graph, own[0], out_match);
  size_t start = 0;
  while (start + 1 < own_count && is_widening(graph, own[start]) && start < MOST_CASTS)
    chain.casts[start] = own[start], ++start;
  chain.cast_count = start;
  for (size_t i = start; i < own_count; ++i) {
    if (byoc_cutlass_read_words_side(graph, own[i], chain.value, out_match)) continue;
    if (chain.value && read_gelu(&chain, own[own_count - 1], own_count - i))
      i = own_count - 1;
    else if (!read_node(&chain, own[i], !chain.value))
      return false;
    chain.value = graph->node_result(own[i], 0);
  }
  return settle(&chain) && settle_layouts(&chain, nodes, count, to_blocked);
}

int32_t byoc_cutlass_match(const byoc_graph_api_t *graph, byoc_node_t *const *nodes, size_t count,
                           byoc_cutlass_match_t *out_match) {
  *out_match = (byoc_cutlass_match_t){0};
  if (match_nodes(graph, nodes, count, out_match)) return BYOC_OK;
  return out_match->out_of_memory ? BYOC_OUT_OF_MEMORY : BYOC_UNSUPPORTED;
}
