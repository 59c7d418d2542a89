// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: preparation of features, and linear models. Each is written as operators of ai.onnx.
#include <math.h>
#include <string.h>

#include "core/ops/ml/common.h"

static bool is_position(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

static bool is_anything(byoc_dtype_t dtype) {
  return dtype != BYOC_DTYPE_NONE;
}

static byoc_status_t infer_floats(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_ml_is_feature, "features of f32, f64, i32 or i64"));
  return byoc_infer_set_like(infer, 0, BYOC_DTYPE_F32, byoc_operand_type(infer->node, 0));
}

static byoc_status_t infer_features(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_ml_is_feature, "features of f32, f64, i32 or i64"));
  return byoc_infer_same(infer);
}

// The type in which features are computed.
static byoc_dtype_t compute_type(const byoc_value_t *x) {
  return x->type->dtype == BYOC_DTYPE_F64 ? BYOC_DTYPE_F64 : BYOC_DTYPE_F32;
}

// ---- Scaler, Normalizer, Binarizer ----

// One number for all features, or one for each.
static byoc_status_t infer_scaler(byoc_infer_t *infer) {
  static const char *const lists[] = {"offset", "scale"};
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); ++i) {
    size_t count = 0;
    byoc_node_floats(infer->node, lists[i], &count);
    if (count == 0) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
    const byoc_type_t *x = byoc_operand_type(infer->node, 0);
    if (count == 1 || !byoc_is_ranked(x)) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, x->rank - 1, byoc_dim_constant((int64_t)count)));
  }
  return infer_floats(infer);
}

static byoc_status_t expand_scaler(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = node->operands[0];
  const byoc_dtype_t dtype = compute_type(x);
  x = byoc_write_cast(&w, x, dtype);
  size_t offsets = 0, scales = 0;
  const double *offset = byoc_node_floats(node, "offset", &offsets), *scale = byoc_node_floats(node, "scale", &scales);
  const int64_t counts[2] = {(int64_t)offsets, (int64_t)scales};
  if (offsets > 0) x = byoc_write_plain(&w, "Sub", x, byoc_ml_numbers(&w, "offset", dtype, 1, &counts[0], offset));
  if (scales > 0) x = byoc_write_plain(&w, "Mul", x, byoc_ml_numbers(&w, "scale", dtype, 1, &counts[1], scale));
  if (offsets + scales == 0) x = byoc_write_plain(&w, "Identity", x, NULL);
  return byoc_write_end(&w, byoc_write_cast(&w, x, BYOC_DTYPE_F32), out_changed);
}

// A row whose norm is 0 stays as it is.
static byoc_status_t expand_normalizer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = byoc_write_cast(&w, node->operands[0], BYOC_DTYPE_F32);
  const int64_t last = -1;
  byoc_value_t *axes = byoc_write_vector(&w, "axes", BYOC_DTYPE_I64, 1, &last);
  static const char *const reductions[] = {"ReduceMax", "ReduceL1", "ReduceL2"}; // as in normalizer_attributes
  byoc_value_t *norm = byoc_write_plain(&w, reductions[byoc_node_choice(node, "norm")], x, axes);
  byoc_value_t *is_zero = byoc_write_plain(&w, "Equal", norm, byoc_ml_number(&w, BYOC_DTYPE_F32, 0));
  byoc_value_t *divisor =
      byoc_write_node(&w, "", "Where", is_zero, byoc_ml_number(&w, BYOC_DTYPE_F32, 1), norm, NULL, 0);
  return byoc_write_end(&w, byoc_write_plain(&w, "Div", x, divisor), out_changed);
}

static byoc_status_t expand_binarizer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = node->operands[0];
  const byoc_dtype_t dtype = compute_type(x);
  byoc_value_t *limit = byoc_ml_number(&w, dtype, byoc_node_float(node, "threshold"));
  byoc_value_t *above = byoc_write_plain(&w, "Greater", byoc_write_cast(&w, x, dtype), limit);
  return byoc_write_end(&w, byoc_write_cast(&w, above, x->type->dtype), out_changed);
}

// ---- Imputer ----

static byoc_status_t infer_imputer(byoc_infer_t *infer) {
  int64_t features = 0;
  size_t floats = 0, ints = 0;
  byoc_node_floats(infer->node, "imputed_value_floats", &floats);
  byoc_node_ints(infer->node, "imputed_value_int64s", &ints);
  const bool is_one_for_all = floats + ints == 1;
  BYOC_RETURN_IF_ERROR(byoc_ml_need_features(infer, is_one_for_all ? -1 : (int64_t)(floats + ints), &features));
  if ((floats > 0) == (ints > 0)) {
    return byoc_infer_error(infer, "one of 'imputed_value_floats' and 'imputed_value_int64s' must hold values");
  }
  const size_t count = floats + ints;
  if (count != 1 && (int64_t)count != features) {
    return byoc_infer_error(infer, "it has %zu values for %lld features", count, (long long)features);
  }
  return byoc_infer_same(infer);
}

// Integers keep all of their digits where the features are integers.
static byoc_value_t *write_integers(byoc_writer_t *w, const char *name, byoc_dtype_t dtype, int64_t count,
                                    const int64_t *values) {
  return byoc_write_cast(w, byoc_write_vector(w, name, BYOC_DTYPE_I64, count, values), dtype);
}

static byoc_status_t expand_imputer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = node->operands[0], *is_missing = NULL, *filling = NULL;
  const byoc_dtype_t dtype = x->type->dtype;
  size_t count = 0;
  const int64_t *ints = byoc_node_ints(node, "imputed_value_int64s", &count);
  if (count > 0) {
    const int64_t missing = byoc_node_int(node, "replaced_value_int64");
    is_missing = byoc_write_plain(&w, "Equal", x, write_integers(&w, "missing", dtype, 1, &missing));
    filling = write_integers(&w, "imputed", dtype, (int64_t)count, ints);
  } else {
    const double *floats = byoc_node_floats(node, "imputed_value_floats", &count);
    const double missing = byoc_node_float(node, "replaced_value_float");
    const int64_t length = (int64_t)count;
    is_missing = isnan(missing) ? byoc_write_plain(&w, "IsNaN", x, NULL)
                                : byoc_write_plain(&w, "Equal", x, byoc_ml_number(&w, dtype, missing));
    filling = byoc_ml_numbers(&w, "imputed", dtype, 1, &length, floats);
  }
  return byoc_write_end(&w, byoc_write_node(&w, "", "Where", is_missing, filling, x, NULL, 0), out_changed);
}

// ---- FeatureVectorizer, ArrayFeatureExtractor, ZipMap ----

static byoc_status_t infer_vectorizer(byoc_infer_t *infer) {
  size_t count = 0;
  const int64_t *widths = byoc_node_ints(infer->node, "inputdimensions", &count);
  if (count != infer->node->operand_count) {
    return byoc_infer_error(infer, "'inputdimensions' has %zu numbers for %u operands", count,
                            (unsigned)infer->node->operand_count);
  }
  byoc_dim_t dims[2] = {byoc_ml_rows(infer->node), byoc_dim_constant(0)};
  for (uint32_t i = 0; i < infer->node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_ml_is_feature, "features of f32, f64, i32 or i64"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 2, 2));
    const byoc_type_t *x = byoc_operand_type(infer->node, i);
    if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "the ranks of the operands must be known");
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, 0, dims[0]));
    if (widths[i] < 0 || widths[i] > INT32_MAX) return byoc_infer_error(infer, "'inputdimensions' has a wrong number");
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, 1, byoc_dim_constant(widths[i])));
    dims[1].constant += widths[i];
  }
  return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, 2, dims);
}

static byoc_status_t expand_vectorizer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t **parts = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_value_t *, node->operand_count + 1);
  if (parts == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    parts[i] = byoc_write_cast(&w, node->operands[i], BYOC_DTYPE_F32);
  }
  const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  byoc_node_t *joined = byoc_write_many(&w, "", "Concat", parts, node->operand_count, 1, &axis, 1);
  return byoc_write_end(&w, joined ? joined->results[0] : NULL, out_changed);
}

// The chosen columns of the last dimension; a vector is one row.
static byoc_status_t infer_extractor(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_anything, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_position, "positions of i64"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0), *y = byoc_operand_type(infer->node, 1);
  if (!byoc_is_ranked(x) || !byoc_is_ranked(y)) {
    return byoc_infer_unsupported(infer, "the ranks of the operands must be known");
  }
  if (x->rank == 0) return byoc_infer_error(infer, "operand 0 is a scalar");
  BYOC_RETURN_IF_ERROR(byoc_infer_need_index(infer, 1, "the positions", byoc_side_of(infer, 0, x->rank - 1)));
  bool failed = false;
  byoc_dim_t dims[BYOC_MAX_RANK] = {byoc_dim_constant(1)};
  const int32_t rank = x->rank == 1 ? 2 : x->rank;
  for (int32_t d = 0; x->rank > 1 && d < rank - 1; ++d) dims[d] = x->dims[d];
  dims[rank - 1] = byoc_infer_count(infer, y, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, rank, dims);
}

static byoc_status_t expand_extractor(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const int64_t flat = -1, row[2] = {1, -1};
  byoc_value_t *x = node->operands[0];
  if (x->type->rank == 1) x = byoc_write_reshape(&w, x, row, 2);
  byoc_value_t *positions = byoc_write_reshape(&w, node->operands[1], &flat, 1);
  const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = -1};
  return byoc_write_end(&w, byoc_write_node(&w, "", "Gather", x, positions, NULL, &axis, 1), out_changed);
}

// ZipMap: a map from labels to numbers for each row has the content of the row and the labels: it stays a tensor.
static byoc_status_t expand_zip_map(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  return byoc_write_end(&w, byoc_write_plain(&w, "Identity", node->operands[0], NULL), out_changed);
}

// ---- linear models ----

// coefficients [outputs, features] and intercepts [outputs], which may be left out.
static byoc_status_t check_linear(byoc_infer_t *infer, int64_t outputs, int64_t features) {
  size_t coefficients = 0, intercepts = 0;
  byoc_node_floats(infer->node, "coefficients", &coefficients);
  byoc_node_floats(infer->node, "intercepts", &intercepts);
  if (outputs <= 0 || (int64_t)coefficients / outputs != features || (int64_t)coefficients % outputs != 0) {
    return byoc_infer_error(infer, "it has %zu coefficients for %lld features and %lld results", coefficients,
                            (long long)features, (long long)outputs);
  }
  if (intercepts == 0 || (int64_t)intercepts == outputs) return BYOC_OK;
  return byoc_infer_error(infer, "it has %zu intercepts for %lld results", intercepts, (long long)outputs);
}

static byoc_value_t *write_linear(byoc_writer_t *w, int64_t outputs) {
  size_t coefficients = 0, intercepts = 0;
  const double *rows = byoc_node_floats(w->node, "coefficients", &coefficients);
  const double *added = byoc_node_floats(w->node, "intercepts", &intercepts);
  const int64_t dims[2] = {outputs, (int64_t)coefficients / outputs};
  byoc_value_t *operands[3] = {byoc_ml_write_features(w, BYOC_DTYPE_F32),
                               byoc_ml_numbers(w, "coefficients", BYOC_DTYPE_F32, 2, dims, rows)};
  if (intercepts > 0) operands[2] = byoc_ml_numbers(w, "intercepts", BYOC_DTYPE_F32, 1, &dims[0], added);
  const byoc_attribute_t turned = {.name = "transB", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  return byoc_write_node(w, "", "Gemm", operands[0], operands[1], operands[2], &turned, 1);
}

// As many features as there are coefficients for each result.
static byoc_status_t need_linear_features(byoc_infer_t *infer, int64_t outputs, int64_t *out_features) {
  size_t coefficients = 0;
  byoc_node_floats(infer->node, "coefficients", &coefficients);
  return byoc_ml_need_features(infer, outputs > 0 ? (int64_t)coefficients / outputs : 0, out_features);
}

static byoc_status_t infer_regressor(byoc_infer_t *infer) {
  int64_t features = 0;
  const int64_t targets = byoc_node_int(infer->node, "targets");
  BYOC_RETURN_IF_ERROR(need_linear_features(infer, targets, &features));
  BYOC_RETURN_IF_ERROR(check_linear(infer, targets, features));
  const byoc_dim_t dims[2] = {byoc_ml_rows(infer->node), byoc_dim_constant(targets)};
  return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, 2, dims);
}

static byoc_status_t expand_regressor(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *scores = write_linear(&w, byoc_node_int(node, "targets"));
  return byoc_write_end(&w, byoc_ml_write_transform(&w, scores, byoc_node_text(node, "post_transform")), out_changed);
}

static const byoc_ml_labels_t linear_labels = {"classlabels_ints", "classlabels_strings"};

// One intercept for each score; without intercepts one score for each label.
static int64_t linear_scores(const byoc_node_t *node) {
  size_t intercepts = 0;
  byoc_node_floats(node, "intercepts", &intercepts);
  return (int64_t)(intercepts > 0 ? intercepts : byoc_ml_label_count(node, &linear_labels));
}

// One score stands for two classes.
static bool is_binary(const byoc_node_t *node) {
  return linear_scores(node) == 1 && byoc_ml_label_count(node, &linear_labels) == 2;
}

static byoc_status_t infer_classifier(byoc_infer_t *infer) {
  int64_t features = 0;
  BYOC_RETURN_IF_ERROR(need_linear_features(infer, linear_scores(infer->node), &features));
  BYOC_RETURN_IF_ERROR(byoc_ml_infer_labels(infer, &linear_labels));
  const int64_t scores = linear_scores(infer->node), labels = (int64_t)byoc_ml_label_count(infer->node, &linear_labels);
  BYOC_RETURN_IF_ERROR(check_linear(infer, scores, features));
  if (scores != labels && !is_binary(infer->node)) {
    return byoc_infer_error(infer, "it has %lld labels for %lld scores", (long long)labels, (long long)scores);
  }
  const byoc_dim_t dims[2] = {byoc_ml_rows(infer->node), byoc_dim_constant(labels)};
  return byoc_has_result(infer->node, 1) ? byoc_infer_set(infer, 1, BYOC_DTYPE_F32, 2, dims) : BYOC_OK;
}

// The label is that of the largest score before the transform. If there is one score for two classes, its sign decides.
static byoc_status_t expand_classifier(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const char *transform = byoc_node_text(node, "post_transform");
  byoc_value_t *scores = write_linear(&w, linear_scores(node)), *index = NULL;
  if (is_binary(node)) {
    index = byoc_ml_write_above(&w, scores, 0);
    scores = byoc_ml_write_two_classes(&w, scores, true, transform);
  } else {
    index = byoc_ml_write_largest(&w, scores);
    scores = byoc_ml_write_transform(&w, scores, transform);
  }
  byoc_value_t *labels = byoc_ml_write_labels(&w, &linear_labels, index);
  if (!w.failed && byoc_has_result(node, 1) && !byoc_value_replace_uses(node->results[1], scores)) w.failed = true;
  return byoc_write_end(&w, labels, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t scaler_attributes[] = {
    {BYOC_ATTR(FLOATS, "offset")}, {BYOC_ATTR(FLOATS, "scale")}, BYOC_ATTR_END};
static const byoc_op_attribute_t normalizer_attributes[] = {{BYOC_ATTR_CHOICE("norm", "MAX", "L1", "L2")},
                                                            BYOC_ATTR_END};
static const byoc_op_attribute_t binarizer_attributes[] = {{BYOC_ATTR_FLOAT("threshold", 0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t imputer_attributes[] = {{BYOC_ATTR(FLOATS, "imputed_value_floats")},
                                                         {BYOC_ATTR(INTS, "imputed_value_int64s")},
                                                         {BYOC_ATTR_FLOAT("replaced_value_float", 0)},
                                                         {BYOC_ATTR_INT("replaced_value_int64", 0)},
                                                         BYOC_ATTR_END};
static const byoc_op_attribute_t vectorizer_attributes[] = {{BYOC_ATTR_REQUIRED(INTS, "inputdimensions")},
                                                            BYOC_ATTR_END};
static const byoc_op_attribute_t zip_map_attributes[] = {
    {BYOC_ATTR(INTS, "classlabels_int64s")}, {BYOC_ATTR(STRINGS, "classlabels_strings")}, BYOC_ATTR_END};
static const byoc_op_attribute_t regressor_attributes[] = {{BYOC_ATTR_REQUIRED(FLOATS, "coefficients")},
                                                           {BYOC_ATTR(FLOATS, "intercepts")},
                                                           {BYOC_ATTR_INT("targets", 1)},
                                                           {BYOC_ML_TRANSFORM},
                                                           BYOC_ATTR_END};
static const byoc_op_attribute_t classifier_attributes[] = {{BYOC_ATTR_REQUIRED(FLOATS, "coefficients")},
                                                            {BYOC_ATTR(FLOATS, "intercepts")},
                                                            {BYOC_ATTR(INTS, "classlabels_ints")},
                                                            {BYOC_ATTR(STRINGS, "classlabels_strings")},
                                                            {BYOC_ATTR_INT("multi_class", 0)},
                                                            {BYOC_ML_TRANSFORM},
                                                            BYOC_ATTR_END};

#define ROW(Name, inputs, outputs, schema, infer_function, expand_function)                                            \
  {                                                                                                                    \
    .domain = BYOC_ML_DOMAIN, .name = Name, .since_version = 1, .min_inputs = inputs < 0 ? 1 : inputs,                 \
    .max_inputs = inputs, .min_outputs = 1, .max_outputs = outputs, .traits = BYOC_OP_FUSED | BYOC_OP_LIMITS,          \
    .attributes = schema, .infer = infer_function, .expand = expand_function                                           \
  }

const byoc_op_t byoc_ops_ml_linear[] = {
    ROW("Scaler", 1, 1, scaler_attributes, infer_scaler, expand_scaler),
    ROW("Normalizer", 1, 1, normalizer_attributes, infer_floats, expand_normalizer),
    ROW("Binarizer", 1, 1, binarizer_attributes, infer_features, expand_binarizer),
    ROW("Imputer", 1, 1, imputer_attributes, infer_imputer, expand_imputer),
    ROW("FeatureVectorizer", -1, 1, vectorizer_attributes, infer_vectorizer, expand_vectorizer),
    ROW("ArrayFeatureExtractor", 2, 1, NULL, infer_extractor, expand_extractor),
    ROW("ZipMap", 1, 1, zip_map_attributes, byoc_infer_same, expand_zip_map),
    ROW("LinearRegressor", 1, 1, regressor_attributes, infer_regressor, expand_regressor),
    ROW("LinearClassifier", 1, 2, classifier_attributes, infer_classifier, expand_classifier),
};
const size_t byoc_ops_ml_linear_count = sizeof byoc_ops_ml_linear / sizeof *byoc_ops_ml_linear;
