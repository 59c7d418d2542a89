// SPDX-License-Identifier: Apache-2.0
// byoc explain, and what build does with its plan: --save-plan, --html, --require.
#include <stdio.h>

#include "core/base/file.h"
#include "core/collage/plan_json.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

// `body` is a function of one f32[4] parameter %x and result %y, in text form.
static void write_text(const char *path, const char *body) {
  char text[2048];
  byoc_diag_t diag = {0};
  int size = snprintf(text, sizeof(text),
                      "module {\n  func @main(%%x : f32[4]) -> (%%y : f32[4]) {\n%s    return %%y\n  }\n}\n", body);
  byoc_test_ok(byoc_file_write(path, text, (size_t)size, &diag), &diag);
}

// A command with the targets first and second of tests/plugins/demo_rows.c, whose rules are given here.
#define DEMO(rules) "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good BYOC_TEST_RULES='" rules "' "

static byoc_plan_t read_plan(const char *path) {
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  byoc_test_ok(byoc_plan_read(path, byoc_allocator_system(), &diag, &plan), &diag);
  return plan;
}

// ---- tables ----

static void test_c10_tables_show_regions_and_nodes(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc explain vision.onnx --layout=plain --plan=collage --target 'cutlass; dnnl; c'");
  static const char *const parts[] = {
      "plan of 'vision' by ", "operators regions", "main: 9 nodes",       "node operator", "conv1",
      "f32[1,16,12,12]",      "region target",     "node 0: Conv 'conv1'"};
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i) byoc_test_printed(parts[i]);
  // Placement by cost prices candidates and has rivals.
  byoc_test_printed("candidates (* is the one chosen): cost, target, rule, nodes\n    * ");
  byoc_test_printed("plan      sum of its parts measured as a whole size\n  this one ");
  byoc_test_printed("\n  greedy ");
  byoc_test_shell(0,
                  "byoc explain vision.onnx --layout=plain --plan=collage --target 'cutlass; dnnl; c' --all > all.txt; "
                  "test $(wc -L < all.txt) -le 100 && test $(grep -c '^node [0-9]' all.txt) -eq 9");
}

// Long lists are cut, and say how to see them whole.
static void test_c10_long_lists_are_cut(void **state) {
  (void)state;
  byoc_test_shell(
      0, "byoc-modelgen resnet50 -o resnet50.onnx && byoc explain resnet50.onnx --plan=greedy --target 'cutlass; c'");
  byoc_test_printed("more nodes; --all shows them");
  byoc_test_printed("more regions; --all shows them");
  byoc_test_printed("more nodes; --node NAME shows one, --all all of them");
  byoc_test_shell(0, "byoc explain resnet50.onnx --plan=greedy --target 'cutlass; c' --all > all.txt; wc -L < all.txt; "
                     "test $(wc -L < all.txt) -le 100 && test $(grep -c '^node [0-9]' all.txt) -gt 100");
  byoc_test_shell(1, "grep -e --all all.txt");
}

static void test_c10_one_node_is_explained(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc explain vision.onnx --layout=plain --plan=greedy --target 'cutlass; c' --node pool");
  assert_ptr_equal(strstr(byoc_test_output(), "node 5: MaxPool 'pool' : f32[1,16,6,6], reads 4\n  placed on c"),
                   byoc_test_output());
  byoc_test_printed("cutlass: none of its rules claims it here");
  byoc_test_shell(0, "byoc explain vision.onnx --layout=plain --plan=greedy --target 'cutlass; c' --node 5");
  byoc_test_printed("node 5: MaxPool 'pool'");
  byoc_test_shell(2, "byoc explain vision.onnx --layout=plain --plan=greedy --target 'cutlass; c' --node poool");
  byoc_test_printed("the plan has no node 'poool'");
  byoc_test_printed("did you mean 'pool'?");
  byoc_test_shell(2, "byoc explain vision.onnx --plan=greedy --node 9");
}

// A MiB is worth a percentage of the time, in builds only.
static void test_a_size_price_is_a_percentage(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(2, "byoc explain vision.onnx --target 'cutlass; c' --size-price much");
  byoc_test_printed("--size-price takes a percentage from 0 to 100, not 'much'");
  byoc_test_shell(2, "byoc build vision.onnx --target 'cutlass; c' --size-price 101");
  byoc_test_shell(2, "byoc build vision.onnx --target 'cutlass; c' --size-price=-1");
  byoc_test_shell(0, "byoc explain vision.onnx --plan=collage --cost=estimate --target 'cutlass; c' --size-price 0.5");
  byoc_test_shell(0, "byoc build vision.onnx --plan=greedy -o vision.so");
  byoc_test_shell(2, "byoc run vision.so --random --size-price 1");
  byoc_test_printed("--size-price is for models; this is an artifact");
}

// A node that a backend declined carries the reason, and so does one that it took and gave back.
static void test_a23_a_declined_node_carries_the_reason(void **state) {
  (void)state;
  write_text("double.byoc", "    %0 = Cast@13 \"widen\" (%x) {to = 11} : f64[4]\n"
                            "    %1 = Relu@14 \"wide\" (%0) : f64[4]\n"
                            "    %2 = Cast@13 \"narrow\" (%1) {to = 1} : f32[4]\n"
                            "    %y = Relu@14 \"small\" (%2) : f32[4]\n");
  byoc_test_shell(
      0, DEMO("first.relu only=f32 := Relu(%%x)") "byoc explain double.byoc --plan=greedy --target first --node wide");
  byoc_test_printed("placed on c");
  byoc_test_printed("first declined (first.relu): only f32 is done here");
  byoc_test_shell(
      0, DEMO("first.relu only=f32 := Relu(%%x)") "byoc explain double.byoc --plan=greedy --target first --node small");
  assert_null(strstr(byoc_test_output(), "declined"));
  byoc_test_shell(
      0, DEMO("first.relu only=f32 := Relu(%%x)") "byoc explain double.byoc --plan=greedy --target first --node widen");
  byoc_test_printed("first: none of its rules claims it here");
  byoc_test_shell(0, DEMO("first.relu only=f32 := Relu(%%x)") "byoc explain double.byoc --plan=greedy --json --target "
                                                              "'first -answer=decline' | grep -c 'declined it later'");
}

// A target did not get a node because of an element type or a rank: the sentence says what its rule takes. The types of
// each region are shown.
static void test_b35_explain_says_which_element_types_a_rule_takes(void **state) {
  (void)state;
  static const char module[] =
      "module {\n  func @main(%x : f32[4], %h : bf16[4]) -> (%y : f32[4], %g : bf16[4], %q : f64[4]) {\n"
      "    %y = Relu@14 \"small\" (%x) : f32[4]\n"
      "    %0 = Relu@14 \"half\" (%h) : bf16[4]\n"
      "    %g = Sigmoid@13 \"gate\" (%0) : bf16[4]\n"
      "    %1 = Cast@13 \"widen\" (%y) {to = 11} : f64[4]\n"
      "    %q = Tanh@13 \"last\" (%1) : f64[4]\n"
      "    return %y, %g, %q\n  }\n}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("types.byoc", module, sizeof(module) - 1, &diag), &diag);
#define TYPE_RULES                                                                                                     \
  DEMO("first.relu := Relu<f32|f16>(%%x)\n"                                                                            \
       "first.gate := (Sigmoid<f32>(Relu(%%x)) | Sigmoid<f16>(Relu(%%x)))\n"                                           \
       "first.cast := Cast(%%x<f32>)\n"                                                                                \
       "first.tanh := Tanh(%%x<f16|f64, 2>)\n"                                                                         \
       "second.wide := Tanh(Cast(%%x<f16>))\nsecond.half := Relu<bf16>(%%x)")
  static const char *const plans[] = {"greedy", "collage --cost=estimate"};
  for (size_t i = 0; i < 2; ++i) {
    byoc_test_shell(0,
                    TYPE_RULES "byoc explain types.byoc --plan=%s -t 'first; second; c' --all --html t.html "
                               "--save-plan t.json",
                    plans[i]);
    byoc_test_printed("first declined (first.relu): takes f32 and f16, the node has bf16\n");
    byoc_test_printed("first declined nodes 1-2 (first.gate): takes f32 and f16, Sigmoid 'gate' has bf16\n");
    byoc_test_printed("first declined (first.tanh): takes f16 and f64 of rank 2 as operand 0, the node reads f64 of ");
    byoc_test_shell(0, "grep -q 'takes f32 and f16, the node has bf16' t.html && grep -q 'group.types' t.html");
    byoc_test_shell(0, "byoc explain t.json --node half");
    byoc_test_printed("first declined (first.relu): takes f32 and f16, the node has bf16\n");
  }
  byoc_test_shell(0, "byoc explain t.json --all"); // greedily, the Cast went to another target
  byoc_test_printed("takes f16 as operand 0, Cast 'widen' reads f32\n");
  byoc_test_shell(0, TYPE_RULES "byoc explain types.byoc --plan=greedy -t 'first; second; c' --all --save-plan t.json");
  byoc_test_printed("by second.half, in bf16, types bf16 -> bf16\n");
  byoc_test_printed(" first.cast  f32 -> f64   f64 ");
  byoc_test_no_line("Cast 'widen' reads");
  byoc_test_shell(
      0, "grep '\"types\": \"f32 -> f64\", \"precision\": \"f64\"' t.json && byoc explain t.json --node widen");
  byoc_test_printed("types f32 -> f64\n");
  // Another rule of the target takes the node, or an earlier target has it.
  byoc_test_shell(
      0,
      DEMO("first.half := Relu<f16>(%%x)\nfirst.relu := Relu(%%x)\nsecond.relu := Relu<f16>(%%x)") "byoc explain "
                                                                                                   "types.byoc "
                                                                                                   "--plan=greedy -t "
                                                                                                   "'first; second; c' "
                                                                                                   "--all");
  byoc_test_no_line("declined");
}

// Casts from f16 or bf16 to f32 in front of a product and back behind it are part of its region; other casts are not.
static void test_b35_casts_belong_to_a_product(void **state) {
  (void)state;
  static const char *const types[] = {"f16", "bf16", "i64"};
  for (size_t i = 0; i < 3; ++i) {
    byoc_test_shell(0,
                    "printf 'module {\n  constant @w : f32[16,8] = splat 0.25\n  func @main(%%%%x : %s[4,16]) -> "
                    "(%%%%y : f16[4,8]) {\n    %%%%0 = Cast@13(%%%%x) {to = 1} : f32[4,16]\n    %%%%1 = "
                    "MatMul@13(%%%%0, @w) : f32[4,8]\n    %%%%2 = Relu@14(%%%%1) : f32[4,8]\n    %%%%y = "
                    "Cast@13(%%%%2) {to = 10} : f16[4,8]\n    return %%%%y\n  }\n}\n' > cast.byoc && "
                    "byoc build cast.byoc --plan=greedy -t 'cutlass; c' -o cast.so",
                    types[i]);
    byoc_test_printed(i < 2 ? "cutlass 4 operators in 1 region, c 0 operators"
                            : "cutlass 3 operators in 1 region, c 1 operator");
    byoc_test_shell(0,
                    "byoc run cast.byoc --random --evaluate --output-dir . && BYOC_VERIFY=1 byoc run cast.so --random "
                    "-e y=y.npy");
  }
}

// A product of f16 or bf16 has a backend besides c.
static void test_b35_products_of_half_precision_have_a_backend(void **state) {
  (void)state;
  static const char *const types[] = {"f16", "bf16"};
  for (size_t i = 0; i < 2; ++i) {
    byoc_test_shell(0,
                    "printf 'module {\n  constant @w : %s[16,8] = splat 0.25\n  func @main(%%%%x : %s[4,16]) -> "
                    "(%%%%y : %s[4,8]) {\n    %%%%0 = MatMul@13(%%%%x, @w) : %s[4,8]\n    %%%%y = "
                    "Relu@14(%%%%0) : %s[4,8]\n    return %%%%y\n  }\n}\n' > half.byoc && "
                    "byoc explain half.byoc --plan=greedy -t 'cutlass; c' --node 0",
                    types[i], types[i], types[i], types[i], types[i]);
    byoc_test_printed("placed on cutlass, region 0, by cutlass.gemm_act, with nodes 0-1");
    byoc_test_printed(i == 0 ? "f16 -> f16\n" : "bf16 -> bf16\n");
  }
}

// The rules of backends say what they take, in byoc targets and here: nobody but c multiplies integers of 64 bits.
static void test_b35_each_element_type_reaches_rules(void **state) {
  (void)state;
  byoc_test_shell(0, "printf 'module {\n  func @main(%%%%x : i64[4,4], %%%%z : f64[4,4]) -> (%%%%y : i64[4,4], %%%%w : "
                     "f64[4,4]) {\n    %%%%y = MatMul@13(%%%%x, %%%%x) : i64[4,4]\n    %%%%w = MatMul@13(%%%%z, %%%%z) "
                     ": f64[4,4]\n    return %%%%y, %%%%w\n  }\n}\n' > wide.byoc && "
                     "byoc explain wide.byoc --plan=greedy -t 'cutlass; cblas; c' --all");
  byoc_test_printed("cutlass declined (cutlass.matmul): takes f32, f16 and bf16, the node has i64\n");
  byoc_test_printed("cblas declined (cblas.matmul_rows): takes f32 and f64, the node has i64\n");
  byoc_test_printed("types f64 -> f64\n");
  byoc_test_shell(0, "byoc targets");
  byoc_test_printed(
      "\n  cutlass.attention            takes f32\n  cutlass.conv_cast            takes f32|f16|bf16, and so "
      "do the next ");
  byoc_test_printed("\n  cblas.matmul_rows            takes f32|f64, and so do the next ");
  static const char *const types[] = {"f16", "bf16", "f64", "i8",  "u8",  "i16",
                                      "u16", "i32",  "u32", "i64", "u64", "bool"};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    byoc_test_shell(0,
                    "printf 'module {\n  func @main(%%%%x : %s[4,2]) -> (%%%%y : %s[2,4]) {\n    %%%%y = "
                    "Transpose@13(%%%%x) : %s[2,4]\n    return %%%%y\n  }\n}\n' > type.byoc",
                    types[i], types[i], types[i]);
    byoc_test_shell(
        0,
        DEMO("second.other := Transpose(%%x<f32>)\nfirst.same := Transpose[perm=[1,0]](%%x<%s>)") "byoc explain "
                                                                                                  "type.byoc "
                                                                                                  "--plan=greedy -t "
                                                                                                  "'second; first; c' "
                                                                                                  "--node 0",
        types[i]);
    byoc_test_printed("placed on first, region 0, by first.same");
    byoc_test_printed("second declined (second.other): takes f32 as operand 0, the node reads ");
  }
}

// However many targets give a function back, the next one is asked.
static void test_the_next_target_is_asked_however_many_decline(void **state) {
  (void)state;
  write_text("relu.byoc", "    %y = Relu@14 \"small\" (%x) : f32[4]\n");
  byoc_test_shell(
      0,
      DEMO("first.relu := Relu(%%x)\nsecond.relu := Relu(%%x)") "byoc build relu.byoc --plan=greedy -v -o relu.so "
                                                                "--target \"$(for k in $(seq 0 69); do printf 'first "
                                                                "-answer=decline -level=%%d; ' $k; done) second; c\"");
  byoc_test_printed("hook of 'second");
  size_t declined = 0;
  for (const char *at = byoc_test_output(); (at = strstr(at, "after claiming it: the test says so")) != NULL; ++at)
    ++declined;
  assert_int_equal(declined, 70);
}

// A rule by cost is a candidate of a search, and no decline of the greedy placement that the search competes with.
static void test_rules_are_chosen_by_cost(void **state) {
  (void)state;
  write_text("relu.byoc", "    %y = Relu@14 \"small\" (%x) : f32[4]\n");
  byoc_test_shell(
      0, DEMO("first.relu by_cost := Relu(%%x)") "byoc explain relu.byoc --plan=greedy --target first --node small");
  byoc_test_printed("placed on c");
  byoc_test_printed("first declined (first.relu): this rule is only for plans by cost (--plan=collage)");
  byoc_test_shell(0, DEMO("first.relu by_cost := Relu(%%x)") "byoc explain relu.byoc --plan=collage --cost=estimate "
                                                             "--target first --node small");
  byoc_test_printed("first.relu");
  assert_null(strstr(byoc_test_output(), "declined"));
}

// ---- JSON ----

// A rule that can match nothing is told, once, without -v.
static void test_a23_rules_that_match_nothing(void **state) {
  (void)state;
  write_text("leaky.byoc", "    %y = LeakyRelu@16(%x) : f32[4]\n");
  byoc_test_shell(0, DEMO("first.leaky := LeakyReLU(%%x)") "byoc explain leaky.byoc --plan greedy --target 'first; c'");
  byoc_test_printed("warning: rule 'first.leaky': there is no operator 'LeakyReLU'; did you mean 'LeakyRelu'?");
  byoc_test_printed("plan by greedy"); // a module in text form has no name
  byoc_test_shell(0, DEMO("first.leaky := LeakyReLU(%%x)") "byoc explain leaky.byoc --plan greedy --target 'first; c' "
                                                           "-v 2>&1 | grep -c LeakyReLU");
  byoc_test_printed("1\n");
  byoc_test_shell(0, DEMO("first.leaky := LeakyRelu(%%x)") "byoc explain leaky.byoc --plan greedy --target 'first; c'");
  assert_null(strstr(byoc_test_output(), "warning"));
}

static void test_c10_saved_plans_are_those_of_the_build(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc explain vision.onnx --layout=plain --plan=greedy --target 'cutlass; dnnl' --save-plan "
                     "a.json --json > b.json");
  byoc_test_shell(0, "cmp a.json b.json");
  byoc_test_shell(
      0,
      "byoc build vision.onnx -o vision.so --layout=plain --plan=collage --target 'cutlass; dnnl' --save-plan c.json");
  byoc_plan_t explained = read_plan("a.json"), built = read_plan("c.json");
  assert_string_equal(explained.model, "vision");
  assert_int_equal(explained.targets.count, 3);
  assert_int_equal(explained.blocks.count, 1);
  assert_int_equal(explained.blocks.data[0].hash, built.blocks.data[0].hash);
  assert_int_equal(explained.blocks.data[0].nodes.count, 9);
  assert_string_equal(explained.blocks.data[0].nodes.data[0].name, "conv1");
  assert_true(built.blocks.data[0].regions.count > 0);
  byoc_plan_deinit(&explained);
  byoc_plan_deinit(&built);
  byoc_test_shell(1, "byoc explain vision.onnx --plan=greedy --save-plan missing/plan.json");
  byoc_test_printed("missing/plan.json");
}

// A plan whose regions were edited is replayed.
static void test_c10_edited_plans_are_replayed(void **state) {
  (void)state;
  write_text("chain.byoc", "    %0 = Exp@13 \"a\" (%x) : f32[4]\n"
                           "    %1 = Neg@13 \"b\" (%0) : f32[4]\n"
                           "    %y = Exp@13 \"c\" (%1) : f32[4]\n");
  byoc_test_shell(0, DEMO("first.exp := Exp(%%x)") "byoc explain chain.byoc --plan=greedy --target first --save-plan "
                                                   "whole.json && sed '/\"rule\".*\"nodes\": \\[0\\]/d' whole.json > "
                                                   "less.json && test $(wc -l < less.json) -lt $(wc -l < whole.json)");
  byoc_test_shell(0, DEMO("first.exp := Exp(%%x)") "byoc explain chain.byoc --plan=less.json --target first --node a");
  byoc_test_printed("placed on c\n  first: was not asked: the plan was given");
  byoc_test_shell(0, DEMO("first.exp := Exp(%%x)") "byoc explain chain.byoc --plan=less.json --target first --node c");
  byoc_test_printed("placed on first, region 0");
}

// A saved plan is explained without its model.
static void test_c10_a_saved_plan_is_explained_without_its_model(void **state) {
  (void)state;
  static const char plan[] =
      "{\"format\": \"byoc plan\", \"version\": 1, \"model\": \"tiny\", \"strategy\": \"collage\", \"whole_ns\": "
      "9500, \"whole_mib\": 1.25,\n"
      " \"targets\": [\"fast -level=1\", \"fast -level=2\", \"c -O=3\"],\n"
      " \"rivals\": [{\"name\": \"greedy\", \"sum_ns\": 12000, \"whole_ns\": 13000, \"whole_mib\": 41}, {\"name\": "
      "\"c\", \"sum_ns\": "
      "2e6}],\n"
      " \"blocks\": [{\"name\": \"main\", \"hash\": \"0123456789abcdef\", \"cost_ns\": 9000, \"transition_ns\": 500,\n"
      "  \"lower_bound_ns\": 9000, \"proven\": true,\n"
      "  \"nodes\": [{\"op\": \"Conv\", \"name\": \"conv\", \"type\": \"f32[1,8]\"},\n"
      "   {\"op\": \"Relu\", \"name\": \"relu\", \"type\": \"f32[1,8]\", \"edges\": [{\"from\": 0, \"type\": "
      "\"f32[1,8]\"}]}],\n"
      "  \"regions\": [{\"target\": 1, \"rule\": \"fast.conv\", \"nodes\": [0], \"candidate\": 1, \"cost_ns\": 8000, "
      "\"source\": \"database\"}],\n"
      "  \"candidates\": [{\"target\": 0, \"rule\": \"fast.conv_relu\", \"nodes\": [0, 1], \"cost_ns\": null, "
      "\"reason\": \"it crashed (signal 11)\"},\n"
      "   {\"target\": 1, \"rule\": \"fast.conv\", \"nodes\": [0], \"cost_ns\": 8000, \"source\": \"database\", "
      "\"chosen\": "
      "true},\n"
      "   {\"target\": 2, \"rule\": \"c.host\", \"nodes\": [0], \"cost_ns\": 2e6, \"source\": \"bound\"},\n"
      "   {\"target\": 2, \"rule\": \"c.host\", \"nodes\": [1], \"cost_ns\": 500, \"source\": \"estimate\", "
      "\"chosen\": "
      "true}],\n"
      "  \"declines\": [{\"target\": 1, \"rule\": \"fast.relu\", \"nodes\": [1], \"reason\": \"it is too "
      "small\"}]}]}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("saved.json", plan, sizeof(plan) - 1, &diag), &diag);
  byoc_test_shell(0, "byoc explain saved.json");
  static const char *const parts[] = {
      "plan of 'tiny' by collage: 9.00 us, of which 500 ns between targets\nproven: no cover",
      "  this one          9.00 us             9.50 us  1.2 MiB\n",
      "  greedy           12.00 us            13.00 us 41.0 MiB\n",
      "  c                2.000 ms                   -        -\n",
      "  fast -level=2         1       1 8.00 us\n",
      "fast -level=2 fast.conv 8.00 us database\n",
      " c             c.host     500 ns estimate\n",
      "node 0: Conv 'conv' : f32[1,8]\n  placed on fast -level=2, region 0, by fast.conv, 8.00 us database\n",
      "    * 8.00 us database   fast -level=2 fast.conv                0\n",
      "      at least 2.000 ms  c          c.host                   0\n",
      "      unusable           fast -level=1 fast.conv_relu           0-1\n        it crashed (signal 11)\n",
      "  fast -level=2 declined (fast.relu): it is too small\n",
  };
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i) byoc_test_printed(parts[i]);
  byoc_test_shell(0,
                  "byoc explain saved.json --json > again.json && byoc explain again.json --json | cmp - again.json");
  byoc_test_shell(2, "byoc explain saved.json --target c");
  byoc_test_printed("--target is for models; this is a saved plan");
  byoc_test_shell(2, "byoc explain saved.json --layout=plain");
  byoc_test_printed("--layout is for models; this is a saved plan");
  byoc_test_shell(2, "byoc explain saved.json --json --node 1");
  byoc_test_printed("--node and --all are for the text");
  byoc_test_shell(2, "byoc explain saved.json --html saved.json");
  byoc_test_printed("would overwrite 'saved.json'");
}

// ---- requiring ----

static void test_c10_a_required_target_that_is_missed_ends_the_build(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(
      1, "byoc build vision.onnx --plan=greedy -o never.so --target 'cutlass' --require cutlass --save-plan why.json");
  byoc_test_printed("of 9 operators are not on cutlass, which --require asks for");
  byoc_test_printed("MaxPool 'pool' went to c; cutlass: none of its rules claims it here");
  assert_false(byoc_file_exists("never.so"));
  byoc_plan_t plan = read_plan("why.json"); // the plan shows why
  byoc_plan_deinit(&plan);
  byoc_test_shell(0, "byoc build vision.onnx --plan=greedy -o vision.so --target 'cutlass' --require cutlass,c");
  assert_true(byoc_file_exists("vision.so"));
  byoc_test_shell(2, "byoc build vision.onnx --plan=greedy -o never.so --target 'cutlass; dnnl' --require cutlas");
  byoc_test_printed("--require cutlas: the targets of this build are cutlass, dnnl, c");
  byoc_test_printed("did you mean 'cutlass'?");
  byoc_test_shell(2, "byoc build vision.onnx --plan=greedy -o never.so --require ,");
  byoc_test_printed("--require takes targets: c");
  assert_false(byoc_file_exists("never.so"));
}

static void test_a23_require_tells_reasons(void **state) {
  (void)state;
  write_text("double.byoc", "    %0 = Cast@13(%x) {to = 11} : f64[4]\n"
                            "    %1 = Relu@14 \"wide\" (%0) : f64[4]\n"
                            "    %y = Cast@13(%1) {to = 1} : f32[4]\n");
  byoc_test_shell(
      1,
      DEMO("first.relu only=f32 := Relu(%%x)") "byoc build double.byoc --plan=greedy --target first --require first");
  byoc_test_printed("3 of 3 operators");
  byoc_test_printed("Relu 'wide' went to c; first declined: only f32 is done here");
}

// ---- the page ----

static size_t count_of(const char *text, const char *part) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) ++count;
  return count;
}

// Texts of the model are data within the page, whatever characters they contain.
static void test_c10_page_is_one_file(void **state) {
  (void)state;
  write_text("odd.byoc", "    %0 = Exp@13 \"</script><script>alert(1)</script><!--\" (%x) : f32[4]\n"
                         "    %y = Neg@13 \"a & b\" (%0) : f32[4]\n");
  byoc_test_shell(0, "byoc explain odd.byoc --plan=greedy --html odd.html && byoc build odd.byoc --plan=greedy -o "
                     "odd.so --html built.html");
  byoc_test_shell(0, "cmp odd.html built.html");
  byoc_test_shell(0, "cat odd.html");
  assert_int_equal(count_of(byoc_test_output(), "</script>"), 1);
  byoc_test_printed("\\u003c/script>\\u003cscript>alert(1)");
  // Nothing is fetched: the only address is the name space of SVG.
  assert_int_equal(count_of(byoc_test_output(), "http"), count_of(byoc_test_output(), "http://www.w3.org/2000/svg"));
  assert_int_equal(count_of(byoc_test_output(), "src="), 0);
  // A comment that goes on hid the colours and the grid once.
  assert_int_equal(count_of(byoc_test_output(), "/*"), count_of(byoc_test_output(), "*/"));
}

// In a browser: no errors, and as many nodes as the plan has.
static void test_c10_a_browser_shows_all_nodes(void **state) {
  (void)state;
  if (byoc_test_try_shell("command -v chromium") != 0) {
    byoc_test_skip("there is no chromium");
  }
  write_vision("vision.onnx");
  write_text("odd.byoc", "    %0 = Exp@13 \"</script><script>alert(1)</script><!--\" (%x) : f32[4]\n"
                         "    %1 = Neg@13 \"a & b\" (%0) : f32[4]\n"
                         "    %y = Add@14(%0, %1) : f32[4]\n");
  static const struct {
    const char *model;
    size_t nodes;
  } rows[] = {{"vision.onnx", 9}, {"odd.byoc", 3}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(0, "byoc explain %s --layout=plain --plan=greedy --target 'cutlass; dnnl' --html page.html",
                    rows[i].model);
    byoc_test_shell(0, "chromium --headless --no-sandbox --disable-gpu --user-data-dir=\"$PWD/profile\" "
                       "--enable-logging=stderr --dump-dom \"file://$PWD/page.html\" 2> messages.txt > page.dom; "
                       "grep CONSOLE messages.txt; cat page.dom");
    assert_null(strstr(byoc_test_output(), "CONSOLE"));
    assert_int_equal(count_of(byoc_test_output(), "<g class=\"node\""), rows[i].nodes);
    assert_non_null(strstr(byoc_test_output(), "<kbd>")); // the panel, drawn last
  }
}

// What the page does when it is used, as a script at its end that notes what it sees in the title.
static void test_c10_the_page_answers_clicks_and_keys(void **state) {
  (void)state;
  static const char script[] =
      "<script>\n"
      "const key = (name) => window.dispatchEvent(new KeyboardEvent('keydown', {key: name}));\n"
      "const seen = [], has = (kind) => document.querySelectorAll('.node.' + kind).length;\n"
      "search.value = 'CONV'; search.dispatchEvent(new Event('input')); seen.push(has('match'));\n"
      "search.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'})); seen.push(has('selected'));\n"
      "seen.push(document.querySelector('aside h3').textContent);\n"
      "key('ArrowDown'); seen.push(document.querySelector('.node.selected').dataset.node);\n"
      "key('p'); seen.push(document.querySelector('.node.selected').dataset.node);\n"
      "key('Escape'); seen.push(has('selected'));\n"
      "const before = view.k; canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: -300, clientX: 500, clientY: "
      "400}));\n"
      "seen.push(view.k > before); key('-'); key('f'); seen.push(view.k <= 1.4);\n"
      "document.querySelector('.node').dispatchEvent(new PointerEvent('pointerenter', {clientX: 5, clientY: 5}));\n"
      "seen.push(byId('tip').textContent.includes('conv1'), has('near'));\n"
      "document.querySelector('aside tr.row').click(); seen.push(document.querySelectorAll('.node.off').length > 0);\n"
      "document.title = 'seen ' + seen.join(' ');\n"
      "</script>\n";
  if (byoc_test_try_shell("command -v chromium") != 0) {
    byoc_test_skip("there is no chromium");
  }
  byoc_diag_t diag = {0};
  write_vision("vision.onnx");
  byoc_test_ok(byoc_file_write("script.html", script, sizeof(script) - 1, &diag), &diag);
  byoc_test_shell(0,
                  "byoc explain vision.onnx --plan=greedy --target c --html page.html && cat script.html >> page.html");
  byoc_test_shell(0, "chromium --headless --no-sandbox --disable-gpu --user-data-dir=\"$PWD/profile\" --dump-dom "
                     "\"file://$PWD/page.html\" 2> messages.txt | grep '<title>seen'");
  byoc_test_printed("<title>seen 2 1 Conv 1 0 0 true true true 1 true</title>");
}

// A tall graph is first seen from its top, also where another node than the first one stands there.
static void test_page_begins_at_the_top(void **state) {
  (void)state;
  if (byoc_test_try_shell("command -v chromium") != 0) {
    byoc_test_skip("there is no chromium");
  }
  byoc_test_shell(
      0, "(printf 'module {opset_import. = 17} {\\n  func @main(%%%%x : f32[4], %%%%v0 : f32[4]) -> (%%%%y : f32[4]) {"
         "\\n    %%%%late = Exp@13(%%%%x) : f32[4]\\n'; for i in $(seq 40); do printf "
         "'    %%%%v%%d = Tanh@13(%%%%v%%d) : f32[4]\\n' $i $((i - 1)); done; printf "
         "'    %%%%y = Add@14(%%%%v40, %%%%late) : f32[4]\\n    return %%%%y\\n  }\\n}\\n') > tall.byoc && "
         "byoc explain tall.byoc --plan=greedy --target c --html page.html");
  byoc_test_shell(0, "printf '<script>document.title = `top ${Math.round(Math.min(...drawn.map((e) => e.y * view.k + "
                     "view.y)))}`</script>' >> page.html && chromium --headless --no-sandbox --disable-gpu "
                     "--user-data-dir=\"$PWD/profile\" --dump-dom \"file://$PWD/page.html\" 2> messages.txt | "
                     "grep '<title>top'");
  byoc_test_printed("<title>top 20</title>");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c10_tables_show_regions_and_nodes),
      cmocka_unit_test(test_c10_long_lists_are_cut),
      cmocka_unit_test(test_c10_one_node_is_explained),
      cmocka_unit_test(test_a_size_price_is_a_percentage),
      cmocka_unit_test(test_a23_a_declined_node_carries_the_reason),
      cmocka_unit_test(test_b35_explain_says_which_element_types_a_rule_takes),
      cmocka_unit_test(test_b35_casts_belong_to_a_product),
      cmocka_unit_test(test_b35_products_of_half_precision_have_a_backend),
      cmocka_unit_test(test_b35_each_element_type_reaches_rules),
      cmocka_unit_test(test_the_next_target_is_asked_however_many_decline),
      cmocka_unit_test(test_rules_are_chosen_by_cost),
      cmocka_unit_test(test_a23_rules_that_match_nothing),
      cmocka_unit_test(test_c10_saved_plans_are_those_of_the_build),
      cmocka_unit_test(test_c10_edited_plans_are_replayed),
      cmocka_unit_test(test_c10_a_saved_plan_is_explained_without_its_model),
      cmocka_unit_test(test_c10_a_required_target_that_is_missed_ends_the_build),
      cmocka_unit_test(test_a23_require_tells_reasons),
      cmocka_unit_test(test_c10_page_is_one_file),
      cmocka_unit_test(test_c10_a_browser_shows_all_nodes),
      cmocka_unit_test(test_c10_the_page_answers_clicks_and_keys),
      cmocka_unit_test(test_page_begins_at_the_top),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
