// SPDX-License-Identifier: Apache-2.0
// The context below the operator table: the test drives it with its own definitions.
#include "core/ir/loop_text.h"
#include "core/ir/module_text.h"
#include "core/op/lowering_context.h"
#include "tests/support/support.h"

static const byoc_loop_expr_t *point_twice(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                           const byoc_loop_expr_t *const *indices) {
  (void)result;
  const byoc_loop_expr_t *x = byoc_lower_load(lower, node, 0, indices);
  return BYOC_LADD(byoc_lower_builder(lower), x, x);
}

// For operators that no table has.
static byoc_lower_definition_t find(const byoc_node_t *node) {
  bool is_twice = byoc_node_is(node, "acme", "Twice");
  return (byoc_lower_definition_t){.point = is_twice ? point_twice : NULL, .is_elementwise = true};
}

static const char text[] = "module { func @f(%x : f32[4]) -> (%y : f32[4]) {\n"
                           "  %a = acme::Twice@1(%x) : f32[4]\n"
                           "  %y = acme::Twice@1(%a) : f32[4]\n"
                           "  return %y } func @g(%x : f32[4]) -> (%y : f32[4]) {\n"
                           "  %a = acme::Unknown@1(%x) : f32[4]\n"
                           "  %y = acme::Twice@1(%a) : f32[4]\n"
                           "  return %y } }";

// The kernel of a function whose last node is the anchor; the other node is inlined.
static void lower_into(byoc_lower_t *lower, byoc_function_t *function) {
  static byoc_node_t *members[1];
  members[0] = function->body->last;
  lower->function = function, lower->members = members, lower->member_count = 1;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_value_t *x = function->body->parameters.data[0], *y = function->body->results.data[0];
  assert_true(byoc_pointer_map_put(&lower->buffers, x, byoc_loop_parameter(b, BYOC_LOOP_BUFFER_INPUT, "x", x->type)) &&
              byoc_pointer_map_put(&lower->buffers, y, byoc_loop_parameter(b, BYOC_LOOP_BUFFER_OUTPUT, "y", y->type)));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "i", byoc_loop_int(b, 0), byoc_loop_int(b, 4));
  size_t mark = byoc_lower_begin_element(lower);
  byoc_lower_store(lower, members[0], 0, &i, byoc_lower_point(lower, members[0], 0, &i));
  byoc_lower_end_element(lower, mark);
  byoc_loop_end(b);
  assert_int_equal(lower->frames, 0);
}

static void definitions_are_given(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_lower_t lower;
  byoc_lower_init(&lower, &module->arena, "f", find, &diag);
  lower_into(&lower, byoc_graph_module_find(module, "f"));
  assert_false(lower.builder.failed);
  byoc_test_ok(byoc_loop_verify(lower.builder.kernel, &diag), &diag);
  byoc_string_t printed;
  byoc_string_init(&printed, byoc_allocator_system());
  byoc_loop_kernel_print(lower.builder.kernel, &printed);
  // Computed once, read twice.
  const char *sum = strstr(printed.data, "x[i0] + x[i0]");
  if (sum == NULL || strstr(sum + 1, "x[i0] + x[i0]") != NULL) fail_msg("%s", printed.data);
  byoc_string_deinit(&printed);
  byoc_lower_deinit(&lower);
  byoc_graph_module_destroy(module);
}

static void what_has_no_definition_is_refused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_lower_t lower;
  byoc_lower_init(&lower, &module->arena, "g", find, &diag);
  lower_into(&lower, byoc_graph_module_find(module, "g"));
  assert_true(lower.builder.failed);
  assert_true(lower.refused); // and memory did not run out
  byoc_lower_deinit(&lower);
  byoc_graph_module_destroy(module);
}

// A place that is known is checked when the load is made.
static void known_places_are_inside(void **state) {
  (void)state;
  static const int64_t places[] = {0, 3, 4, -1};
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); ++k) {
    byoc_lower_t lower;
    byoc_lower_init(&lower, &module->arena, "f", find, &diag);
    byoc_function_t *function = byoc_graph_module_find(module, "f");
    lower_into(&lower, function);
    const byoc_loop_expr_t *load =
        byoc_lower_load_flat(&lower, function->body->first, 0, byoc_loop_int(byoc_lower_builder(&lower), places[k]));
    assert_int_equal(load != NULL, k < 2);
    assert_int_equal(lower.builder.failed, k >= 2);
    byoc_lower_deinit(&lower);
  }
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(definitions_are_given),
      cmocka_unit_test(what_has_no_definition_is_refused),
      cmocka_unit_test(known_places_are_inside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
