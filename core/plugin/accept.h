// SPDX-License-Identifier: Apache-2.0
// Asks whether a target claims the match of one of its rules.
#ifndef BYOC_CORE_PLUGIN_ACCEPT_H_
#define BYOC_CORE_PLUGIN_ACCEPT_H_

#include "core/plugin/region.h"
#include "core/targets/target.h"

// Calls the rule's accept hook, which is not NULL, for the region.
bool byoc_hook_accept(const byoc_rule_t *rule, byoc_region_t *region);

#endif // BYOC_CORE_PLUGIN_ACCEPT_H_
