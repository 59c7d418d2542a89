// SPDX-License-Identifier: Apache-2.0
// Normalisations. Those that compute statistics of the data share one form: fold each row to its mean and variance (or
// norm), then rescale its elements. The variance is that of the centred elements, computed in a second sweep over the
// row: this is stable, and the row is still in cache. BatchNormalization at inference is elementwise; LRN slides over
// channels.
#include <math.h>
#include <string.h>

#include "core/op/axes.h"
#include "core/op/write.h"
#include "core/ops/loops/rows.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

// ---- rows with statistics ----
// How a node's rows map to its operand. GroupNormalization splits the channel dimension into (group, channel in group),
// so its rows' type has one rank more than the operand.
typedef struct {
  const byoc_node_t *node;
  byoc_dtype_t dtype;
  byoc_type_t type; // of the rows
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool over[BYOC_MAX_RANK];
  bool grouped;
  int32_t axis;
  double epsilon;
  byoc_row_t mean, scale;
  const byoc_loop_expr_t *length;
} norm_t;

static void norm_init(norm_t *norm, const byoc_node_t *node) {
  *norm = (norm_t){.node = node, .type = *node->operands[0]->type};
  for (int32_t d = 0; d < norm->type.rank; ++d) norm->dims[d] = norm->type.dims[d];
  norm->type.dims = norm->dims;
  norm->dtype = byoc_compute_dtype(norm->type.dtype);
  norm->epsilon = byoc_node_takes(node, "epsilon") ? byoc_node_float(node, "epsilon") : 0.0;
}

// Indices of the operand's element from those of the rows.
static void operand_indices(byoc_loop_builder_t *b, const norm_t *norm, const byoc_loop_expr_t *const *indices,
                            const byoc_loop_expr_t **out) {
  if (!norm->grouped) {
    for (int32_t d = 0; d < norm->type.rank; ++d) out[d] = indices[d];
    return;
  }
  out[0] = indices[0];
  out[1] = BYOC_LADD(b, BYOC_LMUL(b, indices[1], byoc_loop_dim(b, norm->dims[2])), indices[2]);
  for (int32_t d = 3; d < norm->type.rank; ++d) out[d - 1] = indices[d];
}

static const byoc_loop_expr_t *element(byoc_rows_t *rows, const void *self) {
  const norm_t *norm = self;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  operand_indices(rows->b, norm, rows->indices, at);
  return byoc_emit_as(rows->b, norm->dtype, byoc_emit_load(rows->lower, norm->node, 0, at));
}

static const byoc_loop_expr_t *square(byoc_rows_t *rows, const void *self) {
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", element(rows, self));
  return BYOC_LMUL(b, x, x);
}

static const byoc_loop_expr_t *centred(byoc_rows_t *rows, const norm_t *norm) {
  return BYOC_LSUB(rows->b, element(rows, norm), byoc_row_value(rows, norm->mean));
}

static const byoc_loop_expr_t *centred_square(byoc_rows_t *rows, const void *self) {
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", centred(rows, self));
  return BYOC_LMUL(b, x, x);
}

static const byoc_loop_expr_t *magnitude(byoc_rows_t *rows, const void *self) {
  byoc_loop_builder_t *b = rows->b;
  return UN(ABS, element(rows, self));
}

static const byoc_loop_expr_t *by_length(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  return BIN(DIV, x, ((const norm_t *)self)->length);
}

// 1 / sqrt(sum / length + epsilon)
static const byoc_loop_expr_t *inverse_deviation(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  const norm_t *norm = self;
  x = BYOC_LADD(b, by_length(b, x, self), byoc_loop_const(b, norm->dtype, norm->epsilon));
  return BIN(DIV, byoc_loop_const(b, norm->dtype, 1.0), UN(SQRT, x));
}

// 1 / (sqrt(sum / length) + 1e-9), as MeanVarianceNormalization is defined.
static const byoc_loop_expr_t *inverse_mvn(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  const norm_t *norm = self;
  x = BYOC_LADD(b, UN(SQRT, by_length(b, x, self)), byoc_loop_const(b, norm->dtype, 1e-9));
  return BIN(DIV, byoc_loop_const(b, norm->dtype, 1.0), x);
}

// The divisor of LpNormalization. If the norm is 0, even by rounding, the result is defined as 0.
static const byoc_loop_expr_t *lp_divisor(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  const norm_t *norm = self;
  if (byoc_node_int(norm->node, "p") == 2) x = UN(SQRT, x);
  const byoc_loop_expr_t *zero = byoc_loop_const(b, norm->dtype, 0.0);
  return byoc_loop_select(b, BIN(EQ, x, zero), byoc_loop_const(b, norm->dtype, INFINITY), x);
}

static void begin_rows(byoc_rows_t *rows, byoc_lower_t *lower, norm_t *norm) {
  byoc_rows_begin(rows, lower, &norm->type, norm->over);
  rows->is_dense = byoc_lower_operand_buffer(lower, norm->node, 0) != NULL;
  norm->length = byoc_rows_length(rows, norm->dtype);
}

static void fold_mean(byoc_rows_t *rows, norm_t *norm) {
  norm->mean = byoc_rows_fold(rows, BYOC_LOOP_OP_ADD, norm->dtype, element, norm);
  byoc_rows_apply(rows, &norm->mean, by_length, norm);
}

static void store(byoc_rows_t *rows, const norm_t *norm, const byoc_loop_expr_t *value) {
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  operand_indices(rows->b, norm, rows->indices, at);
  byoc_emit_store(rows->lower, norm->node, 0, at, value);
}

// A scale or bias: one value per channel, or broadcast to the operand.
static const byoc_loop_expr_t *parameter(byoc_rows_t *rows, const norm_t *norm, uint32_t operand, bool by_channel) {
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  operand_indices(b, norm, rows->indices, at);
  const byoc_loop_expr_t *value = NULL;
  if (by_channel) {
    // GroupNormalization 18 has one value per group; from version 21 on it has one per channel.
    value = byoc_lower_load(rows->lower, norm->node, operand,
                            norm->grouped && norm->node->since_version < 21 ? &rows->indices[1] : &at[1]);
  } else {
    value = byoc_lower_load_broadcast(rows->lower, norm->node, operand, norm->node->operands[0]->type->rank, at);
  }
  return byoc_emit_as(b, norm->dtype, value);
}

static void scale_and_store(byoc_rows_t *rows, const norm_t *norm, const byoc_loop_expr_t *value, bool by_channel) {
  byoc_loop_builder_t *b = rows->b;
  if (byoc_has_operand(norm->node, 1)) value = BYOC_LMUL(b, value, parameter(rows, norm, 1, by_channel));
  if (byoc_has_operand(norm->node, 2)) value = BYOC_LADD(b, value, parameter(rows, norm, 2, by_channel));
  store(rows, norm, value);
}

// Mean, deviation, rescale: instance, group, layer and mean-variance normalisation.
static void lower_mean_variance(byoc_lower_t *lower, norm_t *norm, byoc_rows_function_t inverse, bool by_channel) {
  byoc_rows_t rows;
  begin_rows(&rows, lower, norm);
  fold_mean(&rows, norm);
  norm->scale = byoc_rows_fold(&rows, BYOC_LOOP_OP_ADD, norm->dtype, centred_square, norm);
  byoc_rows_apply(&rows, &norm->scale, inverse, norm);
  byoc_rows_each(&rows);
  scale_and_store(&rows, norm, BYOC_LMUL(rows.b, centred(&rows, norm), byoc_row_value(&rows, norm->scale)), by_channel);
  byoc_rows_each_end(&rows);
  // LayerNormalization's statistics, if they are used as results.
  for (uint32_t i = 1; i < norm->node->result_count; ++i) {
    byoc_rows_each_row(&rows);
    byoc_emit_store(lower, norm->node, i, rows.indices, byoc_row_value(&rows, i == 1 ? norm->mean : norm->scale));
    byoc_rows_each_end(&rows);
  }
  byoc_rows_end(&rows);
}

static byoc_status_t loops_instance(byoc_lower_t *lower, const byoc_node_t *node) {
  norm_t norm;
  norm_init(&norm, node);
  for (int32_t d = 2; d < norm.type.rank; ++d) norm.over[d] = true;
  lower_mean_variance(lower, &norm, inverse_deviation, true);
  return BYOC_OK;
}

static byoc_status_t loops_group(byoc_lower_t *lower, const byoc_node_t *node) {
  norm_t norm;
  norm_init(&norm, node);
  byoc_graph_module_t *module = node->function->module;
  byoc_dim_t groups = byoc_dim_constant(byoc_node_int(node, "num_groups"));
  bool failed = false;
  for (int32_t d = norm.type.rank; d > 2; --d) norm.dims[d] = norm.dims[d - 1], norm.over[d] = true;
  norm.dims[2] = byoc_dim_binary(&module->arena, BYOC_DIM_FLOORDIV, norm.dims[1], groups, &failed);
  if (failed) return BYOC_OUT_OF_MEMORY;
  norm.dims[1] = groups;
  norm.over[2] = true;
  ++norm.type.rank;
  norm.grouped = true;
  lower_mean_variance(lower, &norm, inverse_deviation, true);
  return BYOC_OK;
}

static void over_from_axis(norm_t *norm) {
  norm->axis = byoc_node_axis(norm->node, "axis", norm->type.rank);
  for (int32_t d = norm->axis; d < norm->type.rank; ++d) norm->over[d] = true;
}

static byoc_status_t loops_layer(byoc_lower_t *lower, const byoc_node_t *node) {
  norm_t norm;
  norm_init(&norm, node);
  over_from_axis(&norm);
  lower_mean_variance(lower, &norm, inverse_deviation, false);
  return BYOC_OK;
}

static byoc_status_t loops_rms(byoc_lower_t *lower, const byoc_node_t *node) {
  norm_t norm;
  norm_init(&norm, node);
  over_from_axis(&norm);
  byoc_rows_t rows;
  begin_rows(&rows, lower, &norm);
  norm.scale = byoc_rows_fold(&rows, BYOC_LOOP_OP_ADD, norm.dtype, square, &norm);
  byoc_rows_apply(&rows, &norm.scale, inverse_deviation, &norm);
  byoc_rows_each(&rows);
  const byoc_loop_expr_t *value = BYOC_LMUL(rows.b, element(&rows, &norm), byoc_row_value(&rows, norm.scale));
  scale_and_store(&rows, &norm, value, false);
  byoc_rows_each_end(&rows);
  byoc_rows_end(&rows);
  return BYOC_OK;
}

static void read_mvn_axes(const byoc_node_t *node, int32_t rank, bool *over) {
  static const int64_t usual[] = {0, 2, 3};
  size_t count = 0;
  const int64_t *axes = byoc_node_ints(node, "axes", &count);
  if (!axes) axes = usual, count = 3;
  for (size_t i = 0; i < count; ++i) {
    int32_t axis = 0;
    if (byoc_normalize_axis(axes[i], rank, &axis)) over[axis] = true;
  }
}

static byoc_status_t loops_mvn(byoc_lower_t *lower, const byoc_node_t *node) {
  norm_t norm;
  norm_init(&norm, node);
  read_mvn_axes(node, norm.type.rank, norm.over);
  lower_mean_variance(lower, &norm, inverse_mvn, false);
  return BYOC_OK;
}

static byoc_status_t loops_lp(byoc_lower_t *lower, const byoc_node_t *node) {
  norm_t norm;
  norm_init(&norm, node);
  norm.over[byoc_node_axis(node, "axis", norm.type.rank)] = true;
  bool two = byoc_node_int(node, "p") == 2;
  byoc_rows_t rows;
  begin_rows(&rows, lower, &norm);
  norm.scale = byoc_rows_fold(&rows, BYOC_LOOP_OP_ADD, norm.dtype, two ? square : magnitude, &norm);
  byoc_rows_apply(&rows, &norm.scale, lp_divisor, &norm);
  byoc_rows_each(&rows);
  store(&rows, &norm,
        byoc_loop_binary(rows.b, BYOC_LOOP_OP_DIV, element(&rows, &norm), byoc_row_value(&rows, norm.scale)));
  byoc_rows_each_end(&rows);
  byoc_rows_end(&rows);
  return BYOC_OK;
}

// ---- BatchNormalization ----
// (x - mean) * (scale / sqrt(var + epsilon)) + bias; every operand except x is constant along a channel.
static const byoc_loop_expr_t *point_batch(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                           const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[result]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(type->dtype);
  const byoc_loop_expr_t *x = byoc_emit_as(b, dtype, byoc_emit_load(lower, node, 0, indices));
  // Before version 9, spatial = 0 kept statistics for each place in (C, H, W) instead of for each channel.
  bool spatial = byoc_node_flag(node, "spatial");
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *const *at = type->rank < 2 ? &zero : &indices[1];
  const byoc_loop_expr_t *value[5];
  for (uint32_t i = 1; i < 5; ++i) {
    value[i] = spatial || node->operands[i]->type->rank == 1
                   ? byoc_lower_load(lower, node, i, at)
                   : byoc_lower_load_broadcast(lower, node, i, type->rank, indices);
    value[i] = byoc_emit_as(b, dtype, value[i]);
  }
  double epsilon = byoc_node_float(node, "epsilon");
  const byoc_loop_expr_t *deviation = UN(SQRT, BYOC_LADD(b, value[4], byoc_loop_const(b, dtype, epsilon)));
  const byoc_loop_expr_t *y = BYOC_LMUL(b, BYOC_LSUB(b, x, value[3]), BIN(DIV, value[1], deviation));
  return byoc_emit_as(b, type->dtype, BYOC_LADD(b, y, value[2]));
}

static byoc_status_t infer_batch(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  for (uint32_t i = 0; i < 5; ++i)
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "a float tensor"));
  bool training = byoc_node_flag(node, "training_mode");
  if (node->result_count > 1 && !training) {
    return byoc_infer_unsupported(infer, "running statistics are results of training only; one result is supported");
  }
  const byoc_type_t *x = byoc_operand_type(node, 0);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  bool spatial = byoc_node_flag(node, "spatial");
  if (byoc_is_ranked(x) && spatial) {
    byoc_dim_t channels = x->rank < 2 ? byoc_dim_constant(1) : x->dims[1];
    for (uint32_t i = 1; i < 5; ++i) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 1, 1));
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, 0, channels));
    }
  }
  for (uint32_t i = 1; i < node->result_count; ++i) node->results[i]->type = byoc_operand_type(node, i + 2);
  return byoc_infer_same(infer);
}

// BatchNormalization {training_mode = 1} → byoc::BatchNormalizationTraining
static byoc_status_t expand_batch(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  if (!byoc_node_flag(node, "training_mode")) return BYOC_OK;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_node_t *made = byoc_write_many(&w, "byoc", "BatchNormalizationTraining", node->operands, node->operand_count,
                                      node->result_count, node->attributes.items, node->attributes.count);
  for (uint32_t i = 1; made && i < node->result_count; ++i) {
    if (!byoc_value_replace_uses(node->results[i], made->results[i])) return byoc_diag_out_of_memory(diag);
  }
  return byoc_write_end(&w, made ? made->results[0] : NULL, out_changed);
}

// The statistics are those of the batch; running = running * momentum + current * (1 - momentum).
static byoc_status_t loops_batch_training(byoc_lower_t *lower, const byoc_node_t *node) {
  norm_t norm;
  norm_init(&norm, node);
  for (int32_t d = 0; d < norm.type.rank; ++d) norm.over[d] = d != 1;
  double momentum = byoc_node_float(node, "momentum");
  byoc_rows_t rows;
  begin_rows(&rows, lower, &norm);
  byoc_loop_builder_t *b = rows.b;
  fold_mean(&rows, &norm);
  byoc_row_t variance = byoc_rows_fold(&rows, BYOC_LOOP_OP_ADD, norm.dtype, centred_square, &norm);
  byoc_rows_apply(&rows, &variance, by_length, &norm);
  for (uint32_t i = 1; i < node->result_count; ++i) {
    byoc_rows_each_row(&rows);
    const byoc_loop_expr_t *channel = norm.type.rank < 2 ? byoc_loop_int(b, 0) : rows.indices[1];
    const byoc_loop_expr_t *old = byoc_emit_as(b, norm.dtype, byoc_emit_load(lower, node, i + 2, &channel));
    const byoc_loop_expr_t *current = byoc_row_value(&rows, i == 1 ? norm.mean : variance);
    old = BYOC_LMUL(b, old, byoc_loop_const(b, norm.dtype, momentum));
    current = BYOC_LMUL(b, current, byoc_loop_const(b, norm.dtype, 1.0 - momentum));
    byoc_emit_store(lower, node, i, &channel, BYOC_LADD(b, old, current));
    byoc_rows_each_end(&rows);
  }
  byoc_rows_each(&rows);
  const byoc_loop_expr_t *deviation =
      BYOC_LADD(b, byoc_row_value(&rows, variance), byoc_loop_const(b, norm.dtype, norm.epsilon));
  scale_and_store(&rows, &norm, BIN(DIV, centred(&rows, &norm), UN(SQRT, deviation)), true);
  byoc_rows_each_end(&rows);
  byoc_rows_end(&rows);
  return BYOC_OK;
}

// ---- LRN ----
// x / (bias + alpha / size * sum of squares over the neighbouring channels) ^ beta
static byoc_status_t loops_lrn(byoc_lower_t *lower, const byoc_node_t *node) {
  enum { BLOCK = 64 };
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->operands[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(type->dtype);
  int64_t size = byoc_node_int(node, "size");
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0);
  int32_t last = type->rank - 1;
  // Several elements of the last dimension together, unless it is the channel.
  bool blocked = last > 1;
  const byoc_loop_expr_t *width = blocked ? byoc_emit_dim(b, type, last) : byoc_loop_int(b, 1);
  int32_t end = blocked ? last : type->rank;
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, byoc_emit_extent(b, type, 0, end));
  byoc_emit_unravel(b, type, 0, end, t, indices);
  for (int32_t d = 0; d < end; ++d) indices[d] = byoc_loop_let(b, "at", indices[d]);
  const byoc_loop_expr_t *channel = indices[1];
  const byoc_loop_expr_t *low =
      byoc_loop_let(b, "low", BYOC_LMAX(b, zero, BYOC_LSUB(b, channel, byoc_loop_int(b, (size - 1) / 2))));
  const byoc_loop_expr_t *high = BYOC_LADD(b, channel, byoc_loop_int(b, size / 2 + 1));
  high = byoc_loop_let(b, "high", BYOC_LMIN(b, byoc_emit_dim(b, type, 1), high));
  const byoc_loop_buffer_t *sums = byoc_loop_allocate(b, "sums", dtype, BLOCK);
  const byoc_loop_expr_t *block = byoc_loop_int(b, BLOCK);
  const byoc_loop_expr_t *parts = BYOC_LDIV(b, BYOC_LADD(b, width, byoc_loop_int(b, BLOCK - 1)), block);
  const byoc_loop_expr_t *part = byoc_loop_for(b, BYOC_LOOP_SERIAL, "part", zero, parts);
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LMUL(b, part, block));
  const byoc_loop_expr_t *used = byoc_loop_let(b, "used", BYOC_LMIN(b, block, BYOC_LSUB(b, width, first)));
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", zero, block);
  byoc_loop_store(b, sums, j, byoc_loop_const(b, dtype, 0.0));
  byoc_loop_end(b);
  indices[1] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "near", low, high);
  j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", zero, used);
  if (blocked) indices[last] = BYOC_LADD(b, first, j);
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", byoc_emit_load(lower, node, 0, indices));
  byoc_loop_store(b, sums, j, BYOC_LADD(b, byoc_loop_load(b, sums, j), BYOC_LMUL(b, x, x)));
  byoc_loop_end(b);
  byoc_loop_end(b);
  indices[1] = channel;
  j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", zero, used);
  if (blocked) indices[last] = BYOC_LADD(b, first, j);
  double alpha = byoc_node_float(node, "alpha");
  double beta = byoc_node_float(node, "beta");
  double bias = byoc_node_float(node, "bias");
  const byoc_loop_expr_t *base =
      BYOC_LMUL(b, byoc_loop_load(b, sums, j), byoc_loop_const(b, dtype, alpha / (double)size));
  base = byoc_loop_let(b, "base", BYOC_LADD(b, base, byoc_loop_const(b, dtype, bias)));
  // The usual exponent of 3/4 is computed by two square roots: sqrt(x) * sqrt(sqrt(x)).
  const byoc_loop_expr_t *power = NULL;
  if (beta == 0.75 && bias > 0) {
    const byoc_loop_expr_t *root = byoc_loop_let(b, "root", UN(SQRT, base));
    power = BYOC_LMUL(b, root, UN(SQRT, root));
  } else {
    power = BIN(POW, base, byoc_loop_const(b, dtype, beta));
  }
  byoc_emit_store(lower, node, 0, indices, BIN(DIV, byoc_emit_load(lower, node, 0, indices), power));
  byoc_loop_end(b);
  byoc_loop_end(b);
  byoc_loop_end(b);
  return BYOC_OK;
}

static byoc_status_t infer_lrn(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  int64_t size = byoc_node_int(infer->node, "size");
  if (size < 1) return byoc_infer_error(infer, "attribute 'size': expected 1 or more, got %lld", (long long)size);
  return byoc_infer_same(infer);
}

// ---- inference of the others ----
// Operands 1 and 2: one value per channel (or `count` values if that is not 0).
static byoc_status_t need_per_channel(byoc_infer_t *infer, int64_t count) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  for (uint32_t i = 1; i < 3; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 1, 1));
    if (byoc_is_ranked(x)) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, 0, count ? byoc_dim_constant(count) : x->dims[1]));
    }
  }
  return BYOC_OK;
}

static byoc_status_t infer_instance(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(need_per_channel(infer, 0));
  return byoc_infer_same(infer);
}

static byoc_status_t infer_group(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK - 1));
  int64_t groups = byoc_node_int(infer->node, "num_groups");
  if (groups < 1)
    return byoc_infer_error(infer, "attribute 'num_groups': expected 1 or more, got %lld", (long long)groups);
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (byoc_is_ranked(x) && byoc_dim_is_constant(x->dims[1]) && x->dims[1].constant % groups != 0) {
    return byoc_infer_error(infer, "%lld channels do not divide into %lld groups", (long long)x->dims[1].constant,
                            (long long)groups);
  }
  if (byoc_is_ranked(x)) BYOC_RETURN_IF_ERROR(byoc_infer_need_multiple(infer, 0, 1, groups));
  BYOC_RETURN_IF_ERROR(need_per_channel(infer, infer->opset < 21 ? groups : 0));
  return byoc_infer_same(infer);
}

// The element type of means and deviations. Some exporters write 0, "undefined", for the default, f32.
static byoc_dtype_t stash_type(const byoc_node_t *node) {
  const int64_t given = byoc_node_int(node, "stash_type");
  if (given < 0 || given > INT32_MAX) return BYOC_DTYPE_NONE;
  return given == 0 ? BYOC_DTYPE_F32 : byoc_dtype_from_onnx((int32_t)given);
}

static byoc_status_t infer_layer(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  const byoc_dtype_t stash = stash_type(node);
  if (!byoc_dtype_is_float(stash)) return byoc_infer_error(infer, "attribute 'stash_type' is not a float type");
  for (uint32_t i = 1; i < node->operand_count; ++i) {
    if (byoc_has_operand(node, i)) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "floats"));
  }
  if (!byoc_is_ranked(x)) return byoc_infer_same(infer);
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  for (uint32_t i = 1; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (!byoc_is_ranked(type)) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 0, x->rank));
    for (int32_t d = 0; d < type->rank; ++d) {
      bool one = byoc_dim_is_constant(type->dims[d]) && type->dims[d].constant == 1;
      if (!one) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, d, x->dims[x->rank - type->rank + d]));
    }
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = d < axis ? x->dims[d] : byoc_dim_constant(1);
  for (uint32_t i = 1; i < node->result_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, i, stash, x->rank, dims));
  }
  return byoc_infer_same(infer);
}

static byoc_status_t infer_mvn(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  size_t count = 0;
  const int64_t *axes = byoc_node_ints(infer->node, "axes", &count);
  if (!axes) BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 4, 4));
  for (size_t i = 0; byoc_is_ranked(x) && i < count; ++i) {
    int32_t axis = 0;
    if (!byoc_normalize_axis(axes[i], x->rank, &axis)) {
      return byoc_infer_error(infer, "attribute 'axes': expected values in [%d, %d], got %lld", -x->rank, x->rank - 1,
                              (long long)axes[i]);
    }
  }
  return byoc_infer_same(infer);
}

static byoc_status_t infer_lp(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  int32_t axis = 0;
  if (byoc_is_ranked(x)) BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  int64_t p = byoc_node_int(infer->node, "p");
  if (p != 1 && p != 2) return byoc_infer_error(infer, "attribute 'p': expected 1 or 2, got %lld", (long long)p);
  return byoc_infer_same(infer);
}

// ---- rows ----
static const byoc_op_attribute_t batch_attributes[] = {
    {BYOC_ATTR_FLOAT("epsilon", 1e-5)},
    {BYOC_ATTR_FLOAT("momentum", 0.9)},
    {BYOC_ATTR_INT("is_test", 0), .until = 7},
    {BYOC_ATTR_INT("spatial", 1), .until = 9},
    {BYOC_ATTR_INT("training_mode", 0), .since = 14},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t batch_training_attributes[] = {
    {BYOC_ATTR_FLOAT("epsilon", 1e-5)},
    {BYOC_ATTR_FLOAT("momentum", 0.9)},
    {BYOC_ATTR_INT("spatial", 1)},
    {BYOC_ATTR_INT("training_mode", 1)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t instance_attributes[] = {
    {BYOC_ATTR_FLOAT("epsilon", 1e-5)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t layer_attributes[] = {
    {BYOC_ATTR_INT("axis", -1)},
    {BYOC_ATTR_FLOAT("epsilon", 1e-5)},
    {BYOC_ATTR_INT("stash_type", 1)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t group_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "num_groups")},
    {BYOC_ATTR_FLOAT("epsilon", 1e-5)},
    {BYOC_ATTR_INT("stash_type", 1), .since = 21},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t mvn_attributes[] = {
    {.value = {.name = "axes", .kind = BYOC_ATTRIBUTE_INTS, .ints = (const int64_t[]){0, 2, 3}, .count = 3},
     .has_default = true},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t lp_attributes[] = {
    {BYOC_ATTR_INT("axis", -1)},
    {BYOC_ATTR_INT("p", 2)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t lrn_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "size")},
    {BYOC_ATTR_FLOAT("alpha", 1e-4)},
    {BYOC_ATTR_FLOAT("beta", 0.75)},
    {BYOC_ATTR_FLOAT("bias", 1.0)},
    BYOC_ATTR_END,
};

#define rms_attributes layer_attributes
#define instance_axes  byoc_axes_instance_norm
#define layer_axes     byoc_axes_before
#define rms_axes       byoc_axes_before
#define group_axes     byoc_axes_batch
#define lrn_axes       byoc_axes_batch
#define lp_axes        byoc_axes_beside
#define mvn_axes       NULL
#define ROW(op_name, version, least, most, results, more_traits, function)                                             \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = results, .traits = more_traits, .attributes = function##_attributes,              \
    .infer = infer_##function, .loops = loops_##function, .axes = function##_axes                                      \
  }
#define BATCH(version, results)                                                                                        \
  {                                                                                                                    \
    .domain = "", .name = "BatchNormalization", .since_version = version, .min_inputs = 5, .max_inputs = 5,            \
    .min_outputs = 1, .max_outputs = results, .traits = BYOC_OP_ELEMENTWISE | BYOC_OP_BROADCASTS,                      \
    .attributes = batch_attributes, .infer = infer_batch, .point = point_batch, .expand = expand_batch,                \
    .axes = byoc_axes_batch_norm                                                                                       \
  }

static byoc_status_t infer_rms(byoc_infer_t *infer) {
  return infer_layer(infer);
}

const byoc_op_t byoc_ops_normalize[] = {
    BATCH(6, 5),
    BATCH(7, 5),
    BATCH(9, 5),
    BATCH(14, 3),
    BATCH(15, 3),
    {.domain = "byoc",
     .name = "BatchNormalizationTraining",
     .since_version = 1,
     .min_inputs = 5,
     .max_inputs = 5,
     .min_outputs = 1,
     .max_outputs = 3,
     .traits = BYOC_OP_HEAVY,
     .attributes = batch_training_attributes,
     .infer = infer_batch,
     .loops = loops_batch_training},
    ROW(InstanceNormalization, 6, 3, 3, 1, BYOC_OP_REDUCES, instance),
    ROW(InstanceNormalization, 22, 3, 3, 1, BYOC_OP_REDUCES, instance),
    ROW(LayerNormalization, 17, 2, 3, 3, BYOC_OP_REDUCES, layer),
    ROW(GroupNormalization, 18, 3, 3, 1, BYOC_OP_REDUCES, group),
    ROW(GroupNormalization, 21, 3, 3, 1, BYOC_OP_REDUCES, group),
    ROW(RMSNormalization, 23, 2, 2, 1, BYOC_OP_REDUCES, rms),
    ROW(MeanVarianceNormalization, 9, 1, 1, 1, BYOC_OP_REDUCES, mvn),
    ROW(MeanVarianceNormalization, 13, 1, 1, 1, BYOC_OP_REDUCES, mvn),
    ROW(LpNormalization, 1, 1, 1, 1, BYOC_OP_REDUCES, lp),
    ROW(LpNormalization, 22, 1, 1, 1, BYOC_OP_REDUCES, lp),
    ROW(LRN, 1, 1, 1, 1, BYOC_OP_REDUCES, lrn),
    ROW(LRN, 13, 1, 1, 1, BYOC_OP_REDUCES, lrn),
};
const size_t byoc_ops_normalize_count = sizeof byoc_ops_normalize / sizeof *byoc_ops_normalize;
