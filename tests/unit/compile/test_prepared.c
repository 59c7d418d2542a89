// SPDX-License-Identifier: Apache-2.0
// Nothing that depends on constants alone is left to be computed in each run, also where operators are written as
// others.
#include "core/compile/build.h"
#include "core/hostir/program/program.h"
#include "core/ir/module_text.h"
#include "core/plugin/registry.h"
#include "tests/support/support.h"

// Operators of com.microsoft, some with constants among their operands; the numbers behind them are of another test.
#define CASE(text, ...) text,
static const char *const cases[] = {
#include "tests/unit/ops/microsoft_cases.def"
};
#undef CASE

#define MODULE(constants, parameters, result, node)                                                                    \
  "module {opset_import. = 23} {\n" constants "  func @main(" parameters ") -> (%y : " result ") {\n    %y = " node    \
  " : " result "\n    return %y\n  }\n}\n"

static const char *const models[] = {
    MODULE("constant @k : f32[1,2,3,8] = splat 0.5\nconstant @v : f32[1,2,3,8] = splat 0.25\n", "%q : f32[1,2,5,8]",
           "f32[1,2,5,8]", "Attention@23(%q, @k, @v)"),
    MODULE("constant @w : u8[8,4] = splat 3\nconstant @p : u8[] = splat 7\nconstant @q : u8[] = splat 5\n",
           "%x : u8[2,8]", "i32[2,4]", "MatMulInteger@10(%x, @w, @p, @q)"),
    MODULE("constant @w : u8[3,70,3,3] = splat 9\nconstant @p : u8[] = splat 7\nconstant @q : u8[] = splat 5\n",
           "%x : u8[1,70,6,6]", "i32[1,3,4,4]", "ConvInteger@10(%x, @w, @p, @q)"),
    MODULE("constant @s : f32[] = splat 0.5\nconstant @p : u8[] = splat 7\nconstant @w : i8[8,4] = splat 3\nconstant "
           "@t : f32[4] = splat "
           "0.25\nconstant @q : i8[4] = splat 1\n",
           "%x : u8[2,8]", "u8[2,4]", "QLinearMatMul@21(%x, @s, @p, @w, @t, @q, @s, @p)"),
    MODULE(
        "constant @w : f32[2,16,3] = splat 0.5\nconstant @r : f32[2,16,4] = splat 0.5\nconstant @b : f32[2,32] = splat "
        "1.0\n",
        "%x : f32[5,1,3]", "f32[5,2,1,4]", "LSTM@22(%x, @w, @r, @b) {direction = \"bidirectional\", hidden_size = 4}"),
};

static void expect_prepared(const char *text, const byoc_target_list_t *targets) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  const byoc_build_options_t options = {.targets = targets, .thread_count = 1};
  byoc_build_t build;
  byoc_build_init(&build, &options, byoc_allocator_system());
  byoc_build_lend(&build, module, false);
  byoc_test_ok(byoc_build_compile(&build, BYOC_BUILD_ALL, &diag), &diag);
  BYOC_HOST_FOR_EACH(i, build.result.program) {
    if (i->op != BYOC_HOST_KERNEL || i->operands.count == 0) continue;
    size_t constants = 0;
    for (size_t k = 0; k < i->operands.count; ++k) constants += i->operands.data[k]->kind == BYOC_HOST_BUFFER_CONSTANT;
    if (constants == i->operands.count) fail_msg("%s computes from constants alone in\n%s", i->symbol, text);
  }
  byoc_build_deinit(&build);
  byoc_graph_module_destroy(module);
}

static void work_on_constants_is_done_once(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  const char *text = "c";
  byoc_plugin_registry_t *registry = NULL;
  const byoc_plugin_options_t plugins = {.environment = BYOC_TEST_PLUGIN_DIR};
  byoc_test_ok(byoc_plugin_registry_create(&plugins, byoc_allocator_system(), &diag, &registry), &diag);
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(registry);
  byoc_target_list_t targets;
  byoc_test_ok(byoc_target_list_parse(&text, 1, &kinds, byoc_allocator_system(), &diag, &targets), &diag);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) expect_prepared(cases[i], &targets);
  for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); ++i) expect_prepared(models[i], &targets);
  byoc_target_list_deinit(&targets);
  byoc_plugin_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(work_on_constants_is_done_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
