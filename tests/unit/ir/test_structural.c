// SPDX-License-Identifier: Apache-2.0
// Structural equality: names do not count, everything else does.
#include "core/ir/module_text.h"
#include "core/ir/structural.h"
#include "tests/support/support.h"

static byoc_graph_module_t *parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test.ir", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

// The text with the first `from` replaced by `to`.
static char *edit(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  assert_non_null(at);
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_string_append_bytes(&out, text, (size_t)(at - text));
  byoc_string_append(&out, to);
  byoc_string_append(&out, at + strlen(from));
  return byoc_string_release(&out);
}

static const char base[] = "module { constant @c : f32[2] = [1.0, 2.0]\n constant @d : f32[2] = [1.0, 2.5]\n"
                           "func @f(%x : f32[N], %p : bool[]) -> (%y : f32[N], %z : f32[N]) attributes {k = 1} {\n"
                           "  %a = acme::A@1 \"n\" (%x, @c) {i = [1, 2], s = \"x\", r = 0.5, q = @c} : f32[N]\n"
                           "  %b = If@16(%p) [t () -> (f32[N]) { %q = Q@1(%a, _) : f32[N]\n return %q }] : f32[N]\n"
                           "  %e = call @g(%b) : f32[N]\n"
                           "  %u = Unused@1(%a) : f32[N]\n"
                           "  %h = B@1(%e, %a) : f32[N] on {id = 0, device = 1}\n"
                           "  return %h, %e\n}\n"
                           "func @g(%x : f32[N]) -> (f32[N]) { %r = Relu@14(%x) : f32[N]\n return %r } }";

static void compare(const char *from, const char *to, unsigned flags, bool equal) {
  char *text = edit(base, from, to);
  byoc_graph_module_t *a = parse(base), *b = parse(text);
  const byoc_function_t *f = byoc_graph_module_find(a, "f"), *g = b->functions.data[0];
  if (byoc_function_structural_equal(f, g, flags) != equal) {
    print_error("'%s' -> '%s'\n", from, to);
    fail();
  }
  assert_int_equal(byoc_function_structural_equal(g, f, flags), equal);
  assert_int_equal(byoc_function_structural_hash(f, flags) == byoc_function_structural_hash(g, flags), equal);
  byoc_graph_module_destroy(a);
  byoc_graph_module_destroy(b);
  byoc_free(byoc_allocator_system(), text);
}

static void names_do_not_count(void **state) {
  (void)state;
  compare("func @f", "func @renamed", 0, true);
  compare("\"n\"", "\"another\"", 0, true);
  compare("%h = B@1(%e, %a) : f32[N] on {id = 0, device = 1}\n  return %h", // a value
          "%new = B@1(%e, %a) : f32[N] on {id = 0, device = 1}\n  return %new", 0, true);
  compare("(%y : f32[N], %z", "(%other : f32[N], %z", 0, true);
  compare("i = [1, 2], s = \"x\"", "s = \"x\", i = [1, 2]", 0, true);
}

static void renamed_callees_and_constants_are_equal(void **state) {
  (void)state;
  char *one = edit(base, "call @g", "call @part"), *two = edit(one, "func @g", "func @part");
  char *three = edit(two, "@c :", "@const :"), *four = edit(three, "(%x, @c)", "(%x, @const)");
  char *five = edit(four, "q = @c", "q = @const");
  byoc_graph_module_t *a = parse(base), *b = parse(five);
  assert_true(byoc_function_structural_equal(a->functions.data[0], b->functions.data[0], 0));
  assert_int_equal(byoc_function_structural_hash(a->functions.data[0], 0),
                   byoc_function_structural_hash(b->functions.data[0], 0));
  byoc_graph_module_destroy(a);
  byoc_graph_module_destroy(b);
  char *texts[] = {one, two, three, four, five};
  for (size_t i = 0; i < 5; ++i) byoc_free(byoc_allocator_system(), texts[i]);
}

static void every_change_counts(void **state) {
  (void)state;
  static const char *const changes[][2] = {
      {"acme::A@1", "B@1"},
      {"acme::A@1", "acme::A@2"},
      {"acme::A@1", "acme2::A@1"},
      {"(%x, @c)", "(%x, @d)"},
      {"(%x, @c)", "(@c, %x)"},
      {"(%x, @c)", "(%x, _)"},
      {"(%x, @c)", "(%x)"},
      {"(%x, @c)", "(%x, %x)"},
      {"q = @c", "q = @d"},
      {"[1, 2]", "[1, 3]"},
      {"[1, 2]", "[1]"},
      {"[1, 2]", "[1.0, 2.0]"},
      {"s = \"x\"", "s = \"y\""},
      {"s = \"x\"", "s2 = \"x\""},
      {"s = \"x\", ", ""},
      {"r = 0.5", "r = 0.25"},
      {"%q = Q@1(%a, _)", "%q = Q@1(%x, _)"},
      {"%q = Q@1(%a, _)", "%q = R@1(%a, _)"},
      {"[t (", "[u ("},
      {"return %q", "return %a"},
      {"return %h, %e", "return %e, %h"},
      {"return %h, %e", "return %h, %h"},
      {"B@1(%e, %a)", "B@1(%a, %e)"},
      {"id = 0, device = 1", "id = 1, device = 1"},
      {" on {id = 0, device = 1}", ""},
      {"on {id = 0, device = 1}", "on {id = 0, device = 1, target = \"c\"}"},
      {"on {id = 0, device = 1}", "on {id = 0, device = 1, scope = \"c\"}"},
      {"%p : bool[]", "%p : bool[1]"},
      {"%p : bool[]", "%p : u8[]"},
      {"%p : bool[]", "%p : bool[*]"},
      {"%p : bool[]", "%p : seq<bool[]>"},
      {"%p : bool[]", "%p : bool[], %extra : ?"},
      {"%e = call @g(%b)", "%e = Relu@14(%b)"},
      {"Relu@14", "Relu@13"},
      {"attributes {k = 1}", "attributes {k = 2}"},
      {"attributes {k = 1}", ""},
      {"Unused@1(%a) : f32[N]", "Unused@1(%a) : f32[N,1]"},
      {"  %h = B@1", "  A@1()\n  %h = B@1"},
      {"func @f", "extern func @f"},
      {"func @g", "kernel func @g"},
  };
  for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); ++i) compare(changes[i][0], changes[i][1], 0, false);
}

static void flags_relax(void **state) {
  (void)state;
  compare("(%x, @c)", "(%x, @d)", BYOC_STRUCTURAL_IGNORE_CONSTANT_DATA, true);
  compare("attributes {k = 1}", "attributes {k = 2}", BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES, true);
  compare("func @g(%x : f32[N]) -> (f32[N])", "func @g(%x : f32[N]) -> (f32[N]) attributes {k = 1}",
          BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES, false); // the callee's do count
}

// A lowered function is still recognised by the graph from which it was made.
static void a_kernel_is_known_by_its_graph(void **state) {
  (void)state;
  byoc_graph_module_t *a = parse(base), *b = parse(base);
  byoc_function_t *graph = byoc_graph_module_find(a, "g"), *kernel = byoc_graph_module_find(b, "g");
  kernel->kind = BYOC_FUNCTION_KERNEL;
  assert_false(byoc_function_structural_equal(graph, kernel, 0));
  assert_true(byoc_function_structural_equal(graph, kernel, BYOC_STRUCTURAL_IGNORE_KERNEL));
  assert_int_equal(byoc_function_structural_hash(graph, BYOC_STRUCTURAL_IGNORE_KERNEL),
                   byoc_function_structural_hash(kernel, BYOC_STRUCTURAL_IGNORE_KERNEL));
  // This does not hold for callees: @f calls @g.
  assert_false(byoc_function_structural_equal(byoc_graph_module_find(a, "f"), byoc_graph_module_find(b, "f"),
                                              BYOC_STRUCTURAL_IGNORE_KERNEL));
  byoc_graph_module_destroy(a);
  byoc_graph_module_destroy(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_do_not_count),
      cmocka_unit_test(renamed_callees_and_constants_are_equal),
      cmocka_unit_test(every_change_counts),
      cmocka_unit_test(flags_relax),
      cmocka_unit_test(a_kernel_is_known_by_its_graph),
  };
  return cmocka_run_group_tests_name("ir structural", tests, NULL, NULL);
}
