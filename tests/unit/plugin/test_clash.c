// SPDX-License-Identifier: Apache-2.0
// Row A3: the same name in the host and in two plugins stays three functions.
#include "core/plugin/registry.h"
#include "tests/support/support.h"

// The host's, which the plugins could see: this program exports its symbols (tests/plugins/CMakeLists.txt).
__attribute__((visibility("default"))) const char *clash_helper(void);
const char *clash_helper(void) {
  return "helper 0";
}

static void test_a3_functions_of_one_name_stay_three(void **state) {
  (void)state;
  const char *const paths[] = {BYOC_TEST_BUILD_DIR "/tests/plugins/good/demo_clash.so",
                               BYOC_TEST_BUILD_DIR "/tests/plugins/good/demo_clash_too.so"};
  static const char *const answers[] = {"helper 1", "helper 2"};
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  const byoc_plugin_options_t options = {.paths = paths, .path_count = 2, .environment = ""};
  byoc_test_ok(byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry), &diag);
  (void)byoc_plugin_registry_load_all(registry);
  for (size_t i = 0; i < 2; ++i) {
    const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, i);
    if (entry->state != BYOC_PLUGIN_LOADED) fail_msg("%s is refused: %s", entry->path, entry->reason);
    assert_string_equal(entry->kinds[0].description, answers[i]);
  }
  assert_string_equal(clash_helper(), "helper 0");
  byoc_plugin_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a3_functions_of_one_name_stay_three)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
