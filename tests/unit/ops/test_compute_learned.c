// SPDX-License-Identifier: Apache-2.0
// The operators of ai.onnx.ml: trees against a walk written out here, linear models and features against numbers.
#include <float.h>

#include "tests/unit/ops/ops_support.h"

#define MAIN(parameters, results, body) "module {\n  func @main(" parameters ") -> (" results ") {\n" body "  }\n}\n"

// ---- trees ----

enum { MODES = 6, ROWS = 8 };
static const char *const modes[MODES] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

static bool holds(int mode, float x, float value, bool nan_is_true) {
  if (isnan(x) && nan_is_true) return true;
  const bool results[MODES] = {x <= value, x<value, x >= value, x> value, x == value, x != value};
  return results[mode];
}

// A tree of one comparison: 1 where it holds, else 2.
static void one_comparison(int mode, bool nan_is_true, bool is_wide) {
  static const float limits[] = {0, 1.5f, -2, INFINITY, -INFINITY, 1e-45f};
  char text[2048];
  for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); ++i) {
    const float x[ROWS] = {
        limits[i], nextafterf(limits[i], INFINITY), nextafterf(limits[i], -INFINITY), NAN, 0, -0.0f, INFINITY,
        -INFINITY};
    double wide[ROWS];
    for (int k = 0; k < ROWS; ++k) wide[k] = (double)x[k];
    snprintf(text, sizeof(text),
             MAIN("%%x : %s[8,1]", "%%y : f32[8,1]",
                  "    %%y = ai.onnx.ml::TreeEnsembleRegressor@1(%%x) {n_targets = 1, nodes_treeids = [4, 4, 4], "
                  "nodes_nodeids = [7, 3, 5], nodes_featureids = [0, 0, 0], nodes_values = [%.17e, 0.0, 0.0], "
                  "nodes_missing_value_tracks_true = [%d, 0, 0], nodes_modes = [\"%s\", \"LEAF\", \"LEAF\"], "
                  "nodes_truenodeids = [3, 0, 0], nodes_falsenodeids = [5, 0, 0], target_treeids = [4, 4], "
                  "target_nodeids = [3, 5], target_ids = [0, 0], target_weights = [1.0, 2.0]} : f32[8,1]\n"
                  "    return %%y\n"),
             is_wide ? "f64" : "f32", (double)limits[i], nan_is_true, modes[mode]);
    ops_run_t run;
    ops_run(text, (const void *const[]){is_wide ? (const void *)wide : x}, &run);
    const float *y = ops_result(&run, 0);
    for (int k = 0; k < ROWS; ++k) {
      const float expected = holds(mode, x[k], limits[i], nan_is_true) ? 1 : 2;
      if (y[k] != expected) {
        fail_msg("%s %g with %g%s: %g, expected %g", modes[mode], (double)x[k], (double)limits[i],
                 nan_is_true ? ", NaN is true" : "", (double)y[k], (double)expected);
      }
    }
    ops_done(&run);
  }
}

static void test_comparisons(void **state) {
  (void)state;
  for (int mode = 0; mode < MODES; ++mode) {
    for (int flags = 0; flags < 4; ++flags) one_comparison(mode, (flags & 1) != 0, (flags & 2) != 0);
  }
}

#define TWO_TREES                                                                                                      \
  "nodes_treeids = [0, 0, 0, 1, 1, 1, 1, 1], nodes_nodeids = [0, 1, 2, 0, 1, 2, 3, 4], nodes_featureids = [0, 0, 0, "  \
  "1, "                                                                                                                \
  "0, 1, 0, 0], nodes_values = [0.5, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0], nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", "    \
  "\"LEAF\", \"BRANCH_LEQ\", \"LEAF\", \"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], nodes_truenodeids = [1, 0, 0, 1, 0, 3, "   \
  "0, "                                                                                                                \
  "0], nodes_falsenodeids = [2, 0, 0, 2, 0, 4, 0, 0]"
// Tree 0: x0 <= 0.5 ? leaf 1 : leaf 2. Tree 1: x1 <= 0 ? leaf 1 : x1 <= 2 ? leaf 3 : leaf 4.
static const float points[6] = {0, 0, 1, 1, 1, 3};

static void regress(const char *attributes, const float *expected, size_t count) {
  char text[4096];
  snprintf(text, sizeof(text),
           MAIN("%%x : f32[3,2]", "%%y : ?",
                "    %%y = ai.onnx.ml::TreeEnsembleRegressor@3(%%x) {" TWO_TREES ", %s} : ?\n    return %%y\n"),
           attributes);
  ops_run_t run;
  ops_run(text, (const void *const[]){points}, &run);
  ops_near(ops_result(&run, 0), expected, count, attributes);
  ops_done(&run);
}

static void test_aggregates(void **state) {
  (void)state;
#define VOTES                                                                                                          \
  "target_treeids = [0, 0, 1, 1, 1], target_nodeids = [1, 2, 1, 3, 4], target_weights = [1.0, 2.0, 10.0, 20.0, "       \
  "-30.0], "
  regress(VOTES "target_ids = [0, 0, 0, 0, 0], n_targets = 1, base_values = [0.5]",
          (const float[]){11.5f, 22.5f, -27.5f}, 3);
  regress(VOTES "target_ids = [0, 0, 0, 0, 0], n_targets = 1, aggregate_function = \"AVERAGE\"",
          (const float[]){5.5f, 11, -14}, 3);
  regress(VOTES "target_ids = [0, 1, 1, 0, 0], n_targets = 2, aggregate_function = \"MIN\"",
          (const float[]){1, 10, 20, 2, -30, 2}, 6);
  regress(VOTES "target_ids = [0, 0, 0, 0, 0], n_targets = 2, aggregate_function = \"MAX\"",
          (const float[]){10, 0, 20, 0, 2, 0}, 6);
  // A leaf of -inf is no missing vote.
  regress(
      "target_treeids = [0, 0, 1, 1, 1], target_nodeids = [1, 2, 1, 3, 4], target_weights = [-inf, 2.0, -inf, 20.0, "
      "-30.0], target_ids = [0, 0, 0, 0, 0], n_targets = 2, aggregate_function = \"MAX\"",
      (const float[]){-INFINITY, 0, 20, 0, 2, 0}, 6);
#undef VOTES
}

static void classify(const char *attributes, const int64_t *labels, const float *scores, size_t classes) {
  char text[4096];
  snprintf(text, sizeof(text),
           MAIN("%%x : f32[3,2]", "%%l : i64[3], %%s : ?",
                "    %%l, %%s = ai.onnx.ml::TreeEnsembleClassifier@1(%%x) {" TWO_TREES ", %s} : i64[3], ?\n"
                "    return %%l, %%s\n"),
           attributes);
  ops_run_t run;
  ops_run(text, (const void *const[]){points}, &run);
  assert_memory_equal(ops_result(&run, 0), labels, 3 * sizeof(*labels));
  ops_near(ops_result(&run, 1), scores, 3 * classes, attributes);
  ops_done(&run);
}

static void test_classes(void **state) {
  (void)state;
#define VOTES "class_treeids = [0, 0, 1, 1, 1], class_nodeids = [1, 2, 1, 3, 4], "
  classify(VOTES
           "class_ids = [0, 1, 2, 1, 0], class_weights = [1.0, 2.0, 3.0, 4.0, 5.0], classlabels_int64s = [7, 8, 9]",
           (const int64_t[]){9, 8, 7}, (const float[]){1, 0, 3, 0, 6, 0, 5, 2, 0}, 3);
  // One class has all votes, and none is negative: a probability.
  classify(VOTES
           "class_ids = [1, 1, 1, 1, 1], class_weights = [0.0, 0.5, 0.25, 0.25, 0.0], classlabels_int64s = [7, 8]",
           (const int64_t[]){7, 8, 7}, (const float[]){0.75f, 0.25f, 0.25f, 0.75f, 0.5f, 0.5f}, 2);
  // Otherwise the sign decides.
  const float one = 1 / (1 + expf(-1)), two = 1 / (1 + expf(2));
  classify(VOTES
           "class_ids = [0, 0, 0, 0, 0], class_weights = [-3.0, 2.0, 1.0, -1.0, -4.0], classlabels_int64s = [7, 8], "
           "post_transform = \"LOGISTIC\"",
           (const int64_t[]){7, 8, 7}, (const float[]){1 - two, two, 1 - one, one, 1 - two, two}, 2);
  classify(VOTES
           "class_ids = [0, 0, 0, 0, 0], class_weights = [-3.0, 2.0, 1.0, -1.0, -4.0], classlabels_int64s = [7, 8], "
           "base_values = [2.5]",
           (const int64_t[]){8, 8, 8}, (const float[]){-0.5f, 0.5f, -3.5f, 3.5f, -0.5f, 0.5f}, 2);
#undef VOTES
}

static void refuse_text(const char *text, const char *expected) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_status_t status = byoc_infer_module(module, &diag);
  if (status == BYOC_OK) status = byoc_kernel_lower_module(module, NULL, &diag);
  byoc_test_error(status, BYOC_INVALID_DATA, &diag, expected);
  byoc_graph_module_destroy(module);
}

static void refuse(const char *nodes, const char *expected) {
  char text[4096];
  snprintf(text, sizeof(text),
           MAIN("%%x : f32[3,2]", "%%y : ?",
                "    %%y = ai.onnx.ml::TreeEnsembleRegressor@1(%%x) {%s, target_treeids = [0], target_nodeids = [1], "
                "target_ids = [0], target_weights = [1.0]} : ?\n    return %%y\n"),
           nodes);
  refuse_text(text, expected);
}

#define THREE(trees, nodes, features, ways, trues, falses)                                                             \
  "nodes_treeids = [" trees "], nodes_nodeids = [" nodes "], nodes_featureids = [" features                            \
  "], nodes_values = [0.5, 0.0, 0.0], nodes_modes = [\"" ways "\", \"LEAF\", \"LEAF\"], nodes_truenodeids = [" trues   \
  "], nodes_falsenodeids = [" falses "]"

static void test_damaged_trees(void **state) {
  (void)state;
  refuse(THREE("0, 0, 0", "0, 1, 1", "0, 0, 0", "BRANCH_LEQ", "1, 0, 0", "2, 0, 0"), "tree 0 has two nodes 1");
  refuse(THREE("0, 0, 0", "0, 1, 2", "2, 0, 0", "BRANCH_LEQ", "1, 0, 0", "2, 0, 0"), "asks for feature 2 of 2");
  refuse(THREE("0, 0, 0", "0, 1, 2", "-1, 0, 0", "BRANCH_LEQ", "1, 0, 0", "2, 0, 0"), "a feature that is not there");
  refuse(THREE("0, 0, 0", "0, 1, 2", "0, 0, 0", "BRANCH_LEQ", "1, 0, 0", "3, 0, 0"), "a node that is not there");
  refuse(THREE("0, 0, 0", "0, 1, 2", "0, 0, 0", "BRANCH_LEQ", "1, 0, 0", "1, 0, 0"), "tree 0 has two roots");
  refuse(THREE("0, 0, 0", "0, 1, 2", "0, 0, 0", "BRANCH_LEQ", "0, 0, 0", "1, 0, 0"), "node 0 of tree 0 is not reached");
  refuse("nodes_treeids = [0, 0, 0, 0, 0], nodes_nodeids = [0, 1, 2, 3, 4], nodes_featureids = [0, 0, 0, 0, 0], "
         "nodes_values = [0.5, 0.5, 0.5, 0.0, 0.0], nodes_modes = [\"BRANCH_LEQ\", \"BRANCH_LEQ\", \"BRANCH_LEQ\", "
         "\"LEAF\", \"LEAF\"], nodes_truenodeids = [1, 3, 3, 0, 0], nodes_falsenodeids = [2, 4, 4, 0, 0]",
         "reached in two ways");
  refuse(THREE("0, 0, 0", "0, 1, 2", "0, 0, 0", "BRANCH_LE", "1, 0, 0", "2, 0, 0"), "has the mode 'BRANCH_LE'");
  refuse(THREE("0, 0", "0, 1, 2", "0, 0, 0", "BRANCH_LEQ", "1, 0, 0", "2, 0, 0"),
         "'nodes_treeids' has 2 numbers, expected 3");
}

// One byte, where four or eight would be read.
static void test_base_values_are_floats(void **state) {
  (void)state;
  refuse_text("module {\n  constant @b : u8[1] = [1]\n  func @main(%x : f32[3,2]) -> (%y : ?) {\n"
              "    %y = ai.onnx.ml::TreeEnsembleRegressor@3(%x) {" TWO_TREES
              ", target_treeids = [0], target_nodeids = [1], target_ids = [0], target_weights = [1.0], "
              "base_values_as_tensor = @b} : ?\n    return %y\n  }\n}\n",
              "'base_values_as_tensor' is no f32 or f64");
}

// ---- features and linear models ----

static void expect(const char *text, const void *x, const float *expected, size_t count) {
  ops_run_t run;
  ops_run(text, (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), expected, count, text);
  ops_done(&run);
}

static void test_features(void **state) {
  (void)state;
  const float x[4] = {3, -4, 0, 0};
  const int64_t whole[2] = {6, 2};
#define ONE(type, op) MAIN("%x : " type, "%y : ?", "    %y = ai.onnx.ml::" op " : ?\n    return %y\n")
  expect(ONE("f32[2,2]", "Scaler@1(%x) {offset = [1.0, 2.0], scale = [2.0, 0.5]}"), x, (const float[]){4, -3, -2, -1},
         4);
  expect(ONE("i64[2]", "Scaler@1(%x) {offset = [1.0], scale = [2.0]}"), whole, (const float[]){10, 2}, 2);
  expect(ONE("f32[2,2]", "Normalizer@1(%x) {norm = \"L2\"}"), x, (const float[]){0.6f, -0.8f, 0, 0}, 4);
  expect(ONE("f32[2,2]", "Normalizer@1(%x) {norm = \"L1\"}"), x, (const float[]){3.f / 7, -4.f / 7, 0, 0}, 4);
  expect(ONE("f32[2,2]", "Normalizer@1(%x)"), x, (const float[]){1, -4.f / 3, 0, 0}, 4);
  expect(ONE("f32[2,2]", "Binarizer@1(%x) {threshold = 0.0}"), x, (const float[]){1, 0, 0, 0}, 4);
  expect(ONE("f32[2,2]", "Imputer@1(%x) {imputed_value_floats = [7.0, 8.0], replaced_value_float = 0.0}"), x,
         (const float[]){3, -4, 7, 8}, 4);
}

static void test_scaler_has_one_number_for_each_feature(void **state) {
  (void)state;
  refuse_text(ONE("f32[3,1]", "Scaler@1(%x) {offset = [1.0, 2.0, 3.0, 4.0, 5.0]}"),
              "expected 5 in dimension 1, got f32[3,1]");
  refuse_text(ONE("f32[]", "Scaler@1(%x) {scale = [2.0]}"), "expected rank 1 or more, got f32[]");
}

static void test_imputer_keeps_large_integers(void **state) {
  (void)state;
  static const int64_t x[3] = {INT64_MAX, INT64_C(9007199254740993), INT64_MIN};
  static const int64_t expected[3] = {INT64_C(9007199254740995), INT64_C(9007199254740993), INT64_MIN};
  ops_run_t run;
  ops_run(ONE("i64[3,1]", "Imputer@1(%x) {imputed_value_int64s = [9007199254740995], "
                          "replaced_value_int64 = 9223372036854775807}"),
          (const void *const[]){x}, &run);
  assert_memory_equal(ops_result(&run, 0), expected, sizeof(expected));
  ops_done(&run);
}
#undef ONE

static void test_linear(void **state) {
  (void)state;
  const float x[4] = {1, 2, -3, 1};
  expect(
      MAIN("%x : f32[2,2]", "%y : ?",
           "    %y = ai.onnx.ml::LinearRegressor@1(%x) {coefficients = [1.0, 0.0, 2.0, -1.0], intercepts = [0.5, 0.0], "
           "targets = 2} : ?\n    return %y\n"),
      x, (const float[]){1.5f, 0, -2.5f, -7}, 4);
  ops_run_t run;
  ops_run(MAIN("%x : f32[2,2]", "%l : i64[2], %s : ?",
               "    %l, %s = ai.onnx.ml::LinearClassifier@1(%x) {coefficients = [1.0, -1.0], intercepts = [0.25], "
               "classlabels_ints = [3, 5]} : i64[2], ?\n    return %l, %s\n"),
          (const void *const[]){(const float[]){2, 1, -3, 1}}, &run);
  assert_memory_equal(ops_result(&run, 0), ((const int64_t[]){5, 3}), 2 * sizeof(int64_t));
  ops_near(ops_result(&run, 1), (const float[]){-0.25f, 1.25f, 4.75f, -3.75f}, 4, "one score for two classes");
  ops_done(&run);
}

// A linear kernel with one vector: 2 (x . v) + 0.5.
static void test_one_support_vector(void **state) {
  (void)state;
  const float x[6] = {1, 2, 3, -1, 0, 4};
  expect(MAIN("%x : f32[2,3]", "%y : ?",
              "    %y = ai.onnx.ml::SVMRegressor@1(%x) {n_supports = 1, support_vectors = [1.0, -1.0, 0.5], "
              "coefficients = [2.0], rho = [0.5], kernel_params = [0.0, 0.0, 0.0]} : ?\n    return %y\n"),
         x, (const float[]){1.5f, 2.5f}, 2);
}

#define SVM(attributes)                                                                                                \
  MAIN("%x : f32[3,2]", "%l : i64[3], %s : ?",                                                                         \
       "    %l, %s = ai.onnx.ml::SVMClassifier@1(%x) {" attributes "} : i64[3], ?\n    return %l, %s\n")

static void test_damaged_vector_machines(void **state) {
  (void)state;
  refuse_text(SVM("classlabels_ints = [1, 2], vectors_per_class = [1, 1], support_vectors = [1.0, 2.0, 3.0], "
                  "coefficients = [1.0, 2.0], rho = [0.0]"),
              "'support_vectors' has 3 numbers, expected 4");
  refuse_text(SVM("classlabels_ints = [1, 2, 3], vectors_per_class = [1, 1], support_vectors = [1.0, 2.0, 3.0, 4.0], "
                  "coefficients = [1.0, 2.0], rho = [0.0]"),
              "vectors for 2 classes and 3 labels");
  refuse_text(SVM("classlabels_ints = [1, 2], vectors_per_class = [3, -1], support_vectors = [1.0, 2.0, 3.0, 4.0], "
                  "coefficients = [1.0, 2.0], rho = [0.0]"),
              "'vectors_per_class' has a wrong number");
  refuse_text(SVM("classlabels_ints = [1, 2], vectors_per_class = [1, 1], support_vectors = [1.0, 2.0, 3.0, 4.0], "
                  "coefficients = [1.0, 2.0], rho = [0.0], prob_a = [1.0]"),
              "'prob_b' has 0 numbers, expected 1");
  refuse_text(SVM("classlabels_ints = [1, 2], coefficients = [1.0, 2.0], rho = [0.0]"),
              "'coefficients' has 2 numbers, expected 4");
}

// One node with two leaves.
static void refuse_ensemble(const char *mode, const char *root, const char *leaf, const char *target,
                            const char *expected) {
  char text[2048];
  snprintf(text, sizeof(text),
           "module {\n  constant @one : f32[1] = [0.5]\n  constant @two : f32[2] = [1.0, 2.0]\n"
           "  constant @mode : u8[1] = [%s]\n  func @main(%%x : f32[3,2]) -> (%%y : ?) {\n"
           "    %%y = ai.onnx.ml::TreeEnsemble@5(%%x) {tree_roots = [%s], nodes_featureids = [0], nodes_splits = @one, "
           "nodes_modes = @mode, nodes_truenodeids = [0], nodes_trueleafs = [1], nodes_falsenodeids = [%s], "
           "nodes_falseleafs = [1], leaf_targetids = [0, %s], leaf_weights = @two} : ?\n    return %%y\n  }\n}\n",
           mode, root, leaf, target);
  refuse_text(text, expected);
}

static void test_damaged_ensembles(void **state) {
  (void)state;
  refuse_ensemble("6", "0", "1", "0", "'membership_values' has no set for node 0");
  refuse_ensemble("7", "0", "1", "0", "node 0 has the mode 7");
  refuse_ensemble("0", "1", "1", "0", "tree 0 has no root");
  refuse_ensemble("0", "0", "2", "0", "node 0 names a node that is not there");
  refuse_ensemble("0", "0", "1", "1", "a vote is for target 1 of 1");
}

// Two trees of three leaves over N rows: with room, rows walk through them together, whatever N is.
static void walk_forest(int64_t rows, bool has_lists) {
  static const char text[] =
      "module {\n  constant @features : i32[10] = [0, 1, 0, 0, 0, 1, 0, 0, 0, 0]\n"
      "  constant @values : f32[10] = [0.25, -0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0]\n"
      "  constant @next : i32[20] = [1, 2, 3, 4, 2, 2, 3, 3, 4, 4, 6, 7, 8, 9, 7, 7, 8, 8, 9, 9]\n"
      "  constant @roots : i32[2] = [0, 5]\n  constant @depths : i32[2] = [2, 2]\n"
      "  constant @weights : f32[10] = [0.0, 0.0, 1.0, 20.0, 0.3, 0.0, 0.0, 4.0, 0.7, 600.0]\n"
      "  constant @votes : i32[11] = [0, 0, 0, 3, 4, 5, 5, 5, 8, 9, 10]\n"
      "  constant @targets : i32[10] = [0, 1, 0, 1, 0, 0, 0, 1, 1, 0]\n"
      "  func @main(%%x : f32[N,2]) -> (%%y : ?%s) {\n"
      "    %%y%s = byoc::Forest@1(%%x, @features, @values, @next, @roots, @depths, @weights%s) {targets = %d} : ?%s\n"
      "    return %%y%s\n  }\n}\n";
  const int targets = has_lists ? 2 : 1;
  float *x = calloc((size_t)rows * 2 + 1, sizeof *x);
  assert_non_null(x);
  ops_fill(x, (size_t)rows * 2, (uint64_t)rows);
  const float *y[2];
  ops_run_t runs[2];
  for (int i = 0; i < 2; ++i) {
    char module[2048];
    const char *lists = has_lists ? ", @votes, @targets" : "";
    snprintf(module, sizeof module, text, i ? ", %room : ?" : "", i ? ", %room" : "", lists, targets, i ? ", ?" : "",
             i ? ", %room" : "");
    ops_run_symbolic(module, rows, (const void *const[]){x}, &runs[i]);
    y[i] = ops_result(&runs[i], 0);
  }
  for (int64_t k = 0; k < rows * targets; ++k) {
    if (y[0][k] != y[1][k])
      fail_msg("%lld rows: element %lld is %g, not %g", (long long)rows, (long long)k, (double)y[1][k],
               (double)y[0][k]);
  }
  ops_done(&runs[0]);
  ops_done(&runs[1]);
  free(x);
}

static void test_rows_that_walk_together_find_the_same_leaves(void **state) {
  (void)state;
  static const int64_t counts[] = {0, 1, 15, 16, 17, 32, 100, 4096, 4097, 5000};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    walk_forest(counts[i], false);
    walk_forest(counts[i], true);
  }
}

static void test_a_probit_of_two_classes_takes_probabilities(void **state) {
  (void)state;
  expect("module {\n  func @main(%x : f32[2,1]) -> (%y : ?) {\n"
         "    %l, %y = ai.onnx.ml::LinearClassifier@1(%x) {coefficients = [1.0], intercepts = [0.0], "
         "classlabels_ints = [0, 1], post_transform = \"PROBIT\"} : ?, ?\n    return %y\n  }\n}\n",
         (const float[]){0.3f, 0.5f}, (const float[]){0.524400f, -0.524400f, 0, 0}, 4);
}

static void test_sets_may_have_negative_infinity(void **state) {
  (void)state;
  expect("module {\n  constant @one : f32[1] = [0.0]\n  constant @two : f32[2] = [1.0, 2.0]\n"
         "  constant @set : f32[4] = [3.0, -inf, 1.0, nan]\n  constant @mode : u8[1] = [6]\n"
         "  func @main(%x : f32[7,1]) -> (%y : ?) {\n"
         "    %y = ai.onnx.ml::TreeEnsemble@5(%x) {tree_roots = [0], nodes_featureids = [0], nodes_splits = @one, "
         "nodes_modes = @mode, nodes_truenodeids = [0], nodes_trueleafs = [1], nodes_falsenodeids = [1], "
         "nodes_falseleafs = [1], leaf_targetids = [0, 0], leaf_weights = @two, membership_values = @set} : ?\n"
         "    return %y\n  }\n}\n",
         (const float[]){-INFINITY, 1, 3, 0, -FLT_MAX, INFINITY, NAN}, (const float[]){1, 1, 1, 2, 2, 2, 2}, 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_comparisons),
      cmocka_unit_test(test_aggregates),
      cmocka_unit_test(test_classes),
      cmocka_unit_test(test_damaged_trees),
      cmocka_unit_test(test_features),
      cmocka_unit_test(test_linear),
      cmocka_unit_test(test_base_values_are_floats),
      cmocka_unit_test(test_scaler_has_one_number_for_each_feature),
      cmocka_unit_test(test_imputer_keeps_large_integers),
      cmocka_unit_test(test_one_support_vector),
      cmocka_unit_test(test_damaged_vector_machines),
      cmocka_unit_test(test_damaged_ensembles),
      cmocka_unit_test(test_sets_may_have_negative_infinity),
      cmocka_unit_test(test_rows_that_walk_together_find_the_same_leaves),
      cmocka_unit_test(test_a_probit_of_two_classes_takes_probabilities),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
