// SPDX-License-Identifier: Apache-2.0
// Makes and reads ResultShape, BindSymbols, the checks, Require and their relatives; infers their types.
#include "core/ops/byoc/symbolic.h"

#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/util.h"
#include "core/op/write.h"

// Attributes of Require.
#define KINDS       "kinds"
#define NAMES       "names" // left and right of each relation, empty for a number
#define REQUIRED_BY "required_by"

// ---- ResultShape ----
static byoc_status_t infer_result_shape(byoc_infer_t *infer) {
  size_t count = 0;
  const int64_t *places = byoc_attributes_ints(&infer->node->attributes, BYOC_ATTRIBUTE_PLACES, &count);
  const byoc_op_t *op = byoc_result_shape_of(infer->node);
  if (!op || !op->shape)
    return byoc_infer_error(infer, "attribute '" BYOC_ATTRIBUTE_OF_OP "' names no operator with such shapes");
  if (!places || count % 2 != 0)
    return byoc_infer_error(infer, "attribute '" BYOC_ATTRIBUTE_PLACES "': expected pairs");
  for (int32_t i = 0; i < op->min_inputs; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, (uint32_t)i, NULL, "a tensor"));
  }
  byoc_dim_t length = byoc_dim_constant((int64_t)count / 2);
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 1, &length);
}

static byoc_status_t loops_result_shape(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_op_t *op = byoc_result_shape_of(node);
  byoc_node_t of = *node;
  of.domain = op->domain, of.op = op->name, of.since_version = op->since_version;
  of.results = NULL, of.result_count = 0;
  size_t count = 0;
  const int64_t *places = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_PLACES, &count);
  for (size_t i = 0; i < count / 2; ++i) {
    const byoc_loop_expr_t *dim = op->shape(lower, &of, (uint32_t)places[2 * i], (int32_t)places[2 * i + 1]);
    const byoc_loop_expr_t *at = byoc_loop_int(b, (int64_t)i);
    byoc_lower_store(lower, node, 0, &at, dim);
  }
  return BYOC_OK;
}

byoc_value_t *byoc_shape_only(byoc_node_t *before, const byoc_type_t *type) {
  byoc_node_t *node = byoc_node_create(before->block, before, "byoc", "ShapeOnly", 1, NULL, 0, 1);
  if (!node) return NULL;
  node->results[0]->type = type;
  return node->results[0];
}

// Inserts ResultShape before `node`. `places` are `count` pairs of result and dimension. NULL if out of memory.
static byoc_node_t *create_result_shape(byoc_node_t *node, const int64_t *places, size_t count, byoc_diag_t *diag) {
  const byoc_op_t *op = byoc_op_of(node);
  byoc_arena_t *arena = &node->function->module->arena;
  byoc_value_t **operands = BYOC_ARENA_ARRAY(arena, byoc_value_t *, node->operand_count + 1);
  int64_t *ranks = BYOC_ARENA_ARRAY(arena, int64_t, node->result_count);
  if (!operands || !ranks) return NULL;
  for (uint32_t i = 0; i < node->result_count; ++i) ranks[i] = node->results[i]->type->rank;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = node->operands[i];
    if (!operands[i] || (i < 32 && (op->shape_elements >> i) & 1)) continue;
    operands[i] = byoc_shape_only(node, operands[i]->type);
    if (!operands[i]) return NULL;
  }
  byoc_node_t *made = byoc_node_create(node->block, node, "byoc", "ResultShape", 1, operands, node->operand_count, 1);
  bool ok = made && byoc_attributes_copy(&made->attributes, &node->attributes) &&
            byoc_attributes_set_string(&made->attributes, BYOC_ATTRIBUTE_OF_DOMAIN, node->domain) &&
            byoc_attributes_set_string(&made->attributes, BYOC_ATTRIBUTE_OF_OP, node->op) &&
            byoc_attributes_set_int(&made->attributes, BYOC_ATTRIBUTE_OF_VERSION, node->since_version) &&
            byoc_attributes_set_ints(&made->attributes, BYOC_ATTRIBUTE_RANKS, ranks, node->result_count) &&
            byoc_attributes_set_ints(&made->attributes, BYOC_ATTRIBUTE_PLACES, places, 2 * count);
  if (!ok) return NULL;
  made->name = node->name;
  return byoc_infer_node(made, diag) == BYOC_OK ? made : NULL;
}

byoc_status_t byoc_bind_result_dims(byoc_node_t *node, const byoc_result_dim_t *dims, size_t count, byoc_diag_t *diag) {
  byoc_arena_t *arena = &node->function->module->arena;
  int64_t *places = BYOC_ARENA_ARRAY(arena, int64_t, 2 * count);
  const char **symbols = BYOC_ARENA_ARRAY(arena, const char *, count);
  if (!places || !symbols) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) {
    places[2 * i] = dims[i].result, places[2 * i + 1] = dims[i].d;
    symbols[i] = dims[i].symbol;
  }
  char where[256];
  byoc_node_describe(node, where, sizeof where);
  const char *origin = byoc_arena_format(arena, "%s", where);
  byoc_node_t *made = create_result_shape(node, places, count, diag);
  byoc_node_t *bind = made ? byoc_node_create(node->block, node, "byoc", "BindSymbols", 1, made->results, 1, 0) : NULL;
  if (!origin || !bind || !byoc_attributes_set_strings(&bind->attributes, "symbols", symbols, count)) {
    return byoc_diag_failure(diag);
  }
  bind->name = origin; // the operator's name in messages at run time
  return BYOC_OK;
}

byoc_status_t byoc_check_declared_dims(byoc_node_t *node, const byoc_declared_dim_t *dims, size_t count,
                                       byoc_diag_t *diag) {
  byoc_writer_t w = {.node = node, .diag = diag};
  int64_t declared[BYOC_MAX_RANK], places[2 * BYOC_MAX_RANK];
  const char *names[BYOC_MAX_RANK];
  char where[256];
  byoc_node_describe(node, where, sizeof where);
  for (size_t i = 0; i < count; ++i) {
    declared[i] = dims[i].declared;
    places[2 * i] = dims[i].result, places[2 * i + 1] = dims[i].d;
    const char *name = node->results[dims[i].result]->name;
    names[i] =
        byoc_arena_format(&node->function->module->arena, "%s: dimension %d of result %u%s%s%s", where, (int)dims[i].d,
                          (unsigned)dims[i].result, name ? " '" : "", name ? name : "", name ? "'" : "");
    if (!names[i]) return byoc_diag_out_of_memory(diag);
  }
  byoc_node_t *made = create_result_shape(node, places, count, diag);
  byoc_value_t *operands[] = {made ? made->results[0] : NULL,
                              byoc_write_vector(&w, "declared", BYOC_DTYPE_I64, (int64_t)count, declared),
                              byoc_write_vector(&w, "dimensions", BYOC_DTYPE_STRING, (int64_t)count, names)};
  if (w.failed || !operands[0]) return byoc_diag_failure(diag);
  byoc_node_t *check = byoc_node_create(node->block, node, "byoc", "CheckDims", 1, operands, 3, 0);
  if (!check) return byoc_diag_out_of_memory(diag);
  check->name = node->name;
  return byoc_infer_node(check, diag);
}

// ---- the others ----
static byoc_status_t infer_bind_symbols(byoc_infer_t *infer) {
  const byoc_type_t *values = byoc_operand_type(infer->node, 0);
  size_t count = 0;
  byoc_node_texts(infer->node, "symbols", &count);
  if (!byoc_type_is_tensor(values) || values->dtype != BYOC_DTYPE_I64 ||
      byoc_type_element_count(values) != (int64_t)count) {
    return byoc_infer_error(infer, "operand 0: expected i64[%zu]", count);
  }
  return BYOC_OK;
}

static byoc_status_t infer_check_dims(byoc_infer_t *infer) {
  static const byoc_dtype_t dtypes[] = {BYOC_DTYPE_I64, BYOC_DTYPE_I64, BYOC_DTYPE_STRING};
  for (uint32_t i = 0; i < 3; ++i) {
    const byoc_type_t *type = byoc_operand_type(infer->node, i), *first = byoc_operand_type(infer->node, 0);
    bool fits = byoc_is_ranked(type) && type->dtype == dtypes[i] && type->rank == 1 && byoc_type_is_static(type) &&
                byoc_type_element_count(type) == byoc_type_element_count(first);
    if (!fits)
      return byoc_infer_error(infer, "operand %u: expected as many dimensions, or strings, as operand 0 has", i);
  }
  return BYOC_OK;
}

static void keep_text(void *self, const char *message) {
  snprintf(self, 512, "%s", message);
}

// A check of constants is done now.
static byoc_status_t check_constants(const byoc_infer_t *infer) {
  enum { OPERANDS = 4 };
  DLTensor tensors[OPERANDS];
  int64_t dims[OPERANDS][BYOC_MAX_RANK];
  char text[512];
  for (uint32_t i = 0; i < OPERANDS; ++i) {
    const byoc_value_t *value = infer->node->operands[i];
    if (!byoc_value_is_constant(value)) return BYOC_OK;
    const byoc_type_t *type = value->constant->type;
    for (int32_t d = 0; d < type->rank; ++d) dims[i][d] = type->dims[d].constant;
    tensors[i] = (DLTensor){.data = (void *)(uintptr_t)value->constant->data,
                            .ndim = type->rank,
                            .dtype = {byoc_dtype_dlpack_code(type->dtype), (uint8_t)byoc_dtype_bits(type->dtype), 1},
                            .shape = dims[i]};
  }
  const byoc_runtime_t runtime = {.thread_count = 1, .self = text, .set_error = keep_text};
  const byoc_call_t call = {.input_count = OPERANDS, .tensors = tensors, .runtime = &runtime};
  if (byoc_check_range(&call) == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(infer->diag, BYOC_INVALID_DATA, "%s", text);
}

static byoc_status_t infer_check_range(byoc_infer_t *infer) {
  static const struct {
    byoc_dtype_t dtype;
    int64_t count;
    const char *what;
  } rest[] = {{BYOC_DTYPE_I64, -1, "the extents, a list of i64"},
              {BYOC_DTYPE_I64, BYOC_RANGE_RULES, "the limits, five numbers of i64"},
              {BYOC_DTYPE_STRING, 1, "one text"}};
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_integer, "integers"));
  for (uint32_t i = 1; i < 4; ++i) {
    const byoc_type_t *type = byoc_operand_type(infer->node, i);
    const bool fits = byoc_is_ranked(type) && type->dtype == rest[i - 1].dtype && type->rank == 1;
    const int64_t count = fits ? byoc_type_element_count(type) : 0;
    if (fits && (rest[i - 1].count < 0 ? count > 0 : count == rest[i - 1].count)) continue;
    return byoc_infer_error(infer, "operand %u: expected %s", i, rest[i - 1].what);
  }
  return check_constants(infer);
}

// ---- Require ----

// Values whose types a Require keeps.
typedef struct {
  byoc_value_t **values;
  uint32_t count;
} kept_t;

static byoc_status_t require(byoc_node_t *node, const char *where, const byoc_relation_t *relations, size_t count,
                             const kept_t *kept, byoc_diag_t *diag) {
  byoc_arena_t *arena = &node->function->module->arena;
  int64_t *kinds = BYOC_ARENA_ARRAY(arena, int64_t, count);
  const char **names = BYOC_ARENA_ARRAY(arena, const char *, 2 * count);
  byoc_node_t *made = byoc_node_create(node->block, node, "byoc", "Require", 1, kept->values, kept->count,
                                       (uint32_t)count + kept->count);
  if (!kinds || !names || !made) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < kept->count; ++i) made->results[count + i]->type = kept->values[i]->type;
  for (size_t i = 0; i < count; ++i) {
    const byoc_dim_t dims[] = {relations[i].left, relations[i].right};
    made->results[i]->type = byoc_type_tensor(arena, BYOC_DTYPE_BOOL, 2, dims);
    if (!made->results[i]->type) return byoc_diag_out_of_memory(diag);
    kinds[i] = relations[i].kind;
    names[2 * i] = relations[i].left_name ? relations[i].left_name : "";
    names[2 * i + 1] = relations[i].right_name ? relations[i].right_name : "";
  }
  bool ok = byoc_attributes_set_ints(&made->attributes, KINDS, kinds, count) &&
            byoc_attributes_set_strings(&made->attributes, NAMES, names, 2 * count) &&
            byoc_attributes_set_string(&made->attributes, REQUIRED_BY, where);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_require(byoc_node_t *node, const char *where, const byoc_relation_t *relations, size_t count,
                           byoc_diag_t *diag) {
  return require(node, where, relations, count, &(kept_t){0}, diag);
}

// The relations of a node that need no dimension which is known only after the node has run.
typedef struct {
  byoc_relation_t *items;
  size_t count;
} given_t;

static byoc_status_t find_given(const byoc_node_t *node, const byoc_relations_t *relations, given_t *out,
                                byoc_diag_t *diag) {
  const size_t most = relations->items.count;
  *out = (given_t){.items = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_relation_t, most + 1)};
  if (!out->items) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < most; ++i) {
    if (!relations->items.data[i].is_of_result) out->items[out->count++] = relations->items.data[i];
  }
  return BYOC_OK;
}

byoc_status_t byoc_require_given(byoc_node_t *node, const byoc_relations_t *relations, byoc_diag_t *diag) {
  given_t given;
  char where[256];
  BYOC_RETURN_IF_ERROR(find_given(node, relations, &given, diag));
  byoc_node_describe(node, where, sizeof where);
  return given.count > 0 ? byoc_require(node, where, given.items, given.count, diag) : BYOC_OK;
}

// ---- Require, kept while passes work ----

typedef struct {
  const byoc_function_t *function;
  const byoc_type_t *type;
} changeable_t;

// False for a dimension that may become more precise, because it is none of the function's parameters.
static bool stays(void *self, byoc_dim_t leaf) {
  const changeable_t *c = self;
  if (!byoc_type_has_leaf(c->type, leaf)) return true;
  const byoc_block_t *body = c->function->body;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    if (byoc_type_has_leaf(body->parameters.data[i]->type, leaf)) return true;
  }
  return false;
}

static bool must_be_kept(const byoc_node_t *node, const byoc_value_t *operand, const given_t *given) {
  changeable_t c = {node->function, operand->type};
  for (size_t i = 0; i < given->count; ++i) {
    if (!byoc_dim_walk(given->items[i].left, stays, &c) || !byoc_dim_walk(given->items[i].right, stays, &c))
      return true;
  }
  return false;
}

byoc_status_t byoc_require_kept(byoc_node_t *place, const byoc_node_t *node, const byoc_relations_t *relations,
                                byoc_diag_t *diag) {
  given_t given;
  BYOC_RETURN_IF_ERROR(find_given(node, relations, &given, diag));
  if (given.count == 0) return BYOC_OK;
  kept_t kept = {.values =
                     BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_value_t *, (size_t)node->operand_count + 1)};
  if (!kept.values) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_value_t *operand = node->operands[i];
    if (operand && must_be_kept(node, operand, &given)) kept.values[kept.count++] = operand;
  }
  char where[256];
  byoc_node_describe(node, where, sizeof where);
  return require(place, where, given.items, given.count, &kept, diag);
}

// The present form of a dimension that an operand had when the node was made.
static byoc_dim_t present_dim(const byoc_node_t *node, byoc_dim_t dim, bool *failed) {
  const uint32_t first = node->result_count - node->operand_count;
  if (byoc_dim_is_constant(dim)) return dim;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *before = node->results[first + i]->type, *now = byoc_operand_type(node, i);
    if (!byoc_is_ranked(before) || !byoc_is_ranked(now) || before->rank != now->rank) continue;
    for (int32_t d = 0; d < now->rank; ++d) {
      if (byoc_dim_equal(before->dims[d], dim)) return now->dims[d];
    }
  }
  if (byoc_dim_is_leaf(dim)) return dim;
  const byoc_dim_t left = present_dim(node, dim.expr->left, failed);
  const byoc_dim_t right = present_dim(node, dim.expr->right, failed);
  if (byoc_dim_equal(left, dim.expr->left) && byoc_dim_equal(right, dim.expr->right)) return dim;
  return byoc_dim_binary(&node->function->module->arena, dim.expr->kind, left, right, failed);
}

byoc_status_t byoc_requirement_read(const byoc_node_t *node, byoc_relations_t *relations, byoc_diag_t *diag) {
  bool failed = false;
  for (uint32_t i = 0; i + node->operand_count < node->result_count && !failed; ++i) {
    byoc_relation_t relation = byoc_required(node, i);
    relation.left = present_dim(node, relation.left, &failed);
    relation.right = present_dim(node, relation.right, &failed);
    failed |= !byoc_vector_push(&relations->items, relations->allocator, relation);
  }
  return failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

byoc_status_t byoc_requirement_settle(byoc_node_t *node, byoc_diag_t *diag) {
  if (node->operand_count == 0) return BYOC_OK;
  byoc_relations_t relations = {.allocator = node->function->module->allocator};
  byoc_status_t status = byoc_requirement_read(node, &relations, diag);
  if (status == BYOC_OK) {
    status = byoc_require(node, byoc_required_by(node), relations.items.data, relations.items.count, diag);
  }
  byoc_relations_deinit(&relations);
  if (status == BYOC_OK) byoc_node_erase(node);
  return status;
}

byoc_relation_t byoc_required(const byoc_node_t *node, uint32_t index) {
  size_t count = 0;
  const int64_t *kinds = byoc_node_ints(node, KINDS, &count);
  const char *const *names = byoc_node_texts(node, NAMES, &count);
  const byoc_dim_t *dims = node->results[index]->type->dims;
  const char *left = names[2 * index], *right = names[2 * index + 1];
  return (byoc_relation_t){.kind = (byoc_relation_kind_t)kinds[index],
                           .left = dims[0],
                           .right = dims[1],
                           .left_name = left[0] ? left : NULL,
                           .right_name = right[0] ? right : NULL};
}

const char *byoc_required_by(const byoc_node_t *node) {
  return byoc_node_text(node, REQUIRED_BY);
}

static byoc_status_t infer_require(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  size_t kind_count = 0, name_count = 0;
  const int64_t *kinds = byoc_node_ints(node, KINDS, &kind_count);
  (void)byoc_node_texts(node, NAMES, &name_count);
  if (kind_count < 1 || kind_count + node->operand_count != node->result_count || name_count != 2 * kind_count) {
    return byoc_infer_error(infer, "attributes '" KINDS "' and '" NAMES "': expected one and two for each relation");
  }
  for (uint32_t i = 0; i < kind_count; ++i) {
    const byoc_type_t *type = node->results[i]->type;
    if (kinds[i] >= 0 && kinds[i] < BYOC_RELATION_COUNT && byoc_is_ranked(type) && type->rank == 2) continue;
    return byoc_infer_error(infer, "result %u: expected a kind of relation and two dimensions", i);
  }
  return BYOC_OK;
}

static byoc_status_t infer_given(byoc_infer_t *infer) {
  if (byoc_is_ranked(infer->node->results[0]->type)) return BYOC_OK;
  return byoc_infer_error(infer, "the type of the result must be given");
}

static byoc_status_t infer_view(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(infer_given(infer));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  int64_t whole = byoc_type_size_bytes(byoc_operand_type(infer->node, 0));
  int64_t view = byoc_type_size_bytes(infer->node->results[0]->type);
  if (whole < 0 || view < 0 || whole == view) return BYOC_OK;
  return byoc_infer_error(infer, "operand 0 has %lld bytes, the result %lld", (long long)whole, (long long)view);
}

static const byoc_loop_expr_t *point_shape_only(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                const byoc_loop_expr_t *const *indices) {
  (void)indices;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_dtype_t dtype = node->results[result]->type->dtype;
  return byoc_loop_const(b, byoc_dtype_is_number(dtype) ? dtype : BYOC_DTYPE_BOOL, 0.0);
}

static const byoc_op_attribute_t bind_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRINGS, "symbols")},
    BYOC_ATTR_END,
};

static const byoc_op_attribute_t require_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, KINDS)},
    {BYOC_ATTR_REQUIRED(STRINGS, NAMES)},
    {BYOC_ATTR_REQUIRED(STRING, REQUIRED_BY)},
    BYOC_ATTR_END,
};

#define ROW(op_name, inputs, outputs)                                                                                  \
  .domain = "byoc", .name = #op_name, .since_version = 1, .min_inputs = inputs, .max_inputs = inputs,                  \
  .min_outputs = outputs, .max_outputs = outputs

const byoc_op_t byoc_ops_symbolic[] = {
    {.domain = "byoc",
     .name = "ResultShape",
     .since_version = 1,
     .min_inputs = 0,
     .max_inputs = -1,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_INJECTIVE,
     .infer = infer_result_shape,
     .loops = loops_result_shape},
    {ROW(BindSymbols, 1, 0), .traits = BYOC_OP_HOST, .attributes = bind_attributes, .infer = infer_bind_symbols},
    {ROW(CheckDims, 3, 0), .traits = BYOC_OP_HOST, .infer = infer_check_dims},
    {ROW(CheckRange, 4, 0), .traits = BYOC_OP_HOST, .infer = infer_check_range},
    {.domain = "byoc",
     .name = "Require",
     .since_version = 1,
     .max_inputs = -1,
     .min_outputs = 1,
     .max_outputs = -1,
     .traits = BYOC_OP_HOST,
     .attributes = require_attributes,
     .infer = infer_require},
    {ROW(ShapeOnly, 0, 1), .traits = BYOC_OP_ELEMENTWISE, .infer = infer_given, .point = point_shape_only},
    {ROW(View, 1, 1), .traits = BYOC_OP_INJECTIVE, .infer = infer_view, .is_view = true},
};
const size_t byoc_ops_symbolic_count = sizeof byoc_ops_symbolic / sizeof *byoc_ops_symbolic;
