// SPDX-License-Identifier: Apache-2.0
// Building and changing graphs: use lists, clones, order, constants, names.
#include "core/ir/graph.h"
#include "core/ir/module_text.h"
#include "core/ir/structural.h"
#include "core/ir/verify_module.h"
#include "rich_module.h"
#include "tests/support/graph.h"
#include "tests/support/support.h"

#include <sys/mman.h>

static byoc_graph_module_t *parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test.ir", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

static void expect_sound(const byoc_graph_module_t *module) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_verify(module, &diag), &diag);
}

static void expect_function(const byoc_function_t *function, const char *text) {
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_test_print_function(function, &out);
  byoc_test_same_text(out.data, text);
  byoc_string_deinit(&out);
}

static const char chain[] = "module { constant @c : f32[2] = [1.0, 2.0]\n"
                            "func @f(%x : f32[2]) -> (%y : f32[2], %z : f32[2]) {\n"
                            "  %a = A@1(%x, %x) : f32[2]\n  %b = B@1(%a, @c, _) : f32[2]\n  %d = D@1(%b, %a) : f32[2]\n"
                            "  return %d, %a\n} }";

static void uses_follow_changes(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(chain);
  byoc_block_t *body = module->functions.data[0]->body;
  byoc_value_t *x = body->parameters.data[0];
  byoc_node_t *a = body->first, *b = a->next, *d = b->next;
  assert_int_equal(x->uses.count, 2);
  assert_int_equal(a->results[0]->uses.count, 3);
  assert_true(byoc_value_is_block_result(a->results[0]));
  assert_false(byoc_value_is_block_result(b->results[0]));
  assert_true(byoc_value_replace_uses(a->results[0], x));
  assert_int_equal(x->uses.count, 5);
  assert_int_equal(a->results[0]->uses.count, 0);
  byoc_node_erase(a);
  assert_int_equal(x->uses.count, 3);
  expect_sound(module);
  assert_true(byoc_node_set_operands(d, (byoc_value_t *[]){x, NULL, b->results[0], x}, 4));
  assert_true(byoc_node_set_operand(b, 2, x));
  assert_non_null(byoc_node_add_result(b));
  assert_true(byoc_node_set_name(b, "b node"));
  expect_sound(module);
  assert_true(byoc_block_add_result(body, NULL, b->results[1]));
  byoc_block_remove_result(body, 0);
  assert_true(byoc_block_set_result(body, 0, d->results[0]));
  expect_sound(module);
  expect_function(module->functions.data[0], "func @f(%x : f32[2]) -> (%z : f32[2], ?) {\n"
                                             "  %b, %0 = B@1 \"b node\" (%x, @c, %x) : f32[2], ?\n"
                                             "  %d = D@1(%x, _, %b, %x) : f32[2]\n"
                                             "  return %d, %0\n}\n");
  byoc_graph_module_destroy(module);
}

static void same_result_twice_keeps_indices(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse("module { func @f(%x : f32[1], %y : f32[2]) -> (f32[1], f32[2], f32[1], f32[1]) "
                                      "{ return %x, %y, %x, %x } }");
  byoc_block_remove_result(module->functions.data[0]->body, 1);
  expect_sound(module);
  byoc_block_remove_result(module->functions.data[0]->body, 0);
  expect_sound(module);
  byoc_graph_module_destroy(module);
}

static void every_function_clones(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(rich_module_text);
  size_t count = module->functions.count;
  for (size_t i = 0; i < count; ++i) {
    byoc_function_t *function = module->functions.data[i];
    const char *name = byoc_graph_module_unique_name(module, function->name);
    byoc_function_t *copy = byoc_function_clone(function, name);
    assert_non_null(copy);
    assert_true(byoc_function_structural_equal(function, copy, 0));
    assert_int_equal(byoc_function_structural_hash(function, 0), byoc_function_structural_hash(copy, 0));
    assert_int_equal(function->kind, copy->kind);
  }
  expect_sound(module);
  // The copy is independent: changing it leaves the original as it was.
  byoc_function_t *copy = byoc_graph_module_find(module, "main_1");
  assert_non_null(copy);
  for (byoc_node_t *node = copy->body->last; node; node = copy->body->last) {
    while (copy->body->results.count > 0) byoc_block_remove_result(copy->body, 0);
    byoc_node_erase(node);
  }
  expect_sound(module);
  assert_int_equal(byoc_graph_module_find(module, "main")->body->node_count, 5);
  byoc_graph_module_destroy(module);
}

static void nodes_clone_into_other_functions(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(chain);
  byoc_function_t *from = module->functions.data[0], *to = byoc_function_create(module, "g");
  byoc_map_t map;
  byoc_pointer_map_init(&map, byoc_allocator_system());
  byoc_value_t *p = byoc_block_add_parameter(to->body, "p", from->body->parameters.data[0]->type);
  assert_true(byoc_pointer_map_put(&map, from->body->first->results[0], p));
  byoc_node_t *copy = byoc_node_clone(from->body->first->next, to->body, NULL, &map);
  assert_non_null(copy);
  assert_true(byoc_block_add_result(to->body, "out", copy->results[0]));
  assert_ptr_equal(byoc_pointer_map_get(&map, from->body->first->next->results[0]), copy->results[0]);
  expect_function(to, "func @g(%p : f32[2]) -> (%out : f32[2]) {\n  %b = B@1(%p, @c, _) : f32[2]\n  return %b\n}\n");
  expect_sound(module);
  byoc_map_deinit(&map);
  byoc_graph_module_destroy(module);
}

// A constant comes with its place, unless the function that is copied into says another one.
static void constants_keep_their_places(void **state) {
  (void)state;
  static const char *const scopes[] = {NULL, "fast"};
  for (int i = 0; i < 2; ++i) {
    byoc_graph_module_t *module = parse(chain);
    byoc_function_t *from = module->functions.data[0], *to = byoc_function_create(module, "g");
    byoc_node_t *reader = from->body->first->next;
    byoc_constant_t *constant = reader->operands[1]->constant;
    reader->operands[1]->device.scope = "slow";
    byoc_value_t *own = byoc_function_constant(to, constant);
    own->device.scope = scopes[i];
    byoc_map_t map;
    byoc_pointer_map_init(&map, byoc_allocator_system());
    byoc_value_t *p = byoc_block_add_parameter(to->body, "p", from->body->parameters.data[0]->type);
    assert_true(byoc_pointer_map_put(&map, from->body->first->results[0], p));
    byoc_node_t *copy = byoc_node_clone(reader, to->body, NULL, &map);
    assert_ptr_equal(copy->operands[1], own);
    assert_string_equal(own->device.scope, i == 0 ? "slow" : "fast");
    byoc_map_deinit(&map);
    byoc_graph_module_destroy(module);
  }
}

static void blocks_sort(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse("module { func @f(%x : f32[2], %c : bool[]) -> (f32[2]) {\n"
                                      "%a = A@1(%x) : f32[2]\n"
                                      "%b = If@16(%c) [t () -> (f32[2]) {\n"
                                      "  %i = I@1(%a) : f32[2]\n  %j = J@1(%i) : f32[2]\n  return %j }] : f32[2]\n"
                                      "%free = F@1() : f32[2]\n%d = D@1(%b) : f32[2]\nreturn %d } }");
  byoc_block_t *body = module->functions.data[0]->body;
  byoc_diag_t diag = {0};
  byoc_string_t before;
  byoc_string_init(&before, byoc_allocator_system());
  byoc_test_print_function(module->functions.data[0], &before);
  byoc_test_ok(byoc_block_sort(body, &diag), &diag); // sorted already: nothing moves
  expect_function(module->functions.data[0], before.data);
  byoc_node_t *a = body->first, *branch = a->next, *d = body->last;
  byoc_node_move(a, body, NULL);
  byoc_node_move(d, body, branch);
  byoc_node_move(branch->blocks[0]->first, branch->blocks[0], NULL);
  byoc_test_error(byoc_graph_verify(module, &diag), BYOC_INVALID_DATA, &diag, "define-before-use");
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_block_sort(body, &diag), &diag);
  expect_sound(module);
  assert_ptr_equal(body->first, a); // needed by the nested block
  assert_ptr_equal(a->next, branch);
  assert_ptr_equal(branch->next, d);
  assert_ptr_equal(body->last, d->next);
  assert_true(byoc_node_set_operand(a, 0, d->results[0]));
  byoc_test_error(byoc_block_sort(body, &diag), BYOC_INVALID_DATA, &diag, "depends on its own result");
  assert_int_equal(body->node_count, 4);
  byoc_string_deinit(&before);
  byoc_graph_module_destroy(module);
}

// A chain that is longer than the stack allows, built backwards.
static void long_chains_sort(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &module), &diag);
  byoc_function_t *function = byoc_function_create(module, "f");
  byoc_value_t *value = byoc_block_add_parameter(function->body, "x", byoc_type_unknown());
  for (int i = 0; i < 20000; ++i) {
    byoc_node_t *node = byoc_node_create(function->body, function->body->first, "", "A", 1, &value, 1, 1);
    assert_non_null(node);
    value = node->results[0];
  }
  assert_true(byoc_block_add_result(function->body, "y", value));
  byoc_test_ok(byoc_block_sort(function->body, &diag), &diag);
  expect_sound(module);
  byoc_graph_module_destroy(module);
}

static bool count_node(void *self, byoc_node_t *node) {
  (void)node;
  return ++*(int *)self < 4;
}

static bool erase_unused(void *self, byoc_node_t *node) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (node->results[i]->uses.count > 0) return true;
  }
  ++*(int *)self;
  byoc_node_erase(node);
  return true;
}

static void walks_stop_and_survive_erasing(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(rich_module_text);
  int count = 0;
  assert_false(byoc_block_walk(byoc_graph_module_main(module)->body, count_node, &count));
  assert_int_equal(count, 4);
  count = 0;
  assert_true(byoc_block_walk(byoc_graph_module_main(module)->body, erase_unused, &count));
  assert_int_equal(count, 2); // the two without results
  expect_sound(module);
  byoc_graph_module_destroy(module);
}

static void functions_come_and_go(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(chain);
  assert_non_null(byoc_function_create(module, "g"));
  assert_string_equal(byoc_graph_module_unique_name(module, "g"), "g_1");
  assert_string_equal(byoc_graph_module_unique_name(module, "c"), "c_1"); // a constant has it
  assert_true(byoc_function_rename(byoc_graph_module_find(module, "g"), "h"));
  assert_null(byoc_graph_module_find(module, "g"));
  assert_string_equal(byoc_graph_module_unique_name(module, "g"), "g");
  byoc_function_erase(byoc_graph_module_find(module, "h"));
  assert_null(byoc_graph_module_find(module, "h"));
  assert_non_null(byoc_function_create(module, "h"));
  assert_int_equal(module->functions.count, 2);
  assert_string_equal(byoc_graph_module_main(module)->name, "f");
  expect_sound(module);
  byoc_graph_module_destroy(module);
}

static void constants_are_shared_and_compared(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(chain);
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_F32, 1, (int64_t[]){2});
  const float same[] = {1, 2}, other[] = {1, 3};
  byoc_constant_t *c = byoc_graph_module_find_constant(module, "c");
  byoc_constant_t *copy = byoc_constant_create(module, "c", type, same);
  byoc_constant_t *view = byoc_constant_wrap(module, "view", type, other);
  assert_string_equal(copy->name, "c_1");
  assert_ptr_equal(view->data, other);
  assert_int_equal((uintptr_t)copy->data % 64, 0);
  assert_true(byoc_constant_equal(c, copy));
  assert_false(byoc_constant_equal(c, view));
  assert_int_equal(byoc_constant_hash(c), byoc_constant_hash(copy));
  const byoc_type_t *flat = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_F32, 2, (int64_t[]){1, 2});
  assert_false(byoc_constant_equal(c, byoc_constant_create(module, "flat", flat, same)));
  byoc_function_t *function = module->functions.data[0];
  byoc_value_t *value = byoc_function_constant(function, c);
  assert_ptr_equal(value, function->body->first->next->operands[1]);
  expect_sound(module);
  byoc_graph_module_destroy(module);
}

static void descriptions_name_the_operator(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(rich_module_text);
  byoc_node_t *matmul = byoc_graph_module_main(module)->body->first;
  char text[64];
  byoc_node_describe(matmul, text, sizeof(text));
  assert_string_equal(text, "MatMul (ai.onnx 13)");
  byoc_node_describe(matmul->next, text, sizeof(text));
  assert_string_equal(text, "Drop 'drop 1' (com.acme 2)");
  byoc_node_describe(matmul->next, text, 8);
  assert_string_equal(text, "Drop 'd");
  byoc_graph_module_destroy(module);
}

// Files that constants point into stay mapped as long as the module.
static void mappings_are_released(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(chain);
  byoc_diag_t diag = {0};
  byoc_file_view_t view;
  unsigned char resident[1];
  byoc_test_ok(byoc_file_view_open("/proc/self/exe", &diag, &view), &diag);
  assert_true(byoc_vector_push(&module->mappings, module->allocator, view));
  assert_int_equal(mincore((void *)(uintptr_t)view.data, 1, resident), 0);
  byoc_graph_module_destroy(module);
  byoc_graph_module_destroy(NULL);
  assert_int_equal(mincore((void *)(uintptr_t)view.data, 1, resident), -1);
}

static bool is_named_f(void *self, const byoc_function_t *function) {
  (void)self;
  return function->name[0] == 'f';
}

// The functions that passes look at: all, or those in scope and those made meanwhile.
static void functions_in_scope(void **state) {
  (void)state;
  byoc_graph_module_t *module = NULL;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &module), &diag);
  const char *const names[] = {"f1", "g1", "f2"};
  for (size_t i = 0; i < 3; ++i) assert_non_null(byoc_function_create(module, names[i]));
  size_t count = 0;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    assert_string_equal(function->name, names[count++]);
  }
  assert_int_equal(count, 3);
  byoc_map_t scope;
  byoc_pointer_map_init(&scope, byoc_allocator_system());
  byoc_function_t *g1 = byoc_graph_module_find(module, "g1");
  assert_true(byoc_pointer_map_put(&scope, g1, g1));
  module->scope = &scope;
  assert_non_null(byoc_function_create(module, "g2"));
  count = 0;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    assert_string_equal(function->name, count++ == 0 ? "g1" : "g2");
  }
  assert_int_equal(count, 2);
  assert_false(byoc_function_is_in_scope(byoc_graph_module_find(module, "f1")));
  module->scope = NULL;
  byoc_map_deinit(&scope);
  byoc_graph_module_keep_functions(module, is_named_f, NULL);
  assert_int_equal(module->functions.count, 2);
  assert_null(byoc_graph_module_find(module, "g2"));
  assert_string_equal(module->functions.data[1]->name, "f2");
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_in_scope),
      cmocka_unit_test(uses_follow_changes),
      cmocka_unit_test(same_result_twice_keeps_indices),
      cmocka_unit_test(every_function_clones),
      cmocka_unit_test(nodes_clone_into_other_functions),
      cmocka_unit_test(constants_keep_their_places),
      cmocka_unit_test(blocks_sort),
      cmocka_unit_test(long_chains_sort),
      cmocka_unit_test(walks_stop_and_survive_erasing),
      cmocka_unit_test(functions_come_and_go),
      cmocka_unit_test(constants_are_shared_and_compared),
      cmocka_unit_test(descriptions_name_the_operator),
      cmocka_unit_test(mappings_are_released),
  };
  return cmocka_run_group_tests_name("ir graph", tests, NULL, NULL);
}
