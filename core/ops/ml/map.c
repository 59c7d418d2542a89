// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: DictVectorizer and CastMap. Here their map is two operands, a vector of keys and a vector of values. Each
// is written as operators of ai.onnx.
#include <string.h>

#include "core/ops/ml/common.h"
#include "core/ops/onnx/text/string.h"

enum { KEYS, VALUES };

static bool is_key(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_STRING || dtype == BYOC_DTYPE_I64;
}
static bool is_i64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}
static bool is_value(byoc_dtype_t dtype) {
  return is_key(dtype) || dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F64;
}

static byoc_status_t need_map(const byoc_infer_t *infer, byoc_dtype_predicate_t keys, const char *what) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, KEYS, keys, what));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, VALUES, is_value, "values of f32, f64, i64 or strings"));
  for (uint32_t i = KEYS; i <= VALUES; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 1, 1));
  const byoc_type_t *type = byoc_operand_type(infer->node, KEYS);
  if (!byoc_is_ranked(type) || !byoc_is_ranked(byoc_operand_type(infer->node, VALUES))) {
    return byoc_infer_unsupported(infer, "the ranks of keys and values must be known");
  }
  return byoc_infer_need_dims(infer, VALUES, 1, type->dims);
}

// A vector of one element for missing keys: 0, or `text`.
static byoc_value_t *write_nothing(byoc_writer_t *w, byoc_dtype_t dtype, const char *text) {
  const int64_t none = 0;
  if (dtype == BYOC_DTYPE_STRING) return byoc_write_strings(w, "nothing", 1, &text);
  return byoc_write_cast(w, byoc_write_vector(w, "nothing", BYOC_DTYPE_I64, 1, &none), dtype);
}

// [1, columns]: for each column the value whose key has that number in `places` (an i64 for each key); without one, 0
// or `nothing`.
static byoc_value_t *write_row(byoc_writer_t *w, byoc_value_t *places, byoc_value_t *values, int64_t columns,
                               const char *nothing) {
  static const int64_t first = 0, one = 1, last[] = {-1, 1};
  int64_t *numbers = BYOC_ARENA_ARRAY(&w->node->function->module->arena, int64_t, (size_t)columns + 1);
  if (!numbers || !places || !values) w->failed = true;
  for (int64_t i = 0; i < columns && !w->failed; ++i) numbers[i] = i;
  if (w->failed) return NULL;
  byoc_value_t *zero = byoc_write_vector(w, "first", BYOC_DTYPE_I64, 1, &first);
  byoc_value_t *step = byoc_write_vector(w, "one", BYOC_DTYPE_I64, 1, &one);
  byoc_value_t *here = byoc_write_plain(w, "Equal", byoc_write_reshape(w, places, last, 2),
                                        byoc_write_vector(w, "columns", BYOC_DTYPE_I64, columns, numbers));
  // Keys are numbered from 1, because 0 means a missing key.
  byoc_value_t *count = byoc_write_plain(w, "Size", values, NULL);
  byoc_value_t *end = byoc_write_plain(w, "Add", count, byoc_write_scalar(w, step));
  byoc_value_t *ranks =
      byoc_write_node(w, "", "Range", byoc_write_scalar(w, step), end, byoc_write_scalar(w, step), NULL, 0);
  byoc_value_t *hits = byoc_write_node(w, "", "Where", here, byoc_write_reshape(w, ranks, last, 2), zero, NULL, 0);
  byoc_value_t *found = byoc_write_plain(w, "ReduceMax", hits, zero);
  found = byoc_write_plain(w, "Max", found, zero); // without keys there is no greatest number
  byoc_value_t *parts[] = {write_nothing(w, values->type->dtype, nothing), values};
  const byoc_attribute_t axis = byoc_write_int("axis", 0);
  if (!parts[0]) return NULL;
  byoc_node_t *all = byoc_write_many(w, "", "Concat", parts, 2, 1, &axis, 1);
  return all ? byoc_write_plain(w, "Gather", all->results[0], found) : NULL;
}

// ---- DictVectorizer ----

static size_t vocabulary_of(const byoc_node_t *node, const char *const **out_texts, const int64_t **out_ints) {
  size_t texts = 0, ints = 0;
  *out_texts = byoc_node_texts(node, "string_vocabulary", &texts);
  *out_ints = byoc_node_ints(node, "int64_vocabulary", &ints);
  return texts > 0 && ints > 0 ? 0 : texts + ints;
}

static byoc_status_t infer_dict_vectorizer(byoc_infer_t *infer) {
  const char *const *texts;
  const int64_t *ints;
  const size_t count = vocabulary_of(infer->node, &texts, &ints);
  BYOC_RETURN_IF_ERROR(need_map(infer, is_key, "keys of i64 or strings"));
  if (count == 0) return byoc_infer_error(infer, "one of 'string_vocabulary' and 'int64_vocabulary' must be given");
  if ((byoc_operand_type(infer->node, KEYS)->dtype == BYOC_DTYPE_I64) != (ints != NULL && texts == NULL)) {
    return byoc_infer_error(infer, "the vocabulary has another type than the keys");
  }
  const byoc_dim_t dims[2] = {byoc_dim_constant(1), byoc_dim_constant((int64_t)count)};
  return byoc_infer_set(infer, 0, byoc_operand_type(infer->node, VALUES)->dtype, 2, dims);
}

static byoc_status_t expand_dict_vectorizer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const char *const *texts;
  const int64_t *ints;
  const size_t count = vocabulary_of(node, &texts, &ints);
  int64_t *columns = BYOC_ARENA_ARRAY(&node->function->module->arena, int64_t, count + 1);
  if (!columns) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) columns[i] = (int64_t)i;
  const byoc_attribute_t attributes[] = {
      {.name = texts ? "keys_strings" : "keys_int64s",
       .kind = texts ? BYOC_ATTRIBUTE_STRINGS : BYOC_ATTRIBUTE_INTS,
       .strings = texts,
       .ints = ints,
       .count = count},
      {.name = "values_int64s", .kind = BYOC_ATTRIBUTE_INTS, .ints = columns, .count = count},
      byoc_write_int("default_int64", -1)};
  byoc_value_t *places =
      byoc_write_node(&w, BYOC_ML_DOMAIN, "LabelEncoder", node->operands[KEYS], NULL, NULL, attributes, 3);
  return byoc_write_end(&w, write_row(&w, places, node->operands[VALUES], (int64_t)count, ""), out_changed);
}

// ---- CastMap ----

enum { TO_FLOAT, TO_STRING, TO_INT64 }; // as in the attribute
enum { DENSE, SPARSE };
enum { MOST_PLACES = 1 << 24 };

static byoc_dtype_t dtype_of(const byoc_node_t *node) {
  static const byoc_dtype_t dtypes[] = {BYOC_DTYPE_F32, BYOC_DTYPE_STRING, BYOC_DTYPE_I64};
  return dtypes[byoc_node_choice(node, "cast_to")];
}

static byoc_status_t infer_cast_map(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const int64_t most = byoc_node_int(node, "max_map");
  const bool is_sparse = byoc_node_choice(node, "map_form") == SPARSE;
  BYOC_RETURN_IF_ERROR(need_map(infer, is_i64, "keys of i64"));
  if (is_sparse && (most < 1 || most > MOST_PLACES)) {
    return byoc_infer_error(infer, "attribute 'max_map': expected 1 to %d, got %lld", MOST_PLACES, (long long)most);
  }
  const byoc_dim_t size = byoc_operand_type(node, KEYS)->dims[0];
  const byoc_dim_t dims[2] = {byoc_dim_constant(1), is_sparse ? byoc_dim_constant(most) : size};
  return byoc_infer_set(infer, 0, dtype_of(node), 2, dims);
}

// Converts the values. Floats become strings with six digits after the point.
static byoc_value_t *write_values(byoc_writer_t *w) {
  byoc_value_t *values = w->node->operands[VALUES];
  const byoc_dtype_t to = dtype_of(w->node);
  if (to != BYOC_DTYPE_STRING || !byoc_dtype_is_float(values->type->dtype)) return byoc_write_cast(w, values, to);
  values = byoc_write_cast(w, values, BYOC_DTYPE_F64);
  const byoc_type_t *type =
      values ? byoc_type_tensor(&w->node->function->module->arena, to, 1, values->type->dims) : NULL;
  return type ? byoc_write_string(w, "print_f64", &values, 1, type) : NULL;
}

// The values in the order of their keys, or each at the index that is its key.
static byoc_status_t expand_cast_map(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t row[] = {1, -1};
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *values = write_values(&w), *keys = node->operands[KEYS];
  if (byoc_node_choice(node, "map_form") == SPARSE) {
    // ONNX Runtime writes "0.f" for missing strings.
    return byoc_write_end(&w, write_row(&w, keys, values, byoc_node_int(node, "max_map"), "0.f"), out_changed);
  }
  const byoc_attribute_t smallest = byoc_write_int("largest", 0);
  byoc_value_t *operands[] = {keys, byoc_write_plain(&w, "Shape", keys, NULL)};
  byoc_node_t *sorted = byoc_write_many(&w, "", "TopK", operands, 2, 2, &smallest, 1);
  byoc_value_t *y = sorted && values ? byoc_write_plain(&w, "Gather", values, sorted->results[1]) : NULL;
  return byoc_write_end(&w, y ? byoc_write_reshape(&w, y, row, 2) : NULL, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t vocabulary_attributes[] = {
    {BYOC_ATTR(INTS, "int64_vocabulary")}, {BYOC_ATTR(STRINGS, "string_vocabulary")}, BYOC_ATTR_END};
static const byoc_op_attribute_t cast_attributes[] = {
    {BYOC_ATTR_CHOICE("cast_to", "TO_FLOAT", "TO_STRING", "TO_INT64")},
    {BYOC_ATTR_CHOICE("map_form", "DENSE", "SPARSE")},
    {BYOC_ATTR_INT("max_map", 1)},
    BYOC_ATTR_END};

#define ROW(Name, schema, function)                                                                                    \
  {                                                                                                                    \
    .domain = BYOC_ML_DOMAIN, .name = Name, .since_version = 1, .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,    \
    .max_outputs = 1, .attributes = schema, .infer = infer_##function, .expand = expand_##function                     \
  }

const byoc_op_t byoc_ops_ml_map[] = {
    ROW("DictVectorizer", vocabulary_attributes, dict_vectorizer),
    ROW("CastMap", cast_attributes, cast_map),
};
const size_t byoc_ops_ml_map_count = sizeof byoc_ops_ml_map / sizeof *byoc_ops_ml_map;
