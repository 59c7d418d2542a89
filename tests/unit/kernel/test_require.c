// SPDX-License-Identifier: Apache-2.0
// What a node, or the body of a backend's function, relies on between open dimensions stands in front of it as Require.
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/kernel/require.h"
#include "core/op/op.h"
#include "core/ops/byoc/symbolic.h"
#include "tests/support/support.h"

// The body of main, with types and with what its nodes require early; *out_module is the caller's.
static byoc_block_t *require_early(const char *text, byoc_graph_module_t **out_module) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, out_module), &diag);
  byoc_test_ok(byoc_infer_module(*out_module, &diag), &diag);
  byoc_block_t *body = byoc_graph_module_main(*out_module)->body;
  byoc_test_ok(byoc_require_early(body, &diag), &diag);
  return body;
}

// All relations that main requires, one per line: the node in front of which it stands, who asks, the kind, both sides.
static void expect_required(const char *text, const char *expected) {
  byoc_graph_module_t *module = NULL;
  byoc_block_t *body = require_early(text, &module);
  byoc_string_t found;
  byoc_string_init(&found, byoc_allocator_system());
  BYOC_FOR_EACH_NODE(node, body) {
    if (!byoc_node_is(node, "byoc", "Require")) continue;
    const byoc_node_t *reader = node->next;
    while (byoc_node_is(reader, "byoc", "Require")) reader = reader->next;
    for (uint32_t i = 0; i < node->result_count; ++i) {
      const byoc_relation_t relation = byoc_required(node, i);
      byoc_string_appendf(&found, "%s, %s: %d ", reader->callee ? reader->callee->name : reader->op,
                          byoc_required_by(node), (int)relation.kind);
      byoc_dim_print(relation.left, &found);
      byoc_string_append(&found, " ");
      byoc_dim_print(relation.right, &found);
      byoc_string_append(&found, "\n");
    }
  }
  byoc_test_same_text(found.data, expected);
  byoc_string_deinit(&found);
  byoc_graph_module_destroy(module);
}

static void nodes_are_asked(void **state) {
  (void)state;
  expect_required(
      "module {\n"
      "  func @main(%x : f32[2,N], %y : f32[M,3], %z : f32[2,3], %w : f32[K]) -> (%a : ?, %b : ?, %c : ?) {\n"
      "    %a = MatMul@13(%x, %y) : ?\n"
      "    %b = Relu@14(%z) : ?\n"
      "    %c = Concat@13(%x, %x) {axis = 0} : ?\n"
      "    %d = Add@14(%x, %w) : ?\n"
      "    return %a, %b, %c\n  }\n}\n",
      "MatMul, MatMul (ai.onnx 13): 0 M N\n"
      "Add, Add (ai.onnx 14): 2 N K\n");
}

static void rows_and_columns_are_told_apart(void **state) {
  (void)state;
  expect_required("module {\n"
                  "  func @main(%x : f32[1,3,H,W]) -> (%y : ?) {\n"
                  "    %y = Crop@1(%x) {border = [1, 2, 3, 4], scale = [5, 7]} : ?\n"
                  "    return %y\n  }\n}\n",
                  "Crop, Crop (ai.onnx 1): 4 7 H\n"
                  "Crop, Crop (ai.onnx 1): 4 8 W\n");
}

// The relations inside an extern function are told in the dimensions of the call, through functions that it calls.
static void bodies_of_extern_functions_are_asked(void **state) {
  (void)state;
  expect_required("module {\n"
                  "  func @main(%x : f32[2,N], %y : f32[M,3], %z : f32[2,3]) -> (%a : ?) {\n"
                  "    %c = call @part(%x, %y) : ?\n"
                  "    %a = call @plain(%c) : ?\n"
                  "    return %a\n  }\n"
                  "  extern func @part(%p : f32[2,K], %q : f32[L,3]) -> (%r : f32[2,3]) attributes {Extern = 1} {\n"
                  "    %r = call @inner(%p, %q) : f32[2,3]\n"
                  "    return %r\n  }\n"
                  "  extern func @plain(%p : f32[2,3]) -> (%r : f32[2,3]) attributes {Extern = 1} {\n"
                  "    %r = Relu@14(%p) : f32[2,3]\n"
                  "    return %r\n  }\n"
                  "  func @inner(%s : f32[2,A], %t : f32[B,3]) -> (%u : f32[2,3]) attributes {Composite = \"x.y\"} {\n"
                  "    %u = MatMul@13(%s, %t) : f32[2,3]\n"
                  "    return %u\n  }\n}\n",
                  "part, MatMul (ai.onnx 13): 0 M N\n");
}

// A pass may have written an operator of the body as others, with a Require in front of them.
static void requirements_in_bodies_are_asked(void **state) {
  (void)state;
  expect_required("module {\n"
                  "  func @main(%x : f32[2,N], %y : f32[M,3]) -> (%a : ?) {\n"
                  "    %a = call @part(%x, %y) : ?\n"
                  "    return %a\n  }\n"
                  "  extern func @part(%p : f32[2,K], %q : f32[L,3]) -> (%r : f32[2,K]) attributes {Extern = 1} {\n"
                  "    %0, %1 = byoc::Require@1(%q) {kinds = [0], names = [\"a\", \"b\"], required_by = \"Sum\"} : "
                  "bool[K,?1], f32[?1,3]\n"
                  "    %r = Relu@14(%p) : f32[2,K]\n"
                  "    return %r\n  }\n}\n",
                  "part, Sum: 0 N M\n");
}

static byoc_node_t *find_node(byoc_block_t *block, const char *op) {
  BYOC_FOR_EACH_NODE(node, block) {
    if (strcmp(node->op, op) == 0) return node;
  }
  fail_msg("there is no %s", op);
  return NULL;
}

// What a pass learns of the operands after a requirement was kept counts for it, whichever operand it is.
static void kept_requirements_follow_their_operands(void **state) {
  (void)state;
  static const char text[] = "module {\n"
                             "  func @main(%v : f32[2,4], %w : f32[4,3], %c : bool[4]) -> (%y : ?) {\n"
                             "    %p = Compress@11(%v, %c) {axis = 1} : ?\n"
                             "    %q = Compress@11(%w, %c) {axis = 0} : ?\n"
                             "    %y = MatMul@13(%p, %q) : ?\n"
                             "    return %y\n  }\n}\n";
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_block_t *body = byoc_graph_module_main(module)->body;
  byoc_node_t *product = find_node(body, "MatMul");
  byoc_relations_t relations = {.allocator = byoc_allocator_system()};
  byoc_test_ok(byoc_infer_relations(product, &diag, &relations), &diag);
  byoc_test_ok(byoc_require_kept(product, product, &relations, &diag), &diag);
  byoc_relations_deinit(&relations);
  const int64_t dims[2][2] = {{2, 5}, {7, 3}};
  for (uint32_t i = 0; i < 2; ++i) {
    product->operands[i]->type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_F32, 2, dims[i]);
  }
  byoc_test_ok(byoc_requirement_settle(find_node(body, "Require"), &diag), &diag);
  const byoc_node_t *settled = find_node(body, "Require");
  assert_int_equal(settled->operand_count, 0);
  assert_int_equal(settled->result_count, 1);
  const byoc_relation_t relation = byoc_required(settled, 0);
  assert_int_equal(relation.left.constant, 7);
  assert_int_equal(relation.right.constant, 5);
  byoc_graph_module_destroy(module);
}

// The operators that main computes in front of a call, in order.
static void expect_written(const char *text, const char *expected) {
  byoc_graph_module_t *module = NULL;
  byoc_block_t *body = require_early(text, &module);
  byoc_string_t found;
  byoc_string_init(&found, byoc_allocator_system());
  BYOC_FOR_EACH_NODE(node, body) {
    const char *what = node->callee ? node->callee->name : node->op;
    byoc_string_appendf(&found, "%s%s", node == body->first ? "" : " ", what);
    if (byoc_node_is(node, "byoc", "CheckRange")) {
      byoc_string_appendf(&found, "(%s)", ((const char *const *)node->operands[3]->constant->data)[0]);
    }
  }
  byoc_test_same_text(found.data, expected);
  byoc_string_deinit(&found);
  byoc_graph_module_destroy(module);
}

// What a backend's function looks up is checked where it is called: an operand as it is, and what the body makes of
// one by a few operators, which are computed for the check. The same indices are checked once.
static void indices_in_bodies_are_checked(void **state) {
  (void)state;
  expect_written("module {\n  constant @one : i64[] = [1]\n"
                 "  func @main(%x : f32[5,2], %i : i64[3]) -> (%a : ?, %b : ?, %c : ?) {\n"
                 "    %a = call @plain(%x, %i) : ?\n    %b = call @plain(%x, %i) : ?\n"
                 "    %c = call @made(%x, %i) : ?\n    return %a, %b, %c\n  }\n"
                 "  extern func @plain(%p : f32[5,2], %k : i64[3]) -> (%r : f32[3,2]) attributes {Extern = 1} {\n"
                 "    %r = Gather@13 \"look\" (%p, %k) : f32[3,2]\n    return %r\n  }\n"
                 "  extern func @made(%p : f32[5,2], %k : i64[3]) -> (%r : f32[3,2]) attributes {Extern = 1} {\n"
                 "    %j = Add@14(%k, @one) : i64[3]\n"
                 "    %r = Gather@13 \"up\" (%p, %j) : f32[3,2]\n    return %r\n  }\n}\n",
                 "CheckRange(Gather 'look' (ai.onnx 13): operand 1, the indices) plain plain Add "
                 "CheckRange(Gather 'up' (ai.onnx 13): operand 1, the indices) made");
}

// A text may say anything of a Require: "...@1(operands) {...} : types" of the node, and what main returns.
static void expect_refused(const char *require, const char *result, const char *expected) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  char text[1024];
  snprintf(text, sizeof text,
           "module {\n  func @main(%%x : f32[N,3]) -> (%%y : %s) {\n    %%0 = byoc::Require%s\n"
           "    %%1 = Relu@14(%%x) : f32[N,3]\n    return %%%s\n  }\n}\n",
           strcmp(result, "1") == 0 ? "f32[N,3]" : "bool[N,3]", require, result);
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  assert_int_equal(byoc_kernel_lower_module(module, NULL, &diag), BYOC_INVALID_DATA);
  assert_non_null(strstr(diag.message, expected));
  byoc_graph_module_destroy(module);
}

static void damaged_requirements_are_refused(void **state) {
  (void)state;
  expect_refused("@1() {names = [\"a\", \"b\"], required_by = \"Sum\"} : bool[N,3]", "1", "'kinds'");
  expect_refused("@1(%x, %x) {kinds = [0], names = [\"a\", \"b\"], required_by = \"Sum\"} : bool[N,3]", "1",
                 "expected one and two for each relation");
  expect_refused("@1() {kinds = [0], names = [\"a\", \"b\"]} : bool[N,3]", "1", "'required_by'");
  expect_refused("@1() {kinds = [99], names = [\"a\", \"b\"], required_by = \"Sum\"} : bool[N,3]", "1",
                 "expected a kind of relation");
  expect_refused("@1() {kinds = [0], names = [\"a\", \"b\"], required_by = \"Sum\"} : bool[N,3]", "0",
                 "nothing can read a result of this operator");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_are_asked),
      cmocka_unit_test(rows_and_columns_are_told_apart),
      cmocka_unit_test(bodies_of_extern_functions_are_asked),
      cmocka_unit_test(requirements_in_bodies_are_asked),
      cmocka_unit_test(kept_requirements_follow_their_operands),
      cmocka_unit_test(indices_in_bodies_are_checked),
      cmocka_unit_test(damaged_requirements_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
