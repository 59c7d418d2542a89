// SPDX-License-Identifier: Apache-2.0
// Rules of matrix products on sharded values, of floats, of integers and of packed weights, and of quantisation.
//
// Integers that are requantised are no sums: a rank's share of one cannot be added to those of others. So weights of
// such products are cut by columns only, for operands that are cut along the inner dimension, too: these are joined as
// bytes, a quarter of the sums in i32 that ranks would add instead.
#include <string.h>

#include "core/base/log.h"
#include "core/op/op.h"
#include "core/pass/shard_rules.h"

#define NONE UINT32_MAX

// ---- weights ----

// Computed from constants alone: what remains of such nodes when constants were folded.
enum { MOST_STEPS = 8 };

static bool is_weight(const byoc_value_t *value, int steps) {
  if (value == NULL || byoc_value_is_constant(value)) return value != NULL;
  const byoc_node_t *node = byoc_value_producer(value);
  const byoc_op_t *op = node != NULL ? byoc_op_of(node) : NULL;
  if (op == NULL || steps == 0 || node->block_count > 0 || node->operand_count == 0) return false;
  if (op->traits & (BYOC_OP_RANDOM | BYOC_OP_CONTROL | BYOC_OP_OPAQUE)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] != NULL && !is_weight(node->operands[i], steps - 1)) return false;
  }
  return true;
}

bool byoc_shard_is_weight(const byoc_value_t *value) {
  return is_weight(value, MOST_STEPS);
}

// ---- products ----

// Where a product has its operands.
typedef struct form_t {
  const char *domain, *op;
  uint32_t a, a_scale, a_zero, b, b_scale, b_zero, bias;
  bool turns;     // it has transA and transB
  bool adds;      // its results over parts of the inner dimension can be added
  bool reads_all; // each result depends on all of A
} form_t;

static const form_t forms[] = {
    {"", "MatMul", 0, NONE, NONE, 1, NONE, NONE, NONE, .adds = true},
    {"", "Gemm", 0, NONE, NONE, 1, NONE, NONE, 2, .turns = true, .adds = true},
    {"", "MatMulInteger", 0, NONE, 2, 1, NONE, 3, NONE, .adds = true},
    {"", "QLinearMatMul", 0, 1, 2, 3, 4, 5, NONE},
    {"byoc", "QLinearMatMul", 0, 1, 2, 3, 4, 5, 8},
    {"com.microsoft", "QGemm", 0, 1, 2, 3, 4, 5, 6, .turns = true},
    {"com.microsoft", "MatMulIntegerToFloat", 0, 2, 4, 1, 3, 5, 6},
    {"com.microsoft", "DynamicQuantizeMatMul", 0, NONE, NONE, 1, 2, 3, 4, .reads_all = true},
};

// The dimensions of a matrix product, the batch in front of them.
typedef struct product_t {
  const form_t *form;
  int32_t rows, inner_a, inner_b, columns; // of A, A, B, B
  int32_t rank_a, rank_b, rank;
  bool is_gemm;
} product_t;

static const byoc_type_t *result_type(const byoc_shard_rule_t *r) {
  return r->node->results[0]->type;
}

static bool is_one(byoc_dim_t dim) {
  return byoc_dim_is_constant(dim) && dim.constant == 1;
}

static bool read_product(const byoc_shard_rule_t *r, product_t *p) {
  const form_t *form = forms;
  while (form < forms + sizeof(forms) / sizeof(forms[0]) && !byoc_node_is(r->node, form->domain, form->op)) ++form;
  if (form == forms + sizeof(forms) / sizeof(forms[0])) return false;
  if (!byoc_shard_is_ranked(r, form->a) || !byoc_shard_is_ranked(r, form->b) || !byoc_is_ranked(result_type(r))) {
    return false;
  }
  const int32_t a = r->types[form->a]->rank, b = r->types[form->b]->rank;
  if (a < 2 || b < 2) return false;
  const bool turns_a = form->turns && byoc_node_flag(r->node, "transA"),
             turns_b = form->turns && byoc_node_flag(r->node, "transB");
  *p = (product_t){.form = form,
                   .rows = turns_a ? a - 1 : a - 2,
                   .inner_a = turns_a ? a - 2 : a - 1,
                   .inner_b = turns_b ? b - 1 : b - 2,
                   .columns = turns_b ? b - 2 : b - 1,
                   .rank_a = a,
                   .rank_b = b,
                   .rank = result_type(r)->rank,
                   .is_gemm = byoc_node_is_onnx(r->node, "Gemm")};
  return true;
}

// The parts of a product's columns: a Split behind the bias says of how many matrices they consist. Integers are scaled
// before it.
static int32_t parts_of_columns(const byoc_value_t *value) {
  static const char *const between[] = {"Add", "Cast", "Mul", "DequantizeLinear", "QuantizeLinear"};
  const size_t count = byoc_dtype_is_float(value->type->dtype) ? 1 : sizeof(between) / sizeof(between[0]);
  for (int steps = 0; steps < (count > 1 ? 6 : 4) && value->uses.count == 1; ++steps) {
    const byoc_node_t *user = value->uses.data[0].node;
    if (user == NULL || user->result_count == 0 || !byoc_is_ranked(value->type)) return 1;
    if (byoc_node_is_onnx(user, "Split")) {
      const int32_t axis = byoc_node_axis(user, "axis", value->type->rank);
      return axis == value->type->rank - 1 ? (int32_t)user->result_count : 1;
    }
    bool passes = false;
    for (size_t i = 0; i < count; ++i) passes |= byoc_node_is_onnx(user, between[i]);
    if (!passes) return 1;
    value = user->results[0];
  }
  return 1;
}

static bool is_single(const byoc_shard_rule_t *r, uint32_t i) {
  return i >= r->node->operand_count || r->node->operands[i] == NULL ||
         (byoc_shard_is_ranked(r, i) && byoc_type_element_count(r->types[i]) == 1);
}

// Gemm adds its bias to the columns.
static void want_bias(const byoc_shard_rule_t *r, const product_t *p, byoc_spread_axis_t of_result) {
  const uint32_t bias = p->form->bias;
  if (!byoc_shard_is_ranked(r, bias)) return;
  const int32_t d = of_result.dim - (p->rank - r->types[bias]->rank);
  if (d >= 0 && !is_one(r->types[bias]->dims[d])) r->wanted[bias] = byoc_shard_split(d, of_result.parts);
}

// A scale or zero point for each column lies along them.
static bool want_of_columns(const byoc_shard_rule_t *r, uint32_t i, int32_t parts) {
  if (is_single(r, i)) return true;
  if (!byoc_shard_is_ranked(r, i) || r->types[i]->rank != 1) return false;
  r->wanted[i] = byoc_shard_split(0, parts);
  return byoc_shard_divides(r, r->types[i]->dims[0], parts);
}

static bool split_columns(const byoc_shard_rule_t *r, const product_t *p, int32_t parts) {
  const form_t *form = p->form;
  if (!byoc_shard_divides(r, r->types[form->b]->dims[p->columns], parts)) return false;
  if (!want_of_columns(r, form->b_scale, parts) || !want_of_columns(r, form->b_zero, parts)) return false;
  r->wanted[form->b] = byoc_shard_split(p->columns, parts);
  r->made[0] = byoc_shard_split(p->rank - 1, parts);
  want_bias(r, p, r->made[0]);
  return true;
}

// Each rank has the sum over its part of the inner dimension.
static bool split_inner(const byoc_shard_rule_t *r, const product_t *p, int32_t parts) {
  if (!p->form->adds || !byoc_shard_divides(r, r->types[p->form->a]->dims[p->inner_a], parts)) return false;
  if (p->is_gemm && byoc_has_operand(r->node, 2) &&
      (byoc_node_float(r->node, "beta") != 1 || r->node->since_version < 7)) {
    return false; // the bias is added behind the sum, by an Add
  }
  r->wanted[p->form->a] = byoc_shard_split(p->inner_a, parts);
  r->wanted[p->form->b] = byoc_shard_split(p->inner_b, parts);
  r->made[0] = (byoc_spread_axis_t){.kind = BYOC_SPREAD_PARTIAL};
  return true;
}

static bool can_split_rows(const byoc_shard_rule_t *r, const product_t *p) {
  return !p->form->reads_all && is_single(r, p->form->a_scale) && is_single(r, p->form->a_zero);
}

static bool split_rows(const byoc_shard_rule_t *r, const product_t *p, int32_t parts) {
  if (!can_split_rows(r, p) || !byoc_shard_divides(r, r->types[p->form->a]->dims[p->rows], parts)) return false;
  r->wanted[p->form->a] = byoc_shard_split(p->rows, parts);
  r->made[0] = byoc_shard_split(p->rank - 2, parts);
  want_bias(r, p, r->made[0]);
  return true;
}

static bool has_plain_scales(const byoc_shard_rule_t *r, uint32_t i) {
  return is_single(r, i) || (byoc_shard_is_ranked(r, i) && r->types[i]->rank == 1);
}

// A dimension of the batch, counted in the result.
static bool split_batch(const byoc_shard_rule_t *r, const product_t *p, int32_t dim, int32_t parts) {
  const form_t *form = p->form;
  const uint32_t operands[] = {form->a, form->b};
  const int32_t ranks[] = {p->rank_a, p->rank_b};
  if (!can_split_rows(r, p) || !has_plain_scales(r, form->b_scale) || !has_plain_scales(r, form->b_zero)) return false;
  if (!byoc_shard_divides(r, result_type(r)->dims[dim], parts)) return false;
  for (uint32_t i = 0; i < 2; ++i) {
    const int32_t d = dim - (p->rank - ranks[i]);
    const bool is_broadcast = d < 0 || is_one(r->types[operands[i]]->dims[d]);
    if (!is_broadcast) r->wanted[operands[i]] = byoc_shard_split(d, parts);
  }
  r->made[0] = byoc_shard_split(dim, parts);
  return true;
}

// Megatron's split: columns for whole activations, rows for sharded ones.
static bool seek(const byoc_shard_rule_t *r, const product_t *p) {
  const int32_t parts = parts_of_columns(r->node->results[0]);
  return split_columns(r, p, parts) || split_columns(r, p, 1) || split_inner(r, p, 1);
}

static bool split_product(const byoc_shard_rule_t *r, const product_t *p) {
  const form_t *form = p->form;
  const byoc_spread_axis_t *a = &r->given[form->a], *b = &r->given[form->b];
  const bool a_splits = byoc_shard_is_split(r, form->a), b_splits = byoc_shard_is_split(r, form->b);
  const bool seeks = r->seeks_weights && p->rank_b == 2 && byoc_shard_is_weight(r->node->operands[form->b]);
  const bool is_float = byoc_dtype_is_float(r->types[form->b]->dtype);
  if (a_splits && a->dim < p->rank_a - 2) return split_batch(r, p, a->dim + p->rank - p->rank_a, a->parts);
  if (b_splits && b->dim < p->rank_b - 2) return split_batch(r, p, b->dim + p->rank - p->rank_b, b->parts);
  if (b_splits && b->dim == p->columns) return split_columns(r, p, b->parts);
  if (seeks && !b_splits && !is_float && a_splits && a->dim == p->inner_a && seek(r, p)) return true;
  if (a_splits && a->dim == p->inner_a) return split_inner(r, p, a->parts);
  if (b_splits && b->dim == p->inner_b) return split_inner(r, p, b->parts);
  if (a_splits && a->dim == p->rows) return split_rows(r, p, a->parts);
  return seeks && seek(r, p);
}

// Leaves nothing half said.
static void forget(const byoc_shard_rule_t *r) {
  for (uint32_t i = 0; i < r->node->operand_count; ++i) r->wanted[i] = (byoc_spread_axis_t){0};
  for (uint32_t i = 0; i < r->node->result_count; ++i) r->made[i] = (byoc_spread_axis_t){0};
}

static void replicate(const byoc_shard_rule_t *r, uint32_t weights) {
  forget(r);
  if (!r->seeks_weights || !byoc_shard_is_weight(r->node->operands[weights])) return;
  char text[256];
  byoc_node_describe(r->node, text, sizeof(text));
  byoc_log(BYOC_LOG_INFO, "%s: each of %lld ranks has all of its weights", text, (long long)r->size);
}

void byoc_shard_product(const byoc_shard_rule_t *r) {
  product_t p;
  if (read_product(r, &p) && !split_product(r, &p)) replicate(r, p.form->b);
}

// ---- products by packed weights ----

enum { NBITS_A, NBITS_B, NBITS_SCALES, NBITS_ZEROS, NBITS_ORDER, NBITS_BIAS };

typedef struct packed_t {
  int64_t depth, columns, block, bits, blocks;
} packed_t;

static packed_t read_packed(const byoc_node_t *node) {
  packed_t p = {.depth = byoc_node_int(node, "K"),
                .columns = byoc_node_int(node, "N"),
                .block = byoc_node_int(node, "block_size"),
                .bits = byoc_node_int(node, "bits")};
  p.blocks = p.block > 0 ? (p.depth + p.block - 1) / p.block : 0;
  return p;
}

// B, scales and zero points hold one line for each column, as a matrix or one behind the other.
static bool want_lines(const byoc_shard_rule_t *r, const packed_t *p, uint32_t i, bool along_columns, int64_t parts) {
  if (!byoc_has_operand(r->node, i)) return true;
  const byoc_type_t *type = byoc_shard_is_ranked(r, i) ? r->types[i] : NULL;
  if (type == NULL || type->rank < 1 || !byoc_type_is_static(type) || p->columns < 1) return false;
  const bool is_flat = type->rank == 1 && type->dims[0].constant % p->columns == 0;
  if (type->dims[0].constant != p->columns && !is_flat) return false;
  int32_t dim = 0;
  if (!along_columns && is_flat) parts *= p->columns;
  if (!along_columns && !is_flat) dim = 1;
  if (parts > INT32_MAX || !byoc_shard_divides(r, type->dims[dim], parts)) return false;
  r->wanted[i] = byoc_shard_split(dim, (int32_t)parts);
  return true;
}

static bool split_packed_columns(const byoc_shard_rule_t *r, const packed_t *p, int32_t parts) {
  forget(r);
  if (p->columns % (parts * r->size) != 0) return false;
  for (uint32_t i = NBITS_B; i <= NBITS_ZEROS; ++i) {
    if (!want_lines(r, p, i, true, parts)) return false;
  }
  if (byoc_has_operand(r->node, NBITS_BIAS)) r->wanted[NBITS_BIAS] = byoc_shard_split(0, parts);
  r->made[0] = byoc_shard_split(result_type(r)->rank - 1, parts);
  return true;
}

// By whole blocks, and whole bytes of zero points.
static bool split_packed_inner(const byoc_shard_rule_t *r, const packed_t *p, int32_t parts) {
  forget(r);
  const int64_t pieces = parts * r->size;
  if (byoc_has_operand(r->node, NBITS_ORDER) || p->depth % (p->block * pieces) != 0) return false;
  const bool has_bytes = byoc_has_operand(r->node, NBITS_ZEROS) && r->types[NBITS_ZEROS]->dtype == BYOC_DTYPE_U8;
  if (has_bytes && p->blocks / pieces * p->bits % 8 != 0) return false;
  for (uint32_t i = NBITS_B; i <= NBITS_ZEROS; ++i) {
    if (!want_lines(r, p, i, false, parts)) return false;
  }
  r->wanted[NBITS_A] = byoc_shard_split(r->types[NBITS_A]->rank - 1, parts);
  r->made[0] = (byoc_spread_axis_t){.kind = BYOC_SPREAD_PARTIAL};
  return true;
}

static bool split_packed(const byoc_shard_rule_t *r, const packed_t *p) {
  const byoc_spread_axis_t *a = &r->given[NBITS_A], *b = &r->given[NBITS_B];
  const int32_t last = r->types[NBITS_A]->rank - 1;
  const bool a_splits = byoc_shard_is_split(r, NBITS_A), b_splits = byoc_shard_is_split(r, NBITS_B);
  if (a_splits && a->dim < last) {
    r->wanted[NBITS_A] = r->made[0] = *a;
    return true;
  }
  if (b_splits && b->dim == 0 && split_packed_columns(r, p, b->parts)) return true;
  if (b_splits && b->dim == 1 && split_packed_inner(r, p, b->parts)) return true;
  if (a_splits && split_packed_inner(r, p, a->parts)) return true;
  if (!r->seeks_weights || !byoc_shard_is_weight(r->node->operands[NBITS_B])) return false;
  const int32_t columns = parts_of_columns(r->node->results[0]);
  return split_packed_columns(r, p, columns) || split_packed_columns(r, p, 1) || split_packed_inner(r, p, 1);
}

void byoc_shard_packed_product(const byoc_shard_rule_t *r) {
  const packed_t p = read_packed(r->node);
  if (!byoc_shard_is_ranked(r, NBITS_A) || r->types[NBITS_A]->rank < 1 || !byoc_is_ranked(result_type(r))) return;
  if (p.blocks > 0 && !split_packed(r, &p)) replicate(r, NBITS_B);
}

uint32_t byoc_shard_bias(const byoc_node_t *node) {
  if (byoc_node_is_onnx(node, "Gemm")) return 2;
  return byoc_node_is(node, "com.microsoft", "MatMulNBits") ? NBITS_BIAS : 0;
}

// ---- quantisation ----

// Scales and zero points are for the tensor, for slices along the axis, or for blocks along it.
static bool want_scales(const byoc_shard_rule_t *r, uint32_t i, int32_t axis, int64_t block) {
  const byoc_spread_axis_t *x = &r->given[0];
  if (is_single(r, i)) return true;
  if (!byoc_shard_is_ranked(r, i)) return false;
  const byoc_type_t *type = r->types[i];
  if (block == 0 && type->rank == 1) {
    if (x->dim == axis) r->wanted[i] = byoc_shard_split(0, x->parts);
    return x->dim != axis || byoc_shard_divides(r, type->dims[0], x->parts);
  }
  if (block == 0 || type->rank != r->types[0]->rank) return false;
  if (x->dim == axis && !byoc_shard_divides(r, r->types[0]->dims[axis], x->parts * block)) return false;
  r->wanted[i] = *x;
  return byoc_shard_divides(r, type->dims[x->dim], x->parts);
}

void byoc_shard_quantise(const byoc_shard_rule_t *r) {
  if (!byoc_shard_is_split(r, 0) || !byoc_shard_is_ranked(r, 0)) return;
  const int32_t rank = r->types[0]->rank, axis = rank > 0 ? byoc_node_axis(r->node, "axis", rank) : 0;
  const int64_t block = byoc_node_takes(r->node, "block_size") ? byoc_node_int(r->node, "block_size") : 0;
  if (want_scales(r, 1, axis, block) && want_scales(r, 2, axis, block)) {
    r->wanted[0] = r->made[0] = r->given[0];
  } else {
    forget(r);
  }
}
