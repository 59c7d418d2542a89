// SPDX-License-Identifier: Apache-2.0
// Forests of decision trees, as the attributes of ai.onnx.ml's tree operators describe them, in one form: every node
// compares `x <= value`, and nodes are in one list.
#ifndef BYOC_CORE_OPS_ML_FOREST_H_
#define BYOC_CORE_OPS_ML_FOREST_H_

#include "core/base/vector.h"
#include "core/ops/ml/common.h"

// A node goes to `on_true` if its feature is at most `value`, or if it is NaN and nan_is_true; else to `on_false`. A
// leaf has feature -1, goes to itself, and adds its votes.
typedef struct byoc_forest_node_t {
  int32_t feature, on_true, on_false;
  bool nan_is_true;
  double value;
  uint32_t first_vote, vote_count;
} byoc_forest_node_t;

typedef struct byoc_forest_vote_t {
  int32_t target;
  double weight;
} byoc_forest_vote_t;

typedef struct byoc_forest_t {
  BYOC_VECTOR(byoc_forest_node_t) nodes;
  BYOC_VECTOR(byoc_forest_vote_t) votes;
  BYOC_VECTOR(int32_t) roots;  // by tree
  BYOC_VECTOR(int32_t) depths; // by tree: the most steps from its root to a leaf
} byoc_forest_t;

// The attributes with the votes.
typedef struct byoc_forest_names_t {
  const char *trees, *nodes, *targets, *weights, *weights_tensor;
} byoc_forest_names_t;

// Reads TreeEnsembleRegressor's and TreeEnsembleClassifier's lists into the arena. `is_wide`: features are compared in
// f64. BYOC_INVALID_DATA with a message for lists of different lengths, and for nodes that do not exist or are reached
// twice.
byoc_status_t byoc_forest_read(const byoc_node_t *node, const byoc_forest_names_t *names, bool is_wide,
                               byoc_arena_t *arena, byoc_diag_t *diag, byoc_forest_t *out_forest);
// The same for TreeEnsemble's lists, in which leaves are apart from nodes. BYOC_INVALID_DATA also for a set that does
// not exist.
byoc_status_t byoc_forest_read_ensemble(const byoc_node_t *node, bool is_wide, byoc_arena_t *arena, byoc_diag_t *diag,
                                        byoc_forest_t *out_forest);

// ---- byoc::Forest ----

enum { BYOC_FOREST_SUM, BYOC_FOREST_AVERAGE, BYOC_FOREST_MIN, BYOC_FOREST_MAX }; // as in aggregate_attribute
#define BYOC_FOREST_AGGREGATE BYOC_ATTR_CHOICE("aggregate_function", "SUM", "AVERAGE", "MIN", "MAX")

// Operands of byoc::Forest. Nodes are numbered; BYOC_FOREST_VALUES has the numbers that features are compared with;
// BYOC_FOREST_NEXT has two nodes for each node, for true and false; BYOC_FOREST_NANS is 1 if NaN is true, and may be
// missing if NaN is never true. Node n gives the votes [BYOC_FOREST_VOTES[n], BYOC_FOREST_VOTES[n + 1]); if
// BYOC_FOREST_VOTES is left out, it gives vote n to result 0.
enum {
  BYOC_FOREST_FEATURES,
  BYOC_FOREST_NODES,
  BYOC_FOREST_VALUES,
  BYOC_FOREST_NEXT,
  BYOC_FOREST_ROOTS,
  BYOC_FOREST_DEPTHS,
  BYOC_FOREST_WEIGHTS,
  BYOC_FOREST_VOTES,
  BYOC_FOREST_TARGETS,
  BYOC_FOREST_NANS,
  BYOC_FOREST_OPERAND_COUNT
};
// A deeper tree is deep (attribute is_deep). Trees are large if eight of them have more bytes than this: then
// byoc::Forest has a second result, scratch memory for that many rows.
enum { BYOC_FOREST_FLAT = 8, BYOC_FOREST_LARGE = 512 * 1024, BYOC_FOREST_ROOM_ROWS = 4096 };

#endif // BYOC_CORE_OPS_ML_FOREST_H_
