// SPDX-License-Identifier: Apache-2.0
// What is odd about a plugin's rules: patterns that are well-formed and yet can match no node.
#ifndef BYOC_CORE_PLUGIN_LINT_H_
#define BYOC_CORE_PLUGIN_LINT_H_

#include "byoc/plugin.h"
#include "core/base/allocator.h"

// Holds a rule against the operator table. Calls `report` with a sentence for each operator that does not exist, with
// the nearest name; for numbers of operands and results that no version of an operator has; and for tests of attributes
// that it does not have or that cannot have the value. The rule is one that was accepted. If out of memory, some
// sentences are left out.
void byoc_plugin_lint_rule(const byoc_rule_t *rule, byoc_allocator_t allocator,
                           void (*report)(void *self, const char *sentence), void *self);

#endif // BYOC_CORE_PLUGIN_LINT_H_
