// Several files that appear together or not at all.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_set.h"

static int setup(void **state) {
  *state = byoc_test_folder();
  return chdir(*state);
}

static int teardown(void **state) {
  byoc_diag_t diag = {0};
  assert_int_equal(chdir("/"), 0);
  byoc_test_ok(byoc_remove_tree(*state, &diag), &diag);
  free(*state);
  return 0;
}

static void put(const char *path, const char *text) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(path, text, strlen(text), &diag), &diag);
}

static void add(byoc_file_set_t *set, const char *path, const char *text) {
  byoc_diag_t diag = {0};
  const byoc_bytes_t bytes = {.data = text, .size_bytes = strlen(text)};
  byoc_test_ok(byoc_file_set_add(set, path, &bytes, 1, 0644, &diag), &diag);
}

static void expect(const char *path, const char *expected) {
  byoc_diag_t diag = {0};
  char *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &data, &size), &diag);
  assert_string_equal(data, expected);
  byoc_free(byoc_allocator_system(), data);
}

static void all_appear(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_set_t set = {0};
  put("a", "old a");
  put("linked", "new c");
  assert_int_equal(symlink("a", "link"), 0);
  add(&set, "link", "new a");
  add(&set, "b", "new b");
  byoc_test_ok(byoc_file_set_add_file(&set, "linked", "c", 0755, &diag), &diag);
  expect("a", "old a"); // not before the commit
  assert_false(byoc_file_exists("b"));
  byoc_test_ok(byoc_file_set_commit(&set, &diag), &diag);
  byoc_file_set_abandon(&set);
  expect("a", "new a");
  expect("b", "new b");
  expect("c", "new c");
  struct stat info;
  assert_true(lstat("link", &info) == 0 && S_ISLNK(info.st_mode));
  assert_true(stat("c", &info) == 0 && (info.st_mode & 0100) != 0);
  assert_int_equal(byoc_test_count_entries("."), 4); // a, b, c, link
}

static void none_is_left_of_an_abandoned_set(void **state) {
  (void)state;
  byoc_file_set_t set = {0};
  put("a", "old a");
  add(&set, "a", "new a");
  add(&set, "b", "new b");
  byoc_file_set_abandon(&set);
  byoc_file_set_abandon(&set);
  expect("a", "old a");
  assert_int_equal(byoc_test_count_entries("."), 1);
}

// The third place becomes a folder after the files were added: what was put in place before is taken back.
static void a_failing_commit_changes_nothing(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_set_t set = {0};
  put("a", "old a");
  add(&set, "a", "new a");
  add(&set, "b", "new b");
  add(&set, "c", "new c");
  add(&set, "d", "new d");
  assert_int_equal(mkdir("c", 0755), 0);
  byoc_test_error(byoc_file_set_commit(&set, &diag), BYOC_IO, &diag, "cannot write 'c'");
  byoc_file_set_abandon(&set);
  expect("a", "old a");
  assert_int_equal(byoc_test_count_entries("."), 2); // a, and the folder c
  assert_int_equal(byoc_test_count_entries("c"), 0);
}

static void a_failing_addition_leaves_the_rest(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_set_t set = {0};
  const byoc_bytes_t bytes = {.data = "x", .size_bytes = 1};
  add(&set, "a", "new a");
  byoc_test_error(byoc_file_set_add(&set, "none/b", &bytes, 1, 0644, &diag), BYOC_NOT_FOUND, &diag, "none/b");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_file_set_add_file(&set, "missing", "b", 0644, &diag), BYOC_NOT_FOUND, &diag, "missing");
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_file_set_add(&set, "/dev/null", &bytes, 1, 0644, &diag), &diag);
  byoc_test_ok(byoc_file_set_commit(&set, &diag), &diag);
  expect("a", "new a");
  assert_int_equal(byoc_test_count_entries("."), 1);
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      in_a_folder(all_appear),
      in_a_folder(none_is_left_of_an_abandoned_set),
      in_a_folder(a_failing_commit_changes_nothing),
      in_a_folder(a_failing_addition_leaves_the_rest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
