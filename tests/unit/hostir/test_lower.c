// SPDX-License-Identifier: Apache-2.0
// Lowering to host programs: what calls of backends' functions need.
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/hostir/text/program_text.h"
#include "core/ir/attribute_names.h"
#include "core/ir/module_text.h"
#include "core/module/c_call.h"
#include "tests/support/support.h"

// A backend's function for two elements is called with any number: the program requires two.
static void test_lower_a_call_of_fewer_shapes(void **state) {
  (void)state;
  static const char text[] = "module {\n"
                             "  extern func @part(%a : f32[2]) -> (%b : f32[2]) attributes {Extern = 1} {\n"
                             "    %b = Relu@14(%a) : f32[2]\n"
                             "    return %b\n"
                             "  }\n"
                             "  func @main(%x : f32[N]) -> (%y : f32[2]) {\n"
                             "    %y = call @part(%x) : f32[2]\n"
                             "    return %y\n"
                             "  }\n"
                             "}\n";
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_runtime_module_t *packed = NULL;
  byoc_host_program_t *program = NULL;
  byoc_string_t printed;
  byoc_string_init(&printed, byoc_allocator_system());
  byoc_test_ok(byoc_graph_parse(text, "part.byoc", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(
      byoc_runtime_module_create(BYOC_RUNTIME_MODULE_PACKED, "packed", "demo", byoc_allocator_system(), &diag, &packed),
      &diag);
  packed->function_name = "part";
  packed->packed_symbol = "part";
  byoc_test_ok(byoc_graph_module_add_runtime_module(module, packed, &diag), &diag);
  byoc_runtime_module_release(packed);
  byoc_test_ok(byoc_host_lower(module, byoc_allocator_system(), &diag, &program), &diag);
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, program, NULL, &diag), &diag);
  byoc_test_ok(byoc_host_program_verify(program, &diag), &diag);
  byoc_host_program_print(program, NULL, &printed);
  if (strstr(printed.data, "require (N is 2 by \"part\" left \"dimension 0 of operand 0\")") == NULL) {
    fail_msg("nothing is required:\n%s", printed.data);
  }
  byoc_string_deinit(&printed);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

typedef struct {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_string_t printed;
} fixture_t;

static void set_up(fixture_t *f, const char *text) {
  byoc_diag_t diag = {0};
  *f = (fixture_t){0};
  byoc_string_init(&f->printed, byoc_allocator_system());
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &f->module), &diag);
}

// A module of the graph; it is the graph's.
static byoc_runtime_module_t *add_module(fixture_t *f, byoc_runtime_module_kind_t kind, const char *name,
                                         const char *target) {
  byoc_diag_t diag = {0};
  byoc_runtime_module_t *made = NULL;
  byoc_test_ok(byoc_runtime_module_create(kind, name, target, byoc_allocator_system(), &diag, &made), &diag);
  byoc_test_ok(byoc_graph_module_add_runtime_module(f->module, made, &diag), &diag);
  byoc_runtime_module_release(made);
  return made;
}

static const char *lower(fixture_t *f) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_host_lower(f->module, byoc_allocator_system(), &diag, &f->program), &diag);
  byoc_host_program_print(f->program, NULL, &f->printed);
  return f->printed.data;
}

static void tear_down(fixture_t *f) {
  byoc_string_deinit(&f->printed);
  byoc_host_program_destroy(f->program);
  byoc_graph_module_destroy(f->module);
}

static void expect_part(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("'%s' is not in:\n%s", part, text);
}

// What a JSON module imports goes before what it names.
static void test_lower_to_the_engine_that_is_imported(void **state) {
  (void)state;
  for (int imports = 0; imports < 2; ++imports) {
    byoc_diag_t diag = {0};
    fixture_t f;
    set_up(&f, "module {\n"
               "  extern func @part(%a : f32[2]) -> (%b : f32[2]) attributes {Extern = 1} {\n"
               "    %b = Relu@14(%a) : f32[2]\n    return %b\n  }\n"
               "  func @main(%x : f32[2]) -> (%y : f32[2]) {\n"
               "    %y = call @part(%x) : f32[2]\n    return %y\n  }\n}\n");
    (void)add_module(&f, BYOC_RUNTIME_MODULE_ENGINE, "named", "demo");
    byoc_runtime_module_t *imported = add_module(&f, BYOC_RUNTIME_MODULE_ENGINE, "imported", "demo");
    byoc_runtime_module_t *json = add_module(&f, BYOC_RUNTIME_MODULE_JSON, "json", "demo");
    json->function_name = "part";
    json->engine_name = "named";
    if (imports) byoc_test_ok(byoc_runtime_module_import(json, imported, &diag), &diag);
    expect_part(lower(&f), imports ? "by \"imported\"" : "by \"named\"");
    tear_down(&f);
  }
}

// A program makes its values at run time if one of them is open, or may be a sequence or optional.
static void test_lower_to_a_dynamic_program(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is_dynamic;
  } cases[] = {
      {"(%x : f32[2]) -> (%y : f32[2]) {\n    %y = call @plain(%x) : f32[2]\n    return %y", false},
      {"(%x : f32[N]) -> (%y : f32[2]) {\n    %y = call @part(%x) : f32[2]\n    return %y", true},
      {"(%x : f32[2], %n : i64[]) -> (%y : f32[2]) {\n    %s = SequenceConstruct@11(%x, %x) : seq<f32[2]>\n"
       "    %y = SequenceAt@11(%s, %n) : f32[2]\n    return %y",
       true},
      {"(%x : f32[2]) -> (%y : bool[]) {\n    %y = OptionalHasElement@18(%x) : bool[]\n    return %y", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    fixture_t f;
    char text[1024];
    snprintf(text, sizeof text,
             "module {\n"
             "  extern func @plain(%%a : f32[2]) -> (%%b : f32[2]) attributes {Extern = 1}\n"
             "  extern func @part(%%a : f32[N]) -> (%%b : f32[2]) attributes {Extern = 1}\n"
             "  func @main%s\n  }\n}\n",
             cases[i].text);
    set_up(&f, text);
    static const char *const functions[] = {"plain", "part"};
    for (size_t k = 0; k < sizeof functions / sizeof *functions; ++k) {
      byoc_runtime_module_t *packed = add_module(&f, BYOC_RUNTIME_MODULE_PACKED, functions[k], "demo");
      packed->function_name = packed->packed_symbol = functions[k];
    }
    (void)lower(&f);
    assert_int_equal(f.program->is_dynamic, cases[i].is_dynamic);
    tear_down(&f);
  }
}

// Each target's call goes to its own library, though both libraries define the symbol.
static void test_lower_calls_of_one_symbol(void **state) {
  (void)state;
  static const char *const targets[] = {"one", "two"};
  fixture_t f;
  set_up(&f, "module {\n  func @main(%x : f32[2]) -> (%z : f32[2]) {\n"
             "    %y = Relu@14(%x) : f32[2]\n    %z = Relu@14(%y) : f32[2]\n    return %z\n  }\n}\n");
  byoc_diag_t diag = {0};
  byoc_node_t *node = byoc_graph_module_main(f.module)->body->first;
  for (int i = 0; i < 2; ++i) {
    byoc_runtime_module_t *library = add_module(&f, BYOC_RUNTIME_MODULE_STATIC_LIBRARY, targets[i], targets[i]);
    byoc_test_ok(byoc_runtime_module_add_symbol(library, "f", &diag), &diag);
    const byoc_c_argument_t arguments[] = {{.kind = BYOC_C_ARGUMENT_OPERAND, .type = BYOC_C_POINTER},
                                           {.kind = BYOC_C_ARGUMENT_RESULT, .type = BYOC_C_POINTER}};
    const byoc_c_call_t call = {.header = BYOC_HEADER(byoc_c_call_t, 1),
                                .symbol = "f",
                                .argument_count = 2,
                                .arguments = arguments,
                                .repeat_count = 1,
                                .result_from_operand = -1};
    byoc_node_t *relu = node, *made = byoc_node_create(relu->block, relu, "byoc", "CallC", 1, relu->operands, 1, 1);
    assert_non_null(made);
    node = relu->next;
    made->results[0]->type = relu->results[0]->type;
    byoc_test_ok(byoc_c_call_to_attributes(&call, &made->attributes, &diag), &diag);
    assert_true(byoc_attributes_set_string(&made->attributes, BYOC_ATTRIBUTE_OF_TARGET, targets[i]));
    assert_true(byoc_value_replace_uses(relu->results[0], made->results[0]));
    byoc_node_erase(relu);
  }
  const char *printed = lower(&f);
  expect_part(printed, "c_call void f__of_module1(%t)");
  expect_part(printed, "c_call void f(%x)");
  tear_down(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lower_a_call_of_fewer_shapes),
      cmocka_unit_test(test_lower_to_the_engine_that_is_imported),
      cmocka_unit_test(test_lower_to_a_dynamic_program),
      cmocka_unit_test(test_lower_calls_of_one_symbol),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
