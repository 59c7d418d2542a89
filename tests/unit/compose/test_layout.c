// SPDX-License-Identifier: Apache-2.0
// The read-only data of an artifact: every piece is found where its own bytes are.
#include "core/compose/c/host_c.h"
#include "tests/support/support.h"

// An engine whose functions bind `count` constants.
typedef struct fixture_t {
  byoc_runtime_module_t engine, function;
  byoc_runtime_module_t *functions[1];
  byoc_host_engine_t engines[1];
  byoc_host_program_t program;
} fixture_t;

static void fixture_init(fixture_t *fixture, byoc_bound_constant_t *constants, size_t count) {
  *fixture = (fixture_t){.engine = {.name = "engine", .engine_symbol = "engine"},
                         .function = {.name = "function", .json = "{}"}};
  fixture->function.constants.data = constants;
  fixture->function.constants.count = count;
  fixture->functions[0] = &fixture->function;
  fixture->engines[0].engine = &fixture->engine;
  fixture->engines[0].functions.data = (void *)fixture->functions;
  fixture->engines[0].functions.count = 1;
  fixture->program.engines.data = fixture->engines;
  fixture->program.engines.count = 1;
}

// A tensor, a part of it that starts where it does, and other tensors of their contents.
static void pieces_that_start_at_one_place(void **state) {
  (void)state;
  static const uint8_t part[] = {1, 2, 3, 4}, whole[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const uint8_t both[] = {1, 2, 3, 4, 5, 6, 7, 8};
  byoc_bound_constant_t constants[] = {{.data = part, .size_bytes = sizeof(part)},
                                       {.data = whole, .size_bytes = sizeof(whole)},
                                       {.data = both, .size_bytes = sizeof(part)},
                                       {.data = both, .size_bytes = sizeof(both)},
                                       {.data = both, .size_bytes = 2}};
  const size_t count = sizeof(constants) / sizeof(constants[0]);
  fixture_t fixture;
  const byoc_host_program_t *const programs[] = {&fixture.program};
  byoc_data_layout_t layout;
  byoc_diag_t diag = {0};
  fixture_init(&fixture, constants, count);
  byoc_test_ok(byoc_data_layout_create(programs, 1, false, byoc_allocator_system(), &diag, &layout), &diag);
  assert_int_equal(layout.constant_count, 3);
  for (size_t i = 0; i < count; ++i) {
    const byoc_data_entry_t *entry = byoc_data_layout_find(&layout, constants[i].data, constants[i].size_bytes);
    assert_non_null(entry);
    assert_int_equal(entry->size_bytes, constants[i].size_bytes);
    assert_memory_equal(entry->data, constants[i].data, constants[i].size_bytes);
  }
  assert_null(byoc_data_layout_find(&layout, both, 3));
  byoc_data_layout_deinit(&layout);
}

// Several programs that have the same weights at different places are no larger than one of them.
static void equal_constants_count_once(void **state) {
  (void)state;
  static const uint8_t first[] = {1, 2, 3, 4, 5, 6, 7, 8}, second[] = {1, 2, 3, 4, 5, 6, 7, 8};
  byoc_bound_constant_t constants[] = {{.data = first, .size_bytes = 8}, {.data = second, .size_bytes = 8}};
  fixture_t fixtures[2];
  const byoc_host_program_t *const programs[] = {&fixtures[0].program, &fixtures[1].program};
  byoc_diag_t diag = {0};
  bool exceeds = true;
  for (size_t i = 0; i < 2; ++i) fixture_init(&fixtures[i], &constants[i], 1);
  byoc_test_ok(byoc_data_layout_exceeds(programs, 2, 9, byoc_allocator_system(), &diag, &exceeds), &diag);
  assert_false(exceeds);
  byoc_test_ok(byoc_data_layout_exceeds(programs, 2, 8, byoc_allocator_system(), &diag, &exceeds), &diag);
  assert_true(exceeds);
}

// An engine must not read what stands first in the section in the place of its weights.
static void engine_constants_that_were_not_laid_out(void **state) {
  (void)state;
  static const uint8_t weights[] = {1, 2, 3, 4};
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  const byoc_type_t *type = byoc_type_tensor_static(&arena, BYOC_DTYPE_U8, 1, (const int64_t[]){4});
  byoc_bound_constant_t constants[] = {{.type = type, .data = weights, .size_bytes = sizeof(weights)}};
  const byoc_compose_options_t options = {.model_name = "model", .cpu_features = ""};
  fixture_t fixture;
  const byoc_host_program_t *const programs[] = {&fixture.program};
  byoc_data_layout_t layout;
  byoc_host_c_t host;
  byoc_string_t text;
  byoc_diag_t diag = {0};
  fixture_init(&fixture, constants, 0);
  byoc_test_ok(byoc_data_layout_create(programs, 1, false, allocator, &diag, &layout), &diag);
  fixture_init(&fixture, constants, 1);
  byoc_test_ok(byoc_host_c_init(&fixture.program, &options, &layout, allocator, &diag, &host), &diag);
  byoc_string_init(&text, allocator);
  byoc_test_error(byoc_host_c_emit(&host, &(byoc_host_c_metadata_t){.size_bytes = 2}, &text), BYOC_INTERNAL, &diag,
                  "data of 'function' (4 bytes) was not laid out");
  byoc_string_deinit(&text);
  byoc_host_c_deinit(&host);
  byoc_data_layout_deinit(&layout);
  byoc_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_that_start_at_one_place),
      cmocka_unit_test(equal_constants_count_once),
      cmocka_unit_test(engine_constants_that_were_not_laid_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
