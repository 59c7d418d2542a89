// SPDX-License-Identifier: Apache-2.0
// Rules of a table: the meaning of their steps (docs/tables.md lists the fields).
//
// One walk serves three purposes, so that they cannot drift apart: checking a table when it is loaded (no region),
// deciding about a match (a region), and rewriting a function (a region and a rewrite).
#ifndef BYOC_SHIM_RULE_H_
#define BYOC_SHIM_RULE_H_

#include "expr.h"

// The place in front of which steps put their operators.
typedef struct byoc_shim_rewrite_t {
  byoc_codegen_t *codegen;
  byoc_function_t *function;
  byoc_node_t *root; // of the match; operators go in front of it, the rule's result takes its result's place
} byoc_shim_rewrite_t;

// Walks `rule`, of a table for `target`. Returns false with scope->error if the table is wrong or the rule
// declines the match (`where`); with an empty error, the host refused an edit and has reported why. The caller sets
// scope->host and ->region; `rewrite` may be NULL, and is for a rule with steps (packed.h has the others).
bool byoc_shim_walk_rule(byoc_shim_scope_t *scope, const char *target, const json_t *rule,
                         const byoc_shim_rewrite_t *rewrite);

// The part of a rule's name after the target: the name of its pattern's root node. NULL if it has none.
const char *byoc_shim_rule_root(const char *target, const json_t *rule);

// True if `object` is an object whose members are all among the space-separated `known`.
bool byoc_shim_check_members(byoc_shim_scope_t *scope, json_t *object, const char *known);

#endif // BYOC_SHIM_RULE_H_
