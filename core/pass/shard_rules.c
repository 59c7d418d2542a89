// SPDX-License-Identifier: Apache-2.0
// Applies the rules of operators to sharded values: one rule for each family, along one axis of the mesh.
#include "core/pass/shard_rules.h"

#include <string.h>

#include "core/op/op.h"

// ---- questions of rules ----

static const byoc_type_t *result_type(const byoc_shard_rule_t *r, uint32_t i) {
  return r->node->results[i]->type;
}

static bool is_one(byoc_dim_t dim) {
  return byoc_dim_is_constant(dim) && dim.constant == 1;
}

// ---- elementwise ----

// Is one of the operands an activation that all ranks have? With sharded weights, the sums behind each layer are such:
// the other summand is joined once, instead of cutting each sum and joining it again behind.
static bool meets_whole(const byoc_shard_rule_t *r, int32_t at, int32_t rank) {
  for (uint32_t i = 0; i < r->node->operand_count; ++i) {
    if (r->node->operands[i] == NULL || byoc_value_is_constant(r->node->operands[i]) || byoc_shard_is_split(r, i))
      continue;
    const int32_t d = at - (rank - r->types[i]->rank);
    if (d >= 0 && !is_one(r->types[i]->dims[d])) return true;
  }
  return false;
}

// The first sharded operand determines the dimension; the others are sharded along it, too, unless they are broadcast.
static void elementwise(const byoc_shard_rule_t *r) {
  const byoc_type_t *result = result_type(r, 0);
  uint32_t leader = 0;
  while (leader < r->node->operand_count && !byoc_shard_is_split(r, leader)) ++leader;
  if (leader == r->node->operand_count || !byoc_is_ranked(result) || r->node->result_count != 1) return;
  for (uint32_t i = 0; i < r->node->operand_count; ++i) {
    if (r->node->operands[i] != NULL && !byoc_shard_is_ranked(r, i)) return;
  }
  const int32_t at = r->given[leader].dim + result->rank - r->types[leader]->rank, parts = r->given[leader].parts;
  if (at < 0 || !byoc_shard_divides(r, result->dims[at], parts)) return;
  if (r->seeks_weights && at == result->rank - 1 && meets_whole(r, at, result->rank)) return;
  for (uint32_t i = 0; i < r->node->operand_count; ++i) {
    if (r->node->operands[i] == NULL) continue;
    const int32_t d = at - (result->rank - r->types[i]->rank);
    if (d >= 0 && !is_one(r->types[i]->dims[d])) r->wanted[i] = byoc_shard_split(d, parts);
  }
  r->made[0] = byoc_shard_split(at, parts);
}

// ---- shapes ----

static void transpose(const byoc_shard_rule_t *r) {
  size_t count = 0;
  const int64_t *perm = byoc_node_ints(r->node, "perm", &count);
  if (!byoc_shard_is_split(r, 0) || !byoc_shard_is_ranked(r, 0)) return;
  const int32_t rank = r->types[0]->rank;
  for (int32_t d = 0; d < rank; ++d) {
    const int64_t from = perm != NULL && (int32_t)count == rank ? perm[d] : rank - 1 - d;
    if (from == r->given[0].dim) r->made[0] = byoc_shard_split(d, r->given[0].parts);
  }
  if (r->made[0].kind == BYOC_SPREAD_SPLIT) r->wanted[0] = r->given[0];
}

// Two shapes of the same elements fall into groups of dimensions that hold the same elements. Finds the group that
// dimension `dim` of `from` is in: [*first_from, ...) and [*first_to, *end_to).
static bool find_group(const byoc_type_t *from, const byoc_type_t *to, int32_t dim, int32_t *first_from,
                       int32_t *first_to, int32_t *end_to) {
  for (int32_t i = 0, j = 0; i < from->rank && j < to->rank;) {
    *first_from = i;
    *first_to = j;
    byoc_dim_t a = from->dims[i++], b = to->dims[j++];
    while (!byoc_dim_equal(a, b)) {
      if (!byoc_dim_is_constant(a) || !byoc_dim_is_constant(b)) return false;
      byoc_dim_t *shorter = a.constant < b.constant ? &a : &b;
      const bool ends = shorter == &a ? i == from->rank : j == to->rank;
      const byoc_dim_t next = ends ? a : shorter == &a ? from->dims[i++] : to->dims[j++];
      if (ends || !byoc_dim_is_constant(next)) return false;
      shorter->constant *= next.constant;
    }
    *end_to = j;
    if (dim < i) return true;
  }
  return false;
}

// A view: the sharded dimension consists of runs, and each run is cut into one block for each rank. Outer dimensions of
// the group multiply the runs. The result is sharded along the dimension that has the same runs.
static void view(const byoc_shard_rule_t *r) {
  const byoc_type_t *from = r->types[0], *to = result_type(r, 0);
  int32_t i = 0, j = 0, end = 0;
  if (!byoc_shard_is_split(r, 0) || !byoc_shard_is_ranked(r, 0) || !byoc_is_ranked(to)) return;
  if (byoc_node_is_onnx(r->node, "Reshape") && !byoc_value_is_constant(r->node->operands[1])) return;
  if (!find_group(from, to, r->given[0].dim, &i, &j, &end)) return;
  int64_t runs = r->given[0].parts, outer = 1;
  for (; i < r->given[0].dim; ++i) {
    if (!byoc_dim_is_constant(from->dims[i])) return;
    runs *= from->dims[i].constant;
  }
  for (; j < end; ++j) {
    if (!byoc_dim_is_constant(to->dims[j]) || outer > runs) return;
    const int64_t extent = to->dims[j].constant;
    if (outer * extent > runs) break;
    outer *= extent;
  }
  if (j == end || runs % outer != 0 || runs / outer > INT32_MAX || !byoc_shard_divides(r, to->dims[j], runs / outer))
    return;
  // A Squeeze could remove a dimension that sharding made 1.
  if (byoc_node_is_onnx(r->node, "Squeeze") && from->dims[r->given[0].dim].constant == r->size) return;
  r->wanted[0] = r->given[0];
  r->made[0] = byoc_shard_split(j, (int32_t)(runs / outer));
}

// Operand 0 may be cut wherever the operator does not look across.
static void along(const byoc_shard_rule_t *r, int32_t first, int32_t end) {
  if (!byoc_shard_is_split(r, 0) || !byoc_shard_is_ranked(r, 0) || (r->given[0].dim >= first && r->given[0].dim < end))
    return;
  r->wanted[0] = r->given[0];
  for (uint32_t i = 0; i < r->node->result_count; ++i) r->made[i] = r->given[0];
}

static void softmax(const byoc_shard_rule_t *r) {
  if (!byoc_shard_is_ranked(r, 0)) return;
  const int32_t rank = r->types[0]->rank, axis = byoc_node_axis(r->node, "axis", rank);
  const bool flattens = r->node->since_version < 13 || byoc_node_is_onnx(r->node, "LayerNormalization");
  along(r, axis, flattens ? rank : axis + 1);
}

static void reduce(const byoc_shard_rule_t *r) {
  byoc_ints_t axes;
  if (!byoc_shard_is_split(r, 0) || !byoc_shard_is_ranked(r, 0) ||
      byoc_read_ints(r->node, "axes", 1, &axes) != BYOC_KNOWN_YES)
    return;
  const bool keeps = byoc_node_flag(r->node, "keepdims");
  const int32_t rank = r->types[0]->rank, dim = r->given[0].dim;
  int32_t at = dim;
  for (size_t k = 0; k < axes.count; ++k) {
    int32_t axis = 0;
    if (!byoc_normalize_axis(axes.values[k], rank, &axis)) return;
    if (axis == dim) {
      if (!byoc_node_is_onnx(r->node, "ReduceSum")) return;
      r->wanted[0] = r->given[0];
      r->made[0] = (byoc_spread_axis_t){.kind = BYOC_SPREAD_PARTIAL};
      return;
    }
    if (!keeps && axis < dim) --at;
  }
  if (axes.count == 0) return;
  r->wanted[0] = r->given[0];
  r->made[0] = byoc_shard_split(at, r->given[0].parts);
}

// ---- data movement ----

// A Split along the sharded dimension gives sharded results, if its results are the parts of the dimension.
static void split_node(const byoc_shard_rule_t *r) {
  if (!byoc_shard_is_split(r, 0) || !byoc_shard_is_ranked(r, 0)) return;
  const int32_t axis = byoc_node_axis(r->node, "axis", r->types[0]->rank), results = (int32_t)r->node->result_count;
  if (r->given[0].dim != axis) {
    along(r, axis, axis + 1);
    return;
  }
  byoc_ints_t sizes;
  const byoc_dim_t first = byoc_is_ranked(result_type(r, 0)) ? result_type(r, 0)->dims[axis] : byoc_dim_constant(0);
  if (r->given[0].parts % results != 0 || byoc_read_ints(r->node, "split", 1, &sizes) == BYOC_KNOWN_NO) return;
  for (int32_t i = 0; i < results; ++i) {
    const byoc_type_t *type = result_type(r, (uint32_t)i);
    if (!byoc_is_ranked(type) || !byoc_dim_equal(type->dims[axis], first)) return;
  }
  r->wanted[0] = r->given[0];
  for (int32_t i = 0; i < results; ++i) r->made[i] = byoc_shard_split(axis, r->given[0].parts / results);
}

// All operands of the same rank are cut alike along a dimension that is not the node's axis.
static void all_alike(const byoc_shard_rule_t *r) {
  uint32_t leader = 0;
  while (leader < r->node->operand_count && !byoc_shard_is_split(r, leader)) ++leader;
  if (leader == r->node->operand_count || !byoc_shard_is_ranked(r, leader)) return;
  const byoc_spread_axis_t to = r->given[leader];
  const int32_t rank = r->types[leader]->rank;
  if (byoc_node_axis(r->node, "axis", rank) == to.dim) return;
  const byoc_dim_t extent = r->types[leader]->dims[to.dim];
  for (uint32_t i = 0; i < r->node->operand_count; ++i) {
    if (!byoc_shard_is_ranked(r, i) || r->types[i]->rank != rank || !byoc_dim_equal(r->types[i]->dims[to.dim], extent))
      return;
  }
  for (uint32_t i = 0; i < r->node->operand_count; ++i) r->wanted[i] = to;
  r->made[0] = to;
}

// Are the rows that are looked up in a table of integers dequantised in blocks that lie within the part of one rank?
// Integers of less than a byte cannot be joined again.
static bool is_dequantised(const byoc_shard_rule_t *r) {
  const byoc_value_t *rows = r->node->results[0];
  for (size_t u = 0; u < rows->uses.count; ++u) {
    const byoc_node_t *user = rows->uses.data[u].node;
    if (user == NULL || strcmp(user->op, "DequantizeLinear") != 0 || !byoc_is_ranked(user->results[0]->type))
      return false;
    const byoc_type_t *type = user->results[0]->type;
    const int64_t block = byoc_node_takes(user, "block_size") ? byoc_node_int(user, "block_size") : 0;
    const int32_t axis = type->rank > 0 ? byoc_node_axis(user, "axis", type->rank) : -1;
    const bool is_across =
        byoc_type_element_count(user->operands[1]->type) == 1 || (block > 0 && axis == type->rank - 1);
    if (!is_across || !byoc_shard_divides(r, type->dims[type->rank - 1], block > 0 ? block : 1)) return false;
  }
  return rows->uses.count > 0;
}

// GatherBlockQuantized: lines are looked up in a table of bytes, and blocks lie along them.
static void gather_blocks(const byoc_shard_rule_t *r) {
  enum { TABLE, INDICES, SCALES, ZEROS };
  const byoc_type_t *type = result_type(r, 0);
  if (!byoc_shard_is_ranked(r, TABLE) || !byoc_shard_is_ranked(r, SCALES) || !byoc_is_ranked(type)) return;
  if (!r->seeks_weights || !byoc_shard_is_weight(r->node->operands[TABLE]) || r->types[TABLE]->rank != 2) return;
  if (byoc_node_axis(r->node, "gather_axis", 2) != 0 || byoc_node_axis(r->node, "quantize_axis", 2) != 1) return;
  const int64_t block = byoc_node_int(r->node, "block_size");
  if (block < 1 || !byoc_shard_divides(r, type->dims[type->rank - 1], block)) return;
  const bool has_zeros = byoc_has_operand(r->node, ZEROS);
  for (uint32_t i = TABLE; i <= (has_zeros ? ZEROS : SCALES); ++i) {
    if (i != INDICES && !byoc_shard_divides(r, r->types[i]->dims[1], 1)) return;
  }
  // A byte of zero points is one rank's.
  if (has_zeros && r->types[ZEROS]->dims[1].constant < r->types[SCALES]->dims[1].constant &&
      r->types[SCALES]->dims[1].constant % r->types[ZEROS]->dims[1].constant != 0) {
    return;
  }
  r->wanted[TABLE] = r->wanted[SCALES] = byoc_shard_split(1, 1);
  if (has_zeros) r->wanted[ZEROS] = byoc_shard_split(1, 1);
  r->made[0] = byoc_shard_split(type->rank - 1, 1);
}

static void gather(const byoc_shard_rule_t *r) {
  if (!byoc_shard_is_ranked(r, 0) || !byoc_shard_is_ranked(r, 1)) return;
  const int32_t axis = byoc_node_axis(r->node, "axis", r->types[0]->rank), more = r->types[1]->rank - 1;
  byoc_spread_axis_t from = r->given[0];
  if (from.kind == BYOC_SPREAD_WHOLE && r->seeks_weights && byoc_shard_is_weight(r->node->operands[0]) &&
      r->types[0]->rank == 2 && axis == 0 && (byoc_dtype_is_float(r->types[0]->dtype) || is_dequantised(r))) {
    from = byoc_shard_split(1, 1); // the columns of a table that is looked up
  }
  if (from.kind == BYOC_SPREAD_SPLIT && from.dim != axis &&
      byoc_shard_divides(r, r->types[0]->dims[from.dim], from.parts)) {
    r->wanted[0] = from;
    r->made[0] = byoc_shard_split(from.dim < axis ? from.dim : from.dim + more, from.parts);
  } else if (from.kind != BYOC_SPREAD_SPLIT && byoc_shard_is_split(r, 1)) {
    r->wanted[1] = r->given[1];
    r->made[0] = byoc_shard_split(axis + r->given[1].dim, r->given[1].parts);
  }
}

static void slice(const byoc_shard_rule_t *r) {
  byoc_ints_t axes;
  if (!byoc_shard_is_split(r, 0) || !byoc_shard_is_ranked(r, 0) ||
      byoc_read_ints(r->node, "axes", 3, &axes) != BYOC_KNOWN_YES)
    return;
  for (size_t k = 0; k < axes.count; ++k) {
    int32_t axis = 0;
    if (!byoc_normalize_axis(axes.values[k], r->types[0]->rank, &axis) || axis == r->given[0].dim) return;
  }
  along(r, -1, -1);
}

// Images of a batch, each by itself.
static void batch(const byoc_shard_rule_t *r) {
  if (byoc_shard_is_split(r, 0) && r->given[0].dim == 0 && r->node->result_count == 1) along(r, 1, INT32_MAX);
}

// ---- the table ----

static const struct {
  const char *domain, *op;
  void (*rule)(const byoc_shard_rule_t *r);
} rules[] = {
    {"", "MatMul", byoc_shard_product},
    {"", "Gemm", byoc_shard_product},
    {"", "Transpose", transpose},
    {"", "Reshape", view},
    {"", "Flatten", view},
    {"", "Squeeze", view},
    {"", "Unsqueeze", view},
    {"", "Identity", elementwise},
    {"", "Softmax", softmax},
    {"", "LogSoftmax", softmax},
    {"", "LayerNormalization", softmax},
    {"", "ReduceSum", reduce},
    {"", "ReduceMean", reduce},
    {"", "ReduceMax", reduce},
    {"", "ReduceMin", reduce},
    {"", "Split", split_node},
    {"", "Concat", all_alike},
    {"", "ScatterElements", all_alike},
    {"", "Gather", gather},
    {"", "Slice", slice},
    {"", "Conv", batch},
    {"", "QuantizeLinear", byoc_shard_quantise},
    {"", "DequantizeLinear", byoc_shard_quantise},
    {"", "MatMulInteger", byoc_shard_product},
    {"", "QLinearMatMul", byoc_shard_product},
    {"", "ConvInteger", batch},
    {"", "QLinearConv", batch},
    {"byoc", "QLinearConvTranspose", batch},
    {"byoc", "QLinearConv", batch},
    {"byoc", "QLinearMatMul", byoc_shard_product},
    {"byoc", "QLinearAveragePool", batch},
    {"byoc", "QLinearAdd", elementwise},
    {"byoc", "QLinearMul", elementwise},
    {"byoc", "QLinearSigmoid", elementwise},
    {"byoc", "QLinearLeakyRelu", elementwise},
    {"com.microsoft", "QuantizeLinear", byoc_shard_quantise},
    {"com.microsoft", "DequantizeLinear", byoc_shard_quantise},
    {"com.microsoft", "MatMulNBits", byoc_shard_packed_product},
    {"com.microsoft", "QGemm", byoc_shard_product},
    {"com.microsoft", "MatMulIntegerToFloat", byoc_shard_product},
    {"com.microsoft", "DynamicQuantizeMatMul", byoc_shard_product},
    {"com.microsoft", "GatherBlockQuantized", gather_blocks},
    {"com.microsoft", "QLinearConv", batch},
    {"com.microsoft", "QLinearAveragePool", batch},
    {"com.microsoft", "QLinearAdd", elementwise},
    {"com.microsoft", "QLinearMul", elementwise},
    {"com.microsoft", "QLinearSigmoid", elementwise},
    {"com.microsoft", "QLinearLeakyRelu", elementwise},
};

// If one operand is on one rank only, all are, and so is the result.
static bool stays_at(const byoc_shard_rule_t *r) {
  const byoc_spread_axis_t *at = NULL;
  for (uint32_t i = 0; i < r->node->operand_count && at == NULL; ++i) {
    if (r->given[i].kind == BYOC_SPREAD_AT) at = &r->given[i];
  }
  if (at == NULL) return false;
  for (uint32_t i = 0; i < r->node->operand_count; ++i) {
    if (r->given[i].kind != BYOC_SPREAD_WHOLE) r->wanted[i] = *at;
  }
  for (uint32_t i = 0; i < r->node->result_count; ++i) r->made[i] = *at;
  return true;
}

void byoc_shard_apply_rule(const byoc_shard_rule_t *r) {
  const byoc_op_t *op = byoc_op_of(r->node);
  if (op == NULL || r->node->block_count > 0 || r->node->result_count == 0 || stays_at(r)) return;
  for (size_t k = 0; k < sizeof(rules) / sizeof(rules[0]); ++k) {
    if (!byoc_node_is(r->node, rules[k].domain, rules[k].op)) continue;
    rules[k].rule(r);
    return;
  }
  if (r->node->domain[0] != '\0') return;
  if (op->traits & BYOC_OP_ELEMENTWISE && byoc_op_attribute(op, "axis") == NULL) {
    elementwise(r);
  } else if (op->traits & BYOC_OP_CHANNELWISE) {
    batch(r);
  }
}
