// match.h - from nodes of the graph to a problem.
//
//   byoc_cutlass_match_t match;
//   if (byoc_cutlass_match(graph, nodes, count, &match)) { ... match.problem, match.weights ... }
//   else decline(match.reason);
//   byoc_cutlass_match_deinit(&match);
//
// The nodes are one Conv, Gemm or MatMul and what follows it, each reading the one before. Convolutions take in the
// layout changes around them: byoc::FromBlocked of data and residual, byoc::ToBlocked of the result. `accept` asks with
// the nodes of a region, `generate` with those of a function: the answers are the same.
#ifndef BYOC_CUTLASS_MATCH_H_
#define BYOC_CUTLASS_MATCH_H_

#include "byoc/plugin.h"
#include "problem.h"

typedef struct byoc_cutlass_match_t {
  byoc_cutlass_problem_t problem; // inputs are not set
  const char *reason;             // why not, where there is no match; static storage
  byoc_value_t *data;
  byoc_value_t *weights;
  byoc_value_t *residual; // NULL where there is none
  // What to do to each channel (or column) of the product: y = x * scale + shift. `channels` of each.
  double *scale, *shift;
  int64_t channels;
} byoc_cutlass_match_t;

// Whether the nodes, in topological order, are one problem. Fills *out_match in either case; deinit it.
bool byoc_cutlass_match(const byoc_graph_api_t *graph, byoc_node_t *const *nodes, size_t count,
                        byoc_cutlass_match_t *out_match);

void byoc_cutlass_match_deinit(byoc_cutlass_match_t *match);

#endif // BYOC_CUTLASS_MATCH_H_
