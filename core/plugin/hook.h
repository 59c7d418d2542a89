// What a plugin's hook may not do: end the process. A plugin that calls exit() in a hook would end byoc silently and
// with its own exit code; while a hook runs, exit() prints which one it was and ends the process with code 1.
#ifndef BYOC_CORE_PLUGIN_HOOK_H_
#define BYOC_CORE_PLUGIN_HOOK_H_

#include "core/plugin/region.h"
#include "core/target/target.h"

typedef struct byoc_hook_t {
  const byoc_target_t *target;
  const char *name;     // "generate"; NULL: no hook runs
  const char *function; // what it works on; NULL: no single function
} byoc_hook_t;

// Notes that this thread enters a hook. Returns what it was in before, for byoc_hook_leave.
byoc_hook_t byoc_hook_enter(const byoc_target_t *target, const char *name, const char *function);
void byoc_hook_leave(const byoc_hook_t *outer);

// Calls the rule's accept hook, which is there, for the region.
bool byoc_hook_accept(const byoc_rule_t *rule, byoc_region_t *region);

#endif // BYOC_CORE_PLUGIN_HOOK_H_
