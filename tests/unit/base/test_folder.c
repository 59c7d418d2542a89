// SPDX-License-Identifier: Apache-2.0
// Folders that appear whole: new ones, ones that replace others, and failures that leave nothing behind.
#include "core/base/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/support/support.h"

static char *root; // fresh for every test

static int setup(void **state) {
  (void)state;
  root = byoc_test_folder();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  byoc_test_ok(byoc_remove_tree(root, NULL), NULL);
  free(root);
  return 0;
}

static const char *in_root(const char *name) {
  static char paths[4][600];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
  return path;
}

// Makes a folder that holds one file of this name, and puts it at "there".
static void install(const char *file) {
  byoc_diag_t diag = {0};
  char *folder = NULL, path[700];
  byoc_test_ok(byoc_folder_begin(in_root("there"), byoc_allocator_system(), &diag, &folder), &diag);
  assert_true(byoc_is_directory(folder));
  snprintf(path, sizeof(path), "%s/%s", folder, file);
  byoc_test_ok(byoc_file_write(path, "x", 1, &diag), &diag);
  byoc_test_ok(byoc_folder_install(folder, in_root("there"), &diag), &diag);
  assert_false(byoc_file_exists(folder));
  free(folder);
}

static void test_folders_appear_whole(void **state) {
  (void)state;
  install("one");
  assert_true(byoc_file_exists(in_root("there/one")));
  install("two");
  assert_true(byoc_file_exists(in_root("there/two")));
  assert_false(byoc_file_exists(in_root("there/one")));
  assert_int_equal(byoc_test_count_entries(root), 1);
}

static void test_folders_obey_the_umask(void **state) {
  (void)state;
  const mode_t before = umask(027);
  install("one");
  (void)umask(before);
  struct stat info;
  assert_int_equal(stat(in_root("there"), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0750);
}

// Two at once have names of their own.
static void test_two_folders_at_once_have_names_of_their_own(void **state) {
  (void)state;
  char *first = NULL, *second = NULL;
  byoc_test_ok(byoc_folder_begin(in_root("there"), byoc_allocator_system(), NULL, &first), NULL);
  byoc_test_ok(byoc_folder_begin(in_root("there"), byoc_allocator_system(), NULL, &second), NULL);
  assert_string_not_equal(first, second);
  byoc_test_ok(byoc_remove_tree(first, NULL), NULL);
  byoc_test_ok(byoc_folder_install(second, in_root("there"), NULL), NULL);
  assert_int_equal(byoc_test_count_entries(root), 1);
  free(second);
  free(first);
}

static void test_folders_that_cannot_be_made_are_refused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = NULL;
  assert_int_not_equal(byoc_folder_begin(in_root("absent/there"), byoc_allocator_system(), &diag, &folder), BYOC_OK);
  assert_null(folder);
  assert_non_null(strstr(diag.message, "absent"));
  assert_int_not_equal(byoc_folder_install(in_root("nowhere"), in_root("there"), &diag), BYOC_OK);
  assert_false(byoc_file_exists(in_root("there")));
}

static byoc_status_t begin_and_remove(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  char *folder = NULL;
  byoc_status_t status = byoc_folder_begin(in_root("there"), allocator, NULL, &folder);
  if (folder != NULL) (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, folder);
  return status;
}

static void test_failed_allocations_leave_no_folder(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(begin_and_remove, NULL, false);
  assert_int_equal(byoc_test_count_entries(root), 0);
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      in_a_folder(test_folders_appear_whole),
      in_a_folder(test_folders_obey_the_umask),
      in_a_folder(test_two_folders_at_once_have_names_of_their_own),
      in_a_folder(test_folders_that_cannot_be_made_are_refused),
      in_a_folder(test_failed_allocations_leave_no_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
