// SPDX-License-Identifier: Apache-2.0
// Operators on strings: their types, and the calls of runtime functions that they become.
#include "core/ops/onnx/text/string.h"

#include <string.h>

#include "core/op/util.h"
#include "core/ops/onnx/text/regex.h"

static bool is_text(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_STRING;
}

// ---- writing ----

static byoc_node_t *write_call(byoc_writer_t *w, const char *function, byoc_value_t *const *operands,
                               uint32_t operand_count, const byoc_type_t *const *types, uint32_t result_count) {
  for (uint32_t i = 0; i < operand_count; ++i) w->failed |= !operands[i];
  for (uint32_t i = 0; i < result_count; ++i) w->failed |= !types[i];
  if (w->failed) return NULL;
  byoc_node_t *made =
      byoc_node_create(w->node->block, w->node, "byoc", "Text", 1, operands, operand_count, result_count);
  w->failed = !made || !byoc_attributes_set_string(&made->attributes, "function", function);
  if (w->failed) return NULL;
  made->name = w->node->name;
  for (uint32_t i = 0; i < result_count; ++i) made->results[i]->type = types[i];
  return made;
}

byoc_value_t *byoc_write_string(byoc_writer_t *w, const char *function, byoc_value_t *const *operands,
                                uint32_t operand_count, const byoc_type_t *type) {
  byoc_node_t *made = write_call(w, function, operands, operand_count, &type, 1);
  return made ? made->results[0] : NULL;
}

byoc_value_t *byoc_write_strings(byoc_writer_t *w, const char *name, size_t count, const char *const *texts) {
  return byoc_write_vector(w, name, BYOC_DTYPE_STRING, (int64_t)count, texts);
}

// a and b (both texts) at their common shape.
static void write_broadcast(byoc_writer_t *w, byoc_value_t **a, byoc_value_t **b) {
  if (w->failed || byoc_type_equal((*a)->type, (*b)->type)) return;
  byoc_value_t *a_shape = byoc_write_node(w, "", "Shape", *a, NULL, NULL, NULL, 0);
  byoc_value_t *b_shape = byoc_write_node(w, "", "Shape", *b, NULL, NULL, NULL, 0);
  *a = byoc_write_node(w, "", "Expand", *a, b_shape, NULL, NULL, 0);
  *b = byoc_write_node(w, "", "Expand", *b, a_shape, NULL, NULL, 0);
}

byoc_value_t *byoc_write_most(byoc_writer_t *w, byoc_value_t *counts) {
  static const int64_t zero = 0, first = 0, all = -1;
  const byoc_attribute_t axis = byoc_write_int("axis", 0);
  byoc_value_t *padded[] = {counts ? byoc_write_reshape(w, counts, &all, 1) : NULL,
                            byoc_write_vector(w, "none", BYOC_DTYPE_I64, 1, &zero)};
  w->failed |= !padded[0];
  byoc_node_t *joined = byoc_write_many(w, "", "Concat", padded, 2, 1, &axis, 1);
  return byoc_write_node(w, "", "ReduceMax", joined ? joined->results[0] : NULL,
                         byoc_write_vector(w, "first", BYOC_DTYPE_I64, 1, &first), NULL, NULL, 0);
}

byoc_value_t *byoc_write_scratch(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *places) {
  const byoc_type_t *declared = w->node->results[0]->type;
  const byoc_attribute_t axis = byoc_write_int("axis", 0);
  byoc_value_t *sizes[] = {byoc_write_node(w, "", "Shape", x, NULL, NULL, NULL, 0), places};
  w->failed |= !places;
  byoc_node_t *joined = byoc_write_many(w, "", "Concat", sizes, 2, 1, &axis, 1);
  byoc_value_t *scratch =
      byoc_write_node(w, "", "ConstantOfShape", joined ? joined->results[0] : NULL, NULL, NULL, NULL, 0);
  if (scratch == NULL || !byoc_is_ranked(declared) || declared->rank != scratch->type->rank) return scratch;
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < declared->rank; ++d)
    dims[d] = byoc_dim_is_constant(declared->dims[d]) ? declared->dims[d] : scratch->type->dims[d];
  const byoc_type_t *type =
      byoc_type_tensor(&w->node->function->module->arena, scratch->type->dtype, declared->rank, dims);
  w->failed |= type == NULL;
  if (type != NULL) scratch->type = type;
  return scratch;
}

// The shape of `type` with another element type.
static const byoc_type_t *as_type(const byoc_writer_t *w, const byoc_type_t *type, byoc_dtype_t dtype) {
  return byoc_type_tensor(&w->node->function->module->arena, dtype, type->rank, type->dims);
}

// ---- Cast, Equal ----

// To strings: through the widest type of the kind. From strings: through f64 or i64.
byoc_status_t byoc_expand_text_cast(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_value_t *x = node->operands[0];
  const byoc_type_t *from = x->type, *to = node->results[0]->type;
  byoc_writer_t w = {.node = node, .diag = diag};
  *out_changed = false;
  if (byoc_is_string(from) == byoc_is_string(to) || !byoc_is_ranked(to)) return BYOC_OK;
  if (byoc_is_string(from)) {
    bool whole = byoc_dtype_is_integer(to->dtype);
    const byoc_type_t *wide = as_type(&w, to, whole ? BYOC_DTYPE_I64 : BYOC_DTYPE_F64);
    byoc_value_t *number = byoc_write_string(&w, whole ? "to_i64" : "to_f64", &x, 1, wide);
    return byoc_write_end(&w, number ? byoc_write_cast(&w, number, to->dtype) : NULL, out_changed);
  }
  bool is_unsigned = from->dtype == BYOC_DTYPE_U64, is_whole = byoc_dtype_is_integer(from->dtype);
  byoc_dtype_t wide = is_unsigned                      ? BYOC_DTYPE_U64
                      : is_whole                       ? BYOC_DTYPE_I64
                      : from->dtype == BYOC_DTYPE_F64  ? BYOC_DTYPE_F64
                      : from->dtype == BYOC_DTYPE_BOOL ? BYOC_DTYPE_BOOL
                                                       : BYOC_DTYPE_F32;
  const char *function = is_unsigned               ? "from_u64"
                         : is_whole                ? "from_i64"
                         : wide == BYOC_DTYPE_F64  ? "from_f64"
                         : wide == BYOC_DTYPE_BOOL ? "from_bool"
                                                   : "from_f32";
  x = byoc_write_cast(&w, x, wide);
  return byoc_write_end(&w, byoc_write_string(&w, function, &x, 1, to), out_changed);
}

static byoc_status_t expand_pairs(byoc_node_t *node, const char *function, byoc_dtype_t dtype, byoc_diag_t *diag,
                                  bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *operands[] = {node->operands[0], node->operands[1]};
  write_broadcast(&w, &operands[0], &operands[1]);
  const byoc_type_t *type = w.failed ? NULL : as_type(&w, operands[0]->type, dtype);
  return byoc_write_end(&w, byoc_write_string(&w, function, operands, 2, type), out_changed);
}

byoc_status_t byoc_expand_text_equal(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  if (!byoc_is_string(byoc_operand_type(node, 0)) || !byoc_is_ranked(node->results[0]->type)) return BYOC_OK;
  return expand_pairs(node, "equal", BYOC_DTYPE_BOOL, diag, out_changed);
}

// ---- StringConcat ----

static byoc_status_t infer_concat(byoc_infer_t *infer) {
  for (uint32_t i = 0; i < 2; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, is_text, "texts"));
  return byoc_infer_broadcast(infer, BYOC_DTYPE_STRING);
}

static byoc_status_t expand_concat(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  return expand_pairs(node, "concat", BYOC_DTYPE_STRING, diag, out_changed);
}

// ---- StringNormalizer ----

static byoc_status_t infer_normalizer(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_text, "texts"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, 2));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, BYOC_DTYPE_STRING);
  if (x->rank == 2) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, 0, byoc_dim_constant(1)));
  bool failed = false;
  byoc_dim_t dims[2] = {byoc_dim_constant(1), byoc_dim_constant(1)};
  dims[x->rank - 1] = byoc_infer_unknown_dim(infer, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_STRING, x->rank, dims);
}

// → the strings that are kept, as the begin of a vector for all of them and one more, cut to their number
static byoc_status_t expand_normalizer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_arena_t *arena = &node->function->module->arena;
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_attribute_t *stop = byoc_node_given(node, "stopwords");
  // core/runtime/text.c uses the schema's numbers for the actions: NONE, LOWER, UPPER.
  const int64_t settings[] = {byoc_node_int(node, "is_case_sensitive"), byoc_node_choice(node, "case_change_action")};
  *out_changed = false;
  bool failed = false;
  byoc_dim_t extent = x->dims[x->rank - 1], one = byoc_dim_constant(1);
  extent = byoc_dim_binary(arena, BYOC_DIM_ADD, extent, one, &failed);
  const byoc_type_t *types[] = {byoc_type_tensor(arena, BYOC_DTYPE_STRING, 1, &extent),
                                byoc_type_tensor(arena, BYOC_DTYPE_I64, 1, &one)};
  byoc_value_t *operands[] = {node->operands[0],
                              byoc_write_strings(&w, "stopwords", stop ? stop->count : 0, stop ? stop->strings : NULL),
                              byoc_write_vector(&w, "settings", BYOC_DTYPE_I64, 2, settings)};
  byoc_node_t *made = write_call(&w, "normalize", operands, 3, types, 2);
  static const int64_t zero = 0, rows[] = {1, -1};
  byoc_value_t *cut[] = {made ? made->results[0] : NULL, byoc_write_vector(&w, "begin", BYOC_DTYPE_I64, 1, &zero),
                         made ? made->results[1] : NULL};
  byoc_node_t *slice = byoc_write_many(&w, "", "Slice", cut, 3, 1, NULL, 0);
  byoc_value_t *y = slice ? slice->results[0] : NULL;
  if (y && x->rank == 2) {
    y = byoc_write_node(&w, "", "Reshape", y, byoc_write_vector(&w, "rows", BYOC_DTYPE_I64, 2, rows), NULL, NULL, 0);
  }
  w.failed |= failed;
  return byoc_write_end(&w, y, out_changed);
}

// ---- StringSplit ----

static byoc_status_t infer_split(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_text, "texts"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  BYOC_RETURN_IF_ERROR(byoc_infer_set_like(infer, 1, BYOC_DTYPE_I64, x));
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, BYOC_DTYPE_STRING);
  byoc_dim_t dims[BYOC_MAX_RANK + 1];
  bool failed = false;
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank] = byoc_infer_unknown_dim(infer, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_STRING, x->rank + 1, dims);
}

// Counts the parts of each string, which gives the shape of the result.
static byoc_status_t expand_split(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = node->operands[0];
  const char *delimiter = byoc_node_text(node, "delimiter");
  const int64_t most = byoc_node_int(node, "maxsplit");
  *out_changed = false;
  if (!byoc_is_ranked(x->type)) return BYOC_OK;
  byoc_value_t *settings[] = {byoc_write_strings(&w, "delimiter", 1, &delimiter),
                              byoc_write_vector(&w, "maxsplit", BYOC_DTYPE_I64, 1, &most)};
  byoc_value_t *counting[] = {x, settings[0], settings[1]};
  byoc_value_t *counts = byoc_write_string(&w, "split_count", counting, 3, as_type(&w, x->type, BYOC_DTYPE_I64));
  byoc_value_t *scratch = byoc_write_scratch(&w, x, byoc_write_most(&w, counts));
  byoc_value_t *splitting[] = {x, scratch, settings[0], settings[1]};
  byoc_value_t *parts =
      w.failed ? NULL : byoc_write_string(&w, "split", splitting, 4, as_type(&w, scratch->type, BYOC_DTYPE_STRING));
  if (parts && byoc_has_result(node, 1) && !byoc_value_replace_uses(node->results[1], counts)) w.failed = true;
  return byoc_write_end(&w, parts, out_changed);
}

// ---- RegexFullMatch ----

static byoc_status_t infer_match(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_text, "texts"));
  const char *pattern = byoc_node_text(infer->node, "pattern");
  if (!pattern) return byoc_infer_error(infer, "attribute 'pattern' is required");
  byoc_string_t translated;
  byoc_string_init(&translated, byoc_allocator_system());
  char reason[BYOC_REGEX_REASON_SIZE];
  bool fits = byoc_regex_translate(pattern, &translated, reason), failed = translated.failed;
  byoc_string_deinit(&translated);
  if (failed) return byoc_diag_out_of_memory(infer->diag);
  if (!fits) return byoc_infer_unsupported(infer, "attribute 'pattern', \"%s\": %s", pattern, reason);
  return byoc_infer_set_like(infer, 0, BYOC_DTYPE_BOOL, byoc_operand_type(infer->node, 0));
}

static byoc_status_t expand_match(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_string_t translated;
  byoc_string_init(&translated, byoc_allocator_system());
  *out_changed = false;
  char reason[BYOC_REGEX_REASON_SIZE];
  bool fits = byoc_regex_translate(byoc_node_text(node, "pattern"), &translated, reason);
  const char *text = translated.data;
  w.failed = translated.failed || !fits;
  byoc_value_t *operands[] = {node->operands[0], w.failed ? NULL : byoc_write_strings(&w, "pattern", 1, &text)};
  byoc_string_deinit(&translated);
  byoc_value_t *y = byoc_write_string(&w, "match", operands, 2, node->results[0]->type);
  return byoc_write_end(&w, y, out_changed);
}

// ---- rows ----

static byoc_status_t infer_call(byoc_infer_t *infer) {
  for (uint32_t i = 0; i < infer->node->result_count; ++i) {
    if (byoc_is_ranked(infer->node->results[i]->type)) continue;
    return byoc_infer_error(infer, "the type of result %u must be given", i);
  }
  return BYOC_OK;
}

static const byoc_op_attribute_t normalizer_attributes[] = {
    {BYOC_ATTR_CHOICE("case_change_action", "NONE", "LOWER", "UPPER")},
    {BYOC_ATTR_INT("is_case_sensitive", 0)},
    {BYOC_ATTR(STRING, "locale")},
    {BYOC_ATTR(STRINGS, "stopwords")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t split_attributes[] = {
    {BYOC_ATTR_TEXT("delimiter", "")},
    {BYOC_ATTR_INT("maxsplit", -1)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t match_attributes[] = {
    {BYOC_ATTR(STRING, "pattern")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t text_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRING, "function")},
    BYOC_ATTR_END,
};

#define concat_attributes NULL
#define ROW(op_name, version, inputs, results, function)                                                               \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = inputs, .max_inputs = inputs,              \
    .min_outputs = 1, .max_outputs = results, .attributes = function##_attributes, .infer = infer_##function,          \
    .expand = expand_##function                                                                                        \
  }

const byoc_op_t byoc_ops_string[] = {
    ROW(StringNormalizer, 10, 1, 1, normalizer),
    ROW(StringConcat, 20, 2, 1, concat),
    ROW(StringSplit, 20, 1, 2, split),
    ROW(RegexFullMatch, 20, 1, 1, match),
    {.domain = "byoc",
     .name = "Text",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = -1,
     .min_outputs = 1,
     .max_outputs = -1,
     .traits = BYOC_OP_HOST,
     .attributes = text_attributes,
     .infer = infer_call},
};
const size_t byoc_ops_string_count = sizeof byoc_ops_string / sizeof *byoc_ops_string;
