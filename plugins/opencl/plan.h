// SPDX-License-Identifier: Apache-2.0
// plan.h - a function as kernels: which nodes share one, in which order they run, and where the tensors between them
// lie.
//
//   byoc_opencl_plan_t plan;
//   const char *reason = byoc_opencl_plan_function(graph, function, &plan); // NULL: it is planned, or plan.failed
//   ...
//   byoc_opencl_plan_deinit(&plan);
#ifndef BYOC_OPENCL_PLAN_H_
#define BYOC_OPENCL_PLAN_H_

#include "cluster.h"
#include "emit.h"

// A tensor between two kernels.
typedef struct byoc_opencl_scratch_t {
  const byoc_value_t *value;
  uint64_t offset_bytes, size_bytes;
  uint32_t first, last; // kernels that use it
} byoc_opencl_scratch_t;

typedef struct byoc_opencl_plan_t {
  const byoc_graph_api_t *graph;
  const byoc_function_t *function;
  byoc_opencl_clusters_t clusters;
  byoc_opencl_kernel_t *kernels; // in the order in which they run
  uint32_t kernel_count;
  byoc_opencl_constants_t constants;
  byoc_opencl_scratch_t *scratch;
  uint32_t scratch_count;
  uint64_t scratch_bytes;
  bool failed; // out of memory
} byoc_opencl_plan_t;

// Returns NULL, or why the function is declined. Deinit the plan in any case.
const char *byoc_opencl_plan_function(const byoc_graph_api_t *graph, const byoc_function_t *function,
                                      byoc_opencl_plan_t *out_plan);
void byoc_opencl_plan_deinit(byoc_opencl_plan_t *plan);

typedef enum byoc_opencl_where_t {
  BYOC_OPENCL_OPERAND,
  BYOC_OPENCL_RESULT,
  BYOC_OPENCL_CONSTANT,
  BYOC_OPENCL_SCRATCH,
} byoc_opencl_where_t;
// Where an argument of a kernel lies: the index of an operand, result or constant, or an offset in scratch memory.
byoc_opencl_where_t byoc_opencl_plan_place(const byoc_opencl_plan_t *plan, const byoc_opencl_argument_t *argument,
                                           uint64_t *out_place);

#endif // BYOC_OPENCL_PLAN_H_
