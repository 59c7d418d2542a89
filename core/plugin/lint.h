// SPDX-License-Identifier: Apache-2.0
// Finds patterns of a plugin's rules that are well-formed but can match no node.
#ifndef BYOC_CORE_PLUGIN_LINT_H_
#define BYOC_CORE_PLUGIN_LINT_H_

#include "byoc/plugin.h"
#include "core/base/allocator.h"

// Compares an accepted rule with the operator table. Calls `report` with a message for each fault. An operator may not
// exist: the message has the nearest name. No version of an operator may have that number of operands or results. A
// tested attribute may not exist, or may not have that value. If out of memory, some messages are left out.
void byoc_plugin_lint_rule(const byoc_rule_t *rule, byoc_allocator_t allocator,
                           void (*report)(void *self, const char *message), void *self);

// The element types that the rule's pattern names, a bit for each; 0: it names none.
uint64_t byoc_rule_element_types(const byoc_rule_t *rule);

#endif // BYOC_CORE_PLUGIN_LINT_H_
