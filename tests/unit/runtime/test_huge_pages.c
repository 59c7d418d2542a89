// SPDX-License-Identifier: Apache-2.0
// Constants on huge pages: the same bytes at the same addresses, still read-only.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/runtime/huge_pages.h"

enum { MEBIBYTE = 1 << 20, FILE_BYTES = 9 * MEBIBYTE };

static uint8_t byte_at(size_t i) {
  return (uint8_t)(i * 31 + (i >> 12));
}

// A read-only mapping of a file, like an artifact's constants.
static const uint8_t *map_file(void) {
  FILE *file = tmpfile();
  assert_non_null(file);
  uint8_t *bytes = malloc(FILE_BYTES);
  assert_non_null(bytes);
  for (size_t i = 0; i < FILE_BYTES; ++i) bytes[i] = byte_at(i);
  assert_int_equal(fwrite(bytes, 1, FILE_BYTES, file), FILE_BYTES);
  assert_int_equal(fflush(file), 0);
  free(bytes);
  const void *data = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  assert_true(data != MAP_FAILED);
  assert_int_equal(fclose(file), 0);
  return data;
}

static bool is_same(const uint8_t *data) {
  for (size_t i = 0; i < FILE_BYTES; ++i) {
    if (data[i] != byte_at(i)) return false;
  }
  return true;
}

// The permissions of the mapping at an address, "r--p", and whether it is backed by a file.
static void describe_mapping(const uint8_t *address, char permissions[8], bool *out_has_file) {
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  permissions[0] = '\0';
  while (fgets(line, sizeof(line), maps) != NULL) {
    unsigned long begin = 0, end = 0, inode = 0;
    char found[8];
    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &begin, &end, found, &inode) != 4) continue;
    if ((uintptr_t)address < begin || (uintptr_t)address >= end) continue;
    memcpy(permissions, found, sizeof(found));
    *out_has_file = inode != 0;
  }
  assert_int_equal(fclose(maps), 0);
}

static void test_moves_whole_pages(void **state) {
  (void)state;
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
    byoc_test_skip("this kernel has no transparent huge pages");
  const uint8_t *data = map_file();
  assert_true(byoc_model_move_to_huge_pages(data, FILE_BYTES));
  assert_true(is_same(data));
  char permissions[8];
  bool has_file = true;
  describe_mapping(data + FILE_BYTES / 2, permissions, &has_file);
  assert_string_equal(permissions, "r--p");
  assert_false(has_file);
  assert_int_equal(munmap((void *)(uintptr_t)data, FILE_BYTES), 0);
}

static void test_leaves_small_ranges_alone(void **state) {
  (void)state;
  const uint8_t *data = map_file();
  assert_false(byoc_model_move_to_huge_pages(data, 0));
  assert_false(byoc_model_move_to_huge_pages(data + 64, 2 * MEBIBYTE - 64));
  assert_true(is_same(data));
  char permissions[8];
  bool has_file = false;
  describe_mapping(data, permissions, &has_file);
  assert_true(has_file);
  assert_int_equal(munmap((void *)(uintptr_t)data, FILE_BYTES), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_moves_whole_pages),
      cmocka_unit_test(test_leaves_small_ranges_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
