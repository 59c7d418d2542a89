// SPDX-License-Identifier: Apache-2.0
// The verifier: each rule, broken on purpose.
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "tests/support/support.h"

static const char sample[] = "module {\n"
                             "  constant @c : f32[2] = [1.0, 2.0]\n"
                             "  func @main(%x : f32[2], %p : bool[]) -> (%y : f32[2]) {\n"
                             "    %a = Add@14(%x, @c) {axis = 1} : f32[2]\n"
                             "    %b = If@16(%p) [then_branch () -> (f32[2]) {\n"
                             "      %t = Neg@13(%a) : f32[2]\n"
                             "      return %t\n"
                             "    }] : f32[2]\n"
                             "    %y = call @part(%b) : f32[2]\n"
                             "    return %y\n"
                             "  }\n"
                             "  func @part(%q : f32[2]) -> (%r : f32[2]) {\n"
                             "    %r = Relu@14(%q) : f32[2]\n"
                             "    return %r\n"
                             "  }\n"
                             "}\n";

typedef struct sample_t {
  byoc_graph_module_t *module;
  byoc_function_t *main, *part;
  byoc_node_t *add, *branch, *call, *nested, *relu;
} sample_t;

static int set_up(void **state) {
  static sample_t s;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_parse(sample, "s.ir", byoc_allocator_system(), &diag, &s.module), &diag);
  s.main = byoc_graph_module_find(s.module, "main");
  s.part = byoc_graph_module_find(s.module, "part");
  s.add = s.main->body->first;
  s.branch = s.add->next;
  s.call = s.branch->next;
  s.nested = s.branch->blocks[0]->first;
  s.relu = s.part->body->first;
  *state = &s;
  return 0;
}

static int tear_down(void **state) {
  byoc_graph_module_destroy(((sample_t *)*state)->module);
  return 0;
}

static void expect(const sample_t *s, const char *part) {
  byoc_diag_t diag = {0};
  byoc_test_error(byoc_graph_verify(s->module, &diag), BYOC_INVALID_DATA, &diag, part);
}

#define VIOLATION(test_name) static void test_name(void **state)
#define SAMPLE               sample_t *s = *state

VIOLATION(sound_module_passes) {
  SAMPLE;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_verify(s->module, &diag), &diag);
}

VIOLATION(use_before_definition) {
  SAMPLE;
  byoc_node_move(s->add, s->main->body, NULL);
  expect(s, "function @main: Neg (ai.onnx 13): operand 0, %a, is used before it is defined [define-before-use]");
}

VIOLATION(use_of_own_result) {
  SAMPLE;
  assert_true(byoc_node_set_operand(s->add, 0, s->add->results[0]));
  expect(s, "Add (ai.onnx 14): operand 0, %a, is used before it is defined [define-before-use]");
}

VIOLATION(nested_use_of_owners_result) {
  SAMPLE;
  assert_true(byoc_node_set_operand(s->nested, 0, s->branch->results[0]));
  expect(s, "[define-before-use]");
}

VIOLATION(use_of_an_erased_node) {
  SAMPLE;
  byoc_value_t *result = s->add->results[0];
  byoc_use_t use = result->uses.data[0];
  result->uses.count = 0;
  byoc_node_erase(s->add);
  result->uses.data[result->uses.count++] = use;
  expect(s, "[define-before-use]");
}

VIOLATION(use_of_a_nested_value_outside) {
  SAMPLE;
  assert_true(byoc_node_set_operand(s->call, 0, s->nested->results[0]));
  expect(s, "function @main: call @part: operand 0, %t, is of a block that does not enclose this one [visible]");
}

VIOLATION(free_value) {
  SAMPLE;
  assert_true(byoc_node_set_operand(s->relu, 0, s->main->body->parameters.data[0]));
  expect(s, "function @main: its value %x is used in function @part [free-value]");
}

VIOLATION(block_result_of_another_function) {
  SAMPLE;
  assert_true(byoc_block_set_result(s->part->body, 0, s->main->body->parameters.data[0]));
  expect(s, "function @main: its value %x is used in function @part [free-value]");
  byoc_diag_t diag = {0};
  byoc_test_error(byoc_function_verify(s->part, &diag), BYOC_INVALID_DATA, &diag,
                  "function @part: block result 0, %x, belongs to another function [free-value]");
}

VIOLATION(missing_use) {
  SAMPLE;
  --s->main->body->parameters.data[0]->uses.count;
  expect(s, "function @main: 1 operands and results are missing from the use lists [use-list]");
}

VIOLATION(stale_use) {
  SAMPLE;
  s->add->operands[0] = s->main->body->parameters.data[1];
  expect(s, "the use list of %x has a use that is not there [use-list]");
}

VIOLATION(use_listed_twice) {
  SAMPLE;
  byoc_value_t *x = s->main->body->parameters.data[0];
  assert_true(byoc_vector_push(&x->uses, byoc_arena_allocator(&s->module->arena), x->uses.data[0]));
  expect(s, "[use-list]");
}

VIOLATION(missing_type) {
  SAMPLE;
  s->add->results[0]->type = NULL;
  expect(s, "Add (ai.onnx 14): value %a has no type or a malformed one [type]");
}

VIOLATION(malformed_type) {
  SAMPLE;
  s->add->results[0]->type = byoc_type_tensor_static(&s->module->arena, 99, 1, (int64_t[]){2});
  expect(s, "[type]");
  s->add->results[0]->type = byoc_type_tensor_static(&s->module->arena, BYOC_DTYPE_F32, 1, (int64_t[]){-2});
  expect(s, "[type]");
}

VIOLATION(inconsistent_device) {
  SAMPLE;
  s->add->results[0]->device.device_id = 3;
  expect(s, "Add (ai.onnx 14): value %a has an inconsistent virtual device [device]");
  s->add->results[0]->device = (byoc_virtual_device_t){1, 3, "", NULL};
  expect(s, "[device]");
}

VIOLATION(result_does_not_point_back) {
  SAMPLE;
  s->add->results[0]->index = 4;
  expect(s, "result 0 does not point back [back-pointer]");
}

VIOLATION(node_of_another_function) {
  SAMPLE;
  s->add->function = s->part;
  expect(s, "the node says that it is of another function [back-pointer]");
}

VIOLATION(parameter_does_not_point_back) {
  SAMPLE;
  s->main->body->parameters.data[1]->index = 0;
  expect(s, "parameter 1 does not point back [back-pointer]");
}

VIOLATION(constants_value_does_not_point_back) {
  SAMPLE;
  byoc_value_t *value = s->add->operands[1];
  byoc_constant_t *constant = value->constant;
  byoc_constant_t other = *constant;
  value->constant = &other;
  expect(s, "the value of @c does not point back [constant]");
  value->constant = constant;
  value->kind = BYOC_VALUE_PARAMETER;
  expect(s, "[");
  value->kind = BYOC_VALUE_CONSTANT;
}

VIOLATION(nested_block_of_another_node) {
  SAMPLE;
  s->branch->blocks[0]->owner = s->add;
  expect(s, "block 'then_branch' says that it is of another node [back-pointer]");
}

VIOLATION(broken_node_list) {
  SAMPLE;
  s->branch->previous = NULL;
  expect(s, "the list of nodes is not linked both ways [node-list]");
}

VIOLATION(wrong_node_count) {
  SAMPLE;
  ++s->main->body->node_count;
  expect(s, "the list of nodes has a wrong end or count [node-list]");
}

VIOLATION(missing_block_result) {
  SAMPLE;
  s->main->body->results.data[0] = NULL;
  expect(s, "result 0 of a block is missing [block]");
}

VIOLATION(two_blocks_of_one_name) {
  SAMPLE;
  assert_non_null(byoc_node_add_block(s->branch, "then_branch"));
  expect(s, "two nested blocks have the same name [block]");
}

VIOLATION(node_without_operator) {
  SAMPLE;
  s->add->op = "";
  expect(s, "a node has no operator [node]");
}

VIOLATION(unknown_node_id) {
  SAMPLE;
  s->add->id = 1000;
  expect(s, "its id 1000 was never given out [node]");
}

VIOLATION(repeated_node_id) {
  SAMPLE;
  s->relu->id = s->add->id;
  expect(s, "is there twice [id]");
}

VIOLATION(attribute_without_value) {
  SAMPLE;
  assert_true(byoc_attributes_set_string(&s->add->attributes, "mode", "x"));
  s->add->attributes.items[1].s = NULL;
  expect(s, "Add (ai.onnx 14): attribute 'mode' has no text [attribute]");
  byoc_attribute_t *mode = &s->add->attributes.items[1];
  mode->kind = BYOC_ATTRIBUTE_INTS, mode->ints = NULL, mode->count = 1;
  expect(s, "attribute 'mode' has no numbers [attribute]");
  mode->kind = BYOC_ATTRIBUTE_FLOATS, mode->floats = NULL;
  expect(s, "attribute 'mode' has no numbers [attribute]");
  mode->kind = BYOC_ATTRIBUTE_STRINGS, mode->strings = NULL;
  expect(s, "attribute 'mode' has a string missing [attribute]");
  mode->count = 0; // nothing is missing in empty lists
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_verify(s->module, &diag), &diag);
  mode->kind = BYOC_ATTRIBUTE_INTS;
  byoc_test_ok(byoc_graph_verify(s->module, &diag), &diag);
  s->add->attributes.items[1].kind = BYOC_ATTRIBUTE_TENSOR;
  expect(s, "attribute 'mode' has no tensor [attribute]");
  s->add->attributes.items[1].kind = (byoc_attribute_kind_t)77;
  expect(s, "attribute 'mode' is of an unknown kind [attribute]");
  s->add->attributes.items[1] = s->add->attributes.items[0];
  expect(s, "attribute 'axis' is there twice [attribute]");
}

VIOLATION(module_attribute_without_value) {
  SAMPLE;
  assert_true(byoc_attributes_set_tensor(&s->module->attributes, "table", NULL));
  expect(s, "module attribute 'table' has no tensor [attribute]");
}

VIOLATION(call_with_a_wrong_count) {
  SAMPLE;
  assert_non_null(byoc_block_add_parameter(s->part->body, "extra", byoc_type_unknown()));
  expect(s, "it has 1 operands and 1 results, @part takes 2 and gives 1 [call-signature]");
}

VIOLATION(call_with_a_wrong_type) {
  SAMPLE;
  s->part->body->parameters.data[0]->type =
      byoc_type_tensor_static(&s->module->arena, BYOC_DTYPE_F32, 1, (int64_t[]){3});
  expect(s, "call @part: operand 0 is not what @part takes [call-signature]");
}

VIOLATION(call_with_a_wrong_result) {
  SAMPLE;
  s->relu->results[0]->type = byoc_type_tensor_static(&s->module->arena, BYOC_DTYPE_F64, 1, (int64_t[]){2});
  expect(s, "call @part: result 0 is not what @part gives [call-signature]");
}

VIOLATION(call_with_an_omitted_operand) {
  SAMPLE;
  assert_true(byoc_node_set_operand(s->call, 0, NULL));
  expect(s, "[call-signature]");
}

VIOLATION(call_of_an_erased_function) {
  SAMPLE;
  byoc_function_erase(s->part);
  expect(s, "it calls @part, which is not in the module [callee]");
}

VIOLATION(call_cycle) {
  SAMPLE;
  byoc_value_t *parameter = s->part->body->parameters.data[0];
  byoc_node_t *call = byoc_node_create_call(s->part->body, s->relu, s->part, &parameter, 1);
  assert_non_null(call);
  expect(s, "calls itself, directly or through others [call-cycle]");
}

VIOLATION(constant_out_of_the_module) {
  SAMPLE;
  byoc_value_t *constant = s->add->operands[1];
  assert_true(byoc_node_set_operand(s->add, 1, NULL));
  s->module->constants.count = 0;
  assert_true(byoc_string_map_put(&s->module->constant_names, "c", NULL));
  sound_module_passes(state);
  assert_true(byoc_node_set_operand(s->add, 1, constant));
  expect(s, "operand 1, @c, is not a constant of this module and function [constant]");
}

VIOLATION(constant_of_a_wrong_size) {
  SAMPLE;
  s->module->constants.data[0]->size_bytes = 4;
  expect(s, "constant @c does not have the data of its type [constant]");
}

VIOLATION(name_of_two_things) {
  SAMPLE;
  assert_true(byoc_string_map_put(&s->module->constant_names, "main", s->module->constants.data[0]));
  expect(s, "@main is a function and a constant [unique-name]");
}

VIOLATION(function_under_another_name) {
  SAMPLE;
  s->part->name = "other";
  expect(s, "function @other is not listed under its name [unique-name]");
}

VIOLATION(loops_outside_a_kernel) {
  SAMPLE;
  s->part->kernel = (struct byoc_loop_kernel_t *)(void *)s;
  expect(s, "function @part: only kernel functions have loops [kind]");
  s->part->kernel = NULL;
}

VIOLATION(blocks_nested_too_deep) {
  SAMPLE;
  // Two halves, each of which is legal by itself.
  byoc_block_t *block = s->main->body, *other = s->main->body;
  byoc_node_t *top = NULL;
  for (int i = 0; i < 40; ++i) {
    byoc_node_t *node = byoc_node_create(block, NULL, "", "A", 1, NULL, 0, 0);
    byoc_node_t *second = byoc_node_create(other, NULL, "", "A", 1, NULL, 0, 0);
    if (!top) top = second;
    block = byoc_node_add_block(node, "b");
    other = byoc_node_add_block(second, "b");
    assert_true(block && other);
  }
  byoc_node_move(top, block, NULL);
  expect(s, "blocks are nested deeper than 64 [depth]");
  assert_null(byoc_node_add_block(byoc_node_create(other, NULL, "", "A", 1, NULL, 0, 0), "b"));
}

// Sequences and optionals are nested up to 64 deep.
VIOLATION(types_nested_too_deep) {
  SAMPLE;
  const byoc_type_t *type = s->relu->results[0]->type;
  for (int i = 0; i < 64; ++i) type = byoc_type_sequence(&s->module->arena, type);
  assert_true(byoc_attributes_set_type(&s->add->attributes, "deep", type));
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_verify(s->module, &diag), &diag);
  assert_true(byoc_attributes_set_type(&s->add->attributes, "deep", byoc_type_optional(&s->module->arena, type)));
  expect(s, "attribute 'deep' has a malformed type [attribute]");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sound_module_passes),
      TEST(use_before_definition),
      TEST(use_of_own_result),
      TEST(nested_use_of_owners_result),
      TEST(use_of_an_erased_node),
      TEST(use_of_a_nested_value_outside),
      TEST(free_value),
      TEST(block_result_of_another_function),
      TEST(missing_use),
      TEST(stale_use),
      TEST(use_listed_twice),
      TEST(missing_type),
      TEST(malformed_type),
      TEST(inconsistent_device),
      TEST(result_does_not_point_back),
      TEST(node_of_another_function),
      TEST(parameter_does_not_point_back),
      TEST(constants_value_does_not_point_back),
      TEST(nested_block_of_another_node),
      TEST(broken_node_list),
      TEST(wrong_node_count),
      TEST(missing_block_result),
      TEST(two_blocks_of_one_name),
      TEST(node_without_operator),
      TEST(unknown_node_id),
      TEST(repeated_node_id),
      TEST(attribute_without_value),
      TEST(module_attribute_without_value),
      TEST(call_with_a_wrong_count),
      TEST(call_with_a_wrong_type),
      TEST(call_with_a_wrong_result),
      TEST(call_with_an_omitted_operand),
      TEST(call_of_an_erased_function),
      TEST(call_cycle),
      TEST(constant_out_of_the_module),
      TEST(constant_of_a_wrong_size),
      TEST(name_of_two_things),
      TEST(function_under_another_name),
      TEST(loops_outside_a_kernel),
      TEST(blocks_nested_too_deep),
      TEST(types_nested_too_deep),
  };
  return cmocka_run_group_tests_name("ir verify", tests, NULL, NULL);
}
