// SPDX-License-Identifier: Apache-2.0
// Models that others made: the ONNX project's conformance cases, and those in ../shared/models. None may crash the
// reader; a model that is refused must be refused with a reason.
#include "tests/unit/frontend/frontend_support.h"

#include <stdlib.h>

#include "core/base/file.h"
#include "tests/support/graph.h"

typedef struct tally_t {
  size_t read, unsupported, invalid, other;
} tally_t;

static void read_one(const char *path, tally_t *tally) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  const byoc_status_t status = byoc_onnx_read_file(path, NULL, byoc_allocator_system(), &diag, &module);
  if (status == BYOC_OK) {
    tally->read++;
    // Every module that the reader makes prints and parses back.
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_graph_print(module, NULL, &text);
    byoc_graph_module_t *parsed;
    byoc_diag_t parse_diag = {0};
    byoc_test_ok(byoc_graph_parse(text.data, path, byoc_allocator_system(), &parse_diag, &parsed), &parse_diag);
    if (!byoc_test_modules_equal(module, parsed)) fail_msg("%s: its text has changed", path);
    byoc_graph_module_destroy(parsed);
    byoc_string_deinit(&text);
  } else {
    char words[4096];
    byoc_diag_format(&diag, words, sizeof(words));
    assert_int_equal(diag.status, status);
    assert_non_null(strstr(words, path));
    if (status == BYOC_UNSUPPORTED) {
      tally->unsupported++;
    } else {
      tally->invalid += status == BYOC_INVALID_DATA;
      tally->other += status != BYOC_INVALID_DATA;
      print_message("%s\n", words);
    }
  }
  byoc_graph_module_destroy(module);
}

// Visits every file *.onnx below `folder`, two folders deep.
static void read_below(const char *folder, int depth, tally_t *tally) {
  byoc_diag_t diag = {0};
  char **names;
  size_t count;
  byoc_test_ok(byoc_list_directory(folder, byoc_allocator_system(), &diag, &names, &count), &diag);
  for (size_t i = 0; i < count; i++) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
    if (byoc_ends_with(names[i], ".onnx")) {
      read_one(path, tally);
    } else if (depth > 0 && byoc_is_directory(path)) {
      read_below(path, depth - 1, tally);
    }
  }
  byoc_free_names(byoc_allocator_system(), names, count);
}

static void reads_conformance_models(void **state) {
  (void)state;
  static const char folder[] = "/usr/share/libonnx-testdata/data";
  if (!byoc_is_directory(folder)) {
    byoc_test_skip("there is no folder %s (Debian package libonnx-testdata)", folder);
  }
  tally_t tally = {0};
  read_below(folder, 2, &tally);
  const size_t count = tally.read + tally.unsupported + tally.invalid + tally.other;
  print_message("%zu conformance models: %zu read, %zu not supported, %zu refused as invalid, %zu others\n", count,
                tally.read, tally.unsupported, tally.invalid, tally.other);
  assert_in_range(count, 1000, 100000);
  assert_in_range(tally.read, 1, count);
  assert_int_equal(tally.invalid, 0); // they are all sound
  assert_int_equal(tally.other, 0);
}

static void reads_lent_models(void **state) {
  (void)state;
  const char *folder = BYOC_TEST_SOURCE_DIR "/../shared/models";
  if (!byoc_is_directory(folder)) {
    byoc_test_skip("there is no folder ../shared/models");
  }
  tally_t tally = {0};
  read_below(folder, 1, &tally);
  print_message("%zu lent models read\n", tally.read);
  assert_int_equal(tally.unsupported + tally.invalid + tally.other, 0);
  assert_in_range(tally.read, 7, 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_conformance_models),
      cmocka_unit_test(reads_lent_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
