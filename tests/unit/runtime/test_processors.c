// SPDX-License-Identifier: Apache-2.0
// Processors by the quotas of control groups, read from made-up trees of both versions.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/runtime/pool.h"
#include "core/runtime/processors.h"

// A file of the tree, NULL-terminated lists of them, and what is expected.
typedef struct tree_file_t {
  const char *folder, *name, *text;
} tree_file_t;

typedef struct tree_t {
  const char *membership;
  tree_file_t files[5];
  int32_t expected;
} tree_t;

static int32_t count_in(const tree_t *tree) {
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_diag_t diag = {0};
  char *root = byoc_test_folder();
  for (const tree_file_t *file = tree->files; file->folder != NULL; ++file) {
    char folder[4096], path[4200];
    snprintf(folder, sizeof(folder), "%s/mounted/%s", root, file->folder);
    snprintf(path, sizeof(path), "%s/%s", folder, file->name);
    byoc_test_ok(byoc_make_directories(folder, &diag), &diag);
    byoc_test_ok(byoc_file_write(path, file->text, strlen(file->text), &diag), &diag);
  }
  char *mounted = byoc_path_join(allocator, root, "mounted"), *membership = byoc_path_join(allocator, root, "self");
  assert_true(mounted != NULL && membership != NULL);
  byoc_test_ok(byoc_file_write(membership, tree->membership, strlen(tree->membership), &diag), &diag);
  int32_t count = byoc_model_quota_processors(mounted, membership);
  byoc_free(allocator, mounted);
  byoc_free(allocator, membership);
  byoc_test_ok(byoc_remove_tree(root, &diag), &diag);
  free(root);
  return count;
}

static void test_quotas(void **state) {
  (void)state;
  static const tree_t trees[] = {
      // Version 2.
      {"0::/a/b\n", {{"a/b", "cpu.max", "max 100000\n"}}, 0},
      {"0::/a/b\n", {{"a/b", "cpu.max", "200000 100000\n"}}, 2},
      {"0::/a/b\n", {{"a/b", "cpu.max", "200001 100000\n"}}, 3}, // rounded up
      {"0::/a/b\n", {{"a/b", "cpu.max", "1000 100000\n"}}, 1},
      {"0::/a/b\n", {{"a/b", "cpu.max", "400000 100000\n"}, {"a", "cpu.max", "150000 50000\n"}}, 3}, // the one above
      {"0::/a/b\n", {{"a/b", "cpu.max", "100000 100000\n"}, {"a", "cpu.max", "max 50000\n"}}, 1},
      {"0::/\n", {{"", "cpu.max", "100000 100000\n"}}, 1},          // a container's own view
      {"0::/host/name\n", {{"", "cpu.max", "500000 100000\n"}}, 5}, // a group that is not mounted here
      {"0::/../../x\n", {{"", "cpu.max", "500000 100000\n"}}, 5},   // outside the namespace
      {"0::/a\n", {{"a", "cpu.max", "9223372036854775807 1\n"}}, BYOC_MODEL_MAX_THREADS},
      {"0::/a\n", {{"a", "cpu.max", "100000\n"}}, 0}, // damaged
      {"0::/a\n", {{"a", "cpu.max", "-1 -1\n"}}, 0},
      {"0::/a\n", {{"a", "cpu.max", "100000 0\n"}}, 0},
      {"", {{"", "cpu.max", "100000 100000\n"}}, 0},
      {"nothing\n\n:\n", {{"", "cpu.max", "100000 100000\n"}}, 0},
      // Version 1.
      {"5:memory:/a\n4:cpu,cpuacct:/a\n",
       {{"cpu,cpuacct/a", "cpu.cfs_quota_us", "250000\n"}, {"cpu,cpuacct/a", "cpu.cfs_period_us", "100000\n"}},
       3},
      {"4:cpuacct,cpu:/a\n",
       {{"cpu/a", "cpu.cfs_quota_us", "100000\n"}, {"cpu/a", "cpu.cfs_period_us", "100000\n"}},
       1},
      {"4:cpu:/a\n",
       {{"cpu/a", "cpu.cfs_quota_us", "-1\n"},
        {"cpu/a", "cpu.cfs_period_us", "100000\n"},
        {"cpu", "cpu.cfs_quota_us", "400000\n"},
        {"cpu", "cpu.cfs_period_us", "100000\n"}},
       4},
      {"4:cpuset:/a\n",
       {{"cpuset/a", "cpu.cfs_quota_us", "100000\n"}, {"cpuset/a", "cpu.cfs_period_us", "100000\n"}},
       0},
      {"4:cpu:/a\n", {{"cpu/a", "cpu.cfs_quota_us", "100000\n"}}, 0}, // no period
  };
  for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); ++i) {
    int32_t count = count_in(&trees[i]);
    if (count != trees[i].expected) fail_msg("tree %zu: %d, expected %d", i, (int)count, (int)trees[i].expected);
  }
}

static void test_no_control_groups(void **state) {
  (void)state;
  assert_int_equal(byoc_model_quota_processors("/no/such/folder", "/no/such/file"), 0);
  assert_in_range(byoc_model_processor_count(), 1, BYOC_MODEL_MAX_THREADS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quotas),
      cmocka_unit_test(test_no_control_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
