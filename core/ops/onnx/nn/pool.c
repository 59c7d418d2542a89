// SPDX-License-Identifier: Apache-2.0
// Pooling: sliding windows (maximum, average, p-norm), and row folds for the global forms.
#include <string.h>

#include "core/op/axes.h"
#include "core/ops/loops/rows.h"
#include "core/ops/onnx/nn/pool.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

static byoc_pool_kind_t kind_of(const byoc_node_t *node) {
  if (strstr(node->op, "Max")) return BYOC_POOL_MAX;
  return strstr(node->op, "Lp") ? BYOC_POOL_LP : BYOC_POOL_AVERAGE;
}

// ONNX has no maximum of 16 bits; quantised models have, when the pass move-quantised was there.
static bool is_poolable(byoc_dtype_t dtype) {
  return byoc_dtype_is_float(dtype) || byoc_dtype_is_byte(dtype) || byoc_dtype_is_word(dtype);
}

byoc_status_t byoc_infer_pool(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  bool max = kind_of(node) == BYOC_POOL_MAX;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, max ? is_poolable : byoc_dtype_is_float,
                                       max ? "a tensor of floats or of integers of 8 or 16 bits" : "a float tensor"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set_unranked(infer, 1, BYOC_DTYPE_I64));
    return byoc_infer_set_unranked(infer, 0, x->dtype);
  }
  byoc_window_t window;
  BYOC_RETURN_IF_ERROR(byoc_window_read(infer, x, NULL, &window));
  byoc_dim_t dims[BYOC_MAX_SPATIAL + 2] = {x->dims[0], x->dims[1]};
  for (int32_t d = 0; d < window.spatial; ++d) dims[2 + d] = window.out[d];
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 1, BYOC_DTYPE_I64, x->rank, dims));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static byoc_status_t infer_pool(byoc_infer_t *infer) {
  return byoc_infer_pool(infer);
}

static byoc_status_t infer_global(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = d < 2 ? x->dims[d] : byoc_dim_constant(1);
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// The selection passes on a NaN of `most`.
const byoc_loop_expr_t *byoc_pool_larger(byoc_loop_builder_t *b, const byoc_loop_expr_t *most,
                                         const byoc_loop_expr_t *x) {
  const byoc_loop_expr_t *larger = byoc_loop_select(b, BIN(LT, most, x), x, most);
  return x && byoc_dtype_is_float(x->dtype) ? byoc_loop_select(b, UN(ISNAN, x), x, larger) : larger;
}

// ---- the p-norm's pieces ----
int64_t byoc_pool_norm(const byoc_node_t *node) {
  return byoc_node_int(node, "p");
}

const byoc_loop_expr_t *byoc_pool_power(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t p) {
  if (p == 1) return UN(ABS, x);
  if (p == 2) return BYOC_LMUL(b, x, x);
  return BIN(POW, UN(ABS, x), byoc_emit_number_like(b, x, (double)p));
}

const byoc_loop_expr_t *byoc_pool_root(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t p) {
  if (p == 1) return x;
  if (p == 2) return UN(SQRT, x);
  return BIN(POW, x, byoc_emit_number_like(b, x, 1.0 / (double)p));
}

const byoc_loop_expr_t *byoc_pool_tap_count(const byoc_pool_t *pool, int32_t d, const byoc_loop_expr_t *at,
                                            bool with_pads) {
  byoc_loop_builder_t *b = pool->b;
  const byoc_window_t *w = &pool->window;
  const byoc_loop_expr_t *dilation = byoc_loop_int(b, w->dilation[d]), *up = byoc_loop_int(b, w->dilation[d] - 1);
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *kernel = byoc_loop_int(b, w->kernel[d]);
  const byoc_loop_expr_t *start = byoc_window_input(b, w, d, at, zero); // coordinate of tap 0
  const byoc_loop_expr_t *end = byoc_emit_dim(b, pool->x_type, 2 + d);
  const byoc_loop_expr_t *first = zero;
  if (with_pads) {
    end = BYOC_LADD(b, end, byoc_loop_dim(b, w->pad_end[d]));
  } else {
    first = BYOC_LMAX(b, zero, BYOC_LDIV(b, BYOC_LADD(b, BYOC_LSUB(b, zero, start), up), dilation));
  }
  const byoc_loop_expr_t *past = BYOC_LDIV(b, BYOC_LADD(b, BYOC_LSUB(b, end, start), up), dilation);
  return BYOC_LSUB(b, BYOC_LMIN(b, kernel, past), first);
}

static byoc_status_t loops_pool(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_pool_t pool = {.lower = lower, .b = byoc_lower_builder(lower), .node = node, .kind = kind_of(node)};
  pool.x_type = node->operands[0]->type, pool.y_type = node->results[0]->type;
  BYOC_RETURN_IF_ERROR(byoc_window_of(node, pool.x_type, NULL, &pool.window));
  pool.dtype = byoc_compute_dtype(pool.x_type->dtype);
  if (byoc_has_result(node, 1) || !byoc_pool_lines(&pool)) byoc_pool_taps(&pool);
  return BYOC_OK;
}

// ---- global pools ----
typedef struct {
  const byoc_node_t *node;
  byoc_pool_kind_t kind;
  const byoc_loop_expr_t *length;
} global_t;

static const byoc_loop_expr_t *global_element(byoc_rows_t *rows, const void *self) {
  const global_t *g = self;
  const byoc_loop_expr_t *x = byoc_emit_load(rows->lower, g->node, 0, rows->indices);
  return x && g->kind == BYOC_POOL_LP ? byoc_pool_power(rows->b, x, byoc_pool_norm(g->node)) : x;
}

static const byoc_loop_expr_t *global_finish(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  const global_t *g = self;
  if (g->kind == BYOC_POOL_AVERAGE) return BIN(DIV, x, g->length);
  return g->kind == BYOC_POOL_LP ? byoc_pool_root(b, x, byoc_pool_norm(g->node)) : x;
}

static byoc_status_t loops_global(byoc_lower_t *lower, const byoc_node_t *node) {
  global_t g = {.node = node, .kind = kind_of(node)};
  const byoc_type_t *type = node->operands[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(type->dtype);
  bool over[BYOC_MAX_RANK] = {false};
  for (int32_t d = 2; d < type->rank; ++d) over[d] = true;
  byoc_rows_t rows;
  byoc_rows_begin(&rows, lower, type, over);
  rows.is_dense = byoc_lower_operand_buffer(lower, node, 0) != NULL;
  byoc_loop_op_t op = g.kind == BYOC_POOL_MAX ? BYOC_LOOP_OP_MAX : BYOC_LOOP_OP_ADD;
  byoc_row_t folded = byoc_rows_fold(&rows, op, dtype, global_element, &g);
  g.length = byoc_rows_length(&rows, dtype);
  byoc_rows_apply(&rows, &folded, global_finish, &g);
  byoc_rows_each_row(&rows);
  byoc_emit_store(lower, node, 0, rows.indices, byoc_row_value(&rows, folded));
  byoc_rows_each_end(&rows);
  byoc_rows_end(&rows);
  return BYOC_OK;
}

static const byoc_op_attribute_t max_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, "kernel_shape")},
    {BYOC_ATTR(INTS, "pads")},
    {BYOC_ATTR(INTS, "strides")},
    {BYOC_ATTR(INTS, "dilations"), .since = 10},
    BYOC_AUTO_PAD_ATTRIBUTE,
    {BYOC_ATTR_INT("ceil_mode", 0), .since = 10},
    {BYOC_ATTR_INT("storage_order", 0), .since = 8},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t average_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, "kernel_shape")},
    {BYOC_ATTR(INTS, "pads")},
    {BYOC_ATTR(INTS, "strides")},
    {BYOC_ATTR(INTS, "dilations"), .since = 19},
    BYOC_AUTO_PAD_ATTRIBUTE,
    {BYOC_ATTR_INT("ceil_mode", 0), .since = 10},
    {BYOC_ATTR_INT("count_include_pad", 0), .since = 7},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t lp_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, "kernel_shape")},
    {BYOC_ATTR(INTS, "pads")},
    {BYOC_ATTR(INTS, "strides")},
    {BYOC_ATTR(INTS, "dilations"), .since = 18},
    BYOC_AUTO_PAD_ATTRIBUTE,
    {BYOC_ATTR_INT("ceil_mode", 0), .since = 18},
    {BYOC_ATTR_INT("p", 2)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t global_lp_attributes[] = {
    {BYOC_ATTR_INT("p", 2)},
    BYOC_ATTR_END,
};

#define pool_traits   (BYOC_OP_REDUCES | BYOC_OP_CHANNELWISE)
#define global_traits BYOC_OP_REDUCES
#define pool_axes     NULL // as the trait says
#define global_axes   byoc_axes_channelwise
#define ROW(table, op_name, version, results, function)                                                                \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,      \
    .max_outputs = results, .traits = function##_traits, .attributes = table, .infer = infer_##function,               \
    .loops = loops_##function, .axes = function##_axes                                                                 \
  }

const byoc_op_t byoc_ops_pool[] = {
    ROW(max_attributes, MaxPool, 1, 1, pool),
    ROW(max_attributes, MaxPool, 8, 2, pool),
    ROW(max_attributes, MaxPool, 10, 2, pool),
    ROW(max_attributes, MaxPool, 11, 2, pool),
    ROW(max_attributes, MaxPool, 12, 2, pool),
    ROW(max_attributes, MaxPool, 22, 2, pool),
    ROW(average_attributes, AveragePool, 1, 1, pool),
    ROW(average_attributes, AveragePool, 7, 1, pool),
    ROW(average_attributes, AveragePool, 10, 1, pool),
    ROW(average_attributes, AveragePool, 11, 1, pool),
    ROW(average_attributes, AveragePool, 19, 1, pool),
    ROW(average_attributes, AveragePool, 22, 1, pool),
    ROW(lp_attributes, LpPool, 2, 1, pool),
    ROW(lp_attributes, LpPool, 11, 1, pool),
    ROW(lp_attributes, LpPool, 18, 1, pool),
    ROW(lp_attributes, LpPool, 22, 1, pool),
    ROW(NULL, GlobalAveragePool, 1, 1, global),
    ROW(NULL, GlobalAveragePool, 22, 1, global),
    ROW(NULL, GlobalMaxPool, 1, 1, global),
    ROW(NULL, GlobalMaxPool, 22, 1, global),
    ROW(global_lp_attributes, GlobalLpPool, 2, 1, global),
    ROW(global_lp_attributes, GlobalLpPool, 22, 1, global),
};
const size_t byoc_ops_pool_count = sizeof byoc_ops_pool / sizeof *byoc_ops_pool;
