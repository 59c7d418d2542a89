// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: ensembles of decision trees, as byoc::Forest (core/ops/ml/walk.c). Operators of ai.onnx compute results
// from the votes.
#include <math.h>
#include <string.h>

#include "core/ops/ml/forest.h"

// ---- tables ----

typedef struct tables_t {
  byoc_writer_t *w;
  const byoc_forest_t *forest;
  byoc_dtype_t dtype;
  bool has_lists, has_nans;
  byoc_value_t *operands[BYOC_FOREST_OPERAND_COUNT];
} tables_t;

static byoc_value_t *write_numbers(const tables_t *t, const char *name, byoc_dtype_t dtype, size_t count,
                                   double (*at)(const byoc_forest_t *forest, size_t index)) {
  double *values = BYOC_ARENA_ARRAY(&t->w->node->function->module->arena, double, count + 1);
  const int64_t length = (int64_t)count;
  if (values == NULL) t->w->failed = true;
  for (size_t i = 0; values != NULL && i < count; ++i) values[i] = at(t->forest, i);
  return values != NULL ? byoc_ml_numbers(t->w, name, dtype, 1, &length, values) : NULL;
}

static double feature_at(const byoc_forest_t *forest, size_t i) {
  return forest->nodes.data[i].feature < 0 ? 0 : forest->nodes.data[i].feature;
}
static double value_at(const byoc_forest_t *forest, size_t i) {
  return forest->nodes.data[i].value;
}
static double next_at(const byoc_forest_t *forest, size_t i) {
  const byoc_forest_node_t *node = &forest->nodes.data[i / 2];
  return i % 2 == 0 ? node->on_true : node->on_false;
}
static double root_at(const byoc_forest_t *forest, size_t i) {
  return forest->roots.data[i];
}
static double depth_at(const byoc_forest_t *forest, size_t i) {
  return forest->depths.data[i];
}
static double nan_at(const byoc_forest_t *forest, size_t i) {
  return forest->nodes.data[i].nan_is_true;
}
static double vote_at(const byoc_forest_t *forest, size_t i) { // also one after the last
  return i < forest->nodes.count ? forest->nodes.data[i].first_vote : (double)forest->votes.count;
}
static double target_at(const byoc_forest_t *forest, size_t i) {
  return forest->votes.data[i].target;
}
static double weight_at(const byoc_forest_t *forest, size_t i) {
  return forest->votes.data[i].weight;
}
static double own_weight_at(const byoc_forest_t *forest, size_t i) {
  const byoc_forest_node_t *node = &forest->nodes.data[i];
  return node->vote_count > 0 ? forest->votes.data[node->first_vote].weight : 0;
}

static double one_at(const byoc_forest_t *forest, size_t i) {
  (void)forest, (void)i;
  return 1;
}

static bool has_infinite(const byoc_forest_t *forest) {
  for (size_t i = 0; i < forest->votes.count; ++i) {
    if (isinf(forest->votes.data[i].weight)) return true;
  }
  return false;
}

// Are the trees too large to stay in the cache while rows walk through some of them?
static bool are_large(const tables_t *t) {
  const uint64_t size = byoc_dtype_bits(t->dtype) / 8, nodes = t->forest->nodes.count, trees = t->forest->roots.count;
  const uint64_t node_bytes = 3 * sizeof(int32_t) + size + (t->has_lists ? sizeof(int32_t) : size);
  return trees > 0 && 8 * nodes * node_bytes / trees > BYOC_FOREST_LARGE;
}

static byoc_value_t *write_forest(byoc_writer_t *w, const byoc_forest_t *forest, byoc_dtype_t dtype, int64_t targets,
                                  int aggregate) {
  tables_t t = {.w = w, .forest = forest, .dtype = dtype, .has_lists = targets != 1};
  const size_t nodes = forest->nodes.count, trees = forest->roots.count, votes = forest->votes.count;
  for (size_t i = 0; i < nodes; ++i) {
    const byoc_forest_node_t *node = &forest->nodes.data[i];
    t.has_nans = t.has_nans || (node->feature >= 0 && node->nan_is_true);
    t.has_lists = t.has_lists || (node->feature < 0 && node->vote_count != 1);
  }
  byoc_value_t **operands = t.operands;
  operands[BYOC_FOREST_FEATURES] = byoc_ml_write_features(w, dtype);
  operands[BYOC_FOREST_NODES] = write_numbers(&t, "nodes", BYOC_DTYPE_I32, nodes, feature_at);
  operands[BYOC_FOREST_VALUES] = write_numbers(&t, "values", dtype, nodes, value_at);
  operands[BYOC_FOREST_NEXT] = write_numbers(&t, "next", BYOC_DTYPE_I32, 2 * nodes, next_at);
  operands[BYOC_FOREST_ROOTS] = write_numbers(&t, "roots", BYOC_DTYPE_I32, trees, root_at);
  operands[BYOC_FOREST_DEPTHS] = write_numbers(&t, "depths", BYOC_DTYPE_I32, trees, depth_at);
  operands[BYOC_FOREST_WEIGHTS] = t.has_lists ? write_numbers(&t, "weights", dtype, votes, weight_at)
                                              : write_numbers(&t, "weights", dtype, nodes, own_weight_at);
  if (t.has_lists) operands[BYOC_FOREST_VOTES] = write_numbers(&t, "votes", BYOC_DTYPE_I32, nodes + 1, vote_at);
  if (t.has_lists) operands[BYOC_FOREST_TARGETS] = write_numbers(&t, "targets", BYOC_DTYPE_I32, votes, target_at);
  if (t.has_nans) operands[BYOC_FOREST_NANS] = write_numbers(&t, "nans", BYOC_DTYPE_I32, nodes, nan_at);
  static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
  int64_t is_deep = 0;
  for (size_t i = 0; i < trees; ++i) is_deep |= forest->depths.data[i] > BYOC_FOREST_FLAT;
  const byoc_attribute_t attributes[] = {{.name = "targets", .kind = BYOC_ATTRIBUTE_INT, .i = targets},
                                         {.name = "is_deep", .kind = BYOC_ATTRIBUTE_INT, .i = is_deep},
                                         {.name = "aggregate_function",
                                          .kind = BYOC_ATTRIBUTE_STRING,
                                          .s = names[aggregate],
                                          .count = strlen(names[aggregate])}};
  const uint32_t count = t.has_nans ? BYOC_FOREST_OPERAND_COUNT : t.has_lists ? BYOC_FOREST_NANS : BYOC_FOREST_VOTES;
  const uint32_t results = are_large(&t) ? 2 : 1;
  byoc_node_t *made = byoc_write_many(w, "byoc", "Forest", operands, count, results, attributes, 3);
  byoc_value_t *scores = made != NULL ? made->results[0] : NULL;
  if (aggregate == BYOC_FOREST_AVERAGE)
    scores = byoc_write_plain(w, "Div", scores, byoc_ml_number(w, dtype, (double)trees));
  if (aggregate != BYOC_FOREST_MIN && aggregate != BYOC_FOREST_MAX) return scores;
  // A result without a vote is 0. Votes are counted if a vote may be infinite.
  byoc_value_t *none = NULL;
  if (has_infinite(forest)) {
    operands[BYOC_FOREST_WEIGHTS] = write_numbers(&t, "ones", dtype, t.has_lists ? votes : nodes, one_at);
    made = byoc_write_many(w, "byoc", "Forest", operands, count, results, attributes, 2);
    none = made ? byoc_write_plain(w, "Equal", made->results[0], byoc_ml_number(w, dtype, 0)) : NULL;
  } else {
    none = byoc_write_plain(w, "IsInf", scores, NULL);
  }
  return byoc_write_node(w, "", "Where", none, byoc_ml_number(w, dtype, 0), scores, NULL, 0);
}

// ---- common to both operators ----

static byoc_dtype_t type_of_features(const byoc_node_t *node) {
  return node->operands[0]->type->dtype == BYOC_DTYPE_F64 ? BYOC_DTYPE_F64 : BYOC_DTYPE_F32;
}

static byoc_status_t check_features(byoc_infer_t *infer) {
  int64_t features = 0;
  size_t count = 0;
  const int64_t *used = byoc_node_ints(infer->node, "nodes_featureids", &count);
  int64_t least = 0;
  for (size_t i = 0; i < count; ++i) least = used[i] >= least && used[i] < INT32_MAX ? used[i] + 1 : least;
  BYOC_RETURN_IF_ERROR(byoc_ml_need_features_from(infer, least, &features));
  for (size_t i = 0; i < count; ++i) {
    if (used[i] < features) continue;
    return byoc_infer_error(infer, "a node asks for feature %lld of %lld", (long long)used[i], (long long)features);
  }
  return BYOC_OK;
}

// base_values, or a tensor of them; none: NULL and 0.
static const double *base_values(const byoc_node_t *node, size_t *out_count) {
  const double *list = byoc_node_floats(node, "base_values", out_count);
  const byoc_attribute_t *tensor = byoc_node_given(node, "base_values_as_tensor");
  if (*out_count > 0 || tensor == NULL || tensor->tensor == NULL) return list;
  const byoc_constant_t *constant = tensor->tensor;
  *out_count = (size_t)byoc_type_element_count(constant->type);
  double *values = BYOC_ARENA_ARRAY(&node->function->module->arena, double, *out_count + 1);
  for (size_t i = 0; values != NULL && i < *out_count; ++i) {
    values[i] = constant->type->dtype == BYOC_DTYPE_F64 ? ((const double *)constant->data)[i]
                                                        : (double)((const float *)constant->data)[i];
  }
  return values;
}

static byoc_status_t check_base(byoc_infer_t *infer, size_t *out_count) {
  const byoc_attribute_t *tensor = byoc_node_given(infer->node, "base_values_as_tensor");
  if (tensor != NULL && tensor->tensor != NULL && !byoc_ml_is_f32_or_f64(tensor->tensor->type->dtype)) {
    return byoc_infer_error(infer, "attribute 'base_values_as_tensor' is no f32 or f64");
  }
  base_values(infer->node, out_count);
  return BYOC_OK;
}

static byoc_value_t *add_base(byoc_writer_t *w, byoc_value_t *scores, const double *values, size_t count) {
  if (count > 0 && values == NULL) w->failed = true;
  if (w->failed || count == 0) return scores;
  const int64_t length = (int64_t)count;
  return byoc_write_plain(w, "Add", scores, byoc_ml_numbers(w, "base", scores->type->dtype, 1, &length, values));
}

// ---- TreeEnsembleRegressor ----

static const byoc_forest_names_t regressor_names = {"target_treeids", "target_nodeids", "target_ids", "target_weights",
                                                    "target_weights_as_tensor"};

static byoc_status_t infer_regressor(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(check_features(infer));
  const int64_t targets = byoc_node_int(infer->node, "n_targets");
  size_t count = 0;
  if (targets < 1 || targets > INT32_MAX) return byoc_infer_error(infer, "'n_targets' is %lld", (long long)targets);
  const int64_t *ids = byoc_node_ints(infer->node, regressor_names.targets, &count);
  for (size_t i = 0; i < count; ++i) {
    if (ids[i] >= 0 && ids[i] < targets) continue;
    return byoc_infer_error(infer, "a vote is for target %lld of %lld", (long long)ids[i], (long long)targets);
  }
  BYOC_RETURN_IF_ERROR(check_base(infer, &count));
  if (count != 0 && (int64_t)count != targets) {
    return byoc_infer_error(infer, "it has %zu base values for %lld targets", count, (long long)targets);
  }
  const byoc_dim_t dims[2] = {byoc_ml_rows(infer->node), byoc_dim_constant(targets)};
  return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, 2, dims);
}

static byoc_status_t expand_regressor(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_forest_t forest;
  const byoc_dtype_t dtype = type_of_features(node);
  BYOC_RETURN_IF_ERROR(
      byoc_forest_read(node, &regressor_names, dtype == BYOC_DTYPE_F64, &node->function->module->arena, diag, &forest));
  size_t base_count = 0;
  const double *base = base_values(node, &base_count);
  byoc_value_t *scores =
      write_forest(&w, &forest, dtype, byoc_node_int(node, "n_targets"), byoc_node_choice(node, "aggregate_function"));
  scores = byoc_write_cast(&w, add_base(&w, scores, base, base_count), BYOC_DTYPE_F32);
  return byoc_write_end(&w, byoc_ml_write_transform(&w, scores, byoc_node_text(node, "post_transform")), out_changed);
}

// ---- TreeEnsemble ----

// The numbers of both attributes' choices, as the specification has them.
static const int ensemble_aggregates[] = {BYOC_FOREST_AVERAGE, BYOC_FOREST_SUM, BYOC_FOREST_MIN, BYOC_FOREST_MAX};
static const char *const ensemble_transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

static byoc_status_t infer_ensemble(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_ml_is_f32_or_f64, "features of f32 or f64"));
  BYOC_RETURN_IF_ERROR(check_features(infer));
  const int64_t targets = byoc_node_int(node, "n_targets"), transform = byoc_node_int(node, "post_transform");
  const int64_t aggregate = byoc_node_int(node, "aggregate_function");
  size_t count = 0;
  if (targets < 1 || targets > INT32_MAX) return byoc_infer_error(infer, "'n_targets' is %lld", (long long)targets);
  if (aggregate < 0 || aggregate > 3)
    return byoc_infer_error(infer, "'aggregate_function' is %lld", (long long)aggregate);
  if (transform < 0 || transform > 4) return byoc_infer_error(infer, "'post_transform' is %lld", (long long)transform);
  const int64_t *ids = byoc_node_ints(node, "leaf_targetids", &count);
  for (size_t i = 0; i < count; ++i) {
    if (ids[i] >= 0 && ids[i] < targets) continue;
    return byoc_infer_error(infer, "a vote is for target %lld of %lld", (long long)ids[i], (long long)targets);
  }
  const byoc_dim_t dims[2] = {byoc_ml_rows(node), byoc_dim_constant(targets)};
  return byoc_infer_set(infer, 0, byoc_operand_type(node, 0)->dtype, 2, dims);
}

static byoc_status_t expand_ensemble(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_forest_t forest;
  const byoc_dtype_t dtype = type_of_features(node);
  BYOC_RETURN_IF_ERROR(
      byoc_forest_read_ensemble(node, dtype == BYOC_DTYPE_F64, &node->function->module->arena, diag, &forest));
  byoc_value_t *scores = write_forest(&w, &forest, dtype, byoc_node_int(node, "n_targets"),
                                      ensemble_aggregates[byoc_node_int(node, "aggregate_function")]);
  const char *transform = ensemble_transforms[byoc_node_int(node, "post_transform")];
  return byoc_write_end(&w, byoc_ml_write_transform(&w, scores, transform), out_changed);
}

// ---- TreeEnsembleClassifier ----

static const byoc_forest_names_t classifier_names = {"class_treeids", "class_nodeids", "class_ids", "class_weights",
                                                     "class_weights_as_tensor"};
static const byoc_ml_labels_t tree_labels = {"classlabels_int64s", "classlabels_strings"};

static byoc_status_t infer_classifier(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(check_features(infer));
  BYOC_RETURN_IF_ERROR(byoc_ml_infer_labels(infer, &tree_labels));
  const int64_t labels = (int64_t)byoc_ml_label_count(infer->node, &tree_labels);
  size_t count = 0;
  const int64_t *ids = byoc_node_ints(infer->node, classifier_names.targets, &count);
  for (size_t i = 0; i < count; ++i) {
    if (ids[i] >= 0 && ids[i] < labels) continue;
    return byoc_infer_error(infer, "a vote is for class %lld of %lld", (long long)ids[i], (long long)labels);
  }
  if (labels < 2) return byoc_infer_unsupported(infer, "it has %lld labels", (long long)labels);
  BYOC_RETURN_IF_ERROR(check_base(infer, &count));
  if (count > 1 && (int64_t)count != labels) {
    return byoc_infer_error(infer, "it has %zu base values for %lld classes", count, (long long)labels);
  }
  const byoc_dim_t dims[2] = {byoc_ml_rows(infer->node), byoc_dim_constant(labels)};
  return byoc_has_result(infer->node, 1) ? byoc_infer_set(infer, 1, BYOC_DTYPE_F32, 2, dims) : BYOC_OK;
}

// Do all votes go to one class, and are none negative? Then two classes have one score.
static bool votes_for_one(const byoc_forest_t *forest, bool *out_is_positive) {
  *out_is_positive = true;
  for (size_t i = 0; i < forest->votes.count; ++i) {
    if (forest->votes.data[i].target != forest->votes.data[0].target) return false;
    if (forest->votes.data[i].weight < 0) *out_is_positive = false;
  }
  return forest->votes.count > 0;
}

// The scores of two classes from one. If no vote is negative, the sum is a probability, and the limit is one half.
static byoc_value_t *write_binary(byoc_writer_t *w, byoc_forest_t *forest, byoc_dtype_t dtype, bool is_positive,
                                  byoc_value_t **out_index) {
  size_t base_count = 0;
  const double *base = base_values(w->node, &base_count);
  const char *transform = byoc_node_text(w->node, "post_transform");
  for (size_t i = 0; i < forest->votes.count; ++i) forest->votes.data[i].target = 0;
  byoc_value_t *score = write_forest(w, forest, dtype, 1, BYOC_FOREST_SUM);
  score = add_base(w, score, base_count == 2 ? &base[1] : base, base_count > 0);
  score = byoc_write_cast(w, score, BYOC_DTYPE_F32);
  *out_index = byoc_ml_write_above(w, score, is_positive ? 0.5f : 0);
  return byoc_ml_write_two_classes(w, score, is_positive, transform);
}

static byoc_status_t expand_classifier(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_forest_t forest;
  const byoc_dtype_t dtype = type_of_features(node);
  BYOC_RETURN_IF_ERROR(byoc_forest_read(node, &classifier_names, dtype == BYOC_DTYPE_F64,
                                        &node->function->module->arena, diag, &forest));
  const size_t labels = byoc_ml_label_count(node, &tree_labels);
  bool is_positive = false;
  byoc_value_t *scores = NULL, *index = NULL;
  if (labels == 2 && votes_for_one(&forest, &is_positive)) {
    scores = write_binary(&w, &forest, dtype, is_positive, &index);
  } else {
    size_t base_count = 0;
    const double *base = base_values(node, &base_count);
    scores = write_forest(&w, &forest, dtype, (int64_t)labels, BYOC_FOREST_SUM);
    scores = byoc_write_cast(&w, add_base(&w, scores, base, base_count), BYOC_DTYPE_F32);
    index = byoc_ml_write_largest(&w, scores);
    scores = byoc_ml_write_transform(&w, scores, byoc_node_text(node, "post_transform"));
  }
  byoc_value_t *found = byoc_ml_write_labels(&w, &tree_labels, index);
  if (!w.failed && byoc_has_result(node, 1) && !byoc_value_replace_uses(node->results[1], scores)) w.failed = true;
  return byoc_write_end(&w, found, out_changed);
}

// ---- the table ----

#define NODE_ATTRIBUTES                                                                                                \
  {BYOC_ATTR_REQUIRED(INTS, "nodes_treeids")}, {BYOC_ATTR_REQUIRED(INTS, "nodes_nodeids")},                            \
      {BYOC_ATTR_REQUIRED(INTS, "nodes_featureids")}, {BYOC_ATTR(FLOATS, "nodes_values")},                             \
      {BYOC_ATTR(TENSOR, "nodes_values_as_tensor"), .since = 3}, {BYOC_ATTR(FLOATS, "nodes_hitrates")},                \
      {BYOC_ATTR(TENSOR, "nodes_hitrates_as_tensor"), .since = 3}, {BYOC_ATTR_REQUIRED(STRINGS, "nodes_modes")},       \
      {BYOC_ATTR_REQUIRED(INTS, "nodes_truenodeids")}, {BYOC_ATTR_REQUIRED(INTS, "nodes_falsenodeids")},               \
      {BYOC_ATTR(INTS, "nodes_missing_value_tracks_true")}, {BYOC_ATTR(FLOATS, "base_values")},                        \
      {BYOC_ATTR(TENSOR, "base_values_as_tensor"), .since = 3}, {                                                      \
    BYOC_ML_TRANSFORM                                                                                                  \
  }
static const byoc_op_attribute_t regressor_attributes[] = {NODE_ATTRIBUTES,
                                                           {BYOC_ATTR(INTS, "target_treeids")},
                                                           {BYOC_ATTR(INTS, "target_nodeids")},
                                                           {BYOC_ATTR(INTS, "target_ids")},
                                                           {BYOC_ATTR(FLOATS, "target_weights")},
                                                           {BYOC_ATTR(TENSOR, "target_weights_as_tensor"), .since = 3},
                                                           {BYOC_ATTR_INT("n_targets", 1)},
                                                           {BYOC_FOREST_AGGREGATE},
                                                           BYOC_ATTR_END};
static const byoc_op_attribute_t classifier_attributes[] = {NODE_ATTRIBUTES,
                                                            {BYOC_ATTR(INTS, "class_treeids")},
                                                            {BYOC_ATTR(INTS, "class_nodeids")},
                                                            {BYOC_ATTR(INTS, "class_ids")},
                                                            {BYOC_ATTR(FLOATS, "class_weights")},
                                                            {BYOC_ATTR(TENSOR, "class_weights_as_tensor"), .since = 3},
                                                            {BYOC_ATTR(INTS, "classlabels_int64s")},
                                                            {BYOC_ATTR(STRINGS, "classlabels_strings")},
                                                            BYOC_ATTR_END};
static const byoc_op_attribute_t ensemble_attributes[] = {{BYOC_ATTR_INT("aggregate_function", 1)},
                                                          {BYOC_ATTR_REQUIRED(INTS, "leaf_targetids")},
                                                          {BYOC_ATTR_REQUIRED(TENSOR, "leaf_weights")},
                                                          {BYOC_ATTR(TENSOR, "membership_values")},
                                                          {BYOC_ATTR_INT("n_targets", 1)},
                                                          {BYOC_ATTR_REQUIRED(INTS, "nodes_falseleafs")},
                                                          {BYOC_ATTR_REQUIRED(INTS, "nodes_falsenodeids")},
                                                          {BYOC_ATTR_REQUIRED(INTS, "nodes_featureids")},
                                                          {BYOC_ATTR(TENSOR, "nodes_hitrates")},
                                                          {BYOC_ATTR(INTS, "nodes_missing_value_tracks_true")},
                                                          {BYOC_ATTR_REQUIRED(TENSOR, "nodes_modes")},
                                                          {BYOC_ATTR_REQUIRED(TENSOR, "nodes_splits")},
                                                          {BYOC_ATTR_REQUIRED(INTS, "nodes_trueleafs")},
                                                          {BYOC_ATTR_REQUIRED(INTS, "nodes_truenodeids")},
                                                          {BYOC_ATTR_INT("post_transform", 0)},
                                                          {BYOC_ATTR_REQUIRED(INTS, "tree_roots")},
                                                          BYOC_ATTR_END};

#define ROW(Name, version, outputs, schema, infer_function, expand_function)                                           \
  {                                                                                                                    \
    .domain = BYOC_ML_DOMAIN, .name = Name, .since_version = version, .min_inputs = 1, .max_inputs = 1,                \
    .min_outputs = 1, .max_outputs = outputs, .attributes = schema, .infer = infer_function, .expand = expand_function \
  }

const byoc_op_t byoc_ops_ml_trees[] = {
    ROW("TreeEnsemble", 5, 1, ensemble_attributes, infer_ensemble, expand_ensemble),
    ROW("TreeEnsembleRegressor", 1, 1, regressor_attributes, infer_regressor, expand_regressor),
    ROW("TreeEnsembleRegressor", 3, 1, regressor_attributes, infer_regressor, expand_regressor),
    ROW("TreeEnsembleClassifier", 1, 2, classifier_attributes, infer_classifier, expand_classifier),
    ROW("TreeEnsembleClassifier", 3, 2, classifier_attributes, infer_classifier, expand_classifier),
};
const size_t byoc_ops_ml_trees_count = sizeof byoc_ops_ml_trees / sizeof *byoc_ops_ml_trees;
