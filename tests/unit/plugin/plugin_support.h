// SPDX-License-Identifier: Apache-2.0
// The plugins of a folder and the kinds of their targets, for a group of tests.
#ifndef BYOC_TESTS_UNIT_PLUGIN_PLUGIN_SUPPORT_H_
#define BYOC_TESTS_UNIT_PLUGIN_PLUGIN_SUPPORT_H_

#include "core/plugin/registry.h"
#include "tests/support/support.h"

static byoc_plugin_registry_t *registry;
static byoc_target_registry_t kinds;

static inline int open_registry(const char *folder) {
  const byoc_plugin_options_t options = {.environment = folder};
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry), &diag);
  kinds = byoc_plugin_registry_targets(registry);
  return 0;
}

static inline int close_registry(void **state) {
  (void)state;
  byoc_plugin_registry_destroy(registry);
  return 0;
}

#endif // BYOC_TESTS_UNIT_PLUGIN_PLUGIN_SUPPORT_H_
