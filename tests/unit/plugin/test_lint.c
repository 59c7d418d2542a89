// SPDX-License-Identifier: Apache-2.0
// Patterns that are well-formed and can match nothing: ten ways, each told with what was probably meant.
#include "core/plugin/lint.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/string.h"
#include "core/plugin/registry.h"
#include "tests/support/support.h"

static void append(void *self, const char *sentence) {
  byoc_string_appendf(self, "%s\n", sentence);
}

static void expect_rule(const byoc_rule_t *rule, const char *expected) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_plugin_lint_rule(rule, byoc_allocator_system(), append, &text);
  assert_string_equal(text.data, expected);
  byoc_string_deinit(&text);
}

static void expect(const char *pattern, const char *expected) {
  const byoc_rule_t rule = {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "x.y", .pattern = pattern};
  expect_rule(&rule, expected);
}

static void test_names(void **state) {
  (void)state;
  expect("ReLU(%x)", "there is no operator 'ReLU'; did you mean 'Relu'?\n");
  expect("Add(Convv(%x, @w), %y)", "there is no operator 'Convv'; did you mean 'Conv'?\n");
  expect("com.acme::Relu(%x)", "there is no operator 'com.acme::Relu'; did you mean 'Relu'?\n");
  expect("ToBlocked(%x)", "there is no operator 'ToBlocked'; did you mean 'byoc::ToBlocked'?\n");
  expect("Nothing_at_all_like_it(%x)", "there is no operator 'Nothing_at_all_like_it'; byoc ops lists them\n");
  const char *const names[] = {"Conv", "MaxPol"};
  const byoc_rule_t group = {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "x.y", .operators = {names, 2}};
  expect_rule(&group, "there is no operator 'MaxPol'; did you mean 'MaxPool'?\n");
}

static void test_numbers(void **state) {
  (void)state;
  expect("Relu(%x, %y)", "Relu is written with 2 operands and has at most 1\n");
  expect("{Add|Relu}(%x, %y)", "Relu is written with 2 operands and has at most 1\n");
  expect("Conv(%x)", "Conv is written with 1 operand and has at least 2; '...' stands for those that do not matter\n");
  expect("Relu(%x)#1", "Relu has no result #1: its results are numbered from 0 and it has at most 1\n");
}

static void test_attributes(void **state) {
  (void)state;
  expect("Conv[groups=1](%x, @w)", "Conv has no attribute 'groups'; did you mean 'group'?\n");
  expect("ConstantOfShape[value=1](%x)",
         "attribute 'value' of ConstantOfShape is neither a number, nor a string, nor a "
         "list of them: a predicate has to look at it\n");
  expect("Conv[pads=1](%x, @w)", "attribute 'pads' of Conv is a list of numbers and is compared with a number\n");
  expect("Conv[group=[1]](%x, @w)", "attribute 'group' of Conv is a number and is compared with a list of numbers\n");
  expect("Conv[pads=[\"1\"]](%x, @w)",
         "attribute 'pads' of Conv is a list of numbers and is compared with a list of texts\n");
  expect("Transpose[perm=[1,0]](Conv[pads=[]](%x, @w))", "");
  expect("Conv[group=\"1\"](%x, @w)", "attribute 'group' of Conv is a number and is compared with a text\n");
  expect("Conv[auto_pad=1](%x, @w)", "attribute 'auto_pad' of Conv is a text and is compared with a number\n");
  expect("Conv[auto_pad=\"SAME_UPER\"](%x, @w)",
         "attribute 'auto_pad' of Conv is never \"SAME_UPER\"; did you mean \"SAME_UPPER\"?\n");
}

// Operators that are never there when rules are asked; those that are written out only if no rule takes them are.
static void test_spellings(void **state) {
  (void)state;
#define NEVER " is always rewritten to operators of ai.onnx before rules are asked, so that no rule matches it\n"
  expect("Relu(com.microsoft::QuantizeLinear(%x, @s, @z))", "com.microsoft::QuantizeLinear" NEVER);
  const char *const names[] = {"Relu", "com.microsoft::QLinearConv"};
  const byoc_rule_t group = {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "x.y", .operators = {names, 2}};
  expect_rule(&group, "com.microsoft::QLinearConv" NEVER);
  expect("com.microsoft::FusedMatMul(%a, %b)", "");
  expect("com.microsoft::QLinearAdd(%a, @as, @az, %b, @bs, @bz, @ys, @yz)", "");
  expect("Reshape(%a, @shape)", "");
}

static void test_good_patterns(void **state) {
  (void)state;
  expect("Relu?(Add?(c:Conv[group=1, auto_pad=\"NOTSET\"](%x, @w), @b))", "");
  expect("Conv(...)", "");
  // Those of docs/low-precision.md.
  expect("{Relu|Clip}?(QLinearConv[group=1](%x<u8|i8>, @xs, @xz, @w<i8>, @ws, @wz, @ys, @yz, @bias), ...)", "");
  expect("com.microsoft::QLinearAdd<u8>(%a, @as, @az, %b, @bs, @bz, @ys, @yz)", "");
  expect("QuantizeLinear(Tanh(DequantizeLinear(%x, @xs, @xz)), @ys, @yz)", "");
  expect("Split(...)#3", "");
  expect("Concat(%a, %b, %c, %d, %e)", "");
  expect("(LeakyRelu[alpha=0.01](%x) | Clip(%x, @low, @high))", "");
  expect("Add(...) <~ {Relu|Mul|Add}(...) <~ Conv(%x, @w)", "");
  expect("byoc::ToBlocked?(Relu(byoc::FromBlocked?(%x)))", "");
}

static void test_told_when_verbose(void **state) {
  (void)state;
  const char *path = BYOC_TEST_BUILD_DIR "/tests/plugin_check/patterns.known.so";
  const byoc_plugin_options_t options = {.paths = &path, .path_count = 1, .environment = ""};
  for (int level = BYOC_LOG_WARNING; level <= BYOC_LOG_INFO; ++level) {
    byoc_diag_t diag = {0};
    byoc_plugin_registry_t *registry = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    byoc_test_ok(byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry), &diag);
    byoc_log_set_stream(stream);
    byoc_log_set_level((byoc_log_level_t)level);
    byoc_plugin_registry_load_all(registry);
    byoc_log_set_level(BYOC_LOG_WARNING);
    byoc_log_set_stream(NULL);
    fclose(stream);
    const bool is_reported = strstr(text, "rule 'bad.op': there is no operator 'Tanhh'; did you mean 'Tanh'?") != NULL;
    assert_int_equal(is_reported, level == BYOC_LOG_INFO);
    free(text);
    byoc_plugin_registry_destroy(registry);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),         cmocka_unit_test(test_numbers),
                                     cmocka_unit_test(test_attributes),    cmocka_unit_test(test_spellings),
                                     cmocka_unit_test(test_good_patterns), cmocka_unit_test(test_told_when_verbose)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
