// SPDX-License-Identifier: Apache-2.0
// The steps of a placement, one by one, on random graphs: sound after each, nothing lost, nothing done twice.
#include "core/collage/partition.h"
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "tests/unit/collage/made_targets.h"

static const char *const group[] = {"Exp", "Add"};
static const byoc_rule_t first[] = {{.name = "first.all", .operators = {.items = group, .count = 2}}};
static const byoc_rule_t second[] = {
    {.name = "second.dominated", .pattern = "Add(...) <~ {Neg|Mul}(...) <~ Exp(%a)", .flags = BYOC_RULE_MERGE},
    {.name = "second.scale", .pattern = "Neg(Mul(%a, @b))", .flags = BYOC_RULE_MERGE},
    {.name = "second.mul", .pattern = "Mul(%a, %b)", .flags = BYOC_RULE_MERGE}};

static void make_text(byoc_test_random_t *random, int count, byoc_string_t *text) {
  static const char *const unary[] = {"Exp@13", "Neg@13", "Relu@14"};
  byoc_string_append(text, "module {\n  constant @k : f32[4] = splat 2.0\n"
                           "  func @main(%v0 : f32[4]) -> (%y : f32[4]) {\n");
  for (int i = 1; i <= count; ++i) {
    unsigned a = (unsigned)byoc_test_below(random, (uint64_t)i), b = (unsigned)byoc_test_below(random, (uint64_t)i);
    uint64_t kind = byoc_test_below(random, 6);
    if (kind < 3) {
      byoc_string_appendf(text, "    %%v%d = %s(%%v%u) : f32[4]\n", i, unary[kind], a);
    } else if (kind < 5) {
      byoc_string_appendf(text, "    %%v%d = %s(%%v%u, %%v%u) : f32[4]\n", i, kind == 3 ? "Add@14" : "Mul@14", a, b);
    } else {
      byoc_string_appendf(text, "    %%v%d = Mul@14(%%v%u, @k) : f32[4]\n", i, a);
    }
  }
  byoc_string_appendf(text, "    %%y = Relu@14(%%v%d) : f32[4]\n    return %%y\n  }\n}\n", count);
}

// Operators in a block and in what it calls.
static size_t count_operators(const byoc_block_t *block) {
  size_t count = 0;
  BYOC_FOR_EACH_NODE(node, block) count += node->callee != NULL ? count_operators(node->callee->body) : 1;
  return count;
}

// Runs one of the four passes; the number of changes.
static size_t run(byoc_graph_module_t *module, const made_targets_t *made, size_t step, byoc_diag_t *diag) {
  size_t changes = 0;
  const byoc_pass_options_t options = {.targets = &made->list};
  assert_int_equal(byoc_partition_passes.count, 4);
  byoc_test_ok(byoc_pass_run(&byoc_partition_passes.rows[step], module, &options, diag, &changes), diag);
  byoc_test_ok(byoc_graph_verify(module, diag), diag);
  return changes;
}

static void test_random_graphs(void **state) {
  (void)state;
  made_targets_t made;
  make_targets(&made, first, 1, second, 3);
  byoc_test_random_t random = {.state = 23};
  size_t regions = 0, dominated = 0;
  for (int round = 0; round < 300; ++round) {
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    int count = 2 + (int)byoc_test_below(&random, 40);
    make_text(&random, count, &text);
    byoc_test_ok(byoc_graph_parse(text.data, "test", byoc_allocator_system(), &diag, &module), &diag);
    for (size_t step = 0; step < 4; ++step) {
      (void)run(module, &made, step, &diag);
      assert_int_equal(run(module, &made, step, &diag), 0); // done is done
      assert_int_equal(count_operators(byoc_graph_module_main(module)->body), (size_t)count + 1);
    }
    for (size_t f = 0; f < module->functions.count; ++f) {
      const byoc_attributes_t *attributes = &module->functions.data[f]->attributes;
      regions += byoc_attributes_find(attributes, "Compiler") != NULL;
      dominated += strcmp(byoc_attributes_string(attributes, "Composite", ""), "second.dominated") == 0;
    }
    byoc_graph_module_destroy(module);
    byoc_string_deinit(&text);
  }
  assert_true(regions > 1000 && dominated > 20); // the graphs gave the passes something to do
  release_targets(&made);
}

typedef struct memory_case_t {
  const char *text;
  const byoc_target_list_t *targets;
} memory_case_t;

static byoc_status_t run_all(void *argument, byoc_allocator_t allocator) {
  const memory_case_t *test = argument;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_graph_parse(test->text, "test", allocator, &diag, &module));
  const byoc_pass_options_t options = {.targets = test->targets};
  byoc_status_t status =
      byoc_passes_run(&byoc_partition_passes, "merge-composites,annotate-targets,merge-regions,partition",
                      (byoc_pass_subject_t){.module = module}, &options, &diag, NULL);
  byoc_graph_module_destroy(module);
  return status;
}

static void test_memory(void **state) {
  (void)state;
  made_targets_t made;
  make_targets(&made, first, 1, second, 3);
  byoc_test_random_t random = {.state = 5};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  make_text(&random, 12, &text);
  memory_case_t test = {.text = text.data, .targets = &made.list};
  byoc_test_each_allocation_fails(run_all, &test, true); // a name that cannot be copied stays away
  byoc_string_deinit(&text);
  release_targets(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs), cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
