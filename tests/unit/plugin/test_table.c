// SPDX-License-Identifier: Apache-2.0
// Tables as plugins: every allocation of theirs may fail, and a thousand of them leave nothing behind.
#include "tests/support/support.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/plugin/host.h"
#include "core/plugin/library.h"
#include "core/plugin/registry.h"
#include "core/plugin/table.h"

#define READER BYOC_TEST_BUILD_DIR "/table_reader.so"

static char *folder;

static void write_table(const char *name, const char *rule) {
  char path[1024], text[1024];
  byoc_diag_t diag = {0};
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  const int size = snprintf(text, sizeof(text),
                            "{\"target\": \"mine\", \"description\": \"one function\", \"library\": {\"needed\": "
                            "[\"libm.so.6\"], \"search\": [\"lib\"]}, \"rules\": [{\"name\": \"mine.relu\", "
                            "\"pattern\": \"relu:Relu(%%x)\", %s}]}",
                            rule);
  byoc_test_ok(byoc_file_write(path, text, (size_t)size, &diag), &diag);
}

static int setup(void **state) {
  (void)state;
  folder = byoc_test_folder();
  write_table("mine.json", "\"steps\": [{\"call\": \"sin\", \"arguments\": [\"&x\", \"&result\"]}]");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  free(folder);
  return 0;
}

static byoc_status_t find_and_load(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  const byoc_plugin_options_t options = {.environment = folder, .table_reader = READER};
  BYOC_RETURN_IF_ERROR(byoc_plugin_registry_create(&options, allocator, &diag, &registry));
  byoc_plugin_registry_read_tables(registry);
  const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, 0);
  // What is wrong is memory and nothing else.
  const bool is_loaded = entry->state == BYOC_PLUGIN_LOADED;
  if (!is_loaded && strstr(entry->reason, "memory") == NULL) fail_msg("%s", entry->reason);
  byoc_plugin_registry_destroy(registry);
  return is_loaded ? BYOC_OK : BYOC_OUT_OF_MEMORY;
}

static void test_out_of_memory(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(find_and_load, NULL, false);
}

// Good ones and those that are refused, whose reason is where the host found it.
static void test_a17_a_thousand_tables_are_flat(void **state) {
  (void)state;
  write_table("wrong.json", "\"steps\": [{\"call\": \"sin\", \"arguments\": [\"&y\"]}]");
  write_table("lacks.json", "\"steps\": [{\"call\": \"sine\", \"arguments\": [\"&x\"]}]");
  static const struct {
    const char *file, *reason;
  } tables[] = {{"mine.json", NULL},
                {"wrong.json", "rule 'mine.relu': step 1: argument 1: unknown value 'y'"},
                {"lacks.json", "runtime module 'mine' lists the symbol 'sine', but 'libm.so.6' does not define it"}};
  size_t used[3] = {0}; // at the beginning, in the middle and at the end
  enum { WARM_UP = 20, CYCLES = 1000 };
  for (int i = 0; i < WARM_UP + CYCLES; ++i) {
    if ((i - WARM_UP) % (CYCLES / 2) == 0) used[(i - WARM_UP) / (CYCLES / 2)] = mallinfo2().uordblks;
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, tables[i % 3].file);
    byoc_diag_t diag = {0};
    byoc_plugin_note_t note;
    byoc_plugin_library_t *library = NULL;
    bool has_note = false;
    byoc_test_ok(byoc_plugin_table_identity(path, &diag, &note, &has_note), &diag);
    byoc_status_t status = byoc_plugin_library_load_table(READER, path, &note, byoc_host_fill_tables,
                                                          byoc_allocator_system(), &diag, &library);
    if (tables[i % 3].reason == NULL) byoc_test_ok(status, &diag);
    if (tables[i % 3].reason != NULL) byoc_test_error(status, BYOC_INVALID_DATA, &diag, tables[i % 3].reason);
    byoc_plugin_library_release(library);
  }
#if !defined(BYOC_SANITIZED) // their allocator is not asked by mallinfo2
  // On a busy machine a thread that watches foreign code may begin on the way: once, while a leak would be in both
  // halves.
  used[2] = mallinfo2().uordblks;
  assert_true(used[1] <= used[0] + 2048 || used[2] <= used[1] + 2048);
#else
  (void)used;
#endif
}

// The reader takes part in no build by itself, and a table without a reader is refused.
static void test_reader(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  const char *const paths[] = {READER};
  const byoc_plugin_options_t alone = {.paths = paths, .path_count = 1, .environment = ""};
  byoc_test_ok(byoc_plugin_registry_create(&alone, byoc_allocator_system(), &diag, &registry), &diag);
  assert_int_equal(byoc_plugin_registry_load_all(registry), 1);
  assert_non_null(strstr(byoc_plugin_registry_at(registry, 0)->reason,
                         "this plugin makes backends of tables: pass the table, NAME.json, instead"));
  byoc_plugin_registry_destroy(registry);
  const byoc_plugin_options_t missing = {.environment = folder, .table_reader = "/nowhere/table_reader.so"};
  byoc_test_ok(byoc_plugin_registry_create(&missing, byoc_allocator_system(), &diag, &registry), &diag);
  byoc_plugin_registry_read_tables(registry);
  assert_non_null(strstr(byoc_plugin_registry_at(registry, 0)->reason,
                         "the reader of tables, '/nowhere/table_reader.so': there is no such file"));
  byoc_plugin_registry_destroy(registry);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  const struct CMUnitTest tests[] = {TEST(test_out_of_memory), TEST(test_a17_a_thousand_tables_are_flat),
                                     TEST(test_reader)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
