// SPDX-License-Identifier: Apache-2.0
// The pattern language: what matches, what it binds, and where each syntax error is.
#include "tests/support/support.h"

#include <stdlib.h>

#include "core/base/string.h"
#include "core/ir/module_text.h"
#include "core/plugin/accepted_match.h"
#include "core/plugin/pattern.h"

static byoc_arena_t arena;

static int setup(void **state) {
  (void)state;
  byoc_arena_init(&arena, byoc_allocator_system());
  return 0;
}

static int teardown(void **state) {
  (void)state;
  byoc_arena_deinit(&arena);
  return 0;
}

static byoc_graph_module_t *parse_graph(const char *body) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  char *text = byoc_arena_format(&arena,
                                 "module {\n"
                                 "  constant @w : f32[4,4] = splat 0.5\n"
                                 "  constant @k : f32[4,4,1,1] = splat 0.5\n"
                                 "  constant @s : f32[] = [2.0]\n"
                                 "  constant @n : i64[1] = [4]\n"
                                 "  func @main(%%x : f32[4,4], %%y : f32[4,4], %%i : f32[1,4,8,8]) -> (%%r : %s) {\n"
                                 "%s"
                                 "  }\n"
                                 "}\n",
                                 strstr(body, "f32[1,4,8,8]") != NULL ? "f32[1,4,8,8]" : "f32[4,4]", body);
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

// The bindings of the match: "nodes: Conv Relu; x=...; " with values by name; "none" if nothing matches.
static void describe(const byoc_match_t *match, byoc_string_t *out) {
  for (size_t i = 0; i < match->nodes.count; ++i) {
    byoc_string_appendf(out, "%s%s", i > 0 ? " " : "", match->nodes.data[i]->op);
  }
  for (size_t i = 0; i < match->bindings.count; ++i) {
    const byoc_region_binding_t *binding = &match->bindings.data[i];
    const byoc_value_t *value = binding->value;
    const char *name = "?";
    if (value != NULL && value->constant != NULL)
      name = value->constant->name;
    else if (value != NULL && value->name != NULL)
      name = value->name;
    byoc_string_appendf(out, "; %s=%s", binding->name, binding->node != NULL ? binding->node->op : name);
  }
}

// Matches at the producer of main's first result.
static void expect_filtered(const char *body, const char *text, byoc_match_filter_t filter, const char *expected) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = parse_graph(body);
  const byoc_pattern_t *pattern = NULL;
  byoc_test_ok(byoc_pattern_parse(text, "rule", &arena, &diag, &pattern), &diag);
  byoc_match_t match;
  byoc_match_init(&match, byoc_allocator_system());
  bool failed = false;
  byoc_value_t *root = byoc_graph_module_main(module)->body->results.data[0];
  const bool matched = byoc_pattern_match(pattern, byoc_value_producer(root), filter, NULL, &match, &failed);
  assert_false(failed);
  byoc_string_t got;
  byoc_string_init(&got, byoc_allocator_system());
  describe(&match, &got);
  if (!matched) {
    assert_int_equal(match.nodes.count + match.bindings.count, 0);
    byoc_string_append(&got, "none");
  }
  byoc_test_same_text(got.data, expected);
  byoc_string_deinit(&got);
  byoc_match_deinit(&match);
  byoc_graph_module_destroy(module);
}

static void expect(const char *body, const char *text, const char *expected) {
  expect_filtered(body, text, NULL, expected);
}

static void test_basic(void **state) {
  (void)state;
  const char *relu = "%r = Relu@14(%x) : f32[4,4]\n return %r\n";
  expect(relu, "Relu(%in)", "Relu; in=x");
  expect(relu, "Relu(_)", "Relu");
  expect(relu, " op : Relu ( %in ) ", "Relu; op=Relu; in=x");
  expect(relu, "{Neg|Relu}(%in)", "Relu; in=x");
  expect(relu, "n:{Neg | Relu}(%in)", "Relu; n=Relu; in=x");
  expect(relu, "Neg(%in)", "none");
  expect(relu, "%in", "none"); // no node is taken
  expect(relu, "Relu(@)", "none");
  expect(relu, "Relu()", "none");
  expect(relu, "com.example::Relu(%in)", "none");
  expect(relu, "Relu(...)", "Relu");
  const char *dense = "%t0 = MatMul@13(%x, @w) : f32[4,4]\n %r = Relu@14(%t0) : f32[4,4]\n return %r\n";
  expect(dense, "Relu(MatMul(%a, @b))", "MatMul Relu; a=x; b=w");
  expect(dense, "Relu(MatMul(@b, %a))", "none"); // does not commute
  expect(dense, "Relu(MatMul(%a))", "none");     // an operand too many
  expect(dense, "Relu(MatMul(%a, ...))", "MatMul Relu; a=x");
}

static void test_optional(void **state) {
  (void)state;
  const char *with = "%t0 = MatMul@13(%x, @w) : f32[4,4]\n %r = Relu@14(%t0) : f32[4,4]\n return %r\n";
  const char *without = "%r = MatMul@13(%x, @w) : f32[4,4]\n return %r\n";
  expect(with, "act:Relu?(m:MatMul(%a, @b))", "MatMul Relu; act=Relu; m=MatMul; a=x; b=w");
  expect(without, "act:Relu?(m:MatMul(%a, @b))", "MatMul; m=MatMul; a=x; b=w");
  expect(with, "{Relu|Neg}?(MatMul(%a, @))", "MatMul Relu; a=x");
  // The optional operator would take the node that the repeated name needs; leaving it out makes the pattern fit.
  const char *both = "%t0 = Relu@14(%x) : f32[4,4]\n %r = Add@14(%t0, %t0) : f32[4,4]\n return %r\n";
  expect(both, "Add(Relu?(%a), %a)", "Add; a=t0");
  // An optional operator whose value is used outside stays outside.
  const char *outside =
      "%t0 = Relu@14(%x) : f32[4,4]\n %t1 = Neg@13(%t0) : f32[4,4]\n %t2 = Add@14(%t0, %t1) : f32[4,4]\n"
      "%r = Neg@13(%t2) : f32[4,4]\n return %r\n";
  expect(outside, "Neg(Add(Relu?(%a), %b))", "Add Neg; a=t0; b=t1");
}

static bool add_ways(void *self, const byoc_match_t *match) {
  byoc_string_t *text = self;
  if (text->size > 0) byoc_string_append(text, " | ");
  describe(match, text);
  return false;
}

// Each way to match is visited, the one with all optional operators first.
static void test_each_way(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = parse_graph("%t0 = Neg@13(%x) : f32[4,4]\n %t1 = Neg@13(@w) : f32[4,4]\n"
                                            "%r = MatMul@13(%t0, %t1) : f32[4,4]\n return %r\n");
  const byoc_pattern_t *pattern = NULL;
  byoc_test_ok(byoc_pattern_parse("MatMul(Neg?(%a), Neg?(%b))", "rule", &arena, &diag, &pattern), &diag);
  byoc_match_t match;
  byoc_match_init(&match, byoc_allocator_system());
  bool failed = false;
  byoc_string_t got;
  byoc_string_init(&got, byoc_allocator_system());
  byoc_node_t *root = byoc_value_producer(byoc_graph_module_main(module)->body->results.data[0]);
  assert_false(byoc_pattern_match_each(pattern, root, NULL, NULL, &match, add_ways, &got, &failed));
  assert_false(failed);
  assert_int_equal(match.nodes.count, 0);
  byoc_test_same_text(got.data, "Neg Neg MatMul; a=x; b=w | Neg MatMul; a=x; b=t1 | Neg MatMul; a=t0; b=w | "
                                "MatMul; a=t0; b=t1");
  byoc_string_deinit(&got);
  byoc_match_deinit(&match);
  byoc_graph_module_destroy(module);
}

static bool has_two_bindings(void *self, const byoc_match_t *match) {
  (void)self;
  return match->bindings.count == 2;
}

// Ways over the same nodes that bind fewer names are different ways.
static void test_number_of_a_way(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = parse_graph("%r = MatMul@13(%x, %x) : f32[4,4]\n return %r\n");
  const byoc_pattern_t *pattern = NULL;
  byoc_test_ok(byoc_pattern_parse("(MatMul(%a, %a) | MatMul(%a, %b))", "rule", &arena, &diag, &pattern), &diag);
  byoc_match_t match;
  byoc_match_init(&match, byoc_allocator_system());
  bool failed = false;
  uint32_t number = 0;
  byoc_node_t *root = byoc_value_producer(byoc_graph_module_main(module)->body->results.data[0]);
  assert_true(byoc_pattern_match_each(pattern, root, NULL, NULL, &match, has_two_bindings, NULL, &failed));
  assert_true(byoc_match_number(pattern, &match, &number));
  assert_int_equal(number, 1);
  byoc_match_deinit(&match);
  byoc_graph_module_destroy(module);
}

static void test_alternatives(void **state) {
  (void)state;
  const char *gemm = "%t0 = Gemm@13(%x, @w) : f32[4,4]\n %r = Relu@14(%t0) : f32[4,4]\n return %r\n";
  expect(gemm, "Relu((MatMul(%a, @b) | Gemm(%a, @b)))", "Gemm Relu; a=x; b=w");
  expect(gemm, "Relu((MatMul(%a, @b) | %a))", "Relu; a=t0");
  expect(gemm, "(Neg(%a) | Relu(%a))", "Relu; a=t0");
  // The first alternative that fits by itself is given up if the rest then does not fit.
  const char *same = "%t0 = Neg@13(%x) : f32[4,4]\n %r = Add@14(%t0, %t0) : f32[4,4]\n return %r\n";
  expect(same, "Add((Neg(%a) | %a), %a)", "Add; a=t0");
}

static void test_commuted(void **state) {
  (void)state;
  const char *add = "%r = Add@14(@w, %x) : f32[4,4]\n return %r\n";
  expect(add, "Add(%a, @b)", "Add; a=x; b=w");
  expect(add, "Sub(%a, @b)", "none");
  const char *swish = "%t0 = Sigmoid@13(%x) : f32[4,4]\n %r = Mul@14(%t0, %x) : f32[4,4]\n return %r\n";
  expect(swish, "Mul(%a, Sigmoid(%a))", "Sigmoid Mul; a=x");
  // An inner operand order is changed again if the outer operand needs the other one.
  const char *nested = "%t0 = Mul@14(%x, %y) : f32[4,4]\n %r = Add@14(%t0, %y) : f32[4,4]\n return %r\n";
  expect(nested, "Add(Mul(%a, %b), %a)", "Mul Add; a=y; b=x");
  const char *minus = "%r = Sub@14(@w, %x) : f32[4,4]\n return %r\n";
  expect(minus, "Sub(%a, @b)", "none");
}

// %y is made inside the match, and the pattern names its reader first.
static void test_topological_order(void **state) {
  (void)state;
  const char *body = "%z = Relu@14(%x) : f32[4,4]\n %1 = Exp@13(%z) : f32[4,4]\n"
                     "%r = Mul@14(%1, %z) : f32[4,4]\n return %r\n";
  expect(body, "Mul(Exp(%y), Relu(%x))", "Relu Exp Mul; y=z; x=x");
  expect(body, "Mul(Relu(%x), Exp(%y))", "Relu Exp Mul; x=x; y=z");
}

// Results of an operator that has several: by number, any of them, commuted, optional, dominating, at the root.
static void test_results(void **state) {
  (void)state;
  const char *second = "%t0, %t1 = Split@18(%x) {num_outputs = 2} : f32[2,4], f32[2,4]\n"
                       "%t2 = Relu@14(%t1) : f32[2,4]\n %r = Concat@13(%t2, %t2) {axis = 0} : f32[4,4]\n"
                       " return %r\n";
  expect(second, "Concat(n:Relu(Split(%a)#1), n:Relu(_))", "Split Relu Concat; n=Relu; a=x");
  expect(second, "Concat(n:Relu(Split(%a)#_), n:Relu(_))", "Split Relu Concat; n=Relu; a=x");
  expect(second, "Concat(n:Relu(Split<f32, 2>(%a) # 1), n:Relu(_))", "Split Relu Concat; n=Relu; a=x");
  expect(second, "Concat(n:Relu(Split(%a)), n:Relu(_))", "none");
  expect(second, "Concat(n:Relu(Split(%a)#0), n:Relu(_))", "none");
  expect(second, "Concat(n:Relu(Split(%a)#2), n:Relu(_))", "none");
  expect(second, "Concat(n:Relu(Neg?(Split(%a)#1)), n:Relu(_))", "Split Relu Concat; n=Relu; a=x");
  expect(second, "Concat(n:Relu(Split?(%a)#1), n:Relu(_))", "Split Relu Concat; n=Relu; a=x");
  expect(second, "Concat(n:Relu(Split?(%a)), n:Relu(_))", "Relu Concat; n=Relu; a=t1");
  expect(second, "Concat(n:Relu((Abs(%a) | Split(%a)#1)), n:Relu(_))", "Split Relu Concat; n=Relu; a=x");
  expect(second, "Concat(...) <~ Relu(_) <~ Split(%a)#1", "Split Relu Concat; a=x");
  expect(second, "Concat(...) <~ Relu(_) <~ Split(%a)", "none");
  expect(second, "Concat(...) <~ {Relu|Split}(_) <~ %a<f32, 2>", "Concat; a=t2");
  expect(second, "Concat(...) <~ Relu(...) <~ Split(...)#_", "Split Relu Concat");
  // Both results, of one operator or of two equal ones, in both orders of the operands.
  const char *gated = "%t0, %t1 = Split@18(%x) {num_outputs = 2} : f32[2,4], f32[2,4]\n"
                      "%t2 = Sigmoid@13(%t1) : f32[2,4]\n %t3 = Mul@14(%t2, %t0) : f32[2,4]\n"
                      "%r = Concat@13(%t3, %t3) {axis = 0} : f32[4,4]\n return %r\n";
  expect(gated, "Concat(...) <~ _ <~ Mul(s:Split(%a), Sigmoid(s:Split(%a)#1))",
         "Split Sigmoid Mul Concat; s=Split; a=x");
  expect(gated, "Concat(...) <~ _ <~ Mul(s:Split(%a)#1, Sigmoid(s:Split(%a)))", "none");
  // The other result is used outside.
  const char *escaping = "%t0, %t1 = Split@18(%x) {num_outputs = 2} : f32[2,4], f32[2,4]\n"
                         "%t2 = Relu@14(%t1) : f32[2,4]\n %t3 = Neg@13(%t0) : f32[2,4]\n"
                         "%r = Concat@13(%t3, %t2) {axis = 0} : f32[4,4]\n return %r\n";
  expect(escaping, "Concat(%b, Relu(Split(%a)#1))", "none");
  expect(escaping, "Concat(Neg(Split(%a)), Relu(Split(%a)#1))", "Split Neg Relu Concat; a=x");
  // The pattern may mean any result of the root.
  const char *root = "%r, %t1 = TopK@11(%x, @n) {axis = 1} : f32[4,4], i64[4,4]\n return %r\n";
  expect(root, "TopK(%a, @)#1", "TopK; a=x");
  expect(root, "TopK(%a, @)#_", "TopK; a=x");
  expect(root, "TopK<i64>(%a, @)#_", "TopK; a=x");
  expect(root, "TopK(%a, @)#2", "none");
}

static void test_repeated_names(void **state) {
  (void)state;
  expect("%r = Add@14(%x, %x) : f32[4,4]\n return %r\n", "Add(%a, %a)", "Add; a=x");
  expect("%r = Add@14(%x, %y) : f32[4,4]\n return %r\n", "Add(%a, %a)", "none");
  expect("%r = Add@14(%x, %y) : f32[4,4]\n return %r\n", "Add(_, _)", "Add");
  // A node reached twice is taken once.
  const char *square = "%t0 = Neg@13(%x) : f32[4,4]\n %r = Mul@14(%t0, %t0) : f32[4,4]\n return %r\n";
  expect(square, "Mul(n:Neg(%a), n:Neg(%a))", "Neg Mul; n=Neg; a=x");
}

static void test_b35_rules_say_which_element_types_they_take(void **state) {
  (void)state;
  const char *relu = "%r = Relu@14(%x) : f32[4,4]\n return %r\n";
  expect(relu, "Relu<f16|f32>(%a)", "Relu; a=x");
  expect(relu, "Relu<f32 | bf16, 2>(%a<f32|f64>)", "Relu; a=x");
  expect(relu, "Relu<f16|bf16>(%a)", "none");
  expect(relu, "Relu<f16|f32, 4>(%a)", "none");
  byoc_diag_t diag = {0};
  const byoc_pattern_t *pattern = NULL;
  byoc_test_ok(byoc_pattern_parse("Relu<f32>(Add<f16|f32>(%a, @b<u8>))", "rule", &arena, &diag, &pattern), &diag);
  const uint64_t types = UINT64_C(1) << BYOC_DTYPE_F32 | UINT64_C(1) << BYOC_DTYPE_F16 | UINT64_C(1) << BYOC_DTYPE_U8;
  assert_true(byoc_pattern_element_types(pattern) == types);
}

static void test_b36_lists_of_attributes_are_tested(void **state) {
  (void)state;
  const char *turned = "%r = Transpose@13(%x) {perm = [0, 1]} : f32[4,4]\n return %r\n";
  expect(turned, "Transpose[perm=[0,1]](%a)", "Transpose; a=x");
  expect(turned, "Transpose[perm = [ 0 , 1.0 ] ](%a)", "Transpose; a=x");
  expect(turned, "Transpose[perm=[1,0]](%a)", "none");
  expect(turned, "Transpose[perm=[0]](%a)", "none");
  expect(turned, "Transpose[perm=[0,1,2]](%a)", "none");
  expect(turned, "Transpose[perm=[]](%a)", "none");
  expect(turned, "Transpose[perm=[\"0\",\"1\"]](%a)", "none");
  expect(turned, "Transpose[perm=0](%a)", "none");
  // What the operator does without the attribute.
  const char *plain = "%r = Transpose@13(%x) : f32[4,4]\n return %r\n";
  expect(plain, "Transpose[perm=[1,0]](%a)", "Transpose; a=x");
  expect(plain, "Transpose[perm=[0,1]](%a)", "none");
  const char *conv = "%r = Conv@11(%i, @k) : f32[1,4,8,8]\n return %r\n";
  expect(conv, "Conv[strides=[1,1], dilations=[1,1], pads=[0,0,0,0], group=1](%a, @)", "Conv; a=i");
  expect(conv, "Conv[strides=[2,2]](%a, @)", "none");
  const char *same = "%r = Conv@11(%i, @k) {auto_pad = \"SAME_UPPER\"} : f32[1,4,8,8]\n return %r\n";
  expect(same, "Conv[strides=[1,1]](%a, @)", "Conv; a=i");
  expect(same, "Conv[pads=[0,0,0,0]](%a, @)", "none");
}

static void test_attributes(void **state) {
  (void)state;
  const char *plain = "%r = Conv@11(%i, @k) : f32[1,4,8,8]\n return %r\n";
  const char *group = "%r = Conv@11(%i, @k) {group = 1, auto_pad = \"VALID\"} : f32[1,4,8,8]\n return %r\n";
  expect(plain, "Conv[group=1](%a, @)", "Conv; a=i");
  expect(plain, "Conv[group=2](%a, @)", "none");
  expect(plain, "Conv[auto_pad=\"NOTSET\", group = 1](%a, @)", "Conv; a=i");
  expect(group, "Conv[auto_pad=\"NOTSET\"](%a, @)", "none");
  expect(group, "Conv[group=1,auto_pad=\"VALID\"](%a, @)", "Conv; a=i");
  expect(plain, "Conv?[group=2](%a, @)", "none");
  const char *gemm = "%r = Gemm@13(%x, @w) {transB = 1} : f32[4,4]\n return %r\n";
  expect(gemm, "Gemm[transA=0, transB=1, alpha=1.0, beta=1](%a, @b)", "Gemm; a=x; b=w");
  expect(gemm, "Gemm[alpha=0.5](%a, @b)", "none");
  // Attributes are single precision, tests are written in decimal.
  const char *leaky = "%r = LeakyRelu@16(%x) {alpha = 0.20000000298023224} : f32[4,4]\n return %r\n";
  expect(leaky, "LeakyRelu[alpha=0.2](%a)", "LeakyRelu; a=x");
  expect("%r = LeakyRelu@16(%x) : f32[4,4]\n return %r\n", "LeakyRelu[alpha=0.01](%a)", "LeakyRelu; a=x");
  expect("%r = Softmax@13(%x) : f32[4,4]\n return %r\n", "Softmax[axis=-1](%a)", "Softmax; a=x");
  // Defaults are those of the operator's row, of the node's version.
  expect("%r = Softmax@11(%x) : f32[4,4]\n return %r\n", "Softmax[axis=1](%a)", "Softmax; a=x");
  expect("%r = Celu@12(%x) : f32[4,4]\n return %r\n", "Celu[alpha=1.0](%a)", "Celu; a=x");
  expect("%r = Celu@12(%x) : f32[4,4]\n return %r\n", "Celu[alpha=1.1](%a)", "none");
  expect("%r = Swish@24(%x) : f32[4,4]\n return %r\n", "Swish[alpha=1](%a)", "Swish; a=x");
  expect("%r = Relu@14(%x) : f32[4,4]\n return %r\n", "Relu[alpha=0](%a)", "Relu; a=x");
  expect("%r = Softmax@13(%x) {axis = 0} : f32[4,4]\n return %r\n", "Softmax[axis=-1](%a)", "none");
}

static void test_escapes(void **state) {
  (void)state;
  const char *tapped = "%t0 = MatMul@13(%x, @w) : f32[4,4]\n %t1 = Relu@14(%t0) : f32[4,4]\n"
                       "%t2 = Neg@13(%t0) : f32[4,4]\n %r = Add@14(%t1, %t2) : f32[4,4]\n return %r\n";
  expect(tapped, "Add(Relu(MatMul(%a, @)), %b)", "none");
  expect(tapped, "Add(Relu(m:MatMul(%a, @)), Neg(m:MatMul(%a, @)))", "MatMul Relu Neg Add; m=MatMul; a=x");
  expect(tapped, "Add(Relu(%a), Neg(%a))", "Relu Neg Add; a=t0");
}

static void test_types(void **state) {
  (void)state;
  const char *add = "%t0 = Relu@14(%x) : f32[4,4]\n %r = Add@14(%t0, @s) : f32[4,4]\n return %r\n";
  expect(add, "Add(Relu<f32>(%a<f32, 2>), @b<f32,0>)", "Relu Add; a=x; b=s");
  expect(add, "Add(%a<_,2>, @)", "Add; a=t0");
  expect(add, "Add(%a<_,0>, _)", "Add; a=s"); // in the other order
  expect(add, "Add<f16>(%a, @)", "none");
  expect(add, "Add(%a<f64>, @)", "none");
  expect(add, "Add(%a, @<_,1>)", "none");
  expect(add, "Add?<_,3>(%a, @)", "none");
}

// Between the root and the value that it dominates there may be nothing, a chain or a diamond; each has nodes that do
// not count.
static void test_dominators(void **state) {
  (void)state;
  const char *pattern = "Add(...) <~ {Relu|Neg|Mul}(...) <~ m:MatMul(%a, @b)";
  expect("%t0 = MatMul@13(%x, @w) : f32[4,4]\n %r = Add@14(%t0, %y) : f32[4,4]\n return %r\n", pattern,
         "MatMul Add; m=MatMul; a=x; b=w");
  const char *chain = "%t0 = MatMul@13(%x, @w) : f32[4,4]\n %t1 = Relu@14(%t0) : f32[4,4]\n"
                      "%t2 = Mul@14(%t1, %y) : f32[4,4]\n %r = Add@14(%t2, %y) : f32[4,4]\n return %r\n";
  expect(chain, pattern, "MatMul Relu Mul Add; m=MatMul; a=x; b=w");
  expect(chain, "Add(...) <~ Relu(_) <~ MatMul(%a, @)", "none"); // Mul is not on the path pattern
  expect(chain, "Add(...) <~ _ <~ MatMul(%a, @)", "MatMul Relu Mul Add; a=x");
  expect(chain, "Add(...) <~ (Relu(_) | Mul(_, _)) <~ MatMul(%a, @)", "MatMul Relu Mul Add; a=x");
  expect(chain, "Add(...) <~ {Relu|Mul}<f64>(...) <~ MatMul(%a, @)", "none");
  const char *diamond = "%t0 = MatMul@13(%x, @w) : f32[4,4]\n %t1 = Relu@14(%t0) : f32[4,4]\n"
                        "%t2 = Neg@13(%t0) : f32[4,4]\n %t3 = Neg@13(%y) : f32[4,4]\n"
                        "%t4 = Mul@14(%t2, %t3) : f32[4,4]\n"
                        "%r = Add@14(%t1, %t4) : f32[4,4]\n return %r\n";
  expect(diamond, pattern, "MatMul Neg Mul Relu Add; m=MatMul; a=x; b=w"); // not the Neg of y
  // A use that does not lead back to the root.
  const char *leaves = "%t0 = MatMul@13(%x, @w) : f32[4,4]\n %t1 = Relu@14(%t0) : f32[4,4]\n"
                       "%t2 = Exp@13(%t0) : f32[4,4]\n %t3 = Add@14(%t1, %y) : f32[4,4]\n"
                       "%r = Sub@14(%t3, %t2) : f32[4,4]\n return %r\n";
  expect(leaves, "Sub(Add(...) <~ Relu(_) <~ MatMul(%a, @), _)", "none");
  expect(leaves, "Sub(...) <~ {Relu|Exp|Add}(...) <~ MatMul(%a, @)", "MatMul Relu Exp Add Sub; a=x");
  // Of two possible leaves, the nearest one that the root dominates.
  const char *two = "%t0 = MatMul@13(%x, @w) : f32[4,4]\n %t1 = Relu@14(%t0) : f32[4,4]\n"
                    "%t2 = MatMul@13(%t1, @w) : f32[4,4]\n %r = Add@14(%t2, %y) : f32[4,4]\n return %r\n";
  expect(two, pattern, "MatMul Add; m=MatMul; a=t1; b=w");
  expect(two, "Add(...) <~ MatMul(...) <~ Relu(%a)", "Relu MatMul Add; a=t0");
}

// A path that is longer than the search limit fails to match, in limited time.
static void test_long_path(void **state) {
  (void)state;
  byoc_string_t body;
  byoc_string_init(&body, byoc_allocator_system());
  byoc_string_append(&body, "%v0 = MatMul@13(%x, @w) : f32[4,4]\n");
  enum { LENGTH = 300 };
  for (int i = 1; i < LENGTH; ++i) {
    byoc_string_appendf(&body, "%%v%d = Relu@14(%%v%d) : f32[4,4]\n", i, i - 1);
  }
  byoc_string_appendf(&body, "%%r = Add@14(%%v%d, %%y) : f32[4,4]\nreturn %%r\n", LENGTH - 1);
  expect(body.data, "Add(...) <~ Relu(_) <~ MatMul(...)", "none");
  byoc_string_deinit(&body);
}

static bool no_matmul(void *self, const byoc_node_t *node) {
  (void)self;
  return strcmp(node->op, "MatMul") != 0;
}

static void test_filter(void **state) {
  (void)state;
  const char *dense = "%t0 = MatMul@13(%x, @w) : f32[4,4]\n %r = Relu@14(%t0) : f32[4,4]\n return %r\n";
  expect_filtered(dense, "Relu(MatMul(%a, @))", no_matmul, "none");
  expect_filtered(dense, "Relu((MatMul(%a, @) | %a))", no_matmul, "Relu; a=t0");
}

// A chain of additions, each with two orders, that fails at its far end: the search gives up in limited time.
static void test_bounded(void **state) {
  (void)state;
  byoc_string_t body, pattern;
  byoc_string_init(&body, byoc_allocator_system());
  byoc_string_init(&pattern, byoc_allocator_system());
  enum { LENGTH = 60 };
  byoc_string_append(&body, "%v0 = Neg@13(%x) : f32[4,4]\n");
  for (int i = 1; i < LENGTH; ++i) {
    byoc_string_appendf(&body, "%%v%d = Add@14(%%v%d, %%v%d) : f32[4,4]\n", i, i - 1, i - 1);
    byoc_string_append(&pattern, "Add(");
  }
  byoc_string_appendf(&body, "return %%v%d\n", LENGTH - 1);
  byoc_string_append(&pattern, "Abs(_)");
  for (int i = 1; i < LENGTH; ++i) byoc_string_append(&pattern, ", _)");
  expect(body.data, pattern.data, "none");
  byoc_string_deinit(&body);
  byoc_string_deinit(&pattern);
}

// ---- syntax errors ----

static void note_name(void *self, const char *domain, const char *name) {
  byoc_string_appendf(self, "%s%s%s ", domain, domain[0] != '\0' ? "::" : "", name);
}

static void test_named_operators(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  const byoc_pattern_t *pattern = NULL;
  byoc_string_t names;
  byoc_string_init(&names, byoc_allocator_system());
  byoc_test_ok(
      byoc_pattern_parse("Relu?((Add(Conv(%x, @w), @b) | com.acme::Sub(%x, %y)))", "rule", &arena, &diag, &pattern),
      &diag);
  byoc_pattern_each_operator(pattern, note_name, &names);
  byoc_test_same_text(names.data, "Relu Add Conv com.acme::Sub ");
  byoc_string_deinit(&names);
}

static void expect_error(const char *text, int column, const char *message) {
  byoc_diag_t diag = {0};
  const byoc_pattern_t *pattern = NULL;
  byoc_status_t status = byoc_pattern_parse(text, "demo.rule", &arena, &diag, &pattern);
  char expected[256];
  snprintf(expected, sizeof(expected), "pattern of rule 'demo.rule': expected %s", message);
  assert_int_equal(status, BYOC_INVALID_ARGUMENT);
  assert_null(pattern);
  byoc_test_same_text(diag.message, expected);
  if (diag.column != column) fail_msg("'%s': column %d, expected %d", text, diag.column, column);
  assert_string_equal(diag.file, "demo.rule");
  assert_string_equal(diag.source_line, text);
}

static void test_syntax_errors(void **state) {
  (void)state;
  const char *any = "a pattern: %name, _, @name, Operator(...), {A|B}(...) or (p | q)";
  expect_error("", 1, any);
  expect_error("Relu(%x", 8, "')'");
  expect_error("Relu %x", 6, "'('");
  expect_error("Relu(%)", 7, "a name after '%'");
  expect_error("Relu(%x))", 9, "the end of the pattern");
  expect_error("Relu(%x,)", 9, any);
  expect_error("Relu(%x, ..., %y)", 13, "')'");
  expect_error("{Relu|}(%x)", 7, "an operator's name");
  expect_error("{Relu(%x)", 6, "'}'");
  expect_error("n:(%x)", 3, "an operator after the name");
  expect_error("com.example::(%x)", 14, "an operator's name");
  expect_error("(Relu(%x) | )", 13, any);
  expect_error("()", 3, "an alternative inside of '(' and ')'");
  expect_error("Relu?()", 8, "an operand for the optional operator");
  expect_error("Conv[](%x)", 6, "an attribute's name");
  expect_error("Conv[group](%x)", 11, "'='");
  expect_error("Conv[group=](%x)", 12, "a number, a quoted string, or a list of them in '[' and ']'");
  expect_error("Conv[group=nan](%x)", 12, "a number, a quoted string, or a list of them in '[' and ']'");
  expect_error("Conv[pads=[1,](%x)", 14, "a number or a quoted string");
  expect_error("Conv[pads=[1,\"a\"]](%x)", 14, "numbers alone or strings alone in a list");
  expect_error("Conv[pads=[1 2]](%x)", 14, "']'");
  expect_error("%x<f32|>", 8, "an element type");
  expect_error("%x<f32|_>", 8, "an element type");
  expect_error("Conv[group=1", 13, "']'");
  expect_error("Conv[pad=\"x](%x)", 11, "a closing quote");
  expect_error("Conv[group=99999999999999999999](%x)", 12, "an integer of at most 64 bits");
  expect_error("Relu(%x) Relu(%y)", 10, "the end of the pattern");
  expect_error("%x<float>", 4, "an element type, or _ for any");
  expect_error("%x<f32,>", 8, "a rank");
  expect_error("Relu<f32(%x)", 9, "'>'");
  expect_error("Relu(%x) <~ Neg(_)", 19, "'<~'");
  expect_error("%x <~ Neg(_) <~ Exp(_)", 6, "an operator before '<~'");
  expect_error("Relu(...) <~ n:Neg(_) <~ Exp(_)", 22,
               "a path of operators over _, @ and ..., without names, before this point");
  expect_error("Relu(Split(%x)#)", 16, "the number of a result below 10000, or _ for any");
  expect_error("Relu(Split(%x)#-1)", 16, "the number of a result below 10000, or _ for any");
  expect_error("Relu(Split(%x)#10000)", 16, "the number of a result below 10000, or _ for any");
  expect_error("Relu(%x#1)", 8, "')'");
  expect_error("Add(...) <~ Split(_)#1 <~ Neg(_)", 23,
               "a path of operators over _, @ and ..., without names, before this point");
  expect_error("Conv[a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1](%x)", 70,
               "at most 16 attribute tests");
}

static void test_limits(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  const byoc_pattern_t *pattern = NULL;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  for (int i = 0; i < 100; ++i) byoc_string_append(&text, "Relu(");
  byoc_test_error(byoc_pattern_parse(text.data, "r", &arena, &diag, &pattern), BYOC_INVALID_ARGUMENT, &diag,
                  "at most 64 levels");
  byoc_string_clear(&text);
  byoc_diag_clear(&diag);
  byoc_string_append(&text, "Concat(_");
  for (int i = 0; i < 64; ++i) byoc_string_append(&text, ",_");
  byoc_test_error(byoc_pattern_parse(text.data, "r", &arena, &diag, &pattern), BYOC_INVALID_ARGUMENT, &diag,
                  "at most 64 operands");
  byoc_diag_clear(&diag);
  for (int i = 0; i < 5000; ++i) byoc_string_append(&text, "    ");
  byoc_test_error(byoc_pattern_parse(text.data, "r", &arena, &diag, &pattern), BYOC_INVALID_ARGUMENT, &diag,
                  "longer than");
  byoc_string_deinit(&text);
}

static byoc_status_t parse_with(void *argument, byoc_allocator_t allocator) {
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, allocator);
  const byoc_pattern_t *pattern = NULL;
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_pattern_parse(argument, "rule", &scratch, &diag, &pattern);
  byoc_arena_deinit(&scratch);
  return status;
}

static void test_out_of_memory(void **state) {
  (void)state;
  char text[] = "act:{Relu|Clip}?(Add(Conv[group=1,auto_pad=\"VALID\"](%x<f32>, @w, ...) <~ _ <~ "
                "(@b | a.b::C(%x))))";
  byoc_test_each_allocation_fails(parse_with, text, false);
}

static void test_random_texts(void **state) {
  (void)state;
  static const char *const tokens[] = {"Relu", "(", ")", "%x",   "@",  ",",  "...", "{",  "}", "|",
                                       "?",    "[", "]", "=",    "1",  "\"", ":",   "::", "_", " ",
                                       "a",    ".", "-", "\xC3", "<~", "<",  "f32", ">",  "#"};
  byoc_test_random_t random = {3};
  for (int i = 0; i < 20000; ++i) {
    char text[160] = "";
    const uint64_t count = byoc_test_below(&random, 24);
    for (uint64_t k = 0; k < count; ++k)
      strcat(text, tokens[byoc_test_below(&random, sizeof(tokens) / sizeof(*tokens))]);
    byoc_diag_t diag = {0};
    const byoc_pattern_t *pattern = NULL;
    byoc_status_t status = byoc_pattern_parse(text, "rule", &arena, &diag, &pattern);
    assert_true((status == BYOC_OK) == (pattern != NULL));
    byoc_arena_reset(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_basic),
      cmocka_unit_test(test_optional),
      cmocka_unit_test(test_alternatives),
      cmocka_unit_test(test_commuted),
      cmocka_unit_test(test_repeated_names),
      cmocka_unit_test(test_b35_rules_say_which_element_types_they_take),
      cmocka_unit_test(test_b36_lists_of_attributes_are_tested),
      cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_escapes),
      cmocka_unit_test(test_filter),
      cmocka_unit_test(test_bounded),
      cmocka_unit_test(test_named_operators),
      cmocka_unit_test(test_syntax_errors),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_random_texts),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_dominators),
      cmocka_unit_test(test_long_path),
      cmocka_unit_test(test_each_way),
      cmocka_unit_test(test_topological_order),
      cmocka_unit_test(test_results),
      cmocka_unit_test(test_number_of_a_way),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
