// SPDX-License-Identifier: Apache-2.0
// com.microsoft: MoE and QMoE, mixtures of experts as exporters of language models write them. Each token goes through
// the k experts that its router likes best: a product, an activation and a product (byoc::ExpertMatMul), whose results
// are added up with the router's probabilities as weights.
#include <math.h>
#include <string.h>

#include "core/ops/byoc/expert_product.h"
#include "core/ops/microsoft/common.h"

// MoE's operands. QMoE has scales after each matrix, and zero points.
enum { X, ROUTER };
enum { LAYERS = 3, GATED = 2, WORD_BITS = 32 };

typedef enum activation_t { RELU, GELU, SILU, SWIGLU, IDENTITY } activation_t; // as in the attribute

typedef struct layer_t {
  uint32_t matrix, scales, bias, zeros; // operands; UINT32_MAX: MoE has none
  int64_t bits, columns, depth;
} layer_t;

typedef struct experts_t {
  bool is_quantised, is_gated; // gated: layer 0 computes twice as many columns as the next one takes
  int64_t count, hidden, inner, k, block;
  layer_t layers[LAYERS]; // FC1, FC2, FC3 (which may be absent)
} experts_t;

static const uint32_t none = UINT32_MAX;

static bool has_layer(const byoc_node_t *node, const layer_t *layer) {
  return byoc_has_operand(node, layer->matrix);
}

static bool is_quantised(const byoc_node_t *node) {
  return strcmp(node->op, "QMoE") == 0;
}

static bool is_u8(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_U8;
}

// ---- types ----

static byoc_status_t need_what_is_known(const byoc_infer_t *infer) {
  static const char *const more[] = {"a router's weights of its own",         "a scale of all of FC1's matrix",
                                     "a scale of all of FC2's matrix",        "a scale of the operand of FC1",
                                     "a scale of the operand of FC2",         "scales of blocks of the operand of FC1",
                                     "scales of blocks of the operand of FC2"};
  enum { MORE = 14 };
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_int(infer, "use_sparse_mixer", 0));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_int(infer, "swiglu_limit_after_activation", 0));
  if (!is_quantised(node)) return BYOC_OK;
  const char *kind = byoc_node_text(node, "quant_type");
  if (strcmp(kind, "int") != 0) {
    return byoc_infer_unsupported(infer, "attribute 'quant_type' is \"%s\"; only \"int\" is supported", kind);
  }
  for (uint32_t i = 0; i < sizeof(more) / sizeof(more[0]); ++i) {
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_absent(infer, MORE + i, more[i]));
  }
  return BYOC_OK;
}

static void read_layers(const byoc_node_t *node, experts_t *e) {
  static const char *const bits[LAYERS] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                           "fc3_expert_weight_bits"};
  const activation_t activation = (activation_t)byoc_node_choice(node, "activation_type");
  *e = (experts_t){.is_quantised = is_quantised(node), .k = byoc_node_int(node, "k")};
  e->is_gated = activation == SWIGLU && byoc_node_int(node, "swiglu_fusion") != 0;
  if (e->is_quantised) e->block = byoc_node_int(node, "block_size");
  for (uint32_t i = 0; i < LAYERS; ++i) {
    const uint32_t first = ROUTER + 1 + (e->is_quantised ? 3 : 2) * i;
    e->layers[i] = (layer_t){.matrix = first, .scales = none, .bias = first + 1, .zeros = none};
    if (!e->is_quantised) continue;
    e->layers[i].scales = first + 1, e->layers[i].bias = first + 2, e->layers[i].zeros = 11 + i;
    e->layers[i].bits = byoc_node_int(node, byoc_node_given(node, bits[i]) ? bits[i] : "expert_weight_bits");
  }
}

// Sizes come from the matrix of FC1: [experts, columns, depth].
static byoc_status_t read_sizes(const byoc_infer_t *infer, experts_t *e) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, X), *w = byoc_operand_type(node, e->layers[0].matrix);
  const byoc_dim_t hidden = x->dims[x->rank - 1];
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, e->layers[0].matrix, 3, 3));
  if (!byoc_is_ranked(w) || !byoc_dim_is_constant(w->dims[0]) || !byoc_dim_is_constant(w->dims[1]) ||
      !byoc_dim_is_constant(hidden)) {
    return byoc_infer_unsupported(infer, "the sizes of the experts must be known");
  }
  e->count = w->dims[0].constant, e->hidden = hidden.constant;
  const int64_t parts = e->is_gated ? GATED : 1, columns = w->dims[1].constant;
  if (e->count < 1 || e->hidden < 1 || columns < 1 || columns % parts != 0 || columns > INT32_MAX ||
      e->hidden > INT32_MAX) {
    return byoc_infer_error(infer, "%lld experts of %lld columns for a hidden size of %lld", (long long)e->count,
                            (long long)columns, (long long)e->hidden);
  }
  if (e->k < 1 || e->k > e->count) {
    return byoc_infer_error(infer, "attribute 'k': expected 1 to %lld, got %lld", (long long)e->count, (long long)e->k);
  }
  e->inner = columns / parts;
  const int64_t sizes[LAYERS][2] = {{columns, e->hidden}, {e->hidden, e->inner}, {e->inner, e->hidden}};
  for (int i = 0; i < LAYERS; ++i) e->layers[i].columns = sizes[i][0], e->layers[i].depth = sizes[i][1];
  return BYOC_OK;
}

static byoc_status_t need_packed(const byoc_infer_t *infer, const experts_t *e, const layer_t *l) {
  const byoc_node_t *node = infer->node;
  if (l->bits != 2 && l->bits != 4 && l->bits != 8) {
    return byoc_infer_unsupported(infer, "weights of %lld bits are not supported", (long long)l->bits);
  }
  const int64_t block = e->block > 0 ? e->block : l->depth;
  if (l->depth % block != 0 || block % (WORD_BITS / l->bits) != 0) {
    return byoc_infer_unsupported(infer, "%lld elements of %lld bits in blocks of %lld are not supported",
                                  (long long)l->depth, (long long)l->bits, (long long)block);
  }
  if (!byoc_has_operand(node, l->scales)) return byoc_infer_error(infer, "operand %u, scales, is left out", l->scales);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, l->matrix, is_u8, "bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, l->scales, byoc_dtype_is_float, "scales"));
  const byoc_dim_t count = byoc_dim_constant(e->count), columns = byoc_dim_constant(l->columns);
  const byoc_dim_t matrix[3] = {count, columns, byoc_dim_constant(l->depth * l->bits / 8)};
  const byoc_dim_t scales[3] = {count, columns, byoc_dim_constant(l->depth / block)};
  const int64_t zero_bytes = ((e->block > 0 ? l->depth / block : l->columns) * l->bits + 7) / 8;
  const byoc_dim_t zeros[3] = {count, e->block > 0 ? columns : byoc_dim_constant(zero_bytes),
                               byoc_dim_constant(zero_bytes)};
  const int32_t rank = e->block > 0 ? 3 : 2;
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, l->matrix, 3, matrix));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, l->scales, rank, scales));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, l->zeros, rank, zeros));
  const uint32_t constants[] = {l->matrix, l->scales, l->zeros};
  for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); ++i) {
    if (!byoc_has_operand(node, constants[i]) || byoc_value_is_constant(node->operands[constants[i]])) continue;
    return byoc_infer_unsupported(infer, "operand %u must be a constant", constants[i]);
  }
  return byoc_has_operand(node, l->zeros) ? byoc_infer_need(infer, l->zeros, is_u8, "zero points in bytes") : BYOC_OK;
}

static byoc_status_t need_layers(const byoc_infer_t *infer, const experts_t *e) {
  const byoc_node_t *node = infer->node;
  const activation_t activation = (activation_t)byoc_node_choice(node, "activation_type");
  const bool has_third = has_layer(node, &e->layers[2]);
  if (!has_layer(node, &e->layers[1])) return byoc_infer_error(infer, "FC2 is left out");
  if (e->is_gated && has_third) return byoc_infer_error(infer, "FC3 is given although FC1 contains it");
  if (activation == SWIGLU && !e->is_gated && !has_third) return byoc_infer_error(infer, "FC3 is left out");
  for (int i = 0; i < LAYERS; ++i) {
    const layer_t *l = &e->layers[i];
    if (!has_layer(node, l)) continue;
    const byoc_dim_t count = byoc_dim_constant(e->count), columns = byoc_dim_constant(l->columns);
    const byoc_dim_t matrix[3] = {count, columns, byoc_dim_constant(l->depth)}, bias[2] = {count, columns};
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, l->bias));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, l->bias, 2, bias));
    if (e->is_quantised) {
      BYOC_RETURN_IF_ERROR(need_packed(infer, e, l));
    } else {
      BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, l->matrix));
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, l->matrix, 3, matrix));
    }
  }
  return BYOC_OK;
}

static byoc_status_t infer_experts(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  experts_t e;
  BYOC_RETURN_IF_ERROR(need_what_is_known(infer));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, X, 2, 3));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, ROUTER, 2, 2));
  if (byoc_operand_type(node, X)->dtype == BYOC_DTYPE_F64) return byoc_infer_error(infer, "operand 0 is f64");
  read_layers(node, &e);
  BYOC_RETURN_IF_ERROR(read_sizes(infer, &e));
  BYOC_RETURN_IF_ERROR(need_layers(infer, &e));
  const byoc_type_t *x = byoc_operand_type(node, X);
  bool failed = false;
  byoc_dim_t rows = x->dims[0];
  if (x->rank == 3) rows = byoc_infer_dim(infer, BYOC_DIM_MUL, rows, x->dims[1], &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  const byoc_dim_t wanted[2] = {rows, byoc_dim_constant(e.count)};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, ROUTER, 2, wanted));
  return byoc_infer_same(infer);
}

// ---- packed matrices ----

static int64_t read_bits(const uint8_t *bytes, int64_t index, int64_t bits) {
  const int64_t bit = index * bits;
  return bytes[bit / 8] >> bit % 8 & ((1 << bits) - 1);
}

static byoc_value_t *write_table(byoc_writer_t *w, const char *name, byoc_dtype_t dtype, const int64_t dims[3],
                                 const void *data) {
  return byoc_write_reshape(w, byoc_write_vector(w, name, dtype, dims[0] * dims[1] * dims[2], data), dims, 3);
}

// The layout of byoc::ExpertMatMul.
static void write_packed(byoc_writer_t *w, const experts_t *e, const layer_t *l, byoc_value_t **operands) {
  const byoc_node_t *node = w->node;
  const int64_t slots = WORD_BITS / l->bits, block = e->block > 0 ? e->block : l->depth, blocks = l->depth / block;
  const int64_t words[3] = {e->count, l->depth / slots, l->columns}, parts[3] = {e->count, blocks, l->columns};
  const uint8_t *bytes = node->operands[l->matrix]->constant->data;
  const byoc_constant_t *given = node->operands[l->scales]->constant;
  const byoc_constant_t *zero_bytes = byoc_has_operand(node, l->zeros) ? node->operands[l->zeros]->constant : NULL;
  byoc_allocator_t allocator = byoc_allocator_system();
  uint32_t *packed = byoc_allocate(allocator, (size_t)(words[0] * words[1] * words[2]), sizeof(*packed));
  float *scales = byoc_allocate(allocator, (size_t)(parts[0] * parts[1] * parts[2]), sizeof(*scales));
  float *zeros = byoc_allocate(allocator, (size_t)(parts[0] * parts[1] * parts[2]), sizeof(*zeros));
  w->failed |= !packed || !scales || !zeros;
  for (int64_t line = 0; line < e->count * l->columns && !w->failed; ++line) {
    const int64_t expert = line / l->columns, column = line % l->columns;
    for (int64_t k = 0; k < l->depth; ++k) {
      const uint32_t value = (uint32_t)read_bits(bytes + line * (l->depth * l->bits / 8), k, l->bits);
      packed[(expert * words[1] + k / slots) * l->columns + column] |= value << k % slots * l->bits;
    }
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t to = (expert * blocks + i) * l->columns + column;
      scales[to] = (float)byoc_constant_element_f64(given, (size_t)(line * blocks + i));
      if (!zero_bytes) continue;
      // One line of bytes per column, or one per expert.
      const int64_t own = e->block > 0 ? line : expert, size = byoc_type_element_count(zero_bytes->type) /
                                                               (e->block > 0 ? e->count * l->columns : e->count);
      zeros[to] = (float)read_bits((const uint8_t *)zero_bytes->data + own * size, e->block > 0 ? i : column, l->bits);
    }
  }
  if (!w->failed) {
    operands[BYOC_EXPERT_MATRICES] = write_table(w, "experts", BYOC_DTYPE_I32, words, packed);
    operands[BYOC_EXPERT_SCALES] = write_table(w, "scales", BYOC_DTYPE_F32, parts, scales);
    operands[BYOC_EXPERT_ZEROS] = zero_bytes ? write_table(w, "zeros", BYOC_DTYPE_F32, parts, zeros) : NULL;
  }
  byoc_free(allocator, packed);
  byoc_free(allocator, scales);
  byoc_free(allocator, zeros);
}

// ---- expansion ----

// Rows of x times the matrices of their experts, plus their biases.
static byoc_value_t *write_layer(byoc_writer_t *w, const experts_t *e, int index, byoc_value_t *x, byoc_value_t *chosen,
                                 int64_t each) {
  static const int64_t swap[] = {0, 2, 1};
  const byoc_node_t *node = w->node;
  const layer_t *l = &e->layers[index];
  byoc_value_t *operands[BYOC_EXPERT_OPERANDS] = {x, chosen};
  byoc_attribute_t attributes[3] = {byoc_write_int("each", each)};
  uint32_t operand_count = BYOC_EXPERT_MATRICES + 1;
  size_t count = 1;
  if (e->is_quantised) {
    write_packed(w, e, l, operands);
    operand_count = operands[BYOC_EXPERT_ZEROS] ? BYOC_EXPERT_OPERANDS : BYOC_EXPERT_ZEROS;
    attributes[count++] = byoc_write_int("bits", l->bits);
    attributes[count++] = byoc_write_int("zero", INT64_C(1) << (l->bits - 1));
  } else {
    operands[BYOC_EXPERT_MATRICES] = byoc_write_transpose(w, node->operands[l->matrix], swap, 3);
  }
  if (!x || !chosen || !operands[BYOC_EXPERT_MATRICES]) w->failed = true;
  byoc_node_t *made = byoc_write_many(w, "byoc", "ExpertMatMul", operands, operand_count, 1, attributes, count);
  byoc_value_t *y = made ? made->results[0] : NULL;
  if (!byoc_has_operand(node, l->bias) || !y) return y;
  return byoc_write_plain(w, "Add", y, byoc_write_plain(w, "Gather", node->operands[l->bias], chosen));
}

static byoc_value_t *write_clipped(byoc_writer_t *w, byoc_value_t *x, bool is_both) {
  const byoc_attribute_t *limit = byoc_node_given(w->node, "swiglu_limit");
  if (!limit || !x) return x;
  byoc_value_t *least = is_both ? byoc_microsoft_number(w, x, -limit->f) : NULL;
  return byoc_write_node(w, "", "Clip", x, least, byoc_microsoft_number(w, x, limit->f), NULL, 0);
}

// gate * sigmoid(alpha * gate) * (linear + beta)
static byoc_value_t *write_swiglu(byoc_writer_t *w, byoc_value_t *gate, byoc_value_t *linear) {
  const byoc_node_t *node = w->node;
  const byoc_attribute_t alpha = {
      .name = "alpha", .kind = BYOC_ATTRIBUTE_FLOAT, .f = byoc_node_float(node, "activation_alpha")};
  const double beta = byoc_node_float(node, "activation_beta");
  gate = byoc_write_node(w, "", "Swish", write_clipped(w, gate, false), NULL, NULL, &alpha, 1);
  linear = write_clipped(w, linear, true);
  if (beta != 0 && linear) linear = byoc_write_plain(w, "Add", linear, byoc_microsoft_number(w, linear, beta));
  return byoc_write_plain(w, "Mul", gate, linear);
}

// The gates and their factors alternate in each row, or are its two halves.
static byoc_value_t *write_gated(byoc_writer_t *w, const experts_t *e, byoc_value_t *x) {
  const bool is_in_turn = byoc_node_int(w->node, "swiglu_fusion") == 1;
  const int64_t pairs[] = {-1, is_in_turn ? e->inner : GATED, is_in_turn ? GATED : e->inner}, flat[] = {-1, e->inner};
  const byoc_attribute_t attributes[] = {byoc_write_int("axis", is_in_turn ? 2 : 1),
                                         byoc_write_int("num_outputs", GATED)};
  byoc_value_t *whole = byoc_write_reshape(w, x, pairs, 3);
  if (!whole) return NULL;
  byoc_node_t *halves = byoc_write_many(w, "", "Split", &whole, 1, GATED, attributes, 2);
  if (!halves) return NULL;
  return write_swiglu(w, byoc_write_reshape(w, halves->results[0], flat, 2),
                      byoc_write_reshape(w, halves->results[1], flat, 2));
}

static byoc_value_t *write_activation(byoc_writer_t *w, byoc_value_t *x) {
  static const char *const names[] = {"Relu", "Gelu", "Swish", NULL, "Identity"};
  const activation_t activation = (activation_t)byoc_node_choice(w->node, "activation_type");
  const byoc_attribute_t tanh = {.name = "approximate", .kind = BYOC_ATTRIBUTE_STRING, .s = "tanh", .count = 4};
  return byoc_write_node(w, "", names[activation], x, NULL, NULL, &tanh, activation == GELU);
}

// The experts of each token, a row of k numbers, and their weights. They are normalised if the attribute is set. ONNX
// Runtime's CPU provider always normalises them for QMoE, its CUDA provider by the attribute.
static byoc_value_t *write_router(byoc_writer_t *w, const experts_t *e, byoc_value_t **out_weights) {
  static const int64_t last = -1;
  const byoc_attribute_t axis = byoc_write_int("axis", -1);
  byoc_value_t *probabilities = byoc_write_node(w, "", "Softmax", w->node->operands[ROUTER], NULL, NULL, &axis, 1);
  byoc_value_t *operands[] = {probabilities, byoc_write_vector(w, "k", BYOC_DTYPE_I64, 1, &e->k)};
  if (!probabilities) return NULL;
  byoc_node_t *best = byoc_write_many(w, "", "TopK", operands, 2, 2, &axis, 1);
  if (!best) return NULL;
  *out_weights = best->results[0];
  if (byoc_node_flag(w->node, "normalize_routing_weights")) {
    byoc_value_t *sum =
        byoc_write_plain(w, "ReduceSum", *out_weights, byoc_write_vector(w, "axis", BYOC_DTYPE_I64, 1, &last));
    *out_weights = byoc_write_plain(w, "Div", *out_weights, sum);
  }
  return best->results[1];
}

static byoc_status_t expand_experts(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t all = -1, second = 1;
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_infer_t infer = {.node = node, .diag = diag};
  experts_t e;
  read_layers(node, &e);
  BYOC_RETURN_IF_ERROR(read_sizes(&infer, &e));
  const int64_t rows[] = {-1, e.hidden}, mixed[] = {-1, e.k, e.hidden}, weighted[] = {-1, e.k, 1};
  byoc_value_t *x = byoc_write_reshape(&w, node->operands[X], rows, 2), *weights = NULL;
  byoc_value_t *chosen = byoc_write_reshape(&w, write_router(&w, &e, &weights), &all, 1);
  byoc_value_t *h = write_layer(&w, &e, 0, x, chosen, e.k);
  if (e.is_gated) {
    h = write_gated(&w, &e, h);
  } else if (has_layer(node, &e.layers[2])) {
    byoc_value_t *linear = write_layer(&w, &e, 2, x, chosen, e.k);
    const bool is_swiglu = byoc_node_choice(node, "activation_type") == SWIGLU;
    h = is_swiglu ? write_swiglu(&w, h, linear) : byoc_write_plain(&w, "Mul", write_activation(&w, h), linear);
  } else {
    h = write_activation(&w, h);
  }
  byoc_value_t *y = byoc_write_reshape(&w, write_layer(&w, &e, 1, h, chosen, 1), mixed, 3);
  y = byoc_write_plain(&w, "Mul", y, byoc_write_reshape(&w, weights, weighted, 3));
  const byoc_attribute_t keep = byoc_write_int("keepdims", 0);
  y = byoc_write_node(&w, "", "ReduceSum", y, byoc_write_vector(&w, "axis", BYOC_DTYPE_I64, 1, &second), NULL, &keep,
                      1);
  byoc_value_t *shape = byoc_write_plain(&w, "Shape", node->operands[X], NULL);
  return byoc_write_end(&w, byoc_write_plain(&w, "Reshape", y, shape), out_changed);
}

// ---- the table ----

#define EXPERT_ATTRIBUTES                                                                                              \
  {BYOC_ATTR_CHOICE("activation_type", "relu", "gelu", "silu", "swiglu", "identity")},                                 \
      {BYOC_ATTR_FLOAT("activation_alpha", 1.0)}, {BYOC_ATTR_FLOAT("activation_beta", 0.0)}, {BYOC_ATTR_INT("k", 1)},  \
      {BYOC_ATTR_INT("normalize_routing_weights", 0)}, {BYOC_ATTR_INT("swiglu_fusion", 0)},                            \
      {BYOC_ATTR(FLOAT, "swiglu_limit")}, {BYOC_ATTR_INT("swiglu_limit_after_activation", 0)}, {                       \
    BYOC_ATTR_INT("use_sparse_mixer", 0)                                                                               \
  }

static const byoc_op_attribute_t expert_attributes[] = {EXPERT_ATTRIBUTES, BYOC_ATTR_END};
static const byoc_op_attribute_t quantised_attributes[] = {EXPERT_ATTRIBUTES,
                                                           {BYOC_ATTR_INT("accuracy_level", 0)},
                                                           {BYOC_ATTR_INT("block_size", 0)},
                                                           {BYOC_ATTR_INT("expert_weight_bits", 4)},
                                                           {BYOC_ATTR(INT, "fc1_expert_weight_bits")},
                                                           {BYOC_ATTR(INT, "fc2_expert_weight_bits")},
                                                           {BYOC_ATTR(INT, "fc3_expert_weight_bits")},
                                                           {BYOC_ATTR_TEXT("quant_type", "int")},
                                                           {BYOC_ATTR_INT("weights_prepacked", -1)},
                                                           BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_experts[] = {
    BYOC_MICROSOFT_ROW("MoE", 3, 8, 1, expert_attributes, experts),
    BYOC_MICROSOFT_ROW("QMoE", 3, 21, 1, quantised_attributes, experts),
};
const size_t byoc_ops_microsoft_experts_count = sizeof byoc_ops_microsoft_experts / sizeof *byoc_ops_microsoft_experts;
