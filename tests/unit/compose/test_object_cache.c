// Compiled objects on disk: what is stored comes back, damage is noticed, and the cache does not grow for ever.
#include "tests/support/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/compose/object_cache.h"

enum { OBJECT_BYTES = 1 << 20 };
static uint8_t object[OBJECT_BYTES];
static char *folder;

static int set_up(void **state) {
  (void)state;
  folder = byoc_test_folder();
  for (size_t i = 0; i < sizeof(object); ++i) object[i] = (uint8_t)(i * 7);
  return setenv("BYOC_CACHE_DIR", folder, 1);
}

static int tear_down(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  free(folder);
  return unsetenv("BYOC_CACHE_DIR");
}

// Keys whose first digits, and so the folder, are the same.
static byoc_content_hash_t key(uint64_t number) {
  return (byoc_content_hash_t){.low = number, .high = UINT64_C(0xab) << 56};
}

static void entry_path(uint64_t number, char path[4096]) {
  char digits[33];
  byoc_content_hash_format(key(number), digits);
  snprintf(path, 4096, "%s/objects/%.2s/%s", folder, digits, digits + 2);
}

// Pretends that an object was last used so many seconds ago.
static void set_age(uint64_t number, time_t age_s) {
  char path[4096];
  entry_path(number, path);
  struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool is_there(uint64_t number) {
  void *found = NULL;
  size_t size = 0;
  bool there = byoc_object_cache_get(key(number), byoc_allocator_system(), &found, &size);
  if (there) {
    assert_int_equal(size, sizeof(object));
    assert_memory_equal(found, object, sizeof(object));
  }
  byoc_free(byoc_allocator_system(), found);
  return there;
}

static void test_keeps_what_was_used_last(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 3; ++i) {
    byoc_object_cache_put(key(i), object, sizeof(object));
    set_age(i, 1000 - (time_t)i);
  }
  assert_true(is_there(0)); // which makes it the youngest
  byoc_object_cache_put(key(3), object, sizeof(object));
  assert_false(is_there(1)); // four of them and their headers are beyond the limit
  assert_true(is_there(0));
  assert_true(is_there(2));
  assert_true(is_there(3));
}

static void test_notices_damage(void **state) {
  (void)state;
  char path[4096];
  byoc_object_cache_put(key(1), object, sizeof(object));
  entry_path(1, path);
  assert_int_equal(truncate(path, OBJECT_BYTES / 2), 0);
  assert_false(is_there(1));
  assert_false(byoc_file_exists(path));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_keeps_what_was_used_last, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_notices_damage, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
