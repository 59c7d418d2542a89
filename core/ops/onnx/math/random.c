// SPDX-License-Identifier: Apache-2.0
// Random numbers: each element is a hash of the node's stream and the element's index, so that results do not depend on
// the order, the number of threads or the executor.
#include <math.h>
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/util.h"
#include "core/ops/onnx/math/random.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define F64(value)    byoc_loop_const(b, BYOC_DTYPE_F64, (value))
#define U64(value)    byoc_loop_const_int(b, BYOC_DTYPE_U64, (int64_t)(value))

// Nodes without a seed have streams of their own, numbered in the order in which they are made.
byoc_status_t byoc_infer_stream(const byoc_infer_t *infer) {
  byoc_attributes_t *attributes = &infer->node->attributes;
  if (byoc_attributes_find(attributes, "seed") || byoc_attributes_find(attributes, BYOC_ATTRIBUTE_STREAM))
    return BYOC_OK;
  return byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_STREAM, (int64_t)infer->node->id)
             ? BYOC_OK
             : byoc_diag_out_of_memory(infer->diag);
}

// The finaliser of splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

const byoc_loop_expr_t *byoc_emit_uniform(byoc_loop_builder_t *b, const byoc_node_t *node,
                                          const byoc_loop_expr_t *place) {
  const byoc_attribute_t *seed = byoc_node_given(node, "seed");
  uint64_t start = (uint64_t)byoc_attributes_int(&node->attributes, BYOC_ATTRIBUTE_STREAM, 0);
  if (seed && seed->kind == BYOC_ATTRIBUTE_FLOAT) memcpy(&start, &seed->f, sizeof start);
  if (seed && seed->kind == BYOC_ATTRIBUTE_INT) start = (uint64_t)seed->i;
  const byoc_loop_expr_t *z = BYOC_LADD(b, byoc_emit_as(b, BYOC_DTYPE_U64, place), U64(1));
  z = BYOC_LADD(b, BYOC_LMUL(b, z, U64(UINT64_C(0x9e3779b97f4a7c15))), U64(mix(start)));
  z = BYOC_LMUL(b, BIN(XOR, z, BIN(SHR, z, U64(30))), U64(UINT64_C(0xbf58476d1ce4e5b9)));
  z = BYOC_LMUL(b, BIN(XOR, z, BIN(SHR, z, U64(27))), U64(UINT64_C(0x94d049bb133111eb)));
  z = BIN(XOR, z, BIN(SHR, z, U64(31)));
  return BYOC_LMUL(b, byoc_emit_as(b, BYOC_DTYPE_F64, BIN(SHR, z, U64(11))), F64(0x1p-53));
}

const byoc_loop_expr_t *byoc_emit_place(byoc_loop_builder_t *b, const byoc_type_t *type,
                                        const byoc_loop_expr_t *const *indices) {
  return byoc_loop_linear_index(b, type->rank, type->dims, indices);
}

// ---- RandomUniform, RandomNormal and their Like forms ----
// `otherwise` is used if the attribute has no default and is left out.
static byoc_status_t read_dtype(const byoc_infer_t *infer, byoc_dtype_t otherwise, byoc_dtype_t *out_dtype) {
  int64_t asked = byoc_node_int(infer->node, "dtype");
  *out_dtype = asked != 0 ? byoc_dtype_from_onnx((int32_t)asked) : otherwise;
  if (byoc_dtype_is_number(*out_dtype) || *out_dtype == BYOC_DTYPE_BOOL) return BYOC_OK;
  return byoc_infer_error(infer, "attribute 'dtype': random numbers cannot have this type");
}

static byoc_status_t infer_random(byoc_infer_t *infer) {
  byoc_dtype_t dtype;
  BYOC_RETURN_IF_ERROR(read_dtype(infer, BYOC_DTYPE_NONE, &dtype));
  BYOC_RETURN_IF_ERROR(byoc_infer_stream(infer));
  size_t count = 0;
  const int64_t *shape = byoc_node_ints(infer->node, "shape", &count);
  if (count > BYOC_MAX_RANK) return byoc_infer_error(infer, "attribute 'shape' has %zu dimensions", count);
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (size_t i = 0; i < count; ++i) dims[i] = byoc_dim_constant(shape[i]);
  return byoc_infer_set(infer, 0, dtype, (int32_t)count, dims);
}

static byoc_status_t infer_like(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  byoc_dtype_t dtype;
  BYOC_RETURN_IF_ERROR(read_dtype(infer, byoc_operand_type(infer->node, 0)->dtype, &dtype));
  BYOC_RETURN_IF_ERROR(byoc_infer_stream(infer));
  return byoc_infer_set_like(infer, 0, dtype, byoc_operand_type(infer->node, 0));
}

static const byoc_loop_expr_t *point_uniform(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                             const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[result]->type;
  double low = byoc_node_float(node, "low");
  double high = byoc_node_float(node, "high");
  const byoc_loop_expr_t *u = byoc_emit_uniform(b, node, byoc_emit_place(b, type, indices));
  return byoc_emit_as(b, type->dtype, BYOC_LADD(b, F64(low), BYOC_LMUL(b, u, F64(high - low))));
}

// Box and Muller: sqrt(-2 ln u) cos(2 pi v).
static const byoc_loop_expr_t *point_normal(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                            const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[result]->type;
  const byoc_loop_expr_t *place = BYOC_LMUL(b, byoc_emit_place(b, type, indices), byoc_loop_int(b, 2));
  const byoc_loop_expr_t *u = byoc_emit_uniform(b, node, place);
  const byoc_loop_expr_t *v = byoc_emit_uniform(b, node, BYOC_LADD(b, place, byoc_loop_int(b, 1)));
  const byoc_loop_expr_t *radius = UN(SQRT, BYOC_LMUL(b, F64(-2.0), UN(LOG, BYOC_LSUB(b, F64(1.0), u))));
  const byoc_loop_expr_t *x = BYOC_LMUL(b, radius, UN(COS, BYOC_LMUL(b, F64(2 * M_PI), v)));
  x = BYOC_LMUL(b, x, F64(byoc_node_float(node, "scale")));
  x = BYOC_LADD(b, x, F64(byoc_node_float(node, "mean")));
  return byoc_emit_as(b, type->dtype, x);
}

// ---- Bernoulli: 1 with the probability that the operand gives ----
static const byoc_loop_expr_t *point_bernoulli(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                               const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[result]->type;
  const byoc_loop_expr_t *p = byoc_emit_as(b, BYOC_DTYPE_F64, byoc_emit_load(lower, node, 0, indices));
  const byoc_loop_expr_t *hit = BIN(LT, byoc_emit_uniform(b, node, byoc_emit_place(b, type, indices)), p);
  return byoc_emit_as(b, type->dtype, hit);
}

// ---- Multinomial: draws from unnormalised log probabilities ----
static byoc_status_t infer_multinomial(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "log probabilities as floats"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, 2));
  byoc_dtype_t dtype;
  BYOC_RETURN_IF_ERROR(read_dtype(infer, BYOC_DTYPE_NONE, &dtype));
  BYOC_RETURN_IF_ERROR(byoc_infer_stream(infer));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unknown(infer, 0, dtype, 2);
  byoc_dim_t dims[] = {x->dims[0], byoc_dim_constant(byoc_node_int(infer->node, "sample_size"))};
  return byoc_infer_set(infer, 0, dtype, 2, dims);
}

static byoc_status_t loops_multinomial(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *classes = byoc_emit_dim(b, x, 1), *at[2], *from[2];
  const byoc_loop_expr_t *row = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "n", zero, byoc_emit_dim(b, y, 0));
  at[0] = from[0] = row;
  const byoc_loop_expr_t *most = byoc_loop_mutable(b, "most", F64(-INFINITY));
  from[1] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "c", zero, classes);
  byoc_loop_assign(b, most, BYOC_LMAX(b, most, byoc_emit_as(b, BYOC_DTYPE_F64, byoc_emit_load(lower, node, 0, from))));
  byoc_loop_end(b);
  const byoc_loop_expr_t *total = byoc_loop_mutable(b, "total", F64(0.0));
  for (int32_t pass = 0; pass < 2; ++pass) { // the sum of all weights, then draws from it
    const byoc_loop_expr_t *left = total, *drawn = NULL;
    if (pass == 1) {
      at[1] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, byoc_emit_dim(b, y, 1));
      const byoc_loop_expr_t *u = byoc_emit_uniform(b, node, byoc_emit_place(b, y, at));
      left = byoc_loop_mutable(b, "left", BYOC_LMUL(b, u, total));
      drawn = byoc_loop_mutable(b, "drawn", zero);
    }
    from[1] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "c", zero, classes);
    const byoc_loop_expr_t *weight = byoc_emit_as(b, BYOC_DTYPE_F64, byoc_emit_load(lower, node, 0, from));
    weight = byoc_loop_let(b, "weight", UN(EXP, BYOC_LSUB(b, weight, most)));
    if (pass == 0) {
      byoc_loop_assign(b, total, BYOC_LADD(b, total, weight));
    } else {
      // The class of the number; if rounding leaves none, the last class.
      byoc_loop_assign(b, drawn, byoc_loop_select(b, BIN(LE, F64(0.0), left), from[1], drawn));
      byoc_loop_assign(b, left, BYOC_LSUB(b, left, weight));
    }
    byoc_loop_end(b);
    if (pass == 1) {
      byoc_emit_store(lower, node, 0, at, drawn);
      byoc_loop_end(b);
    }
  }
  byoc_loop_end(b);
  return BYOC_OK;
}

static const byoc_op_attribute_t uniform_attributes[] = {
    {BYOC_ATTR_INT("dtype", 1)}, {BYOC_ATTR_FLOAT("low", 0.0)},       {BYOC_ATTR_FLOAT("high", 1.0)},
    {BYOC_ATTR(FLOAT, "seed")},  {BYOC_ATTR_REQUIRED(INTS, "shape")}, BYOC_ATTR_END,
};
static const byoc_op_attribute_t normal_attributes[] = {
    {BYOC_ATTR_INT("dtype", 1)}, {BYOC_ATTR_FLOAT("mean", 0.0)},      {BYOC_ATTR_FLOAT("scale", 1.0)},
    {BYOC_ATTR(FLOAT, "seed")},  {BYOC_ATTR_REQUIRED(INTS, "shape")}, BYOC_ATTR_END,
};
static const byoc_op_attribute_t uniform_like_attributes[] = {
    {BYOC_ATTR(INT, "dtype")},
    {BYOC_ATTR_FLOAT("low", 0.0)},
    {BYOC_ATTR_FLOAT("high", 1.0)},
    {BYOC_ATTR(FLOAT, "seed")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t normal_like_attributes[] = {
    {BYOC_ATTR(INT, "dtype")},
    {BYOC_ATTR_FLOAT("mean", 0.0)},
    {BYOC_ATTR_FLOAT("scale", 1.0)},
    {BYOC_ATTR(FLOAT, "seed")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t bernoulli_attributes[] = {
    {BYOC_ATTR(INT, "dtype")},
    {BYOC_ATTR(FLOAT, "seed")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t multinomial_attributes[] = {
    {BYOC_ATTR_INT("dtype", 6)},
    {BYOC_ATTR_INT("sample_size", 1)},
    {BYOC_ATTR(FLOAT, "seed")},
    BYOC_ATTR_END,
};

#define ROW(op_name, version, inputs, infer_name, ...)                                                                 \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = inputs, .max_inputs = inputs,              \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_RANDOM, .infer = infer_##infer_name, __VA_ARGS__             \
  }

const byoc_op_t byoc_ops_random[] = {
    ROW(RandomUniform, 1, 0, random, .attributes = uniform_attributes, .point = point_uniform),
    ROW(RandomUniform, 22, 0, random, .attributes = uniform_attributes, .point = point_uniform),
    ROW(RandomNormal, 1, 0, random, .attributes = normal_attributes, .point = point_normal),
    ROW(RandomNormal, 22, 0, random, .attributes = normal_attributes, .point = point_normal),
    ROW(RandomUniformLike, 1, 1, like, .attributes = uniform_like_attributes, .point = point_uniform),
    ROW(RandomUniformLike, 22, 1, like, .attributes = uniform_like_attributes, .point = point_uniform),
    ROW(RandomNormalLike, 1, 1, like, .attributes = normal_like_attributes, .point = point_normal),
    ROW(RandomNormalLike, 22, 1, like, .attributes = normal_like_attributes, .point = point_normal),
    ROW(Bernoulli, 15, 1, like, .attributes = bernoulli_attributes, .point = point_bernoulli),
    ROW(Bernoulli, 22, 1, like, .attributes = bernoulli_attributes, .point = point_bernoulli),
    ROW(Multinomial, 7, 1, multinomial, .attributes = multinomial_attributes, .loops = loops_multinomial),
    ROW(Multinomial, 22, 1, multinomial, .attributes = multinomial_attributes, .loops = loops_multinomial),
};
const size_t byoc_ops_random_count = sizeof byoc_ops_random / sizeof *byoc_ops_random;
