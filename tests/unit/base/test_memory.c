// SPDX-License-Identifier: Apache-2.0
// Allocators, arenas, vectors.
#include "tests/support/support.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/vector.h"

static void sizes_refuse_overflow(void **state) {
  (void)state;
  size_t size = 0;
  assert_true(byoc_size_mul(3, 4, &size) && size == 12);
  assert_true(byoc_size_add(SIZE_MAX - 1, 1, &size) && size == SIZE_MAX);
  assert_false(byoc_size_mul(SIZE_MAX, 2, &size));
  assert_false(byoc_size_add(SIZE_MAX, 1, &size));
  assert_null(byoc_allocate(byoc_allocator_system(), SIZE_MAX / 2, 3));
  char *memory = byoc_allocate(byoc_allocator_system(), 4, 1);
  assert_null(byoc_reallocate(byoc_allocator_system(), memory, SIZE_MAX / 2, 3));
  memory[3] = 1; // still ours
  byoc_free(byoc_allocator_system(), memory);
  byoc_free(byoc_allocator_system(), NULL);
}

static void memory_is_cleared_and_never_null(void **state) {
  (void)state;
  byoc_failing_allocator_t failing = {.fail_at = -1};
  byoc_allocator_t allocators[] = {byoc_allocator_system(), byoc_failing_allocator(&failing)};
  for (size_t i = 0; i < 2; i++) {
    unsigned char *memory = byoc_allocate(allocators[i], 1000, 3);
    for (size_t j = 0; j < 3000; j++) assert_int_equal(memory[j], 0);
    byoc_free(allocators[i], memory);
    void *nothing = byoc_allocate(allocators[i], 0, 8);
    assert_non_null(nothing);
    byoc_free(allocators[i], nothing);
    char *text = byoc_copy_string(allocators[i], "text");
    assert_string_equal(text, "text");
    byoc_free(allocators[i], text);
  }
  assert_int_equal(failing.count, 3);
  assert_int_equal(failing.live_count, 0);
}

static void failing_allocator_counts(void **state) {
  (void)state;
  byoc_failing_allocator_t failing = {.fail_at = 1};
  byoc_allocator_t allocator = byoc_failing_allocator(&failing);
  void *first = byoc_allocate(allocator, 1, 1);
  assert_null(byoc_allocate(allocator, 1, 1));
  void *third = byoc_allocate(allocator, 1, 1);
  assert_non_null(third);
  assert_int_equal(failing.live_count, 2);
  failing.sticky = true;
  assert_null(byoc_reallocate(allocator, first, 100, 1)); // kept
  byoc_free(allocator, first);
  byoc_free(allocator, third);
  assert_int_equal(failing.live_count, 0);
}

static void arena_aligns_and_clears(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_test_random_t random = {7};
  for (int round = 0; round < 3; round++) {
    size_t total = 0;
    for (int i = 0; i < 500; i++) {
      size_t size = byoc_test_below(&random, i % 50 == 0 ? 300000 : 600);
      size_t alignment = (size_t)1 << byoc_test_below(&random, 13);
      unsigned char *memory = byoc_arena_allocate_aligned(&arena, size, alignment);
      assert_non_null(memory);
      assert_int_equal((uintptr_t)memory % alignment, 0);
      assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
      for (size_t j = 0; j < size; j++) assert_int_equal(memory[j], 0);
      memset(memory, 0xA5, size); // overlaps would show as bytes that are not clear
      total += size == 0 ? 1 : size;
    }
    assert_int_equal(arena.used_bytes, total);
    byoc_arena_reset(&arena);
    assert_int_equal(arena.used_bytes, 0);
  }
  assert_null(byoc_arena_allocate(&arena, SIZE_MAX / 4, 8));
  assert_null(byoc_arena_allocate_aligned(&arena, SIZE_MAX - 8, 4096));
  byoc_arena_deinit(&arena);
}

static void arena_texts(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  assert_string_equal(byoc_arena_copy_string(&arena, "abc"), "abc");
  assert_string_equal(byoc_arena_format(&arena, "%s-%d", "x", 42), "x-42");
  assert_memory_equal(byoc_arena_copy(&arena, "\0\1", 2), "\0\1", 2);
  assert_non_null(byoc_arena_copy(&arena, NULL, 0));
  byoc_arena_deinit(&arena);
  byoc_arena_deinit(&(byoc_arena_t){0}); // never initialised
}

static void arena_allocator_grows_vectors(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_allocator_t allocator = byoc_arena_allocator(&arena);
  BYOC_VECTOR(int) v = {0};
  for (int i = 0; i < 1000; i++) assert_true(byoc_vector_push(&v, allocator, i * 3));
  for (int i = 0; i < 1000; i++) assert_int_equal(v.data[i], i * 3);
  byoc_vector_deinit(&v, allocator);
  byoc_arena_deinit(&arena);
}

typedef struct pair_t {
  int a, b;
} pair_t;

static void vector_holds_structs_and_refuses_overflow(void **state) {
  (void)state;
  byoc_allocator_t allocator = byoc_allocator_system();
  BYOC_VECTOR(pair_t) v = {0};
  for (int i = 0; i < 100; i++) assert_true(byoc_vector_push(&v, allocator, (pair_t){.a = i, .b = -i}));
  assert_int_equal(v.data[99].b, -99);
  assert_false(byoc_vector_reserve(&v, allocator, SIZE_MAX));
  assert_false(byoc_vector_reserve(&v, allocator, SIZE_MAX / 4));
  assert_int_equal(v.count, 100);
  byoc_vector_deinit(&v, allocator);
  assert_int_equal(v.capacity, 0);
}

static byoc_status_t use_everything(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_status_t status = BYOC_OUT_OF_MEMORY;
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  BYOC_VECTOR(char *) v = {0};
  for (int i = 0; i < 40; i++) {
    char *text = byoc_arena_format(&arena, "number %d", i);
    if (text == NULL || !byoc_vector_push(&v, allocator, text)) goto cleanup;
    if (byoc_arena_allocate(&arena, 1000, 1) == NULL) goto cleanup;
    if (byoc_arena_allocate_aligned(&arena, 70000, 256) == NULL) goto cleanup;
  }
  status = strcmp(v.data[39], "number 39") == 0 ? BYOC_OK : BYOC_INTERNAL;
cleanup:
  byoc_vector_deinit(&v, allocator);
  byoc_arena_deinit(&arena);
  return status;
}

static void each_allocation_fails(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(use_everything, NULL, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_refuse_overflow),
      cmocka_unit_test(memory_is_cleared_and_never_null),
      cmocka_unit_test(failing_allocator_counts),
      cmocka_unit_test(arena_aligns_and_clears),
      cmocka_unit_test(arena_texts),
      cmocka_unit_test(arena_allocator_grows_vectors),
      cmocka_unit_test(vector_holds_structs_and_refuses_overflow),
      cmocka_unit_test(each_allocation_fails),
  };
  return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
