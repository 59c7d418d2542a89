// SPDX-License-Identifier: Apache-2.0
// The functions that candidates become for pricing.
#include "core/collage/outline_regions.h"
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "tests/support/support.h"

typedef struct fixture_t {
  byoc_backend_t backend;
  byoc_target_kind_t kind;
  byoc_target_t target;
  byoc_graph_module_t *module;
  byoc_node_t *nodes[8];
  byoc_arena_t arena;
} fixture_t;

static void make(fixture_t *f, const char *text) {
  byoc_diag_t diag = {0};
  *f = (fixture_t){0};
  byoc_arena_init(&f->arena, byoc_allocator_system());
  f->kind = (byoc_target_kind_t){.name = "first", .backend = &f->backend};
  f->target = (byoc_target_t){.kind = &f->kind, .text = "first"};
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &f->module), &diag);
  size_t count = 0;
  BYOC_FOR_EACH_NODE(node, byoc_graph_module_main(f->module)->body) f->nodes[count++] = node;
}

static void release(fixture_t *f) {
  byoc_graph_module_destroy(f->module);
  byoc_arena_deinit(&f->arena);
}

// The function that pricing makes of a sum with a constant, as this rule matches it.
static byoc_function_t *outline_sum(fixture_t *f, const byoc_rule_t *rule) {
  make(f, "module {\n"
          "  constant @c : f32[4] = splat 0.5\n"
          "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
          "    %y = Add@14(@c, %x) : f32[4]\n"
          "    return %y\n"
          "  }\n"
          "}\n");
  uint32_t first = 0;
  byoc_candidate_t candidate = {.rule = rule->name, .composite = rule->name, .definition = rule, .is_primitive = true};
  assert_true(byoc_index_set_make(&f->arena, &first, 1, &candidate.nodes));
  byoc_diag_t diag = {0};
  byoc_function_t *copy = NULL;
  byoc_test_ok(byoc_outline_candidate_copy(f->nodes, &candidate, &f->target, &diag, &copy), &diag);
  return copy;
}

// A backend is priced by the function that it will get: constants that its rule wants passed are parameters, in the
// same order, and their values come from outside.
static void constants_are_passed_when_priced(void **state) {
  (void)state;
  static const byoc_rule_t rule = {.name = "first.add", .pattern = "Add(%a, %b)", .flags = BYOC_RULE_PASS_CONSTANTS};
  fixture_t f;
  byoc_function_t *copy = outline_sum(&f, &rule);
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_verify(f.module, &diag), &diag);
  const byoc_function_t *region = byoc_candidate_region(copy);
  assert_ptr_not_equal(region, copy);
  assert_int_equal(copy->body->parameters.count, 1);
  assert_int_equal(region->body->parameters.count, 2);
  assert_string_equal(region->body->parameters.data[0]->name, "c");
  assert_string_equal(byoc_attributes_string(&region->attributes, "Composite", ""), "first.add");
  assert_true(byoc_value_is_constant(copy->body->first->operands[0]));
  byoc_erase_candidate(copy);
  assert_int_equal(f.module->functions.count, 1);
  release(&f);
}

// Otherwise the function is the region, with its constants in its body.
static void constants_are_bound_when_priced(void **state) {
  (void)state;
  static const byoc_rule_t rule = {.name = "first.add", .pattern = "Add(%a, %b)"};
  fixture_t f;
  byoc_function_t *copy = outline_sum(&f, &rule);
  assert_ptr_equal(byoc_candidate_region(copy), copy);
  assert_int_equal(copy->body->parameters.count, 1);
  byoc_erase_candidate(copy);
  release(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_are_passed_when_priced),
      cmocka_unit_test(constants_are_bound_when_priced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
