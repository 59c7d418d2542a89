// SPDX-License-Identifier: Apache-2.0
// Memory that lies in a file: what is in it stays when its pages leave, and nothing of it stays on the disk.
#include "core/base/file_memory.h"
#include "tests/support/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE_BYTES ((size_t)32 << 20)

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void test_forgotten_pages_come_back(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_memory_t *memory = NULL;
  void *first = NULL, *second = NULL;
  uint64_t offset = 1;
  byoc_test_ok(byoc_file_memory_create(NULL, byoc_allocator_system(), &diag, &memory), &diag);
  byoc_test_ok(byoc_file_memory_take(memory, LARGE_BYTES, &diag, &first, &offset), &diag);
  assert_int_equal(offset, 0);
  byoc_test_ok(byoc_file_memory_take(memory, 3, &diag, &second, &offset), &diag);
  assert_int_equal(offset, LARGE_BYTES);
  const uint8_t *bytes = first;
  assert_int_equal(bytes[LARGE_BYTES - 1], 0);
  memset(first, 7, LARGE_BYTES);
  memcpy(second, "abc", 3);
  const long before = resident_kib();
  byoc_file_memory_forget(memory);
  assert_true(resident_kib() < before - (long)(LARGE_BYTES / 1024) * 3 / 4);
  for (size_t i = 0; i < LARGE_BYTES; i += 4096) assert_int_equal(bytes[i], 7);
  assert_memory_equal(second, "abc", 3);
  byoc_file_memory_give_back(memory, first);
  assert_memory_equal(second, "abc", 3);
  byoc_file_memory_give_back(memory, &diag); // not of this memory

  // It ends with the last who holds it.
  byoc_file_memory_retain(memory);
  byoc_file_memory_release(memory);
  assert_memory_equal(second, "abc", 3);
  byoc_file_memory_release(memory);
  byoc_file_memory_release(NULL);
  byoc_test_shell(0, "ls -A | wc -l");
  byoc_test_printed("0\n");
}

static void test_memory_lies_in_a_file_of_the_caller(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_memory_t *memory = NULL;
  void *data = NULL;
  uint64_t offset = 0;
  byoc_test_ok(byoc_file_memory_create("kept", byoc_allocator_system(), &diag, &memory), &diag);
  byoc_test_ok(byoc_file_memory_take(memory, 5, &diag, &data, NULL), &diag);
  memcpy(data, "first", 5);
  byoc_test_ok(byoc_file_memory_take(memory, 6, &diag, &data, &offset), &diag);
  memcpy(data, "second", 6);
  byoc_file_memory_release(memory);
  byoc_test_shell(0, "head -c 5 kept; tail -c +%llu kept; rm kept", (unsigned long long)offset + 1);
  byoc_test_printed("firstsecond");
}

static void test_a_missing_temporary_folder_is_named(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_memory_t *memory = NULL;
  char *former = byoc_copy_string(byoc_allocator_system(), getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "");
  assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
  byoc_test_error(byoc_file_memory_create(NULL, byoc_allocator_system(), &diag, &memory), BYOC_NOT_FOUND, &diag,
                  "/nowhere");
  assert_null(memory);
  assert_int_equal(former[0] != '\0' ? setenv("TMPDIR", former, 1) : unsetenv("TMPDIR"), 0);
  byoc_free(byoc_allocator_system(), former);
  diag = (byoc_diag_t){0};
  assert_int_not_equal(byoc_file_memory_create("no/folder", byoc_allocator_system(), &diag, &memory), BYOC_OK);
  // More than any disk has.
  void *data = NULL;
  diag = (byoc_diag_t){0};
  byoc_test_ok(byoc_file_memory_create(NULL, byoc_allocator_system(), &diag, &memory), &diag);
  assert_int_not_equal(byoc_file_memory_take(memory, (size_t)1 << 60, &diag, &data, NULL), BYOC_OK);
  assert_null(data);
  byoc_file_memory_release(memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forgotten_pages_come_back),
      cmocka_unit_test(test_memory_lies_in_a_file_of_the_caller),
      cmocka_unit_test(test_a_missing_temporary_folder_is_named),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
