// Calls the accept hooks of rules.
#include "core/plugin/accept.h"

#include "core/plugin/hygiene.h"
#include "core/target/hook.h"

// A look at the whole process takes longer than most calls, so only some of a process's calls are looked at: the first
// ones, and fewer and fewer of the later ones.
static bool is_looked_at(void) {
  enum { FIRST_CALLS = 64 };
  static _Thread_local uint64_t calls;
  ++calls;
  return calls <= FIRST_CALLS || (calls & (calls - 1)) == 0;
}

static bool call(const byoc_rule_t *rule, byoc_region_t *region) {
  return rule->accept(region->target->kind->backend->self, region) != 0;
}

bool byoc_hook_accept(const byoc_rule_t *rule, byoc_region_t *region) {
  const byoc_foreign_t outer = byoc_hook_enter(region->target, "hook accept", "rule", rule->name);
  bool accepted = false;
  if (is_looked_at()) {
    byoc_hygiene_t before;
    byoc_hygiene_take(&before);
    accepted = call(rule, region);
    const char *changed = byoc_hygiene_changed(&before);
    if (changed != NULL) byoc_foreign_refuse(changed);
  } else {
    accepted = call(rule, region);
  }
  byoc_foreign_leave(&outer);
  return accepted;
}
