// SPDX-License-Identifier: Apache-2.0
// Limits of elements: records them, checks constants, and inserts the checks of a run.
#include "core/op/limit.h"

#include <assert.h>
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/util.h"
#include "core/op/write.h"

bool byoc_indices_are_clamped(const byoc_graph_module_t *module) {
  return strcmp(byoc_attributes_string(&module->attributes, BYOC_ATTRIBUTE_INDICES, ""), "clamp") == 0;
}

bool byoc_indices_set_clamped(byoc_graph_module_t *module) {
  return byoc_attributes_set_string(&module->attributes, BYOC_ATTRIBUTE_INDICES, "clamp");
}

// ---- limits of operators ----

static byoc_status_t refuse_element(const byoc_infer_t *infer, const byoc_limit_t *limit, int64_t i, int64_t element) {
  const byoc_dim_t extent = limit->extents[i % limit->count].dim;
  char expected[128] = "; expected values of at least 0";
  if (limit->kind == BYOC_RANGE_NOT_ZERO) {
    snprintf(expected, sizeof expected, "; it must not be 0");
  } else if (limit->kind == BYOC_RANGE_POSITIVE) {
    snprintf(expected, sizeof expected, "; expected values of at least 1");
  } else if (byoc_dim_is_constant(extent)) {
    const bool is_index = limit->kind == BYOC_RANGE_INDEX;
    const long long least = is_index ? -(long long)extent.constant : 0;
    const long long most = (long long)(is_index ? extent.constant - 1 : extent.constant - limit->less);
    const bool has_extent = is_index || limit->less == 1;
    const int length = snprintf(expected, sizeof expected, "; expected values in [%lld, %lld]", least, most);
    if (has_extent) {
      snprintf(expected + length, sizeof expected - (size_t)length, ", the extent is %lld", (long long)extent.constant);
    }
    if (most < least) snprintf(expected, sizeof expected, ", but there are none");
  }
  return byoc_infer_error(infer, "operand %u, %s: element %lld is %lld%s", limit->operand, limit->name, (long long)i,
                          (long long)element, expected);
}

// With a dynamic extent, constants are refused only if no extent allows them.
static bool is_inside(const byoc_limit_t *limit, int64_t i, int64_t element) {
  const byoc_dim_t extent = limit->extents[i % limit->count].dim;
  if (limit->kind == BYOC_RANGE_NOT_ZERO) return element != 0;
  if (limit->kind == BYOC_RANGE_POSITIVE) return element > 0;
  if (limit->ignores && element == limit->ignored) return true;
  if (!byoc_dim_is_constant(extent) || limit->is_of_data) return limit->kind == BYOC_RANGE_INDEX || element >= 0;
  if (extent.constant == BYOC_RANGE_FREE) return true;
  if (limit->kind == BYOC_RANGE_COUNT) return element >= 0 && element <= extent.constant - limit->less;
  return element >= -extent.constant && element < extent.constant;
}

static bool is_settled(const byoc_limit_t *limit) {
  bool settled = !limit->is_of_data;
  for (uint32_t k = 0; k < limit->count; ++k) settled = settled && byoc_dim_is_constant(limit->extents[k].dim);
  return settled;
}

byoc_status_t byoc_infer_limit(const byoc_infer_t *infer, const byoc_limit_t *limit) {
  assert(byoc_node_has_trait(infer->node, BYOC_OP_LIMITS));
  if (!byoc_has_operand(infer->node, limit->operand) || byoc_indices_are_clamped(infer->node->function->module)) {
    return BYOC_OK;
  }
  if (byoc_attributes_int(&infer->node->attributes, BYOC_ATTRIBUTE_WRITTEN, 0) != 0) return BYOC_OK;
  const byoc_value_t *value = infer->node->operands[limit->operand];
  const bool is_constant = byoc_value_is_constant(value);
  const int64_t count = is_constant ? byoc_type_element_count(value->type) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t element = byoc_constant_element_i64(value->constant, i);
    if (!is_inside(limit, i, element)) return refuse_element(infer, limit, i, element);
  }
  if ((is_constant && is_settled(limit)) || !infer->relations) return BYOC_OK;
  return byoc_infer_memory(infer, !byoc_vector_push(&infer->relations->limits, infer->relations->allocator, *limit));
}

byoc_status_t byoc_infer_need_within(const byoc_infer_t *infer, uint32_t index, const char *name, byoc_side_t most) {
  const byoc_limit_t limit = {.operand = index, .name = name, .kind = BYOC_RANGE_COUNT, .count = 1, .extents = {most}};
  return byoc_infer_limit(infer, &limit);
}

byoc_status_t byoc_infer_need_indices(const byoc_infer_t *infer, uint32_t index, const char *name, byoc_side_t count) {
  const byoc_limit_t limit = {
      .operand = index, .name = name, .kind = BYOC_RANGE_COUNT, .less = 1, .count = 1, .extents = {count}};
  return byoc_infer_limit(infer, &limit);
}

byoc_status_t byoc_infer_need_index(const byoc_infer_t *infer, uint32_t index, const char *name, byoc_side_t extent) {
  const byoc_limit_t limit = {
      .operand = index, .name = name, .kind = BYOC_RANGE_INDEX, .count = 1, .extents = {extent}};
  return byoc_infer_limit(infer, &limit);
}

byoc_status_t byoc_infer_need_axes(const byoc_infer_t *infer, uint32_t index, int32_t rank, bool is_distinct) {
  const byoc_limit_t limit = {.operand = index,
                              .name = "the axes",
                              .kind = BYOC_RANGE_INDEX,
                              .count = 1,
                              .extents = {byoc_side_number(rank)},
                              .is_distinct = is_distinct};
  return byoc_infer_limit(infer, &limit);
}

byoc_status_t byoc_infer_need_not_zero(const byoc_infer_t *infer, uint32_t index, const char *name) {
  const byoc_limit_t limit = {
      .operand = index, .name = name, .kind = BYOC_RANGE_NOT_ZERO, .count = 1, .extents = {byoc_side_number(1)}};
  return byoc_infer_limit(infer, &limit);
}

byoc_status_t byoc_infer_need_positive(const byoc_infer_t *infer, uint32_t index, const char *name) {
  const byoc_limit_t limit = {
      .operand = index, .name = name, .kind = BYOC_RANGE_POSITIVE, .count = 1, .extents = {byoc_side_number(1)}};
  return byoc_infer_limit(infer, &limit);
}

// ---- the check of a run ----

// The dimension of an operand that equals `dim`; NULL if there is none.
static byoc_value_t *find_dim(const byoc_node_t *node, byoc_dim_t dim, int32_t *out_axis) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
      *out_axis = d;
      if (byoc_dim_equal(type->dims[d], dim)) return node->operands[i];
    }
  }
  return NULL;
}

static byoc_value_t *write_size(byoc_writer_t *w, byoc_value_t *x, int64_t axis, int64_t count) {
  const byoc_attribute_t range[] = {byoc_write_int("start", axis), byoc_write_int("end", axis + count)};
  return byoc_write_node(w, "", "Shape", x, NULL, NULL, range, 2);
}

// The extent as i64[1]; NULL if the node's operands do not have it.
static byoc_value_t *write_dim(byoc_writer_t *w, byoc_dim_t dim) {
  static const char *const ops[] = {[BYOC_DIM_ADD] = "Add",
                                    [BYOC_DIM_SUB] = "Sub",
                                    [BYOC_DIM_MUL] = "Mul",
                                    [BYOC_DIM_MIN] = "Min",
                                    [BYOC_DIM_MAX] = "Max"};
  int32_t axis = 0;
  if (byoc_dim_is_constant(dim)) return byoc_write_vector(w, "extent", BYOC_DTYPE_I64, 1, &dim.constant);
  byoc_value_t *whole = find_dim(w->node, dim, &axis);
  if (whole != NULL) return write_size(w, whole, axis, 1);
  const byoc_dim_kind_t kind = dim.expr->kind;
  if (kind >= sizeof(ops) / sizeof(ops[0]) || ops[kind] == NULL) return NULL;
  byoc_value_t *left = write_dim(w, dim.expr->left), *right = left ? write_dim(w, dim.expr->right) : NULL;
  return right ? byoc_write_plain(w, ops[kind], left, right) : NULL;
}

// Extents that are neighbours in the shape of one operand are read together.
static bool are_neighbours(const byoc_limit_t *limit) {
  for (uint32_t k = 0; k < limit->count; ++k) {
    const byoc_side_t *side = &limit->extents[k];
    if (side->operand < 0 || side->operand != limit->extents[0].operand) return false;
    if (side->axis != limit->extents[0].axis + (int64_t)k) return false;
  }
  return true;
}

static byoc_value_t *write_extents(byoc_writer_t *w, const byoc_limit_t *limit, byoc_value_t *extent) {
  int64_t numbers[BYOC_MAX_RANK];
  byoc_value_t *parts[BYOC_MAX_RANK];
  const byoc_attribute_t axis = byoc_write_int("axis", 0);
  if (limit->is_of_data) {
    const int64_t one = 1;
    return extent ? byoc_write_reshape(w, byoc_write_cast(w, extent, BYOC_DTYPE_I64), &one, 1) : NULL;
  }
  for (uint32_t k = 0; k < limit->count; ++k) numbers[k] = limit->extents[k].dim.constant;
  if (is_settled(limit)) return byoc_write_vector(w, "extents", BYOC_DTYPE_I64, limit->count, numbers);
  if (are_neighbours(limit)) {
    return write_size(w, w->node->operands[limit->extents[0].operand], limit->extents[0].axis, limit->count);
  }
  for (uint32_t k = 0; k < limit->count; ++k) {
    parts[k] = write_dim(w, limit->extents[k].dim);
    if (parts[k] == NULL) return NULL;
  }
  if (limit->count == 1) return parts[0];
  byoc_node_t *joined = byoc_write_many(w, "", "Concat", parts, limit->count, 1, &axis, 1);
  return joined ? joined->results[0] : NULL;
}

byoc_status_t byoc_check_limit(byoc_node_t *place, byoc_value_t *value, byoc_value_t *extent, const char *where,
                               const byoc_limit_t *limit, byoc_diag_t *diag) {
  byoc_writer_t w = {.node = place, .diag = diag};
  const int64_t rules[BYOC_RANGE_RULES] = {[BYOC_RANGE_KIND] = limit->kind,
                                           [BYOC_RANGE_LESS] = limit->less,
                                           [BYOC_RANGE_IGNORES] = limit->ignores,
                                           [BYOC_RANGE_IGNORED] = limit->ignored,
                                           [BYOC_RANGE_DISTINCT] = limit->is_distinct};
  const char *name =
      byoc_arena_format(&place->function->module->arena, "%s: operand %u, %s", where, limit->operand, limit->name);
  if (!name) return byoc_diag_out_of_memory(diag);
  byoc_value_t *extents = write_extents(&w, limit, extent);
  if (w.failed) return byoc_diag_failure(diag);
  if (!extents) return BYOC_OK;
  if (!byoc_dtype_is_integer(value->type->dtype)) value = byoc_write_cast(&w, value, BYOC_DTYPE_I64);
  byoc_value_t *operands[] = {value, extents, byoc_write_vector(&w, "rules", BYOC_DTYPE_I64, BYOC_RANGE_RULES, rules),
                              byoc_write_vector(&w, "name", BYOC_DTYPE_STRING, 1, &name)};
  if (w.failed) return byoc_diag_failure(diag);
  byoc_node_t *check = byoc_node_create(place->block, place, "byoc", "CheckRange", 1, operands, 4, 0);
  if (!check) return byoc_diag_out_of_memory(diag);
  check->name = place->name;
  return byoc_infer_node(check, diag);
}
