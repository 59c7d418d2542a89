// SPDX-License-Identifier: Apache-2.0
// Calls the accept hooks of rules.
#include "core/plugin/accept.h"

#include "core/base/hash.h"
#include "core/plugin/hygiene.h"
#include "core/targets/hook.h"

// To check the whole process takes longer than most calls. So only some of a process's calls are checked: the first
// ones, and fewer and fewer of the later ones.
static bool is_looked_at(void) {
  enum { FIRST_CALLS = 64 };
  static _Thread_local uint64_t calls;
  ++calls;
  return calls <= FIRST_CALLS || (calls & (calls - 1)) == 0;
}

static bool call(const byoc_rule_t *rule, byoc_region_t *region) {
  const int32_t answer = rule->accept(region->target->kind->backend->self, region);
  // The hook may have returned a status, which means the opposite.
  if (answer != 0 && answer != 1) byoc_foreign_refuse("answered neither 1 nor 0");
  return answer != 0;
}

// Frees the strings that the hook was lent.
static uint64_t hash_texts(const byoc_region_t *region) {
  uint64_t hash = 0;
  for (size_t i = 0; i < region->node_count; ++i) {
    const byoc_node_t *node = region->nodes[i];
    const char *const texts[] = {node->op, node->domain, node->name};
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); ++t) {
      if (texts[t] != NULL) hash = byoc_hash_combine(hash, byoc_hash_string(texts[t]));
    }
  }
  return hash;
}

bool byoc_hook_accept(const byoc_rule_t *rule, byoc_region_t *region) {
  const byoc_foreign_t outer = byoc_hook_enter(region->target, "hook accept", "rule", rule->name);
  bool accepted = false;
  if (is_looked_at()) {
    byoc_hygiene_t before;
    byoc_hygiene_take(&before);
    const uint64_t texts = hash_texts(region);
    accepted = call(rule, region);
    const char *changed = byoc_hygiene_changed(&before);
    if (changed == NULL && hash_texts(region) != texts) changed = "changed strings that it was lent";
    if (changed != NULL) byoc_foreign_refuse(changed);
  } else {
    accepted = call(rule, region);
  }
  byoc_foreign_leave(&outer);
  return accepted;
}
