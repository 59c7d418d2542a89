// Follows shape arithmetic in the graph symbolically: exporters write Reshape's target as Concat(Gather(Shape(x), 0),
// -1), and the result's type should say [N, ...] even if N is a symbol and nothing can be folded.
#include <string.h>

#include "core/ops/util.h"

// Deeper chains are left to constant folding. An operand that is used twice is followed twice, so a short chain may
// have millions of paths; exporters' arithmetic takes less than a hundred steps.
enum { MAX_DEPTH = 24, MAX_STEPS = 4096 };

typedef struct {
  int32_t rank; // 0: a scalar, 1: a list
  int32_t count;
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool is_data[BYOC_MAX_RANK]; // only the run knows it; the dimension says nothing
} list_t;

typedef struct {
  byoc_arena_t *arena;
  bool takes_data; // elements may be data; otherwise following ends there
  int32_t steps;
  bool failed;
} context_t;

static bool evaluate(context_t *context, const byoc_value_t *value, int depth, list_t *out);

static bool operand(context_t *context, const byoc_node_t *node, uint32_t index, int depth, list_t *out) {
  return byoc_has_operand(node, index) && evaluate(context, node->operands[index], depth, out);
}

// A scalar operand's constant value.
static bool operand_int(context_t *context, const byoc_node_t *node, uint32_t index, int depth, int64_t *out) {
  list_t list;
  if (!operand(context, node, index, depth, &list) || list.count != 1) return false;
  if (list.is_data[0] || !byoc_dim_is_constant(list.dims[0])) return false;
  *out = list.dims[0].constant;
  return true;
}

static bool from_constant(const byoc_constant_t *constant, list_t *out) {
  const byoc_type_t *type = constant->type;
  int64_t count = byoc_type_element_count(type);
  if (!byoc_dtype_is_integer(type->dtype) || type->rank > 1 || count < 0 || count > BYOC_MAX_RANK) return false;
  *out = (list_t){.rank = type->rank, .count = (int32_t)count};
  for (int32_t i = 0; i < out->count; ++i) out->dims[i] = byoc_dim_constant(byoc_constant_element_i64(constant, i));
  return true;
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
  *out = (list_t){.rank = 1};
  for (int64_t i = begin; i < end; ++i) out->dims[out->count++] = type->dims[i];
  return true;
}

static bool from_size(context_t *context, const byoc_node_t *node, list_t *out) {
  const byoc_type_t *type = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(type)) return false;
  byoc_dim_t size = byoc_dim_constant(1);
  for (int32_t i = 0; i < type->rank; ++i) {
    size = byoc_dim_binary(context->arena, BYOC_DIM_MUL, size, type->dims[i], &context->failed);
  }
  *out = (list_t){.rank = 0, .count = 1, .dims = {size}};
  return true;
}

static bool from_gather(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  list_t data, indices;
  if (byoc_node_int(node, "axis") > 0) return false;
  if (!operand(context, node, 0, depth, &data) || !operand(context, node, 1, depth, &indices)) return false;
  *out = (list_t){.rank = indices.rank, .count = indices.count};
  for (int32_t i = 0; i < indices.count; ++i) {
    int64_t at = indices.dims[i].constant;
    if (indices.is_data[i] || !byoc_dim_is_constant(indices.dims[i])) return false;
    if (at < 0) at += data.count;
    if (at < 0 || at >= data.count) return false;
    out->dims[i] = data.dims[at];
    out->is_data[i] = data.is_data[at];
  }
  return data.rank == 1;
}

static bool from_concat(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  *out = (list_t){.rank = 1};
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    list_t part;
    if (!operand(context, node, i, depth, &part) || out->count + part.count > BYOC_MAX_RANK) return false;
    for (int32_t j = 0; j < part.count; ++j) {
      out->dims[out->count] = part.dims[j];
      out->is_data[out->count++] = part.is_data[j];
    }
  }
  return true;
}

static bool from_slice(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  list_t data;
  int64_t begin = 0, end = 0, step = 1;
  if (!operand(context, node, 0, depth, &data) || data.rank != 1) return false;
  if (node->since_version < 10) {
    byoc_ints_t starts, ends;
    if (byoc_read_ints(node, "starts", -1, &starts) != BYOC_KNOWN_YES || starts.count != 1) return false;
    if (byoc_read_ints(node, "ends", -1, &ends) != BYOC_KNOWN_YES || ends.count != 1) return false;
    begin = starts.values[0], end = ends.values[0];
  } else {
    if (!operand_int(context, node, 1, depth, &begin) || !operand_int(context, node, 2, depth, &end)) return false;
    if (byoc_has_operand(node, 4) && !operand_int(context, node, 4, depth, &step)) return false;
  }
  if (step != 1) return false;
  if (begin < 0) begin += data.count;
  if (end < 0) end += data.count;
  if (begin < 0) begin = 0;
  if (end > data.count) end = data.count;
  *out = (list_t){.rank = 1};
  for (int64_t i = begin; i < end; ++i) {
    out->dims[out->count] = data.dims[i];
    out->is_data[out->count++] = data.is_data[i];
  }
  return true;
}

static bool from_arithmetic(context_t *context, const byoc_node_t *node, int depth, byoc_dim_kind_t kind, list_t *out) {
  list_t a, b;
  if (!operand(context, node, 0, depth, &a) || !operand(context, node, 1, depth, &b)) return false;
  if (a.count != b.count && a.count != 1 && b.count != 1) return false;
  *out = (list_t){.rank = a.rank > b.rank ? a.rank : b.rank, .count = a.count == 1 ? b.count : a.count};
  for (int32_t i = 0; i < out->count; ++i) {
    const int32_t p = a.count == 1 ? 0 : i, q = b.count == 1 ? 0 : i;
    byoc_dim_t x = a.dims[p], y = b.dims[q];
    out->is_data[i] = a.is_data[p] || b.is_data[q];
    if (out->is_data[i]) continue;
    // Div truncates. That is a floor if neither number is negative, as dimensions never are.
    if (kind == BYOC_DIM_FLOORDIV) {
      if (byoc_dim_is_constant(y) && y.constant <= 0) return false;
      if (byoc_dim_is_constant(x) && x.constant < 0) return false;
    }
    out->dims[i] = byoc_dim_binary(context->arena, kind, x, y, &context->failed);
  }
  return true;
}

static bool from_node(context_t *context, const byoc_node_t *node, int depth, list_t *out) {
  const char *op = node->op;
  if (strcmp(op, "Shape") == 0) return from_shape(node, out);
  if (strcmp(op, "Size") == 0) return from_size(context, node, out);
  if (strcmp(op, "Gather") == 0) return from_gather(context, node, depth, out);
  if (strcmp(op, "Concat") == 0) return from_concat(context, node, depth, out);
  if (strcmp(op, "Slice") == 0) return from_slice(context, node, depth, out);
  if (strcmp(op, "Add") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_ADD, out);
  if (strcmp(op, "Sub") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_SUB, out);
  if (strcmp(op, "Mul") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_MUL, out);
  if (strcmp(op, "Div") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_FLOORDIV, out);
  const bool is_pair = node->operand_count == 2;
  if (is_pair && strcmp(op, "Max") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_MAX, out);
  if (is_pair && strcmp(op, "Min") == 0) return from_arithmetic(context, node, depth, BYOC_DIM_MIN, out);
  if (strcmp(op, "Constant") == 0) {
    const byoc_attribute_t *value = byoc_node_given(node, "value");
    return value && value->kind == BYOC_ATTRIBUTE_TENSOR && from_constant(value->tensor, out);
  }
  bool rank_up = strcmp(op, "Unsqueeze") == 0, rank_down = strcmp(op, "Squeeze") == 0;
  bool reshape = strcmp(op, "Reshape") == 0;
  bool same = strcmp(op, "Cast") == 0 || strcmp(op, "Identity") == 0;
  if (!rank_up && !rank_down && !reshape && !same) return false;
  const byoc_type_t *type = node->results[0]->type;
  if (!byoc_is_ranked(type) || type->rank > 1 || !byoc_dtype_is_integer(type->dtype)) return false;
  if (!operand(context, node, 0, depth, out)) return false;
  out->rank = type->rank;
  return true;
}

// All elements are data.
static bool from_type(const byoc_type_t *type, list_t *out) {
  if (!byoc_is_ranked(type) || type->rank > 1 || !byoc_dtype_is_integer(type->dtype)) return false;
  const int64_t count = byoc_type_element_count(type);
  if (count < 0 || count > BYOC_MAX_RANK) return false;
  *out = (list_t){.rank = type->rank, .count = (int32_t)count};
  for (int32_t i = 0; i < out->count; ++i) out->is_data[i] = true;
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
  if (!evaluate(&context, value, 0, &list)) return false;
  for (int32_t i = 0; i < list.count; ++i) {
    out_is_data[i] = list.is_data[i];
    out_dims[i] = list.is_data[i] ? byoc_infer_unknown_dim(infer, &context.failed) : list.dims[i];
  }
  *out_count = list.count;
  return !context.failed;
}

bool byoc_shape_value(const byoc_value_t *value, byoc_arena_t *arena, int32_t *out_count,
                      byoc_dim_t out_dims[BYOC_MAX_RANK]) {
  context_t context = {.arena = arena};
  list_t list;
  *out_count = 0;
  if (!value || !evaluate(&context, value, 0, &list) || context.failed) return false;
  *out_count = list.count;
  for (int32_t i = 0; i < list.count; ++i) out_dims[i] = list.dims[i];
  return true;
}
