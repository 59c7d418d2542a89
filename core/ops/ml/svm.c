// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: support vector machines, written as operators of ai.onnx: the kernel function of each row and each
// support vector, then products with the coefficients. Probabilities of more than one pair of classes are coupled by an
// iteration, byoc::CouplePairs.
#include <math.h>
#include <string.h>

#include "core/ops/ml/common.h"

// ---- kernel functions ----

enum { LINEAR, POLY, RBF, SIGMOID }; // as in kernel_type

// The usual degrees are products: pow of libm is called for each number.
static byoc_value_t *write_power(byoc_writer_t *w, byoc_value_t *x, double degree) {
  enum { MOST_FACTORS = 5 };
  if (degree < 1 || degree > MOST_FACTORS || degree != floor(degree)) {
    return byoc_write_plain(w, "Pow", x, byoc_ml_number(w, BYOC_DTYPE_F32, degree));
  }
  byoc_value_t *power = x;
  for (int factors = 1; factors < (int)degree; ++factors) power = byoc_write_plain(w, "Mul", power, x);
  return power;
}

// f32[N, vectors] from the features f32[N, F] and `vectors` support vectors.
static byoc_value_t *write_kernel(byoc_writer_t *w, byoc_value_t *x, int64_t vectors, int kind) {
  size_t count = 0, parameter_count = 0;
  const double *numbers = byoc_node_floats(w->node, "support_vectors", &count);
  const double *given = byoc_node_floats(w->node, "kernel_params", &parameter_count), none[3] = {0};
  const double *parameters = parameter_count == 3 ? given : none; // gamma, coef0, degree
  const int64_t dims[3] = {1, vectors, (int64_t)count / vectors}, middle = 1, last = 2;
  if (kind == RBF) {
    byoc_value_t *rows = byoc_write_plain(w, "Unsqueeze", x, byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &middle));
    byoc_value_t *all = byoc_ml_numbers(w, "support_vectors", BYOC_DTYPE_F32, 3, dims, numbers);
    byoc_value_t *between = byoc_write_plain(w, "Sub", rows, all);
    const byoc_attribute_t keep = {.name = "keepdims", .kind = BYOC_ATTRIBUTE_INT, .i = 0};
    byoc_value_t *axis = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &last);
    byoc_value_t *distance = byoc_write_node(w, "", "ReduceSumSquare", between, axis, NULL, &keep, 1);
    byoc_value_t *scale = byoc_ml_number(w, BYOC_DTYPE_F32, -parameters[0]);
    return byoc_write_plain(w, "Exp", byoc_write_plain(w, "Mul", distance, scale), NULL);
  }
  const byoc_attribute_t turned = {.name = "transB", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  byoc_value_t *all = byoc_ml_numbers(w, "support_vectors", BYOC_DTYPE_F32, 2, &dims[1], numbers);
  byoc_value_t *products = byoc_write_node(w, "", "Gemm", x, all, NULL, &turned, 1);
  if (kind == LINEAR) return products;
  products = byoc_write_plain(w, "Mul", products, byoc_ml_number(w, BYOC_DTYPE_F32, parameters[0]));
  products = byoc_write_plain(w, "Add", products, byoc_ml_number(w, BYOC_DTYPE_F32, parameters[1]));
  if (kind == SIGMOID) return byoc_write_plain(w, "Tanh", products, NULL);
  return write_power(w, products, parameters[2]);
}

// x times the rows of a constant [count, width], plus `added`, which may be NULL.
static byoc_value_t *write_product(byoc_writer_t *w, const char *name, byoc_value_t *x, int64_t count, int64_t width,
                                   const double *rows, byoc_value_t *added) {
  const int64_t dims[2] = {count, width};
  const byoc_attribute_t turned = {.name = "transB", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  byoc_value_t *constant = byoc_ml_numbers(w, name, BYOC_DTYPE_F32, 2, dims, rows);
  return byoc_write_node(w, "", "Gemm", x, constant, added, &turned, 1);
}

static byoc_status_t check_count(byoc_infer_t *infer, const char *name, int64_t expected) {
  size_t count = 0;
  byoc_node_floats(infer->node, name, &count);
  if ((int64_t)count == expected) return BYOC_OK;
  return byoc_infer_error(infer, "attribute '%s' has %zu numbers, expected %lld", name, count, (long long)expected);
}

static byoc_status_t check_parameters(byoc_infer_t *infer) {
  size_t count = 0;
  byoc_node_floats(infer->node, "kernel_params", &count);
  return count == 0 ? BYOC_OK : check_count(infer, "kernel_params", 3);
}

// The number of features: the length of a support vector or, without any, of a row of coefficients.
static byoc_status_t need_features(byoc_infer_t *infer, int64_t vectors, int64_t rows, int64_t *out_features) {
  size_t count = 0;
  byoc_node_floats(infer->node, vectors > 0 ? "support_vectors" : "coefficients", &count);
  const int64_t parts = vectors > 0 ? vectors : rows;
  return byoc_ml_need_features(infer, parts > 0 ? (int64_t)count / parts : 0, out_features);
}

// ---- SVMRegressor ----

static byoc_status_t infer_regressor(byoc_infer_t *infer) {
  int64_t features = 0;
  size_t count = 0;
  const int64_t vectors = byoc_node_int(infer->node, "n_supports");
  BYOC_RETURN_IF_ERROR(need_features(infer, vectors, 1, &features));
  if (vectors < 0 || vectors > INT32_MAX) return byoc_infer_error(infer, "'n_supports' is %lld", (long long)vectors);
  if (features > INT32_MAX) return byoc_infer_unsupported(infer, "it has %lld features", (long long)features);
  BYOC_RETURN_IF_ERROR(check_parameters(infer));
  if (vectors > 0) BYOC_RETURN_IF_ERROR(check_count(infer, "support_vectors", vectors * features));
  BYOC_RETURN_IF_ERROR(check_count(infer, "coefficients", vectors > 0 ? vectors : features));
  byoc_node_floats(infer->node, "rho", &count);
  if (count == 0) return byoc_infer_error(infer, "attribute 'rho' is empty");
  const char *transform = byoc_node_text(infer->node, "post_transform");
  if (strcmp(transform, "NONE") != 0) return byoc_infer_unsupported(infer, "'post_transform' is '%s'", transform);
  const byoc_dim_t dims[2] = {byoc_ml_rows(infer->node), byoc_dim_constant(1)};
  return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, 2, dims);
}

static byoc_status_t expand_regressor(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  size_t count = 0;
  const int64_t vectors = byoc_node_int(node, "n_supports");
  const double *coefficients = byoc_node_floats(node, "coefficients", &count);
  byoc_value_t *x = byoc_ml_write_features(&w, BYOC_DTYPE_F32);
  if (!w.failed && vectors > 0) x = write_kernel(&w, x, vectors, byoc_node_choice(node, "kernel_type"));
  const double rho = byoc_node_floats(node, "rho", &(size_t){0})[0];
  byoc_value_t *added = byoc_ml_number(&w, BYOC_DTYPE_F32, rho);
  byoc_value_t *y = write_product(&w, "coefficients", x, 1, (int64_t)count, coefficients, added);
  if (byoc_node_flag(node, "one_class")) {
    byoc_value_t *is_inside = byoc_write_plain(&w, "Greater", y, byoc_ml_number(&w, BYOC_DTYPE_F32, 0));
    y = byoc_write_node(&w, "", "Where", is_inside, byoc_ml_number(&w, BYOC_DTYPE_F32, 1),
                        byoc_ml_number(&w, BYOC_DTYPE_F32, -1), NULL, 0);
  }
  return byoc_write_end(&w, y, out_changed);
}

// ---- SVMClassifier ----

static const byoc_ml_labels_t svm_labels = {"classlabels_ints", "classlabels_strings"};

// The number of support vectors; 0: a linear model, with a row of coefficients for each class.
static int64_t count_vectors(const byoc_node_t *node) {
  size_t count = 0;
  const int64_t *each = byoc_node_ints(node, "vectors_per_class", &count);
  int64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += each[i];
  return sum;
}

static bool has_probabilities(const byoc_node_t *node) {
  size_t count = 0;
  byoc_node_floats(node, "prob_a", &count);
  return count > 0 && count_vectors(node) > 0;
}

static byoc_status_t infer_classifier(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  int64_t features = 0;
  size_t count = 0;
  const int64_t labels = (int64_t)byoc_ml_label_count(node, &svm_labels);
  BYOC_RETURN_IF_ERROR(need_features(infer, count_vectors(node), labels, &features));
  BYOC_RETURN_IF_ERROR(byoc_ml_infer_labels(infer, &svm_labels));
  const int64_t classes = labels, pairs = classes * (classes - 1) / 2;
  if (classes < 2) return byoc_infer_unsupported(infer, "it has %lld labels", (long long)classes);
  const int64_t *each = byoc_node_ints(node, "vectors_per_class", &count);
  for (size_t i = 0; i < count; ++i) {
    if (each[i] < 0 || each[i] > INT32_MAX) return byoc_infer_error(infer, "'vectors_per_class' has a wrong number");
  }
  const int64_t vectors = count_vectors(node);
  if (vectors > INT32_MAX || features > INT32_MAX || classes > INT32_MAX) {
    return byoc_infer_unsupported(infer, "it has %lld support vectors of %lld features for %lld classes",
                                  (long long)vectors, (long long)features, (long long)classes);
  }
  BYOC_RETURN_IF_ERROR(check_parameters(infer));
  if (vectors > 0) {
    if ((int64_t)count != classes) {
      return byoc_infer_error(infer, "it has vectors for %zu classes and %lld labels", count, (long long)classes);
    }
    BYOC_RETURN_IF_ERROR(check_count(infer, "support_vectors", vectors * features));
    BYOC_RETURN_IF_ERROR(check_count(infer, "coefficients", vectors * (classes - 1)));
    BYOC_RETURN_IF_ERROR(check_count(infer, "rho", pairs));
    byoc_node_floats(node, "prob_b", &count);
    if (count > 0 || has_probabilities(node)) {
      BYOC_RETURN_IF_ERROR(check_count(infer, "prob_a", pairs));
      BYOC_RETURN_IF_ERROR(check_count(infer, "prob_b", pairs));
    }
  } else {
    BYOC_RETURN_IF_ERROR(check_count(infer, "coefficients", classes * features));
    byoc_node_floats(node, "rho", &count);
    if (count == 0) return byoc_infer_error(infer, "attribute 'rho' is empty");
  }
  const bool is_paired = vectors > 0 && !has_probabilities(node) && classes > 2;
  const byoc_dim_t dims[2] = {byoc_ml_rows(node), byoc_dim_constant(is_paired ? pairs : classes)};
  return byoc_infer_set(infer, 1, BYOC_DTYPE_F32, 2, dims);
}

// The models of all pairs i < j of classes.
typedef struct pairs_t {
  int64_t classes, count, vectors;
  double *coefficients; // [pairs, vectors]: of i's and j's vectors, 0 for all others
  double *votes;        // [classes, pairs]: the change of a class's votes if the pair is won instead of lost
  double *lost;         // [classes]: the votes if all pairs are lost
  int64_t *places;      // [classes, classes]: the index of r_ij among p_0 ... and 1 - p_0 ...
} pairs_t;

static bool read_pairs(const byoc_node_t *node, pairs_t *out) {
  byoc_arena_t *arena = &node->function->module->arena;
  const int64_t classes = (int64_t)byoc_ml_label_count(node, &svm_labels), vectors = count_vectors(node);
  const int64_t count = classes * (classes - 1) / 2;
  const double *all = byoc_node_floats(node, "coefficients", &(size_t){0});
  const int64_t *each = byoc_node_ints(node, "vectors_per_class", &(size_t){0});
  *out = (pairs_t){.classes = classes, .count = count, .vectors = vectors};
  out->coefficients = BYOC_ARENA_ARRAY(arena, double, (size_t)(count * vectors));
  out->votes = BYOC_ARENA_ARRAY(arena, double, (size_t)(classes * count));
  out->lost = BYOC_ARENA_ARRAY(arena, double, (size_t)classes);
  out->places = BYOC_ARENA_ARRAY(arena, int64_t, (size_t)(classes * classes));
  if (out->coefficients == NULL || out->votes == NULL || out->lost == NULL || out->places == NULL) return false;
  int64_t pair = 0, first_of_i = 0;
  for (int64_t i = 0; i < classes; first_of_i += each[i++]) {
    int64_t first_of_j = first_of_i + each[i];
    for (int64_t j = i + 1; j < classes; first_of_j += each[j++], ++pair) {
      double *row = &out->coefficients[pair * vectors];
      for (int64_t v = 0; v < each[i]; ++v) row[first_of_i + v] = all[(j - 1) * vectors + first_of_i + v];
      for (int64_t v = 0; v < each[j]; ++v) row[first_of_j + v] = all[i * vectors + first_of_j + v];
      out->votes[i * count + pair] = 1;
      out->votes[j * count + pair] = -1;
      out->lost[j] += 1;
      out->places[i * classes + j] = pair;
      out->places[j * classes + i] = count + pair;
    }
  }
  return true;
}

// The class with most votes; the first one of equal classes.
static byoc_value_t *write_winner(byoc_writer_t *w, const pairs_t *pairs, byoc_value_t *scores) {
  byoc_value_t *is_won = byoc_write_plain(w, "Greater", scores, byoc_ml_number(w, BYOC_DTYPE_F32, 0));
  byoc_value_t *won = byoc_write_cast(w, is_won, BYOC_DTYPE_F32);
  byoc_value_t *lost = byoc_ml_numbers(w, "lost", BYOC_DTYPE_F32, 1, &pairs->classes, pairs->lost);
  return byoc_ml_write_largest(w, write_product(w, "votes", won, pairs->classes, pairs->count, pairs->votes, lost));
}

// Platt's probability of each pair, 1 - 1 / (1 + exp(-(a s + b))), away from 0 and 1; then those of all classes.
static byoc_value_t *write_probabilities(byoc_writer_t *w, const pairs_t *pairs, byoc_value_t *scores) {
  const byoc_dtype_t dtype = BYOC_DTYPE_F32;
  const double *a = byoc_node_floats(w->node, "prob_a", &(size_t){0});
  const double *b = byoc_node_floats(w->node, "prob_b", &(size_t){0});
  byoc_value_t *one = byoc_ml_number(w, dtype, 1);
  byoc_value_t *bent = byoc_write_plain(w, "Mul", scores, byoc_ml_numbers(w, "prob_a", dtype, 1, &pairs->count, a));
  bent = byoc_write_plain(w, "Add", bent, byoc_ml_numbers(w, "prob_b", dtype, 1, &pairs->count, b));
  byoc_value_t *p = byoc_write_plain(w, "Sub", one, byoc_write_plain(w, "Sigmoid", bent, NULL));
  p = byoc_write_node(w, "", "Clip", p, byoc_ml_number(w, dtype, (double)1e-7f),
                      byoc_ml_number(w, dtype, (double)(1 - 1e-7f)), NULL, 0);
  byoc_value_t *both[2] = {p, byoc_write_plain(w, "Sub", one, p)};
  const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  byoc_node_t *joined = byoc_write_many(w, "", "Concat", both, 2, 1, &axis, 1);
  const int64_t dims[2] = {pairs->classes, pairs->classes};
  byoc_value_t *places = byoc_write_vector(w, "places", BYOC_DTYPE_I64, dims[0] * dims[1], pairs->places);
  places = byoc_write_reshape(w, places, dims, 2);
  byoc_value_t *square =
      byoc_write_node(w, "", "Gather", joined != NULL ? joined->results[0] : NULL, places, NULL, &axis, 1);
  return byoc_write_node(w, "byoc", "CouplePairs", square, NULL, NULL, NULL, 0);
}

static byoc_value_t *write_vector_machine(byoc_writer_t *w, byoc_value_t **out_index) {
  pairs_t pairs;
  if (!read_pairs(w->node, &pairs)) {
    w->failed = true;
    return NULL;
  }
  const char *transform = byoc_node_text(w->node, "post_transform");
  byoc_value_t *x = byoc_ml_write_features(w, BYOC_DTYPE_F32);
  if (w->failed) return NULL;
  byoc_value_t *kernel = write_kernel(w, x, pairs.vectors, byoc_node_choice(w->node, "kernel_type"));
  byoc_value_t *rho =
      byoc_ml_numbers(w, "rho", BYOC_DTYPE_F32, 1, &pairs.count, byoc_node_floats(w->node, "rho", &(size_t){0}));
  byoc_value_t *scores = write_product(w, "coefficients", kernel, pairs.count, pairs.vectors, pairs.coefficients, rho);
  *out_index = write_winner(w, &pairs, scores);
  if (w->failed) return NULL;
  if (has_probabilities(w->node)) return byoc_ml_write_transform(w, write_probabilities(w, &pairs, scores), transform);
  if (pairs.classes > 2) return byoc_ml_write_transform(w, scores, transform);
  return byoc_ml_write_two_classes(w, scores, strcmp(transform, "NONE") != 0, transform);
}

// A row of coefficients for each class. With two classes, the second one also wins if the larger score is positive, or,
// if no coefficient is negative, at least one half, as in ONNX Runtime.
static byoc_value_t *write_linear_machine(byoc_writer_t *w, byoc_value_t **out_index) {
  size_t count = 0, probabilities = 0;
  const double *coefficients = byoc_node_floats(w->node, "coefficients", &count);
  byoc_node_floats(w->node, "prob_a", &probabilities);
  const int64_t classes = (int64_t)byoc_ml_label_count(w->node, &svm_labels);
  byoc_value_t *rho = byoc_ml_number(w, BYOC_DTYPE_F32, byoc_node_floats(w->node, "rho", &(size_t){0})[0]);
  byoc_value_t *x = byoc_ml_write_features(w, BYOC_DTYPE_F32);
  byoc_value_t *scores = write_product(w, "coefficients", x, classes, (int64_t)count / classes, coefficients, rho);
  *out_index = byoc_ml_write_largest(w, scores);
  if (classes == 2 && probabilities == 0) {
    bool is_positive = true;
    for (size_t i = 0; i < count; ++i) is_positive = is_positive && coefficients[i] >= 0;
    const int64_t axis = 1, flat = -1;
    byoc_value_t *axes = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &axis);
    byoc_value_t *most = byoc_write_plain(w, "ReduceMax", scores, axes);
    byoc_value_t *limit = byoc_ml_number(w, BYOC_DTYPE_F32, is_positive ? 0.5 : 0);
    byoc_value_t *wins = byoc_write_plain(w, is_positive ? "GreaterOrEqual" : "Greater", most, limit);
    byoc_value_t *second = byoc_write_reshape(w, byoc_write_cast(w, wins, BYOC_DTYPE_I64), &flat, 1);
    *out_index = byoc_write_plain(w, "Max", *out_index, second);
  }
  return byoc_ml_write_transform(w, scores, byoc_node_text(w->node, "post_transform"));
}

static byoc_status_t expand_classifier(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *index = NULL;
  byoc_value_t *scores = count_vectors(node) > 0 ? write_vector_machine(&w, &index) : write_linear_machine(&w, &index);
  byoc_value_t *labels = w.failed ? NULL : byoc_ml_write_labels(&w, &svm_labels, index);
  if (!w.failed && !byoc_value_replace_uses(node->results[1], scores)) w.failed = true;
  return byoc_write_end(&w, labels, out_changed);
}

// ---- the table ----

#define KERNEL_ATTRIBUTES                                                                                              \
  {BYOC_ATTR_CHOICE("kernel_type", "LINEAR", "POLY", "RBF", "SIGMOID")}, {BYOC_ATTR(FLOATS, "kernel_params")},         \
      {BYOC_ATTR(FLOATS, "coefficients")}, {BYOC_ATTR(FLOATS, "rho")}, {BYOC_ATTR(FLOATS, "support_vectors")}, {       \
    BYOC_ML_TRANSFORM                                                                                                  \
  }
static const byoc_op_attribute_t regressor_attributes[] = {
    KERNEL_ATTRIBUTES, {BYOC_ATTR_INT("n_supports", 0)}, {BYOC_ATTR_INT("one_class", 0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t classifier_attributes[] = {KERNEL_ATTRIBUTES,
                                                            {BYOC_ATTR(FLOATS, "prob_a")},
                                                            {BYOC_ATTR(FLOATS, "prob_b")},
                                                            {BYOC_ATTR(INTS, "vectors_per_class")},
                                                            {BYOC_ATTR(INTS, "classlabels_ints")},
                                                            {BYOC_ATTR(STRINGS, "classlabels_strings")},
                                                            BYOC_ATTR_END};

const byoc_op_t byoc_ops_ml_svm[] = {
    {.domain = BYOC_ML_DOMAIN,
     .name = "SVMRegressor",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .attributes = regressor_attributes,
     .infer = infer_regressor,
     .expand = expand_regressor},
    {.domain = BYOC_ML_DOMAIN,
     .name = "SVMClassifier",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 2,
     .max_outputs = 2,
     .attributes = classifier_attributes,
     .infer = infer_classifier,
     .expand = expand_classifier},
};
const size_t byoc_ops_ml_svm_count = sizeof byoc_ops_ml_svm / sizeof *byoc_ops_ml_svm;
