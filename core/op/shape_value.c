// SPDX-License-Identifier: Apache-2.0
// Follows shape arithmetic in the graph symbolically: exporters write Reshape's target as Concat(Gather(Shape(x), 0),
// -1), and the result's type should be [N, ...] even if N is a symbol and nothing can be folded.
#include <string.h>

#include "core/op/util.h"

// Deeper chains are left to constant folding. An operand that is used twice is followed twice, so a short chain may
// have millions of paths; arithmetic of exporters has less than a hundred steps.
enum { MAX_DEPTH = 24, MAX_STEPS = 4096 };

typedef struct {
  byoc_dim_t dim;
  bool is_data; // only the run knows the element; `dim` means nothing
  bool is_size; // the element is never negative
} element_t;

typedef struct {
  int32_t rank;    // 0: a scalar, 1: a list, 2: a table, row by row
  int32_t columns; // of a table; 1 otherwise
  int32_t count;
  element_t items[BYOC_MAX_RANK];
} list_t;

typedef struct {
  byoc_arena_t *arena;
  bool takes_data; // elements may be data; otherwise data ends the walk
  int32_t steps;
  bool failed;
} context_t;

static bool evaluate(context_t *context, const byoc_value_t *value, int depth, list_t *out);

// A dimension of a value, as an element.
static element_t size_of(byoc_dim_t dim) {
  return (element_t){.dim = dim, .is_size = true};
}

static element_t number(int64_t value) {
  return (element_t){.dim = byoc_dim_constant(value), .is_size = value >= 0};
}

static bool is_number(element_t element) {
  return !element.is_data && byoc_dim_is_constant(element.dim);
}

static bool operand(context_t *context, const byoc_node_t *node, uint32_t index, int depth, list_t *out) {
  return byoc_has_operand(node, index) && evaluate(context, node->operands[index], depth, out);
}

// A scalar operand's constant value.
static bool operand_int(context_t *context, const byoc_node_t *node, uint32_t index, int depth, int64_t *out) {
  list_t list;
  if (!operand(context, node, index, depth, &list) || list.count != 1) return false;
  if (!is_number(list.items[0])) return false;
  *out = list.items[0].dim.constant;
  return true;
}

// Gives the elements, which stay the same, the shape of `type`.
static bool reshape(list_t *list, const byoc_type_t *type) {
  list->rank = type->rank;
  list->columns = 1;
  if (type->rank < 2) return true;
  if (type->rank > 2 || byoc_type_element_count(type) != list->count) return false;
  list->columns = (int32_t)type->dims[1].constant;
  return list->columns > 0;
}

static bool from_constant(const byoc_constant_t *constant, list_t *out) {
  const byoc_type_t *type = constant->type;
  int64_t count = byoc_type_element_count(type);
  bool is_integer = byoc_dtype_is_integer(type->dtype) || type->dtype == BYOC_DTYPE_BOOL;
  if (!is_integer || type->rank > 2 || count < 0 || count > BYOC_MAX_RANK) return false;
  *out = (list_t){.columns = 1, .count = (int32_t)count};
  for (int32_t i = 0; i < out->count; ++i) out->items[i] = number(byoc_constant_element_i64(constant, i));
  return reshape(out, type);
}

static bool from_shape(const byoc_node_t *node, list_t *out) {
  const byoc_type_t *type = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(type)) return false;
  const byoc_attribute_t *given = byoc_node_given(node, "end");
  int64_t begin = byoc_node_int(node, "start"), end = given ? given->i : type->rank;
  if (begin < 0) begin += type->rank;
  if (end < 0) end += type->rank;
  if (begin < 0) begin = 0;
  if (end > type->rank) end = type->rank;
  *out = (list_t){.rank = 1, .columns = 1};
  for (int64_t i = begin; i < end; ++i) out->items[out->count++] = size_of(type->dims[i]);
  return true;
}

static bool from_size(context_t *context, const byoc_node_t *node, list_t *out) {
  const byoc_type_t *type = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(type)) return false;
  byoc_dim_t size = byoc_dim_constant(1);
  for (int32_t i = 0; i < type->rank; ++i) {
    size = byoc_dim_binary(context->arena, BYOC_DIM_MUL, size, type->dims[i], &context->failed);
  }
  *out = (list_t){.rank = 0, .columns = 1, .count = 1, .items = {size_of(size)}};
  return true;
}

static bool from_gather(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  list_t data, indices;
  if (byoc_node_int(node, "axis") > 0) return false;
  if (!operand(context, node, 0, depth, &data) || !operand(context, node, 1, depth, &indices)) return false;
  if (data.rank != 1 || indices.rank > 1) return false;
  *out = (list_t){.rank = indices.rank, .columns = 1, .count = indices.count};
  for (int32_t i = 0; i < indices.count; ++i) {
    int64_t at = indices.items[i].dim.constant;
    if (!is_number(indices.items[i])) return false;
    if (at < 0) at += data.count;
    if (at < 0 || at >= data.count) return false;
    out->items[i] = data.items[at];
  }
  return true;
}

static bool from_concat(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  *out = (list_t){.rank = 1, .columns = 1};
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    list_t part;
    if (!operand(context, node, i, depth, &part) || out->count + part.count > BYOC_MAX_RANK) return false;
    if (part.rank != 1) return false;
    for (int32_t j = 0; j < part.count; ++j) out->items[out->count++] = part.items[j];
  }
  return true;
}

// Rows of a table or elements of a list, forwards or backwards.
static bool from_slice(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  list_t data;
  int64_t begin = 0, end = 0, step = 1, axis = 0;
  if (!operand(context, node, 0, depth, &data) || data.rank == 0) return false;
  if (node->since_version < 10) {
    byoc_ints_t starts, ends;
    if (data.rank != 1) return false;
    if (byoc_read_ints(node, "starts", -1, &starts) != BYOC_KNOWN_YES || starts.count != 1) return false;
    if (byoc_read_ints(node, "ends", -1, &ends) != BYOC_KNOWN_YES || ends.count != 1) return false;
    begin = starts.values[0], end = ends.values[0];
  } else {
    if (!operand_int(context, node, 1, depth, &begin) || !operand_int(context, node, 2, depth, &end)) return false;
    if (byoc_has_operand(node, 3) && !operand_int(context, node, 3, depth, &axis)) return false;
    if (byoc_has_operand(node, 4) && !operand_int(context, node, 4, depth, &step)) return false;
  }
  if ((axis != 0 && axis != -data.rank) || (step != 1 && step != -1)) return false;
  const int32_t rows = data.count / data.columns, least = step > 0 ? 0 : -1, most = step > 0 ? rows : rows - 1;
  if (begin < 0) begin += rows;
  if (end < 0) end = end < -rows ? least : end + rows;
  begin = begin < least ? least : begin > most ? most : begin;
  end = end > most ? most : end;
  *out = (list_t){.rank = data.rank, .columns = data.columns};
  for (int64_t row = begin; step > 0 ? row < end : row > end; row += step) {
    for (int32_t c = 0; c < data.columns; ++c) out->items[out->count++] = data.items[row * data.columns + c];
  }
  return true;
}

static bool from_transpose(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  list_t data;
  size_t count = 0;
  const int64_t *perm = byoc_node_ints(node, "perm", &count);
  if (!operand(context, node, 0, depth, &data)) return false;
  *out = data;
  if (data.rank < 2 || (count == 2 && perm[0] == 0)) return true;
  const int32_t rows = data.count / data.columns;
  out->columns = rows;
  for (int32_t i = 0; i < data.count; ++i) {
    out->items[i % data.columns * rows + i / data.columns] = data.items[i];
  }
  return rows > 0;
}

// ConstantOfShape with as many elements as a list may have.
static bool from_filled(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  int64_t count = 0;
  list_t one;
  const byoc_attribute_t *value = byoc_node_given(node, "value");
  if (!value || value->kind != BYOC_ATTRIBUTE_TENSOR || !from_constant(value->tensor, &one) || one.count != 1)
    return false;
  if (!operand_int(context, node, 0, depth, &count) || count < 0 || count > BYOC_MAX_RANK) return false;
  *out = (list_t){.rank = 1, .columns = 1, .count = (int32_t)count};
  for (int32_t i = 0; i < out->count; ++i) out->items[i] = one.items[0];
  return true;
}

// ---- operators that compute element by element ----

// Div truncates, and dimensions are divided with a floor: x / y is max(x, 0) / y - max(-x, 0) / y.
static byoc_dim_t divide(context_t *context, element_t x, byoc_dim_t y) {
  const byoc_dim_t zero = byoc_dim_constant(0);
  byoc_arena_t *arena = context->arena;
  bool *failed = &context->failed;
  const byoc_dim_t above = x.is_size ? x.dim : byoc_dim_binary(arena, BYOC_DIM_MAX, x.dim, zero, failed);
  const byoc_dim_t quotient = byoc_dim_binary(arena, BYOC_DIM_FLOORDIV, above, y, failed);
  if (byoc_dim_equal(above, x.dim)) return quotient;
  byoc_dim_t below = byoc_dim_binary(arena, BYOC_DIM_SUB, zero, x.dim, failed);
  below = byoc_dim_binary(arena, BYOC_DIM_MAX, below, zero, failed);
  below = byoc_dim_binary(arena, BYOC_DIM_FLOORDIV, below, y, failed);
  return byoc_dim_binary(arena, BYOC_DIM_SUB, quotient, below, failed);
}

static bool combine(context_t *context, byoc_dim_kind_t kind, element_t x, element_t y, element_t *out) {
  out->is_size = kind != BYOC_DIM_SUB && x.is_size && y.is_size;
  out->is_size |= kind == BYOC_DIM_MAX && (x.is_size || y.is_size);
  if (kind == BYOC_DIM_FLOORDIV) {
    if (!y.is_size || (byoc_dim_is_constant(y.dim) && y.dim.constant == 0)) return false;
    out->dim = divide(context, x, y.dim);
    return true;
  }
  if (kind == BYOC_DIM_MOD && (!byoc_dim_is_constant(y.dim) || y.dim.constant <= 0)) return false;
  out->dim = byoc_dim_binary(context->arena, kind, x.dim, y.dim, &context->failed);
  return true;
}

// The truth of a comparison as 1 or 0; false if only the run knows it.
static bool compare(element_t x, element_t y, element_t *out) {
  const bool same = byoc_dim_equal(x.dim, y.dim);
  const bool constants = byoc_dim_is_constant(x.dim) && byoc_dim_is_constant(y.dim);
  const bool signs = (byoc_dim_is_constant(x.dim) && x.dim.constant < 0 && y.is_size) ||
                     (byoc_dim_is_constant(y.dim) && y.dim.constant < 0 && x.is_size);
  *out = number(same);
  return same || constants || signs;
}

static bool spread(const list_t *a, const list_t *b, list_t *out) {
  if (a->rank > 1 || b->rank > 1 || (a->count != b->count && a->count != 1 && b->count != 1)) return false;
  *out = (list_t){
      .rank = a->rank > b->rank ? a->rank : b->rank, .columns = 1, .count = a->count == 1 ? b->count : a->count};
  return true;
}

static bool from_arithmetic(context_t *context, const byoc_node_t *node, int depth, byoc_dim_kind_t kind, list_t *out) {
  list_t a, b;
  if (node->operand_count != 2 || (kind == BYOC_DIM_MOD && byoc_node_flag(node, "fmod"))) return false;
  if (!operand(context, node, 0, depth, &a) || !operand(context, node, 1, depth, &b) || !spread(&a, &b, out))
    return false;
  for (int32_t i = 0; i < out->count; ++i) {
    const int32_t p = a.count == 1 ? 0 : i, q = b.count == 1 ? 0 : i;
    out->items[i].is_data = a.items[p].is_data || b.items[q].is_data;
    if (!out->items[i].is_data && !combine(context, kind, a.items[p], b.items[q], &out->items[i])) return false;
  }
  return true;
}

static bool from_equal(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  list_t a, b;
  if (!operand(context, node, 0, depth, &a) || !operand(context, node, 1, depth, &b) || !spread(&a, &b, out))
    return false;
  for (int32_t i = 0; i < out->count; ++i) {
    const int32_t p = a.count == 1 ? 0 : i, q = b.count == 1 ? 0 : i;
    const bool is_known = !a.items[p].is_data && !b.items[q].is_data && compare(a.items[p], b.items[q], &out->items[i]);
    if (!is_known && !context->takes_data) return false;
    if (!is_known) out->items[i] = (element_t){.is_data = true};
  }
  return true;
}

static bool from_where(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  list_t condition, a, b, both;
  if (!operand(context, node, 0, depth, &condition)) return false;
  if (!operand(context, node, 1, depth, &a) || !operand(context, node, 2, depth, &b)) return false;
  if (!spread(&a, &b, &both) || !spread(&condition, &both, out)) return false;
  for (int32_t i = 0; i < out->count; ++i) {
    const int32_t c = condition.count == 1 ? 0 : i;
    const bool is_known = is_number(condition.items[c]);
    if (!is_known && !context->takes_data) return false;
    const list_t *chosen = condition.items[c].dim.constant != 0 ? &a : &b;
    out->items[i] = is_known ? chosen->items[chosen->count == 1 ? 0 : i] : (element_t){.is_data = true};
  }
  return true;
}

// ReduceProd over all elements.
static bool from_product(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  list_t data;
  const byoc_type_t *type = node->results[0]->type;
  if (!operand(context, node, 0, depth, &data) || data.rank != 1) return false;
  if (!byoc_is_ranked(type) || type->rank > 1 || byoc_node_flag(node, "noop_with_empty_axes")) return false;
  element_t product = number(1);
  for (int32_t i = 0; i < data.count; ++i) {
    const bool is_data = product.is_data || data.items[i].is_data;
    combine(context, BYOC_DIM_MUL, product, data.items[i], &product);
    product.is_data = is_data;
  }
  *out = (list_t){.rank = type->rank, .columns = 1, .count = 1, .items = {product}};
  return true;
}

static bool from_node(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  const char *op = node->op;
  const byoc_type_t *type = node->results[0]->type;
  // Numbers of few bits wrap, which dimensions do not.
  if (byoc_type_is_tensor(type) && byoc_dtype_is_integer(type->dtype) && byoc_dtype_bits(type->dtype) < 32)
    return false;
  if (strcmp(op, "Shape") == 0) return from_shape(node, out);
  if (strcmp(op, "Size") == 0) return from_size(context, node, out);
  if (strcmp(op, "Gather") == 0) return from_gather(context, node, depth, out);
  if (strcmp(op, "Concat") == 0) return from_concat(context, node, depth, out);
  if (strcmp(op, "Slice") == 0) return from_slice(context, node, depth, out);
  if (strcmp(op, "Add") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_ADD, out);
  if (strcmp(op, "Sub") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_SUB, out);
  if (strcmp(op, "Mul") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_MUL, out);
  if (strcmp(op, "Div") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_FLOORDIV, out);
  if (strcmp(op, "Mod") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_MOD, out);
  if (strcmp(op, "Min") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_MIN, out);
  if (strcmp(op, "Max") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_MAX, out);
  if (strcmp(op, "Equal") == 0) return from_equal(context, node, depth, out);
  if (strcmp(op, "Where") == 0) return from_where(context, node, depth, out);
  if (strcmp(op, "Transpose") == 0) return from_transpose(context, node, depth, out);
  if (strcmp(op, "ConstantOfShape") == 0) return from_filled(context, node, depth, out);
  if (strcmp(op, "ReduceProd") == 0) return from_product(context, node, depth, out);
  if (strcmp(op, "Constant") == 0) {
    const byoc_attribute_t *value = byoc_node_given(node, "value");
    return value && value->kind == BYOC_ATTRIBUTE_TENSOR && from_constant(value->tensor, out);
  }
  const bool ranks = strcmp(op, "Unsqueeze") == 0 || strcmp(op, "Squeeze") == 0 || strcmp(op, "Reshape") == 0;
  bool same = strcmp(op, "Cast") == 0 || strcmp(op, "Identity") == 0;
  if (!ranks && !same) return false;
  if (!byoc_is_ranked(type) || !byoc_dtype_is_integer(type->dtype)) return false;
  return operand(context, node, 0, depth, out) && reshape(out, type);
}

// Makes all elements data.
static bool from_type(const byoc_type_t *type, list_t *out) {
  if (!byoc_is_ranked(type) || type->rank > 1 || !byoc_dtype_is_integer(type->dtype)) return false;
  const int64_t count = byoc_type_element_count(type);
  if (count < 0 || count > BYOC_MAX_RANK) return false;
  *out = (list_t){.rank = type->rank, .columns = 1, .count = (int32_t)count};
  for (int32_t i = 0; i < out->count; ++i) out->items[i].is_data = true;
  return true;
}

static bool evaluate(context_t *context, const byoc_value_t *value, int depth, list_t *out) {
  if (depth > MAX_DEPTH || ++context->steps > MAX_STEPS) return false;
  if (value->kind == BYOC_VALUE_CONSTANT) return from_constant(value->constant, out);
  const byoc_node_t *node = byoc_value_producer(value);
  const bool is_followed = node && !node->callee && node->domain[0] == '\0';
  if (is_followed && from_node(context, node, depth + 1, out)) return true;
  return context->takes_data && from_type(value->type, out);
}

bool byoc_infer_shape_value(const byoc_infer_t *infer, const byoc_value_t *value, int32_t *out_count,
                            byoc_dim_t out_dims[BYOC_MAX_RANK], bool out_is_data[BYOC_MAX_RANK]) {
  context_t context = {.arena = infer->arena, .takes_data = true};
  list_t list;
  *out_count = 0;
  if (!evaluate(&context, value, 0, &list) || list.rank > 1) return false;
  for (int32_t i = 0; i < list.count; ++i) {
    out_is_data[i] = list.items[i].is_data;
    out_dims[i] = list.items[i].is_data ? byoc_infer_unknown_dim(infer, &context.failed) : list.items[i].dim;
  }
  *out_count = list.count;
  return !context.failed;
}

bool byoc_shape_value(const byoc_value_t *value, byoc_arena_t *arena, int32_t *out_count,
                      byoc_dim_t out_dims[BYOC_MAX_RANK]) {
  context_t context = {.arena = arena};
  list_t list;
  *out_count = 0;
  if (!value || !evaluate(&context, value, 0, &list) || list.rank > 1 || context.failed) return false;
  *out_count = list.count;
  for (int32_t i = 0; i < list.count; ++i) out_dims[i] = list.items[i].dim;
  return true;
}

bool byoc_infer_scalar_dim(const byoc_infer_t *infer, uint32_t operand, byoc_dim_t *out) {
  byoc_dim_t list[BYOC_MAX_RANK];
  int32_t count = 0;
  if (!byoc_has_operand(infer->node, operand)) return false;
  if (!byoc_shape_value(infer->node->operands[operand], infer->arena, &count, list) || count != 1) return false;
  *out = list[0];
  return true;
}
