// SPDX-License-Identifier: Apache-2.0
// Which views that move stay in their base, whatever the loops around them do: the others are checked in each turn.
#include "core/hostir/program/ranges.h"
#include "core/hostir/text/program_text.h"
#include "tests/support/support.h"

// Does the view stay inside in a loop of I over `turns`? Its base has 64 bytes.
static bool stays_inside(const char *turns, const char *view) {
  char text[512];
  snprintf(text, sizeof(text),
           "host program \"p\" workspace 0 bound 0 {\n symbol I\n symbol J\n input %%n : i64[1]\n input %%x : f32[2]\n"
           " output %%y : f32[16]\n view %%v : f32[2] = %%y + %s\n"
           "bind %%n to J by \"n\" loop I from %s body { copy %%x -> %%v } }",
           view, turns);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_allocator_t system = byoc_allocator_system();
  byoc_test_ok(byoc_host_program_parse(text, "p.host", NULL, system, &diag, &module, &program), &diag);
  byoc_arena_t arena;
  byoc_arena_init(&arena, system);
  byoc_host_ranges_t ranges;
  assert_true(byoc_host_ranges_init(&ranges, program, &arena));
  const byoc_host_buffer_t *found = NULL;
  for (size_t i = 0; i < program->buffers.count; ++i) {
    if (strcmp(program->buffers.data[i]->name, "v") == 0) found = program->buffers.data[i];
  }
  assert_non_null(found);
  const bool stays = byoc_host_stays_inside(&ranges, found);
  byoc_arena_deinit(&arena);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  return stays;
}

static void test_h7_views_stay_inside(void **state) {
  (void)state;
  assert_true(stays_inside("0 to 8", "I * 8")); // the last one ends where its base does
  assert_true(stays_inside("7 to -1 step -1", "I * 8"));
  assert_true(stays_inside("1 to 9", "I * 8 - 8"));
  assert_true(stays_inside("0 to 1", "I * 8 + 56"));
  assert_true(stays_inside("0 to min(J, 8)", "I * 8"));
  assert_false(stays_inside("0 to 9", "I * 8"));     // one behind the end
  assert_false(stays_inside("0 to 8", "I * 8 + 1")); // one byte too far
  assert_false(stays_inside("0 to 8", "I * 8 - 1")); // before the beginning
  assert_false(stays_inside("0 to J", "I * 8"));
  assert_false(stays_inside("0 to 1", "min(J, 1) * 8 - 8")); // J may be 0
  assert_true(stays_inside("0 to 1", "min(J, 1) * 8"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h7_views_stay_inside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
