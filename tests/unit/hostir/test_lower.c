// Lowering to host programs: what calls of backends' functions need.
#include "core/hostir/lower.h"
#include "core/hostir/pass.h"
#include "core/hostir/text.h"
#include "core/ir/text.h"
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lower_a_call_of_fewer_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
