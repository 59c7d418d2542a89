// SPDX-License-Identifier: Apache-2.0
// Products of dequantised operands become products of integers, the same on every machine and for all targets.
#include "core/pass/quantised_product.h"

#include "core/ir/virtual_device.h"
#include "core/op/util.h"
#include "core/pass/quantised_moves.h"
#include "core/pass/rewrite.h"

// ---- reading ----

// How far from their zero point the integers may lie: for bytes between 128 and 255.
static int64_t farthest(const byoc_quantised_t *side) {
  int64_t low = 0, high = 0, most = 0;
  byoc_quantised_range(side->bytes->type->dtype, &low, &high);
  if (!side->zero) return high > -low ? high : -low;
  if (!byoc_value_is_constant(side->zero)) return high - low;
  for (int64_t i = 0; i < byoc_type_element_count(side->zero->type); ++i) {
    int64_t zero = byoc_constant_element_i64(side->zero->constant, i);
    if (most < high - zero) most = high - zero;
    if (most < zero - low) most = zero - low;
  }
  return most;
}

// Takes the number of terms of each sum into account: the sizes of w along all axes but that of the channels.
static bool count_terms(byoc_quantised_product_t *product, int32_t channel, int32_t first) {
  const byoc_type_t *type = product->w.bytes->type;
  int64_t terms = 1;
  for (int32_t d = first; d < type->rank; ++d) {
    if (d == channel) continue;
    if (!byoc_dim_is_constant(type->dims[d])) return false;
    int64_t extent = type->dims[d].constant;
    if (extent > 0 && terms > INT32_MAX / extent) return false;
    terms *= extent;
  }
  if (product->kind == BYOC_QUANTISED_TRANSPOSED) terms /= byoc_node_int(product->node, "group");
  const bool is_bytes = byoc_dtype_is_byte(product->x.bytes->type->dtype) && !byoc_dtype_is_word(type->dtype);
  product->limit = is_bytes ? INT32_MAX : INT64_MAX / 4;
  product->most = farthest(&product->x) * farthest(&product->w);
  if (terms > 0 && product->most > product->limit / terms) return false;
  product->most *= terms;
  return true;
}

// Rows of A or pixels of x have one scale; weights may have one per output channel, and `channel` is their axis.
static bool read_operands(byoc_quantised_product_t *product, int32_t channel, int32_t first) {
  const byoc_node_t *node = product->node;
  if (!byoc_quantised_read(node->operands[0], node->block, &product->x)) return false;
  const bool is_filter = product->kind < BYOC_QUANTISED_MATMUL; // matrices of few bits are for keep-packed-weights
  if (is_filter ? !byoc_quantised_read_weights(node->operands[1], node->block, &product->w)
                : !byoc_quantised_read(node->operands[1], node->block, &product->w)) {
    return false;
  }
  if (product->x.axis >= 0 || (product->w.axis >= 0 && product->w.axis != channel)) return false;
  if (product->x.zero && byoc_type_element_count(product->x.zero->type) != 1) return false;
  if (!byoc_is_ranked(node->results[0]->type) || !count_terms(product, channel, first)) return false;
  byoc_dim_t channels = product->w.bytes->type->dims[channel];
  product->channels = byoc_dim_is_constant(channels) ? channels.constant : -1;
  return true;
}

static bool read_transposed(byoc_quantised_product_t *product) {
  int64_t groups = byoc_node_int(product->node, "group");
  if (groups < 1 || !read_operands(product, 1, 0)) return false;
  if (product->w.axis >= 0 && groups != 1) return false; // the groups share scales, which no unit can say
  if (product->channels > 0) product->channels *= groups;
  return true;
}

static bool read_gemm(byoc_quantised_product_t *product) {
  const byoc_node_t *node = product->node;
  if (byoc_node_flag(node, "transA") || byoc_node_float(node, "alpha") != 1) return false;
  if (product->bias && byoc_node_float(node, "beta") != 1) return false;
  product->turns = byoc_node_flag(node, "transB");
  return read_operands(product, product->turns ? 0 : 1, 0);
}

bool byoc_quantised_product_read(byoc_node_t *node, byoc_quantised_product_t *product) {
  static const char *const names[] = {
      [BYOC_QUANTISED_CONV] = "Conv",
      [BYOC_QUANTISED_TRANSPOSED] = "ConvTranspose",
      [BYOC_QUANTISED_MATMUL] = "MatMul",
      [BYOC_QUANTISED_GEMM] = "Gemm",
  };
  size_t kind = 0, kinds = sizeof(names) / sizeof(names[0]);
  while (kind < kinds && !byoc_node_is_onnx(node, names[kind])) ++kind;
  if (kind == kinds || !byoc_has_operand(node, 0) || !byoc_is_ranked(byoc_operand_type(node, 1))) return false;
  *product = (byoc_quantised_product_t){.node = node, .kind = (byoc_quantised_kind_t)kind};
  product->bias = byoc_has_operand(node, 2) ? node->operands[2] : NULL;
  const int32_t rank = node->operands[1]->type->rank;
  switch (product->kind) {
  case BYOC_QUANTISED_CONV:
    return read_operands(product, 0, 0);
  case BYOC_QUANTISED_TRANSPOSED:
    return read_transposed(product);
  case BYOC_QUANTISED_MATMUL:
    return rank >= 2 && read_operands(product, rank - 1, rank - 2) && product->x.bytes->type->rank >= 2;
  case BYOC_QUANTISED_GEMM:
    return read_gemm(product);
  }
  return false;
}

// ---- writing ----

static byoc_value_t *write_weights(byoc_writer_t *w, const byoc_quantised_product_t *product) {
  if (!product->turns) return product->w.bytes;
  return byoc_write_node(w, "", "Transpose", product->w.bytes, NULL, NULL, NULL, 0);
}

// The result of the new node, which gets the name of the node on floats.
static byoc_value_t *named(byoc_writer_t *w, byoc_node_t *made, const byoc_node_t *node) {
  if (made && !byoc_node_set_name(made, node->name)) w->failed = true;
  return made ? made->results[0] : NULL;
}

// A vector along the channels, to be added to a convolution's result.
static byoc_value_t *write_along_channels(byoc_writer_t *w, const byoc_quantised_product_t *product,
                                          byoc_value_t *bias) {
  int64_t axes[BYOC_MAX_RANK];
  int32_t spatial = product->w.bytes->type->rank - 2;
  for (int32_t d = 0; d < spatial; ++d) axes[d] = d + 1;
  byoc_value_t *value = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, spatial, axes);
  return byoc_write_node(w, "", "Unsqueeze", bias, value, NULL, NULL, 0);
}

static bool are_bytes(const byoc_quantised_product_t *product) {
  return byoc_dtype_is_byte(product->x.bytes->type->dtype) && byoc_dtype_is_byte(product->w.bytes->type->dtype);
}

// Conv(DQ(x), DQ(w), bias) → DQ(ConvInteger(x, w) + bias), MatMul and Gemm by MatMulInteger; a bias of floats is added
// behind
byoc_status_t byoc_quantised_product_split(byoc_node_t *node, byoc_diag_t *diag, size_t *changes) {
  byoc_quantised_product_t product;
  if (!byoc_quantised_product_read(node, &product) || product.kind == BYOC_QUANTISED_TRANSPOSED) return BYOC_OK;
  if (!are_bytes(&product)) return BYOC_OK;
  const bool is_conv = product.kind == BYOC_QUANTISED_CONV;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *operands[] = {product.x.bytes, write_weights(&w, &product), byoc_quantised_zero(&w, &product.x),
                              byoc_quantised_zero(&w, &product.w)};
  byoc_node_t *made = byoc_write_many(&w, "", is_conv ? "ConvInteger" : "MatMulInteger", operands, 4, 1,
                                      node->attributes.items, is_conv ? node->attributes.count : 0);
  byoc_value_t *sum = named(&w, made, node), *summand = byoc_quantised_product_summand(&product);
  byoc_value_t *bias = summand ? summand : product.bias;
  if (bias && is_conv) bias = write_along_channels(&w, &product, bias);
  if (summand) sum = byoc_write_node(&w, "", "Add", sum, bias, NULL, NULL, 0);
  byoc_value_t *scale = byoc_quantised_product(&w, product.x.scale, product.w.scale);
  int32_t axis = product.w.axis < 0 ? -1 : is_conv ? 1 : node->results[0]->type->rank - 1;
  const byoc_attribute_t attribute = byoc_write_int("axis", axis);
  byoc_value_t *y = byoc_write_node(&w, "", "DequantizeLinear", sum, scale, NULL, &attribute, axis >= 0 ? 1 : 0);
  if (bias && !summand) y = byoc_write_node(&w, "", "Add", y, bias, NULL, NULL, 0);
  return byoc_pass_replace(node, w.failed ? NULL : y, diag, changes);
}

// ---- what stands between a product and its QuantizeLinear ----

// The node whose result only `reader` reads, by that operand.
static byoc_node_t *only_producer(const byoc_node_t *reader, uint32_t index) {
  byoc_value_t *value = byoc_has_operand(reader, index) ? reader->operands[index] : NULL;
  byoc_node_t *node = value ? byoc_value_open_producer(value) : NULL;
  return node && node->block == reader->block && value->uses.count == 1 ? node : NULL;
}

// A product, and what stands between it and its QuantizeLinear, from there on.
typedef struct chain_t {
  byoc_quantised_product_t product;
  byoc_quantised_t y;
  byoc_node_t *cut, *add; // Relu or Clip, and the Add of a bias behind a MatMul; NULL: none
  int64_t bounds[2];      // of `cut`, as integers: rounding is monotonic, so they may be applied after it
} chain_t;

static bool is_row(const byoc_value_t *value) {
  const byoc_type_t *type = value->type;
  return byoc_is_ranked(type) &&
         (type->rank == 1 || (type->rank == 2 && byoc_dim_is_constant(type->dims[0]) && type->dims[0].constant == 1));
}

// MatMul(x, w) + bias: the node that makes the product; the bias is set if it is one.
static byoc_node_t *read_sum(chain_t *chain, byoc_node_t *add, byoc_value_t **out_bias) {
  if (!byoc_node_is_onnx(add, "Add")) return add;
  for (uint32_t i = 0; i < 2; ++i) {
    byoc_node_t *node = only_producer(add, i);
    if (!node || !byoc_node_is_onnx(node, "MatMul") || !is_row(add->operands[1 - i])) continue;
    chain->add = add;
    *out_bias = add->operands[1 - i];
    return node;
  }
  return NULL;
}

static bool read_chain(byoc_node_t *quantise, chain_t *chain) {
  *chain = (chain_t){0};
  if (!byoc_quantised_of(quantise, &chain->y) || chain->y.axis >= 0) return false;
  byoc_node_t *node = only_producer(quantise, 0);
  byoc_value_t *bias = NULL;
  if (node && (byoc_node_is_onnx(node, "Relu") || byoc_node_is_onnx(node, "Clip"))) {
    if (!byoc_quantised_bounds(node, &chain->y, false, chain->bounds)) return false;
    chain->cut = node;
    node = only_producer(node, 0);
  }
  if (node) node = read_sum(chain, node, &bias);
  if (!node || !byoc_quantised_product_read(node, &chain->product)) return false;
  if (bias) chain->product.bias = bias;
  return true;
}

// Matrices as QGemm has them.
static bool are_matrices(const byoc_quantised_product_t *product) {
  return product->x.bytes->type->rank == 2 && product->w.bytes->type->rank == 2;
}

static bool is_all_bytes(const chain_t *chain) {
  return are_bytes(&chain->product) && byoc_dtype_is_byte(chain->y.bytes->type->dtype);
}

// The unit: QLinearConv, byoc::QLinearConvTranspose, QLinearMatMul or, with a bias, com.microsoft::QGemm, whose
// operands stand in another order. If not all is of bytes: byoc::QLinearConv or byoc::QLinearMatMul, which has a bias.
static byoc_value_t *write_unit(byoc_writer_t *w, const chain_t *chain, byoc_value_t *bias) {
  const byoc_quantised_product_t *p = &chain->product;
  const bool is_wide = !is_all_bytes(chain), is_gemm = bias && !is_wide && p->kind >= BYOC_QUANTISED_MATMUL;
  static const char *const names[] = {"QLinearConv", "QLinearConvTranspose", "QLinearMatMul", "QLinearMatMul"};
  byoc_value_t *operands[9] = {p->x.bytes,
                               p->x.scale,
                               byoc_quantised_zero(w, &p->x),
                               is_gemm ? p->w.bytes : write_weights(w, p),
                               p->w.scale,
                               byoc_quantised_zero(w, &p->w)};
  uint32_t count = 6;
  if (is_gemm) operands[count++] = bias;
  operands[count++] = chain->y.scale;
  operands[count++] = byoc_quantised_zero(w, &chain->y);
  if (bias && !is_gemm) operands[count++] = bias;
  const byoc_attribute_t turned = byoc_write_int("transB", 1), *attributes = p->node->attributes.items;
  size_t attribute_count = p->kind < BYOC_QUANTISED_MATMUL ? p->node->attributes.count : 0;
  if (is_gemm && p->turns) attributes = &turned, attribute_count = 1;
  const char *domain = is_gemm ? "com.microsoft" : is_wide || p->kind == BYOC_QUANTISED_TRANSPOSED ? "byoc" : "";
  return named(
      w,
      byoc_write_many(w, domain, is_gemm ? "QGemm" : names[p->kind], operands, count, 1, attributes, attribute_count),
      p->node);
}

byoc_status_t byoc_quantised_product_unite(byoc_node_t *quantise, byoc_diag_t *diag, size_t *changes) {
  chain_t chain;
  if (!read_chain(quantise, &chain)) return BYOC_OK;
  const bool is_bytes = is_all_bytes(&chain);
  if (!is_bytes && byoc_units_are_written_out(quantise->function->module)) return BYOC_OK;
  byoc_writer_t w = {.node = quantise, .diag = diag};
  byoc_value_t *bias = NULL;
  if (chain.product.bias) {
    if (is_bytes && chain.product.kind >= BYOC_QUANTISED_MATMUL && !are_matrices(&chain.product)) return BYOC_OK;
    bias = byoc_quantised_product_summand(&chain.product);
    if (!bias) bias = byoc_quantised_product_rounded_bias(&w, &chain.product, chain.y.scale);
    if (!bias) return w.failed ? byoc_diag_failure(diag) : BYOC_OK;
  }
  byoc_value_t *y = write_unit(&w, &chain, bias);
  if (chain.cut && y) y = byoc_write_quantised_cut(&w, y, chain.bounds);
  BYOC_RETURN_IF_ERROR(byoc_pass_replace(quantise, w.failed ? NULL : y, diag, changes));
  if (chain.cut) byoc_node_erase(chain.cut);
  if (chain.add) byoc_node_erase(chain.add);
  byoc_node_erase(chain.product.node);
  return BYOC_OK;
}
