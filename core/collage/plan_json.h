// SPDX-License-Identifier: Apache-2.0
// Plans as files: --save-plan writes them, --plan reads them, and byoc explain --json prints them.
//
//   {
//     "format": "byoc plan", "version": 1, "model": ..., "strategy": ..., "targets": ["cutlass -…", "c -…"],
//     "max_nodes": 6, "max_depth": 6, "whole_ns": 1.2e6, "whole_mib": 98.2,
//     "rivals": [{"name": "cutlass;c", "sum_ns": …, "whole_ns": …, "whole_mib": …}],
//     "blocks": [{
//       "name": "main", "hash": "16 digits", "cost_ns": …, "transition_ns": …, "lower_bound_ns": …, "proven": true,
//       "nodes": [{"op": "Conv", "name": "conv1", "type": "f32[1,64,56,56]", "edges": [{"from": 3, "type": "…"}]}],
//       "regions": [{"target": 0, "rule": "…", "nodes": [4, 5], "candidate": 7, "cost_ns": …, "source": "measured",
//                    "types": "f32 -> f32", "precision": "f32", "lapse": "attention is computed in f32"}],
//       "candidates": [{"target": 0, "rule": "…", "nodes": [4, 5], "cost_ns": …, "source": "…", "chosen": true}],
//       "declines": [{"target": 0, "rule": "…", "nodes": [9], "reason": "…"}]
//     }]
//   }
//
// Each node, region, candidate and decline stands on a line of its own. Targets, nodes and candidates are given by
// number. A cost that is not known is left out; null means that the candidate cannot be used ("reason" says why, and
// "falls_back": true that the backend declined it). To edit a plan, edit the regions: a node that is in none belongs to
// the native target. "candidate" belongs to the nodes and target that it names; leave it out of a region that was
// changed.
#ifndef BYOC_CORE_COLLAGE_PLAN_JSON_H_
#define BYOC_CORE_COLLAGE_PLAN_JSON_H_

#include "core/collage/plan.h"

// The document as a text. BYOC_OUT_OF_MEMORY is the only error.
byoc_status_t byoc_plan_print(const byoc_plan_t *plan, byoc_string_t *out, byoc_diag_t *diag);
// Writes the file so that `path` holds either all of the new text or its old content.
byoc_status_t byoc_plan_write(const byoc_plan_t *plan, const char *path, byoc_diag_t *diag);
// Reads and checks every field. BYOC_INVALID_DATA names the file and the line (if it is not JSON) or the field, as
// "blocks[0].regions[3].target"; BYOC_VERSION: the plan is of another version. The caller deinits *out_plan on success
// only.
byoc_status_t byoc_plan_read(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, byoc_plan_t *out_plan);

#define BYOC_PLAN_FORMAT  "byoc plan"
#define BYOC_PLAN_VERSION 1

#endif // BYOC_CORE_COLLAGE_PLAN_JSON_H_
