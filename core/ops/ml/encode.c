// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: categories as numbers: LabelEncoder, CategoryMapper, OneHotEncoder. Each is written as operators of
// ai.onnx: a category is looked up by bisection in a constant table of sorted keys.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ir/element.h"
#include "core/ops/byoc/symbolic.h"
#include "core/ops/ml/common.h"

static bool is_key(byoc_dtype_t dtype) {
  return byoc_ml_is_feature(dtype) || dtype == BYOC_DTYPE_I16 || dtype == BYOC_DTYPE_STRING;
}

// ---- lists of keys and of values ----

// Elements of one type; strings are `const char *`.
typedef struct list_t {
  byoc_dtype_t dtype;
  size_t count;
  const void *data;
} list_t;

// The attributes that may hold a list.
typedef struct list_names_t {
  const char *ints, *floats, *texts, *tensor;
} list_names_t;

// One of the four attributes holds the list. The count is 0 if none does; `doubled` is set if two do. Data is NULL if
// out of memory.
static list_t read_list(const byoc_node_t *node, const list_names_t *names, bool *out_doubled) {
  size_t ints = 0, floats = 0, texts = 0;
  const int64_t *int_list = names->ints != NULL ? byoc_node_ints(node, names->ints, &ints) : NULL;
  const double *float_list = names->floats != NULL ? byoc_node_floats(node, names->floats, &floats) : NULL;
  const char *const *text_list = names->texts != NULL ? byoc_node_texts(node, names->texts, &texts) : NULL;
  const byoc_attribute_t *given = names->tensor != NULL ? byoc_node_given(node, names->tensor) : NULL;
  const byoc_constant_t *tensor = given != NULL ? given->tensor : NULL;
  *out_doubled = (ints > 0) + (floats > 0) + (texts > 0) + (tensor != NULL) > 1;
  if (tensor != NULL) {
    return (list_t){tensor->type->dtype, (size_t)byoc_type_element_count(tensor->type), tensor->data};
  }
  if (texts > 0) return (list_t){BYOC_DTYPE_STRING, texts, text_list};
  if (floats == 0) return (list_t){BYOC_DTYPE_I64, ints, int_list};
  float *copy = BYOC_ARENA_ARRAY(&node->function->module->arena, float, floats);
  for (size_t i = 0; copy != NULL && i < floats; ++i) copy[i] = (float)float_list[i];
  return (list_t){BYOC_DTYPE_F32, floats, copy};
}

static const char *text_of(const list_t *list, size_t i) {
  const char *text = ((const char *const *)list->data)[i];
  return text != NULL ? text : "";
}

static int compare_numbers(double a, double b) {
  return (a > b) - (a < b);
}

static int compare_elements(const list_t *list, size_t a, size_t b) {
  if (list->dtype == BYOC_DTYPE_STRING) return strcmp(text_of(list, a), text_of(list, b));
  if (list->dtype == BYOC_DTYPE_F32)
    return compare_numbers((double)((const float *)list->data)[a], (double)((const float *)list->data)[b]);
  if (list->dtype == BYOC_DTYPE_F64)
    return compare_numbers(((const double *)list->data)[a], ((const double *)list->data)[b]);
  const int64_t left = byoc_element_i64(list->dtype, list->data, a),
                right = byoc_element_i64(list->dtype, list->data, b);
  return (left > right) - (left < right);
}

static bool is_nan(const list_t *list, size_t i) {
  if (list->dtype == BYOC_DTYPE_F32) return isnan(((const float *)list->data)[i]);
  return list->dtype == BYOC_DTYPE_F64 && isnan(((const double *)list->data)[i]);
}

// ---- tables ----

// The element of the lists for each row of a table. Rows are sorted by keys, each key occurs once, and the last row is
// repeated until their number is a power of two. NaN is not in the table.
typedef struct order_t {
  const list_t *keys;
  size_t *at;
  size_t count; // of different keys
  size_t room;  // rows
  size_t nan;   // the element whose key is NaN; SIZE_MAX: there is none
} order_t;

typedef struct sorted_t {
  const list_t *keys;
  size_t index;
} sorted_t;

static int compare_sorted(const void *left, const void *right) {
  const sorted_t *a = left, *b = right;
  const int order = compare_elements(a->keys, a->index, b->index);
  return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static bool order_keys(byoc_arena_t *arena, const list_t *keys, bool last_counts, order_t *out) {
  *out = (order_t){.keys = keys, .nan = SIZE_MAX};
  size_t count = 0;
  for (out->room = 1; out->room < keys->count;) out->room *= 2;
  out->at = BYOC_ARENA_ARRAY(arena, size_t, out->room);
  sorted_t *sorted = BYOC_ARENA_ARRAY(arena, sorted_t, keys->count + 1);
  if (out->at == NULL || sorted == NULL) return false;
  for (size_t i = 0; i < keys->count; ++i) {
    if (!is_nan(keys, i))
      sorted[count++] = (sorted_t){keys, i};
    else if (last_counts || out->nan == SIZE_MAX)
      out->nan = i;
  }
  qsort(sorted, count, sizeof(*sorted), compare_sorted);
  for (size_t i = 0; i < count; ++i) {
    const bool is_same = i > 0 && compare_elements(keys, sorted[i - 1].index, sorted[i].index) == 0;
    if (!is_same)
      out->at[out->count++] = sorted[i].index;
    else if (last_counts)
      out->at[out->count - 1] = sorted[i].index;
  }
  for (size_t i = out->count; i < out->room; ++i) out->at[i] = out->count > 0 ? out->at[out->count - 1] : 0;
  return true;
}

// The elements in that order, then `extra` ones: that of the key NaN, or else the default; and the default.
static byoc_value_t *write_ordered(byoc_writer_t *w, const char *name, const order_t *order, const list_t *list,
                                   const list_t *otherwise) {
  const size_t size = byoc_dtype_bits(list->dtype) / 8, count = order->room + (otherwise != NULL ? 2 : 0);
  uint8_t *data = byoc_arena_allocate(&w->node->function->module->arena, count, size);
  if (data == NULL || list->data == NULL) {
    w->failed = true;
    return NULL;
  }
  for (size_t i = 0; i < count; ++i) {
    const bool is_own = i < order->room || (i == order->room && order->nan != SIZE_MAX);
    const size_t from = i < order->room ? order->at[i] : order->nan;
    const uint8_t *source = is_own ? (const uint8_t *)list->data + from * size : otherwise->data;
    memcpy(data + i * size, source, size);
  }
  return byoc_write_vector(w, name, list->dtype, (int64_t)count, data);
}

// i64 like x: the row of each element's key; the row after the table if the element and a key are NaN; else -1.
static byoc_value_t *write_search(byoc_writer_t *w, byoc_value_t *x, const order_t *order) {
  byoc_arena_t *arena = &w->node->function->module->arena;
  byoc_value_t *keys = write_ordered(w, "keys", order, order->keys, NULL);
  if (w->failed) return NULL;
  if (order->keys->dtype == BYOC_DTYPE_STRING) {
    byoc_value_t *operands[] = {x, keys};
    return byoc_write_string(w, "search", operands, 2,
                             byoc_type_tensor(arena, BYOC_DTYPE_I64, x->type->rank, x->type->dims));
  }
  byoc_value_t *none = byoc_ml_number(w, BYOC_DTYPE_I64, -1), *place = byoc_ml_number(w, BYOC_DTYPE_I64, 0);
  for (size_t step = order->room / 2; step > 0; step /= 2) {
    byoc_value_t *next = byoc_write_plain(w, "Add", place, byoc_ml_number(w, BYOC_DTYPE_I64, (double)step));
    byoc_value_t *is_there = byoc_write_plain(w, "LessOrEqual", byoc_write_plain(w, "Gather", keys, next), x);
    place = byoc_write_node(w, "", "Where", is_there, next, place, NULL, 0);
  }
  byoc_value_t *is_same = byoc_write_plain(w, "Equal", byoc_write_plain(w, "Gather", keys, place), x);
  if (order->count == 0) is_same = byoc_write_plain(w, "And", is_same, byoc_write_plain(w, "Not", is_same, NULL));
  place = byoc_write_node(w, "", "Where", is_same, place, none, NULL, 0);
  if (order->nan == SIZE_MAX) return place;
  byoc_value_t *behind = byoc_ml_number(w, BYOC_DTYPE_I64, (double)order->room);
  return byoc_write_node(w, "", "Where", byoc_write_plain(w, "IsNaN", x, NULL), behind, place, NULL, 0);
}

// The value of each element's key, else the default, which is a list of one.
static byoc_status_t write_mapped(byoc_node_t *node, const list_t *keys, const list_t *values, const list_t *otherwise,
                                  bool last_counts, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  order_t order;
  if (!order_keys(&node->function->module->arena, keys, last_counts, &order)) return byoc_diag_out_of_memory(diag);
  byoc_value_t *place = write_search(&w, node->operands[0], &order);
  byoc_value_t *table = write_ordered(&w, "values", &order, values, otherwise);
  return byoc_write_end(&w, byoc_write_plain(&w, "Gather", table, place), out_changed);
}

// ---- LabelEncoder ----

static const list_names_t key_names = {"keys_int64s", "keys_floats", "keys_strings", "keys_tensor"};
static const list_names_t value_names = {"values_int64s", "values_floats", "values_strings", "values_tensor"};

// Version 1 has one list, `classes_strings`, and maps strings to indices or indices to strings.
static bool has_classes(const byoc_node_t *node) {
  return node->since_version < 2;
}

static byoc_status_t infer_classes(byoc_infer_t *infer) {
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_key, "texts or i64"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (x->dtype != BYOC_DTYPE_STRING && x->dtype != BYOC_DTYPE_I64) {
    return byoc_infer_error(infer, "operand 0: expected strings or i64, got %s", byoc_dtype_name(x->dtype));
  }
  byoc_node_texts(infer->node, "classes_strings", &count);
  if (count == 0) return byoc_infer_error(infer, "attribute 'classes_strings' must hold the labels");
  return byoc_infer_set_like(infer, 0, x->dtype == BYOC_DTYPE_STRING ? BYOC_DTYPE_I64 : BYOC_DTYPE_STRING, x);
}

static byoc_status_t infer_label_encoder(byoc_infer_t *infer) {
  if (has_classes(infer->node)) return infer_classes(infer);
  bool many_keys = false, many_values = false;
  const list_t keys = read_list(infer->node, &key_names, &many_keys);
  const list_t values = read_list(infer->node, &value_names, &many_values);
  if (many_keys || keys.count == 0) return byoc_infer_error(infer, "one of the attributes 'keys_*' must hold the keys");
  if (many_values || values.count == 0) {
    return byoc_infer_error(infer, "one of the attributes 'values_*' must hold the values");
  }
  if (keys.count != values.count) {
    return byoc_infer_error(infer, "it has %zu keys and %zu values", keys.count, values.count);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_key, "strings, f32, f64, i16, i32 or i64"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (x->dtype != keys.dtype) {
    return byoc_infer_error(infer, "operand 0 is %s, and its keys are %s", byoc_dtype_name(x->dtype),
                            byoc_dtype_name(keys.dtype));
  }
  if (!is_key(values.dtype)) return byoc_infer_error(infer, "its values are %s", byoc_dtype_name(values.dtype));
  const byoc_attribute_t *otherwise = byoc_node_given(infer->node, "default_tensor");
  if (otherwise != NULL && otherwise->tensor != NULL &&
      (otherwise->tensor->type->dtype != values.dtype || byoc_type_element_count(otherwise->tensor->type) != 1)) {
    return byoc_infer_error(infer, "attribute 'default_tensor' is not one %s", byoc_dtype_name(values.dtype));
  }
  return byoc_infer_set_like(infer, 0, values.dtype, x);
}

// The default value for unknown keys: one element of the type of the values.
typedef struct default_t {
  union {
    int64_t i64;
    int32_t i32;
    int16_t i16;
    float f32;
    double f64;
    const char *text;
  } value;
  list_t list;
} default_t;

static void read_default(const byoc_node_t *node, byoc_dtype_t dtype, default_t *out) {
  const byoc_attribute_t *tensor = node->since_version >= 4 ? byoc_node_given(node, "default_tensor") : NULL;
  out->list = (list_t){dtype, 1, &out->value};
  if (tensor != NULL && tensor->tensor != NULL)
    out->list.data = tensor->tensor->data;
  else if (dtype == BYOC_DTYPE_STRING)
    out->value.text = byoc_node_text(node, "default_string");
  else if (dtype == BYOC_DTYPE_F32)
    out->value.f32 = (float)byoc_node_float(node, "default_float");
  else if (dtype == BYOC_DTYPE_F64)
    out->value.f64 = -0.0;
  else if (dtype == BYOC_DTYPE_I32)
    out->value.i32 = -1;
  else if (dtype == BYOC_DTYPE_I16)
    out->value.i16 = -1;
  else
    out->value.i64 = byoc_node_int(node, "default_int64");
}

// The places 0, 1, 2, ...
static list_t count_up(byoc_node_t *node, size_t count) {
  int64_t *places = BYOC_ARENA_ARRAY(&node->function->module->arena, int64_t, count);
  for (size_t i = 0; places != NULL && i < count; ++i) places[i] = (int64_t)i;
  return (list_t){BYOC_DTYPE_I64, count, places};
}

static byoc_status_t expand_label_encoder(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  bool doubled = false;
  list_t keys, values;
  if (has_classes(node)) {
    list_t classes = {.dtype = BYOC_DTYPE_STRING};
    classes.data = byoc_node_texts(node, "classes_strings", &classes.count);
    const bool is_text = byoc_is_string(node->operands[0]->type);
    const list_t places = count_up(node, classes.count);
    keys = is_text ? classes : places;
    values = is_text ? places : classes;
  } else {
    keys = read_list(node, &key_names, &doubled);
    values = read_list(node, &value_names, &doubled);
  }
  if (keys.data == NULL || values.data == NULL) return byoc_diag_out_of_memory(diag);
  default_t otherwise = {0};
  read_default(node, values.dtype, &otherwise);
  return write_mapped(node, &keys, &values, &otherwise.list, has_classes(node), diag, out_changed);
}

// ---- CategoryMapper ----

static byoc_status_t infer_mapper(byoc_infer_t *infer) {
  size_t ints = 0, texts = 0;
  byoc_node_ints(infer->node, "cats_int64s", &ints);
  byoc_node_texts(infer->node, "cats_strings", &texts);
  if (ints != texts || ints == 0) {
    return byoc_infer_error(infer, "it has %zu integers and %zu strings as categories", ints, texts);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_key, "texts or i64"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (x->dtype != BYOC_DTYPE_STRING && x->dtype != BYOC_DTYPE_I64) {
    return byoc_infer_error(infer, "operand 0: expected strings or i64, got %s", byoc_dtype_name(x->dtype));
  }
  return byoc_infer_set_like(infer, 0, x->dtype == BYOC_DTYPE_STRING ? BYOC_DTYPE_I64 : BYOC_DTYPE_STRING, x);
}

static byoc_status_t expand_mapper(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  list_t ints = {.dtype = BYOC_DTYPE_I64}, texts = {.dtype = BYOC_DTYPE_STRING};
  ints.data = byoc_node_ints(node, "cats_int64s", &ints.count);
  texts.data = byoc_node_texts(node, "cats_strings", &texts.count);
  const bool is_text = byoc_is_string(node->operands[0]->type);
  const list_t *keys = is_text ? &texts : &ints, *values = is_text ? &ints : &texts;
  default_t otherwise = {0};
  read_default(node, values->dtype, &otherwise);
  return write_mapped(node, keys, values, &otherwise.list, true, diag, out_changed);
}

// ---- OneHotEncoder ----

static const list_names_t category_names = {"cats_int64s", NULL, "cats_strings", NULL};

static bool is_category(byoc_dtype_t dtype) {
  return byoc_ml_is_feature(dtype) || dtype == BYOC_DTYPE_STRING;
}

static byoc_status_t infer_one_hot(byoc_infer_t *infer) {
  bool doubled = false;
  const list_t categories = read_list(infer->node, &category_names, &doubled);
  if (doubled || categories.count == 0) {
    return byoc_infer_error(infer, "one of the attributes 'cats_int64s' and 'cats_strings' must hold the categories");
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_category, "strings, f32, f64, i32 or i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 0, BYOC_MAX_RANK - 1));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if ((x->dtype == BYOC_DTYPE_STRING) != (categories.dtype == BYOC_DTYPE_STRING)) {
    return byoc_infer_error(infer, "operand 0 is %s, and its categories are %s", byoc_dtype_name(x->dtype),
                            byoc_dtype_name(categories.dtype));
  }
  if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "the rank of the operand must be known");
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank] = byoc_dim_constant((int64_t)categories.count);
  return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, x->rank + 1, dims);
}

// A run fails if an element is none of the categories.
static void write_check(byoc_writer_t *w, byoc_value_t *index, int64_t count) {
  const byoc_limit_t limit = {.name = "an element is none of its categories, and 'zeros' is 0: the category",
                              .kind = BYOC_RANGE_COUNT,
                              .less = 1,
                              .count = 1,
                              .extents = {byoc_side_number(count)}};
  char where[256];
  if (w->failed) return;
  byoc_node_describe(w->node, where, sizeof(where));
  if (byoc_check_limit(w->node, index, NULL, where, &limit, w->diag) != BYOC_OK) w->failed = true;
}

// → 1 where the index of the category is the index in the new last dimension, else 0
static byoc_status_t expand_one_hot(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  bool doubled = false;
  const list_t categories = read_list(node, &category_names, &doubled);
  const list_t places = count_up(node, categories.count);
  const int64_t count = (int64_t)categories.count, last = -1;
  order_t order;
  if (places.data == NULL || !order_keys(&node->function->module->arena, &categories, true, &order)) {
    return byoc_diag_out_of_memory(diag);
  }
  byoc_value_t *x = node->operands[0];
  if (categories.dtype == BYOC_DTYPE_I64) x = byoc_write_cast(&w, x, BYOC_DTYPE_I64);
  const int64_t missing = -1;
  const list_t none = {BYOC_DTYPE_I64, 1, &missing};
  byoc_value_t *index =
      byoc_write_plain(&w, "Gather", write_ordered(&w, "places", &order, &places, &none), write_search(&w, x, &order));
  if (!w.failed && byoc_node_int(node, "zeros") == 0) write_check(&w, index, count);
  index = byoc_write_plain(&w, "Unsqueeze", index, byoc_write_vector(&w, "axes", BYOC_DTYPE_I64, 1, &last));
  byoc_value_t *columns = byoc_write_vector(&w, "columns", BYOC_DTYPE_I64, count, places.data);
  byoc_value_t *is_one = byoc_write_plain(&w, "Equal", index, columns);
  return byoc_write_end(&w, byoc_write_cast(&w, is_one, BYOC_DTYPE_F32), out_changed);
}

// ---- the table ----

#define DEFAULTS                                                                                                       \
  {BYOC_ATTR_TEXT("default_string", "_Unused")}, {                                                                     \
    BYOC_ATTR_INT("default_int64", -1)                                                                                 \
  }
static const byoc_op_attribute_t label_attributes[] = {{BYOC_ATTR(STRINGS, "classes_strings"), .until = 2},
                                                       DEFAULTS,
                                                       {BYOC_ATTR_FLOAT("default_float", -0.0), .since = 2},
                                                       {BYOC_ATTR(TENSOR, "default_tensor"), .since = 4},
                                                       {BYOC_ATTR(INTS, "keys_int64s"), .since = 2},
                                                       {BYOC_ATTR(FLOATS, "keys_floats"), .since = 2},
                                                       {BYOC_ATTR(STRINGS, "keys_strings"), .since = 2},
                                                       {BYOC_ATTR(TENSOR, "keys_tensor"), .since = 4},
                                                       {BYOC_ATTR(INTS, "values_int64s"), .since = 2},
                                                       {BYOC_ATTR(FLOATS, "values_floats"), .since = 2},
                                                       {BYOC_ATTR(STRINGS, "values_strings"), .since = 2},
                                                       {BYOC_ATTR(TENSOR, "values_tensor"), .since = 4},
                                                       BYOC_ATTR_END};
static const byoc_op_attribute_t mapper_attributes[] = {
    {BYOC_ATTR(INTS, "cats_int64s")}, {BYOC_ATTR(STRINGS, "cats_strings")}, DEFAULTS, BYOC_ATTR_END};
static const byoc_op_attribute_t one_hot_attributes[] = {
    {BYOC_ATTR(INTS, "cats_int64s")}, {BYOC_ATTR(STRINGS, "cats_strings")}, {BYOC_ATTR_INT("zeros", 1)}, BYOC_ATTR_END};

#define ROW(Name, version, schema, infer_function, expand_function)                                                    \
  {                                                                                                                    \
    .domain = BYOC_ML_DOMAIN, .name = Name, .since_version = version, .min_inputs = 1, .max_inputs = 1,                \
    .min_outputs = 1, .max_outputs = 1, .attributes = schema, .infer = infer_function, .expand = expand_function       \
  }

const byoc_op_t byoc_ops_ml_encode[] = {
    ROW("LabelEncoder", 1, label_attributes, infer_label_encoder, expand_label_encoder),
    ROW("LabelEncoder", 2, label_attributes, infer_label_encoder, expand_label_encoder),
    ROW("LabelEncoder", 4, label_attributes, infer_label_encoder, expand_label_encoder),
    ROW("CategoryMapper", 1, mapper_attributes, infer_mapper, expand_mapper),
    ROW("OneHotEncoder", 1, one_hot_attributes, infer_one_hot, expand_one_hot),
};
const size_t byoc_ops_ml_encode_count = sizeof byoc_ops_ml_encode / sizeof *byoc_ops_ml_encode;
