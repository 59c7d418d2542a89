// SPDX-License-Identifier: Apache-2.0
// Keys of costs: what they depend on, and what not.
#include "tests/support/support.h"

#include <stdio.h>

#include "core/base/string.h"
#include "core/collage/collage_internal.h"
#include "core/collage/cost_key.h"
#include "core/ir/module_text.h"
#include "core/op/declared.h"

// `body` is the function of one node, with its constants in front.
static byoc_graph_module_t *parse(const char *constants, const char *parameters, const char *node, const char *type) {
  char text[1024];
  snprintf(text, sizeof(text),
           "module {opset_import. = 17} {\n%s\n  func @main(%s) -> (%%y : %s) {\n    %%y = %s : %s\n    return %%y\n"
           "  }\n}\n",
           constants, parameters, type, node, type);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

typedef struct case_t {
  const char *constants, *parameters, *node, *type;
  bool same;
} case_t;

static byoc_target_kind_t kind = {.name = "c", .plugin_name = "", .plugin_version = ""};
static byoc_target_t native = {.kind = &kind, .text = "c -O=3"};

static void make(const case_t *c, const byoc_cost_key_inputs_t *like, byoc_arena_t *arena, byoc_cost_key_t *out_key) {
  byoc_graph_module_t *module = parse(c->constants, c->parameters, c->node, c->type);
  byoc_cost_key_inputs_t inputs = *like;
  inputs.function = byoc_graph_module_main(module);
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cost_key_make(&inputs, arena, &diag, out_key), &diag);
  byoc_graph_module_destroy(module);
}

static const byoc_cost_key_inputs_t inputs_of_all = {
    .target = &native, .native = &native, .compiler_version = "cc 1", .machine = "here", .thread_count = 1};

// C5, B32: element types, shapes, attributes, small constants count; names and weights do not.
static void test_c5_b32_types_shapes_and_attributes_count(void **state) {
  (void)state;
  static const case_t base = {"constant @w : f32[8,8] = splat 1.0", "%x : f32[4,8]", "MatMul@13(%x, @w)", "f32[4,8]",
                              true};
  static const case_t cases[] = {
      {"constant @other : f32[8,8] = splat 2.0", "%z : f32[4,8]", "MatMul@13(%z, @other)", "f32[4,8]", true},
      {"constant @w : f32[8,8] = splat 1.0", "%x : f32[5,8]", "MatMul@13(%x, @w)", "f32[5,8]", false},
      {"constant @w : f64[8,8] = splat 1.0", "%x : f64[4,8]", "MatMul@13(%x, @w)", "f64[4,8]", false},
      {"constant @w : f32[8,8] = splat 1.0", "%x : f32[4,8]", "MatMul@9(%x, @w)", "f32[4,8]", false},
      {"constant @w : f32[8,8] = splat 1.0", "%x : f32[4,8]", "Gemm@13(%x, @w)", "f32[4,8]", false},
      {"constant @w : f32[8,8] = splat 1.0", "%x : f32[4,8]", "Gemm@13(%x, @w) {transB = 1}", "f32[4,8]", false},
  };
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_cost_key_t first, key;
  make(&base, &inputs_of_all, &arena, &first);
  byoc_test_same_text(first.operators, "MatMul");
  byoc_test_same_text(first.signature, "(f32[4,8]) -> (f32[4,8])");
  assert_int_equal(strlen(first.id), 32);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    make(&cases[i], &inputs_of_all, &arena, &key);
    if ((strcmp(key.id, first.id) == 0) != cases[i].same) fail_msg("case %zu", i);
  }
  byoc_arena_deinit(&arena);
}

// A backend may choose its code by a clip bound or an axis.
static void test_c5_b32_small_constants_count(void **state) {
  (void)state;
  static const char *const constants[] = {"constant @a : f32[] = [0.0] constant @b : f32[] = [6.0]",
                                          "constant @a : f32[] = [0.0] constant @b : f32[] = [5.0]",
                                          "constant @p : f32[] = [0.0] constant @q : f32[] = [6.0]"};
  static const char *const nodes[] = {"Clip@13(%x, @a, @b)", "Clip@13(%x, @a, @b)", "Clip@13(%x, @p, @q)"};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_cost_key_t keys[3];
  for (size_t i = 0; i < 3; ++i) {
    const case_t c = {constants[i], "%x : f32[4]", nodes[i], "f32[4]", false};
    make(&c, &inputs_of_all, &arena, &keys[i]);
  }
  assert_string_not_equal(keys[0].id, keys[1].id);
  assert_string_equal(keys[0].id, keys[2].id);
  byoc_arena_deinit(&arena);
}

// Everything around the function that a cost depends on.
static void test_c5_b32_surroundings_count(void **state) {
  (void)state;
  byoc_target_kind_t plugin = {.name = "c", .plugin_name = "p", .plugin_version = "1.0"};
  static const byoc_backend_t backend;
  plugin.backend = &backend;
  byoc_target_kind_t newer = plugin;
  newer.plugin_version = "1.1";
  byoc_target_kind_t rebuilt = plugin; // its name and version stay, its bytes do not
  rebuilt.plugin_content = "0123";
  byoc_target_t of_plugin = {.kind = &plugin, .text = "c -O=3"}, of_newer = {.kind = &newer, .text = "c -O=3"};
  byoc_target_t of_rebuilt = {.kind = &rebuilt, .text = "c -O=3"};
  byoc_target_t other = {.kind = &kind, .text = "c -O=2"};
  byoc_cost_key_inputs_t inputs[9];
  for (size_t i = 0; i < 9; ++i) inputs[i] = inputs_of_all;
  inputs[1].target = &other;
  inputs[2].target = &of_plugin;
  inputs[3].target = &of_newer;
  inputs[4].native = &other;
  inputs[5].compiler_version = "cc 2";
  inputs[6].machine = "there";
  inputs[7].thread_count = 2;
  inputs[8].target = &of_rebuilt;
  static const case_t c = {"", "%x : f32[4]", "Relu@14(%x)", "f32[4]", false};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_cost_key_t keys[9];
  for (size_t i = 0; i < 9; ++i) {
    make(&c, &inputs[i], &arena, &keys[i]);
    for (size_t k = 0; k < i; ++k) assert_string_not_equal(keys[i].id, keys[k].id);
  }
  byoc_string_t machine;
  byoc_string_init(&machine, byoc_allocator_system());
  byoc_machine_identity(&machine);
  assert_non_null(strstr(machine.data, "; "));
  byoc_string_deinit(&machine);
  byoc_arena_deinit(&arena);
}

// An operator that a plugin declares may compute something else once the plugin's file is another one.
static void test_c5_b32_the_file_of_an_operator_counts(void **state) {
  (void)state;
  static const char *const files[] = {"acme 1", "acme 2", "acme 1"};
  static const byoc_op_declaration_t declaration = {.domain = "com.acme",
                                                    .name = "Twice",
                                                    .since_version = 1,
                                                    .signature = "(x: f32[S...]) -> (y: f32[S...])",
                                                    .element = "y = x + x"};
  static const case_t c = {"", "%x : f32[4]", "com.acme::Twice@1(%x)", "f32[4]", false};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_cost_key_t keys[3];
  for (size_t i = 0; i < 3; ++i) {
    byoc_diag_t diag = {0};
    const byoc_op_t *rows[1];
    byoc_op_extension_t acme = {
        .name = "acme", .version = "1", .path = "/acme.so", .content = files[i], .rows = rows, .row_count = 1};
    byoc_test_ok(byoc_op_declare(&declaration, &acme, &arena, &diag, &rows[0]), &diag);
    byoc_test_ok(byoc_op_extend(&acme, &diag), &diag);
    make(&c, &inputs_of_all, &arena, &keys[i]);
    byoc_op_retract(&acme);
  }
  assert_string_not_equal(keys[0].id, keys[1].id);
  assert_string_equal(keys[0].id, keys[2].id);
  byoc_arena_deinit(&arena);
}

static byoc_status_t body(void *argument, byoc_allocator_t allocator) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  byoc_cost_key_inputs_t inputs = inputs_of_all;
  inputs.function = argument;
  inputs.machine = NULL;
  byoc_cost_key_t key;
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_cost_key_make(&inputs, &arena, &diag, &key);
  byoc_arena_deinit(&arena);
  return status;
}

static void test_memory(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse("", "%x : f32[4]", "Relu@14(%x)", "f32[4]");
  byoc_test_each_allocation_fails(body, byoc_graph_module_main(module), false);
  byoc_graph_module_destroy(module);
}

static byoc_status_t make_collage_key(void *argument, byoc_allocator_t allocator) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  byoc_diag_t diag = {0};
  byoc_collage_t c = {.options = argument, .diag = &diag};
  byoc_cost_key_t key;
  byoc_status_t status = byoc_collage_key(&c, "search", 1, &arena, &key);
  byoc_arena_deinit(&arena);
  return status;
}

// The keys of records about whole modules: of each kind, each module and each build a key of its own.
static void test_collage_keys(void **state) {
  (void)state;
  const byoc_cost_key_t base = {.target = "a", .plugin = "b", .compiler = "c", .machine = "d", .thread_count = 2};
  byoc_collage_options_t options[6];
  for (size_t i = 0; i < 6; ++i) options[i] = (byoc_collage_options_t){.key = base};
  options[1].key.target = "e";
  options[2].key.plugin = "e";
  options[3].key.compiler = "e";
  options[4].key.machine = "e";
  options[5].key.thread_count = 1;
  byoc_diag_t diag = {0};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_cost_key_t keys[9];
  for (size_t i = 0; i < 9; ++i) {
    byoc_collage_t c = {.options = &options[i < 6 ? i : 0], .diag = &diag};
    byoc_test_ok(byoc_collage_key(&c, i == 6 ? "contest" : "search", i == 7 ? 2 : 1, &arena, &keys[i]), &diag);
    assert_string_equal(keys[i].operators, i == 6 ? "contest" : "search");
    assert_string_equal(keys[i].signature, i == 7 ? "0000000000000002" : "0000000000000001");
    for (size_t k = 0; i < 8 && k < i; ++k) assert_string_not_equal(keys[i].id, keys[k].id);
  }
  assert_string_equal(keys[8].id, keys[0].id);
  byoc_arena_deinit(&arena);
  byoc_test_each_allocation_fails(make_collage_key, &options[0], false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c5_b32_types_shapes_and_attributes_count),
      cmocka_unit_test(test_c5_b32_small_constants_count),
      cmocka_unit_test(test_c5_b32_surroundings_count),
      cmocka_unit_test(test_c5_b32_the_file_of_an_operator_counts),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_collage_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
