// SPDX-License-Identifier: Apache-2.0
// The match that a rule's hook accepted, of several. Add(%a, %b) matches an addition in two ways, and a hook that looks
// at %b may decline the first and accept the second. The function that is made of the nodes has the number of the
// accepted match as its attribute Match (without it, the first), so that its backend gets the same bindings.
#ifndef BYOC_CORE_PLUGIN_ACCEPTED_MATCH_H_
#define BYOC_CORE_PLUGIN_ACCEPTED_MATCH_H_

#include "core/plugin/pattern.h"

// True if the same names are bound to the same nodes and values.
bool byoc_bindings_equal(const byoc_region_binding_t *a, size_t a_count, const byoc_region_binding_t *b,
                         size_t b_count);

// The number of a match among the ways in which the pattern matches exactly its nodes, in the order of the search.
// False if out of memory.
bool byoc_match_number(const byoc_pattern_t *pattern, const byoc_match_t *match, uint32_t *out_number);

// Matches at `root` as byoc_pattern_match does, in a function that was made of a match, with the accepted bindings. If
// the function has changed since, it uses the first match.
bool byoc_pattern_match_accepted(const byoc_pattern_t *pattern, const byoc_function_t *function, byoc_node_t *root,
                                 byoc_match_t *match, bool *out_failed);

#endif // BYOC_CORE_PLUGIN_ACCEPTED_MATCH_H_
