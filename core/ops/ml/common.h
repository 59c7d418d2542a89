// SPDX-License-Identifier: Apache-2.0
// Shared by the operators of ai.onnx.ml: features as rows, scores after their last transform, labels of classes.
#ifndef BYOC_CORE_OPS_ML_COMMON_H_
#define BYOC_CORE_OPS_ML_COMMON_H_

#include "core/op/util.h"
#include "core/op/write.h"
#include "core/ops/onnx/text/string.h"

#define BYOC_ML_DOMAIN "ai.onnx.ml"

// The transforms of scores, for tables of attributes.
#define BYOC_ML_TRANSFORM BYOC_ATTR_CHOICE("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

// f32, f64, i32, i64: the types of features.
bool byoc_ml_is_feature(byoc_dtype_t dtype);
bool byoc_ml_is_f32_or_f64(byoc_dtype_t dtype);
// Operand 0 must be a vector or matrix of features. *out_count is their number: its last dimension. If that is dynamic,
// it is `stated`, the number by the attributes, and the run checks it.
byoc_status_t byoc_ml_need_features(byoc_infer_t *infer, int64_t stated, int64_t *out_count);
// The same for operators that read only some of the features, the first `least`.
byoc_status_t byoc_ml_need_features_from(byoc_infer_t *infer, int64_t least, int64_t *out_count);
// The rows of operand 0: its first dimension, or 1 for a vector, which is one row.
byoc_dim_t byoc_ml_rows(const byoc_node_t *node);
// The operand as a matrix of `dtype`.
byoc_value_t *byoc_ml_write_features(byoc_writer_t *w, byoc_dtype_t dtype);

// The scores [N, K] after the transform of that name, which works on each row.
byoc_value_t *byoc_ml_write_transform(byoc_writer_t *w, byoc_value_t *scores, const char *transform);
// The scores [N,2] of two classes from one score [N,1] for the second class: LOGISTIC of -s and s, PROBIT of 1 - s and
// s; otherwise 1 - s and s if the score is a probability, and -s and s if it is not.
byoc_value_t *byoc_ml_write_two_classes(byoc_writer_t *w, byoc_value_t *score, bool is_probability,
                                        const char *transform);

// The labels of a classifier: the names of its attributes for integers and for strings.
typedef struct byoc_ml_labels_t {
  const char *ints, *texts;
} byoc_ml_labels_t;
size_t byoc_ml_label_count(const byoc_node_t *node, const byoc_ml_labels_t *labels);
// One of the two lists must be given. Sets result 0: a label for each row.
byoc_status_t byoc_ml_infer_labels(byoc_infer_t *infer, const byoc_ml_labels_t *labels);
// The labels at the indices `index`, i64[N].
byoc_value_t *byoc_ml_write_labels(byoc_writer_t *w, const byoc_ml_labels_t *labels, byoc_value_t *index);
// i64[N]: 1 where the score of the row, of f32[N,1], is above the limit, else 0.
byoc_value_t *byoc_ml_write_above(byoc_writer_t *w, byoc_value_t *score, float limit);
// i64[N]: the index of the first largest score of each row.
byoc_value_t *byoc_ml_write_largest(byoc_writer_t *w, byoc_value_t *scores);

// A number of that element type.
byoc_value_t *byoc_ml_number(byoc_writer_t *w, byoc_dtype_t dtype, double value);
// A constant of `rank` dimensions, in f32 or f64.
byoc_value_t *byoc_ml_numbers(byoc_writer_t *w, const char *name, byoc_dtype_t dtype, int32_t rank, const int64_t *dims,
                              const double *values);

#endif // BYOC_CORE_OPS_ML_COMMON_H_
