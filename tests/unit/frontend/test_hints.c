// SPDX-License-Identifier: Apache-2.0
// What models state beyond what they compute, and the rules that are overlooked: usually, strictly and leniently.
#include "tests/unit/frontend/frontend_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "tests/support/model.h"

#define HEAD "module {model = \"test\", producer = \"byoc\", ir_version = 8, opset_import. = 17} {\n"

// What a reading of the model writes to the log.
static void expect_reported(byoc_onnx_model_t *model, const byoc_onnx_read_options_t *options, const char *expected) {
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  byoc_log_set_stream(stream);
  const byoc_status_t status = read_model(model, options, &diag, &module);
  byoc_log_set_stream(NULL);
  fclose(stream);
  byoc_test_ok(status, &diag);
  byoc_test_same_text(text, expected);
  free(text);
  byoc_graph_module_destroy(module);
}

static byoc_onnx_model_t *squeeze_of(const char *declared) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "N,M");
  byoc_onnx_graph_node(graph, "Relu", "r", "x", "t");
  byoc_onnx_graph_node(graph, "Squeeze", "s", "t", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, declared);
  return model;
}

// Where the run decides how many dimensions stay, a declared rank is one of those that it may be; when reading is
// strict, it is a promise.
static void declared_ranks_are_hints(void **state) {
  (void)state;
  static const byoc_onnx_read_options_t strict = {.strictness = BYOC_ONNX_STRICT};
  expect_reported(
      squeeze_of("K"), NULL,
      "warning: value 'out' is declared f32[K], but Squeeze 's' (ai.onnx 13) makes it f32[*]; the declaration is "
      "left aside\n");
  for (int is_strict = 0; is_strict < 2; ++is_strict) {
    byoc_diag_t diag;
    byoc_graph_module_t *module;
    byoc_test_ok(read_model(squeeze_of("K"), is_strict ? &strict : NULL, &diag, &module), &diag);
    const byoc_type_t *type = byoc_graph_module_main(module)->body->results.data[0]->type;
    assert_int_equal(type->rank, is_strict ? 1 : BYOC_RANK_UNKNOWN);
    byoc_graph_module_destroy(module);
  }
}

static byoc_onnx_model_t *nonzero_of(const char *inside, const char *outside) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "4,3");
  byoc_onnx_graph_node(graph, "NonZero", "find", "x", "t");
  byoc_onnx_graph_node(graph, "Neg", "", "t", "out");
  byoc_test_onnx_value_info(graph, "t", BYOC_DTYPE_I64, inside);
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_I64, outside);
  return model;
}

// A declared size does not become one of what only the run knows; a warning says so, of values inside, too.
static void computed_sizes_stand(void **state) {
  (void)state;
  static const byoc_onnx_read_options_t strict = {.strictness = BYOC_ONNX_STRICT};
  expect_reported(nonzero_of("2,K", "2,K"), NULL, "");
  expect_reported(nonzero_of("2,1", "2,K"), NULL,
                  "warning: value 't' is declared i64[2,1], but NonZero 'find' (ai.onnx 13) makes it i64[2,?2]; the "
                  "declaration is left aside\n");
  expect_reported(nonzero_of("2,1", "2,1"), &strict, "");
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  for (int is_strict = 0; is_strict < 2; ++is_strict) {
    byoc_test_ok(read_model(nonzero_of("2,1", "2,K"), is_strict ? &strict : NULL, &diag, &module), &diag);
    const byoc_type_t *type = byoc_graph_module_main(module)->body->results.data[0]->type;
    assert_int_equal(byoc_type_is_static(type), is_strict); // then a promise, which the run checks
    byoc_graph_module_destroy(module);
  }
  expect_error(nonzero_of("3,K", "2,K"), &strict, BYOC_INVALID_DATA, "value 't' is declared i64[3,K], but NonZero");
}

// Files whose inputs were given other sizes declare hundreds of wrong ones: the first few are told, and all outputs.
static void many_wrong_sizes_are_counted(void **state) {
  (void)state;
  enum { VALUES = 20, TOLD = 8 };
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  char names[VALUES + 1][8];
  byoc_string_t expected;
  byoc_string_init(&expected, byoc_allocator_system());
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  for (int i = 0; i <= VALUES; ++i) {
    snprintf(names[i], sizeof(names[i]), "t%d", i);
    byoc_onnx_graph_node(graph, "Relu", "", i == 0 ? "x" : names[i - 1], names[i]);
    if (i < VALUES) byoc_test_onnx_value_info(graph, names[i], BYOC_DTYPE_F32, "1,3");
    if (i >= TOLD && i < VALUES) continue;
    byoc_string_appendf(&expected,
                        "warning: value '%s' is declared f32[1,3], but Relu (ai.onnx 14) makes it f32[2,3]; the "
                        "declaration is left aside\n",
                        names[i]);
  }
  byoc_string_appendf(&expected, "warning: %d more values have other shapes than the model declares\n", VALUES - TOLD);
  byoc_onnx_graph_output(graph, names[VALUES], BYOC_DTYPE_F32, "1,3");
  expect_reported(model, NULL, expected.data);
  byoc_string_deinit(&expected);
}

static byoc_onnx_model_t *microsoft_gelu(void) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  for (int i = 0; i < 2; ++i) {
    byoc_onnx_node_t *node =
        byoc_onnx_graph_node(graph, "Gelu", i == 0 ? "g" : "h", i == 0 ? "x" : "t", i == 0 ? "t" : "out");
    byoc_onnx_node_set_domain(node, "com.microsoft");
  }
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2,3");
  return model;
}

// Operators of ONNX Runtime and of learned models are known without an import: version 1, and one warning.
static void domains_are_taken_for_granted(void **state) {
  (void)state;
  static const byoc_onnx_read_options_t strict = {.strictness = BYOC_ONNX_STRICT};
  expect_reported(microsoft_gelu(), NULL,
                  "warning: node 'g' (com.microsoft::Gelu): the model imports no operator set of domain com.microsoft; "
                  "version 1 is used\n");
  expect_error(microsoft_gelu(), &strict, BYOC_INVALID_DATA,
               "the model imports no operator set of domain com.microsoft");
}

static byoc_onnx_model_t *misspelt(void) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_node_float(byoc_onnx_graph_node(graph, "LeakyRelu", "n", "x", "out"), "alhpa", 0.5F);
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2,3");
  return model;
}

static void attributes_that_are_not_known_can_be_left_out(void **state) {
  (void)state;
  static const byoc_onnx_read_options_t lenient = {.strictness = BYOC_ONNX_LENIENT};
  expect_error(misspelt(), NULL, BYOC_INVALID_DATA, "attribute 'alhpa' is not known");
  expect_reported(misspelt(), &lenient,
                  "warning: node 'n' (LeakyRelu): the operator has no attribute 'alhpa', which is left out\n");
}

// What the specification forbids, and readers accept.
static void strict_reading_refuses(void **state) {
  (void)state;
  static const byoc_onnx_read_options_t strict = {.strictness = BYOC_ONNX_STRICT};
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_node(graph, "Relu", "", "t", "out");
  byoc_onnx_graph_node(graph, "Neg", "", "x", "t");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2,3");
  expect_error(model, &strict, BYOC_INVALID_DATA, "not in topological order");

  model = byoc_onnx_model_create(byoc_allocator_system(), "test", 5);
  graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_node(graph, "Erf", "", "x", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2,3");
  expect_error(model, &strict, BYOC_INVALID_DATA, "operator Erf is not in operator set 5 of domain ai.onnx, but in 9");
}

static byoc_onnx_model_t *with_default(void) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_input(graph, "w", BYOC_DTYPE_F32, "3");
  byoc_onnx_graph_initialiser_data(graph, "w", BYOC_DTYPE_F32, 1, (const int64_t[]){3}, (const float[]){1, 2, 3});
  byoc_onnx_graph_node(graph, "Add", "", "x,w", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2,3");
  return model;
}

// An initialiser that is also an input is a constant, unless it shall stay an input, which runs may leave out.
static void initialisers_can_stay_inputs(void **state) {
  (void)state;
  static const char *const names[] = {"w", "q"};
  byoc_onnx_read_options_t options = {.optional_inputs = names, .optional_count = 1};
  expect_text(with_default(), &options,
              HEAD "  constant @w : f32[3] = [1.0, 2.0, 3.0]\n"
                   "\n"
                   "  func @main(%x : f32[2,3], %w : opt<f32[3]>) -> (%out : f32[2,3]) {\n"
                   "    %0 = OptionalHasElement@18(%w) : bool[]\n"
                   "    %1 = If@16(%0) [then_branch () -> (f32[3]) {\n"
                   "      %2 = OptionalGetElement@18(%w) : f32[3]\n"
                   "      return %2\n"
                   "    }, else_branch () -> (f32[3]) {\n"
                   "      return @w\n"
                   "    }] : f32[3]\n"
                   "    %out = Add@14(%x, %1) : f32[2,3]\n"
                   "    return %out\n"
                   "  }\n"
                   "}\n");
  options.optional_count = 2;
  expect_error(with_default(), &options, BYOC_INVALID_ARGUMENT, "no input 'q' with an initialiser");
  options = (byoc_onnx_read_options_t){.given_inputs = &names[1], .given_count = 1};
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(with_default(), &options, &diag, &module), &diag);
  assert_int_equal(byoc_graph_module_main(module)->body->parameters.count, 1);
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(declared_ranks_are_hints),
      cmocka_unit_test(computed_sizes_stand),
      cmocka_unit_test(many_wrong_sizes_are_counted),
      cmocka_unit_test(domains_are_taken_for_granted),
      cmocka_unit_test(attributes_that_are_not_known_can_be_left_out),
      cmocka_unit_test(strict_reading_refuses),
      cmocka_unit_test(initialisers_can_stay_inputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
