// SPDX-License-Identifier: Apache-2.0
// Calls of C functions as nodes: what is refused, at each limit, and that a node gives back the call it was made of.
#include "core/ir/module_text.h"
#include "core/module/c_call.h"
#include "tests/support/support.h"

enum { OPERANDS = 2, RESULTS = 1 };

static byoc_c_call_t call_of(const byoc_c_argument_t *arguments, uint32_t count) {
  return (byoc_c_call_t){.header = BYOC_HEADER(byoc_c_call_t, 1),
                         .symbol = "f",
                         .return_type = BYOC_C_VOID,
                         .argument_count = count,
                         .arguments = arguments,
                         .repeat_count = 1,
                         .result_from_operand = -1};
}

static void expect(const byoc_c_call_t *call, uint32_t results, const char *refusal) {
  byoc_diag_t diag = {0};
  const byoc_status_t status = byoc_c_call_verify(call, OPERANDS, results, &diag);
  if (refusal == NULL) {
    byoc_test_ok(status, &diag);
  } else {
    byoc_test_error(status, BYOC_INVALID_DATA, &diag, refusal);
  }
  byoc_diag_clear(&diag);
}

static void calls_are_checked(void **state) {
  (void)state;
  byoc_c_call_t call = call_of(NULL, 0);
  expect(&call, RESULTS, NULL);
  call.repeat_count = 0;
  expect(&call, RESULTS, "repeat_count is 0, must be at least 1");
  call = call_of(NULL, 0);
  for (call.return_type = BYOC_C_VOID; call.return_type <= BYOC_C_STATUS + 1; ++call.return_type) {
    const bool is_known = call.return_type != BYOC_C_POINTER && call.return_type <= BYOC_C_STATUS;
    expect(&call, RESULTS, is_known ? NULL : "unknown return type");
  }
  call = call_of(NULL, 0);
  for (call.result_from_operand = -2; call.result_from_operand <= OPERANDS; ++call.result_from_operand) {
    const bool is_one = call.result_from_operand >= -1 && call.result_from_operand < OPERANDS;
    expect(&call, RESULTS, is_one ? NULL : "there are 2 operands and 1 results");
    expect(&call, 0, call.result_from_operand == -1 ? NULL : "there are 2 operands and 0 results");
  }
  call = call_of(NULL, 0);
  call.symbol = "";
  expect(&call, RESULTS, "a C call has no symbol");
  call.symbol = NULL;
  expect(&call, RESULTS, "a C call has no symbol");
}

// The types that each kind takes, as bits.
static const uint32_t types_of[] = {
    [BYOC_C_ARGUMENT_INTEGER] = 1u << BYOC_C_I32 | 1u << BYOC_C_I64,
    [BYOC_C_ARGUMENT_REAL] = 1u << BYOC_C_F32 | 1u << BYOC_C_F64,
    [BYOC_C_ARGUMENT_OPERAND] = 1u << BYOC_C_POINTER,
    [BYOC_C_ARGUMENT_RESULT] = 1u << BYOC_C_POINTER,
    [BYOC_C_ARGUMENT_NULL] = 1u << BYOC_C_POINTER,
    [BYOC_C_ARGUMENT_RUNTIME] = 1u << BYOC_C_POINTER,
};

static void arguments_are_checked(void **state) {
  (void)state;
  byoc_c_argument_t argument = {0};
  const byoc_c_call_t call = call_of(&argument, 1);
  for (argument.kind = 0; argument.kind <= BYOC_C_ARGUMENT_RUNTIME + 1; ++argument.kind) {
    const bool is_kind = argument.kind >= BYOC_C_ARGUMENT_INTEGER && argument.kind <= BYOC_C_ARGUMENT_RUNTIME;
    for (argument.type = 0; argument.type <= BYOC_C_STATUS; ++argument.type) {
      const bool is_taken = is_kind && (types_of[argument.kind] >> argument.type & 1) != 0;
      expect(&call, RESULTS, is_taken ? NULL : is_kind ? "that its kind" : "argument 0 has unknown kind");
    }
  }
  argument = (byoc_c_argument_t){.kind = BYOC_C_ARGUMENT_OPERAND, .type = BYOC_C_POINTER, .index = OPERANDS - 1};
  expect(&call, RESULTS, NULL);
  argument.index = OPERANDS;
  expect(&call, RESULTS, "argument 0 names operand 2 of 2");
  argument = (byoc_c_argument_t){.kind = BYOC_C_ARGUMENT_RESULT, .type = BYOC_C_POINTER, .index = RESULTS - 1};
  expect(&call, RESULTS, NULL);
  argument.index = RESULTS;
  expect(&call, RESULTS, "argument 0 names result 1 of 1");
}

static void a_node_keeps_its_call(void **state) {
  (void)state;
  static const byoc_c_argument_t arguments[] = {
      {.kind = BYOC_C_ARGUMENT_INTEGER, .type = BYOC_C_I64, .integer = INT64_MIN},
      {.kind = BYOC_C_ARGUMENT_REAL, .type = BYOC_C_F64, .real = 0.1},
      {.kind = BYOC_C_ARGUMENT_OPERAND, .type = BYOC_C_POINTER, .index = 1, .offset_bytes = 64, .step_bytes = -8},
  };
  byoc_c_call_t call = call_of(arguments, 3), *again = NULL;
  call.return_type = BYOC_C_STATUS, call.repeat_count = 7, call.result_from_operand = 1;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse("module {\n  func @main(%a : f32[2]) -> (%a : f32[2]) {\n    return %a\n  }\n}\n",
                                "test", byoc_allocator_system(), &diag, &module),
               &diag);
  byoc_block_t *body = byoc_graph_module_main(module)->body;
  byoc_value_t *operands[OPERANDS] = {body->parameters.data[0], body->parameters.data[0]};
  byoc_node_t *node = byoc_node_create(body, NULL, "byoc", "CallC", 1, operands, OPERANDS, RESULTS);
  assert_non_null(node);
  byoc_test_ok(byoc_c_call_to_attributes(&call, &node->attributes, &diag), &diag);
  byoc_test_ok(byoc_c_call_from_node(node, &module->arena, &diag, &again), &diag);
  assert_string_equal(again->symbol, "f");
  assert_int_equal(again->return_type, BYOC_C_STATUS);
  assert_int_equal(again->repeat_count, 7);
  assert_int_equal(again->result_from_operand, 1);
  assert_int_equal(again->argument_count, 3);
  for (uint32_t i = 0; i < 3; ++i) {
    const byoc_c_argument_t *made = &again->arguments[i], *given = &arguments[i];
    assert_true(made->kind == given->kind && made->type == given->type && made->index == given->index);
    assert_true(made->integer == given->integer && made->real == given->real);
    assert_true(made->offset_bytes == given->offset_bytes && made->step_bytes == given->step_bytes);
  }
  assert_true(byoc_attributes_set_floats(&node->attributes, "reals", (const double[]){0.0}, 1));
  byoc_test_error(byoc_c_call_from_node(node, &module->arena, &diag, &again), BYOC_INVALID_DATA, &diag,
                  "CallC has 18 argument fields for 1 arguments");
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_are_checked),
      cmocka_unit_test(arguments_are_checked),
      cmocka_unit_test(a_node_keeps_its_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
