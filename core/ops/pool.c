// Pooling: one skeleton for sliding windows (maximum, average, p-norm), and row folds for the global forms.
#include <string.h>

#include "core/ops/rows.h"
#include "core/ops/window.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

typedef enum { POOL_MAX, POOL_AVERAGE, POOL_LP } pool_kind_t;

static pool_kind_t kind_of(const byoc_node_t *node) {
  if (strstr(node->op, "Max")) return POOL_MAX;
  return strstr(node->op, "Lp") ? POOL_LP : POOL_AVERAGE;
}

static bool is_poolable(byoc_dtype_t dtype) {
  return byoc_dtype_is_float(dtype) || dtype == BYOC_DTYPE_I8 || dtype == BYOC_DTYPE_U8;
}

static byoc_status_t infer_pool(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  bool max = kind_of(node) == POOL_MAX;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, max ? is_poolable : byoc_dtype_is_float,
                                       max ? "a tensor of floats or bytes" : "a float tensor"));
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

static byoc_status_t infer_global(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = d < 2 ? x->dims[d] : byoc_dim_constant(1);
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// ---- the p-norm's pieces ----
static int64_t norm_of(const byoc_node_t *node) {
  return byoc_attributes_int(&node->attributes, "p", 2);
}

static const byoc_loop_expr_t *to_power(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t p) {
  if (p == 1) return UN(ABS, x);
  if (p == 2) return BYOC_LMUL(b, x, x);
  return BIN(POW, UN(ABS, x), byoc_loop_const(b, x->dtype, (double)p));
}

static const byoc_loop_expr_t *to_root(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t p) {
  if (p == 1) return x;
  if (p == 2) return UN(SQRT, x);
  return BIN(POW, x, byoc_loop_const(b, x->dtype, 1.0 / (double)p));
}

// ---- sliding windows ----
typedef struct {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_type_t *x_type, *y_type;
  byoc_window_t window;
  pool_kind_t kind;
  byoc_dtype_t dtype;
  int32_t last;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK]; // of the result
  const byoc_loop_buffer_t *sums, *places;
} pool_t;

// How many taps along dimension d count for output coordinate `at`: those inside the input, or inside its padding too.
static const byoc_loop_expr_t *tap_count(const pool_t *pool, int32_t d, const byoc_loop_expr_t *at, bool with_pads) {
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

static const byoc_loop_expr_t *average_divisor(const pool_t *pool) {
  byoc_loop_builder_t *b = pool->b;
  bool with_pads = byoc_attributes_int(&pool->node->attributes, "count_include_pad", 0) != 0;
  if (!pool->window.has_pads || (with_pads && !pool->window.ceil_mode)) {
    return byoc_loop_const(b, pool->dtype, (double)pool->window.taps);
  }
  const byoc_loop_expr_t *count = byoc_loop_int(b, 1);
  for (int32_t d = 0; d < pool->window.spatial; ++d) {
    count = BYOC_LMUL(b, count, tap_count(pool, d, pool->at[2 + d], with_pads));
  }
  return byoc_emit_as(b, pool->dtype, count);
}

// Position of an input element for MaxPool's second result: within the whole tensor, row- or column-major in the plane.
static const byoc_loop_expr_t *place_of(const pool_t *pool, const byoc_loop_expr_t *const *in) {
  byoc_loop_builder_t *b = pool->b;
  if (byoc_attributes_int(&pool->node->attributes, "storage_order", 0) == 0) {
    return byoc_loop_linear_index(b, pool->x_type->rank, pool->x_type->dims, in);
  }
  const byoc_loop_expr_t *plane = BYOC_LADD(b, BYOC_LMUL(b, in[0], byoc_emit_dim(b, pool->x_type, 1)), in[1]);
  for (int32_t d = pool->x_type->rank - 1; d >= 2; --d) {
    plane = BYOC_LADD(b, BYOC_LMUL(b, plane, byoc_emit_dim(b, pool->x_type, d)), in[d]);
  }
  return plane;
}

static void fold_element(const pool_t *pool, const byoc_loop_expr_t *const *in, const byoc_loop_expr_t *slot) {
  byoc_loop_builder_t *b = pool->b;
  const byoc_loop_expr_t *x = byoc_emit_load(pool->lower, pool->node, 0, in);
  const byoc_loop_expr_t *sum = byoc_loop_load(b, pool->sums, slot);
  if (pool->kind != POOL_MAX) {
    if (pool->kind == POOL_LP) x = to_power(b, x, norm_of(pool->node));
    byoc_loop_store(b, pool->sums, slot, BYOC_LADD(b, sum, x));
    return;
  }
  if (!pool->places) {
    // A selection and not a maximum: one instruction, where NaNs would cost a test each.
    x = byoc_loop_let(b, "x", x);
    byoc_loop_store(b, pool->sums, slot, byoc_loop_select(b, BIN(LT, sum, x), x, sum));
    return;
  }
  // The first place counts, also where all elements are the lowest value.
  x = byoc_loop_let(b, "x", x);
  const byoc_loop_expr_t *place = byoc_loop_load(b, pool->places, slot);
  const byoc_loop_expr_t *none = BIN(LT, place, byoc_loop_int(b, 0));
  const byoc_loop_expr_t *better = byoc_loop_let(b, "better", BIN(OR, none, BIN(LT, sum, x)));
  byoc_loop_store(b, pool->places, slot, byoc_loop_select(b, better, place_of(pool, in), place));
  byoc_loop_store(b, pool->sums, slot, byoc_loop_select(b, better, x, sum));
}

static byoc_status_t loops_pool(byoc_lower_t *lower, const byoc_node_t *node) {
  enum { STRETCH = 64 };
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  pool_t pool = {.lower = lower, .b = b, .node = node, .kind = kind_of(node)};
  pool.x_type = node->operands[0]->type, pool.y_type = node->results[0]->type;
  BYOC_RETURN_IF_ERROR(byoc_window_of(node, pool.x_type, NULL, &pool.window));
  pool.dtype = byoc_compute_dtype(pool.x_type->dtype);
  pool.last = pool.window.spatial - 1;
  const byoc_window_t *w = &pool.window;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *width = byoc_emit_dim(b, pool.y_type, 2 + pool.last);
  int64_t stretch = STRETCH, known = 0;
  if (byoc_loop_is_int(width, &known) && known >= 1 && known < stretch) stretch = known;
  const byoc_loop_expr_t *step = byoc_loop_int(b, stretch);

  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, byoc_emit_extent(b, pool.y_type, 0, 2));
  byoc_emit_unravel(b, pool.y_type, 0, 2, t, pool.at);
  for (int32_t d = 0; d < 2; ++d) pool.at[d] = byoc_loop_let(b, d == 0 ? "n" : "c", pool.at[d]);
  pool.sums = byoc_loop_allocate(b, "sums", pool.dtype, stretch);
  if (byoc_has_result(node, 1)) pool.places = byoc_loop_allocate(b, "places", BYOC_DTYPE_I64, stretch);
  for (int32_t d = 0; d < pool.last; ++d) {
    pool.at[2 + d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "at", zero, byoc_emit_dim(b, pool.y_type, 2 + d));
  }
  const byoc_loop_expr_t *parts = BYOC_LDIV(b, BYOC_LADD(b, width, byoc_loop_int(b, stretch - 1)), step);
  const byoc_loop_expr_t *part = byoc_loop_for(b, BYOC_LOOP_SERIAL, "part", zero, parts);
  const byoc_loop_expr_t *low = byoc_loop_let(b, "low", BYOC_LMUL(b, part, step));
  const byoc_loop_expr_t *high = byoc_loop_let(b, "high", BYOC_LMIN(b, BYOC_LADD(b, low, step), width));

  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", zero, step);
  byoc_loop_store(b, pool.sums, i,
                  pool.kind == POOL_MAX ? byoc_emit_lowest(b, pool.dtype) : byoc_loop_const(b, pool.dtype, 0.0));
  if (pool.places) byoc_loop_store(b, pool.places, i, byoc_loop_int(b, -1));
  byoc_loop_end(b);

  // Outer dimensions: the taps that fall inside; last dimension: the part of the line that its tap covers.
  const byoc_loop_expr_t *in[BYOC_MAX_RANK] = {pool.at[0], pool.at[1]}, *inside = NULL;
  for (int32_t d = 0; d < pool.last; ++d) {
    const byoc_loop_expr_t *tap = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", zero, byoc_loop_int(b, w->kernel[d]));
    in[2 + d] = byoc_loop_let(b, "in", byoc_window_input(b, w, d, pool.at[2 + d], tap));
    if (!w->has_pads) continue;
    const byoc_loop_expr_t *fits = byoc_emit_within(b, in[2 + d], zero, byoc_emit_dim(b, pool.x_type, 2 + d));
    inside = inside ? BIN(AND, inside, fits) : fits;
  }
  if (inside) byoc_loop_if(b, inside);
  const byoc_loop_expr_t *tap = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", zero, byoc_loop_int(b, w->kernel[pool.last]));
  const byoc_loop_expr_t *begin = low, *end = high;
  if (w->has_pads) {
    byoc_window_inside(b, w, pool.last, tap, byoc_emit_dim(b, pool.x_type, 2 + pool.last), low, high, &begin, &end);
  }
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", begin, end);
  in[2 + pool.last] = byoc_window_input(b, w, pool.last, i, tap);
  fold_element(&pool, in, BYOC_LSUB(b, i, low));
  byoc_loop_end(b);
  byoc_loop_end(b);
  if (inside) byoc_loop_end(b);
  for (int32_t d = 0; d < pool.last; ++d) byoc_loop_end(b);

  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", low, high);
  pool.at[2 + pool.last] = i;
  const byoc_loop_expr_t *value = byoc_loop_load(b, pool.sums, BYOC_LSUB(b, i, low));
  if (pool.kind == POOL_AVERAGE) value = BIN(DIV, value, average_divisor(&pool));
  if (pool.kind == POOL_LP) value = to_root(b, value, norm_of(node));
  byoc_emit_store(lower, node, 0, pool.at, value);
  if (pool.places) byoc_emit_store(lower, node, 1, pool.at, byoc_loop_load(b, pool.places, BYOC_LSUB(b, i, low)));
  byoc_loop_end(b);
  byoc_loop_end(b);
  for (int32_t d = 0; d < pool.last; ++d) byoc_loop_end(b);
  byoc_loop_end(b);
  return BYOC_OK;
}

// ---- global pools ----
typedef struct {
  const byoc_node_t *node;
  pool_kind_t kind;
  const byoc_loop_expr_t *length;
} global_t;

static const byoc_loop_expr_t *global_element(byoc_rows_t *rows, const void *self) {
  const global_t *g = self;
  const byoc_loop_expr_t *x = byoc_emit_load(rows->lower, g->node, 0, rows->indices);
  return x && g->kind == POOL_LP ? to_power(rows->b, x, norm_of(g->node)) : x;
}

static const byoc_loop_expr_t *global_finish(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  const global_t *g = self;
  if (g->kind == POOL_AVERAGE) return BIN(DIV, x, g->length);
  return g->kind == POOL_LP ? to_root(b, x, norm_of(g->node)) : x;
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
  byoc_loop_op_t op = g.kind == POOL_MAX ? BYOC_LOOP_OP_MAX : BYOC_LOOP_OP_ADD;
  byoc_row_t folded = byoc_rows_fold(&rows, op, dtype, global_element, &g);
  g.length = byoc_rows_length(&rows, dtype);
  byoc_rows_apply(&rows, &folded, global_finish, &g);
  byoc_rows_each_row(&rows);
  byoc_emit_store(lower, node, 0, rows.indices, byoc_row_value(&rows, folded));
  byoc_rows_each_end(&rows);
  byoc_rows_end(&rows);
  return BYOC_OK;
}

#define ROW(op_name, version, results, function)                                                                       \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,      \
    .max_outputs = results, .traits = BYOC_OP_REDUCES, .infer = infer_##function, .loops = loops_##function            \
  }

const byoc_op_t byoc_ops_pool[] = {
    ROW(MaxPool, 1, 1, pool),
    ROW(MaxPool, 8, 2, pool),
    ROW(MaxPool, 10, 2, pool),
    ROW(MaxPool, 11, 2, pool),
    ROW(MaxPool, 12, 2, pool),
    ROW(MaxPool, 22, 2, pool),
    ROW(AveragePool, 1, 1, pool),
    ROW(AveragePool, 7, 1, pool),
    ROW(AveragePool, 10, 1, pool),
    ROW(AveragePool, 11, 1, pool),
    ROW(AveragePool, 19, 1, pool),
    ROW(AveragePool, 22, 1, pool),
    ROW(LpPool, 2, 1, pool),
    ROW(LpPool, 11, 1, pool),
    ROW(LpPool, 18, 1, pool),
    ROW(LpPool, 22, 1, pool),
    ROW(GlobalAveragePool, 1, 1, global),
    ROW(GlobalAveragePool, 22, 1, global),
    ROW(GlobalMaxPool, 1, 1, global),
    ROW(GlobalMaxPool, 22, 1, global),
    ROW(GlobalLpPool, 2, 1, global),
    ROW(GlobalLpPool, 22, 1, global),
};
const size_t byoc_ops_pool_count = sizeof byoc_ops_pool / sizeof *byoc_ops_pool;
