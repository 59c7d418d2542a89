// SPDX-License-Identifier: Apache-2.0
// The text form: what is read is printed again, and mistakes are pointed at.
#include <stdlib.h>

#include "core/ir/module_text.h"
#include "core/ir/outline.h"
#include "core/ir/structural.h"
#include "core/ir/text_names.h"
#include "core/ir/verify_module.h"
#include "rich_module.h"
#include "tests/support/graph.h"
#include "tests/support/support.h"

static byoc_graph_module_t *parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test.ir", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

static byoc_string_t print(const byoc_graph_module_t *module) {
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_graph_print(module, NULL, &out);
  assert_false(out.failed);
  return out;
}

static void rich_module_round_trips(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(rich_module_text);
  byoc_string_t text = print(module);
  byoc_test_same_text(text.data, rich_module_text);
  byoc_graph_module_t *again = parse(text.data);
  assert_true(byoc_test_modules_equal(module, again));
  assert_true(byoc_test_modules_equal(again, module));
  for (size_t i = 0; i < module->functions.count; ++i) {
    assert_int_equal(byoc_function_structural_hash(module->functions.data[i], 0),
                     byoc_function_structural_hash(again->functions.data[i], 0));
  }
  assert_int_equal(module->constants.count, again->constants.count);
  for (size_t i = 0; i < module->constants.count; ++i)
    assert_true(byoc_constant_equal(module->constants.data[i], again->constants.data[i]));
  assert_true(byoc_attributes_equal(&module->attributes, &again->attributes));
  byoc_string_deinit(&text);
  byoc_graph_module_destroy(again);
  byoc_graph_module_destroy(module);
}

static void facts_are_read(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(rich_module_text);
  byoc_function_t *function = byoc_graph_module_main(module);
  assert_string_equal(function->name, "main");
  byoc_node_t *matmul = function->body->first, *drop = matmul->next;
  assert_true(byoc_node_is_onnx(matmul, "MatMul"));
  assert_int_equal(matmul->since_version, 13);
  assert_null(matmul->results[0]->name);
  assert_string_equal(matmul->operands[1]->device.scope, "shared");
  assert_true(byoc_node_is(drop, "com.acme", "Drop"));
  assert_string_equal(drop->name, "drop 1");
  assert_null(drop->operands[1]);
  assert_int_equal(byoc_attributes_find(&drop->attributes, "s")->count, 3);
  assert_true(byoc_attributes_float(&drop->attributes, "c", 0) == (double)0.1f);
  assert_true(byoc_attributes_float(&drop->attributes, "d", 0) == 1e-300);
  assert_string_equal(function->body->parameters.data[2]->name, "12");
  assert_string_equal(function->body->result_names.data[1], "out:0");
  byoc_node_t *strange = drop->next;
  assert_true(byoc_node_is(strange, "strange domain", "call") && byoc_node_is(strange->next, "", "call"));
  assert_true(module->next_id > 5); // above the unknown dimension
  byoc_constant_t *u4 = byoc_graph_module_find_constant(module, "u4");
  assert_int_equal(u4->size_bytes, 3);
  assert_int_equal(byoc_constant_element_i64(u4, 1), 15);
  assert_int_equal(byoc_constant_element_i64(byoc_graph_module_find_constant(module, "ones"), 10), -1);
  byoc_function_t *fast = byoc_graph_module_find(module, "fast");
  assert_true(fast->kind == BYOC_FUNCTION_EXTERN && byoc_function_is_opaque(fast));
  assert_int_equal(byoc_graph_module_find(module, "k")->kind, BYOC_FUNCTION_KERNEL);
  byoc_graph_module_destroy(module);
}

static void names_are_made_unique(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse("module { func @f(%a : f32[2]) -> (f32[2]) {\n"
                                      "%b = Neg@13(%a) : f32[2]\n%c = Neg@13(%b) : f32[2]\nreturn %c\n} }");
  byoc_node_t *first = module->functions.data[0]->body->first;
  byoc_value_set_name(first->results[0], "a");
  byoc_value_set_name(first->next->results[0], "a_1");
  byoc_string_t text = print(module);
  byoc_test_same_text(text.data, "module {\n  func @f(%a : f32[2]) -> (f32[2]) {\n"
                                 "    %a_1 = Neg@13(%a) : f32[2]\n    %a_1_1 = Neg@13(%a_1) : f32[2]\n"
                                 "    return %a_1_1\n  }\n}\n");
  byoc_string_deinit(&text);
  byoc_graph_module_destroy(module);
}

static void large_constants_may_be_left_out(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse("module { constant @c : f32[3] = [1.0, 2.0, 3.0] }");
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_graph_print(module, &(byoc_print_options_t){.elide_bytes = 8}, &out);
  byoc_test_same_text(out.data, "module {\n  constant @c : f32[3] = elided\n}\n");
  byoc_string_deinit(&out);
  byoc_graph_module_destroy(module);
}

// ---- mistakes ----

// The position line, the source line and the caret, as byoc_diag_print shows them.
// A constant is written as a splat only if all of its elements are alike.
static void only_uniform_constants_are_splats(void **state) {
  (void)state;
  enum { COUNT = 100 };
  for (int odd = -1; odd < COUNT; odd += 33) { // the first, two in between and the last; -1: none
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_string_append(&text, "module {\n  constant @c : i32[100] = [");
    for (int i = 0; i < COUNT; ++i) byoc_string_appendf(&text, "%s%d", i ? ", " : "", i == odd ? 8 : 7);
    byoc_string_append(&text, "]\n}\n");
    byoc_graph_module_t *module = parse(text.data);
    byoc_string_t printed = print(module);
    assert_int_equal(strstr(printed.data, "splat 7") != NULL, odd < 0);
    byoc_graph_module_t *again = parse(printed.data);
    assert_true(byoc_constant_equal(module->constants.data[0], again->constants.data[0]));
    byoc_string_deinit(&text);
    byoc_string_deinit(&printed);
    byoc_graph_module_destroy(again);
    byoc_graph_module_destroy(module);
  }
}

// Both cases of hexadecimal digits, up to the last one.
static void escapes_are_read(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse("module {a = \"\\x41\\x4A\\x4F\\x4a\\x4f\\x39\"} {}");
  assert_string_equal(byoc_attributes_string(&module->attributes, "a", ""), "AJOJO9");
  byoc_graph_module_destroy(module);
}

static void expect_message(const char *text, const char *expected) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_status_t status = byoc_graph_parse(text, "t.ir", byoc_allocator_system(), &diag, &module);
  assert_int_equal(status, BYOC_INVALID_DATA);
  assert_null(module);
  char *shown = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&shown, &size);
  assert_non_null(stream);
  byoc_diag_print(&diag, stream);
  assert_int_equal(fclose(stream), 0);
  byoc_test_same_text(shown, expected);
  free(shown);
}

static void mistakes_are_pointed_at(void **state) {
  (void)state;
  expect_message("modul {", "t.ir:1:1: error: expected 'module', found 'modul'\n  modul {\n  ^\n");
  expect_message(
      "module { func @f() { return } }",
      "t.ir:1:20: error: expected '->', found '{'\n  module { func @f() { return } }\n                     ^\n");
  expect_message("module {\n  banana\n}",
                 "t.ir:2:3: error: expected a constant, a function or '}', found 'banana'\n    banana\n    ^\n");
  expect_message("module {", "t.ir:1:9: error: expected a constant, a function or '}', found the end of the text\n"
                             "  module {\n          ^\n");
  expect_message("module { } }", "t.ir:1:12: error: expected the end of the text, found '}'\n"
                                 "  module { } }\n             ^\n");
  expect_message("module { func @f(%x : f33[2]) -> () { return } }",
                 "t.ir:1:23: error: there is no type 'f33'\n"
                 "  module { func @f(%x : f33[2]) -> () { return } }\n                        ^\n"
                 "hint: did you mean 'f32'?\n");
  expect_message("module { func @f(%x : f32[-1]) -> () { return } }",
                 "t.ir:1:27: error: a dimension cannot be negative\n"
                 "  module { func @f(%x : f32[-1]) -> () { return } }\n                            ^\n");
  expect_message(
      "module { func @f(%x : f32[sin(N, 2)]) -> () { return } }",
      "t.ir:1:27: error: there is no function 'sin' of dimensions; there are floordiv, ceildiv, mod, min, "
      "max and broadcast\n  module { func @f(%x : f32[sin(N, 2)]) -> () { return } }\n                            ^\n");
  expect_message("module {\nfunc @f() -> () {\n  Neg@13(%no)\n  return\n}}",
                 "t.ir:3:10: error: %no is not defined here\n    Neg@13(%no)\n           ^\n");
  expect_message("module {\nfunc @f() -> () {\n  Neg@13(@no)\n  return\n}}",
                 "t.ir:3:10: error: there is no constant @no\n    Neg@13(@no)\n           ^\n");
  expect_message("module {\nfunc @f() -> () {\n  call @no()\n  return\n}}",
                 "t.ir:3:8: error: there is no function @no\n    call @no()\n         ^\n");
  expect_message("module {\nfunc @f() -> () {\n  Neg(%a)\n  return\n}}",
                 "t.ir:3:6: error: expected the operator's version (@13), found '('\n    Neg(%a)\n       ^\n");
  expect_message("module {\nfunc @f() -> () {\n  %a = A@1() : f32[]\n  %a = A@1() : f32[]\n  return\n}}",
                 "t.ir:4:3: error: %a is defined already\n    %a = A@1() : f32[]\n    ^\n");
  expect_message("module {\nfunc @f() -> () {\n  %a, %b = A@1() : f32[]\n  return\n}}",
                 "t.ir:4:3: error: expected ',', found 'return'\n    return\n    ^\n");
  expect_message("module {\nfunc @f() -> () {\n  %a = A@1() : f32[], f32[]\n  return\n}}",
                 "t.ir:3:21: error: there are more types than the 1 results\n"
                 "    %a = A@1() : f32[], f32[]\n                      ^\n");
  expect_message("module {\nfunc @f(%a : f32[2]) -> (f32[3]) {\n  return %a\n}}",
                 "t.ir:3:10: error: this does not have the declared type of result 0\n"
                 "    return %a\n           ^\n");
  expect_message("module {\nfunc @f(%a : f32[2]) -> () {\n  return %a\n}}",
                 "t.ir:3:3: error: 1 results are returned, 0 are declared\n    return %a\n    ^\n");
  expect_message("module {\nfunc @f() -> () { return }\nfunc @f() -> () { return }\n}",
                 "t.ir:3:6: error: @f is defined already\n  func @f() -> () { return }\n       ^\n");
  expect_message("module {\nconstant @f : f32[1] = [1.0]\nfunc @f() -> () { return }\n}",
                 "t.ir:2:10: error: @f is defined already\n  constant @f : f32[1] = [1.0]\n           ^\n");
  expect_message("module {\nconstant @c : f32[N] = [1.0]\n}",
                 "t.ir:2:15: error: a constant has a tensor type without symbols\n"
                 "  constant @c : f32[N] = [1.0]\n                ^\n");
  expect_message("module {\nconstant @c : f32[2] = [1.0]\n}",
                 "t.ir:2:24: error: there are 1 elements, the type has 2\n"
                 "  constant @c : f32[2] = [1.0]\n                         ^\n");
  expect_message("module {\nconstant @c : u8[1] = [256]\n}",
                 "t.ir:2:24: error: 256 is not between 0 and 255\n  constant @c : u8[1] = [256]\n"
                 "                         ^\n");
  expect_message("module {\nconstant @c : f32[1] = base64 \"AAAA\"\n}",
                 "t.ir:2:31: error: this is not base64 of 4 bytes\n"
                 "  constant @c : f32[1] = base64 \"AAAA\"\n                                ^\n");
  expect_message("module {\nconstant @c : f32[1] = elided\n}",
                 "t.ir:2:24: error: the data of this constant was left out when it was printed; byoc opt "
                 "--constants prints it\n"
                 "  constant @c : f32[1] = elided\n                         ^\n");
  expect_message("module {\nconstant @c : f32[100000,100000,100000] = splat 1.0\n}",
                 "t.ir:2:15: error: this constant is too large for a text form\n"
                 "  constant @c : f32[100000,100000,100000] = splat 1.0\n                ^\n");
  expect_message("module {a = 1, a = 2} {}",
                 "t.ir:1:16: error: attribute 'a' is given twice\n  module {a = 1, a = 2} {}\n                 ^\n");
  expect_message("module {a = []} {}", "t.ir:1:14: error: write ints[], floats[] or strings[] for an empty list\n"
                                       "  module {a = []} {}\n               ^\n");
  expect_message("module {a = 99999999999999999999} {}",
                 "t.ir:1:13: error: this number is too large\n  module {a = 99999999999999999999} {}\n"
                 "              ^\n");
  expect_message("module {a = 12ab} {}", "t.ir:1:13: error: this is neither a number nor a name\n"
                                         "  module {a = 12ab} {}\n              ^\n");
  expect_message("module {a = \"x} {}\n}", "t.ir:1:13: error: this string does not end on its line\n"
                                           "  module {a = \"x} {}\n              ^\n");
  expect_message("module {a = \"\\q\"} {}",
                 "t.ir:1:14: error: unknown escape; there are \\n \\t \\r \\\" \\\\ and \\xHH\n"
                 "  module {a = \"\\q\"} {}\n               ^\n");
  expect_message("module {\n\t$ }", "t.ir:2:2: error: '$' has no meaning here\n  \t$ }\n  \t^\n");
}

// Characters of all lengths stay as they are; what is no UTF-8 is written byte by byte.
static void only_utf8_is_printed_as_it_is(void **state) {
  (void)state;
  static const char *const texts[][2] = {
      {"\xC3\xA9", "\"\xC3\xA9\""},
      {"\xE2\x82\xAC", "\"\xE2\x82\xAC\""},
      {"\xF4\x8F\xBF\xBF", "\"\xF4\x8F\xBF\xBF\""},
      {"\xED\xA0\x80", "\"\\xed\\xa0\\x80\""},          // a surrogate
      {"\xF4\x90\x80\x80", "\"\\xf4\\x90\\x80\\x80\""}, // above the last character
      {"\xC1\xBF", "\"\\xc1\\xbf\""},                   // two bytes where one does
      {"\xE2\x82", "\"\\xe2\\x82\""},                   // cut short
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    byoc_string_t out;
    byoc_string_init(&out, byoc_allocator_system());
    byoc_text_print_quoted(texts[i][0], strlen(texts[i][0]), &out);
    byoc_test_same_text(out.data, texts[i][1]);
    byoc_string_deinit(&out);
  }
}

// Values, constants and functions may have any name: what is printed of it is read as the same name, and nothing that
// can stand as a word is quoted.
static void every_character_may_be_in_a_name(void **state) {
  (void)state;
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", parts[] = "0123456789.";
  for (int c = 1; c < 256; ++c) {
    const bool is_letter = strchr(letters, c) != NULL, is_part = is_letter || strchr(parts, c) != NULL;
    const char names[2][3] = {{(char)c}, {'x', (char)c}};
    assert_true(byoc_text_is_word(names[0]) == is_letter);
    assert_true(byoc_text_is_word(names[1]) == is_part);
    for (int k = 0; k < 2; ++k) {
      byoc_string_t text;
      byoc_string_init(&text, byoc_allocator_system());
      byoc_string_append(&text, "module {\n  constant ");
      byoc_text_print_name('@', names[k], &text);
      byoc_string_append(&text, " : f32[] = [1.0]\n\n  func @main(");
      byoc_text_print_name('%', names[k], &text);
      byoc_string_append(&text, " : f32[]) -> (%sum : f32[]) {\n    %sum = Add@14(");
      byoc_text_print_name('%', names[k], &text);
      byoc_string_append(&text, ", ");
      byoc_text_print_name('@', names[k], &text);
      byoc_string_append(&text, ") : f32[]\n    return %sum\n  }\n}\n");
      byoc_graph_module_t *module = parse(text.data);
      const byoc_node_t *add = byoc_graph_module_main(module)->body->first;
      assert_string_equal(add->operands[0]->name, names[k]);
      assert_string_equal(add->operands[1]->constant->name, names[k]);
      byoc_string_t again = print(module);
      byoc_test_same_text(again.data, text.data);
      byoc_string_deinit(&again);
      byoc_graph_module_destroy(module);
      byoc_string_deinit(&text);
    }
  }
}

static void what_is_read_is_verified(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_status_t status = byoc_graph_parse("module { func @f() -> () { call @f() return } }", "t.ir",
                                          byoc_allocator_system(), &diag, &module);
  byoc_test_error(status, BYOC_INVALID_DATA, &diag, "call-cycle");
}

// ---- depth ----

static void repeat(byoc_string_t *out, const char *text, int count) {
  for (int i = 0; i < count; ++i) byoc_string_append(out, text);
}

static byoc_status_t parse_status(const char *text, byoc_diag_t *diag) {
  byoc_graph_module_t *module = NULL;
  byoc_status_t status = byoc_graph_parse(text, "deep.ir", byoc_allocator_system(), diag, &module);
  byoc_graph_module_destroy(module);
  return status;
}

static byoc_status_t parse_nested_blocks(int depth, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module { func @f() -> () { ");
  repeat(&text, "A@1() [b () -> () { ", depth);
  repeat(&text, "return }] ", depth);
  byoc_string_append(&text, "return } }");
  byoc_status_t status = parse_status(text.data, diag);
  byoc_string_deinit(&text);
  return status;
}

// @f0 calls @f1, which calls @f2 and so on; in reverse order, so that no callee stands before its caller.
static byoc_status_t parse_calls(int depth, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {\n");
  for (int i = depth - 1; i > 0; --i) {
    byoc_string_appendf(&text, "  func @f%d() -> () { call @f%d() return }\n", i - 1, i);
  }
  byoc_string_appendf(&text, "  func @f%d() -> () { return }\n}\n", depth - 1);
  byoc_status_t status = parse_status(text.data, diag);
  byoc_string_deinit(&text);
  return status;
}

static void deep_calls_are_refused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(parse_calls(BYOC_MAX_CALL_DEPTH, &diag), &diag);
  byoc_test_error(parse_calls(BYOC_MAX_CALL_DEPTH + 1, &diag), BYOC_UNSUPPORTED, &diag,
                  "function @f0: calls nest more than 127 deep below it");
  byoc_test_error(parse_calls(20000, &diag), BYOC_UNSUPPORTED, &diag, "deep below it [call-depth]");
}

static bool any_function(void *self, const byoc_function_t *function) {
  (void)self, (void)function;
  return true;
}

static void inlining_that_nests_too_deep_is_refused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {");
  for (int f = 0; f < 2; ++f) {
    byoc_string_append(&text, f == 0 ? " func @f() -> () { " : " func @g() -> () { ");
    repeat(&text, "A@1() [b () -> () { ", 40);
    if (f == 0) byoc_string_append(&text, "call @g() ");
    repeat(&text, "return }] ", 40);
    byoc_string_append(&text, "return }");
  }
  byoc_string_append(&text, "}");
  byoc_test_ok(byoc_graph_parse(text.data, "deep.ir", byoc_allocator_system(), &diag, &module), &diag);
  size_t count = 0;
  byoc_status_t status = byoc_inline_functions(module, any_function, NULL, &diag, &count);
  byoc_test_error(status, BYOC_UNSUPPORTED, &diag, "inlining 'g': blocks would nest more than 64 deep");
  byoc_graph_module_destroy(module);
  byoc_string_deinit(&text);
}

static byoc_status_t parse_type(const char *before, const char *repeated, const char *middle, const char *closing,
                                int depth, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module { func @f(%x : ");
  byoc_string_append(&text, before);
  repeat(&text, repeated, depth);
  byoc_string_append(&text, middle);
  repeat(&text, closing, depth);
  byoc_string_append(&text, before[0] ? "]) -> () { return } }" : ") -> () { return } }");
  byoc_status_t status = parse_status(text.data, diag);
  byoc_string_deinit(&text);
  return status;
}

static void depth_is_bounded(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(parse_nested_blocks(BYOC_MAX_BLOCK_DEPTH, &diag), &diag);
  byoc_test_error(parse_nested_blocks(BYOC_MAX_BLOCK_DEPTH + 1, &diag), BYOC_INVALID_DATA, &diag, "nested deeper than");
  byoc_diag_clear(&diag);
  byoc_test_error(parse_nested_blocks(100000, &diag), BYOC_INVALID_DATA, &diag, "nested deeper than");
  byoc_diag_clear(&diag);
  byoc_test_ok(parse_type("", "seq<", "f32[]", ">", 60, &diag), &diag);
  byoc_test_error(parse_type("", "seq<", "f32[]", ">", 100000, &diag), BYOC_INVALID_DATA, &diag, "nested too deeply");
  byoc_diag_clear(&diag);
  byoc_test_error(parse_type("f32[", "(", "N", ")", 100000, &diag), BYOC_INVALID_DATA, &diag, "nested too deeply");
  byoc_diag_clear(&diag);
  byoc_test_error(parse_type("f32[", "-", "N", "", 100000, &diag), BYOC_INVALID_DATA, &diag, "nested too deeply");
  byoc_diag_clear(&diag);
  byoc_test_error(parse_type("f32[", "min(N, ", "M", ")", 100000, &diag), BYOC_INVALID_DATA, &diag,
                  "nested too deeply");
  // A long sum does not count as nested deeply.
  byoc_diag_clear(&diag);
  byoc_test_ok(parse_type("f32[", "min(N, M) + ", "1", "", 20000, &diag), &diag);
}

// No prefix and no single damaged byte of a good text crashes the parser.
static void damaged_texts_are_survived(void **state) {
  (void)state;
  size_t size = strlen(rich_module_text);
  char *text = malloc(size + 1);
  assert_non_null(text);
  byoc_test_random_t random = {.state = 7};
  for (size_t i = 0; i < size; i += 11) {
    byoc_diag_t diag = {0};
    memcpy(text, rich_module_text, size + 1);
    text[i] = 0;
    assert_int_not_equal(parse_status(text, &diag), BYOC_OK);
  }
  for (int i = 0; i < 1500; ++i) {
    byoc_diag_t diag = {0};
    memcpy(text, rich_module_text, size + 1);
    for (uint64_t n = 1 + byoc_test_below(&random, 3); n-- > 0;)
      text[byoc_test_below(&random, size)] = (char)(32 + byoc_test_below(&random, 95));
    (void)parse_status(text, &diag);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rich_module_round_trips),
      cmocka_unit_test(facts_are_read),
      cmocka_unit_test(names_are_made_unique),
      cmocka_unit_test(large_constants_may_be_left_out),
      cmocka_unit_test(only_uniform_constants_are_splats),
      cmocka_unit_test(escapes_are_read),
      cmocka_unit_test(mistakes_are_pointed_at),
      cmocka_unit_test(deep_calls_are_refused),
      cmocka_unit_test(inlining_that_nests_too_deep_is_refused),
      cmocka_unit_test(every_character_may_be_in_a_name),
      cmocka_unit_test(what_is_read_is_verified),
      cmocka_unit_test(only_utf8_is_printed_as_it_is),
      cmocka_unit_test(depth_is_bounded),
      cmocka_unit_test(damaged_texts_are_survived),
  };
  return cmocka_run_group_tests_name("ir text", tests, NULL, NULL);
}
