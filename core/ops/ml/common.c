// SPDX-License-Identifier: Apache-2.0
// Shared by the operators of ai.onnx.ml.
#include "core/ops/ml/common.h"

#include <string.h>

// ---- features ----

bool byoc_ml_is_feature(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F64 || dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
}

bool byoc_ml_is_f32_or_f64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F64;
}

static byoc_status_t need_features(byoc_infer_t *infer, byoc_relation_kind_t kind, int64_t stated, int64_t *out_count) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_ml_is_feature, "features of f32, f64, i32 or i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, 2));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "the rank of the features must be known");
  const byoc_dim_t count = x->dims[x->rank - 1];
  *out_count = byoc_dim_is_constant(count) ? count.constant : stated;
  if (byoc_dim_is_constant(count) || stated < 0) return BYOC_OK;
  return byoc_infer_relate(infer, kind, byoc_side_number(stated), byoc_side_of(infer, 0, x->rank - 1));
}

byoc_status_t byoc_ml_need_features(byoc_infer_t *infer, int64_t stated, int64_t *out_count) {
  return need_features(infer, BYOC_RELATION_EQUAL, stated, out_count);
}

byoc_status_t byoc_ml_need_features_from(byoc_infer_t *infer, int64_t least, int64_t *out_count) {
  return need_features(infer, BYOC_RELATION_AT_MOST, least, out_count);
}

byoc_dim_t byoc_ml_rows(const byoc_node_t *node) {
  const byoc_type_t *x = byoc_operand_type(node, 0);
  return x->rank == 2 ? x->dims[0] : byoc_dim_constant(1);
}

byoc_value_t *byoc_ml_write_features(byoc_writer_t *w, byoc_dtype_t dtype) {
  byoc_value_t *x = byoc_write_cast(w, w->node->operands[0], dtype);
  if (w->failed || x->type->rank == 2) return x;
  const int64_t row[2] = {1, -1};
  return byoc_write_reshape(w, x, row, 2);
}

// ---- constants ----

byoc_value_t *byoc_ml_numbers(byoc_writer_t *w, const char *name, byoc_dtype_t dtype, int32_t rank, const int64_t *dims,
                              const double *values) {
  byoc_graph_module_t *module = w->node->function->module;
  int64_t count = 1;
  for (int32_t i = 0; i < rank; ++i) count *= dims[i];
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, dtype, rank, dims);
  void *data = type ? byoc_arena_allocate(&module->arena, (size_t)count + 1, sizeof(double)) : NULL;
  for (int64_t i = 0; data && i < count; ++i) {
    if (dtype == BYOC_DTYPE_F32) ((float *)data)[i] = (float)values[i];
    if (dtype == BYOC_DTYPE_F64) ((double *)data)[i] = values[i];
    if (dtype == BYOC_DTYPE_I64) ((int64_t *)data)[i] = (int64_t)values[i];
    if (dtype == BYOC_DTYPE_I32) ((int32_t *)data)[i] = (int32_t)values[i];
  }
  byoc_constant_t *constant = data ? byoc_constant_create(module, name, type, data) : NULL;
  byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!value) w->failed = true;
  return value;
}

byoc_value_t *byoc_ml_number(byoc_writer_t *w, byoc_dtype_t dtype, double value) {
  return byoc_ml_numbers(w, "number", dtype, 0, NULL, &value);
}

// ---- transforms of scores ----

// Softmax over the scores that are not 0; scores of 0 stay 0, apart from rounding.
static byoc_value_t *write_softmax_zero(byoc_writer_t *w, byoc_value_t *scores) {
  const byoc_dtype_t dtype = scores->type->dtype;
  const int64_t axis = 1;
  byoc_value_t *axes = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &axis);
  byoc_value_t *most = byoc_write_plain(w, "ReduceMax", scores, axes);
  byoc_value_t *shifted = byoc_write_plain(w, "Exp", byoc_write_plain(w, "Sub", scores, most), NULL);
  byoc_value_t *scaled =
      byoc_write_plain(w, "Mul", scores, byoc_write_plain(w, "Exp", byoc_write_plain(w, "Neg", most, NULL), NULL));
  byoc_value_t *is_large =
      byoc_write_plain(w, "Greater", byoc_write_plain(w, "Abs", scores, NULL), byoc_ml_number(w, dtype, (double)1e-7f));
  byoc_value_t *parts = byoc_write_node(w, "", "Where", is_large, shifted, scaled, NULL, 0);
  byoc_value_t *some = byoc_write_node(w, "", "Where", is_large, shifted, byoc_ml_number(w, dtype, 0), NULL, 0);
  return byoc_write_plain(w, "Div", parts, byoc_write_plain(w, "ReduceSum", some, axes));
}

// sqrt(2) * erfinv(2 x - 1), with erfinv by Winitzki's formula ("A handy approximation for the error function and its
// inverse", 2008) with a = 0.147, as in ONNX's reference implementation.
static byoc_value_t *write_probit(byoc_writer_t *w, byoc_value_t *x) {
  const byoc_dtype_t dtype = x->type->dtype;
  byoc_value_t *one = byoc_ml_number(w, dtype, 1), *two = byoc_ml_number(w, dtype, 2);
  byoc_value_t *y = byoc_write_plain(w, "Sub", byoc_write_plain(w, "Mul", x, two), one);
  byoc_value_t *sides =
      byoc_write_plain(w, "Mul", byoc_write_plain(w, "Sub", one, y), byoc_write_plain(w, "Add", one, y));
  byoc_value_t *log = byoc_write_plain(w, "Log", sides, NULL);
  byoc_value_t *half = byoc_write_plain(w, "Mul", log, byoc_ml_number(w, dtype, 0.5));
  byoc_value_t *v = byoc_write_plain(w, "Add", half, byoc_ml_number(w, dtype, 2 / (3.14159 * 0.147)));
  byoc_value_t *part = byoc_write_plain(w, "Mul", log, byoc_ml_number(w, dtype, 1 / 0.147));
  byoc_value_t *root =
      byoc_write_plain(w, "Sqrt", byoc_write_plain(w, "Sub", byoc_write_plain(w, "Mul", v, v), part), NULL);
  byoc_value_t *size = byoc_write_plain(w, "Sqrt", byoc_write_plain(w, "Sub", root, v), NULL);
  byoc_value_t *inverse = byoc_write_plain(w, "Mul", byoc_write_plain(w, "Sign", y, NULL), size);
  return byoc_write_plain(w, "Mul", inverse, byoc_ml_number(w, dtype, 1.41421356));
}

byoc_value_t *byoc_ml_write_transform(byoc_writer_t *w, byoc_value_t *scores, const char *transform) {
  if (w->failed || strcmp(transform, "NONE") == 0) return scores;
  if (strcmp(transform, "LOGISTIC") == 0) return byoc_write_plain(w, "Sigmoid", scores, NULL);
  if (strcmp(transform, "SOFTMAX_ZERO") == 0) return write_softmax_zero(w, scores);
  if (strcmp(transform, "PROBIT") == 0) return write_probit(w, scores);
  const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  return byoc_write_node(w, "", "Softmax", scores, NULL, NULL, &axis, 1);
}

byoc_value_t *byoc_ml_write_two_classes(byoc_writer_t *w, byoc_value_t *score, bool is_probability,
                                        const char *transform) {
  if (w->failed) return NULL;
  const bool is_logistic = strcmp(transform, "LOGISTIC") == 0, is_probit = strcmp(transform, "PROBIT") == 0;
  const bool is_sum_one = is_probit || (is_probability && !is_logistic); // a probit needs probabilities
  byoc_value_t *first = is_sum_one ? byoc_write_plain(w, "Sub", byoc_ml_number(w, score->type->dtype, 1), score)
                                   : byoc_write_plain(w, "Neg", score, NULL);
  byoc_value_t *both[2] = {first, score};
  const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  byoc_node_t *joined = byoc_write_many(w, "", "Concat", both, 2, 1, &axis, 1);
  if (joined == NULL) return NULL;
  return is_logistic || is_probit ? byoc_ml_write_transform(w, joined->results[0], transform) : joined->results[0];
}

// ---- labels ----

size_t byoc_ml_label_count(const byoc_node_t *node, const byoc_ml_labels_t *labels) {
  size_t ints = 0, texts = 0;
  byoc_node_ints(node, labels->ints, &ints);
  byoc_node_texts(node, labels->texts, &texts);
  return texts > 0 ? texts : ints;
}

byoc_status_t byoc_ml_infer_labels(byoc_infer_t *infer, const byoc_ml_labels_t *labels) {
  size_t ints = 0, texts = 0;
  byoc_node_ints(infer->node, labels->ints, &ints);
  byoc_node_texts(infer->node, labels->texts, &texts);
  if ((ints > 0) == (texts > 0)) {
    return byoc_infer_error(infer, "one of the attributes '%s' and '%s' must hold the labels", labels->ints,
                            labels->texts);
  }
  const byoc_dim_t rows = byoc_ml_rows(infer->node);
  return byoc_infer_set(infer, 0, texts > 0 ? BYOC_DTYPE_STRING : BYOC_DTYPE_I64, 1, &rows);
}

byoc_value_t *byoc_ml_write_labels(byoc_writer_t *w, const byoc_ml_labels_t *labels, byoc_value_t *index) {
  size_t count = 0;
  const char *const *texts = byoc_node_texts(w->node, labels->texts, &count);
  if (count > 0) return byoc_write_plain(w, "Gather", byoc_write_strings(w, "labels", count, texts), index);
  const int64_t *ints = byoc_node_ints(w->node, labels->ints, &count);
  return byoc_write_plain(w, "Gather", byoc_write_vector(w, "labels", BYOC_DTYPE_I64, (int64_t)count, ints), index);
}

byoc_value_t *byoc_ml_write_above(byoc_writer_t *w, byoc_value_t *score, float limit) {
  if (w->failed) return NULL;
  const int64_t flat = -1;
  byoc_value_t *above = byoc_write_plain(w, "Greater", score, byoc_ml_number(w, score->type->dtype, (double)limit));
  return byoc_write_reshape(w, byoc_write_cast(w, above, BYOC_DTYPE_I64), &flat, 1);
}

byoc_value_t *byoc_ml_write_largest(byoc_writer_t *w, byoc_value_t *scores) {
  const byoc_attribute_t attributes[] = {{.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = 1},
                                         {.name = "keepdims", .kind = BYOC_ATTRIBUTE_INT, .i = 0}};
  return byoc_write_node(w, "", "ArgMax", scores, NULL, NULL, attributes, 2);
}
