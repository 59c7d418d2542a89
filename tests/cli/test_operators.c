// SPDX-License-Identifier: Apache-2.0
// Operators that a plugin declares, as a user meets them: a model that has one is compiled and evaluated, other
// plugins' rules match it, commands show it, and what is wrong is refused by a sentence.
#include "core/frontend/onnx_write.h"
#include "tests/support/command.h"

#define ACME  BYOC_TEST_BUILD_DIR "/tests/plugins/operators"
#define TAKER BYOC_TEST_BUILD_DIR "/tests/plugins/operators_more/operator_taker.so"
#define OWN   BYOC_TEST_BUILD_DIR "/tests/plugins/operators_more/operator_own.so"
#define LIES  BYOC_TEST_BUILD_DIR "/tests/plugins/operators_more/operator_lies.so"
#define WITH  "BYOC_PLUGIN_PATH=" ACME " "

// y = gelu(x - 0.5) + x of f32[dims]; `domain` "" is that of ONNX.
static void write_model(const char *path, const char *domain, const char *op, const char *dims, int tanh) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "gelu", 20);
  if (domain[0] != '\0') byoc_onnx_model_import(model, domain, 1);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  static const float half = 0.5f;
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, dims);
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, dims);
  byoc_onnx_graph_initialiser_data(graph, "half", BYOC_DTYPE_F32, 0, NULL, &half);
  byoc_onnx_graph_node(graph, "Sub", "s", "x,half", "a");
  byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, op, "g", "a", "b");
  byoc_onnx_node_set_domain(node, domain);
  if (tanh) byoc_onnx_node_string(node, "approximate", "tanh");
  byoc_onnx_graph_node(graph, "Add", "p", "b,x", "y");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

static void test_a_model_from_a_file_to_an_artifact(void **state) {
  (void)state;
  write_model("acme.onnx", "com.acme", "MyGelu", "3,5", 1);
  write_model("onnx.onnx", "", "Gelu", "3,5", 1);
  byoc_test_shell(0, WITH "byoc run onnx.onnx --evaluate --random --output-dir expected");
  byoc_test_shell(0, WITH "byoc run acme.onnx --evaluate --random --expect y=expected/y.npy");
  byoc_test_shell(0, WITH "byoc build acme.onnx -o acme.so");
  byoc_test_printed("c 3 operators");
  byoc_test_shell(0, "byoc run acme.so --random --expect y=expected/y.npy"); // the plugin is not needed any more
  byoc_test_shell(0, WITH "byoc build acme.onnx --emit=host");
  byoc_test_printed("\"Sub+MyGelu+Add\""); // one kernel
  byoc_test_printed("flops");
}

static void test_open_dimensions_and_text(void **state) {
  (void)state;
  write_model("open.onnx", "com.acme", "MyGelu", "N,5", 0);
  byoc_test_shell(0, WITH "byoc run open.onnx --dim N=4 --evaluate --random --output-dir wanted");
  byoc_test_shell(0, WITH "byoc build open.onnx -o open.so");
  byoc_test_shell(0, "byoc run open.so --dim N=4 --random --expect y=wanted/y.npy");
  byoc_test_shell(0, WITH "byoc opt open.onnx -o open.byoc && grep -q 'com.acme::MyGelu@1' open.byoc");
  byoc_test_shell(0, WITH "byoc opt open.byoc -o again.byoc && cmp open.byoc again.byoc");
  byoc_test_shell(0, WITH "byoc build open.byoc -o text.so");
  byoc_test_shell(0, "byoc run text.so --dim N=4 --random --expect y=wanted/y.npy");
}

static void test_rules_of_another_plugin(void **state) {
  (void)state;
  write_model("acme.onnx", "com.acme", "MyGelu", "3,5", 0);
  byoc_test_shell(0, WITH "byoc run acme.onnx --evaluate --random --output-dir taken");
  byoc_test_shell(0, WITH "byoc build acme.onnx --plugin " TAKER " --target 'taker; c' --plan greedy -o taken.so");
  byoc_test_printed("taker 1 operator in 1 region, c 2 operators");
  byoc_test_shell(0, "byoc run taken.so --random --expect y=taken/y.npy");
  byoc_test_shell(0, WITH "byoc explain acme.onnx --plugin " TAKER " --target 'taker; c' --cost estimate");
  byoc_test_printed("MyGelu");
  byoc_test_shell(0, WITH "byoc ops com.acme::MyGelu --plugin " TAKER);
  byoc_test_printed("targets     taker");
}

// An operator without a definition is computed by the targets that take it, and by nothing else.
static void test_an_operator_and_its_target(void **state) {
  (void)state;
  write_model("own.onnx", "com.own", "Twice", "3,5", 0);
  byoc_test_shell(1, "byoc build own.onnx -o none.so --plugin " OWN " --target own"); // it imports version 1
  byoc_test_printed("operator Twice is not known in operator set 1 of domain com.own");
  byoc_test_printed("it is known from operator set 2 on");
  byoc_test_shell(0, "printf 'module {\n  func @main(%%%%x : f32[3,5]) -> (%%%%y : f32[3,5]) {\n"
                     "    %%%%y = com.own::Twice@2(%%%%x) : f32[3,5]\n    return %%%%y\n  }\n}\n' > own.byoc");
  byoc_test_shell(1, "byoc build own.byoc -o none.so --plugin " OWN);
  byoc_test_printed("target 'c' has no definition of Twice (com.own 2)");
  byoc_test_printed("give a target that takes operator 'com.own::Twice'");
  byoc_test_shell(0, "byoc build own.byoc -o own.so --plan greedy --plugin " OWN " --target 'own; c'");
  byoc_test_shell(0, "byoc build own.byoc -o searched.so --cost estimate --plugin " OWN " --target 'own; c'");
  byoc_test_shell(0, "byoc run own.so --random --output-dir own");
  byoc_test_shell(0, "byoc run searched.so --random --expect y=own/y.npy");
}

static void test_commands_show_operators(void **state) {
  (void)state;
  byoc_test_shell(0, WITH "byoc plugins");
  byoc_test_printed("found    acme 1.0: operators of com.acme - Operators of com.acme");
  byoc_test_shell(0, WITH "byoc plugins --json");
  byoc_test_printed("\"domains\": \"com.acme\"");
  byoc_test_shell(0, WITH "byoc plugins --load --plugin " TAKER);
  byoc_test_printed("loaded   acme 1.0");
  byoc_test_shell(0, WITH "byoc ops com.acme::RmsNorm");
  byoc_test_printed("  version 1   2 to 3 operands, 1 result");
  byoc_test_printed("epsilon                        a float, default 1e-05");
  byoc_test_printed("signature   (x: T[B..., D], scale: T[D], bias?: T[D]) -> (y: T[B..., D]) where T = float");
  byoc_test_printed("                var sum = T(0)");
  byoc_test_printed("plugin      acme 1.0, ");
  byoc_test_shell(0, WITH "byoc ops --json com.acme::MyGelu");
  byoc_test_printed("\"plugin\": \"acme\"");
  byoc_test_shell(2, WITH "byoc ops com.acme::MyGel");
  byoc_test_printed("did you mean 'com.acme::MyGelu'?");
}

static void test_unknown_operators(void **state) {
  (void)state;
  write_model("acme.onnx", "com.acme", "MyGelu", "3,5", 0);
  byoc_test_shell(0, "sed 's/Add/Adx/' acme.onnx > two.onnx");
  byoc_test_shell(1, "byoc build acme.onnx -o none.so");
  byoc_test_printed("node 'g' (com.acme::MyGelu): operator MyGelu of domain com.acme (operator set 1) is not known");
  write_model("typo.onnx", "com.acme", "MyGello", "3,5", 0);
  byoc_test_shell(1, WITH "byoc build typo.onnx -o none.so");
  byoc_test_printed("the nearest known operator is MyGelu");
  byoc_test_shell(0, "byoc inspect --coverage acme.onnx");
  byoc_test_printed("com.acme::MyGelu   1     1 missing");
  byoc_test_printed("1 of 3 operators is missing (1 of 3 nodes)");
  byoc_test_shell(0, WITH "byoc inspect --coverage acme.onnx");
  byoc_test_printed("known brought by plugin acme");
  byoc_test_printed("all 3 operators are known (3 nodes)");
  byoc_test_shell(0, "byoc inspect --coverage --json acme.onnx");
  byoc_test_printed("\"missing\": 1");
  for (int i = 0; i < 3; ++i) {
    static const char *const commands[] = {"inspect", "explain", "build -o none.so"};
    byoc_test_shell(1, "byoc %s two.onnx", commands[i]);
    byoc_test_printed("2 of its operators are not known: com.acme::MyGelu (1 node), Adx (1 node)");
    byoc_test_printed("byoc inspect --coverage lists them");
  }
  byoc_test_shell(1, "byoc build acme.onnx -o none.so -v --plugin " TAKER " --target taker");
  byoc_test_printed("is not known");
  if (strstr(byoc_test_output(), "there is no operator") != NULL) fail_msg("%s", byoc_test_output()); // of its pattern
  byoc_test_shell(0, WITH "byoc opt acme.onnx -o acme.byoc");
  byoc_test_shell(1, "byoc build acme.byoc -o none.so");
  byoc_test_printed("operator 'MyGelu' is not known in domain 'com.acme'");
}

// Two plugins declare one operator: an error that names both, unless the user chose.
static void test_a21_two_plugins_for_one_operator_are_an_error(void **state) {
  (void)state;
  write_model("acme.onnx", "com.acme", "MyGelu", "3,5", 0);
  byoc_test_shell(0, "mkdir -p both && cp " ACME "/acme.so " LIES " both/");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH=$PWD/both byoc build acme.onnx -o none.so");
  byoc_test_printed("both/operator_lies.so' is refused: it declares the operator 'com.acme::MyGelu', which '");
  byoc_test_printed("both/acme.so' declares too");
  byoc_test_printed("choose one of them: --prefer FILE");
  byoc_test_shell(1, "byoc build acme.onnx -o none.so --plugin both/acme.so --plugin both/operator_lies.so");
  byoc_test_printed("both/acme.so' declares too");
  // The definition of operator_lies is y = x.
  byoc_test_shell(0, WITH "byoc build acme.onnx --emit=host --plugin " LIES);
  if (strstr(byoc_test_output(), "erf") != NULL) fail_msg("%s", byoc_test_output());
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=$PWD/both byoc build acme.onnx --emit=host --prefer both/operator_lies.so");
  if (strstr(byoc_test_output(), "erf") != NULL) fail_msg("%s", byoc_test_output());
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=$PWD/both byoc build acme.onnx --emit=host --prefer both/acme.so");
  byoc_test_printed("erf");
}

static void test_wrong_declarations_are_told(void **state) {
  (void)state;
  static const char *const sentences[] = {
      NULL, // 0 is good
      "operator 0 ('Lie') lacks 'signature', which byoc_operator_t requires",
      "operator 0 lacks 'name', which byoc_operator_t requires",
      "operator 'com.acme::Lie': its signature: 'T' of 'x' is neither an element type nor listed after `where`",
      "operator 'com.acme::Lie': its element with T = f32 at column 5: no operator, variable or buffer 'gelu'",
      "operator 'com.acme::Lie': it has flags that this host does not know: 64",
      "it declares 'com.other::Lie', and its note announces the domains 'com.acme' only",
      "operator 'ai.onnx::Relu': the domain 'ai.onnx' is byoc's own",
      "attribute 'alpha' is of kind 9, which there is not",
      "the default of attribute 'alpha' is 'one', which is not a float",
      "attribute 'alpha' is a list, and lists have no default",
      "the choices of attribute 'mode' are not all texts",
      "the default 'c' of attribute 'mode' is not allowed",
      "attribute 'mode' is no string and has choices",
      "attribute 'alpha' is required and has a default",
      "attribute 0 lacks 'name', which byoc_operator_attribute_t requires",
      "operator 0 has struct_size 0",
      "the stride of operator 0 is 3",
      "operator 0 is NULL",
      "it declares 100000 operators at once, more than 4096",
      "operator 'com.acme::MyGelu': version 1 of it is declared twice",
      "its note announces the domain 'com.acme', of which it declares no operator",
  };
  write_model("acme.onnx", "com.acme", "MyGelu", "3,5", 0);
  byoc_test_shell(0, "byoc build acme.onnx -o lies.so --plugin " LIES);
  for (size_t i = 1; i < sizeof(sentences) / sizeof(sentences[0]); ++i) {
    byoc_test_shell(1, "ACME_LIE=%zu byoc build acme.onnx -o none.so --plugin " LIES, i);
    byoc_test_printed("operator MyGelu of domain com.acme (operator set 1) is not known");
    byoc_test_printed("operator_lies.so' is refused: ");
    byoc_test_printed(sentences[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_model_from_a_file_to_an_artifact),
      cmocka_unit_test(test_open_dimensions_and_text),
      cmocka_unit_test(test_rules_of_another_plugin),
      cmocka_unit_test(test_an_operator_and_its_target),
      cmocka_unit_test(test_commands_show_operators),
      cmocka_unit_test(test_unknown_operators),
      cmocka_unit_test(test_a21_two_plugins_for_one_operator_are_an_error),
      cmocka_unit_test(test_wrong_declarations_are_told),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
