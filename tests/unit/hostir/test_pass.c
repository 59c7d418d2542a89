// SPDX-License-Identifier: Apache-2.0
// Passes of all rooms in one table, and those over host programs: what they need and keep, switches, dumps.
#include "core/collage/partition.h"
#include "core/hostir/pass/pass.h"
#include "core/hostir/text/program_text.h"
#include "core/ir/module_text.h"
#include "core/pass/pass.h"
#include "tests/support/support.h"

typedef struct fixture_t {
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
} fixture_t;

static const char chain[] = "host program \"p\" {\n"
                            "  input %x : f32[4]\n  output %y : f32[4]\n  local %a : f32[4]\n  local %b : f32[2,2]\n\n"
                            "  packed f(%x) -> (%a)\n  packed f(%a) -> (%b)\n  copy %b -> %y\n}\n";

static void set_up(fixture_t *f, const char *text) {
  *f = (fixture_t){0};
  byoc_test_ok(
      byoc_host_program_parse(text, "p.host", NULL, byoc_allocator_system(), &f->diag, &f->module, &f->program),
      &f->diag);
}

static void tear_down(fixture_t *f) {
  byoc_host_program_destroy(f->program);
  byoc_graph_module_destroy(f->module);
}

static uint32_t properties(const fixture_t *f) {
  uint32_t result = 0;
  assert_true(byoc_host_program_properties(f->program, &result));
  return result;
}

static size_t run(fixture_t *f, const char *name, const byoc_pass_options_t *options) {
  size_t changes = 0;
  const byoc_pass_subject_t subject = {.program = f->program};
  byoc_test_ok(byoc_passes_run(&byoc_host_passes, name, subject, options, &f->diag, &changes), &f->diag);
  return changes;
}

static void test_h12_each_pass_has_one_name(void **state) {
  (void)state;
  size_t count = 0, stages[3] = {0};
  BYOC_FOR_EACH_PASS(pass, &byoc_partition_passes) {
    ++count;
    ++stages[pass->stage];
    assert_ptr_equal(byoc_passes_find(&byoc_partition_passes, pass->name), pass);
    assert_true(pass->summary[0] != '\0');
    assert_int_equal((pass->run != NULL) + (pass->run_with != NULL) + (pass->run_host != NULL), 1);
    assert_true((pass->run_host != NULL) == (pass->stage == BYOC_PASS_HOST));
  }
  assert_true(stages[BYOC_PASS_FUNCTIONS] > 20 && stages[BYOC_PASS_MODULE] > 5 && stages[BYOC_PASS_HOST] > 5);
  assert_null(byoc_passes_find(&byoc_partition_passes, "no-such-pass"));
}

// A pass that changes a program says how often, and finds nothing to do in what it left.
static void test_passes_count_their_changes(void **state) {
  (void)state;
  static const char looping[] = "host program \"p\" dynamic {\n"
                                "  input %x : value f32[4]\n  input %turns : value i64[]\n  output %y : value f32[4]\n"
                                "  local %first : value f32[4]\n  local %i : value i64[]\n  local %go : value bool[]\n"
                                "  local %v : value f32[4]\n  local %s : value f32[4]\n  local %t : value f32[4]\n"
                                "  local %h : value f32[4]\n  local %last : value f32[4]\n\n"
                                "  packed zero(%x) -> (%first)\n"
                                "  loop (%turns, none, %first) -> (%last) body (%i, %go, %v) {\n"
                                "    packed one(%v) -> (%s)\n    packed two(%s) -> (%t)\n    packed three(%t) -> (%h)\n"
                                "    yield (%go, %h)\n  }\n  share %last -> %y\n}\n";
  fixture_t f;
  set_up(&f, chain);
  assert_int_equal(run(&f, "elide-copies", NULL), 1);
  assert_int_equal(run(&f, "elide-copies", NULL), 0);
  tear_down(&f);
  set_up(&f, looping);
  assert_true(run(&f, "place-lifetimes", NULL) > 0);
  assert_int_equal(run(&f, "hoist-allocations", NULL), 2);
  assert_int_equal(run(&f, "hoist-allocations", NULL), 0);
  tear_down(&f);
}

// What a pass needs must be there; what it does not keep is made anew.
static void test_h12_lost_facts_are_made_anew(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f, chain);
  assert_int_equal(properties(&f), 0);
  byoc_test_error(byoc_host_pass_run_list("plan-memory", f.program, NULL, &f.diag), BYOC_INVALID_ARGUMENT, &f.diag,
                  "pass plan-memory needs lifetimes");
  byoc_diag_clear(&f.diag);
  assert_int_equal(run(&f, "place-lifetimes", NULL), 4);
  assert_int_equal(properties(&f), BYOC_HOST_LIFETIMES);
  assert_int_equal(run(&f, "plan-memory", NULL), 2);
  assert_int_equal(properties(&f), BYOC_HOST_LIFETIMES | BYOC_HOST_PLAN);
  assert_int_equal(f.program->workspace_size_bytes, 128);
  assert_int_equal(run(&f, "place-lifetimes", NULL), 0); // they are there: the plan stays
  assert_int_equal(run(&f, "plan-memory", NULL), 0);
  assert_int_equal(properties(&f), BYOC_HOST_LIFETIMES | BYOC_HOST_PLAN);
  assert_int_equal(run(&f, "elide-copies", NULL), 1);
  assert_int_equal(properties(&f), 0);
  assert_int_equal(f.program->workspace_size_bytes, 0);
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, f.program, NULL, &f.diag), &f.diag);
  assert_int_equal(f.program->workspace_size_bytes, 64);
  tear_down(&f);
}

static void test_h12_a_pass_that_is_off_does_nothing(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f, chain);
  byoc_switches_t switches = {0};
  assert_true(byoc_switches_turn_off(&switches, "elide-copies"));
  byoc_switches_t more = switches; // what holds for a while
  assert_true(byoc_switches_turn_off(&more, "place-lifetimes"));
  const byoc_pass_options_t options = {.switches = &switches}, with_more = {.switches = &more};
  assert_int_equal(run(&f, "elide-copies", &options), 0);
  assert_int_equal(run(&f, "elide-copies,place-lifetimes", &with_more), 0);
  assert_int_equal(run(&f, "place-lifetimes", &options), 4);
  assert_true(byoc_switches_is_on(NULL, "elide-copies"));
  for (int i = 0; i < BYOC_SWITCHES_MAX + 1; ++i) {
    char *name = byoc_arena_format(&f.program->arena, "n%d", i);
    assert_int_equal(byoc_switches_turn_off(&switches, name), i < BYOC_SWITCHES_MAX - 1);
  }
  tear_down(&f);
}

// A name behind simplify in braces is off while it runs, and on again behind it.
static void test_h12_simplify_leaves_a_pass_out(void **state) {
  (void)state;
  static const char text[] = "module {\n  func @main(%x : f32[4]) -> (%y : f32[4], %z : f32[4]) {\n"
                             "    %y = Exp@13(%x) : f32[4]\n    %z = Exp@13(%x) : f32[4]\n    return %y, %z\n  }\n}\n";
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  byoc_test_ok(byoc_pass_run_list("simplify{without=merge-equal-nodes}", module, NULL, &diag), &diag);
  assert_int_equal(body->node_count, 2);
  byoc_test_ok(byoc_pass_run_list("simplify{without=fold-pad},simplify", module, NULL, &diag), &diag);
  assert_int_equal(body->node_count, 1);
  byoc_test_error(byoc_pass_run_list("simplify{without=infer-types}", module, NULL, &diag), BYOC_INVALID_ARGUMENT,
                  &diag, "no build can do without the pass infer-types");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_pass_run_list("simplify{compiler=c}", module, NULL, &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "pass simplify takes {without=NAME}, not {compiler=c}");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_pass_run_list("plan-memory", module, NULL, &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "'plan-memory' is a pass over host programs, and this is a module");
  byoc_graph_module_destroy(module);
}

static void test_h12_graph_passes_have_switches(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &module), &diag);
  byoc_switches_t switches = {0};
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  const byoc_pass_options_t options = {.switches = &switches, .print_after = "all", .print_out = &out};
  assert_true(byoc_switches_turn_off(&switches, "fold-pad"));
  byoc_test_ok(byoc_pass_run_list("fold-pad,remove-dead-code", module, &options, &diag), &diag);
  assert_null(strstr(out.data, "// after fold-pad"));
  assert_non_null(strstr(out.data, "// after remove-dead-code"));
  byoc_string_deinit(&out);
  byoc_graph_module_destroy(module);
  byoc_test_ok(byoc_pass_check_switch("fold-pad", &diag), &diag);
  byoc_test_ok(byoc_pass_check_switch("elide-copies", &diag), &diag);
  byoc_test_error(byoc_pass_check_switch("plan-memory", &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "no build can do without the pass plan-memory");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_pass_check_switch("lower-kernels", &diag), BYOC_INVALID_ARGUMENT, &diag, "do without");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_pass_check_switch("elide-copy", &diag), BYOC_INVALID_ARGUMENT, &diag, "there is no pass");
  assert_non_null(strstr(diag.hint, "elide-copies"));
}

static void test_h12_passes_are_dumped(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f, chain);
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_pass_options_t options = {.print_after = "elide-copies", .print_out = &out};
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, f.program, &options, &f.diag), &f.diag);
  byoc_test_same_text(out.data, "// after elide-copies\n"
                                "host program \"p\" workspace 0 bound 0 {\n"
                                "  input    %x : f32[4]\n  output   %y : f32[4]\n  local    %a : f32[4]\n"
                                "  local    %b : f32[2,2]\n  view     %b_4 : f32[2,2] = %y + 0\n\n"
                                "  packed f(%x) -> (%a)\n  packed f(%a) -> (%b_4)\n}\n");
  byoc_string_clear(&out);
  options.print_after = "all";
  byoc_test_ok(byoc_host_pass_run_list("place-lifetimes,plan-memory", f.program, &options, &f.diag), &f.diag);
  assert_non_null(strstr(out.data, "// after place-lifetimes\n"));
  assert_non_null(strstr(out.data, "// after plan-memory\n"));
  byoc_test_error(byoc_host_pass_run_list("plan-memori", f.program, NULL, &f.diag), BYOC_INVALID_ARGUMENT, &f.diag,
                  "there is no pass 'plan-memori'");
  assert_non_null(strstr(f.diag.hint, "did you mean 'plan-memory'?"));
  byoc_string_deinit(&out);
  tear_down(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h12_each_pass_has_one_name),     cmocka_unit_test(test_passes_count_their_changes),
      cmocka_unit_test(test_h12_lost_facts_are_made_anew),   cmocka_unit_test(test_h12_a_pass_that_is_off_does_nothing),
      cmocka_unit_test(test_h12_simplify_leaves_a_pass_out), cmocka_unit_test(test_h12_graph_passes_have_switches),
      cmocka_unit_test(test_h12_passes_are_dumped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
