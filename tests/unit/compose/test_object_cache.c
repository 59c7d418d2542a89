// SPDX-License-Identifier: Apache-2.0
// Compiled objects on disk: what is stored comes back, damage is noticed, and the cache does not grow without limit.
#include "tests/support/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/string.h"
#include "core/compose/cc/object_cache.h"

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
static const byoc_digest_t *key(uint64_t number) {
  static byoc_digest_t digest;
  digest = (byoc_digest_t){.bytes = {0xab, 1, (uint8_t)number}};
  return &digest;
}

static void entry_path(uint64_t number, char path[4096]) {
  char digits[65];
  byoc_digest_format(key(number), digits);
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

// The entry of another key in this one's place.
static void test_notices_another_entry(void **state) {
  (void)state;
  char from[4096], to[4096];
  byoc_object_cache_put(key(1), object, sizeof(object));
  byoc_object_cache_put(key(2), object, sizeof(object));
  entry_path(1, from);
  entry_path(2, to);
  assert_int_equal(rename(from, to), 0);
  assert_false(is_there(2));
  assert_false(byoc_file_exists(to));
}

// What somebody else could have written.
static void test_refuses_what_others_can_write(void **state) {
  (void)state;
  char path[4096], parent[4096];
  entry_path(1, path);
  byoc_object_cache_put(key(1), object, sizeof(object));
  assert_true(is_there(1));
  assert_int_equal(chmod(path, 0666), 0);
  assert_false(is_there(1));
  assert_false(byoc_file_exists(path));

  byoc_object_cache_put(key(1), object, sizeof(object));
  snprintf(parent, sizeof(parent), "%s/objects", folder);
  assert_int_equal(chmod(parent, 0777), 0);
  assert_false(is_there(1));
  assert_int_equal(chmod(parent, 0700), 0);

  byoc_object_cache_put(key(1), object, sizeof(object));
  char aside[4200];
  snprintf(aside, sizeof(aside), "%s.aside", path);
  assert_int_equal(rename(path, aside), 0);
  assert_int_equal(symlink(aside, path), 0);
  assert_false(is_there(1));
  if (geteuid() != 0) return;
  byoc_object_cache_put(key(1), object, sizeof(object));
  assert_int_equal(chown(path, 65533, 65533), 0);
  assert_false(is_there(1));
}

// A folder in which others can plant entries is not used as a cache, whoever named it.
static void test_refuses_a_folder_of_others(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *found = NULL, *temporary = byoc_test_folder();
  assert_int_equal(setenv("TMPDIR", temporary, 1), 0);
  byoc_test_ok(byoc_cache_directory(byoc_allocator_system(), &diag, &found), &diag);
  assert_string_equal(found, folder);
  free(found);
  assert_int_equal(chmod(folder, 0777), 0);
  byoc_test_ok(byoc_cache_directory(byoc_allocator_system(), &diag, &found), &diag);
  assert_true(byoc_starts_with(found, temporary));
  free(found);
  // Made under any umask, it is this user's alone.
  char made[4096];
  snprintf(made, sizeof(made), "%s/byoc-test", temporary);
  assert_int_equal(setenv("BYOC_CACHE_DIR", made, 1), 0);
  mode_t mask = umask(0);
  byoc_test_ok(byoc_cache_directory(byoc_allocator_system(), &diag, &found), &diag);
  (void)umask(mask);
  assert_string_equal(found, made);
  free(found);
  // And one in a folder of somebody else's is not.
  if (geteuid() == 0) {
    assert_int_equal(chown(temporary, 65533, 65533), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    byoc_test_ok(byoc_cache_directory(byoc_allocator_system(), &diag, &found), &diag);
    assert_string_not_equal(found, made);
    free(found);
  }
  assert_int_equal(unsetenv("TMPDIR"), 0);
  byoc_test_ok(byoc_remove_tree(temporary, &diag), &diag);
  free(temporary);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_keeps_what_was_used_last, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_notices_damage, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_notices_another_entry, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refuses_what_others_can_write, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refuses_a_folder_of_others, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
