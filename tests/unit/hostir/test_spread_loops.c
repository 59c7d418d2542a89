// SPDX-License-Identifier: Apache-2.0
// The host pass spread-loops: which loops it takes, and what it makes of them. tests/rows has programs as texts.
#include <stdio.h>

#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/text/program_text.h"
#include "tests/support/support.h"

enum { TEXT_SIZE = 4096 };

#define PASSES "spread-loops,place-lifetimes,plan-memory"

// A program over `turns` turns on a set of `queues`; `commands` stand in the loop.
static void write_program(char *text, int queues, int turns, const char *commands) {
  snprintf(text, TEXT_SIZE,
           "host program \"p\" {\n symbol I\n symbol J\n device %%d = \"sim\" 0 type 12\n queue %%q[%d] on %%d\n"
           " event %%e on %%d\n%s input %%x : f32[%d,64]\n output %%y : f32[%d,64]\n"
           " local %%a : f32[1,64] on %%d\n local %%b : f32[1,64] on %%d\n local %%s : u8[256] on %%d\n"
           " view %%b0 : f32[64] = %%b + 0\n"
           " view %%xi : f32[1,64] = %%x + I * 256\n view %%yi : f32[1,64] = %%y + I * 256\n"
           " view %%half : f32[1,64] = %%y + I * 128\n"
           " loop I from 0 to %d body {\n%s }\n}\n",
           queues, strstr(commands, "%z") != NULL ? " output %z : f32[1,64]\n" : "", turns, turns, turns, commands);
}

static byoc_status_t run_passes(const char *text, const char *passes, byoc_allocator_t allocator, byoc_diag_t *diag,
                                byoc_string_t *out) {
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_status_t status = byoc_host_program_parse(text, "test", NULL, allocator, diag, &module, &program);
  if (status == BYOC_OK) {
    status = byoc_host_pass_run_list(passes, program, NULL, diag);
  }
  if (status == BYOC_OK && out != NULL) byoc_host_program_print(program, NULL, out);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  return status;
}

// The programs that are spread are sound: planning verifies them.
static bool is_spread(int queues, int turns, const char *commands, const char *part) {
  char text[TEXT_SIZE];
  byoc_diag_t diag = {0};
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  write_program(text, queues, turns, commands);
  byoc_test_ok(run_passes(text, "spread-loops", byoc_allocator_system(), &diag, &out), &diag);
  const bool has_slot = strstr(out.data, "let slot") != NULL;
  if (has_slot) byoc_test_ok(run_passes(text, PASSES, byoc_allocator_system(), &diag, NULL), &diag);
  if (has_slot && strstr(out.data, part) == NULL) fail_msg("there is no '%s' in\n%s", part, out.data);
  byoc_string_deinit(&out);
  return has_slot;
}

#define TURN                                                                                                           \
  "copy %xi -> %a on %q[0]\n"                                                                                          \
  "launch \"k\" \"add\" grid [1, 1, 1] block [64, 1, 1] (%a) -> (%b) with (operand 0, result 0, scratch) workspace "   \
  "%s on %q[0]\n"

static void test_h13_as_many_places_as_turns(void **state) {
  (void)state;
  assert_true(is_spread(2, 8, TURN "copy %b -> %yi on %q[0]\n", "mod(I, 2)"));
  assert_true(is_spread(64, 3, TURN "copy %b -> %yi on %q[0]\n", "mod(I, 3)")); // the other queues stay idle
  assert_true(is_spread(3, 16, TURN "copy %b -> %yi on %q[0] signals %e\nawait (%e)\n", "await (%end"));
  assert_false(is_spread(1, 8, TURN "copy %b -> %yi on %q[0]\n", ""));
  assert_false(is_spread(4, 1, TURN "copy %b -> %yi on %q[0]\n", ""));
}

static void test_h13_views_follow_the_place_of_their_turn(void **state) {
  (void)state;
  assert_true(is_spread(2, 8, TURN "copy %b0 -> %yi on %q[0]\n", "view     %b0_"));
  // A part of it is written first: the rest might be of the turn before.
  assert_false(is_spread(2, 8, "copy %b0 -> %yi on %q[0]\ncopy %xi -> %b on %q[0]\n", ""));
}

static void test_h13_loops_that_depend_on_turns_stay(void **state) {
  (void)state;
  assert_false(is_spread(2, 8, TURN "copy %b -> %z on %q[0]\n", ""));    // one place for all
  assert_false(is_spread(2, 8, TURN "copy %b -> %half on %q[0]\n", "")); // they overlap
  assert_false(is_spread(2, 8, TURN "copy %b -> %yi on %q[1]\n", ""));   // spread already
  assert_false(is_spread(2, 8, TURN "copy %b -> %yi on %q[0] signals %e\nawait (%e)\ncopy %xi -> %yi\n", ""));
  assert_false(is_spread(2, 4, TURN "loop J from 0 to 2 body {\ncopy %b -> %yi on %q[0]\n}\n", "")); // nested
}

static byoc_status_t spread_all(void *argument, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  return run_passes(argument, PASSES, allocator, &diag, NULL);
}

static void test_h13_each_allocation_fails(void **state) {
  (void)state;
  char text[TEXT_SIZE];
  write_program(text, 2, 3, TURN "copy %b0 -> %yi on %q[0] signals %e\nawait (%e)\n");
  byoc_test_each_allocation_fails(spread_all, text, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h13_as_many_places_as_turns),
      cmocka_unit_test(test_h13_views_follow_the_place_of_their_turn),
      cmocka_unit_test(test_h13_loops_that_depend_on_turns_stay),
      cmocka_unit_test(test_h13_each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
