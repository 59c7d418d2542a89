// SPDX-License-Identifier: Apache-2.0
// Watches the hooks of a plugin: copies of its backends whose hooks tell before they run and after.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_HOOKS_H_
#define BYOC_TOOLS_PLUGIN_CHECK_HOOKS_H_

#include "tools/plugin_check/check.h"

typedef struct hook_watch_t {
  void *self;
  // `hook`: "the hook accept of the rule 'demo.relu'". Either may be NULL.
  void (*enter)(void *self, const char *hook);
  void (*leave)(void *self, const char *hook);
  // Answers instead of accept, if it returns true. NULL: the plugin does.
  bool (*answer)(void *self, int32_t *out_accepted);
  // Is told what accept of the plugin answered; `hook` as above. May be NULL.
  void (*answered)(void *self, const char *hook, int32_t accepted);
  // Is told what the hook relative_error of the plugin returned. May be NULL.
  void (*stated_error)(void *self, const char *hook, double error);
} hook_watch_t;

// Target kinds of the loaded plugin with watched hooks, and the other kinds as they are. They live until the rule ends,
// and so must `watch`. Names what runs by check_doing.
byoc_target_registry_t hooks_watched(check_t *check, const hook_watch_t *watch);

#endif // BYOC_TOOLS_PLUGIN_CHECK_HOOKS_H_
