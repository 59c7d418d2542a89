// SPDX-License-Identifier: Apache-2.0
// The memory of artifacts that are C source: aligned whatever the C library's malloc gives.
#include "tests/support/support.h"

#include <stdlib.h>

#include "byoc/call.h"

// The file stands beside the runtime of artifacts here, under names of its own and on a malloc of ours.
#define byoc_memory_allocate         plain_memory_allocate
#define byoc_memory_free             plain_memory_free
#define byoc_model_allocate          plain_model_allocate
#define byoc_model_fork_generation   plain_model_fork_generation
#define byoc_model_now_ns            plain_model_now_ns
#define byoc_model_place_constants   plain_model_place_constants
#define byoc_model_pool_acquire      plain_model_pool_acquire
#define byoc_model_pool_release      plain_model_pool_release
#define byoc_model_pool_rest         plain_model_pool_rest
#define byoc_model_pool_run          plain_model_pool_run
#define byoc_model_pool_run_in_crowd plain_model_pool_run_in_crowd
#define byoc_model_pool_set_spin     plain_model_pool_set_spin
#define byoc_model_pool_wake         plain_model_pool_wake
#define byoc_model_processor_count   plain_model_processor_count
#define byoc_stack_left_bytes        plain_stack_left_bytes
#define byoc_thread_text             plain_thread_text
#define byoc_thread_text_was_lost    plain_thread_text_was_lost

enum { ROOM = 4096 };

static _Alignas(BYOC_BUFFER_ALIGNMENT) char bytes[ROOM];
static char *volatile room = bytes; // volatile: compilers know no bounds of what malloc gives
static size_t offset, asked_for;
static void *freed;

static void *give_at_offset(size_t size_bytes) {
  asked_for = size_bytes;
  return offset + size_bytes <= ROOM ? room + offset : NULL;
}

static void note_freed(void *memory) {
  freed = memory;
}

#define malloc give_at_offset
#define free   note_freed
#include "core/runtime/plain/machine.c"
#undef malloc
#undef free

static void memory_is_aligned_wherever_malloc_begins(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 8, 64, 1000};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
    for (offset = 0; offset < (size_t)2 * BYOC_BUFFER_ALIGNMENT; offset += sizeof(void *)) {
      char *memory = byoc_memory_allocate(sizes[i]);
      assert_non_null(memory);
      assert_int_equal((uintptr_t)memory % BYOC_BUFFER_ALIGNMENT, 0);
      assert_true(memory >= room + offset + sizeof(void *));
      assert_true(memory + sizes[i] <= room + offset + asked_for);
      freed = NULL;
      byoc_memory_free(memory);
      assert_ptr_equal(freed, room + offset);
    }
  }
  byoc_memory_free(NULL);
}

static void memory_comes_in_whole_blocks(void **state) {
  (void)state;
  offset = 0;
  assert_non_null(byoc_memory_allocate(BYOC_BUFFER_ALIGNMENT));
  const size_t block = asked_for;
  for (uint64_t size = 1; size <= BYOC_BUFFER_ALIGNMENT; ++size) {
    assert_non_null(byoc_model_allocate(size));
    assert_int_equal(asked_for, block);
  }
  assert_null(byoc_model_allocate(UINT64_MAX));
  assert_null(byoc_memory_allocate(SIZE_MAX));
  assert_null(byoc_memory_allocate(ROOM));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_aligned_wherever_malloc_begins),
      cmocka_unit_test(memory_comes_in_whole_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
