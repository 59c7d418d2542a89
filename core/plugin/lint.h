// SPDX-License-Identifier: Apache-2.0
// Finds patterns of a plugin's rules that are well-formed but can match no node.
#ifndef BYOC_CORE_PLUGIN_LINT_H_
#define BYOC_CORE_PLUGIN_LINT_H_

#include "byoc/plugin.h"
#include "core/base/allocator.h"

// Compares an accepted rule with the operator table. Calls `report` with a message for each operator that does not
// exist, with the nearest name; for numbers of operands and results that no version of an operator has; and for tests
// of attributes that it does not have or that cannot have the value. If out of memory, some messages are left out.
void byoc_plugin_lint_rule(const byoc_rule_t *rule, byoc_allocator_t allocator,
                           void (*report)(void *self, const char *sentence), void *self);

#endif // BYOC_CORE_PLUGIN_LINT_H_
