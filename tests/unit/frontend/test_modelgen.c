// SPDX-License-Identifier: Apache-2.0
// byoc-modelgen: its models, the same bytes for the same seed, and its exit codes.
#include "tests/unit/frontend/frontend_support.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/process.h"

static char *folder;

static int setup(void **state) {
  (void)state;
  folder = byoc_test_folder();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  free(folder);
  return 0;
}

// Runs byoc-modelgen with up to nine arguments; its output is left in `words` if that is not NULL.
static int run(byoc_string_t *words, const char *const *arguments) {
  const char *argv[12] = {BYOC_TEST_PROGRAM_DIR "/byoc-modelgen"};
  for (size_t i = 0; i < 10 && arguments[i]; i++) argv[i + 1] = arguments[i];
  if (!byoc_program_exists(argv[0])) {
    byoc_test_skip("byoc-modelgen was not built");
  }
  byoc_diag_t diag = {0};
  byoc_process_result_t result;
  byoc_process_options_t options = {.directory = folder, .timeout_ms = 120000};
  byoc_test_ok(byoc_process_run(argv, &options, words, &diag, &result), &diag);
  return result.exit_code;
}
#define RUN(words, ...) run((words), (const char *const[]){__VA_ARGS__, NULL})

static void expect_run(int code, const char *part, const char *const *arguments) {
  byoc_string_t words;
  byoc_string_init(&words, byoc_allocator_system());
  const int actual = run(&words, arguments);
  if (actual != code || !strstr(words.data, part)) {
    fail_msg("exit code %d (not %d), with the words: %s\nnot: %s", actual, code, words.data, part);
  }
  byoc_string_deinit(&words);
}
#define EXPECT(code, part, ...) expect_run((code), (part), (const char *const[]){__VA_ARGS__, NULL})

static byoc_graph_module_t *read_generated(const char *name) {
  char path[600];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  byoc_test_ok(byoc_onnx_read_file(path, NULL, byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

static size_t count_nodes(const byoc_graph_module_t *module, const char *op) {
  size_t count = 0;
  BYOC_FOR_EACH_NODE(node, byoc_graph_module_main(module)->body) count += byoc_node_is_onnx(node, op);
  return count;
}

static void writes_image_models(void **state) {
  (void)state;
  assert_int_equal(RUN(NULL, "mlp", "-o", "mlp.onnx", "--seed", "3"), 0);
  byoc_graph_module_t *module = read_generated("mlp.onnx");
  assert_int_equal(count_nodes(module, "Gemm"), 3);
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "lenet", "-o", "lenet.onnx", "--batch", "0"), 0);
  module = read_generated("lenet.onnx");
  const byoc_type_t *type = byoc_graph_module_main(module)->body->parameters.data[0]->type;
  assert_string_equal(type->dims[0].expr->symbol, "batch");
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "resnet50", "-o", "resnet50.onnx"), 0);
  module = read_generated("resnet50.onnx");
  assert_int_equal(count_nodes(module, "Conv"), 53);
  assert_int_equal(count_nodes(module, "Add"), 16);
  assert_int_equal(byoc_type_element_count(byoc_graph_module_main(module)->body->results.data[0]->type), 1000);
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "mobilenet_v2", "-o", "mobilenet_v2.onnx"), 0);
  module = read_generated("mobilenet_v2.onnx");
  assert_int_equal(count_nodes(module, "Conv"), 52);
  assert_int_equal(count_nodes(module, "Add"), 10);
  byoc_graph_module_destroy(module);
}

static void writes_models_that_join_channels(void **state) {
  (void)state;
  assert_int_equal(RUN(NULL, "shufflenet_v2", "-o", "shufflenet.onnx", "--batch", "0"), 0);
  byoc_graph_module_t *module = read_generated("shufflenet.onnx");
  assert_int_equal(count_nodes(module, "Conv"), 56);
  assert_int_equal(count_nodes(module, "Concat"), 16);
  assert_int_equal(count_nodes(module, "Split"), 13);
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "densenet121", "-o", "densenet.onnx"), 0);
  module = read_generated("densenet.onnx");
  assert_int_equal(count_nodes(module, "Conv"), 120);
  assert_int_equal(count_nodes(module, "Concat"), 58);
  assert_int_equal(count_nodes(module, "AveragePool"), 3);
  assert_int_equal(byoc_type_element_count(byoc_graph_module_main(module)->body->results.data[0]->type), 1000);
  byoc_graph_module_destroy(module);
}

static void writes_transformers(void **state) {
  (void)state;
  assert_int_equal(RUN(NULL, "bert_base", "-o", "bert.onnx", "--layers", "1", "--sequence", "16"), 0);
  byoc_graph_module_t *module = read_generated("bert.onnx");
  assert_int_equal(count_nodes(module, "LayerNormalization"), 3);
  assert_int_equal(byoc_type_element_count(byoc_graph_module_main(module)->body->results.data[0]->type), 16 * 768);
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "bert_base", "-o", "bert.onnx", "--layers", "1", "--sequence", "0", "--batch", "0"), 0);
  module = read_generated("bert.onnx");
  assert_int_equal(byoc_graph_module_main(module)->body->results.data[0]->type->rank, 3);
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "gpt2_step", "-o", "gpt2.onnx", "--layers", "1", "--sequence", "5"), 0);
  module = read_generated("gpt2.onnx");
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  assert_string_equal(body->result_names.data[1], "present_key_0");
  assert_int_equal(byoc_type_element_count(body->results.data[1]->type), 12 * 6 * 64);
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "gpt2_cached", "-o", "gpt2.onnx", "--layers", "1", "--sequence", "5"), 0);
  module = read_generated("gpt2.onnx");
  body = byoc_graph_module_main(module)->body;
  assert_true(byoc_type_equal(body->results.data[1]->type, body->parameters.data[2]->type));
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "gpt2_nbits", "-o", "gpt2.onnx", "--layers", "1", "--sequence", "5"), 0);
  module = read_generated("gpt2.onnx");
  assert_int_equal(byoc_type_element_count(byoc_graph_module_main(module)->body->results.data[0]->type), 50257);
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "gpt2_bytes", "-o", "gpt2.onnx", "--layers", "1", "--sequence", "5"), 0);
  module = read_generated("gpt2.onnx");
  size_t products = 0;
  BYOC_FOR_EACH_NODE(node, byoc_graph_module_main(module)->body) {
    if (strcmp(node->op, "MatMulNBits") != 0) continue;
    assert_int_equal(byoc_node_int(node, "accuracy_level"), 4);
    products++;
  }
  assert_int_equal(products, 5);
  byoc_graph_module_destroy(module);
  assert_int_equal(RUN(NULL, "gpt2_blocked", "-o", "gpt2.onnx", "--layers", "1", "--sequence", "5"), 0);
  module = read_generated("gpt2.onnx");
  assert_int_equal(byoc_type_element_count(byoc_graph_module_main(module)->body->results.data[0]->type), 50257);
  EXPECT(2, "gpt2_cached needs a --sequence", "gpt2_cached", "-o", "gpt2.onnx", "--sequence", "0");
  byoc_graph_module_destroy(module);
}

static void writes_the_same_bytes(void **state) {
  (void)state;
  char *data[3];
  size_t sizes[3];
  static const char *const seeds[3] = {"7", "7", "8"};
  for (int i = 0; i < 3; i++) {
    char path[600];
    byoc_diag_t diag = {0};
    assert_int_equal(RUN(NULL, "lenet", "--output=same.onnx", "--seed", seeds[i]), 0);
    snprintf(path, sizeof(path), "%s/same.onnx", folder);
    byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &data[i], &sizes[i]), &diag);
  }
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(data[0], data[1], sizes[0]);
  assert_memory_not_equal(data[0], data[2], sizes[0]);
  for (int i = 0; i < 3; i++) byoc_free(byoc_allocator_system(), data[i]);
}

// Weights in a file of their own are those that stand in the model otherwise.
static void test_weights_apart_are_those_of_the_model(void **state) {
  (void)state;
  assert_int_equal(RUN(NULL, "mlp", "-o", "inside.onnx"), 0);
  assert_int_equal(RUN(NULL, "mlp", "-o", "apart.onnx", "--external"), 0);
  byoc_graph_module_t *inside = read_generated("inside.onnx"), *apart = read_generated("apart.onnx");
  assert_int_equal(apart->mappings.count, 1);
  assert_int_equal(inside->constants.count, apart->constants.count);
  for (size_t i = 0; i < inside->constants.count; i++) {
    assert_string_equal(inside->constants.data[i]->name, apart->constants.data[i]->name);
    assert_true(byoc_constant_equal(inside->constants.data[i], apart->constants.data[i]));
  }
  byoc_graph_module_destroy(inside);
  byoc_graph_module_destroy(apart);
}

static void says_how_it_is_used(void **state) {
  (void)state;
  EXPECT(0, "usage: byoc-modelgen", "--help");
  EXPECT(0, "mobilenet_v2\n", "--list");
  EXPECT(2, "did you mean 'resnet50'?", "resnet5", "-o", "x.onnx");
  EXPECT(2, "did you mean --layers?", "mlp", "-o", "x.onnx", "--layer", "3");
  EXPECT(2, "say where to write mlp", "mlp");
  EXPECT(2, "name a model", "-o", "x.onnx");
  EXPECT(2, "--seed takes a whole number", "mlp", "-o", "x.onnx", "--seed", "many");
  EXPECT(2, "--seed needs a value", "mlp", "-o", "x.onnx", "--seed");
  EXPECT(2, "lenet has no --layers", "lenet", "-o", "x.onnx", "--layers", "3");
  EXPECT(2, "--sequence of bert_base is at most 512", "bert_base", "-o", "x.onnx", "--sequence", "513");
  EXPECT(2, "one model at a time", "mlp", "lenet", "-o", "x.onnx");
  EXPECT(1, "nowhere", "mlp", "-o", "nowhere/x.onnx");
  char path[600];
  snprintf(path, sizeof(path), "%s/x.onnx", folder);
  assert_false(byoc_file_exists(path));
}

// A limit on the size of files stands in for a full disk: no partly written file stays.
static void leaves_nothing_on_a_full_disk(void **state) {
  (void)state;
  const size_t before = byoc_test_count_entries(folder);
  byoc_diag_t diag = {0};
  byoc_process_result_t result;
  byoc_process_options_t options = {.directory = folder, .timeout_ms = 60000};
  if (!byoc_program_exists(BYOC_TEST_PROGRAM_DIR "/byoc-modelgen")) byoc_test_skip("byoc-modelgen was not built");
  const char *const argv[] = {
      "/bin/sh", "-c", "trap '' XFSZ; ulimit -f 64; exec " BYOC_TEST_PROGRAM_DIR "/byoc-modelgen mlp -o full.onnx",
      NULL};
  byoc_string_t words;
  byoc_string_init(&words, byoc_allocator_system());
  byoc_test_ok(byoc_process_run(argv, &options, &words, &diag, &result), &diag);
  assert_int_equal(result.exit_code, 1);
  assert_non_null(strstr(words.data, "full.onnx"));
  byoc_string_deinit(&words);
  assert_int_equal(byoc_test_count_entries(folder), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_image_models),
      cmocka_unit_test(writes_models_that_join_channels),
      cmocka_unit_test(writes_transformers),
      cmocka_unit_test(writes_the_same_bytes),
      cmocka_unit_test(says_how_it_is_used),
      cmocka_unit_test(leaves_nothing_on_a_full_disk),
      cmocka_unit_test(test_weights_apart_are_those_of_the_model),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
