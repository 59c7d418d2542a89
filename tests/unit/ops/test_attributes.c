// SPDX-License-Identifier: Apache-2.0
// Attributes are checked against the schema of each row, and read with its defaults.
#include <stdio.h>

#include "core/ir/module_text.h"
#include "core/op/op.h"
#include "tests/support/support.h"

// A module with one node of the row, without operands.
static byoc_node_t *make_node(const byoc_op_t *op, byoc_graph_module_t **out_module) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, out_module), &diag);
  byoc_function_t *function = byoc_function_create(*out_module, "main");
  assert_non_null(function);
  byoc_node_t *node = byoc_node_create(function->body, NULL, op->domain, op->name, op->since_version, NULL, 0, 1);
  assert_non_null(node);
  return node;
}

// Gives the node the attribute: its default, or another value of its kind.
static void give(byoc_node_t *node, const byoc_op_attribute_t *entry) {
  static const char *const texts[] = {"a"};
  const char *name = entry->value.name;
  byoc_attributes_t *to = &node->attributes;
  if (entry->is_block) {
    assert_non_null(byoc_node_add_block(node, name));
    return;
  }
  int64_t two[] = {2};
  float data = 0;
  byoc_graph_module_t *module = node->function->module;
  const byoc_type_t *scalar = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_F32, 0, NULL);
  switch (entry->value.kind) {
  case BYOC_ATTRIBUTE_INT:
    assert_true(byoc_attributes_set_int(to, name, entry->value.i));
    break;
  case BYOC_ATTRIBUTE_FLOAT:
    assert_true(byoc_attributes_set_float(to, name, entry->value.f));
    break;
  case BYOC_ATTRIBUTE_STRING:
    assert_true(byoc_attributes_set_string(to, name, entry->allowed ? entry->allowed[0] : "a"));
    break;
  case BYOC_ATTRIBUTE_INTS:
    assert_true(byoc_attributes_set_ints(to, name, two, 1));
    break;
  case BYOC_ATTRIBUTE_FLOATS:
    assert_true(byoc_attributes_set_floats(to, name, (const double[]){0.5}, 1));
    break;
  case BYOC_ATTRIBUTE_STRINGS:
    assert_true(byoc_attributes_set_strings(to, name, texts, 1));
    break;
  case BYOC_ATTRIBUTE_TENSOR:
    assert_true(byoc_attributes_set_tensor(to, name, byoc_constant_create(module, name, scalar, &data)));
    break;
  case BYOC_ATTRIBUTE_TYPE:
    assert_true(byoc_attributes_set_type(to, name, scalar));
    break;
  }
}

static byoc_node_t *make_full_node(const byoc_op_t *op, byoc_graph_module_t **out_module) {
  byoc_node_t *node = make_node(op, out_module);
  for (const byoc_op_attribute_t *entry = op->attributes; entry && entry->value.name; ++entry) {
    if (byoc_op_attribute_holds(entry, op->since_version)) give(node, entry);
  }
  return node;
}

static void expect_refusal(const byoc_node_t *node, const byoc_op_t *op, const char *name, const char *why) {
  byoc_diag_t diag = {0};
  if (byoc_op_check_attributes(node, op, &diag) == BYOC_OK) {
    fail_msg("%s %d, '%s': not refused", op->name, op->since_version, name);
  }
  if (!strstr(diag.message, op->name) || !strstr(diag.message, name) || !strstr(diag.message, why)) {
    fail_msg("expected %s, '%s', %s: got %s", op->name, name, why, diag.message);
  }
}

// ---- every row ----

static void test_each_row_accepts_its_attributes(void **state) {
  (void)state;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    byoc_graph_module_t *module = NULL;
    byoc_node_t *node = make_full_node(op, &module);
    byoc_diag_t diag = {0};
    byoc_test_ok(byoc_op_check_attributes(node, op, &diag), &diag);
    assert_true(byoc_attributes_set_int(&node->attributes, "byoc.note", 1));
    assert_true(byoc_attributes_set_int(&node->attributes, "__annotation", 1));
    byoc_test_ok(byoc_op_check_attributes(node, op, &diag), &diag);
    byoc_graph_module_destroy(module);
  }
}

static void test_each_row_refuses_an_unknown_attribute(void **state) {
  (void)state;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    byoc_graph_module_t *module = NULL;
    byoc_node_t *node = make_full_node(op, &module);
    assert_true(byoc_attributes_set_int(&node->attributes, "unheard_of", 1));
    expect_refusal(node, op, "unheard_of", "is not known");
    byoc_graph_module_destroy(module);
  }
}

static void test_each_attribute_of_another_kind_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    for (const byoc_op_attribute_t *entry = op->attributes; entry && entry->value.name; ++entry) {
      if (!byoc_op_attribute_holds(entry, op->since_version) || entry->is_block) continue;
      byoc_graph_module_t *module = NULL;
      byoc_node_t *node = make_full_node(op, &module);
      bool is_int = entry->value.kind == BYOC_ATTRIBUTE_INT;
      assert_true(is_int ? byoc_attributes_set_float(&node->attributes, entry->value.name, 1)
                         : byoc_attributes_set_int(&node->attributes, entry->value.name, 1));
      expect_refusal(node, op, entry->value.name, is_int ? "must be an int, but is a float" : ", but is an int");
      byoc_graph_module_destroy(module);
    }
  }
}

static void test_each_text_that_is_not_allowed_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    for (const byoc_op_attribute_t *entry = op->attributes; entry && entry->value.name; ++entry) {
      if (!byoc_op_attribute_holds(entry, op->since_version) || !entry->allowed) continue;
      byoc_graph_module_t *module = NULL;
      byoc_node_t *node = make_full_node(op, &module);
      for (int k = 0; entry->allowed[k]; ++k) {
        assert_true(byoc_attributes_set_string(&node->attributes, entry->value.name, entry->allowed[k]));
        byoc_diag_t diag = {0};
        byoc_test_ok(byoc_op_check_attributes(node, op, &diag), &diag);
        assert_int_equal(byoc_node_choice(node, entry->value.name), k);
      }
      assert_true(byoc_attributes_set_string(&node->attributes, entry->value.name, "unheard_of"));
      expect_refusal(node, op, entry->value.name, "is 'unheard_of'; allowed are");
      byoc_graph_module_destroy(module);
    }
  }
}

static void test_each_required_attribute_is_required(void **state) {
  (void)state;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    for (const byoc_op_attribute_t *left_out = op->attributes; left_out && left_out->value.name; ++left_out) {
      if (!byoc_op_attribute_holds(left_out, op->since_version) || !left_out->required) continue;
      byoc_graph_module_t *module = NULL;
      byoc_node_t *node = make_node(op, &module);
      for (const byoc_op_attribute_t *entry = op->attributes; entry->value.name; ++entry) {
        if (entry != left_out && byoc_op_attribute_holds(entry, op->since_version)) give(node, entry);
      }
      expect_refusal(node, op, left_out->value.name, "is required");
      byoc_graph_module_destroy(module);
    }
  }
}

// ---- messages ----

typedef struct {
  const char *node, *message, *hint;
} refusal_t;

static void test_refusals_say_what_is_allowed(void **state) {
  (void)state;
  static const refusal_t refusals[] = {
      {"Elu@6(%x) {alpah = 2.0}", "Elu (ai.onnx 6): attribute 'alpah' is not known; the operator takes 'alpha'",
       "did you mean 'alpha'?"},
      {"Elu@6(%x) {alpha = 2}", "Elu (ai.onnx 6): attribute 'alpha' must be a float, but is an int", ""},
      {"Elu@6(%x) {alpha = \"two\"}", "Elu (ai.onnx 6): attribute 'alpha' must be a float, but is a text", ""},
      {"Relu@14(%x) {alpha = 2.0}",
       "Relu (ai.onnx 14): attribute 'alpha' is not known: the operator takes no attributes", ""},
      {"Softmax@13(%x) {axis = 0.0}", "Softmax (ai.onnx 13): attribute 'axis' must be an int, but is a float", ""},
      {"DepthToSpace@13(%x) {blocksize = 2, mode = \"RCD\"}",
       "DepthToSpace (ai.onnx 13): attribute 'mode' is 'RCD'; allowed are 'DCR' and 'CRD'", "did you mean 'CRD'?"},
      {"MaxPool@8(%x) {kernel_shape = [1, 1], ceil_mode = 1}",
       "MaxPool (ai.onnx 8): attribute 'ceil_mode' is not known before version 10 of the operator", ""},
      {"ReduceMean@18(%x) {axes = [1]}",
       "ReduceMean (ai.onnx 18): attribute 'axes' is not known from version 18 of the operator on", ""},
      {"LRN@13(%x)", "LRN (ai.onnx 13): attribute 'size' is required", ""},
      {"Pad@19(%x, %p) {mode = \"mirror\"}",
       "Pad (ai.onnx 19): attribute 'mode' is 'mirror'; allowed are 'constant', 'reflect', 'edge' and 'wrap'", ""},
  };
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
    char text[1024];
    snprintf(text, sizeof text,
             "module {\n  func @main(%%x : f32[1,4,2,2], %%p : i64[8]) -> (%%y : ?) {\n    %%y = %s : ?\n"
             "    return %%y\n  }\n}\n",
             refusals[i].node);
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_test_ok(byoc_graph_parse(text, "case", byoc_allocator_system(), &diag, &module), &diag);
    assert_int_equal(byoc_infer_module(module, &diag), BYOC_INVALID_DATA);
    assert_string_equal(diag.message, refusals[i].message);
    assert_string_equal(diag.hint, refusals[i].hint);
    byoc_graph_module_destroy(module);
  }
}

// ---- defaults ----

static const byoc_node_t *bare(const char *name, int32_t opset, byoc_graph_module_t **out_module) {
  const byoc_op_t *op = byoc_op_find("", name, opset);
  assert_non_null(op);
  return make_node(op, out_module);
}

// The defaults of the specification, written down a second time.
static void test_defaults(void **state) {
  (void)state;
  static const struct {
    const char *op, *attribute;
    int32_t opset;
    double value;
  } floats[] = {
      {"LeakyRelu", "alpha", 16, (double)0.01f},
      {"Elu", "alpha", 22, 1},
      {"Celu", "alpha", 12, 1},
      {"ThresholdedRelu", "alpha", 22, 1},
      {"Swish", "alpha", 24, 1},
      {"Selu", "alpha", 22, (double)1.67326319217681884765625f},
      {"Selu", "gamma", 22, (double)1.05070102214813232421875f},
      {"HardSigmoid", "alpha", 22, (double)0.2f},
      {"HardSigmoid", "beta", 22, 0.5},
      {"Shrink", "lambd", 9, 0.5},
      {"Shrink", "bias", 9, 0},
      {"BatchNormalization", "epsilon", 15, (double)1e-5f},
      {"BatchNormalization", "momentum", 15, (double)0.9f},
      {"LayerNormalization", "epsilon", 17, (double)1e-5f},
      {"LRN", "alpha", 13, (double)1e-4f},
      {"LRN", "beta", 13, 0.75},
      {"LRN", "bias", 13, 1},
      {"Gemm", "alpha", 13, 1},
      {"Gemm", "beta", 13, 1},
      {"Resize", "cubic_coeff_a", 19, -0.75},
      {"Attention", "softcap", 23, 0},
  };
  static const struct {
    const char *op, *attribute;
    int32_t opset;
    int64_t value;
  } ints[] = {
      {"Softmax", "axis", 12, 1},
      {"Softmax", "axis", 13, -1},
      {"Flatten", "axis", 13, 1},
      {"Gather", "axis", 13, 0},
      {"OneHot", "axis", 11, -1},
      {"Conv", "group", 22, 1},
      {"ReduceSum", "keepdims", 13, 1},
      {"ReduceSum", "keepdims", 1, 1},
      {"ArgMax", "axis", 13, 0},
      {"TopK", "axis", 24, -1},
      {"TopK", "largest", 10, 1},
      {"QuantizeLinear", "axis", 21, 1},
      {"Cast", "saturate", 21, 1},
      {"LayerNormalization", "axis", 17, -1},
      {"LpPool", "p", 22, 2},
      {"Trilu", "upper", 14, 1},
      {"IsInf", "detect_negative", 20, 1},
      {"ReverseSequence", "batch_axis", 10, 1},
      {"RoiAlign", "output_height", 22, 1},
      {"STFT", "onesided", 17, 1},
      {"Attention", "left_window_size", 24, -1},
      {"HannWindow", "periodic", 17, 1},
      {"Split", "axis", 18, 0},
      {"AveragePool", "count_include_pad", 22, 0},
      {"RandomUniform", "dtype", 22, 1},
      {"Multinomial", "dtype", 22, 6},
      {"BatchNormalization", "spatial", 6, 1},
  };
  static const struct {
    const char *op, *attribute;
    int32_t opset;
    const char *value;
  } texts[] = {
      {"Gelu", "approximate", 20, "none"},
      {"Conv", "auto_pad", 22, "NOTSET"},
      {"DepthToSpace", "mode", 13, "DCR"},
      {"Pad", "mode", 21, "constant"},
      {"Resize", "mode", 19, "nearest"},
      {"Resize", "coordinate_transformation_mode", 19, "half_pixel"},
      {"Resize", "nearest_mode", 19, "round_prefer_floor"},
      {"Resize", "keep_aspect_ratio_policy", 19, "stretch"},
      {"GridSample", "mode", 16, "bilinear"},
      {"GridSample", "mode", 20, "linear"},
      {"GridSample", "padding_mode", 22, "zeros"},
      {"RoiAlign", "mode", 22, "avg"},
      {"RoiAlign", "coordinate_transformation_mode", 22, "half_pixel"},
      {"ScatterND", "reduction", 18, "none"},
      {"SoftmaxCrossEntropyLoss", "reduction", 13, "mean"},
      {"LSTM", "direction", 22, "forward"},
      {"StringNormalizer", "case_change_action", 10, "NONE"},
  };
  byoc_graph_module_t *module = NULL;
  for (size_t i = 0; i < sizeof floats / sizeof *floats; ++i) {
    double value = byoc_node_float(bare(floats[i].op, floats[i].opset, &module), floats[i].attribute);
    if (value != floats[i].value) fail_msg("%s %s: %.17g", floats[i].op, floats[i].attribute, value);
    byoc_graph_module_destroy(module);
  }
  for (size_t i = 0; i < sizeof ints / sizeof *ints; ++i) {
    int64_t value = byoc_node_int(bare(ints[i].op, ints[i].opset, &module), ints[i].attribute);
    if (value != ints[i].value) fail_msg("%s %s: %lld", ints[i].op, ints[i].attribute, (long long)value);
    byoc_graph_module_destroy(module);
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    const char *value = byoc_node_text(bare(texts[i].op, texts[i].opset, &module), texts[i].attribute);
    if (strcmp(value, texts[i].value) != 0) fail_msg("%s %s: %s", texts[i].op, texts[i].attribute, value);
    byoc_graph_module_destroy(module);
  }
}

static void test_reading(void **state) {
  (void)state;
  byoc_graph_module_t *module = NULL;
  byoc_node_t *node = make_node(byoc_op_find("", "Conv", 22), &module);
  size_t count = 1;
  assert_null(byoc_node_ints(node, "pads", &count));
  assert_int_equal(count, 0);
  assert_null(byoc_node_given(node, "group"));
  assert_true(byoc_attributes_set_ints(&node->attributes, "pads", (const int64_t[]){1, 2}, 2));
  assert_true(byoc_attributes_set_int(&node->attributes, "group", 3));
  assert_int_equal(byoc_node_ints(node, "pads", &count)[1], 2);
  assert_int_equal(count, 2);
  assert_int_equal(byoc_node_int(node, "group"), 3);
  assert_non_null(byoc_node_given(node, "group"));
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_row_accepts_its_attributes),
      cmocka_unit_test(test_each_row_refuses_an_unknown_attribute),
      cmocka_unit_test(test_each_attribute_of_another_kind_is_refused),
      cmocka_unit_test(test_each_text_that_is_not_allowed_is_refused),
      cmocka_unit_test(test_each_required_attribute_is_required),
      cmocka_unit_test(test_refusals_say_what_is_allowed),
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_reading),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
