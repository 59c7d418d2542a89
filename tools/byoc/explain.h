// SPDX-License-Identifier: Apache-2.0
// Plans for people: as tables, as a page, and as a requirement that a build must meet.
#ifndef BYOC_TOOLS_BYOC_EXPLAIN_H_
#define BYOC_TOOLS_BYOC_EXPLAIN_H_

#include "core/base/file_set.h"
#include "core/collage/plan.h"
#include "core/ir/graph.h"
#include "core/targets/target.h"

// ---- questions to a plan (explain_plan.c) ----

// The target's kind, with the first option that differs if the plan has several of that kind: "cutlass",
// "cutlass -precision=bf16".
void byoc_plan_target_label(const byoc_plan_t *plan, uint32_t target, char *buffer, size_t size);
// "12.3 us measured", "at least 12.3 us" for a bound; "-" if it is not known, "unusable" for infinity.
void byoc_plan_cost_text(double cost_ns, byoc_cost_source_t source, char *buffer, size_t size);
// The same for a cost of the target with this label: "12.3 us stated by tinynpu".
void byoc_plan_cost_of_text(double cost_ns, byoc_cost_source_t source, const char *label, char *buffer, size_t size);
// What is stated beside a cost: ", 1200 bytes moved, 35 nJ"; nothing if neither is known.
void byoc_plan_stated_text(double moved_bytes, double energy_nj, byoc_string_t *out);
// What a budget gained in an earlier build: a line, or nothing.
void byoc_plan_gain_text(const byoc_plan_gain_t *gain, byoc_string_t *out);
// One line: what is promised, measured and allowed.
void byoc_plan_budget_text(const byoc_plan_budget_t *budget, byoc_string_t *out);
// "4-6, 9"
void byoc_plan_nodes_text(const uint32_t *nodes, uint32_t count, byoc_string_t *out);
// "Conv 'conv1'"
void byoc_plan_node_text(const byoc_plan_node_t *node, byoc_string_t *out);

// Where a node went: its region, otherwise the chosen candidate of the native target, otherwise the native target
// without a candidate.
typedef struct byoc_plan_assignment_t {
  uint32_t target;
  const char *rule;      // "" if there is none
  const uint32_t *nodes; // NULL: just this node, left to the native target
  uint32_t node_count;
  double cost_ns;
  byoc_cost_source_t source;
} byoc_plan_assignment_t;
byoc_plan_assignment_t byoc_plan_assignment(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node);
bool byoc_plan_holds(const uint32_t *nodes, uint32_t count, uint32_t node); // nodes rise

// Why a target has neither candidate nor decline for a node; NULL if it has one, or if the node went there.
const char *byoc_plan_absence(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node, uint32_t target);

// ---- as tables ----

typedef struct byoc_explain_options_t {
  const char *node; // its name or number: show this one only; NULL: all
  bool all;         // print lists in full
} byoc_explain_options_t;
// BYOC_INVALID_ARGUMENT if no node has that name.
byoc_status_t byoc_explain_print(const byoc_plan_t *plan, const byoc_explain_options_t *options, byoc_string_t *out,
                                 byoc_diag_t *diag);
// One node in full.
void byoc_explain_node(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node, bool all,
                       byoc_string_t *out);

// ---- as files ----

// Adds the plan as JSON and as a page, which is one file with everything in it; either path may be NULL. The
// reports of backends that `module` has are on the page; NULL: the plan is a saved one.
byoc_status_t byoc_explain_add_files(const byoc_plan_t *plan, const byoc_graph_module_t *module, const char *json_path,
                                     const char *page_path, byoc_file_set_t *files, byoc_diag_t *diag);

// ---- as a requirement ----

// `required`: "cutlass,dnnl". Every name must be one of the targets; otherwise BYOC_INVALID_ARGUMENT lists them.
byoc_status_t byoc_require_check(const char *required, const byoc_target_list_t *targets, byoc_diag_t *diag);
// BYOC_UNSUPPORTED, naming the first few, if an operator went elsewhere.
byoc_status_t byoc_require_placed(const char *required, const byoc_plan_t *plan, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_EXPLAIN_H_
